//! Waiting that the runtime does not see.
//!
//! Programs also wait with no call at all: they flush and look at a variable that another thread of
//! the team will set. If that other one is a virtual thread that nobody has begun, or one that is
//! suspended on the same real thread, the wait never ends. So a thread of ours looks at the
//! teams that run: where a runner has not changed hands for far longer than any of its siblings
//! needed, and there are virtual threads that could run instead, they all get real threads.
//!
//! It can only tell by time, not by what a thread does. A region that is merely uneven loses some speed by it,
//! once, and is not run as a virtual team again.

use super::fiber::Runner;
use super::run::VirtualTeam;
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::report;
use std::sync::{Mutex, MutexGuard};

/// How often the watchdog looks.
const LOOK_MS: u32 = 20;
/// A stretch of the program's code is suspicious if it takes this many times as long as the longest
/// one that has ended...
const FAR: u64 = 20;
/// ...and at least this long.
const LEAST_MS: u32 = 100;
/// One that takes so long is, in any case.
const ALONE_MS: u32 = 1000;
/// Without a team for so many looks, the watchdog ends.
const QUIET_LOOKS: u32 = 100;

/// A team that runs. The primary thread of its region takes it out before the region ends.
struct Watched(*const VirtualTeam);
// SAFETY: a team is shared between threads while its region runs.
unsafe impl Send for Watched {}

static TEAMS: Mutex<Vec<Watched>> = Mutex::new(Vec::new());
/// The watchdog's thread exists. Changes under the lock of the list.
static STARTED: AtomicBool = AtomicBool::new(false);

fn teams() -> MutexGuard<'static, Vec<Watched>> {
    TEAMS.lock().unwrap_or_else(|e| e.into_inner())
}

/// Keeps an eye on a team until it is dropped.
pub(super) struct Watch(*const VirtualTeam);

/// Begins to watch `team`. `None`: there can be no watchdog, and hence no virtual team.
pub(super) fn watch(team: &VirtualTeam) -> Option<Watch> {
    let mut teams = teams();
    if !STARTED.load(Ordering::Relaxed) && !start() {
        return None;
    }
    teams.push(Watched(team));
    Some(Watch(team))
}

impl Drop for Watch {
    fn drop(&mut self) {
        teams().retain(|t| !core::ptr::eq(t.0, self.0));
    }
}

#[cold]
fn start() -> bool {
    if STARTED.swap(true, Ordering::SeqCst) {
        return true;
    }
    // SAFETY: the attributes are a local of ours; the new thread takes no argument. It blocks all
    // signals, so that the program's handlers run on the program's threads.
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
        report::warn(format_args!(
            "no thread to watch over virtual teams ({}): static loops run as ordinary ones",
            std::io::Error::from_raw_os_error(error)
        ));
    }
    error == 0
}

extern "C" fn look_on(_: *mut libc::c_void) -> *mut libc::c_void {
    let mut quiet = 0;
    loop {
        let pause = libc::timespec {
            tv_sec: 0,
            tv_nsec: i64::from(LOOK_MS) * 1_000_000,
        };
        // SAFETY: a live timespec; the rest is not asked for.
        unsafe { libc::nanosleep(&pause, core::ptr::null_mut()) };
        let teams = teams();
        quiet = if teams.is_empty() { quiet + 1 } else { 0 };
        for team in &*teams {
            // SAFETY: in the list, so its region runs, and cannot end while the list is locked.
            look_at(unsafe { &*team.0 });
        }
        if quiet == QUIET_LOOKS {
            // Under the lock: whoever adds a team after this starts another watchdog. The thread
            // ends, rather than sleep, so that it is not the last one that keeps a process.
            STARTED.store(false, Ordering::SeqCst);
            return core::ptr::null_mut();
        }
    }
}

fn look_at(team: &VirtualTeam) {
    let longest_ms = team.longest_ns.load(Ordering::Relaxed) / 1_000_000;
    let limit = if team.longest_ns.load(Ordering::Relaxed) == 0 {
        ALONE_MS
    } else {
        u32::try_from(longest_ms * FAR).map_or(ALONE_MS, |far| far.clamp(LEAST_MS, ALONE_MS))
    };
    let mut suspicious = false;
    for r in &*team.runners {
        let turns = r.turns.load(Ordering::Relaxed);
        let seen = r.seen.swap(turns, Ordering::Relaxed);
        let inside = turns % 2 == 1;
        let stuck = if inside && seen == turns {
            r.stuck_ms.load(Ordering::Relaxed).saturating_add(LOOK_MS)
        } else {
            0
        };
        r.stuck_ms.store(stuck, Ordering::Relaxed);
        suspicious |= stuck >= limit;
    }
    let is_stuck = |r: &Runner| r.stuck_ms.load(Ordering::Relaxed) >= limit;
    let pending =
        || team.blocks.left() > 0 || team.runners.iter().any(|r| is_stuck(r) && r.has_ready());
    if suspicious && pending() {
        team.expand(&is_stuck);
    }
}

/// In the child of a fork, which has no watchdog. False: a thread that is gone held the list, and
/// there will be none.
pub(super) fn after_fork() -> bool {
    STARTED.store(false, Ordering::SeqCst);
    match TEAMS.try_lock() {
        Ok(mut teams) => {
            teams.clear();
            true
        }
        Err(_) => false,
    }
}
