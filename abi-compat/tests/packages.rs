//! `scripts/package`: each package is installed as a user would install it, and must then run a program that gcc built.

#[path = "packages/python.rs"]
mod python;

use hetmp_abi_compat::{exec, library};
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
