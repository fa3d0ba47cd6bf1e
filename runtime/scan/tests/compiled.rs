//! Programs compiled here in many ways: what must be accepted, and what must
//! be refused, by the name of the function that holds the region.
#![cfg(target_arch = "x86_64")]

mod support;

use hetmp_scan::{scan, Scan};
use support::compile;

fn outlined(source: &str, options: &[&str]) -> Vec<(String, Scan)> {
    let file = compile(source, options);
    let found: Vec<(String, Scan)> = file
        .functions
        .iter()
        .filter(|(name, _)| name.contains("._omp_fn.") && !name.ends_with(".cold"))
        .map(|(name, &address)| (name.clone(), scan(&file, address)))
        .collect();
    assert!(found.len() >= 3, "{source}: only {} regions", found.len());
    found
}

/// Checks every region.
fn check(source: &str, options: &[&str]) {
    let mut wrong = Vec::new();
    for (name, scan) in outlined(source, options) {
        let fits = scan.fits();
        if name.contains("refused_") {
            if fits.is_ok() {
                wrong.push(format!("{name} is accepted: {scan:?}"));
            }
        } else {
            if fits.is_err() {
                wrong.push(format!("{name} is refused: {scan:x?}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{source} {options:?}\n{}",
        wrong.join("\n")
    );
}

const LEVELS: [&str; 6] = ["-O0", "-O1", "-O2", "-O3", "-Os", "-Ofast"];

#[test]
fn c() {
    for level in LEVELS {
        check("loops.c", &[level]);
        check("loops.c", &[level, "-march=native", "-shared", "-fPIC"]);
    }
}

#[test]
fn c_with_other_linkage() {
    check("loops.c", &["-O2", "-no-pie", "-fno-pie"]);
    check("loops.c", &["-O2", "-fno-plt"]);
    check("loops.c", &["-O2", "-fno-plt", "-shared", "-fPIC"]);
    check("loops.c", &["-O2", "-fcf-protection"]);
    check("loops.c", &["-O2", "-Wl,-z,now"]);
    check("loops.c", &["-O2", "-fstack-protector-all"]);
    check("loops.c", &["-O3", "-march=x86-64-v4"]);
    check("loops.c", &["-O2", "-fno-omit-frame-pointer"]);
    check("loops.c", &["-O2", "-maccumulate-outgoing-args"]);
    check("loops.c", &["-O2", "-fstack-clash-protection"]);
}

#[test]
fn cxx_with_exceptions() {
    for level in LEVELS {
        check("catch.cc", &[level]);
        check("catch.cc", &[level, "-shared", "-fPIC"]);
    }
}

#[test]
fn fortran() {
    for level in LEVELS {
        check("arrays.f90", &[level]);
        check("arrays.f90", &[level, "-march=native"]);
    }
}
