//! Prefetching: which pages a node will want next, so that they come in bulk, with one fault or in one message.
//!
//! A fault wakes threads of two nodes, which costs more than transferring the page. Two things tell what a node wants
//! besides the page that it asks for:
//!
//! * **What it wanted before.** Between two points where all nodes meet (the beginning or end of a region, a barrier: a
//!   *phase*) a node wants a set of pages. If it wants one of them in a later phase, it gets the others with it.
//! * **Succession.** After [`LEAST`] faults on successive pages in a phase the next ones come along, half as many as
//!   have come so far and at most [`MOST`]. If the node then stops, where its part of an array ends, what came in vain
//!   is at most half of what it needed.
//!
//! **Trust.** A page that came along does not fault, so nobody sees whether it was needed. Therefore it comes along for
//! a number of times only, and then must be wanted by a fault again. That number doubles with each such fault, up to
//! [`TRUST`]. A page that is not needed any more came at most that often in vain. A page that nodes take from each
//! other within a phase is not trusted.
//!
//! Pure: faults come in, runs of pages go out.
#![forbid(unsafe_code)]

use crate::by_page::ByPage;
use crate::Access;
use std::collections::BTreeMap;

/// Successive pages before the next ones come along.
const LEAST: u64 = 4;
/// Pages that come along with one fault because they are next.
const MOST: u64 = 256;
/// Successions that a node is in at once: its threads read and write several arrays.
const SUCCESSIONS: usize = 8;
/// Times that a page comes along before it must be wanted again.
const TRUST: u8 = 64;
/// Pages of one set. What a node wants beyond that in a phase is data that it gets to know, not data that goes to and
/// fro.
const SET: usize = 4096;
/// Pages that are remembered. Then all are forgotten.
const KNOWN: usize = 1 << 16;

/// Pages in succession that a node will want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) count: u64,
    pub(crate) access: Access,
}

impl Run {
    /// The pages' numbers.
    pub(crate) fn pages(self) -> core::ops::Range<u64> {
        self.first..self.first + self.count
    }
}

/// Pages that were wanted one after the other.
#[derive(Clone, Copy, Debug)]
struct Succession {
    access: Access,
    /// The page that was wanted last, and the one behind those that came along.
    last: u64,
    next: u64,
    /// Pages that have come.
    len: u64,
    /// When it last went on, as a count of faults.
    when: u64,
}

/// What is remembered of a page that the node wanted, in one way.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The phase of the set that it was last in.
    set: u64,
    /// The phase in which it last came, or was wanted by a fault.
    here: u64,
    /// How often it may still come along, and how often it might after the last fault.
    left: u8,
    trust: u8,
}

/// A page, and how a node wanted it.
type Want = (u64, Access);

/// What one node has wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets {
    phase: u64,
    /// What it wanted in this phase, or got.
    now: Vec<Want>,
    /// By phase: what it wanted then, if it has not wanted any of it since.
    before: BTreeMap<u64, Vec<Want>>,
    known: ByPage<Known, Want>,
    successions: Vec<Succession>,
    faults: u64,
}

impl Sets {
    /// In this phase a thread wants `page`, which is on another node. Returns what is to come along. Phases ascend.
    pub(crate) fn fault(&mut self, phase: u64, page: u64, access: Access) -> Vec<Run> {
        if phase != self.phase {
            self.close(phase);
        }
        self.faults += 1;
        let want = (page, access);
        let known = self.known.entry(want).or_default();
        let last = core::mem::replace(&mut known.set, phase);
        // It was here in this phase: another node has taken it away.
        known.trust = match core::mem::replace(&mut known.here, phase) == phase {
            true => 0,
            false => (known.trust * 2).clamp(1, TRUST),
        };
        known.left = known.trust;
        if last != phase {
            self.note(want);
        }
        match self.before.remove(&last) {
            Some(set) => self.again(set, want),
            None => self.next(page, access).into_iter().collect(),
        }
    }

    /// A page came along in this phase.
    pub(crate) fn came(&mut self, page: u64, access: Access) {
        if let Some(known) = self.known.get_mut(&(page, access)) {
            known.here = self.phase;
        }
    }

    /// A phase begins.
    fn close(&mut self, phase: u64) {
        if self.known.len() > KNOWN {
            *self = Sets::default();
        }
        for s in core::mem::take(&mut self.successions) {
            self.end(s);
        }
        if !self.now.is_empty() {
            let set = core::mem::take(&mut self.now);
            self.before.insert(self.phase, set);
        }
        self.phase = phase;
    }

    fn note(&mut self, want: Want) {
        if self.now.len() < SET {
            self.now.push(want);
        }
    }

    /// A succession goes on no more: what came behind its last fault may have come in vain.
    fn end(&mut self, s: Succession) {
        for page in s.last + 1..s.next {
            if let Some(known) = self.known.get_mut(&(page, s.access)) {
                (known.left, known.trust) = (0, 0);
            }
        }
    }

    /// The node wants the page of a set again: what else of it is to come.
    fn again(&mut self, set: Vec<Want>, first: Want) -> Vec<Run> {
        let mut pages = BTreeMap::new();
        for want in set {
            let Some(known) = self.known.get_mut(&want) else {
                continue;
            };
            if want == first || known.left == 0 {
                continue;
            }
            known.left -= 1;
            known.set = self.phase;
            self.note(want);
            // What is read and then written comes for writing.
            let access = pages.entry(want.0).or_insert(want.1);
            *access = want.1.max(*access);
        }
        let mut runs: Vec<Run> = Vec::new();
        for (page, access) in pages {
            match runs.last_mut() {
                Some(run) if run.pages().end == page && run.access == access => run.count += 1,
                _ => runs.push(Run {
                    first: page,
                    count: 1,
                    access,
                }),
            }
        }
        runs
    }

    /// The node wants a page that is in no set: what is to come if it goes on from there.
    fn next(&mut self, page: u64, access: Access) -> Option<Run> {
        let when = self.faults;
        let goes_on =
            |s: &&mut Succession| s.access == access && (s.last + 1..=s.next).contains(&page);
        let Some(s) = self.successions.iter_mut().find(goes_on) else {
            let fresh = Succession {
                access,
                last: page,
                next: page + 1,
                len: 1,
                when,
            };
            if self.successions.len() < SUCCESSIONS {
                self.successions.push(fresh);
            } else if let Some(oldest) = self.successions.iter_mut().min_by_key(|s| s.when) {
                let ended = core::mem::replace(oldest, fresh);
                self.end(ended);
            }
            return None;
        };
        let len = s.len + 1;
        let count = if len < LEAST { 0 } else { (len / 2).min(MOST) };
        *s = Succession {
            access,
            last: page,
            next: page + 1 + count,
            len: len + count,
            when,
        };
        let run = Run {
            first: page + 1,
            count,
            access,
        };
        for page in run.pages() {
            let known = self.known.entry((page, access)).or_default();
            known.set = self.phase;
            known.left = known.left.max(1);
            known.trust = known.trust.max(1);
            self.note((page, access));
        }
        (count > 0).then_some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use Access::{Read, Write};

    /// A node that wants pages in this order in a phase: how many faults that takes, and what came.
    fn phase(sets: &mut Sets, phase: u64, wants: &[Want]) -> (usize, BTreeSet<u64>) {
        let (mut count, mut here) = (0, BTreeMap::new());
        for &(page, access) in wants {
            if here.get(&page).is_none_or(|a| *a < access) {
                count += 1;
                here.insert(page, access);
                for run in sets.fault(phase, page, access) {
                    here.extend(run.pages().map(|p| (p, run.access)));
                }
            }
        }
        (count, here.into_keys().collect())
    }

    fn reads(pages: impl Iterator<Item = u64>) -> Vec<Want> {
        pages.map(|p| (p, Read)).collect()
    }

    #[test]
    fn pages_in_succession_come_along() {
        let (count, here) = phase(&mut Sets::default(), 1, &reads(0..10_000));
        assert!(count < 60, "{count}");
        assert!(here.len() as u64 <= 10_000 + MOST);
        // Three arrays at once.
        let three = reads((0..10_000).flat_map(|i| [i, 100_000 + i, 200_000 + i]));
        let (count, _) = phase(&mut Sets::default(), 1, &three);
        assert!(count < 3 * 60, "{count}");
    }

    #[test]
    fn what_comes_in_vain_is_at_most_half() {
        for len in 1..1000 {
            let (_, here) = phase(&mut Sets::default(), 1, &reads(0..len));
            assert!(here.len() as u64 <= len + len / 2, "{len}");
        }
    }

    #[test]
    fn other_orders_bring_nothing_along() {
        for order in [
            reads((0..500).map(|i| i * 7919 % 100_003)),
            reads((0..500).rev()),
            reads((0..500).map(|i| 2 * i)),
        ] {
            assert_eq!(phase(&mut Sets::default(), 1, &order).0, 500);
        }
    }

    /// Two phases in turn, each with pages of its own, some of which are read and then written.
    #[test]
    fn what_was_wanted_together_comes_together() {
        let mut sets = Sets::default();
        let one: Vec<Want> = (0..100u64)
            .flat_map(|i| [(i * 31, Read), (i * 31, Write), (7000 + 2 * i, Write)])
            .collect();
        let other = reads((0..100).map(|i| 20_000 + 3 * i));
        let mut faults = Vec::new();
        for lap in 0..200 {
            faults.push(phase(&mut sets, 2 * lap + 1, &one).0);
            faults.push(phase(&mut sets, 2 * lap + 2, &other).0);
        }
        assert_eq!(faults[..2], [300, 100]);
        assert_eq!(faults[2..4], [1, 1]);
        // Each page must fault again after 1, 2, 4, ... 64 times.
        let all: usize = faults.iter().sum();
        assert!(all < 400 * 9 + 400, "{all}");
        // Nothing comes that was not in the set.
        assert_eq!(phase(&mut sets, 1000, &other).1.len(), 100);
    }

    #[test]
    fn what_is_needed_no_more_stops_coming() {
        let mut sets = Sets::default();
        let all = reads((0..50).map(|i| 3 * i));
        (1..400).for_each(|n| {
            phase(&mut sets, n, &all);
        });
        let (mut vain, mut lap) = (0, 400);
        loop {
            let came = phase(&mut sets, lap, &all[..1]).1.len() - 1;
            if came == 0 {
                break;
            }
            (vain, lap) = (vain + came, lap + 1);
        }
        assert!(vain <= 49 * usize::from(TRUST), "{vain}");
    }

    /// A page that came along and was taken away again comes less often than it is wanted.
    #[test]
    fn a_page_that_nodes_fight_for_is_left_to_them() {
        let mut sets = Sets::default();
        let (mut came, mut wanted) = (0, 0);
        for n in 1..=100 {
            for run in sets.fault(n, 0, Read) {
                came += usize::from(run.pages().contains(&9));
                run.pages().for_each(|p| sets.came(p, run.access));
            }
            // Whether it came or not, this node wants it once more.
            (0..3).for_each(|_| {
                sets.fault(n, 9, Write);
                wanted += 1;
            });
        }
        assert!(came * 4 <= wanted, "{came} {wanted}");
    }

    /// Two nodes whose pages come at once, and what each of them wants.
    struct Pair {
        nodes: [crate::Node; 2],
        sets: [Sets; 2],
        faults: usize,
        moved: usize,
    }

    impl Pair {
        fn want(&mut self, node: usize, page: u64, access: Access) {
            let mut mail = vec![(node, None)];
            while let Some((at, message)) = mail.pop() {
                let mut out = Vec::new();
                match message {
                    None => self.nodes[at].fault(page, access, &mut out),
                    Some((from, message)) => {
                        self.moved += usize::from(matches!(message, crate::Message::Page { .. }));
                        (self.nodes[at].receive(from, message, &mut out)).expect("it fits");
                    }
                }
                self.nodes[at].release(page, &mut out);
                for action in out {
                    if let crate::Action::Send { to, message } = action {
                        mail.push((to.into(), Some((at as u8, message))));
                    }
                }
            }
        }

        /// A thread of the node uses the page.
        fn uses(&mut self, phase: u64, node: usize, page: u64, access: Access, along: bool) {
            if self.nodes[node].access(page) >= access {
                return;
            }
            self.faults += 1;
            self.want(node, page, access);
            if along {
                for run in self.sets[node].fault(phase, page, access) {
                    for page in run.pages() {
                        if self.nodes[node].access(page) < run.access {
                            self.want(node, page, run.access);
                            self.sets[node].came(page, run.access);
                        }
                    }
                }
            }
        }
    }

    /// A stencil over rows of 8 pages, half of them each node's: the rows where the halves meet go to and fro.
    #[test]
    fn a_stencil_costs_few_faults_and_moves_what_it_needs() {
        const ROWS: u64 = 16;
        let sweeps = |along: bool| {
            let homes = crate::Homes::all_at(0);
            let mut pair = Pair {
                nodes: [0, 1].map(|n| crate::Node::new(n, 2, homes.clone())),
                sets: Default::default(),
                faults: 0,
                moved: 0,
            };
            for sweep in 0..100 {
                let (from, to) = (sweep % 2 * 1000, (sweep + 1) % 2 * 1000);
                for i in 0..ROWS / 2 {
                    for node in 0..2 {
                        let row = node * ROWS / 2 + i;
                        if row == 0 || row == ROWS - 1 {
                            continue;
                        }
                        for page in 0..8 {
                            for near in row - 1..=row + 1 {
                                let at = from + near * 8 + page;
                                pair.uses(sweep + 1, node as usize, at, Read, along);
                            }
                            let at = to + row * 8 + page;
                            pair.uses(sweep + 1, node as usize, at, Write, along);
                        }
                    }
                }
            }
            (pair.faults, pair.moved)
        };
        let (alone, together) = (sweeps(false), sweeps(true));
        println!("{alone:?} {together:?}");
        assert!(together.0 * 4 < alone.0, "{alone:?} {together:?}");
        assert!(together.1 * 10 < alone.1 * 11, "{alone:?} {together:?}");
    }

    #[test]
    fn memory_is_bounded() {
        let mut sets = Sets::default();
        for n in 1..3000u64 {
            for i in 0..100 {
                sets.fault(n, (n * 100 + i) * 2, Read);
            }
        }
        assert!(sets.known.len() <= KNOWN + 100);
        let all: usize = sets.before.values().map(Vec::len).sum();
        assert!(all <= KNOWN + 100, "{all}");
    }
}
