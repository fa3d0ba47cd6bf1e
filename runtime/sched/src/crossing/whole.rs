//! The rule on programs that are faster whole on another node.

use super::division::{Division, Part};
use super::tests::{left, whole};
use super::*;

const MS: f64 = 1e6;

/// A program of like regions on two nodes, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Model {
    regions: usize,
    home: f64,
    /// Whole on node 1, with the pages there.
    node: f64,
    /// Across, with the pages there.
    across: f64,
    /// How much longer an execution takes where the last one was elsewhere.
    moving: f64,
}

/// Node 1 is three times as fast, and both nodes write the same pages all the time.
const FIGHTS: Model = Model {
    regions: 3,
    home: 6.0 * MS,
    node: 2.2 * MS,
    across: 9.0 * MS,
    moving: 4.0 * MS,
};

struct World {
    of: Model,
    rule: Crossings,
    last: Vec<Way>,
    total: f64,
    lost: f64,
    steps: usize,
    /// The steps in which the first region came to node 1.
    moves: Vec<usize>,
}

impl World {
    fn new(of: Model) -> World {
        let mut rule = Crossings::new(2);
        // Moving all of it takes as long as the regions' executions that do.
        let fault_ns = 20_000.0;
        let pages = 2.0 * of.regions as f64 * of.moving / fault_ns;
        rule.data(pages as u64, fault_ns, fault_ns);
        World {
            of,
            rule,
            last: vec![Way::HOME; of.regions],
            total: 0.0,
            lost: 0.0,
            steps: 0,
            moves: Vec::new(),
        }
    }

    fn steps(&mut self, count: usize) -> &mut World {
        for _ in 0..count {
            for i in 0..self.of.regions {
                self.run(i);
            }
            self.steps += 1;
        }
        self
    }

    fn run(&mut self, i: usize) {
        let m = self.of;
        let place = whole(&mut self.rule, i, left(self.total, self.lost));
        let moves = super::index(place) != super::index(self.last[i])
            || is_home(place) != is_home(self.last[i]);
        let moving = if moves { m.moving } else { 0.0 };
        let (ns, waited) = match place {
            Way::Across => {
                let r = self.rule.regions.entry(i).or_default();
                r.alone_ns = vec![m.node];
                (m.across + moving, 0.0)
            }
            Way::Elsewhere(node) => {
                assert_eq!(node, 1);
                if moves && i == 0 {
                    self.moves.push(self.steps);
                }
                (m.node + moving, 0.0)
            }
            _ => (m.home + moving, moving),
        };
        self.last[i] = place;
        self.total += ns;
        self.lost += self.rule.ran(i, place, ns as u64, waited as u64);
    }

    /// How often the first region came to node 1, but for coming back after it was looked at, at home.
    fn moved(&self) -> usize {
        self.moves.len() - self.rule.regions[&0].looks as usize
    }

    fn at_home(&self) -> f64 {
        self.steps as f64 * self.of.regions as f64 * self.of.home
    }
}

#[test]
fn a_program_that_is_fastest_on_another_node_moves_there_and_stays() {
    let mut w = World::new(FIGHTS);
    w.steps(3000);
    assert_eq!(w.last, [Way::Elsewhere(1); 3]);
    assert_eq!(w.rule.place(), Way::Elsewhere(1));
    assert_eq!(w.moved(), 1, "{:?}", w.moves);
    assert!(w.total < 0.5 * w.at_home(), "{}", w.total / w.at_home());
}

/// Crossing gains something, and the other node alone gains more.
#[test]
fn a_node_may_be_better_than_all_together() {
    let crosses = Model {
        across: 4.0 * MS,
        ..FIGHTS
    };
    let mut w = World::new(crosses);
    w.steps(2000);
    assert_eq!(w.last, [Way::Elsewhere(1); 3]);
    assert_eq!(w.moved(), 1, "{:?}", w.moves);
}

/// Serial code fetches the data in each step, wherever the regions left it: that speaks against neither place.
#[test]
fn what_serial_code_fetches_at_both_places_is_not_held_against_the_new_one() {
    let crosses = Model {
        across: 3.2 * MS,
        node: 1.6 * MS,
        ..FIGHTS
    };
    let mut w = World::new(crosses);
    for _ in 0..2000 {
        w.steps(1);
        if !is_home(w.last[0]) {
            w.lost += w.rule.fetched(7_500_000);
        }
    }
    assert_eq!(w.last, [Way::Elsewhere(1); 3]);
    assert_eq!(w.moved(), 1, "{:?}", w.moves);
}

/// No execution on the other node where it would take as long as at home.
#[test]
fn a_node_that_promises_nothing_is_not_tried() {
    let like = Model {
        node: FIGHTS.home,
        ..FIGHTS
    };
    let mut w = World::new(like);
    w.steps(5_000);
    assert!(w.moves.is_empty(), "{:?}", w.moves);
    assert!(w.total < 1.06 * w.at_home(), "{}", w.total / w.at_home());
}

/// The executions across promise much, and the node does not keep it.
#[test]
fn a_promise_that_is_not_kept_is_believed_ever_more_seldom() {
    let mut w = World::new(FIGHTS);
    for _ in 0..20_000 {
        for i in 0..w.of.regions {
            let place = w.rule.clone().next(i, left(w.total, w.lost));
            // What each node takes for its part stays.
            w.of.node = match place {
                Way::Elsewhere(_) => 40.0 * MS,
                _ => FIGHTS.node,
            };
            w.run(i);
        }
        w.steps += 1;
    }
    assert!((1..16).contains(&w.moves.len()), "{:?}", w.moves);
    for pair in w.moves.windows(2) {
        assert!(pair[1] as f64 >= 1.8 * pair[0] as f64, "{:?}", w.moves);
    }
    assert!(w.total < 1.06 * w.at_home(), "{}", w.total / w.at_home());
}

/// A program of one region on two nodes with a core each, as the runtime drives the rules: times of execution decide
/// where the region runs, and what each node shows how it is divided.
struct Nodes {
    /// By node: nanoseconds of the whole region on its core.
    core_ns: [f64; 2],
    /// Any execution takes this many times as long as the processor's time, because of other work on the machine.
    busy: f64,
    /// The region may have any number of threads.
    any: bool,
    /// How long the other node waits for pages in the first execution across.
    cold_ns: f64,
    last: Option<Vec<u32>>,
    rule: Crossings,
    division: Division,
    ran: f64,
    lost: f64,
}

impl Nodes {
    fn new(core_ns: [f64; 2], busy: f64, any: bool) -> Nodes {
        Nodes {
            core_ns,
            busy,
            any,
            cold_ns: 0.0,
            last: None,
            rule: Crossings::new(2),
            division: Division::default(),
            ran: 0.0,
            lost: 0.0,
        }
    }

    /// One execution by two threads. Returns where it ran, and the threads on each node if it crossed.
    fn run(&mut self) -> (Way, Option<Vec<u32>>) {
        let place = whole(&mut self.rule, 0, left(self.ran, self.lost));
        let divided = (place == Way::Across).then(|| {
            let threads = self.division.threads(2, || self.any);
            threads.unwrap_or(vec![1, 1])
        });
        if divided.is_some() && self.last.is_some() && divided != self.last {
            self.rule.divided(0);
        }
        let cold_ns = match divided.is_some() {
            true => core::mem::take(&mut self.cold_ns),
            false => 0.0,
        };
        self.last = divided.clone().or(self.last.take());
        let ns = match (&divided, place) {
            (Some(threads), _) => {
                let total: u32 = threads.iter().sum();
                let part = |node: usize| {
                    let work = f64::from(threads[node]) / f64::from(total);
                    Part {
                        cores: 1,
                        threads: threads[node],
                        work,
                        ran_ns: work * self.core_ns[node],
                        waited_ns: cold_ns * node as f64,
                        done_ns: 0.0,
                    }
                };
                let parts = [part(0), part(1)];
                let ns = parts[0].ran_ns.max(parts[1].ran_ns + cold_ns);
                self.division.ran(&parts, self.busy * ns);
                self.rule.crossed(0, &parts, 2, self.busy * ns);
                ns
            }
            (None, Way::Elsewhere(node)) => self.core_ns[node],
            (None, _) => self.core_ns[0],
        };
        self.ran += self.busy * ns;
        self.lost += self.rule.ran(0, place, (self.busy * ns) as u64, 0);
        (place, divided)
    }

    fn last_of(&mut self, runs: usize) -> (Way, Option<Vec<u32>>) {
        (1..runs).for_each(|_| drop(self.run()));
        self.run()
    }
}

#[test]
fn what_nodes_take_for_their_parts_moves_a_region_to_the_faster_one() {
    // Home is ten times as slow. A machine where other work takes a half of each CPU, and more, shows the same.
    for busy in [1.0, 2.0, 5.0] {
        let mut slow_home = Nodes::new([60.0 * MS, 6.0 * MS], busy, false);
        assert_eq!(slow_home.last_of(60).0, Way::Elsewhere(1), "{busy}");
        // The other node is ten times as slow: no execution there.
        let mut slow_other = Nodes::new([6.0 * MS, 60.0 * MS], busy, false);
        for _ in 0..60 {
            assert_ne!(slow_other.run().0, Way::Elsewhere(1), "{busy}");
        }
        // Like nodes: both, in equal parts.
        let both = Nodes::new([20.0 * MS, 20.0 * MS], busy, true).last_of(60);
        assert_eq!(both, (Way::Across, Some(vec![1, 1])), "{busy}");
    }
}

/// The first crossing moves many pages, and so tells nothing of the nodes' speeds, and the second one is as slow as
/// the slow node's equal part. What is judged is the division that follows.
#[test]
fn steady_times_of_an_old_division_do_not_count() {
    let mut nodes = Nodes::new([20.0 * MS, 60.0 * MS], 1.0, true);
    nodes.cold_ns = 30.0 * MS;
    // So the trial begins late enough to bear these.
    nodes.rule.data(8000, 20_000.0, 20_000.0);
    let places: Vec<Way> = (0..600).map(|_| nodes.run().0).collect();
    let first = places.iter().position(|&p| p == Way::Across);
    let first = first.expect("a trial");
    let home = places[first..].iter().filter(|&&p| p != Way::Across);
    assert_eq!(home.count() as u32, 2 * nodes.rule.regions[&0].looks);
    assert_eq!(nodes.run(), (Way::Across, Some(vec![3, 1])));
}

/// What has little data crosses in its third execution, and what has more only when moving that may be lost.
#[test]
fn little_data_is_tried_at_once() {
    for (pages, first) in [(50, 3), (2000, 3), (4000, 201)] {
        let mut rule = Crossings::new(2);
        rule.data(pages, 20_000.0, 20_000.0);
        let runs = (1..300).find(|&run| {
            let ran = f64::from(run - 1) * 20.0 * MS;
            let place = whole(&mut rule, 0, left(ran, 0.0));
            rule.ran(0, place, (20.0 * MS) as u64, 0);
            place == Way::Across
        });
        assert_eq!(runs, Some(first), "{pages}");
    }
}

#[test]
fn unlike_nodes_that_gain_by_crossing_have_unlike_parts() {
    for busy in [1.0, 2.0, 5.0] {
        let mut nodes = Nodes::new([20.0 * MS, 60.0 * MS], busy, true);
        assert_eq!(
            nodes.last_of(200),
            (Way::Across, Some(vec![3, 1])),
            "{busy}"
        );
    }
}

/// Parts too short to tell how fast a node is change neither place nor parts.
#[test]
fn short_parts_decide_nothing() {
    let mut nodes = Nodes::new([0.8 * MS, 0.08 * MS], 1.0, true);
    for _ in 0..200 {
        let (place, divided) = nodes.run();
        assert_ne!(place, Way::Elsewhere(1));
        assert!(divided.is_none_or(|threads| threads == [1, 1]));
    }
}
