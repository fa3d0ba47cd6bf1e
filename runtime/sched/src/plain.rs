//! The schedules of the OpenMP specification: static, dynamic and guided
//! (OpenMP 5.0, 2.9.2, table 2.5).
//!
//! These are the hottest functions of the crate: threads call one of them for each chunk. Static needs no
//! shared state and is two pure functions. [`Dynamic`] and [`Guided`] consist of two cache lines: one with
//! the cursor, and one that is only read while the loop runs. A thread that takes a chunk therefore moves
//! exactly one line between cores.
//!
//! # Memory ordering
//! All accesses are relaxed, because a taken range carries no other data. The range is computed from the
//! cursor, whose modification order is total, and from the shape, which is constant between `reset` and the
//! end of the loop. Two others provide the ordering around the loop: the code that publishes the work share
//! makes `reset` visible before the first take, and the barrier at the end of the loop makes the loop's
//! results visible.

use crate::primitive::{AtomicBool, AtomicU64, Ordering};
use crate::ranges::Range;
use crossbeam_utils::CachePadded;

/// The single piece of thread `tid` under `schedule(static)`: contiguous, the remainder spread over the first
/// threads. The pieces are exactly those that gcc computes inline, because two static loops of one region may
/// rely on equal pieces.
#[inline]
#[must_use]
pub fn static_piece(n: u64, nthreads: u64, tid: u64) -> Range {
    debug_assert!(tid < nthreads);
    let share = n / nthreads;
    let rest = n % nthreads;
    let (share, before) = if tid < rest {
        (share + 1, 0)
    } else {
        (share, rest)
    };
    let start = share * tid + before;
    Range {
        start,
        end: start + share,
    }
}

/// The `k`-th chunk (from 0) of thread `tid` under `schedule(static, chunk)`:
/// chunks go round robin in thread order. `None` after its last one.
#[inline]
#[must_use]
pub fn static_chunk(n: u64, chunk: u64, nthreads: u64, tid: u64, k: u64) -> Option<Range> {
    let chunk = chunk.max(1);
    if n <= FAST_ITERATIONS && chunk <= FAST_CHUNK && nthreads <= FAST_CHUNK && k <= n {
        // Nothing here can wrap: callers count `k` up from 0 and stop at the first `None`, so `start` lies at
        // most one round of chunks behind `n`.
        let start = (k * nthreads + tid) * chunk;
        return (start < n).then(|| Range {
            start,
            end: (start + chunk).min(n),
        });
    }
    let start = k
        .checked_mul(nthreads)?
        .checked_add(tid)?
        .checked_mul(chunk)?;
    if start >= n {
        return None;
    }
    Some(Range {
        start,
        // n - start is at least one, and the sum cannot pass n.
        end: start + chunk.min(n - start),
    })
}

/// Largest chunk and largest trip count of the fast way, which adds to the cursor without a check. With these
/// bounds even 2^32 takes after the last iteration do not wrap the cursor.
const FAST_CHUNK: u64 = 1 << 31;
const FAST_ITERATIONS: u64 = 1 << 62;

/// The read-only part of a dynamic loop. The fields are atomic only because a recycled state is rewritten
/// through a shared reference.
#[derive(Debug, Default)]
struct DynamicShape {
    n: AtomicU64,
    chunk: AtomicU64,
    /// Plain additions cannot wrap the cursor, so no compare-and-swap is needed.
    fast: AtomicBool,
}

/// [`Dynamic::next_fast`] took nothing, because its plain addition could overflow: call [`Dynamic::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow;

/// `schedule(dynamic, chunk)`: threads take the next chunk in order.
///
/// Chunks are handed out in increasing order, so every thread sees its own in
/// increasing order too: the schedule is monotonic.
#[derive(Debug, Default)]
pub struct Dynamic {
    shape: CachePadded<DynamicShape>,
    next: CachePadded<AtomicU64>,
}

impl Dynamic {
    /// An empty loop; [`reset`](Self::reset) gives it iterations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of iterations for which the state was prepared last.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.shape.n.load(Ordering::Relaxed)
    }

    /// Prepares for a loop of `n` iterations in chunks of `chunk` (0 counts as
    /// 1). The caller makes this visible to the team, and knows that no thread
    /// is still inside the loop that used this state before.
    pub fn reset(&self, n: u64, chunk: u64) {
        // A chunk larger than the loop is cut to the loop, which keeps the cursor small.
        let chunk = chunk.clamp(1, n.max(1));
        self.shape.n.store(n, Ordering::Relaxed);
        self.shape.chunk.store(chunk, Ordering::Relaxed);
        self.shape.fast.store(
            n <= FAST_ITERATIONS && chunk <= FAST_CHUNK,
            Ordering::Relaxed,
        );
        self.next.store(0, Ordering::Relaxed);
    }

    /// Next chunk, or `None` when all are taken.
    #[inline]
    pub fn next(&self) -> Option<Range> {
        let n = self.shape.n.load(Ordering::Relaxed);
        let chunk = self.shape.chunk.load(Ordering::Relaxed);
        if self.shape.fast.load(Ordering::Relaxed) {
            let start = self.next.fetch_add(chunk, Ordering::Relaxed);
            if start >= n {
                return None;
            }
            return Some(Range {
                start,
                end: (start + chunk).min(n),
            });
        }
        self.next_near_overflow(n, chunk)
    }

    /// [`next`](Self::next) for callers that keep the slow way in another function.
    ///
    /// # Errors
    /// [`Slow`] when the cursor of this loop could overflow; nothing was taken.
    #[inline(always)]
    pub fn next_fast(&self) -> Result<Option<Range>, Slow> {
        if !self.shape.fast.load(Ordering::Relaxed) {
            return Err(Slow);
        }
        let n = self.shape.n.load(Ordering::Relaxed);
        let chunk = self.shape.chunk.load(Ordering::Relaxed);
        let start = self.next.fetch_add(chunk, Ordering::Relaxed);
        Ok((start < n).then(|| Range {
            start,
            end: (start + chunk).min(n),
        }))
    }

    #[cold]
    fn next_near_overflow(&self, n: u64, chunk: u64) -> Option<Range> {
        let mut start = self.next.load(Ordering::Relaxed);
        loop {
            if start >= n {
                return None;
            }
            let end = start + chunk.min(n - start);
            match self
                .next
                .compare_exchange_weak(start, end, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Some(Range { start, end }),
                Err(now) => start = now,
            }
        }
    }
}

/// Read-only part of a guided loop.
#[derive(Debug, Default)]
struct GuidedShape {
    n: AtomicU64,
    chunk: AtomicU64,
    nthreads: AtomicU64,
    /// Every take but the last is a multiple of this number of iterations.
    unit: AtomicU64,
}

/// `schedule(guided, chunk)`: each take is a `1/nthreads` part of what is
/// left, rounded up, and at least `chunk` except at the end.
#[derive(Debug, Default)]
pub struct Guided {
    shape: CachePadded<GuidedShape>,
    next: CachePadded<AtomicU64>,
}

impl Guided {
    /// An empty loop; [`reset`](Self::reset) gives it iterations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Prepares for a loop of `n` iterations; `chunk` and `nthreads` of 0 count as 1. The caller has the same
    /// duties as for [`Dynamic::reset`].
    pub fn reset(&self, n: u64, chunk: u64, nthreads: u64) {
        self.shape.n.store(n, Ordering::Relaxed);
        self.shape.chunk.store(chunk.max(1), Ordering::Relaxed);
        self.shape
            .nthreads
            .store(nthreads.max(1), Ordering::Relaxed);
        self.shape.unit.store(1, Ordering::Relaxed);
        self.next.store(0, Ordering::Relaxed);
    }

    /// [`reset`](Self::reset), but every take except the last is a multiple of `chunk` (`schedule(simd:
    /// guided, chunk)`).
    pub fn reset_whole(&self, n: u64, chunk: u64, nthreads: u64) {
        self.reset(n, chunk, nthreads);
        self.shape.unit.store(chunk.max(1), Ordering::Relaxed);
    }

    /// Next chunk, or `None` when all are taken.
    #[inline]
    pub fn next(&self) -> Option<Range> {
        let n = self.shape.n.load(Ordering::Relaxed);
        let unit = self.shape.unit.load(Ordering::Relaxed);
        let chunk = self.shape.chunk.load(Ordering::Relaxed);
        let nthreads = self.shape.nthreads.load(Ordering::Relaxed);
        let mut start = self.next.load(Ordering::Relaxed);
        loop {
            if start >= n {
                return None;
            }
            let left = n - start;
            let mut part = guided_part(left, nthreads).max(chunk);
            if unit > 1 {
                part = part.checked_next_multiple_of(unit).unwrap_or(left);
            }
            let end = start + part.min(left);
            match self
                .next
                .compare_exchange_weak(start, end, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Some(Range { start, end }),
                Err(now) => start = now,
            }
        }
    }
}

/// `ceil(left / nthreads)` for `left > 0`.
#[inline]
fn guided_part(left: u64, nthreads: u64) -> u64 {
    // The 64-bit division is the slowest instruction here. Most loops and teams fit in 32 bits, where a
    // division is several times faster.
    if (left | nthreads) >> 32 == 0 {
        return u64::from((left as u32 - 1) / nthreads as u32 + 1);
    }
    (left - 1) / nthreads + 1
}

/// Takes `size(what is left)` iterations from a cursor, or fewer at the end.
#[inline]
pub(crate) fn take_up_to(cursor: &AtomicU64, end: u64, size: impl Fn(u64) -> u64) -> Option<Range> {
    let mut start = cursor.load(Ordering::Relaxed);
    loop {
        if start >= end {
            return None;
        }
        let left = end - start;
        let stop = start + size(left).min(left);
        // A compare-and-swap and never an addition: the size depends on the rest, and the cursor must
        // neither pass the end nor wrap in a loop of 2^64 - 1 iterations.
        match cursor.compare_exchange_weak(start, stop, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(Range { start, end: stop }),
            Err(now) => start = now,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drain(mut take: impl FnMut() -> Option<Range>) -> Vec<Range> {
        let mut out = Vec::new();
        while let Some(r) = take() {
            out.push(r);
            assert!(out.len() < 100_000, "does not end");
        }
        out
    }

    fn assert_covers(pieces: &[Range], n: u64) {
        let mut at = 0;
        for p in pieces {
            assert!(p.start == at && p.end > p.start, "{pieces:?}");
            at = p.end;
        }
        assert_eq!(at, n);
    }

    #[test]
    fn whole_chunks_but_for_the_last() {
        let g = Guided::new();
        for (n, chunk, nthreads) in [(103, 4, 4), (3, 4, 2), (64, 8, 1), (u64::MAX, 3, 2)] {
            g.reset_whole(n, chunk, nthreads);
            let pieces = drain(|| g.next());
            assert_covers(&pieces, n);
            let (_, others) = pieces.split_last().expect("a piece");
            assert!(others.iter().all(|p| (p.end - p.start) % chunk == 0));
        }
    }

    #[test]
    fn guided_matches_the_formula() {
        let g = Guided::new();
        g.reset(100, 7, 4);
        let lens: Vec<u64> = drain(|| g.next()).iter().map(|r| r.len()).collect();
        assert_eq!(lens, [25, 19, 14, 11, 8, 7, 7, 7, 2]);
    }

    #[test]
    fn recycled_state_starts_over() {
        let d = Dynamic::new();
        assert_eq!(d.next(), None);
        d.reset(3, 2);
        assert_covers(&drain(|| d.next()), 3);
        assert_eq!(d.next(), None);
        d.reset(0, 5);
        assert_eq!(d.next(), None);
        d.reset(u64::MAX, u64::MAX - 1);
        assert_covers(&drain(|| d.next()), u64::MAX);
        assert_eq!(d.next(), None);
    }

    proptest! {
        #[test]
        fn dynamic_covers(n in prop_oneof![0u64..5000, (u64::MAX - 5000)..=u64::MAX], c in 0u64..70) {
            let chunk = if n > 5000 { (u64::MAX / 1000).saturating_add(c) } else { c };
            let d = Dynamic::new();
            d.reset(n, chunk);
            let got = drain(|| d.next());
            assert_covers(&got, n);
            for r in got.iter().rev().skip(1) {
                prop_assert_eq!(r.len(), chunk.max(1));
            }
        }

        #[test]
        fn guided_covers(n in prop_oneof![0u64..5000, any::<u64>()], c in 0u64..70, t in 0u64..40) {
            let g = Guided::new();
            g.reset(n, c.max(n / 10_000), t);
            assert_covers(&drain(|| g.next()), n);
        }

        #[test]
        fn static_pieces_cover(n in prop_oneof![0u64..500, any::<u64>()], t in 1u64..100) {
            let p: Vec<Range> = (0..t).map(|i| static_piece(n, t, i)).filter(|r| !r.is_empty()).collect();
            assert_covers(&p, n);
            let (lo, hi) = (n / t, n.div_ceil(t));
            prop_assert!(p.iter().all(|r| r.len() == lo || r.len() == hi));
        }

        #[test]
        fn static_chunks_cover(n in prop_oneof![0u64..500, (u64::MAX - 9)..=u64::MAX], t in 1u64..20, c in 0u64..30) {
            let chunk = if n > 500 { u64::MAX / 100 + c } else { c };
            let mut all = Vec::new();
            for tid in 0..t {
                let mut k = 0;
                let mut mine = drain(|| { k += 1; static_chunk(n, chunk, t, tid, k - 1) });
                all.append(&mut mine);
            }
            all.sort_by_key(|r| r.start);
            assert_covers(&all, n);
        }
    }
}
