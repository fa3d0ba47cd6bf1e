//! Ranks in processes of their own over libfabric (OpenFabrics interfaces). For adapters that have a provider there.
//!
//! libfabric is no dependency. The library is loaded when this engine is asked for.
//!
//! | file | what it is |
//! | --- | --- |
//! | `abi` | libfabric's layouts and numbers |
//! | `library` | libfabric's symbols, and the offers of its providers |
//! | `endpoint` | every call of an opened object |
//! | `doorbell` | what a rank sleeps on if its provider has nothing |
//! | `rma` | puts and gets as remote memory access, and the provider's completions |
//! | `links` | everything else, as messages: the requests and replies of the port |
//!
//! Requests and replies are those of `tcp`, so the target makes the same checks. `drive` and `driven` are those of
//! `tcp` too: an initiator that waits works on the completion queue itself, and while nobody waits a thread of the
//! engine does. So a provider without progress of its own (`FI_PROGRESS_MANUAL`) makes progress even in a rank that
//! computes.
//!
//! **Who may write here.** A provider such as `tcp` executes any request that names the right key. If keys can be
//! chosen, they are derived from the job's secret. So is a word in front of each message.

mod abi;
mod doorbell;
mod endpoint;
mod library;
mod links;
mod rma;

use super::tcp::connect::Secret;
use super::tcp::drive::Shared;
use super::tcp::driven::{Driven, ABILITIES};
use super::{Abilities, Domain, Engine, QueuePair, TemplateKeys};
use crate::keys::Memory;
use doorbell::{Doorbell, Knocker};
use endpoint::{Address, Endpoint};
use links::Links;
use rma::{Rma, Target};
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// The provider of an adapter faster than TCP, if this machine has one.
pub fn adapter() -> Option<String> {
    library::adapter()
}

/// The endpoint of a rank that does not know its peers yet.
pub struct Opened {
    rma: Rma,
    address: Address,
    /// The job's memory: the address of its first byte in descriptors, the same address for the provider, and the
    /// key.
    own: [u64; 3],
    doorbell: Option<Doorbell>,
}

impl core::fmt::Debug for Opened {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Opened").finish_non_exhaustive()
    }
}

/// A number derived from the secret, so that others cannot guess it.
fn word(secret: &Secret, place: usize) -> u64 {
    let mut w = [0; 8];
    w.copy_from_slice(&secret[place * 8..place * 8 + 8]);
    u64::from_le_bytes(w)
}

/// Opens the endpoint of `rank`, through which peers reach `memory`. `provider` is a name that libfabric knows, or
/// `None` for the most suitable provider. `source` is the address of this machine by which peers reach it. `several`:
/// the peers are on several machines.
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
) -> Result<Opened, String> {
    let mut rma = Rma::new(Endpoint::open(provider, source, several)?);
    let key = word(secret, 0).wrapping_add(u64::from(rank)) & (u64::MAX >> 1);
    // SAFETY: who calls keeps the memory valid as long as the process, and expects peers' accesses.
    let (base, key) = unsafe { rma.own(memory.here, memory.len, key) }?;
    let own = [memory.base, base, key];
    let address = rma.endpoint().address()?;
    // Without a doorbell the rank looks for work once a millisecond.
    let doorbell = match rma.endpoint().file() {
        Some(file) => Doorbell::new(file.as_os_str().as_bytes()).ok(),
        None => None,
    };
    Ok(Opened {
        rma,
        address,
        own,
        doorbell,
    })
}

impl Opened {
    /// The bytes that peers need to reach this endpoint.
    pub fn card(&self) -> Vec<u8> {
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

    /// The provider's name.
    pub fn provider(&mut self) -> String {
        self.rma.endpoint().facts().provider.clone()
    }

    /// Starts the engine with the cards of all ranks. Operations name by `keys` the job's memory, of every rank, and
    /// this process's address space.
    ///
    /// # Errors
    /// One line: the provider does not understand an address, or no thread can be started.
    pub fn start(
        mut self,
        rank: u32,
        domain: Arc<Domain>,
        cards: &[Vec<u8>],
        keys: TemplateKeys,
        secret: &Secret,
    ) -> Result<Ofi, String> {
        let mut knockers = Vec::new();
        let targets = cards
            .iter()
            .enumerate()
            .map(|(r, card)| {
                let refused = || format!("card of rank {r}: one of 26 bytes or more is accepted");
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
        let links = Links::new(
            rank,
            ranks,
            word(secret, 1),
            domain.clone(),
            keys.remote,
            self.rma,
        )
        .greeting(file)
        .sleeping(doorbell, knockers);
        let shared = Shared::new(rank, ranks as u32, domain, links).map_err(|e| e.to_string())?;
        let driven = Driven::start(c"hetmp-ofi", shared).map_err(|e| e.to_string())?;
        Ok(Ofi(driven))
    }
}

/// The engine of one rank. It stops when it and its last queue pair are dropped.
pub struct Ofi(Arc<Driven<Links>>);

impl core::fmt::Debug for Ofi {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ofi")
            .field("rank", &self.0.shared.rank)
            .finish_non_exhaustive()
    }
}

impl Engine for Ofi {
    fn name(&self) -> &'static str {
        "ofi"
    }

    fn rank(&self) -> u32 {
        self.0.shared.rank
    }

    fn ranks(&self) -> u32 {
        self.0.shared.ranks
    }

    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    fn domain(&self) -> &Domain {
        &self.0.shared.domain
    }

    fn progress(&self) -> bool {
        self.0.shared.progress()
    }

    fn notices_ends(&self) -> bool {
        false
    }

    fn queue_pair(&self, depth: usize, keys: TemplateKeys) -> QueuePair {
        self.0.queue_pair(depth, keys)
    }
}
