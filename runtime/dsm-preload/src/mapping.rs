//! The mmap family. A private mapping that the program reads or writes becomes a block of the shared heap, and so
//! does a shared mapping of a file that the program only reads; a file's content is copied into the block. Mappings
//! that cannot be shared are refused with a line. Calls of the runtime go to the kernel.

use crate::arena::{Arena, SHARED};
use crate::malloc::{set_errno, with_caller};
use crate::place;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::report;
use libc::{c_int, off_t};

#[cfg(target_arch = "aarch64")]
with_caller! {
    "mmap" 6 mmap;
    "mmap64" 6 mmap;
}

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".globl mmap",
    ".globl mmap64",
    ".type mmap, @function",
    ".type mmap64, @function",
    "mmap:",
    "mmap64:",
    // The caller's return address becomes the seventh argument, on the stack above this call's return
    // address.
    "push qword ptr [rsp]",
    "call {f}",
    "add rsp, 8",
    "ret",
    f = sym mmap,
);
with_caller! {
    "munmap" 2 munmap;
    "mremap" 5 mremap;
    "madvise" 3 madvise;
    "mprotect" 3 mprotect;
}

/// The user was told of copies in the place of shared mappings.
static SAID: AtomicBool = AtomicBool::new(false);

fn kernel(number: libc::c_long, a: [usize; 6]) -> isize {
    // SAFETY: the call and the arguments are those of the program.
    unsafe { libc::syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]) as isize }
}

fn refused(what: core::fmt::Arguments<'_>) {
    report::warn(format_args!("{what} (HETMP_NODES=dsm)"));
    set_errno(libc::EINVAL);
}

extern "C" fn mmap(
    at: usize,
    len: usize,
    may: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
    caller: usize,
) -> *mut c_void {
    let plain = || {
        let a = [
            at,
            len,
            may as usize,
            flags as usize,
            file as usize,
            offset as usize,
        ];
        kernel(libc::SYS_mmap, a) as *mut c_void
    };
    let writable = may & libc::PROT_WRITE != 0;
    if !place::is_shared_for(caller) || may & libc::PROT_READ == 0 && !writable {
        // The runtime's mappings, and addresses that the program only reserves, are made by the kernel in this
        // process only.
        return plain();
    }
    let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
    if !writable && (fixed || may & libc::PROT_EXEC != 0 || flags & libc::MAP_ANONYMOUS != 0) {
        // Code, and zeros that nobody writes: also in this process only.
        return plain();
    }
    if writable && flags & libc::MAP_SHARED != 0 && flags & libc::MAP_ANONYMOUS == 0 {
        refused(format_args!(
            "mmap: MAP_SHARED of a file (expected MAP_PRIVATE)"
        ));
        return libc::MAP_FAILED;
    }
    if fixed || may & libc::PROT_EXEC != 0 {
        refused(format_args!(
            "mmap {at:#x} with flags {flags:#x}, protection {may:#x}: nodes cannot share it (expected writable memory \
             that is not executable, at any address)"
        ));
        return libc::MAP_FAILED;
    }
    // Whole pages: zeros follow a file's last byte.
    let block = match len.checked_next_multiple_of(4096) {
        Some(room) if len != 0 => SHARED.allocate(room, 4096, true),
        _ => core::ptr::null_mut(),
    };
    if block.is_null() {
        set_errno(if len == 0 { libc::EINVAL } else { libc::ENOMEM });
        return libc::MAP_FAILED;
    }
    if flags & libc::MAP_ANONYMOUS == 0 {
        if flags & libc::MAP_SHARED != 0 && !SAID.swap(true, Ordering::Relaxed) {
            report::warn(format_args!(
                "mmap MAP_SHARED of a file: a copy is made, which does not show how the file changes later \
                 (HETMP_NODES=dsm)"
            ));
        }
        let mut done = 0;
        while done < len {
            // SAFETY: the bytes are within the new block.
            let n = unsafe {
                libc::pread(
                    file,
                    block.add(done).cast(),
                    len - done,
                    offset + done as off_t,
                )
            };
            match n {
                0 => break,
                n if n > 0 => done += n as usize,
                _ if hetmp_core::sys::errno() == libc::EINTR => {}
                _ => {
                    let why = hetmp_core::sys::errno();
                    // SAFETY: allocated above, and nobody else knows of the block.
                    unsafe { SHARED.free(block) };
                    set_errno(why);
                    return libc::MAP_FAILED;
                }
            }
        }
    }
    block.cast()
}

extern "C" fn munmap(at: *mut c_void, len: usize, _caller: usize) -> c_int {
    if !place::in_heap(at.addr()) {
        return kernel(libc::SYS_munmap, [at.addr(), len, 0, 0, 0, 0]) as c_int;
    }
    // The block is freed only if the call covers it almost completely. (A block may be a quarter larger than
    // the program asked for, so four fifths of it are enough.) Otherwise nothing is freed.
    if Arena::usable(at.cast()).is_some_and(|all| len + 4096 > all / 5 * 4)
        && place::is_own_heap(at.addr())
    {
        // SAFETY: the program does not use the memory any more, or it would not unmap it.
        unsafe { SHARED.free(at.cast()) };
    }
    0
}

extern "C" fn mremap(
    at: *mut c_void,
    old: usize,
    new: usize,
    flags: c_int,
    to: usize,
    caller: usize,
) -> *mut c_void {
    if !place::in_heap(at.addr()) {
        let a = [at.addr(), old, new, flags as usize, to, 0];
        return kernel(libc::SYS_mremap, a) as *mut c_void;
    }
    if new <= old {
        return at;
    }
    if flags & libc::MREMAP_MAYMOVE == 0
        || flags & libc::MREMAP_FIXED != 0
        || !place::is_shared_for(caller)
    {
        refused(format_args!(
            "mremap {at:p}: to a fixed address or in place (expected one that may move, to any address)"
        ));
        return libc::MAP_FAILED;
    }
    let block = SHARED.allocate(new, 4096, true);
    if block.is_null() {
        set_errno(libc::ENOMEM);
        return libc::MAP_FAILED;
    }
    // SAFETY: the old mapping has `old` bytes, and only this caller has the new block.
    unsafe { block.copy_from_nonoverlapping(at.cast(), old) };
    munmap(at, old, caller);
    block.cast()
}

extern "C" fn madvise(at: *mut c_void, len: usize, advice: c_int, _caller: usize) -> c_int {
    if !place::in_heap(at.addr()) || place::is_runtime(_caller) {
        return kernel(
            libc::SYS_madvise,
            [at.addr(), len, advice as usize, 0, 0, 0],
        ) as c_int;
    }
    if advice == libc::MADV_DONTNEED {
        // The program takes the memory for private memory, whose content the kernel would replace by zeros.
        // SAFETY: the program gives the content up.
        unsafe { at.cast::<u8>().write_bytes(0, len) };
    }
    0
}

extern "C" fn mprotect(at: *mut c_void, len: usize, may: c_int, _caller: usize) -> c_int {
    if !place::in_heap(at.addr()) || !place::in_use() {
        return kernel(libc::SYS_mprotect, [at.addr(), len, may as usize, 0, 0, 0]) as c_int;
    }
    if may & (libc::PROT_READ | libc::PROT_WRITE) == libc::PROT_READ | libc::PROT_WRITE
        && may & libc::PROT_EXEC == 0
    {
        return 0;
    }
    refused(format_args!(
        "mprotect {at:p} {may:#x}: nodes share this memory (expected reading and writing)"
    ));
    -1
}
