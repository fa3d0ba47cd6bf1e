//! A job of several ranks in this process, on any engine, for the other test files.

use hetmp_nic::descriptor::{CounterId, Key, Remote};
use hetmp_nic::engine::emulated::{self, Model};
use hetmp_nic::engine::ofi;
use hetmp_nic::engine::shm::Shm;
use hetmp_nic::engine::tcp::{connect, Tcp};
use hetmp_nic::engine::{Domain, Engine, QueuePair, Sizes, TemplateKeys};
use hetmp_nic::inbox::Message;
use hetmp_nic::keys::{Memory, Rights};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of each rank's registered memory.
pub(crate) const HEAP: usize = 2 << 20;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Shm,
    Emulated(Model),
    Tcp,
    /// The engine over libfabric, with this provider and number of endpoints.
    Ofi(&'static str, u32),
}

struct Rank {
    engine: Box<dyn Engine>,
    heap: *mut u8,
    key: Key,
}

pub(crate) struct Job(Vec<Rank>);

// SAFETY: only the methods of `Job` access the heaps, and tests call them when no operation is under way.
unsafe impl Sync for Job {}

const LAYOUT: std::alloc::Layout = match std::alloc::Layout::from_size_align(HEAP, 4096) {
    Ok(l) => l,
    Err(_) => panic!("a valid layout"),
};

pub(crate) fn job(kind: Kind, ranks: usize) -> Job {
    let sizes = Sizes {
        messages: 4,
        ..Sizes::default()
    };
    let domains: Arc<[Arc<Domain>]> = (0..ranks).map(|_| Arc::new(Domain::new(sizes))).collect();
    let heaps: Vec<(*mut u8, Key)> = domains
        .iter()
        .map(|domain| {
            // SAFETY: the layout is not empty.
            let heap = unsafe { std::alloc::alloc_zeroed(LAYOUT) };
            assert!(!heap.is_null());
            // SAFETY: the heap lives until the job is dropped, which stops its engines first.
            let key = unsafe { domain.register(0, Memory::here(heap, HEAP), Rights::ALL, None) };
            (heap, key.expect("room"))
        })
        .collect();
    let engines: Vec<Box<dyn Engine>> = match kind {
        Kind::Shm => (0..ranks as u32)
            .map(|r| Box::new(Shm::new(r, domains.clone()).expect("a domain")) as Box<dyn Engine>)
            .collect(),
        Kind::Emulated(model) => emulated::start(domains, model)
            .expect("a thread")
            .into_iter()
            .map(|e| Box::new(e) as Box<dyn Engine>)
            .collect(),
        Kind::Tcp => tcp(domains),
        Kind::Ofi(provider, endpoints) => fabric(provider, endpoints, domains, &heaps),
    };
    Job(engines
        .into_iter()
        .zip(heaps)
        .map(|(engine, (heap, key))| Rank { engine, heap, key })
        .collect())
}

/// All ranks in this process, each with endpoints of its own.
fn fabric(
    provider: &str,
    endpoints: u32,
    domains: Arc<[Arc<Domain>]>,
    heaps: &[(*mut u8, Key)],
) -> Vec<Box<dyn Engine>> {
    let here = Some(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));
    let opened: Vec<ofi::Opened> = heaps
        .iter()
        .enumerate()
        .map(|(rank, (heap, _))| {
            let memory = Memory::here(*heap, HEAP);
            // SAFETY: the heap lives until the job is dropped, which stops its engines first.
            unsafe {
                ofi::open(
                    rank as u32,
                    Some(provider),
                    here,
                    false,
                    memory,
                    &[7; 32],
                    endpoints,
                )
            }
            .expect("an endpoint")
        })
        .collect();
    let cards: Vec<Vec<u8>> = opened.iter().map(ofi::Opened::card).collect();
    let start = |(rank, opened): (usize, ofi::Opened)| {
        let keys = TemplateKeys {
            local: heaps[rank].1,
            remote: heaps[rank].1,
        };
        let engine = opened.start(rank as u32, domains[rank].clone(), &cards, keys, &[7; 32]);
        let engine = engine.expect("started");
        assert_eq!(engine.endpoints(), endpoints as usize);
        Box::new(engine) as Box<dyn Engine>
    };
    opened.into_iter().enumerate().map(start).collect()
}

/// The providers that work without an adapter. None, after printing a line, if libfabric is not installed.
pub(crate) fn providers() -> &'static [&'static str] {
    static FOUND: std::sync::OnceLock<Vec<&'static str>> = std::sync::OnceLock::new();
    FOUND.get_or_init(|| {
        let memory = vec![0u64; 512].leak();
        let memory = Memory::here(core::ptr::from_mut(&mut memory[0]).cast(), 4096);
        // Not the provider `sockets`, which libfabric has replaced by `tcp`: in one run (libfabric 1.17), large puts
        // and gets never ended, and two of its threads read the head of a message again and again.
        ["tcp", "shm"]
            .into_iter()
            .filter(|p| {
                let here = Some(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));
                // SAFETY: the memory is leaked, so it lives for ever, and no peer knows of it.
                match unsafe { ofi::open(0, Some(p), here, false, memory, &[3; 32], 1) } {
                    Ok(_) => true,
                    Err(e) if e.contains("cannot be loaded") || e.contains("no such provider") => {
                        eprintln!("skipped: ofi:{p}: {e}");
                        false
                    }
                    Err(e) => panic!("ofi:{p}: {e}"),
                }
            })
            .collect()
    })
}

/// All ranks in this process, connected over loopback as processes would be.
fn tcp(domains: Arc<[Arc<Domain>]>) -> Vec<Box<dyn Engine>> {
    let listeners: Vec<TcpListener> = domains
        .iter()
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .collect();
    let addresses: Vec<SocketAddr> = listeners
        .iter()
        .map(|l| l.local_addr().expect("bound"))
        .collect();
    let addresses = &addresses;
    std::thread::scope(|s| {
        let starting: Vec<_> = listeners
            .iter()
            .zip(domains.iter())
            .enumerate()
            .map(|(rank, (listener, domain))| {
                s.spawn(move || {
                    let within = Duration::from_secs(60);
                    let streams = connect::mesh(rank as u32, listener, addresses, &[7; 32], within)
                        .expect("connected");
                    Tcp::start(rank as u32, domain.clone(), streams).expect("started")
                })
            })
            .collect();
        starting
            .into_iter()
            .map(|t| Box::new(t.join().expect("a rank")) as Box<dyn Engine>)
            .collect()
    })
}

impl Drop for Job {
    fn drop(&mut self) {
        let heaps: Vec<_> = self.0.drain(..).map(|r| r.heap).collect();
        for heap in heaps {
            // SAFETY: `Job` allocated the heap with this layout, and has dropped the engines that use it.
            unsafe { std::alloc::dealloc(heap, LAYOUT) };
        }
    }
}

/// Runs a test on every engine.
pub(crate) fn each_engine(ranks: usize, test: impl Fn(&Job)) {
    let fabrics = providers()
        .iter()
        .flat_map(|p| [Kind::Ofi(p, 1), Kind::Ofi(p, 3)]);
    for kind in [Kind::Shm, Kind::Emulated(Model::default()), Kind::Tcp]
        .into_iter()
        .chain(fabrics)
    {
        eprintln!("on {kind:?}");
        test(&job(kind, ranks));
    }
}

impl Job {
    pub(crate) fn engine(&self, rank: usize) -> &dyn Engine {
        &*self.0[rank].engine
    }

    pub(crate) fn domain(&self, rank: usize) -> &Domain {
        self.engine(rank).domain()
    }

    pub(crate) fn address(&self, rank: usize, offset: usize) -> u64 {
        self.0[rank].heap as u64 + offset as u64
    }

    pub(crate) fn key(&self, rank: usize) -> Key {
        self.0[rank].key
    }

    pub(crate) fn remote(&self, rank: usize, offset: usize) -> Remote {
        Remote {
            address: self.address(rank, offset),
            key: self.key(rank),
        }
    }

    pub(crate) fn queue_pair(&self, rank: usize, depth: usize) -> QueuePair {
        let keys = TemplateKeys {
            local: self.key(rank),
            // Every rank registered its heap before other memory, so all heaps have the same key, like a symmetric
            // heap.
            remote: self.key(0),
        };
        self.engine(rank).queue_pair(depth, keys)
    }

    pub(crate) fn register(&self, rank: usize, offset: usize, len: usize, rights: Rights) -> Key {
        let m = Memory::here(self.address(rank, offset) as *mut u8, len);
        // SAFETY: `m` is a part of the heap, which lives as long as the job.
        unsafe { self.engine(rank).register(m, rights, None) }.expect("room")
    }

    pub(crate) fn register_counted(
        &self,
        rank: usize,
        offset: usize,
        len: usize,
        counter: CounterId,
    ) -> Key {
        let m = Memory::here(self.address(rank, offset) as *mut u8, len);
        // SAFETY: `m` is a part of the heap, which lives as long as the job.
        unsafe { self.engine(rank).register(m, Rights::ALL, Some(counter)) }.expect("room")
    }

    pub(crate) fn write(&self, rank: usize, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= HEAP);
        // SAFETY: in bounds; tests write between operations.
        unsafe {
            core::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.0[rank].heap.add(offset),
                bytes.len(),
            )
        }
    }

    pub(crate) fn read(&self, rank: usize, offset: usize, len: usize) -> Vec<u8> {
        assert!(offset + len <= HEAP);
        // SAFETY: in bounds; tests read between operations.
        unsafe { core::slice::from_raw_parts(self.0[rank].heap.add(offset), len) }.to_vec()
    }

    /// Waits up to ten seconds for a message.
    pub(crate) fn receive(&self, rank: usize) -> Option<Message> {
        self.domain(rank)
            .inbox()
            .and_then(|i| i.receive_within(10_000_000_000))
    }
}
