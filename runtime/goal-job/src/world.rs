//! This process in its job: joining, beginning and testing runs, and leaving.
//!
//! * **What it owns**: the one [`World`] of a process, its progress thread, and the state that says whether the process
//!   has joined, left, or is a forked child.
//! * **What it calls**: `hetmp_nic::job` to join, `progress` for runs and waiting, `direct` for the
//!   short way of blocking collectives.

use crate::choice::Collective;
use crate::direct::{self, Direct, Piece};
use crate::driver::{Driver, Outcome};
use crate::kernel;
use crate::link::{self, Here, Layout, Posts};
use crate::memory::{Bound, Segment};
use crate::nic;
use crate::offload::{self, Gone, Offload};
use crate::peers::Peers;
use crate::progress::Progress;
use crate::settings::{self, Engine, Settings};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicU8, Ordering};
use hetmp_core::bell::Bell;
use hetmp_core::park::Policy;
use hetmp_core::{bootstrap, quota, report, thread, topo};
use hetmp_goal::rank::{Failure, StartError};
use hetmp_goal::schedule::Schedule;
use hetmp_nic::descriptor::Key;
use hetmp_nic::domain::Sizes;
use hetmp_nic::job::{self, Handler, Job, Reach, Refused, Request};
use hetmp_nic::keys::{Memory, Rights};
use std::sync::{Arc, Mutex, PoisonError};

/// GOAL's port number in a job's domains. OpenSHMEM has port 0.
const PORT: u8 = 2;
/// What a rank offers in a job that GOAL has begun: its segment and nothing else.
fn sizes(settings: &Settings) -> Sizes {
    let by_adapter = matches!(settings.engine, Engine::Nic | Engine::NicThread);
    Sizes {
        ports: 3,
        regions: 4,
        messages: 2,
        counters: if by_adapter { nic::ALL_COUNTERS } else { 1 },
    }
}
/// How often a blocking collective looks at a peer's word before it waits as runs do.
const QUICK: u32 = 64;

/// Why this process is not, and cannot be, part of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// The process has left, or is a forked child of a process that has joined.
    Over,
    /// One line that says what went wrong.
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
    /// The schedule does not fit this rank or its segments.
    Start(StartError),
    /// There is no memory for the run's scratchpad.
    NoMemory {
        /// Its length, bytes.
        bytes: u64,
    },
}

/// How a run is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// No thread will wait for it soon. A progress thread has to look after it.
    Alone,
    /// The calling thread will wait for it at once.
    Awaited,
    /// As [`How::Alone`], and the events of its operations are kept: [`Outcome::events`].
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
    /// The other ranks' bells, if `direct` is there.
    bells: Box<[&'static Bell]>,
    /// The engine `kernel` or `nic`, if all ranks have it.
    away: Option<Offload>,
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

/// The world; `None` unless this process has joined and not left.
#[inline]
pub fn joined() -> Option<&'static World> {
    if STATE.load(Ordering::Acquire) != JOINED {
        return None;
    }
    // SAFETY: the pointer was stored before the state, and a world is never freed.
    unsafe { WORLD.load(Ordering::Acquire).as_ref() }
}

/// Joins the job. Collective: every process of the job has to call it. A second call in a process returns the same
/// world.
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
        Some(job) => {
            if wants_away(&settings) {
                without_away(&settings, "the job was begun by another library");
            }
            share(job)?
        }
        None => begin(&settings)?,
    };
    let world = World::new(place, settings);
    let world: &'static World = Box::leak(Box::new(world));
    if settings.engine != Engine::User && world.ranks() > 1 {
        let started = thread::start(c"hetmp-goal", || world.progress.serve());
        let thread = started.map_err(|e| JoinError::Refused(format!("progress thread: {e}")))?;
        // The progress thread is not counted among the threads that need a core: it sleeps mostly, and always while
        // other threads wait.
        *world.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    }
    WORLD.store(core::ptr::from_ref(world).cast_mut(), Ordering::Release);
    STATE.store(JOINED, Ordering::Release);
    // SAFETY: the handlers are functions of this library, which is never unloaded.
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

/// In a forked child: it has no progress thread, and must not write into its parent's rings.
extern "C" fn in_child() {
    if STATE.load(Ordering::Relaxed) == JOINED {
        STATE.store(FORKED, Ordering::Release);
    }
}

/// For a program that ends without leaving: sends out what still waits, and gives up all runs.
unsafe extern "C" fn at_exit(status: libc::c_int, _argument: *mut core::ffi::c_void) {
    // Another status means a failure. The launcher tells the other processes.
    if status == 0 && STATE.load(Ordering::Acquire) == JOINED {
        leave();
    }
    if let Some(world) = MADE_HERE.load(Ordering::Acquire).then(any).flatten() {
        if status == 0 && STATE.load(Ordering::Acquire) == LEFT {
            world.job.leave();
        }
    }
}

/// True if GOAL has begun the job. Then GOAL leaves the job at the process's end.
static MADE_HERE: AtomicBool = AtomicBool::new(false);

fn any() -> Option<&'static World> {
    // SAFETY: null, or a world, which is never freed.
    unsafe { WORLD.load(Ordering::Acquire).as_ref() }
}

/// Leaves the job. Runs that have not ended are given up, and peers that need this rank are told. Waits until
/// everything sent has found room at its target.
pub fn leave() {
    let Some(world) = joined() else { return };
    let _one = JOINING.lock().unwrap_or_else(PoisonError::into_inner);
    if STATE.swap(LEFT, Ordering::AcqRel) == JOINED {
        world.finish();
    }
}

/// The job that was joined, and this rank's segments in it.
struct Place {
    job: &'static Job,
    /// By rank: where its segment is mapped; null if it is not mapped.
    bases: Box<[*mut u8]>,
    key: Key,
    away: Option<Offload>,
}

/// Whether runs are to be executed away from the process.
fn wants_away(settings: &Settings) -> bool {
    !matches!(settings.engine, Engine::User | Engine::Thread)
}

/// Says why the engine that is asked for is not used.
fn without_away(settings: &Settings, why: impl core::fmt::Display) {
    report::warn(format_args!(
        "HETMP_GOAL_ENGINE {}: {why}; the engine thread is used",
        settings.engine.name()
    ));
}

/// This rank's part of an engine away from the process, before the rank has met the others.
enum Offer {
    None,
    Kernel(kernel::Offer),
    Nic(nic::Form),
}

impl Offer {
    fn new(settings: &Settings, ranks: u32) -> Offer {
        if ranks < 2 {
            return Offer::None;
        }
        match settings.engine {
            Engine::User | Engine::Thread => Offer::None,
            Engine::Nic => Offer::Nic(nic::Form::Process),
            Engine::NicThread => Offer::Nic(nic::Form::Thread),
            Engine::Kernel => match kernel::Offer::new(&settings::interface(), ranks) {
                Ok(offer) => Offer::Kernel(offer),
                Err(why) => {
                    without_away(settings, why);
                    Offer::None
                }
            },
        }
    }

    /// What the other ranks have to know.
    fn note(&self) -> Vec<u8> {
        match self {
            Offer::None => Vec::new(),
            Offer::Kernel(offer) => offer.note(),
            Offer::Nic(form) => form.note(),
        }
    }

    /// The engine, if all ranks have offered it. `notes` are those of all ranks. Collective.
    fn accept(
        self,
        settings: &Settings,
        job: &'static Job,
        notes: &[Vec<u8>],
    ) -> Result<Option<Offload>, JoinError> {
        let engine = match self {
            Offer::None => return Ok(None),
            Offer::Kernel(offer) => offer.accept(job.rank(), notes),
            Offer::Nic(form) => match form.agreed(notes) {
                Ok(form) => match nic::join(job, PORT, form) {
                    Ok(engine) => Ok(engine),
                    Err(nic::Refused::All(why)) => Err(why),
                    Err(nic::Refused::Job(why)) => return Err(JoinError::Refused(why)),
                },
                Err(why) => Err(why),
            },
        };
        Ok(match engine {
            Ok(engine) => Some(engine),
            Err(why) => {
                without_away(settings, why);
                None
            }
        })
    }
}

fn refused(e: impl core::fmt::Display) -> JoinError {
    JoinError::Refused(e.to_string())
}

/// Begins a job for GOAL alone.
fn begin(settings: &Settings) -> Result<Place, JoinError> {
    let mut exchange = bootstrap::connect().map_err(refused)?;
    let (rank, size) = (exchange.rank(), exchange.size());
    let offer = Offer::new(settings, size);
    let note = offer.note();
    let mut notes = vec![Vec::new(); size as usize];
    notes[rank as usize].clone_from(&note);
    let request = Request {
        member: "rank",
        name: c"hetmp-goal",
        memory: Layout::new(exchange.size()).bytes(),
        align: hetmp_core::segment::PAGE,
        sizes: sizes(settings),
        way: settings.way,
        model: "",
        dials: true,
    };
    let joining = job::begin(request, exchange.as_mut()).map_err(|e| match e {
        Refused::Way(why) => JoinError::Refused(why),
        e @ Refused::Memory { .. } => refused(e),
    })?;
    let mut job = joining
        .meet(
            exchange.as_mut(),
            &note,
            &mut |r, _, note| {
                notes[r as usize] = note.to_vec();
                Ok(())
            },
            &|_, base| Some(waking(base)),
        )
        .map_err(JoinError::Refused)?;
    set_policy(&job);
    job.start(exchange.as_mut()).map_err(JoinError::Refused)?;
    let key = job.keys().remote;
    let job = job.establish(exchange);
    MADE_HERE.store(true, Ordering::Release);
    let bases = job.peers().iter().map(job::Peer::base).collect();
    let away = offer.accept(settings, job, &notes)?;
    Ok(Place {
        job,
        bases,
        key,
        away,
    })
}

/// A handler that wakes the rank whose segment is mapped at `base`, if it sleeps, when something arrives there.
fn waking(base: *mut u8) -> Handler {
    let base = base.expose_provenance();
    Box::new(move |_| {
        // SAFETY: `base` is the start of a `Layout` that `begin` or `share` has mapped, and nobody unmaps.
        unsafe { link::bell(core::ptr::with_exposed_provenance_mut(base)) }.ring();
    })
}

/// Tells the waiting policy how many processes share how many processors.
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
}

/// Joins the job that another library of this process has begun.
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
    // Never unmapped: the segments are used until the process ends.
    core::mem::forget(segments);
    let memory = Memory {
        here: bases[job.rank() as usize],
        len: bytes,
        base: 0,
    };
    // SAFETY: the segment stays mapped, and peers are expected to write there. It is the first region that every rank
    // registers at this port, so that the key is the same on all ranks.
    let key = unsafe { job.domain().register(PORT, memory, Rights::ALL, None) }.map_err(refused)?;
    for (rank, base) in (0..).zip(&bases) {
        if !base.is_null() && !job.domain_of(rank).on_arrival_at(PORT, waking(*base)) {
            return Err(refused("GOAL: a job whose ports are free is accepted"));
        }
    }
    // After this fence all ranks have registered their segment.
    job.fence().map_err(JoinError::Refused)?;
    Ok(Place {
        job,
        bases,
        key,
        away: None,
    })
}

impl World {
    fn new(place: Place, settings: Settings) -> World {
        let Place {
            job,
            bases,
            key,
            away,
        } = place;
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
            // SAFETY: the areas lie within segments of this `Layout`, which stay mapped, are aligned to pages, and
            // were zero at first.
            Mutex::new(unsafe { Direct::new(rank, reached.iter().map(at).collect()) })
        });
        let peers = reached
            .iter()
            .enumerate()
            .filter(|(r, _)| short && *r != rank as usize);
        // SAFETY: these are starts of segments of this `Layout`, which stay mapped.
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
            away,
        }
    }

    /// This process's rank.
    pub fn rank(&self) -> u32 {
        self.job.rank()
    }

    /// The number of ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.job.size()
    }

    /// The settings from the environment.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Begins a run of a schedule.
    ///
    /// # Errors
    /// [`RunError`]; then nothing has begun.
    ///
    /// # Safety
    /// The segments are valid for reads and writes of their lengths until the run has ended, and meanwhile nobody
    /// else accesses what the schedule uses of them. For [`Segment::ADDRESSES`] this holds for the pieces that the
    /// schedule uses.
    pub unsafe fn run(
        &self,
        schedule: &Arc<Schedule>,
        context: u32,
        segments: &[Segment],
        how: How,
    ) -> Result<Arc<Outcome>, RunError> {
        let bytes = schedule.scratchpad();
        // SAFETY: who calls upholds the contract of `run`, which `Bound::new` has too.
        let memory = unsafe { Bound::new(segments, bytes) }.ok_or(RunError::NoMemory { bytes })?;
        let (traced, awaited) = (how == How::Traced, how == How::Awaited);
        self.progress
            .start(schedule, context, memory, traced, awaited)
            .map_err(RunError::Start)
    }

    /// Begins a collective in the engine `kernel` or `nic`. `None` if neither is used, or the engine does not take this
    /// collective.
    ///
    /// # Errors
    /// A peer is lost.
    ///
    /// # Safety
    /// The buffers are valid for the collective's reads and writes until the run has ended, and meanwhile nobody else
    /// uses them.
    #[inline]
    pub(crate) unsafe fn start_away(
        &self,
        what: &Collective,
        buffers: &[Segment; 2],
    ) -> Option<Result<Arc<offload::Run>, Failure>> {
        let away = self.away.as_ref()?;
        // SAFETY: who calls upholds the contract of `start_away`, which is that of `Offload::start`.
        unsafe { away.start(what, buffers, &self.settings) }
    }

    /// The result of a run that was begun by [`World::start_away`]; `None` while it goes on.
    pub(crate) fn test_away(&self, run: &Arc<offload::Run>) -> Option<Result<(), Failure>> {
        // Whoever has such a run has the engine.
        self.away.as_ref().and_then(|away| away.test(run))
    }

    /// Waits for the end of a run that was begun by [`World::start_away`].
    ///
    /// # Errors
    /// Why the run has failed.
    pub(crate) fn wait_away(&self, run: &Arc<offload::Run>) -> Result<(), Failure> {
        match &self.away {
            Some(away) => away.wait(run, &|peer| self.gone(peer)),
            None => Err(Failure::Abandoned),
        }
    }

    fn gone(&self, peer: u32) -> Gone {
        if self.here.has_left(peer) {
            Gone::Left
        } else if self.progress.ask_whether_died(peer) {
            Gone::Died
        } else {
            Gone::No
        }
    }

    /// Runs a blocking collective without a schedule. `None` if it needs one, or has arguments for which a schedule
    /// reports the error.
    ///
    /// # Safety
    /// The buffers are valid for the collective's reads and writes, and nobody else uses them, until the call
    /// returns.
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
        // SAFETY: who calls keeps the buffers valid for the collective's lengths, which these are.
        let (give, get) = unsafe {
            (
                Piece::new(give.cast_mut(), gives as usize),
                Piece::new(get, gets as usize),
            )
        };
        let mut direct = direct.lock().unwrap_or_else(PoisonError::into_inner);
        Some(direct.run(what, give, get, self))
    }

    /// Waits for a peer's word when a short spin was not enough. See [`direct::Wait`].
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
            // One more look: what the peer has written before it ended counts.
            Some(if there() { Ok(()) } else { Err(why) })
        };
        self.progress.wait_until(&poll, Some(peer))
    }

    /// The result of a run; `None` while it goes on. Reads one word. Under the engine `user` it first moves the runs
    /// on.
    #[inline]
    pub fn test(&self, outcome: &Outcome) -> Option<Result<(), Failure>> {
        let ended = outcome.poll();
        if ended.is_some() || self.settings.engine != Engine::User {
            return ended;
        }
        self.progress.try_step(0);
        outcome.poll()
    }

    /// Waits for the end of a run. Moves all runs on meanwhile.
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
        if let Some(away) = &self.away {
            away.finish(&|peer| self.gone(peer));
        }
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
            // A peer that misses this ring sleeps one shortest nap longer at most.
            bell.ring_unfenced();
        }
    }
}
