//! How many CPUs a thread may use: asked anew, or once.

use crate::init;
use hetmp_core::whole::OnceLock;

/// The number of CPUs that the calling thread could use at the first call. libomp counts when the program first asks or
/// first needs other threads.
pub(crate) fn count_once() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| allowed_now().unwrap_or_else(|| init::globals().allowed.count()))
}

/// Size of the calling thread's affinity mask.
pub(crate) fn allowed_now() -> Option<usize> {
    // The kernel refuses buffers smaller than its own mask; it supports at most 8192 CPUs.
    let mut words = [0u64; 128];
    // SAFETY: the buffer has the size given.
    let bytes = unsafe {
        libc::syscall(
            libc::SYS_sched_getaffinity,
            0,
            core::mem::size_of_val(&words),
            words.as_mut_ptr(),
        )
    };
    if bytes <= 0 {
        return None;
    }
    let count: u32 = words.iter().map(|w| w.count_ones()).sum();
    (count > 0).then_some(count as usize)
}
