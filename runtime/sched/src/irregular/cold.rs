//! What a thread of [`Irregular`] gets when its node's share is empty, or while
//! the loop is probed. Under the center's lock.

use super::state::{lock, Center, Hands};
use super::{Irregular, Step};
use crate::primitive::Ordering;
use crate::ranges::Range;

impl Irregular {
    /// Work for a thread that has found its node's share empty, or a decision
    /// made meanwhile.
    #[cold]
    pub(super) fn take_cold(&self, c: &mut Center, tid: usize, hands: &mut Hands) -> Step {
        if c.probing {
            return self.take_probing(c, tid, hands);
        }
        let node = self.team.node_of(tid);
        let own = self.take_from(c, node, hands);
        let range = own.or_else(|| match c.alone {
            Some(chosen) if chosen == node => None,
            // In the chosen node's own sizes: it is to do most of it.
            Some(chosen) if !self.must_wait(c, chosen, hands) => self.take_from(c, chosen, hands),
            Some(_) => None,
            None if self.steal(node) => self.take_from(c, node, hands),
            None => None,
        });
        if let Some(range) = range {
            return self.run(tid, hands, range, false);
        }
        match c.alone {
            Some(chosen) if chosen != node && self.must_wait(c, chosen, hands) => {
                self.wait(chosen, hands)
            }
            _ => Step::Done,
        }
    }

    /// Sends a thread to sleep while the chosen node has work.
    fn wait(&self, chosen: usize, hands: &mut Hands) -> Step {
        // Before the look at the share: whoever takes the last of it later has
        // the lock after this thread, sees the sleeper, and changes the ticket.
        let ticket = self.news.0.load(Ordering::Acquire);
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        if lock(&self.nodes[chosen].share.0).ranges.is_empty() {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
            return Step::Done;
        }
        hands.waiting = true;
        Step::Wait(ticket)
    }

    /// A thread of the chosen node that is in the loop does the work. Until
    /// there is one, the others do, as it might never come; but where that moves
    /// pages between nodes, only once the driver has lost patience.
    fn must_wait(&self, c: &Center, chosen: usize, hands: &Hands) -> bool {
        !hands.impatient && (c.confined || self.nodes[chosen].arrived.load(Ordering::Acquire))
    }

    fn take_from(&self, c: &Center, node: usize, hands: &mut Hands) -> Option<Range> {
        let mut share = lock(&self.nodes[node].share.0);
        let range = share.take(&mut hands.rest)?;
        hands.period = c.period;
        if share.watched && share.ranges.is_empty() {
            drop(share);
            self.tell();
        }
        Some(range)
    }

    /// Where the probe of thread `tid` is kept, if there is one: its own, or beyond
    /// a link that of its node, which goes to the thread that comes first.
    fn own_probe(&self, c: &Center, tid: usize) -> Option<usize> {
        let kept = |&at: &usize| c.own.get(at).is_some_and(|r| !r.is_empty());
        let node = self.team.node_of(tid);
        if node == self.settings.rules.origin {
            return Some(tid).filter(kept);
        }
        (0..c.own.len()).find(|at| self.team.node_of(*at) == node && kept(at))
    }

    /// Over a known link one thread of each node beyond it probes, and the others
    /// wait meanwhile: all of them at once may move more pages than the whole loop
    /// is worth. Only while somebody probes.
    fn is_held_back(&self, c: &Center, tid: usize, hands: &Hands) -> bool {
        let rules = &self.settings.rules;
        !hands.impatient
            && c.outstanding > 0
            && rules.knows_link()
            && c.periods == 1
            && self.team.node_of(tid) != rules.origin
            && (hands.probed == c.period || self.own_probe(c, tid).is_none())
            && c.strata.iter().any(|s| !s.is_empty())
    }

    /// A chunk of what is not handed out: a probe, once in each period, then
    /// ordinary ones.
    fn take_probing(&self, c: &mut Center, tid: usize, hands: &mut Hands) -> Step {
        let probe = hands.probed != c.period;
        let node = self.team.node_of(tid);
        let strata = c.strata.len();
        // Nodes begin in different places.
        let home = node * strata / self.nodes.len();
        if self.is_held_back(c, tid, hands) {
            // Under the lock that the decision is made under: whoever makes it changes the
            // ticket later.
            let ticket = self.news.0.load(Ordering::Acquire);
            self.sleepers.fetch_add(1, Ordering::Relaxed);
            hands.waiting = true;
            return Step::Wait(ticket);
        }
        let own = self
            .own_probe(c, tid)
            .map(|at| core::mem::take(&mut c.own[at]));
        if let Some(own) = own.filter(|r| probe && !r.is_empty()) {
            hands.rest.push_back(own);
        } else if probe {
            // The threads of a node share the strata, each in one allotment.
            let threads = self.team.nodes()[node].threads as usize;
            let rank = self.team.rank(tid);
            let mine = (strata / threads + usize::from(rank % threads < strata % threads)).max(1);
            let size = (c.chunk / mine as u64).max(1);
            for k in 0..mine {
                let s = (home + rank + k * threads) % strata;
                if let Some(first) = c.strata[s].take(size, &mut hands.more) {
                    hands.rest.push_back(first);
                    hands.rest.append(&mut hands.more);
                }
            }
        }
        let mut first = hands.rest.pop_front();
        let probe = first.is_some();
        if first.is_none() {
            first = (0..strata)
                .find_map(|k| c.strata[(home + k) % strata].take(c.meanwhile, &mut hands.rest));
        }
        if first.is_none() {
            // What is kept for threads that have not come.
            first = c
                .own
                .iter_mut()
                .find(|r| !r.is_empty())
                .map(core::mem::take);
        }
        let Some(range) = first else {
            self.tell();
            return Step::Done;
        };
        hands.period = c.period;
        if probe {
            hands.probed = c.period;
            hands.probing = true;
            c.outstanding += 1;
        }
        self.run(tid, hands, range, probe)
    }
}
