//! The engine `kernel`, in network namespaces of the test's own: a job there meets no packets but its own, and no other
//! job meets packets of a test.
//!
//! Needs root (namespaces, eBPF), `ip` and `unshare`, and a build with clang. Where one is missing, the trials
//! are shown as ignored, with the reason.

mod hosts;

use super::nic::{groups, one_reason};
use super::{built, exec, folder, prefix, read, scratch, start, verdict, written, Program};
use hosts::Hosts;
use libtest_mimic::{Failed, Trial};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A shell that has the loopback device of a network namespace of its own.
const ALONE: [&str; 4] = ["-n", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""];

fn helper() -> PathBuf {
    prefix().join("bin/hetmp-goal-kernel")
}

/// Why the engine cannot be tested here.
fn refusal() -> Option<String> {
    let mut args: Vec<String> = ALONE.map(str::to_owned).to_vec();
    args.push(helper().display().to_string());
    args.extend(["--check", "--interface", "lo"].map(str::to_owned));
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

/// A program of `c-tests/goal-kernel`, built.
pub(crate) fn program(name: &str) -> Result<(Program, PathBuf), Failed> {
    let folder = hetmp_abi_compat::library::root().join("c-tests/goal-kernel");
    let program = read(folder.join(format!("{name}.c")));
    let path = built(&program)?;
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

/// Runs a command in a network namespace of its own.
fn apart(command: &[String], env: &[(&str, &str)]) -> exec::Outcome {
    let unshare = hetmp_abi_compat::suite::find_in_path("unshare").expect("it was found before");
    let all: Vec<String> = ALONE.map(str::to_owned).to_vec();
    start(&unshare, &[&all[..], command].concat(), &variables(env))
}

/// Runs a job in a network namespace of its own.
fn alone(ranks: u32, path: &Path, args: &[&str], env: &[(&str, &str)]) -> exec::Outcome {
    let mut all = vec![
        prefix().join("bin/hetrun").display().to_string(),
        "-n".to_owned(),
        ranks.to_string(),
        path.display().to_string(),
    ];
    all.extend(args.iter().map(|a| (*a).to_owned()));
    apart(&all, env)
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

/// The arithmetic of floating point numbers compared with the processor's, 10^5 pairs for each operation and type.
/// `scripts/lib/goal_long.sh` has more.
fn floats() -> Result<(), Failed> {
    let (_, path) = program("floats")?;
    let out = start(&path, &["100000".to_owned()], &[]);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.ending != exec::Ending::Exit(0) || text != "floats: passed, 1003240 checks\n" {
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        return Err(format!("{}: {text}{said}", out.ending).into());
    }
    Ok(())
}

/// Sums of floating point numbers: the bits of the processor.
fn sums() -> Result<(), Failed> {
    let (program, path) = program("sums")?;
    for ranks in [2, 3, 4, 7] {
        let mut out = alone(ranks, &path, &[], &[("HETMP_GOAL_ALLREDUCE", "doubling")]);
        let counts = counted(&mut out);
        verdict(&program, ranks, &out)?;
        took_the_engine(&counts, ranks)?;
    }
    Ok(())
}

/// Collectives of groups.
fn groups_alone() -> Result<(), Failed> {
    groups("kernel", &|n, path, args| {
        let mut out = alone(n, path, args, &[("HETMP_GOAL_NONBLOCKING", "schedule")]);
        took_the_engine(&counted(&mut out), n)?;
        Ok(out)
    })
}

/// Exchanges with neighbours, which each rank begins without knowing those of the others.
fn neighbours() -> Result<(), Failed> {
    let (program, path) = program("neighbours")?;
    for ranks in [2, 3, 4, 7] {
        let mut out = alone(ranks, &path, &["limited"], &[]);
        let counts = counted(&mut out);
        verdict(&program, ranks, &out)?;
        took_the_engine(&counts, ranks)?;
    }
    Ok(())
}

/// The program closes the descriptors by which the engine is reached, or takes their numbers.
fn closes() -> Result<(), Failed> {
    let program = read(folder().join("closes.c"));
    let mut out = alone(2, &built(&program)?, &[], &[("HETMP_NIC", "shm")]);
    let counts = counted(&mut out);
    verdict(&program, 2, &out)?;
    took_the_engine(&counts, 2)
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
    let mut out = alone(4, &path, &[&flags, "graph"], &[]);
    let counts = counted(&mut out);
    verdict(&program, 4, &out)?;
    took_the_engine(&counts, 4)
}

/// The same program shows that schedules under the other engines need the rank; otherwise the trial before would prove
/// nothing.
fn stopped_without(engine: &str) -> Result<(), Failed> {
    let (program, path) = program("stopped")?;
    let env = [
        ("HETMP_GOAL_ENGINE", engine),
        ("HETMP_GOAL_NONBLOCKING", "schedule"),
    ];
    let out = alone(4, &path, &["stuck", "graph"], &env);
    verdict(&program, 4, &out)
}

/// Where processes map each other's memory and go without schedules, what the stopped rank gave is there for the
/// others.
fn stopped_direct(engine: &str) -> Result<(), Failed> {
    let (program, path) = program("stopped")?;
    let flags = scratch().join(format!("direct-stopped-{engine}"));
    let flags = flags.display().to_string();
    let out = alone(4, &path, &[&flags], &[("HETMP_GOAL_ENGINE", engine)]);
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
        // Repeated messages of the job itself, after a loss, are duplicates too. On a busy machine the system drops
        // some frames before the program sees them.
        let all = at_one[name];
        if all * 100 < n * 95 || (name == "bad" || name == "foreign") && all > n {
            return Err(format!("{pair} were sent: {at_one:?}").into());
        }
    }
    out.stderr.clear();
    verdict(&program, 2, &out)
}

/// A rank that writes what it likes into the memory that it shares with its program.
fn hostile_rank() -> Result<(), Failed> {
    let (program, path) = program("hostile_rank")?;
    let mut out = alone(2, &path, &[], &[]);
    counted(&mut out);
    verdict(&program, 2, &out)
}

/// Whom the helper serves.
fn another_user() -> Result<(), Failed> {
    let (program, path) = program("another_user")?;
    let out = apart(&[path, helper()].map(|p| p.display().to_string()), &[]);
    verdict(&program, 1, &out)
}

/// More messages before their receives than are kept: the rest is dropped, counted and asked for again.
fn exhausted() -> Result<(), Failed> {
    let (program, path) = program("exhausted")?;
    let mut out = alone(2, &path, &[], &[]);
    let counts = counted(&mut out);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let at_one = counts.get(&1).ok_or("rank 1: no counts")?;
    let numbers = "exhausted: early 1280, dropped 740";
    let right = at_one["early"] >= 1280 && at_one["dropped"] == 740 && at_one["asked"] >= 20;
    if !text.lines().any(|l| l == numbers) || !right {
        return Err(format!("{numbers}: {text}: {at_one:?}").into());
    }
    out.stderr.clear();
    verdict(&program, 2, &out)
}

/// Messages longer than a packet, up to 64 KiB, in parts.
fn long() -> Result<(), Failed> {
    let (program, path) = program("long")?;
    for ranks in [2, 3, 4, 8] {
        let mut out = alone(ranks, &path, &["136"], &[]);
        let counts = counted(&mut out);
        verdict(&program, ranks, &out)?;
        took_the_engine(&counts, ranks)?;
    }
    Ok(())
}

/// Many long messages for a rank that comes late: it decides how much is under way, so that nothing is dropped.
fn slow_receiver() -> Result<(), Failed> {
    let (program, path) = program("slow")?;
    for ranks in [2, 8] {
        let mut out = alone(ranks, &path, &[], &[]);
        let counts = counted(&mut out);
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        let streams = 4 * (ranks - 1);
        let begins = format!("slow: {streams} streams, ");
        let ends = " parts, at most 16 of a message under way";
        if !text
            .lines()
            .any(|l| l.starts_with(&begins) && l.ends_with(ends))
        {
            return Err(format!("{ranks} ranks: {text}: {counts:?}").into());
        }
        out.stderr.clear();
        verdict(&program, ranks, &out)?;
        took_the_engine(&counts, ranks)?;
        if (0..ranks).any(|r| counts[&r]["dropped"] != 0) {
            return Err(format!("{ranks} ranks: messages were dropped: {counts:?}").into());
        }
    }
    Ok(())
}

/// The engine takes every collective of the program, or says which not.
fn long_algorithms() -> Result<(), Failed> {
    let (program, path) = program("long")?;
    let mut out = alone(4, &path, &["80"], &[("HETMP_GOAL_ALLGATHER", "log")]);
    counted(&mut out);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    if !text
        .contains("bytes: too long (expected up to 65536); such collectives take the engine thread")
    {
        return Err(
            format!("a line of blocks together longer than 64 KiB was to come: {text}").into(),
        );
    }
    out.stderr.clear();
    verdict(&program, 4, &out)
}

/// A rank that ends with status 0 while collectives go on: the others get errors, and go on.
fn leaves() -> Result<(), Failed> {
    let (program, path) = program("leaves")?;
    for ranks in [2, 4] {
        let mut out = alone(ranks, &path, &[], &[]);
        counted(&mut out);
        verdict(&program, ranks, &out)?;
    }
    Ok(())
}

/// A rank that has left without its results keeps no place of the one that sends to it.
fn only_sends() -> Result<(), Failed> {
    let (program, path) = program("only_sends")?;
    let mut out = alone(2, &path, &[], &[]);
    counted(&mut out);
    verdict(&program, 2, &out)
}

/// A rank that dies: the waits of the others end with an error.
fn lost() -> Result<(), Failed> {
    let program = read(folder().join("lost.c"));
    let path = built(&program)?;
    for ranks in [2, 4] {
        let file = scratch().join(format!("lost-kernel-{ranks}"));
        let _ = fs::remove_file(&file);
        let said = alone(ranks, &path, &[&file.display().to_string()], &[]);
        let text = written(&file)?;
        if !text.ends_with(&format!(" checks on rank 0 of {ranks}\n")) {
            let errors = String::from_utf8_lossy(&said.stderr).into_owned();
            return Err(format!("{ranks} ranks: {text}: {errors}").into());
        }
    }
    Ok(())
}

/// Compiles the program that loses and doubles packets, and sees whether `tc` can attach it.
fn bad_network() -> Result<PathBuf, String> {
    let root = hetmp_abi_compat::library::root();
    let source = root.join("c-tests/goal-kernel/lossy.bpf.c");
    let object = scratch().join("lossy.bpf.o");
    fs::create_dir_all(scratch()).map_err(|e| e.to_string())?;
    let done = |command: &mut Command| match command.output() {
        Err(e) => Err(format!("{command:?}: {e}")),
        Ok(out) if out.status.success() => Ok(()),
        Ok(out) => {
            let text = String::from_utf8_lossy(&out.stderr).into_owned();
            Err(text.lines().last().unwrap_or("no reason").to_owned())
        }
    };
    // Debian has <asm/types.h> in the folder of the architecture, which is not in clang's list for this target.
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let clang = ["-O2", "-g", "-Wall", "-target", "bpf", &headers, "-c"];
    done(Command::new("clang").args(clang).args([
        source.as_os_str(),
        "-o".as_ref(),
        object.as_os_str(),
    ]))?;
    done(
        Command::new("unshare")
            .args(["-n", "sh", "-c", BAD, "true"])
            .env("OBJECT", &object)
            .env("LONGEST", "65536"),
    )?;
    Ok(object)
}

/// A shell whose loopback device has packets of `$LONGEST` bytes, and loses and doubles packets by the program
/// `$OBJECT`.
const BAD: &str = "ip link set lo mtu $LONGEST up && tc qdisc add dev lo clsact && tc filter add dev lo egress bpf \
    direct-action \
    object-file $OBJECT section classifier && exec \"$0\" \"$@\"";

/// 5 of 100 packets lost, 5 of 100 twice: exact results, and every rank has asked again and was asked.
fn lossy(object: &Path, name: &str, ranks: u32, rounds: &str, longest: &str) -> Result<(), Failed> {
    let (program, path) = program(name)?;
    let unshare = hetmp_abi_compat::suite::find_in_path("unshare").expect("it was found before");
    let hetrun = prefix().join("bin/hetrun").display().to_string();
    let shell = ["-n", "sh", "-c", BAD, &hetrun, "-n", &ranks.to_string()].map(str::to_owned);
    let job = [path.display().to_string(), rounds.to_owned()];
    let object = object.display().to_string();
    let mut out = start(
        &unshare,
        &[&shell[..], &job].concat(),
        &variables(&[("OBJECT", &object), ("LONGEST", longest)]),
    );
    let counts = counted(&mut out);
    verdict(&program, ranks, &out)?;
    took_the_engine(&counts, ranks)?;
    let all = |name: &str| (0..ranks).all(|r| counts[&r][name] > 0);
    if !["asked", "resent", "duplicate"].into_iter().all(all) {
        return Err(format!("nothing was lost, or nothing doubled: {counts:?}").into());
    }
    Ok(())
}

/// What the engine does not take goes another way, with one line for each reason.
fn declined() -> Result<(), Failed> {
    let program = read(folder().join("collectives.c"));
    let mut out = alone(3, &built(&program)?, &[], &[]);
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

/// Graphs of a program on which its ranks have agreed.
fn graphs(name: &str) -> Result<(), Failed> {
    let (program, path) = program(name)?;
    for ranks in [2, 3, 4, 7] {
        let mut out = alone(ranks, &path, &[], &[]);
        let counts = counted(&mut out);
        verdict(&program, ranks, &out)?;
        took_the_engine(&counts, ranks)?;
    }
    Ok(())
}

fn agreed() -> Result<(), Failed> {
    graphs("agreed")?;
    let (program, path) = program("agreed")?;
    let mut out = alone(3, &path, &["refused"], &[]);
    counted(&mut out);
    one_reason(&mut out, "kernel")?;
    verdict(&program, 3, &out)
}

/// Without the engine a job says why, and goes on by the engine `thread`.
fn refused() -> Result<(), Failed> {
    let (program, path) = program("in_kernel")?;
    let mut out = alone(2, &path, &["4"], &[("HETMP_GOAL_INTERFACE", "nowhere")]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let wanted = "hetmp: HETMP_GOAL_ENGINE: 'kernel': interface nowhere: ";
    if !text
        .lines()
        .all(|l| l.starts_with(wanted) && l.ends_with("; the engine thread is used"))
    {
        return Err(format!("{wanted}... was to come: {text}").into());
    }
    out.stderr.clear();
    verdict(&program, 2, &out)
}

/// Ranks on hosts of their own, with real addresses. Where one of their interfaces takes shorter packets than the
/// others, all ranks send what that one takes.
fn hosts(longest: &[u32]) -> Result<(), Failed> {
    let (program, path) = program("in_kernel")?;
    let (hosts, n) = (Hosts::new(longest)?, longest.len() as u32);
    let mut out = hosts.run(&path, "6", "eth0");
    let counts = counted(&mut out);
    verdict(&program, n, &out)?;
    took_the_engine(&counts, n)?;
    let (longer, path_of_longer) = self::program("long")?;
    let mut out = hosts.run(&path_of_longer, "136", "eth0");
    let counts = counted(&mut out);
    verdict(&longer, n, &out)?;
    took_the_engine(&counts, n)?;
    // The loopback device of one host does not lead to another.
    let mut out = hosts.run(&path, "6", "lo");
    let counts = counted(&mut out);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    if !counts.is_empty() || text.matches("is in another network namespace").count() != n as usize {
        return Err(format!("one line of each rank was to come: {text}").into());
    }
    out.stderr.clear();
    verdict(&program, n, &out)
}

/// A scanner of another user, while the ranks of a job meet.
fn scanned() -> Result<(), Failed> {
    let (program, path) = program("scanned")?;
    let env = [("HETMP_NIC", "tcp"), ("HETMP_GOAL_ENGINE", "thread")];
    let out = alone(2, &path, &[], &env);
    verdict(&program, 2, &out)
}

/// The trials, or one ignored trial that says why there are none.
pub(crate) fn trials() -> Vec<Trial> {
    if let Some(why) = refusal() {
        let name = format!("kernel::all, not here: {why}");
        return vec![Trial::test(name, || Ok(())).with_ignored_flag(true)];
    }
    let mut trials = vec![
        Trial::test("kernel::short_collectives", short_collectives),
        Trial::test("kernel::floats", floats),
        Trial::test("kernel::sums", sums),
        Trial::test("kernel::neighbours", neighbours),
        Trial::test("kernel::groups", groups_alone),
        Trial::test("kernel::blocking", blocking),
        Trial::test("kernel::closes", closes),
        Trial::test("kernel::stopped", stopped),
        Trial::test("kernel::stopped_thread", || stopped_without("thread")),
        Trial::test("kernel::stopped_user", || stopped_without("user")),
        Trial::test("kernel::stopped_direct_thread", || stopped_direct("thread")),
        Trial::test("kernel::stopped_direct_user", || stopped_direct("user")),
        Trial::test("kernel::hostile", hostile),
        Trial::test("kernel::hostile_rank", hostile_rank),
        Trial::test("kernel::another_user", another_user),
        Trial::test("kernel::exhausted", exhausted),
        Trial::test("kernel::long", long),
        Trial::test("kernel::slow_receiver", slow_receiver),
        Trial::test("kernel::long_algorithms", long_algorithms),
        Trial::test("kernel::leaves", leaves),
        Trial::test("kernel::only_sends", only_sends),
        Trial::test("kernel::lost", lost),
        Trial::test("kernel::declined", declined),
        Trial::test("kernel::agreed", agreed),
        Trial::test("kernel::header", || graphs("header")),
        Trial::test("kernel::refused", refused),
        Trial::test("kernel::scanned", scanned),
    ];
    match bad_network() {
        Ok(object) => {
            for (name, ranks, rounds, longest) in [
                ("lossy", 2, "2000", "65536"),
                ("lossy", 4, "1000", "65536"),
                ("long", 2, "240", "1500"),
                ("long", 4, "160", "1500"),
                ("long", 3, "240", "9000"),
            ] {
                let object = object.clone();
                let trial = if name == "lossy" { "" } else { "_long" };
                trials.push(Trial::test(
                    format!("kernel::lossy{trial}_{ranks}"),
                    move || lossy(&object, name, ranks, rounds, longest),
                ));
            }
        }
        Err(why) => {
            let name = format!("kernel::lossy, not here: {why}");
            trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
        }
    }
    let has_hosts = Hosts::new(&[1500]).is_ok();
    for (name, longest) in [
        ("2", &[1500, 1500][..]),
        ("4", &[1500; 4]),
        ("2_of_long_packets", &[9000; 2]),
        ("3_of_unlike_packets", &[9000, 1500, 65535]),
    ] {
        let trial = Trial::test(format!("kernel::hosts_{name}"), move || hosts(longest));
        trials.push(trial.with_ignored_flag(!has_hosts));
    }
    trials
}
