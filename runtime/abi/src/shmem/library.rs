//! Routines without a type in their name: setup, threads, symmetric heap, signals, barriers, ordering, locks.

use super::shapes::*;
use core::ffi::{c_long, c_void};
use hetmp_shmem::{collective, heap, lock, setup, signal};

/// `SHMEM_MAJOR_VERSION` and `SHMEM_MINOR_VERSION`.
const VERSION: (c_int, c_int) = (1, 6);
/// `SHMEM_VENDOR_STRING`.
const VENDOR: &[u8] = b"hetmp\0";

routines! {
    fn shmem_init() {
        setup::init(F);
    }
    fn shmem_finalize() {
        setup::finalize(F);
    }
    fn shmem_global_exit(status: c_int) {
        setup::global_exit(F, status)
    }
    fn shmem_my_pe() -> c_int {
        setup::my_pe(F)
    }
    fn shmem_n_pes() -> c_int {
        setup::n_pes(F)
    }
    fn shmem_pe_accessible(pe: c_int) -> c_int {
        setup::pe_accessible(F, pe)
    }
    fn shmem_addr_accessible(addr: *const u8, pe: c_int) -> c_int {
        setup::addr_accessible(F, addr, pe)
    }
    fn shmem_ptr(dest: *const u8, pe: c_int) -> *mut u8 {
        heap::ptr(F, dest, pe)
    }
    fn shmem_info_get_version(major: *mut c_int, minor: *mut c_int) {
        // SAFETY: the program's variables.
        unsafe {
            *major = VERSION.0;
            *minor = VERSION.1;
        }
    }
    fn shmem_info_get_name(name: *mut u8) {
        // SAFETY: the program has room for SHMEM_MAX_NAME_LEN bytes.
        unsafe { VENDOR.as_ptr().copy_to_nonoverlapping(name, VENDOR.len()) };
    }
    fn shmem_query_initialized(initialized: *mut c_int) {
        // SAFETY: the program's variable.
        unsafe { *initialized = setup::query_initialized() };
    }
    // Variadic in C. The arguments after the level are ignored.
    fn shmem_pcontrol(_level: c_int) {}

    fn start_pes(_npes: c_int) {
        // A second call of `start_pes` does nothing (deprecated API of the specification).
        if setup::query_initialized() == 0 {
            setup::init(F);
        }
    }
    fn _my_pe() -> c_int {
        setup::my_pe(F)
    }
    fn _num_pes() -> c_int {
        setup::n_pes(F)
    }

    fn shmem_init_thread(requested: c_int, provided: *mut c_int) -> c_int {
        let level = setup::init_thread(F, requested);
        // SAFETY: the program's variable, or null.
        if let Some(provided) = unsafe { provided.as_mut() } {
            *provided = level;
        }
        0
    }
    fn shmem_query_thread(provided: *mut c_int) {
        // SAFETY: the program's variable.
        unsafe { *provided = setup::query_thread(F) };
    }

    fn shmem_malloc(size: usize) -> *mut u8 {
        heap::malloc(F, size)
    }
    fn shmem_calloc(count: usize, size: usize) -> *mut u8 {
        heap::calloc(F, count, size)
    }
    fn shmem_align(alignment: usize, size: usize) -> *mut u8 {
        heap::align(F, alignment, size)
    }
    fn shmem_malloc_with_hints(size: usize, hints: c_long) -> *mut u8 {
        heap::malloc_with_hints(F, size, hints)
    }
    fn shmem_realloc(ptr: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: the program passes null or a block of the symmetric heap; the engine refuses other addresses.
        unsafe { heap::realloc(F, ptr, size) }
    }
    fn shmem_free(ptr: *mut u8) {
        heap::free(F, ptr);
    }
    fn shmalloc(size: usize) -> *mut u8 {
        heap::malloc(F, size)
    }
    fn shmemalign(alignment: usize, size: usize) -> *mut u8 {
        heap::align(F, alignment, size)
    }
    fn shrealloc(ptr: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: the program passes null or a block of the symmetric heap; the engine refuses other addresses.
        unsafe { heap::realloc(F, ptr, size) }
    }
    fn shfree(ptr: *mut u8) {
        heap::free(F, ptr);
    }

    fn shmem_signal_fetch(sig_addr: *const u64) -> u64 {
        // SAFETY: the program's signal.
        unsafe { signal::fetch(F, sig_addr) }
    }
    fn shmem_signal_wait_until(sig_addr: *mut u64, cmp: c_int, cmp_value: u64) -> u64 {
        // SAFETY: the program's signal.
        unsafe { signal::wait_until(F, sig_addr, cmp, cmp_value) }
    }
    fn shmem_signal_set(sig_addr: *mut u64, value: u64, pe: c_int) {
        // SAFETY: the program's signal.
        unsafe { signal::set(F, DEFAULT, sig_addr, value, pe) };
    }
    fn shmem_ctx_signal_set(ctx: Ctx, sig_addr: *mut u64, value: u64, pe: c_int) {
        // SAFETY: the program's signal and context.
        unsafe { signal::set(F, ctx, sig_addr, value, pe) };
    }
    fn shmem_signal_add(sig_addr: *mut u64, value: u64, pe: c_int) {
        // SAFETY: the program's signal.
        unsafe { signal::add(F, DEFAULT, sig_addr, value, pe) };
    }
    fn shmem_ctx_signal_add(ctx: Ctx, sig_addr: *mut u64, value: u64, pe: c_int) {
        // SAFETY: the program's signal and context.
        unsafe { signal::add(F, ctx, sig_addr, value, pe) };
    }
    fn shmem_wait(ivar: *mut c_long, cmp_value: c_long) {
        // SAFETY: the program's object.
        unsafe { wait::until(F, ivar, NOT_EQUAL, cmp_value) };
    }
    fn shmem_wait_until(ivar: *mut c_long, cmp: c_int, cmp_value: c_long) {
        // SAFETY: the program's object.
        unsafe { wait::until(F, ivar, cmp, cmp_value) };
    }

    fn shmem_barrier_all() {
        collective::barrier_all(F);
    }
    fn shmem_sync_all() {
        collective::sync_all(F);
    }
    fn shmem_fence() {
        // SAFETY: the default context.
        unsafe { rma::fence(F, DEFAULT) };
    }
    fn shmem_ctx_fence(ctx: Ctx) {
        // SAFETY: the program's context.
        unsafe { rma::fence(F, ctx) };
    }
    fn shmem_quiet() {
        // SAFETY: the default context.
        unsafe { rma::quiet(F, DEFAULT) };
    }
    fn shmem_ctx_quiet(ctx: Ctx) {
        // SAFETY: the program's context.
        unsafe { rma::quiet(F, ctx) };
    }
    fn shmem_pe_quiet(target_pes: *const c_int, npes: usize) {
        // SAFETY: the program's array.
        unsafe { rma::pe_quiet(F, DEFAULT, target_pes, npes) };
    }
    fn shmem_ctx_pe_quiet(ctx: Ctx, target_pes: *const c_int, npes: usize) {
        // SAFETY: the program's context and array.
        unsafe { rma::pe_quiet(F, ctx, target_pes, npes) };
    }

    fn shmem_set_lock(lock: *mut c_long) {
        // SAFETY: the program's lock.
        unsafe { lock::set(F, lock) };
    }
    fn shmem_clear_lock(lock: *mut c_long) {
        // SAFETY: the program's lock.
        unsafe { lock::clear(F, lock) };
    }
    fn shmem_test_lock(lock: *mut c_long) -> c_int {
        // SAFETY: the program's lock.
        unsafe { lock::test(F, lock) }
    }

    // Deprecated cache routines. Memory is coherent on all supported machines: there is nothing to do.
    fn shmem_set_cache_inv() {}
    fn shmem_clear_cache_inv() {}
    fn shmem_udcflush() {}
    fn shmem_set_cache_line_inv(_dest: *mut c_void) {}
    fn shmem_clear_cache_line_inv(_dest: *mut c_void) {}
    fn shmem_udcflush_line(_dest: *mut c_void) {}
}
