//! Streams that are made when they are first needed.
//!
//! Every rank listens, and knows where the others listen. The first operation to a peer makes this rank *dial*: it
//! connects, and both prove that they know the job's secret ([`super::connect`]); then both have the stream.
//! Nothing here blocks: each look does what can be done at once, so that a slow peer delays no other.
//!
//! **Crossing calls.** Two ranks may dial each other at the same time. The call of the higher rank wins: the higher
//! rank turns the lower one's call away; the lower rank accepts the higher one's call and gives up its own. A rank
//! that was turned away and has no stream dials again later; in the meantime the other rank's call arrives.
//!
//! **A peer that is gone** has closed its listener. The call is refused, and the peer is lost.

use super::connect::{welcome, Caller, Heard, Secret};
use hetmp_core::descriptor::apart;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long to wait before calling a peer again that has turned a call away.
const AGAIN: Duration = Duration::from_millis(1);
/// The most callers without a complete greeting. If there are more, the oldest is turned away.
const CALLERS: usize = 64;

/// Where the ranks of a job listen.
#[derive(Debug)]
pub struct Addresses {
    /// This rank's listening socket.
    pub listener: TcpListener,
    /// The address of every rank, this one too.
    pub of: Vec<SocketAddr>,
    /// The job's secret.
    pub secret: Secret,
    /// How long making a connection may take.
    pub within: Duration,
}

/// A call of this rank.
#[derive(Debug)]
enum Call {
    /// The connection is being made.
    Connecting(TcpStream),
    /// The greeting was sent.
    Greeted(Caller),
    /// The peer has turned the call away. Call again at this time.
    Later(Instant),
}

/// A call of this rank, and the time at which it has taken too long.
#[derive(Debug)]
struct Dialled {
    peer: usize,
    call: Call,
    until: Instant,
}

/// The result of a call.
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
    /// By rank: there is a stream, or there was one. No further call to or from that rank is made or accepted.
    met: Vec<bool>,
}

impl Dial {
    pub(super) fn new(rank: u32, addresses: Addresses) -> io::Result<Dial> {
        let addresses = Addresses {
            listener: apart(addresses.listener),
            ..addresses
        };
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

    /// True once no call will be made or accepted any more; the listener can be closed.
    pub(super) fn is_over(&self) -> bool {
        self.met.iter().all(|m| *m)
    }

    /// True while this rank has calls under way.
    pub(super) fn is_calling(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Marks the peer as lost.
    pub(super) fn forget(&mut self, peer: usize) {
        self.met[peer] = true;
        self.calls.retain(|c| c.peer != peer);
    }

    /// Calls a peer, unless there is a call or a stream already.
    pub(super) fn call(&mut self, peer: usize) -> Option<Rung> {
        if self.met[peer] || self.calls.iter().any(|c| c.peer == peer) {
            return None;
        }
        match connect(&self.addresses.of[peer]) {
            Ok(stream) => {
                self.calls.push(Dialled {
                    peer,
                    call: Call::Connecting(apart(stream)),
                    until: Instant::now() + self.addresses.within,
                });
                None
            }
            Err(e) => Some(Rung::Failed(peer, e)),
        }
    }

    /// Adds what is to be polled. Returns the milliseconds after which to look again even if nothing comes; negative
    /// for never.
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
        // Silent callers and unanswered calls must be given up at some time.
        if ms < 0 && !(self.callers.is_empty() && self.calls.is_empty()) {
            ms = 100;
        }
        ms
    }

    /// Does what can be done at once. Returns one result at a time; `None` if there is none now.
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
        // Any other error of accept concerns the caller only.
        while let Ok((stream, _)) = self.addresses.listener.accept() {
            if let Ok(caller) = Caller::new(stream, self.rank as u32) {
                if self.callers.len() == CALLERS {
                    self.callers.remove(0);
                }
                self.callers.push(caller);
            }
        }
    }

    /// Accepts the call of a rank, or turns it away by dropping its stream.
    fn answer(&mut self, peer: usize, mut stream: TcpStream) -> Option<TcpStream> {
        if *self.met.get(peer)? {
            return None;
        }
        let crossing = self.calls.iter().position(|c| c.peer == peer);
        if crossing.is_some() && peer < self.rank {
            return None;
        }
        welcome(&mut stream).ok()?;
        if let Some(own) = crossing {
            self.calls.swap_remove(own);
        }
        self.met[peer] = true;
        Some(stream)
    }

    /// Continues a call; returns the stream once it is there.
    fn go_on(&mut self, i: usize) -> io::Result<Option<TcpStream>> {
        let now = Instant::now();
        let (rank, addresses) = (self.rank as u32, &self.addresses);
        let Dialled { peer, call, until } = &mut self.calls[i];
        // After the greeting there is no limit: the peer's process may be stopped while its host answers.
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
                match Caller::call(stream.try_clone()?, rank) {
                    Ok(caller) => Call::Greeted(caller),
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

/// Begins a connection. When the socket can be written to, the connection is there or has failed.
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
    // SAFETY: the descriptor was just made, and nobody else has it.
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
