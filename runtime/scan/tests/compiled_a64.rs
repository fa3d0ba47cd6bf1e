//! The same programs compiled for 64-bit Arm: no machine of that kind is needed to read them.
#![cfg(target_arch = "x86_64")]

mod support;

use hetmp_scan::{scan, scan_with_division, Form};
use std::collections::BTreeSet;
use std::process::Command;
use support::compile_by;
use support::file::form;

const GCC: &str = "aarch64-linux-gnu-gcc";

#[test]
fn what_is_refused_is_refused_here_too() {
    if Command::new(GCC).arg("--version").output().is_err() {
        println!("skipped for {GCC}: not installed");
        return;
    }
    for level in ["-O0", "-O2", "-O3"] {
        for atomics in [
            "-moutline-atomics",
            "-mno-outline-atomics",
            "-march=armv8.1-a",
        ] {
            let file = compile_by(GCC, "loops.c", &[level, atomics]);
            let mut wrong = Vec::new();
            let mut fitting = 0;
            for (name, &address) in &file.functions {
                let Some(form) = form(name) else {
                    continue;
                };
                let scan = scan(&*file, address, form);
                let fits = scan.fits().is_ok() && !scan.calls.unknown;
                fitting += usize::from(fits);
                // Without optimisation a constant is put into another register for each division.
                let is_read = level != "-O0" || !name.contains("fits_constant");
                if name.contains("refused_") == fits && is_read {
                    wrong.push(format!("{name} at {level} {atomics}: {scan:x?}"));
                }
            }
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            assert!(fitting >= 15, "only {fitting} fit at {level}");
        }
    }
}

/// No region whose division is noticed counts as one that divides freely. gcc's `-Os` writes `b[count++]` as an index
/// into an array that begins the chunk's first iteration earlier.
#[test]
fn divisions_that_are_noticed() {
    if Command::new(GCC).arg("--version").output().is_err() {
        println!("skipped for {GCC}: not installed");
        return;
    }
    let mut wrong = Vec::new();
    for options in [
        &["-O0"][..],
        &["-O2"],
        &["-Os"],
        &["-O2", "-march=armv8.1-a"],
    ] {
        let file = compile_by(GCC, "divided.c", options);
        let mut free = 0;
        for (name, &address) in &file.functions {
            let Some(form) = form(name) else {
                continue;
            };
            let (scan, division) = scan_with_division(&*file, address, form);
            let freely = scan.fits().is_ok() && !scan.calls.unknown && division.is_ok();
            free += usize::from(freely && name.starts_with("free_"));
            if freely && name.starts_with("counts_") {
                wrong.push(format!("{options:?} {name}"));
            }
        }
        assert!(free >= 15, "{options:?}: only {free}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn loops_that_wait_for_other_threads() {
    if Command::new(GCC).arg("--version").output().is_err() {
        println!("skipped for {GCC}: not installed");
        return;
    }
    for level in ["-O0", "-O2", "-O3"] {
        let file = compile_by(GCC, "polls.c", &[level]);
        for (name, &address) in &file.functions {
            let Some(form) = form(name) else {
                continue;
            };
            // Unoptimised, what was read is stored in a local variable.
            let stores = level == "-O0" && name.contains("waits_atomic");
            let waits = name.contains("waits_") && !stores;
            assert_eq!(
                scan(&*file, address, form).calls.polls,
                waits,
                "{name} at {level}"
            );
        }
    }
}

/// `hetmp which` finds regions by the calls that open them.
#[test]
fn regions_are_found_by_their_calls() {
    if Command::new(GCC).arg("--version").output().is_err() {
        println!("skipped for {GCC}: not installed");
        return;
    }
    let file = compile_by(GCC, "loops.c", &["-O2"]);
    let opened = file.calls(&|name| name.starts_with("GOMP_parallel"));
    let opened: BTreeSet<u64> = opened
        .iter()
        .filter_map(|site| site.region())
        .map(|(address, form)| {
            assert_eq!(form, Form::Data);
            address
        })
        .collect();
    let outlined = file.functions.iter();
    let outlined: BTreeSet<u64> = outlined
        .filter(|(name, _)| form(name).is_some())
        .map(|(_, &address)| address)
        .collect();
    assert_eq!(opened, outlined);
}
