//! The engine `kernel`, in network namespaces of the test's own: a job there meets no packets but its own, and no other
//! job meets packets of a test.
//!
//! Needs root (namespaces, eBPF), `ip`, `unshare` and `nsenter`, and a build with clang. Where one is missing, the trials
//! are shown as ignored, with the reason.

use super::{build, exec, prefix, read, scratch, start, verdict, Program};
use libtest_mimic::{Failed, Trial};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A shell that has the loopback device of a network namespace of its own.
const ALONE: [&str; 4] = ["-n", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""];

/// Why the engine cannot be tested here.
fn refusal() -> Option<String> {
    let hetmp = prefix().join("bin/hetmp");
    let mut args: Vec<String> = ALONE.map(str::to_owned).to_vec();
    args.push(hetmp.display().to_string());
    args.extend(["goal", "kernel-engine", "--check", "--interface", "lo"].map(str::to_owned));
    let tried = Command::new("unshare").args(&args).output();
    match tried {
        Err(e) => Some(format!("unshare: {e}")),
        Ok(out) if out.status.success() => None,
        Ok(out) => {
            let text = String::from_utf8_lossy(&out.stderr);
            Some(text.lines().last().unwrap_or("no reason").to_owned())
        }
    }
}

fn program(name: &str) -> Result<(Program, PathBuf), Failed> {
    let folder = hetmp_abi_compat::library::root().join("c-tests/goal-kernel");
    let program = read(folder.join(format!("{name}.c")));
    let path = build(&program)?;
    Ok((program, path))
}

fn variables(more: &[(&str, &str)]) -> Vec<(String, String)> {
    let always = [
        ("HETMP_GOAL_ENGINE", "kernel"),
        ("HETMP_GOAL_COUNTERS", "true"),
    ];
    let all = always.iter().chain(more);
    all.map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect()
}

/// Runs a job in a network namespace of its own.
fn alone(ranks: u32, path: &Path, args: &[&str], env: &[(&str, &str)]) -> exec::Outcome {
    let unshare = hetmp_abi_compat::suite::find_in_path("unshare").expect("it was found before");
    let mut all: Vec<String> = ALONE.map(str::to_owned).to_vec();
    all.push(prefix().join("bin/hetrun").display().to_string());
    all.extend([
        "-n".to_owned(),
        ranks.to_string(),
        path.display().to_string(),
    ]);
    all.extend(args.iter().map(|a| (*a).to_owned()));
    start(&unshare, &all, &variables(env))
}

/// What each rank has counted, and the rest of the errors. The lines of counters are taken out of the outcome.
fn counted(out: &mut exec::Outcome) -> HashMap<u32, HashMap<String, u64>> {
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let (mut counts, mut rest) = (HashMap::new(), String::new());
    for line in text.lines() {
        let Some(found) = line.strip_prefix("hetmp: GOAL engine kernel, rank ") else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let (rank, numbers) = found.split_once(": ").expect("a rank and its counts");
        let pair = |p: &str| {
            let (name, n) = p.split_once(' ').expect("a name and a number");
            (name.to_owned(), n.parse().expect("a number"))
        };
        counts.insert(
            rank.parse().expect("a rank"),
            numbers.split(", ").map(pair).collect(),
        );
    }
    out.stderr = rest.into_bytes();
    counts
}

/// Every rank has sent by the engine, and nothing was wrong with what came.
fn took_the_engine(counts: &HashMap<u32, HashMap<String, u64>>, ranks: u32) -> Result<(), Failed> {
    for rank in 0..ranks {
        let count = counts
            .get(&rank)
            .ok_or_else(|| format!("rank {rank}: no counts"))?;
        if count["sent"] == 0 || count["kicks"] == 0 || count["bad"] + count["foreign"] != 0 {
            return Err(format!("rank {rank}: {count:?}").into());
        }
    }
    Ok(())
}

fn short_collectives() -> Result<(), Failed> {
    let (program, path) = program("in_kernel")?;
    for ranks in [2, 3, 4, 7] {
        let mut out = alone(ranks, &path, &[], &[]);
        let counts = counted(&mut out);
        verdict(&program, ranks, &out)?;
        took_the_engine(&counts, ranks)?;
    }
    Ok(())
}

/// Blocking collectives through the engine, too.
fn blocking() -> Result<(), Failed> {
    let (program, path) = program("in_kernel")?;
    let mut out = alone(3, &path, &["7"], &[("HETMP_GOAL_BLOCKING", "schedule")]);
    let counts = counted(&mut out);
    verdict(&program, 3, &out)?;
    took_the_engine(&counts, 3)
}

/// A rank that is stopped after it has begun its collectives keeps nobody waiting.
fn stopped() -> Result<(), Failed> {
    let (program, path) = program("stopped")?;
    let flags = scratch().join("stopped-flag").display().to_string();
    let mut out = alone(4, &path, &[&flags], &[]);
    let counts = counted(&mut out);
    verdict(&program, 4, &out)?;
    took_the_engine(&counts, 4)
}

/// The same program shows that the other engines need the rank; otherwise the trial before would prove nothing.
fn stopped_without(engine: &str) -> Result<(), Failed> {
    let (program, path) = program("stopped")?;
    let out = alone(4, &path, &["stuck"], &[("HETMP_GOAL_ENGINE", engine)]);
    verdict(&program, 4, &out)
}

fn hostile() -> Result<(), Failed> {
    let (program, path) = program("hostile")?;
    let mut out = alone(2, &path, &[], &[]);
    let counts = counted(&mut out);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let sent = text
        .lines()
        .find_map(|l| l.strip_prefix("hostile: "))
        .ok_or_else(|| format!("no line of what was sent: {text}"))?;
    let at_one = counts.get(&1).ok_or("rank 1: no counts")?;
    for pair in sent.split(", ") {
        let (name, n) = pair.split_once(' ').ok_or("a name and a number")?;
        let n: u64 = n.parse().map_err(|_| format!("{pair}: a number"))?;
        // Repeated messages of the job itself, after a loss, are duplicates too.
        if at_one[name] < n || (name == "bad" || name == "foreign") && at_one[name] != n {
            return Err(format!("{pair} were sent: {at_one:?}").into());
        }
    }
    out.stderr.clear();
    verdict(&program, 2, &out)
}

/// What the engine does not take goes another way, with one line for each reason.
fn declined() -> Result<(), Failed> {
    let program = read(super::folder().join("collectives.c"));
    let path = build(&program)?;
    let mut out = alone(3, &path, &[], &[]);
    let counts = counted(&mut out);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let is_reason = |l: &&str| {
        l.starts_with("hetmp: GOAL engine kernel: ")
            && l.ends_with("; such collectives take the engine thread")
    };
    if lines.is_empty() || !lines.iter().all(is_reason) {
        return Err(format!("lines of reasons were to come: {text}").into());
    }
    out.stderr.clear();
    verdict(&program, 3, &out)?;
    took_the_engine(&counts, 3)
}

/// Without the engine a job says why, and goes on by the engine `thread`.
fn refused() -> Result<(), Failed> {
    let (program, path) = program("in_kernel")?;
    let mut out = alone(2, &path, &["4"], &[("HETMP_GOAL_INTERFACE", "nowhere")]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let wanted = "hetmp: HETMP_GOAL_ENGINE kernel: interface nowhere: ";
    if !text
        .lines()
        .all(|l| l.starts_with(wanted) && l.ends_with("; the engine thread is used"))
    {
        return Err(format!("{wanted}... was to come: {text}").into());
    }
    out.stderr.clear();
    verdict(&program, 2, &out)
}

/// Namespaces with one rank each, joined by a bridge in one of their own. Removed when dropped.
struct Spaces {
    names: Vec<String>,
}

impl Spaces {
    fn new(ranks: u32) -> Result<Spaces, Failed> {
        let name = |what: &str| format!("hetmp-goal-{}-{what}", std::process::id());
        let mut spaces = Spaces { names: Vec::new() };
        let bridge = name("bridge");
        spaces.add(&bridge)?;
        ip(&format!("-n {bridge} link add br0 type bridge"))?;
        ip(&format!("-n {bridge} link set br0 up"))?;
        for rank in 0..ranks {
            let space = name(&rank.to_string());
            spaces.add(&space)?;
            ip(&format!(
                "link add eth0 netns {space} type veth peer name p{rank} netns {bridge}"
            ))?;
            ip(&format!("-n {bridge} link set p{rank} master br0 up"))?;
            ip(&format!("-n {space} link set eth0 up"))?;
        }
        Ok(spaces)
    }

    fn add(&mut self, name: &str) -> Result<(), Failed> {
        ip(&format!("netns add {name}"))?;
        self.names.push(name.to_owned());
        Ok(())
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn ip(args: &str) -> Result<(), Failed> {
    let path = hetmp_abi_compat::suite::find_in_path("ip").map_err(|e| e.to_string())?;
    let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
    let out = start(&path, &args, &[]);
    if out.ending != exec::Ending::Exit(0) {
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        return Err(format!("ip {}: {said}", args.join(" ")).into());
    }
    Ok(())
}

/// Ranks in namespaces of their own, as on machines of their own, with real addresses.
fn namespaces(ranks: u32) -> Result<(), Failed> {
    let (program, path) = program("in_kernel")?;
    let _spaces = Spaces::new(ranks)?;
    let enter = format!(
        "exec nsenter --net=/run/netns/hetmp-goal-{}-$HETRUN_RANK \"$0\" \"$@\"",
        std::process::id()
    );
    let hetrun = prefix().join("bin/hetrun");
    let n = ranks.to_string();
    let shown = path.display().to_string();
    let args = ["-n", &n, "sh", "-c", &enter, &shown].map(str::to_owned);
    let run = |interface: &str| {
        let mut out = start(
            &hetrun,
            &args,
            &variables(&[("HETMP_GOAL_INTERFACE", interface)]),
        );
        (counted(&mut out), out)
    };
    let (counts, out) = run("eth0");
    verdict(&program, ranks, &out)?;
    took_the_engine(&counts, ranks)?;
    // The loopback device of one namespace does not lead to another.
    let (counts, mut out) = run("lo");
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    if !counts.is_empty() || text.lines().count() != ranks as usize {
        return Err(format!("one line of each rank was to come: {text}").into());
    }
    out.stderr.clear();
    verdict(&program, ranks, &out)
}

/// The trials, or one ignored trial that says why there are none.
pub(crate) fn trials() -> Vec<Trial> {
    if let Some(why) = refusal() {
        let name = format!("kernel::all, not here: {why}");
        return vec![Trial::test(name, || Ok(())).with_ignored_flag(true)];
    }
    let mut trials = vec![
        Trial::test("kernel::short_collectives", short_collectives),
        Trial::test("kernel::blocking", blocking),
        Trial::test("kernel::stopped", stopped),
        Trial::test("kernel::stopped_thread", || stopped_without("thread")),
        Trial::test("kernel::stopped_user", || stopped_without("user")),
        Trial::test("kernel::hostile", hostile),
        Trial::test("kernel::declined", declined),
        Trial::test("kernel::refused", refused),
    ];
    let has_bridges = Spaces::new(1).is_ok();
    for ranks in [2, 4] {
        let name = format!("kernel::namespaces_{ranks}");
        let trial = Trial::test(name, move || namespaces(ranks));
        trials.push(trial.with_ignored_flag(!has_bridges));
    }
    trials
}
