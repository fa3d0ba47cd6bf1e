//! What a rank offers to its peers: registered regions, and for each of its users a [`Port`] with messages and
//! counters.
//!
//! Several libraries of one process may use one engine at the same time: OpenSHMEM, a distributed shared memory, a
//! collectives engine. With one common inbox they would take each other's messages. So each user has a port, with the
//! same number in every rank, and at that port an inbox, counters and places for regions of its own. All ports share
//! the rank's engine.
//!
//! **Three kinds of domain.** [`Domain::new`] makes the domain of a rank whose peers are in this process.
//! `Domain::own_at` makes one in memory that peers in other processes map, and `Domain::peer_at` is such a peer's
//! domain as mapped here: messages, counts and newly registered regions reach it. [`Domain::view`] stands for a peer
//! of which only the registered memory is mapped.

use crate::array::{Array, Shareable};
use crate::descriptor::{CounterId, Key, Remote, MESSAGE_BYTES};
use crate::inbox::Inbox;
use crate::keys::{KeyTable, Memory, RegisterError, Rights, Users};
use crate::trigger::Counters;
use core::ops::Range;
use core::sync::atomic::{fence, AtomicBool, AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use hetmp_core::park::SharedFlag;
use std::sync::{Arc, OnceLock};

/// Sizes of a [`Domain`], the same in every rank of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The number of ports, one for each user; at most 255.
    pub ports: usize,
    /// How many regions a port can have registered at once.
    pub regions: usize,
    /// How many messages a port's inbox holds.
    pub messages: usize,
    /// How many counters a port has.
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
    /// The port's number, which [`Work::Send`](crate::descriptor::Work::Send) names.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// The port's messages; `None` for a [view](Domain::view).
    pub fn inbox(&self) -> Option<&Inbox> {
        self.inbox.as_ref()
    }

    /// The port's counter number `i`, as descriptors name it; `None` if there are fewer.
    pub fn counter(&self, i: u32) -> Option<CounterId> {
        let id = self.counters.start.checked_add(i)?;
        (id < self.counters.end).then_some(CounterId(id))
    }
}

/// Something that has come to a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A put or an atomic changed registered memory.
    Memory {
        /// Where, by the owner's key and address.
        at: Remote,
        /// Bytes.
        len: u32,
        /// The word of the put's signal, which was written after the data.
        signal: Option<Remote>,
    },
    /// A message is in an inbox.
    Message {
        /// The port whose inbox it is.
        port: u8,
        /// The sender's tag.
        tag: u32,
    },
    /// [`Work::Count`](crate::descriptor::Work::Count) has added to this counter.
    Count(CounterId),
}

/// Called after something has come to a rank: see [`Domain::on_arrival`].
struct Handler(Box<dyn Fn(&Arrival) + Send + Sync>);

impl core::fmt::Debug for Handler {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Handler")
    }
}

/// The doorbell of a rank's engine. Who has posted for the engine, or has moved a counter that its triggers may wait
/// for, knocks.
///
/// # Memory ordering
/// `knocks` grows after what it announces was released. The engine reads `knocks`, looks at its queues and counters,
/// marks itself asleep in `wake`, and compares `knocks` again (with the fences of [`SharedFlag`]'s nudge and wait
/// between). So either the engine sees what is announced, or the knock sees the mark and wakes the engine.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Door {
    pub(crate) knocks: CachePadded<AtomicU64>,
    pub(crate) wake: CachePadded<SharedFlag>,
}

impl Door {
    /// Knocks. True if the engine slept, and so has to be scheduled before it can work.
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
    /// The rank is in another process, whose engine must be told when its counters move.
    remote: bool,
    /// A thread of this process executes what waits for this rank's counters, while other threads add to them.
    served: AtomicBool,
    /// How many regions a port can have.
    regions: usize,
    handler: Option<Handler>,
    /// The handler of a user that joined after the engine was started, and its port.
    late: OnceLock<(u8, Handler)>,
    /// Where the program of this rank sees memory that a modelled adapter reaches at other addresses.
    view: OnceLock<View>,
}

/// Memory at two addresses of one process: see [`Domain::seen_at`].
#[derive(Debug)]
struct View {
    program: core::ops::Range<u64>,
    adapter: u64,
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
    /// The program of this rank sees its memory at `program`, and the adapter of a modelled device is to reach the same
    /// memory from `adapter` on: parts of the program's view may be a cache whose content differs. Said once, before
    /// the first operation; a second call changes nothing.
    pub fn seen_at(&self, program: core::ops::Range<usize>, adapter: usize) {
        let view = View {
            program: program.start as u64..program.end as u64,
            adapter: adapter as u64,
        };
        drop(self.view.set(view));
    }

    /// The address under which the adapter reaches memory that the program sees at `address`.
    pub(crate) fn adapters(&self, address: u64) -> u64 {
        match self.view.get() {
            Some(v) if v.program.contains(&address) => address - v.program.start + v.adapter,
            _ => address,
        }
    }

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
            view: OnceLock::new(),
        }
    }

    /// A peer in another process whose memory is mapped here. Its regions must be registered here in the order in
    /// which the peer registers them, so that both get the same keys. Messages and counts do not reach such a peer.
    pub fn view(sizes: Sizes) -> Domain {
        Domain {
            ports: ports(&sizes, || None),
            counters: Counters::new(0),
            ..Domain::new(sizes)
        }
    }

    /// Bytes that a rank's domain takes in memory that all `ranks` ranks map.
    pub fn bytes(sizes: Sizes, ranks: usize) -> usize {
        let inboxes = Inbox::bytes(sizes.messages, MESSAGE_BYTES) * sizes.ports();
        Array::<Door>::bytes(1)
            + Counters::bytes(sizes.all_counters())
            + inboxes
            + KeyTable::bytes(sizes.all_regions())
            + KeyTable::users_bytes(sizes.all_regions()) * ranks
    }

    /// Where, in such memory at `base`, the process of that rank counts its uses of the regions of rank `whose`.
    fn users_at(base: *mut u8, sizes: &Sizes, ranks: usize, whose: usize) -> *mut u8 {
        let each = KeyTable::users_bytes(sizes.all_regions());
        let before = Domain::bytes(*sizes, ranks) - each * (ranks - whose);
        base.wrapping_add(before)
    }

    /// # Safety
    /// As for `Domain::own_at`; `users` are the words in which this process counts its own uses.
    unsafe fn at(base: *mut u8, sizes: Sizes, users: Array<Users>, remote: bool) -> Domain {
        let mut at = base;
        // SAFETY: who calls has an aligned, valid block in which only domains of these sizes lie. The parts follow
        // each other, and `Domain::bytes` is the sum of their lengths.
        unsafe {
            let door = Array::at(&mut at, 1);
            let counters = Counters::at(&mut at, sizes.all_counters());
            let ports = ports(&sizes, || {
                Some(Inbox::at(&mut at, sizes.messages, MESSAGE_BYTES))
            });
            let keys = KeyTable::at(&mut at, sizes.all_regions(), users, !remote);
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
                view: OnceLock::new(),
            }
        }
    }

    /// The domain of this process's rank, in memory that its peers map. `blocks[r]` is where the memory of rank `r`
    /// is mapped here, or null.
    ///
    /// # Safety
    /// `blocks[rank]` is aligned to 128 bytes and valid for [`Domain::bytes`] of these sizes as long as the process
    /// lives. It was zero, and since then only domains of the same sizes wrote there, in any process. The same holds
    /// for every other block that is not null.
    pub(crate) unsafe fn own_at(blocks: &[*mut u8], rank: usize, sizes: Sizes) -> Domain {
        let ranks = blocks.len();
        let users = |viewer: usize| {
            let mut at = Domain::users_at(blocks[viewer], &sizes, ranks, rank);
            // SAFETY: who calls has a valid block of the viewer, and these words lie in it after its other parts.
            unsafe { KeyTable::users_at(&mut at, sizes.all_regions()) }
        };
        let others = (0..ranks)
            .filter(|r| *r != rank && !blocks[*r].is_null())
            .map(users)
            .collect();
        // SAFETY: who calls has a valid block of this rank; `users` are this process's words in it.
        let own = unsafe { Domain::at(blocks[rank], sizes, users(rank), false) };
        own.keys.watch(others);
        own
    }

    /// The domain of `peer`, as the process of `rank` reaches it. Both processes map the same blocks.
    ///
    /// # Safety
    /// As for `Domain::own_at`, for the blocks of `rank` and `peer`, neither of which is null.
    pub(crate) unsafe fn peer_at(
        blocks: &[*mut u8],
        rank: usize,
        peer: usize,
        sizes: Sizes,
    ) -> Domain {
        let mut at = Domain::users_at(blocks[rank], &sizes, blocks.len(), peer);
        // SAFETY: who calls has valid blocks of both ranks; `users` are this process's words in the block of `rank`.
        unsafe {
            let users = KeyTable::users_at(&mut at, sizes.all_regions());
            Domain::at(blocks[peer], sizes, users, true)
        }
    }

    /// The domain of `rank` in the process of its adapter, which maps the same blocks. The rank registers in memory of
    /// its own, so the adapter looks regions up as peers do: in what the rank publishes, within windows that it has
    /// mapped itself.
    ///
    /// # Safety
    /// As for `Domain::own_at`.
    pub(crate) unsafe fn adapters_at(blocks: &[*mut u8], rank: usize, sizes: Sizes) -> Domain {
        Domain {
            remote: false,
            // SAFETY: who calls has a valid block of the rank, which here stands on both sides.
            ..unsafe { Domain::peer_at(blocks, rank, rank, sizes) }
        }
    }

    /// From now on `handle` is called after each put, signal, atomic, message or count that came to this rank, on the
    /// thread of the engine that brought it. On a peer's domain it is called for what this process brings there. The
    /// handler wakes waiters and should be short.
    #[must_use]
    pub(crate) fn on_arrival(self, handle: Box<dyn Fn(&Arrival) + Send + Sync>) -> Domain {
        Domain {
            handler: Some(Handler(handle)),
            ..self
        }
    }

    /// From now on `handle` is called, instead of the domain's handler, for what comes to `port`. For a user that
    /// joins while the engine runs. False, without effect, if another user has done so before.
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

    /// A counter was added to. Tells the engine, if the engine looks at its triggers in another process or in another
    /// thread.
    #[inline]
    pub(crate) fn counted(&self) {
        // The serving thread marks itself before it looks at a counter, and the look here comes after the addition.
        // Each side has a fence between (the other one is in `serve`). Without the fences, this look could miss the
        // mark while the thread misses the addition and goes to sleep.
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

    /// The rank's registered regions.
    pub fn keys(&self) -> &KeyTable {
        &self.keys
    }

    /// The port with this number; `None` if there are fewer.
    pub fn port(&self, number: u8) -> Option<&Port> {
        self.ports.get(usize::from(number))
    }

    /// The number of the port to which something came.
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

    /// The messages of port 0; `None` for a [view](Domain::view).
    pub fn inbox(&self) -> Option<&Inbox> {
        self.ports[0].inbox()
    }

    /// The counters of all ports.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Registers memory at a port. If `counter` is given, it counts what arrives in the memory.
    ///
    /// # Errors
    /// Those of [`KeyTable::register`]; [`RegisterError::Full`] if the port does not exist.
    ///
    /// # Safety
    /// As for [`KeyTable::register`].
    pub unsafe fn register(
        &self,
        port: u8,
        memory: Memory,
        rights: Rights,
        counter: Option<CounterId>,
    ) -> Result<Key, RegisterError> {
        let places = self.port(port).map_or(0..0, |p| p.regions.clone());
        // SAFETY: who calls upholds the contract of `KeyTable::register`, which `register_among` has too.
        unsafe { self.keys.register_among(places, memory, rights, counter) }
    }
}

/// The domains of all ranks, by rank.
pub type Domains = Arc<[Arc<Domain>]>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::Status;
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

    /// Two processes played by one: each has its own view of both blocks.
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
        // The peer maps the window at another address.
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
    fn an_adapter_in_another_process_knows_what_its_rank_publishes() {
        let (_memory, at) = blocks(2);
        // SAFETY: the blocks live through the test.
        let (own, adapters) = unsafe {
            (
                Domain::own_at(&at, 0, SIZES),
                Domain::adapters_at(&at, 0, SIZES),
            )
        };
        let mut window = [0u64; 8];
        let start = window.as_mut_ptr().cast::<u8>();
        own.keys().window(1, start, 64);
        let elsewhere = core::ptr::without_provenance_mut(1 << 20);
        adapters.keys().window(1, elsewhere, 64);
        let mut private = [0u64; 8];
        let register = |here: *mut u8, rights| {
            // SAFETY: nobody uses the regions.
            unsafe { own.register(0, Memory::here(here, 64), rights, None) }.expect("room")
        };
        let shared = register(start, Rights::ALL);
        let private = private.as_mut_ptr().cast::<u8>();
        let hidden = register(private, Rights::LOCAL_READ);
        let look = |of: &Domain, key, here: *mut u8| {
            of.keys()
                .find(Side::Local, key, here as u64, 64, Rights::LOCAL_READ)
                .map(|span| span.start())
                .map_err(|failure| failure.status)
        };
        assert_eq!(look(&own, shared, start), Ok(start));
        assert_eq!(look(&adapters, shared, start), Ok(elsewhere));
        assert_eq!(look(&own, hidden, private), Ok(private));
        assert_eq!(look(&adapters, hidden, private), Err(Status::LocalKey));
        assert!(own.keys().deregister(shared));
        assert_eq!(look(&adapters, shared, start), Err(Status::LocalKey));
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
