//! What the context of a signal says about the access that failed.
//!
//! The pointer is the kernel's, valid while the handler runs; who calls is that handler.

/// Was the access a write?
///
/// # Safety
/// `context` is what the kernel passed to the handler of a fault.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn writes(context: *const libc::ucontext_t) -> bool {
    // SAFETY: the context is the kernel's: this function's contract. Bit 1 of the error code is set for a write.
    unsafe { (*context).uc_mcontext.gregs[libc::REG_ERR as usize] & 2 != 0 }
}

/// Was the access a write? Where the kernel does not say, the instruction does; one that is not known is taken for a
/// write: that fetches the page for writing at once.
///
/// # Safety
/// `context` is what the kernel passed to the handler of a fault.
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn writes(context: *const libc::ucontext_t) -> bool {
    /// `ESR_MAGIC`, and the bit WnR of the syndrome behind it.
    const SYNDROME: u32 = 0x4553_5201;
    const WRITES: u64 = 1 << 6;
    /// Behind the address, 31 registers, `sp`, `pc` and `pstate`, at the next multiple of 16 bytes.
    const RECORDS: usize = 288;
    /// The room that the kernel's `struct sigcontext` has for records.
    const ROOM: usize = 4096;
    // SAFETY: the context is the kernel's: this function's contract. Each record begins with its kind and its size, and
    // one of kind 0 ends the list, which has no more than this room.
    unsafe {
        let records = (&raw const (*context).uc_mcontext)
            .cast::<u8>()
            .add(RECORDS);
        let mut at = 0;
        while at < ROOM {
            let record = records.add(at);
            let [kind, size] = record.cast::<[u32; 2]>().read();
            match (kind, size) {
                (SYNDROME, _) => return record.add(8).cast::<u64>().read() & WRITES != 0,
                (0, _) | (_, 0) => break,
                (_, size) => at += size as usize,
            }
        }
    }
    // SAFETY: the kernel says which instruction faulted, and the thread was about to execute it.
    let instruction = unsafe {
        let at: *const u32 = core::ptr::with_exposed_provenance((*context).uc_mcontext.pc as usize);
        at.read()
    };
    super::a64::writes(instruction).unwrap_or(true)
}
