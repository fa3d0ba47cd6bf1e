//! What a rank offers to its peers: registered regions, and a [`Port`] with messages and counters for each of its users.
//!
//! Several libraries of one process may use one engine at the same time: OpenSHMEM, a distributed shared memory, a
//! collectives engine. With one inbox they would take each other's messages. Each has the same port number in every rank,
//! and at that port an inbox, counters and places for regions of its own. All ports share the rank's engine.
//!
//! **Three kinds of domain.** [`Domain::new`] is a rank of this process alone. `Domain::own_at` lies in memory that peers
//! map, and `Domain::peer_at` is such a peer's domain as this process maps it: messages, counts and newly registered
//! regions reach it. [`Domain::view`] knows a peer's memory only.

use crate::array::{Array, Shareable};
use crate::descriptor::{CounterId, Key, Remote, MESSAGE_BYTES};
use crate::inbox::Inbox;
use crate::keys::{KeyTable, Memory, RegisterError, Rights, Users};
use crate::trigger::Counters;
use core::ops::Range;
use core::sync::atomic::{fence, AtomicBool, AtomicU64, Ordering};
use hetmp_core::park::SharedFlag;
use hetmp_core::sync::CacheLine;
use std::sync::{Arc, OnceLock};

/// Sizes of a [`Domain`]: the same in every rank of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Users, at most 255.
    pub ports: usize,
    /// Regions that a port can have registered at once.
    pub regions: usize,
    /// Messages that the inbox of a port holds.
    pub messages: usize,
    /// Counters of a port.
    pub counters: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            ports: 1,
            regions: 256,
            messages: 256,
            counters: 256,
        }
    }
}

impl Sizes {
    fn ports(&self) -> usize {
        self.ports.clamp(1, 255)
    }

    fn all_regions(&self) -> usize {
        self.regions * self.ports()
    }

    fn all_counters(&self) -> usize {
        self.counters * self.ports()
    }
}

/// One user's part of a domain.
#[derive(Debug)]
pub struct Port {
    number: u8,
    inbox: Option<Inbox>,
    regions: Range<usize>,
    counters: Range<u32>,
}

impl Port {
    /// Its number: what [`Work::Send`](crate::descriptor::Work::Send) names.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// Its messages; none for a [view](Domain::view).
    pub fn inbox(&self) -> Option<&Inbox> {
        self.inbox.as_ref()
    }

    /// Its counter `i`, as descriptors name it.
    pub fn counter(&self, i: u32) -> Option<CounterId> {
        let id = self.counters.start.checked_add(i)?;
        (id < self.counters.end).then_some(CounterId(id))
    }
}

/// What has come to a rank, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A put or an atomic changed registered memory.
    Memory {
        /// Where, by the owner's key and address.
        at: Remote,
        /// Bytes.
        len: u32,
        /// The word of the signal that came behind them.
        signal: Option<Remote>,
    },
    /// A message is in an inbox.
    Message {
        /// Whose.
        port: u8,
        /// What the sender said.
        tag: u32,
    },
    /// A counter was added to by [`Work::Count`](crate::descriptor::Work::Count).
    Count(CounterId),
}

/// Called after something has come to a rank: see [`Domain::on_arrival`].
struct Handler(Box<dyn Fn(&Arrival) + Send + Sync>);

impl core::fmt::Debug for Handler {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Handler")
    }
}

/// The doorbell of a rank's engine: whoever has posted for it, or moved a counter that its triggers may wait for, knocks.
///
/// # Memory ordering
/// `knocks` grows after what it announces was released. The engine reads it, looks at its queues and counters, marks itself
/// asleep in `wake`, and compares (fences on both sides in [`SharedFlag`]'s nudge and wait): what is announced is seen, or
/// the engine is woken.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Door {
    pub(crate) knocks: CacheLine<AtomicU64>,
    pub(crate) wake: CacheLine<SharedFlag>,
}

impl Door {
    /// True if the engine slept and has to be scheduled first.
    #[inline]
    pub(crate) fn knock(&self) -> bool {
        self.knocks.fetch_add(1, Ordering::Release);
        self.wake.nudge()
    }
}

// SAFETY: atomics and a flag, for which zero is a value.
unsafe impl Shareable for Door {}

/// What a rank offers to its peers.
#[derive(Debug)]
pub struct Domain {
    keys: KeyTable,
    ports: Box<[Port]>,
    counters: Counters,
    door: Array<Door>,
    /// The rank is in another process, whose engine has to be told of counts.
    remote: bool,
    /// A thread of this process runs what waits for this rank's counters, and others of its threads add to them.
    served: AtomicBool,
    /// Regions of a port.
    regions: usize,
    handler: Option<Handler>,
    /// What a port's user that came later wants to be told, and its port.
    late: OnceLock<(u8, Handler)>,
}

fn ports(sizes: &Sizes, mut inbox: impl FnMut() -> Option<Inbox>) -> Box<[Port]> {
    (0..sizes.ports())
        .map(|i| Port {
            number: i as u8,
            inbox: inbox(),
            regions: i * sizes.regions..(i + 1) * sizes.regions,
            counters: (i * sizes.counters) as u32..((i + 1) * sizes.counters) as u32,
        })
        .collect()
}

impl Domain {
    /// The domain of a rank of this process.
    pub fn new(sizes: Sizes) -> Domain {
        Domain {
            keys: KeyTable::new(sizes.all_regions()),
            ports: ports(&sizes, || Some(Inbox::new(sizes.messages, MESSAGE_BYTES))),
            counters: Counters::new(sizes.all_counters()),
            door: Array::own([Door::default()]),
            remote: false,
            served: AtomicBool::new(false),
            regions: sizes.regions,
            handler: None,
            late: OnceLock::new(),
        }
    }

    /// A peer in another process whose memory is mapped here. Its regions are registered here in the order
    /// in which the peer registered them, so that keys agree; messages and counters do not reach it.
    pub fn view(sizes: Sizes) -> Domain {
        Domain {
            ports: ports(&sizes, || None),
            counters: Counters::new(0),
            ..Domain::new(sizes)
        }
    }

    /// Bytes that a rank's domain takes in memory that its `ranks` peers, itself included, map.
    pub fn bytes(sizes: Sizes, ranks: usize) -> usize {
        let inboxes = Inbox::bytes(sizes.messages, MESSAGE_BYTES) * sizes.ports();
        Array::<Door>::bytes(1)
            + Counters::bytes(sizes.all_counters())
            + inboxes
            + KeyTable::bytes(sizes.all_regions())
            + KeyTable::users_bytes(sizes.all_regions()) * ranks
    }

    /// Where in such memory the process of the domain's rank counts its users of the regions of `whose`.
    fn users_at(base: *mut u8, sizes: &Sizes, ranks: usize, whose: usize) -> *mut u8 {
        let each = KeyTable::users_bytes(sizes.all_regions());
        let before = Domain::bytes(*sizes, ranks) - each * (ranks - whose);
        base.wrapping_add(before)
    }

    /// # Safety
    /// As `Domain::own_at`; `users` are this process' own.
    unsafe fn at(base: *mut u8, sizes: Sizes, users: Array<Users>, remote: bool) -> Domain {
        let mut at = base;
        // SAFETY: this function's contract: the block is aligned, valid and holds only domains of these sizes; the
        // parts follow each other, and `Domain::bytes` is their sum.
        unsafe {
            let door = Array::at(&mut at, 1);
            let counters = Counters::at(&mut at, sizes.all_counters());
            let ports = ports(&sizes, || {
                Some(Inbox::at(&mut at, sizes.messages, MESSAGE_BYTES))
            });
            let keys = KeyTable::at(&mut at, sizes.all_regions(), users);
            Domain {
                keys,
                ports,
                counters,
                door,
                remote,
                served: AtomicBool::new(false),
                regions: sizes.regions,
                handler: None,
                late: OnceLock::new(),
            }
        }
    }

    /// The domain of this process' rank, in memory that its peers map. `blocks`: where the memory of every rank is mapped
    /// here, by rank; null for one that is not.
    ///
    /// # Safety
    /// `blocks[rank]` is aligned to 128 bytes and valid for [`Domain::bytes`] of these sizes as long as the process lives; it
    /// was zero, and since then only domains of the same sizes wrote there, in any process. So are the others that are
    /// not null.
    pub(crate) unsafe fn own_at(blocks: &[*mut u8], rank: usize, sizes: Sizes) -> Domain {
        let ranks = blocks.len();
        let users = |viewer: usize| {
            let mut at = Domain::users_at(blocks[viewer], &sizes, ranks, rank);
            // SAFETY: this function's contract says so of the viewer's block, behind whose other parts these words
            // lie.
            unsafe { KeyTable::users_at(&mut at, sizes.all_regions()) }
        };
        let others = (0..ranks)
            .filter(|r| *r != rank && !blocks[*r].is_null())
            .map(users)
            .collect();
        // SAFETY: this function's contract says so of the own block; `users` are this process' own words in it.
        let own = unsafe { Domain::at(blocks[rank], sizes, users(rank), false) };
        own.keys.watch(others);
        own
    }

    /// The domain of `peer`, whose process maps the same blocks, as `rank`'s process reaches it.
    ///
    /// # Safety
    /// As `Domain::own_at`, for the blocks of both, neither of which is null.
    pub(crate) unsafe fn peer_at(
        blocks: &[*mut u8],
        rank: usize,
        peer: usize,
        sizes: Sizes,
    ) -> Domain {
        let mut at = Domain::users_at(blocks[rank], &sizes, blocks.len(), peer);
        // SAFETY: this function's contract says so of both blocks; `users` are this process' own words in the
        // block of `rank`.
        unsafe {
            let users = KeyTable::users_at(&mut at, sizes.all_regions());
            Domain::at(blocks[peer], sizes, users, true)
        }
    }

    /// Calls `handle` after each put, signal, atomic, message or count that came to this rank, on the thread of the engine
    /// that brought it (of this process: for a peer's domain, what this process brings there). For waking who waits;
    /// it should be short.
    #[must_use]
    pub(crate) fn on_arrival(self, handle: Box<dyn Fn(&Arrival) + Send + Sync>) -> Domain {
        Domain {
            handler: Some(Handler(handle)),
            ..self
        }
    }

    /// Calls `handle` instead of the domain's handler for what comes to `port`, from now on: for a user that joins while the
    /// engine runs. False: another one has come later already.
    pub fn on_arrival_at(&self, port: u8, handle: Box<dyn Fn(&Arrival) + Send + Sync>) -> bool {
        self.late.set((port, Handler(handle))).is_ok()
    }

    #[inline]
    pub(crate) fn arrived(&self, what: impl FnOnce() -> Arrival) {
        if let Some((port, Handler(handle))) = self.late.get() {
            let what = what();
            if self.port_of(&what) == *port {
                handle(&what);
            } else if let Some(Handler(handle)) = &self.handler {
                handle(&what);
            }
        } else if let Some(Handler(handle)) = &self.handler {
            handle(&what());
        }
    }

    /// After a counter was added to: an engine that looks at its triggers elsewhere, in another process or in another
    /// thread, is told.
    #[inline]
    pub(crate) fn counted(&self) {
        // The thread is marked before it looks at a counter, this comes after the addition. Without the fences (the other
        // is in `serve`) this could miss the mark while the thread misses the addition, and sleeps.
        fence(Ordering::SeqCst);
        if self.remote || self.served.load(Ordering::Relaxed) {
            self.door().knock();
        }
    }

    /// From now on a thread of this process waits at the door for counts that other threads add.
    pub(crate) fn serve(&self) {
        self.served.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn door(&self) -> &Door {
        &self.door[0]
    }

    /// Its regions.
    pub fn keys(&self) -> &KeyTable {
        &self.keys
    }

    /// The port of a user; none if there are fewer.
    pub fn port(&self, number: u8) -> Option<&Port> {
        self.ports.get(usize::from(number))
    }

    /// The port to which something came.
    pub(crate) fn port_of(&self, arrival: &Arrival) -> u8 {
        match arrival {
            Arrival::Memory { at, .. } => (KeyTable::place_of(at.key) / self.regions.max(1)) as u8,
            Arrival::Message { port, .. } => *port,
            Arrival::Count(counter) => {
                let holds = |p: &&Port| p.counters.contains(&counter.0);
                self.ports.iter().find(holds).map_or(0, Port::number)
            }
        }
    }

    /// The messages of port 0; none for a [view](Domain::view).
    pub fn inbox(&self) -> Option<&Inbox> {
        self.ports[0].inbox()
    }

    /// Its counters, of all ports.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Registers memory at a port, counted by a counter if one is named.
    ///
    /// # Errors
    /// As [`KeyTable::register`]; [`RegisterError::Full`] for a port that does not exist.
    ///
    /// # Safety
    /// As [`KeyTable::register`].
    pub unsafe fn register(
        &self,
        port: u8,
        memory: Memory,
        rights: Rights,
        counter: Option<CounterId>,
    ) -> Result<Key, RegisterError> {
        let places = self.port(port).map_or(0..0, |p| p.regions.clone());
        // SAFETY: this function's contract is that of the function called.
        unsafe { self.keys.register_among(places, memory, rights, counter) }
    }
}

/// Domains by rank.
pub type Domains = Arc<[Arc<Domain>]>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::Message;
    use crate::keys::Side;
    use std::sync::Mutex;

    const SIZES: Sizes = Sizes {
        ports: 2,
        regions: 3,
        messages: 4,
        counters: 5,
    };

    /// Memory for the blocks of `n` ranks.
    fn blocks(n: usize) -> (Vec<u128>, Vec<*mut u8>) {
        let each = Domain::bytes(SIZES, n);
        let mut memory = vec![0u128; (each * n + 128) / 16];
        let start = memory.as_mut_ptr().cast::<u8>();
        let start = start.wrapping_add(start.align_offset(128));
        let at = (0..n).map(|i| start.wrapping_add(i * each)).collect();
        (memory, at)
    }

    #[test]
    fn ports_share_nothing() {
        let d = Domain::new(SIZES);
        let (a, b) = (d.port(0).expect("there"), d.port(1).expect("there"));
        assert!(d.port(2).is_none());
        assert_eq!((a.counter(4), a.counter(5)), (Some(CounterId(4)), None));
        assert_eq!(b.counter(0), Some(CounterId(5)));
        let m = Message::new(7, 1, b"x").expect("short");
        assert!(b.inbox().expect("own").deliver(&m));
        assert!(a.inbox().expect("own").receive().is_none());
        assert_eq!(b.inbox().expect("own").receive(), Some(m));
        let mut memory = [0u8; 8];
        let m = Memory::here(memory.as_mut_ptr(), 8);
        // SAFETY: nobody uses the regions.
        let register = |port| unsafe { d.register(port, m, Rights::ALL, None) };
        for _ in 0..3 {
            let key = register(1).expect("room");
            let at = Remote { address: 0, key };
            let signal = None;
            assert_eq!(d.port_of(&Arrival::Memory { at, len: 1, signal }), 1);
        }
        assert_eq!(register(1), Err(RegisterError::Full { places: 3 }));
        assert!(register(0).is_ok());
        assert_eq!(register(9), Err(RegisterError::Full { places: 0 }));
        assert_eq!(d.port_of(&Arrival::Count(CounterId(9))), 1);
    }

    #[test]
    fn a_user_that_comes_later_hears_of_its_port_alone() {
        let heard = |list: &Arc<Mutex<Vec<u8>>>| {
            let list = list.clone();
            Box::new(move |what: &Arrival| match what {
                Arrival::Message { port, .. } => list.lock().expect("whole").push(*port),
                other => panic!("{other:?}"),
            })
        };
        let (first, later) = (Arc::default(), Arc::default());
        let d = Domain::new(SIZES).on_arrival(heard(&first));
        let come = |port| d.arrived(|| Arrival::Message { port, tag: 0 });
        come(1);
        assert!(d.on_arrival_at(1, heard(&later)));
        assert!(!d.on_arrival_at(0, heard(&later)), "one of them");
        come(0);
        come(1);
        assert_eq!(*first.lock().expect("whole"), [1, 0]);
        assert_eq!(*later.lock().expect("whole"), [1]);
    }

    /// Two processes in one: each with its own view of both blocks.
    #[test]
    fn what_a_rank_registers_its_peer_finds_and_holds() {
        let (_memory, at) = blocks(2);
        // SAFETY: the blocks live through the test.
        let (own, seen) = unsafe {
            (
                Domain::own_at(&at, 0, SIZES),
                Domain::peer_at(&at, 1, 0, SIZES),
            )
        };
        let mut window = vec![0u8; 64];
        own.keys().window(1, window.as_mut_ptr(), 64);
        // The peer maps it elsewhere.
        let elsewhere = core::ptr::without_provenance_mut(1 << 20);
        seen.keys().window(1, elsewhere, 64);
        let inside = Memory {
            here: window.as_mut_ptr().wrapping_add(16),
            len: 32,
            base: 1000,
        };
        // SAFETY: nobody uses the regions.
        let key = unsafe { own.register(1, inside, Rights::ALL, None) }.expect("in the window");
        let span = seen
            .keys()
            .find(Side::Remote, key, 1004, 8, Rights::REMOTE_READ)
            .expect("the peer knows it");
        assert_eq!(span.start() as usize, (1 << 20) + 20);
        assert_eq!(span.region(), ((1 << 20) + 16, 32));
        let gone = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                assert!(own.keys().deregister(key));
                gone.store(true, Ordering::SeqCst);
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(
                !gone.load(Ordering::SeqCst),
                "a peer's operation is in the region"
            );
            drop(span);
        });
        assert!(seen
            .keys()
            .find(Side::Remote, key, 1004, 8, Rights::REMOTE_READ)
            .is_err());
        let mut private = [0u8; 8];
        let outside = Memory::here(private.as_mut_ptr(), 8);
        // SAFETY: nobody uses the regions.
        unsafe {
            let refused = own.register(0, outside, Rights::ALL, None);
            assert!(matches!(refused, Err(RegisterError::Window { len: 8, .. })));
            let local = own.register(0, outside, Rights::LOCAL_READ, None);
            assert!(local.is_ok(), "its own operations may");
        }
    }

    #[test]
    fn messages_counts_and_knocks_cross() {
        let (_memory, at) = blocks(3);
        // SAFETY: the blocks live through the test.
        let (own, seen) = unsafe {
            (
                Domain::own_at(&at, 2, SIZES),
                Domain::peer_at(&at, 0, 2, SIZES),
            )
        };
        let m = Message::new(0, 9, b"hello").expect("short");
        assert!(seen
            .port(1)
            .expect("there")
            .inbox()
            .expect("mapped")
            .deliver(&m));
        let got = own.port(1).expect("there").inbox().expect("own").receive();
        assert_eq!(got, Some(m));
        let counter = seen.port(1).and_then(|p| p.counter(2)).expect("there");
        seen.counters().add(counter, 3);
        seen.counted();
        assert_eq!(own.counters().value(counter), Some(3));
        assert_eq!(own.door().knocks.load(Ordering::Relaxed), 1);
        own.counted();
        assert_eq!(
            own.door().knocks.load(Ordering::Relaxed),
            1,
            "nobody else to tell"
        );
    }
}
