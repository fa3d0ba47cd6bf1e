//! Decides which thread works on the wires: the engine's thread, or an initiator that waits.
//!
//! If a reply had to wake the engine's thread, which then wakes the initiator, this would cost two wake-ups more than
//! a bare exchange of messages. So an initiator that waits takes the wires and looks at the sockets itself: it spins,
//! and then sleeps in `poll`, as the waiting policy says. Meanwhile the engine's thread naps. An initiator that rings
//! while little is under way writes to the socket itself.
//!
//! The engine's thread takes over when no initiator has waited for [`NAP`]. So a rank that computes answers its peers
//! too, at worst that much later than a rank that waits. Where one wait follows another, the thread looks more rarely,
//! up to [`BUSY_NAP`]: each look takes the core from an initiator that shares it, for some 10 us.

use super::turns::{Left, Turns, Who};
use super::wires::Watch;
use crate::engine::Domain;
use crate::queue_pair::{Consumer, Initiator};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use hetmp_core::descriptor::apart;
use hetmp_core::lock::Lock;
use hetmp_core::park::Spinner;
use hetmp_core::sys;
use std::cell::UnsafeCell;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// How long the thread leaves the wires to the initiators before it checks whether they still use them.
const NAP: Duration = Duration::from_micros(100);
/// How long at most where every look found an initiator that waits, and not the one that the look before had found.
const BUSY_NAP: Duration = Duration::from_micros(800);
/// How long the thread leaves the wires to an initiator that sleeps over them.
const LONGEST_NAP: Duration = Duration::from_millis(100);
/// After a wait of this length the thread is woken when the wait ends, nanoseconds.
const LONG_WAIT_NS: u64 = 1_000_000;
/// How long an initiator that waits while another one has the wires sleeps before it tries to take them, nanoseconds.
const BESIDE_NS: u64 = 200_000;
/// Up to this many requests under way, an initiator that rings writes to the socket itself. With more, the thread
/// writes many at once.
const FEW_REQUESTS: usize = 4;

/// What is driven: a [port](super::port::Port) and the sockets or endpoint that carry its bytes. One thread at a time
/// calls it.
pub(in crate::engine) trait Wires: Send {
    /// Takes a new queue pair over.
    fn join(&mut self, consumer: Consumer);
    /// Takes what was posted, and sends what can be sent.
    fn push(&mut self) -> bool;
    /// Looks at everything once, and answers what has arrived. False if there was nothing to do.
    fn turn(&mut self) -> bool;
    /// How many spin turns lie between two looks that find nothing.
    fn turns_per_look(&self) -> u32;
    /// True if somebody must look again even if nothing arrives and nothing is posted.
    fn needs_care(&self) -> bool;
    /// How many requests have no reply yet.
    fn requests(&self) -> usize;
    /// Fills in what has to be watched before a sleep.
    fn watch(&mut self, watch: &mut Watch);
    /// The engine stops. Sends out the answers that peers may still wait for.
    fn finish(&mut self);
}

/// Wakes a thread that sleeps in `poll`.
struct Alarm(OwnedFd);

impl Alarm {
    fn new() -> io::Result<Alarm> {
        // SAFETY: no preconditions.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and nobody else has it.
        Ok(Alarm(apart(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    #[cold]
    fn awaken(&self) {
        let one = 1u64;
        // SAFETY: writes eight bytes of a live word. If the eventfd has no room for more, it is readable already.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

/// What the thread and the initiators of a rank share. Who works on the wires and who sleeps: [`Turns`].
pub(in crate::engine) struct Shared<W> {
    pub(in crate::engine) rank: u32,
    pub(in crate::engine) ranks: u32,
    pub(in crate::engine) domain: Arc<Domain>,
    pub(in crate::engine) queue_pairs: AtomicU32,
    turns: Turns,
    wires: UnsafeCell<W>,
    joining: Lock,
    joiners: UnsafeCell<Vec<Consumer>>,
    joined: AtomicU32,
    /// How many requests had no reply when the wires were last let go.
    under_way: AtomicU64,
    thread: Alarm,
    leader: Alarm,
    stop: AtomicBool,
}

// SAFETY: only who has its turn touches `wires`, and only the holder of `joining` touches `joiners`. All other
// fields are atomics, locks, or never change.
unsafe impl<W: Wires> Sync for Shared<W> {}
// SAFETY: wires and consumers may be moved to another thread.
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
            turns: Turns::new(),
            wires: UnsafeCell::new(wires),
            joining: Lock::new(),
            joiners: UnsafeCell::new(Vec::new()),
            joined: AtomicU32::new(0),
            under_way: AtomicU64::new(0),
            thread: Alarm::new()?,
            leader: Alarm::new()?,
            stop: AtomicBool::new(false),
        })
    }

    /// Adds a new queue pair.
    pub(in crate::engine) fn join(&self, consumer: Consumer) {
        self.joining.lock();
        // SAFETY: the lock is held.
        unsafe { &mut *self.joiners.get() }.push(consumer);
        self.joining.unlock();
        self.joined.fetch_add(1, Ordering::Release);
        self.bell();
    }

    /// The wires, for who has its turn.
    ///
    /// # Safety
    /// The caller has its turn, and uses the result only until it lets go.
    #[allow(
        clippy::mut_from_ref,
        reason = "the lock makes the reference the only one"
    )]
    unsafe fn wires(&self) -> &mut W {
        // SAFETY: who calls has its turn, so that nobody else has a reference.
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

    /// Lets go of the wires. If somebody has rung since `seen` and the wires are still free, takes them again and
    /// returns true.
    fn let_go(&self, wires: &mut W, seen: u64) -> bool {
        let care = wires.needs_care();
        self.under_way
            .store(wires.requests() as u64, Ordering::Relaxed);
        match self.turns.let_go(seen, care) {
            Left::Again => return true,
            Left::Wake => self.thread.awaken(),
            Left::Nothing => {}
        }
        false
    }

    /// Descriptors were announced.
    #[inline]
    pub(in crate::engine) fn rung(&self) {
        if self.under_way.load(Ordering::Relaxed) < FEW_REQUESTS as u64 {
            self.turns.ring();
            if self.turns.take() {
                self.push();
                return;
            }
            self.wake_who_sleeps();
        } else {
            self.bell();
        }
    }

    /// Makes the thread that drives the wires, or the next one, look at them again.
    pub(in crate::engine) fn bell(&self) {
        self.turns.ring();
        self.wake_who_sleeps();
    }

    #[inline]
    fn wake_who_sleeps(&self) {
        match self.turns.sleeper() {
            Some(Who::Leader) => self.leader.awaken(),
            Some(Who::Thread) => self.thread.awaken(),
            None => {}
        }
    }

    /// Sends what was posted. The caller has just taken the wires; this lets go of them.
    fn push(&self) {
        loop {
            let seen = self.turns.rings();
            // SAFETY: it is this thread's turn.
            let wires = unsafe { self.wires() };
            self.admit(wires);
            wires.push();
            if !self.let_go(wires, seen) {
                return;
            }
        }
    }

    /// Looks at the wires once, if nobody else has them.
    pub(in crate::engine) fn progress(&self) -> bool {
        if !self.turns.begin_session() {
            return false;
        }
        let mut worked = false;
        loop {
            let seen = self.turns.rings();
            // SAFETY: it is this thread's turn.
            let wires = unsafe { self.wires() };
            self.admit(wires);
            worked |= wires.turn();
            if !self.let_go(wires, seen) {
                return worked;
            }
        }
    }

    /// Waits for `until`, and works on the wires while nobody else does.
    pub(in crate::engine) fn wait(
        &self,
        initiator: &mut Initiator,
        until: &mut dyn FnMut(&mut Initiator) -> bool,
    ) {
        let mut spinner = Spinner::new();
        loop {
            if self.turns.begin_session() {
                self.lead(initiator, until);
                return;
            }
            if until(initiator) {
                return;
            }
            // The engine's thread lets go as soon as it sees the new session. Another initiator may keep the wires
            // for long.
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
            let seen = self.turns.rings();
            // SAFETY: it is this thread's turn, which it took before the call, or again in `let_go`.
            let wires = unsafe { self.wires() };
            self.admit(wires);
            let worked = wires.turn();
            // `until` must not be called again after it said true: it may have taken a completion.
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
            if (0..wires.turns_per_look()).all(|_| spinner.turn()) {
                continue;
            }
            slept_from.get_or_insert_with(sys::monotonic_ns);
            wires.watch(&mut watch);
            if self.turns.lie_down(Who::Leader, seen, None) {
                watch.sleep(self.leader.0.as_raw_fd());
            }
            self.turns.get_up(Who::Leader);
        }
        // While an initiator sleeps for long, the thread naps for long.
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
        // The next look is the last one before a sleep.
        let mut resting = false;
        while !self.stop.load(Ordering::Acquire) {
            let now = self.turns.sessions();
            if now != sessions || !self.turns.take() {
                // Initiators see to the wires. One that sleeps with the wires in hand may do so for long.
                nap = match now != sessions {
                    true if self.turns.are_taken() => (nap * 2).min(BUSY_NAP),
                    // The waits are over, or computing lies between them.
                    true => NAP,
                    false => (nap * 2).min(LONGEST_NAP),
                };
                sessions = now;
                self.nap(nap);
                spinner = Spinner::new();
                resting = false;
                continue;
            }
            nap = NAP;
            let mut seen;
            let mut worked = false;
            let turns;
            loop {
                seen = self.turns.rings();
                // SAFETY: it is this thread's turn.
                let wires = unsafe { self.wires() };
                self.admit(wires);
                worked |= wires.turn();
                if resting {
                    wires.watch(&mut watch);
                }
                let a_look = wires.turns_per_look();
                if !self.let_go(wires, seen) {
                    turns = a_look;
                    break;
                }
            }
            if worked {
                spinner = Spinner::new();
                resting = false;
                continue;
            }
            if !resting {
                resting = !(0..turns).all(|_| spinner.turn());
                continue;
            }
            resting = false;
            // An initiator that has had the wires meanwhile may have changed what is to be watched.
            let undisturbed = self.turns.lie_down(Who::Thread, seen, Some(sessions));
            if undisturbed && !self.stop.load(Ordering::Acquire) {
                watch.sleep(self.thread.0.as_raw_fd());
            }
            self.turns.get_up(Who::Thread);
            spinner = Spinner::new();
        }
        self.turns.keep();
        // SAFETY: it is this thread's turn, for good.
        unsafe { self.wires() }.finish();
    }

    /// Sleeps for a fixed time. What arrives on the sockets does not end this sleep.
    fn nap(&self, how_long: Duration) {
        let mut fd = libc::pollfd {
            fd: self.thread.0.as_raw_fd(),
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
                libc::read(self.thread.0.as_raw_fd(), (&raw mut rung).cast(), 8);
            }
        }
    }
}
