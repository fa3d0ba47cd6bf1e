//! The queues' functions in C (`include/hetmp/mq_inline.h`), which programs compile: `header.c` makes a library of them
//! whose atomic accesses come here. They compute addresses of messages, and do not touch what is there. Sleeping is the
//! library's, and modelled with it.

use crate::{bounded, shape, Model, FIRST};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void, CStr};
use hetmp_core::sync::Ordering;
use hetmp_mq::ring::End;
use loom::sync::Arc;
use loom::thread;
use std::cell::Cell;
use std::process::Command;
use std::sync::OnceLock;

// Where the words of `struct hetmp_mq_ring` are.
const RECEIVER: usize = 128;
const RELEASED: usize = 256;
const SENT: usize = 384;
const WAITS: usize = 512;
const VARIED: usize = 520;
const MISSING: usize = 528;
const BYTES: usize = 640;
/// The address of the lengths, which nobody but the model follows.
const LENGTHS: usize = 0x10_0000;

/// What both sides see of a ring, and the ring's memory, whose atomic words stay unused.
struct Ring {
    model: Model,
    memory: UnsafeCell<Aligned>,
}

#[repr(C, align(128))]
struct Aligned([u8; BYTES]);

// SAFETY: each side touches its own end in the memory; the other words are the model's.
unsafe impl Sync for Ring {}
// SAFETY: the model may change threads, and the memory is bytes.
unsafe impl Send for Ring {}

thread_local! {
    /// The ring of this model. All of its threads are on one thread of the system.
    static RING: Cell<*const Ring> = const { Cell::new(core::ptr::null()) };
}

impl Ring {
    fn new(slots: u32) -> Arc<Ring> {
        let ring = Arc::new(Ring {
            model: Model::new(slots as usize),
            memory: UnsafeCell::new(Aligned([0; BYTES])),
        });
        let at = ring.at();
        // SAFETY: within the memory, aligned, and nobody else has the ring yet.
        unsafe {
            at.cast::<End>().write(End::new(shape(slots)));
            at.add(RECEIVER).cast::<End>().write(End::new(shape(slots)));
            at.add(MISSING).cast::<usize>().write(LENGTHS);
        }
        RING.set(&*ring);
        ring
    }

    fn at(&self) -> *mut u8 {
        self.memory.get().cast()
    }
}

/// The ring and the accessed word: an offset in the ring, or the address of a length.
fn word(at: usize) -> (&'static Ring, usize) {
    // SAFETY: the ring of the model that runs, which lives as long as its threads.
    let ring = unsafe { &*RING.get() };
    let offset = at.wrapping_sub(ring.at().addr());
    (ring, if offset < BYTES { offset } else { at })
}

fn order(order: c_int) -> Ordering {
    match order {
        0 => Ordering::Relaxed,
        2 => Ordering::Acquire,
        3 => Ordering::Release,
        other => panic!("order {other}"),
    }
}

extern "C" fn load(at: usize, with: c_int) -> u64 {
    let (Ring { model, .. }, at) = word(at);
    match at {
        RELEASED => model.released.load(order(with)) as u64,
        SENT => model.sent.load(order(with)) as u64,
        VARIED => model.varied.load(order(with)).into(),
        // Nobody sleeps.
        _ if (WAITS..WAITS + 8).contains(&at) => 0,
        _ => model.missing[(at - LENGTHS) / 4].load(order(with)).into(),
    }
}

extern "C" fn store(at: usize, value: u64, with: c_int) {
    let (Ring { model, .. }, at) = word(at);
    match at {
        RELEASED => model.released.store(value as usize, order(with)),
        SENT => model.sent.store(value as usize, order(with)),
        VARIED => model.varied.store(value as u32, order(with)),
        _ => model.missing[(at - LENGTHS) / 4].store(value as u32, order(with)),
    }
}

type Begin = extern "C" fn(extern "C" fn(usize, c_int) -> u64, extern "C" fn(usize, u64, c_int));

/// The functions of `header.c`.
struct Header {
    allocate: extern "C" fn(*mut u8) -> usize,
    send: extern "C" fn(*mut u8, usize, c_int) -> c_int,
    receive: extern "C" fn(*mut u8, *mut c_int) -> usize,
    release: extern "C" fn(*mut u8, usize) -> c_int,
}

impl Header {
    fn compiled() -> &'static Header {
        static HEADER: OnceLock<Header> = OnceLock::new();
        HEADER.get_or_init(|| {
            let folder = env!("CARGO_MANIFEST_DIR");
            let library = concat!(env!("CARGO_TARGET_TMPDIR"), "/mq_header.so\0");
            let status = Command::new("gcc")
                .args(["-O2", "-shared", "-fPIC", "-o"])
                .arg(library.trim_end_matches('\0'))
                .arg(format!("-I{folder}/../../include"))
                .arg(format!("{folder}/tests/loom/header.c"))
                .status();
            assert!(status.expect("gcc").success());
            let function = |name: &CStr| -> *mut c_void {
                // SAFETY: both texts end with a zero byte; the library has no constructors.
                let at = unsafe {
                    let library = libc::dlopen(library.as_ptr().cast(), libc::RTLD_NOW);
                    assert!(!library.is_null(), "{:?}", CStr::from_ptr(libc::dlerror()));
                    libc::dlsym(library, name.as_ptr())
                };
                assert!(!at.is_null(), "{name:?}");
                at
            };
            // SAFETY: header.c defines the functions with these types.
            unsafe {
                core::mem::transmute::<*mut c_void, Begin>(function(c"model_begin"))(load, store);
                Header {
                    allocate: core::mem::transmute(function(c"model_allocate")),
                    send: core::mem::transmute(function(c"model_send")),
                    receive: core::mem::transmute(function(c"model_receive")),
                    release: core::mem::transmute(function(c"model_release")),
                }
            }
        })
    }
}

/// Sends `n` messages through a ring of `slots` usable slots. Message i has `length(i)` bytes.
fn through_header(preemptions: usize, slots: u32, n: u64, length: fn(u64) -> u32) {
    let header = Header::compiled();
    bounded(preemptions, move || {
        let ring = Ring::new(slots + 1);
        let receiver = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                for i in 0..n {
                    let mut bytes = 0;
                    let message = loop {
                        match (header.receive)(ring.at(), &raw mut bytes) {
                            0 => thread::yield_now(),
                            message => break message,
                        }
                    };
                    assert_eq!(bytes as u32, length(i));
                    let cell = ring.model.at(message);
                    // SAFETY: loom checks that nobody writes the cell.
                    cell.with(|p| assert_eq!(unsafe { *p }, i * 7));
                    assert_eq!((header.release)(ring.at(), message), 1);
                }
            })
        };
        for i in 0..n {
            let message = loop {
                match (header.allocate)(ring.at()) {
                    0 => thread::yield_now(),
                    message => break message,
                }
            };
            assert!(message >= FIRST);
            let cell = ring.model.at(message);
            // SAFETY: loom checks that nobody else accesses the cell.
            cell.with_mut(|p| unsafe { *p = i * 7 });
            assert_eq!((header.send)(ring.at(), message, length(i) as c_int), 1);
        }
        receiver.join().unwrap();
    });
}

#[test]
fn messages_through_the_header_are_whole() {
    through_header(3, 1, 3, |_| 8);
    through_header(2, 2, 4, |_| 8);
}

#[test]
fn lengths_come_with_their_messages_through_the_header() {
    through_header(2, 1, 3, |i| 8 - i as u32 % 3);
    through_header(2, 2, 4, |i| if i == 1 { 3 } else { 8 });
}
