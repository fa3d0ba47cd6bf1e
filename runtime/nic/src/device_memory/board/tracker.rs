//! The initiator's side: what a queue pair has written since its last fences, and the pairs that it has pinned.

use super::{Access, Board, Kind, Race, ENTRIES, REMEMBERED};
use crate::descriptor::{Fetch, Signal, Source, Work};
use crate::device_memory::sources::Sources;
use crate::domain::Domain;
use hetmp_core::hash::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// A pair that a tracker has pinned.
#[derive(Debug)]
struct Pin {
    peer: u32,
    place: (usize, u64),
    /// Later writes to these ranks are ordered after both.
    before: Before,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// Later writes to the same rank: there was a fence.
    Same,
    /// Any later write: everything was done.
    Any,
}

/// The writes of one queue pair since its last fences.
#[derive(Debug)]
pub(crate) struct Tracker {
    rank: u32,
    boards: Arc<[Board]>,
    /// Pairs whose data may be on the way yet. A pair is withdrawn when a write is posted behind both: who waits for
    /// that write may read the data.
    pins: VecDeque<Pin>,
    /// The queue pair's number, and what it shares with its adapter.
    queue: u32,
    sources: Option<(Arc<Sources>, Arc<Domain>)>,
    /// By target's rank; the oldest write first.
    unfenced: HashMap<u32, VecDeque<Access>>,
    /// The place in the program of what is posted next; 0: do not report it.
    pub(crate) site: u64,
}

impl Tracker {
    pub(crate) fn new(rank: u32, boards: Arc<[Board]>) -> Tracker {
        Tracker {
            rank,
            boards,
            pins: VecDeque::new(),
            queue: 0,
            sources: None,
            unfenced: HashMap::default(),
            site: 0,
        }
    }

    /// Also looks after the sources of puts, and lists the puts on the boards of their targets. The adapter of `queue`
    /// shares `sources`.
    pub(crate) fn watching(
        self,
        queue: u32,
        sources: Arc<Sources>,
        domain: Arc<Domain>,
    ) -> Tracker {
        Tracker {
            queue,
            sources: Some((sources, domain)),
            ..self
        }
    }

    /// Records a descriptor. Called before the descriptor is announced.
    pub(crate) fn posted(&mut self, ticket: u64, peer: u32, work: &Work) {
        match work {
            Work::Put {
                source,
                remote,
                signal,
            } => {
                self.departs(ticket, peer, source, remote.address);
                let data = (Kind::Put, remote.address, source.len());
                self.wrote(peer, data, signal.is_none());
                if let Some(Signal { remote, .. }) = signal {
                    self.wrote(peer, (Kind::Signal, remote.address, 8), false);
                }
            }
            Work::Atomic(a) => {
                let word = (Kind::Atomic, a.remote.address, a.width.bytes());
                self.wrote(peer, word, a.fetch == Fetch::No);
            }
            Work::Fence => {
                self.unfenced.remove(&peer);
                for pin in &mut self.pins {
                    if pin.peer == peer && pin.before == Before::Nothing {
                        pin.before = Before::Same;
                    }
                }
            }
            Work::Nop
            | Work::Get { .. }
            | Work::Send { .. }
            | Work::Wait { .. }
            | Work::Count { .. }
            | Work::Compute { .. } => {}
        }
    }

    /// A put is about to be announced.
    pub(crate) fn departs(&mut self, ticket: u64, peer: u32, source: &Source, remote: u64) {
        let Some((sources, domain)) = self.sources.as_ref().filter(|_| self.site != 0) else {
            return;
        };
        let put = Access {
            kind: Kind::Put,
            site: self.site,
            address: remote,
            len: source.len(),
        };
        if let Some(board) = self.boards.get(peer as usize) {
            board.depart(self.rank, &put, self.epoch());
        }
        if let Source::Memory(local, len) = source {
            sources.posted(
                domain,
                (self.queue, ticket),
                (self.site, peer),
                (*local, *len),
            );
        }
    }

    fn epoch(&self) -> u16 {
        self.boards.get(self.rank as usize).map_or(0, Board::epoch)
    }

    /// A write to `peer` is posted: withdraws the pairs that lie before it.
    fn withdraw(&mut self, peer: u32) {
        let boards = &self.boards;
        self.pins.retain(|pin| {
            let over = match pin.before {
                Before::Nothing => false,
                Before::Same => pin.peer == peer,
                Before::Any => true,
            };
            if let (true, Some(board)) = (over, boards.get(pin.peer as usize)) {
                board.withdraw(pin.place);
            }
            !over
        });
    }

    /// `open`: the write is remembered, because nothing orders later writes after it.
    pub(crate) fn wrote(&mut self, peer: u32, write: (Kind, u64, u32), open: bool) {
        let (kind, address, len) = write;
        if self.site == 0 || len == 0 {
            return;
        }
        let flag = Access {
            kind,
            site: self.site,
            address,
            len,
        };
        self.withdraw(peer);
        let epoch = self.epoch();
        let before = self.unfenced.entry(peer).or_default();
        for first in before.iter() {
            let same_word = first.overlaps(address, len);
            // A signal changes its word atomically, like an atomic.
            if same_word && first.kind != Kind::Put && kind != Kind::Put {
                continue;
            }
            let race = Race {
                initiator: self.rank,
                first: *first,
                flag,
            };
            let board = self.boards.get(peer as usize);
            if let Some(place) = board.and_then(|b| b.pin(&race, epoch)) {
                if self.pins.len() == ENTRIES {
                    // The board has room for as many: the oldest was most likely overwritten.
                    if let (Some(old), Some(b)) = (self.pins.pop_front(), board) {
                        if old.peer == peer {
                            b.withdraw(old.place);
                        }
                    }
                }
                self.pins.push_back(Pin {
                    peer,
                    place,
                    before: Before::Nothing,
                });
            }
        }
        if open {
            if before.len() == REMEMBERED {
                before.pop_front();
            }
            before.push_back(flag);
        }
    }

    /// The queue pair is quiet: every write is done, so nothing is unordered.
    pub(crate) fn quiet(&mut self) {
        self.unfenced.clear();
        for pin in &mut self.pins {
            pin.before = Before::Any;
        }
    }
}
