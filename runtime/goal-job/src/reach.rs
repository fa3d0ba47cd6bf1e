//! Reading messages where they lie: in the memory of other ranks' processes on this machine.
//!
//! A message through a [ring](crate::ring) is copied twice, and its two ranks take turns: on a busy machine each turn
//! waits for a processor. `process_vm_readv` copies once, without the other process. The system allows it to processes
//! of one user that may trace each other; in a container, or where tracing is restricted, it does not, and messages
//! take the ring.

use crate::link;
use hetmp_goal::rank::Reach;

/// The processes of the ranks whose segments are mapped here.
#[derive(Debug)]
pub(crate) struct Processes {
    /// By rank: where its segment is mapped; null if it is not.
    bases: Box<[*mut u8]>,
    /// By rank: whether its process can be read; `None` until that was tried.
    readable: Box<[Option<bool>]>,
}

// SAFETY: the segments stay mapped as long as the process, and `link` reads atomic words of them only.
unsafe impl Send for Processes {}

impl Processes {
    /// # Safety
    /// Each of `bases` is null, or the start of a [`link::Layout`] that stays mapped as long as the process.
    pub(crate) unsafe fn new(bases: Box<[*mut u8]>) -> Processes {
        Processes {
            readable: vec![None; bases.len()].into(),
            bases,
        }
    }

    /// Whether the process that the rank has named is the rank's, and can be read. In another namespace of processes
    /// the number may be that of any process: the rank's own has its random number where it says.
    fn is_readable(&self, peer: u32) -> bool {
        let base = self.bases[peer as usize];
        // SAFETY: who called `new` has promised that `base` is the start of a `Layout` that stays mapped.
        let (pid, expected) = unsafe { (link::process(base), link::place(base)) };
        let mut found = [0u64; 2];
        let to = (&raw mut found).expose_provenance() as u64;
        // SAFETY: `found` has 16 bytes.
        let read = unsafe { copy(pid, link::place_in_process(expected[0]), to, 16) };
        read && expected[1] != 0 && found == expected
    }
}

impl Reach for Processes {
    fn read(&mut self, peer: u32, from: u64, to: u64, bytes: u64) -> bool {
        let base = self.bases[peer as usize];
        if base.is_null() {
            return false;
        }
        if self.readable[peer as usize].is_none() {
            self.readable[peer as usize] = Some(self.is_readable(peer));
        }
        // SAFETY: who called `new` has promised that `base` is the start of a `Layout` that stays mapped.
        let pid = unsafe { link::process(base) };
        // SAFETY: the rank gives the place of a receive, which is as long as the message.
        self.readable[peer as usize] == Some(true) && unsafe { copy(pid, from, to, bytes) }
    }
}

/// Copies bytes of another process to this one. False if not all could be copied.
///
/// # Safety
/// `to` is the address of `bytes` bytes that can be written.
unsafe fn copy(pid: u32, from: u64, to: u64, bytes: u64) -> bool {
    let mut done = 0u64;
    while done < bytes {
        let piece = |at: u64| libc::iovec {
            iov_base: core::ptr::with_exposed_provenance_mut((at + done) as usize),
            iov_len: (bytes - done) as usize,
        };
        let (Some(_), Some(_)) = (from.checked_add(bytes), to.checked_add(bytes)) else {
            return false;
        };
        let (here, there) = (piece(to), piece(from));
        // SAFETY: who calls has promised that `here` can be written. The system checks `there`, which is not this
        // process's.
        let n = unsafe {
            libc::process_vm_readv(
                pid as libc::pid_t,
                &raw const here,
                1,
                &raw const there,
                1,
                0,
            )
        };
        if n <= 0 {
            return false;
        }
        done += n as u64;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_copied_and_what_is_not_there_is_refused() {
        let (from, mut to) = (vec![7u8; 100_000], vec![0u8; 100_000]);
        let address = |p: *const u8| p.expose_provenance() as u64;
        let (at, into) = (address(from.as_ptr()), address(to.as_mut_ptr()));
        let me = std::process::id();
        // SAFETY: `to` has 100,000 bytes.
        unsafe {
            assert!(copy(me, at, into, 100_000));
            assert!(!copy(me, 8, into, 100_000));
            assert!(!copy(me, u64::MAX - 8, into, 100_000));
        }
        assert_eq!(from, to);
    }

    #[test]
    fn another_process_with_the_number_is_not_read() {
        // A segment that says it is this process's, with another number than there is at the place that it names.
        let mut page = vec![0u64; 512];
        page[8] = std::process::id().into();
        let base = page.as_mut_ptr().cast::<u8>();
        page[9] = base.expose_provenance() as u64;
        page[10] = 5;
        // SAFETY: a page that is there as long as `reach`; only the words of its first lines are read.
        let mut reach = unsafe { Processes::new([core::ptr::null_mut(), base].into()) };
        assert!(reach.is_readable(1));
        let other = vec![0u64; 512];
        page[9] = other.as_ptr().expose_provenance() as u64;
        assert!(!reach.is_readable(1));
        let mut word = 3u64;
        let to = (&raw mut word).expose_provenance() as u64;
        assert!(!reach.read(0, page[9], to, 8) && !reach.read(1, page[9], to, 8));
        assert_eq!(word, 3);
    }
}
