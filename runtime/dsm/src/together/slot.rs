//! The place of one request: a caller on a shared stack asks there, and the agent answers.

use hetmp_core::bell::LocalBell;
use hetmp_core::sync::{AtomicU32, AtomicU64, Ordering};

/// Three words that go with a request, a message or an answer.
pub type Words = [u64; 3];

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const ASKED: u32 = 2;
const TAKEN: u32 = 3;
const ANSWERED: u32 = 4;

/// One caller's request.
///
/// # Memory ordering
/// The caller writes `op` and `words` before it releases `ASKED`, which the agent acquires; the agent writes the
/// answer's words before it releases `ANSWERED`, which the caller acquires; the caller reads them before it releases
/// `FREE`, which the next one acquires. Without these, one could read the other's old words.
#[derive(Debug)]
pub(super) struct Slot {
    stage: AtomicU32,
    op: AtomicU32,
    words: [AtomicU64; 3],
    /// The caller sleeps on this bell until the stage is `ANSWERED`.
    answered: LocalBell,
}

pub(super) fn store(to: &[AtomicU64; 3], words: Words) {
    (to.iter().zip(words)).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
}

pub(super) fn load(from: &[AtomicU64; 3]) -> Words {
    core::array::from_fn(|i| from[i].load(Ordering::Relaxed))
}

impl Slot {
    pub(super) fn new() -> Slot {
        Slot {
            stage: AtomicU32::new(FREE),
            op: AtomicU32::new(0),
            words: core::array::from_fn(|_| AtomicU64::new(0)),
            answered: LocalBell::local(),
        }
    }

    /// Takes the slot for a caller, if it is free.
    pub(super) fn claim(&self) -> bool {
        self.stage
            .compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// By the caller that has claimed the slot, who then wakes the agent.
    pub(super) fn ask(&self, op: u32, words: Words) {
        self.op.store(op, Ordering::Relaxed);
        store(&self.words, words);
        self.stage.store(ASKED, Ordering::Release);
    }

    /// Waits for the answer, and frees the slot.
    pub(super) fn wait(&self) -> Words {
        self.answered
            .sleep_until(&mut || self.stage.load(Ordering::Acquire) == ANSWERED);
        let answer = load(&self.words);
        self.stage.store(FREE, Ordering::Release);
        answer
    }

    /// By the agent: what is asked, once.
    pub(super) fn take(&self) -> Option<(u32, Words)> {
        if self.stage.load(Ordering::Acquire) != ASKED {
            return None;
        }
        self.stage.store(TAKEN, Ordering::Relaxed);
        Some((self.op.load(Ordering::Relaxed), load(&self.words)))
    }

    pub(super) fn answer(&self, words: Words) {
        store(&self.words, words);
        self.stage.store(ANSWERED, Ordering::Release);
        self.answered.ring();
    }
}
