//! The rare calls of [`Irregular`]: work for a thread whose node's share is empty, or while the loop is
//! probed. All under the center's lock.

use super::state::{lock, Center, Hands};
use super::{Irregular, Step};
use crate::primitive::Ordering;
use crate::ranges::Range;

impl Irregular {
    /// Finds work for a thread whose node's share was empty, or after another thread has made a decision.
    #[cold]
    pub(super) fn take_cold(&self, c: &mut Center, tid: usize, hands: &mut Hands) -> Step {
        if c.probing {
            return self.take_probing(c, tid, hands);
        }
        let node = self.team.node_of(tid);
        let own = self.take_from(c, node, hands);
        let range = own.or_else(|| match c.alone {
            Some(chosen) if chosen == node => None,
            // In chunks of the chosen node's sizes, which leave most of the work to that node.
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
        // Read the ticket before the look at the share. A thread that takes the last of the share later gets
        // the lock after this thread, sees the sleeper, and changes the ticket.
        let ticket = self.news.load(Ordering::Acquire);
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        if lock(&self.nodes[chosen].share).ranges.is_empty() {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
            return Step::Done;
        }
        hands.waiting = true;
        Step::Wait(ticket)
    }

    /// Whether a thread of another node must wait while node `chosen` runs the loop alone. Once a thread of
    /// the chosen node is in the loop, the others wait. Before that they work, as that thread might never
    /// come; but where their work would move pages between nodes, they wait until the driver has lost
    /// patience.
    fn must_wait(&self, c: &Center, chosen: usize, hands: &Hands) -> bool {
        !hands.impatient && (c.confined || self.nodes[chosen].arrived.load(Ordering::Acquire))
    }

    fn take_from(&self, c: &Center, node: usize, hands: &mut Hands) -> Option<Range> {
        let mut share = lock(&self.nodes[node].share);
        let range = share.take(&mut hands.rest)?;
        hands.period = c.period;
        if share.watched && share.ranges.is_empty() {
            drop(share);
            self.tell();
        }
        Some(range)
    }

    /// Takes a chunk of the iterations that are not handed out: the thread's probe, once in each period, then
    /// ordinary chunks.
    fn take_probing(&self, c: &mut Center, tid: usize, hands: &mut Hands) -> Step {
        let probe = hands.probed != c.period;
        let node = self.team.node_of(tid);
        let strata = c.strata.len();
        // Nodes begin in different places of the loop.
        let home = node * strata / self.nodes.len();
        if probe {
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
        let Some(range) = first else {
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
