//! Streams that are made when they are first needed.
//!
//! Every rank listens, and knows where the others do. The first operation to a peer makes this rank *dial*: it connects and
//! says its greeting ([`super::connect`]); the peer answers with its own, and both have the stream. Nothing here waits: each
//! look does what can be done at once, so that a peer that answers late delays nobody else.
//!
//! **Crossing calls.** Two ranks may dial each other at the same time. The call of the higher one stands: it turns the other
//! one's away, and the lower one takes the call that comes in and gives its own up. A rank that was turned away and has no
//! stream tries again; the other one's call is on its way.
//!
//! **A peer that is gone** has closed its listener: the call is refused, and the peer is lost.

use super::connect::{greeting, Caller, Heard, Secret};
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long to leave a peer alone that has turned a call away.
const AGAIN: Duration = Duration::from_millis(1);
/// Callers that have not said who they are, at most: of more, the first is given up.
const CALLERS: usize = 64;

/// Where the ranks of a job listen.
#[derive(Debug)]
pub struct Addresses {
    /// This rank's ear.
    pub listener: TcpListener,
    /// Of every rank, this one too.
    pub of: Vec<SocketAddr>,
    /// Of the job.
    pub secret: Secret,
    /// How long a connection may take to be made.
    pub within: Duration,
}

/// A call of this rank.
#[derive(Debug)]
enum Call {
    /// The connection is being made.
    Connecting(TcpStream),
    /// The greeting is said.
    Greeted(Caller),
    /// It was turned away, and is to be made again then.
    Later(Instant),
}

/// A call, and when it has taken too long.
#[derive(Debug)]
struct Dialled {
    peer: usize,
    call: Call,
    until: Instant,
}

/// What became of a call.
pub(super) enum Rung {
    /// There is a stream.
    Stream(usize, TcpStream),
    /// The peer cannot be reached.
    Failed(usize, io::Error),
}

/// The calls of one rank.
#[derive(Debug)]
pub(super) struct Dial {
    rank: usize,
    addresses: Addresses,
    calls: Vec<Dialled>,
    callers: Vec<Caller>,
    /// By rank: there is a stream, or was; no further call is made or taken.
    met: Vec<bool>,
}

impl Dial {
    pub(super) fn new(rank: u32, addresses: Addresses) -> io::Result<Dial> {
        addresses.listener.set_nonblocking(true)?;
        let mut met = vec![false; addresses.of.len()];
        met[rank as usize] = true;
        Ok(Dial {
            rank: rank as usize,
            addresses,
            calls: Vec::new(),
            callers: Vec::new(),
            met,
        })
    }

    pub(super) fn address(&self, peer: usize) -> SocketAddr {
        self.addresses.of[peer]
    }

    /// True once no call will be made or taken any more: the listener can be closed.
    pub(super) fn is_over(&self) -> bool {
        self.met.iter().all(|m| *m)
    }

    /// True while calls of this rank are under way.
    pub(super) fn is_calling(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The peer is lost.
    pub(super) fn forget(&mut self, peer: usize) {
        self.met[peer] = true;
        self.calls.retain(|c| c.peer != peer);
    }

    /// Makes a call, unless there is one.
    pub(super) fn call(&mut self, peer: usize) -> Option<Rung> {
        if self.met[peer] || self.calls.iter().any(|c| c.peer == peer) {
            return None;
        }
        match connect(&self.addresses.of[peer]) {
            Ok(stream) => {
                self.calls.push(Dialled {
                    peer,
                    call: Call::Connecting(stream),
                    until: Instant::now() + self.addresses.within,
                });
                None
            }
            Err(e) => Some(Rung::Failed(peer, e)),
        }
    }

    /// Adds what is to be polled; milliseconds after which to look again although nothing comes, below 0 for never.
    pub(super) fn ask(&self, fds: &mut Vec<libc::pollfd>) -> i32 {
        let mut ms = -1;
        let mut add = |fd: i32, events: i16| {
            fds.push(libc::pollfd {
                fd,
                events,
                revents: 0,
            });
        };
        add(self.addresses.listener.as_raw_fd(), libc::POLLIN);
        for caller in &self.callers {
            add(caller.stream.as_raw_fd(), libc::POLLIN);
        }
        for c in &self.calls {
            match &c.call {
                Call::Connecting(stream) => add(stream.as_raw_fd(), libc::POLLOUT),
                Call::Greeted(caller) => add(caller.stream.as_raw_fd(), libc::POLLIN),
                Call::Later(_) => ms = 1,
            }
        }
        // A caller that says nothing, and a call that nobody answers, are given up some time.
        if ms < 0 && !(self.callers.is_empty() && self.calls.is_empty()) {
            ms = 100;
        }
        ms
    }

    /// Does what can be done at once. One result at a time; `None`: there is nothing now.
    pub(super) fn look(&mut self) -> Option<Rung> {
        self.accept();
        let mut i = 0;
        while i < self.callers.len() {
            match self.callers[i].listen(&self.addresses.secret) {
                Heard::Waiting => i += 1,
                Heard::Nobody => {
                    self.callers.swap_remove(i);
                }
                Heard::Rank(peer) => {
                    let caller = self.callers.swap_remove(i);
                    if let Some(stream) = self.answer(peer as usize, caller.stream) {
                        return Some(Rung::Stream(peer as usize, stream));
                    }
                }
            }
        }
        let mut i = 0;
        while i < self.calls.len() {
            match self.go_on(i) {
                Ok(None) => i += 1,
                Ok(Some(stream)) => {
                    let peer = self.calls.swap_remove(i).peer;
                    self.met[peer] = true;
                    return Some(Rung::Stream(peer, stream));
                }
                Err(e) => {
                    let peer = self.calls.swap_remove(i).peer;
                    self.met[peer] = true;
                    return Some(Rung::Failed(peer, e));
                }
            }
        }
        None
    }

    fn accept(&mut self) {
        // Whatever else goes wrong went wrong for the caller.
        while let Ok((stream, _)) = self.addresses.listener.accept() {
            if let Ok(caller) = Caller::new(stream) {
                if self.callers.len() == CALLERS {
                    self.callers.remove(0);
                }
                self.callers.push(caller);
            }
        }
    }

    /// Takes the call of a rank, or turns it away by dropping its stream.
    fn answer(&mut self, peer: usize, mut stream: TcpStream) -> Option<TcpStream> {
        if *self.met.get(peer)? {
            return None;
        }
        let crossing = self.calls.iter().position(|c| c.peer == peer);
        if crossing.is_some() && peer < self.rank {
            return None;
        }
        // The first bytes of a stream always find room.
        let said = stream.write_all(&greeting(self.rank as u32, &self.addresses.secret));
        said.ok()?;
        if let Some(own) = crossing {
            self.calls.swap_remove(own);
        }
        self.met[peer] = true;
        Some(stream)
    }

    /// Takes a call further; the stream once it is there.
    fn go_on(&mut self, i: usize) -> io::Result<Option<TcpStream>> {
        let now = Instant::now();
        let (rank, addresses) = (self.rank as u32, &self.addresses);
        let Dialled { peer, call, until } = &mut self.calls[i];
        // Who has been greeted may be a process that is stopped: its host answers, and it is waited for.
        if now >= *until && !matches!(call, Call::Greeted(_)) {
            return Err(ErrorKind::TimedOut.into());
        }
        let next = match call {
            Call::Later(at) if now < *at => return Ok(None),
            Call::Later(_) => Call::Connecting(connect(&addresses.of[*peer])?),
            Call::Connecting(stream) => {
                if let Some(e) = stream.take_error()? {
                    return Err(e);
                }
                match stream.peer_addr() {
                    Ok(_) => {}
                    Err(e) if e.kind() == ErrorKind::NotConnected => return Ok(None),
                    Err(e) => return Err(e),
                }
                let mut stream = stream.try_clone()?;
                match stream.write_all(&greeting(rank, &addresses.secret)) {
                    Ok(()) => Call::Greeted(Caller::greeted(stream)),
                    Err(_) => Call::Later(now + AGAIN),
                }
            }
            Call::Greeted(caller) => match caller.listen(&addresses.secret) {
                Heard::Waiting => return Ok(None),
                Heard::Rank(other) if other as usize == *peer => {
                    return caller.stream.try_clone().map(Some);
                }
                Heard::Rank(other) => {
                    let text = format!("rank {other} answers at the address of rank {peer}");
                    return Err(io::Error::new(ErrorKind::InvalidData, text));
                }
                Heard::Nobody => Call::Later(now + AGAIN),
            },
        };
        *call = next;
        Ok(None)
    }
}

/// Begins a connection; it is there, or has failed, when the socket can be written to.
fn connect(to: &SocketAddr) -> io::Result<TcpStream> {
    let (family, v4, v6);
    let (address, len) = match to {
        SocketAddr::V4(a) => {
            family = libc::AF_INET;
            v4 = libc::sockaddr_in {
                sin_family: family as libc::sa_family_t,
                sin_port: a.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(a.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            ((&raw const v4).cast(), size_of::<libc::sockaddr_in>())
        }
        SocketAddr::V6(a) => {
            family = libc::AF_INET6;
            v6 = libc::sockaddr_in6 {
                sin6_family: family as libc::sa_family_t,
                sin6_port: a.port().to_be(),
                sin6_flowinfo: a.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: a.ip().octets(),
                },
                sin6_scope_id: a.scope_id(),
            };
            ((&raw const v6).cast(), size_of::<libc::sockaddr_in6>())
        }
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no preconditions.
    let fd = unsafe { libc::socket(family, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and nobody else's.
    let stream = TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
    // SAFETY: a live address of that many bytes.
    if unsafe { libc::connect(fd, address, len as libc::socklen_t) } != 0 {
        let e = io::Error::last_os_error();
        if e.raw_os_error() != Some(libc::EINPROGRESS) {
            return Err(e);
        }
    }
    Ok(stream)
}
