//! Atomics and yielding, from `core` in real builds and from loom in model builds.
//!
//! Every lock-free structure of hetmp imports its atomics from here, so that the same source is
//! compiled for the machine and for the model checker (`RUSTFLAGS="--cfg loom"`).

#[cfg(not(loom))]
pub use core::sync::atomic::{
    fence, AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
#[cfg(loom)]
pub use loom::sync::atomic::{
    fence, AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

/// One turn of a spin loop: the processor's pause hint, or a scheduling point of the model.
#[inline(always)]
pub fn pause() {
    #[cfg(not(loom))]
    core::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// The calling thread will write to the line of an address soon: the processor fetches it from the other cores
/// meanwhile. A hint, for any address.
#[inline(always)]
pub fn will_write(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads and writes nothing, and never faults.
    unsafe {
        core::arch::asm!("prefetchw [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as on x86-64.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = address;
}

/// As [`will_write`], for a thread that will read.
#[inline(always)]
pub fn will_read(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads and writes nothing, and never faults.
    unsafe {
        core::arch::asm!("prefetcht0 [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as on x86-64.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = address;
}

/// The kernel's side of a futex in model builds. Comparing and going to sleep are one step, as in the kernel.
#[cfg(loom)]
#[derive(Debug, Default)]
pub struct Futex(loom::sync::Mutex<()>, loom::sync::Condvar);

#[cfg(loom)]
impl Futex {
    /// A word that nobody sleeps on.
    pub fn new() -> Futex {
        Futex(loom::sync::Mutex::new(()), loom::sync::Condvar::new())
    }

    /// Sleeps while `*word == expected`, until woken.
    pub fn wait(&self, word: &AtomicU32, expected: u32) {
        let guard = self.0.lock().expect("model mutex");
        // A read-modify-write reads the latest value, as the kernel does.
        if word.fetch_add(0, Ordering::SeqCst) == expected {
            drop(self.1.wait(guard).expect("model condvar"));
        }
    }

    /// Wakes one sleeper.
    pub fn wake_one(&self) {
        let _guard = self.0.lock().expect("model mutex");
        self.1.notify_one();
    }

    /// Wakes all sleepers.
    pub fn wake_all(&self) {
        let _guard = self.0.lock().expect("model mutex");
        self.1.notify_all();
    }
}
