//! Executions whose place a rule for whole programs chooses: [`Crossings`].
//!
//! The rule says where an execution runs; this file runs it there and brings the rule its times. At home and on another
//! node alone, only that node's threads are in the loop. Across, the schedule divides the loop by the rates that
//! earlier executions showed. In a *probe* each other node runs a small part in the middle of the loop, always the
//! same, and home the rest.
//!
//! The first execution begins with a small part at home. If that part says that the loop is long enough for a probe, a
//! probe follows at once, and if the probe promises much even with all pages still to come, the rest leaves home.

use super::crossing::{Crossings, Place, Probed, Shown};
use super::driver::Driver;
use super::engine::{Execution, Machine, Part, Prepared, Work};
use super::platform::Platform;
use super::workload::{LoopModel, Workload};
use hetmp_sched::cache::{Key, Known, ProbeCache};
use hetmp_sched::csr;
use hetmp_sched::decide::{decide, Choice, Decision, Link, NodeInput, Rules};
use hetmp_sched::placement::{NodeShape, Placement};
use hetmp_sched::plain::static_piece;
use hetmp_sched::probe::NodeRate;
use hetmp_sched::ranges::Range;
use hetmp_sched::schedule::{Kind, Schedule};
use hetmp_sched::ways::Reason;
use std::collections::VecDeque;
use std::sync::Arc;

/// The part of a loop that runs first, at home: home's share in one iteration of this many.
const FIRST: u64 = 64;
/// A probe is one in this many iterations, shared evenly among all threads.
const PROBE: u64 = 32;
/// A division is renewed when it is expected to take this much longer than one by the newest rates.
const RENEWAL: f64 = 1.1;

/// What the rule needs for a program.
#[derive(Debug)]
pub(super) struct Placed {
    rule: Crossings,
    /// The team of each node alone.
    alone: Vec<Arc<Placement>>,
    all: Arc<Placement>,
    loops: Vec<Seen>,
    /// What HetProbe-I has learned of loops that run across, iterations of different kinds included.
    across: ProbeCache,
    rules: Rules,
}

/// What is known of a loop.
#[derive(Clone, Debug, Default)]
struct Seen {
    executed: bool,
    /// By node; nanoseconds of an iteration on a core, with waiting for pages.
    rates: Vec<Option<f64>>,
    /// The division in use.
    plan: Option<Arc<Decision>>,
}

/// The result of an execution.
#[derive(Debug, Default)]
pub(super) struct Ran {
    /// With all its parts, without opening and closing the region.
    pub(super) ns: u64,
    pub(super) busy_ns: Vec<u64>,
    pub(super) faults: Vec<u64>,
    pub(super) misses: u64,
    pub(super) took_part: Vec<bool>,
    pub(super) iterations: Vec<u64>,
    pub(super) decision: Option<Arc<Decision>>,
    pub(super) probed: bool,
    pub(super) renewals: u32,
    /// For [`Placed::report`].
    place: Option<Place>,
    first: bool,
    home_waited_ns: u64,
}

/// One loop, and what runs it.
pub(super) struct Loop<'a, 'm> {
    pub(super) at: usize,
    pub(super) model: &'a LoopModel,
    pub(super) prepared: &'a Prepared,
    pub(super) schedule: &'a Schedule,
    pub(super) machine: &'a mut Machine<'m>,
}

impl Placed {
    /// For a program that starts on the first node of a machine whose link is known.
    pub(super) fn new(
        platform: &Platform,
        workload: &Workload,
        team: &Arc<Placement>,
        rules: &Rules,
    ) -> Placed {
        let nodes = platform.nodes.len();
        let cores = |i: usize| platform.nodes[i].cores;
        let alone = |only: usize| {
            let shape = |i| NodeShape {
                threads: if i == only { cores(i) } else { 0 },
            };
            Arc::new(Placement::contiguous(
                &(0..nodes).map(shape).collect::<Vec<_>>(),
            ))
        };
        let link = rules.link.unwrap_or_default();
        let fault_ns = link.fault_us.unwrap_or(0.0) * 1000.0;
        let pages: u64 = (workload.arrays.iter())
            .map(|a| a.units * a.pages_per_unit)
            .sum();
        let overhead_ns = (link.region_us.unwrap_or(0.0) + link.fault_us.unwrap_or(0.0)) * 1000.0;
        // Across and on one node the rule has decided: faults overrule nothing.
        let rules = Rules {
            link: Some(Link::default()),
            ..*rules
        };
        Placed {
            rule: Crossings::probing(&Probed {
                nodes: nodes as u32,
                overhead_ns,
                fault_ns,
                pages,
                piece: f64::from(cores(0)) / (PROBE as f64 * team.threads() as f64),
            }),
            alone: (0..nodes).map(alone).collect(),
            all: Arc::clone(team),
            loops: vec![
                Seen {
                    rates: vec![None; nodes],
                    ..Seen::default()
                };
                workload.loops.len()
            ],
            across: ProbeCache::new(),
            rules,
        }
    }

    /// A serial part took `ns`, after it had waited `waited_ns` for pages.
    pub(super) fn serial(&mut self, ns: u64, waited_ns: u64) {
        self.rule.passed(ns);
        if waited_ns > 0 {
            self.rule.fetched(waited_ns);
        }
    }

    /// Runs the loop once, from the time `start` on. [`Placed::report`] must follow.
    pub(super) fn run(&mut self, l: Loop<'_, '_>, start: u64) -> Ran {
        let nodes = self.alone.len();
        let mut ran = Ran {
            busy_ns: vec![0; nodes],
            faults: vec![0; nodes],
            took_part: vec![false; nodes],
            iterations: vec![0; nodes],
            ..Ran::default()
        };
        let n = l.model.iterations;
        if n == 0 {
            return ran;
        }
        let at = l.at;
        let mut l = l;
        ran.ns = start;
        let place = if core::mem::replace(&mut self.loops[at].executed, true) {
            let place = self.rule.next(at);
            match place {
                Place::Probe => {
                    let wedge = self.wedge(n);
                    let (from, until) = (wedge[0].start, wedge[nodes - 1].end);
                    let home = [Range::new(0, from), Range::new(until, n)];
                    self.probe(&mut l, &home, &wedge, &mut ran);
                }
                place => {
                    let work = self.at(&mut l, place, &Part::whole(n), &mut ran);
                    ran.home_waited_ns = (work[0].waited_ns as f64 / self.threads(0)) as u64;
                }
            }
            place
        } else {
            ran.first = true;
            self.first(&mut l, n, &mut ran)
        };
        ran.place = Some(place);
        ran.ns -= start;
        ran
    }

    /// The first execution of a loop.
    fn first(&mut self, l: &mut Loop<'_, '_>, n: u64, ran: &mut Ran) -> Place {
        let wedge = self.wedge(n);
        let (from, until) = (wedge[0].start, wedge[wedge.len() - 1].end);
        let home = u64::from(self.all.nodes()[0].threads);
        let length = (n / FIRST * home / self.all.threads() as u64).max(4 * home);
        let begin = from.saturating_sub(length);
        let work = self.at(l, Place::Home, &Part::of(&[Range::new(begin, from)]), ran);
        let each = (work[0].ns - work[0].waited_ns) as f64 / work[0].iterations.max(1) as f64;
        self.rule.expects(l.at, each * n as f64 / self.threads(0));
        let mut rest = [Range::new(0, begin), Range::new(from, n)];
        let mut place = Place::Home;
        if self.rule.may_probe_at_once(l.at) {
            let beside =
                (n as f64 / PROBE as f64 * self.threads(0) / self.all.threads() as f64) as u64;
            let beside = Range::new(until, (until + beside).min(n));
            self.probe(l, &[beside], &wedge, ran);
            rest[1].start = beside.end;
            place = self.rule.rest(l.at);
        }
        self.at(l, place, &Part::of(&rest), ran);
        place
    }

    /// Runs a part of the loop at `place`.
    fn at(&mut self, l: &mut Loop<'_, '_>, place: Place, part: &Part, ran: &mut Ran) -> Vec<Work> {
        let n = part.len();
        let (team, known) = match place {
            Place::Across => (Arc::clone(&self.all), Some(self.plan(l.at))),
            Place::Node(i) => (Arc::clone(&self.alone[i]), None),
            Place::Home | Place::Probe => (Arc::clone(&self.alone[0]), None),
        };
        let nodes = self.alone.len();
        ran.decision = Some(known.clone().unwrap_or_else(|| {
            let inputs = vec![NodeInput::default(); nodes];
            let mut decision = decide(&inputs, &self.rules);
            decision.choice = Choice::OneNode {
                node: if let Place::Node(i) = place { i } else { 0 },
                why: Reason::Faster,
            };
            Arc::new(decision)
        }));
        let known = known.map(|plan| {
            Arc::new(Known {
                rates: plan.nodes.iter().map(|x| x.rate).collect(),
                alone_ns: vec![None; nodes].into(),
                plan: Some(plan),
                ..Known::default()
            })
        });
        let across = place == Place::Across;
        let whole = across && n == l.model.iterations;
        let key = (whole && matches!(l.schedule.kind, Kind::HetProbeI { .. }))
            .then(|| Key::new(l.at as u64, n, &team));
        let known = match &key {
            Some(key) => self.across.known(key),
            None => known,
        };
        let mut driver = Driver::new(l.schedule, n, &team, across, self.rules, known);
        let work = self.drive(l, &mut driver, &team, part, ran);
        if let Some(key) = key {
            let record = driver.record();
            self.across.update(key, &record, &self.rules);
            ran.decision = record.decision;
        }
        if across {
            for (rate, w) in self.loops[l.at].rates.iter_mut().zip(&work) {
                if w.iterations > 0 {
                    let now = w.ns as f64 / w.iterations as f64;
                    *rate = Some(rate.map_or(now, |old| (old + now) / 2.0));
                }
            }
        }
        work
    }

    /// Home runs `home`, and each other node its part of `wedge`.
    fn probe(&mut self, l: &mut Loop<'_, '_>, home: &[Range], wedge: &[Range], ran: &mut Ran) {
        let home = Part::of(home);
        let team = Arc::clone(&self.all);
        let lists = (0..team.threads()).map(|tid| {
            let node = team.node_of(tid);
            let whole = if node == 0 {
                home.len()
            } else {
                wedge[node].len()
            };
            let threads = u64::from(team.nodes()[node].threads);
            let mine = static_piece(whole, threads, team.rank(tid) as u64);
            if node == 0 {
                home.ranges(mine).collect()
            } else {
                let start = wedge[node].start;
                VecDeque::from([Range::new(start + mine.start, start + mine.end)])
            }
        });
        let lists: Vec<VecDeque<Range>> = lists
            .map(|mut list| {
                list.retain(|r| !r.is_empty());
                list
            })
            .collect();
        let n = l.model.iterations;
        let mut driver = Driver::given(n, &team, lists);
        let work = self.drive(l, &mut driver, &team, &Part::whole(n), ran);
        ran.probed = true;
        let whole = |i: usize, ns: u64| {
            ns as f64 / work[i].iterations.max(1) as f64 * n as f64 / self.threads(i)
        };
        let shown: Vec<Shown> = (1..work.len())
            .map(|i| match work[i].iterations {
                0 => Shown::NOTHING,
                _ => Shown {
                    with_faults_ns: whole(i, work[i].ns),
                    clean_ns: whole(i, work[i].ns - work[i].waited_ns),
                },
            })
            .collect();
        let beside = if home.len() > 0 {
            whole(0, work[0].ns)
        } else {
            0.0
        };
        self.rule.probed(l.at, &shown, beside);
        for (rate, w) in self.loops[l.at].rates.iter_mut().zip(&work) {
            if w.iterations > 0 {
                *rate = Some(w.ns as f64 / w.iterations as f64);
            }
        }
    }

    fn drive(
        &mut self,
        l: &mut Loop<'_, '_>,
        driver: &mut Driver,
        team: &Placement,
        part: &Part,
        ran: &mut Ran,
    ) -> Vec<Work> {
        let Execution {
            ns,
            busy_ns,
            faults,
            misses,
            took_part,
            work,
        } = (l.machine).run(l.model, l.prepared, driver, team, (part, None), ran.ns);
        ran.ns += ns;
        ran.misses += misses;
        ran.renewals += driver.renewals();
        for i in 0..work.len() {
            ran.busy_ns[i] += busy_ns[i];
            ran.faults[i] += faults[i];
            ran.took_part[i] |= took_part[i];
            ran.iterations[i] += work[i].iterations;
        }
        work
    }

    /// Tells the rule that the execution took `ns` in all.
    pub(super) fn report(&mut self, at: usize, ran: &Ran, ns: u64) {
        match ran.place {
            None => {}
            Some(place) if ran.first => self.rule.began(at, place, ns),
            Some(place) => {
                let waited = if place == Place::Home {
                    ran.home_waited_ns
                } else {
                    0
                };
                self.rule.ran(at, place, ns, waited);
            }
        }
    }

    fn threads(&self, node: usize) -> f64 {
        f64::from(self.all.nodes()[node].threads.max(1))
    }

    /// The part of each node in a probe of `n` iterations; home has none.
    fn wedge(&self, n: u64) -> Vec<Range> {
        let all: f64 = (0..self.alone.len()).map(|i| self.threads(i)).sum();
        let length = ((n as f64 / PROBE as f64 * (1.0 - self.threads(0) / all)) as u64).max(1);
        let start = (n - length) / 2;
        let weights = (0..self.alone.len()).map(|i| if i == 0 { 0.0 } else { self.threads(i) });
        csr::split(Range::new(start, start + length), weights).collect()
    }

    /// The division of loop `at` of `n` iterations by the newest rates.
    fn plan(&mut self, at: usize) -> Arc<Decision> {
        let inputs: Vec<NodeInput> = (self.all.nodes().iter().zip(&self.loops[at].rates))
            .map(|(shape, rate)| NodeInput {
                threads: shape.threads,
                rate: rate.map(|ns| NodeRate {
                    ns_per_iteration: ns,
                    faults: None,
                    instructions: None,
                    cache_misses: None,
                }),
                ..NodeInput::default()
            })
            .collect();
        let new = decide(&inputs, &self.rules);
        let rate =
            |i: usize| (self.loops[at].rates[i]).map_or(0.0, |ns| self.threads(i) / ns.max(1e-9));
        let longest = |d: &Decision| {
            let times = d.shares().enumerate().map(|(i, s)| s / rate(i).max(1e-12));
            times.fold(0.0, f64::max)
        };
        if let Some(old) = &self.loops[at].plan {
            if longest(old) <= RENEWAL * longest(&new) {
                return Arc::clone(old);
            }
        }
        let new = Arc::new(new);
        self.loops[at].plan = Some(Arc::clone(&new));
        new
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::{random, run, Strategy};
    use hetmp_sched::decide::Rules;
    use hetmp_sched::schedule::Schedule;

    /// First parts, probes in the middle, rests at another place, divisions: each iteration runs once in each
    /// execution, whatever the rule chooses, and the times of loops and serial parts are the program's.
    #[test]
    fn every_execution_runs_the_whole_loop() {
        let mut probed = 0;
        for seed in 1..40 {
            let (platform, workload) = random(seed);
            for name in ["hetprobe", "hetprobe-i"] {
                let strategy = Strategy::All(Schedule::parse(name).expect("a schedule"));
                let o = run(&platform, &workload, &strategy, &Rules::default(), seed);
                let mut seconds = o.serial_seconds;
                for (l, model) in o.loops.iter().zip(&workload.loops) {
                    let ran: u64 = l.iterations.iter().sum();
                    assert_eq!(ran, model.iterations * workload.repeat, "{name}, {seed}");
                    assert_eq!(l.executions, workload.repeat);
                    seconds += l.seconds;
                    probed += l.probed;
                }
                assert!((seconds / o.seconds - 1.0).abs() < 1e-6, "{name}, {seed}");
            }
        }
        assert!(probed > 20, "{probed} probes: nothing was tested");
    }

    /// A node of two slow cores beside one of 64 had no iteration in a probe, and looked as if it took no time at all.
    #[test]
    fn a_node_without_a_part_in_the_probe_is_not_tried() {
        let (platform, workload) = random(5079);
        assert!(platform.nodes[1].cores < platform.nodes[2].cores / 16);
        let strategy = Strategy::All(Schedule::parse("hetprobe").expect("a schedule"));
        let o = run(&platform, &workload, &strategy, &Rules::default(), 5079);
        for l in &o.loops {
            assert_eq!(l.iterations[1], 0, "{}", l.name);
            assert!(l.iterations[2] > l.iterations[0], "{}", l.name);
        }
    }
}
