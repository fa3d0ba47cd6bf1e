//! Who works on the wires: the engine's thread, or an initiator that waits anyway.
//!
//! A reply that has to wake a thread which then wakes the initiator costs two wake-ups more than a bare
//! exchange of messages. So whoever waits takes the wires and looks at the sockets itself, spinning and
//! then asleep in `poll` as the waiting policy says; the thread naps meanwhile. An initiator that rings while
//! little is under way writes to the socket itself.
//!
//! The thread takes over when no initiator has waited for [`NAP`]. Thus a rank that computes serves its
//! peers, at worst that much later than one that does not.

use super::wires::Watch;
use crate::engine::Domain;
use crate::queue_pair::{Consumer, Initiator};
use core::sync::atomic::{fence, AtomicBool, AtomicU32, AtomicU64, Ordering};
use hetmp_core::lock::Lock;
use hetmp_core::park::Spinner;
use hetmp_core::sync::CacheLine;
use hetmp_core::sys;
use std::cell::UnsafeCell;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Spin turns between two looks at the sockets: a look is a system call or more.
const TURNS_PER_LOOK: u32 = 4;
/// How long the thread leaves the wires to the initiators before it looks whether they still use them.
const NAP: Duration = Duration::from_micros(100);
/// How long the thread leaves the wires to an initiator that sleeps over them.
const LONGEST_NAP: Duration = Duration::from_millis(100);
/// A wait this long is worth the wake-up of the thread when it ends, nanoseconds.
const LONG_WAIT_NS: u64 = 1_000_000;
/// How long an initiator that waits beside another one sleeps before it tries to take its place, nanoseconds.
const BESIDE_NS: u64 = 200_000;
/// Requests under way up to which an initiator that rings writes to the socket itself. With more of them the
/// thread writes many at once.
const FEW_REQUESTS: usize = 4;

/// What there is to drive: a [port](super::port::Port) and what carries its bytes. One at a time calls it.
pub(in crate::engine) trait Wires: Send {
    /// Takes a new queue pair over.
    fn join(&mut self, consumer: Consumer);
    /// Takes what was posted, and sends what can be sent.
    fn push(&mut self) -> bool;
    /// One look at everything; what arrived is answered at once. False: there was nothing to do.
    fn turn(&mut self) -> bool;
    /// True while somebody has to look again although nothing arrives and nobody posts.
    fn needs_care(&self) -> bool;
    /// Requests without a reply.
    fn requests(&self) -> usize;
    /// Fills in what has to be watched before a sleep.
    fn watch(&mut self, watch: &mut Watch);
    /// The engine stops: peers may still wait for answers that are on their way out.
    fn finish(&mut self);
}

/// Somebody who may sleep in `poll`.
struct Sleeper {
    asleep: AtomicBool,
    wake: OwnedFd,
}

impl Sleeper {
    fn new() -> io::Result<Sleeper> {
        // SAFETY: no preconditions.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Sleeper {
            asleep: AtomicBool::new(false),
            // SAFETY: just made, and nobody else's.
            wake: unsafe { OwnedFd::from_raw_fd(fd) },
        })
    }

    #[cold]
    fn awaken(&self) {
        let one = 1u64;
        // SAFETY: eight bytes of a live word. An eventfd that cannot take more is already readable.
        unsafe { libc::write(self.wake.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

/// What the thread and the initiators of a rank share.
///
/// # Memory ordering
/// * A doorbell first counts in `bells`, then tries `driving`, then looks who is asleep. Who drives reads `bells`
///   before it takes what was posted; when it lets go of `driving`, and when it has said that it sleeps,
///   it compares. Sequentially consistent fences lie between on both sides: a doorbell finds the wires
///   free, or is seen by who had them, or finds a sleeper to wake.
/// * `driving` (acquire, release) hands the wires from one to the next.
pub(in crate::engine) struct Shared<W> {
    pub(in crate::engine) rank: u32,
    pub(in crate::engine) ranks: u32,
    pub(in crate::engine) domain: Arc<Domain>,
    pub(in crate::engine) queue_pairs: AtomicU32,
    driving: CacheLine<Lock>,
    wires: UnsafeCell<W>,
    joining: Lock,
    joiners: UnsafeCell<Vec<Consumer>>,
    joined: AtomicU32,
    bells: CacheLine<AtomicU64>,
    /// Grows whenever an initiator begins to drive.
    sessions: CacheLine<AtomicU64>,
    /// Requests that had no reply when the wires were last let go.
    under_way: AtomicU64,
    thread: Sleeper,
    /// The initiator that sleeps over the wires, with `driving` held.
    leader: Sleeper,
    stop: AtomicBool,
}

// SAFETY: `wires` is only touched by who holds `driving`, `joiners` by who holds `joining`; the rest is shared by
// itself.
unsafe impl<W: Wires> Sync for Shared<W> {}
// SAFETY: wires and consumers may change threads.
unsafe impl<W: Wires> Send for Shared<W> {}

impl<W: Wires> Shared<W> {
    pub(in crate::engine) fn new(
        rank: u32,
        ranks: u32,
        domain: Arc<Domain>,
        wires: W,
    ) -> io::Result<Self> {
        Ok(Shared {
            rank,
            ranks,
            domain,
            queue_pairs: AtomicU32::new(0),
            driving: CacheLine(Lock::new()),
            wires: UnsafeCell::new(wires),
            joining: Lock::new(),
            joiners: UnsafeCell::new(Vec::new()),
            joined: AtomicU32::new(0),
            bells: CacheLine(AtomicU64::new(0)),
            sessions: CacheLine(AtomicU64::new(0)),
            under_way: AtomicU64::new(0),
            thread: Sleeper::new()?,
            leader: Sleeper::new()?,
            stop: AtomicBool::new(false),
        })
    }

    /// A new queue pair.
    pub(in crate::engine) fn join(&self, consumer: Consumer) {
        self.joining.lock();
        // SAFETY: the lock is held.
        unsafe { &mut *self.joiners.get() }.push(consumer);
        self.joining.unlock();
        self.joined.fetch_add(1, Ordering::Release);
        self.bell();
    }

    /// The wires, for who holds `driving`.
    ///
    /// # Safety
    /// The caller holds `driving`, and uses the result only while it does.
    #[allow(
        clippy::mut_from_ref,
        reason = "the lock makes the reference the only one"
    )]
    unsafe fn wires(&self) -> &mut W {
        // SAFETY: this function's contract: the caller holds `driving`, so that nobody else has a reference.
        unsafe { &mut *self.wires.get() }
    }

    /// Takes new queue pairs over.
    fn admit(&self, wires: &mut W) {
        if self.joined.load(Ordering::Acquire) == 0 {
            return;
        }
        self.joining.lock();
        self.joined.store(0, Ordering::Relaxed);
        // SAFETY: the lock is held.
        for consumer in unsafe { &mut *self.joiners.get() }.drain(..) {
            wires.join(consumer);
        }
        self.joining.unlock();
    }

    /// Lets go of the wires, unless somebody rang since `seen`: then true, and the caller still has them.
    fn let_go(&self, wires: &mut W, seen: u64) -> bool {
        let care = wires.needs_care();
        self.under_way
            .store(wires.requests() as u64, Ordering::Relaxed);
        self.driving.unlock();
        // See "Memory ordering".
        fence(Ordering::SeqCst);
        if self.bells.load(Ordering::Relaxed) != seen {
            return self.driving.try_lock();
        }
        if care && self.thread.asleep.load(Ordering::Relaxed) {
            // It does not watch for what is needed now.
            self.thread.awaken();
        }
        false
    }

    /// Descriptors were announced.
    #[inline]
    pub(in crate::engine) fn rung(&self) {
        if self.under_way.load(Ordering::Relaxed) < FEW_REQUESTS as u64 {
            self.bells.fetch_add(1, Ordering::Release);
            fence(Ordering::SeqCst);
            if self.driving.try_lock() {
                self.push();
                return;
            }
            self.wake_who_sleeps();
        } else {
            self.bell();
        }
    }

    fn bell(&self) {
        self.bells.fetch_add(1, Ordering::Release);
        fence(Ordering::SeqCst);
        self.wake_who_sleeps();
    }

    #[inline]
    fn wake_who_sleeps(&self) {
        // A leader has the wires: it must see to them, and nobody else can.
        if self.leader.asleep.load(Ordering::Relaxed) {
            self.leader.awaken();
        } else if self.thread.asleep.load(Ordering::Relaxed) {
            self.thread.awaken();
        }
    }

    /// Sends what was posted, with `driving` just taken, and lets go of it.
    fn push(&self) {
        loop {
            let seen = self.bells.load(Ordering::Acquire);
            // SAFETY: `driving` is held.
            let wires = unsafe { self.wires() };
            self.admit(wires);
            wires.push();
            if !self.let_go(wires, seen) {
                return;
            }
        }
    }

    /// One look at the wires, if nobody else has them.
    pub(in crate::engine) fn progress(&self) -> bool {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        if !self.driving.try_lock() {
            return false;
        }
        let mut worked = false;
        loop {
            let seen = self.bells.load(Ordering::Acquire);
            // SAFETY: `driving` is held.
            let wires = unsafe { self.wires() };
            self.admit(wires);
            worked |= wires.turn();
            if !self.let_go(wires, seen) {
                return worked;
            }
        }
    }

    /// Waits for `until`, working on the wires while nobody else does.
    pub(in crate::engine) fn wait(
        &self,
        initiator: &mut Initiator,
        until: &mut dyn FnMut(&mut Initiator) -> bool,
    ) {
        let mut spinner = Spinner::new();
        loop {
            self.sessions.fetch_add(1, Ordering::Relaxed);
            if self.driving.try_lock() {
                self.lead(initiator, until);
                return;
            }
            if until(initiator) {
                return;
            }
            // The thread goes as soon as it sees the session; another initiator may stay for long.
            if !spinner.turn() && initiator.wait_within(BESIDE_NS, until) {
                return;
            }
        }
    }

    fn lead(&self, initiator: &mut Initiator, until: &mut dyn FnMut(&mut Initiator) -> bool) {
        let mut spinner = Spinner::new();
        let mut watch = Watch::default();
        let mut slept_from = None;
        let mut done = false;
        loop {
            let seen = self.bells.load(Ordering::Acquire);
            // SAFETY: `driving` is held since before the call, or since `let_go` said so.
            let wires = unsafe { self.wires() };
            self.admit(wires);
            let worked = wires.turn();
            // Not asked again once it said so: it may have taken a completion.
            done = done || until(initiator);
            if done {
                if self.let_go(wires, seen) {
                    continue;
                }
                break;
            }
            if worked {
                spinner = Spinner::new();
                continue;
            }
            if (0..TURNS_PER_LOOK).all(|_| spinner.turn()) {
                continue;
            }
            slept_from.get_or_insert_with(sys::monotonic_ns);
            wires.watch(&mut watch);
            self.leader.asleep.store(true, Ordering::Relaxed);
            // See "Memory ordering".
            fence(Ordering::SeqCst);
            if self.bells.load(Ordering::Acquire) == seen {
                watch.sleep(self.leader.wake.as_raw_fd());
            }
            self.leader.asleep.store(false, Ordering::Relaxed);
        }
        // The thread naps for long when an initiator sleeps for long.
        if slept_from.is_some_and(|t| sys::monotonic_ns() - t > LONG_WAIT_NS) {
            self.thread.awaken();
        }
    }

    /// Ends the thread.
    pub(in crate::engine) fn end(&self) {
        self.stop.store(true, Ordering::Release);
        self.thread.awaken();
    }

    /// What the thread does.
    pub(in crate::engine) fn serve(&self) {
        let mut spinner = Spinner::new();
        let mut watch = Watch::default();
        let mut sessions = 0;
        let mut nap = NAP;
        while !self.stop.load(Ordering::Acquire) {
            let now = self.sessions.load(Ordering::Relaxed);
            if now != sessions || !self.driving.try_lock() {
                // Initiators see to the wires. One that sleeps over them may do so for long.
                nap = if now != sessions {
                    NAP
                } else {
                    (nap * 2).min(LONGEST_NAP)
                };
                sessions = now;
                self.nap(nap);
                spinner = Spinner::new();
                continue;
            }
            nap = NAP;
            let mut seen;
            let mut worked = false;
            loop {
                seen = self.bells.load(Ordering::Acquire);
                // SAFETY: `driving` is held.
                let wires = unsafe { self.wires() };
                self.admit(wires);
                worked |= wires.turn();
                wires.watch(&mut watch);
                if !self.let_go(wires, seen) {
                    break;
                }
            }
            if worked {
                spinner = Spinner::new();
                continue;
            }
            if (0..TURNS_PER_LOOK).all(|_| spinner.turn()) {
                continue;
            }
            self.thread.asleep.store(true, Ordering::Relaxed);
            // See "Memory ordering".
            fence(Ordering::SeqCst);
            if self.bells.load(Ordering::Acquire) == seen && !self.stop.load(Ordering::Acquire) {
                watch.sleep(self.thread.wake.as_raw_fd());
            }
            self.thread.asleep.store(false, Ordering::Relaxed);
            spinner = Spinner::new();
        }
        self.driving.lock();
        // SAFETY: `driving` is held.
        unsafe { self.wires() }.finish();
        self.driving.unlock();
    }

    /// Sleeps without being woken by what arrives.
    fn nap(&self, how_long: Duration) {
        let mut fd = libc::pollfd {
            fd: self.thread.wake.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let time = libc::timespec {
            tv_sec: how_long.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(how_long.subsec_nanos() as i32),
        };
        let mut rung = 0u64;
        // SAFETY: one live descriptor and a live time; eight bytes of a live word.
        unsafe {
            if libc::ppoll(&mut fd, 1, &time, core::ptr::null()) > 0 {
                libc::read(self.thread.wake.as_raw_fd(), (&raw mut rung).cast(), 8);
            }
        }
    }
}
