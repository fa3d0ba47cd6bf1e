//! `hetmp simulate --random N`: compares hetprobe with the best choice by hand, on machines and programs to which no
//! rule was fitted.

use crate::progress::Progress;
use hetmp_lab::{against_best, random, AgainstBest, ALLOWED};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

/// Programs in the list of those that are farthest behind.
const WORST: usize = 10;

/// Runs the programs of the seeds from `first` on; on all cores, with the same outcome.
pub(super) fn table(first: u64, count: u64) -> String {
    let next = AtomicU64::new(0);
    let progress = Progress::new(count as usize);
    let results = Mutex::new(Vec::new());
    let work = || loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        if at >= count {
            return;
        }
        progress.at(at as usize, "programs");
        let seed = first.wrapping_add(at);
        let (platform, workload) = random(seed);
        let one = against_best(&platform, &workload, seed);
        let mut all = results.lock().expect("no panic under this lock");
        all.push((seed, one));
    };
    std::thread::scope(|scope| {
        for _ in 1..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
        work();
    });
    drop(progress);
    let mut all = results.into_inner().expect("no panic under this lock");
    all.sort_by(|a, b| a.1.best.total_cmp(&b.1.best).then(a.0.cmp(&b.0)));
    text(&all)
}

/// The parts of the programs at which the table has a value, in percent.
const QUANTILES: [usize; 5] = [5, 25, 50, 75, 95];

fn text(all: &[(u64, AgainstBest)]) -> String {
    let mut out = format!(
        "{} random programs on random machines; hetprobe's speed, where 1 is that of the best choice by hand\n\
         (a node alone, the ideal split, cross-dynamic), or of the best single node without each loop's first \
         execution\n\n\
         {:32}  geomean",
        all.len(),
        "",
    );
    for q in QUANTILES {
        let _ = write!(out, "{:>8}", format!("p{q}"));
    }
    let mut row = |name: &str, of: fn(&AgainstBest) -> f64| {
        let mut values: Vec<f64> = all.iter().map(|(_, x)| of(x)).collect();
        values.sort_by(f64::total_cmp);
        let sum: f64 = values.iter().map(|v| v.ln()).sum();
        let mean = (sum / values.len().max(1) as f64).exp();
        let _ = write!(out, "\n{name:32}  {mean:7.3}");
        for q in QUANTILES {
            // The smallest value that at least this part of the programs does not exceed.
            let at = (values.len() * q).div_ceil(100).max(1) - 1;
            let _ = write!(out, "{:8.3}", values.get(at).copied().unwrap_or(f64::NAN));
        }
        values.iter().filter(|&&v| v * ALLOWED < 1.0).count()
    };
    row("of the best choice", |x| x.best);
    let behind = row("of the best node, after first", |x| x.single_later);
    let last = row("of the best node, last execution", |x| x.last);
    let oracle = row("an oracle's, after first", |x| x.oracle_later);
    let careful = row("a careful oracle's, after first", |x| x.careful_later);
    let _ = write!(
        out,
        "\n\nmore than 6 % behind the best single node: hetprobe {behind}, in its last execution {last}, the oracle \
         {oracle}, the careful one {careful}\n\
         (the oracle runs each loop at home once, and then all of them on the node that is best from there on; the \
         careful one knows all but\n\
         how long the program goes on, and moves as soon as it stays within 6 % of home even if the program ends with \
         the next execution)\n\n\
         farthest behind the best node, after first executions:\n    seed  after first  last  oracle  careful  \
         executions  best node over first\n"
    );
    let mut behind: Vec<&(u64, AgainstBest)> = all.iter().collect();
    behind.sort_by(|a, b| a.1.single_later.total_cmp(&b.1.single_later));
    for (seed, x) in behind.into_iter().take(WORST) {
        // A string takes all that is written to it.
        let _ = writeln!(
            out,
            "{seed:8}  {:11.3}  {:4.2}  {:6.3}  {:7.3}  {:10}  {:20.2}",
            x.single_later, x.last, x.oracle_later, x.careful_later, x.executions, x.gains
        );
    }
    out
}
