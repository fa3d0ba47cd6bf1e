//! The rule where a loop runs, over machines and programs that it was not made for.
#![cfg(not(loom))]

use hetmp_sched::decide::{Link, Rules};
use hetmp_sched::simulate::{against_best, random, AgainstBest};

/// Some of the random programs: all of them take minutes where the machine is busy, and
/// are what `hetmp simulate --random` is for.
const PROGRAMS: u64 = 60;

fn all(rules_of: impl Fn(&hetmp_sched::simulate::Platform) -> Rules) -> Vec<AgainstBest> {
    (1..=PROGRAMS)
        .map(|seed| {
            let (platform, workload) = random(seed);
            against_best(&platform, &workload, &rules_of(&platform), seed)
        })
        .collect()
}

fn mean(all: &[AgainstBest], of: fn(&AgainstBest) -> f64) -> f64 {
    (all.iter().map(|x| of(x).ln()).sum::<f64>() / all.len() as f64).exp()
}

/// Expected times beside the threshold alone. Not yet what is aimed at (0.97 of the best,
/// nobody more than 6 % behind the best single node); these are what was reached, less a bit.
#[test]
fn expected_times_do_better_than_a_threshold() {
    let times = all(|_| Rules::default());
    let threshold = all(|platform| Rules {
        link: platform.threshold_us().map(|fault_period_us| Link {
            fault_period_us,
            ..Link::default()
        }),
        ..Rules::default()
    });
    for of in [|x: &AgainstBest| x.best, |x: &AgainstBest| x.single_later] {
        let (new, old) = (mean(&times, of), mean(&threshold, of));
        println!("{new:.3} by expected times, {old:.3} by the threshold");
        assert!(new > 1.3 * old, "{new} {old}");
    }
    let behind = times.iter().filter(|x| x.single_later < 0.94).count();
    println!("{behind} of {PROGRAMS} more than 6 % behind the best single node");
    assert!(behind as u64 <= PROGRAMS / 3, "{behind}");
}
