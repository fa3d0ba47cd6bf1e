//! Which of this node's threads run a region that crosses nodes: how they begin it, and when all have left it.
//!
//! Between regions threads wait for the next one. A thread that has no part in a region wakes for it nevertheless, at
//! any time: also when the next region's opener writes that one's number of threads already. From two words such a
//! thread could take the next region for the one it woke for, and run what is not open yet. So the threads stand in the
//! word that tells of the region.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use hetmp_core::bell::LocalBell;
use hetmp_core::park::Spinner;

/// The most turns of spinning before a sleep, whatever the waiting policy allows beyond. The policy counts the
/// threads of this process. What a thread waits for here takes messages to other processes, often on the same
/// cores: spinning for longer would keep those from the cores that they need.
const LOOKS: u32 = 2000;

/// The region that this node's threads run, or ran last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun(u64);

impl Begun {
    /// Before the first region.
    const NONE: Begun = Begun(0);

    /// The region after this one, with `threads` threads on this node.
    fn next(self, threads: u32) -> Begun {
        Begun(((self.0 >> 32) + 1) << 32 | u64::from(threads))
    }

    /// Its threads on this node have the numbers below this one. If that is 0, there is no region, and all threads end.
    pub(super) fn threads(self) -> u32 {
        self.0 as u32
    }
}

/// This node's threads between regions.
pub(super) struct Crew {
    /// The [`Begun`] region.
    begun: AtomicU64,
    start: LocalBell,
    /// Threads of the next region while it is being opened, then of that region.
    threads: AtomicU32,
    /// They are more than the node's CPUs: one that spins keeps another from running.
    crowded: AtomicBool,
    /// How many of them have left it.
    left: AtomicU32,
    end: LocalBell,
}

impl Crew {
    pub(super) const fn new() -> Crew {
        Crew {
            begun: AtomicU64::new(Begun::NONE.0),
            start: LocalBell::local(),
            threads: AtomicU32::new(0),
            crowded: AtomicBool::new(false),
            left: AtomicU32::new(0),
            end: LocalBell::local(),
        }
    }

    /// This node's threads of the region. Called by these, and by who opens it.
    pub(super) fn threads(&self) -> u32 {
        self.threads.load(Ordering::Relaxed)
    }

    pub(super) fn begun(&self) -> Begun {
        Begun(self.begun.load(Ordering::Acquire))
    }

    /// Waits until `over`. Whoever makes that true rings the bell.
    pub(super) fn wait_until(&self, bell: &LocalBell, over: impl Fn() -> bool) {
        let mut spinner = Spinner::new();
        for _ in 0..LOOKS {
            if over() {
                return;
            }
            if self.crowded.load(Ordering::Relaxed) || !spinner.turn() {
                break;
            }
        }
        bell.sleep_until(&mut || over());
    }

    /// The next region has `threads` threads here, on `cpus` CPUs. Waits until all have left the last one: until then
    /// they use the team, which the next region changes.
    pub(super) fn expect(&self, threads: u32, cpus: u32) {
        self.all_left();
        self.crowded.store(threads > cpus, Ordering::Relaxed);
        self.left.store(0, Ordering::Relaxed);
        self.threads.store(threads, Ordering::Relaxed);
    }

    /// Lets the expected threads run the region.
    pub(super) fn begin(&self) {
        self.tell(self.threads());
    }

    /// Ends all threads, of which there are `threads`, and waits until they are about to go. No region is under way.
    pub(super) fn end(&self, threads: u32) {
        self.expect(threads, 0);
        self.tell(0);
        // A thread that has not gone yet must not miss this end, and must not see the next region.
        self.all_left();
    }

    /// Waits for the region after `seen`, and returns it.
    pub(super) fn wait_past(&self, seen: Begun) -> Begun {
        self.wait_until(&self.start, || self.begun() != seen);
        self.begun()
    }

    /// The calling thread has left the region, or is about to end.
    pub(super) fn leave(&self) {
        self.left.fetch_add(1, Ordering::SeqCst);
        self.end.ring_after_swap();
    }

    fn tell(&self, threads: u32) {
        self.begun
            .swap(self.begun().next(threads).0, Ordering::SeqCst);
        self.start.ring_after_swap();
    }

    fn all_left(&self) {
        self.wait_until(&self.end, || {
            self.left.load(Ordering::Acquire) == self.threads()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_wakes_late_is_not_in_a_region_that_is_not_open() {
        let crew = Crew::new();
        crew.expect(1, 2);
        crew.begin();
        crew.leave();
        // The next region's opener writes, and the thread wakes for the first one.
        crew.expect(3, 2);
        let first = crew.wait_past(Begun::NONE);
        assert_eq!(first.threads(), 1);
        crew.begin();
        assert_eq!(crew.wait_past(first).threads(), 3);
    }

    #[test]
    fn a_region_is_opened_when_all_threads_have_left_the_last_one() {
        let (crew, ran) = (Crew::new(), AtomicU32::new(0));
        std::thread::scope(|s| {
            for worker in 0..3 {
                let (crew, ran) = (&crew, &ran);
                s.spawn(move || {
                    let mut begun = Begun::NONE;
                    loop {
                        begun = crew.wait_past(begun);
                        if begun.threads() == 0 {
                            return crew.leave();
                        }
                        if worker < begun.threads() {
                            ran.fetch_add(1, Ordering::Relaxed);
                            crew.leave();
                        }
                    }
                });
            }
            let mut expected = 0;
            let early = (0..200).find(|region| {
                let threads = 1 + region % 3;
                crew.expect(threads, 2);
                let early = ran.load(Ordering::Relaxed) != expected;
                expected += threads;
                crew.begin();
                early
            });
            crew.tell(0);
            assert_eq!(early, None);
        });
    }
}
