//! HetProbe decides by elapsed times, and also by profiles of earlier runs, watts, and speeds of single kernels. These
//! tests give such data to unmodified programs and check the decisions.
//!
//! On a machine with one CPU there are no two nodes: these tests then say so and pass.

use hetmp_abi_compat::exec::{self, Outcome};
use hetmp_abi_compat::library;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Two kernels, and a region that contains both. The arguments say which run, and how often.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hetmp/nodes.h>
static double out[2000];
static double work(int i) {
    double x = i;
    for (int k = 0; k < 2000; k++)
        x = x * 0.999 + 1.0;
    return x;
}
__attribute__((noinline)) void alpha(void) {
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < 2000; i++)
        out[i] = work(i);
}
__attribute__((noinline)) void beta(void) {
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < 2000; i++)
        out[i] = work(i);
}
__attribute__((noinline)) void told(void) {
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < 2000; i++) {
        HETMP_KERNEL("alpha");
        out[i] = work(i);
        HETMP_KERNEL(0);
    }
}
int main(int argc, char **argv) {
    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "alpha") == 0) alpha();
        if (strcmp(argv[a], "beta") == 0) beta();
        if (strcmp(argv[a], "told") == 0) told();
    }
    double sum = 0;
    for (int i = 0; i < 2000; i++)
        sum += out[i];
    printf("%.3f\n", sum);
    return 0;
}
"#;
const SUM: &str = "1999864.800\n";

struct Bench {
    dir: PathBuf,
    cpus: [usize; 2],
}

impl Bench {
    /// A folder with the program in it. `None`, after printing a line, on a machine with one CPU.
    fn new(name: &str) -> Option<Bench> {
        // SAFETY: all-zero is a valid cpu_set_t, and the call writes only into that set.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
            set
        };
        let cpus: Vec<usize> = (0..libc::CPU_SETSIZE as usize)
            // SAFETY: the number is below the size of the set.
            .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
            .take(2)
            .collect();
        let Ok(cpus) = cpus.try_into() else {
            eprintln!("skipped: one CPU is one node");
            return None;
        };
        let dir = std::env::temp_dir().join(format!("hetmp-profile-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let bench = Bench { dir, cpus };
        bench.compile("program", &[]);
        Some(bench)
    }

    fn compile(&self, name: &str, options: &[&str]) {
        let source = self.dir.join("program.c");
        fs::write(&source, PROGRAM).unwrap();
        let out = Command::new("gcc")
            .args(["-fopenmp", "-O2", "-Wall", "-o"])
            .arg(self.dir.join(name))
            .arg(&source)
            .arg("-I")
            .arg(library::root().join("include"))
            .args(options)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
    }

    /// A value of `HETMP_NODES` for two nodes. `first` and `second` are appended to their entries.
    fn nodes(&self, first: &str, second: &str) -> String {
        let [a, b] = self.cpus;
        format!("cores={a}{first};cores={b}{second}")
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.dir.join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    fn run(&self, program: &str, args: &[&str], env: &[(&str, &str)]) -> Outcome {
        let mut all: Vec<(String, String)> = vec![
            ("OMP_SCHEDULE".to_owned(), "hetprobe".to_owned()),
            (
                "LD_PRELOAD".to_owned(),
                library::fresh().display().to_string(),
            ),
        ];
        all.extend(env.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
        let outcome = exec::run(&exec::Program {
            path: &self.dir.join(program),
            args: &args,
            env: &all,
            dir: &self.dir,
            limit: Duration::from_secs(60),
            merge: false,
        })
        .unwrap();
        assert_eq!(text(&outcome.stdout), SUM, "{}", text(&outcome.stderr));
        outcome
    }

    /// The decisions in a run, for each function's loop, in order of time.
    fn decisions(&self, args: &[&str], env: &[(&str, &str)]) -> Vec<Vec<Value>> {
        let report = self.dir.join("report.json");
        let name = report.display().to_string();
        let mut env = env.to_vec();
        env.push(("HETMP_REPORT", &name));
        let outcome = self.run("program", args, &env);
        assert_eq!(text(&outcome.stderr), "");
        let json: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        let loops = ["loops", "regions"]
            .iter()
            .filter_map(|k| json[k].as_array())
            .find(|l| l.iter().any(|r| r["decisions"].is_array()))
            .expect("decisions");
        loops
            .iter()
            .filter_map(|r| r["decisions"].as_array().cloned())
            .collect()
    }

    /// The reason of the first decision for `alpha`.
    fn reason(&self, env: &[(&str, &str)]) -> String {
        let decisions = self.decisions(&["alpha"; TIMES], env);
        decided(&decisions[0])["reason"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Runs of a loop in tests that need a decision. On a busy machine one thread may finish a whole loop
/// before the other thread starts; that run gives no decision.
const TIMES: usize = 8;

/// The first decision that was made with measurements of all nodes.
fn decided(decisions: &[Value]) -> &Value {
    decisions
        .iter()
        .find(|d| d["learning"] != "undecided")
        .unwrap_or_else(|| panic!("no decision in {TIMES} executions: {decisions:?}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks standard error: one line for each of `starts`, which begins with that text.
fn expect_lines(outcome: &Outcome, starts: &[&str]) {
    let err = text(&outcome.stderr);
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), starts.len(), "{err}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}\nwanted {start}");
    }
}

#[test]
fn a_second_run_starts_settled() {
    let Some(b) = Bench::new("settled") else {
        return;
    };
    let nodes = b.nodes("", ",speed=0.33");
    let profile = b.dir.join("a.profile").display().to_string();
    let env = [("HETMP_NODES", nodes.as_str()), ("HETMP_PROFILE", &profile)];
    let learning = |d: &Value| d["learning"].as_str().unwrap().to_owned();
    let many = ["alpha", "beta"].repeat(TIMES);
    let first = b.decisions(&many, &env);
    assert_eq!(first.len(), 2);
    assert!(
        first.iter().all(|d| learning(decided(d)) == "probed"),
        "{first:?}"
    );
    let written = fs::read_to_string(&profile).unwrap();
    assert!(written.starts_with("hetmp-profile 3\n"), "{written}");
    // A loop that runs only once in each process uses the profile of an earlier process.
    let second = b.decisions(&["alpha", "beta"], &env);
    assert_eq!(second.len(), 2);
    for d in &second {
        assert_eq!(learning(&d[0]), "settled", "{d:?}");
        assert!(
            d[0]["reason"].as_str().unwrap().contains("learned before"),
            "{d:?}"
        );
    }
    // With other nodes the rates of the profile do not hold. A line says so, and the file keeps its old part.
    let slower = b.nodes("", ",speed=0.25");
    let env = [
        ("HETMP_NODES", slower.as_str()),
        ("HETMP_PROFILE", &profile),
    ];
    let outcome = b.run("program", &["alpha"; TIMES], &env);
    expect_lines(
        &outcome,
        &[&format!(
            "hetmp: HETMP_PROFILE: '{profile}': nothing in it is of this program"
        )],
    );
    let both = fs::read_to_string(&profile).unwrap();
    assert_eq!(both.matches("\nregion ").count(), 3, "{both}");
    // A rebuilt program has another build-id.
    b.compile("other", &["-DNOTHING=1", "-O1"]);
    let env = [("HETMP_NODES", nodes.as_str()), ("HETMP_PROFILE", &profile)];
    let outcome = b.run("other", &["alpha"; TIMES], &env);
    expect_lines(
        &outcome,
        &[&format!(
            "hetmp: HETMP_PROFILE: '{profile}': nothing in it is of this program"
        )],
    );
    let all = fs::read_to_string(&profile).unwrap();
    assert_eq!(all.matches("\nregion ").count(), 4, "{all}");
    let left: Vec<_> = fs::read_dir(&b.dir)
        .unwrap()
        .filter_map(|e| e.unwrap().file_name().into_string().ok())
        .filter(|n| n.contains("tmp"))
        .collect();
    assert_eq!(left, [""; 0], "temporary files");
}

/// Without a file of one's own, the same lies next to what was read in the program's code.
#[test]
fn the_cache_has_what_executions_taught() {
    let Some(b) = Bench::new("cache") else {
        return;
    };
    let (cache, profile) = (b.dir.join("cache"), b.dir.join("own"));
    let (cache, profile) = (cache.display().to_string(), profile.display().to_string());
    let nodes = b.nodes("", ",speed=0.33");
    let slower = b.nodes("", ",speed=0.25");
    let settled = |kernels: &[&str], nodes: &str, more: &[(&str, &str)]| -> Vec<bool> {
        let mut env = vec![("HETMP_NODES", nodes), ("HETMP_CACHE", &cache)];
        env.extend(more);
        let all = b.decisions(kernels, &env);
        all.iter().map(|d| d[0]["learning"] == "settled").collect()
    };
    let many = ["alpha", "beta"].repeat(TIMES);
    assert_eq!(settled(&many, &nodes, &[]), [false, false]);
    assert_eq!(settled(&["alpha", "beta"], &nodes, &[]), [true, true]);
    // Not for other nodes, nor next to a file of one's own; and each keeps what the other one has.
    assert_eq!(settled(&["alpha"; TIMES], &slower, &[]), [false]);
    let own = [("HETMP_PROFILE", profile.as_str())];
    assert_eq!(settled(&["alpha"], &nodes, &own), [false]);
    assert_eq!(
        settled(&["alpha"], &nodes, &[("HETMP_CACHE", "off")]),
        [false]
    );
    assert_eq!(settled(&["beta"], &nodes, &[]), [true]);
    assert_eq!(settled(&["alpha"], &slower, &[]), [true]);
    // A program that is built anew in the same place.
    b.compile("program", &["-DNOTHING=1", "-O1"]);
    assert_eq!(settled(&["alpha"], &nodes, &[]), [false]);
    // A damaged file is as none.
    for file in fs::read_dir(&cache).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    let env = [("HETMP_NODES", nodes.as_str()), ("HETMP_CACHE", &cache)];
    let outcome = b.run("program", &["alpha"; TIMES], &env);
    let said = text(&outcome.stderr);
    assert!(said.contains("damaged, and written anew"), "{said}");
    assert_eq!(settled(&["alpha"], &nodes, &[]), [true]);
}

#[test]
fn files_that_are_no_profiles() {
    let Some(b) = Bench::new("bad") else { return };
    let nodes = b.nodes("", ",speed=0.5");
    let run = |profile: &str| {
        b.run(
            "program",
            &["alpha"],
            &[("HETMP_NODES", nodes.as_str()), ("HETMP_PROFILE", profile)],
        )
    };
    for (content, wrong) in [
        (
            "int main;\n",
            "no profile (expected one that hetmp wrote); it is left as it is",
        ),
        (
            "hetmp-profile 2\nend 0\n",
            "version 2 (expected a profile of version 3); it is left as it is",
        ),
    ] {
        let file = b.file("foreign", content);
        expect_lines(
            &run(&file),
            &[&format!("hetmp: HETMP_PROFILE: '{file}': {wrong}")],
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
    }
    // A profile that was cut off is not used, and is written again.
    let good = b.dir.join("good").display().to_string();
    expect_lines(&run(&good), &[]);
    let whole = fs::read_to_string(&good).unwrap();
    let cut = b.file("cut", &whole[..whole.len() - 20]);
    let line = format!("hetmp: HETMP_PROFILE: '{cut}': line ");
    expect_lines(&run(&cut), &[&line]);
    expect_lines(&run(&cut), &[]);
    // Paths that are not files, and paths where no file can be made.
    let dir = b.dir.display().to_string();
    expect_lines(
        &run(&dir),
        &[&format!(
            "hetmp: HETMP_PROFILE: '{dir}': not a regular file (expected a readable file)"
        )],
    );
    expect_lines(
        &run("/nonexistent/profile"),
        &["hetmp: HETMP_PROFILE: '/nonexistent/profile': "],
    );
    expect_lines(&run("/dev/null"), &["hetmp: HETMP_PROFILE: '/dev/null': "]);
    // Profiles belong to a program by its build-id. A program without one gets no profile.
    b.compile("nameless", &["-Wl,--build-id=none"]);
    let none = b.dir.join("none").display().to_string();
    let outcome = b.run(
        "nameless",
        &["alpha"],
        &[("HETMP_NODES", nodes.as_str()), ("HETMP_PROFILE", &none)],
    );
    expect_lines(
        &outcome,
        &[&format!(
            "hetmp: HETMP_PROFILE: '{none}': only regions of objects with a build-id"
        )],
    );
    assert!(!Path::new(&none).exists());
}

#[test]
fn processes_that_end_together_lose_nothing() {
    let Some(b) = Bench::new("together") else {
        return;
    };
    let nodes = b.nodes("", ",speed=0.5");
    let profile = b.dir.join("p").display().to_string();
    let mut children: Vec<_> = ["alpha", "beta", "told"]
        .iter()
        .cycle()
        .take(6)
        .map(|kernel| {
            Command::new(b.dir.join("program"))
                .arg(kernel)
                .env("LD_PRELOAD", library::fresh())
                .env("OMP_SCHEDULE", "hetprobe")
                .env("HETMP_NODES", &nodes)
                .env("HETMP_PROFILE", &profile)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let all = fs::read_to_string(&profile).unwrap();
    assert_eq!(all.matches("\nregion ").count(), 3, "{all}");
}

/// A program that opens one library after the other, which come to lie at the same place.
const HOST: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    void *before = NULL;
    for (int a = 1; a < argc; a++) {
        void *library = dlopen(argv[a], RTLD_NOW);
        void (*alpha)(void) = library ? (void (*)(void))dlsym(library, "alpha") : NULL;
        if (!alpha || (before && before != (void *)alpha))
            return 1;
        before = (void *)alpha;
        for (int i = 0; i < 8; i++)
            alpha();
        dlclose(library);
    }
    puts("1999864.800");
    return 0;
}
"#;

/// What is learned of a library that lies where another one was is its own.
#[test]
fn libraries_that_take_turns_are_told_apart() {
    let Some(b) = Bench::new("turns") else {
        return;
    };
    let library = |id: &str| {
        let build_id = format!("-Wl,--build-id=0x{id}");
        b.compile(id, &["-shared", "-fPIC", &build_id]);
        b.dir.join(id).display().to_string()
    };
    let [one, two] = ["aa01", "aa02"].map(library);
    let host = b.file("host.c", HOST);
    let out = Command::new("gcc")
        .args(["-O2", "-Wall", "-o"])
        .arg(b.dir.join("host"))
        .args([&host, "-ldl"])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    let nodes = b.nodes("", ",speed=0.33");
    let profile = b.dir.join("p").display().to_string();
    let env = [("HETMP_NODES", nodes.as_str()), ("HETMP_PROFILE", &profile)];
    let learned = |libraries: &[&str]| {
        b.run("host", libraries, &env);
        let all = fs::read_to_string(&profile).unwrap();
        ["object aa01", "object aa02"].map(|object| all.contains(object))
    };
    assert_eq!(learned(&[&one, &two]), [true, true]);
    fs::remove_file(&profile).unwrap();
    // The last one is closed, and no region asks after that.
    assert_eq!(learned(&[&two]), [false, true]);
}

#[test]
fn energy_decides_where_it_is_the_objective() {
    let Some(b) = Bench::new("energy") else {
        return;
    };
    let nodes = b.nodes(",watts=30", ",speed=0.33,watts=2");
    let objective =
        |o: &str, nodes: &str| b.reason(&[("HETMP_NODES", nodes), ("HETMP_OBJECTIVE", o)]);
    // Here speeds are measured. Another program may take a core for a time slice, so one good try of five
    // is enough.
    let in_time = |wanted: &str, o: &str, nodes: &str| {
        let mut tries = Vec::new();
        for _ in 0..5 {
            let reason = objective(o, nodes);
            let model = format!("objective {o}, modelled: ");
            assert!(reason.contains(&model), "{reason}");
            tries.push(reason);
            if tries.last().is_some_and(|r| r.starts_with(wanted)) {
                return;
            }
        }
        panic!("{tries:?}");
    };
    assert!(objective("time", &nodes).starts_with("split; "));
    in_time("node 1 alone", "energy", &nodes);
    // The energy-delay product chooses both nodes: 3/4 of the time at 32 W is better than 3 times the time
    // at 2 W.
    in_time(
        "split; ",
        "edp",
        &b.nodes(",watts=30", ",speed=0.33,watts=6"),
    );
    // The watts may also come from the calibration.
    let names = b.nodes(",name=big", ",speed=0.33,name=little");
    let reason = objective("energy", &names);
    assert!(
        reason.contains("the watts of node 0 are not known, so by time"),
        "{reason}"
    );
    let calibration = b.file(
        "calibration.toml",
        "hetmp_calibration = 1\n[[node]]\nkind = \"big\"\nwatts = 30\n\
         [[node]]\nkind = \"little\"\nwatts = 2\nwatts_idle = 0\n",
    );
    let reason = b.reason(&[
        ("HETMP_NODES", names.as_str()),
        ("HETMP_OBJECTIVE", "energy"),
        ("HETMP_CALIBRATION", &calibration),
    ]);
    assert!(reason.contains("objective energy, modelled: "), "{reason}");
}

/// Two kernels in the same region prefer different nodes. Each kernel's loop is split by its own speeds.
#[test]
fn kernels_prefer_their_nodes() {
    let Some(b) = Bench::new("kernels") else {
        return;
    };
    let nodes = b.nodes(",speed.alpha=0.25", ",speed.beta=0.25");
    // Another program may take a core for a time slice, so one good try of three is enough.
    for last in [false, false, true] {
        let decisions = b.decisions(
            &["alpha", "beta", "told"].repeat(TIMES),
            &[("HETMP_NODES", nodes.as_str())],
        );
        assert_eq!(decisions.len(), 3);
        // Sorted by address, which is the order in the source.
        let csr: Vec<[f64; 2]> = decisions
            .iter()
            .map(|d| [0, 1].map(|i| decided(d)["nodes"][i]["decided_csr"].as_f64().unwrap()))
            .collect();
        let slow_fast = |r: [f64; 2], low: f64| r[0] == 1.0 && r[1] > low;
        let good = slow_fast(csr[0], 2.5)
            && slow_fast([csr[1][1], csr[1][0]], 2.5)
            && slow_fast(csr[2], 2.0);
        if good {
            return;
        }
        assert!(!last, "{csr:?}");
    }
}

#[test]
fn bad_values_cost_one_line_each() {
    let Some(b) = Bench::new("values") else {
        return;
    };
    let nodes = b.nodes("", ",speed=0.5");
    let run = |name: &str, value: &str| {
        b.run(
            "program",
            &["alpha"],
            &[("HETMP_NODES", nodes.as_str()), (name, value)],
        )
    };
    for (name, value, line) in [
        ("HETMP_OBJECTIVE", "fast", "HETMP_OBJECTIVE: 'fast': "),
        ("HETMP_FAULT_PERIOD", "0", "HETMP_FAULT_PERIOD: '0': "),
        ("HETMP_FAULT_PERIOD", "soon", "HETMP_FAULT_PERIOD: 'soon': "),
        (
            "HETMP_COUNTER",
            "moons",
            "HETMP_COUNTER: 'moons': not understood (expected none, cache-misses",
        ),
        (
            "HETMP_CALIBRATION",
            "/nonexistent",
            "HETMP_CALIBRATION: '/nonexistent': No such file",
        ),
    ] {
        expect_lines(&run(name, value), &[&format!("hetmp: {line}")]);
    }
    for content in ["hetmp_calibration = 1\n[[link]]\nnodes = 4\n", "x", "[", ""] {
        let file = b.file("calibration.toml", content);
        let outcome = run("HETMP_CALIBRATION", &file);
        expect_lines(
            &outcome,
            &[&format!("hetmp: HETMP_CALIBRATION: '{file}': ")],
        );
    }
}
