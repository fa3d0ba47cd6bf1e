//! `hetmp which` as a user runs it, on programs and packages made here.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of this test's own, emptied first.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("which-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn hetmp(arguments: &[&str], python_path: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hetmp"));
    command
        .arg("which")
        .args(arguments)
        .env_remove("LD_LIBRARY_PATH");
    if let Some(path) = python_path {
        command.env("PYTHONPATH", path);
    }
    command.output().expect("hetmp runs")
}

fn found(arguments: &[&str], python_path: Option<&Path>) -> Value {
    let output = hetmp(&[&["--json"], arguments].concat(), python_path);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn compile(compiler: &str, options: &[&str], source: &Path, to: &Path) {
    let output = Command::new(compiler)
        .args(["-O2", "-fopenmp"])
        .arg(source)
        .args(options)
        .arg("-o")
        .arg(to)
        .output()
        .expect("a compiler");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} {options:?}: {error}");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A region of each kind.
const SOURCE: &str = r#"
#include <omp.h>
#include <stdio.h>
double a[1000];
int b[1000];
#define PART __attribute__((noinline))
PART void divided(void) {
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) a[i] = i;
}
PART void scheduled(void) {
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < 1000; i++) a[i] += i;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 1000; i++) a[i] += i;
}
PART void numbered(void) {
#pragma omp parallel
    b[omp_get_thread_num()] = 1;
}
PART void tasked(void) {
#pragma omp parallel
#pragma omp single
#pragma omp task
    b[0]++;
}
"#;

const MAIN: &str = "int main(void) { divided(); scheduled(); numbered(); tasked(); return 0; }\n";

fn program(folder: &Path) -> PathBuf {
    let source = folder.join("p.c");
    fs::write(&source, format!("{SOURCE}{MAIN}")).expect("a source");
    source
}

fn number(part: &Value, name: &str) -> u64 {
    part[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name}: {part}"))
}

fn check_counts(part: &Value, by_runtime: u64, inline: u64) {
    assert_eq!(number(part, "regions"), 5, "{part}");
    assert_eq!(number(part, "dispatched"), 2, "{part}");
    assert_eq!(number(part, "runtime"), 1, "{part}");
    assert_eq!(number(part, "static_init"), by_runtime, "{part}");
    assert_eq!(number(part, "static_inline"), inline, "{part}");
    assert_eq!(number(part, "tasks"), 1, "{part}");
    let verdicts = &part["verdicts"];
    for (verdict, count) in [
        ("virtual-team", 1),
        ("dispatched", 2),
        ("thread-number", 1),
        ("tasks", 1),
    ] {
        assert_eq!(number(verdicts, verdict), count, "{part}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_of_gcc() {
    let folder = folder("gcc");
    let program = program(&folder);
    let binary = folder.join("p");
    compile("gcc", &[], &program, &binary);
    let all = found(&[text(&binary)], None);
    let runtime = &all["runtimes"][0];
    assert_eq!(runtime["runtime"], "libgomp");
    assert_eq!(runtime["renamed"], false);
    assert_eq!(runtime["preload"], true);
    assert_eq!(runtime["library_path"], true);
    assert_eq!(runtime["asked_by"][0], text(&binary));
    assert_eq!(all["runtimes"].as_array().map(Vec::len), Some(1));
    check_counts(&all["parts"][0], 0, 1);
    let table = String::from_utf8(hetmp(&[text(&binary)], None).stdout).expect("UTF-8");
    assert!(
        table.contains("LD_LIBRARY_PATH") && table.contains("tasks 1"),
        "{table}"
    );
}

/// Compilers load the addresses of a time loop's regions once, before the loop, into registers that calls preserve.
#[test]
#[cfg(target_arch = "x86_64")]
fn regions_that_a_loop_opens() {
    let folder = folder("loop");
    let source = folder.join("l.c");
    fs::write(
        &source,
        "double a[1000], b[1000];\n\
         int main(int argc, char **argv) {\n\
         for (int t = 0; t < 100 * argc; t++) {\n\
         #pragma omp parallel for\n\
         for (int i = 0; i < 1000; i++) a[i] += b[i];\n\
         #pragma omp parallel for\n\
         for (int i = 0; i < 1000; i++) b[i] += 2 * a[i];\n\
         }\n\
         return 0; }\n",
    )
    .expect("a source");
    let binary = folder.join("l");
    compile("gcc", &["-O3"], &source, &binary);
    let all = found(&[text(&binary)], None);
    let part = &all["parts"][0];
    assert_eq!(number(part, "regions"), 2, "{part}");
    assert_eq!(number(&part["verdicts"], "virtual-team"), 2, "{part}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_of_clang() {
    let there = Command::new("clang-19").arg("--version").output();
    if !there.is_ok_and(|output| output.status.success()) {
        println!("skipped: clang-19 is not installed");
        return;
    }
    let folder = folder("clang");
    let program = program(&folder);
    let binary = folder.join("p");
    compile("clang-19", &[], &program, &binary);
    let all = found(&[text(&binary)], None);
    assert_eq!(all["runtimes"][0]["runtime"], "libomp");
    assert_eq!(all["runtimes"][0]["library_path"], true);
    check_counts(&all["parts"][0], 1, 0);
}

/// Runtimes that a preload or the library path cannot replace: linked statically, found by a path that comes before the
/// user's, or renamed.
#[test]
fn what_cannot_be_reached_says_so() {
    let folder = folder("reach");
    let program = program(&folder);
    let held = folder.join("held");
    compile(
        "gcc",
        &["-Wl,-Bstatic,-lgomp,-Bdynamic", "-ldl", "-lpthread"],
        &program,
        &held,
    );
    let all = found(&[text(&held)], None);
    assert_eq!(all["runtimes"][0]["linked_in"], true);
    assert_eq!(all["runtimes"][0]["preload"], false);
    assert_eq!(all["runtimes"][0]["path"], text(&held));

    let real = Command::new("gcc")
        .args(["-print-file-name=libgomp.so.1"])
        .output()
        .expect("gcc");
    let real = PathBuf::from(String::from_utf8(real.stdout).expect("UTF-8").trim());
    let copies = folder.join("copies");
    fs::create_dir_all(&copies).expect("a folder");
    let real = if real.is_absolute() {
        real
    } else {
        PathBuf::from("/usr/lib/x86_64-linux-gnu/libgomp.so.1")
    };
    fs::copy(&real, copies.join("libgomp.so.1")).expect("a copy");
    let fixed = folder.join("fixed");
    compile(
        "gcc",
        &["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/copies"],
        &program,
        &fixed,
    );
    let all = found(&[text(&fixed)], None);
    assert_eq!(
        all["runtimes"][0]["path"],
        text(&copies.join("libgomp.so.1"))
    );
    assert_eq!(all["runtimes"][0]["preload"], true);
    assert_eq!(all["runtimes"][0]["library_path"], false);
    let table = String::from_utf8(hetmp(&[text(&fixed)], None).stdout).expect("UTF-8");
    assert!(
        table.contains("LD_LIBRARY_PATH does not reach it"),
        "{table}"
    );

    // The newer kind of path comes after the user's.
    let open = folder.join("open");
    compile(
        "gcc",
        &["-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN/copies"],
        &program,
        &open,
    );
    let all = found(&[text(&open)], None);
    assert_eq!(
        all["runtimes"][0]["path"],
        text(&copies.join("libgomp.so.1"))
    );
    assert_eq!(all["runtimes"][0]["library_path"], true);
}

/// A program that needs a name, at its version, that libhetmp.so does not have. The commands look into the library that
/// was installed with them.
#[test]
fn a_name_that_only_the_other_runtime_has_is_said() {
    let folder = folder("needs");
    for place in ["bin", "lib"] {
        fs::create_dir(folder.join(place)).expect("a folder");
    }
    let command = folder.join("bin/hetmp");
    fs::copy(env!("CARGO_BIN_EXE_hetmp"), &command).expect("a copy");
    let script = folder.join("versions");
    fs::write(&script, "VERSION { global: *; };\n").expect("a script");
    let common = "void GOMP_parallel(void) {}\nint omp_get_thread_num(void) { return 0; }\n";
    let more = format!("{common}int GOMP_of_tomorrow(void) {{ return 7; }}\n");
    let library = |text: &str, to: &Path, soname: &str| {
        let source = folder.join("library.c");
        fs::write(&source, text).expect("a source");
        let output = Command::new("gcc")
            .args(["-shared", "-fPIC"])
            .arg(format!("-Wl,--version-script={}", script.display()))
            .arg(format!("-Wl,-soname,{soname}"))
            .arg(&source)
            .arg("-o")
            .arg(to)
            .status();
        assert!(output.is_ok_and(|status| status.success()));
    };
    library(common, &folder.join("lib/libhetmp.so"), "libgomp.so.1");
    let other = folder.join("libomp.so.5");
    library(&more, &other, "libomp.so.5");
    for (name, text, replaced) in [
        ("whole", "", true),
        (
            "half",
            "int GOMP_of_tomorrow(void);\nint tomorrow(void) { return GOMP_of_tomorrow(); }\n",
            false,
        ),
    ] {
        let (source, object) = (
            folder.join(format!("{name}.c")),
            folder.join(format!("{name}.o")),
        );
        let main = "int main(int n, char **v) {\nint s = 0;\n#pragma omp parallel reduction(+:s)\ns += n;\nreturn s; \
                    }\n";
        fs::write(&source, format!("{text}{main}")).expect("a source");
        compile("gcc", &["-c"], &source, &object);
        let program = folder.join(name);
        let linked = Command::new("gcc")
            .args([&object, &other])
            .arg("-Wl,-rpath,$ORIGIN")
            .arg("-o")
            .arg(&program)
            .status();
        assert!(linked.is_ok_and(|status| status.success()));
        let run = |option: &[&str]| {
            let output = Command::new(&command)
                .arg("which")
                .args(option)
                .arg(&program)
                .output();
            output.expect("hetmp runs").stdout
        };
        let all: Value = serde_json::from_slice(&run(&["--json"])).expect("JSON");
        assert_eq!(all["runtimes"][0]["preload"], replaced, "{all}");
        assert_eq!(all["runtimes"][0]["library_path"], replaced, "{all}");
        let table = String::from_utf8(run(&[])).expect("UTF-8");
        let said = table.contains("not replaced: needs GOMP_of_tomorrow@VERSION,");
        assert_eq!(said, !replaced, "{table}");
    }
}

/// A package with a renamed runtime, and one that it requires with the system's; nothing of them is imported.
#[test]
fn a_python_package() {
    if !has_python() {
        return;
    }
    let site = folder("python");
    let source = site.join("p.c");
    fs::write(&source, SOURCE).expect("a source");
    let fake = site.join("runtime.c");
    fs::write(
        &fake,
        "void GOMP_parallel(void) {}\nvoid GOMP_barrier(void) {}\n",
    )
    .expect("a source");
    for (name, requires, renamed) in [
        (
            "first",
            "Requires-Dist: second>=1 ; python_version > \"3\"\n",
            true,
        ),
        ("second", "", false),
    ] {
        let package = site.join(name);
        let libs = site.join(format!("{name}.libs"));
        let info = site.join(format!("{name}-1.5.dist-info"));
        for folder in [&package, &libs, &info] {
            fs::create_dir_all(folder).expect("a folder");
        }
        fs::write(
            package.join("__init__.py"),
            "raise SystemExit('imported')\n",
        )
        .expect("a module");
        let module = package.join("_core.cpython-311-x86_64-linux-gnu.so");
        let mut files =
            format!("{name}/__init__.py,,\n{name}/_core.cpython-311-x86_64-linux-gnu.so,,\n");
        let runtime = "libgomp-0123abcd.so.1.0.0";
        if renamed {
            let soname = format!("-Wl,-soname,{runtime}");
            let library = libs.join(runtime);
            let output = Command::new("gcc")
                .args(["-shared", "-fPIC"])
                .arg(&soname)
                .arg(&fake)
                .arg("-o")
                .arg(&library)
                .status();
            assert!(output.is_ok_and(|status| status.success()));
            // Compiled without -fopenmp at the link, which would name the system's.
            let object = site.join("core.o");
            compile("gcc", &["-c", "-fPIC"], &source, &object);
            let output = Command::new("gcc")
                .arg("-shared")
                .arg(&object)
                .arg("-Wl,--allow-shlib-undefined")
                .arg(format!("-Wl,-rpath,$ORIGIN/../{name}.libs"))
                .arg(&library)
                .arg("-o")
                .arg(&module)
                .status();
            assert!(output.is_ok_and(|status| status.success()));
            files += &format!("{name}.libs/{runtime},,\n");
        } else {
            compile("gcc", &["-shared", "-fPIC"], &source, &module);
        }
        fs::write(
            info.join("METADATA"),
            format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n{requires}"),
        )
        .expect("metadata");
        fs::write(info.join("RECORD"), files).expect("a record");
    }
    let all = found(&["first"], Some(&site));
    assert_eq!(
        all["packages"],
        serde_json::json!(["first 1.5", "second 1.5"])
    );
    let runtimes = all["runtimes"].as_array().expect("runtimes");
    assert_eq!(runtimes.len(), 2, "{all}");
    let renamed = runtimes
        .iter()
        .find(|runtime| runtime["renamed"] == true)
        .expect("a renamed one");
    assert_eq!(renamed["library_path"], false);
    assert_eq!(renamed["preload"], true);
    assert_eq!(renamed["runtime"], "libgomp");
    let plain = runtimes
        .iter()
        .find(|runtime| runtime["renamed"] == false)
        .expect("a plain one");
    assert_eq!(plain["library_path"], true);
    assert_eq!(all["parts"].as_array().map(Vec::len), Some(2), "{all}");
    let table = String::from_utf8(hetmp(&["first"], Some(&site)).stdout).expect("UTF-8");
    assert!(table.contains("2 pools of threads"), "{table}");
}

/// A package of Python that has the module and writes down these files.
fn distribution(site: &Path, name: &str, files: &str) {
    let info = site.join(format!("{}-1.5.dist-info", name.replace('-', "_")));
    fs::create_dir_all(&info).expect("a folder");
    let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n");
    fs::write(info.join("METADATA"), metadata).expect("metadata");
    fs::write(info.join("RECORD"), files).expect("a record");
}

/// `hetmp prepare` finds the regions that `hetmp which` counts, and reaches as many.
#[test]
fn what_is_prepared_is_what_is_counted() {
    let folder = folder("prepared");
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    fs::write(
        &source,
        SOURCE.to_owned() + "int main(void) { divided(); scheduled(); numbered(); tasked(); }\n",
    )
    .expect("a source");
    compile("gcc", &[], &source, &program);
    let counted = found(&[text(&program)], None);
    let verdicts = counted["parts"][0]["verdicts"]
        .as_object()
        .expect("verdicts");
    let of = |word: &str| verdicts.get(word).and_then(Value::as_u64).unwrap_or(0);
    let all: u64 = verdicts.keys().map(|word| of(word)).sum();
    let reached = of("virtual-team") + of("dispatched");
    let prepare = |cache: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hetmp"));
        let command = command
            .arg("prepare")
            .arg(&program)
            .env("HETMP_CACHE", cache);
        command.output().expect("hetmp runs")
    };
    let cache = folder.join("cache");
    let said = String::from_utf8(prepare(&cache).stdout).expect("UTF-8");
    let path = program.display();
    assert_eq!(
        said,
        format!("{path}: {all} regions, {reached} reached by the schedules\n")
    );
    assert!(reached > 0 && reached < all);
    assert_eq!(fs::read_dir(&cache).expect("a folder").count(), 1);
    // Where nothing can be kept, that is said.
    for (cache, why) in [
        ("off", "there is no folder"),
        ("here", "not usable"),
        (text(&source), "not a folder"),
    ] {
        let output = prepare(Path::new(cache));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.starts_with("hetmp: HETMP_CACHE: ") && said.contains(why),
            "{said}"
        );
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1));
    }
}

/// Packages without files of their own: namespaces, which several bring, and development trees, which a .pth file
/// names.
#[test]
fn namespaces_and_development_trees() {
    if !has_python() {
        return;
    }
    let site = folder("python-trees");
    let tree = folder("python-tree");
    let source = site.join("p.c");
    fs::write(&source, SOURCE).expect("a source");
    let modules = [
        site.join("space/one/a.so"),
        site.join("space/two/b.so"),
        site.join("alone/part/c.so"),
        tree.join("developed/d.so"),
    ];
    for module in &modules {
        fs::create_dir_all(module.parent().expect("a folder")).expect("a folder");
        compile("gcc", &["-shared", "-fPIC"], &source, module);
    }
    distribution(&site, "space-one", "space/one/a.so,,\n");
    distribution(&site, "space-two", "space/two/b.so,,\n");
    distribution(&site, "dev-tree", "dev_tree.pth,,\n");
    fs::write(site.join("dev_tree.pth"), format!("{}\n", tree.display())).expect("a .pth file");
    for (name, wanted) in [
        ("space", &modules[..2]),
        ("space-two", &modules[1..2]),
        ("alone", &modules[2..3]),
        ("dev-tree", &modules[3..]),
    ] {
        let all = found(&[name], Some(&site));
        let parts = all["parts"].as_array().expect("parts");
        let mut paths: Vec<&str> = parts.iter().filter_map(|p| p["path"].as_str()).collect();
        paths.sort_unstable();
        let wanted: Vec<&str> = wanted.iter().map(|path| text(path)).collect();
        assert_eq!(paths, wanted, "{name}: {all}");
    }
    // A folder that happens to lie here is no package.
    let output = Command::new(env!("CARGO_BIN_EXE_hetmp"))
        .args(["which", "space"])
        .current_dir(&site)
        .env_remove("PYTHONPATH")
        .output()
        .expect("hetmp runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// Programs and packages of one name.
#[test]
fn a_name_that_means_two_things() {
    if !has_python() {
        return;
    }
    let site = folder("two");
    let bin = site.join("bin");
    let source = program(&site);
    for name in ["tool", "solver"] {
        let module = site.join(name).join("m.so");
        fs::create_dir_all(site.join(name)).expect("a folder");
        compile("gcc", &["-shared", "-fPIC"], &source, &module);
        distribution(&site, name, &format!("{name}/m.so,,\n"));
    }
    fs::create_dir_all(&bin).expect("a folder");
    compile("gcc", &[], &source, &bin.join("solver"));
    fs::write(bin.join("tool"), "#!/bin/sh\n").expect("a script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(bin.join("tool"), mode).expect("a mode");
    let search = std::env::var("PATH").expect("PATH");
    let part = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_hetmp"))
            .args(["which", "--json"])
            .args(arguments)
            .env("PATH", format!("{}:{search}", bin.display()))
            .env("PYTHONPATH", &site)
            .output()
            .expect("hetmp runs");
        let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        PathBuf::from(all["parts"][0]["path"].as_str().expect("a part"))
    };
    // A script starts its package; another program is itself.
    assert_eq!(part(&["tool"]), site.join("tool/m.so"));
    assert_eq!(part(&["solver"]), bin.join("solver"));
    // Whoever names an interpreter means its packages. The last one counts.
    let python = ["--python", "/no/python", "--python", "python3"];
    assert_eq!(
        part(&[&python[..], &["solver"]].concat()),
        site.join("solver/m.so")
    );
}

fn has_python() -> bool {
    let there = Command::new("python3").arg("--version").output();
    let there = there.is_ok_and(|output| output.status.success());
    if !there {
        println!("skipped: python3 is not installed");
    }
    there
}

#[test]
fn bad_targets_cost_one_line_each() {
    let folder = folder("bad");
    fs::write(folder.join("text"), "no program\n").expect("a file");
    fs::write(folder.join("cut"), b"\x7fELF\x02\x01\x01").expect("a file");
    for (target, what) in [
        (text(&folder), "a folder"),
        (text(&folder.join("text")), "not an ELF file"),
        (text(&folder.join("cut")), "broken"),
        (text(&folder.join("nothing")), "not found"),
        ("no-such-program-or-package", "neither a program"),
    ] {
        let output = hetmp(&[target], None);
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{target}: {error}");
        assert!(
            error.starts_with("hetmp: ") && error.contains(what),
            "{target}: {error}"
        );
        assert_eq!(error.lines().count(), 1, "{target}: {error}");
    }
    let output = hetmp(&["--python", "/no/python", "no-such-package"], None);
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(
        error.contains("--python /no/python") && error.lines().count() == 1,
        "{error}"
    );
}

/// Files that are cut off or have random bytes give an answer or one line, and never a crash.
#[test]
fn damaged_files() {
    let folder = folder("damaged");
    let program = program(&folder);
    let binary = folder.join("p");
    compile("gcc", &[], &program, &binary);
    let whole = fs::read(&binary).expect("the program");
    let damaged = folder.join("damaged");
    let mut seed = 1_u64;
    let mut next = move || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize
    };
    for round in 0..60 {
        let mut bytes = whole.clone();
        if round % 3 == 0 {
            bytes.truncate(next() % whole.len());
        }
        for _ in 0..1 + next() % 64 {
            // Half of the changes are in the first 4096 bytes, where the headers and tables are.
            let end = if next() % 2 == 0 {
                bytes.len().min(4096)
            } else {
                bytes.len()
            };
            if end > 0 {
                let at = next() % end;
                bytes[at] = next() as u8;
            }
        }
        fs::write(&damaged, &bytes).expect("a file");
        let output = hetmp(&[text(&damaged)], None);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            matches!(output.status.code(), Some(0 | 2)),
            "round {round}: {error}"
        );
        assert!(error.lines().count() <= 1, "round {round}: {error}");
    }
}

/// A library for 64-bit Arm is read here as it is there; the libraries that it needs are not here.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_for_another_machine() {
    let cross = "aarch64-linux-gnu-gcc";
    if Command::new(cross).arg("--version").output().is_err() {
        println!("skipped for {cross}: not installed");
        return;
    }
    let folder = folder("arm");
    let source = folder.join("kinds.c");
    fs::write(&source, SOURCE).expect("a source");
    let parts = ["gcc", cross].map(|compiler| {
        let program = folder.join(compiler);
        compile(compiler, &["-shared", "-fPIC"], &source, &program);
        let found = found(&[text(&program)], None);
        let parts = found["parts"].as_array().expect("parts");
        parts
            .iter()
            .find(|part| part["path"].as_str() == Some(text(&program)))
            .expect("the program")
            .clone()
    });
    for count in [
        "regions",
        "dispatched",
        "runtime",
        "static_inline",
        "tasks",
        "verdicts",
    ] {
        assert!(!parts[0][count].is_null(), "{}", parts[0]);
        assert_eq!(parts[0][count], parts[1][count], "{count}");
    }
}
