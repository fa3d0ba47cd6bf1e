//! Moving this process's runs on, and waiting for them.
//!
//! * **What it owns**: the rank's [`Driver`] behind a mutex, the hand-off between waiting threads and the progress
//!   thread ([`Duty`]), and the bell on which waiters sleep.
//! * **What it calls**: the driver, the job's engine, and `hetmp_core`'s spinning and sleeping. It knows nothing of
//!   joining and leaving the job; [`crate::world`] does that and holds the one [`Progress`] of a process.
//!
//! A thread that waits first looks at the runs again and again, longer while peers copy its messages, then gives its
//! core away between two looks, then sleeps on the bell. A peer rings the bell when it has written into this rank's
//! segment. Sleeps end by themselves after a nap, because a peer that has died rings nothing: after each nap the waiter
//! checks which processes still live.

use crate::driver::{Driver, Outcome};
use crate::duty::Duty;
use crate::memory::Bound;
use crate::peers::{Health, Peers};
use hetmp_core::bell::{Bell, Naps};
use hetmp_core::handover::HandOvers;
use hetmp_core::park::{give_core, Policy, Spinner};
use hetmp_core::sync::pause;
use hetmp_core::sys;
use hetmp_goal::rank::StartError;
use hetmp_goal::schedule::Schedule;
use hetmp_nic::job::Job;
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};

/// How long a waiter sleeps before it checks whether a peer has died, nanoseconds.
const NAPS: Naps = Naps {
    shortest: 2_000_000,
    longest: 200_000_000,
};
/// How often a waiter looks before it gives its core away, if there is a core for every rank: some 10 us.
const LOOKS: u32 = 300;
/// The first of [`LOOKS`], which have no pause between them.
const QUICK: u32 = 64;
/// How often a waiter gives its core away before it spins and sleeps as `hetmp_core::park` says. The awaited rank may
/// be queued on this very core: always where ranks outnumber cores, sometimes where the system has put two ranks on one
/// core.
const YIELDS: u32 = 64;
/// Bytes that a peer copies while a waiter looks once, some 33 ns: 2 GB/s, a third of what it copies if nothing
/// disturbs it.
const BYTES_A_LOOK: u64 = 64;
/// The most looks of a waiter for that reason: some 2 ms, less than a time slice.
const MOST_LOOKS: u64 = 1 << 16;
/// The first doze of the progress thread while it is on duty, nanoseconds. Each doze in which nothing came is followed
/// by one of twice its length. A look costs some 3 us of a core.
const DOZE: u64 = 50_000;
/// The longest doze, nanoseconds. After it the progress thread sleeps until an arriving packet wakes it.
const LONGEST_DOZE: u64 = 800_000;
/// A doze of the progress thread while it is off duty, nanoseconds.
const IDLE_DOZE: u64 = 500_000;
/// How many of these dozes follow each other before the progress thread sleeps until [`Duty::call`].
const IDLE_DOZES: u32 = 4;

/// Moves on what [`Duty::has_aside`] counts. True if there was something to do.
pub(crate) type Aside = dyn Fn() -> bool + Send + Sync;

/// The runs of this process, and the threads that move them on.
pub(crate) struct Progress {
    job: &'static Job,
    driver: Mutex<Driver>,
    /// This rank's bell: peers ring it when they have written something.
    bell: &'static Bell,
    duty: Duty,
    hand_overs: HandOvers,
    peers: Peers,
    /// Of collectives without a schedule.
    aside: OnceLock<Box<Aside>>,
    /// Begins the progress thread; none under the engine `user`.
    beginner: OnceLock<Box<dyn Fn() + Send + Sync>>,
    begun: Once,
}

impl Progress {
    /// Nothing runs, nobody waits. `bell` lies in this rank's segment.
    pub(crate) fn new(
        job: &'static Job,
        driver: Driver,
        bell: &'static Bell,
        peers: Peers,
    ) -> Progress {
        Progress {
            job,
            driver: Mutex::new(driver),
            bell,
            duty: Duty::new(),
            hand_overs: HandOvers::new(),
            peers,
            aside: OnceLock::new(),
            beginner: OnceLock::new(),
            begun: Once::new(),
        }
    }

    /// Says who moves on what [`Duty::has_aside`] counts. Called once, before anything runs.
    pub(crate) fn set_aside(&self, aside: Box<Aside>) {
        // Cannot fail: called once.
        let _ = self.aside.set(aside);
    }

    /// Says how the progress thread begins: [`Progress::serve`]. Called once, before anything runs.
    pub(crate) fn set_beginner(&self, beginner: Box<dyn Fn() + Send + Sync>) {
        // Cannot fail: called once.
        let _ = self.beginner.set(beginner);
    }

    /// The progress thread has to look after something. It begins when that is so for the first time: a program whose
    /// collectives need no schedule has none.
    #[cold]
    fn begin(&self) {
        if let Some(beginner) = self.beginner.get() {
            self.begun.call_once(beginner);
        }
    }

    /// The number of a team's collectives that need somebody who looks after them has changed.
    pub(crate) fn count_aside(&self, from: u32, to: u32) {
        self.duty.aside(from, to);
        if to > from && self.duty.call() {
            self.begin();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Driver> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the process of `peer` was found to have died.
    pub(crate) fn has_died(&self, peer: u32) -> bool {
        self.peers.has_died(peer)
    }

    /// Asks the system whether the process of `peer` has died. False for one whose memory is not mapped here.
    pub(crate) fn ask_whether_died(&self, peer: u32) -> bool {
        self.peers.check(peer) == Health::Dead
    }

    /// Begins a run. Under the engine `thread` the progress thread is called if the run is not `awaited`: if its caller
    /// does not wait for it at once.
    pub(crate) fn start(
        &self,
        schedule: &Arc<Schedule>,
        context: u32,
        memory: Bound,
        traced: bool,
        awaited: bool,
    ) -> Result<Arc<Outcome>, StartError> {
        let mut driver = self.lock();
        let outcome = driver.start(schedule, context, memory, traced)?;
        self.duty.runs(driver.running() as u32);
        drop(driver);
        if !awaited && self.duty.call() {
            self.begin();
        }
        Ok(outcome)
    }

    /// Moves open runs on once, for a caller that does not wait for any of them. Costs one load if nothing runs.
    #[inline]
    pub(crate) fn advance_open_runs(&self) {
        if self.duty.has_runs() {
            self.try_step(0);
        }
    }

    /// True if there is something that [`Progress::try_step`] would move on.
    #[inline]
    pub(crate) fn has_others(&self) -> bool {
        self.duty.has_runs() || self.duty.has_aside()
    }

    /// One look of a thread that waits for something else, too: moves open runs on, and lets the job's engine work.
    pub(crate) fn advance(&self) {
        if !self.has_others() || self.try_step(0) {
            return;
        }
        if let Some(engine) = self.job.engine() {
            engine.progress();
        }
    }

    /// Moves all runs on once, unless another thread is doing that at this moment. `counted`: how many of the threads
    /// that [`Duty`] counts as waiting are the caller itself, 0 or 1. True if there was something to do.
    pub(crate) fn try_step(&self, counted: u32) -> bool {
        let moved = self.step_aside();
        match self.driver.try_lock() {
            Ok(driver) => self.step(driver, counted) | moved,
            Err(_) => moved,
        }
    }

    /// Wakes this process's threads that sleep in waits.
    #[cold]
    pub(crate) fn wake(&self) {
        self.bell.ring();
    }

    /// Moves on what [`Duty::has_aside`] counts. True if there was something to do.
    #[inline]
    pub(crate) fn step_aside(&self) -> bool {
        self.duty.has_aside() && self.aside.get().is_some_and(|aside| aside())
    }

    fn step(&self, mut driver: MutexGuard<'_, Driver>, counted: u32) -> bool {
        let before = driver.running();
        let worked = driver.step(self.duty.waiting() > 0);
        let now = driver.running();
        if now == before {
            return worked;
        }
        self.duty.runs(now as u32);
        // Another thread may sleep until a run ends that has just ended here. It counted itself as waiting before it
        // took the driver for its last look. If that look came before this step, the count is seen here, and the bell
        // wakes the thread; if the look comes after this step, the thread finds the run's end itself.
        let others = self.duty.waiting() > counted;
        drop(driver);
        if others {
            self.bell.ring();
        }
        worked
    }

    /// Waits until `poll` has an answer, and moves all runs on meanwhile. If a peer is named, its death is noticed too:
    /// `poll` then finds [`Progress::has_died`].
    pub(crate) fn wait_until<T>(&self, poll: &impl Fn() -> Option<T>, peer: Option<u32>) -> T {
        self.duty.wait_begins();
        let ended = self.wait_counted(poll, peer);
        if self.duty.wait_ends() {
            self.begin();
        }
        ended
    }

    /// [`Progress::wait_until`] of a thread that `duty` counts as waiting.
    fn wait_counted<T>(&self, poll: &impl Fn() -> Option<T>, peer: Option<u32>) -> T {
        let engine = self.job.engine();
        let look = || {
            let ended = poll();
            if ended.is_some() {
                return ended;
            }
            if self.try_step(1) {
                return poll();
            }
            if let Some(engine) = engine {
                engine.progress();
            }
            None
        };
        // Where ranks outnumber cores, the awaited rank can only run after this one has given its core away.
        let crowded = Policy::oversubscribed();
        if !crowded {
            let keep = |from, to| {
                (from..to).find_map(|i| {
                    if i >= QUICK {
                        pause();
                    }
                    look()
                })
            };
            let soon = keep(0, LOOKS);
            if let Some(ended) = soon.or_else(|| self.while_copied(|n| keep(LOOKS, LOOKS + n))) {
                self.hand_overs.kept();
                return ended;
            }
        }
        for _ in 0..YIELDS {
            let gave = give_core();
            if let Some(ended) = look() {
                if !crowded {
                    self.hand_overs.gave(self.job.rank());
                }
                return ended;
            }
            if !gave {
                break;
            }
        }
        let mut spinner = Spinner::new();
        loop {
            if let Some(ended) = look() {
                return ended;
            }
            if !spinner.turn() {
                self.sleep(&mut || poll().is_some(), peer);
                spinner = Spinner::new();
            }
        }
    }

    /// Lets `keep` look for as long as the awaited messages take to be copied. To give the core away sooner costs a
    /// time slice where another program computes there, and to sleep costs a wake-up, which takes as long as a copy of
    /// 256 KiB.
    fn while_copied<T>(&self, keep: impl Fn(u32) -> Option<T>) -> Option<T> {
        let looks = self.lock().awaited() / BYTES_A_LOOK;
        keep(looks.min(MOST_LOOKS) as u32)
    }

    /// Sleeps until something has arrived and was worked on, or `until` is true.
    fn sleep(&self, until: &mut dyn FnMut() -> bool, peer: Option<u32>) {
        let naps = match self.lock().deadline() {
            Some(at) => {
                let left = at.saturating_sub(sys::monotonic_ns()).max(1000);
                Naps {
                    shortest: left.min(NAPS.shortest),
                    longest: left.min(NAPS.longest),
                }
            }
            None => NAPS,
        };
        self.bell.sleep(
            naps,
            // Takes the lock, and does not only try: a thread that holds the driver may have looked at this rank's
            // links before the message came, and would not look again.
            &mut || until() || self.step_aside() || self.step(self.lock(), 0) || until(),
            &mut || {
                self.check_peers(peer);
                true
            },
        );
    }

    /// Called after a nap in which nothing came, or many tests. A peer that open runs still need, or `peer`, may have
    /// died: then those runs fail.
    pub(crate) fn check_peers(&self, peer: Option<u32>) {
        let mut driver = self.lock();
        driver.ask();
        let mut needed = driver.needed();
        drop(driver);
        needed.extend(peer);
        for peer in needed {
            match self.peers.check(peer) {
                Health::Unknown => self.lock().probe(peer),
                Health::Dead => self.lock().miss(peer),
                Health::Alive => {}
            }
        }
    }

    /// What the progress thread does until [`Progress::finish`].
    pub(crate) fn serve(&self) {
        // The kernel's default slack of 50 us would double the shortest doze.
        // SAFETY: the call takes two numbers and sets an attribute of this thread only.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1000) };
        loop {
            self.duty.sleep_until_on();
            let (mut doze, mut idle) = (DOZE, 0);
            while idle < IDLE_DOZES && !self.duty.is_stopped() {
                if !self.duty.is_on() {
                    idle += 1;
                    doze = DOZE;
                    sys::nap(IDLE_DOZE);
                    continue;
                }
                idle = 0;
                if self.try_step(0) {
                    doze = DOZE;
                } else if doze <= LONGEST_DOZE {
                    sys::nap(self.until_due(doze));
                    doze *= 2;
                } else {
                    self.sleep(&mut || !self.duty.is_on() || self.duty.is_stopped(), None);
                    doze = DOZE;
                }
            }
            if self.duty.is_stopped() {
                return;
            }
        }
    }

    /// Nanoseconds, at most `ns`, until the runs have something to do even if nothing arrives.
    fn until_due(&self, ns: u64) -> u64 {
        match self.lock().deadline() {
            Some(at) => at.saturating_sub(sys::monotonic_ns()).clamp(1000, ns),
            None => ns,
        }
    }

    /// Whether [`Progress::stop`] was called.
    pub(crate) fn is_stopped(&self) -> bool {
        self.duty.is_stopped()
    }

    /// Ends [`Progress::serve`], and wakes the progress thread for that.
    pub(crate) fn stop(&self) {
        self.duty.stop();
        self.bell.ring();
    }

    /// Gives up all runs, waits until what was sent has room at its target, and tells the peers that this rank leaves.
    /// For a process whose progress thread has ended.
    pub(crate) fn finish(&self) {
        self.lock().abandon_all();
        let mut spinner = Spinner::new();
        while !self.lock().is_flushed() {
            let driver = self.lock();
            if self.step(driver, 0) {
                spinner = Spinner::new();
            } else if !spinner.turn() {
                self.sleep(&mut || self.lock().is_flushed(), None);
                self.check_peers(None);
            }
        }
        self.lock().leave();
        self.bell.ring();
    }
}
