//! The events of detachable tasks (OpenMP 5.1, section 2.12.1 and 3.11.1).
//!
//! The program holds an event's handle for as long as it likes, the runtime a task's record only
//! until the task is complete. A task that cancellation discards is complete at once, and the
//! program, which cannot know, may fulfill its event later. So a handle is no address: it is the
//! number of a *slot*, whose memory is never given back, and the slot's *generation*, one more for
//! every event that used it. A handle of an earlier generation is of an event that is over.
//!
//! # Life of an event
//! open → the body ends, and the event is *claimed* and then *fulfilled*, in either order → the task
//! completes, by whichever of body and fulfillment came second → closed. Or: open → discarded with
//! its task, unless it was claimed before.
//!
//! # Memory ordering
//! Everything is one word of the slot, changed by atomic read-modify-write operations that acquire and
//! release. A claim that finds the handle's generation holds off the discarding, so that the task's
//! record, and through it the team, are live until the claimer says that the event is fulfilled. Of
//! body's end and fulfillment the second sees the first, and what its thread wrote before.

use core::cell::UnsafeCell;
use hetmp_core::lock::Brief;
use hetmp_core::sync::{AtomicPtr, AtomicU64, Ordering};
use std::sync::OnceLock;

/// Somebody has begun to fulfill the event.
const CLAIMED: u64 = 1;
/// The event is fulfilled.
const FULFILLED: u64 = 2;
/// The task's body has ended.
const BODY_ENDED: u64 = 4;
/// One generation: the upper half of the word, as it is the upper half of the handle.
const GENERATION: u64 = 1 << 32;

/// An event, as the program holds it: 0 for that of a task which was discarded when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(u64);

/// What became of a try to fulfill an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The event's task, which stays until [`fulfill`].
    Task(*const ()),
    /// The event is over: its task was discarded, or completed long ago.
    Over,
    /// Somebody else has fulfilled the event, or is about to.
    Twice,
    /// No event ever had this handle.
    Never,
}

/// Where one event at a time is kept.
#[derive(Debug)]
struct Slot {
    word: AtomicU64,
    task: AtomicPtr<()>,
}

/// All slots: block `k` has `FIRST << k` of them, made when the ones before are in use.
#[derive(Debug)]
struct Slots {
    blocks: [OnceLock<Box<[Slot]>>; BLOCKS],
    lock: Brief,
    /// Numbers that are free, and how many were ever in use. With `lock` held.
    free: UnsafeCell<(Vec<u32>, u32)>,
}

const FIRST: u32 = 64;
const BLOCKS: usize = 25;

// SAFETY: `free` is only touched with `lock` held; the rest is atomic or written once.
unsafe impl Sync for Slots {}

static SLOTS: Slots = Slots::new();

impl Slots {
    const fn new() -> Slots {
        Slots {
            blocks: [const { OnceLock::new() }; BLOCKS],
            lock: Brief::new(),
            free: UnsafeCell::new((Vec::new(), 0)),
        }
    }

    /// The slot of this number, unless none was ever in use.
    fn at(&self, number: u32) -> Option<&Slot> {
        let (block, place) = place(number);
        self.blocks.get(block)?.get()?.get(place)
    }

    /// A free slot and its number.
    fn take(&self) -> (u32, &Slot) {
        self.lock.lock();
        // SAFETY: the lock is held.
        let (free, used) = unsafe { &mut *self.free.get() };
        let number = free.pop().unwrap_or_else(|| {
            *used += 1;
            *used - 1
        });
        self.lock.unlock();
        let (block, place) = place(number);
        let Some(block) = self.blocks.get(block) else {
            hetmp_core::report::fatal(format_args!(
                "detached tasks: at most {number} that are not complete"
            ))
        };
        let slots = block.get_or_init(|| {
            let n = place_count(number);
            (0..n)
                .map(|_| Slot {
                    word: AtomicU64::new(GENERATION),
                    task: AtomicPtr::new(core::ptr::null_mut()),
                })
                .collect()
        });
        (number, &slots[place])
    }

    fn give(&self, number: u32) {
        self.lock.lock();
        // SAFETY: the lock is held.
        unsafe { (*self.free.get()).0.push(number) };
        self.lock.unlock();
    }
}

/// Block of slot `number`, and place there.
fn place(number: u32) -> (usize, usize) {
    let block = (number / FIRST + 1).ilog2();
    let before = FIRST * ((1 << block) - 1);
    (block as usize, (number - before) as usize)
}

/// Slots in the block of slot `number`.
fn place_count(number: u32) -> usize {
    (FIRST as usize) << place(number).0
}

impl Handle {
    /// The event of a task that is discarded when it is made.
    pub(crate) const DISCARDED: Handle = Handle(0);

    /// What the program passes to `omp_fulfill_event`.
    pub(crate) fn from_program(raw: *mut libc::c_void) -> Handle {
        Handle(raw as u64)
    }

    /// What the program gets.
    pub(crate) fn to_program(self) -> *mut libc::c_void {
        core::ptr::without_provenance_mut(self.0 as usize)
    }

    fn number(self) -> u32 {
        self.0 as u32
    }

    fn slot(self) -> Option<&'static Slot> {
        SLOTS.at(self.number())
    }

    /// The slot of an event that is open, for those who keep it open.
    fn open_slot(self) -> &'static Slot {
        self.slot()
            .unwrap_or_else(|| unreachable!("an open event has a slot"))
    }
}

/// Opens an event for the task whose record is at `task`.
pub(crate) fn open<T>(task: *const T) -> Handle {
    let (number, slot) = SLOTS.take();
    slot.task.store(task.cast_mut().cast(), Ordering::Relaxed);
    // Never 0: generations begin with 1. The bits below were cleared when the last event closed.
    let generation = slot.word.load(Ordering::Relaxed) & !(GENERATION - 1);
    Handle(generation | u64::from(number))
}

/// Claims an event for fulfillment. A task that is returned stays until [`fulfill`].
pub(crate) fn claim(event: Handle) -> Claim {
    if event == Handle::DISCARDED {
        return Claim::Over;
    }
    let Some(slot) = event.slot() else {
        return Claim::Never;
    };
    let mut now = slot.word.load(Ordering::Acquire);
    loop {
        if (now ^ event.0) & !(GENERATION - 1) != 0 {
            return Claim::Over;
        }
        if now & CLAIMED != 0 {
            return Claim::Twice;
        }
        match slot.word.compare_exchange_weak(
            now,
            now | CLAIMED,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => return Claim::Task(slot.task.load(Ordering::Relaxed)),
            Err(other) => now = other,
        }
    }
}

/// Fulfills an event that was claimed. True if the body has ended: the task is then the caller's to
/// complete, after [`close`].
pub(crate) fn fulfill(event: Handle) -> bool {
    let before = event.open_slot().word.fetch_or(FULFILLED, Ordering::AcqRel);
    before & BODY_ENDED != 0
}

/// Is the open event fulfilled?
pub(crate) fn is_fulfilled(event: Handle) -> bool {
    event.open_slot().word.load(Ordering::Acquire) & FULFILLED != 0
}

/// The body of the event's task has ended. True if the event is fulfilled: the task is then the
/// caller's to complete, after [`close`].
pub(crate) fn body_ended(event: Handle) -> bool {
    let before = event
        .open_slot()
        .word
        .fetch_or(BODY_ENDED, Ordering::AcqRel);
    before & FULFILLED != 0
}

/// The event's task is discarded: whoever fulfills the event from now on does nothing. True if the task
/// is the caller's to complete; false if somebody is just fulfilling the event and will do that.
pub(crate) fn discard(event: Handle) -> bool {
    let slot = event.open_slot();
    let open = event.0 & !(GENERATION - 1);
    if slot
        .word
        .compare_exchange(
            open,
            open.wrapping_add(GENERATION),
            Ordering::AcqRel,
            Ordering::Acquire,
        )
        .is_ok()
    {
        SLOTS.give(event.number());
        return true;
    }
    let fulfilled = body_ended(event);
    if fulfilled {
        close(event);
    }
    fulfilled
}

/// Ends an event that is fulfilled and whose body has ended.
pub(crate) fn close(event: Handle) {
    let open = event.0 & !(GENERATION - 1);
    // Release: the next event of this slot comes after all that was done with this one.
    event
        .open_slot()
        .word
        .store(open.wrapping_add(GENERATION), Ordering::Release);
    SLOTS.give(event.number());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_every_number_once() {
        let mut next = (0, 0);
        for number in 0..10_000 {
            assert_eq!(place(number), next);
            next.1 += 1;
            if next.1 == (FIRST as usize) << next.0 {
                next = (next.0 + 1, 0);
            }
        }
    }

    #[test]
    fn a_discarded_event_is_over_even_when_its_slot_is_used_again() {
        let task = 0u8;
        let first = open(&task);
        assert!(discard(first));
        assert_eq!(claim(first), Claim::Over);
        let others: Vec<Handle> = (0..100).map(|_| open(&task)).collect();
        assert!(others.iter().all(|&e| e != first));
        assert_eq!(claim(first), Claim::Over);
        for e in others {
            assert_eq!(claim(e), Claim::Task((&raw const task).cast()));
            assert!(!is_fulfilled(e));
            assert_eq!(claim(e), Claim::Twice);
            assert!(!fulfill(e));
            assert!(is_fulfilled(e));
            assert!(body_ended(e));
            close(e);
            assert_eq!(claim(e), Claim::Over);
        }
    }

    #[test]
    fn who_comes_second_completes() {
        let task = 0u8;
        let e = open(&task);
        assert!(!body_ended(e));
        assert_eq!(claim(e), Claim::Task((&raw const task).cast()));
        assert!(fulfill(e));
        close(e);
        // Claimed when it is discarded: the claimer completes.
        let e = open(&task);
        assert_eq!(claim(e), Claim::Task((&raw const task).cast()));
        assert!(!discard(e));
        assert!(fulfill(e));
        close(e);
        // Fulfilled before.
        let e = open(&task);
        assert_eq!(claim(e), Claim::Task((&raw const task).cast()));
        assert!(!fulfill(e));
        assert!(discard(e));
        assert_eq!(claim(e), Claim::Over);
    }

    #[test]
    fn what_is_no_handle_is_told_so() {
        assert_eq!(claim(Handle::DISCARDED), Claim::Over);
        assert_eq!(claim(Handle(GENERATION | 0xffff_fff0)), Claim::Never);
    }

    /// Discarding and fulfilling meet: the task is completed once, by one of them.
    #[test]
    fn discarding_races_with_fulfilling() {
        for _ in 0..2000 {
            let task = 0u8;
            let e = open(&task);
            let completed = std::sync::atomic::AtomicU32::new(0);
            std::thread::scope(|s| {
                s.spawn(|| {
                    if let Claim::Task(_) = claim(e) {
                        if fulfill(e) {
                            close(e);
                            completed.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        }
                    }
                });
                if discard(e) {
                    completed.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                }
            });
            assert_eq!(completed.load(std::sync::atomic::Ordering::SeqCst), 1);
            assert_eq!(claim(e), Claim::Over);
        }
    }
}
