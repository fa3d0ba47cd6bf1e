use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Bytes = Box<[u8; PAGE]>;

fn zeros() -> Bytes {
    Box::new([0; PAGE])
}

/// A node with copies of its own, as the driver would have them.
#[derive(Default)]
struct Node {
    copies: Copies,
    bytes: BTreeMap<u64, Bytes>,
    twins: BTreeMap<u64, Bytes>,
    told: Vec<(u64, Lines)>,
}

/// Nodes, and the pool behind them.
struct Machine {
    pool: BTreeMap<u64, Bytes>,
    nodes: Vec<Node>,
    /// At this point lines are not written back, or not taken anew (`false`).
    without: Option<(Point, bool)>,
}

impl Machine {
    fn new(nodes: usize, without: Option<(Point, bool)>) -> Machine {
        Machine {
            pool: BTreeMap::new(),
            nodes: (0..nodes).map(|_| Node::default()).collect(),
            without,
        }
    }

    fn make(&mut self, me: usize, steps: Vec<Step>) {
        for step in steps {
            let node = &mut self.nodes[me];
            match step {
                Step::Protect { .. } => {}
                Step::Take { page, lines } => {
                    let from = self.pool.entry(page).or_insert_with(zeros);
                    let to = node.bytes.entry(page).or_insert_with(zeros);
                    for i in lines.iter() {
                        let line = i * LINE..(i + 1) * LINE;
                        to[line.clone()].copy_from_slice(&from[line]);
                    }
                }
                Step::Twin { page } => {
                    node.twins.insert(page, node.bytes[&page].clone());
                }
                Step::WriteBack { page, point } => {
                    let (now, twin) = (node.bytes[&page].clone(), node.twins.remove(&page));
                    let twin = twin.expect("a dirty page has a twin");
                    let lines = Lines::changed(&now, &twin);
                    let to = self.pool.get_mut(&page).expect("a page that was taken");
                    if self.without != Some((point, true)) {
                        let bytes = (0..PAGE).filter(|i| now[*i] != twin[*i]);
                        bytes.for_each(|i| to[i] = now[i]);
                    }
                    let others = self.nodes.iter_mut().enumerate().filter(|(n, _)| *n != me);
                    others.for_each(|(_, other)| other.told.push((page, lines)));
                }
            }
        }
    }

    fn uses(&mut self, me: usize, page: u64, access: Access) -> &mut Bytes {
        if self.nodes[me].copies.access(page) < access {
            let mut steps = Vec::new();
            self.nodes[me].copies.raise(page, access, &mut steps);
            self.make(me, steps);
        }
        self.nodes[me].bytes.get_mut(&page).expect("a copy")
    }

    fn at(&mut self, me: usize, point: Point) {
        let mut steps = Vec::new();
        if point.releases() {
            self.nodes[me].copies.release(point, &mut steps);
        }
        self.make(me, steps);
    }

    fn after(&mut self, me: usize, point: Point) {
        let mut steps = Vec::new();
        if point.acquires() {
            for (page, lines) in core::mem::take(&mut self.nodes[me].told) {
                if self.without != Some((point, false)) {
                    self.nodes[me]
                        .copies
                        .acquire(page, lines, point, &mut steps);
                }
            }
        }
        self.make(me, steps);
    }

    /// All nodes are at a barrier.
    fn meet(&mut self) {
        let all = 0..self.nodes.len();
        all.clone().for_each(|n| self.at(n, Point::Barrier));
        all.for_each(|n| self.after(n, Point::Barrier));
    }

    /// Node `me` opens a region, whose parts begin, and the parts end.
    fn region(&mut self, body: impl FnOnce(&mut Machine)) {
        let others = 1..self.nodes.len();
        self.at(0, Point::RegionBegins);
        others
            .clone()
            .for_each(|n| self.after(n, Point::PartBegins));
        body(self);
        others.for_each(|n| self.at(n, Point::PartEnds));
        self.after(0, Point::RegionEnds);
    }

    /// Node `me` holds a lock while it runs `body`.
    fn locked(&mut self, me: usize, body: impl FnOnce(&mut Bytes)) {
        self.after(me, Point::Lock);
        body(self.uses(me, 0, Access::Write));
        self.at(me, Point::Unlock);
    }
}

/// One value that node 0 writes and node 1 reads through each kind of point, both with old copies. Returns what is
/// read.
fn litmus(without: Option<(Point, bool)>) -> [u8; 4] {
    let mut m = Machine::new(2, without);
    let mut seen = [0; 4];
    for lap in 1..=2 {
        m.uses(0, 1, Access::Write)[0] = lap;
        m.region(|m| {
            seen[0] = m.uses(1, 1, Access::Read)[0];
            m.uses(0, 3, Access::Write)[0] = lap;
            m.uses(1, 3, Access::Read);
            m.meet();
            seen[1] = m.uses(1, 3, Access::Read)[0];
            for n in [0, 1] {
                m.locked(n, |page| page[0] += 1);
            }
            m.after(0, Point::Lock);
            seen[2] = m.uses(0, 0, Access::Read)[0];
            m.at(0, Point::Unlock);
            m.uses(1, 2, Access::Write)[0] = lap;
        });
        seen[3] = m.uses(0, 2, Access::Read)[0];
    }
    seen
}

#[test]
fn every_point_is_needed() {
    assert_eq!(litmus(None), [2, 2, 4, 2]);
    let needed = [
        (Point::RegionBegins, true, 0),
        (Point::PartBegins, false, 0),
        (Point::Barrier, true, 1),
        (Point::Barrier, false, 1),
        (Point::Unlock, true, 2),
        (Point::Lock, false, 2),
        (Point::PartEnds, true, 3),
        (Point::RegionEnds, false, 3),
    ];
    for (point, is_write_back, at) in needed {
        let seen = litmus(Some((point, is_write_back)));
        assert_ne!(seen[at], litmus(None)[at], "{point}: {seen:?}");
    }
}

#[test]
fn neighbours_are_protected_together_and_clean_pages_are_let_alone() {
    let mut copies = Copies::default();
    let mut steps = Vec::new();
    copies.raise(4, Access::Read, &mut steps);
    for page in [9, 3, 8] {
        copies.raise(page, Access::Write, &mut steps);
    }
    steps.clear();
    copies.release(Point::Barrier, &mut steps);
    let pages: Vec<u64> = (steps.iter())
        .filter_map(|s| match s {
            Step::Protect { page, access } => (*access == Access::Read).then_some(*page),
            _ => None,
        })
        .collect();
    assert_eq!((pages, steps.len()), (vec![3, 8, 9], 6));
    steps.clear();
    copies.release(Point::Barrier, &mut steps);
    copies.acquire(77, Lines::ALL, Point::Barrier, &mut steps);
    assert!(steps.is_empty());
}

/// A byte of a few pages, each of which several nodes write.
fn byte() -> impl Strategy<Value = (u64, usize)> {
    (0..3u64, 0..2usize, 0..8usize)
        .prop_map(|(page, line, byte)| (page + 1, line * 7 * LINE + byte))
}

#[derive(Clone, Debug)]
enum Act {
    /// The byte's owner in this interval, whichever node that is, writes or reads it.
    Write((u64, usize), u8),
    Read((u64, usize)),
    /// A node adds to a byte under the lock.
    Locked(usize),
    Barrier,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (byte(), any::<u8>()).prop_map(|(at, value)| Act::Write(at, value)),
        4 => byte().prop_map(Act::Read),
        2 => (0..3usize).prop_map(Act::Locked),
        1 => Just(Act::Barrier),
    ];
    prop::collection::vec(act, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Programs without data races read what one process would.
    #[test]
    fn programs_without_races_read_what_was_written(acts in acts()) {
        let mut m = Machine::new(3, None);
        let mut memory: BTreeMap<(u64, usize), u8> = BTreeMap::new();
        let (mut interval, mut sum) = (0u64, 0u8);
        for act in acts {
            // Another owner in each interval; neighbours in a line have different ones.
            let owner = |(page, byte): (u64, usize)| (page + byte as u64 + interval) as usize % 3;
            match act {
                Act::Write(at, value) => {
                    m.uses(owner(at), at.0, Access::Write)[at.1] = value;
                    memory.insert(at, value);
                }
                Act::Read(at) => {
                    let expected = memory.get(&at).copied().unwrap_or(0);
                    prop_assert_eq!(m.uses(owner(at), at.0, Access::Read)[at.1], expected);
                }
                Act::Locked(node) => {
                    m.locked(node, |page| page[5] = page[5].wrapping_add(3));
                    sum = sum.wrapping_add(3);
                }
                Act::Barrier => {
                    m.meet();
                    interval += 1;
                }
            }
        }
        m.meet();
        for n in 0..3 {
            for (at, value) in &memory {
                prop_assert_eq!(m.uses(n, at.0, Access::Read)[at.1], *value);
            }
            prop_assert_eq!(m.uses(n, 0, Access::Read)[5], sum);
        }
    }
}
