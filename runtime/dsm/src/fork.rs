//! Nodes of this machine: forked from the origin, so that all have the same addresses, libraries and environment.
//!
//! Each node is the child of a process that has ended: the program's `wait` never sees it. A socket connects it with the
//! origin, and nothing is ever written there: its end of file says that the other process is gone, however
//! it ended. Until they have joined their job, nodes tell each other small values on a board in memory that all map.

use crate::NodeId;
use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_core::bootstrap::Exchange;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Bytes that a node has on the board.
const AREA: usize = 16 << 10;
/// Bytes of the board's head.
const HEAD: usize = 128;

/// A forked node's number, and its connections.
#[derive(Debug)]
pub struct Forked {
    /// This process.
    pub me: NodeId,
    /// How many there are.
    pub count: NodeId,
    board: Arc<Board>,
    /// Of the origin: one to every other node, by number less one. Of a node: one, to the origin.
    lifelines: Vec<OwnedFd>,
}

#[derive(Debug)]
struct Board {
    at: *mut u8,
    len: usize,
}

// SAFETY: the board is used through atomics, or, in areas, by their owner before it counts up the atomic `used`.
unsafe impl Send for Board {}
// SAFETY: threads share the board through atomics, or read areas up to `used`, which nobody writes again.
unsafe impl Sync for Board {}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: mapped by `make`, and nobody uses it any more.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

impl Board {
    fn make(nodes: usize) -> io::Result<Board> {
        let len = HEAD + nodes * AREA;
        // SAFETY: a new mapping.
        let at = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Board { at: at.cast(), len })
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset % 4 == 0 && offset + 4 <= self.len);
        // SAFETY: in bounds and aligned, zero at first, and only ever used as an atomic.
        unsafe { AtomicU32::from_ptr(self.at.add(offset).cast()) }
    }

    /// Nodes that came to a fence, all fences counted.
    fn fences(&self) -> &AtomicU32 {
        self.word(0)
    }

    fn used(&self, node: usize) -> &AtomicU32 {
        self.word(HEAD + node * AREA)
    }

    /// A node's records, as far as it has published them.
    fn area(&self, node: usize) -> &[u8] {
        let used = self.used(node).load(Ordering::Acquire) as usize;
        // SAFETY: in bounds; what lies below `used` is never written again.
        unsafe {
            core::slice::from_raw_parts(self.at.add(HEAD + node * AREA + 4), used.min(AREA - 4))
        }
    }

    fn append(&self, node: usize, record: &[u8]) -> Result<(), String> {
        let used = self.used(node).load(Ordering::Relaxed) as usize;
        if used + record.len() > AREA - 4 {
            return Err(format!(
                "values of node {node}: at most {AREA} bytes are accepted"
            ));
        }
        // SAFETY: in bounds; only this node writes here, behind what it has published.
        unsafe {
            self.at
                .add(HEAD + node * AREA + 4 + used)
                .copy_from_nonoverlapping(record.as_ptr(), record.len());
        }
        self.used(node)
            .store((used + record.len()) as u32, Ordering::Release);
        Ok(())
    }
}

/// Makes `count - 1` nodes. Returns in each of them, and in the origin, which is node 0.
///
/// # Errors
/// There is no memory, socket or process left; nodes that were made before end by themselves.
///
/// # Safety
/// As `fork`: the process has no other thread whose state the nodes need.
pub unsafe fn fork(count: NodeId) -> io::Result<Forked> {
    let board = Arc::new(Board::make(usize::from(count))?);
    let mut lifelines: Vec<OwnedFd> = Vec::new();
    for me in 1..count {
        let (here, there) = pair()?;
        // SAFETY: the process has no other thread whose state the child needs: who calls this function upholds that.
        let child = unsafe { libc::fork() };
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        if child > 0 {
            let mut status = 0;
            // SAFETY: a child of ours, which ends at once.
            while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0 {
                if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                    break;
                }
            }
            lifelines.push(here);
            continue;
        }
        // SAFETY: a forked child has one thread, this one. The parent of the node ends without running anything of the program.
        match unsafe { libc::fork() } {
            0 => {}
            // The origin sees the end of file.
            // SAFETY: _exit has no preconditions.
            _ => unsafe { libc::_exit(0) },
        }
        // The origin's ends, the own one among them: as long as one is open somewhere, its end goes unnoticed.
        drop(here);
        lifelines.clear();
        return Ok(Forked {
            me,
            count,
            board,
            lifelines: vec![there],
        });
    }
    Ok(Forked {
        me: 0,
        count,
        board,
        lifelines,
    })
}

fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: room for two descriptors, which are ours.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// Who has gone: the node's number.
fn gone(me: NodeId, fds: &[RawFd], timeout_ms: i32) -> Option<NodeId> {
    let mut polled: Vec<libc::pollfd> = fds
        .iter()
        .map(|fd| libc::pollfd {
            fd: *fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // SAFETY: an array of as many as said.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, timeout_ms) };
    let at = polled.iter().position(|p| p.revents != 0)?;
    Some(if me == 0 { at as NodeId + 1 } else { 0 })
}

impl Forked {
    /// The exchange by which the nodes find each other.
    pub fn exchange(&self) -> Box<dyn Exchange> {
        Box::new(OnBoard {
            me: self.me,
            count: self.count,
            board: self.board.clone(),
            lifelines: self.lifelines.iter().map(AsRawFd::as_raw_fd).collect(),
            fences: 0,
        })
    }

    /// Waits until a process is gone that this one cannot go on without, and returns its number. The origin needs all,
    /// a node the origin.
    pub(crate) fn wait_for_the_end(&self) -> NodeId {
        let fds: Vec<RawFd> = self.lifelines.iter().map(AsRawFd::as_raw_fd).collect();
        loop {
            if let Some(node) = gone(self.me, &fds, -1) {
                return node;
            }
        }
    }
}

struct OnBoard {
    me: NodeId,
    count: NodeId,
    board: Arc<Board>,
    lifelines: Vec<RawFd>,
    fences: u32,
}

/// A record: lengths of key and value as two bytes each, then both.
fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let mut r = Vec::with_capacity(4 + key.len() + value.len());
    r.extend((key.len() as u16).to_le_bytes());
    r.extend((value.len() as u16).to_le_bytes());
    r.extend(key.as_bytes());
    r.extend(value);
    r
}

fn find(mut records: &[u8], key: &str) -> Option<Vec<u8>> {
    while let Some((head, rest)) = records.split_first_chunk::<4>() {
        let k = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let v = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let (name, rest) = rest.split_at_checked(k)?;
        let (value, rest) = rest.split_at_checked(v)?;
        if name == key.as_bytes() {
            return Some(value.to_vec());
        }
        records = rest;
    }
    None
}

impl Exchange for OnBoard {
    fn rank(&self) -> u32 {
        self.me.into()
    }

    fn size(&self) -> u32 {
        self.count.into()
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), String> {
        if value.len() > usize::from(u16::MAX) {
            return Err(format!(
                "value of {} bytes: 65535 are accepted",
                value.len()
            ));
        }
        self.board.append(self.me.into(), &record(key, value))
    }

    fn fence(&mut self) -> Result<(), String> {
        self.fences += 1;
        let all = self.fences * u32::from(self.count);
        self.board.fences().fetch_add(1, Ordering::AcqRel);
        while self.board.fences().load(Ordering::Acquire) < all {
            // Looks for ends of file, and gives the core to who is still to come.
            if let Some(node) = gone(self.me, &self.lifelines, 0) {
                return Err(format!("node {node} ended while the nodes started"));
            }
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        Ok(())
    }

    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(find(self.board.area(rank as usize), key))
    }

    fn abort(&mut self, _status: i32, _message: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_and_cut_records_are_not() {
        let records = [record("a", b"1"), record("b.c", b""), record("d", b"22")].concat();
        assert_eq!(find(&records, "d"), Some(b"22".to_vec()));
        assert_eq!(find(&records, "b.c"), Some(Vec::new()));
        assert_eq!(find(&records, "e"), None);
        assert_eq!(find(&records[..records.len() - 1], "d"), None);
    }

    #[test]
    fn a_full_area_refuses() {
        let board = Board::make(2).expect("memory");
        let big = vec![7; AREA / 2];
        assert!(board.append(1, &big).is_ok());
        assert!(board.append(1, &big).is_err());
        assert_eq!(board.area(1), &big[..]);
        assert!(board.area(0).is_empty());
    }
}
