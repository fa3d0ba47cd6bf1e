//! Reading a region's code in the time that its threads wait for each other.
//!
//! A program of some ten milliseconds feels each millisecond of reading. But where nodes differ, the threads of an ordinary
//! team wait for the slowest one in every execution. So a region whose turn to be read has not come
//! ([`hetmp_sched::budget`]) is read by those threads, a few microseconds at a time, while they would wait: at the region's
//! barriers and at its end. That costs the program nothing, and a region that loses much has read itself soon. Where
//! no thread waits, nothing is read, and nothing could be gained.
//!
//! **How.** The scan runs on a stack of its own. It stops where [`Image::breathe`] is called after its portion of
//! time is over, and the thread leaves that stack as a virtual thread's is left ([`switch`]). Another thread may go on with it: the scan uses no
//! data of the thread (no thread-local variable, and memory only through the allocator's functions, which look their
//! own thread up in each call), and nothing is locked where it stops.
//!
//! **When the code is there.** Portions are done only inside of executions of the region that is read, whose code
//! cannot be unloaded meanwhile. Between two executions it can be. So a reading remembers how many objects had been unloaded when
//! it began, and is given up if there were more since. (What its stack had allocated is lost then.)

use super::fit::{self, Fit};
use super::regions::unloads;
use super::switch::{self, Left, Stack};
use crate::team::region::Form;
use crate::team::spare_time::SpareTime;
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::float;
use hetmp_core::sys::{self, ticks};
use hetmp_scan::loaded::Loaded;
use hetmp_scan::{Callee, Image, Unwind, Why};
use std::sync::Arc;

/// Bytes of the stack that the scan runs on.
const STACK: usize = 1 << 20;
/// Ticks of one portion: one to three microseconds on today's machines.
const PORTION: u64 = 5000;

/// The reading of one region.
#[derive(Debug)]
pub(super) struct Reading {
    /// A thread is at it. Who has set this owns all fields below but `ended`.
    taken: AtomicBool,
    /// `fit` is there, and the stack is not continued any more. Written by the owner.
    ended: AtomicBool,
    address: usize,
    form: Form,
    asked: bool,
    /// [`unloads`] when it began.
    unloads: u64,
    stack: Stack,
    /// Where the scan's stack was left.
    scan: Cell<Left>,
    /// Where the owner left its own stack.
    own: Cell<Left>,
    /// The tick at which the scan stops for now.
    until: Cell<u64>,
    fit: UnsafeCell<Option<Fit>>,
}

// SAFETY: the fields that are no atomics are read and written by the thread that has set `taken` alone; it takes them
// with acquire and gives them back with release. `fit` is also read after `ended` was seen, from when on nobody writes it.
unsafe impl Sync for Reading {}
// SAFETY: nothing in it belongs to a thread; see the head of this file about what is on the stack.
unsafe impl Send for Reading {}

impl Reading {
    /// Prepares to read the function at `address`, which a compiler outlined in this `form`. `asked` as for [`fit::of`].
    /// `None`: there is no memory for a stack, or none can be left on this machine. The result stays at its address.
    pub(super) fn new(address: usize, form: Form, asked: bool) -> Option<Arc<Reading>> {
        let reading = Arc::new(Reading {
            taken: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            address,
            form,
            asked,
            unloads: unloads(),
            stack: Stack::new(STACK, 0)?,
            scan: Cell::new(Left::NOWHERE),
            own: Cell::new(Left::NOWHERE),
            until: Cell::new(0),
            fit: UnsafeCell::new(None),
        });
        // In the default floating-point environment, whatever the program's is: that of each stack is its own.
        let begun = float::apart(|| {
            let argument = Arc::as_ptr(&reading).cast_mut().cast();
            reading.stack.begin(main, argument)
        });
        reading.scan.set(begun);
        Some(reading)
    }

    /// Was it about this question, and is the code that was read still there?
    pub(super) fn is_good(&self, asked: bool) -> bool {
        (self.asked || !asked) && self.unloads == unloads()
    }

    /// What was found, once all is read.
    pub(super) fn result(&self) -> Option<Fit> {
        // Acquire: pairs with the release of the thread that did the last portion.
        if !self.ended.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: nobody writes it after `ended`.
        unsafe { *self.fit.get() }
    }

    /// Reads the rest at once, unless another thread is at it, or that takes more than so many nanoseconds of the processor's time.
    pub(super) fn finish(&self, limit_ns: u64) {
        let until_ns = sys::thread_cpu_ns().saturating_add(limit_ns);
        while self.go_on(fit::LOOK) && sys::thread_cpu_ns() < until_ns {}
    }

    /// Goes on for so many ticks. False: nothing is left to do, or another thread is at it.
    fn go_on(&self, portion: u64) -> bool {
        if self.ended.load(Ordering::Relaxed) || self.taken.swap(true, Ordering::Acquire) {
            return false;
        }
        let more = !self.ended.load(Ordering::Relaxed);
        if more {
            self.until.set(ticks().saturating_add(portion));
            // SAFETY: `new` has begun the stack, or it was left by `pause`; only who has set `taken` continues it.
            sys::keeping_errno(|| unsafe { switch::switch(self.own.as_ptr(), self.scan.get()) });
        }
        self.taken.store(false, Ordering::Release);
        more
    }

    /// Leaves the scan's stack for that of the thread that goes on with it.
    #[inline(never)]
    fn pause(&self) {
        // SAFETY: the owner waits in `go_on`, where it has noted its own stack.
        unsafe { switch::switch(self.scan.as_ptr(), self.own.get()) };
    }
}

impl SpareTime for Reading {
    #[cold]
    fn portion(&self) -> bool {
        self.go_on(PORTION)
    }
}

/// What runs on the scan's stack.
unsafe extern "C" fn main(reading: *mut libc::c_void) -> ! {
    // SAFETY: `Reading::new` passes a reading that stays at its address and outlives its stack.
    let reading = unsafe { &*reading.cast::<Reading>() };
    hetmp_scan::prepare();
    let breathing = |object| Breathing { object, reading };
    let fit = fit::read(reading.address, reading.form, reading.asked, breathing);
    // SAFETY: this stack runs only in a thread that has set `taken`, and nobody reads before `ended`.
    unsafe { *reading.fit.get() = Some(fit) };
    reading.ended.store(true, Ordering::Release);
    loop {
        reading.pause();
    }
}

/// An object whose code is read in portions.
struct Breathing<'a> {
    object: Loaded,
    reading: &'a Reading,
}

impl Image for Breathing<'_> {
    fn code(&self, address: u64) -> Option<&[u8]> {
        self.object.code(address)
    }

    fn callee(&self, target: u64) -> Callee {
        self.object.callee(target)
    }

    fn slot(&self, slot: u64) -> Callee {
        self.object.slot(slot)
    }

    fn unwind(&self, address: u64) -> Result<Option<Unwind>, Why> {
        self.object.unwind(address)
    }

    fn breathe(&self) {
        if ticks() >= self.reading.until.get() {
            self.reading.pause();
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    /// Something to read: any function of this program.
    #[inline(never)]
    fn long(words: &mut [String]) -> usize {
        words.sort_by_key(|word| core::cmp::Reverse(word.len()));
        let mut joined = words.concat();
        joined.make_ascii_uppercase();
        joined.chars().filter(|c| c.is_numeric()).count()
    }

    fn address() -> usize {
        long as *const () as usize
    }

    #[test]
    fn portions_find_what_is_found_at_once() {
        if !switch::AVAILABLE {
            return;
        }
        for asked in [false, true] {
            let at_once = fit::of(address(), Form::Data, asked, u64::MAX).0;
            let reading = Reading::new(address(), Form::Data, asked).expect("a stack");
            assert!(reading.is_good(asked) && reading.result().is_none());
            let mut portions = 0;
            // To the next breath each.
            while reading.go_on(0) {
                portions += 1;
            }
            assert!(portions > 10, "{portions}");
            assert_eq!(reading.result(), Some(at_once));
            assert!(!reading.portion(), "nothing is left");
        }
    }

    #[test]
    fn any_thread_goes_on_and_brings_it_to_its_end() {
        if !switch::AVAILABLE {
            return;
        }
        let at_once = fit::of(address(), Form::Data, true, u64::MAX).0;
        let reading = Reading::new(address(), Form::Data, true).expect("a stack");
        for _ in 0..20 {
            std::thread::scope(|s| {
                s.spawn(|| (0..10).for_each(|_| _ = reading.go_on(0)));
            });
            reading.go_on(0);
        }
        // Where two come at once, one of them is sent away.
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| (0..100).for_each(|_| _ = reading.go_on(0)));
            }
        });
        reading.finish(u64::MAX);
        assert_eq!(reading.result(), Some(at_once));
        assert!(!Reading::new(address(), Form::Data, false)
            .expect("a stack")
            .is_good(true));
    }

    #[test]
    fn what_is_given_up_is_dropped() {
        if !switch::AVAILABLE {
            return;
        }
        let reading = Reading::new(address(), Form::Data, false).expect("a stack");
        assert!(reading.go_on(0));
        drop(reading);
    }
}
