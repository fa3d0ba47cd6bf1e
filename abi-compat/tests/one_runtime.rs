//! One process with four parts that use OpenMP: a program compiled by clang, a library compiled by gcc, and two
//! libraries with renamed copies of libgomp and libomp, like those in Python wheels. Under the preload, the loader
//! binds every OpenMP name of every part to libhetmp.so, and all parts share one pool. If LD_LIBRARY_PATH brings the
//! library in, no other runtime is mapped at all.

use hetmp_abi_compat::scratch::Scratch;
use hetmp_abi_compat::suite::find_in_path;
use hetmp_abi_compat::{case, clang, exec, library};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Longer than any command here takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The source of a part. Its function returns the number of threads of its region, or -1 if a thread has a number
/// beyond that.
const PART: &str = r"
#include <omp.h>
int NAME(int *most) {
    int n = 0, numbered = 0;
    #pragma omp parallel reduction(+:numbered)
    {
        #pragma omp single
        n = omp_get_num_threads();
        numbered += omp_get_thread_num() < omp_get_num_threads();
        #pragma omp critical
        if (omp_get_thread_num() > *most) *most = omp_get_thread_num();
    }
    return n == numbered ? n : -1;
}
";

/// Calls every part and counts the threads of the process, then does the same in a forked child.
const PROGRAM: &str = r#"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int by_clang(int *), by_gcc(int *);
#ifdef WHEELS
int wheel_gomp(int *), wheel_omp(int *);
#endif
static int threads(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    while (d && (e = readdir(d))) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}
static int round_of_parts(const char *who) {
    int most[4] = {0, 0, 0, 0};
    int a = by_clang(&most[0]), b = by_gcc(&most[1]), c = 0, d = 0;
#ifdef WHEELS
    c = wheel_gomp(&most[2]), d = wheel_omp(&most[3]);
#endif
    printf("%s: teams %d %d %d %d, numbers to %d %d %d %d, threads %d\n", who, a, b, c, d,
        most[0], most[1], most[2], most[3], threads());
    fflush(stdout);
    return 0;
}
int main(void) {
    round_of_parts("parent");
    pid_t child = fork();
    if (child == 0) _exit(round_of_parts("child"));
    int status = -1;
    waitpid(child, &status, 0);
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/'), *file = strrchr(line, '/');
        if (path && strstr(line, " r-xp ") && strstr(file, "omp")) printf("mapped %s", path);
    }
    return status;
}
"#;

/// Writes a C source into the folder, and returns its path.
fn source(s: &Scratch, name: &str, text: &str) -> String {
    let path = s.path(name);
    fs::write(&path, text).unwrap();
    path
}

fn succeed(path: &str, args: &[&str]) {
    exec::succeed(path, args, &[], LIMIT);
}

/// Builds the library `lib<name>.so` of one part in `s`. It needs the runtime of `compiler`, or another runtime that
/// the flags in `more` name.
fn part(s: &Scratch, compiler: &str, name: &str, more: &[&str]) -> String {
    let source = source(s, &format!("{name}.c"), &PART.replace("NAME", name));
    let file = s.path(&format!("lib{name}.so"));
    let mut args = vec!["-O2", "-fopenmp", "-fPIC", "-shared", &source, "-o", &file];
    args.extend(more);
    succeed(compiler, &args);
    file
}

/// Copies a runtime under another name of the same length. The soname inside the file changes too. auditwheel does the
/// same with the libgomp that it puts into a wheel.
fn renamed(s: &Scratch, runtime: &Path, soname: &str, new: &str) -> String {
    assert_eq!(soname.len(), new.len());
    let mut bytes = fs::read(runtime).unwrap();
    let old = format!("{soname}\0").into_bytes();
    let mut found = 0;
    for at in 0..bytes.len() - old.len() {
        if bytes[at..].starts_with(&old) {
            bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
            found += 1;
        }
    }
    assert!(found > 0, "{}: holds no {soname}", runtime.display());
    let path = s.path(new);
    fs::write(&path, bytes).unwrap();
    path
}

fn printed_path(compiler: &str, name: &str) -> Option<PathBuf> {
    let out = Command::new(compiler)
        .arg(format!("-print-file-name={name}"))
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(out.stdout).ok()?.trim());
    path.is_absolute().then(|| fs::canonicalize(path).ok())?
}

/// Another runtime, of one thread, whose version has a name more than libhetmp.so.
const OTHER: &str = "
void GOMP_parallel(void (*f)(void *), void *data, unsigned n, unsigned flags) { f(data); }
int omp_get_thread_num(void) { return 0; }
int omp_get_num_threads(void) { return 1; }
int GOMP_of_tomorrow(void) { return 7; }
";

/// What the file of [`part_of_two`] adds if it needs that name.
const TOMORROW: &str =
    "int GOMP_of_tomorrow(void);\nint tomorrow(void) { return GOMP_of_tomorrow(); }\n";

/// A part that also uses a library of its own, whose names look like a runtime's, as it may.
const OWN_NAMES: &str = "
int omp_helper(int), kmp_search(int);
int region(int wanted) {
    int sum = 0;
    #pragma omp parallel num_threads(wanted) reduction(+:sum)
    sum += 1 + omp_get_thread_num() * 0;
    return kmp_search(omp_helper(sum));
}
";

/// For files that have the older kind of hash table only.
const OLD_HASH: &str = "-Wl,--hash-style=sysv";

/// Builds a part that was linked with the other runtime: the program if `to` says so, or a library.
fn part_of_two(s: &Scratch, to: &str, text: &str, flags: &[&str]) -> String {
    let script = s.write("other.map", "VERSION { global: *; };\n");
    let (script, origin) = (
        format!("-Wl,--version-script={script}"),
        "-Wl,-rpath,$ORIGIN",
    );
    let build = |name: &str, text: &str, flags: &[&str]| {
        let source = source(s, &format!("{name}.c"), text);
        let file = s.path(name);
        succeed(
            "gcc",
            &[&["-shared", "-fPIC", &source, "-o", &file], flags].concat(),
        );
        file
    };
    let own = "int omp_helper(int n) { return n; }\nint kmp_search(int n) { return n; }\n";
    let hash = flags.iter().filter(|f| **f == OLD_HASH).copied();
    let more: Vec<&str> = hash.chain([script.as_str()]).collect();
    let (own, other) = (
        build("libown.so", own, &[]),
        build("libother.so", OTHER, &more),
    );
    let source = source(
        s,
        &format!("{to}.c"),
        &format!("#include <omp.h>\n{OWN_NAMES}{text}"),
    );
    let (object, file) = (s.path(&format!("{to}.o")), s.path(to));
    succeed(
        "gcc",
        &["-O1", "-fopenmp", "-fPIC", "-c", &source, "-o", &object],
    );
    succeed(
        "gcc",
        &[&[&object, &own, &other, "-o", &file, origin], flags].concat(),
    );
    file
}

const MAIN: &str =
    "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", region(3)); return 0; }\n";

/// Opens a library and calls its region, after one of its own.
const OPENS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    printf("%d\n", region(2));
    fflush(stdout);
    void *part = dlopen(argv[1], atoi(argv[2]));
    if (!part) return puts(dlerror());
    int (*inner)(int) = (int (*)(int))dlsym(part, "region");
    printf("%d\n", inner(atoi(argv[3])));
    printf("%d\n", region(9));
    return 0;
}
"#;

/// What the program has printed is `before`; then one line says which names of which file lead where.
fn check_refused(out: &exec::Outcome, before: &str, file: &str) {
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.ending, exec::Ending::Exit(1), "{said}");
    let line = said.strip_prefix(before).unwrap_or_default();
    assert_eq!(line.lines().count(), 1, "{said}");
    let wanted = format!("hetmp: {file}: 'GOMP_of_tomorrow@VERSION': comes from ");
    assert!(
        line.starts_with(&wanted) && line.contains("libother.so"),
        "{said}"
    );
}

#[test]
fn a_file_with_names_from_two_runtimes_is_refused() {
    let s = Scratch::in_target("one-runtime-mixed");
    let ours = library::fresh().display().to_string();
    let text = format!("{TOMORROW}{MAIN}");
    let old = part_of_two(&s, "old", &text, &[OLD_HASH]);
    let out = exec::command(&old, &[], &[("LD_PRELOAD", &ours)], LIMIT);
    check_refused(&out, "", &old);
    let half = part_of_two(&s, "half", &text, &[]);
    let whole = part_of_two(&s, "whole", MAIN, &[]);
    for bind in [("LD_BIND_NOW", ""), ("LD_BIND_NOW", "1")] {
        let env = [("LD_PRELOAD", ours.as_str()), bind];
        let out = exec::command(&half, &[], &env, LIMIT);
        check_refused(&out, "", &half);
        assert_eq!(exec::succeed(&whole, &[], &env, LIMIT), "3\n");
    }
    // Without libhetmp.so nothing is mixed.
    assert_eq!(exec::succeed(&half, &[], &[], LIMIT), "1\n");
}

#[test]
fn a_library_that_is_opened_may_have_its_own_runtime_but_no_half() {
    let s = Scratch::in_target("one-runtime-opened");
    let ours = library::fresh().display().to_string();
    let env = [("LD_PRELOAD", ours.as_str())];
    let half = part_of_two(&s, "libhalf.so", TOMORROW, &["-shared"]);
    let program = part_of_two(
        &s,
        "program",
        OPENS,
        &["-fopenmp", "-Wl,--as-needed", "-ldl"],
    );
    let run = |flags: libc::c_int, threads: &str| {
        exec::command(&program, &[&half, &flags.to_string(), threads], &env, LIMIT)
    };
    for when in [libc::RTLD_LAZY, libc::RTLD_NOW] {
        // It asks the runtime that it was linked with first, for all its names.
        let out = run(when | libc::RTLD_DEEPBIND, "5");
        assert_eq!(String::from_utf8_lossy(&out.stdout), "2\n1\n9\n", "{out:?}");
        assert_eq!(out.ending, exec::Ending::Exit(0), "{out:?}");
        // It finds libhetmp.so first. Its region may need more threads than there are, or none.
        for threads in ["5", "2"] {
            let out = run(when, threads);
            check_refused(&out, "2\n", &half);
        }
    }
}

/// A tool that wraps what opens regions, and calls what comes next, is no second runtime.
#[test]
fn a_tool_in_front_of_the_runtime_is_no_runtime() {
    let s = Scratch::in_target("one-runtime-wrapped");
    let ours = library::fresh().display().to_string();
    let text = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n\
        void GOMP_parallel(void (*f)(void *), void *data, unsigned n, unsigned flags) {\n\
            void (*next)(void (*)(void *), void *, unsigned, unsigned) = dlsym(RTLD_NEXT, \"GOMP_parallel\");\n\
            puts(\"wrapped\"); fflush(stdout); next(f, data, n, flags);\n\
        }\n";
    let (source, tool) = (source(&s, "tool.c", text), s.path("libtool.so"));
    succeed("gcc", &["-shared", "-fPIC", &source, "-o", &tool, "-ldl"]);
    let whole = part_of_two(&s, "whole", MAIN, &[]);
    let both = format!("{tool}:{ours}");
    let said = exec::succeed(&whole, &[], &[("LD_PRELOAD", both.as_str())], LIMIT);
    assert_eq!(said, "wrapped\n3\n");
}

/// Builds the program in `s`, with or without the two libraries that bring renamed copies.
fn program(s: &Scratch, wheels: bool) -> Option<String> {
    let (gomp, omp) = (printed_path("gcc", "libgomp.so.1")?, clang::runtime().ok()?);
    let by_gcc = part(s, "gcc", "by_gcc", &[]);
    let main = source(s, "main.c", PROGRAM);
    let own = source(s, "by_clang.c", &PART.replace("NAME", "by_clang"));
    let file = s.path("program");
    let origin = "-Wl,-rpath,$ORIGIN";
    let mut args = vec!["-O2", "-fopenmp", origin, &main, &own, &by_gcc, "-o", &file];
    let (wheel_gomp, wheel_omp);
    if wheels {
        let gomp = renamed(s, &gomp, "libgomp.so.1", "libgowhl.so1");
        let omp = renamed(s, &omp, "libomp.so.5", "libowhl.so5");
        // When linking, -fopenmp would add the compiler's own runtime. The flags name the renamed copy instead.
        let own_runtime = ["-fno-openmp", origin];
        let with = |compiler: &str, name: &str, runtime: &str| {
            let source = source(s, &format!("{name}.c"), &PART.replace("NAME", name));
            let object = s.path(&format!("{name}.o"));
            succeed(
                compiler,
                &["-O2", "-fopenmp", "-fPIC", "-c", &source, "-o", &object],
            );
            let file = s.path(&format!("lib{name}.so"));
            succeed(
                compiler,
                &["-shared", own_runtime[1], &object, runtime, "-o", &file],
            );
            file
        };
        wheel_gomp = with("gcc", "wheel_gomp", &gomp);
        wheel_omp = with(clang::CLANG, "wheel_omp", &omp);
        args.extend(["-DWHEELS", &wheel_gomp, &wheel_omp]);
    }
    succeed(clang::CLANG, &args);
    Some(file)
}

/// A program of one part: calls it, and tells which files whose name has `omp` are mapped.
const ALONE: &str = r#"
#include <stdio.h>
#include <string.h>
int alone(int *);
int main(void) {
    int most = 0, n = alone(&most);
    printf("alone %d %d\n", n, most);
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/'), *file = strrchr(line, '/');
        if (path && strstr(line, " r-xp ") && strstr(file, "omp")) printf("mapped %s", path);
    }
    return 0;
}
"#;

/// The same for Python, which loads the libraries of its parts one after the other.
const PYTHON: &str = r#"
import ctypes, sys
for path in sys.argv[1:]:
    name = path.rsplit("/lib", 1)[1][:-3]
    most = ctypes.c_int(0)
    print(name, getattr(ctypes.CDLL(path), name)(ctypes.byref(most)), most.value, flush=True)
for line in open("/proc/self/maps"):
    if " r-xp " in line and "omp" in line.rsplit("/", 1)[-1]:
        print("mapped", line.split()[-1])
"#;

/// Processes of one compiler, and a Python process with parts by both. For each: its command, the arguments, and what
/// its parts say in teams of three threads.
fn processes(s: &Scratch) -> Vec<(String, Vec<String>, String)> {
    let mut all = Vec::new();
    for compiler in ["gcc", clang::CLANG] {
        let text = format!("{}{ALONE}", PART.replace("NAME", "alone"));
        let source = source(s, "alone.c", &text);
        let program = s.path(&format!("alone-{compiler}"));
        succeed(compiler, &["-O2", "-fopenmp", &source, "-o", &program]);
        all.push((program, Vec::new(), "alone 3 2\n".to_owned()));
    }
    if find_in_path("python3").is_ok() {
        let script = source(s, "parts.py", PYTHON);
        let args = vec![
            script,
            part(s, "gcc", "by_gcc", &[]),
            part(s, clang::CLANG, "by_clang", &[]),
        ];
        let says = "by_gcc 3 2\nby_clang 3 2\n".to_owned();
        all.push(("python3".to_owned(), args, says));
    } else {
        eprintln!("skipped: Python: no python3");
    }
    all
}

/// Runs one of [`processes`], and returns what it says behind its parts' results.
fn run(process: &(String, Vec<String>, String), env: &[(&str, &str)]) -> String {
    let (command, args, says) = process;
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let said = exec::succeed(command, &args, env, LIMIT);
    // The loader's own lines may come in between.
    assert!(says.lines().all(|l| said.contains(l)), "{command}: {said}");
    said
}

#[test]
fn processes_of_every_kind_map_no_other_runtime_through_the_library_path() {
    if !clang::installed() {
        return;
    }
    let s = Scratch::in_target("one-runtime-kinds");
    let lib = case::prefix_lib(library::fresh(), &s.folder).unwrap();
    let path = lib.display().to_string();
    let env = [("LD_LIBRARY_PATH", path.as_str()), ("OMP_NUM_THREADS", "3")];
    for process in processes(&s) {
        let said = run(&process, &env);
        let mapped: Vec<&str> = said
            .lines()
            .filter_map(|l| l.strip_prefix("mapped "))
            .collect();
        assert!(!mapped.is_empty(), "{said}");
        assert!(mapped.iter().all(|m| m.starts_with(&path)), "{said}");
    }
}

#[test]
fn processes_of_every_kind_are_bound_to_ours_under_the_preload() {
    if !clang::installed() {
        return;
    }
    let s = Scratch::in_target("one-runtime-bound");
    let ours = library::fresh().display().to_string();
    let env = [
        ("LD_PRELOAD", ours.as_str()),
        ("OMP_NUM_THREADS", "3"),
        ("LD_BIND_NOW", "1"),
        ("LD_DEBUG", "bindings"),
    ];
    for process in processes(&s) {
        let said = run(&process, &env);
        let mut bound = 0;
        for (user, owner, symbol) in said.lines().filter_map(binding) {
            // The compiler's own runtime is mapped, too: the parts name it.
            let user = file_name(user);
            if is_openmp(symbol) && !user.starts_with("libgomp") && !user.starts_with("libomp") {
                assert_eq!(owner, ours, "{user} uses {symbol}");
                bound += 1;
            }
        }
        assert!(bound > 2, "{}: {bound} names", process.0);
    }
}

/// True for the names that OpenMP programs import.
fn is_openmp(symbol: &str) -> bool {
    [
        "GOMP_", "GOACC_", "omp_", "ompc_", "kmp_", "kmpc_", "__kmpc_",
    ]
    .iter()
    .any(|start| symbol.starts_with(start))
}

/// Parses a line of `LD_DEBUG=bindings`: the file that uses a name, the file that defines it, and the name.
fn binding(line: &str) -> Option<(&str, &str, &str)> {
    let (_, rest) = line.split_once("binding file ")?;
    let (user, rest) = rest.split_once(" [0] to ")?;
    let (owner, rest) = rest.split_once(" [0]: normal symbol `")?;
    Some((user, owner, rest.split_once('\'')?.0))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[test]
fn under_the_preload_every_part_is_bound_to_ours() {
    if !clang::installed() {
        return;
    }
    let s = Scratch::in_target("one-runtime-preload");
    let Some(program) = program(&s, true) else {
        eprintln!("skipped: gcc's libgomp.so.1 or clang's libomp.so.5 is not found");
        return;
    };
    let ours = library::fresh().display().to_string();
    let env = [
        ("LD_PRELOAD", ours.as_str()),
        ("OMP_NUM_THREADS", "3"),
        ("LD_BIND_NOW", "1"),
    ];
    let teams = "teams 3 3 3 3, numbers to 2 2 2 2, threads 3\n";
    let said = exec::succeed(&program, &[], &env, LIMIT);
    let expected = format!("parent: {teams}child: {teams}");
    assert!(said.starts_with(&expected), "{said}");

    let traced = [env[0], env[1], env[2], ("LD_DEBUG", "bindings")];
    let said = exec::succeed(&program, &[], &traced, LIMIT);
    let mut users = BTreeSet::new();
    for (user, owner, symbol) in said.lines().filter_map(binding) {
        // The other runtimes are mapped too, because the parts need them. Bindings between those runtimes do not count.
        let user = file_name(user);
        if !is_openmp(symbol) || user.starts_with("libgo") || user.starts_with("libo") {
            continue;
        }
        assert_eq!(owner, ours, "{user} uses {symbol}");
        users.insert(user.to_owned());
    }
    let parts = [
        "libby_gcc.so",
        "libwheel_gomp.so",
        "libwheel_omp.so",
        "program",
    ];
    assert!(parts.iter().all(|p| users.contains(*p)), "{users:?}");
}

#[test]
fn through_the_library_path_no_other_runtime_is_mapped() {
    if !clang::installed() {
        return;
    }
    let s = Scratch::in_target("one-runtime-path");
    let Some(program) = program(&s, false) else {
        eprintln!("skipped: gcc's libgomp.so.1 or clang's libomp.so.5 is not found");
        return;
    };
    let lib = case::prefix_lib(library::fresh(), &s.folder).unwrap();
    let path = lib.display().to_string();
    let env = [("LD_LIBRARY_PATH", path.as_str()), ("OMP_NUM_THREADS", "3")];
    let said = exec::succeed(&program, &[], &env, LIMIT);
    let teams = "teams 3 3 0 0, numbers to 2 2 0 0, threads 3\n";
    let rest = said.strip_prefix(&format!("parent: {teams}child: {teams}"));
    let rest = rest.unwrap_or_else(|| panic!("{said}"));
    // The installation has one file under several names, all in our folder.
    assert!(rest.contains("mapped "), "{said}");
    for mapped in rest.lines().filter_map(|l| l.strip_prefix("mapped ")) {
        assert!(mapped.starts_with(&path), "{said}");
    }
}
