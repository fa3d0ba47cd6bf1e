//! A job: the processes that reach each other's memory. A process joins once, for all libraries that use the job.
//!
//! 1. [`begin`] decides which engine is needed and makes this process's segment: the first user's memory, followed by
//!    a *block* with the rank's [domain](crate::domain). The user may now fill its memory.
//! 2. [`Joining::meet`] tells the other processes where the segment is, and maps the segments of those on this
//!    machine.
//! 3. [`Job::start`] starts the engine.
//! 4. [`Job::establish`] makes the job known in this process; later users find it by [`established`].
//!
//! Processes find each other through an exchange of small values (put, get, fence): the launcher's
//! ([`hetmp_core::bootstrap::connect`]) or one of the caller's own, under MPI for example
//! ([`hetmp_core::bootstrap::through`]).
//!
//! | way | peers on this machine | peers on others |
//! | --- | --- | --- |
//! | `auto` | mapped memory | sockets |
//! | `shm` | mapped memory | refused |
//! | `emulated`, or a model | this process' software adapter, on mapped memory | refused |
//! | `tcp` | sockets | sockets |
//! | `ofi` | libfabric | libfabric |
//!
//! On several machines, `auto` uses libfabric for the other machines if all of them have an adapter of the same
//! provider that is faster than TCP.
//!
//! **Several users.** Each has a [port](crate::domain::Port), with inbox, counters and regions of its own. The users
//! of a job agree on the ports' numbers, below `Sizes::ports`. [`Job::segment`] shares the memory of users that
//! join later.

pub mod apart;
mod fabric;
mod hosts;
mod joining;
mod way;

pub use joining::{begin, Check, Handler, Joining, Refused};
pub use way::{Reach, Request, Way};

use crate::device_memory::board::{Board, BOARD_BYTES};
use crate::device_memory::sources::Sources;
use crate::domain::{Domain, Domains, Sizes};
use crate::engine::emulated;
use crate::engine::shm::Shm;
use crate::engine::tcp::{connect, Addresses, Loss, Tcp, Vanished};
use crate::engine::{Engine, TemplateKeys};
use crate::keys::WINDOWS;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::bootstrap::Job as Exchange;
use hetmp_core::env;
use hetmp_core::page;
use hetmp_core::report;
use hetmp_core::segment::Segment;
use once_cell::race::OnceRef;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use way::{Plan, ADDRESS};

/// The first window that [`Job::segment`] gives out. Window 1 is the first user's memory.
const FIRST_WINDOW: usize = 2;

/// How long connecting to the peers may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long another host may be silent unless `HETMP_NIC_TIMEOUT` says otherwise, seconds.
const SILENCE: u64 = 10;

/// What to do about peers that are lost, as `HETMP_NIC_TIMEOUT` says: the job ends, with a line about the first
/// such peer.
fn vanished(member: &'static str, needs_all: bool) -> Option<Vanished> {
    let seconds = env::number("HETMP_NIC_TIMEOUT", 0..=86_400).unwrap_or(SILENCE);
    (seconds > 0).then(|| Vanished {
        after: Duration::from_secs(seconds),
        needs_all,
        tell: Box::new(move |peer, address, loss| {
            let what = match loss {
                Loss::Silent => format!("no answer for {seconds} s (HETMP_NIC_TIMEOUT)"),
                Loss::Ended => "its connection has ended".to_owned(),
            };
            let text = format!("host {}, {member} {peer}: {what}", address.ip());
            if let Some(job) = established() {
                if loss == Loss::Ended && job.left.load(Ordering::Acquire) {
                    return;
                }
                job.abort(1, &text);
            }
            // The job was not ended, because another thread uses the exchange. The launcher notices the end of this
            // process.
            report::line("hetmp: ", format_args!("{text}"));
            // SAFETY: `_exit` has no preconditions, and no further code of this process has to run.
            unsafe { libc::_exit(1) }
        }),
    })
}

/// A rank, as this process reaches it.
#[derive(Debug)]
pub struct Peer {
    /// The rank's segment, if it is mapped here. This process's own segment for itself.
    pub segment: Option<Segment>,
    /// True if the rank runs on this machine.
    pub local: bool,
}

impl Peer {
    /// The rank's memory in this process; null if it is not mapped.
    pub fn base(&self) -> *mut u8 {
        self.segment
            .as_ref()
            .map_or(core::ptr::null_mut(), Segment::base)
    }
}

/// Where a segment can be opened: a process, and its descriptor.
type Place = (u32, i32);

/// Segments that a later user has shared.
#[derive(Debug)]
struct Window {
    len: usize,
    /// By rank; `None` for one that is not mapped here.
    places: Box<[Option<Place>]>,
}

/// The job of this process.
pub struct Job {
    rank: u32,
    size: u32,
    member: &'static str,
    memory: usize,
    sizes: Sizes,
    /// Sockets are connected when they are first needed, not at the start.
    dials: bool,
    needs_all: bool,
    /// This process has told the launcher that it is done.
    left: AtomicBool,
    reach: Reach,
    peers: Box<[Peer]>,
    domains: Domains,
    keys: TemplateKeys,
    /// What [`Job::start`] will build the engine from, and takes. All threads share the job, but a libfabric endpoint
    /// inside the plan must not be shared between threads: hence the lock, for which `start` never has to wait.
    plan: Mutex<Option<Plan>>,
    engine: Option<Box<dyn Engine>>,
    boards: Option<Arc<[Board]>>,
    sources: Option<Arc<Sources>>,
    /// Queue pairs for users that want them although all peers are mapped and the job has no engine.
    shm: OnceLock<Option<Shm>>,
    exchange: Mutex<Option<Box<dyn Exchange>>>,
    /// Where the first segment of each rank is, if it is mapped here.
    cards: Box<[Option<Place>]>,
    /// The windows from number 2 on.
    segments: Mutex<Vec<Window>>,
}

impl core::fmt::Debug for Job {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Job")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

static ESTABLISHED: OnceRef<'static, Job> = OnceRef::new();

/// The job that this process has established, if any.
pub fn established() -> Option<&'static Job> {
    ESTABLISHED.get()
}

impl Job {
    /// Starts the engine, if the job needs one.
    ///
    /// # Errors
    /// One line: a thread could not be started, or a connection could not be made.
    pub fn start(&mut self, exchange: &mut dyn Exchange) -> Result<(), String> {
        let plan = self.plan.get_mut().unwrap_or_else(PoisonError::into_inner);
        match plan.take() {
            None | Some(Plan::Mapped) => {}
            Some(Plan::Emulated(model)) => {
                let mut engine = emulated::start_one(self.rank, self.domains.clone(), model)
                    .map_err(|e| format!("thread of the software adapter: {e}"))?;
                if model.device.is_some_and(|d| d.check) {
                    let all: Arc<[Board]> =
                        self.peers.iter().filter_map(|p| self.board(p)).collect();
                    engine = engine.checking(all.clone());
                    self.sources = Some(engine.sources());
                    self.boards = Some(all);
                }
                self.engine = Some(Box::new(engine));
            }
            Some(Plan::Tcp(listener, _)) => {
                let addresses = (0..self.size)
                    .map(|r| self.address(exchange, r))
                    .collect::<Result<Vec<SocketAddr>, String>>()?;
                let (member, rank) = (self.member, self.rank);
                let domain = self.domains[rank as usize].clone();
                if self.dials {
                    let addresses = Addresses {
                        listener,
                        of: addresses,
                        secret: *exchange.secret(),
                        within: PATIENCE,
                    };
                    let engine = Tcp::start_dialling(
                        rank,
                        domain,
                        addresses,
                        vanished(member, self.needs_all),
                    )
                    .map_err(|e| format!("thread of the sockets: {e}"))?;
                    self.engine = Some(Box::new(engine));
                    return Ok(());
                }
                let streams =
                    connect::mesh(rank, &listener, &addresses, exchange.secret(), PATIENCE)
                        .map_err(|e| format!("connecting {member} {rank} with its peers: {e}"))?;
                let engine =
                    Tcp::start_watching(rank, domain, streams, vanished(member, self.needs_all))
                        .map_err(|e| format!("thread of the sockets: {e}"))?;
                self.engine = Some(Box::new(engine));
            }
            Some(Plan::Ofi(fabric, _)) => {
                let domain = self.domains[self.rank as usize].clone();
                let engine = fabric.start(
                    exchange,
                    self.member,
                    domain,
                    self.keys,
                    vanished(self.member, false),
                )?;
                self.engine = Some(Box::new(engine));
            }
        }
        Ok(())
    }

    fn board(&self, peer: &Peer) -> Option<Board> {
        let segment = peer.segment.as_ref()?;
        let at = segment.base().wrapping_add(segment.len() - BOARD_BYTES);
        // SAFETY: the board is the last part of a segment, which stays mapped, and was zero when the file was new.
        Some(unsafe { Board::at(at) })
    }

    fn address(&self, exchange: &mut dyn Exchange, rank: u32) -> Result<SocketAddr, String> {
        let why = |what: &str| format!("{} {rank}: where it listens: {what}", self.member);
        let text = exchange
            .get(rank, ADDRESS)
            .map_err(|e| why(&e.to_string()))?
            .ok_or_else(|| why("it said no address (expected one)"))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        text.parse()
            .map_err(|_| why(&format!("{text}: no address (expected one)")))
    }

    /// Makes this job known in this process. If another job is known already, [`established`] keeps returning that
    /// one.
    pub fn establish(self, exchange: Box<dyn Exchange>) -> &'static Job {
        *self.lock() = Some(exchange);
        let job = Box::leak(Box::new(self));
        let _ = ESTABLISHED.set(job);
        job
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Box<dyn Exchange>>> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process's rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The number of processes of the job.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// All ranks, this one included.
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// What this rank offers. [`Domain::port`] is one user's part of it.
    pub fn domain(&self) -> &Domain {
        &self.domains[self.rank as usize]
    }

    /// The keys of the first segment of every rank, and of this process's address space.
    pub fn keys(&self) -> TemplateKeys {
        self.keys
    }

    /// Which ranks the engine reaches.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// The engine; `None` if every peer is mapped.
    pub fn engine(&self) -> Option<&dyn Engine> {
        self.engine.as_deref()
    }

    /// The engine, or for mapped peers one that executes operations in the thread that rings.
    pub fn queues(&self) -> Option<&dyn Engine> {
        if let Some(engine) = self.engine() {
            return Some(engine);
        }
        let shm = self
            .shm
            .get_or_init(|| Shm::new(self.rank, self.domains.clone()));
        shm.as_ref().map(|e| e as &dyn Engine)
    }

    /// The boards on which a checker of modelled memory pins its reports, one for each rank. `None` without a
    /// checker.
    pub fn boards(&self) -> Option<&Arc<[Board]>> {
        self.boards.as_ref()
    }

    /// What such a checker notices about the sources of this process's puts.
    pub fn sources(&self) -> Option<&Arc<Sources>> {
        self.sources.as_ref()
    }

    /// Shares more memory. Collective: all ranks call it with the same arguments. Returns the segments of the ranks
    /// that are mapped here, this process's own included. Memory in them can then be [registered](Domain::register)
    /// for peers.
    ///
    /// # Errors
    /// One line: there is no memory, a peer's segment cannot be mapped, or all `WINDOWS` are in use.
    pub fn segment(
        &self,
        name: &CStr,
        len: usize,
        align: usize,
    ) -> Result<Box<[Option<Segment>]>, String> {
        let mut segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let window = FIRST_WINDOW + segments.len();
        if window >= WINDOWS {
            return Err(format!(
                "segment {window}: too many (expected at most {})",
                WINDOWS - 1
            ));
        }
        let len = len.next_multiple_of(page::LARGEST);
        let own = Segment::create(name, len, align)
            .map_err(|e| format!("shared memory of {len} bytes: {e}"))?;
        let mut guard = self.lock();
        let Some(exchange) = guard.as_mut() else {
            return Err("job: not established (expected one that is)".to_owned());
        };
        let key = format!("nic.segment.{window}");
        let here = (std::process::id(), own.file().unwrap_or(-1));
        let card = format!("{} {}", here.0, here.1);
        exchange
            .put(&key, card.as_bytes())
            .and_then(|()| exchange.fence())
            .map_err(|e| e.to_string())?;
        let mut own = Some(own);
        let (mut all, mut places) = (Vec::new(), Vec::new());
        for r in 0..self.size {
            let mut at = Some(here);
            let segment = if r == self.rank {
                own.take()
            } else if self.peers[r as usize].segment.is_some() {
                let text = exchange.get(r, &key).map_err(|e| e.to_string())?;
                let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
                let place = text
                    .split_once(' ')
                    .and_then(|(pid, fd)| Some((pid.parse().ok()?, fd.parse().ok()?)));
                let Some((pid, fd)) = place else {
                    return Err(format!(
                        "{} {r}: it did not say where its memory is (expected the same call on every rank)",
                        self.member
                    ));
                };
                let opened = Segment::open(pid, fd, len, align);
                at = Some((pid, fd));
                let why = |e| format!("{} {r}: memory of process {pid}: {e}", self.member);
                Some(opened.map_err(why)?)
            } else {
                at = None;
                None
            };
            places.push(at);
            if let Some(s) = &segment {
                self.domains[r as usize]
                    .keys()
                    .window(window, s.base(), len);
            }
            all.push(segment);
        }
        exchange.fence().map_err(|e| e.to_string())?;
        segments.push(Window {
            len,
            places: places.into(),
        });
        Ok(all.into())
    }

    /// Waits until all ranks have called it. A user that joins later registers its regions before this call:
    /// otherwise a peer could put to a key that does not exist yet.
    ///
    /// # Errors
    /// One line: the launcher is lost.
    pub fn fence(&self) -> Result<(), String> {
        match self.lock().as_mut() {
            Some(exchange) => exchange.fence().map_err(|e| e.to_string()),
            None => Err("job: not established (expected one that is)".to_owned()),
        }
    }

    /// The domain of `rank`, as this process reaches it.
    pub fn domain_of(&self, rank: u32) -> &Domain {
        &self.domains[rank as usize]
    }

    /// Ends every process of the job with `status`, after a line with `text`. Returns (false) only if another thread
    /// is using the exchange or is ending the job at this moment. The launcher then notices the end of this process.
    pub fn abort(&self, status: i32, text: &str) -> bool {
        if let Ok(mut exchange) = self.exchange.try_lock() {
            if let Some(exchange) = exchange.as_mut() {
                exchange.abort(status, text);
            }
        }
        false
    }

    /// True if the launcher is gone, as far as its protocol can tell ([`Exchange::is_gone`]). False while another
    /// thread uses the exchange; that thread will notice by itself.
    pub fn launcher_is_gone(&self) -> bool {
        self.exchange
            .try_lock()
            .is_ok_and(|exchange| exchange.as_ref().is_some_and(|exchange| exchange.is_gone()))
    }

    /// Tells the launcher that this process is done with the job and ends as intended.
    pub fn leave(&self) {
        self.left.store(true, Ordering::Release);
        if let Ok(mut exchange) = self.exchange.try_lock() {
            if let Some(exchange) = exchange.as_mut() {
                // An error is ignored: the process ends, and there is nobody to tell.
                let _ = exchange.finalize();
            }
        }
    }

    /// Bytes of the first user's memory, equal in every rank.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Sizes of the ranks' domains.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }
}
