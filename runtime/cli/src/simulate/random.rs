//! `hetmp simulate --random N`: compares hetprobe with the best choice by hand, on machines and programs to which no
//! rule was fitted.

use hetmp_sched::decide::Rules;
use hetmp_sched::simulate::{against_best, random, AgainstBest};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

/// Programs in the list of those that are farthest behind.
const WORST: usize = 10;
/// Behind the best single node by more than this is counted.
const ALLOWED: f64 = 1.06;

/// Runs the programs of the seeds from `first` on; on all cores, with the same outcome.
pub(super) fn table(first: u64, count: u64) -> String {
    let next = AtomicU64::new(0);
    let results = Mutex::new(Vec::new());
    let work = || loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        if at >= count {
            return;
        }
        let seed = first.wrapping_add(at);
        let (platform, workload) = random(seed);
        let one = against_best(&platform, &workload, &Rules::default(), seed);
        let mut all = results.lock().expect("no panic under this lock");
        all.push((seed, one));
    };
    std::thread::scope(|scope| {
        for _ in 1..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
        work();
    });
    let mut all = results.into_inner().expect("no panic under this lock");
    all.sort_by(|a, b| a.1.best.total_cmp(&b.1.best).then(a.0.cmp(&b.0)));
    text(&all)
}

fn text(all: &[(u64, AgainstBest)]) -> String {
    let count = all.len().max(1) as f64;
    let mean = |of: fn(&AgainstBest) -> f64| {
        (all.iter().map(|(_, x)| of(x).ln()).sum::<f64>() / count).exp()
    };
    let behind = all
        .iter()
        .filter(|(_, x)| x.single_later * ALLOWED < 1.0)
        .count();
    let mut out = format!(
        "{} random programs on random machines; hetprobe's speed, where 1 is that of\n\
         the best choice by hand           {:.3} (geometric mean)\n\
         the best single node, after first {:.3} (geometric mean; without each loop's first execution)\n\
         more than 6 % behind that node    {behind}\n\n\
         farthest behind the best choice:\n    seed   best  single, after first\n",
        all.len(),
        mean(|x| x.best),
        mean(|x| x.single_later),
    );
    for (seed, x) in all.iter().take(WORST) {
        // A string takes all that is written to it.
        let _ = writeln!(out, "{seed:8}  {:5.3}  {:5.3}", x.best, x.single_later);
    }
    out
}
