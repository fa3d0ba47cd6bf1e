//! Who makes progress under the engine `thread`: the program's thread that waits, or the progress thread.
//!
//! A thread that waits for a run moves all runs on by itself, which is quicker than waking another thread for each message.
//! So the progress thread is *on duty* only while runs go on and nobody waits.
//!
//! To wake a sleeping thread costs the waker some microseconds, more than a short collective. So who begins a run wakes the
//! progress thread only if that has slept for long; while runs come one after the other it *dozes*: it looks after the
//! runs by its own clock, and neither the program nor the peers pay for waking it.
//!
//! # Memory ordering
//! The scenario to prevent: a run is begun, or the last waiter leaves while runs go on, and the progress thread, which has
//! just found that it is off duty, sleeps on. Both sides store, then look: the program changes the numbers (sequentially
//! consistent), looks at `dozing`, and then nudges the flag; the thread ends its doze (sequentially consistent), marks the
//! flag as slept on and then looks at the numbers. So one of the two sees the other.

use hetmp_core::park::Flag;
#[cfg(loom)]
use hetmp_core::park::Poll;
use hetmp_core::sync::{fence, AtomicBool, AtomicU32, Ordering};

/// The hand-off between the program's threads and the progress thread.
#[derive(Debug)]
pub struct Duty {
    /// Runs that have not ended.
    open: AtomicU32,
    /// The progress thread is to end. A word of its own: who counts runs while the process leaves must not take it back.
    stopped: AtomicBool,
    /// The progress thread looks after the runs by its own clock, or is about to look.
    dozing: AtomicBool,
    /// Threads that wait, and make progress meanwhile.
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
            stopped: AtomicBool::new(false),
            dozing: AtomicBool::new(false),
            waiting: AtomicU32::new(0),
            flag: Flag::new(),
        }
    }

    /// So many runs have not ended now. Called by whoever has worked on the runs, while it still owns them.
    #[inline]
    pub fn runs(&self, open: u32) {
        self.open.store(open, Ordering::Relaxed);
    }

    /// Whether runs have not ended.
    #[inline]
    pub fn has_runs(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// A thread begins to wait: the progress thread goes off duty when it looks next.
    #[inline]
    pub fn wait_begins(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// It has what it waited for.
    #[inline]
    pub fn wait_ends(&self) {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.call();
    }

    /// How many threads wait.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Wakes the progress thread if there is something for it to do and it sleeps. After [`Duty::runs`].
    #[inline]
    pub fn call(&self) {
        // Between the numbers and the look at `dozing`: see "Memory ordering".
        fence(Ordering::SeqCst);
        if self.is_on() && !self.dozing.load(Ordering::Relaxed) {
            self.flag.nudge();
        }
    }

    /// The thread is to end.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.flag.nudge();
    }

    /// Whether the progress thread is to end.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Whether the progress thread has to look after the runs.
    pub fn is_on(&self) -> bool {
        self.is_stopped()
            || self.open.load(Ordering::Relaxed) > 0 && self.waiting.load(Ordering::Relaxed) == 0
    }

    /// Sleeps until the thread is on duty; it dozes from then on. For the progress thread.
    pub fn sleep_until_on(&self) {
        self.dozing.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        #[cfg(not(loom))]
        self.flag.sleep_nudged(u64::MAX, &mut || self.is_on());
        // The model's way to sleep on a flag that is only nudged: epoch 1 is never reached.
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
