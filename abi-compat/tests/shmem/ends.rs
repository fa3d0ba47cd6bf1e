//! How jobs end: statuses of programs, `shmem_global_exit`, and PEs that die.

use super::launch::{self, Ending, Launcher, Outcome};
use super::program::{self, Library};
use super::shown;
use hetmp_abi_compat::sample;
use libtest_mimic::{Failed, Trial};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a job that ends may take where all tests run, on a quiet machine.
const LIMIT: Duration = Duration::from_secs(2);

fn job(pes: u32, args: &[&str], env: &[(&str, &str)]) -> Result<Outcome, Failed> {
    let path = program::named("exit_status").build("default", Library::Ours)?;
    let mut command = Launcher::Oshrun.start(pes, &path).args(args);
    for (name, value) in env {
        command = command.env(name, value);
    }
    Ok(command.run())
}

/// Checks that a job ended with `status`, printed `lines` lines that contain `part`, left no process behind, and ended
/// quickly.
fn ends(
    args: &[&str],
    env: &[(&str, &str)],
    status: i32,
    part: Option<&str>,
) -> Result<(), Failed> {
    let mut took = Duration::MAX;
    for _ in 0..3 {
        let out = job(3, args, env)?;
        let lines: Vec<&str> = out.stderr.lines().collect();
        let right = match part {
            None => lines.is_empty(),
            Some(part) => {
                lines.len() == 1 && lines[0].starts_with("hetmp: ") && lines[0].contains(part)
            }
        };
        if out.ending != Ending::Exit(status) || !right || out.stdout.contains("came") {
            return Err(format!(
                "{args:?} with {env:?}: {status} was to come: {}",
                shown(&out)
            )
            .into());
        }
        if !out.left.is_empty() {
            return Err(format!("{args:?}: left running: {:?}", out.left).into());
        }
        took = out.took;
        if took < LIMIT || sample::is_short() {
            return Ok(());
        }
    }
    Err(format!("{args:?} with {env:?}: ended after {took:?}").into())
}

/// A PE ends with status 0 in the middle of the job, and the others wait for it. After some seconds they print a line
/// and end.
fn left_alone(env: &'static [(&'static str, &'static str)]) -> Result<(), Failed> {
    let places = [
        ("barriers", "shmem_barrier_all "),
        ("wait", "shmem_long_wait_until "),
        ("lock", "shmem_set_lock "),
    ];
    // All of these jobs wait for seconds: beside each other.
    std::thread::scope(|s| {
        let jobs = places.map(|(place, says)| s.spawn(move || left_alone_at(place, says, env)));
        jobs.into_iter()
            .try_for_each(|job| job.join().expect("no panic"))
    })
}

fn left_alone_at(place: &str, says: &str, env: &[(&str, &str)]) -> Result<(), Failed> {
    let what = format!("exit-{place}");
    let out = job(3, &[&what, "2", "0"], env)?;
    let lines: Vec<&str> = out.stderr.lines().collect();
    let said = lines.len() == 1
        && lines[0].starts_with("hetmp: ")
        && lines[0].contains(says)
        && lines[0].contains("PE 2 ")
        && lines[0].contains("without shmem_finalize")
        && lines[0].contains("(expected ");
    if out.ending != Ending::Exit(1) || !said || !out.left.is_empty() {
        return Err(format!("{what} with {env:?}: {:?} {}", out.left, shown(&out)).into());
    }
    Ok(())
}

/// The program closes all descriptors, those of the sockets that join its PEs, too.
fn closed_connections() -> Result<(), Failed> {
    let path = program::named("closes").build("default", Library::Ours)?;
    let job = Launcher::Oshrun.start(2, &path).env("HETMP_NIC", "tcp");
    let out = job.run();
    let lines: Vec<&str> = out.stderr.lines().collect();
    let said = lines.len() == 1 && lines[0].contains(": its connection is lost (expected ");
    if out.ending != Ending::Exit(1) || !said || !out.left.is_empty() {
        return Err(format!("{:?} {}", out.left, shown(&out)).into());
    }
    Ok(())
}

/// A PE that calls `shmem_finalize` a second time is told so, and goes on; its exit status is the program's.
fn finalized_twice() -> Result<(), Failed> {
    for status in [0, 3] {
        let out = job(3, &["finalize-twice", "1", &status.to_string()], &[])?;
        let said = out
            .stderr
            .contains("hetmp: shmem_finalize: PE 1: called once more");
        // hetrun names a process that ends with another status.
        let lines = out.stderr.lines().count() == 1 + usize::from(status != 0);
        let output = out.stdout.contains("kept by PE 1") && out.stdout.contains("went on");
        if out.ending != Ending::Exit(status) || !said || !lines || !output {
            return Err(shown(&out).into());
        }
    }
    Ok(())
}

/// If the heap is full, allocation returns null. With `SHMEM_DEBUG`, one line says why.
fn full_heap() -> Result<(), Failed> {
    ends(&["full"], &[], 0, None)?;
    let out = job(3, &["full"], &[("SHMEM_DEBUG", "1")])?;
    let hints: Vec<&str> = out
        .stderr
        .lines()
        .filter(|line| line.contains("null is returned"))
        .collect();
    let right = hints.len() == 1
        && hints[0].starts_with("hetmp: shmem_malloc 1099511627776 bytes: ")
        && hints[0].ends_with("(expected a larger SHMEM_SYMMETRIC_SIZE)");
    if out.ending != Ending::Exit(0) || !right {
        return Err(shown(&out).into());
    }
    Ok(())
}

/// SIGKILL for one PE, while the others wait for it, each time in another way.
fn killed(env: &'static [(&'static str, &'static str)]) -> Result<(), Failed> {
    for place in ["wait", "barrier", "lock", "compute"] {
        let path = program::named("exit_status").build("default", Library::Ours)?;
        let text = path.display().to_string();
        let what = format!("stay-{place}");
        let mut command = Launcher::Oshrun
            .start(3, &path)
            // The program ends PE 9, which this job does not have: all PEs keep running.
            .args([what.as_str(), "9"]);
        for (name, value) in env {
            command = command.env(name, value);
        }
        let killed = AtomicBool::new(false);
        let out = command.run_watched(|launcher, mark| {
            let end = std::time::Instant::now() + Duration::from_secs(60);
            loop {
                let mut pes: Vec<i32> = launch::marked(mark)
                    .into_iter()
                    .filter(|(pid, line)| line.starts_with(&text) && *pid != launcher as i32)
                    .map(|(pid, _)| pid)
                    .collect();
                pes.sort_unstable();
                if pes.len() == 3 {
                    // Time for the PEs to reach the place where they wait.
                    std::thread::sleep(Duration::from_millis(400));
                    // SAFETY: kill(2) takes no pointers. This run started the process.
                    unsafe { libc::kill(pes[1], libc::SIGKILL) };
                    killed.store(true, Ordering::Relaxed);
                    return;
                }
                if std::time::Instant::now() > end {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        if !killed.load(Ordering::Relaxed) {
            return Err(format!("{what}: three PEs were to run: {}", shown(&out)).into());
        }
        let lines: Vec<&str> = out.stderr.lines().collect();
        let named = lines.len() == 1 && lines[0].contains("SIGKILL");
        if out.ending != Ending::Exit(137) || !named || !out.left.is_empty() {
            return Err(format!("{what} with {env:?}: {:?} {}", out.left, shown(&out)).into());
        }
    }
    Ok(())
}

/// Tests of ends.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("ends/statuses", || {
            ends(&["finalized", "1", "0"], &[], 0, None)?;
            ends(&["implicit"], &[], 0, None)?;
            for status in ["1", "42", "255"] {
                let number = status.parse().expect("a number");
                ends(&["finalized", "1", status], &[], number, Some("rank 1"))?;
            }
            Ok(())
        }),
        Trial::test("ends/global-exit", || {
            for place in ["barrier", "wait", "lock", "compute"] {
                let what = format!("global-{place}");
                ends(&[&what, "1", "7"], &[], 7, None).or_else(|_| {
                    let line = "rank 1: ended the job with status 7: shmem_global_exit";
                    ends(&[&what, "1", "7"], &[], 7, Some(line))
                })?;
                ends(&[&what, "0", "0"], &[], 0, None)?;
            }
            Ok(())
        }),
        Trial::test("ends/exit-in-the-middle", || {
            for place in ["barrier", "wait", "compute"] {
                let what = format!("exit-{place}");
                ends(&[&what, "2", "5"], &[], 5, Some("rank 2"))?;
            }
            Ok(())
        }),
        Trial::test("ends/closed-connections", closed_connections),
        Trial::test("ends/finalized-twice", finalized_twice),
        Trial::test("ends/full-heap", full_heap),
        Trial::test("ends/abort", || {
            ends(&["abort-barrier", "1", "0"], &[], 134, Some("SIGABRT"))
        }),
    ];
    for (name, env) in [
        ("auto", &[][..]),
        ("emulated", &[("HETMP_NIC", "emulated")]),
        ("tcp", &[("HETMP_NIC", "tcp")]),
    ] {
        trials.push(Trial::test(format!("ends/killed-{name}"), move || {
            killed(env)
        }));
        trials.push(Trial::test(format!("ends/left-alone-{name}"), move || {
            left_alone(env)
        }));
    }
    for engine in ["emulated", "tcp"] {
        trials.push(Trial::test(
            format!("ends/global-exit-{engine}"),
            move || {
                let env = [("HETMP_NIC", engine)];
                ends(&["global-barrier", "1", "7"], &env, 7, None)
                    .or_else(|_| ends(&["global-barrier", "1", "7"], &env, 7, Some("rank 1")))?;
                ends(&["die-wait", "1", "0"], &env, 137, Some("SIGKILL"))
            },
        ));
    }
    trials
}
