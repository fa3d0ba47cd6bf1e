//! Our processes under other launchers, where these are installed.

use super::{clean, role, run, sorted, text, HETRUN};
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

fn installed(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

fn launcher(command: &mut Command, size: usize, by: &str) {
    let output = run(command.args([HETRUN, "--who"]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_places(&text(&output.stdout), size, by);
}

/// The lines of `--who` on one machine.
fn assert_places(output: &str, size: usize, by: &str) {
    let lines = sorted(output.as_bytes());
    assert_eq!(lines.len(), size, "{lines:?}");
    let local: Vec<String> = (0..size).map(|r| r.to_string()).collect();
    for (rank, line) in lines.iter().enumerate() {
        assert_eq!(
            *line,
            format!(
                "rank {rank} of {size}, by {by}, on this machine {}, at 127.0.0.1, values of \
                 {size} exchanged",
                local.join(",")
            )
        );
    }
}

#[test]
fn under_hydra() {
    if !installed("mpiexec.hydra") {
        return;
    }
    let hydra = || {
        let mut command = clean("mpiexec.hydra");
        command.args(["-n", "3"]);
        command
    };
    launcher(&mut hydra(), 3, "pmi1");
    let output = run(role(&mut hydra(), "exchange"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    launcher(hydra().env("HETMP_BOOTSTRAP", "pmi2"), 3, "pmi2");
    let output = run(role(hydra().env("HETMP_BOOTSTRAP", "pmi2"), "exchange"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    for way in ["pmi1", "pmi2"] {
        // When a process aborts, hydra may end before it has passed on what the process said.
        let told = (0..5).any(|_| {
            let output = run(role(hydra().env("HETMP_BOOTSTRAP", way), "abort"));
            assert!(!output.status.success());
            let line = "hetmp: rank 1 ended the job with status 9: no more room";
            text(&output.stderr).contains(line)
        });
        assert!(told, "{way}");
    }
}

#[test]
fn under_open_mpi() {
    if !installed("mpirun") {
        return;
    }
    let version = text(&run(clean("mpirun").arg("--version")).stdout);
    if !version.contains("Open MPI") {
        println!("skipped: mpirun is not Open MPI's");
        return;
    }
    let mpirun = || {
        let mut command = clean("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe", "-n", "3"]);
        command
    };
    let who = until(mpirun().args([HETRUN, "--who"]), |out, _| {
        lines_of(out, "rank ") == 3
    });
    assert_places(&who.0, 3, "pmix");
    let passed = |out: &str, _: &str| lines_of(out, "test result: ok. 1 passed") == 3;
    let exchange = until(role(&mut mpirun(), "exchange"), passed);
    assert!(passed(&exchange.0, ""), "{exchange:?}");
    let line = "hetmp: rank 1 ended the job with status 9: no more room";
    let abort = until(role(&mut mpirun(), "abort"), |_, err| err.contains(line));
    assert!(abort.1.contains(line), "{abort:?}");
}

fn lines_of(text: &str, beginning: &str) -> usize {
    text.lines()
        .filter(|line| line.starts_with(beginning))
        .count()
}

/// Runs until the output is what is waited for, or to the end, or for a minute. Returns both outputs.
///
/// mpirun 4.1.4 may crash or wait for a lock of its own for ever after all ranks have ended (in
/// `PMIx_server_finalize`). So the ranks' output is what counts, and mpirun is killed once it is there.
fn until(command: &mut Command, enough: impl Fn(&str, &str) -> bool) -> (String, String) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the launcher starts");
    let (sender, pieces) = mpsc::channel();
    let read = |mut from: Box<dyn Read + Send>, stream: usize| {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                let _ = sender.send((stream, buffer[..n].to_vec()));
            }
        });
    };
    read(Box::new(child.stdout.take().expect("piped")), 0);
    read(Box::new(child.stderr.take().expect("piped")), 1);
    drop(sender);
    let mut outputs = [Vec::new(), Vec::new()];
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let [out, err] = &outputs;
        let got = (text(out), text(err));
        let left = end.saturating_duration_since(Instant::now());
        let more = match enough(&got.0, &got.1) {
            true => None,
            false => pieces.recv_timeout(left).ok(),
        };
        let Some((stream, piece)) = more else {
            let _ = child.kill();
            let _ = child.wait();
            return got;
        };
        outputs[stream].extend(piece);
    }
}
