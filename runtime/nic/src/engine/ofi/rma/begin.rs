//! Which operations the provider executes in a peer's memory by itself, and how they begin: the part of [`Rma`] that
//! the link asks before a request is built.
//!
//! What this part refuses goes as a request. What it begins ends in the completions that the parent module takes.

use super::super::endpoint::{Posted, Tell};
use super::super::lane::Held;
use super::super::slots::Use;
use super::{lost, Rma, SHORT};
use crate::descriptor::{Descriptor, Key, Source, Work};
use crate::engine::tcp::direct::{Begun, Direct, Kept};
use crate::engine::with_source;
use crate::execute::LocalPart;
use core::ptr::null_mut;

impl Rma {
    /// True if the bytes lie in the rank's memory, which is equally long in every rank.
    fn holds(&self, rank: u32, key: Key, address: u64, len: u64) -> bool {
        let Some(target) = self.targets.get(rank as usize) else {
            return false;
        };
        let size = self.memory.1 as u64;
        let offset = address.wrapping_sub(target.origin);
        key == self.keys.remote && offset <= size && len <= size - offset
    }

    /// True if a word that the target may poll could arrive in two parts. A stream may split it; the peer's software
    /// would not.
    fn may_tear(&self, address: u64, len: u32) -> bool {
        let word = matches!(len, 2 | 4 | 8) && address % u64::from(len) == 0;
        word && self.endpoint.facts().streams
    }

    /// True if a put would have to wait for one that is under way, which a message has not to.
    fn is_behind(&self, len: u32) -> bool {
        len <= SHORT && self.under_way > 0 && self.endpoint.facts().one_write
    }
}

impl Direct for Rma {
    fn keeps_order(&self) -> Kept {
        let f = self.endpoint.facts();
        Kept {
            put: f.waw,
            get: f.raw,
            request: f.saw,
        }
    }

    fn takes(&self, d: &Descriptor) -> bool {
        let fits = |n: u32| n > 0 && n as usize <= self.endpoint.facts().longest;
        // Memory that stays registered as long as the engine runs, under this process's addresses.
        let stays = |key: Key| key == self.keys.local;
        match &d.work {
            Work::Put {
                source,
                remote,
                signal: None,
            } => {
                let n = source.len();
                let here = match source {
                    Source::Memory(local, _) => stays(local.key),
                    Source::Inline(_) => n as usize <= self.endpoint.facts().inject,
                };
                here && fits(n)
                    && self.holds(d.peer, remote.key, remote.address, u64::from(n))
                    && !self.may_tear(remote.address, n)
                    && !self.is_behind(n)
            }
            Work::Get {
                local,
                length,
                remote,
            } => {
                stays(local.key)
                    && fits(*length)
                    && self.holds(d.peer, remote.key, remote.address, u64::from(*length))
            }
            _ => false,
        }
    }

    fn begin(&mut self, id: u64, d: &Descriptor, local: &LocalPart<'_>) -> Begun {
        let rank = d.peer as usize;
        let target = self.targets[rank];
        let reads = matches!(d.work, Work::Get { .. });
        if !reads {
            self.touch(rank);
        }
        if self.ahead.waits(rank) {
            return Begun::Busy;
        }
        if self.holds_back(rank) {
            match self.let_go(rank, !reads) {
                Posted::Yes => {}
                Posted::Busy => return Begun::Busy,
                Posted::Failed(_) => return Begun::Refused(lost(rank)),
            }
        }
        let (cq_data, inject) = {
            let f = self.endpoint.facts();
            (f.cq_data, f.inject)
        };
        let slot = self.slots.take(Use::Direct(id, rank, 0));
        let mut kept = false;
        let (posted, freed) = match (&d.work, local) {
            (Work::Put { remote, .. }, _) => with_source(local, |from, n| {
                let inject = n <= inject;
                let descriptor = match inject {
                    true => Ok(null_mut()),
                    false => self.describe(slot, from, n),
                };
                let at = (target.of(remote.address), target.key);
                let data = cq_data.then_some(remote.address);
                let held = |descriptor| Held {
                    id,
                    slot,
                    from,
                    len: n,
                    descriptor,
                    at,
                    data,
                };
                let posted = match (descriptor, self.lanes.get_mut(rank)) {
                    (Ok(descriptor), Some(lane)) if !inject => {
                        lane.held = Some(held(descriptor));
                        Posted::Yes
                    }
                    // SAFETY: the source was found in bounds. Its initiator leaves it alone until it hears that the
                    // source is free: after an injection at once, else at the completion. Slots live as long as the
                    // endpoint.
                    (Ok(descriptor), _) => unsafe {
                        let tell = match inject {
                            true => Tell::ArrivedOfCopy,
                            false => Tell::Arrived,
                        };
                        self.endpoint.write(
                            from,
                            n,
                            descriptor,
                            target.peer,
                            at,
                            data,
                            tell,
                            slot.cast(),
                        )
                    },
                    (Err(e), _) => Posted::Failed(e),
                };
                // Bytes of the descriptor itself are gone when this returns. Memory is there until it is said to be
                // free.
                let stays = matches!(local, LocalPart::Read(_));
                if posted == Posted::Busy && stays && self.ahead.may_wait(rank) {
                    return match self.describe(slot, from, n) {
                        Ok(descriptor) => {
                            self.ahead.keep(rank, held(descriptor));
                            kept = true;
                            (Posted::Yes, false)
                        }
                        Err(e) => (Posted::Failed(e), false),
                    };
                }
                (posted, inject)
            }),
            (Work::Get { remote, .. }, LocalPart::Write(to)) => {
                let at = (target.of(remote.address), target.key);
                let posted = match self.describe(slot, to.start(), to.len()) {
                    // SAFETY: the target was found in bounds, and its initiator leaves it alone until the completion
                    // comes. Slots live as long as the endpoint.
                    Ok(descriptor) => unsafe {
                        self.endpoint.read(
                            to.start(),
                            to.len(),
                            descriptor,
                            target.peer,
                            at,
                            slot.cast(),
                        )
                    },
                    Err(e) => Posted::Failed(e),
                };
                (posted, false)
            }
            _ => (Posted::Failed(libc::EINVAL), false),
        };
        match posted {
            Posted::Yes => {
                self.under_way += 1;
                if !kept {
                    self.ahead.went(rank);
                }
                if reads && self.touched.is_some() {
                    self.read_from.push(rank);
                }
                if let Some(lane) = self
                    .lanes
                    .get_mut(rank)
                    .filter(|l| !reads && l.held.is_none())
                {
                    // SAFETY: this object owns its slots. The provider uses the context in front, not this field.
                    unsafe { (*slot).what = Use::Direct(id, rank, lane.went()) };
                }
                return Begun::UnderWay { freed };
            }
            Posted::Busy => {
                self.slots.give_back(slot);
                self.touch(rank);
            }
            Posted::Failed(_) => {
                self.slots.give_back(slot);
                return Begun::Refused(lost(rank));
            }
        }
        self.busy = true;
        Begun::Busy
    }

    #[inline]
    fn has_room(&self, peer: usize) -> bool {
        !self.ahead.waits(peer)
    }

    fn flush(&mut self, peer: usize) {
        self.let_go(peer, false);
    }
}
