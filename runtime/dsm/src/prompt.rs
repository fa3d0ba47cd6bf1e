//! Threads that serve pages and messages run when there is work for them, whatever else their CPUs do.
//!
//! Such a thread works for some microseconds at a time, and all threads of a node may wait for it. On a CPU whose
//! other threads compute without a pause, the kernel shares time out fairly: a thread that has just served a burst
//! of faults has had its share, and then waits for the next tick of the clock, up to 4 ms, instead of 20 us. So
//! these threads get the highest priority of ordinary threads, where that is allowed (`CAP_SYS_NICE` or a limit
//! RLIMIT_NICE; root has it).

use hetmp_core::topo::{self, CpuSet};

/// The highest priority of ordinary threads.
const HIGHEST: libc::c_int = -20;

/// Makes the calling thread run at once when it is woken, and makes its sleeps end when they should: by default the
/// system may add 50 us. A refusal costs nothing but time.
pub(crate) fn be_prompt() {
    // SAFETY: both calls change the calling thread only: on Linux `PRIO_PROCESS` and 0 name this thread.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1000);
        libc::setpriority(libc::PRIO_PROCESS, 0, HIGHEST);
    }
}

/// Binds the calling thread to these CPUs. A refusal costs nothing but time.
pub(crate) fn stay_on(cpus: &CpuSet) {
    let _: std::io::Result<()> = topo::set_affinity(cpus);
}
