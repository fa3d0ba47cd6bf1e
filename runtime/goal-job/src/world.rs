//! This process in its job: joining, beginning and testing runs, and leaving.
//!
//! * **What it owns**: the one [`World`] of a process, its progress thread, and the state that says whether the process
//!   has joined, left, or is a forked child.
//! * **What it calls**: `hetmp_nic::job` to join, `progress` for runs and waiting, `direct` for the
//!   short way of blocking collectives.

use crate::choice::Collective;
use crate::direct::{self, Direct, Piece};
use crate::driver::{Driver, Outcome};
use crate::link::{self, Here, Layout, Posts};
use crate::memory::{Bound, Segment};
use crate::peers::Peers;
use crate::progress::Progress;
use crate::settings::{Engine, Settings};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicU8, Ordering};
use hetmp_core::bell::Bell;
use hetmp_core::park::Policy;
use hetmp_core::{bootstrap, quota, spins, thread, topo};
use hetmp_goal::rank::{Failure, StartError};
use hetmp_goal::schedule::Schedule;
use hetmp_nic::descriptor::Key;
use hetmp_nic::domain::Sizes;
use hetmp_nic::job::{self, Handler, Job, Reach, Refused, Request};
use hetmp_nic::keys::{Memory, Rights};
use std::sync::{Arc, Mutex, PoisonError};

/// GOAL's port in a job's domains. OpenSHMEM has 0.
const PORT: u8 = 2;
/// What a rank offers where GOAL joins the job: nothing but its segment.
const SIZES: Sizes = Sizes {
    ports: 3,
    regions: 4,
    messages: 2,
    counters: 1,
};
/// How often a blocking collective looks at a peer's word before it waits as runs do.
const QUICK: u32 = 64;

/// Why this process cannot be part of a job, or is not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// It has left, or is a forked child of a process that has joined.
    Over,
    /// What went wrong, one line.
    Refused(String),
}

impl core::fmt::Display for JoinError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            JoinError::Over => f.write_str("GOAL: a process that has not left its job is accepted"),
            JoinError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for JoinError {}

/// Why a run cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError {
    /// The schedule does not fit.
    Start(StartError),
    /// There is no memory for its scratchpad.
    NoMemory {
        /// Its length, bytes.
        bytes: u64,
    },
}

/// What else is known about a run when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Nobody waits for it soon: a progress thread has to look after it.
    Alone,
    /// Its caller waits for it at once.
    Awaited,
    /// As [`How::Alone`], and what happens to its operations is kept: [`Outcome::events`].
    Traced,
}

/// This process as a rank of its job.
pub struct World {
    job: &'static Job,
    settings: Settings,
    progress: Progress,
    /// Under the engine `thread`: the progress thread, until the process leaves.
    thread: Mutex<Option<thread::Thread>>,
    here: Here,
    /// The short way of blocking collectives, where all ranks map each other's segments.
    direct: Option<Mutex<Direct>>,
    /// The other ranks' bells where `direct` is there; else none.
    bells: Box<[&'static Bell]>,
}

impl core::fmt::Debug for World {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("World")
            .field("job", &self.job)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

const NEW: u8 = 0;
const JOINED: u8 = 1;
const LEFT: u8 = 2;
const FORKED: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(NEW);
static WORLD: AtomicPtr<World> = AtomicPtr::new(core::ptr::null_mut());
static JOINING: Mutex<()> = Mutex::new(());

/// The world, if this process has joined and not left.
#[inline]
pub fn joined() -> Option<&'static World> {
    if STATE.load(Ordering::Acquire) != JOINED {
        return None;
    }
    // SAFETY: stored before the state, and never freed.
    unsafe { WORLD.load(Ordering::Acquire).as_ref() }
}

/// Joins the job: collective, every process of the job has to call it. A second call finds what the first one made.
///
/// # Errors
/// [`JoinError`]: the process has left, or cannot join.
pub fn join() -> Result<&'static World, JoinError> {
    let _one = JOINING.lock().unwrap_or_else(PoisonError::into_inner);
    match STATE.load(Ordering::Acquire) {
        NEW => {}
        JOINED => return joined().ok_or(JoinError::Over),
        _ => return Err(JoinError::Over),
    }
    let settings = Settings::read();
    let place = match job::established() {
        Some(job) => share(job)?,
        None => begin(&settings)?,
    };
    let world = World::new(place, settings);
    let world: &'static World = Box::leak(Box::new(world));
    if settings.engine == Engine::Thread && world.ranks() > 1 {
        let started = thread::start(c"hetmp-goal", || world.progress.serve());
        let thread = started.map_err(|e| JoinError::Refused(format!("progress thread: {e}")))?;
        // It does not count among the threads that need a core: mostly it sleeps, and always while others wait.
        *world.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    }
    WORLD.store(core::ptr::from_ref(world).cast_mut(), Ordering::Release);
    STATE.store(JOINED, Ordering::Release);
    // SAFETY: functions of this library, which is never unloaded.
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
        on_exit(at_exit, core::ptr::null_mut());
    }
    Ok(world)
}

extern "C" {
    fn on_exit(
        function: unsafe extern "C" fn(status: libc::c_int, argument: *mut core::ffi::c_void),
        argument: *mut core::ffi::c_void,
    ) -> libc::c_int;
}

/// The child has none of the threads, and must not write into its parent's rings.
extern "C" fn in_child() {
    if STATE.load(Ordering::Relaxed) == JOINED {
        STATE.store(FORKED, Ordering::Release);
    }
}

/// A program that ends without leaving: what it sent still goes out, what runs is given up.
unsafe extern "C" fn at_exit(status: libc::c_int, _argument: *mut core::ffi::c_void) {
    // Another status than 0 is an accident, of which the launcher tells the others.
    if status == 0 && STATE.load(Ordering::Acquire) == JOINED {
        leave();
    }
    if let Some(world) = MADE_HERE.load(Ordering::Acquire).then(any).flatten() {
        if status == 0 && STATE.load(Ordering::Acquire) == LEFT {
            world.job.leave();
        }
    }
}

/// GOAL has begun the job, and leaves it at the process's end.
static MADE_HERE: AtomicBool = AtomicBool::new(false);

fn any() -> Option<&'static World> {
    // SAFETY: null, or leaked.
    unsafe { WORLD.load(Ordering::Acquire).as_ref() }
}

/// Leaves the job: runs that have not ended are given up, and peers that need this rank learn of it. Waits until what was
/// sent has room at its target.
pub fn leave() {
    let Some(world) = joined() else { return };
    let _one = JOINING.lock().unwrap_or_else(PoisonError::into_inner);
    if STATE.swap(LEFT, Ordering::AcqRel) == JOINED {
        world.finish();
    }
}

/// What joining found.
struct Place {
    job: &'static Job,
    /// Segments of all ranks that are mapped here.
    bases: Box<[*mut u8]>,
    key: Key,
}

fn refused(e: impl core::fmt::Display) -> JoinError {
    JoinError::Refused(e.to_string())
}

/// Begins a job of GOAL's own.
fn begin(settings: &Settings) -> Result<Place, JoinError> {
    let mut exchange = bootstrap::connect().map_err(refused)?;
    let request = Request {
        member: "rank",
        name: c"hetmp-goal",
        memory: Layout::new(exchange.size()).bytes(),
        align: hetmp_core::segment::PAGE,
        sizes: SIZES,
        way: settings.way,
        model: "",
        dials: true,
    };
    let joining = job::begin(request, exchange.as_mut()).map_err(|e| match e {
        Refused::Way(why) => JoinError::Refused(why),
        e @ Refused::Memory { .. } => refused(e),
    })?;
    let mut job = joining
        .meet(exchange.as_mut(), b"", &mut |_, _, _| Ok(()), &|_, base| {
            Some(waking(base))
        })
        .map_err(JoinError::Refused)?;
    set_policy(&job);
    job.start(exchange.as_mut()).map_err(JoinError::Refused)?;
    let key = job.keys().remote;
    let job = job.establish(exchange);
    MADE_HERE.store(true, Ordering::Release);
    let bases = job.peers().iter().map(job::Peer::base).collect();
    Ok(Place { job, bases, key })
}

/// What arrives wakes the rank whose segment is mapped at `base`, if it sleeps.
fn waking(base: *mut u8) -> Handler {
    let base = base.expose_provenance();
    Box::new(move |_| {
        // SAFETY: `base` is the start of a `Layout` that `begin` or `share` has mapped, and nobody unmaps.
        unsafe { link::bell(core::ptr::with_exposed_provenance_mut(base)) }.ring();
    })
}

/// How many threads of how many processes share the processors.
fn set_policy(job: &Job) {
    let local = job.peers().iter().filter(|p| p.local).count();
    let own: u32 = topo::affinity()
        .words()
        .iter()
        .map(|w| w.count_ones())
        .sum();
    let cpus = match quota::cpus() {
        Some(quota) => quota.min(own as usize),
        None => own as usize,
    };
    Policy::join_job(local.saturating_sub(1), cpus);
    if let Some(spins) = spins::from_env() {
        Policy::set_spins(spins.free, spins.throttled);
    }
}

/// Takes part in the job that another library of this process has joined.
fn share(job: &'static Job) -> Result<Place, JoinError> {
    if job.domain().port(PORT).is_none() {
        return Err(refused("GOAL: a job with a port for it is accepted"));
    }
    let bytes = Layout::new(job.size()).bytes();
    let segments = job
        .segment(c"hetmp-goal", bytes, hetmp_core::segment::PAGE)
        .map_err(JoinError::Refused)?;
    let bases: Box<[*mut u8]> = segments
        .iter()
        .map(|s| match s {
            Some(s) => s.base(),
            None => core::ptr::null_mut(),
        })
        .collect();
    // The segments live as long as the process: programs end with their jobs.
    core::mem::forget(segments);
    let memory = Memory {
        here: bases[job.rank() as usize],
        len: bytes,
        base: 0,
    };
    // SAFETY: the segment stays mapped, and peers are to write there. It is the first region that every rank registers at
    // this port, so that all have the same key.
    let key = unsafe { job.domain().register(PORT, memory, Rights::ALL, None) }.map_err(refused)?;
    for (rank, base) in (0..).zip(&bases) {
        if !base.is_null() && !job.domain_of(rank).on_arrival_at(PORT, waking(*base)) {
            return Err(refused("GOAL: a job whose ports are free is accepted"));
        }
    }
    // A rank that is through this one has the regions of all.
    job.fence().map_err(JoinError::Refused)?;
    Ok(Place { job, bases, key })
}

impl World {
    fn new(place: Place, settings: Settings) -> World {
        let Place { job, bases, key } = place;
        let rank = job.rank();
        let here = Here {
            rank,
            base: bases[rank as usize],
            layout: Layout::new(job.size()),
        };
        // SAFETY: this rank's segment, which stays mapped.
        let bell = unsafe { link::bell(here.base) };
        here.sign();
        let by_engine = matches!(job.reach(), Reach::Others | Reach::All);
        let reached: Box<[*mut u8]> = bases
            .iter()
            .map(|b| if by_engine { core::ptr::null_mut() } else { *b })
            .collect();
        let ranks = job.size();
        let short = (2..=direct::RANKS).contains(&ranks) && reached.iter().all(|b| !b.is_null());
        let direct = short.then(|| {
            let at = |base: &*mut u8| base.wrapping_add(here.layout.direct());
            // SAFETY: within segments of this `Layout`, aligned to pages, which stay mapped; zero until their ranks write there.
            Mutex::new(unsafe { Direct::new(rank, reached.iter().map(at).collect()) })
        });
        let peers = reached
            .iter()
            .enumerate()
            .filter(|(r, _)| short && *r != rank as usize);
        // SAFETY: segments of this `Layout`, which stay mapped.
        let bells = peers
            .map(|(_, base)| unsafe { link::bell(*base) })
            .collect();
        let queue = job.engine().map(|e| e.queue_pair(256, job.keys()));
        let post = Posts::new(queue, job.keys().local, key);
        // SAFETY: `begin` and `share` have mapped these segments of this `Layout`, and nobody unmaps them.
        let processes = unsafe { Peers::new(bases) };
        let driver = Driver::new(here, reached, post);
        World {
            job,
            settings,
            progress: Progress::new(job, driver, bell, processes),
            thread: Mutex::new(None),
            here,
            direct,
            bells,
        }
    }

    /// This process's number.
    pub fn rank(&self) -> u32 {
        self.job.rank()
    }

    /// Processes of the job.
    pub fn ranks(&self) -> u32 {
        self.job.size()
    }

    /// What the environment says.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Begins a run of a schedule.
    ///
    /// # Errors
    /// [`RunError`]: nothing has begun.
    ///
    /// # Safety
    /// The segments are valid for reads and writes of their lengths until the run has ended, and nobody else accesses what the
    /// schedule uses of them meanwhile. Of [`Segment::ADDRESSES`] this holds for the pieces that the schedule uses.
    pub unsafe fn run(
        &self,
        schedule: &Arc<Schedule>,
        context: u32,
        segments: &[Segment],
        how: How,
    ) -> Result<Arc<Outcome>, RunError> {
        let bytes = schedule.scratchpad();
        // SAFETY: passed on to the caller.
        let memory = unsafe { Bound::new(segments, bytes) }.ok_or(RunError::NoMemory { bytes })?;
        let (traced, awaited) = (how == How::Traced, how == How::Awaited);
        self.progress
            .start(schedule, context, memory, traced, awaited)
            .map_err(RunError::Start)
    }

    /// A blocking collective without a schedule. `None`: it needs one, or has arguments that a schedule's errors name.
    ///
    /// # Safety
    /// The buffers are valid for what the collective reads and writes there, and left alone until the call returns.
    #[inline]
    pub(crate) unsafe fn direct(
        &self,
        what: &Collective,
        give: *const u8,
        get: *mut u8,
    ) -> Option<Result<(), Failure>> {
        let direct = self.direct.as_ref()?;
        let (rank, ranks) = (self.rank(), self.ranks());
        if !direct::takes(what, ranks, &self.settings) {
            return None;
        }
        let (gives, gets) = direct::lengths(what, rank, ranks);
        if gives > 0 && give.is_null() || gets > 0 && get.is_null() {
            return None;
        }
        self.progress.advance_open_runs();
        // SAFETY: passed on to the caller; these are the collective's lengths.
        let (give, get) = unsafe {
            (
                Piece::new(give.cast_mut(), gives as usize),
                Piece::new(get, gets as usize),
            )
        };
        let mut direct = direct.lock().unwrap_or_else(PoisonError::into_inner);
        Some(direct.run(what, give, get, self))
    }

    /// Waits long for a peer's word; see [`direct::Wait`].
    #[cold]
    fn wait_for_word(
        &self,
        word: &AtomicU64,
        least: u64,
        peer: u32,
        over: &AtomicU64,
    ) -> Result<(), Failure> {
        let there = || word.load(Ordering::Acquire) >= least;
        let gone = || self.progress.has_died(peer) || self.here.has_left(peer);
        let poll = || {
            if there() {
                return Some(Ok(()));
            }
            let why = if over.load(Ordering::Acquire) != 0 {
                Failure::PeerFailed { peer }
            } else if gone() {
                Failure::PeerLost { peer }
            } else {
                return None;
            };
            // Looked at again: a peer's last words stand.
            Some(if there() { Ok(()) } else { Err(why) })
        };
        self.progress.wait_until(&poll, Some(peer))
    }

    /// Whether a run has ended, and how. Reads a word; under the engine `user` it moves the runs on first.
    #[inline]
    pub fn test(&self, outcome: &Outcome) -> Option<Result<(), Failure>> {
        let ended = outcome.poll();
        if ended.is_some() || self.settings.engine == Engine::Thread {
            return ended;
        }
        self.progress.try_step(0);
        outcome.poll()
    }

    /// Waits for the end of a run, and moves all runs on meanwhile.
    ///
    /// # Errors
    /// Why the run has failed.
    pub fn wait(&self, outcome: &Outcome) -> Result<(), Failure> {
        if let Some(ended) = outcome.poll() {
            return ended;
        }
        self.progress.wait_until(&|| outcome.poll(), None)
    }

    fn finish(&self) {
        self.progress.stop();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            thread.join();
        }
        self.progress.finish();
    }
}

impl direct::Wait for World {
    #[inline]
    fn wait(
        &self,
        word: &AtomicU64,
        least: u64,
        peer: u32,
        over: &AtomicU64,
    ) -> Result<(), Failure> {
        if !Policy::oversubscribed() {
            for _ in 0..QUICK {
                if word.load(Ordering::Acquire) >= least {
                    return Ok(());
                }
                core::hint::spin_loop();
            }
        }
        self.wait_for_word(word, least, peer, over)
    }

    #[inline]
    fn ring(&self) {
        for bell in &self.bells {
            // A peer that misses this sleeps no longer than the shortest nap.
            bell.ring_unfenced();
        }
    }
}
