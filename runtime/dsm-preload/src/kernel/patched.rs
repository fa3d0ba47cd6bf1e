//! How the program's system calls are caught on 64-bit Arm: by changing its code.
//!
//! The kernel hands no system calls to programs there. But each call is one instruction of four bytes, as long as a
//! branch. So each `svc` of the loaded objects becomes a branch to a *stub* of its own, which calls [`caught`] and goes
//! on behind the instruction. What the program had in its registers is there again then, as after a call of the kernel.
//!
//! * The stub runs on the thread's own stack, whose page faults are served as ever.
//! * A call that makes a thread or process, or returns from a signal, goes on elsewhere: the stub makes it itself.
//! * Objects that the program loads later keep their instructions.
//! * A constant between functions that has an `svc`'s value is changed, too: nothing tells the two apart.
//! * There is no unwind information: a thread that is cancelled in a call cannot be unwound through the stub.

use super::calls::emulate;
use super::{numbers, stacks, touch};
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};
use libc::{c_int, c_long};
use pages::backend::sigsegv::raw;

const SVC: u32 = 0xd400_0001;
/// Bytes of a stub.
const STUB: usize = 48;
/// The farthest that a branch reaches, less what an object and its stubs take.
const REACH: usize = 100 << 20;

core::arch::global_asm!(
    // Called by stubs, which have saved x30 and x16: keeps all registers but x0.
    ".pushsection .text.hetmp_caught, \"ax\", @progbits",
    ".balign 16",
    ".globl hetmp_caught",
    ".hidden hetmp_caught",
    ".type hetmp_caught, @function",
    "hetmp_caught:",
    "sub sp, sp, #688",
    "stp x0, x1, [sp]",
    "stp x2, x3, [sp, #16]",
    "stp x4, x5, [sp, #32]",
    "stp x6, x7, [sp, #48]",
    "stp x8, x30, [sp, #64]",
    "stp x9, x10, [sp, #80]",
    "stp x11, x12, [sp, #96]",
    "stp x13, x14, [sp, #112]",
    "stp x15, x17, [sp, #128]",
    "mrs x9, nzcv",
    "stp x18, x9, [sp, #144]",
    "stp q0, q1, [sp, #160]",
    "stp q2, q3, [sp, #192]",
    "stp q4, q5, [sp, #224]",
    "stp q6, q7, [sp, #256]",
    "stp q8, q9, [sp, #288]",
    "stp q10, q11, [sp, #320]",
    "stp q12, q13, [sp, #352]",
    "stp q14, q15, [sp, #384]",
    "stp q16, q17, [sp, #416]",
    "stp q18, q19, [sp, #448]",
    "stp q20, q21, [sp, #480]",
    "stp q22, q23, [sp, #512]",
    "stp q24, q25, [sp, #544]",
    "stp q26, q27, [sp, #576]",
    "stp q28, q29, [sp, #608]",
    "stp q30, q31, [sp, #640]",
    "mov x0, sp",
    "bl {caught}",
    "ldp q0, q1, [sp, #160]",
    "ldp q2, q3, [sp, #192]",
    "ldp q4, q5, [sp, #224]",
    "ldp q6, q7, [sp, #256]",
    "ldp q8, q9, [sp, #288]",
    "ldp q10, q11, [sp, #320]",
    "ldp q12, q13, [sp, #352]",
    "ldp q14, q15, [sp, #384]",
    "ldp q16, q17, [sp, #416]",
    "ldp q18, q19, [sp, #448]",
    "ldp q20, q21, [sp, #480]",
    "ldp q22, q23, [sp, #512]",
    "ldp q24, q25, [sp, #544]",
    "ldp q26, q27, [sp, #576]",
    "ldp q28, q29, [sp, #608]",
    "ldp q30, q31, [sp, #640]",
    "ldp x18, x9, [sp, #144]",
    "msr nzcv, x9",
    "ldp x15, x17, [sp, #128]",
    "ldp x13, x14, [sp, #112]",
    "ldp x11, x12, [sp, #96]",
    "ldp x9, x10, [sp, #80]",
    "ldp x8, x30, [sp, #64]",
    "ldp x6, x7, [sp, #48]",
    "ldp x4, x5, [sp, #32]",
    "ldp x2, x3, [sp, #16]",
    "ldp x0, x1, [sp]",
    "add sp, sp, #688",
    "ret",
    ".size hetmp_caught, . - hetmp_caught",
    ".popsection",
    caught = sym caught,
);

extern "C" {
    static hetmp_caught: u8;
}

/// What the assembly keeps, as far as it matters here.
#[repr(C)]
struct Kept {
    x: [usize; 9],
    /// Where the stub goes on.
    stub: usize,
}

/// The instructions of a stub at `at`, for the system call at `site`.
fn stub(at: usize, site: usize) -> [u32; STUB / 4] {
    let back = |from: usize| branch(at + from, site + 4);
    let target = (&raw const hetmp_caught).addr() as u64;
    [
        0xa9bf_43fe, // stp x30, x16, [sp, #-16]!
        0x5800_0130, // ldr x16, the words at the end
        0xd63f_0200, // blr x16
        0xa8c1_43fe, // ldp x30, x16, [sp], #16
        back(16),
        0xa8c1_43fe, // the same, and the call itself
        SVC,
        back(28),
        0xd503_201f, // nop
        0xd503_201f,
        target as u32,
        (target >> 32) as u32,
    ]
}

/// From where a stub goes on to where it makes the call itself.
const ITSELF: usize = 8;

/// A branch. Both addresses are multiples of 4, and near each other.
fn branch(from: usize, to: usize) -> u32 {
    0x1400_0000 | (to.wrapping_sub(from) as u32 >> 2) & 0x03ff_ffff
}

/// Makes the call that the program was about to make.
extern "C" fn caught(kept: &mut Kept) {
    let number = kept.x[8] as c_long;
    let a: [usize; 6] = core::array::from_fn(|i| kept.x[i]);
    let itself = match number {
        numbers::SYS_rt_sigreturn => true,
        numbers::SYS_clone => {
            // The numbers of a new thread, which the kernel writes.
            touch(&a, &[2, 4], 4);
            let flags = a[0] as c_int;
            let shares = flags & libc::CLONE_VM != 0;
            shares && flags & (libc::CLONE_THREAD | libc::CLONE_VFORK) != 0
        }
        _ => false,
    };
    if itself {
        kept.stub += ITSELF;
        return;
    }
    let result = match stacks::is_programs() {
        // SAFETY: the call and its arguments are the program's.
        true => unsafe { emulate(number, a) },
        // SAFETY: the same, of a thread that serves pages.
        false => unsafe { raw::call(number, a) },
    };
    kept.x[0] = result as usize;
}

/// Code that may be executed: first address and length of each segment of all loaded objects. The kernel's own, which
/// tells the time, cannot be changed: where it makes a call after all, the place that the answer goes to must be here.
fn code() -> Vec<(usize, usize)> {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes its description of an object, and `data` is the list below. As many headers as it
        // says lie there while it calls this function.
        let (info, all, headers) = unsafe {
            let info = &*info;
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
            (info, &mut *data.cast::<Vec<(usize, usize)>>(), headers)
        };
        let executes = |h: &&libc::Elf64_Phdr| {
            h.p_type == libc::PT_LOAD && h.p_flags & (libc::PF_X | libc::PF_W) == libc::PF_X
        };
        // SAFETY: getauxval has no preconditions.
        if info.dlpi_addr == unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } {
            return 0;
        }
        let of = |h: &libc::Elf64_Phdr| ((info.dlpi_addr + h.p_vaddr) as usize, h.p_memsz as usize);
        all.extend(headers.iter().filter(executes).map(of));
        0
    }
    let mut all = Vec::new();
    // SAFETY: the callback fits the list that is passed to it, and the list lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut all).cast()) };
    all
}

/// Memory for stubs near `start`. `None` if there is none.
fn near(start: usize, len: usize) -> Option<usize> {
    const STEP: usize = 1 << 20;
    let below = (1..REACH / STEP).map(|i| start.checked_sub(i * STEP));
    let above = (1..REACH / STEP).map(|i| start.checked_add(i * STEP));
    let may = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let how = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE) as usize;
    below
        .chain(above)
        .flatten()
        .map(|at| at & !(STEP - 1))
        .find(|at| {
            // SAFETY: a new mapping, at addresses that nobody uses.
            let got = unsafe { raw::call(numbers::SYS_mmap, [*at, len, may, how, usize::MAX, 0]) };
            if got > 0 && got as usize != *at {
                // An old kernel took the address for a wish. SAFETY: the mapping was made just now.
                unsafe { raw::call(numbers::SYS_munmap, [got as usize, len, 0, 0, 0, 0]) };
            }
            got == *at as isize
        })
}

/// Lets threads use pages in this way.
fn protect(at: usize, len: usize, may: c_int) -> Result<(), String> {
    // SAFETY: pages of code, or of stubs; nothing but their protection changes.
    match unsafe { raw::call(numbers::SYS_mprotect, [at, len, may as usize, 0, 0, 0]) } {
        0 => Ok(()),
        error => Err(format!(
            "HETMP_DSM: 'sigsegv': changing the program's code is needed (error {})",
            -error
        )),
    }
}

/// What was written at these addresses may be executed.
fn executable_now(start: usize, end: usize) {
    // No cache has shorter lines.
    const LINE: usize = 16;
    // SAFETY: instructions on caches, for addresses that may be read.
    unsafe {
        for at in (start..end).step_by(LINE) {
            core::arch::asm!("dc cvau, {}", in(reg) at, options(nostack, preserves_flags));
        }
        core::arch::asm!("dsb ish", options(nostack, preserves_flags));
        for at in (start..end).step_by(LINE) {
            core::arch::asm!("ic ivau, {}", in(reg) at, options(nostack, preserves_flags));
        }
        core::arch::asm!("dsb ish", "isb", options(nostack, preserves_flags));
    }
}

/// Changes all system calls of the code that is loaded now, but those of `raw`.
pub(super) fn start() -> Result<(), String> {
    let page = hetmp_core::page::size();
    for (start, len) in code() {
        // SAFETY: a segment of a loaded object, whose words may be read.
        let words = unsafe {
            core::slice::from_raw_parts(
                core::ptr::with_exposed_provenance::<AtomicU32>(start),
                len / 4,
            )
        };
        let is_call = |(i, word): (usize, &AtomicU32)| {
            let site = start + 4 * i;
            (word.load(Ordering::Relaxed) == SVC && !raw::code().contains(&site)).then_some(site)
        };
        let sites: Vec<usize> = words.iter().enumerate().filter_map(is_call).collect();
        if sites.is_empty() {
            continue;
        }
        let room = (sites.len() * STUB).next_multiple_of(page);
        let at = near(start, room)
            .ok_or("HETMP_DSM: 'sigsegv': addresses near the program's code are needed")?;
        for (i, site) in sites.iter().enumerate() {
            let here = at + i * STUB;
            let to: *mut [u32; STUB / 4] = core::ptr::with_exposed_provenance_mut(here);
            // SAFETY: the mapping has room for all stubs.
            unsafe { to.write(stub(here, *site)) };
        }
        protect(at, room, libc::PROT_READ | libc::PROT_EXEC)?;
        executable_now(at, at + room);
        let pages = (start & !(page - 1), (start + len).next_multiple_of(page));
        protect(
            pages.0,
            pages.1 - pages.0,
            libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
        )?;
        for (i, site) in sites.iter().enumerate() {
            // Another thread may execute the instruction meanwhile: it finds the old one or the new one.
            words[(site - start) / 4].store(branch(*site, at + i * STUB), Ordering::Release);
        }
        protect(
            pages.0,
            pages.1 - pages.0,
            libc::PROT_READ | libc::PROT_EXEC,
        )?;
        executable_now(start, start + len);
    }
    Ok(())
}

/// Nothing is needed but what [`start`] asks for.
pub(crate) fn probe() -> Result<(), String> {
    Ok(())
}

/// All threads' calls are caught.
pub(super) fn catch() -> isize {
    0
}
