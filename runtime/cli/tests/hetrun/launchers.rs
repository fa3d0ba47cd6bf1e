//! Processes of ours under other launchers, where these are installed.

use super::{clean, quick, role, sorted, text, HETRUN};
use std::process::Command;

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
    let output = quick(command.args([HETRUN, "--who"]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = sorted(&output.stdout);
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
    let output = quick(role(&mut hydra(), "exchange"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    launcher(hydra().env("HETMP_BOOTSTRAP", "pmi2"), 3, "pmi2");
    let output = quick(role(hydra().env("HETMP_BOOTSTRAP", "pmi2"), "exchange"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    for way in ["pmi1", "pmi2"] {
        let output = quick(role(hydra().env("HETMP_BOOTSTRAP", way), "abort"));
        assert!(!output.status.success());
        let line = "hetmp: rank 1 ended the job with status 9: no more room";
        assert!(text(&output.stderr).contains(line));
    }
}

#[test]
fn under_open_mpi() {
    if !installed("mpirun") {
        return;
    }
    let version = text(&quick(clean("mpirun").arg("--version")).stdout);
    if !version.contains("Open MPI") {
        println!("skipped: mpirun is not Open MPI's");
        return;
    }
    let mpirun = || {
        let mut command = clean("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe", "-n", "3"]);
        command
    };
    launcher(&mut mpirun(), 3, "pmix");
    let output = quick(role(&mut mpirun(), "exchange"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    // mpirun 4.1.4 itself may crash or wait for a lock of its own for ever, after all ranks have ended (in PMIx_server_finalize:
    // 1 of 30 runs on a quiet machine). So only the ranks are asked about, and mpirun gets no longer than they need.
    let mut patient = clean("timeout");
    patient
        .args(["-k", "1", "5"])
        .arg(mpirun().get_program())
        .args(mpirun().get_args());
    let output = quick(role(&mut patient, "abort"));
    assert!(!output.status.success());
    let line = "hetmp: rank 1 ended the job with status 9: no more room";
    assert!(text(&output.stderr).contains(line));
}
