//! Joining: this process makes its segment, tells its peers where it is, and maps theirs.

use super::way::{plan, Plan};
use super::{Exchange, Job, Peer, Request};
use crate::descriptor::Key;
use crate::device_memory::board::BOARD_BYTES;
use crate::domain::{Arrival, Domain, Domains, Sizes};
use crate::engine::TemplateKeys;
use crate::keys::{Memory, Rights};
use hetmp_core::segment::{Segment, PAGE};
use std::sync::{Arc, Mutex, OnceLock};

/// Where a rank's segment is, and its user's note.
const CARD: &str = "nic.card";

/// What a rank tells the others: where its segment is, and what its user wants them to know.
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

/// Bytes of a rank's block, behind its user's memory.
fn block_bytes(sizes: Sizes, ranks: usize) -> usize {
    Domain::bytes(sizes, ranks).next_multiple_of(PAGE) + BOARD_BYTES
}

/// A process that has made its segment, and has not met the others.
pub struct Joining<'a> {
    request: Request<'a>,
    plan: Plan,
    own: Segment,
    fd: i32,
}

/// Why a job cannot be begun.
#[derive(Debug)]
pub enum Refused {
    /// What was asked for cannot be: one line.
    Way(String),
    /// There is no memory.
    Memory {
        /// So many bytes.
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

/// Decides which engine is needed, and makes this process' segment.
///
/// # Errors
/// What was asked for cannot be, or there is no memory.
pub fn begin<'a>(
    request: Request<'a>,
    exchange: &mut dyn Exchange,
) -> Result<Joining<'a>, Refused> {
    let mut plan = plan(&request, exchange).map_err(Refused::Way)?;
    let len = request.memory.next_multiple_of(PAGE)
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
        // SAFETY: a segment stays mapped as long as the process lives, and its user expects its peers to write there.
        unsafe { fabric.enter(memory, exchange) }.map_err(Refused::Way)?;
    }
    Ok(Joining {
        request,
        plan,
        own,
        fd,
    })
}

/// Sees another rank's note before its memory is mapped: its number, whether it runs on this machine, and the note. What
/// it says against the rank ends the joining.
pub type Check<'a> = dyn FnMut(u32, bool, &[u8]) -> Result<(), String> + 'a;

/// Called for what arrives at a rank: see `Domain::on_arrival`.
pub type Handler = Box<dyn Fn(&Arrival) + Send + Sync>;

impl Joining<'_> {
    /// This process' memory: zero, until the user writes there.
    pub fn base(&self) -> *mut u8 {
        self.own.base()
    }

    /// The file that is mapped there.
    pub fn file(&self) -> i32 {
        self.fd
    }

    /// Tells the others where this process' memory is, and `note`; maps the memory of those on this machine.
    ///
    /// `check` sees every other rank's note before its memory is mapped. `handler` makes what is called when something
    /// arrives at a rank that is mapped here, from its number and where its memory lies.
    ///
    /// # Errors
    /// One line: a peer cannot be mapped, or did not bring the same, or the launcher is lost, or what `check` says.
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
        let mut peers = Vec::new();
        for r in 0..size {
            let is_local = local.contains(&r);
            if r == rank {
                peers.push(Peer {
                    segment: own.take(),
                    local: true,
                });
                continue;
            }
            let theirs = exchange
                .get(r, CARD)
                .map_err(|e| format!("{member} {r}: {e}"))?
                .and_then(|text| Card::parse(&text));
            let Some(theirs) = theirs else {
                return Err(format!(
                    "{member} {r}: it did not say where its memory is: a process that joins the job in the same way is accepted"
                ));
            };
            check(r, is_local, &theirs.note)?;
            if (theirs.memory, theirs.sizes) != (card.memory, card.sizes) {
                return Err(format!(
                    "{member} {r}: shared memory of {} bytes: as much as of {member} {rank}, {}, is accepted",
                    theirs.memory, card.memory
                ));
            }
            let segment =
                if plan.maps() && is_local {
                    let len =
                        card.memory.next_multiple_of(PAGE) + block_bytes(card.sizes, size as usize);
                    let opened = Segment::open(theirs.pid, theirs.fd, len, request.align);
                    Some(opened.map_err(|e| {
                        format!("{member} {r}: memory of process {}: {e}", theirs.pid)
                    })?)
                } else {
                    None
                };
            peers.push(Peer {
                segment,
                local: is_local,
            });
        }
        let (domains, keys) = domains(rank as usize, &request, &peers, handler);
        // Nobody may end, and take its segment's file along, before all have opened it; and what a rank has registered
        // is there for all.
        exchange.fence().map_err(|e| e.to_string())?;
        Ok(Job {
            rank,
            size,
            member,
            memory: request.memory,
            sizes: request.sizes,
            dials: request.dials,
            reach: plan.reach(),
            peers: peers.into(),
            domains,
            keys,
            plan: Some(plan),
            engine: None,
            boards: None,
            shm: OnceLock::new(),
            exchange: Mutex::new(None),
            segments: Mutex::new(1),
        })
    }
}

/// The domains of all ranks: of those that are not mapped an empty one, which nobody uses. The memory of each is its
/// window 1 and registered as its first region, from address 0; the second region is this process' address space.
fn domains(
    rank: usize,
    request: &Request<'_>,
    peers: &[Peer],
    handler: &dyn Fn(u32, *mut u8) -> Option<Handler>,
) -> (Domains, TemplateKeys) {
    let behind = request.memory.next_multiple_of(PAGE);
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
                // No peer maps this process' block: it need not be told what lies in a window.
                (true, _) if alone => Domain::new(request.sizes),
                // SAFETY: the blocks lie behind the users' memory in segments that stay mapped, are aligned to pages, and
                // were made for these sizes, which the cards have compared.
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

/// Registers a rank's memory, and its address space for its own operations.
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
    // SAFETY: a segment stays mapped as long as the process lives, and its user expects its peers to write there. Of the
    // address space, only this process' own operations use parts, which whoever posts them vouches for.
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
