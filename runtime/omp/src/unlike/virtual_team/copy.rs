//! Code for x86-64: the copy of a function, and the table of shares that it reads.
//!
//! Pages are written while nobody knows them, then made executable, and never written again; a copy has the signature
//! of its original and lives as long as the process. The table of shares is written only while no thread is in the
//! region.

use crate::team::members::Outlined;
use crate::unlike::virtual_team::object;
use core::sync::atomic::{AtomicUsize, Ordering};
use hetmp_core::page;
use hetmp_scan::uneven::{fewest, limits, Plan, FRACTIONS_AT, WHOLE};

/// Most bytes of all copies.
const MOST: usize = 64 << 20;

static USED: AtomicUsize = AtomicUsize::new(0);

/// A copy for teams of one size.
#[derive(Debug)]
pub(crate) struct Copy {
    entry: Outlined,
    table: usize,
}

impl Copy {
    /// Makes a copy of the function at `code` for teams of this size. `None`: there can be none.
    pub(crate) fn new(code: usize, threads: u32) -> Option<Copy> {
        let page = page::size();
        let object = object::at(code as u64)?;
        let plan = Plan::of(&object, code as u64).ok()?;
        let (lowest, length) = plan.span();
        // The same place in a page, for the alignment of loops.
        let offset = lowest as usize % page;
        let code_length = (offset + length as usize).next_multiple_of(page);
        let table_length = (FRACTIONS_AT + 8 * (threads as usize + 1)).next_multiple_of(page);
        let whole = code_length + table_length;
        if USED.fetch_add(whole, Ordering::Relaxed) + whole > MOST {
            USED.fetch_sub(whole, Ordering::Relaxed);
            return None;
        }
        let (start, end) = (object.object().start as usize, object.object().end as usize);
        let memory = Memory::near(start, end, whole)?;
        let to = memory.at + offset;
        let distance = (to as i64).checked_sub(lowest as i64)?;
        let table = memory.at + code_length;
        let frames = if plan.catches() {
            Some((
                register_frames(&object)?,
                object.frames(plan.addresses(), distance)?,
            ))
        } else {
            None
        };
        for (at, bytes) in plan.write(distance, table as u64)? {
            let at = usize::try_from(at).ok()?;
            if at < memory.at || at + bytes.len() > table {
                return None;
            }
            // SAFETY: the bytes lie in memory that was mapped for them and that nobody else knows.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        }
        // SAFETY: the pages are this function's own; nothing is executed there yet, and nothing written any more.
        let allowed = unsafe {
            libc::mprotect(
                memory.at as *mut libc::c_void,
                code_length,
                libc::PROT_READ | libc::PROT_EXEC,
            )
        };
        if allowed != 0 {
            return None;
        }
        let entry = (code as i64).checked_add(distance)? as usize;
        core::mem::forget(memory);
        if let Some((register, frames)) = frames {
            let section: &'static mut [u8] = Vec::leak(frames);
            // SAFETY: a function of libgcc's that takes the address of an `.eh_frame` section, which lives as long as
            // the process and describes code that does, too.
            unsafe { register(section.as_mut_ptr().cast()) };
        }
        Some(Copy {
            // SAFETY: at `entry` lies the copy of the function at `code`, which gcc outlined with this signature.
            entry: unsafe { core::mem::transmute::<usize, Outlined>(entry) },
            table,
        })
    }

    /// The copy's function.
    pub(crate) fn entry(&self) -> Outlined {
        self.entry
    }

    /// Writes the table that the copy reads: a share for each thread.
    ///
    /// # Safety
    /// There are as many shares as the copy was made for, and nobody is in it.
    pub(crate) unsafe fn write(&self, shares: &[f64]) {
        let threads = shares.len() as u32;
        let (narrow, wide) = limits(threads);
        let mut fractions = vec![0u64];
        let mut before = 0.0;
        for share in &shares[..shares.len() - 1] {
            before += share;
            fractions.push(((before * WHOLE as f64) as u64).min(WHOLE));
        }
        fractions.push(WHOLE);
        // SAFETY: the table has room for the head and one fraction more than threads (`new` made it so), is aligned to
        // a page, and nobody reads it.
        unsafe {
            let table = self.table as *mut u8;
            table.cast::<u32>().write(threads);
            table.cast::<u32>().add(1).write(narrow);
            table.cast::<u64>().add(1).write(wide);
            table.cast::<u64>().add(2).write(fewest(threads));
            let to = table.add(FRACTIONS_AT).cast::<u64>();
            for (n, fraction) in fractions.into_iter().enumerate() {
                to.add(n).write(fraction);
            }
        }
    }
}

type RegisterFrame = unsafe extern "C" fn(*mut libc::c_void);

/// The function by which the unwinder that the object's exceptions use learns of further code. `None`: it is not known
/// which unwinder that is, as in an object that has one of its own.
fn register_frames(object: &hetmp_scan::loaded::Loaded) -> Option<RegisterFrame> {
    if !object.asks_for_name("__gxx_personality_v0") || !object.asks_for_name("_Unwind_Resume") {
        return None;
    }
    // SAFETY: names that end with a zero; the library is not loaded by this call, and is never unloaded where C++ is in
    // use.
    let found = unsafe {
        let library = libc::dlopen(
            c"libgcc_s.so.1".as_ptr(),
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        );
        if library.is_null() {
            return None;
        }
        libc::dlsym(library, c"__register_frame".as_ptr())
    };
    // SAFETY: libgcc's function of this name has this signature.
    (!found.is_null())
        .then(|| unsafe { core::mem::transmute::<*mut libc::c_void, RegisterFrame>(found) })
}

/// Memory for a copy, given back when dropped.
struct Memory {
    at: usize,
    length: usize,
}

impl Memory {
    /// Memory from which everything in `start..end` can be reached.
    fn near(start: usize, end: usize, length: usize) -> Option<Memory> {
        const STEP: usize = 2 << 20;
        const FAR: usize = 1 << 30;
        // What lies below a library is mostly free.
        let below = (1..256).map(|n| start.checked_sub(length.next_multiple_of(STEP) + n * STEP));
        let above = (1..256).map(|n| end.next_multiple_of(STEP).checked_add(n * STEP));
        for hint in below.chain(above).flatten() {
            let hint = hint & !(STEP - 1);
            let reach = end.max(hint + length) - start.min(hint);
            if hint == 0 || reach > FAR {
                continue;
            }
            // SAFETY: new memory, at a place where there is none.
            let at = unsafe {
                libc::mmap(
                    hint as *mut libc::c_void,
                    length,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
                    -1,
                    0,
                )
            };
            if at == libc::MAP_FAILED {
                continue;
            }
            let memory = Memory {
                at: at as usize,
                length,
            };
            // Kernels before 4.17 take the address for a wish.
            if memory.at == hint {
                return Some(memory);
            }
        }
        None
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the memory is this value's own, and nothing points there.
        unsafe { libc::munmap(self.at as *mut libc::c_void, self.length) };
    }
}
