//! Two applications of the kind that communication from inside of kernels is for, and faults that made others wait for
//! ever.

use super::{all_right, exec, job, passes, sample, SETTINGS};

const EXPERTS: [&str; 3] = [
    "--tokens 24 --width 16 --rounds 4",
    "--tokens 5 --width 3 --experts 1 --top 1 --threads 3",
    "--tokens 31 --width 8 --experts 2 --top 2 --rounds 3 --threads 4",
];
const SEARCHES: [&str; 3] = [
    "--vertices 500",
    "--vertices 1 --searches 2 --threads 3",
    "--vertices 301 --degree 1 --seed 3 --searches 1 --threads 4",
];

#[test]
fn experts_and_searches_are_right_in_every_mode_on_every_engine() {
    for env in SETTINGS {
        for pes in sample::one(&format!("experts{env:?}"), vec![1, 2, 3, 4]) {
            for (source, lines) in [("experts", EXPERTS), ("search", SEARCHES)] {
                for args in lines {
                    let args: Vec<&str> = args.split(' ').collect();
                    all_right(&passes(
                        &format!("c-tests/apps/{source}.c"),
                        pes,
                        &args,
                        env,
                    ));
                }
            }
        }
    }
}

/// They order what they do by signals alone, and the checker has nothing to say.
#[test]
fn experts_and_searches_pass_the_checker_with_any_seed() {
    for seed in sample::settings("device apps", (1..9).collect::<Vec<u32>>()) {
        let model = format!("gpu,seed={seed},check");
        let env = [("HETMP_NIC_MODEL", model.as_str())];
        for (source, args) in [("experts", EXPERTS[0]), ("search", "--vertices 200")] {
            let args: Vec<&str> = args.split(' ').collect();
            let ran = job(&format!("c-tests/apps/{source}.c"), 2, &args, &env);
            assert_eq!(
                ran.ending,
                exec::Ending::Exit(0),
                "{source} {seed}: {}",
                ran.err
            );
            all_right(&ran.out);
            assert!(!ran.err.contains("check"), "{source} {seed}: {}", ran.err);
        }
    }
}

/// An operation that fails and a queue that is full, where elsewhere devices have waited for ever.
#[test]
fn errors_and_full_queues_end_every_wait() {
    for env in SETTINGS {
        for pes in sample::one(&format!("faults{env:?}"), vec![1, 2, 3]) {
            for case in ["error", "full"] {
                passes("c-tests/device/faults.c", pes, &[case], env);
            }
        }
    }
}
