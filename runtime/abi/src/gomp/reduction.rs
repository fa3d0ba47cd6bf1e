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
//! Word 5 holds our table from addresses of variables to their place, which includes the tables
//! of the constructs around. The engine knows the first descriptor as the *description* of a taskgroup.
//!
//! A descriptor lies on the stack of the function that has the construct, and stays there until the construct's end:
//! "compiled code's descriptor" in the comments below means that much.

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

/// Where a variable's private copies are: its descriptor, and its offset there.
type Table = HashMap<usize, (*const usize, usize)>;

fn layout(bytes: usize, align: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(bytes.max(1), align.max(core::mem::align_of::<usize>()))
        .unwrap_or_else(|_| {
            report::fatal(format_args!("task reduction of {bytes} bytes: too large"))
        })
}

/// Registers descriptor `data` inside `outer`. With `first`, the copies are those that another
/// thread allocated for the same worksharing construct.
///
/// # Safety
/// `data` is compiled code's descriptor; the other two are registered ones, or null.
unsafe fn link(data: *mut usize, outer: *mut usize, first: *mut usize, nthreads: u32) {
    // SAFETY: this function's contract: compiled code's descriptors, whose words both sides may use until the construct's
    // end. The table at word 5 is one that this function made.
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
                // The alignment is needed again to free the memory; it is kept in front of it.
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

/// Registers the reductions of the innermost taskgroup.
///
/// # Safety
/// Compiled code's descriptor.
pub(super) unsafe fn register(th: &Thread, data: *mut usize) {
    if group::innermost(th).is_none() {
        // An orphaned construct outside any taskgroup; its end closes the group again.
        group::start(th);
    }
    let Some(group) = group::innermost(th) else {
        return;
    };
    // SAFETY: this function's contract; the description around is null, or a descriptor that was registered and whose
    // construct has not ended.
    unsafe { link(data, group.description(), null_mut(), th.nthreads()) };
    group.describe(data);
}

/// Says that a construct whose loop has no iterations has no private copies.
///
/// # Safety
/// Compiled code's descriptor.
pub(super) unsafe fn register_none(data: *mut usize) {
    // SAFETY: `data` is compiled code's descriptor, which has this word.
    unsafe { *data.add(MEMORY) = 0 };
}

/// The descriptor of a worksharing construct, in one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workshare(NonNull<usize>);

impl Workshare {
    /// None for null: a construct without task reductions.
    ///
    /// # Safety
    /// Compiled code's descriptor, or null.
    pub(super) unsafe fn new(data: *mut usize) -> Option<Workshare> {
        NonNull::new(data).map(Workshare)
    }
}

impl TaskReductions for Workshare {
    fn make(&self, th: &Thread) -> usize {
        // SAFETY: compiled code's descriptor, as `new` was promised.
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
        // SAFETY: compiled code's descriptors, as `new` was promised here and in the thread that left `word`; all threads
        // pass descriptors of the same shape, and the construct ends in none before all have come.
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
/// Compiled code's descriptor, which was registered, and whose private copies compiled code has combined.
pub(super) unsafe fn unregister(data: *mut usize) {
    // SAFETY: this function's contract; the memory was allocated by `link`, which left its size in front.
    unsafe {
        drop_table(data);
        let mut d = data;
        loop {
            let memory = *d.add(MEMORY) as *mut u8;
            let [bytes, align] = memory.cast::<[usize; 2]>().sub(1).read();
            std::alloc::dealloc(memory.sub(align), layout(bytes, align));
            d = *d.add(NEXT) as *mut usize;
            // The next construct's first descriptor has a table; the same construct's has none.
            if d.is_null() || *d.add(TABLE) != 0 {
                break;
            }
        }
    }
}

/// Ends the reductions of a worksharing construct in one thread.
///
/// # Safety
/// The innermost taskgroup is that of such a construct, whose private copies compiled code has combined; every thread of
/// the team calls this.
pub(super) unsafe fn workshare_unregister(th: &Thread, cancelled: bool) {
    let Some(group) = group::innermost(th) else {
        return;
    };
    let data = group.description();
    group::end(th);
    // SAFETY: this function's contract; each thread has registered a descriptor of its own, and the first thread's copies
    // are freed by thread 0, which by then all have combined.
    unsafe {
        if th.tid() == 0 {
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
/// Compiled code's descriptor.
pub(super) unsafe fn parallel_group(data: *mut usize, nthreads: u32) -> Box<Group> {
    let group = group::of_region();
    // SAFETY: `data` is compiled code's descriptor; there is no description around the first one of a region.
    unsafe { link(data, null_mut(), null_mut(), nthreads) };
    group.describe(data);
    group
}

/// Replaces each of `count` addresses in `items`, of variables or of any thread's private copies, by
/// the calling thread's private copy. The first `originals` items' variables go to
/// `items[count..]`.
///
/// # Safety
/// `items` has room for that, as compiled code promises; every item takes part in a registered reduction.
pub(super) unsafe fn remap(th: &Thread, count: usize, originals: usize, items: *mut *mut u8) {
    let data = group::innermost(th).map_or(null_mut(), Group::description);
    if data.is_null() {
        report::fatal(format_args!(
            "in_reduction without a matching task_reduction around it"
        ));
    }
    let tid = th.tid() as usize;
    for i in 0..count {
        // SAFETY: this function's contract; the description is a registered descriptor, whose construct ends after the
        // tasks of its taskgroup.
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

/// The descriptor, offset and variable that the private copy at `address` belongs to.
///
/// # Safety
/// A registered descriptor, whose construct has not ended.
unsafe fn find_copy(data: *const usize, address: usize) -> Option<(*const usize, usize, usize)> {
    let mut d = data;
    while !d.is_null() {
        // SAFETY: this function's contract: words of a descriptor, which leads to further ones and ends with null.
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
