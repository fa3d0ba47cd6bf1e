//! Decides which thread makes progress under the engine `thread`: a thread of the program that waits, or the progress
//! thread.
//!
//! A thread that waits for a run moves all runs on by itself; this is faster than waking another thread for each
//! message. So the progress thread is *on duty* only while there are runs and no thread waits.
//!
//! Waking a sleeping thread costs the waker some microseconds, more than a short collective. So the thread that
//! begins a run wakes the progress thread only if that one has been idle for long. While runs follow each other, the
//! progress thread *dozes*: it sleeps for short fixed times and looks after the runs in between, so that neither the
//! program nor the peers pay for waking it.
//!
//! # Memory ordering
//! The scenario to prevent: the progress thread has just found that it is off duty, and goes to sleep; at the same
//! moment a run begins, or the last waiter leaves while there are runs; and the progress thread sleeps on. Both sides
//! store first, then look. The program changes the numbers (sequentially consistent), looks at `dozing`, and nudges
//! the flag. The progress thread ends its doze (sequentially consistent), marks the flag as slept on, and looks at
//! the numbers. So at least one of them sees the other.

use hetmp_core::park::Flag;
#[cfg(loom)]
use hetmp_core::park::Poll;
use hetmp_core::sync::{fence, AtomicBool, AtomicU32, Ordering};

/// The hand-off between the program's threads and the progress thread.
#[derive(Debug)]
pub struct Duty {
    /// How many runs have not ended.
    open: AtomicU32,
    /// How many collectives without a schedule need somebody who looks after them.
    aside: AtomicU32,
    /// The progress thread has to end. A word of its own, so that a thread which counts runs while the process leaves
    /// cannot reset it.
    stopped: AtomicBool,
    /// The progress thread is dozing, or is about to look at the runs.
    dozing: AtomicBool,
    /// How many threads wait, and make progress meanwhile.
    waiting: AtomicU32,
    flag: Flag,
}

impl Duty {
    /// Nothing runs, and nobody waits.
    #[allow(
        clippy::new_without_default,
        reason = "a state of one process, made once"
    )]
    pub fn new() -> Duty {
        Duty {
            open: AtomicU32::new(0),
            aside: AtomicU32::new(0),
            stopped: AtomicBool::new(false),
            dozing: AtomicBool::new(false),
            waiting: AtomicU32::new(0),
            flag: Flag::new(),
        }
    }

    /// Sets the number of runs that have not ended. Called by the thread that has worked on the runs, while it still
    /// owns them.
    #[inline]
    pub fn runs(&self, open: u32) {
        self.open.store(open, Ordering::Relaxed);
    }

    /// True if there are runs that have not ended.
    #[inline]
    pub fn has_runs(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// Changes the number of collectives without a schedule that need somebody who looks after them, from one number of
    /// a team's to another. Called by the thread that holds the team.
    pub fn aside(&self, from: u32, to: u32) {
        self.aside
            .fetch_add(to.wrapping_sub(from), Ordering::Relaxed);
    }

    /// True if there are such collectives.
    #[inline]
    pub fn has_aside(&self) -> bool {
        self.aside.load(Ordering::Relaxed) > 0
    }

    /// A thread begins to wait. The progress thread goes off duty at its next look.
    #[inline]
    pub fn wait_begins(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// The thread's wait is over. As [`Duty::call`].
    #[inline]
    pub fn wait_ends(&self) -> bool {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.call()
    }

    /// How many threads wait.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Wakes the progress thread if it sleeps and is on duty; true if so, or if there is no such thread yet. Call it
    /// after [`Duty::runs`] and [`Duty::aside`].
    #[inline]
    pub fn call(&self) -> bool {
        // Between the change of the numbers and the look at `dozing`: see "Memory ordering".
        fence(Ordering::SeqCst);
        let is_needed = self.is_on() && !self.dozing.load(Ordering::Relaxed);
        if is_needed {
            self.flag.nudge();
        }
        is_needed
    }

    /// Ends the progress thread.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.flag.nudge();
    }

    /// True if the progress thread has to end.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// True if the progress thread has to look after the runs.
    pub fn is_on(&self) -> bool {
        self.is_stopped()
            || (self.open.load(Ordering::Relaxed) > 0 || self.has_aside())
                && self.waiting.load(Ordering::Relaxed) == 0
    }

    /// For the progress thread: sleeps until it is on duty. From then on it counts as dozing.
    pub fn sleep_until_on(&self) {
        self.dozing.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        #[cfg(not(loom))]
        self.flag.sleep_nudged(u64::MAX, &mut || self.is_on());
        // In the model, the way to sleep on a flag that is only nudged: epoch 1 is never reached.
        #[cfg(loom)]
        self.flag.wait_polling(
            1,
            &mut || {
                if self.is_on() {
                    Poll::Leave
                } else {
                    Poll::Idle
                }
            },
            &mut |_| {},
        );
        self.dozing.store(true, Ordering::Relaxed);
    }
}
