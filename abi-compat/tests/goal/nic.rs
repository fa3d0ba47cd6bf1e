//! The engine `nic`: the adapter as a process of its own, and as a thread.

use super::kernel::program;
use super::{all, built, exec, folder, prefix, read, run, scratch, start, verdict, written};
use libtest_mimic::{Failed, Trial};
use std::fs;
use std::path::Path;

/// The words of a line that says why the engine does not take a collective.
const REASON: (&str, &str) = (
    "hetmp: GOAL engine nic",
    "; such collectives take the engine thread",
);

/// Takes the lines that say why a collective goes another way out of what a job has written.
pub(crate) fn drop_reasons(out: &mut exec::Outcome) {
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let rest = text
        .lines()
        .filter(|l| !(l.starts_with(REASON.0) && l.ends_with(REASON.1)));
    out.stderr = rest
        .flat_map(|l| [l, "\n"])
        .collect::<String>()
        .into_bytes();
}

/// Takes the lines of ranks that have posted nothing out of what a job has written.
fn drop_idle(out: &mut exec::Outcome) {
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let counts = |l: &&str| !l.contains(": runs 0, ");
    let rest = text.lines().filter(counts).flat_map(|l| [l, "\n"]);
    out.stderr = rest.collect::<String>().into_bytes();
}

/// Runs a job under an engine that counts.
fn job(
    engine: &str,
    ranks: u32,
    path: &Path,
    args: &[&str],
    env: &[(&str, &str)],
) -> exec::Outcome {
    let mut all = vec![
        "-n".to_owned(),
        ranks.to_string(),
        path.display().to_string(),
    ];
    all.extend(args.iter().map(|a| (*a).to_owned()));
    let always = [
        ("HETMP_GOAL_ENGINE", engine),
        ("HETMP_GOAL_COUNTERS", "true"),
    ];
    let env: Vec<(String, String)> = always
        .iter()
        .chain(env)
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect();
    start(&prefix().join("bin/hetrun"), &all, &env)
}

/// Every rank has posted runs; the lines that say so are taken out.
fn took_the_engine(engine: &str, ranks: u32, out: &mut exec::Outcome) -> Result<(), Failed> {
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let (mut seen, mut rest) = (0, String::new());
    for line in text.lines() {
        let counts = line.strip_prefix(&format!("hetmp: GOAL engine {engine}, rank "));
        let runs = counts.and_then(|c| c.split_once(": runs ")?.1.split(',').next());
        match runs {
            Some(runs) if runs != "0" => seen += 1,
            _ => {
                rest.push_str(line);
                rest.push('\n');
            }
        }
    }
    out.stderr = rest.into_bytes();
    if seen == ranks {
        Ok(())
    } else {
        Err(format!("{seen} of {ranks} ranks have posted runs: {text}").into())
    }
}

fn short_collectives(engine: &str) -> Result<(), Failed> {
    let (program, path) = program("in_kernel")?;
    for ranks in [2, 3, 4, 7] {
        let mut out = job(engine, ranks, &path, &[], &[]);
        took_the_engine(engine, ranks, &mut out)?;
        verdict(&program, ranks, &out)?;
    }
    Ok(())
}

/// Takes the one line of rank 0 that says why the engine does not run what the ranks have agreed on.
pub(crate) fn one_reason(out: &mut exec::Outcome, engine: &str) -> Result<(), Failed> {
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let begins = format!("hetmp: GOAL engine {engine}: GOAL_Agree: ");
    let is_reason = text.starts_with(&begins) && text.trim_end().ends_with(REASON.1);
    if !is_reason || text.lines().count() != 1 {
        return Err(format!("{begins}... was to come once: {text}").into());
    }
    out.stderr.clear();
    Ok(())
}

/// Graphs of a program on which its ranks have agreed. Under other engines they have the same results.
fn graphs(engine: &str, name: &str) -> Result<(), Failed> {
    let (program, path) = program(name)?;
    let is_away = engine.starts_with("nic");
    for ranks in [2, 3, 4, 7] {
        let mut out = job(engine, ranks, &path, &[], &[]);
        if is_away {
            took_the_engine(engine, ranks, &mut out)?;
        }
        verdict(&program, ranks, &out)?;
    }
    Ok(())
}

fn agreed(engine: &str) -> Result<(), Failed> {
    graphs(engine, "agreed")?;
    let (program, path) = program("agreed")?;
    let mut out = job(engine, 3, &path, &["refused"], &[]);
    if engine.starts_with("nic") {
        drop_idle(&mut out);
        one_reason(&mut out, engine)?;
    }
    verdict(&program, 3, &out)
}

/// The programs of sums and of exchanges with neighbours under the other engines have the results that they have in the
/// kernel.
fn as_in_kernel(engine: &str) -> Result<(), Failed> {
    let schedule = ("HETMP_GOAL_NONBLOCKING", "schedule");
    let doubling = ("HETMP_GOAL_ALLREDUCE", "doubling");
    for name in ["sums", "neighbours"] {
        let (program, path) = program(name)?;
        for ranks in [2, 3, 4] {
            let mut out = job(engine, ranks, &path, &[], &[schedule, doubling]);
            if engine.starts_with("nic") {
                took_the_engine(engine, ranks, &mut out)?;
            }
            verdict(&program, ranks, &out)?;
        }
    }
    Ok(())
}

/// How a job of `mixed` ends: with which arguments, under an engine.
pub(crate) type Mixed<'a> = &'a dyn Fn(u32, &Path, &[&str]) -> Result<exec::Outcome, Failed>;

/// Overlapping groups whose collectives go on at once: the engine takes every one, and has the bits of `user`.
pub(crate) fn groups(engine: &str, job_of: Mixed) -> Result<(), Failed> {
    let program = read(folder().join("mixed.c"));
    let path = built(&program)?;
    let got = |name: &str, n: u32, seed: &str, first: &str, run: Mixed| -> Result<String, Failed> {
        let file = scratch().join(format!("mixed-{engine}-{name}-{n}-{seed}"));
        let _ = fs::remove_file(&file);
        let out = run(n, &path, &[seed, first, &file.display().to_string()])?;
        verdict(&program, n, &out)?;
        written(&file)
    };
    let by_user: Mixed = &|n, path, args| {
        let schedule = ("HETMP_GOAL_NONBLOCKING", "schedule");
        let mut out = job("user", n, path, args, &[schedule]);
        drop_idle(&mut out);
        Ok(out)
    };
    // Contexts for which the engine has no series go another way, with one line.
    let beyond: Mixed = &|n, path, args| {
        let mut out = job_of(n, path, args)?;
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        let line = format!(
            "hetmp: GOAL engine {engine}: groups with contexts above 4: not supported{}",
            REASON.1
        );
        // Once of the first member of each such group.
        if !(1..=2).contains(&text.lines().count()) || text.lines().any(|l| l != line) {
            return Err(format!("{line}: was to come: {text}").into());
        }
        out.stderr.clear();
        Ok(out)
    };
    for (n, seed) in [
        (2, "11"),
        (3, "12"),
        (3, "13"),
        (4, "14"),
        (4, "15"),
        (4, "16"),
    ] {
        let expected = got("user", n, seed, "1", by_user)?;
        if got("away", n, seed, "1", job_of)? != expected {
            return Err(format!("{n} ranks, seed {seed}: other bits than under user").into());
        }
        if got("beyond", n, seed, "3", beyond)? != expected {
            return Err(
                format!("{n} ranks, seed {seed}: other bits than by other contexts").into(),
            );
        }
    }
    Ok(())
}

/// Under `nic`, every rank posts runs.
fn groups_of_nic(engine: &str) -> Result<(), Failed> {
    groups(engine, &|n, path, args| {
        let schedule = ("HETMP_GOAL_NONBLOCKING", "schedule");
        let mut out = job(engine, n, path, args, &[schedule]);
        took_the_engine(engine, n, &mut out)?;
        Ok(out)
    })
}

/// Blocking collectives through the engine, too.
fn blocking() -> Result<(), Failed> {
    let (program, path) = program("in_kernel")?;
    let env = [("HETMP_GOAL_BLOCKING", "schedule")];
    let mut out = job("nic", 3, &path, &["7"], &env);
    took_the_engine("nic", 3, &mut out)?;
    verdict(&program, 3, &out)
}

/// The thread of `HETMP_NIC=emulated` is the adapter.
fn emulated() -> Result<(), Failed> {
    let (program, path) = program("in_kernel")?;
    let env = [("HETMP_NIC", "emulated")];
    let mut out = job("nic-thread", 3, &path, &["7"], &env);
    took_the_engine("nic-thread", 3, &mut out)?;
    verdict(&program, 3, &out)
}

/// A rank that is stopped after it has begun its collectives keeps nobody waiting: its adapter is a process of its own.
fn stopped() -> Result<(), Failed> {
    let (program, path) = program("stopped")?;
    let flags = scratch().join("nic-stopped-flag").display().to_string();
    let mut out = job("nic", 4, &path, &[&flags, "graph"], &[]);
    took_the_engine("nic", 4, &mut out)?;
    verdict(&program, 4, &out)
}

/// An adapter that is a thread is stopped with its process; otherwise the trial before would prove nothing.
fn stopped_thread() -> Result<(), Failed> {
    let (program, path) = program("stopped")?;
    let mut out = job("nic-thread", 4, &path, &["stuck", "graph"], &[]);
    took_the_engine("nic-thread", 4, &mut out)?;
    verdict(&program, 4, &out)
}

/// A rank that ends with status 0 while collectives go on: the others get errors, and go on.
fn leaves(engine: &str) -> Result<(), Failed> {
    let (program, path) = program("leaves")?;
    for ranks in [2, 4] {
        let mut out = job(engine, ranks, &path, &[], &[]);
        // The rank that has left counts, too: it has begun a run.
        took_the_engine(engine, ranks, &mut out)?;
        verdict(&program, ranks, &out)?;
    }
    Ok(())
}

/// A rank that has left without its results keeps no place of the one that sends to it.
fn only_sends(engine: &str) -> Result<(), Failed> {
    let (program, path) = program("only_sends")?;
    let mut out = job(engine, 2, &path, &[], &[]);
    took_the_engine(engine, 2, &mut out)?;
    verdict(&program, 2, &out)
}

/// Where the engine cannot be had, every rank says why, and the job goes on by the engine `thread`.
fn refused(engine: &str, way: &str, why: &str) -> Result<(), Failed> {
    let (program, path) = program("in_kernel")?;
    let mut out = job(engine, 2, &path, &["4"], &[("HETMP_NIC", way)]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let wanted = format!("hetmp: HETMP_GOAL_ENGINE: '{engine}': {why}");
    let is_refusal = |l: &str| l.starts_with(&wanted) && l.ends_with("; the engine thread is used");
    if text.lines().count() != 2 || !text.lines().all(is_refusal) {
        return Err(format!("{wanted}... was to come from each rank: {text}").into());
    }
    out.stderr.clear();
    verdict(&program, 2, &out)
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("nic::short_collectives", || short_collectives("nic")),
        Trial::test("nic::short_collectives_thread", || {
            short_collectives("nic-thread")
        }),
        Trial::test("nic::sums_and_neighbours", || as_in_kernel("nic")),
        Trial::test("nic::sums_and_neighbours_otherwise", || {
            as_in_kernel("user").and_then(|()| as_in_kernel("thread"))
        }),
        Trial::test("nic::groups", || groups_of_nic("nic")),
        Trial::test("nic::groups_thread", || groups_of_nic("nic-thread")),
        Trial::test("nic::blocking", blocking),
        Trial::test("nic::agreed", || agreed("nic")),
        Trial::test("nic::agreed_thread", || agreed("nic-thread")),
        Trial::test("nic::agreed_otherwise", || {
            agreed("user").and_then(|()| agreed("thread"))
        }),
        Trial::test("nic::header", || graphs("nic", "header")),
        Trial::test("nic::header_thread", || graphs("nic-thread", "header")),
        Trial::test("nic::header_otherwise", || {
            graphs("user", "header").and_then(|()| graphs("thread", "header"))
        }),
        Trial::test("nic::leaves", || leaves("nic")),
        Trial::test("nic::leaves_thread", || leaves("nic-thread")),
        Trial::test("nic::only_sends", || only_sends("nic")),
        Trial::test("nic::only_sends_thread", || only_sends("nic-thread")),
        Trial::test("nic::emulated", emulated),
        Trial::test("nic::stopped", stopped),
        Trial::test("nic::stopped_thread", stopped_thread),
        Trial::test("nic::refused_tcp", || {
            refused("nic", "tcp", "ranks do not map each other's memory")
        }),
        Trial::test("nic::refused_emulated", || {
            refused(
                "nic",
                "emulated",
                "the adapter of HETMP_NIC emulated is a thread",
            )
        }),
    ];
    // A job that OpenSHMEM has begun has no adapter.
    for mut program in all().into_iter().filter(|p| p.name != "with_shmem") {
        // These ways do not have the engine.
        program.env.retain(|(name, _)| name != "HETMP_NIC");
        // With an adapter for each, more ranks would only wait for processors.
        program.ranks.retain(|n| (2..=4).contains(n));
        if program.engines.len() > 1 {
            let name = format!("nic::{}", program.name);
            trials.push(Trial::test(name, move || run(&program, "nic", "auto")));
        }
    }
    trials
}
