//! The rule on programs whose regions can be probed, and can run whole on another node.

use super::*;

const MS: f64 = 1e6;

/// A program of like regions on two nodes, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Model {
    regions: usize,
    home: f64,
    /// Whole on node 1, and across, with the pages there.
    node: f64,
    across: f64,
    /// Waiting for pages: of a whole region that moves, of a probe that moves its part, and of each later probe.
    moving: f64,
    first_probe: f64,
    later_probes: f64,
}

const PLAIN: Model = Model {
    regions: 2,
    home: 20.0 * MS,
    node: 10.0 * MS,
    across: 90.0 * MS,
    moving: 30.0 * MS,
    first_probe: 12.0 * MS,
    later_probes: 10.0 * MS,
};

struct World {
    of: Model,
    rule: Crossings,
    last: Vec<Place>,
    probed: Vec<bool>,
    probes: usize,
    /// Home takes the pages of a probe back in its next execution, and waits this long.
    takes_back: f64,
    total: f64,
    steps: usize,
    away: Vec<usize>,
}

impl World {
    fn new(of: Model) -> World {
        World {
            of,
            rule: Crossings::probing(&Probed {
                nodes: 2,
                overhead_ns: MS,
                fault_ns: 50_000.0,
                pages: (of.moving / 50_000.0) as u64,
                piece: 1.0 / 32.0,
            }),
            last: vec![Place::Home; of.regions],
            probed: vec![false; of.regions],
            probes: 0,
            takes_back: 0.0,
            total: 0.0,
            steps: 0,
            away: Vec::new(),
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
        let place = self.rule.next(i);
        let moves = self.last[i] != place;
        let moving = if moves { m.moving } else { 0.0 };
        let (ns, waited) = match place {
            Place::Home | Place::Probe
                if matches!(self.last[i], Place::Node(_) | Place::Across) =>
            {
                (m.home + m.moving, m.moving)
            }
            Place::Home if self.last[i] == Place::Probe => {
                self.probed[i] &= self.takes_back == 0.0;
                (m.home + self.takes_back, self.takes_back)
            }
            Place::Home => (m.home, 0.0),
            Place::Probe => {
                self.probes += 1;
                let first = !core::mem::replace(&mut self.probed[i], true);
                let waited = if first { m.first_probe } else { m.later_probes };
                let shown = Shown {
                    with_faults_ns: m.node + waited * 32.0,
                    clean_ns: m.node,
                };
                self.rule.probed(i, &[shown], m.home);
                (m.home + waited, 0.0)
            }
            Place::Node(node) => {
                assert_eq!(node, 1);
                (m.node + MS + moving, 0.0)
            }
            Place::Across => (m.across + moving, 0.0),
        };
        if moves && matches!(place, Place::Node(_) | Place::Across) && i == 0 {
            self.away.push(self.steps);
        }
        self.last[i] = place;
        self.total += ns;
        self.rule.ran(i, place, ns as u64, waited as u64);
    }
}

#[test]
fn a_program_that_is_faster_on_another_node_moves_there_and_stays() {
    let mut w = World::new(PLAIN);
    w.steps(200);
    assert_eq!(w.last, [Place::Node(1); 2]);
    assert_eq!(w.away.len(), 1, "{:?}", w.away);
    let best = 200.0 * 2.0 * (PLAIN.node + MS);
    assert!(w.total < 1.2 * best, "{}", w.total / best);
}

/// A region that takes less time than leaving home costs, on the same pages as a long one: if it stayed, each would
/// take the pages from the other. It goes along, and the program is faster for it.
#[test]
fn short_regions_follow_the_long_ones() {
    let mut rule = Crossings::probing(&Probed {
        nodes: 2,
        overhead_ns: MS,
        fault_ns: 50_000.0,
        pages: 600,
        piece: 1.0 / 32.0,
    });
    let (long, short) = (0, 1);
    let home = [20.0 * MS, 0.2 * MS];
    let away = [3.0 * MS, 1.1 * MS];
    let (mut pages_at, mut total) = (Place::Home, 0.0);
    let mut places = [Place::Home; 2];
    for _ in 0..1000 {
        for region in [long, short] {
            let place = rule.next(region);
            places[region] = place;
            let stays = if place == Place::Probe {
                Place::Home
            } else {
                place
            };
            let moving = if stays == pages_at { 0.0 } else { 30.0 * MS };
            pages_at = stays;
            let (ns, waited) = match place {
                Place::Home => (home[region] + moving, moving),
                Place::Probe => {
                    let shown = Shown {
                        with_faults_ns: 2.0 * away[region],
                        clean_ns: away[region] - MS,
                    };
                    rule.probed(region, &[shown], home[region]);
                    (home[region] + 2.0 * MS + moving, 0.0)
                }
                Place::Node(_) | Place::Across => (away[region] + moving, 0.0),
            };
            total += ns;
            rule.ran(region, place, ns as u64, waited as u64);
        }
    }
    assert_eq!(places, [Place::Node(1); 2]);
    let at_home = 1000.0 * (home[0] + home[1]);
    assert!(total < 0.4 * at_home, "{}", total / at_home);
}

#[test]
fn a_probe_that_promises_nothing_is_the_end_of_it() {
    let slow = Model {
        node: 25.0 * MS,
        ..PLAIN
    };
    let mut w = World::new(slow);
    w.steps(1000);
    assert!(w.away.is_empty(), "{:?}", w.away);
    let home = 1000.0 * 2.0 * slow.home;
    assert!(w.total < 1.005 * home, "{}", w.total / home);
}

/// One probe has shown that the other node could not help even if all pages were there: a second one is of no use.
#[test]
fn no_second_probe_where_the_first_leaves_no_hope() {
    let slow = Model {
        node: 400.0 * MS,
        ..PLAIN
    };
    let mut w = World::new(Model { regions: 1, ..slow });
    w.steps(1000);
    assert_eq!(w.probes, 1);
    // With hope there are two, that cost what was seen.
    let mut w = World::new(Model {
        regions: 1,
        node: 30.0 * MS,
        ..slow
    });
    w.steps(1000);
    assert_eq!(w.probes, 2);
}

/// Home writes what a probe has read, so that the next probe fetches it again. It comes when the time spent allows for
/// the whole loss once more, and soon where nothing was taken back.
#[test]
fn a_probe_whose_pages_were_taken_back_is_repeated_later() {
    let second = |takes_back: f64| {
        let mut w = World::new(Model {
            regions: 1,
            node: 30.0 * MS,
            first_probe: 60.0 * MS,
            ..PLAIN
        });
        w.takes_back = takes_back;
        while w.probes < 2 {
            w.steps(1);
            assert!(w.steps < 10_000);
        }
        w.steps
    };
    let (stay, back) = (second(0.0), second(4.0 * MS));
    assert!(3 * back > 4 * stay, "{stay} and {back}");
}

/// The probe promises much, and the program gets nothing of it: each time that it is tried again, it has run twice as
/// long at least, and what all trials cost together is a small part of its time.
#[test]
fn a_promise_that_is_not_kept_is_believed_ever_more_seldom() {
    let mut w = World::new(PLAIN);
    // The node is slow as soon as the whole region runs there.
    for _ in 0..20_000 {
        for i in 0..2 {
            w.of.node = PLAIN.node;
            let place = w.rule.clone().next(i);
            if matches!(place, Place::Node(_)) {
                w.of.node = 60.0 * MS;
            }
            w.run(i);
        }
        w.steps += 1;
    }
    assert!((1..16).contains(&w.away.len()), "{:?}", w.away);
    for pair in w.away.windows(2) {
        assert!(pair[1] as f64 >= 1.8 * pair[0] as f64, "{:?}", w.away);
    }
    let home = 20_000.0 * 2.0 * PLAIN.home;
    assert!(w.total < 1.02 * home, "{}", w.total / home);
}

/// The first execution leaves home at once where a probe in it promises much in spite of its waiting.
#[test]
fn a_program_of_one_execution_leaves_home_at_once() {
    let probed = Probed {
        nodes: 2,
        overhead_ns: MS,
        fault_ns: 50_000.0,
        pages: 10,
        piece: 1.0 / 32.0,
    };
    for (with_faults, place) in [
        (10.0, Place::Across),
        (1.0, Place::Node(1)),
        (400.0, Place::Home),
    ] {
        let mut rule = Crossings::probing(&probed);
        rule.expects(7, 20.0 * MS);
        assert!(rule.may_probe_at_once(7));
        let shown = Shown {
            with_faults_ns: with_faults * MS,
            clean_ns: 0.5 * with_faults * MS,
        };
        rule.probed(7, &[shown], 20.0 * MS);
        let chosen = rule.rest(7);
        let least = |p| {
            if let Place::Node(_) = p {
                Place::Across
            } else {
                p
            }
        };
        assert_eq!(least(chosen), least(place), "{with_faults}: {chosen:?}");
        rule.began(7, chosen, 10_000_000);
    }
    // Too much data for the time that was spent.
    let mut rule = Crossings::probing(&Probed {
        pages: 1_000_000,
        ..probed
    });
    rule.expects(7, 20.0 * MS);
    assert!(!rule.may_probe_at_once(7));
}

/// Random programs: by home's measure, trying costs a bounded part of the time, and at most a few executions that
/// cannot be stopped half-way.
#[test]
fn the_loss_against_home_is_bounded() {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut between = |low: f64, high: f64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
        low * (high / low).powf(unit)
    };
    for case in 0..400 {
        let home = between(0.5, 50.0) * MS;
        let moving = home * between(0.01, 30.0);
        let of = Model {
            regions: between(1.0, 6.0) as usize,
            home,
            node: home * between(0.1, 20.0),
            across: home * between(0.3, 20.0),
            moving,
            first_probe: moving * between(0.01, 1.0),
            later_probes: moving * between(0.001, 0.3),
        };
        let mut w = World::new(of);
        let once = of.regions as f64 * (of.node.max(of.across) + 2.0 * moving);
        for (steps, part) in [(20, 1.6), (200, 1.4), (4_000, 1.15)] {
            let more = steps - w.steps;
            w.steps(more);
            let home = (steps * of.regions) as f64 * home;
            let bound = part * home + 3.0 * once;
            assert!(
                w.total <= bound,
                "case {case}, {steps}: {} of {home}, {of:?}",
                w.total
            );
        }
        let node = of.node + MS;
        if node < 0.6 * of.home && of.across > of.home {
            let best = 4_000.0 * of.regions as f64 * node;
            let bound = 1.1 * best + 40.0 * once + 0.1 * 4_000.0 * home;
            assert!(
                w.total <= bound,
                "case {case}: {} of {best}, {of:?}",
                w.total
            );
        }
    }
}
