//! The rare calls of [`Irregular`]: work for a thread whose node's share is empty, or while the loop is
//! probed. All under the center's lock.

use super::state::{lock, Center, Hands};
use super::{Irregular, Step};

impl Irregular {
    /// Finds work for a thread whose node's share was empty, or after another thread has made a decision.
    #[cold]
    pub(super) fn take_cold(&self, c: &mut Center, tid: usize, hands: &mut Hands) -> Step {
        if c.probing {
            return self.take_probing(c, tid, hands);
        }
        let node = self.team.node_of(tid);
        loop {
            // Until a thread of the only node is inside, others work, in chunks of that node's sizes: it might never
            // come. One that is inside leaves nothing behind.
            let from = match c.alone {
                Some(only) if only == node || !self.arrived(only) => only,
                Some(_) => return Step::Done,
                None => node,
            };
            let mut share = lock(&self.nodes[from].share);
            if let Some(range) = share.take(&mut hands.rest) {
                hands.period = c.period;
                drop(share);
                return self.run(tid, hands, range, false);
            }
            drop(share);
            if c.alone.is_some() || !self.steal(node) {
                return Step::Done;
            }
        }
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
