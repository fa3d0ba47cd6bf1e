//! The rule on programs that cannot be probed, but can run whole on another node.

use super::*;

const MS: f64 = 1e6;

/// A program of like regions on two nodes, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Model {
    regions: usize,
    home: f64,
    /// Whole on node 1, with the pages there.
    node: f64,
    /// Across, with the pages there, and how much of that node 1 waits for pages.
    across: f64,
    waits: f64,
    /// How much longer an execution takes where the last one was elsewhere.
    moving: f64,
}

/// Node 1 is three times as fast, and both nodes write the same pages all the time.
const FIGHTS: Model = Model {
    regions: 3,
    home: 6.0 * MS,
    node: 2.2 * MS,
    across: 9.0 * MS,
    waits: 8.0 * MS,
    moving: 4.0 * MS,
};

struct World {
    of: Model,
    rule: Crossings,
    last: Vec<Place>,
    total: f64,
    steps: usize,
    /// The steps in which the first region came to node 1.
    moves: Vec<usize>,
}

impl World {
    fn new(of: Model) -> World {
        World {
            of,
            rule: Crossings::whole(2),
            last: vec![Place::Home; of.regions],
            total: 0.0,
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
        let place = self.rule.next(i);
        let moves = place != self.last[i];
        let moving = if moves { m.moving } else { 0.0 };
        let (ns, waited) = match place {
            Place::Home => (m.home + moving, moving),
            Place::Across => {
                // Each node has a half of the threads.
                let clean = FIGHTS.node;
                let shown = Shown {
                    with_faults_ns: clean + 2.0 * (m.waits + moving),
                    clean_ns: if m.node == FIGHTS.node { clean } else { m.node },
                };
                self.rule.probed(i, &[shown], 0.0);
                (m.across + moving, 0.0)
            }
            Place::Node(node) => {
                assert_eq!(node, 1);
                if moves && i == 0 {
                    self.moves.push(self.steps);
                }
                (m.node + moving, 0.0)
            }
            Place::Probe => panic!("there are no probes"),
        };
        self.last[i] = place;
        self.total += ns;
        self.rule.ran(i, place, ns as u64, waited as u64);
    }

    fn at_home(&self) -> f64 {
        self.steps as f64 * self.of.regions as f64 * self.of.home
    }
}

#[test]
fn a_program_that_is_fastest_on_another_node_moves_there_and_stays() {
    let mut w = World::new(FIGHTS);
    w.steps(300);
    assert_eq!(w.last, [Place::Node(1); 3]);
    assert_eq!(w.rule.kept_at(), Place::Node(1));
    assert_eq!(w.moves.len(), 1, "{:?}", w.moves);
    assert!(w.total < 0.5 * w.at_home(), "{}", w.total / w.at_home());
}

/// Crossing gains something, and the other node alone gains more.
#[test]
fn a_node_may_be_better_than_all_together() {
    let crosses = Model {
        across: 4.0 * MS,
        waits: 1.0 * MS,
        ..FIGHTS
    };
    let mut w = World::new(crosses);
    w.steps(400);
    assert_eq!(w.last, [Place::Node(1); 3]);
    assert_eq!(w.moves.len(), 1, "{:?}", w.moves);
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
            let place = w.rule.clone().next(i);
            // What each node takes for its part stays.
            w.of.node = match place {
                Place::Node(_) => 40.0 * MS,
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
