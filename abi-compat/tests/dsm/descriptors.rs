//! Programs that close descriptors they did not open, or take their numbers: see `c-tests/openmp/closes.h`.

use crate::harness::{
    by_hetrun, compile, hetrun_finds_the_library, is_same, preload, prints_the_same, run,
    same_by_clang, same_with, skipped, BY_SIGNALS,
};
use hetmp_abi_compat::library::fresh;
use hetmp_abi_compat::sample;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

const SOURCE: &str = "c-tests/dsm/closes.c";

#[test]
fn programs_may_close_what_they_did_not_open() {
    for nodes in sample::one("programs_may_close_what_they_did_not_open", vec![2, 3]) {
        same_with(SOURCE, &[], nodes, &[]);
        same_with(SOURCE, &[], nodes, &BY_SIGNALS);
        same_by_clang(SOURCE, &[], nodes, &[]);
    }
    let program = compile(SOURCE, &[]);
    let expected = run(&program, &[], 0, &[]);
    let alone = fresh().to_str().expect("a path");
    for schedule in ["dynamic", "hetprobe"] {
        let more = [("LD_PRELOAD", alone), ("OMP_SCHEDULE", schedule)];
        prints_the_same(&run(&program, &[], 0, &more), &expected);
    }
    if hetrun_finds_the_library() {
        let got = by_hetrun(&program, 2);
        if !skipped(&got) {
            is_same(&got, &expected, 2);
        }
    }
}

/// What the program closes is closed: none of our threads keeps it open.
#[test]
fn what_the_program_closes_is_closed() {
    let program = compile(SOURCE, &["-DSTAYS"]);
    for by in ["uffd", "sigsegv"] {
        let (mut here, there) = UnixStream::pair().expect("sockets");
        let mut child = Command::new(&program)
            .arg("stays")
            .env("LD_PRELOAD", preload())
            .env("HETMP_NODES", "dsm:2")
            .env("HETMP_DSM", by)
            .env("HETMP_DSM_CROSS", "always")
            .stdin(Stdio::from(OwnedFd::from(there)))
            .spawn()
            .expect("the program");
        here.set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a time");
        let end = here.read(&mut [0]);
        let ended = child.try_wait().expect("a child");
        let _ = child.kill();
        let _ = child.wait();
        if ended.is_none() {
            assert_eq!(end.expect("an end within the time"), 0, "{by}");
        } else {
            println!("skipped: HETMP_DSM={by} cannot be had");
        }
    }
}
