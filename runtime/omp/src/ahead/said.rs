//! What a thread keeps for [`super`]: plain values, and its number in the process.

use crate::icv::ProcBind;
use crate::init;
use crate::worksharing::posts::Announced;
use core::cell::{Cell, RefCell};
use hetmp_core::lock::Lock;
use std::sync::Mutex;

/// What was said, and by what the current construct is to be ended.
#[derive(Debug)]
pub(crate) struct Ahead {
    pub(super) num_threads: Cell<u32>,
    pub(super) proc_bind: Cell<Option<ProcBind>>,
    pub(super) strict: Cell<Option<Strict>>,
    pub(super) teams: Cell<(u32, u32)>,
    /// What was said with [`super::say_num_threads_list`].
    pub(super) list: List,
    /// The numbers for regions inside of the region that the thread opens next.
    pub(crate) nested: Cell<Nested>,
    /// The helper's number that the thread has on loan; 0: none.
    pub(super) helper: Cell<u32>,
    /// Level, size and policy of the region whose affinity the thread showed last.
    pub(crate) shown: Cell<(u32, u32, u32)>,
    /// The lock that the thread holds for a reduction, or null.
    pub(crate) reducing: Cell<*const Lock>,
    pub(super) doacross: RefCell<Option<Doacross>>,
}

/// The numbers for inner regions that wait for the region that they were said for.
pub(super) struct List(pub(super) Cell<Option<Box<[u32]>>>);

impl core::fmt::Debug for List {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("List")
    }
}

/// A loop with posts and waits: its state, and first value and step of each nested loop.
#[derive(Debug)]
pub struct Doacross {
    /// The state.
    pub state: Announced,
    /// First value and step.
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

/// Numbers of threads for the regions inside of a region, outermost first; the last one holds for all that
/// are deeper. They lie with whoever opened the region that the list was said for, until that region ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nested {
    pub(super) first: *const u32,
    pub(super) count: usize,
}

impl Nested {
    /// Nothing said.
    pub(crate) const NONE: Nested = Nested {
        first: core::ptr::null(),
        count: 0,
    };

    /// What holds one level deeper.
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

    /// The number for the regions directly inside.
    pub(crate) fn number(self) -> Option<u32> {
        // SAFETY: the list lives until the region that it was said for has ended, and only teams inside
        // that region have it.
        (self.count > 0).then(|| unsafe { *self.first })
    }
}

impl Ahead {
    /// What holds inside of the region that the thread opens now: what was said for this region, or one level
    /// deeper of what `outer`, the team around the region, has.
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

/// What is to happen where a region gets fewer threads than its clause asks for (`strict`).
#[derive(Clone, Copy, Debug)]
pub struct Strict {
    /// The program is to end, rather than to go on with a warning.
    pub fatal: bool,
    /// What to say; null: nothing of the program's own.
    pub message: *const libc::c_char,
}

/// The numbers in use; the process's initial thread has 0.
static TAKEN: Mutex<Vec<bool>> = Mutex::new(Vec::new());

/// A thread's number among those of the process, from its first question to its end. Small, since
/// numbers of threads that have ended are given out again.
#[derive(Debug)]
pub(crate) struct Index(Cell<u32>);

impl Index {
    /// Not asked for yet.
    const NONE: u32 = u32::MAX;

    pub(crate) const fn new() -> Index {
        Index(Cell::new(Index::NONE))
    }

    /// The number of the calling thread, whose index this is.
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

/// How many numbers, from 1 on, libomp keeps for its helper threads, which run tasks for devices: programs that were
/// built for libomp see such numbers in these tasks, and no other thread has them.
pub(super) fn helper_numbers() -> usize {
    let globals = init::globals();
    if globals.as_libomp {
        globals.libomp.helpers as usize
    } else {
        0
    }
}

pub(super) fn numbers_taken() -> std::sync::MutexGuard<'static, Vec<bool>> {
    TAKEN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The highest number that a thread of the process has or had, less those of helpers.
#[must_use]
pub fn highest_index() -> u32 {
    let helpers = helper_numbers();
    (numbers_taken().len().saturating_sub(1)).saturating_sub(helpers) as u32
}
