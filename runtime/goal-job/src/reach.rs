//! Reading messages where they lie: in the memory of other ranks' processes on this machine.
//!
//! A message through a [ring](crate::ring) is copied twice, and its two ranks take turns: on a busy machine each turn
//! waits for a processor. `process_vm_readv` copies once, without the other process. The system allows it to processes
//! of one user that may trace each other; in a container, or where tracing is restricted, it does not, and messages
//! take the ring.
//!
//! Of a long message the sender copies pieces too, by `process_vm_writev`, if it has nothing else to do: which, a word
//! in the receiver's segment decides ([`crate::share`]).

use crate::link::{self, Here};
use crate::ring::RING;
use crate::share::{Cursor, Found, MOST};
use hetmp_goal::rank::{Copied, Reach};

/// Bytes of a piece: what a ring holds, some microseconds' work.
const PIECE: u64 = RING;

/// Of a message of `bytes` bytes: how many pieces it has.
fn pieces(bytes: u64) -> u64 {
    bytes.div_ceil(PIECE)
}

/// A piece of a message: where it begins, and its length.
fn piece(i: u64, bytes: u64) -> (u64, u64) {
    (i * PIECE, (bytes - i * PIECE).min(PIECE))
}

/// The processes of the ranks whose segments are mapped here.
#[derive(Debug)]
pub(crate) struct Processes {
    here: Here,
    /// By rank: where its segment is mapped; null if it is not.
    bases: Box<[*mut u8]>,
    /// By rank: whether its process can be read; `None` until that was tried.
    readable: Box<[Option<bool>]>,
    /// By rank: a piece could not be written there.
    refused: Box<[bool]>,
    /// By rank: the message before whose first piece its process was looked at again.
    sure: Box<[Option<u32>]>,
}

// SAFETY: the segments stay mapped as long as the process, and `link` reads atomic words of them only.
unsafe impl Send for Processes {}

impl Processes {
    /// # Safety
    /// Each of `bases`, by rank, is null, or the start of a segment of the layout of `here` that stays mapped as long
    /// as the process; so is the base of `here`.
    pub(crate) unsafe fn new(here: Here, bases: Box<[*mut u8]>) -> Processes {
        Processes {
            here,
            refused: vec![false; bases.len()].into(),
            sure: vec![None; bases.len()].into(),
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
        let read = unsafe {
            copy(
                libc::process_vm_readv,
                pid,
                to,
                link::place_in_process(expected[0]),
                16,
            )
        };
        read && expected[1] != 0 && found == expected
    }
}

impl Processes {
    /// The process of a rank, if it can be read.
    fn process(&mut self, peer: u32) -> Option<u32> {
        let base = self.bases[peer as usize];
        if base.is_null() {
            return None;
        }
        if self.readable[peer as usize].is_none() {
            self.readable[peer as usize] = Some(self.is_readable(peer));
        }
        // SAFETY: who called `new` has promised that `base` is the start of a `Layout` that stays mapped.
        let pid = unsafe { link::process(base) };
        (self.readable[peer as usize] == Some(true)).then_some(pid)
    }

    /// The word of the messages that `peer` sends here.
    fn from(&self, peer: u32) -> &'static Cursor {
        // SAFETY: who called `new` has promised that this is the start of a segment of the layout that stays mapped.
        unsafe { link::shared(self.here.base, self.here.layout, peer) }
    }
}

impl Reach for Processes {
    fn read(&mut self, peer: u32, from: u64, to: u64, bytes: u64) -> bool {
        // SAFETY: the rank gives the place of a receive, which is as long as the message.
        self.process(peer)
            .is_some_and(|pid| unsafe { copy(libc::process_vm_readv, pid, to, from, bytes) })
    }

    fn has_pieces(&mut self, peer: u32, bytes: u64) -> bool {
        (2..=MOST).contains(&pieces(bytes)) && self.process(peer).is_some()
    }

    fn open(&mut self, peer: u32, number: u32) -> bool {
        self.from(peer).open(number)
    }

    fn pull(&mut self, peer: u32, number: u32, from: u64, to: u64, bytes: u64) -> Copied {
        let cursor = self.from(peer);
        match cursor.read(number, pieces(bytes)) {
            Found::Piece(i) => {
                let (at, n) = piece(i, bytes);
                let (Some(from), Some(to)) = (from.checked_add(at), to.checked_add(at)) else {
                    cursor.close();
                    return Copied::Piece;
                };
                if !self.read(peer, from, to, n) {
                    cursor.close();
                }
                Copied::Piece
            }
            Found::Written => Copied::Waits,
            Found::Whole => Copied::All,
            Found::Closed => Copied::Closed,
        }
    }

    fn push(&mut self, peer: u32, number: u32, from: u64, to: u64, bytes: u64) -> bool {
        if self.refused[peer as usize] {
            return false;
        }
        let Some(pid) = self.process(peer) else {
            return false;
        };
        // Another process may have got the number of one that has died.
        if self.sure[peer as usize] != Some(number) {
            self.refused[peer as usize] = !self.is_readable(peer);
            self.sure[peer as usize] = Some(number);
            return self.push(peer, number, from, to, bytes);
        }
        let base = self.bases[peer as usize];
        // SAFETY: who called `new` has promised that `base` is the start of a segment of the layout that stays mapped.
        let (cursor, bell) = unsafe {
            let me = self.here.rank;
            (link::shared(base, self.here.layout, me), link::bell(base))
        };
        let Some(i) = cursor.write(number, pieces(bytes)) else {
            return false;
        };
        let (at, n) = piece(i, bytes);
        let wrote = match (from.checked_add(at), to.checked_add(at)) {
            // SAFETY: the rank gives the place of a send that goes on, which is as long as the message.
            (Some(from), Some(to)) => unsafe { copy(libc::process_vm_writev, pid, from, to, n) },
            _ => false,
        };
        self.refused[peer as usize] = !wrote;
        cursor.written(wrote);
        // The receiver may have found nothing left to read, and sleep.
        bell.ring();
        wrote
    }

    fn close(&mut self, peer: u32) {
        self.from(peer).close();
    }
}

/// `process_vm_readv` or `process_vm_writev`.
type Call = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> libc::ssize_t;

/// Copies bytes between this process and another one. False if not all could be copied.
///
/// # Safety
/// `here` is the address of `bytes` bytes that can be read, or written, as `call` does.
unsafe fn copy(call: Call, pid: u32, here: u64, there: u64, bytes: u64) -> bool {
    let mut done = 0u64;
    while done < bytes {
        let piece = |at: u64| libc::iovec {
            iov_base: core::ptr::with_exposed_provenance_mut((at + done) as usize),
            iov_len: (bytes - done) as usize,
        };
        let (Some(_), Some(_)) = (here.checked_add(bytes), there.checked_add(bytes)) else {
            return false;
        };
        let (mine, other) = (piece(here), piece(there));
        // SAFETY: who calls has promised that `here` can be read or written. The system checks `there`, which is not
        // this process's.
        let n = unsafe {
            call(
                pid as libc::pid_t,
                &raw const mine,
                1,
                &raw const other,
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
    use crate::link::Layout;

    #[test]
    fn bytes_are_copied_and_what_is_not_there_is_refused() {
        let (from, mut to) = (vec![7u8; 100_000], vec![0u8; 100_000]);
        let address = |p: *const u8| p.expose_provenance() as u64;
        let (at, into) = (address(from.as_ptr()), address(to.as_mut_ptr()));
        let me = std::process::id();
        // SAFETY: `to` has 100,000 bytes.
        unsafe {
            assert!(copy(libc::process_vm_readv, me, into, at, 100_000));
            assert!(!copy(libc::process_vm_readv, me, into, 8, 100_000));
            assert!(!copy(
                libc::process_vm_readv,
                me,
                into,
                u64::MAX - 8,
                100_000
            ));
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
        let here = Here {
            rank: 0,
            base,
            layout: Layout::new(2),
        };
        // SAFETY: a page that is there as long as `reach`; only the words of its first lines are read.
        let mut reach = unsafe { Processes::new(here, [core::ptr::null_mut(), base].into()) };
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
