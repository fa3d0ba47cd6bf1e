//! A queue pair: a ring of descriptors, a ring of completions, a doorbell. Plain atomics; no lock.
//!
//! One [`Initiator`] posts; one [`Consumer`], which an engine has, takes and completes. The memory between them is a
//! [`Rings`]. Three numbers there only grow: descriptors posted (the doorbell record), descriptors taken (their slots
//! may be used again), and descriptors done. A fourth number counts operations that are not done although their
//! buffers are free already: for example, a socket has the bytes and the peer has not answered yet.
//!
//! **Nothing is lost when the queue is full.** [`Initiator::post`] refuses in two cases: while `depth` descriptors
//! are posted and not taken; and while operations not yet done plus completions not yet read could overrun the
//! completion ring. The caller keeps the refused descriptor.

mod consumer;
mod initiator;

use crate::array::Array;
#[cfg(not(loom))]
use crate::array::Shareable;
use crate::descriptor::{COMPLETION_WORDS, WORDS};
use crate::template::Statics;
pub use consumer::Consumer;
use crossbeam_utils::CachePadded;
use hetmp_core::park::SharedFlag;
use hetmp_core::sync::AtomicU64;
pub use initiator::Initiator;
use std::sync::Arc;

/// A slot on a cache line of its own, so that one line carries a descriptor.
#[derive(Debug)]
#[repr(C, align(64))]
struct Line([AtomicU64; WORDS]);

/// The shared memory of a queue pair.
///
/// # Memory ordering
/// * The words of a slot are relaxed. The release store of `posted` in [`Initiator::ring`] publishes them, and the
///   consumer reads them after its acquire load of `posted`; without that order it could execute half of a
///   descriptor.
/// * `taken` is released after the words were read, and acquired before the slot is written again: otherwise a new
///   descriptor's words could be read as the old one's.
/// * `done` is released after the operation took effect and its completion was written. The initiator acquires it,
///   because `quiet` promises that effect.
/// * `early` counts operations that are not done and whose buffers are free. It is released after the last access to
///   such a buffer, and acquired by the initiator, which may then write there. An operation leaves `early` before it
///   enters `done`, and the initiator loads `done` first. So no operation is counted in both, and their sum reaches
///   the number of posted operations only when every buffer is free.
///
/// **Between processes.** The memory may be mapped by two processes, one with each end ([`shared_bytes`]). All of it
/// is atomics, for which zero is a value, and `progress` wakes across processes.
#[derive(Debug)]
pub struct Rings {
    slots: Array<Line>,
    completions: Array<Entry>,
    /// One item.
    numbers: Array<Numbers>,
    /// The processes' ends are two values of this type, so that nobody learns from counting them whether the other
    /// end is still there.
    shared: bool,
}

/// A completion.
#[derive(Debug)]
#[repr(C)]
struct Entry([AtomicU64; COMPLETION_WORDS]);

/// The numbers of [`Rings`], each on a cache line of its own.
#[derive(Debug)]
#[repr(C)]
pub struct Numbers {
    posted: CachePadded<AtomicU64>,
    taken: CachePadded<AtomicU64>,
    done: CachePadded<Done>,
    /// Nudged after `done` has grown.
    progress: CachePadded<SharedFlag>,
}

// SAFETY: atomics, for which zero is a value, in `repr(C)` and `repr(align)`.
#[cfg(not(loom))]
unsafe impl Shareable for Line {}
// SAFETY: atomics, for which zero is a value, in `repr(C)`.
#[cfg(not(loom))]
unsafe impl Shareable for Entry {}
// SAFETY: atomics and a flag, for which zero is a value, in `repr(C)`.
#[cfg(not(loom))]
unsafe impl Shareable for Numbers {}

#[derive(Debug)]
#[repr(C)]
struct Done {
    operations: AtomicU64,
    /// How many completions were written.
    written: AtomicU64,
    /// How many operations are not done although their buffers are free.
    early: AtomicU64,
}

/// Where the memory of a queue pair lies, for an initiator outside of this library: a device, or the inline functions
/// of a C header. Such an initiator follows the rules of [`Initiator::post`]: it writes a slot only while operations
/// posted and not done, plus completions written and not read, are fewer than `depth`; then it stores `posted`, with
/// release.
///
/// All words are read and written atomically. The memory lives as long as the [`Initiator`].
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    /// The first of `depth` slots of 64 bytes, each aligned to 64.
    pub slots: *mut u64,
    /// The number of slots and of completions, a power of two.
    pub depth: usize,
    /// The doorbell record: descriptors posted so far.
    pub posted: *mut u64,
    /// Descriptors taken so far; their slots may be written again.
    pub taken: *mut u64,
    /// Operations done so far.
    pub done: *mut u64,
    /// Completions written so far.
    pub written: *mut u64,
    /// The first of `depth` completions of [`COMPLETION_WORDS`] words.
    pub completions: *mut u64,
}

/// The queue is full. Nothing was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Makes the two ends of a queue pair with `depth` slots (rounded up to a power of two, at least 2).
pub fn queue_pair(depth: usize, statics: Statics) -> (Initiator, Consumer) {
    let depth = slots(depth);
    let rings = Arc::new(Rings {
        slots: Array::own((0..depth).map(|_| Line(core::array::from_fn(|_| AtomicU64::new(0))))),
        completions: Array::own(
            (0..depth).map(|_| Entry(core::array::from_fn(|_| AtomicU64::new(0)))),
        ),
        numbers: Array::own([Numbers {
            posted: CachePadded::new(AtomicU64::new(0)),
            taken: CachePadded::new(AtomicU64::new(0)),
            done: CachePadded::new(Done {
                operations: AtomicU64::new(0),
                written: AtomicU64::new(0),
                early: AtomicU64::new(0),
            }),
            progress: CachePadded::new(SharedFlag::shared()),
        }]),
        shared: false,
    });
    (Initiator::new(rings.clone(), statics), Consumer::new(rings))
}

fn slots(depth: usize) -> usize {
    depth.clamp(2, 1 << 16).next_power_of_two()
}

/// Bytes of mapped memory that a queue pair with `depth` slots takes whose ends are in two processes.
#[cfg(not(loom))]
pub(crate) fn shared_bytes(depth: usize) -> usize {
    let depth = slots(depth);
    Array::<Line>::bytes(depth) + Array::<Entry>::bytes(depth) + Array::<Numbers>::bytes(1)
}

/// The rings in mapped memory at `at`.
///
/// # Safety
/// As for `Array::at`, for [`shared_bytes`] of `depth`.
#[cfg(not(loom))]
unsafe fn shared(mut at: *mut u8, depth: usize) -> Arc<Rings> {
    let depth = slots(depth);
    // SAFETY: who calls upholds the contract of `Array::at` for the sum of these lengths.
    unsafe {
        Arc::new(Rings {
            slots: Array::at(&mut at, depth),
            completions: Array::at(&mut at, depth),
            numbers: Array::at(&mut at, 1),
            shared: true,
        })
    }
}

/// The posting end of a queue pair in mapped memory.
///
/// # Safety
/// As for `Array::at`, for [`shared_bytes`] of `depth`; and in all processes this is the only such end.
#[cfg(not(loom))]
pub(crate) unsafe fn initiator_at(at: *mut u8, depth: usize, statics: Statics) -> Initiator {
    // SAFETY: who calls upholds the contract of `shared`, which is the same.
    Initiator::new(unsafe { shared(at, depth) }, statics)
}

/// The executing end of a queue pair in mapped memory.
///
/// # Safety
/// As for [`initiator_at`].
#[cfg(not(loom))]
pub(crate) unsafe fn consumer_at(at: *mut u8, depth: usize) -> Consumer {
    // SAFETY: who calls upholds the contract of `shared`, which is the same.
    Consumer::new(unsafe { shared(at, depth) })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::descriptor::{Completion, Descriptor, Key, Status, Work};

    const STATICS: Statics = Statics {
        queue_pair: 3,
        local: Key(7),
        remote: Key(9),
    };

    fn nop(peer: u32) -> Descriptor {
        Descriptor {
            queue_pair: 3,
            peer,
            signalled: true,
            count: None,
            count_source: false,
            work: Work::Nop,
        }
    }

    fn ok(ticket: u64) -> Completion {
        Completion {
            ticket,
            status: Status::Ok,
            bytes: 0,
            value: 0,
        }
    }

    #[test]
    fn a_full_queue_refuses_and_loses_nothing() {
        let (mut i, mut c) = queue_pair(4, STATICS);
        for n in 0..4 {
            assert_eq!(i.post(&nop(n)), Ok(u64::from(n)));
        }
        assert_eq!(i.post(&nop(99)), Err(Full));
        i.ring();
        for n in 0..4 {
            let (ticket, words) = c.peek().expect("posted");
            assert_eq!(Descriptor::parse(&words), Ok(nop(n)));
            c.advance();
            // The slot is free, but its completion may still come, and the ring has room for four.
            assert_eq!(i.post(&nop(99)), Err(Full));
            assert_eq!(ticket, u64::from(n));
        }
        assert!(c.peek().is_none());
        for n in 0..4 {
            c.complete(Some(ok(n)));
        }
        // Nobody has polled: posting moves completions aside and does not overrun them.
        for n in 4..8 {
            assert_eq!(i.post(&nop(0)), Ok(n));
        }
        let got: Vec<_> = core::iter::from_fn(|| i.poll()).map(|c| c.ticket).collect();
        assert_eq!(got, [0, 1, 2, 3]);
    }

    #[test]
    fn a_descriptor_is_not_seen_before_the_doorbell() {
        let (mut i, c) = queue_pair(2, STATICS);
        i.post(&nop(0)).expect("room");
        assert!(c.peek().is_none());
        assert!(i.ring());
        assert!(!i.ring());
        assert!(c.peek().is_some());
    }

    #[test]
    fn the_completion_of_one_operation_can_be_taken_from_among_others() {
        let (mut i, mut c) = queue_pair(4, STATICS);
        for n in 0..3 {
            i.post(&nop(n)).expect("room");
        }
        i.ring();
        for n in [2, 0, 1] {
            c.advance();
            let mut done = ok(n);
            if n == 0 {
                done.status = Status::RemoteKey;
            }
            c.complete(Some(done));
        }
        assert!(i.is_quiet());
        assert_eq!(i.take(1), Some(ok(1)));
        assert_eq!(i.take(1), None);
        assert_eq!(i.take_errors().len(), 1);
        assert_eq!(i.poll(), Some(ok(2)));
        assert_eq!(i.poll(), None);
    }

    /// Plays any order of posting, taking, completing (out of order) and polling. Every descriptor arrives whole and
    /// in order, every completion comes back once, and posting is refused only when the queue is full.
    fn play(depth: usize, moves: &[u8]) {
        let (mut i, mut c) = queue_pair(depth, STATICS);
        let depth = i.depth() as u64;
        let (mut posted, mut done) = (0u64, 0u64);
        let mut under_way = Vec::new();
        let mut back = Vec::new();
        for m in moves {
            match m % 4 {
                0 => match i.post(&nop(posted as u32)) {
                    Ok(ticket) => {
                        assert_eq!(ticket, posted);
                        posted += 1;
                        i.ring();
                        assert!(posted - done <= depth);
                    }
                    Err(Full) => assert_eq!(posted - done, depth),
                },
                1 => {
                    if let Some((ticket, words)) = c.peek() {
                        assert_eq!(Descriptor::parse(&words), Ok(nop(ticket as u32)));
                        c.advance();
                        under_way.push(ticket);
                    }
                }
                2 if !under_way.is_empty() => {
                    let at = usize::from(*m) / 4 % under_way.len();
                    let ticket = under_way.remove(at);
                    c.complete((ticket % 3 != 0).then(|| ok(ticket)));
                    done += 1;
                }
                _ if m / 4 % 8 == 0 => back.extend(i.poll().map(|c| c.ticket)),
                _ => {}
            }
        }
        while let Some((ticket, _)) = c.peek() {
            c.advance();
            under_way.push(ticket);
        }
        for ticket in under_way {
            c.complete((ticket % 3 != 0).then(|| ok(ticket)));
        }
        assert!(i.is_quiet());
        back.extend(core::iter::from_fn(|| i.poll()).map(|c| c.ticket));
        back.sort_unstable();
        let all: Vec<u64> = (0..posted).filter(|t| t % 3 != 0).collect();
        assert_eq!(back, all);
    }

    proptest::proptest! {
        #[test]
        fn rings_never_overrun(
            depth in 2..9usize, moves in proptest::collection::vec(proptest::num::u8::ANY, 0..400)
        ) {
            play(depth, &moves);
        }
    }
}
