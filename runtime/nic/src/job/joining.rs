//! Joining: this process makes its segment, tells its peers where the segment is, and maps theirs.
//!
//! Segments are mapped once and never unmapped; cards that ranks exchange compare sizes before an address in a peer's
//! segment is computed.

use super::way::{plan, Plan};
use super::{Exchange, Job, Peer, Request};
use crate::descriptor::Key;
use crate::device_memory::board::BOARD_BYTES;
use crate::domain::{Arrival, Domain, Domains, Sizes};
use crate::engine::TemplateKeys;
use crate::keys::{Memory, Rights};
use core::sync::atomic::AtomicBool;
use hetmp_core::page;
use hetmp_core::segment::Segment;
use std::sync::{Arc, Mutex, OnceLock};

/// Under this name a rank publishes where its segment is, with its user's note.
const CARD: &str = "nic.card";

/// What a rank publishes: where its segment is, and its user's note.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Card {
    pid: u32,
    fd: i32,
    memory: usize,
    sizes: Sizes,
    note: Vec<u8>,
}

impl Card {
    fn encode(&self) -> Vec<u8> {
        let s = &self.sizes;
        let head = format!(
            "{} {} {} {} {} {} {}\n",
            self.pid, self.fd, self.memory, s.ports, s.regions, s.messages, s.counters
        );
        [head.as_bytes(), &self.note].concat()
    }

    fn parse(text: &[u8]) -> Option<Card> {
        let end = text.iter().position(|b| *b == b'\n')?;
        let mut words = core::str::from_utf8(&text[..end]).ok()?.split(' ');
        let mut next = || words.next();
        let card = Card {
            pid: next()?.parse().ok()?,
            fd: next()?.parse().ok()?,
            memory: next()?.parse().ok()?,
            sizes: Sizes {
                ports: next()?.parse().ok()?,
                regions: next()?.parse().ok()?,
                messages: next()?.parse().ok()?,
                counters: next()?.parse().ok()?,
            },
            note: text[end + 1..].to_vec(),
        };
        words.next().is_none().then_some(card)
    }
}

/// Bytes of a rank's block, which follows its user's memory.
pub(super) fn block_bytes(sizes: Sizes, ranks: usize) -> usize {
    Domain::bytes(sizes, ranks).next_multiple_of(page::LARGEST) + BOARD_BYTES
}

/// A process that has made its segment and does not know the others yet.
pub struct Joining<'a> {
    request: Request<'a>,
    plan: Plan,
    own: Segment,
    fd: i32,
}

/// Why a job cannot begin.
#[derive(Debug)]
pub enum Refused {
    /// The request cannot be fulfilled: one line.
    Way(String),
    /// There is no memory for the segment.
    Memory {
        /// Its length in bytes.
        bytes: usize,
        /// Why.
        error: std::io::Error,
    },
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Refused::Way(text) => f.write_str(text),
            Refused::Memory { bytes, error } => {
                write!(f, "shared memory of {bytes} bytes: {error}")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Decides which engine is needed, and makes this process's segment.
///
/// # Errors
/// The request cannot be fulfilled, or there is no memory.
pub fn begin<'a>(
    request: Request<'a>,
    exchange: &mut dyn Exchange,
) -> Result<Joining<'a>, Refused> {
    let mut plan = plan(&request, exchange).map_err(Refused::Way)?;
    let len = request.memory.next_multiple_of(page::LARGEST)
        + block_bytes(request.sizes, exchange.size() as usize);
    let own = Segment::create(request.name, len, request.align)
        .map_err(|error| Refused::Memory { bytes: len, error })?;
    let Some(fd) = own.file() else {
        unreachable!("a segment that was created has its file")
    };
    if let Plan::Ofi(fabric, _) = &mut plan {
        let memory = Memory {
            here: own.base(),
            len: request.memory,
            base: 0,
        };
        // SAFETY: the segment stays mapped as long as the process, and its user expects peers to write there.
        unsafe { fabric.enter(memory, exchange) }.map_err(Refused::Way)?;
    }
    Ok(Joining {
        request,
        plan,
        own,
        fd,
    })
}

/// Checks another rank before its memory is mapped: gets its number, whether it runs on this machine, and its user's
/// note. An error ends the joining.
pub type Check<'a> = dyn FnMut(u32, bool, &[u8]) -> Result<(), String> + 'a;

/// Called when something arrives at a rank: see `Domain::on_arrival`.
pub type Handler = Box<dyn Fn(&Arrival) + Send + Sync>;

impl Joining<'_> {
    /// The user's memory in this process's segment: zero until the user writes there.
    pub fn base(&self) -> *mut u8 {
        self.own.base()
    }

    /// The descriptor of the segment's file.
    pub fn file(&self) -> i32 {
        self.fd
    }

    /// Publishes where this process's memory is, with `note`, and maps the memory of the ranks on this machine.
    ///
    /// `check` sees every other rank's note before its memory is mapped. `handler` gets the number of each rank that
    /// is mapped here and the address of its memory, and returns what to call when something arrives at that rank.
    ///
    /// # Errors
    /// One line: a peer cannot be mapped or has other sizes, the launcher is lost, or `check` refused a peer.
    pub fn meet(
        self,
        exchange: &mut dyn Exchange,
        note: &[u8],
        check: &mut Check<'_>,
        handler: &dyn Fn(u32, *mut u8) -> Option<Handler>,
    ) -> Result<Job, String> {
        let Joining {
            request,
            plan,
            own,
            fd,
        } = self;
        let (rank, size) = (exchange.rank(), exchange.size());
        let member = request.member;
        let card = Card {
            pid: std::process::id(),
            fd,
            memory: request.memory,
            sizes: request.sizes,
            note: note.to_vec(),
        };
        exchange
            .put(CARD, &card.encode())
            .and_then(|()| exchange.fence())
            .map_err(|e| e.to_string())?;
        let local: Vec<u32> = exchange.local_ranks().to_vec();
        let mut own = Some(own);
        let (mut peers, mut cards) = (Vec::new(), Vec::new());
        for r in 0..size {
            let is_local = local.contains(&r);
            if r == rank {
                peers.push(Peer {
                    segment: own.take(),
                    local: true,
                });
                cards.push(Some((card.pid, card.fd)));
                continue;
            }
            let theirs = exchange
                .get(r, CARD)
                .map_err(|e| format!("{member} {r}: {e}"))?
                .and_then(|text| Card::parse(&text));
            let Some(theirs) = theirs else {
                return Err(format!(
                    "{member} {r}: it did not say where its memory is (expected a process that joins the job in the \
                        same way)"
                ));
            };
            check(r, is_local, &theirs.note)?;
            if (theirs.memory, theirs.sizes) != (card.memory, card.sizes) {
                return Err(format!(
                    "{member} {r}: shared memory of {} bytes (expected as much as of {member} {rank}, {})",
                    theirs.memory, card.memory
                ));
            }
            let segment =
                if plan.maps() && is_local {
                    let len = card.memory.next_multiple_of(page::LARGEST)
                        + block_bytes(card.sizes, size as usize);
                    let opened = Segment::open(theirs.pid, theirs.fd, len, request.align);
                    Some(opened.map_err(|e| {
                        format!("{member} {r}: memory of process {}: {e}", theirs.pid)
                    })?)
                } else {
                    None
                };
            cards.push(segment.as_ref().map(|_| (theirs.pid, theirs.fd)));
            peers.push(Peer {
                segment,
                local: is_local,
            });
        }
        let (domains, keys) = domains(rank as usize, &request, &peers, handler);
        // After this fence all ranks have opened all segments, so that a rank may end and take its file along, and
        // all ranks have registered their memory.
        exchange.fence().map_err(|e| e.to_string())?;
        Ok(Job {
            rank,
            size,
            member,
            memory: request.memory,
            sizes: request.sizes,
            dials: request.dials,
            needs_all: request.needs_all,
            left: AtomicBool::new(false),
            reach: plan.reach(),
            peers: peers.into(),
            domains,
            keys,
            plan: Mutex::new(Some(plan)),
            engine: None,
            boards: None,
            sources: None,
            shm: OnceLock::new(),
            exchange: Mutex::new(None),
            cards: cards.into(),
            segments: Mutex::new(Vec::new()),
        })
    }
}

/// The domains of all ranks. A rank that is not mapped gets an empty domain, which nobody uses. The memory of each
/// mapped rank is its window 1, and is registered as its first region, from address 0; the second region is this
/// process's address space.
fn domains(
    rank: usize,
    request: &Request<'_>,
    peers: &[Peer],
    handler: &dyn Fn(u32, *mut u8) -> Option<Handler>,
) -> (Domains, TemplateKeys) {
    let behind = request.memory.next_multiple_of(page::LARGEST);
    let blocks: Vec<*mut u8> = peers
        .iter()
        .map(|p| match &p.segment {
            Some(s) => s.base().wrapping_add(behind),
            None => core::ptr::null_mut(),
        })
        .collect();
    let alone = blocks.iter().filter(|b| !b.is_null()).count() == 1;
    let none = Sizes {
        ports: 1,
        regions: 0,
        messages: 0,
        counters: 0,
    };
    let mut keys = TemplateKeys::default();
    let all: Vec<Arc<Domain>> = (0..peers.len())
        .map(|r| {
            let base = peers[r].base();
            let domain = match (r == rank, base.is_null()) {
                // No peer maps this process's block, so that peers need not learn what lies in a window.
                (true, _) if alone => Domain::new(request.sizes),
                // SAFETY: the blocks lie behind the users' memory in segments that stay mapped, are aligned to pages,
                // and were made for these sizes, which the cards have compared.
                (true, _) => unsafe { Domain::own_at(&blocks, rank, request.sizes) },
                (false, true) => Domain::view(none),
                // SAFETY: the blocks lie behind the users' memory in segments that stay mapped, are aligned to
                // pages, and were made for these sizes, which the cards have compared; neither of the two is null.
                (false, false) => unsafe { Domain::peer_at(&blocks, rank, r, request.sizes) },
            };
            if !base.is_null() {
                domain.keys().window(1, base, request.memory);
            }
            if r == rank {
                keys = register(&domain, base, request.memory);
            }
            let handler = (!base.is_null()).then(|| handler(r as u32, base)).flatten();
            Arc::new(match handler {
                Some(handler) => domain.on_arrival(handler),
                None => domain,
            })
        })
        .collect();
    (all.into(), keys)
}

/// Registers a rank's memory; and this process's address space, for its own operations.
fn register(domain: &Domain, base: *mut u8, len: usize) -> TemplateKeys {
    let memory = Memory {
        here: base,
        len,
        base: 0,
    };
    let everything = Memory {
        here: core::ptr::null_mut(),
        len: isize::MAX as usize,
        base: 0,
    };
    let local = Rights::LOCAL_READ | Rights::LOCAL_WRITE;
    // SAFETY: the segment stays mapped as long as the process, and its user expects peers to write there. The address
    // space is used by this process's own operations only; who posts one vouches for the memory that it names.
    unsafe {
        let remote = domain.register(0, memory, Rights::ALL, None);
        let local = domain.register(0, everything, local, None);
        TemplateKeys {
            local: local.unwrap_or(Key::NONE),
            remote: remote.unwrap_or(Key::NONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_come_back_and_other_texts_do_not() {
        let card = Card {
            pid: 12,
            fd: 5,
            memory: 1 << 20,
            sizes: Sizes::default(),
            note: b"any\nbytes \xff".to_vec(),
        };
        assert_eq!(Card::parse(&card.encode()), Some(card));
        for bad in [
            "",
            "1 2 3\n",
            "1 2 3 4 5 6 7",
            "a 2 3 4 5 6 7\n",
            "1 2 3 4 5 6 7 8\n",
        ] {
            assert_eq!(Card::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
