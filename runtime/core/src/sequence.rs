//! Sequence locks: words that one thread at a time writes, and that others read without waiting.
//!
//! # Memory ordering
//! A version is odd while the words change. The writer makes it odd, passes a release fence, and writes the words;
//! then it releases the next even version. A reader acquires the version, reads the words, passes an acquire fence, and
//! looks whether the version is the same. The two fences meet: who reads a new word finds that the old version is gone.

use crate::sync::{fence, AtomicU64, Ordering};

/// Changes the words, by relaxed stores. Nobody else does so meanwhile.
#[inline]
pub fn write(version: &AtomicU64, change: impl FnOnce()) {
    let before = version.load(Ordering::Relaxed);
    version.store(before + 1, Ordering::Relaxed);
    fence(Ordering::Release);
    change();
    version.store(before + 2, Ordering::Release);
}

/// What `look` finds in the words, by relaxed loads. It is given the version: 0 if nothing was ever written. `None` if
/// the words change meanwhile.
#[inline]
pub fn read<R>(version: &AtomicU64, look: impl FnOnce(u64) -> R) -> Option<R> {
    let before = version.load(Ordering::Acquire);
    if before % 2 == 1 {
        return None;
    }
    let found = look(before);
    fence(Ordering::Acquire);
    (version.load(Ordering::Relaxed) == before).then_some(found)
}
