//! This process in its job: joining, beginning and testing runs, and leaving.
//!
//! * **What it owns**: the one [`World`] of a process, its progress thread, and the state that says whether the process
//!   has joined, left, or is a forked child.
//! * **What it calls**: `hetmp_nic::job` to join, `progress` for runs and waiting, `team` for the short way of
//!   collectives.

mod joining;
mod teams;

use crate::direct;
use crate::driver::{Driver, Outcome};
use crate::link::{self, Here, Layout, Posts};
use crate::memory::{Bound, Segment};
use crate::offload::{self, Gone, Offload};
use crate::peers::Peers;
use crate::progress::Progress;
use crate::settings::{Engine, Settings};
use crate::team::Team;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicU8, Ordering};
use hetmp_core::bootstrap::Exchange;
use hetmp_core::topo::{self, CpuSet};
use hetmp_core::{report, sys, thread};
use hetmp_goal::rank::{Failure, StartError};
use hetmp_goal::schedule::Schedule;
use hetmp_nic::job::{Job, Reach};
pub use joining::JoinError;
use joining::Place;
use once_cell::race::OnceRef;
use std::sync::{Arc, Mutex, PoisonError};

/// No rank.
const NOBODY: u32 = u32::MAX;

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
    /// The progress thread, from when it is first needed until the process leaves; none under the engine `user`.
    thread: Mutex<Option<thread::Thread>>,
    /// There is none, and will be none.
    is_alone: AtomicBool,
    here: Here,
    /// By rank: where its segment is mapped; null for ranks of other machines.
    bases: Box<[usize]>,
    /// All ranks, where they map each other's segments.
    team: Option<Team>,
    /// The teams of groups, by context.
    groups: Box<[OnceRef<'static, Team>]>,
    /// A peer that many tests have found to be missing; [`NOBODY`] if there is none.
    missing: AtomicU32,
    /// When [`World::advance`] last asked the system whether a peer lives, by [`sys::monotonic_ns`].
    asked: AtomicU64,
    /// How many tests have found a run going on.
    tests: AtomicU32,
    /// The engine `kernel` or `nic`, if all ranks have it.
    away: Option<&'static Offload>,
    /// The same for groups, by context.
    away_groups: Mutex<Vec<(u32, Option<&'static Offload>)>>,
}

impl core::fmt::Debug for World {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("World")
            .field("job", &self.job)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// After how many tests the system is asked whether peers live. A test makes no system call, and reads no clock,
/// before.
const MANY_TESTS: u32 = 1 << 20;
/// The same for tests that move runs on, which takes a microsecond or more.
const MANY_STEPS: u32 = 1 << 14;

const NEW: u8 = 0;
const JOINED: u8 = 1;
const LEFT: u8 = 2;
const FORKED: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(NEW);
static WORLD: OnceRef<'static, World> = OnceRef::new();
static JOINING: Mutex<()> = Mutex::new(());

/// The world; `None` unless this process has joined and not left.
#[inline]
pub fn joined() -> Option<&'static World> {
    if STATE.load(Ordering::Acquire) != JOINED {
        return None;
    }
    WORLD.get()
}

/// Joins the job of the launcher. Collective: every process of the job has to call it. A second call in a process
/// returns the same world.
///
/// # Errors
/// [`JoinError`]: the process has left, or cannot join.
pub fn join() -> Result<&'static World, JoinError> {
    join_by(None)
}

/// As [`join`], through an exchange of the caller's own. The engine `user` is not used: the program waits inside of the
/// library that has started it, where nobody would move runs on.
///
/// # Errors
/// Those of [`join`].
pub fn join_through(exchange: Box<dyn Exchange>) -> Result<&'static World, JoinError> {
    join_by(Some(exchange))
}

fn join_by(exchange: Option<Box<dyn Exchange>>) -> Result<&'static World, JoinError> {
    let _one = JOINING.lock().unwrap_or_else(PoisonError::into_inner);
    match STATE.load(Ordering::Acquire) {
        NEW => {}
        JOINED => return joined().ok_or(JoinError::Over),
        _ => return Err(JoinError::Over),
    }
    let mut settings = Settings::read();
    if let Some(exchange) = exchange
        .as_ref()
        .filter(|_| settings.engine == Engine::User)
    {
        if exchange.rank() == 0 {
            report::warn(format_args!(
                "HETMP_GOAL_ENGINE: 'user': the program also waits in the library that has started it; the engine \
                 thread is used"
            ));
        }
        settings.engine = Engine::Thread;
    }
    let place = joining::place(&settings, exchange)?;
    MADE_HERE.store(place.made_here, Ordering::Release);
    let world = World::new(place, settings);
    let world: &'static World = Box::leak(Box::new(world));
    world.progress.set_aside(Box::new(|| world.advance_teams()));
    if settings.engine != Engine::User && world.ranks() > 1 {
        let cpus = topo::affinity();
        world
            .progress
            .set_beginner(Box::new(move || world.begin_thread(cpus.clone())));
    }
    // The state was `NEW`, so that there is none yet.
    let _ = WORLD.set(world);
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
    WORLD.get()
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

impl World {
    fn new(place: Place, settings: Settings) -> World {
        let Place {
            job,
            bases,
            key,
            away,
            ..
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
        let team =
            short.then(|| Team::mapped((0..ranks).collect(), 0, rank, here.layout, &reached));
        let kept: Box<[usize]> = reached.iter().map(|b| b.expose_provenance()).collect();
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
            is_alone: AtomicBool::new(settings.engine == Engine::User),
            here,
            bases: kept,
            team,
            groups: (0..link::TEAMS).map(|_| OnceRef::new()).collect(),
            missing: AtomicU32::new(NOBODY),
            tests: AtomicU32::new(0),
            asked: AtomicU64::new(sys::monotonic_ns()),
            away,
            away_groups: Mutex::new(Vec::new()),
        }
    }

    /// Begins the progress thread, on the CPUs that the process had when it joined: the program may have bound the
    /// calling thread to one since, where it computes. It is not counted among the threads that need a core: it sleeps
    /// mostly, and always while other threads wait.
    fn begin_thread(&'static self, cpus: CpuSet) {
        let mut place = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever ends it has it from `place`.
        if self.progress.is_stopped() {
            return;
        }
        let serve = move || {
            // Where this is refused, the thread stays on the caller's CPUs.
            let _ = topo::set_affinity(&cpus);
            self.progress.serve();
        };
        match thread::start(c"hetmp-goal", serve) {
            Ok(thread) => *place = Some(thread),
            Err(e) => {
                self.is_alone.store(true, Ordering::Relaxed);
                report::warn(format_args!(
                    "GOAL: progress thread: {e} (expected room for one; runs go on inside of tests and waits alone)"
                ));
            }
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
    /// else accesses what the schedule uses of them. For [`Segment::ADDRESSES`] this is for the pieces that the
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

    /// The engine `kernel` or `nic`, if the job has one; then all its ranks do.
    pub(crate) fn away(&self) -> Option<&'static Offload> {
        self.away
    }

    /// The same for a group with this context, whose members are these ranks, with this one as number `me`.
    pub(crate) fn group_away(
        &self,
        context: u32,
        members: &[u32],
        me: u32,
    ) -> Option<&'static Offload> {
        let away = self.away?;
        let groups = self.away_groups.lock();
        let mut groups = groups.unwrap_or_else(PoisonError::into_inner);
        if let Some((_, group)) = groups.iter().find(|(c, _)| *c == context) {
            // A context is used again for the same ranks only. Its runs have the numbers that follow.
            return *group;
        }
        let group = away.group(context, members, me);
        groups.push((context, group));
        group
    }

    /// The result of a run of the engine; `None` while it goes on.
    pub(crate) fn test_away(
        &self,
        away: &Offload,
        run: &Arc<offload::Run>,
    ) -> Option<Result<(), Failure>> {
        let mut ended = away.test(run);
        if ended.is_none() && self.is_time_to_ask(MANY_TESTS) {
            away.check(run, &|peer| self.gone(peer));
            ended = run.poll();
        }
        ended
    }

    /// Waits for the end of a run of the engine.
    ///
    /// # Errors
    /// Why the run has failed.
    pub(crate) fn wait_away(&self, away: &Offload, run: &Arc<offload::Run>) -> Result<(), Failure> {
        away.wait(run, &|peer| self.gone(peer))
    }

    /// Moves all runs on once, for a thread that waits for something else, too.
    pub(crate) fn advance(&self) {
        let missing = self.missing.load(Ordering::Relaxed);
        if missing != NOBODY {
            self.ask_for_missing(missing);
        }
        self.progress.advance();
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

    /// The result of a run; `None` while it goes on. Reads one word. Without a progress thread it first moves the runs
    /// on.
    #[inline]
    pub fn test(&self, outcome: &Outcome) -> Option<Result<(), Failure>> {
        let ended = outcome.poll();
        if ended.is_some() || !self.is_alone.load(Ordering::Relaxed) {
            return ended;
        }
        self.progress.try_step(0);
        if self.is_time_to_ask(MANY_STEPS) {
            self.progress.check_peers(None);
        }
        outcome.poll()
    }

    /// True in one call of many: a program that only tests has to learn that a peer is gone.
    fn is_time_to_ask(&self, often: u32) -> bool {
        // Threads that test at the same time may lose counts of each other.
        let tests = self.tests.load(Ordering::Relaxed).wrapping_add(1);
        self.tests.store(tests, Ordering::Relaxed);
        tests % often == 0
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
        if let Some(away) = self.away {
            away.finish_all(&|peer| self.gone(peer));
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
        // The waits below move collectives on, and a main function that has returned took its buffers along.
        if let Some(team) = &self.team {
            team.abandon(self);
        }
        for team in self.groups.iter().filter_map(OnceRef::get) {
            team.abandon(self);
        }
        self.progress.finish();
    }
}
