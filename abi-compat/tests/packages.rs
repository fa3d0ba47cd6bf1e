//! `scripts/package`: each package is installed as a user would install it, and must then run a program that gcc built.

use hetmp_abi_compat::{exec, library, readme};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Longer than any command here takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(900);

fn run(path: &str, args: &[&str], env: &[(&str, &str)]) -> exec::Outcome {
    exec::command(path, args, env, LIMIT)
}

fn output(path: &str, args: &[&str], env: &[(&str, &str)]) -> String {
    exec::succeed(path, args, env, LIMIT)
}

fn there(tool: &str) -> Option<String> {
    let found = hetmp_abi_compat::suite::find_in_path(tool).ok()?;
    Some(text(&found))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = library::target_dir().join(format!("packages-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    fn path(&self, name: &str) -> String {
        text(&self.0.join(name))
    }

    /// Makes packages of some kinds, compressed lightly, and returns their files.
    fn packages(&self, kinds: &[&str]) -> Vec<String> {
        let target = text(&library::target_dir());
        let lib = text(library::fresh());
        let env = [("HETMP_LIB", lib.as_str()), ("CARGO_TARGET_DIR", &target)];
        let to = self.path("out");
        let args = [&["--fast", "--out", &to], kinds].concat();
        let out = output("scripts/package", &args, &env);
        let files: Vec<String> = out.lines().map(str::to_owned).collect();
        assert!(
            !files.is_empty() && files.iter().all(|f| Path::new(f).is_file()),
            "{out}"
        );
        files
    }

    /// The packages of some kinds, made once for all tests. They stay for the next run to replace.
    fn once(
        cell: &'static OnceLock<(Scratch, Vec<String>)>,
        name: &str,
        kinds: &[&str],
    ) -> (&'static str, &'static [String]) {
        let (s, files) = cell.get_or_init(|| {
            let dir = library::target_dir().join(name);
            drop(fs::remove_dir_all(&dir));
            fs::create_dir_all(&dir).unwrap();
            let s = Scratch(dir);
            let files = s.packages(kinds);
            (s, files)
        });
        (s.0.to_str().expect("a path in UTF-8"), files)
    }

    /// The archive and its debug information, and the three Debian packages where these can be made.
    fn of_the_system() -> (&'static str, &'static [String]) {
        static MADE: OnceLock<(Scratch, Vec<String>)> = OnceLock::new();
        let kinds = if there("dpkg-shlibdeps").is_some() {
            &["tar", "deb"][..]
        } else {
            &["tar"]
        };
        Scratch::once(&MADE, "packages-system", kinds)
    }

    /// The wheel. To build it, pip downloads setuptools.
    fn wheel() -> &'static str {
        static MADE: OnceLock<(Scratch, Vec<String>)> = OnceLock::new();
        &Scratch::once(&MADE, "packages-wheel", &["wheel"]).1[0]
    }

    fn debian() -> (&'static str, Vec<&'static str>) {
        let (folder, files) = Scratch::of_the_system();
        let files = files.iter().filter(|file| file.ends_with(".deb"));
        (folder, files.map(String::as_str).collect())
    }

    /// A program that prints which OpenMP runtime it runs on.
    fn program(&self) -> String {
        let (source, program) = (self.path("p.c"), self.path("p"));
        fs::write(&source, PROGRAM).unwrap();
        let gcc = there("gcc").expect("gcc");
        output(
            &gcc,
            &["-fopenmp", "-O2", &source, "-o", &program, "-ldl"],
            &[],
        );
        program
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
int main(void) {
    long sum = 0;
    #pragma omp parallel for reduction(+:sum) num_threads(4)
    for (int i = 0; i < 1000; i++) sum += i;
    Dl_info where;
    if (!dladdr((void *)omp_get_num_procs, &where)) return 1;
    printf("%ld %s\n", sum, where.dli_fname);
    return sum == 499500 ? 0 : 1;
}
"#;

#[test]
fn the_archive_works_wherever_it_is_unpacked() {
    let s = Scratch::new("tar");
    let (_, files) = Scratch::of_the_system();
    let place = s.path("some where");
    fs::create_dir_all(&place).unwrap();
    output(
        &there("tar").expect("tar"),
        &["-xzf", &files[0], "-C", &place],
        &[],
    );
    // LD_PRELOAD cannot name a folder with a blank in its path. The command says so; linking with the library works.
    let tree = fs::read_dir(&place)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let refused = run(&text(&tree.join("bin/hetmp")), &["run", "true"], &[]);
    assert_eq!(refused.ending, exec::Ending::Exit(2));
    let plain = PathBuf::from(s.path("plain"));
    fs::rename(&tree, &plain).unwrap();
    let program = s.program();
    let shown = output(&text(&plain.join("bin/hetmp")), &["run", &program], &[]);
    assert_eq!(
        shown,
        format!("499500 {}\n", text(&plain.join("lib/libgomp.so.1")))
    );
    module_systems_load_it(&plain);
    if let Some(pkg_config) = there("pkg-config") {
        let folder = text(&plain.join("lib/pkgconfig"));
        let flags = output(
            &pkg_config,
            &["--cflags", "hetmp"],
            &[("PKG_CONFIG_PATH", &folder)],
        );
        let include = flags
            .trim()
            .strip_prefix("-I")
            .expect("a folder")
            .to_owned();
        assert!(Path::new(&include).join("hetmp/mq.h").is_file(), "{flags}");
    }
}

/// Loads the tree's module file with the module systems that are installed, Lmod and Environment Modules.
fn module_systems_load_it(tree: &Path) {
    let folder = text(&tree.join("etc/modulefiles"));
    assert!(tree.join("etc/modulefiles/hetmp").is_file());
    let lmod = fs::read_dir("/usr/share/lmod").ok().and_then(|versions| {
        versions
            .flatten()
            .map(|version| version.path().join("libexec/lmod"))
            .find(|command| command.is_file())
    });
    let modules = Path::new("/usr/lib/x86_64-linux-gnu/modulecmd.tcl");
    let systems = [lmod, modules.is_file().then(|| modules.to_path_buf())];
    if systems.iter().all(Option::is_none) {
        eprintln!("skipped: neither lmod nor environment-modules is installed");
    }
    for system in systems.iter().flatten() {
        // A module system prints shell commands, which the shell must evaluate.
        let script = r#"eval "$("$1" bash load hetmp)"; command -v hetmp; echo "$HETMP_ROOT""#;
        let shown = output(
            "/bin/bash",
            &["-c", script, "bash", &text(system)],
            &[("MODULEPATH", &folder)],
        );
        let root = text(tree);
        assert_eq!(shown, format!("{root}/bin/hetmp\n{root}\n"), "{system:?}");
    }
}

#[test]
#[ignore = "long: a release's packages"]
fn debian_packages_hold_what_their_links_name() {
    let s = Scratch::new("deb");
    if there("dpkg-shlibdeps").is_none() {
        eprintln!("skipped: no dpkg-shlibdeps (Debian's dpkg-dev)");
        return;
    }
    let (_, files) = Scratch::debian();
    assert_eq!(files.len(), 3, "{files:?}");
    let dpkg = there("dpkg-deb").expect("dpkg-deb");
    let root = s.path("root");
    for file in &files {
        output(&dpkg, &["-x", file, &root], &[]);
    }
    let program = s.program();
    let shown = output(&format!("{root}/usr/bin/hetmp"), &["run", &program], &[]);
    let library = fs::canonicalize(format!("{root}/usr/lib/hetmp/lib/libgomp.so.1")).unwrap();
    assert_eq!(shown, format!("499500 {}\n", text(&library)));
    let fields = output(&dpkg, &["-f", files[0], "Depends"], &[]);
    assert!(fields.contains("libc6 (>= "), "{fields}");
    // The package must have no files where the loader or a compiler looks by default: other packages own those names.
    for name in ["usr/bin/oshcc", "usr/bin/oshrun", "usr/include"] {
        assert!(
            fs::symlink_metadata(format!("{root}/{name}")).is_err(),
            "{name}"
        );
    }
    assert!(Path::new(&format!("{root}/usr/share/man/man1/hetmp-run.1.gz")).is_file());
    // What the documentation names to link with, and what that links with.
    for name in ["hetmp", "hetmp-goal", "hetmp-shmem"] {
        let file = format!("{root}/usr/share/pkgconfig/{name}.pc");
        assert!(Path::new(&file).is_file(), "{file}");
    }
    for name in ["mq", "goal", "shmem"] {
        let file = format!("{root}/usr/lib/hetmp/lib/libhetmp_{name}.so");
        assert!(Path::new(&file).is_file(), "{file}");
    }
    if let Some(lintian) = there("lintian") {
        let mut args = vec!["--allow-root", "--fail-on", "error,warning"];
        args.extend(&files);
        output(&lintian, &args, &[]);
    }
}

/// The files below a folder, without dpkg's own database.
fn tree(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let name = text(path.strip_prefix(root).unwrap());
            if name.starts_with("var/lib/dpkg") {
                continue;
            }
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                folders.push(path);
            }
            all.push(name);
        }
    }
    all.sort();
    all
}

/// dpkg installs the packages into an empty system, where the README's first example runs, and removes them.
#[test]
#[ignore = "long: a release's packages"]
fn debian_packages_come_and_go_without_a_trace() {
    let s = Scratch::new("dpkg");
    let Some(dpkg) = there("dpkg").filter(|_| there("dpkg-shlibdeps").is_some()) else {
        eprintln!("skipped: no dpkg, or no dpkg-shlibdeps (Debian's dpkg-dev)");
        return;
    };
    let (_, files) = Scratch::debian();
    let root = s.0.join("system");
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let system = format!("--root={}", text(&root));
    // The empty system has no libc6 that dpkg knows of.
    let common = [&system, "--force-depends", "--force-not-root"];
    let before = tree(&root);
    let mut install = common.to_vec();
    install.push("--install");
    install.extend(&files);
    let out = run(&dpkg, &install, &[]);
    if out.ending != exec::Ending::Exit(0) {
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(said.contains("ermi"), "{said}");
        eprintln!("skipped: dpkg --root: {said}");
        return;
    }
    let program = s.program();
    let shown = output(&text(&root.join("usr/bin/hetmp")), &["run", &program], &[]);
    assert!(
        shown.starts_with("499500 ") && shown.contains("/usr/lib/hetmp/lib/"),
        "{shown}"
    );
    let mut purge = common.to_vec();
    purge.extend(["--purge", "hetmp-dbgsym", "hetmp-dev", "hetmp"]);
    output(&dpkg, &purge, &[]);
    assert_eq!(tree(&root), before);
}

/// The same in a chroot with the essential packages alone, whose own dpkg sees to what the packages need.
#[test]
#[ignore = "makes a Debian system in a folder"]
fn debian_packages_serve_a_bare_debian() {
    let (made, files) = Scratch::debian();
    if files.is_empty() {
        eprintln!("skipped: no dpkg-shlibdeps (Debian's dpkg-dev)");
        return;
    }
    let packages = format!("{made}/out");
    let out = run("scripts/bare", &["--packages", &packages], &[]);
    let shown = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.ending == exec::Ending::Exit(77) {
        eprintln!("{}", shown.trim());
        return;
    }
    assert_eq!(out.ending, exec::Ending::Exit(0), "{shown}");
    assert!(
        shown.contains("ok      hetmp run\n") && shown.contains("ok      purged without a trace"),
        "{shown}"
    );
}

/// Loads a library with OpenMP, as Python's extension modules are, and prints what the wheel's functions say about this
/// process.
const SCRIPT: &str = r#"
import ctypes, os, sys, time, hetmp
where = hetmp.library()
module = ctypes.CDLL(sys.argv[1])
module.total.restype = ctypes.c_long
print(module.total(), hetmp.loaded())
if os.environ.get("HETMP_REPORT"):
    for _ in range(600):
        try:
            if hetmp.report()["regions"]:
                print("region")
                break
        except FileNotFoundError:
            pass
        time.sleep(0.05)
        module.total()
"#;

const MODULE: &str = r"
long total(void) {
    long sum = 0;
    #pragma omp parallel for reduction(+:sum) num_threads(2)
    for (int i = 0; i < 1000; i++) sum += i;
    return sum;
}
";

#[test]
fn the_wheel_brings_library_and_commands() {
    let s = Scratch::new("wheel");
    // Several versions of Python may be installed. The test uses the one that pip belongs to.
    let Some(python) = there("python3") else {
        eprintln!("skipped: no python3");
        return;
    };
    let venv = s.path("venv");
    if run(&python, &["-m", "venv", &venv], &[]).ending != exec::Ending::Exit(0) {
        eprintln!("skipped: python3 -m venv makes no environment (Debian's python3-venv)");
        return;
    }
    // To build a wheel, pip downloads setuptools.
    let fetch = [
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        &s.path("tools"),
        "setuptools>=70.1",
    ];
    if run(&format!("{venv}/bin/python"), &fetch, &[]).ending != exec::Ending::Exit(0) {
        eprintln!("skipped: pip reaches no index of packages");
        return;
    }
    let made = Scratch::wheel();
    let inside = format!("{venv}/bin/python");
    output(
        &inside,
        &["-m", "pip", "install", "--quiet", "--no-index", made],
        &[],
    );
    let (c, module, script) = (s.path("m.c"), s.path("m.so"), s.path("s.py"));
    fs::write(&c, MODULE).unwrap();
    fs::write(&script, SCRIPT).unwrap();
    let gcc = there("gcc").expect("gcc");
    output(
        &gcc,
        &["-fopenmp", "-O2", "-shared", "-fPIC", &c, "-o", &module],
        &[],
    );

    assert_eq!(output(&inside, &[&script, &module], &[]), "499500 False\n");
    let run = ["-m", "hetmp", "run"];
    let with = |options: &[&str]| {
        let mut args = run.to_vec();
        args.extend(options);
        args.extend([script.as_str(), module.as_str()]);
        output(&inside, &args, &[])
    };
    assert_eq!(with(&[]), "499500 True\n");
    let report = format!("--report={}", s.path("r.json"));
    let shown = with(&[&report]);
    assert!(
        shown.starts_with("499500 True\nregion\n") && shown.contains("Parallel regions"),
        "{shown}"
    );
    let program = s.program();
    let shown = output(&format!("{venv}/bin/hetmp"), &["run", &program], &[]);
    assert!(
        shown.starts_with("499500 ") && shown.contains("/hetmp/lib/libgomp.so.1"),
        "{shown}"
    );

    // The packages of this environment, whatever is in PATH.
    let seen = output(
        &inside,
        &["-m", "hetmp", "which", "pip"],
        &[("PATH", "/nonexistent")],
    );
    assert!(seen.starts_with("packages: pip "), "{seen}");

    let code = "import hetmp; print(hetmp.loaded())";
    fs::write(s.path("said.py"), code).unwrap();
    for options in [["-c", code], ["-m", "said"]] {
        let mut args = run.to_vec();
        args.push("--");
        args.extend(options);
        assert_eq!(
            output(&inside, &args, &[("PYTHONPATH", &s.path(""))]),
            "True\n"
        );
    }

    // The page's lines, in an environment of their own.
    let lines = &readme::examples("docs/getting-started.md", "## Python", "sh")[0];
    assert!(lines.contains("pip install"), "{lines}");
    let (fresh, folder) = (s.path("fresh"), s.path("readme"));
    output(&python, &["-m", "venv", &fresh], &[]);
    fs::create_dir_all(format!("{folder}/target/packages")).unwrap();
    let wheel = Path::new(made).file_name().unwrap();
    fs::copy(made, Path::new(&folder).join("target/packages").join(wheel)).unwrap();
    fs::write(format!("{folder}/script.py"), code).unwrap();
    let shown = output(
        "/bin/sh",
        &["-euc", &format!("cd '{folder}'\n{lines}")],
        &[
            ("PATH", &format!("{fresh}/bin:/usr/bin:/bin")),
            ("PIP_NO_INDEX", "1"),
            ("HOME", &folder),
        ],
    );
    assert!(shown.contains("\nTrue\n"), "{shown}");
    assert!(Path::new(&format!("{fresh}/share/jupyter/kernels/hetmp/kernel.json")).is_file());

    let kernel = output(&inside, &["-m", "hetmp", "kernel", "--nodes", "1"], &[]);
    let spec = fs::read_to_string(Path::new(kernel.trim()).join("kernel.json")).unwrap();
    let spec: serde_json::Value = serde_json::from_str(&spec).unwrap();
    let preload = spec["env"]["LD_PRELOAD"].as_str().unwrap();
    assert!(Path::new(preload).is_file(), "{spec}");
    assert_eq!(spec["env"]["HETMP_NODES"], "1");
    if !hetmp_abi_compat::sample::is_short() {
        in_a_notebook(&s, &inside, &module);
    }
}

/// What a notebook does: starts a kernel by its name, and has it run the code of cells.
const NOTEBOOK: &str = r#"
import sys
from jupyter_client.manager import start_new_kernel

CELLS = [
    """import ctypes, hetmp, subprocess, sys
module = ctypes.CDLL(%r)
module.total.restype = ctypes.c_long
print(module.total(), hetmp.loaded())""" % sys.argv[1],
    # Too late for this interpreter, in time for those that it starts.
    """%env LD_PRELOAD={hetmp.library()}
print(hetmp.loaded())
child = [sys.executable, '-c', 'import hetmp; print(hetmp.loaded())']
print(subprocess.run(child, capture_output=True, text=True).stdout)""",
]
for name in ("python3", "hetmp"):
    manager, client = start_new_kernel(kernel_name=name, startup_timeout=300)
    said = []
    def hear(message):
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            said.append(message["content"]["text"])
    for cell in CELLS:
        reply = client.execute_interactive(cell, output_hook=hear, timeout=300)
        if reply["content"]["status"] != "ok":
            sys.exit(str(reply["content"]))
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    print(name, [line for line in "".join(said).split("\n") if line and not line.startswith("env:")])
"#;

/// The usual kernel runs on libgomp, whatever a cell sets; ours from the start. A kernel's own runtime is one thing,
/// that of the programs it starts another.
fn in_a_notebook(s: &Scratch, python: &str, module: &str) {
    let fetch = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "ipykernel",
    ];
    if run(python, &fetch, &[]).ending != exec::Ending::Exit(0) {
        eprintln!("skipped: notebook: pip reaches no index of packages");
        return;
    }
    let script = s.path("notebook.py");
    fs::write(&script, NOTEBOOK).unwrap();
    let shown = output(
        python,
        &["-W", "ignore", &script, module],
        &[("HOME", &s.path("")), ("IPYTHONDIR", &s.path("ipython"))],
    );
    // Kernels say on their standard error how they encrypt.
    let said: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("python3 [") || line.starts_with("hetmp ["))
        .collect();
    assert_eq!(
        said,
        [
            "python3 ['499500 False', 'False', 'True']",
            "hetmp ['499500 True', 'True', 'True']",
        ],
        "{shown}"
    );
}

/// Two libraries that bring OpenMP runtimes of their own, in one process.
const TWO_CLIENTS: &str = r"
import os, sys
import numpy as np
import lightgbm as lgb
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_info, threadpool_limits

def pools():
    return [pool for pool in threadpool_info() if pool['user_api'] == 'openmp']

x = np.random.default_rng(7).standard_normal((2000, 8)).astype(np.float32)
y = x[:, 0] * x[:, 1]
trees = HistGradientBoostingRegressor(max_iter=5, random_state=1).fit(x, y)
boost = lgb.train(dict(objective='regression', verbose=-1, seed=3), lgb.Dataset(x, y), 5)
assert np.isfinite(trees.predict(x[:3])).all() and np.isfinite(boost.predict(x[:3])).all()
print('ours', any(pool['filepath'].endswith('/hetmp/lib/libgomp.so.1') for pool in pools()))
print('threads', len(os.listdir('/proc/self/task')))
print('teams', {pool['num_threads'] for pool in pools()})
with threadpool_limits(3, 'openmp'):
    print('teams', {pool['num_threads'] for pool in pools()})
";

/// Two libraries each bring a copy of libgomp. Both of them, and threadpoolctl, must see one pool: ours.
#[test]
#[ignore = "fetches packages of some hundred megabytes"]
fn two_clients_of_one_process_share_a_pool() {
    let s = Scratch::new("pool");
    let Some(python) = there("python3") else {
        eprintln!("skipped: no python3");
        return;
    };
    let venv = s.path("venv");
    if run(&python, &["-m", "venv", &venv], &[]).ending != exec::Ending::Exit(0) {
        eprintln!("skipped: python3 -m venv makes no environment (Debian's python3-venv)");
        return;
    }
    let inside = format!("{venv}/bin/python");
    let fetch = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary=:all:",
        "lightgbm",
        "scikit-learn",
        "threadpoolctl",
    ];
    if run(&inside, &fetch, &[]).ending != exec::Ending::Exit(0) {
        eprintln!("skipped: pip reaches no index of packages");
        return;
    }
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        Scratch::wheel(),
    ];
    output(&inside, &install, &[]);
    let script = s.path("two.py");
    fs::write(&script, TWO_CLIENTS).unwrap();
    let shown = output(
        &inside,
        &["-m", "hetmp", "run", "--threads", "2", &script],
        &[("OPENBLAS_NUM_THREADS", "1")],
    );
    assert_eq!(shown, "ours True\nthreads 2\nteams {2}\nteams {3}\n");

    // What the example in getting-started.md shows of the same two packages: two runtimes, and how each is replaced.
    let shown = output(
        &format!("{venv}/bin/hetmp"),
        &["which", "scikit-learn", "lightgbm", "--python", &inside],
        &[],
    );
    let is_there = |line: &dyn Fn(&str) -> bool| shown.lines().any(line);
    for (what, found) in [
        (
            "head",
            is_there(&|l| l.starts_with("OpenMP runtimes (") && l.ends_with(" files looked at)")),
        ),
        (
            "copy",
            is_there(&|l| l.starts_with("  libgomp, renamed  ") && l.contains("/libgomp-")),
        ),
        (
            "why",
            is_there(&|l| {
                l == "      replaced by LD_PRELOAD=libhetmp.so (hetmp run); LD_LIBRARY_PATH does not reach it"
            }),
        ),
        (
            "pools",
            is_there(&|l| l.ends_with(" pools of threads; one under LD_PRELOAD=libhetmp.so")),
        ),
    ] {
        assert!(found, "{what}: {shown}");
    }
}

#[test]
fn release_notes_are_a_section_of_the_changelog() {
    let s = Scratch::new("notes");
    let shown = output("scripts/package", &["--out", &s.path("out"), "notes"], &[]);
    let notes = fs::read_to_string(shown.trim()).unwrap();
    let changelog = fs::read_to_string(library::root().join("CHANGELOG.md")).unwrap();
    let (heading, body) = notes.split_once("\n\n").unwrap();
    let section = match heading.contains("not released") {
        true => "## [Unreleased]\n",
        false => "## [0.",
    };
    assert!(
        heading.starts_with("# hetmp ") && changelog.contains(section),
        "{heading}"
    );
    assert!(
        body.starts_with("### ") && !body.contains("\n## "),
        "{body}"
    );
    assert!(changelog.contains(body.trim_end()), "{body}");
}

#[test]
fn bad_arguments_get_one_line() {
    let out = run("scripts/package", &["rpm"], &[]);
    assert_eq!(out.ending, exec::Ending::Exit(2));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(
        text,
        "hetmp: argument rpm: unknown (expected --out DIR, --fast, tar, deb, wheel, notes or --help)\n"
    );
}
