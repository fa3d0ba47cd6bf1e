//! Who makes progress under the engine `thread`: the program's thread that waits, or the progress thread.
//!
//! A thread that waits for a run moves all runs on by itself, which is quicker than waking another thread for each message.
//! So the progress thread is *on duty* only while runs go on and nobody waits. Off duty it sleeps on a flag of its own, and
//! costs neither the processor nor the senders a wake-up.
//!
//! # Memory ordering
//! The scenario to prevent: a run is begun, or the last waiter leaves while runs go on, and the progress thread, which has
//! just found that it is off duty, sleeps on. Both sides store, then look: the program changes the numbers (sequentially
//! consistent) and then nudges the flag; the thread marks the flag as slept on and then looks at the numbers. The fences of
//! [`Flag::nudge`] and of its wait lie between, so that one of the two sees the other.

use hetmp_core::park::Flag;
#[cfg(loom)]
use hetmp_core::park::Poll;
use hetmp_core::sync::{AtomicBool, AtomicU32, Ordering};

/// The hand-off between the program's threads and the progress thread.
#[derive(Debug)]
pub struct Duty {
    /// Runs that have not ended.
    open: AtomicU32,
    /// The progress thread is to end. A word of its own: who counts runs while the process leaves must not take it back.
    stopped: AtomicBool,
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
            waiting: AtomicU32::new(0),
            flag: Flag::new(),
        }
    }

    /// So many runs have not ended now. Called by whoever has worked on the runs, while it still owns them.
    pub fn runs(&self, open: u32) {
        self.open.store(open, Ordering::SeqCst);
    }

    /// A thread begins to wait: the progress thread goes off duty when it looks next.
    pub fn wait_begins(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// It has what it waited for.
    pub fn wait_ends(&self) {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.call();
    }

    /// Wakes the progress thread if there is something for it to do. After [`Duty::runs`].
    pub fn call(&self) {
        if self.is_on() {
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
            || self.open.load(Ordering::SeqCst) > 0 && self.waiting.load(Ordering::SeqCst) == 0
    }

    /// Sleeps until the thread is on duty. For the progress thread.
    pub fn sleep_until_on(&self) {
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
    }
}
