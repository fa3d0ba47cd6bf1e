//! Objects that are unloaded: another one may come to lie where one was, and what is known of code is kept by address.
//!
//! The loader's records are read inside of its walk only.

use core::sync::atomic::{AtomicU64, Ordering};

/// Has an object been unloaded since the last call? Call this without any lock.
pub(super) fn noticed() -> bool {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let now = unloads();
    SEEN.load(Ordering::Relaxed) != now && SEEN.swap(now, Ordering::Relaxed) != now
}

/// How many objects have been unloaded so far.
fn unloads() -> u64 {
    /// Reads only the first object's record: the count is the same in all records.
    unsafe extern "C" fn count(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid record, and `data` leads to `subs`.
        unsafe { *data.cast::<u64>() = (*info).dlpi_subs };
        1
    }
    let mut subs = 0u64;
    // SAFETY: `count` gets the address of `subs`, which outlives the call.
    unsafe { hetmp_core::whole::each_object(count, (&raw mut subs).cast()) };
    subs
}
