//! Nodes of this machine: forked from the origin, so that all have the same addresses, libraries and environment.
//!
//! Each node is the grandchild of the origin, and its parent has ended: the program's `wait` never sees it. A
//! socket connects each node with the origin. Nothing is ever written to it: its end of file says that the
//! other process is gone, however it ended. Until the nodes have joined their job, they exchange small values
//! on a board in memory that all of them map. A second socket (a *door*) carries the node's userfaultfd to the origin.

use crate::counts::{self, Counts};
use crate::meeting::Meeting;
use crate::NodeId;
use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_core::bootstrap::Exchange;
use hetmp_core::topo::{self, CpuSet};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Bytes of a node's area on the board.
const AREA: usize = 16 << 10;
/// Bytes of the board's head.
const HEAD: usize = 128;

/// A forked node's number, and its connections.
#[derive(Debug)]
pub struct Forked {
    /// The number of this process.
    pub me: NodeId,
    /// The number of nodes.
    pub count: NodeId,
    board: Arc<Board>,
    /// The sockets. In the origin: one to every other node, in the order of their numbers from 1 on. In a
    /// node: one, to the origin.
    lifelines: Lifelines,
    /// More sockets, in the same order.
    doors: Vec<OwnedFd>,
    counts: &'static [Counts],
    meeting: &'static Meeting,
    /// The CPUs of each node; empty if there are fewer CPUs than nodes.
    cpus: Vec<CpuSet>,
}

#[derive(Debug)]
struct Board {
    at: *mut u8,
    len: usize,
}

// SAFETY: the board is used through atomics. An area is written by its owner only, before the owner counts up
// the atomic `used`.
unsafe impl Send for Board {}
// SAFETY: threads share the board through atomics, and read areas only up to `used`, which nobody writes
// again.
unsafe impl Sync for Board {}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: `make` mapped the board, and its last user drops it.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

impl Board {
    fn make(nodes: usize) -> io::Result<Board> {
        let len = HEAD + nodes * AREA;
        // SAFETY: the call makes a new mapping.
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

    /// Arrivals of nodes at fences, summed over all fences.
    fn fences(&self) -> &AtomicU32 {
        self.word(0)
    }

    fn used(&self, node: usize) -> &AtomicU32 {
        self.word(HEAD + node * AREA)
    }

    /// A node's records that it has published so far.
    fn area(&self, node: usize) -> &[u8] {
        let used = self.used(node).load(Ordering::Acquire) as usize;
        // SAFETY: in bounds; bytes below `used` are never written again.
        unsafe {
            core::slice::from_raw_parts(self.at.add(HEAD + node * AREA + 4), used.min(AREA - 4))
        }
    }

    fn append(&self, node: usize, record: &[u8]) -> Result<(), String> {
        let used = self.used(node).load(Ordering::Relaxed) as usize;
        if used + record.len() > AREA - 4 {
            return Err(format!(
                "values of node {node}: too long (expected at most {AREA} bytes)"
            ));
        }
        // SAFETY: in bounds; only this node writes its area, behind the bytes that it has published.
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
/// There is no memory, socket or process left. Nodes that were made before end by themselves.
///
/// # Safety
/// As for `fork`: the process has no other thread whose state the nodes need.
pub unsafe fn fork(count: NodeId) -> io::Result<Forked> {
    let board = Arc::new(Board::make(usize::from(count))?);
    let (counts, meeting) = (counts::shared(count)?, Meeting::shared()?);
    let cpus = parts(&topo::affinity(), count.into());
    let mut lifelines: Vec<OwnedFd> = Vec::new();
    let mut doors: Vec<OwnedFd> = Vec::new();
    for me in 1..count {
        let (here, there) = pair()?;
        let (door_here, door_there) = pair()?;
        // SAFETY: the caller of this function has no other thread whose state the child needs.
        let child = unsafe { libc::fork() };
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        if child > 0 {
            let mut status = 0;
            // SAFETY: the child belongs to this process, and ends at once.
            while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0 {
                if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                    break;
                }
            }
            lifelines.push(here);
            doors.push(door_here);
            continue;
        }
        // SAFETY: a forked child has one thread, this one. The node's parent ends without running code of the
        // program.
        match unsafe { libc::fork() } {
            0 => {}
            // SAFETY: _exit has no preconditions. If the second fork failed, the origin sees the end of file.
            _ => unsafe { libc::_exit(0) },
        }
        // Close the origin's ends here, including the end of this node's own socket: while one of them is
        // open in any process, the end of the origin would go unnoticed.
        drop((here, door_here));
        lifelines.clear();
        doors.clear();
        return Ok(Forked {
            me,
            count,
            board,
            lifelines: Lifelines(me, Arc::new(vec![there])),
            doors: vec![door_there],
            counts,
            meeting,
            cpus,
        });
    }
    Ok(Forked {
        me: 0,
        count,
        board,
        lifelines: Lifelines(0, Arc::new(lifelines)),
        doors,
        counts,
        meeting,
        cpus,
    })
}

/// Divides the CPUs among the nodes. Empty if there are fewer CPUs than nodes.
fn parts(all: &CpuSet, nodes: usize) -> Vec<CpuSet> {
    let (all, mut parts) = (all.iter().collect::<Vec<usize>>(), Vec::new());
    if all.len() >= nodes {
        for n in 0..nodes {
            let part = &all[n * all.len() / nodes..(n + 1) * all.len() / nodes];
            parts.push(part.iter().copied().collect());
        }
    }
    parts
}

/// A message of one byte with room for one descriptor next to it. `body` gets the message's head.
fn with_descriptor<R>(body: impl FnOnce(&mut libc::msghdr) -> R) -> R {
    #[repr(align(8))]
    struct Control([u8; 64]);
    let mut byte = 0u8;
    let mut control = Control([0; 64]);
    let mut part = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    // SAFETY: plain data, whose parts are set below.
    let mut head: libc::msghdr = unsafe { core::mem::zeroed() };
    head.msg_iov = &raw mut part;
    head.msg_iovlen = 1;
    head.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: a computation with a small number.
    head.msg_controllen = unsafe { libc::CMSG_SPACE(4) } as usize;
    body(&mut head)
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

/// The number of a node that is gone, if there is one within `timeout_ms` milliseconds (-1: wait for one).
fn gone(me: NodeId, fds: &[RawFd], timeout_ms: i32) -> Option<NodeId> {
    let mut polled: Vec<libc::pollfd> = fds
        .iter()
        .map(|fd| libc::pollfd {
            fd: *fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // SAFETY: the array has the length that is passed.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, timeout_ms) };
    let at = polled.iter().position(|p| p.revents != 0)?;
    Some(if me == 0 { at as NodeId + 1 } else { 0 })
}

/// The sockets by which a process notices the end of those that it needs: its number, and the sockets.
#[derive(Clone, Debug)]
pub(crate) struct Lifelines(NodeId, Arc<Vec<OwnedFd>>);

impl Lifelines {
    /// This process's number.
    pub(crate) fn me(&self) -> NodeId {
        self.0
    }

    /// The number of a node that is gone, if there is one within `timeout_ms` milliseconds (-1: wait for one).
    pub(crate) fn gone(&self, timeout_ms: i32) -> Option<NodeId> {
        let fds: Vec<RawFd> = self.1.iter().map(AsRawFd::as_raw_fd).collect();
        gone(self.0, &fds, timeout_ms)
    }
}

impl Forked {
    pub(crate) fn lifelines(&self) -> Lifelines {
        self.lifelines.clone()
    }

    /// The exchange through which the nodes find each other.
    pub fn exchange(&self) -> Box<dyn Exchange> {
        Box::new(OnBoard {
            me: self.me,
            count: self.count,
            board: self.board.clone(),
            lifelines: self.lifelines.clone(),
            fences: 0,
        })
    }

    /// The counts of all nodes.
    pub(crate) fn counts(&self) -> &'static [Counts] {
        self.counts
    }

    /// Where the nodes meet.
    pub(crate) fn meeting(&self) -> &'static Meeting {
        self.meeting
    }

    /// The nodes have these CPUs, in place of equal parts. Where two nodes have a CPU in common, none has any of its
    /// own: a thread must not wait for another node without giving that CPU up.
    pub fn keep_to(&mut self, cpus: Vec<CpuSet>) {
        let all: usize = cpus.iter().map(CpuSet::count).sum();
        let mut together = CpuSet::default();
        cpus.iter().for_each(|c| together.extend_from(c));
        self.cpus = match together.count() == all {
            true => cpus,
            false => Vec::new(),
        };
    }

    /// The CPUs of a node; `None` if there are fewer CPUs than nodes.
    pub fn cpus(&self, node: NodeId) -> Option<CpuSet> {
        self.cpus.get(usize::from(node)).cloned()
    }

    /// Gives the origin a descriptor. Called once by each other node.
    pub(crate) fn hand_over(&self, fd: RawFd) -> io::Result<()> {
        let door = &self.doors[0];
        with_descriptor(|head| {
            // SAFETY: the control buffer has room for one header and one descriptor, and is aligned for the header.
            let sent = unsafe {
                let control = libc::CMSG_FIRSTHDR(head);
                (*control).cmsg_level = libc::SOL_SOCKET;
                (*control).cmsg_type = libc::SCM_RIGHTS;
                (*control).cmsg_len = libc::CMSG_LEN(4) as usize;
                libc::CMSG_DATA(control).cast::<RawFd>().write_unaligned(fd);
                libc::sendmsg(door.as_raw_fd(), head, libc::MSG_NOSIGNAL)
            };
            match sent {
                1 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        })
    }

    /// The descriptor that `node` handed over; waits for it. Called by the origin, once for each other node.
    pub(crate) fn take_over(&self, node: NodeId) -> io::Result<OwnedFd> {
        let door = &self.doors[usize::from(node) - 1];
        with_descriptor(|head| {
            let got = loop {
                // SAFETY: the head's buffers live during the call.
                let got = unsafe { libc::recvmsg(door.as_raw_fd(), head, libc::MSG_CMSG_CLOEXEC) };
                let error = io::Error::last_os_error();
                if got >= 0 {
                    break got;
                }
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            };
            // SAFETY: the kernel has filled the control buffer, and says with its length how much of it.
            unsafe {
                let control = libc::CMSG_FIRSTHDR(head);
                if got != 1 || control.is_null() || (*control).cmsg_type != libc::SCM_RIGHTS {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                let fd = libc::CMSG_DATA(control).cast::<RawFd>().read_unaligned();
                Ok(OwnedFd::from_raw_fd(fd))
            }
        })
    }

    /// Waits until a process is gone that this node needs, and returns its number. The origin needs all
    /// nodes; a node needs the origin.
    pub(crate) fn wait_for_the_end(&self) -> NodeId {
        loop {
            if let Some(node) = self.lifelines.gone(-1) {
                return node;
            }
        }
    }
}

struct OnBoard {
    me: NodeId,
    count: NodeId,
    board: Arc<Board>,
    lifelines: Lifelines,
    fences: u32,
}

/// A record: the lengths of key and value, two bytes each, then key and value.
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
                "value of {} bytes: too long (expected at most 65535)",
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
            // Look for nodes that have ended, and leave the core to nodes that have not come yet.
            if let Some(node) = self.lifelines.gone(0) {
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
    fn every_cpu_is_of_one_node() {
        let all: CpuSet = [1, 2, 5, 6, 7].into_iter().collect();
        let shown = |n| -> Vec<Vec<usize>> {
            let parts = parts(&all, n);
            parts.iter().map(|p| p.iter().collect()).collect()
        };
        assert_eq!(shown(2), [vec![1, 2], vec![5, 6, 7]]);
        assert_eq!(shown(5), [[1], [2], [5], [6], [7]]);
        assert!(shown(6).is_empty());
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
