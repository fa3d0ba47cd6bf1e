//! Pages and addresses, as this machine's kernel has them. On 64-bit Arm a kernel has pages of 4, 16 or 64 KiB, and
//! gives a process 39 to 48 bits of addresses.

/// The largest page of any kernel, bytes. Layouts that processes share consist of multiples of it: every kernel can
/// map them, and processes under kernels with unlike pages agree about them.
pub const LARGEST: usize = 64 << 10;

/// The kernel's page, bytes: what it maps, protects and gives back. A power of two, [`LARGEST`] at most.
#[must_use]
pub fn size() -> usize {
    // SAFETY: sysconf has no preconditions. The C library answers from memory.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    debug_assert!(size > 0 && (size as usize).is_power_of_two());
    size as usize
}

/// The start of the page that holds `address`.
#[must_use]
pub fn floor(address: usize) -> usize {
    address & !(size() - 1)
}

/// The end of the last page that holds a byte below `address`.
#[must_use]
pub fn ceil(address: usize) -> usize {
    address.next_multiple_of(size())
}

/// The end of the addresses that the kernel gives this process: a power of two. The kernel puts main's stack, and with
/// it the bytes that the auxiliary vector names, right below.
#[must_use]
pub fn addresses() -> usize {
    // SAFETY: getauxval has no preconditions.
    let near_the_end = unsafe { libc::getauxval(libc::AT_RANDOM) } as usize;
    near_the_end.next_power_of_two()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn this_kernels_pages_and_addresses() {
        assert!(size().is_power_of_two() && (4096..=LARGEST).contains(&size()));
        let at = core::ptr::from_ref(&0).addr();
        assert!(floor(at) <= at && at <= ceil(at) && ceil(at) - floor(at) <= size());
        assert_eq!(ceil(floor(at)), floor(at));
        let local = 0;
        let stack = core::ptr::from_ref(&local).addr();
        assert!(stack < addresses() && addresses() >= 1 << 39);
    }
}
