//! Simulates every program under every strategy on one platform.

use super::file::{LoadedPlatform, LoadedWorkload};
use hetmp_lab::{Decided, Outcome, Published, Strategy};
use hetmp_sched::decide::Objective;
use hetmp_sched::energy::Estimate;
use hetmp_sched::schedule::{Kind, Schedule, DEFAULT_FRACTION};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// What has to be simulated.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) platform: LoadedPlatform,
    pub(super) workloads: Vec<LoadedWorkload>,
    /// Schedules in addition to those that are always compared.
    pub(super) schedules: Vec<Column>,
    /// Compare with the paper's schedules as the paper describes them, too.
    pub(super) published: bool,
    /// The programs differ in irregularity.
    pub(super) irregular: bool,
    pub(super) objective: Objective,
    pub(super) seed: u64,
}

/// A strategy, with its name in tables.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) strategy: Strategy,
}

/// All results.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    pub(super) request: &'a Request,
    pub(super) columns: Vec<Column>,
    /// By workload, then by column.
    pub(super) outcomes: Vec<Vec<Outcome>>,
}

/// Simulations that need more calls of a schedule are refused, so that every simulation ends.
const MOST_CALLS: f64 = 2e8;

impl Request {
    /// Refuses simulations that would not end in a reasonable time.
    pub(super) fn check(&self) -> Result<(), String> {
        for w in &self.workloads {
            for column in self.columns() {
                let chunk = match &column.strategy {
                    Strategy::All(s) => match (&s.kind, s.chunk) {
                        // The worst case for `aid-` schedules: a node that never reports a time.
                        (kind, c) if kind.deals_chunks() => c.unwrap_or(w.model.chunk),
                        (Kind::Dynamic | Kind::Static, Some(c)) => c,
                        (Kind::Dynamic, None) => 1,
                        _ => continue,
                    },
                    _ => continue,
                };
                let calls: f64 = w
                    .model
                    .loops
                    .iter()
                    .map(|l| l.iterations as f64 / chunk.max(1) as f64)
                    .sum::<f64>()
                    * w.model.repeat as f64;
                if calls > MOST_CALLS {
                    return Err(format!(
                        "workload {}, {} with chunks of {chunk}: too many chunks (expected at most {MOST_CALLS:e} in \
                         all)",
                        w.shown, column.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// The strategies that are compared. The first is the origin node alone.
    pub(super) fn columns(&self) -> Vec<Column> {
        let nodes = &self.platform.model.nodes;
        let kinds = &self.platform.kinds;
        let mut columns = Vec::new();
        // One node of each kind.
        for i in 0..nodes.len() {
            if kinds[..i].contains(&kinds[i]) {
                continue;
            }
            columns.push(Column {
                name: nodes[i].name.clone(),
                strategy: Strategy::Alone(i),
            });
        }
        if nodes.len() == 1 {
            columns.truncate(1);
        }
        let mut add = |name: &str, strategy| {
            columns.push(Column {
                name: name.to_owned(),
                strategy,
            });
        };
        let hetprobe = Schedule::plain(Kind::HetProbe {
            probe: DEFAULT_FRACTION,
        });
        add("ideal-csr", Strategy::IdealCsr);
        add(
            "cross-dynamic",
            Strategy::All(Schedule::plain(Kind::CrossDynamic)),
        );
        add("hetprobe", Strategy::All(hetprobe));
        // As users write it, with the default triggers.
        if let Ok(schedule) = Schedule::parse("hetprobe-i") {
            add("hetprobe-i", Strategy::All(schedule));
        }
        if self.published {
            // The second one takes a minute for all of the paper's ten.
            let few = usize::from(self.workloads.len() < 10 || self.irregular) + 1;
            for &published in &Published::ALL[..few] {
                add(published.name(), Strategy::Published(published));
            }
        }
        columns.extend(self.schedules.iter().cloned());
        columns
    }
}

/// Simulates everything, on all cores. The results do not depend on the number of cores.
pub(super) fn run(request: &Request) -> Comparison<'_> {
    let columns = request.columns();
    let jobs = request.workloads.len() * columns.len();
    let results: Vec<Mutex<Outcome>> = (0..jobs).map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let work = || loop {
        let job = next.fetch_add(1, Ordering::Relaxed);
        if job >= jobs {
            return;
        }
        let (w, c) = (job / columns.len(), job % columns.len());
        let outcome = hetmp_lab::run(
            &request.platform.model,
            &request.workloads[w].model,
            &columns[c].strategy,
            request.objective,
            request.seed,
        );
        *results[job].lock().expect("no panic under this lock") = outcome;
    };
    let helpers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 1..helpers.min(jobs.max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let mut results = results
        .into_iter()
        .map(|r| r.into_inner().expect("no panic under this lock"));
    let outcomes = request
        .workloads
        .iter()
        .map(|_| results.by_ref().take(columns.len()).collect())
        .collect();
    Comparison {
        request,
        columns,
        outcomes,
    }
}

impl Comparison<'_> {
    /// Seconds, joules or joule seconds, depending on the objective.
    pub(super) fn score(&self, o: &Outcome) -> f64 {
        self.request.objective.score(&Estimate {
            seconds: o.seconds,
            joules: o.joules,
        })
    }

    /// The gain over the origin alone: 2 means half the time. `None` if one of the two took no time.
    pub(super) fn gain(&self, workload: usize, column: usize) -> Option<f64> {
        let row = &self.outcomes[workload];
        let gain = self.score(&row[0]) / self.score(&row[column]);
        (gain.is_finite() && gain > 0.0).then_some(gain)
    }

    /// The gain of [`Comparison::gain`] in time, without the first execution of each loop.
    pub(super) fn later(&self, workload: usize, column: usize) -> Option<f64> {
        let later = |o: &Outcome| o.seconds - o.loops.iter().map(|l| l.first_seconds).sum::<f64>();
        let row = &self.outcomes[workload];
        let repeats = row[0].loops.iter().any(|l| l.executions > 1);
        let gain = later(&row[0]) / later(&row[column]);
        (repeats && gain.is_finite() && gain > 0.0).then_some(gain)
    }

    /// What a program did under a column's strategy.
    pub(super) fn outcome(&self, workload: usize, column: usize) -> &Outcome {
        &self.outcomes[workload][column]
    }

    /// A program under the paper's two schedules as described.
    pub(super) fn described(&self, workload: usize) -> [Outcome; 2] {
        Published::ALL.map(|published| {
            hetmp_lab::run(
                &self.request.platform.model,
                &self.request.workloads[workload].model,
                &Strategy::Published(published),
                Objective::Time,
                self.request.seed,
            )
        })
    }

    /// The column of this name.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// The columns from which a user without HetProbe could choose: nodes alone, and divisions by hand.
    fn by_hand(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.columns.len()).filter(|&c| {
            matches!(
                self.columns[c].strategy,
                Strategy::Alone(_) | Strategy::IdealCsr
            ) || self.columns[c].name == "cross-dynamic"
        })
    }

    /// The best column that a user could choose by hand, with its gain.
    pub(super) fn best(&self, workload: usize) -> Option<(usize, f64)> {
        self.by_hand()
            .filter_map(|c| Some((c, self.gain(workload, c)?)))
            .reduce(|a, b| if b.1 > a.1 { b } else { a })
    }

    /// Where a column has run a program: the last decision for the longest loop.
    pub(super) fn place(&self, workload: usize, column: usize) -> String {
        let nodes = &self.request.platform.model.nodes;
        let outcome = &self.outcomes[workload][column];
        let Some(longest) = outcome
            .loops
            .iter()
            .reduce(|a, b| if b.seconds > a.seconds { b } else { a })
        else {
            return "-".into();
        };
        match longest.decision.as_ref().map(Decided::one_node) {
            None => "-".into(),
            Some(Some(node)) => nodes[node].name.clone(),
            Some(None) => "split".into(),
        }
    }

    /// The workloads for which `keep` is true.
    pub(super) fn rows(&self, keep: impl Fn(&LoadedWorkload) -> bool) -> Vec<usize> {
        (0..self.request.workloads.len())
            .filter(|&w| keep(&self.request.workloads[w]))
            .collect()
    }

    /// Geometric mean of a column's gains.
    pub(super) fn mean(&self, rows: &[usize], column: usize) -> Option<f64> {
        geomean(rows.iter().map(|&w| self.gain(w, column)))
    }

    /// The geometric mean of the best columns' gains.
    pub(super) fn mean_of_best(&self, rows: &[usize]) -> Option<f64> {
        geomean(rows.iter().map(|&w| self.best(w).map(|b| b.1)))
    }
}

/// Last-level cache misses of all loops.
pub(super) fn misses(o: &Outcome) -> f64 {
    o.loops.iter().map(|l| l.misses as f64).sum()
}

/// `None` for an empty list, or if a value is missing.
pub(super) fn geomean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value?.ln();
        count += 1.0;
    }
    (count > 0.0).then(|| f64::exp(sum / count))
}
