//! How long a wait spins before it sleeps: one policy for the process.
//!
//! **How long to spin.** Waking a sleeping thread costs tens of microseconds, a cache-line hop some
//! 55 ns, so a thread that has a core to itself should spin for a good while. A thread that
//! shares its core should not spin at all: it burns the time of the very thread it waits for.
//! Three signs tell which of the two is the case:
//! 1. the number of threads the runtime manages against the CPUs it may use ([`Policy::set_threads`]);
//! 2. a *gap*: two turns of a spin loop that lie a time slice apart mean that another program computes
//!    on this core. (Short gaps are normal: interrupts, or a daemon that wakes up. Sleeping because of them would cost
//!    more than they do.)
//! 3. the number of runnable threads in the system against its CPUs, looked up once a wait has
//!    lasted a millisecond: the thread waited for may be the one without a core.
//!
//! A thread that shares its core with other threads *of the runtime* yields a few times before it sleeps. The awaited
//! thread is likely the next in line on this very core, and handing the core over by yielding costs a tenth of a
//! sleep and a wake-up.
//!
//! Two threads that meet at barriers, next to one busy process, soon end up on *one* core, because the kernel gives
//! the other core to that process. A thread that spins there keeps the awaited thread from running, and sleeping
//! costs two switches for each barrier. So while the machine is contended, [`Flag::signal`](super::Flag::signal)
//! notes the signaller's core, and a waiter on that core yields at once: one switch a barrier, and the two run as
//! fast as one core can. If a yield takes long ([`give_core`]), the kernel gave the core to a program that computes.
//! Then all waiters sleep rather than yield for a while.
//!
//! The kernel often puts a new thread on its creator's core. If either of the two then spins, it keeps the other from
//! running until the next tick or longer: milliseconds in which another core idles. So threads are *young* for some
//! milliseconds after they were created ([`Policy::creates`]). Until a created thread runs, waits yield, and later they
//! yield after a short spin. And as on a contended machine, a signaller notes its core; a waiter there sleeps at once,
//! because the kernel looks for an idle core when a thread is woken, not when it yields. (Not where the waiter itself
//! was the last to signal, as at a barrier to which threads come last in turns: it says nothing about the others. Two
//! young threads on two cores would put each other to sleep at every other barrier.)
//!
//! Signs 2 and 3 open a *contended* window, in which spins are short. If contention is seen again soon after a window
//! closes, the next one is twice as long. So a machine that stays loaded is probed ever more rarely, and on a machine
//! that becomes quiet waits spin again within a second.

#[cfg(not(loom))]
use crate::env::{snapshot, switch};
#[cfg(not(loom))]
use crate::spins::{self, Spins, UNSET};
use crate::sync::pause;
#[cfg(not(loom))]
use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
#[cfg(not(loom))]
use crate::whole::OnceLock;
#[cfg(not(loom))]
use crate::{report, sys};

/// Process-wide waiting policy. All numbers are turns of the spin loop or ticks of
/// [`crate::sys::ticks`].
#[cfg(not(loom))]
#[derive(Debug)]
pub struct Policy {
    /// Turns to spin when every thread has a core.
    pub(super) free: AtomicU64,
    /// Turns to spin when threads outnumber cores or the machine is loaded.
    pub(super) throttled: AtomicU64,
    /// CPUs that the managed threads may use: the larger of the next two.
    pub(super) cpus: AtomicUsize,
    /// CPUs that this process may use; 0 until somebody says how many.
    own_cpus: AtomicUsize,
    /// CPUs that all processes of this job on this machine may use together; 0 without a job.
    job_cpus: AtomicUsize,
    /// Threads that the runtime manages in this process, plus one for each other process of its job on this machine.
    pub(super) threads: AtomicUsize,
    /// Threads of the runtime that were created and have not run yet.
    unborn: AtomicUsize,
    /// Tick until which threads are young; 0 if they are not.
    pub(super) young_until: AtomicU64,
    /// Tick until which spins are throttled because contention was seen.
    pub(super) contended_until: AtomicU64,
    /// Length of the last contended window in ticks.
    window: AtomicU64,
    /// Tick until which no thread yields, because a yield gave the core to a thread that computes.
    pub(super) crowded_until: AtomicU64,
    /// Length of the last such time in ticks.
    crowd: AtomicU64,
}

#[cfg(not(loom))]
pub(super) static POLICY: Policy = Policy {
    free: AtomicU64::new(UNSET.free),
    throttled: AtomicU64::new(UNSET.throttled),
    cpus: AtomicUsize::new(usize::MAX),
    own_cpus: AtomicUsize::new(0),
    job_cpus: AtomicUsize::new(0),
    threads: AtomicUsize::new(1),
    unborn: AtomicUsize::new(0),
    young_until: AtomicU64::new(0),
    contended_until: AtomicU64::new(0),
    window: AtomicU64::new(0),
    crowded_until: AtomicU64::new(0),
    crowd: AtomicU64::new(0),
};

/// Two turns this far apart (some 1.5 ms at 2.6 GHz) had another program's time slice between them.
#[cfg(not(loom))]
const GAP: u64 = 4_000_000;
/// A wait this long (some 1 ms) may ask how busy the system is: compared to the wait, a sleep costs little.
#[cfg(not(loom))]
const LONG_WAIT: u64 = 2_600_000;
/// Turns to spin while the machine is loaded (some 8 us): enough that two threads with a core each do not put each
/// other to sleep, and a fraction of the cost of a needless sleep.
#[cfg(not(loom))]
pub(super) const CONTENDED: u64 = 500;
/// How often a thread that shares its core with other threads of the runtime yields before it sleeps.
#[cfg(not(loom))]
pub(super) const YIELDS: u32 = 32;
/// How often a thread yields before it sleeps while threads are young: as long as a sleep and a wake-up take together.
#[cfg(not(loom))]
pub(super) const YIELDS_YOUNG: u32 = 128;
/// Turns to spin before that, where every created thread runs: some 40 us.
#[cfg(not(loom))]
pub(super) const TURNS_YOUNG: u64 = 4000;
/// How long threads are young: some 8 ms, in which a kernel that ticks 250 times a second balances its cores twice.
#[cfg(not(loom))]
const YOUTH: u64 = 20_000_000;
/// A yield that takes longer than this (some 1 ms, less than a time slice) gave the core to a thread that computes:
/// as much for each thread of the runtime that shares the core, since these have their turns meanwhile. With 0.2 ms,
/// jobs that have a machine to themselves slept next to their own processes. With 1 ms for all of them, 32 slaves slept
/// while the first messages touched their slots, and reached a quarter of their bandwidth.
#[cfg(not(loom))]
pub(super) const LONG_YIELD: u64 = 2_600_000;
/// How long no thread yields after such yields, at most: some 50 ms, after the first one [`FIRST_WINDOW`]. A slice is
/// some milliseconds, so even if the first yield of each period costs one, a tenth of the time is lost at most.
#[cfg(not(loom))]
pub(super) const CROWDED: u64 = 130_000_000;
/// How long a wait sleeps that nobody wakes, nanoseconds.
#[cfg(not(loom))]
pub(super) const NAP: u64 = 20_000;
/// The first contended window, some 3 ms. With a shorter one a loaded machine would pay for a long spin too often;
/// with a longer one a quiet machine would sleep for no reason.
#[cfg(not(loom))]
pub(super) const FIRST_WINDOW: u64 = 8_000_000;
/// The longest contended window, some 500 ms.
#[cfg(not(loom))]
const LONGEST_WINDOW: u64 = 1_300_000_000;

#[cfg(not(loom))]
impl Policy {
    /// An engine of threads begins, in a process that may use `cpus` CPUs (affinity mask and cgroup quota). Engines
    /// begin in any order. None of them says how long waits spin: the first one has the environment read.
    pub fn join(cpus: usize) {
        Self::read_spins();
        POLICY.own_cpus.store(cpus.max(1), Ordering::Relaxed);
        Self::settle_cpus();
    }

    /// An engine of processes begins: `others` besides this one are on this machine, and `cpus` are the CPUs that all
    /// of them may use. See [`Policy::join`].
    pub fn join_job(others: usize, cpus: usize) {
        Self::read_spins();
        Self::add_threads(others as isize);
        POLICY.job_cpus.store(cpus.max(1), Ordering::Relaxed);
        Self::settle_cpus();
    }

    /// Takes the spin lengths from the environment, once in the process: what the program sets later stays.
    fn read_spins() {
        static READ: OnceLock<()> = OnceLock::new();
        READ.get_or_init(|| {
            let Spins { free, throttled } = spins::from_env().spins();
            Self::set_spins(free, throttled);
            let verbose = snapshot().get("HETMP_VERBOSE");
            if verbose.and_then(switch) == Some(true) {
                report::warn(format_args!(
                    "waits: {free} turns of spinning, {throttled} where threads outnumber CPUs, then sleep"
                ));
            }
        });
    }

    /// Sets the spin lengths in turns, because the program asks for it (`kmp_set_blocktime`): `free` while every thread
    /// has a core, `throttled` otherwise.
    pub fn set_spins(free: u64, throttled: u64) {
        POLICY.free.store(free, Ordering::Relaxed);
        POLICY
            .throttled
            .store(throttled.min(free), Ordering::Relaxed);
    }

    /// The spin lengths in turns: while every thread has a core, and otherwise.
    pub fn spins() -> (u64, u64) {
        (
            POLICY.free.load(Ordering::Relaxed),
            POLICY.throttled.load(Ordering::Relaxed),
        )
    }

    fn settle_cpus() {
        let own = POLICY.own_cpus.load(Ordering::Relaxed);
        let job = POLICY.job_cpus.load(Ordering::Relaxed);
        POLICY.cpus.store(own.max(job), Ordering::Relaxed);
    }

    /// Adds `more` (which may be negative) to the number of managed threads.
    pub fn add_threads(more: isize) {
        POLICY.threads.fetch_add(more as usize, Ordering::Relaxed);
    }

    /// This many threads of the runtime are about to be created. Each calls [`Policy::runs`] first of all.
    pub fn creates(threads: usize) {
        POLICY.unborn.fetch_add(threads, Ordering::Relaxed);
        POLICY
            .young_until
            .store(sys::ticks().wrapping_add(YOUTH).max(1), Ordering::Relaxed);
    }

    /// The calling thread, which was announced by [`Policy::creates`], runs.
    pub fn runs() {
        Self::creates_not(1);
    }

    /// This many announced threads cannot be created.
    pub fn creates_not(threads: usize) {
        POLICY.unborn.fetch_sub(threads, Ordering::Relaxed);
    }

    /// Sets the number of managed threads. Used after `fork`, where all but one are gone.
    pub fn set_threads(threads: usize) {
        POLICY.threads.store(threads, Ordering::Relaxed);
        POLICY.unborn.store(0, Ordering::Relaxed);
    }

    /// True when the runtime's threads outnumber the CPUs it may use.
    #[inline]
    pub fn oversubscribed() -> bool {
        POLICY.threads.load(Ordering::Relaxed) > POLICY.cpus.load(Ordering::Relaxed)
    }

    /// True while spins are kept short because contention was seen lately.
    #[inline]
    pub fn contended() -> bool {
        let until = POLICY.contended_until.load(Ordering::Relaxed);
        until != 0 && sys::ticks() < until
    }

    /// True if contention was ever seen in this process.
    #[inline(always)]
    pub(super) fn was_contended() -> bool {
        POLICY.contended_until.load(Ordering::Relaxed) != 0
    }

    /// True if a signaller is to note its core: contention was seen once, or threads are young.
    #[inline(always)]
    pub(super) fn notes_cores() -> bool {
        Self::was_contended() || POLICY.young_until.load(Ordering::Relaxed) != 0
    }

    /// Turns and yields of a wait for the thread of this `note`, if threads are young.
    #[cold]
    fn young_budget(note: u32) -> Option<(u64, u32)> {
        let until = POLICY.young_until.load(Ordering::Relaxed);
        if sys::ticks() >= until {
            // Threads created at this very moment are old, then: only time is lost.
            POLICY.young_until.store(0, Ordering::Relaxed);
            None
        } else if POLICY.unborn.load(Ordering::Relaxed) != 0 {
            Some((0, YIELDS_YOUNG))
        } else if is_here(note) && note & SIGNALLER != signaller() {
            Some((0, 0))
        } else if Self::oversubscribed() {
            None
        } else {
            // The awaited thread may have been woken on this core after it was last seen elsewhere.
            let free = POLICY.free.load(Ordering::Relaxed);
            Some((free.min(TURNS_YOUNG), YIELDS_YOUNG))
        }
    }

    /// True while yielding is known to give the core to threads that compute.
    #[inline]
    fn crowded() -> bool {
        let until = POLICY.crowded_until.load(Ordering::Relaxed);
        until != 0 && sys::ticks() < until
    }

    /// How often a thread may yield that shares its core with others of the runtime.
    #[inline]
    fn yields() -> u32 {
        match Self::crowded() {
            true => 0,
            false => YIELDS,
        }
    }

    /// A yield has ended at the tick `now`. False if it took long.
    #[inline]
    pub(super) fn yielded(took: u64, now: u64) -> bool {
        took <= LONG_YIELD || Self::yielded_in_turn(took, now)
    }

    #[cold]
    fn yielded_in_turn(took: u64, now: u64) -> bool {
        let others = POLICY.threads.load(Ordering::Relaxed).saturating_sub(1);
        let turns = others / POLICY.cpus.load(Ordering::Relaxed).max(1);
        if took / LONG_YIELD < turns as u64 {
            return true;
        }
        if took > GAP {
            Self::saw_contention(now);
        }
        let until = POLICY.crowded_until.load(Ordering::Relaxed);
        let last = POLICY.crowd.load(Ordering::Relaxed);
        let crowd = grown(last, now - took < until.saturating_add(CROWDED), CROWDED);
        POLICY.crowd.store(crowd, Ordering::Relaxed);
        POLICY.crowded_until.store(now + crowd, Ordering::Relaxed);
        false
    }

    /// How many turns a wait that begins now may spin, and how often it may yield afterwards. `note` says who signalled
    /// last, and where ([`note_here`]).
    #[inline]
    pub(super) fn budget(note: u32) -> (u64, u32) {
        if POLICY.young_until.load(Ordering::Relaxed) != 0 {
            if let Some(budget) = Self::young_budget(note) {
                return budget;
            }
        }
        if Self::contended() {
            if Self::oversubscribed() {
                // The core is wanted by another program and by our other threads: spinning or yielding helps only
                // the other program.
                (0, 0)
            } else if is_here(note) {
                (0, Self::yields())
            } else {
                (POLICY.free.load(Ordering::Relaxed).min(CONTENDED), 0)
            }
        } else if Self::oversubscribed() {
            (POLICY.throttled.load(Ordering::Relaxed), Self::yields())
        } else {
            (POLICY.free.load(Ordering::Relaxed), 0)
        }
    }

    #[cold]
    pub(super) fn saw_contention(now: u64) {
        let until = POLICY.contended_until.load(Ordering::Relaxed);
        if now < until {
            return;
        }
        let last = POLICY.window.load(Ordering::Relaxed);
        let window = grown(last, now < until.saturating_add(last), LONGEST_WINDOW);
        POLICY.window.store(window, Ordering::Relaxed);
        POLICY
            .contended_until
            .store(now + window, Ordering::Relaxed);
    }
}

/// The length of a window, if the last one had the length `last`. If its reason was seen again `soon` after that one
/// closed, the load is still there: probe later.
#[cfg(not(loom))]
fn grown(last: u64, soon: bool, longest: u64) -> u64 {
    match soon && last != 0 {
        true => (last * 2).min(longest),
        false => FIRST_WINDOW,
    }
}

/// Gives the core away once, for a wait that can sleep instead. False if it had better sleep: a thread that computes
/// takes this core for a time slice at each yield. A thread that slept gets the core sooner when it is woken.
#[cfg(not(loom))]
#[inline]
pub fn give_core() -> bool {
    if Policy::crowded() {
        return false;
    }
    let before = sys::ticks();
    sys::yield_now();
    let now = sys::ticks();
    Policy::yielded(now.wrapping_sub(before), now)
}

/// Lets other threads run between two looks of a wait that nobody wakes: gives the core away, or sleeps a little.
pub fn rest() {
    #[cfg(not(loom))]
    if !give_core() {
        sys::nap(NAP);
    }
    #[cfg(loom)]
    pause();
}

/// Counts the turns of one wait and says when to stop spinning.
///
/// For waits that are not on a [`Flag`](super::Flag): `while !done() { if !spinner.turn() { sleep } }`.
#[derive(Debug)]
pub struct Spinner {
    left: u64,
    #[cfg(not(loom))]
    yields: u32,
    #[cfg(not(loom))]
    turns: u64,
    #[cfg(not(loom))]
    last: u64,
    /// Tick at which to look how busy the system is.
    #[cfg(not(loom))]
    look_at: u64,
}

#[cfg(not(loom))]
impl Spinner {
    /// Begins a wait for a thread that may be anywhere.
    #[inline]
    pub fn new() -> Spinner {
        Self::for_signaller(NOWHERE)
    }

    /// Begins a wait on a flag whose last signaller has left this `note`.
    #[inline]
    pub(super) fn for_signaller(note: u32) -> Spinner {
        let (left, yields) = Policy::budget(note);
        Spinner {
            left,
            yields,
            turns: 0,
            last: 0,
            look_at: 0,
        }
    }

    /// One turn. False when it is time to sleep.
    #[inline]
    pub fn turn(&mut self) -> bool {
        if self.left == 0 {
            return self.yields != 0 && self.yield_core();
        }
        self.left -= 1;
        self.turns += 1;
        pause();
        if self.turns % 16 == 0 {
            self.look_around();
        }
        true
    }

    /// Another thread looks for the same work ([`Poll::Needless`](super::Poll::Needless)): this one gives its core away
    /// once more and sleeps.
    ///
    /// A thread that yields uses up its share of the core in useless turns, and the kernel lets it do so: a thread that
    /// has computed for long waits until the others have had as much. With 32 yields eight threads on two cores, of
    /// which one makes 1600 tiny tasks, needed some 3 ms, with 8 yields 2.6, with 4 yields 0.5 to 1.8, with one 0.3 to
    /// 0.9, with none 0.5 to 1.6.
    #[cold]
    pub(super) fn hurry(&mut self) {
        self.left = 0;
        self.yields = self.yields.min(1);
    }

    /// One turn of a wait that nobody wakes: where others would sleep, it rests.
    #[inline]
    pub fn turn_or_rest(&mut self) {
        if !self.turn() {
            rest();
        }
    }

    #[cold]
    fn yield_core(&mut self) -> bool {
        self.yields -= 1;
        let gave = give_core();
        if !gave {
            self.yields = 0;
        }
        gave
    }

    #[inline]
    fn look_around(&mut self) {
        let now = sys::ticks();
        if self.last == 0 {
            self.look_at = now.wrapping_add(LONG_WAIT);
        } else if now.wrapping_sub(self.last) > GAP {
            Policy::saw_contention(now);
            self.give_up();
        } else if now.wrapping_sub(self.look_at) < 1 << 63 {
            self.look_at = now.wrapping_add(LONG_WAIT);
            if system_is_busy() {
                Policy::saw_contention(sys::ticks());
                self.give_up();
            }
        }
        self.last = now;
    }

    fn give_up(&mut self) {
        self.left = 0;
        self.yields = 0;
    }
}

#[cfg(loom)]
impl Spinner {
    /// Begins a wait. The model sleeps after one turn, so that it explores spinning and sleeping.
    pub fn new() -> Spinner {
        Spinner { left: 1 }
    }

    pub(super) fn for_signaller(_note: u32) -> Spinner {
        Self::new()
    }

    /// The model sleeps after one turn anyway.
    pub(super) fn hurry(&mut self) {}

    /// One turn, then sleep.
    pub fn turn(&mut self) -> bool {
        pause();
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    /// One turn of a wait that nobody wakes.
    pub fn turn_or_rest(&mut self) {
        if !self.turn() {
            rest();
        }
    }
}

impl Default for Spinner {
    fn default() -> Self {
        Self::new()
    }
}

/// The core on which a thread was last seen that others wait for, where they do not wait on a
/// [`Flag`](super::Flag). Nothing is noted before the machine was ever contended.
#[cfg(not(loom))]
#[derive(Debug, Default)]
pub struct LastSeen(AtomicU32);

#[cfg(not(loom))]
impl LastSeen {
    /// The calling thread does something that others wait for.
    #[inline]
    pub fn note(&self) {
        if Policy::was_contended() {
            self.0.store(core_here(), Ordering::Relaxed);
        }
    }

    /// The awaited thread shares the caller's core, as far as is known: who spins keeps it from running.
    #[inline]
    pub fn shares_core(&self) -> bool {
        Policy::contended() && self.0.load(Ordering::Relaxed) == core_here() && !Policy::crowded()
    }
}

/// The note of a [`Flag`](super::Flag) that nobody has signalled.
pub(super) const NOWHERE: u32 = 0;
/// The bits of a note that tell signallers apart; the others are their core.
#[cfg(not(loom))]
pub(super) const SIGNALLER: u32 = 0xffff_0000;

/// The calling thread, in the bits of [`SIGNALLER`]. Two threads may have the same ones: a hint.
#[cfg(not(loom))]
#[inline]
fn signaller() -> u32 {
    // SAFETY: pthread_self has no preconditions.
    let thread = unsafe { libc::pthread_self() } as u64;
    // Threads' records lie some pages apart. The factor is 2^64 divided by the golden ratio.
    ((thread >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 & SIGNALLER
}

/// What a signaller notes: who it is, and on which core.
#[cfg(not(loom))]
#[inline]
pub(super) fn note_here() -> u32 {
    signaller() | core_here()
}

/// Was this `note` left on the caller's core?
#[cfg(not(loom))]
#[inline]
fn is_here(note: u32) -> bool {
    let core = note & !SIGNALLER;
    core != NOWHERE && core == core_here()
}

/// The core that the calling thread runs on, as a number that is not [`NOWHERE`].
#[cfg(not(loom))]
#[inline]
pub(super) fn core_here() -> u32 {
    // SAFETY: sched_getcpu has no preconditions.
    let core = unsafe { libc::sched_getcpu() };
    // On an error sched_getcpu returns -1, which becomes `NOWHERE`.
    core.wrapping_add(1) as u32 & !SIGNALLER
}

/// True when more threads are runnable in the system than it has CPUs online.
#[cfg(not(loom))]
#[cold]
fn system_is_busy() -> bool {
    let mut buffer = [0u8; 64];
    // The file is opened at each look: the program could close or reuse a descriptor that we keep.
    // SAFETY: the path is a C string and the buffer is live and of the length given.
    let n = unsafe {
        let saved = sys::errno();
        let fd = libc::open(c"/proc/loadavg".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let n = if fd < 0 {
            -1
        } else {
            let n = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
            libc::close(fd);
            n
        };
        *libc::__errno_location() = saved;
        n
    };
    if n <= 0 {
        return false;
    }
    // "0.00 0.01 0.05 3/123 4567": the fourth field is runnable/total.
    let text = &buffer[..n as usize];
    let mut running: usize = 0;
    if let Some(field) = text.split(|&b| b == b' ').nth(3) {
        for &b in field.iter().take_while(|b| b.is_ascii_digit()) {
            running = running
                .saturating_mul(10)
                .saturating_add((b - b'0') as usize);
        }
    }
    // SAFETY: sysconf has no preconditions.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    online > 0 && running > online as usize
}
