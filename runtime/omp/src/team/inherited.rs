//! What a new thread has from the thread that creates it: CPU mask, signal mask, scheduling policy, floating-point
//! modes. Programs set these for a thread and count on them in the workers of its teams.

use crate::init;

const CPU_WORDS: usize = size_of::<libc::cpu_set_t>() / 8;

/// What a new thread inherits, as far as programs set it for single threads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inherited {
    cpus: [u64; CPU_WORDS],
    signals: u64,
    scheduling: (i32, i32, i32),
    floating: u64,
    stack_size: usize,
}

impl core::fmt::Debug for Inherited {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Inherited").finish_non_exhaustive()
    }
}

impl Inherited {
    /// What a thread would inherit that the calling thread creates. `None` if the system does not say, or where no pool
    /// is kept in this process.
    pub(crate) fn here() -> Option<Inherited> {
        if !init::globals().as_libomp {
            return None;
        }
        // SAFETY: sets and parameters are plain data on this stack, of the sizes that are passed.
        unsafe {
            let mut cpus = [0u64; CPU_WORDS];
            let mut signals: libc::sigset_t = core::mem::zeroed();
            let mut param: libc::sched_param = core::mem::zeroed();
            if libc::sched_getaffinity(0, size_of_val(&cpus), cpus.as_mut_ptr().cast()) != 0
                || libc::pthread_sigmask(libc::SIG_BLOCK, core::ptr::null(), &mut signals) != 0
                || libc::sched_getparam(0, &mut param) != 0
            {
                return None;
            }
            Some(Inherited {
                cpus,
                signals: (1..=64)
                    .filter(|&s| libc::sigismember(&signals, s) == 1)
                    .fold(0, |bits, s| bits | 1 << (s - 1)),
                scheduling: (
                    libc::sched_getscheduler(0),
                    param.sched_priority,
                    libc::getpriority(libc::PRIO_PROCESS, 0),
                ),
                floating: hetmp_core::float::modes(),
                stack_size: init::stack_size(),
            })
        }
    }
}
