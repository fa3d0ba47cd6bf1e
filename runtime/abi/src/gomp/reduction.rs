//! Task reductions (OpenMP 5.1, sections 2.21.5.5 and 2.21.5.6), as gcc has them.
//!
//! gcc describes the reductions of a construct by a *descriptor*, an array of words that it passes to
//! the runtime, and whose fields both sides use:
//!
//! | word | meaning |
//! | --- | --- |
//! | 0 | number of variables |
//! | 1 | bytes of private copies for one thread |
//! | 2 | in: alignment; out: address of all private copies, thread after thread |
//! | 3 | allocator, all ones for the default |
//! | 4 | next descriptor of the same construct; out, in the last one: that of the enclosing construct |
//! | 5 | for the runtime; not 0 in the first descriptor of a construct |
//! | 6 | out: end of the private copies |
//! | 7 + 3i | variable i: its address, its offset in a thread's copies, and a word for the runtime |
//!
//! Word 5 holds a table that this module makes: it finds the place of a variable's copies by the variable's
//! address. The table includes the tables of the enclosing constructs. The engine knows the first descriptor
//! as the *description* of a taskgroup.
//!
//! A descriptor lies on the stack of the function that contains the construct, and stays there until the
//! construct's end. The comments below call such an array "compiled code's descriptor".

use core::ptr::{null_mut, NonNull};
use hetmp_core::hash::HashMap;
use hetmp_core::report;
use hetmp_omp::construct::{Extras, TaskReductions};
use hetmp_omp::task::group::{self, Group};
use hetmp_omp::{team, Thread};
use libc::c_void;

const COUNT: usize = 0;
const BYTES: usize = 1;
const MEMORY: usize = 2;
const NEXT: usize = 4;
const TABLE: usize = 5;
const END: usize = 6;
const VARIABLES: usize = 7;

/// For the address of a variable: its descriptor, and the offset of its private copy among the copies of one
/// thread.
type Table = HashMap<usize, (*const usize, usize)>;

fn layout(bytes: usize, align: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(bytes.max(1), align.max(core::mem::align_of::<usize>()))
        .unwrap_or_else(|_| {
            report::fatal(format_args!("task reduction of {bytes} bytes: too large"))
        })
}

/// Registers descriptor `data` inside the construct of `outer`. If `first` is not null, another thread has
/// allocated the private copies of the same worksharing construct in its own descriptor `first`, and `data`
/// takes over these.
///
/// # Safety
/// `data` is compiled code's descriptor; the other two are registered ones, or null.
unsafe fn link(data: *mut usize, outer: *mut usize, first: *mut usize, nthreads: u32) {
    // SAFETY: this function's contract: compiled code's descriptors, whose words both sides may use until the
    // construct's end. The table at word 5 is one that this function made.
    unsafe {
        let mut table: Table = if outer.is_null() || *outer.add(TABLE) == 0 {
            Table::default()
        } else {
            (*(*outer.add(TABLE) as *const Table)).clone()
        };
        let mut d = data;
        let mut theirs = first;
        loop {
            if theirs.is_null() {
                let bytes = *d.add(BYTES) * nthreads as usize;
                let align = *d.add(MEMORY);
                // The size and the alignment are needed to free the memory, so both are kept in front of the
                // private copies.
                let pad = align.max(16);
                let whole = std::alloc::alloc_zeroed(layout(bytes + pad, pad));
                if whole.is_null() {
                    report::fatal(format_args!(
                        "out of memory for a task reduction of {bytes} bytes"
                    ));
                }
                let memory = whole.add(pad);
                memory.cast::<[usize; 2]>().sub(1).write([bytes + pad, pad]);
                *d.add(MEMORY) = memory as usize;
                *d.add(END) = memory as usize + bytes;
            } else {
                *d.add(MEMORY) = *theirs.add(MEMORY);
                *d.add(END) = *theirs.add(END);
                theirs = *theirs.add(NEXT) as *mut usize;
            }
            *d.add(TABLE) = 0;
            for i in 0..*d.add(COUNT) {
                let v = d.add(VARIABLES + 3 * i);
                table.insert(*v, (d.cast_const(), *v.add(1)));
            }
            if *d.add(NEXT) == 0 {
                *d.add(NEXT) = outer as usize;
                break;
            }
            d = *d.add(NEXT) as *mut usize;
        }
        *data.add(TABLE) = Box::into_raw(Box::new(table)) as usize;
    }
}

unsafe fn drop_table(data: *mut usize) {
    // SAFETY: word 5 of a registered first descriptor is the table made by `link`.
    unsafe {
        drop(Box::from_raw(*data.add(TABLE) as *mut Table));
    }
}

/// Registers the reductions of the innermost taskgroup. If there is no taskgroup, begins one.
///
/// # Safety
/// `data` is compiled code's descriptor.
pub(super) unsafe fn register(th: &Thread, data: *mut usize) {
    if group::innermost(th).is_none() {
        // The construct is outside any taskgroup. The end of the construct closes this one.
        group::start(th);
    }
    let Some(group) = group::innermost(th) else {
        return;
    };
    // SAFETY: this function's contract. The enclosing description is null, or a registered descriptor whose
    // construct has not ended.
    unsafe { link(data, group.description(), null_mut(), th.nthreads()) };
    group.describe(data);
}

/// Says that a construct whose loop has no iterations has no private copies.
///
/// # Safety
/// `data` is compiled code's descriptor.
pub(super) unsafe fn register_none(data: *mut usize) {
    // SAFETY: `data` is compiled code's descriptor, which has this word.
    unsafe { *data.add(MEMORY) = 0 };
}

/// One thread's descriptor of a worksharing construct.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workshare(NonNull<usize>);

impl Workshare {
    /// Returns `None` if `data` is null, which means that the construct has no task reductions.
    ///
    /// # Safety
    /// `data` is null or compiled code's descriptor.
    pub(super) unsafe fn new(data: *mut usize) -> Option<Workshare> {
        NonNull::new(data).map(Workshare)
    }
}

impl TaskReductions for Workshare {
    fn make(&self, th: &Thread) -> usize {
        // SAFETY: `new` was given compiled code's descriptor.
        unsafe { register(th, self.0.as_ptr()) };
        self.0.as_ptr().expose_provenance()
    }

    fn adopt(&self, th: &Thread, word: usize) {
        let Some(group) = group::innermost(th) else {
            return;
        };
        let (own, first) = (
            self.0.as_ptr(),
            core::ptr::with_exposed_provenance_mut(word),
        );
        // SAFETY: `new` was given compiled code's descriptor in this thread, and also in the thread that left
        // `word`. All threads pass descriptors of the same form, and no thread leaves the construct before
        // all threads have come.
        unsafe { link(own, group.description(), first, th.nthreads()) };
        group.describe(own);
    }
}

/// The clauses of a worksharing construct, from what gcc passes.
pub(super) fn extras(own: &Option<Workshare>, memory: *mut *mut c_void) -> Extras<'_> {
    Extras {
        reductions: own.as_ref().map(|r| -> &dyn TaskReductions { r }),
        memory,
    }
}

/// Ends the reductions of a taskgroup; frees the private copies.
///
/// # Safety
/// `data` is compiled code's descriptor. It was registered, and compiled code has combined its private
/// copies.
pub(super) unsafe fn unregister(data: *mut usize) {
    // SAFETY: this function's contract. `link` allocated the memory and left its size in front of it.
    unsafe {
        drop_table(data);
        let mut d = data;
        loop {
            let memory = *d.add(MEMORY) as *mut u8;
            let [bytes, align] = memory.cast::<[usize; 2]>().sub(1).read();
            std::alloc::dealloc(memory.sub(align), layout(bytes, align));
            d = *d.add(NEXT) as *mut usize;
            // A further descriptor of the same construct has no table. A descriptor with a table is the first
            // one of the enclosing construct.
            if d.is_null() || *d.add(TABLE) != 0 {
                break;
            }
        }
    }
}

/// Ends the reductions of a worksharing construct in one thread.
///
/// # Safety
/// The innermost taskgroup belongs to such a construct, and compiled code has combined its private copies.
/// Every thread of the team calls this function.
pub(super) unsafe fn workshare_unregister(th: &Thread, cancelled: bool) {
    let Some(group) = group::innermost(th) else {
        return;
    };
    let data = group.description();
    group::end(th);
    // SAFETY: this function's contract. Each thread has registered a descriptor of its own. Thread 0 frees
    // the first thread's copies when all threads have combined them.
    unsafe {
        if th.number() == 0 {
            unregister(data);
        } else {
            drop_table(data);
        }
    }
    if !cancelled {
        team::barrier(th);
    }
}

/// The shared taskgroup of a parallel region with `reduction(task, ...)`.
///
/// # Safety
/// `data` is compiled code's descriptor.
pub(super) unsafe fn parallel_group(data: *mut usize, nthreads: u32) -> Box<Group> {
    let group = group::of_region();
    // SAFETY: `data` is compiled code's descriptor. The first descriptor of a region has no enclosing
    // description.
    unsafe { link(data, null_mut(), null_mut(), nthreads) };
    group.describe(data);
    group
}

/// Replaces each of `count` addresses in `items`, of variables or of any thread's private copies, by
/// the calling thread's private copy. The first `originals` items' variables go to
/// `items[count..]`.
///
/// # Safety
/// `items` has room for these addresses. Every item takes part in a registered reduction.
pub(super) unsafe fn remap(th: &Thread, count: usize, originals: usize, items: *mut *mut u8) {
    let data = group::innermost(th).map_or(null_mut(), Group::description);
    if data.is_null() {
        report::fatal(format_args!(
            "in_reduction without a matching task_reduction around it"
        ));
    }
    let tid = th.number() as usize;
    for i in 0..count {
        // SAFETY: this function's contract. The description is a registered descriptor, whose construct ends
        // after the tasks of its taskgroup.
        unsafe {
            let item = *items.add(i) as usize;
            let table = &*(*data.add(TABLE) as *const Table);
            let (d, offset, variable) = if let Some(&(d, offset)) = table.get(&item) {
                (d, offset, item)
            } else {
                match find_copy(data, item) {
                    Some(found) => found,
                    None => report::fatal(format_args!(
                        "in_reduction of {item:#x}: no task_reduction of it around this task"
                    )),
                }
            };
            *items.add(i) = (*d.add(MEMORY) + tid * *d.add(BYTES) + offset) as *mut u8;
            if i < originals {
                *items.add(count + i) = variable as *mut u8;
            }
        }
    }
}

/// Finds the descriptor, the offset and the variable that the private copy at `address` belongs to.
///
/// # Safety
/// `data` is a registered descriptor whose construct has not ended.
unsafe fn find_copy(data: *const usize, address: usize) -> Option<(*const usize, usize, usize)> {
    let mut d = data;
    while !d.is_null() {
        // SAFETY: this function's contract. The words of a descriptor lead to further descriptors, and the
        // last one leads to null.
        unsafe {
            if (*d.add(MEMORY)..*d.add(END)).contains(&address) {
                let offset = (address - *d.add(MEMORY)) % *d.add(BYTES);
                for i in 0..*d.add(COUNT) {
                    let v = d.add(VARIABLES + 3 * i);
                    if *v.add(1) == offset {
                        return Some((d, offset, *v));
                    }
                }
                return None;
            }
            d = *d.add(NEXT) as *const usize;
        }
    }
    None
}
