//! The sockets of one rank around its [`Port`].
//!
//! System calls get live arrays and their lengths; bytes from peers go through [`Port`], which checks them.

use super::dial::{Dial, Rung};
use super::direct::StreamOnly;
use super::drive;
use super::port::Port;
use super::ready::Ready;
use super::{Loss, Vanished};
use crate::queue_pair::Consumer;
use hetmp_core::descriptor::apart;
use hetmp_core::park::rest;
use hetmp_core::sys;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// How many spin turns lie between two looks at sockets. A look is at least one system call.
pub(in crate::engine) const TURNS_PER_LOOK: u32 = 4;
/// After this time a full inbox is tried again, milliseconds.
const RETRY_MS: i32 = 1;
/// How long the last bytes may take to leave when the engine stops.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How many looks at the streams lie between two looks at callers, which cost one more system call.
const LOOKS_PER_CALL: u32 = 32;
/// With more streams than this, one system call first asks which of them have bytes ([`Ready`]).
const FEW: usize = 2;

/// The arguments of a poll, kept so that polling allocates nothing.
#[derive(Debug, Default)]
pub(in crate::engine) struct Watch {
    pub(in crate::engine) fds: Vec<libc::pollfd>,
    /// Milliseconds after which to look again; negative: never.
    pub(in crate::engine) ms: i32,
}

impl Watch {
    /// Sleeps until something can be done or somebody writes to `wake`, which is then emptied.
    pub(in crate::engine) fn sleep(&mut self, wake: RawFd) {
        self.fds.push(libc::pollfd {
            fd: wake,
            events: libc::POLLIN,
            revents: 0,
        });
        let mut rung = 0u64;
        // SAFETY: the array is live and of the length given; eight bytes of a live word.
        unsafe {
            libc::poll(
                self.fds.as_mut_ptr(),
                self.fds.len() as libc::nfds_t,
                self.ms,
            );
            if self.fds.last().is_some_and(|w| w.revents != 0) {
                libc::read(wake, (&raw mut rung).cast(), 8);
            }
        }
    }
}

pub(super) struct Wires {
    pub(super) port: Port<StreamOnly>,
    streams: Vec<Option<TcpStream>>,
    /// Where each stream leads. A socket whose connection has failed does not know any more.
    addresses: Vec<Option<SocketAddr>>,
    /// Which streams have bytes. `None` if there are few: then each is read to find out.
    ready: Option<Ready>,
    /// The peers that the last look found.
    found: Vec<usize>,
    vanished: Option<Vanished>,
    silence: Silence,
    /// Streams that have ended and are to be told: where each led, and since when.
    ended: Vec<(usize, SocketAddr, u64)>,
    /// Makes the streams that do not exist yet; `None` once all exist.
    dial: Option<Dial>,
    /// How many looks at the streams there were since the last look at callers.
    looks: u32,
}

/// After this many looks in a row that find a stream without answers, its host has vanished. A quarter of the allowed
/// silence lies between two looks.
const SILENT_LOOKS: u32 = 3;

/// The results of earlier looks for silent streams.
#[derive(Debug, Default)]
struct Silence {
    looked_ns: u64,
    /// By peer: how many looks in a row found its stream silent.
    looks: Vec<u32>,
}

/// True if the stream has bytes under way that the other end's kernel has not acknowledged for `ms` milliseconds,
/// repetitions included.
fn is_silent(stream: &TcpStream, ms: u32) -> bool {
    // SAFETY: plain numbers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { core::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: a live descriptor, and room for as many bytes as said.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &mut len,
        )
    };
    let repeats = info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
    result == 0 && repeats && info.tcpi_last_ack_recv > ms
}

impl Wires {
    pub(super) fn new(port: Port<StreamOnly>, streams: Vec<Option<TcpStream>>) -> Wires {
        let ranks = streams.len();
        let mut wires = Wires {
            port,
            addresses: vec![None; ranks],
            streams,
            // Without descriptors to spare it works all the same, with a system call for each stream.
            ready: (ranks > FEW + 1)
                .then(|| Ready::new(ranks))
                .and_then(Result::ok),
            found: Vec::new(),
            vanished: None,
            silence: Silence::default(),
            ended: Vec::new(),
            dial: None,
            looks: 0,
        };
        for peer in 0..ranks {
            wires.ask_for(peer);
        }
        wires
    }

    /// Notes where the stream of a peer leads, if there is one, and has looks find it.
    fn ask_for(&mut self, peer: usize) {
        if let Some(stream) = self.streams[peer].take().map(apart) {
            self.addresses[peer] = stream.peer_addr().ok();
            self.streams[peer] = Some(stream);
        }
        if let (Some(ready), Some(stream)) = (&mut self.ready, &self.streams[peer]) {
            if ready.add(peer, stream.as_raw_fd()).is_err() {
                self.ready = None;
            }
        }
    }

    pub(super) fn watching(self, vanished: Option<Vanished>) -> Wires {
        Wires { vanished, ..self }
    }

    pub(super) fn dialling(self, dial: Dial) -> Wires {
        Wires {
            dial: Some(dial),
            ..self
        }
    }

    pub(super) fn ranks(&self) -> usize {
        self.streams.len()
    }

    /// Continues the calls of this rank and of others. True if there was a result.
    fn meet(&mut self) -> bool {
        let mut worked = false;
        self.looks = 0;
        while let Some(rung) = self.dial.as_mut().and_then(Dial::look) {
            worked = true;
            self.rung(rung);
        }
        if self.dial.as_ref().is_some_and(Dial::is_over) {
            self.dial = None;
        }
        worked
    }

    fn rung(&mut self, rung: Rung) {
        match rung {
            Rung::Stream(peer, stream) => match super::prepare(&stream, self.vanished.as_ref()) {
                Ok(()) => {
                    self.streams[peer] = Some(stream);
                    self.ask_for(peer);
                }
                Err(e) => self.fail(peer, &e),
            },
            Rung::Failed(peer, e) => self.fail(peer, &e),
        }
    }

    /// Calls the peers to which something is to be sent.
    fn call(&mut self) {
        for peer in 0..self.streams.len() {
            if self.streams[peer].is_none() && !self.port.output(peer).is_empty() {
                let rung = self.dial.as_mut().and_then(|d| d.call(peer));
                if let Some(rung) = rung {
                    self.rung(rung);
                }
            }
        }
    }

    /// Looks for hosts that have vanished, if the last look was long enough ago. Returns the milliseconds until the
    /// next look; negative: none.
    fn look(&mut self) -> i32 {
        let Some(v) = &self.vanished else {
            return -1;
        };
        let ms = (v.after.as_millis() / 4).clamp(1, 1 << 30) as u32;
        let now = sys::monotonic_ns();
        if now - self.silence.looked_ns < u64::from(ms) * 1_000_000 {
            return ms as i32;
        }
        self.silence.looked_ns = now;
        let after = v.after.as_nanos() as u64;
        self.ended.retain(|&(peer, address, since)| {
            let waits = now - since < after;
            if !waits {
                (v.tell)(peer as u32, address, Loss::Ended);
            }
            waits
        });
        self.silence.looks.resize(self.streams.len(), 0);
        for peer in 0..self.streams.len() {
            let Some(stream) = &self.streams[peer] else {
                continue;
            };
            let looks = &mut self.silence.looks[peer];
            *looks = if is_silent(stream, ms) { *looks + 1 } else { 0 };
            if *looks >= SILENT_LOOKS {
                self.fail(peer, &ErrorKind::TimedOut.into());
            }
        }
        ms as i32
    }

    /// Gives up a peer whose stream has failed.
    fn fail(&mut self, peer: usize, error: &io::Error) {
        let silent = matches!(
            error.kind(),
            ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable
        );
        let address = self.addresses[peer].or_else(|| self.dial.as_ref().map(|d| d.address(peer)));
        if let (true, Some(v), Some(address)) = (silent, &self.vanished, address) {
            (v.tell)(peer as u32, address, Loss::Silent);
        }
        self.lose(peer);
    }

    fn lose(&mut self, peer: usize) {
        if let (Some(ready), Some(stream)) = (&mut self.ready, &self.streams[peer]) {
            ready.remove(peer, stream.as_raw_fd());
        }
        let needed = self.vanished.as_ref().is_some_and(|v| v.needs_all);
        if let (true, Some(_), Some(address)) =
            (needed, self.streams[peer].take(), self.addresses[peer])
        {
            self.ended.push((peer, address, sys::monotonic_ns()));
        }
        self.streams[peer] = None;
        if let Some(dial) = &mut self.dial {
            dial.forget(peer);
        }
        self.port.lose(peer);
    }

    /// Fills in what to sleep on: the streams, and what to ask of each.
    fn ask(&mut self, watch: &mut Watch) {
        watch.fds.clear();
        for (peer, stream) in self.streams.iter().enumerate() {
            let Some(s) = stream else { continue };
            let more = !self.port.output(peer).is_empty();
            match &mut self.ready {
                Some(ready) => ready.set_writes(peer, s.as_raw_fd(), more),
                None => watch.fds.push(libc::pollfd {
                    fd: s.as_raw_fd(),
                    events: libc::POLLIN | if more { libc::POLLOUT } else { 0 },
                    revents: 0,
                }),
            }
        }
        if let Some(ready) = &self.ready {
            watch.fds.push(libc::pollfd {
                fd: ready.descriptor(),
                events: libc::POLLIN,
                revents: 0,
            });
        }
    }

    /// Reads what has arrived.
    fn receive(&mut self) -> bool {
        let mut met = false;
        if let Some(dial) = &self.dial {
            self.looks += 1;
            if dial.is_calling() || self.looks >= LOOKS_PER_CALL {
                met = self.meet();
            }
        }
        self.read() || met
    }

    fn read(&mut self) -> bool {
        let Some(ready) = &self.ready else {
            return (0..self.streams.len())
                .fold(false, |worked, peer| self.read_from(peer) | worked);
        };
        let mut found = core::mem::take(&mut self.found);
        ready.look(&mut found);
        let mut worked = false;
        for &peer in &found {
            worked |= self.read_from(peer);
        }
        self.found = found;
        worked
    }

    /// Reads what a peer's stream has. True if there was something, or the stream has ended.
    fn read_from(&mut self, peer: usize) -> bool {
        let Some(stream) = &mut self.streams[peer] else {
            return false;
        };
        match stream.read(self.port.room(peer)) {
            Ok(n) if n > 0 => {
                if !self.port.filled(peer, n) {
                    self.lose(peer);
                }
            }
            Err(e) if is_later(&e) => return false,
            Ok(_) => self.lose(peer),
            Err(e) => self.fail(peer, &e),
        }
        true
    }

    /// Writes as much as the sockets take.
    fn send(&mut self) -> bool {
        let mut worked = false;
        if self.dial.is_some() {
            self.call();
        }
        for peer in 0..self.streams.len() {
            while let Some(stream) = &mut self.streams[peer] {
                let output = self.port.output(peer);
                if output.is_empty() {
                    break;
                }
                match stream.write(output) {
                    Ok(n) => {
                        worked = true;
                        self.port.sent(peer, n);
                    }
                    Err(e) if is_later(&e) => break,
                    Err(e) => {
                        worked = true;
                        self.fail(peer, &e);
                    }
                }
            }
        }
        worked
    }

    fn is_flushed(&self) -> bool {
        let called = self.dial.is_some();
        (0..self.streams.len())
            .all(|p| !called && self.streams[p].is_none() || self.port.output(p).is_empty())
    }
}

impl drive::Wires for Wires {
    fn join(&mut self, consumer: Consumer) {
        self.port.join(consumer);
    }

    fn push(&mut self) -> bool {
        let stepped = self.port.step();
        self.send() || stepped
    }

    fn turn(&mut self) -> bool {
        let mut worked = self.push();
        if self.receive() {
            self.push();
            worked = true;
        }
        worked
    }

    fn turns_per_look(&self) -> u32 {
        TURNS_PER_LOOK
    }

    fn needs_care(&self) -> bool {
        self.port.is_held_up() || !self.is_flushed()
    }

    fn requests(&self) -> usize {
        self.port.requests()
    }

    fn watch(&mut self, watch: &mut Watch) {
        let look = self.look();
        self.ask(watch);
        // The next look also looks at callers.
        self.looks = LOOKS_PER_CALL;
        let call = self.dial.as_ref().map_or(-1, |d| d.ask(&mut watch.fds));
        watch.ms = if self.port.is_held_up() {
            RETRY_MS
        } else if look < 0 || call < 0 {
            look.max(call)
        } else {
            look.min(call)
        };
    }

    fn finish(&mut self) {
        let deadline = Instant::now() + LAST_WORDS;
        while !self.is_flushed() && Instant::now() < deadline {
            if !(self.send() | self.meet()) {
                rest();
            }
        }
        self.port.stop();
    }
}

fn is_later(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Domain, Sizes};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    /// A socket whose connection has failed has no name for its peer. Its loss is told all the same.
    #[test]
    fn the_loss_of_a_dead_stream_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let mut stream = TcpStream::connect(address).expect("a connection");
        let (other, _) = listener.accept().expect("its other end");
        let port = Port::new(0, Arc::new(Domain::new(Sizes::default())), 2, StreamOnly);
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = told.clone();
        let vanished = Vanished {
            after: Duration::from_secs(10),
            needs_all: false,
            tell: Box::new(move |peer, address, loss| {
                telling.lock().unwrap().push((peer, address, loss));
            }),
        };
        let streams = vec![None, Some(stream.try_clone().expect("the stream"))];
        let mut wires = Wires::new(port, streams).watching(Some(vanished));
        // Bytes that nobody has read make the end of the connection a reset.
        stream.write_all(b"unread").expect("sent");
        while other.peek(&mut [0]).expect("bytes") == 0 {}
        drop(other);
        assert!(stream.read(&mut [0]).is_err(), "a reset");
        assert!(stream.peer_addr().is_err(), "the socket is dead");
        wires.fail(1, &ErrorKind::TimedOut.into());
        assert_eq!(*told.lock().unwrap(), [(1, address, Loss::Silent)]);
    }

    /// Where every peer is needed, the end of a stream is told.
    #[test]
    fn the_end_of_a_stream_is_told_where_all_are_needed() {
        for needs_all in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("its address");
            let stream = TcpStream::connect(address).expect("a connection");
            let (other, _) = listener.accept().expect("its other end");
            let port = Port::new(0, Arc::new(Domain::new(Sizes::default())), 2, StreamOnly);
            let told = Arc::new(Mutex::new(Vec::new()));
            let telling = told.clone();
            let vanished = Vanished {
                after: Duration::ZERO,
                needs_all,
                tell: Box::new(move |peer, _, loss| telling.lock().unwrap().push((peer, loss))),
            };
            let mut wires = Wires::new(port, vec![None, Some(stream)]).watching(Some(vanished));
            drop(other);
            while !wires.read_from(1) {}
            wires.look();
            let expected = needs_all.then_some((1, Loss::Ended));
            assert_eq!(*told.lock().unwrap(), Vec::from_iter(expected));
        }
    }
}
