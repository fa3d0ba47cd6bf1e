//! The state of a doacross loop: which iterations have posted.
//!
//! An iteration is a vector of numbers, one for each nested loop. The iterations of the outermost loop are
//! divided among the threads. A thread posts an iteration when it has done the part of it for which others
//! wait. A thread that waits names an iteration, and waits until this one has posted. Usually the thread with
//! the neighbouring iterations waits, and wants to know quickly. So posts go to *slots*, and each slot has a
//! cache line of its own (unless there are very many slots):
//!
//! * static schedules: one slot for each thread, because the thread of an iteration is known;
//! * dynamic: one slot for each chunk;
//! * guided: one slot for each iteration of the outermost loop.
//!
//! The iterations of a slot are posted in lexicographic order. So a slot holds only the last iteration
//! posted, and an iteration has posted if the slot holds it or a later one. If the number of all iterations
//! fits in 63 bits, vectors are converted to numbers in lexicographic order, and a slot is one word.
//! Otherwise a slot is a version and a vector, written and read as a sequence lock.

use super::kinds::Handing;
use hetmp_core::park::LastSeen;
use hetmp_core::report;
use hetmp_core::sequence;
use hetmp_core::sync::{AtomicU64, Ordering};
use std::sync::Arc;

/// Words of a cache line.
const LINE: usize = 8;
/// If there are more slots than this number, slots share cache lines; otherwise the slots would need more
/// than 1 MiB.
const MOST_LINES: u64 = 1 << 14;

/// The slot to which an iteration of the outermost loop belongs.
#[derive(Clone, Copy, Debug)]
enum Owner {
    /// The slot of the thread whose static piece contains the iteration. The first `rest` threads have `share
    /// + 1` iterations, the others have `share`.
    Piece { share: u64, rest: u64 },
    /// The slot of the thread that has the iteration's chunk.
    RoundRobin { chunk: u64, nthreads: u64 },
    /// The slot of the iteration's chunk.
    Chunk { chunk: u64 },
    /// The iteration's own slot.
    Iteration,
}

impl Owner {
    #[inline]
    fn slot(self, k: u64) -> u64 {
        match self {
            Owner::Piece { share, rest } => {
                let boundary = rest * (share + 1);
                if k < boundary {
                    k / (share + 1)
                } else {
                    // `k` is an iteration of the loop, so `share` is not 0 if `k` is beyond the boundary.
                    rest + (k - boundary) / share.max(1)
                }
            }
            Owner::RoundRobin { chunk, nthreads } => k / chunk % nthreads,
            Owner::Chunk { chunk } => k / chunk,
            Owner::Iteration => k,
        }
    }
}

/// The state of one doacross loop.
#[derive(Debug)]
pub(crate) struct Doacross {
    owner: Owner,
    pub(super) counts: Box<[u64]>,
    /// The number of all iterations fits in one word.
    flat: bool,
    /// Distance from one slot to the next, in words.
    stride: usize,
    slots: Box<[Slots]>,
    words: usize,
    /// Where the last post was made.
    pub(super) poster: LastSeen,
    /// The loop's number in a region that crosses processes.
    pub(super) across: Option<u64>,
}

/// One cache line of slots.
#[derive(Debug)]
#[repr(C, align(64))]
struct Slots([AtomicU64; LINE]);

impl Doacross {
    /// The state for a team of more than one thread. No number in `counts` is 0.
    pub(super) fn new(counts: &[u64], kind: Handing, chunk: u64, nthreads: u64) -> Doacross {
        let n = counts[0];
        let (owner, slots) = match kind {
            Handing::Static | Handing::Ours | Handing::Fixed if chunk == 0 => (
                Owner::Piece {
                    share: n / nthreads,
                    rest: n % nthreads,
                },
                nthreads,
            ),
            // (A construct of sections has no posts.)
            Handing::Static | Handing::Ours | Handing::Fixed | Handing::Sections => {
                (Owner::RoundRobin { chunk, nthreads }, nthreads)
            }
            Handing::Dynamic => {
                // The dynamic schedule limits the chunk size in the same way.
                let chunk = chunk.clamp(1, n);
                (Owner::Chunk { chunk }, (n - 1) / chunk + 1)
            }
            Handing::Guided => (Owner::Iteration, n),
        };
        let flat = counts
            .iter()
            .try_fold(1u64, |a, &c| a.checked_mul(c))
            .is_some_and(|all| all < 1 << 63);
        let need = if flat { 1 } else { 1 + counts.len() };
        let stride = if slots > MOST_LINES {
            need
        } else {
            need.next_multiple_of(LINE)
        };
        let words = usize::try_from(slots)
            .ok()
            .and_then(|s| s.checked_mul(stride))
            .filter(|&w| w < isize::MAX as usize / 16)
            .unwrap_or_else(|| {
                report::fatal(format_args!(
                    "a doacross loop with {slots} chunks: too many"
                ))
            });
        Doacross {
            owner,
            counts: counts.into(),
            flat,
            stride,
            slots: zeroed(words.div_ceil(LINE)),
            words,
            poster: LastSeen::default(),
            across: None,
        }
    }

    /// Makes the loop one of a region that crosses processes, in which it has this `number`.
    pub(super) fn cross(mut self, number: u64) -> Doacross {
        if !self.flat {
            report::fatal(format_args!(
                "a doacross loop on several nodes: too many iterations (expected fewer than 2^63)"
            ));
        }
        self.across = Some(number);
        self
    }

    /// For other processes: the slot of the iteration, and its number in the loop, from 1.
    pub(super) fn place(&self, at: impl Fn(usize) -> u64) -> (u64, u64) {
        (self.owner.slot(at(0)), self.number(at))
    }

    /// The number of the thread that has the iteration, if that is known.
    pub(super) fn thread(&self, at: impl Fn(usize) -> u64) -> Option<u64> {
        match self.owner {
            Owner::Piece { .. } | Owner::RoundRobin { .. } => Some(self.owner.slot(at(0))),
            Owner::Chunk { .. } | Owner::Iteration => None,
        }
    }

    /// The slot to which iteration `k` of the outermost loop belongs; `None` if the loop has no such
    /// iteration.
    #[inline]
    fn slot(&self, k: u64) -> Option<&[AtomicU64]> {
        // SAFETY: a line is LINE words in a row, and all lines together have at least `words` words.
        let words = unsafe {
            core::slice::from_raw_parts(self.slots.as_ptr().cast::<AtomicU64>(), self.words)
        };
        let at = usize::try_from(self.owner.slot(k))
            .ok()?
            .checked_mul(self.stride)?;
        words.get(at..at.checked_add(self.stride)?)
    }

    /// The number of an iteration in lexicographic order. The first is 1.
    #[inline]
    fn number(&self, at: impl Fn(usize) -> u64) -> u64 {
        let mut number = at(0);
        for i in 1..self.counts.len() {
            number = number.wrapping_mul(self.counts[i]).wrapping_add(at(i));
        }
        number.wrapping_add(1)
    }

    pub(super) fn post(&self, at: impl Fn(usize) -> u64) {
        let Some(slot) = self.slot(at(0)) else { return };
        if self.flat {
            let number = self.number(at);
            // A plain load comes first: a second post of the same iteration must not take the cache line from
            // the threads that wait on it.
            if slot[0].load(Ordering::Relaxed) != number {
                slot[0].store(number, Ordering::Release);
            }
            return;
        }
        // Only the thread that has the iterations of the slot writes it.
        sequence::write(&slot[0], || {
            for i in 0..self.counts.len() {
                slot[1 + i].store(at(i), Ordering::Relaxed);
            }
        });
    }

    /// Returns a function that tells whether the iteration has posted, and that the caller may ask again and
    /// again. `None` if there is no such iteration.
    pub(super) fn posted<'a>(
        &'a self,
        at: impl Fn(usize) -> u64 + 'a,
    ) -> Option<impl Fn() -> bool + 'a> {
        let slot = self.slot(at(0))?;
        let number = if self.flat { self.number(&at) } else { 0 };
        Some(move || {
            if self.flat {
                slot[0].load(Ordering::Acquire) >= number
            } else {
                self.has_posted(slot, &at)
            }
        })
    }

    fn has_posted(&self, slot: &[AtomicU64], at: &impl Fn(usize) -> u64) -> bool {
        let is_there = sequence::read(&slot[0], |version| {
            let order = (0..self.counts.len())
                .map(|i| slot[1 + i].load(Ordering::Relaxed).cmp(&at(i)))
                .find(|o| o.is_ne());
            version != 0 && order.is_none_or(|o| o.is_gt())
        });
        is_there == Some(true)
    }
}

/// `lines` lines of zeros. Even a large number costs no memory before the lines are touched.
fn zeroed(lines: usize) -> Box<[Slots]> {
    let failed = || -> ! { report::fatal(format_args!("out of memory for a doacross loop")) };
    let Ok(layout) = core::alloc::Layout::array::<Slots>(lines) else {
        failed()
    };
    // SAFETY: there is at least one line, zeros are valid atomics, and the box frees the memory with the same
    // layout.
    unsafe {
        let p: *mut Slots = std::alloc::alloc_zeroed(layout).cast();
        if p.is_null() {
            failed()
        }
        Box::from_raw(core::ptr::slice_from_raw_parts_mut(p, lines))
    }
}

/// A doacross loop that compiled code announces by a call of its own, before it enters the loop with any
/// schedule. Each thread keeps it until the end of the loop.
#[derive(Clone, Debug)]
pub struct Announced {
    /// `None` if no thread waits in this loop.
    pub(super) state: Option<Arc<Doacross>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_sched::plain::{static_chunk, static_piece};

    #[test]
    fn owners_agree_with_the_schedules() {
        for n in 1..40u64 {
            for t in 2..7 {
                let piece = Owner::Piece {
                    share: n / t,
                    rest: n % t,
                };
                for chunk in 1..5 {
                    let robin = Owner::RoundRobin { chunk, nthreads: t };
                    for tid in 0..t {
                        let r = static_piece(n, t, tid);
                        assert!((r.start..r.end).all(|k| piece.slot(k) == tid));
                        for c in 0.. {
                            let Some(r) = static_chunk(n, chunk, t, tid, c) else {
                                break;
                            };
                            assert!((r.start..r.end).all(|k| robin.slot(k) == tid));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn vectors_are_ordered_like_numbers() {
        // Too many iterations for one number.
        let wide = Doacross::new(&[1 << 40, 1 << 40], Handing::Static, 0, 2);
        assert!(!wide.flat);
        let flat = Doacross::new(&[8, 5], Handing::Static, 0, 2);
        assert!(flat.flat);
        let v = |a: u64, b: u64| move |i: usize| if i == 0 { a } else { b };
        for d in [&wide, &flat] {
            let slot = d.slot(1).expect("slot");
            let posted = |a, b| {
                if d.flat {
                    slot[0].load(Ordering::Acquire) >= d.number(v(a, b))
                } else {
                    d.has_posted(slot, &v(a, b))
                }
            };
            assert!(!posted(0, 0));
            d.post(v(1, 2));
            assert!(posted(0, 0) && posted(0, 4) && posted(1, 1) && posted(1, 2));
            assert!(!posted(1, 3) && !posted(2, 0));
            d.post(v(2, 0));
            assert!(posted(1, 4) && posted(2, 0) && !posted(2, 1));
        }
    }
}
