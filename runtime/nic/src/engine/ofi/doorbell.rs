//! Something to sleep on, for providers that have nothing (`shm`, whose peers are on this machine).
//!
//! Every rank has a page, in which it says that it is about to sleep, and a socket to sleep on. A rank that has handed
//! the provider something for a peer looks into the peer's page, and writes to the socket of a peer that sleeps. As
//! long as nobody sleeps, that costs a fence and a load for each peer.
//!
//! # Memory ordering
//! A sleeper stores `asleep`, then looks once more for what has come, then sleeps. A sender first hands its operation
//! to the provider, then loads `asleep`. Sequentially consistent fences lie between the two steps on both sides. So the
//! sleeper finds the operation, or the sender finds the sleeper.

use core::sync::atomic::{fence, AtomicU32, Ordering};
use hetmp_core::page;
use hetmp_core::segment::Segment;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A rank's own page and socket.
pub(super) struct Doorbell {
    page: Segment,
    socket: UnixDatagram,
    /// This rank has said that it is about to sleep.
    dozes: bool,
}

/// The page and the socket's address of a peer.
pub(super) struct Knocker {
    page: Segment,
    at: SocketAddr,
}

fn asleep(page: &Segment) -> &AtomicU32 {
    // SAFETY: the page stays mapped as long as the process and is aligned; all its users use this word as an atomic.
    unsafe { AtomicU32::from_ptr(page.base().cast()) }
}

/// Abstract names have a few bytes: this many at most.
const LONGEST_NAME: usize = 107;

impl Doorbell {
    /// `name` is the socket's, which nobody else on this machine may have.
    pub(super) fn new(name: &[u8]) -> std::io::Result<Doorbell> {
        let page = Segment::create(c"hetmp-doorbell", page::LARGEST, page::LARGEST)?;
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        socket.set_nonblocking(true)?;
        Ok(Doorbell {
            page,
            socket,
            dozes: false,
        })
    }

    /// What peers have to know.
    pub(super) fn card(&self) -> Vec<u8> {
        let mut card = Vec::new();
        card.extend_from_slice(&std::process::id().to_le_bytes());
        card.extend_from_slice(&self.page.file().unwrap_or(-1).to_le_bytes());
        let at = self.socket.local_addr().ok();
        card.extend_from_slice(
            at.as_ref()
                .and_then(|a| a.as_abstract_name())
                .unwrap_or(&[]),
        );
        card
    }

    /// Says that this rank is about to sleep. It has to look once more for what has come before it does.
    pub(super) fn doze(&mut self) -> RawFd {
        self.dozes = true;
        asleep(&self.page).store(1, Ordering::Relaxed);
        // See "Memory ordering".
        fence(Ordering::SeqCst);
        self.socket.as_raw_fd()
    }

    /// This rank looks for itself again.
    #[inline]
    pub(super) fn rise(&mut self) {
        if core::mem::take(&mut self.dozes) {
            asleep(&self.page).store(0, Ordering::Relaxed);
            // The socket is emptied even if no peer seems to have written: the word of an earlier one may come late.
            while self.socket.recv(&mut [0; 8]).is_ok() {}
        }
    }

    /// True if this rank has said that it is about to sleep, and has not risen since.
    pub(super) fn dozes(&self) -> bool {
        self.dozes
    }

    /// Wakes a peer that sleeps. What it is to find was handed to the provider, and [`Doorbell::behind`] called since.
    #[inline]
    pub(super) fn wake(&self, peer: &Knocker) {
        let asleep = asleep(&peer.page);
        if asleep.load(Ordering::Relaxed) != 0 && asleep.swap(0, Ordering::Relaxed) != 0 {
            // A socket that is full wakes its reader as well.
            let _ = self.socket.send_to_addr(&[1], &peer.at);
        }
    }

    /// Orders what was handed to the provider before the looks at the peers.
    #[inline]
    pub(super) fn behind() {
        // See "Memory ordering".
        fence(Ordering::SeqCst);
    }
}

impl Knocker {
    /// From what the peer's [`Doorbell::card`] says.
    pub(super) fn new(card: &[u8]) -> Option<Knocker> {
        let (pid, rest) = card.split_first_chunk::<4>()?;
        let (fd, name) = rest.split_first_chunk::<4>()?;
        if name.is_empty() || name.len() > LONGEST_NAME {
            return None;
        }
        let fd = i32::from_le_bytes(*fd);
        Some(Knocker {
            page: Segment::open(u32::from_le_bytes(*pid), fd, page::LARGEST, page::LARGEST).ok()?,
            at: SocketAddr::from_abstract_name(name).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str) -> (Doorbell, Knocker) {
        let name = format!("hetmp-doorbell-{name}-{}", std::process::id());
        let bell = Doorbell::new(name.as_bytes()).expect("a page and a socket");
        let knocker = Knocker::new(&bell.card()).expect("its card");
        (bell, knocker)
    }

    fn heard(bell: &Doorbell) -> bool {
        bell.socket.recv(&mut [0; 8]).is_ok()
    }

    #[test]
    fn who_sleeps_is_woken_once_and_who_does_not_is_not() {
        let (mut bell, of_bell) = pair("sleeper");
        let (caller, _) = pair("caller");
        caller.wake(&of_bell);
        assert!(!heard(&bell), "nobody sleeps");
        bell.doze();
        caller.wake(&of_bell);
        caller.wake(&of_bell);
        assert!(heard(&bell));
        assert!(!heard(&bell), "once");
        bell.doze();
        caller.wake(&of_bell);
        bell.rise();
        assert!(!heard(&bell) && !bell.dozes(), "rising empties the socket");
        caller.wake(&of_bell);
        assert!(!heard(&bell), "awake again");
    }

    #[test]
    fn cards_that_are_none_are_refused() {
        assert!(Knocker::new(b"").is_none());
        assert!(Knocker::new(&[0; 8]).is_none());
        assert!(Knocker::new(&[0xff; 20]).is_none(), "no such process");
        assert!(Knocker::new(&[1; 300]).is_none());
    }

    /// The race between a sender that looks for sleepers and a sleeper that looks for what has come.
    #[test]
    fn no_word_is_missed() {
        use core::sync::atomic::AtomicU64;
        let (mut bell, of_bell) = pair("race-sleeper");
        let (caller, _) = pair("race-caller");
        let (sent, heard_of) = (AtomicU64::new(0), AtomicU64::new(0));
        const ROUNDS: u64 = 3_000;
        std::thread::scope(|s| {
            let (sent, heard_of, of_bell, caller) = (&sent, &heard_of, &of_bell, &caller);
            s.spawn(move || {
                for round in 1..=ROUNDS {
                    sent.store(round, Ordering::Release);
                    Doorbell::behind();
                    caller.wake(of_bell);
                    while heard_of.load(Ordering::Acquire) < round {
                        std::thread::yield_now();
                    }
                }
            });
            for round in 1..=ROUNDS {
                loop {
                    bell.rise();
                    if sent.load(Ordering::Acquire) >= round {
                        break;
                    }
                    let fd = bell.doze();
                    if sent.load(Ordering::Acquire) >= round {
                        continue;
                    }
                    let mut poll = libc::pollfd {
                        fd,
                        events: libc::POLLIN,
                        revents: 0,
                    };
                    // SAFETY: one live descriptor.
                    let n = unsafe { libc::poll(&mut poll, 1, 60_000) };
                    assert!(n > 0, "asleep for a minute, and nobody knocked");
                }
                heard_of.store(round, Ordering::Release);
            }
        });
    }
}
