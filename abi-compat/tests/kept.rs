//! What is read in programs' code is kept for later runs (`HETMP_CACHE`), and only for the same code.

use hetmp_abi_compat::exec::{Ending, Outcome};
use hetmp_abi_compat::library;
use hetmp_abi_compat::scratch::Scratch;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Three regions: one that fits any number of threads, one whose program asks for a number, and one that keeps the
/// thread's number. The last one writes only one place where there are two threads, so that a wrong verdict shows.
const PROGRAM: &str = r#"
#include <omp.h>
#include <stdio.h>
static double out[1000];
static int own[2];
int main(void) {
    double sum = 0;
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        out[i] = i;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += out[i];
#pragma omp parallel num_threads(2)
    own[omp_get_thread_num() % 2] = omp_get_num_threads();
    printf("%.0f %d %d\n", sum, own[0], own[1]);
    return 0;
}
"#;
const SAID: &str = "499500 2 2\n";

/// The program, and a folder for caches.
struct Bench {
    scratch: Scratch,
    program: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Bench {
        let scratch = Scratch::new(&format!("kept-{name}"));
        let program = scratch.compile_text("program", PROGRAM);
        Bench { scratch, program }
    }

    fn cache(&self) -> String {
        self.scratch.path("cache")
    }

    fn run(&self, env: &[(&str, &str)]) -> Outcome {
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
        let cache = self.cache();
        let mut all = vec![
            ("HETMP_SCHEDULE", "hetprobe"),
            ("HETMP_STATIC", "force"),
            ("HETMP_NODES", if cpus > 1 { "2" } else { "" }),
            ("HETMP_VERBOSE", "1"),
            ("OMP_NUM_THREADS", "2"),
            ("HETMP_CACHE", &cache),
        ];
        all.extend(env);
        let out = self.scratch.run(&self.program, &[], &all);
        assert_eq!(
            out.ending,
            Ending::Exit(0),
            "{env:?}: {}",
            text(&out.stderr)
        );
        out
    }

    /// How many functions a run has read, and how many it knew.
    fn counts(&self, env: &[(&str, &str)]) -> (u32, u32) {
        let out = self.run(env);
        assert_eq!(text(&out.stdout), SAID, "{env:?}");
        assert_eq!(complaints(&out), Vec::<String>::new(), "{env:?}");
        counts(&out)
    }

    /// The files in the cache.
    fn files(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.cache()).into_iter().flatten().flatten();
        all.map(|entry| entry.path()).collect()
    }

    fn file(&self) -> PathBuf {
        let files = self.files();
        let [file] = &files[..] else {
            panic!("one file, of the program: {files:?}")
        };
        file.clone()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn counts(out: &Outcome) -> (u32, u32) {
    let said = text(&out.stderr);
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("hetmp: code: "));
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    let [read, "functions", "read,", known, "known", ..] = words[..] else {
        panic!("{said}")
    };
    (
        read.parse().expect("a number"),
        known.parse().expect("a number"),
    )
}

/// Lines about the cache.
fn complaints(out: &Outcome) -> Vec<String> {
    let said = text(&out.stderr);
    let about = said.lines().filter(|line| line.contains("HETMP_CACHE"));
    about.map(str::to_owned).collect()
}

#[test]
fn the_second_run_reads_nothing_and_decides_the_same() {
    let bench = Bench::new("second");
    let ways = |report: &str| -> Value {
        let json: Value =
            serde_json::from_slice(&fs::read(report).expect("a report")).expect("JSON");
        let regions = json["regions"].as_array().expect("regions").iter();
        let said = |region: &Value| {
            let ways = region["ways"].as_array().expect("ways").iter();
            let ways: Vec<Value> = ways.map(|way| way["way"].clone()).collect();
            (region["offset"].clone(), ways)
        };
        serde_json::to_value(regions.map(said).collect::<Vec<_>>()).expect("JSON")
    };
    let (first, second) = (bench.scratch.path("1.json"), bench.scratch.path("2.json"));
    assert_eq!(bench.counts(&[("HETMP_REPORT", &first)]), (3, 0));
    let file = bench.file();
    let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!(
        (mode(Path::new(&bench.cache())), mode(&file)),
        (0o700, 0o600)
    );
    assert_eq!(bench.counts(&[("HETMP_REPORT", &second)]), (0, 3));
    assert_eq!(ways(&first), ways(&second));
}

#[test]
fn a_program_that_is_built_anew_is_read_anew() {
    let bench = Bench::new("anew");
    assert_eq!(bench.counts(&[]), (3, 0));
    // Programs that differ in one region, under one name; also with a build-id that says that they are the same.
    let other = |with: &str| PROGRAM.replace("[omp_get_thread_num() % 2] =", with);
    let texts = [
        (PROGRAM.to_owned(), SAID),
        (other("[0] = 5 +"), "499500 7 0\n"),
        (other("[1] = 5 *"), "499500 0 10\n"),
    ];
    for id in ["--build-id", "--build-id=0x0123", "--build-id=none"] {
        for (program, said) in &texts {
            let source = bench.scratch.write("program.c", program);
            let out = Command::new("gcc")
                .args(["-fopenmp", "-O2", &format!("-Wl,{id}"), &source, "-o"])
                .arg(&bench.program)
                .status();
            assert!(out.expect("gcc starts").success());
            let out = bench.run(&[]);
            assert_eq!(
                (text(&out.stdout).as_str(), complaints(&out)),
                (*said, vec![]),
                "{id}"
            );
            let kept = u32::from(id == "--build-id" && program == PROGRAM);
            assert!(counts(&out).0 > 0 || kept == 1, "{id}: {program}");
            let again = bench.run(&[]);
            assert_eq!(
                (text(&again.stdout).as_str(), counts(&again)),
                (*said, (0, 3)),
                "{id}"
            );
        }
    }
}

#[test]
fn a_damaged_file_costs_a_line_and_is_written_anew() {
    let bench = Bench::new("damaged");
    bench.counts(&[]);
    let file = bench.file();
    let whole = fs::read(&file).expect("a file");
    for at in [0, 9, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&file, &damaged).expect("it can be written");
        let out = bench.run(&[]);
        assert_eq!((text(&out.stdout).as_str(), counts(&out)), (SAID, (3, 0)));
        let path = file.display();
        let line = format!(
            "hetmp: HETMP_CACHE: '{path}': damaged, and written anew (expected a whole file)"
        );
        assert_eq!(complaints(&out), [line]);
        assert_eq!(bench.counts(&[]), (0, 3));
    }
    fs::write(&file, &whole[..whole.len() / 3]).expect("it can be written");
    assert_eq!(complaints(&bench.run(&[])).len(), 1);
    assert_eq!(bench.counts(&[]), (0, 3));
}

#[test]
fn what_others_can_write_to_is_not_believed() {
    let bench = Bench::new("others");
    bench.counts(&[]);
    let (file, folder) = (bench.file(), bench.cache());
    let said = |path: &Path, mode: u32, back: u32| {
        let set =
            |mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        set(mode);
        let out = bench.run(&[]);
        set(back);
        assert_eq!((text(&out.stdout).as_str(), counts(&out)), (SAID, (3, 0)));
        complaints(&out).join("\n")
    };
    assert!(said(&file, 0o666, 0o600).contains("others may write to it"));
    // It was replaced.
    assert_eq!(bench.counts(&[]), (0, 3));
    assert!(said(Path::new(&folder), 0o777, 0o700).contains("others may write to it"));
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        std::os::unix::fs::chown(&folder, Some(65534), None).expect("root may");
        assert!(said(Path::new(&folder), 0o700, 0o700).contains("belongs to another user"));
    }
}

#[test]
fn places_where_nothing_can_be_kept() {
    let bench = Bench::new("places");
    let home = bench.scratch.path("home");
    fs::create_dir(&home).expect("a folder");
    let usual = [
        ("HETMP_CACHE", ""),
        ("XDG_CACHE_HOME", ""),
        ("HOME", home.as_str()),
    ];
    assert_eq!(bench.counts(&usual), (3, 0));
    assert_eq!(bench.counts(&usual), (0, 3));
    assert!(Path::new(&home).join(".cache/hetmp").is_dir());
    let xdg = bench.scratch.path("xdg");
    let by_xdg = [("HETMP_CACHE", ""), ("XDG_CACHE_HOME", xdg.as_str())];
    bench.counts(&by_xdg);
    assert_eq!(bench.counts(&by_xdg), (0, 3));
    // Nobody has asked for these: no line, unless all is to be told.
    for home in ["", "relative", "/proc", "/nonexistent"] {
        let env = [
            ("HETMP_CACHE", ""),
            ("XDG_CACHE_HOME", ""),
            ("HOME", home),
            ("HETMP_VERBOSE", "0"),
        ];
        let out = bench.run(&env);
        assert_eq!(
            (text(&out.stdout).as_str(), text(&out.stderr).as_str()),
            (SAID, ""),
            "{home}"
        );
    }
    assert_eq!(bench.counts(&[("HETMP_CACHE", "off")]), (3, 0));
    // These were asked for.
    let said = |name: &str| {
        let out = bench.run(&[("HETMP_CACHE", name), ("HETMP_VERBOSE", "0")]);
        assert_eq!(text(&out.stdout), SAID);
        text(&out.stderr)
    };
    let expected = "(expected off, or a folder's name from the root on)";
    assert_eq!(
        said("here"),
        format!("hetmp: HETMP_CACHE: 'here': not usable {expected}\n")
    );
    let file = bench.scratch.write("file", "precious");
    assert!(said(&file).contains("not a folder"));
    assert_eq!(fs::read_to_string(&file).expect("a file"), "precious");
    assert!(said("/proc/hetmp").contains("expected a folder that can be written to"));
    assert!(bench.files().is_empty(), "the other folder was never meant");
}

#[test]
fn processes_that_end_at_once_leave_whole_files() {
    let bench = Bench::new("several");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let out = bench.run(&[]);
                    assert_eq!(complaints(&out), Vec::<String>::new());
                    assert_eq!(text(&out.stdout), SAID);
                    if counts(&out).0 == 0 {
                        // Once more from the beginning. What another process is about to put in place stays: without it
                        // that process would complain, rightly.
                        for file in bench.files() {
                            if file.extension().is_some_and(|ending| ending == "hetmp") {
                                let _ = fs::remove_file(file);
                            }
                        }
                    }
                }
            });
        }
    });
    bench.run(&[]);
    assert_eq!(bench.counts(&[]), (0, 3));
    assert_eq!(bench.files().len(), 1, "no remains");
}

/// Where nothing is read, nothing is opened, made or written.
#[test]
fn alike_nodes_cost_nothing() {
    let bench = Bench::new("alike");
    for schedule in ["static", "dynamic", "hetprobe"] {
        let env = [
            ("HETMP_SCHEDULE", schedule),
            ("HETMP_STATIC", ""),
            ("HETMP_NODES", ""),
        ];
        let out = bench.run(&env);
        assert_eq!(text(&out.stdout), SAID);
        assert!(
            !text(&out.stderr).contains("code:"),
            "{}",
            text(&out.stderr)
        );
        assert!(!Path::new(&bench.cache()).exists(), "{schedule}");
    }
}

#[test]
fn what_was_prepared_is_not_read() {
    let bench = Bench::new("prepared");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--package", "hetmp-cli"])
        .current_dir(library::root())
        .env("CARGO_TARGET_DIR", library::target_dir())
        .status();
    assert!(built.expect("cargo starts").success());
    for id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let out = Command::new("gcc")
            .args([
                "-fopenmp",
                "-O2",
                id,
                &bench.scratch.path("program.c"),
                "-o",
            ])
            .arg(&bench.program)
            .status();
        assert!(out.expect("gcc starts").success());
        let out = Command::new(library::target_dir().join("release/hetmp"))
            .arg("prepare")
            .arg(&bench.program)
            .env("HETMP_CACHE", bench.cache())
            .output()
            .expect("hetmp starts");
        assert_eq!(text(&out.stderr), "");
        let path = bench.program.display();
        assert_eq!(
            text(&out.stdout),
            format!("{path}: 3 regions, 2 reached by the schedules\n")
        );
        assert_eq!(bench.counts(&[]), (0, 3), "{id}");
    }
}
