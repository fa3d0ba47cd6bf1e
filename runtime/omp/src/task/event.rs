//! The events of detachable tasks (OpenMP 5.1, section 2.12.1 and 3.11.1).
//!
//! The program may keep an event's handle as long as it likes; the runtime keeps a task's record only until
//! the task is complete. A task that cancellation discards is complete at once, and the program, which cannot
//! know this, may fulfill its event later. So a handle is not an address. It is the number of a *slot*, whose
//! memory is never given back, and the slot's *generation*, which grows by one for every event that used the
//! slot. A handle of an earlier generation belongs to an event that is over.
//!
//! # Life of an event
//! open → the body ends, and the event is *claimed* and then *fulfilled*, in either order → whichever of body
//! and fulfillment came second completes the task → closed. Or: open → discarded with its task, unless the
//! event was claimed before.
//!
//! # Memory ordering
//! All state is one word of the slot, changed by atomic read-modify-write operations that acquire and
//! release. A claim that finds the handle's generation holds off the discarding: the task's record, and
//! through it the team, live until the claimer has marked the event fulfilled. The second of body's end and
//! fulfillment sees the first, and what the first one's thread wrote before.

use core::cell::UnsafeCell;
use hetmp_core::lock::Brief;
use hetmp_core::sync::{AtomicPtr, AtomicU64, Ordering};
use hetmp_core::whole::OnceLock;

/// A thread has begun to fulfill the event.
const CLAIMED: u64 = 1;
/// The event is fulfilled.
const FULFILLED: u64 = 2;
/// The task's body has ended.
const BODY_ENDED: u64 = 4;
/// One generation: the upper half of the word, as it is the upper half of the handle.
const GENERATION: u64 = 1 << 32;

/// An event as the program holds it; 0 for the event of a task that was discarded when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(u64);

/// The result of a try to fulfill an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The event's task, whose record stays until [`fulfill`].
    Task(*const ()),
    /// The event is over: its task was discarded, or completed long ago.
    Over,
    /// Another thread has fulfilled the event, or is about to.
    Twice,
    /// No event ever had this handle.
    Never,
}

/// The place of one event at a time.
#[derive(Debug)]
struct Slot {
    word: AtomicU64,
    task: AtomicPtr<()>,
}

/// All slots. Block `k` has `FIRST << k` of them, and is made when all earlier slots are in use.
#[derive(Debug)]
struct Slots {
    blocks: [OnceLock<Box<[Slot]>>; BLOCKS],
    lock: Brief,
    /// Numbers of free slots, and how many slots were ever in use. Only touched with `lock` held.
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

    /// The slot with this number; `None` if no event ever used it.
    fn at(&self, number: u32) -> Option<&Slot> {
        let (block, place) = place(number);
        self.blocks.get(block)?.get()?.get(place)
    }

    /// Takes a free slot; returns its number and the slot.
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

/// The block of slot `number`, and the slot's place in the block.
fn place(number: u32) -> (usize, usize) {
    let block = (number / FIRST + 1).ilog2();
    let before = FIRST * ((1 << block) - 1);
    (block as usize, (number - before) as usize)
}

/// The number of slots in the block of slot `number`.
fn place_count(number: u32) -> usize {
    (FIRST as usize) << place(number).0
}

impl Handle {
    /// The event of a task that was discarded when it was made.
    pub(crate) const DISCARDED: Handle = Handle(0);

    /// The event that the program passes to `omp_fulfill_event`.
    pub(crate) fn from_program(raw: *mut libc::c_void) -> Handle {
        Handle(raw as u64)
    }

    /// The handle that the program gets.
    pub(crate) fn to_program(self) -> *mut libc::c_void {
        core::ptr::without_provenance_mut(self.0 as usize)
    }

    fn number(self) -> u32 {
        self.0 as u32
    }

    fn slot(self) -> Option<&'static Slot> {
        SLOTS.at(self.number())
    }

    /// The slot of an event that is open. Callers are those whose part in the event keeps it open.
    fn open_slot(self) -> &'static Slot {
        self.slot()
            .unwrap_or_else(|| unreachable!("an open event has a slot"))
    }
}

/// Opens an event for the task whose record is at `task`.
pub(crate) fn open<T>(task: *const T) -> Handle {
    let (number, slot) = SLOTS.take();
    slot.task.store(task.cast_mut().cast(), Ordering::Relaxed);
    // Never 0, since generations begin with 1. The bits below were cleared when the slot's last event closed.
    let generation = slot.word.load(Ordering::Relaxed) & !(GENERATION - 1);
    Handle(generation | u64::from(number))
}

/// Claims an event for fulfillment. A task in the answer stays until [`fulfill`].
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

/// Fulfills an event that this thread has claimed. True if the body has ended: the caller then completes the
/// task, after [`close`].
pub(crate) fn fulfill(event: Handle) -> bool {
    let before = event.open_slot().word.fetch_or(FULFILLED, Ordering::AcqRel);
    before & BODY_ENDED != 0
}

/// Is the open event fulfilled?
pub(crate) fn is_fulfilled(event: Handle) -> bool {
    event.open_slot().word.load(Ordering::Acquire) & FULFILLED != 0
}

/// Has the body of the open event's task ended?
pub(crate) fn has_body_ended(event: Handle) -> bool {
    event.open_slot().word.load(Ordering::Acquire) & BODY_ENDED != 0
}

/// The body of the event's task has ended. True if the event is fulfilled: the caller then completes the
/// task, after [`close`].
pub(crate) fn body_ended(event: Handle) -> bool {
    let before = event
        .open_slot()
        .word
        .fetch_or(BODY_ENDED, Ordering::AcqRel);
    before & FULFILLED != 0
}

/// The event's task is discarded: fulfilling the event does nothing from now on. True if the caller completes
/// the task. False if another thread is just fulfilling the event: that thread then completes the task.
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

/// Ends an event that is fulfilled and whose task's body has ended.
pub(crate) fn close(event: Handle) {
    let open = event.0 & !(GENERATION - 1);
    // Release: the next event of this slot comes after everything that was done with this event.
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
        // Claimed when the task is discarded: the claimer completes the task.
        let e = open(&task);
        assert_eq!(claim(e), Claim::Task((&raw const task).cast()));
        assert!(!discard(e));
        assert!(fulfill(e));
        close(e);
        // Fulfilled before the task is discarded.
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

    /// Discarding and fulfilling meet: one of them, and only one, completes the task.
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
