//! `scripts/reach`: the table that it prints, the differences that it reports, and the arguments that it refuses.

use hetmp_abi_compat::{exec, library};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Divides a static loop. With an argument, the output also says whether a library is preloaded: the script must report
/// this difference.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static double x[1 << 16];
int main(int argc, char **argv) {
    double sum = 0;
    (void)argv;
    for (int k = 0; k < 200; k++) {
        #pragma omp parallel for
        for (int i = 0; i < 1 << 16; i++) x[i] = x[i] * 0.5 + i;
    }
    for (int i = 0; i < 1 << 16; i++) sum += x[i];
    printf("sum %.9e\n", sum);
    if (argc > 1) printf("preload %s\n", getenv("LD_PRELOAD") ? "yes" : "no");
    return 3;
}
"#;

fn reach(args: &[&str]) -> (exec::Ending, String) {
    let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
    let out = exec::run(&exec::Program {
        path: &library::root().join("scripts/reach"),
        args: &args,
        env: &[],
        dir: &library::root(),
        limit: Duration::from_secs(300),
        merge: true,
    })
    .unwrap();
    (
        out.ending,
        String::from_utf8_lossy(&out.stdout).into_owned(),
    )
}

fn can_run() -> bool {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: python3 is not installed");
        return false;
    }
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("skipped: one CPU is one node");
        return false;
    }
    true
}

#[test]
fn a_table_of_reach_results_and_ratios() {
    if !can_run() {
        return;
    }
    let lib = library::fresh().to_owned();
    let dir = std::env::temp_dir().join(format!("hetmp-reach-test-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let scratch = Scratch(dir);
    let source = scratch.0.join("program.c");
    fs::write(&source, PROGRAM).unwrap();
    let built = Command::new("gcc")
        .args(["-O2", "-fopenmp", "-o"])
        .arg(scratch.0.join("program"))
        .arg(&source)
        .status()
        .unwrap();
    assert!(built.success());
    let list = scratch.0.join("list");
    fs::write(
        &list,
        "# a comment\n\nplain | . | ./program\ntelling | . | ./program x\n",
    )
    .unwrap();
    let json = scratch.0.join("reach.json");
    let (list, json, lib) = (text(&list), text(&json), text(&lib));
    let (ending, said) = reach(&[
        "--list",
        &list,
        "--lib",
        &lib,
        "--rounds",
        "1",
        "--json",
        &json,
        "--env",
        "HETMP_STATIC=force",
    ]);
    // One program prints another text under hetmp. The script must report this as a difference.
    assert_eq!(ending, exec::Ending::Exit(1), "{said}");
    let row = |name: &str| {
        let start = format!("| {name} |");
        said.lines()
            .find(|l| l.starts_with(&start))
            .unwrap_or_else(|| panic!("no row {name} in {said}"))
            .to_owned()
    };
    assert!(row("plain").contains("| equal |"), "{said}");
    assert!(
        row("telling").contains("differs: yes where there is no"),
        "{said}"
    );
    let kept: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let plain = &kept["programs"][0];
    assert!(plain["reached"].as_f64().unwrap() > 0.0, "{said}");
    assert!(plain["unlike"]["median"].as_f64().unwrap() > 0.0, "{said}");

    let (ending, _) = reach(&[
        "--list", &list, "--lib", &lib, "--rounds", "0", "--only", "plain",
    ]);
    assert_eq!(ending, exec::Ending::Exit(0));

    // A variable of the user's comes to the runs under hetmp.
    let (ending, said) = reach(&[
        "--list",
        &list,
        "--lib",
        &lib,
        "--rounds",
        "0",
        "--only",
        "plain",
        "--env",
        "HETMP_STATIC=off",
    ]);
    assert_eq!(ending, exec::Ending::Exit(0), "{said}");
    assert!(said.contains("guard static-off 100.0 %"), "{said}");

    // The script ends a program that hangs, and says so.
    let (ending, said) = reach(&["--lib", &lib, "--limit", "1", "slow=sleep 60"]);
    assert_eq!(ending, exec::Ending::Exit(1), "{said}");
    assert!(said.contains("libgomp: not over after 1 s"), "{said}");

    // A program that is not there prints the same under both libraries, and so does a program that crashes at once:
    // these are no equal results.
    for (command, words) in [
        ("gone=./no-such-program", "status 127"),
        (
            "gone=./no-such-program; echo the end",
            "the last line printed: the end",
        ),
        ("silent=true", "the last line printed: nothing"),
        ("dies=kill -SEGV $$", "libgomp: ended by signal 11"),
    ] {
        let (ending, said) = reach(&["--lib", &lib, "--rounds", "0", command]);
        assert_eq!(ending, exec::Ending::Exit(1), "{command}: {said}");
        assert!(said.contains(words), "{command}: {said}");
        assert!(!said.contains("| equal |"), "{command}: {said}");
        assert!(!said.contains("Mean over"), "{command}: {said}");
    }

    fs::write(scratch.0.join("bad"), "one | two\n").unwrap();
    let bad = text(&scratch.0.join("bad"));
    for (args, words) in [
        (vec!["--lib", &lib], "no command"),
        (
            vec!["--lib", "/nonexistent", "a=true"],
            "--lib /nonexistent",
        ),
        (
            vec!["--list", "/nonexistent", "--lib", &lib],
            "--list /nonexistent",
        ),
        (
            vec!["--list", &bad, "--lib", &lib],
            "line 1 (expected NAME | FOLDER | COMMAND)",
        ),
        (
            vec!["--lib", &lib, "name"],
            "argument name: not usable (expected NAME=COMMAND)",
        ),
        (vec!["--lib", &lib, "--only", "(", "a=true"], "--only ("),
        (
            vec!["--lib", &lib, "--env", "PATH=x", "a=true"],
            "--env PATH=x",
        ),
        (
            vec!["--lib", &lib, "--env", "OMP_PLACES", "a=true"],
            "--env OMP_PLACES",
        ),
    ] {
        let (ending, said) = reach(&args);
        assert_eq!(ending, exec::Ending::Exit(1), "{args:?}: {said}");
        assert!(said.starts_with("hetmp: "), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
