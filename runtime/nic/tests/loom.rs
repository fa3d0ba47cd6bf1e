//! The rings, the inbox and the key table under all interleavings that loom finds with few preemptions.
#![cfg(loom)]

#[path = "../src/device_memory/board/entry.rs"]
mod entry;
#[allow(dead_code, reason = "naps are not modelled")]
#[path = "../src/engine/tcp/turns.rs"]
mod turns;

use entry::Entry;
use hetmp_core::sync::{AtomicBool, AtomicU64, Ordering};
use hetmp_nic::descriptor::{
    Completion, CounterId, Descriptor, Inline, Key, Remote, Source, Status, Work,
};
use hetmp_nic::inbox::{Inbox, Message};
use hetmp_nic::keys::{KeyTable, Memory, Rights, Side};
use hetmp_nic::queue_pair::{queue_pair, Consumer};
use hetmp_nic::template::Statics;
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Notify};
use loom::thread;
use turns::{Left, Turns, Who};

fn bounded(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(f);
}

fn put(n: u64) -> Descriptor {
    Descriptor {
        queue_pair: 1,
        peer: n as u32,
        signalled: true,
        count: Some(CounterId(n as u32)),
        count_source: false,
        work: Work::Put {
            source: Source::Inline(Inline::new(&[n as u8; 24]).expect("fits")),
            remote: Remote {
                address: n,
                key: Key(n as u32),
            },
            signal: None,
        },
    }
}

const STATICS: Statics = Statics {
    queue_pair: 1,
    local: Key(0),
    remote: Key(0),
};

/// Four descriptors through two slots: each slot is used again while the other side still runs. Every
/// descriptor arrives whole, once and in order; every completion comes back; quiet sleeps and wakes.
#[test]
fn descriptors_pass_a_ring_that_is_full_at_times() {
    bounded(2, || {
        let (mut i, mut c) = queue_pair(2, STATICS);
        let engine = thread::spawn(move || {
            for n in 0..3 {
                let (ticket, words) = loop {
                    match c.peek() {
                        Some(x) => break x,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(ticket, n);
                assert_eq!(Descriptor::parse(&words), Ok(put(n)));
                c.advance();
                c.complete(Some(Completion {
                    ticket,
                    status: Status::Ok,
                    bytes: 24,
                    value: n + 100,
                }));
                c.notify();
            }
        });
        for n in 0..3 {
            while i.post(&put(n)).is_err() {
                thread::yield_now();
            }
            i.ring();
        }
        i.wait(&mut || false, &mut |i| i.is_quiet());
        for n in 0..3 {
            let done = i.poll().expect("written before it counted as done");
            assert_eq!((done.ticket, done.value), (n, n + 100));
        }
        engine.join().unwrap();
    });
}

/// The initiator's buffers. After posting, the initiator may write to them only after a flush.
struct Buffers([UnsafeCell<u32>; 2]);
// SAFETY: loom's cells report accesses that are not ordered. The test is about this order.
unsafe impl Sync for Buffers {}
// SAFETY: cells may change threads; loom finds accesses that are not ordered.
unsafe impl Send for Buffers {}

/// The engine reads the sources of two operations. It reports that the second one's source was read before that
/// operation is done, then completes both. Once the initiator sees the queue flushed, it writes to both sources. If one
/// operation were counted twice, the initiator would write while the engine reads the other source.
#[test]
fn a_flushed_buffer_is_not_read_any_more() {
    bounded(3, || {
        let (mut i, mut c) = queue_pair(2, STATICS);
        let buffers = Arc::new(Buffers([UnsafeCell::new(1), UnsafeCell::new(1)]));
        for n in 0..2 {
            i.post(&put(n)).expect("room for two");
        }
        i.ring();
        let of_engine = buffers.clone();
        let engine = thread::spawn(move || {
            let read = |c: &mut Consumer, n: u64| {
                assert!(c.peek().is_some());
                c.advance();
                // SAFETY: loom checks that the initiator does not write meanwhile.
                let value = of_engine.0[n as usize].with(|p| unsafe { *p });
                assert_eq!(value, 1);
            };
            read(&mut c, 0);
            c.free();
            c.notify();
            c.complete_freed(None);
            read(&mut c, 1);
            c.free();
            c.notify();
            c.complete_freed(None);
            c.notify();
        });
        i.wait(&mut || false, &mut |i| i.is_flushed());
        for buffer in &buffers.0 {
            // SAFETY: loom checks that the engine does not read meanwhile.
            buffer.with_mut(|p| unsafe { *p = 2 });
        }
        engine.join().unwrap();
        assert!(i.is_quiet());
    });
}

/// In the model, a thread that yields sees the latest values. So the receiver polls without yielding, and by default
/// runs after the senders: the model then tries every older value on it.
#[test]
fn messages_of_two_senders_arrive_whole_and_in_order() {
    fn send(inbox: &Inbox, s: u32) {
        let m = Message::new(s, s * 10, &[s as u8; 8]).expect("short");
        assert!(inbox.deliver(&m), "there is room for both");
    }
    fn look(inbox: &Inbox, seen: &mut u32) {
        if let Some(m) = inbox.receive() {
            let whole = (m.source * 10, &[m.source as u8; 8][..]);
            assert_eq!((m.tag, m.bytes()), whole);
            assert_eq!(*seen & 1 << m.source, 0, "received twice");
            *seen |= 1 << m.source;
        }
    }
    bounded(2, || {
        let inbox = Arc::new(Inbox::new(2, 8));
        let (a, b) = (inbox.clone(), inbox.clone());
        let receiver = thread::spawn(move || {
            let mut seen = 0;
            look(&a, &mut seen);
            look(&a, &mut seen);
            seen
        });
        let sender = thread::spawn(move || send(&b, 2));
        send(&inbox, 1);
        sender.join().unwrap();
        let mut seen = receiver.join().unwrap();
        look(&inbox, &mut seen);
        look(&inbox, &mut seen);
        assert_eq!(seen, 0b110);
    });
}

/// The owner's memory. The owner may write to it only after deregistration.
struct Owned(UnsafeCell<u32>);
// SAFETY: loom's cell reports accesses that are not ordered. The test is about this order.
unsafe impl Sync for Owned {}
// SAFETY: the cell may change threads; loom finds accesses that are not ordered.
unsafe impl Send for Owned {}

#[test]
fn no_operation_runs_in_memory_after_its_deregistration() {
    bounded(3, || {
        let table = Arc::new(KeyTable::new(1));
        let owned = Arc::new(Owned(UnsafeCell::new(0)));
        let memory = Memory {
            here: core::ptr::without_provenance_mut(64),
            len: 8,
            base: 64,
        };
        // SAFETY: the memory is only looked up here, never touched; `owned` stands for it.
        let key = unsafe { table.register(memory, Rights::ALL, None) }.expect("room");
        let (t, o) = (table.clone(), owned.clone());
        let engine = thread::spawn(move || {
            if let Ok(_span) = t.find(Side::Remote, key, 64, 8, Rights::REMOTE_WRITE) {
                // SAFETY: loom checks that nobody else accesses the cell.
                o.0.with_mut(|p| unsafe { *p = 1 });
            }
        });
        assert!(table.deregister(key));
        // SAFETY: loom checks that the engine does not access the cell any more.
        owned.0.with_mut(|p| unsafe { *p = 2 });
        engine.join().unwrap();
        // SAFETY: the engine has ended.
        assert_eq!(owned.0.with(|p| unsafe { *p }), 2);
    });
}

/// A reader of a board gets a report whole or not at all, while the entry is written anew. The first report has the
/// stamp and the words 1, the second 2.
#[test]
fn reports_of_an_entry_never_mix() {
    bounded(3, || {
        let words = Arc::new([1, 1, 1].map(AtomicU64::new));
        let of_writer = Arc::clone(&words);
        let writer = thread::spawn(move || {
            let entry = Entry(&*of_writer);
            assert!(entry.take());
            entry.write(&[2, 2], 2);
        });
        if let Some((stamp, words)) = Entry(&*words).read::<2>() {
            assert_eq!(words, [stamp; 2]);
        }
        writer.join().unwrap();
    });
}

/// The wires of `tcp::drive`: what was posted, and what those have sent who had the wires.
struct Wires {
    turns: Turns,
    posted: AtomicU64,
    sent: UnsafeCell<u64>,
    stop: AtomicBool,
    /// The thread's and the leader's.
    alarms: [Notify; 2],
}
// SAFETY: loom finds accesses to `sent` that are not ordered, and this is what the tests look for.
unsafe impl Sync for Wires {}
// SAFETY: loom finds accesses to `sent` that are not ordered, and this is what the tests look for.
unsafe impl Send for Wires {}

impl Wires {
    fn new() -> Arc<Wires> {
        Arc::new(Wires {
            turns: Turns::new(),
            posted: AtomicU64::new(0),
            sent: UnsafeCell::new(0),
            stop: AtomicBool::new(false),
            alarms: [Notify::new(), Notify::new()],
        })
    }

    /// Sends what was posted. Returns how much was sent by now.
    fn push(&self) -> u64 {
        let posted = self.posted.load(Ordering::Relaxed);
        // SAFETY: loom checks that no other thread accesses the cell.
        self.sent.with_mut(|sent| unsafe { *sent = posted });
        posted
    }

    fn sent(&self) -> u64 {
        // SAFETY: loom checks that no thread writes the cell.
        self.sent.with(|sent| unsafe { *sent })
    }

    fn awaken(&self, who: Who) {
        self.alarms[who as usize].notify();
    }

    /// As `Shared::rung`. Returns whether this thread had the wires.
    fn post(&self) -> bool {
        self.posted.store(1, Ordering::Relaxed);
        self.turns.ring();
        if self.turns.take() {
            loop {
                let seen = self.turns.rings();
                self.push();
                if self.turns.let_go(seen, false) != Left::Again {
                    return true;
                }
            }
        }
        if let Some(who) = self.turns.sleeper() {
            self.awaken(who);
        }
        false
    }

    /// As `Shared::serve`, until `look` has found something.
    fn serve(&self, look: impl Fn(&Wires) -> u64) {
        let mut sessions = 0;
        while !self.stop.load(Ordering::Acquire) {
            let now = self.turns.sessions();
            if now != sessions || !self.turns.take() {
                sessions = now;
                thread::yield_now();
                continue;
            }
            let (mut seen, mut found);
            loop {
                seen = self.turns.rings();
                found = look(self);
                if self.turns.let_go(seen, false) != Left::Again {
                    break;
                }
            }
            if found != 0 {
                return;
            }
            let undisturbed = self.turns.lie_down(Who::Thread, seen, Some(sessions));
            if undisturbed && !self.stop.load(Ordering::Acquire) {
                self.alarms[Who::Thread as usize].wait();
            }
            self.turns.get_up(Who::Thread);
        }
    }
}

#[test]
fn what_is_posted_is_sent_by_who_rings_or_by_the_thread() {
    bounded(3, || {
        let wires = Wires::new();
        let thread = {
            let wires = Arc::clone(&wires);
            thread::spawn(move || wires.serve(Wires::push))
        };
        if wires.post() {
            // As `Shared::end`.
            wires.stop.store(true, Ordering::Release);
            wires.awaken(Who::Thread);
        }
        thread.join().unwrap();
        assert_eq!(wires.sent(), 1);
    });
}

#[test]
fn what_is_posted_beside_a_leader_is_sent() {
    bounded(3, || {
        let wires = Wires::new();
        // As `Shared::wait` and `lead`.
        let leader = {
            let wires = Arc::clone(&wires);
            thread::spawn(move || {
                while !wires.turns.begin_session() {
                    thread::yield_now();
                }
                loop {
                    let seen = wires.turns.rings();
                    if wires.push() != 0 {
                        if wires.turns.let_go(seen, false) == Left::Again {
                            continue;
                        }
                        return;
                    }
                    if wires.turns.lie_down(Who::Leader, seen, None) {
                        wires.alarms[Who::Leader as usize].wait();
                    }
                    wires.turns.get_up(Who::Leader);
                }
            })
        };
        wires.post();
        leader.join().unwrap();
        assert_eq!(wires.sent(), 1);
    });
}

#[test]
fn the_thread_does_not_sleep_over_what_an_initiator_has_changed() {
    bounded(3, || {
        let wires = Wires::new();
        let thread = {
            let wires = Arc::clone(&wires);
            thread::spawn(move || wires.serve(Wires::sent))
        };
        while !wires.turns.begin_session() {
            thread::yield_now();
        }
        let seen = wires.turns.rings();
        // SAFETY: loom checks that no other thread accesses the cell.
        wires.sent.with_mut(|sent| unsafe { *sent = 1 });
        if wires.turns.let_go(seen, true) == Left::Wake {
            wires.awaken(Who::Thread);
        }
        thread.join().unwrap();
    });
}
