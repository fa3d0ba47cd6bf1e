//! `scripts/install --prefix DIR`: checks the installed files, and that an unmodified
//! program runs on the installation without a preload.

use hetmp_abi_compat::{exec, library};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than any command here takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

fn run(path: &str, args: &[&str], env: &[(&str, &str)]) -> exec::Outcome {
    exec::command(path, args, env, LIMIT)
}

fn succeed(path: &str, args: &[&str], env: &[(&str, &str)]) -> String {
    exec::succeed(path, args, env, LIMIT)
}

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Prints a sum made by a team, and the OpenMP runtimes that the process has mapped.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
#include <omp.h>
int main(void) {
    long sum = 0;
    #pragma omp parallel for reduction(+:sum) num_threads(4)
    for (int i = 0; i < 1000; i++) sum += i;
    printf("%ld\n", sum);
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/'), *file = strrchr(line, '/');
        /* The file's own name: any folder above may be named hetmp. */
        if (path && strstr(line, " r-xp ") && (strstr(file, "gomp") || strstr(file, "hetmp")))
            fputs(path, stdout);
    }
    return sum == 499500 ? 0 : 1;
}
"#;

/// Passes a long double to the next PE, and sums the PEs' numbers.
const OPENSHMEM: &str = r#"
#include <shmem.h>
#include <stdio.h>
static long double word;
static long mine, sum;
int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    mine = me + 1;
    shmem_longdouble_p(&word, me + 0.5L, (me + 1) % n);
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    if (me == 0) printf("%Lg %Lg %ld\n", word, shmem_longdouble_g(&word, n - 1), sum);
    shmem_finalize();
    return 0;
}
"#;

/// Checks the compiler wrappers and the launcher of an installation.
fn check_openshmem(prefix: &Path, dir: &Path) {
    let bin = |name: &str| text(&prefix.join("bin").join(name));
    let source = text(&dir.join("openshmem.c"));
    fs::write(&source, OPENSHMEM).unwrap();
    let program = text(&dir.join("openshmem"));
    // `make CC=oshcc` exports CC=oshcc: the wrapper must not call itself.
    let itself = [("CC", "oshcc"), ("CXX", "oshc++")];
    let small = ("SHMEM_SYMMETRIC_SIZE", "1M");
    for (wrapper, language) in [("oshcc", "-xc"), ("oshc++", "-xc++"), ("oshcxx", "-xc++")] {
        let object = format!("{program}.o");
        succeed(
            &bin(wrapper),
            &[language, "-Werror", "-c", &source, "-o", &object],
            &itself,
        );
        succeed(&bin(wrapper), &[&object, "-o", &program], &itself);
        let out = succeed(&bin("oshrun"), &["-n", "2", &program], &[small]);
        assert_eq!(out, "1.5 0.5 3\n", "{wrapper}");
    }
    // A module file of a compiler may put that compiler's libgomp into LD_LIBRARY_PATH. The program must still
    // run on ours.
    if let Some(system) = library::system_libgomp() {
        let folder = text(system.parent().unwrap());
        let env = [small, ("LD_LIBRARY_PATH", folder.as_str())];
        let out = succeed(&bin("oshrun"), &["-n", "2", &program], &env);
        assert_eq!(out, "1.5 0.5 3\n");
    }
    let shown = succeed(
        &bin("oshcc"),
        &["--show", "-O2", "x.c"],
        &[("OSHCC_CC", "my-cc")],
    );
    let (include, lib) = (text(&prefix.join("include")), text(&prefix.join("lib")));
    assert!(
        shown.starts_with(&format!("my-cc -I{include} -O2 x.c -L{lib} ")),
        "{shown}"
    );
    assert!(succeed(&bin("oshcc"), &["--help"], &[]).contains("usage: oshcc"));
    assert!(!succeed(&bin("oshcc"), &["--version"], &[]).is_empty());
    let pc = fs::read_to_string(prefix.join("lib/pkgconfig/hetmp-shmem.pc")).unwrap();
    assert!(pc.contains(&format!("prefix={}", text(prefix))), "{pc}");
    // The compiler's wrapper and pkg-config say the same.
    let link = succeed(&bin("oshcc"), &["--showme:link"], &[]);
    let libs = pc.lines().find_map(|l| l.strip_prefix("Libs: ")).unwrap();
    assert_eq!(link.trim(), libs.replace("${libdir}", &lib));
}

#[test]
fn a_program_runs_on_the_installed_library() {
    // The path has our names in it: users have folders such as hetmp, which `git clone` makes.
    let scratch =
        Scratch(library::target_dir().join(format!("hetmp-libgomp.so-{}", std::process::id())));
    let dir = &scratch.0;
    fs::create_dir_all(dir).unwrap();
    let prefix = dir.join("prefix");
    let target = text(&library::target_dir());
    let lib = text(library::fresh());
    let env = [("HETMP_LIB", lib.as_str()), ("CARGO_TARGET_DIR", &target)];
    succeed("scripts/install", &["--prefix", &text(&prefix)], &env);
    // Installs again over the first installation, like an update.
    succeed("scripts/install", &["--prefix", &text(&prefix)], &env);

    let ours = fs::metadata(prefix.join("lib/libhetmp.so")).unwrap();
    let named = fs::symlink_metadata(prefix.join("lib/libgomp.so.1")).unwrap();
    assert!(named.is_file(), "a symbolic link would hide the name");
    assert_eq!(ours.ino(), named.ino());
    assert!(prefix.join("bin/hetmp").is_file());
    assert!(prefix.join("lib/libhetmp_dsm.so").is_file());
    let has_mpi = ["mpicc", "mpicc.openmpi", "mpicc.mpich", "mpicc_abi"]
        .into_iter()
        .any(hetmp_abi_compat::suite::compiles_mpi);
    assert_eq!(prefix.join("lib/libhetmp_mpi.so").is_file(), has_mpi);
    let left: Vec<_> = fs::read_dir(prefix.join("lib"))
        .unwrap()
        .flatten()
        .map(|e| e.file_name().into_string().unwrap())
        .filter(|n| n.starts_with('.') && n != ".debug")
        .collect();
    assert!(left.is_empty(), "{left:?}");
    for file in ["lib/libhetmp.so", "lib/libhetmp_dsm.so", "bin/hetmp"] {
        has_its_lines_apart(&prefix.join(file));
    }

    let source = dir.join("program.c");
    let program = text(&dir.join("program"));
    fs::write(&source, PROGRAM).unwrap();
    let gcc = text(&hetmp_abi_compat::suite::find_in_path("gcc").unwrap());
    succeed(
        &gcc,
        &["-fopenmp", "-O2", &text(&source), "-o", &program],
        &[],
    );

    // Without the installation the program has one OpenMP runtime, and it is not ours.
    let before = succeed(&program, &[], &[]);
    let mapped: Vec<_> = before.lines().skip(1).map(Path::new).collect();
    let named = mapped[0].file_name().unwrap().to_string_lossy();
    assert!(
        mapped.len() == 1 && named.starts_with("libgomp.so"),
        "{before}"
    );
    let libdir = text(&prefix.join("lib"));
    let on_ours = succeed(&program, &[], &[("LD_LIBRARY_PATH", &libdir)]);
    assert_eq!(on_ours, format!("499500\n{libdir}/libgomp.so.1\n"));
    let preload = format!("{libdir}/libhetmp.so");
    let on_ours = succeed(&program, &[], &[("LD_PRELOAD", &preload)]);
    assert_eq!(on_ours, format!("499500\n{preload}\n"));

    let pc = fs::read_to_string(prefix.join("lib/pkgconfig/hetmp.pc")).unwrap();
    assert!(pc.contains(&format!("prefix={}", text(&prefix))), "{pc}");
    assert!(pc.contains("-Wl,-rpath,${libdir}"), "{pc}");

    // `hetmp run` finds the library that was installed with it.
    let hetmp = text(&prefix.join("bin/hetmp"));
    let on_ours = succeed(&hetmp, &["run", &program], &[]);
    assert_eq!(on_ours, format!("499500\n{libdir}/libgomp.so.1\n"));
    let kept = text(&dir.join("r.json"));
    for report in ["--report", &format!("--report={kept}")] {
        let shown = succeed(&hetmp, &["run", report, "--nodes=1", &program], &[]);
        assert!(shown.starts_with("499500\n"), "{shown}");
        assert!(shown.contains("\nParallel regions\n"), "{shown}");
    }
    assert!(Path::new(&kept).is_file());
    for page in ["hetmp-run.1", "hetrun.1"] {
        assert!(prefix.join("share/man/man1").join(page).is_file(), "{page}");
    }
    for command in ["hetmp", "hetrun", "oshrun"] {
        let script = prefix
            .join("share/bash-completion/completions")
            .join(command);
        assert!(script.is_file(), "{command}");
    }

    check_openshmem(&prefix, dir);
    check_examples(&prefix, dir);
    check_cmake(&prefix, dir);
}

/// `examples/` as a CMake project finds an installation, also one that was moved, and its programs print what is
/// expected.
fn check_cmake(prefix: &Path, dir: &Path) {
    let Ok(cmake) = hetmp_abi_compat::suite::find_in_path("cmake") else {
        eprintln!("skipped: find_package(hetmp) (cmake)");
        return;
    };
    let moved = dir.join("moved");
    fs::rename(prefix, &moved).unwrap();
    let examples = library::root().join("examples");
    let root = format!("-DCMAKE_PREFIX_PATH={}", text(&moved));
    let (built, cmake) = (text(&dir.join("built")), text(&cmake));
    succeed(&cmake, &["-S", &text(&examples), "-B", &built, &root], &[]);
    succeed(&cmake, &["--build", &built], &[]);
    make_examples(&moved, Path::new(&built));
    // A version that is not there is refused.
    let list = fs::read_to_string(examples.join("CMakeLists.txt")).unwrap();
    let later = list.replace("hetmp 0.1", "hetmp 99.0");
    assert_ne!(later, list);
    let project = dir.join("project");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("CMakeLists.txt"), later).unwrap();
    let built = format!("{built}-later");
    let out = run(&cmake, &["-S", &text(&project), "-B", &built, &root], &[]);
    assert_ne!(out.ending, exec::Ending::Exit(0));
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("version \"99.0\""), "{said}");
}

/// The programs of `examples/` build on an installation, and print what is expected.
fn check_examples(prefix: &Path, dir: &Path) {
    let built = dir.join("examples");
    fs::create_dir_all(&built).unwrap();
    make_examples(prefix, &built);
}

/// Builds the programs of `examples/` that are not in `built` yet, and runs them all.
fn make_examples(prefix: &Path, built: &Path) {
    let find = hetmp_abi_compat::suite::find_in_path;
    let (Ok(make), Ok(_)) = (find("make"), find("pkg-config")) else {
        eprintln!("skipped: examples (make and pkg-config)");
        return;
    };
    let folder = text(&library::root().join("examples"));
    let prefix = format!("PREFIX={}", text(prefix));
    let out = format!("OUT={}", text(built));
    // Files of a test may not be as large as a heap of OpenSHMEM usually is.
    let env = [("SHMEM_SYMMETRIC_SIZE", "1M")];
    let arguments = ["-C", &folder, &prefix, &out, "check"];
    succeed(&text(&make), &arguments, &env);
}

/// What is loaded has no debug information, and debuggers find it all the same: `main`, or a function that is exported,
/// has a line.
fn has_its_lines_apart(file: &Path) {
    let path = text(file);
    let sections = succeed("/usr/bin/readelf", &["-SW", &path], &[]);
    assert!(!sections.contains(".debug_line"), "{path}: {sections}");
    let name = file.file_name().unwrap().to_string_lossy();
    let apart = file.with_file_name(".debug").join(format!("{name}.debug"));
    let sections = succeed("/usr/bin/readelf", &["-SW", &text(&apart)], &[]);
    assert!(sections.contains(".debug_line"), "{path}: {sections}");
    let header = succeed("/usr/bin/readelf", &["-hW", &path], &[]);
    let names = succeed("/usr/bin/nm", &["--defined-only", &text(&apart)], &[]);
    let place = names.lines().find_map(|line| {
        let (address, name) = line.split_once(" T ").or(line.split_once(" t "))?;
        let ours = name.contains("hetmp") && !name.contains("core") && !name.contains("alloc");
        ours.then(|| address.to_owned())
    });
    let place = place.unwrap_or_else(|| panic!("{path}: no function of ours: {header}"));
    let line = succeed("/usr/bin/addr2line", &["-e", &path, &place], &[]);
    assert!(line.contains(".rs:"), "{path}: {place}: {line}");
}

/// Debian's `mpich` brings a compiler, and its header is in another package.
#[test]
fn a_compiler_of_mpi_without_the_header_is_left_out() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch(library::target_dir().join(format!("no-mpi-{}", std::process::id())));
    let (bin, prefix) = (scratch.0.join("bin"), scratch.0.join("prefix"));
    fs::create_dir_all(&bin).unwrap();
    for name in ["mpicc_abi", "mpicc.openmpi", "mpicc.mpich", "mpicc"] {
        let file = bin.join(name);
        fs::write(&file, "#!/bin/sh\nexec gcc -nostdinc \"$@\"\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let target = text(&library::target_dir());
    let lib = text(library::fresh());
    let path = format!("{}:{}", text(&bin), std::env::var("PATH").unwrap());
    let env = [
        ("HETMP_LIB", lib.as_str()),
        ("CARGO_TARGET_DIR", &target),
        ("PATH", &path),
    ];
    let said = succeed("scripts/install", &["--prefix", &text(&prefix)], &env);
    let line = "hetmp: compiler mpicc.mpich: no mpi.h; libhetmp_mpi.so for its MPI is left out\n";
    assert!(said.contains(line), "{said}");
    assert!(prefix.join("lib/libhetmp.so").is_file());
    assert!(!prefix.join("lib/libhetmp_mpi.so").exists());
    // Whoever names a compiler means that one.
    let named = [env[0], env[1], env[2], ("MPICC", "mpicc.mpich")];
    let out = run("scripts/install", &["--prefix", &text(&prefix)], &named);
    assert_eq!(out.ending, exec::Ending::Exit(2));
    let said = String::from_utf8_lossy(&out.stdout);
    let line = "hetmp: compiler mpicc.mpich: not usable (expected one with mpi.h)\n";
    assert!(said.ends_with(line), "{said}");
}

#[test]
fn bad_arguments_get_one_line() {
    for args in [&["--prefix"][..], &[], &["--perfix", "x"]] {
        let out = run("scripts/install", args, &[]);
        assert_eq!(out.ending, exec::Ending::Exit(2), "{args:?}");
        let message = String::from_utf8(out.stdout).unwrap();
        assert!(message.starts_with("hetmp: option --"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    assert!(succeed("scripts/install", &["--help"], &[]).contains("usage:"));
}
