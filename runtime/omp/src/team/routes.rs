//! Which thread signals which in a barrier over nodes that are far apart.
//!
//! A dissemination barrier that goes round all seats crosses between nodes more often than it must: over two nodes its
//! longest chain of signals goes far twice, over four nodes three times. Here a barrier has levels:
//!
//! 1. **Meet.** The threads of each node disseminate among themselves. Then each of them knows that its node is there.
//! 2. **Cross.** Threads of the same rank in their nodes disseminate from node to node. As many ranks do so as the
//!    smallest node has threads, all at the same time. Where nodes have equal sizes, this is the end: no thread leads,
//!    and no thread has to be told by a leader.
//! 3. **Tell.** In larger nodes, the threads that have crossed tell the others: each tells one, then both tell one, and
//!    so on.
//!
//! libHetMP's two levels have one leader a node, who crosses alone: reports to him take as many signals as the first
//! level here, and so does his telling the others.
//!
//! [`Routes::time`] is the longest chain of signals, by which [`Routes::choose`] finds the faster barrier.

/// No seat.
const NONE: u32 = u32::MAX;

/// What one thread does in one round: signals a thread, then waits for a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    to: u32,
    from: u32,
    /// The signal that the thread waits for comes from another node.
    pub(crate) far: bool,
}

impl Hop {
    const REST: Hop = Hop {
        to: NONE,
        from: NONE,
        far: false,
    };

    /// The seat to signal.
    #[inline]
    pub(crate) fn to(&self) -> Option<usize> {
        (self.to != NONE).then_some(self.to as usize)
    }

    /// Does the thread wait for a signal in this round?
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.from != NONE
    }
}

/// The rounds of a barrier, for each seat of a team.
#[derive(Debug)]
pub(crate) struct Routes {
    /// Seat by seat, one for each round.
    hops: Box<[Hop]>,
    rounds: usize,
}

impl Routes {
    fn new(seats: usize, rounds: usize) -> Routes {
        Routes {
            hops: vec![Hop::REST; seats * rounds].into(),
            rounds,
        }
    }

    /// The number of rounds.
    pub(crate) fn rounds(&self) -> usize {
        self.rounds
    }

    /// What the thread on `seat` does, round by round.
    #[inline]
    pub(crate) fn of(&self, seat: usize) -> &[Hop] {
        &self.hops[seat * self.rounds..][..self.rounds]
    }

    fn signal(&mut self, round: usize, nodes: &[u32], from: usize, to: usize) {
        self.hops[from * self.rounds + round].to = to as u32;
        let waiter = &mut self.hops[to * self.rounds + round];
        waiter.from = from as u32;
        waiter.far = nodes[from] != nodes[to];
    }

    /// Dissemination round all seats. `nodes`: the node of each seat.
    pub(crate) fn flat(nodes: &[u32]) -> Routes {
        let all: Vec<usize> = (0..nodes.len()).collect();
        let rounds = rounds(all.len());
        let mut routes = Routes::new(all.len(), rounds);
        routes.disseminate(0, nodes, &all);
        routes
    }

    /// The barrier in levels.
    pub(crate) fn levels(nodes: &[u32]) -> Routes {
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut numbers: Vec<u32> = Vec::new();
        for (seat, &node) in nodes.iter().enumerate() {
            let at = numbers.iter().position(|&n| n == node);
            let at = at.unwrap_or_else(|| {
                numbers.push(node);
                members.push(Vec::new());
                numbers.len() - 1
            });
            members[at].push(seat);
        }
        let largest = members.iter().map(Vec::len).max().unwrap_or(0);
        let cross = members.iter().map(Vec::len).min().unwrap_or(0);
        let (meet, over) = (rounds(largest), rounds(members.len()));
        let tell = rounds(largest.div_ceil(cross.max(1)));
        let mut routes = Routes::new(nodes.len(), meet + over + tell);
        for node in &members {
            routes.disseminate(0, nodes, node);
        }
        for rank in 0..cross {
            let equals: Vec<usize> = members.iter().map(|node| node[rank]).collect();
            routes.disseminate(meet, nodes, &equals);
        }
        for node in &members {
            let mut told = cross;
            for round in meet + over..meet + over + tell {
                for rank in 0..told.min(node.len() - told.min(node.len())) {
                    routes.signal(round, nodes, node[rank], node[told + rank]);
                }
                told *= 2;
            }
        }
        routes
    }

    /// Dissemination among `seats`, from round `first` on.
    fn disseminate(&mut self, first: usize, nodes: &[u32], seats: &[usize]) {
        for round in 0..rounds(seats.len()) {
            for (at, &seat) in seats.iter().enumerate() {
                let to = seats[(at + (1 << round)) % seats.len()];
                self.signal(first + round, nodes, seat, to);
            }
        }
    }

    /// When the last thread goes on, if all arrive at 0 and a signal takes 1 within a node and `far` to another node.
    pub(crate) fn time(&self, far: f64) -> f64 {
        let seats = self.hops.len() / self.rounds.max(1);
        let mut now = vec![0.0f64; seats];
        for round in 0..self.rounds {
            let before = now.clone();
            for (seat, at) in now.iter_mut().enumerate() {
                let hop = self.of(seat)[round];
                if hop.waits() {
                    let way = if hop.far { far } else { 1.0 };
                    *at = at.max(before[hop.from as usize] + way);
                }
            }
        }
        now.into_iter().fold(0.0, f64::max)
    }

    /// The barrier in levels for seats on `nodes`, if it is faster than dissemination round all seats where a signal to
    /// another node takes `far` times as long as one within a node.
    pub(crate) fn choose(nodes: &[u32], far: f64) -> Option<Routes> {
        if nodes.iter().all(|&n| n == nodes[0]) {
            return None;
        }
        let levels = Routes::levels(nodes);
        (levels.time(far) < Routes::flat(nodes).time(far)).then_some(levels)
    }
}

/// `ceil(log2 n)`.
fn rounds(n: usize) -> usize {
    n.max(1).next_power_of_two().trailing_zeros() as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `sizes[i]` seats on node `i`, node after node.
    fn nodes(sizes: &[usize]) -> Vec<u32> {
        let each = sizes.iter().zip(0u32..);
        each.flat_map(|(&size, node)| std::iter::repeat_n(node, size))
            .collect()
    }

    /// Does every thread know at the end that all have arrived?
    fn is_barrier(routes: &Routes, seats: usize) -> bool {
        let mut knows: Vec<Vec<bool>> = (0..seats)
            .map(|me| (0..seats).map(|other| other == me).collect())
            .collect();
        for round in 0..routes.rounds() {
            let before = knows.clone();
            for (seat, known) in knows.iter_mut().enumerate() {
                let hop = routes.of(seat)[round];
                if let Some(to) = hop.to() {
                    assert_eq!(routes.of(to)[round].from as usize, seat, "one signaller");
                }
                if hop.waits() {
                    let from = hop.from as usize;
                    assert_eq!(
                        routes.of(from)[round].to(),
                        Some(seat),
                        "who waits is signalled"
                    );
                    for (mine, theirs) in known.iter_mut().zip(&before[from]) {
                        *mine |= theirs;
                    }
                }
            }
        }
        knows.iter().all(|k| k.iter().all(|&known| known))
    }

    proptest! {
        /// Nodes of any sizes, seats in any order.
        #[test]
        fn all_wait_for_all(mut seats in proptest::collection::vec(0u32..5, 1..40)) {
            for _ in 0..2 {
                prop_assert!(is_barrier(&Routes::flat(&seats), seats.len()));
                prop_assert!(is_barrier(&Routes::levels(&seats), seats.len()));
                seats.sort_unstable();
            }
        }
    }

    #[test]
    fn levels_go_far_once_between_two_nodes() {
        for (sizes, far, flat, levels) in [
            (&[1, 1][..], 8.0, 8.0, 8.0),
            (&[4, 4], 8.0, 17.0, 10.0),
            (&[16, 16], 3.0, 9.0, 7.0),
            (&[8; 8], 5.0, 22.0, 18.0),
            (&[16, 96], 5.0, 19.0, 12.0),
        ] {
            let nodes = nodes(sizes);
            assert_eq!(Routes::flat(&nodes).time(far), flat, "{sizes:?}");
            assert_eq!(Routes::levels(&nodes).time(far), levels, "{sizes:?}");
        }
    }

    #[test]
    fn levels_are_chosen_where_they_are_faster() {
        let chosen = |sizes: &[usize], far| Routes::choose(&nodes(sizes), far).is_some();
        assert!(chosen(&[4, 4], 2.0));
        assert!(!chosen(&[4, 4], 1.0), "as many rounds, none of them far");
        assert!(!chosen(&[8], 9.0), "one node");
        assert!(!chosen(&[1, 1], 9.0), "both barriers are the same");
        assert!(
            !chosen(&[16, 96], 1.0),
            "two rounds more, to tell the others"
        );
        assert!(chosen(&[16, 96], 2.0));
    }
}
