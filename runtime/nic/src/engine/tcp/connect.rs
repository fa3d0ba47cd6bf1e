//! Connecting the ranks of a job, and checking that the other end knows the job's secret.
//!
//! Rank `r` connects to every lower rank and accepts every higher one. Both ends send a greeting with the secret. A
//! stranger is turned away, and a caller that says nothing delays nobody. The secret is sent in plain text: it keeps
//! out those who cannot read the network's traffic, and nobody else.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The secret of a job.
pub type Secret = [u8; 32];

const GREETING: &[u8; 8] = b"hetmpnic";
const VERSION: u32 = 1;
const GREETING_BYTES: usize = 48;
/// How long a caller may take to send its greeting. Ranks send theirs as soon as they are connected.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most callers without a complete greeting. If there are more, the oldest is turned away.
const CALLERS: usize = 64;

pub(super) fn greeting(rank: u32, secret: &Secret) -> [u8; GREETING_BYTES] {
    let mut b = [0; GREETING_BYTES];
    b[..8].copy_from_slice(GREETING);
    b[8..12].copy_from_slice(&VERSION.to_le_bytes());
    b[12..16].copy_from_slice(&rank.to_le_bytes());
    b[16..].copy_from_slice(secret);
    b
}

/// The rank that a greeting comes from.
fn rank_of(b: &[u8; GREETING_BYTES], secret: &Secret) -> io::Result<u32> {
    let refuse = |what| Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    if &b[..8] != GREETING {
        return refuse("the other end is no rank of a job");
    }
    if b[8..12] != VERSION.to_le_bytes() {
        return refuse("the other end speaks another version");
    }
    // All bytes are compared, so that the time taken does not tell where they differ.
    let differ = b[16..].iter().zip(secret).fold(0, |d, (a, b)| d | (a ^ b));
    if differ != 0 {
        return refuse("the other end does not know the secret of this job");
    }
    Ok(u32::from_le_bytes([b[12], b[13], b[14], b[15]]))
}

/// A process that has connected, perhaps a stranger.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) stream: TcpStream,
    said: [u8; GREETING_BYTES],
    len: usize,
    until: Option<Instant>,
}

/// What is known of a caller.
pub(super) enum Heard {
    /// The greeting is not complete yet.
    Waiting,
    /// The caller has closed the stream, is too slow, or is a stranger.
    Nobody,
    Rank(u32),
}

impl Caller {
    pub(super) fn new(stream: TcpStream) -> io::Result<Caller> {
        stream.set_nonblocking(true)?;
        Ok(Caller {
            stream,
            said: [0; GREETING_BYTES],
            len: 0,
            until: Some(Instant::now() + PATIENCE),
        })
    }

    /// The peer of an own call, to which the greeting was sent, on a stream that does not block. It may take any time
    /// to answer.
    pub(super) fn greeted(stream: TcpStream) -> Caller {
        Caller {
            stream,
            said: [0; GREETING_BYTES],
            len: 0,
            until: None,
        }
    }

    /// Reads what the caller has said so far.
    pub(super) fn listen(&mut self, secret: &Secret) -> Heard {
        while self.len < GREETING_BYTES {
            match self.stream.read(&mut self.said[self.len..]) {
                Ok(0) => return Heard::Nobody,
                Ok(n) => self.len += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e)
                    if e.kind() == io::ErrorKind::WouldBlock
                        && self.until.is_none_or(|until| Instant::now() < until) =>
                {
                    return Heard::Waiting;
                }
                Err(_) => return Heard::Nobody,
            }
        }
        rank_of(&self.said, secret).map_or(Heard::Nobody, Heard::Rank)
    }
}

/// Connects `rank` with every other rank. `addresses` has the address of each rank, `listener` listens at this
/// rank's. The result has `None` at index `rank`.
///
/// # Errors
/// A rank could not be reached or did not come within `within`, or refused the greeting.
pub fn mesh(
    rank: u32,
    listener: &TcpListener,
    addresses: &[SocketAddr],
    secret: &Secret,
    within: Duration,
) -> io::Result<Vec<Option<TcpStream>>> {
    let deadline = Instant::now() + within;
    let left = || {
        deadline
            .checked_duration_since(Instant::now())
            .filter(|d| !d.is_zero())
            .ok_or_else(|| {
                io::Error::new(io::ErrorKind::TimedOut, "a rank did not connect in time")
            })
    };
    let mut streams: Vec<Option<TcpStream>> = addresses.iter().map(|_| None).collect();
    for (peer, address) in addresses.iter().enumerate().take(rank as usize) {
        let mut stream = loop {
            match TcpStream::connect_timeout(address, left()?) {
                Ok(s) => break s,
                // The peer may not be listening yet.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                    left()?;
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(e) => return Err(e),
            }
        };
        stream.set_read_timeout(Some(left()?))?;
        stream.write_all(&greeting(rank, secret))?;
        let mut theirs = [0; GREETING_BYTES];
        stream.read_exact(&mut theirs)?;
        let other = rank_of(&theirs, secret)?;
        if other as usize != peer {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("rank {other} answers at the address of rank {peer}"),
            ));
        }
        streams[peer] = Some(stream);
    }
    listener.set_nonblocking(true)?;
    let mut callers: Vec<Caller> = Vec::new();
    while streams.iter().skip(rank as usize + 1).any(Option::is_none) {
        let left = left()?;
        match listener.accept() {
            Ok((stream, _)) => {
                if callers.len() == CALLERS {
                    callers.remove(0);
                }
                callers.push(Caller::new(stream)?);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            // The caller has given up, or a signal came: accept the next one.
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                ) => {}
            Err(e) => return Err(e),
        }
        let mut i = 0;
        while i < callers.len() {
            let peer = match callers[i].listen(secret) {
                Heard::Waiting => {
                    i += 1;
                    continue;
                }
                Heard::Nobody => {
                    callers.remove(i);
                    continue;
                }
                Heard::Rank(peer) => peer,
            };
            let mut stream = callers.remove(i).stream;
            // The rank is connected already, or is not part of this job: turn it away, and the job goes on.
            let place = (peer > rank)
                .then(|| streams.get_mut(peer as usize))
                .flatten()
                .filter(|s| s.is_none());
            if let Some(place) = place {
                stream.set_nonblocking(false)?;
                stream.set_write_timeout(Some(left))?;
                stream.write_all(&greeting(rank, secret))?;
                *place = Some(stream);
            }
        }
    }
    Ok(streams)
}
