//! `OMP_WAIT_POLICY` and related variables mean the same in a program with OpenSHMEM alone and in one with OpenSHMEM
//! and OpenMP. With `HETMP_VERBOSE`, every PE prints once how long its waits spin.

use super::launch::Ending;
use super::program::{self, Library};
use super::{shown, Setting};
use libtest_mimic::{Failed, Trial};

const PES: u32 = 2;

/// Variables, and the line that each PE must print.
const CASES: &[(&[(&str, &str)], &str)] = &[
    (
        &[],
        "300000 turns of spinning, 10 where threads outnumber CPUs",
    ),
    (
        &[("OMP_WAIT_POLICY", "passive")],
        "256 turns of spinning, 0 where threads outnumber CPUs",
    ),
    (
        &[("GOMP_SPINCOUNT", "7k")],
        "7000 turns of spinning, 10 where threads outnumber CPUs",
    ),
    (
        &[("KMP_BLOCKTIME", "1")],
        "30000 turns of spinning, 10 where threads outnumber CPUs",
    ),
];

fn obeys(name: &str) -> Result<(), Failed> {
    let program = program::named(name);
    let path = program.build(&program.builds[0], Library::Ours)?;
    let setting = Setting::new(&program.builds[0], PES);
    for (env, expected) in CASES {
        let mut job = setting
            .launcher
            .start(PES, &path)
            .envs(&program.env)
            .env("HETMP_VERBOSE", "1");
        for (name, value) in *env {
            job = job.env(name, value);
        }
        let out = job.run();
        let said: Vec<&str> = out
            .stderr
            .lines()
            .filter(|l| l.contains("waits: "))
            .collect();
        let fits = said.len() == PES as usize && said.iter().all(|l| l.contains(expected));
        if out.ending != Ending::Exit(0) || !fits {
            return Err(format!("{env:?}: {PES} times `{expected}`: {}", shown(&out)).into());
        }
    }
    Ok(())
}

pub(crate) fn trials() -> Vec<Trial> {
    ["p_g", "threads_openmp"]
        .into_iter()
        .map(|name| Trial::test(format!("waits/{name}"), move || obeys(name)))
        .collect()
}
