//! Who gets the names that `libhetmp.so` has beyond OpenMP's: programs that were linked with them, and nobody else
//! (docs/dev/names.md).

use hetmp_abi_compat::scratch::Scratch;
use hetmp_abi_compat::{elf, exec, library};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

fn succeed(path: &str, args: &[&str], env: &[(&str, &str)]) -> String {
    exec::succeed(path, args, env, Duration::from_secs(120))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn tool(name: &str) -> String {
    text(&hetmp_abi_compat::suite::find_in_path(name).unwrap_or_else(|_| panic!("{name}: needed")))
}

fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| library::installed(&library::target_dir().join("names-tests/prefix")))
}

/// Every name that is not OpenMP's, defined by a library of the program, is the program's whatever way hetmp is
/// started.
#[test]
fn a_program_keeps_its_own_functions() {
    let names: Vec<String> = elf::read(library::fresh())
        .unwrap()
        .symbols
        .into_iter()
        .filter(|s| s.node.as_ref().is_none_or(|node| node == "HETMP_ENGINE"))
        .map(|s| s.name)
        .collect();
    assert!(names.iter().any(|n| n == "mSendMsg") && names.len() > 3000);
    let s = Scratch::in_target("names");
    let (mut own, mut calls) = (String::new(), String::new());
    for (i, name) in names.iter().enumerate() {
        let _ = writeln!(own, "int {name}(int a) {{ return a + {i}; }}");
        let _ = writeln!(
            calls,
            "{{ int {name}(int); if ({name}(7) != {i} + 7) puts(\"{name}\"); }}"
        );
    }
    let own = s.write("own.c", &own);
    let main = s.write(
        "main.c",
        &format!(
            "#include <stdio.h>\nint main(void) {{\nint sum = 0;\n\
             #pragma omp parallel for reduction(+:sum)\nfor (int i = 0; i < 10; i++) sum += i;\n\
             {calls}printf(\"%d\\n\", sum);\nreturn 0;\n}}\n"
        ),
    );
    let (gcc, folder, program) = (tool("gcc"), text(&s.folder), s.path("program"));
    succeed(
        &gcc,
        &["-w", "-shared", "-fPIC", &own, "-o", &s.path("libown.so")],
        &[],
    );
    // The library comes after libgomp in the order in which the loader looks names up.
    let search = [format!("-L{folder}"), format!("-Wl,-rpath,{folder}")];
    let args = [
        "-w",
        "-fopenmp",
        &main,
        "-o",
        &program,
        "-Wl,--no-as-needed",
        "-lgomp",
    ];
    let mut args = args.to_vec();
    args.extend([search[0].as_str(), "-lown", search[1].as_str()]);
    succeed(&gcc, &args, &[]);
    let lib = text(&prefix().join("lib"));
    let preload = format!("{lib}/libhetmp.so");
    for env in [
        &[][..],
        &[("LD_PRELOAD", preload.as_str())],
        &[("LD_LIBRARY_PATH", lib.as_str())],
        &[("LD_PRELOAD", preload.as_str()), ("LD_BIND_NOW", "1")],
    ] {
        assert_eq!(succeed(&program, &[], env), "45\n", "{env:?}");
    }
    let hetmp = text(&prefix().join("bin/hetmp"));
    assert_eq!(succeed(&hetmp, &["run", &program], &[]), "45\n");
}

/// What a program of one of our headers sees of one of its functions, FUNCTION: calls reach the library directly,
/// `dlsym` finds a function that does the same, and the library is there once.
const LINKED: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#define STRING_(x) #x
#define STRING(x) STRING_(x)
const char *FUNCTION(int);
int main(void) {
    int sum = 0;
#pragma omp parallel for reduction(+:sum)
    for (int i = 0; i < 10; i++) sum += i;
    Dl_info info;
    const char *(*found)(int) = (const char *(*)(int))dlsym(RTLD_DEFAULT, STRING(FUNCTION));
    if (!found || strcmp(found(1), FUNCTION(1))) return puts("dlsym") > 0;
    if (!dladdr((void *)FUNCTION, &info)) return 1;
    printf("%d %s\n", sum, info.dli_fname);
    char line[4096], last[4096] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/'), *file = strrchr(line, '/');
        if (!path || (strncmp(file, "/libhetmp.so", 12) && strncmp(file, "/libgomp.so", 11))) continue;
        if (strcmp(path, last)) fputs(path, stdout);
        strcpy(last, path);
    }
    return 0;
}
"#;

/// The options of a pkg-config file, without pkg-config.
fn flags(name: &str) -> Vec<String> {
    let file = prefix().join(format!("lib/pkgconfig/{name}.pc"));
    let lines = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let lines = lines.replace("${libdir}", &text(&prefix().join("lib")));
    let libs = lines.lines().find_map(|l| l.strip_prefix("Libs:")).unwrap();
    libs.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_program_that_is_linked_with_an_interface_has_one_library() {
    let s = Scratch::in_target("linked");
    let source = s.write("linked.c", LINKED);
    let lib = text(&prefix().join("lib"));
    let preload = format!("{lib}/libhetmp.so");
    let gomp = library::system_libgomp().map(|file| text(file.parent().unwrap()));
    for (pc, function) in [
        ("hetmp", "hetmp_mqErrorName"),
        ("hetmp", "GOAL_Error_string"),
        ("hetmp", "hetmp_device_error_text"),
        ("hetmp-goal", "GOAL_Error_string"),
        ("hetmp-shmem", "hetmp_device_error_text"),
    ] {
        for openmp in [None, Some("-fopenmp")] {
            let program = s.path("linked");
            let define = format!("-DFUNCTION={function}");
            let mut args = vec!["-O1", &define, &source, "-o", &program];
            args.extend(openmp);
            let flags = flags(pc);
            args.extend(flags.iter().map(String::as_str));
            succeed(&tool("gcc"), &args, &[]);
            let whole = format!("45 {lib}/libgomp.so.1\n{lib}/libgomp.so.1\n");
            assert_eq!(succeed(&program, &[], &[]), whole, "{args:?}");
            // Where the modules of a compiler put its libgomp, too.
            if let Some(gomp) = &gomp {
                let env = [("LD_LIBRARY_PATH", gomp.as_str())];
                assert_eq!(succeed(&program, &[], &env), whole, "{args:?}");
            }
            let whole = format!("45 {preload}\n{preload}\n");
            let env = [("LD_PRELOAD", preload.as_str())];
            assert_eq!(succeed(&program, &[], &env), whole, "{args:?}");
        }
    }
    // By hand, with a RUNPATH and gcc's libgomp: two runtimes, and a program that runs.
    let (program, search, path) = (
        s.path("hand"),
        format!("-L{lib}"),
        format!("-Wl,-rpath,{lib}"),
    );
    let args = [
        "-O1",
        "-fopenmp",
        "-DFUNCTION=hetmp_mqErrorName",
        &source,
        "-o",
        &program,
    ];
    let mut args = args.to_vec();
    args.extend([
        &search,
        &path,
        "-Wl,--enable-new-dtags",
        "-lhetmp",
        "-lhetmp_mq",
    ]);
    succeed(&tool("gcc"), &args, &[]);
    let gomp = gomp.unwrap_or_default();
    let shown = succeed(&program, &[], &[("LD_LIBRARY_PATH", &gomp)]);
    assert!(
        shown.starts_with(&format!("45 {lib}/libhetmp_mq.so.0\n")),
        "{shown}"
    );
}

/// The pkg-config files that the documentation names are installed.
#[test]
fn documented_pkg_config_files_exist() {
    let mut named = Vec::new();
    let root = library::root();
    let mut files = vec![
        root.join("README.md"),
        root.join("include/goal.h"),
        root.join("include/hetmp/mq.h"),
    ];
    let docs = fs::read_dir(root.join("docs")).unwrap().flatten();
    files.extend(
        docs.map(|e| e.path())
            .filter(|p| p.extension().is_some_and(|e| e == "md")),
    );
    for file in files {
        let page = fs::read_to_string(&file).unwrap();
        for after in page.split("pkg-config ").skip(1) {
            let words = after.split(|c: char| c.is_whitespace() || ")`.,;".contains(c));
            named.extend(
                words
                    .take(4)
                    .filter(|w| w.starts_with("hetmp"))
                    .map(str::to_owned),
            );
        }
    }
    assert!(named.iter().any(|n| n == "hetmp-goal"), "{named:?}");
    for name in named {
        assert!(!flags(&name).is_empty(), "{name}");
    }
}
