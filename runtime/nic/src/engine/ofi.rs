//! Ranks in processes of their own over libfabric (OpenFabrics interfaces). For adapters that have a provider there.
//!
//! libfabric is no dependency. The library is loaded when this engine is asked for.
//!
//! | file | what it is |
//! | --- | --- |
//! | `abi` | libfabric's layouts and numbers |
//! | `library` | libfabric's symbols, and the offers of its providers |
//! | `endpoint` | every call of an opened object |
//! | `closing` | when an endpoint's objects are closed |
//! | `doorbell` | what a rank sleeps on if its provider has nothing |
//! | `rma` | puts and gets as remote memory access, and the provider's completions |
//! | `ahead` | the next put to each peer, ready for the moment when the provider has room |
//! | `lane` | which puts the provider says nothing of, because a later one vouches for them |
//! | `slots` | what is remembered of each operation that the provider has |
//! | `links` | everything else, as messages: the requests and replies of the port |
//!
//! A rank has one endpoint, or as many as it is told ([`open`]). Each has links, a port and a thread of its own, and
//! talks to the endpoints of the same place at its peers; queue pairs are dealt to them in turn.
//!
//! Requests and replies are those of `tcp`, so the target makes the same checks. `drive` and `driven` are those of
//! `tcp` too: an initiator that waits works on the completion queue itself, and while nobody waits a thread of the
//! engine does. So a provider without progress of its own (`FI_PROGRESS_MANUAL`) makes progress even in a rank that
//! computes.
//!
//! **Who may write here.** A provider such as `tcp` executes any request that names the right key. If keys can be
//! chosen, they are derived from the job's secret. So is a word in front of each message.

mod abi;
mod ahead;
mod closing;
mod doorbell;
mod endpoint;
mod lane;
mod library;
mod links;
mod rma;
mod slots;

use super::tcp::connect::Secret;
use super::tcp::drive::Shared;
use super::tcp::driven::{Driven, ABILITIES};
use super::{Abilities, Domain, Engine, QueuePair, TemplateKeys};
use crate::keys::Memory;
use core::sync::atomic::{AtomicUsize, Ordering};
use doorbell::{Doorbell, Knocker};
use endpoint::{Address, Endpoint};
use links::Links;
use rma::{Rma, Target};
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, OnceLock, Weak};

/// The provider of an adapter faster than TCP, if this machine has one.
pub fn adapter() -> Option<String> {
    library::adapter()
}

/// The endpoints of a rank that does not know its peers yet.
pub struct Opened {
    /// At least one.
    endpoints: Vec<Opening>,
}

/// One endpoint before its peers are known.
struct Opening {
    rma: Rma,
    address: Address,
    /// The job's memory: the address of its first byte in descriptors, the same address for the provider, and the
    /// key.
    own: [u64; 3],
    doorbell: Option<Doorbell>,
}

impl core::fmt::Debug for Opened {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Opened")
            .field("endpoints", &self.endpoints.len())
            .finish_non_exhaustive()
    }
}

/// A number derived from the secret, so that others cannot guess it.
fn word(secret: &Secret, place: usize) -> u64 {
    let mut w = [0; 8];
    w.copy_from_slice(&secret[place * 8..place * 8 + 8]);
    u64::from_le_bytes(w)
}

/// Most endpoints of a rank. A card tells their number in a byte.
pub const MOST_ENDPOINTS: u32 = 64;

/// Opens the endpoints of `rank`, through which peers reach `memory`. `provider` is a name that libfabric knows, or
/// `None` for the most suitable provider. `source` is the address of this machine by which peers reach it. `several`:
/// the peers are on several machines. `endpoints`: how many, 1 to [`MOST_ENDPOINTS`]; where the provider has not so
/// many, there are fewer.
///
/// # Errors
/// One line without the variable's name: the library or provider is missing, or cannot do what is needed.
///
/// # Safety
/// The memory stays valid as long as the process, and its user expects the accesses of peers.
pub unsafe fn open(
    rank: u32,
    provider: Option<&str>,
    source: Option<IpAddr>,
    several: bool,
    memory: Memory,
    secret: &Secret,
    endpoints: u32,
) -> Result<Opened, String> {
    let key = word(secret, 0).wrapping_add(u64::from(rank)) & (u64::MAX >> 1);
    let one = || -> Result<Opening, String> {
        let mut rma = Rma::new(Endpoint::open(provider, source, several)?);
        // SAFETY: who calls keeps the memory valid as long as the process, and expects peers' accesses.
        let (base, key) = unsafe { rma.own(memory.here, memory.len, key) }?;
        let own = [memory.base, base, key];
        let address = rma.endpoint().address()?;
        // Without a doorbell the rank looks for work once a millisecond.
        let doorbell = match rma.endpoint().file() {
            Some(file) => Doorbell::new(file.as_os_str().as_bytes()).ok(),
            None => None,
        };
        Ok(Opening {
            rma,
            address,
            own,
            doorbell,
        })
    };
    let first = one()?;
    // The number of an adapter's endpoints is limited: the job runs on those that there are.
    let more = (1..endpoints.min(MOST_ENDPOINTS)).map_while(|_| one().ok());
    Ok(Opened {
        endpoints: core::iter::once(first).chain(more).collect(),
    })
}

/// The cards of a rank's endpoints, from the card of the rank.
fn cards_of(card: &[u8]) -> Option<Vec<&[u8]>> {
    let (n, mut rest) = card.split_first()?;
    let mut cards = Vec::new();
    for _ in 0..*n {
        let (len, more) = rest.split_first_chunk::<2>()?;
        let (one, more) = more.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        cards.push(one);
        rest = more;
    }
    (!cards.is_empty() && rest.is_empty()).then_some(cards)
}

impl Opened {
    /// The bytes that peers need to reach these endpoints.
    pub fn card(&self) -> Vec<u8> {
        let mut card = vec![self.endpoints.len() as u8];
        for e in &self.endpoints {
            let one = e.card();
            card.extend_from_slice(&(one.len() as u16).to_le_bytes());
            card.extend_from_slice(&one);
        }
        card
    }

    /// The provider's name.
    pub fn provider(&mut self) -> String {
        self.endpoints[0].rma.endpoint().facts().provider.clone()
    }

    /// Starts the engine with the cards of all ranks. Operations name by `keys` the job's memory, of every rank, and
    /// this process's address space. Where ranks have different numbers of endpoints, the least number is used.
    ///
    /// # Errors
    /// One line: the provider does not understand an address, or no thread can be started.
    pub fn start(
        self,
        rank: u32,
        domain: Arc<Domain>,
        cards: &[Vec<u8>],
        keys: TemplateKeys,
        secret: &Secret,
    ) -> Result<Ofi, String> {
        let by_rank = cards
            .iter()
            .enumerate()
            .map(|(r, card)| cards_of(card).ok_or_else(|| refused(r)))
            .collect::<Result<Vec<_>, String>>()?;
        let used = by_rank.iter().map(Vec::len).min().unwrap_or(1);
        let moved = Arc::new(Siblings::default());
        let mut driven = Vec::new();
        for (e, opening) in self.endpoints.into_iter().take(used).enumerate() {
            let cards: Vec<&[u8]> = by_rank.iter().map(|cards| cards[e]).collect();
            let links = opening.reach(rank, &domain, &cards, keys, secret)?;
            let links = links.beside(if used > 1 {
                Some((moved.clone(), e))
            } else {
                None
            });
            let ranks = cards.len() as u32;
            let shared =
                Shared::new(rank, ranks, domain.clone(), links).map_err(|e| e.to_string())?;
            driven.push(Driven::start(c"hetmp-ofi", shared).map_err(|e| e.to_string())?);
        }
        moved.are(&driven);
        Ok(Ofi {
            driven,
            next: AtomicUsize::new(0),
        })
    }
}

fn refused(rank: usize) -> String {
    format!("card of rank {rank}: too short (expected 26 bytes or more)")
}

impl Opening {
    fn card(&self) -> Vec<u8> {
        let mut card = Vec::new();
        for w in self.own {
            card.extend_from_slice(&w.to_le_bytes());
        }
        let bell = self
            .doorbell
            .as_ref()
            .map(Doorbell::card)
            .unwrap_or_default();
        card.push(bell.len() as u8);
        card.extend_from_slice(&bell);
        card.extend_from_slice(&self.address);
        card
    }

    /// Tells this endpoint of its peers: the endpoints of the same place among those of each rank.
    fn reach(
        mut self,
        rank: u32,
        domain: &Arc<Domain>,
        cards: &[&[u8]],
        keys: TemplateKeys,
        secret: &Secret,
    ) -> Result<Links, String> {
        let mut knockers = Vec::new();
        let targets = cards
            .iter()
            .enumerate()
            .map(|(r, card)| {
                let refused = || refused(r);
                let (head, rest) = card.split_first_chunk::<24>().ok_or_else(refused)?;
                let (n, rest) = rest.split_first().ok_or_else(refused)?;
                let (bell, address) = rest.split_at_checked(usize::from(*n)).ok_or_else(refused)?;
                knockers.push(Knocker::new(bell).filter(|_| r != rank as usize));
                let word = |i: usize| {
                    let mut w = [0; 8];
                    w.copy_from_slice(&head[i * 8..i * 8 + 8]);
                    u64::from_le_bytes(w)
                };
                Ok(Target {
                    peer: self.rma.endpoint().insert(address)?,
                    origin: word(0),
                    base: word(1),
                    key: word(2),
                })
            })
            .collect::<Result<Vec<Target>, String>>()?;
        let ranks = targets.len();
        self.rma.reach(targets, keys);
        self.rma.listen(ranks)?;
        let file = self.rma.endpoint().file();
        // A peer that has none looks for work by itself, and this rank must, too: its peer would not wake it.
        let all = (0..ranks).all(|r| r == rank as usize || knockers[r].is_some());
        let doorbell = self.doorbell.take().filter(|_| all);
        let token = word(secret, 1);
        Ok(
            Links::new(rank, ranks, token, domain.clone(), keys.remote, self.rma)
                .greeting(file)
                .sleeping(doorbell, knockers),
        )
    }
}

/// The endpoints of one rank, for one another: an operation that one of them holds back may wait for a counter that
/// another one moves.
///
/// # Memory ordering
/// The endpoint that moves a counter then rings the others. A doorbell counts, and whoever drives an endpoint looks at
/// the counters between reading that count and sleeping (see [`Shared`]). So an endpoint sees the counter, or is woken.
#[derive(Default)]
struct Siblings(OnceLock<Vec<Weak<Shared<Links>>>>);

impl Siblings {
    fn are(&self, all: &[Arc<Driven<Links>>]) {
        // Set once, by the only caller.
        let _ = self
            .0
            .set(all.iter().map(|d| Arc::downgrade(&d.shared)).collect());
    }

    /// A counter of the rank was moved by endpoint `by`.
    fn moved(&self, by: usize) {
        let all = self.0.get().map_or(&[][..], Vec::as_slice);
        for (i, sibling) in all.iter().enumerate() {
            if let Some(sibling) = sibling.upgrade().filter(|_| i != by) {
                sibling.bell();
            }
        }
    }
}

/// The engine of one rank. It stops when it and its last queue pair are dropped.
pub struct Ofi {
    /// One for each endpoint.
    driven: Vec<Arc<Driven<Links>>>,
    /// The number of queue pairs so far: endpoints are dealt in turn.
    next: AtomicUsize,
}

impl Ofi {
    /// How many endpoints the queue pairs are dealt to.
    pub fn endpoints(&self) -> usize {
        self.driven.len()
    }

    fn first(&self) -> &Shared<Links> {
        &self.driven[0].shared
    }
}

impl core::fmt::Debug for Ofi {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ofi")
            .field("rank", &self.first().rank)
            .field("endpoints", &self.driven.len())
            .finish_non_exhaustive()
    }
}

impl Engine for Ofi {
    fn name(&self) -> &'static str {
        "ofi"
    }

    fn rank(&self) -> u32 {
        self.first().rank
    }

    fn ranks(&self) -> u32 {
        self.first().ranks
    }

    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    fn domain(&self) -> &Domain {
        &self.first().domain
    }

    fn progress(&self) -> bool {
        let mut worked = false;
        for d in &self.driven {
            worked |= d.shared.progress();
        }
        worked
    }

    fn notices_ends(&self) -> bool {
        false
    }

    fn queue_pair(&self, depth: usize, keys: TemplateKeys) -> QueuePair {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.driven[turn % self.driven.len()].queue_pair(depth, keys)
    }
}

#[cfg(test)]
mod tests {
    use super::cards_of;

    #[test]
    fn cards_of_endpoints_come_back() {
        let card = [2, 3, 0, 7, 8, 9, 1, 0, 5];
        assert_eq!(cards_of(&card), Some(vec![&[7, 8, 9][..], &[5]]));
        for n in 0..card.len() {
            assert_eq!(cards_of(&card[..n]), None, "{n}");
        }
        assert_eq!(cards_of(&[0]), None);
        assert_eq!(cards_of(&[1, 1, 0, 4, 4]), None);
    }
}
