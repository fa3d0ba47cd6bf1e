//! Finds waits that the runtime does not see.
//!
//! Programs also wait without any call: they flush, and look at a variable that another thread of the team
//! will set. If that other thread is a virtual thread that nobody has begun, or one that is suspended on the
//! same real thread, the wait never ends. So a thread of the library looks at the running teams. If a runner
//! has not switched for far longer than any of its siblings needed, and there are virtual threads that could
//! run instead, all of these get real threads.
//!
//! The watchdog can judge only by time, not by what a thread does. A region that is merely uneven loses some
//! speed by this, and is not run as a virtual team for a long while.
//!
//! On a busy machine a thread stands still because others use its core. The thread's CPU clock shows this: a
//! thread that waits unseen either spins, and uses all of the time, or sleeps, and uses none. In between
//! nothing is certain. The watchdog then acts late, so that nothing hangs, and its finding does not count
//! against the region for long.
//!
//! Where the code of a region was read to its end ([`super::fit`]), a long stretch is most likely a long
//! computation: a loop of half a minute has pieces of some seconds. The watchdog is patient there.

use super::fiber::Runner;
use super::job::Expanded;
use super::run::VirtualTeam;
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::report;
use hetmp_core::sys::{self, monotonic_ns};
use hetmp_core::whole::{Held, Mutex};

/// Milliseconds between two looks at teams, and for which nothing may move before threads are suspected to wait for
/// each other unseen. Untuned.
const LOOK_MS: u64 = 20;
const STILL_MS: u64 = 100;

/// A stretch of the program's code is suspicious if it takes this many times as long as the longest stretch
/// that has ended, and no less than [`STILL_MS`].
const FAR: u64 = 20;
/// A stretch that takes this many milliseconds is suspicious in any case, unless the region's code was read.
const ALONE_MS: u64 = 1000;
/// What was read waits, if at all, in a loop that also counts or stores. Long computations are far more
/// common than such loops, and look alike, so no stretch shorter than this is suspicious there.
const READ_MS: u64 = 10_000;
/// Hundredths of the time. A thread that computes for at least this part has a core to itself.
const SPINS: u64 = 70;

/// A team that exists. Teams remove themselves from the list before they are freed.
struct Known(*const VirtualTeam);
// SAFETY: a team is shared between threads. What the watchdog reads of it is atomic, or under the lock of its
// `sight`.
unsafe impl Send for Known {}

static TEAMS: Mutex<Vec<Known>> = Mutex::new(Vec::new());
/// The watchdog's thread exists. Set under the lock of the list.
static STARTED: AtomicBool = AtomicBool::new(false);

fn teams() -> Held<'static, Vec<Known>> {
    TEAMS.lock()
}

/// Adds a new team, which stays at its address.
pub(super) fn add(team: &VirtualTeam) {
    teams().push(Known(team));
}

/// Removes a team that is about to be freed.
pub(super) fn remove(team: &VirtualTeam) {
    teams().retain(|t| !core::ptr::eq(t.0, team));
}

/// Watches the team's region until this value is dropped.
pub(super) struct Watch<'a>(&'a VirtualTeam);

/// Begins to watch a region of `team`. `None`: the watchdog cannot be started, so there can be no virtual
/// team.
///
/// # Memory ordering
/// Whether there is a region, and `STARTED`, are sequentially consistent: a watchdog that is about to end clears
/// `STARTED` and then looks for regions; a thread that begins a region says so and then looks at `STARTED`. With a
/// weaker order both could miss the other, and the region would not be watched.
pub(super) fn watch(team: &VirtualTeam) -> Option<Watch<'_>> {
    team.sight.open();
    let watch = Watch(team);
    if !STARTED.load(Ordering::SeqCst) {
        let _teams = teams();
        if !sys::keeping_errno(start) {
            return None;
        }
    }
    Some(watch)
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.sight.close();
    }
}

#[cold]
fn start() -> bool {
    if STARTED.swap(true, Ordering::SeqCst) {
        return true;
    }
    // SAFETY: the attributes are local, and the new thread takes no argument. It blocks all signals, so that
    // the program's handlers run on the program's threads.
    let error = unsafe {
        let mut all = core::mem::MaybeUninit::uninit();
        let mut old = core::mem::MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr());
        let mut attr = core::mem::MaybeUninit::uninit();
        libc::pthread_attr_init(attr.as_mut_ptr());
        libc::pthread_attr_setdetachstate(attr.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(attr.as_mut_ptr(), 256 << 10);
        let mut handle: libc::pthread_t = 0;
        let error =
            libc::pthread_create(&mut handle, attr.as_ptr(), look_on, core::ptr::null_mut());
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        if error == 0 {
            libc::pthread_setname_np(handle, c"hetmp-watchdog".as_ptr());
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), core::ptr::null_mut());
        error
    };
    if error != 0 {
        STARTED.store(false, Ordering::SeqCst);
        // Warn once: the next regions try again, and would repeat the warning.
        static SAID: AtomicBool = AtomicBool::new(false);
        if !SAID.swap(true, Ordering::Relaxed) {
            report::warn(format_args!(
                "no thread to watch over virtual teams ({}): static loops run as ordinary ones",
                std::io::Error::from_raw_os_error(error)
            ));
        }
    }
    error == 0
}

extern "C" fn look_on(_: *mut libc::c_void) -> *mut libc::c_void {
    hetmp_core::float::default_here();
    let mut quiet = 0;
    loop {
        let pause = libc::timespec {
            tv_sec: 0,
            tv_nsec: LOOK_MS as i64 * 1_000_000,
        };
        // SAFETY: the timespec is live; the remaining time is not asked for.
        unsafe { libc::nanosleep(&pause, core::ptr::null_mut()) };
        let teams = teams();
        let mut any = false;
        for team in &*teams {
            // SAFETY: the team is in the list, and the list is locked, so it is not freed.
            let team = unsafe { &*team.0 };
            any |= team.sight.look(|| look_at(team));
        }
        quiet = if any { 0 } else { quiet + 1 };
        if quiet * LOOK_MS >= ALONE_MS {
            // The thread ends and does not just sleep on: it must not be the last thread that keeps the
            // process alive.
            STARTED.store(false, Ordering::SeqCst);
            // SAFETY: teams are in the list from their making to their end, and the list is locked.
            let on = |t: &Known| unsafe { &*t.0 }.sight.is_open();
            if !teams.iter().any(on) {
                return core::ptr::null_mut();
            }
            STARTED.store(true, Ordering::SeqCst);
            quiet = 0;
        }
    }
}

fn look_at(team: &VirtualTeam) {
    let longest_ns = team.longest_ns.load(Ordering::Relaxed);
    let limit_ms = limit_ms(longest_ns, team.was_read.load(Ordering::Relaxed));
    let now = monotonic_ns();
    let looks = team.runners.iter().map(|r| look(r, now));
    let worst = looks.max_by_key(|l| (l.is_stuck(limit_ms), l.certain));
    let Some(worst) = worst.filter(|l| l.is_stuck(limit_ms)) else {
        return;
    };
    let is_stuck = |r: &Runner| {
        let since = r.stuck_since.load(Ordering::Relaxed);
        since != 0 && now.saturating_sub(since) / 1_000_000 >= limit_ms
    };
    if team.blocks.left() > 0 || team.runners.iter().any(|r| is_stuck(r) && r.has_ready()) {
        let certain = worst.certain;
        team.expand(Expanded::Stuck { certain }, &is_stuck);
    }
}

/// From how many milliseconds on a stretch is suspicious. `longest_ns`: the longest one that has ended, 0 if
/// none has.
fn limit_ms(longest_ns: u64, was_read: bool) -> u64 {
    let far = (longest_ns / 1_000_000).saturating_mul(FAR);
    match longest_ns {
        _ if was_read => far.max(READ_MS),
        0 => ALONE_MS,
        _ => far.clamp(STILL_MS, ALONE_MS),
    }
}

/// The watchdog's view of a runner.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Milliseconds for which the same stretch of the program's code has run.
    ms: u64,
    /// It had a core all the while, or wanted none.
    certain: bool,
}

impl Look {
    fn is_stuck(&self, limit_ms: u64) -> bool {
        let least = if self.certain { 0 } else { ALONE_MS };
        self.ms >= limit_ms.max(least)
    }
}

fn look(r: &Runner, now: u64) -> Look {
    let turns = r.turns.load(Ordering::Relaxed);
    let seen = r.seen.swap(turns, Ordering::Relaxed);
    let inside = turns % 2 == 1;
    if !inside || seen != turns {
        r.stuck_since.store(0, Ordering::Relaxed);
        return Look {
            ms: 0,
            certain: false,
        };
    }
    let cpu = cpu_ns(r);
    let since = r.stuck_since.load(Ordering::Relaxed);
    if since == 0 {
        r.stuck_since.store(now, Ordering::Relaxed);
        r.stuck_cpu.store(cpu.unwrap_or(0), Ordering::Relaxed);
        return Look {
            ms: 0,
            certain: false,
        };
    }
    let ns = now.saturating_sub(since);
    let used = cpu.map(|cpu| cpu.saturating_sub(r.stuck_cpu.load(Ordering::Relaxed)));
    Look {
        ms: ns / 1_000_000,
        certain: used.is_some_and(|used| tells(used, ns)),
    }
}

/// Was a thread that used `used` of `ns` nanoseconds spinning or sleeping?
fn tells(used: u64, ns: u64) -> bool {
    let hundredths = used.saturating_mul(100) / ns.max(1);
    // A thread that sleeps uses next to none, and wants no core.
    hundredths == 0 || hundredths >= SPINS
}

/// The CPU time in nanoseconds of a runner that is inside the program's code.
fn cpu_ns(r: &Runner) -> Option<u64> {
    let thread = r.thread.load(Ordering::Relaxed);
    if thread == 0 {
        return None;
    }
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the team is in the list, which is locked, and its region runs; pools end their threads only
    // after the region.
    unsafe {
        if libc::pthread_getcpuclockid(thread as libc::pthread_t, &mut clock) != 0
            || libc::clock_gettime(clock, &mut time) != 0
        {
            return None;
        }
    }
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Called in the child of a fork, which has no watchdog.
pub(super) fn after_fork() {
    STARTED.store(false, Ordering::SeqCst);
    teams().clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_and_sleeping_are_told_from_being_kept_from_a_core() {
        assert!(tells(990, 1000) && tells(700, 1000));
        assert!(tells(0, 1000));
        // Seven other processes want the core, or three, or one.
        assert!(!tells(125, 1000) && !tells(250, 1000) && !tells(500, 1000));
        let look = |ms, certain| Look { ms, certain };
        assert!(look(150, true).is_stuck(100));
        assert!(!look(150, false).is_stuck(100));
        assert!(look(ALONE_MS, false).is_stuck(100));
        assert!(!look(ALONE_MS, false).is_stuck(READ_MS));
    }

    #[test]
    fn long_pieces_of_code_that_was_read_are_no_waits() {
        const S: u64 = 1_000_000_000;
        // Nothing has ended yet; a short stretch has; a long one has.
        assert_eq!(limit_ms(0, false), ALONE_MS);
        assert_eq!(limit_ms(S / 1000, false), STILL_MS);
        assert_eq!(limit_ms(3 * S, false), ALONE_MS);
        assert_eq!(limit_ms(0, true), READ_MS);
        assert_eq!(limit_ms(S / 1000, true), READ_MS);
        assert_eq!(limit_ms(3 * S, true), 60_000);
        assert!(limit_ms(u64::MAX, true) >= READ_MS);
    }
}
