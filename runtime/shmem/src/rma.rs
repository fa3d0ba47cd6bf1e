//! Remote memory access (specification 1.5, section 9.5) and memory ordering (9.10).
//!
//! A blocking put may return once the source can be written again, a get once the data have arrived. On the direct
//! way everything is done when the call returns: the nonblocking forms are the same operations, `fence` orders
//! stores, and `quiet` makes stores visible before any later load.

use crate::context::handle;
use crate::context::{self, Ctx};
use crate::way::{self, Way};
use crate::world;
use core::ffi::c_int;
use core::sync::atomic::{fence as cpu_fence, Ordering};

/// Copies `bytes` from `source` of this PE to `dest` of `pe`.
///
/// # Safety
/// The C function's contract: `source` is readable for `bytes`, and the program orders its accesses.
#[inline(always)]
pub unsafe fn put(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    pe: c_int,
) {
    if let Some(to) = handle::direct(ctx, dest as usize, bytes, pe) {
        // SAFETY: the C function's contract, which the program keeps: `source` is readable for `bytes`, and the
        // program orders its accesses. The target was found in bounds. `copy` since a program may put to itself.
        return unsafe { core::ptr::copy(source, to, bytes) };
    }
    // SAFETY: the C function's contract, which the program keeps: `source` is readable for `bytes`, and the
    // program orders its accesses.
    unsafe { put_cold(f, ctx, dest, source, bytes, pe) }
}

#[cold]
#[inline(never)]
unsafe fn put_cold(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    pe: c_int,
) {
    match way::find(f, ctx, dest as usize, bytes, pe).way {
        // SAFETY: found in bounds; `source` is readable for `bytes`: the contract of `put`, the only caller.
        Way::Here(to) => unsafe { core::ptr::copy(source, to, bytes) },
        // SAFETY: `source` is readable for `bytes`: the contract of `put`, the only caller.
        Way::Queue(to) => unsafe { to.put(f, source, bytes) },
    }
}

/// Like [`put`], but only done after the next [`quiet`].
///
/// # Safety
/// As [`put`]; the source is not changed before that quiet.
#[inline(always)]
pub unsafe fn put_nbi(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    pe: c_int,
) {
    if let Some(to) = handle::direct(ctx, dest as usize, bytes, pe) {
        // SAFETY: the C function's contract, which the program keeps: `source` is readable for `bytes`, and the
        // program orders its accesses. The source stays as it is until quiet.
        return unsafe { core::ptr::copy(source, to, bytes) };
    }
    // SAFETY: the C function's contract, which the program keeps: `source` is readable for `bytes`, and the
    // program orders its accesses. The source stays as it is until quiet.
    unsafe { put_nbi_cold(f, ctx, dest, source, bytes, pe) }
}

#[cold]
#[inline(never)]
unsafe fn put_nbi_cold(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    pe: c_int,
) {
    match way::find(f, ctx, dest as usize, bytes, pe).way {
        // SAFETY: found in bounds; `source` is readable for `bytes`: the contract of `put_nbi`, the only caller.
        Way::Here(to) => unsafe { core::ptr::copy(source, to, bytes) },
        // SAFETY: `source` is readable for `bytes` and stays as it is until quiet: the contract of `put_nbi`, the
        // only caller.
        Way::Queue(to) => unsafe { to.put_nbi(f, source, bytes) },
    }
}

/// Copies `bytes` from `source` of `pe` to `dest` of this PE.
///
/// # Safety
/// The C function's contract: `dest` is writable for `bytes`, and the program orders its accesses.
#[inline(always)]
pub unsafe fn get(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    pe: c_int,
) {
    if let Some(from) = handle::direct(ctx, source as usize, bytes, pe) {
        // SAFETY: the C function's contract, which the program keeps: `dest` is writable for `bytes`, and the
        // program orders its accesses. The source was found in bounds.
        unsafe { core::ptr::copy(from, dest, bytes) };
    } else {
        // SAFETY: the C function's contract, which the program keeps: `dest` is writable for `bytes`, and the program
        // orders its accesses.
        unsafe { get_cold(f, ctx, dest, source, bytes, pe) };
    }
    cpu_fence(Ordering::Acquire);
}

#[cold]
#[inline(never)]
unsafe fn get_cold(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    pe: c_int,
) {
    match way::find(f, ctx, source as usize, bytes, pe).way {
        // SAFETY: found in bounds; `dest` is writable for `bytes`: the contract of `get`, the only caller.
        Way::Here(from) => unsafe { core::ptr::copy(from, dest, bytes) },
        // SAFETY: `dest` is writable for `bytes`: the contract of `get`, the only caller.
        Way::Queue(from) => unsafe { from.get(f, dest, bytes) },
    }
}

/// Like [`get`], but only done after the next [`quiet`].
///
/// # Safety
/// As [`get`].
#[inline(always)]
pub unsafe fn get_nbi(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    pe: c_int,
) {
    if let Some(from) = handle::direct(ctx, source as usize, bytes, pe) {
        // SAFETY: the C function's contract, which the program keeps: `dest` is writable for `bytes`, and the
        // program orders its accesses.
        return unsafe { core::ptr::copy(from, dest, bytes) };
    }
    // SAFETY: the C function's contract, which the program keeps: `dest` is writable for `bytes`, and the program
    // orders its accesses.
    unsafe { get_nbi_cold(f, ctx, dest, source, bytes, pe) }
}

#[cold]
#[inline(never)]
unsafe fn get_nbi_cold(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    pe: c_int,
) {
    match way::find(f, ctx, source as usize, bytes, pe).way {
        // SAFETY: found in bounds; `dest` is writable for `bytes`: the contract of `get_nbi`, the only caller.
        Way::Here(from) => unsafe { core::ptr::copy(from, dest, bytes) },
        // SAFETY: `dest` is writable for `bytes` until quiet: the contract of `get_nbi`, the only caller.
        Way::Queue(from) => unsafe { from.get_nbi(f, dest, bytes) },
    }
}

/// Stores one value in one access at `dest` of `pe`. `T` is a plain type of 1, 2, 4 or 8 bytes.
///
/// # Safety
/// `dest` is aligned for `T`.
#[inline(always)]
pub unsafe fn p<T: Copy>(f: &'static str, ctx: Ctx, dest: *mut T, value: T, pe: c_int) {
    if let Some(to) = handle::direct(ctx, dest as usize, size_of::<T>(), pe) {
        // SAFETY: found in bounds; regions begin at pages, so that alignment carries over.
        return unsafe { to.cast::<T>().write_volatile(value) };
    }
    // SAFETY: this function's contract: `dest` is aligned for `T`. The value lies on this stack through the call.
    unsafe { p_cold(f, ctx, dest, value, pe) }
}

#[cold]
#[inline(never)]
unsafe fn p_cold<T: Copy>(f: &'static str, ctx: Ctx, dest: *mut T, value: T, pe: c_int) {
    match way::find(f, ctx, dest as usize, size_of::<T>(), pe).way {
        // SAFETY: found in bounds; the program passes an aligned `dest`: the contract of `p`, the only caller.
        Way::Here(to) => unsafe { to.cast::<T>().write_volatile(value) },
        // SAFETY: the value lies on this stack; a short put takes it along.
        Way::Queue(to) => unsafe {
            to.put(f, (&raw const value).cast(), size_of::<T>());
        },
    }
}

/// Loads one value in one access from `source` of `pe`. `T` is a type as for [`p`].
///
/// # Safety
/// `source` is aligned for `T`.
#[inline(always)]
pub unsafe fn g<T: Copy>(f: &'static str, ctx: Ctx, source: *const T, pe: c_int) -> T {
    let value = match handle::direct(ctx, source as usize, size_of::<T>(), pe) {
        // SAFETY: found in bounds; the program passes an aligned `source`: this function's contract.
        Some(from) => unsafe { from.cast::<T>().read_volatile() },
        // SAFETY: this function's contract: `source` is aligned for `T`.
        None => unsafe { g_cold(f, ctx, source, pe) },
    };
    // The value may be a flag, and the next access one of the data that it stands for. No instruction on x86-64.
    cpu_fence(Ordering::Acquire);
    value
}

#[cold]
#[inline(never)]
unsafe fn g_cold<T: Copy>(f: &'static str, ctx: Ctx, source: *const T, pe: c_int) -> T {
    match way::find(f, ctx, source as usize, size_of::<T>(), pe).way {
        // SAFETY: found in bounds; the program passes an aligned `source`: the contract of `g`, the only caller.
        Way::Here(from) => unsafe { from.cast::<T>().read_volatile() },
        Way::Queue(from) => {
            let mut value = core::mem::MaybeUninit::<T>::uninit();
            // SAFETY: room for one value, which is there when `get` returns; any bits are one of these plain types.
            unsafe {
                from.get(f, value.as_mut_ptr().cast(), size_of::<T>());
                value.assume_init()
            }
        }
    }
}

/// A strided access: blocks of `block` bytes, with one distance at the destination and another at the source.
#[derive(Clone, Copy, Debug)]
struct Strides {
    /// Bytes from one block to the next where blocks are written.
    dest: isize,
    /// Bytes from one block to the next where blocks are read.
    source: isize,
    block: usize,
    blocks: usize,
}

impl Strides {
    fn new(dst: isize, sst: isize, elem: usize, block: usize, blocks: usize) -> Strides {
        let elem = elem as isize;
        Strides {
            dest: dst.wrapping_mul(elem),
            source: sst.wrapping_mul(elem),
            block,
            blocks,
        }
    }

    /// Bytes from the start of the first block to the end of the last, for blocks `stride` bytes apart. `None` if one
    /// check of the bounds cannot cover all blocks: for strides that lead backwards, and for numbers that overflow.
    fn span(&self, stride: isize) -> Option<usize> {
        let last = self.blocks.checked_sub(1)?;
        usize::try_from(stride)
            .ok()?
            .checked_mul(last)?
            .checked_add(self.block)
    }

    /// Copies all blocks in their order. Short blocks (one element each in most programs) are copied by a load and a
    /// store, because a call of `memmove` for each would take most of the time.
    ///
    /// # Safety
    /// Every block is readable from `source` and writable from `dest` on.
    unsafe fn copy(&self, dest: *mut u8, source: *const u8) {
        // SAFETY: who calls has every block readable from `source` and writable from `dest` on; `T` is as long as a
        // block.
        unsafe {
            match self.block {
                1 => self.copy_as::<u8>(dest, source),
                2 => self.copy_as::<[u8; 2]>(dest, source),
                4 => self.copy_as::<[u8; 4]>(dest, source),
                8 => self.copy_as::<[u8; 8]>(dest, source),
                16 => self.copy_as::<[u8; 16]>(dest, source),
                bytes => {
                    for i in 0..self.blocks as isize {
                        let from = source.offset(i * self.source);
                        core::ptr::copy(from, dest.offset(i * self.dest), bytes);
                    }
                }
            }
        }
    }

    /// [`Strides::copy`] for blocks of the length of one `T`, at any alignment.
    ///
    /// # Safety
    /// As [`Strides::copy`].
    unsafe fn copy_as<T: Copy>(&self, dest: *mut u8, source: *const u8) {
        for i in 0..self.blocks as isize {
            // SAFETY: who calls has every block readable and writable.
            unsafe {
                let value = source.offset(i * self.source).cast::<T>().read_unaligned();
                dest.offset(i * self.dest)
                    .cast::<T>()
                    .write_unaligned(value);
            }
        }
    }
}

/// `shmem_iput`: copies element `i` from `source + i * sst` to `dest + i * dst` (strides in elements).
///
/// # Safety
/// As [`put`], for every element.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn iput(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    dst: isize,
    sst: isize,
    elem: usize,
    nelems: usize,
    pe: c_int,
) {
    // SAFETY: the C function's contract, which the program keeps: `source` is readable for `bytes`, and the
    // program orders its accesses. So for every element.
    unsafe { ibput(f, ctx, dest, source, dst, sst, elem, 1, nelems, pe) }
}

/// `shmem_iget`.
///
/// # Safety
/// As [`get`], for every element.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn iget(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    dst: isize,
    sst: isize,
    elem: usize,
    nelems: usize,
    pe: c_int,
) {
    // SAFETY: the C function's contract, which the program keeps: `dest` is writable for `bytes`, and the program
    // orders its accesses. So for every element.
    unsafe { ibget(f, ctx, dest, source, dst, sst, elem, 1, nelems, pe) }
}

/// `shmem_ibput` (1.6): copies blocks of `bsize` elements; strides are in elements.
///
/// # Safety
/// As [`put`], for every block.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn ibput(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    dst: isize,
    sst: isize,
    elem: usize,
    bsize: usize,
    nblocks: usize,
    pe: c_int,
) {
    let s = Strides::new(dst, sst, elem, bsize * elem, nblocks);
    let found = s
        .span(s.dest)
        .and_then(|span| handle::direct(ctx, dest as usize, span, pe));
    if let Some(to) = found {
        // SAFETY: the targets of all blocks were found in bounds. The C function's contract, which the program keeps:
        // every block of `source` is readable, and the program orders its accesses.
        return unsafe { s.copy(to, source) };
    }
    for i in 0..s.blocks as isize {
        // SAFETY: the C function's contract, which the program keeps: `source` is readable for `bytes`, and the
        // program orders its accesses. So for every block.
        unsafe {
            put_nbi(
                f,
                ctx,
                dest.wrapping_offset(i * s.dest),
                source.wrapping_offset(i * s.source),
                s.block,
                pe,
            );
        }
    }
    context::local_completion(f, ctx);
}

/// `shmem_ibget` (1.6).
///
/// # Safety
/// As [`get`], for every block.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn ibget(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    dst: isize,
    sst: isize,
    elem: usize,
    bsize: usize,
    nblocks: usize,
    pe: c_int,
) {
    let s = Strides::new(dst, sst, elem, bsize * elem, nblocks);
    let found = s
        .span(s.source)
        .and_then(|span| handle::direct(ctx, source as usize, span, pe));
    if let Some(from) = found {
        // SAFETY: the sources of all blocks were found in bounds. The C function's contract, which the program keeps:
        // every block of `dest` is writable, and the program orders its accesses.
        return unsafe { s.copy(dest, from) };
    }
    for i in 0..s.blocks as isize {
        // SAFETY: the C function's contract, which the program keeps: `dest` is writable for `bytes`, and the
        // program orders its accesses. So for every block.
        unsafe {
            get_nbi(
                f,
                ctx,
                dest.wrapping_offset(i * s.dest),
                source.wrapping_offset(i * s.source),
                s.block,
                pe,
            );
        }
    }
    context::local_completion(f, ctx);
}

/// This context's puts, atomics and stores to each PE before the call take effect before those after it.
#[inline(always)]
pub fn fence(f: &'static str, ctx: Ctx) {
    if world::is_direct() && !ctx.is_null() {
        cpu_fence(Ordering::Release);
    } else {
        context::fence(f, ctx);
    }
}

/// Waits until this context's operations are done and visible to all PEs.
#[inline(always)]
pub fn quiet(f: &'static str, ctx: Ctx) {
    if world::is_direct() && !ctx.is_null() {
        cpu_fence(Ordering::SeqCst);
    } else {
        context::quiet(f, ctx);
    }
}

/// `shmem_pe_quiet` (1.6): like [`quiet`], for operations to the given PEs.
///
/// # Safety
/// `pes` has `n` numbers.
pub unsafe fn pe_quiet(f: &'static str, ctx: Ctx, pes: *const c_int, n: usize) {
    let world = world::need(f);
    for i in 0..n {
        // SAFETY: this function's contract: `pes` has `n` numbers.
        let pe = unsafe { *pes.add(i) };
        handle::world_pe(f, world, ctx, pe);
    }
    quiet(f, ctx);
}
