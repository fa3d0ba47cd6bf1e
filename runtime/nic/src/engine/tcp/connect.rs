//! Connecting the ranks of a job, and checking that the other end knows the job's secret.
//!
//! Rank `r` connects to every lower rank and accepts every higher one. A stranger is turned away, and a caller that
//! says nothing delays nobody.
//!
//! **The secret is never sent.** Somebody else may listen where a rank has ended, or call a rank before its peers do.
//! So each end proves that it knows the secret, by a keyed hash (HMAC-SHA-256) of fresh random bytes of both:
//! 1. the caller sends a *greeting*: its rank and its bytes;
//! 2. the listener answers with its own greeting and its proof;
//! 3. the caller, if that is right, sends its proof;
//! 4. the listener, if it wants the call, sends its *welcome*.
//!
//! What follows is neither encrypted nor signed: networks are trusted not to change or replay what is sent.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The secret of a job.
pub type Secret = [u8; 32];

const GREETING: &[u8; 8] = b"hetmpnic";
const VERSION: u32 = 2;
const GREETING_BYTES: usize = 48;
const PROOF_BYTES: usize = 32;
const WELCOME: &[u8; 8] = b"welcome\n";
/// How long a caller may take to send its greeting. Ranks send theirs as soon as they are connected.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most callers without a complete greeting. If there are more, the oldest is turned away.
const CALLERS: usize = 64;

type Greeting = [u8; GREETING_BYTES];

/// The greeting of a rank, with fresh random bytes.
fn greeting(rank: u32) -> io::Result<Greeting> {
    let mut b = [0; GREETING_BYTES];
    b[..8].copy_from_slice(GREETING);
    b[8..12].copy_from_slice(&VERSION.to_le_bytes());
    b[12..16].copy_from_slice(&rank.to_le_bytes());
    let fresh = &mut b[16..];
    // SAFETY: a live buffer of that many bytes.
    let got = unsafe { libc::getrandom(fresh.as_mut_ptr().cast(), fresh.len(), 0) };
    // The kernel gives up to 256 bytes at once.
    if got < 0 || got as usize != fresh.len() {
        return Err(io::Error::last_os_error());
    }
    Ok(b)
}

fn refused<T>(what: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// The rank that a greeting claims.
fn rank_of(b: &Greeting) -> io::Result<u32> {
    if &b[..8] != GREETING {
        return refused("the other end is no rank of a job");
    }
    if b[8..12] != VERSION.to_le_bytes() {
        return refused("the other end speaks another version");
    }
    Ok(u32::from_le_bytes([b[12], b[13], b[14], b[15]]))
}

/// The end of a stream that proves something. Part of what is hashed, so that no proof can be sent back.
#[derive(Clone, Copy, Debug)]
enum End {
    Caller = 1,
    Listener = 2,
}

/// The hash by which `end` proves that it knows the secret, after both greetings.
fn proof(secret: &Secret, end: End, caller: &Greeting, listener: &Greeting) -> Hmac<Sha256> {
    // HMAC takes keys of any length, so this cannot fail.
    let mut hash = Hmac::<Sha256>::new_from_slice(secret).expect("any length");
    hash.update(&[end as u8]);
    hash.update(caller);
    hash.update(listener);
    hash
}

/// Is this the proof? Takes as long for any answer.
fn is_proof(
    said: &[u8],
    secret: &Secret,
    end: End,
    caller: &Greeting,
    listener: &Greeting,
) -> io::Result<()> {
    match proof(secret, end, caller, listener).verify_slice(said) {
        Ok(()) => Ok(()),
        Err(_) => refused("the other end does not know the secret of this job"),
    }
}

/// What a caller has to read next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The caller's greeting: this end listens.
    Greeting,
    /// The caller's proof: this end listens.
    Proof,
    /// The listener's greeting and proof: this end calls.
    Answer,
    /// The listener's welcome: this end calls.
    Welcome,
}

impl Step {
    fn bytes(self) -> usize {
        match self {
            Step::Greeting => GREETING_BYTES,
            Step::Proof => PROOF_BYTES,
            Step::Answer => GREETING_BYTES + PROOF_BYTES,
            Step::Welcome => WELCOME.len(),
        }
    }
}

/// The process at the other end of a stream that does not block, perhaps a stranger.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) stream: TcpStream,
    own: Greeting,
    theirs: Greeting,
    step: Step,
    said: [u8; GREETING_BYTES + PROOF_BYTES],
    len: usize,
    until: Option<Instant>,
}

/// What is known of a caller.
pub(super) enum Heard {
    /// Not all was said yet.
    Waiting,
    /// The other end has closed the stream, is too slow, or is a stranger.
    Nobody,
    Rank(u32),
}

impl Caller {
    /// A process that has called `rank`.
    pub(super) fn new(stream: TcpStream, rank: u32) -> io::Result<Caller> {
        stream.set_nonblocking(true)?;
        let until = Some(Instant::now() + PATIENCE);
        Caller::at(stream, greeting(rank)?, Step::Greeting, until)
    }

    /// The peer of a call of `rank`, on a stream that does not block. It may take any time to answer.
    pub(super) fn call(mut stream: TcpStream, rank: u32) -> io::Result<Caller> {
        let own = greeting(rank)?;
        // The first bytes on a stream always find room.
        stream.write_all(&own)?;
        Caller::at(stream, own, Step::Answer, None)
    }

    fn at(
        stream: TcpStream,
        own: Greeting,
        step: Step,
        until: Option<Instant>,
    ) -> io::Result<Caller> {
        Ok(Caller {
            stream,
            own,
            theirs: [0; GREETING_BYTES],
            step,
            said: [0; GREETING_BYTES + PROOF_BYTES],
            len: 0,
            until,
        })
    }

    /// Reads what the other end has said so far, and answers.
    pub(super) fn listen(&mut self, secret: &Secret) -> Heard {
        loop {
            let all = self.step.bytes();
            while self.len < all {
                match self.stream.read(&mut self.said[self.len..all]) {
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
            self.len = 0;
            match self.heard(secret) {
                Ok(None) => {}
                Ok(Some(rank)) => return Heard::Rank(rank),
                Err(_) => return Heard::Nobody,
            }
        }
    }

    /// Goes on after all of a step was said. Returns the rank once it is known for sure.
    fn heard(&mut self, secret: &Secret) -> io::Result<Option<u32>> {
        let said = &self.said[..self.step.bytes()];
        let theirs = &mut self.theirs;
        match self.step {
            Step::Greeting => {
                theirs.copy_from_slice(said);
                rank_of(theirs)?;
                let proof = proof(secret, End::Listener, theirs, &self.own).finalize();
                let answer = [&self.own[..], &proof.into_bytes()[..]].concat();
                self.stream.write_all(&answer)?;
                self.step = Step::Proof;
                Ok(None)
            }
            Step::Proof => {
                is_proof(said, secret, End::Caller, theirs, &self.own)?;
                rank_of(theirs).map(Some)
            }
            Step::Answer => {
                let (greeting, proven) = said.split_at(GREETING_BYTES);
                theirs.copy_from_slice(greeting);
                rank_of(theirs)?;
                is_proof(proven, secret, End::Listener, &self.own, theirs)?;
                let proof = proof(secret, End::Caller, &self.own, theirs).finalize();
                self.stream.write_all(&proof.into_bytes())?;
                self.step = Step::Welcome;
                Ok(None)
            }
            Step::Welcome if said == WELCOME => rank_of(theirs).map(Some),
            Step::Welcome => refused("the other end turns the call away"),
        }
    }
}

/// Tells a caller whose rank is known that its call is taken.
pub(super) fn welcome(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(WELCOME)
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
        let stream = loop {
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
        let mut caller = Caller::call(stream, rank)?;
        // The stream blocks, so that nothing is left to wait for.
        let other = match caller.listen(secret) {
            Heard::Rank(other) => other,
            Heard::Waiting => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("rank {peer} did not answer in time"),
                ))
            }
            Heard::Nobody => return refused("the other end does not know the secret of this job"),
        };
        let stream = caller.stream;
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
                callers.push(Caller::new(stream, rank)?);
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
                welcome(&mut stream)?;
                *place = Some(stream);
            }
        }
    }
    Ok(streams)
}
