//! Jobs of several PEs on every engine: this program starts itself under `hetrun`.
//!
//! A role (in `HETMP_TEST_ROLE`) is a function that every PE of a job runs. If something is wrong, the role panics,
//! which ends the job.

mod collectives;
mod hosts;
mod roles;

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const ROLE: &str = "HETMP_TEST_ROLE";
/// Long enough for a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The engines: a name for messages, and the variables that select the engine.
const ENGINES: &[(&str, &[(&str, &str)])] = &[
    ("direct", &[]),
    ("check", &[("HETMP_CHECK", "1")]),
    ("emulated", &[("HETMP_NIC", "emulated")]),
    ("tcp", &[("HETMP_NIC", "tcp")]),
    ("ofi", &[("HETMP_NIC", "ofi")]),
    ("gpu", &[("HETMP_NIC_MODEL", "gpu,seed=7,hold=20000")]),
    (
        "gpu-check",
        &[("HETMP_NIC_MODEL", "gpu,seed=3,check,hold=20000")],
    ),
];

/// `hetrun` of this build, built now if it is not there.
fn hetrun() -> PathBuf {
    let own = std::env::current_exe().expect("a path");
    let folder = own
        .parent()
        .and_then(|deps| deps.parent())
        .expect("tests lie in a target folder");
    let path = folder.join("hetrun");
    if !path.exists() {
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "-q", "-p", "hetmp-cli", "--bin", "hetrun"])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if folder.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().expect("cargo runs").success());
    }
    path
}

/// Runs a role on `n` PEs; the text says what went wrong.
fn job(n: u32, role: &str, variables: &[(&str, &str)]) -> Result<String, String> {
    job_by(Command::new(hetrun()), n, role, variables)
}

/// Like [`job`], with another command in place of `hetrun`.
fn job_by(
    mut command: Command,
    n: u32,
    role: &str,
    variables: &[(&str, &str)],
) -> Result<String, String> {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("HETMP_") || name.starts_with("SHMEM_") {
            command.env_remove(name);
        }
    }
    let mut child = command
        .args(["-n", &n.to_string()])
        .arg(std::env::current_exe().expect("a path"))
        .env(ROLE, role)
        .env("SHMEM_SYMMETRIC_SIZE", "32M")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("hetrun: {e}"))?;
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(out) = &mut out {
            let _ = out.read_to_string(&mut text);
        }
        text
    });
    let complaints = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(err) = &mut err {
            let _ = err.read_to_string(&mut text);
        }
        text
    });
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break Some(status);
        }
        if began.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = format!(
        "{}{}",
        reader.join().unwrap_or_default(),
        complaints.join().unwrap_or_default()
    );
    match status {
        Some(status) if status.success() => Ok(text),
        Some(status) => Err(format!("{status}\n{text}")),
        None => Err(format!("not over after {LIMIT:?}\n{text}")),
    }
}

/// The link between the machines goes down while a role runs: the job must end, and say why. hetrun itself does not
/// notice it here, since the script that replaces ssh needs no link.
fn vanishes(network: &hosts::Network, role: &str, nic: &str) -> Result<(), String> {
    let file = std::env::temp_dir().join(format!("hetmp-{role}-{}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let path = file.display().to_string();
    let variables = [
        ("HETMP_TEST_FILE", path.as_str()),
        ("HETMP_NIC_TIMEOUT", "4"),
        ("HETMP_NIC", nic),
    ];
    let over = std::sync::atomic::AtomicBool::new(false);
    let run = std::thread::scope(|s| {
        s.spawn(|| {
            while !file.exists() && !over.load(std::sync::atomic::Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
            }
            network.cut();
        });
        let run = job_by(network.hetrun(&hetrun()), 4, role, &variables);
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        run
    });
    network.mend();
    let _ = std::fs::remove_file(&file);
    let text = match run {
        Ok(text) => return Err(format!("it ended well: {text}")),
        Err(text) => text,
    };
    let named = (0..4).any(|pe| {
        let host = hosts::ADDRESSES[pe / 2];
        text.contains(&format!(
            "host {host}, PE {pe}: no answer for 4 s (HETMP_NIC_TIMEOUT)"
        ))
    });
    if named {
        Ok(())
    } else {
        Err(text)
    }
}

/// What a job across two machines must show.
enum Across {
    /// The role ends well, and the engine of this name moved its data.
    Moves(&'static str, &'static str),
    /// The role ends with a line about the host that vanished.
    Vanishes(&'static str, &'static str),
    /// This value of `HETMP_NIC` is refused with this line.
    Refused(&'static str, &'static str),
}

/// All jobs across machines, by the names under which they are asked for.
fn jobs_across() -> Vec<(String, Across)> {
    let over_tcp = roles::ACROSS
        .iter()
        .chain(collectives::ACROSS)
        .map(|role| (format!("{role}-4-hosts"), Across::Moves(role, "tcp")));
    let over_fabric = ["transfers", "atomics", "signals"]
        .map(|role| (format!("{role}-4-hosts-ofi"), Across::Moves(role, "ofi")));
    let vanishing = ["vanish-busy", "vanish-idle"].map(|role| {
        [("", "auto"), ("-ofi", "ofi:tcp")].map(|(end, nic)| {
            let name = format!("{role}-4-hosts{end}");
            (name, Across::Vanishes(role, nic))
        })
    });
    let refused = [
        (
            "shm",
            "HETMP_NIC: 'shm': one machine only (expected auto, tcp or ofi",
        ),
        (
            "emulated",
            "HETMP_NIC: 'emulated': one machine only (expected auto, tcp or ofi",
        ),
    ]
    .map(|(nic, line)| (format!("{nic}-4-hosts"), Across::Refused(nic, line)));
    over_tcp
        .chain(over_fabric)
        .chain(vanishing.into_iter().flatten())
        .chain(refused)
        .collect()
}

/// Runs the roles with two PEs on each of two machines: mapped memory within a machine, sockets between the two.
/// Returns the number of failures.
fn across_hosts(only: &[String]) -> u32 {
    let mut jobs = jobs_across();
    jobs.retain(|(name, _)| only.iter().all(|part| name.contains(part.as_str())));
    if jobs.iter().any(|(name, _)| name.ends_with("-ofi")) && fabric_is_missing().is_some() {
        jobs.retain(|(name, _)| !name.ends_with("-ofi"));
    }
    if jobs.is_empty() {
        return 0;
    }
    let Some(network) = hosts::Network::new() else {
        return 0;
    };
    let mut failed = 0;
    for (name, what) in jobs {
        let right = match what {
            Across::Moves(role, engine) => {
                let nic = if engine == "tcp" { "auto" } else { engine };
                let variables = [("SHMEM_DEBUG", "1"), ("HETMP_NIC", nic)];
                let run = job_by(network.hetrun(&hetrun()), 4, role, &variables);
                // The line of its engine: it had one.
                run.and_then(|text| match text.contains(&format!(" PE 3 {engine}: ")) {
                    true => Ok(()),
                    false => Err(text),
                })
            }
            Across::Vanishes(role, nic) => vanishes(&network, role, nic),
            Across::Refused(nic, line) => {
                let variables = [("HETMP_NIC", nic)];
                match job_by(network.hetrun(&hetrun()), 4, "locks", &variables) {
                    Err(text) if text.contains(line) => Ok(()),
                    Ok(text) | Err(text) => Err(text),
                }
            }
        };
        match right {
            Ok(()) => println!("{name}: ok"),
            Err(text) => {
                println!("{name}: FAILED\n{text}");
                failed += 1;
            }
        }
    }
    failed
}

/// Why jobs over libfabric cannot run here, if they cannot.
fn fabric_is_missing() -> Option<String> {
    let text = job(1, "transfers", &[("HETMP_NIC", "ofi")]).err()?;
    let line = text.lines().find(|l| l.contains("cannot be loaded"))?;
    Some(line.to_owned())
}

fn main() -> ExitCode {
    if let Ok(role) = std::env::var(ROLE) {
        if !collectives::play(&role) {
            roles::play(&role);
        }
        return ExitCode::SUCCESS;
    }
    // `--times ENGINE` is not a test: it prints the times of small operations.
    if std::env::args().nth(1).as_deref() == Some("--times") {
        for (engine, variables) in ENGINES {
            if std::env::args().nth(2).is_none_or(|e| e == *engine) {
                let text = job(2, "times", variables).unwrap_or_else(|e| e);
                println!("{engine}\n{text}");
            }
        }
        return ExitCode::SUCCESS;
    }
    // Of the arguments that cargo's own harness knows, only the names of tests have a meaning here.
    let mut only = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => return ExitCode::SUCCESS,
            "--test-threads" | "--skip" | "--format" | "--color" => {
                arguments.next();
            }
            flag if flag.starts_with('-') => {}
            name => only.push(name.to_owned()),
        }
    }
    // Jobs whose link is cut wait for most of their time: the others run meanwhile.
    let failed = std::thread::scope(|s| {
        let across = s.spawn(|| across_hosts(&only));
        on_one_machine(&only) + across.join().expect("no panic")
    });
    if failed > 0 {
        println!("{failed} failed");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Runs the roles on every engine, and those that must end with a line. Returns the number of failures.
fn on_one_machine(only: &[String]) -> u32 {
    let mut failed = 0;
    let fabric = fabric_is_missing();
    if let Some(why) = &fabric {
        println!("ofi: skipped: {why}");
    }
    for (engine, variables) in ENGINES {
        if *engine == "ofi" && fabric.is_some() {
            continue;
        }
        for (role, n, fits) in roles::ALL.iter().chain(collectives::ALL) {
            let name = format!("{role}-{n}-{engine}");
            if !fits.contains(engine) || !only.iter().all(|part| name.contains(part.as_str())) {
                continue;
            }
            let began = Instant::now();
            let verdict = job(*n, role, variables);
            let ms = began.elapsed().as_millis();
            match verdict {
                Ok(_) => println!("{name}: ok, {ms} ms"),
                Err(text) => {
                    println!("{name}: FAILED, {ms} ms\n{text}");
                    failed += 1;
                }
            }
        }
    }
    for (role, n, engine, line) in roles::WRONG {
        let name = format!("{role}-{n}-{engine}");
        if !only.iter().all(|part| name.contains(part.as_str())) {
            continue;
        }
        let variables = ENGINES
            .iter()
            .find(|(e, _)| e == engine)
            .map_or(&[][..], |(_, v)| *v);
        let began = Instant::now();
        let verdict = job(*n, role, variables);
        let ms = began.elapsed().as_millis();
        match verdict {
            Err(text) if text.contains(line) => {
                println!("{name}: ends as it should, {ms} ms");
            }
            Ok(text) | Err(text) => {
                println!("{name}: FAILED to end with {line:?}, {ms} ms\n{text}");
                failed += 1;
            }
        }
    }
    failed
}
