//! Ranks in processes of their own, with a stream between every two of them.
//!
//! | file | what it is |
//! | --- | --- |
//! | [`frame`] | what goes over a stream |
//! | [`connect`], `dial` | makes the streams: all at once, or each when it is first needed |
//! | `port` | the state machine of a rank, without sockets |
//! | `peer`, `operation` | what a port keeps for a peer, and for an operation |
//! | `direct` | the way of an operation past the stream |
//! | `target` | the execution of what arrives |
//! | `wires` | the sockets around a port |
//! | `ready` | which of many sockets have bytes |
//! | `drive` | who works on the sockets: a thread of the engine, or an initiator that waits |
//! | `driven` | the engine around all of these; `ofi` uses it too |

pub mod connect;
mod dial;
pub(super) mod direct;
pub(super) mod drive;
pub(super) mod driven;
pub mod frame;
mod operation;
mod peer;
pub(super) mod port;
mod ready;
mod target;
mod turns;
pub(super) mod wires;

use super::{Abilities, Domain, Engine, QueuePair, TemplateKeys};
use dial::Dial;
use direct::StreamOnly;
use drive::Shared;
use driven::{Driven, ABILITIES};
use port::Port;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::Duration;
use wires::Wires;

pub use dial::Addresses;

/// The engine of one rank. It stops when it and its last queue pair are dropped.
pub struct Tcp(Arc<Driven<Wires>>);

impl core::fmt::Debug for Tcp {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tcp")
            .field("rank", &self.0.shared.rank)
            .finish_non_exhaustive()
    }
}

/// How a peer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its host does not answer any more.
    Silent,
    /// Its stream has ended.
    Ended,
}

/// What to do about a peer that is lost.
pub struct Vanished {
    /// How long the peer's host may be silent, at least a second.
    pub after: Duration,
    /// No peer may go as long as this process needs the job. A stream that ends is told, too: later, since a peer's
    /// process that has ended is its launcher's to report.
    pub needs_all: bool,
    /// Called with the peer and its address, on the thread that noticed, before operations to a silent peer end in
    /// error.
    pub tell: Box<dyn Fn(u32, SocketAddr, Loss) + Send>,
}

impl core::fmt::Debug for Vanished {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Vanished")
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

/// Makes the kernel end an idle stream once the other end has answered no probes for `after`. A stream with bytes
/// under way is checked by `wires` instead: the kernel's limit for those (`TCP_USER_TIMEOUT`) would also end streams
/// to a process that is stopped and reads nothing, although its host answers.
pub(crate) fn watch(stream: &TcpStream, after: Duration) -> io::Result<()> {
    let seconds = after.as_secs().clamp(1, 1 << 20) as i32;
    let probe = (seconds / 4).max(1);
    for (level, option, value) in [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, probe),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, probe),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 3),
    ] {
        let at = (&raw const value).cast();
        let len = size_of::<i32>() as libc::socklen_t;
        // SAFETY: a live descriptor, and a live number of that size.
        if unsafe { libc::setsockopt(stream.as_raw_fd(), level, option, at, len) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Prepares a stream for its wires.
fn prepare(stream: &TcpStream, vanished: Option<&Vanished>) -> io::Result<()> {
    if let Some(v) = vanished {
        watch(stream, v.after)?;
    }
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)
}

impl Tcp {
    /// Starts the engine of `rank` on connected streams, one for every other rank (see [`connect::mesh`]).
    ///
    /// # Errors
    /// A stream is missing or refuses its settings, or the thread cannot be started.
    pub fn start(
        rank: u32,
        domain: Arc<Domain>,
        streams: Vec<Option<TcpStream>>,
    ) -> io::Result<Tcp> {
        Tcp::start_watching(rank, domain, streams, None)
    }

    /// Like [`Tcp::start`], and gives up peers whose hosts vanish. The stream to such a peer would never end by
    /// itself.
    ///
    /// # Errors
    /// Those of [`Tcp::start`].
    pub fn start_watching(
        rank: u32,
        domain: Arc<Domain>,
        streams: Vec<Option<TcpStream>>,
        vanished: Option<Vanished>,
    ) -> io::Result<Tcp> {
        for (peer, stream) in streams.iter().enumerate() {
            match stream {
                Some(s) => prepare(s, vanished.as_ref())?,
                None if peer == rank as usize => {}
                None => {
                    return Err(io::Error::new(
                        ErrorKind::NotConnected,
                        format!("rank {peer} is not connected"),
                    ))
                }
            }
        }
        if rank as usize >= streams.len() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                format!("rank {rank} of {}", streams.len()),
            ));
        }
        let port = Port::new(rank, domain.clone(), streams.len(), StreamOnly);
        let wires = Wires::new(port, streams).watching(vanished);
        Tcp::begin(rank, domain, wires)
    }

    /// Starts the engine of `rank`. It connects to a peer when it first has something to send to that peer.
    ///
    /// # Errors
    /// There is no such rank, or the thread cannot be started.
    pub fn start_dialling(
        rank: u32,
        domain: Arc<Domain>,
        addresses: Addresses,
        vanished: Option<Vanished>,
    ) -> io::Result<Tcp> {
        let ranks = addresses.of.len();
        if rank as usize >= ranks {
            let text = format!("rank {rank} of {ranks}");
            return Err(io::Error::new(ErrorKind::InvalidInput, text));
        }
        let dial = Dial::new(rank, addresses)?;
        let streams = (0..ranks).map(|_| None).collect();
        let port = Port::new(rank, domain.clone(), ranks, StreamOnly);
        let wires = Wires::new(port, streams).watching(vanished).dialling(dial);
        Tcp::begin(rank, domain, wires)
    }

    fn begin(rank: u32, domain: Arc<Domain>, wires: Wires) -> io::Result<Tcp> {
        let ranks = wires.ranks() as u32;
        let shared = Shared::new(rank, ranks, domain, wires)?;
        Ok(Tcp(Driven::start(c"hetmp-tcp", shared)?))
    }
}

impl Engine for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn rank(&self) -> u32 {
        self.0.shared.rank
    }

    fn ranks(&self) -> u32 {
        self.0.shared.ranks
    }

    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    fn domain(&self) -> &Domain {
        &self.0.shared.domain
    }

    fn progress(&self) -> bool {
        self.0.shared.progress()
    }

    fn queue_pair(&self, depth: usize, keys: TemplateKeys) -> QueuePair {
        self.0.queue_pair(depth, keys)
    }
}
