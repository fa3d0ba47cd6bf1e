//! Ranks in processes of their own, a stream between every two of them.
//!
//! [`frame`] says what goes over a stream, [`connect`] makes the streams, `port` is the state machine; here
//! is the thread around it. It keeps looking at its sockets for a while (the policy of
//! [`hetmp_core::park`]) and then sleeps in `poll`, from where an initiator wakes it through an eventfd.

pub mod connect;
pub mod frame;
mod port;

use super::{ends, Abilities, Bell, Domain, Engine, QueuePair, TemplateKeys};
use crate::queue_pair::Consumer;
use core::sync::atomic::{fence, AtomicBool, AtomicU32, AtomicU64, Ordering};
use hetmp_core::lock::Lock;
use hetmp_core::park::Spinner;
use hetmp_core::sync::CacheLine;
use port::Port;
use std::cell::UnsafeCell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Spin turns between two looks at the sockets: a look is a system call per peer.
const TURNS_PER_LOOK: u32 = 8;
/// How long the last bytes may take to leave when the engine stops.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How soon a full inbox is looked at again, milliseconds.
const RETRY_MS: i32 = 1;

/// # Memory ordering
/// A doorbell first counts in `bells`, then looks at `asleep`; the thread first says that it sleeps, then looks
/// at `bells`; sequentially consistent fences lie between. One of the two sees the other.
struct Shared {
    rank: u32,
    ranks: u32,
    domain: Arc<Domain>,
    lock: Lock,
    joining: UnsafeCell<Vec<Consumer>>,
    bells: CacheLine<AtomicU64>,
    asleep: AtomicBool,
    stop: AtomicBool,
    queue_pairs: AtomicU32,
    wake: OwnedFd,
}

// SAFETY: `joining` is only touched while the lock is held; the rest is shared by itself.
unsafe impl Sync for Shared {}
// SAFETY: consumers may change threads.
unsafe impl Send for Shared {}

impl Shared {
    fn with_joining<R>(&self, f: impl FnOnce(&mut Vec<Consumer>) -> R) -> R {
        self.lock.lock();
        // SAFETY: the lock is held, and this is the only place that looks at the list.
        let result = f(unsafe { &mut *self.joining.get() });
        self.lock.unlock();
        result
    }

    #[inline]
    fn bell(&self) {
        self.bells.fetch_add(1, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) {
            self.awaken();
        }
    }

    #[cold]
    fn awaken(&self) {
        let one = 1u64;
        // SAFETY: eight bytes of a live word. An eventfd that cannot take more is already readable.
        unsafe { libc::write(self.wake.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

struct Running {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.awaken();
        if let Some(t) = self.thread.take() {
            // It ends on `stop`; with `panic = "abort"` there is no other way for it to end.
            let _ = t.join();
        }
    }
}

/// The engine of one rank. Stops when it and its last queue pair are gone.
pub struct Tcp(Arc<Running>);

impl core::fmt::Debug for Tcp {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tcp")
            .field("rank", &self.0.shared.rank)
            .finish_non_exhaustive()
    }
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
        for (peer, stream) in streams.iter().enumerate() {
            match stream {
                Some(s) => {
                    s.set_nonblocking(true)?;
                    s.set_nodelay(true)?;
                }
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
        // SAFETY: no preconditions.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let shared = Arc::new(Shared {
            rank,
            ranks: streams.len() as u32,
            domain: domain.clone(),
            lock: Lock::new(),
            joining: UnsafeCell::new(Vec::new()),
            bells: CacheLine(AtomicU64::new(0)),
            asleep: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            queue_pairs: AtomicU32::new(0),
            // SAFETY: just made, and nobody else's.
            wake: unsafe { OwnedFd::from_raw_fd(fd) },
        });
        let wires = Wires {
            port: Port::new(rank, domain, streams.len()),
            streams,
            buffer: vec![0; 128 * 1024].into(),
        };
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("hetmp-tcp".into())
            .spawn(move || serve(&of_thread, wires))?;
        Ok(Tcp(Arc::new(Running {
            shared,
            thread: Some(thread),
        })))
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
        Abilities {
            triggered: true,
            asynchronous: true,
        }
    }

    fn domain(&self) -> &Domain {
        &self.0.shared.domain
    }

    fn queue_pair(&self, depth: usize, keys: TemplateKeys) -> QueuePair {
        let shared = &self.0.shared;
        let number = shared.queue_pairs.fetch_add(1, Ordering::Relaxed);
        let (initiator, consumer) = ends(depth, number, keys);
        shared.with_joining(|list| list.push(consumer));
        shared.bell();
        QueuePair::new(initiator, Box::new(Doorbell(self.0.clone())))
    }
}

struct Doorbell(Arc<Running>);

impl Bell for Doorbell {
    #[inline]
    fn rung(&mut self) {
        self.0.shared.bell();
    }

    fn drive(&mut self) -> bool {
        false
    }
}

struct Wires {
    port: Port,
    streams: Vec<Option<TcpStream>>,
    buffer: Box<[u8]>,
}

impl Wires {
    fn lose(&mut self, peer: usize) {
        self.streams[peer] = None;
        self.port.lose(peer);
    }

    /// Reads what is there.
    fn receive(&mut self) -> bool {
        let mut worked = false;
        for peer in 0..self.streams.len() {
            let Some(stream) = &mut self.streams[peer] else {
                continue;
            };
            match stream.read(&mut self.buffer) {
                Ok(n) if n > 0 => {
                    worked = true;
                    if !self.port.feed(peer, &self.buffer[..n]) {
                        self.lose(peer);
                    }
                }
                Err(e) if is_later(&e) => {}
                Ok(_) | Err(_) => {
                    worked = true;
                    self.lose(peer);
                }
            }
        }
        worked
    }

    /// Writes what the sockets take.
    fn send(&mut self) -> bool {
        let mut worked = false;
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
                    Err(_) => {
                        worked = true;
                        self.lose(peer);
                    }
                }
            }
        }
        worked
    }

    fn is_flushed(&self) -> bool {
        (0..self.streams.len()).all(|p| self.streams[p].is_none() || self.port.output(p).is_empty())
    }

    fn sleep(&mut self, shared: &Shared) {
        let mut fds = vec![libc::pollfd {
            fd: shared.wake.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        }];
        for (peer, stream) in self.streams.iter().enumerate() {
            if let Some(s) = stream {
                let more = !self.port.output(peer).is_empty();
                fds.push(libc::pollfd {
                    fd: s.as_raw_fd(),
                    events: libc::POLLIN | if more { libc::POLLOUT } else { 0 },
                    revents: 0,
                });
            }
        }
        let ms = if self.port.is_held_up() { RETRY_MS } else { -1 };
        let mut rung = 0u64;
        // SAFETY: the array is live and of the length given; eight bytes of a live word.
        unsafe {
            libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, ms);
            libc::read(shared.wake.as_raw_fd(), (&raw mut rung).cast(), 8);
        }
    }
}

fn is_later(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn serve(shared: &Shared, mut wires: Wires) {
    let mut spinner = Spinner::new();
    loop {
        let seen = shared.bells.load(Ordering::Acquire);
        shared.with_joining(|list| {
            for consumer in list.drain(..) {
                wires.port.join(consumer);
            }
        });
        let mut worked = wires.port.step();
        worked |= wires.send();
        worked |= wires.receive();
        if shared.stop.load(Ordering::Acquire) {
            finish(wires);
            return;
        }
        if worked {
            spinner = Spinner::new();
            continue;
        }
        if (0..TURNS_PER_LOOK).all(|_| spinner.turn()) {
            continue;
        }
        shared.asleep.store(true, Ordering::Relaxed);
        // See "Memory ordering".
        fence(Ordering::SeqCst);
        if shared.bells.load(Ordering::Acquire) == seen && !shared.stop.load(Ordering::Acquire) {
            wires.sleep(shared);
        }
        shared.asleep.store(false, Ordering::Relaxed);
        spinner = Spinner::new();
    }
}

/// Peers may still wait for answers that are on their way out.
fn finish(mut wires: Wires) {
    let deadline = Instant::now() + LAST_WORDS;
    while !wires.is_flushed() && Instant::now() < deadline {
        if !wires.send() {
            hetmp_core::sys::yield_now();
        }
    }
    wires.port.stop();
}
