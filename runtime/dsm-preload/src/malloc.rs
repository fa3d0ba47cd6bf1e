//! The malloc family. A call's return address tells who calls. The program, and libraries that allocate for
//! it, get blocks of the shared heap. The runtime and the loader get private memory, and so does every caller
//! before the nodes start. A block's address tells to which of the two it is freed.

use crate::arena::{Arena, PRIVATE, SHARED};
use crate::place;
use core::ffi::c_void;
use hetmp_core::report;

/// Exports a function under this name. It gets its caller's return address as an additional last argument, which is
/// the argument behind this many.
macro_rules! with_caller {
    ($($name:literal $behind:tt $function:path;)*) => {$(
        core::arch::global_asm!(
            concat!(".globl ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            $crate::malloc::caller!($behind),
            $crate::malloc::jump!(),
            concat!(".size ", $name, ", . - ", $name),
            f = sym $function,
        );
    )*};
}

/// The instruction that makes the return address the argument behind this many.
#[cfg(target_arch = "x86_64")]
macro_rules! caller {
    (1) => {
        "mov rsi, [rsp]"
    };
    (2) => {
        "mov rdx, [rsp]"
    };
    (3) => {
        "mov rcx, [rsp]"
    };
    (4) => {
        "mov r8, [rsp]"
    };
    (5) => {
        "mov r9, [rsp]"
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp {f}"
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! caller {
    ($behind:literal) => {
        concat!("mov x", $behind, ", x30")
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {f}"
    };
}
pub(crate) use {caller, jump, with_caller};

with_caller! {
    "malloc" 1 malloc;
    "calloc" 2 calloc;
    "realloc" 2 realloc;
    "memalign" 2 memalign;
    "aligned_alloc" 2 memalign;
    "posix_memalign" 3 posix_memalign;
    "valloc" 1 valloc;
    "pvalloc" 1 pvalloc;
}

fn arena(caller: usize) -> &'static Arena {
    if place::is_shared_for(caller) {
        &SHARED
    } else {
        &PRIVATE
    }
}

fn give(arena: &Arena, size: usize, align: usize, zero: bool) -> *mut c_void {
    let at = arena.allocate(size, align, zero);
    if at.is_null() {
        set_errno(libc::ENOMEM);
    }
    at.cast()
}

pub(crate) fn set_errno(error: libc::c_int) {
    // SAFETY: the address is that of the calling thread's errno.
    unsafe { *libc::__errno_location() = error };
}

extern "C" fn malloc(size: usize, caller: usize) -> *mut c_void {
    give(arena(caller), size, 16, false)
}

extern "C" fn calloc(count: usize, size: usize, caller: usize) -> *mut c_void {
    match count.checked_mul(size) {
        Some(bytes) => give(arena(caller), bytes, 16, true),
        None => {
            set_errno(libc::ENOMEM);
            core::ptr::null_mut()
        }
    }
}

extern "C" fn memalign(align: usize, size: usize, caller: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        set_errno(libc::EINVAL);
        return core::ptr::null_mut();
    }
    give(arena(caller), size, align, false)
}

/// # Safety
/// `out` may be written, as C demands.
unsafe extern "C" fn posix_memalign(
    out: *mut *mut c_void,
    align: usize,
    size: usize,
    caller: usize,
) -> libc::c_int {
    if !align.is_power_of_two() || align % size_of::<usize>() != 0 {
        return libc::EINVAL;
    }
    let at = arena(caller).allocate(size, align, false);
    if at.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: `out` may be written: this function's contract.
    unsafe { *out = at.cast() };
    0
}

extern "C" fn valloc(size: usize, caller: usize) -> *mut c_void {
    give(arena(caller), size, 4096, false)
}

extern "C" fn pvalloc(size: usize, caller: usize) -> *mut c_void {
    match size.checked_next_multiple_of(4096) {
        Some(size) => give(arena(caller), size, 4096, false),
        None => core::ptr::null_mut(),
    }
}

/// # Safety
/// `at` is null or the address of a block, as C demands.
unsafe extern "C" fn realloc(at: *mut c_void, size: usize, caller: usize) -> *mut c_void {
    if at.is_null() {
        return malloc(size, caller);
    }
    let Some(usable) = Arena::usable(checked(at)) else {
        bad("realloc", at)
    };
    if size <= usable && size >= usable / 4 {
        return at;
    }
    let new = malloc(size, caller);
    if !new.is_null() {
        // SAFETY: both blocks have at least this number of bytes, and only this caller has the new one.
        unsafe {
            new.cast::<u8>()
                .copy_from_nonoverlapping(at.cast(), usable.min(size));
            free(at);
        }
    }
    new
}

/// Checks that the address lies in an arena; otherwise ends the program.
fn checked(at: *mut c_void) -> *mut u8 {
    let address = at.addr();
    if PRIVATE.holds(address) || place::in_heap(address) {
        at.cast()
    } else {
        bad("free", at)
    }
}

fn bad(what: &str, at: *mut c_void) -> ! {
    report::warn(format_args!(
        "{what} {at:p}: not from malloc (expected an address that malloc gave)"
    ));
    // SAFETY: abort has no preconditions.
    unsafe { libc::abort() }
}

/// `free`.
///
/// # Safety
/// `at` is null or the address of a block that no thread uses any more, as C demands.
#[no_mangle]
pub(crate) unsafe extern "C" fn free(at: *mut c_void) {
    if at.is_null() {
        return;
    }
    let block = checked(at);
    // SAFETY: no thread uses the block any more: this function's contract. `checked` has found that it lies
    // in an arena, so it has a header.
    let freed = unsafe {
        if PRIVATE.holds(at.addr()) {
            PRIVATE.free(block)
        } else if place::is_own_heap(at.addr()) {
            SHARED.free(block)
        } else {
            // A block of another node's part cannot be freed here. It stays allocated.
            Arena::usable(block).is_some()
        }
    };
    if !freed {
        bad("free", at);
    }
}

/// `malloc_usable_size`.
///
/// # Safety
/// `at` is null or the address of a block, as C demands.
#[no_mangle]
pub(crate) unsafe extern "C" fn malloc_usable_size(at: *mut c_void) -> usize {
    if at.is_null() {
        return 0;
    }
    Arena::usable(checked(at)).unwrap_or(0)
}
