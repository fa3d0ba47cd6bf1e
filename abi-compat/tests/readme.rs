//! The examples of README.md and of the pages for beginners, run as they stand there: with an empty home, an
//! environment of three variables, and a program that gcc compiled. The examples with `pip` are in `packages.rs`.

use hetmp_abi_compat::readme::examples;
use hetmp_abi_compat::{exec, library};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than any example takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Prints the file of the OpenMP runtime that the program runs on.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
int main(void) {
    long sum = 0;
    #pragma omp parallel for reduction(+:sum) schedule(runtime)
    for (int i = 0; i < 1000; i++) sum += i;
    Dl_info where;
    if (sum != 499500 || !dladdr((void *)omp_get_num_procs, &where)) return 1;
    printf("runs on %s\n", where.dli_fname);
    return 0;
}
"#;

/// A folder as after `git clone` and `cargo build --release`, which is the home as well. `scripts/install` there is
/// that of the repository, with the library under test.
struct Clone(PathBuf);

impl Clone {
    fn new(name: &str) -> Clone {
        let dir = library::target_dir().join(format!("readme-{name}-{}", std::process::id()));
        let clone = Clone(dir);
        let prefix = library::installed(&clone.0.join("built"));
        for (from, to) in [
            ("bin/hetmp", "target/release/hetmp"),
            ("lib/libhetmp.so", "target/release/libhetmp.so"),
        ] {
            let to = clone.0.join(to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(prefix.join(from), to).unwrap();
        }
        fs::create_dir_all(clone.0.join("scripts")).unwrap();
        let mut script = "#!/bin/sh\n".to_owned();
        // cargo's, which the bare environment has not.
        for (name, value) in exec::scrubbed_environment() {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            if ["PATH", "HOME"].contains(&name.as_ref())
                || name.starts_with("CARGO")
                || name.starts_with("RUST")
            {
                script += &format!("export {name}='{}'\n", value.replace('\'', r"'\''"));
            }
        }
        script += &format!(
            "export CARGO_TARGET_DIR='{}' HETMP_LIB='{}'\nexec '{}' \"$@\"\n",
            text(&library::target_dir()),
            text(library::fresh()),
            text(&library::root().join("scripts/install")),
        );
        let install = clone.0.join("scripts/install");
        fs::write(&install, script).unwrap();
        exec::succeed("/bin/chmod", &["755", &text(&install)], &[], LIMIT);
        let include = library::root().join("include");
        std::os::unix::fs::symlink(include, clone.0.join("include")).unwrap();
        clone
    }

    /// What the lines print, run by a shell in this folder. The first one that fails ends them.
    fn run(&self, lines: &str) -> String {
        let dir = text(&self.0);
        let script = format!("set -eu\ncd '{dir}'\n{lines}");
        let path = format!("PATH={dir}/hetmp/bin:/usr/bin:/bin");
        exec::succeed(
            "/usr/bin/env",
            &[
                "-i",
                &format!("HOME={dir}"),
                &path,
                "LANG=C",
                "sh",
                "-c",
                &script,
            ],
            &[],
            LIMIT,
        )
    }

    /// Compiles the program under both names that README.md gives it.
    fn compile(&self) {
        fs::write(self.0.join("p.c"), PROGRAM).unwrap();
        self.run("gcc -fopenmp -O2 p.c -o your-program -ldl; cp your-program program");
    }
}

impl Drop for Clone {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn programs_run_as_the_first_pages_say() {
    let clone = Clone::new("use");
    clone.compile();
    let dir = text(&clone.0);
    // The library is built already.
    let built = format!("runs on {dir}/target/release/libhetmp.so\n");
    let first = examples("README.md", "## Try it", "sh")[0].clone();
    let (build, uses) = first.split_once('\n').expect("several lines");
    assert!(build.starts_with("cargo build --release "), "{build}");
    let shown = clone.run(uses);
    assert_eq!(shown.matches(&built).count(), 2, "{shown}");
    assert!(shown.contains("\nReach: "), "{shown}");
    let page = "docs/getting-started.md";
    let first = &examples(page, "## Run a program", "sh")[0];
    assert_eq!(clone.run(first), built.repeat(2));

    let shown = clone.run(&examples(page, "## Install", "sh")[0]);
    let own = format!("runs on {dir}/hetmp/lib/libgomp.so.1\n");
    assert!(shown.ends_with(&own), "{shown}");

    if processors() < 2 {
        eprintln!("skipped: one processor, and two nodes are needed");
        return;
    }
    let section = "## Try unlike cores on a machine that has none";
    let shown = clone.run(&examples(page, section, "sh")[0]);
    assert_eq!(shown.matches(&own).count(), 2, "{shown}");

    let library = format!("{dir}/hetmp/lib/libhetmp.so");
    let lines = examples("docs/schedules.md", "# Schedules", "sh")[0]
        .replace("LD_PRELOAD=...", &format!("LD_PRELOAD={library}"));
    let shown = clone.run(&lines);
    let runs = shown.matches(&format!("runs on {library}\n")).count();
    assert_eq!(runs, 2, "{shown}");
}

/// The schedules of the page's table as somebody would write them: each without what stands in brackets, and with all
/// of it.
fn schedules() -> Vec<String> {
    let text = fs::read_to_string(library::root().join("docs/schedules.md")).unwrap();
    let rows = text
        .lines()
        .skip_while(|l| *l != "| schedule | what it does |");
    let rows = rows.skip(2).take_while(|l| l.starts_with("| "));
    let mut all = Vec::new();
    for row in rows {
        let names = row.split(" | ").next().unwrap();
        // What stands between backticks.
        for name in names.split('`').skip(1).step_by(2) {
            let short = name.split('[').next().unwrap();
            let long = name.replace(['[', ']'], "");
            for form in [short, &long] {
                let form: Vec<&str> = form
                    .split(',')
                    .filter(|part| *part != "...")
                    .map(|part| match part {
                        "probe%" | "part%" => "20%",
                        "jump%" => "5%",
                        "chunk" => "2",
                        "major" => "10",
                        "static-csr:R0" => "static-csr:3",
                        "R1" => "1",
                        other => other,
                    })
                    .collect();
                all.push(form.join(","));
            }
        }
    }
    all.dedup();
    all
}

/// Two nodes are one more than a machine of one processor has.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

#[test]
fn each_schedule_of_the_table_is_taken() {
    let all = schedules();
    assert_eq!(all.first().map(String::as_str), Some("hetprobe"));
    for name in ["hetprobe-i,20%,5%", "static-csr:3,1", "aid-dynamic,10,2"] {
        assert!(all.iter().any(|s| s == name), "{all:?}");
    }
    if processors() < 2 {
        eprintln!("skipped: one processor, and two nodes are needed");
        return;
    }
    let clone = Clone::new("schedules");
    clone.compile();
    let library = format!("{}/target/release/libhetmp.so", text(&clone.0));
    let mut lines = String::new();
    let mut expected = String::new();
    for schedule in &all {
        lines += &format!(
            "HETMP_NODES=2 HETMP_SCHEDULE='{schedule}' HETMP_REPORT=r.json LD_PRELOAD={library} ./program 2>&1\n\
             target/release/hetmp report r.json | sed -n 's/^schedule  //p'\n"
        );
        // What was left out is said.
        let whole = match schedule.as_str() {
            "hetprobe" | "hetprobe-i" => format!("{schedule},10%"),
            "aid-hybrid" => format!("{schedule},80%"),
            other => other.to_owned(),
        };
        expected += &format!("runs on {library}\n{whole}\n");
    }
    // A value that is not understood would cost a line more.
    assert_eq!(clone.run(&lines), expected);
}

#[test]
fn the_commands_do_what_the_page_says() {
    let clone = Clone::new("commands");
    clone.compile();
    let clause = PROGRAM.replace("schedule(runtime)", "schedule(dynamic, 8)");
    fs::write(clone.0.join("d.c"), clause).unwrap();
    fs::write(clone.0.join("s.c"), "int main(void) { return 7; }\n").unwrap();
    clone
        .run("gcc -fopenmp -O2 -g d.c -o clause -ldl; scripts/install --prefix ~/hetmp >/dev/null");
    let library = format!("{}/hetmp/lib/libgomp.so.1", text(&clone.0));
    let on = format!("runs on {library}\n");

    // `hetmp run` becomes the program: the shell that becomes `hetmp run` has the same number as the program.
    let same = clone.run("sh -c 'echo $$; exec hetmp run sh -c \"echo \\$\\$\"'");
    let numbers: Vec<&str> = same.lines().collect();
    assert!(numbers.len() == 2 && numbers[0] == numbers[1], "{same}");

    // A report at the end. Where two nodes are possible, a loop with a clause follows one of hetmp's own schedules.
    if processors() >= 2 {
        let shown =
            clone.run("hetmp run --nodes 2 --schedule hetprobe --threads 2 --report ./clause 2>&1");
        assert!(shown.starts_with(&on), "{shown}");
        let loops = shown.split("\nLoops").nth(1).unwrap_or("");
        assert!(loops.contains("  hetprobe,10%  "), "{shown}");
    } else {
        eprintln!("skipped: one processor, and two nodes are needed");
    }
    let shown = clone.run("HETMP_REPORT=r.json hetmp run ./clause; hetmp report r.json");
    assert!(
        shown.starts_with(&on) && shown.contains("\nReach: "),
        "{shown}"
    );
    let shown = clone.run("hetmp run --profile ./clause 2>&1");
    assert!(
        shown.starts_with(&on) && shown.contains("  loop, dynamic  "),
        "{shown}"
    );

    // Before a first run.
    let shown = clone.run("hetmp which ./your-program");
    assert!(
        shown.starts_with("OpenMP runtimes (")
            && shown.contains(
                "  replaced by LD_PRELOAD=libhetmp.so (hetmp run) \
            and by hetmp's folder in LD_LIBRARY_PATH\n"
            ),
        "{shown}"
    );

    // Programs into which nothing can be preloaded.
    if clone.run("gcc -static s.c -o static 2>/dev/null && echo linked || :") == "linked\n" {
        let shown = clone.run("hetmp run ./static 2>&1 || echo $?");
        assert!(
            shown.starts_with("hetmp: program ./static: statically linked")
                && shown.ends_with("\n126\n")
                && shown.lines().count() == 2,
            "{shown}"
        );
    } else {
        eprintln!("skipped: gcc links no static program here");
    }

    // The launcher of jobs, and every variable.
    assert_eq!(
        clone.run("hetrun -n 3 hetmp run ./your-program"),
        on.repeat(3)
    );
    let shown = clone.run("hetmp info --env");
    for name in ["OMP_SCHEDULE", "HETMP_NODES", "HETMP_REPORT"] {
        assert!(shown.contains(name), "{name}: {shown}");
    }

    // The names under which programs of clang find the library.
    if clone.run("command -v clang >/dev/null && clang -fopenmp -O2 p.c -o of-clang -ldl 2>/dev/null && echo built || \
        :")
        == "built\n"
    {
        let shown = clone.run("LD_LIBRARY_PATH=~/hetmp/lib ./of-clang");
        let folder = format!("runs on {}/hetmp/lib/lib", text(&clone.0));
        assert!(shown.starts_with(&folder), "{shown}");
    } else {
        eprintln!("skipped: no clang with OpenMP");
    }
}

/// The loop at the head of the page about SIMD, in a function.
#[test]
fn the_loop_with_vectors_adds() {
    let clone = Clone::new("simd");
    let [example] = &examples("docs/simd.md", "# Portable SIMD: `hetmp/simd.h`", "c")[..] else {
        panic!("docs/simd.md: one example in C is expected");
    };
    let source = format!(
        "#include <hetmp/simd.h>\n#include <stdio.h>\n\
         static float a[1003], b[1003], c[1003];\n\
         int main(void) {{\n int i = 0, n = 1003, bad = 0;\n\
         for (int k = 0; k < n; k++) a[k] = k, b[k] = 2 * k;\n{example}\
         printf(\"%d\\n\", n - i < _VF32_SIZE);\n\
         for (int k = 0; k < i; k++) bad += c[k] != 3 * k;\n return bad;\n}}\n"
    );
    fs::write(clone.0.join("s.c"), source).unwrap();
    // The options stand in the example's comment.
    let options = example
        .split_once("/* gcc")
        .and_then(|(_, rest)| rest.split_once("*/"));
    let (options, _) = options.expect("a comment with the compiler's options");
    assert_eq!(clone.run(&format!("gcc {options} s.c -o s && ./s")), "1\n");
}

#[test]
fn the_first_openshmem_program_runs() {
    let clone = Clone::new("shmem");
    clone.run("scripts/install --prefix ~/hetmp");
    let (page, section) = ("docs/shmem.md", "## A first program");
    let (c, sh) = (examples(page, section, "c"), examples(page, section, "sh"));
    fs::write(clone.0.join("hello.c"), &c[0]).unwrap();
    let shown = clone.run(&format!("export SHMEM_SYMMETRIC_SIZE=1M\n{}", sh[0]));
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    // Two runs of four PEs; each hears from the PE before it.
    let expected: Vec<String> = (0..4)
        .flat_map(|pe| vec![format!("{pe} of 4, after {}", (pe + 3) % 4); 2])
        .collect();
    assert_eq!(lines, expected);
}

/// Figures and tables of the pages are as the script makes them from docs/measurements.
#[test]
fn figures_are_made_from_the_measurements() {
    let script = text(&library::root().join("scripts/figures"));
    let lines = format!("command -v python3 >/dev/null || exit 0; '{script}' --check");
    exec::succeed("/bin/sh", &["-c", &lines], &[], LIMIT);
}

/// Links and files that the pages name are there, and the book has every page.
#[test]
fn pages_name_what_is_there() {
    let script = text(&library::root().join("scripts/lib/pages.py"));
    let lines = format!("command -v python3 >/dev/null || exit 0; '{script}'");
    exec::succeed("/bin/sh", &["-c", &lines], &[], LIMIT);
}
