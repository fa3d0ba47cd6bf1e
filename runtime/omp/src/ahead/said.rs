//! The state of [`super`]: plain values, and a thread's number in the process.
//!
//! Lists are the opener's, which waits inside of the region that reads them.

use crate::icv::ProcBind;
use crate::init;
use crate::worksharing::posts::Announced;
use core::cell::{Cell, RefCell};
use hetmp_core::lock::Lock;
use hetmp_core::whole::{Held, Mutex};

/// Clauses that were passed ahead, and state for the end of the current construct.
#[derive(Debug)]
pub(crate) struct Ahead {
    pub(super) num_threads: Cell<u32>,
    pub(super) proc_bind: Cell<Option<ProcBind>>,
    pub(super) strict: Cell<Option<Strict>>,
    pub(super) teams: Cell<(u32, u32)>,
    /// The numbers passed to [`super::say_num_threads_list`].
    pub(super) list: List,
    /// The numbers for regions inside of the region that the thread opens next.
    pub(crate) nested: Cell<Nested>,
    /// The helper's number that is lent to the thread; 0: none.
    pub(super) helper: Cell<u32>,
    /// Level, size and policy of the region for which the thread last showed its affinity.
    pub(crate) shown: Cell<(u32, u32, u32)>,
    /// The lock that the thread holds for a reduction, or null.
    pub(crate) reducing: Cell<*const Lock>,
    pub(super) doacross: RefCell<Option<Doacross>>,
}

/// The numbers for inner regions, until the region opens for which they were passed.
pub(super) struct List(pub(super) Cell<Option<Box<[u32]>>>);

impl core::fmt::Debug for List {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("List")
    }
}

/// A doacross loop: its state, and the first value and step of each nested loop.
#[derive(Debug)]
pub struct Doacross {
    /// The state.
    pub state: Announced,
    /// First value and step of each loop, outermost first.
    pub dimensions: Box<[(i64, i64)]>,
}

impl Ahead {
    pub(crate) fn new() -> Ahead {
        Ahead {
            num_threads: Cell::new(0),
            proc_bind: Cell::new(None),
            strict: Cell::new(None),
            teams: Cell::new((0, 0)),
            list: List(Cell::new(None)),
            nested: Cell::new(Nested::NONE),
            helper: Cell::new(0),
            shown: Cell::new((0, 0, 0)),
            reducing: Cell::new(core::ptr::null()),
            doacross: RefCell::new(None),
        }
    }
}

/// Numbers of threads for the regions inside of a region, outermost first; the last one is for all deeper
/// regions. The list belongs to the thread that opened the region for which it was passed, until that region
/// ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nested {
    pub(super) first: *const u32,
    pub(super) count: usize,
}

impl Nested {
    /// No numbers were passed.
    pub(crate) const NONE: Nested = Nested {
        first: core::ptr::null(),
        count: 0,
    };

    /// The numbers for one level deeper.
    fn deeper(self) -> Nested {
        if self.count > 1 {
            Nested {
                first: self.first.wrapping_add(1),
                count: self.count - 1,
            }
        } else {
            self
        }
    }

    /// The number for the regions directly inside; `None` without a list.
    pub(crate) fn number(self) -> Option<u32> {
        // SAFETY: the list lives until the region for which it was passed has ended, and only teams inside
        // that region have it.
        (self.count > 0).then(|| unsafe { *self.first })
    }
}

impl Ahead {
    /// The numbers for the inside of the region that the thread opens now: those passed for this region, or
    /// those of `outer`, the team around the region, one level deeper.
    #[inline]
    pub(crate) fn nested(&self, outer: Nested) -> Nested {
        let said = self.nested.replace(Nested::NONE);
        if said.count > 0 {
            said
        } else if outer.count > 1 {
            outer.deeper()
        } else {
            outer
        }
    }
}

/// What happens if a region gets fewer threads than its clause asks for (`strict`).
#[derive(Clone, Copy, Debug)]
pub struct Strict {
    /// The program ends, instead of going on with a warning.
    pub fatal: bool,
    /// The program's message; null for none.
    pub message: *const libc::c_char,
}

/// Which numbers are in use; the process's initial thread has 0.
static TAKEN: Mutex<Vec<bool>> = Mutex::new(Vec::new());

/// A thread's number in the process, from the first time it is asked for to the thread's end. Numbers stay
/// small: those of threads that have ended are given out again.
#[derive(Debug)]
pub(crate) struct Index(Cell<u32>);

impl Index {
    /// The number was not asked for yet.
    const NONE: u32 = u32::MAX;

    pub(crate) const fn new() -> Index {
        Index(Cell::new(Index::NONE))
    }

    /// The number of the calling thread, which this index belongs to.
    #[inline]
    pub(super) fn get(&self) -> u32 {
        match self.0.get() {
            Index::NONE => self.take(),
            index => index,
        }
    }

    #[cold]
    fn take(&self) -> u32 {
        let first = 1 + helper_numbers();
        let mut taken = numbers_taken();
        if taken.len() < first {
            taken.resize(first, false);
        }
        // SAFETY: neither call has preconditions.
        let initial = unsafe { libc::getpid() } == hetmp_core::sys::gettid();
        let index = if initial && !taken[0] {
            0
        } else {
            match taken.iter().skip(first).position(|&t| !t) {
                Some(i) => i + first,
                None => {
                    taken.push(false);
                    taken.len() - 1
                }
            }
        };
        taken[index] = true;
        self.0.set(index as u32);
        index as u32
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let mut taken = numbers_taken();
        if let Some(place) = taken.get_mut(self.0.get() as usize) {
            *place = false;
        }
    }
}

/// How many numbers, from 1 on, libomp reserves for its helper threads, which run tasks for devices. Programs
/// that were built for libomp see such numbers in these tasks, and in no other thread.
pub(super) fn helper_numbers() -> usize {
    let globals = init::globals();
    if globals.as_libomp {
        globals.libomp.helpers as usize
    } else {
        0
    }
}

pub(super) fn numbers_taken() -> Held<'static, Vec<bool>> {
    TAKEN.lock()
}

/// The highest number that a thread of the process has or had, not counting helpers' numbers.
#[must_use]
pub fn highest_index() -> u32 {
    let helpers = helper_numbers();
    (numbers_taken().len().saturating_sub(1)).saturating_sub(helpers) as u32
}
