//! The record of each thread that uses queues: tables from handles to rings, for the fast paths.
//!
//! A thread's tables hold only rings of which the thread owns an end: one table for each end that it may use (master
//! or slave, send or receive). A fast path that finds an entry with the right handle has nothing else to check. All
//! other cases take the slow path, which reports what is wrong.
//!
//! Besides the tables, the inline paths of the header keep a few rings in storage of their own, which no other thread
//! can clear. They recognise such a ring by [`End::pass`], which is cleared instead. For this, the memory of a queue
//! is never used for anything but queues (`Registry::remove`).
//!
//! A thread fills its own tables. Other threads only clear entries (`mAdoptQueue`).
//!
//! This module does not know what a queue or a slave is: entries are addresses, and the code to run at a thread's end
//! is a function that was passed in.

use crate::ring::End;
use crate::thread;
use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use memmap2::{MmapOptions, MmapRaw};
use std::sync::OnceLock;

/// The most queues of one slave number at a time. A handle is an index below this, plus a multiple of this for each
/// earlier use of the index.
pub(crate) const HANDLES: usize = 4096;
/// The most slave numbers.
pub(crate) const SLAVES: usize = 256;

/// A table of rings. A queue begins with the layout of the header's `struct hetmp_mq_ring`.
pub(crate) type Table = *const AtomicPtr<c_void>;

/// The slave that a thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlaveThread {
    /// The slave's record. Its type is known to the code that began the thread.
    pub(crate) record: *const c_void,
    pub(crate) cluster: u32,
    pub(crate) number: u32,
}

/// The record of a thread that uses queues. It begins with the header's `struct hetmp_mq_tables`.
#[derive(Debug)]
#[repr(C)]
pub struct Caller {
    pub(crate) m_send: Table,
    pub(crate) m_recv: Table,
    pub(crate) s_send: Table,
    pub(crate) s_recv: Table,
    /// How often a fast path pauses and looks again before it waits in the library. The thread itself keeps this up
    /// to date; it is 0 while threads outnumber cores.
    pub(crate) pauses: AtomicU32,
    /// The thread's number in [`End::pass`] of its ends; 0 if no numbers are left.
    number: u32,
    /// The slave that the thread is, if it is one.
    pub(crate) slave: Option<SlaveThread>,
    /// Called on the thread when it ends.
    at_end: fn(&Caller),
    /// Entries of each table that belongs to this thread.
    pub(crate) len: usize,
    /// Their memory.
    _own: [MmapRaw; 2],
}

const _: () = assert!(core::mem::offset_of!(Caller, s_recv) == 24);
const _: () = assert!(core::mem::offset_of!(Caller, pauses) == 32);
const _: () = assert!(core::mem::offset_of!(Caller, number) == 36);

/// A number of 24 bits that no other thread of this process has had; 0 if no number is left. The largest number is
/// reserved by the header.
fn new_number() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let next = |last: u32| (last < (1 << 24) - 2).then_some(last + 1);
    LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
        .map_or(0, |last| last + 1)
}

/// The value of `pauses` where every thread has a core.
pub(crate) const PAUSES: u32 = 16;

/// Memory of zeros, which is taken when it is first used. No memory ends the program.
fn zeros(bytes: usize) -> MmapRaw {
    let mut options = MmapOptions::new();
    let map = options.len(bytes).no_reserve_swap().map_anon();
    let Ok(map) = map else {
        hetmp_core::report::fatal(format_args!(
            "memory: none left: {bytes} bytes are needed for message queues"
        ));
    };
    map.into()
}

/// A row of null pointers, for as long as the process lives.
pub(crate) fn table<T>(len: usize) -> &'static [AtomicPtr<T>] {
    let map = ManuallyDrop::new(zeros(len * size_of::<AtomicPtr<T>>()));
    // SAFETY: zeros are null pointers. The mapping is aligned to a page, and stays.
    unsafe { core::slice::from_raw_parts(map.as_ptr().cast(), len) }
}

/// A table of null pointers, for the ends that a thread cannot use.
fn empty() -> Table {
    static EMPTY: OnceLock<&'static [AtomicPtr<c_void>]> = OnceLock::new();
    EMPTY.get_or_init(|| table(SLAVES * HANDLES)).as_ptr()
}

/// The calling thread's record, if it has one.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Caller> {
    let p: *const Caller = thread::get().cast();
    // SAFETY: the word is null, or the thread's record, which lives until the thread ends.
    (!p.is_null()).then(|| unsafe { &*p })
}

/// The calling thread's record.
pub(crate) fn mine() -> &'static Caller {
    match current() {
        Some(caller) => caller,
        None => begin(None, MASTERS_END.get().copied().unwrap_or(|_| {})),
    }
}

/// Called when a thread ends that is not a slave.
static MASTERS_END: OnceLock<fn(&Caller)> = OnceLock::new();

/// Sets what to do when a thread ends that used queues and is not a slave. Called once, before there are queues.
pub(crate) fn at_masters_end(f: fn(&Caller)) {
    // Only a second registry could call this again, and there is none.
    let _ = MASTERS_END.set(f);
}

/// Makes the calling thread's record. `at_end` is called on the thread when the thread ends.
pub(crate) fn begin(slave: Option<SlaveThread>, at_end: fn(&Caller)) -> &'static Caller {
    let len = if slave.is_none() {
        SLAVES * HANDLES
    } else {
        HANDLES
    };
    let bytes = len * size_of::<AtomicPtr<c_void>>();
    let own = [zeros(bytes), zeros(bytes)];
    let [send, recv] = [0, 1].map(|i| own[i].as_ptr().cast());
    let none = empty();
    let number = new_number();
    let caller = if slave.is_none() {
        Caller {
            m_send: send,
            m_recv: recv,
            s_send: none,
            s_recv: none,
            pauses: AtomicU32::new(PAUSES),
            number,
            slave,
            at_end,
            len,
            _own: own,
        }
    } else {
        Caller {
            m_send: none,
            m_recv: none,
            s_send: send,
            s_recv: recv,
            pauses: AtomicU32::new(PAUSES),
            number,
            slave,
            at_end,
            len,
            _own: own,
        }
    };
    let caller = Box::into_raw(Box::new(caller));
    thread::set(caller.cast_const().cast());
    // The destructor runs at the thread's end, whether it returns or calls pthread_exit.
    // SAFETY: the key exists, and the record is the thread's own until the key's destructor runs.
    unsafe {
        libc::pthread_setspecific(end_key(), caller.cast());
        &*caller
    }
}

/// The key whose destructor ends records.
pub(crate) fn end_key() -> libc::pthread_key_t {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: fills `key`; the destructor is a function of this library, which is never unloaded.
        let failed = unsafe { libc::pthread_key_create(&mut key, Some(over)) };
        if failed != 0 {
            hetmp_core::report::fatal(format_args!(
                "thread keys: none left: at least one is needed for message queues"
            ));
        }
        key
    })
}

/// Runs at the end of a thread that used queues.
unsafe extern "C" fn over(caller: *mut c_void) {
    // SAFETY: `begin` made the record for this thread.
    let caller = unsafe { Box::from_raw(caller.cast::<Caller>()) };
    (caller.at_end)(&caller);
    thread::set(core::ptr::null());
    // The thread's own tables go with the record. No queue has a pointer into them any more.
}

impl Caller {
    /// The value of `pass` by which this thread's inline paths recognise its end of queue `handle` of slave `slave`;
    /// `None` if no numbers are left.
    pub(crate) fn pass(&self, slave: u32, handle: i32) -> Option<u64> {
        let slave = if self.slave.is_none() { slave } else { 0 };
        (self.number != 0).then(|| End::pass_of(self.number, slave, handle))
    }

    /// Enters a ring into this thread's table. Returns the entry, which is cleared when the end passes to another
    /// thread.
    pub(crate) fn show(
        &self,
        ring: *mut c_void,
        slave: u32,
        handle: i32,
        sends: bool,
    ) -> *const AtomicPtr<c_void> {
        let index = handle as usize & (HANDLES - 1);
        let (table, at) = match (self.slave.is_none(), sends) {
            (true, true) => (self.m_send, slave as usize * HANDLES + index),
            (true, false) => (self.m_recv, slave as usize * HANDLES + index),
            (false, true) => (self.s_send, index),
            (false, false) => (self.s_recv, index),
        };
        // SAFETY: the index is within the table's `len`.
        let entry = unsafe { &*table.add(at) };
        entry.store(ring, Ordering::Release);
        entry
    }
}

/// The calling thread's cluster and number, if it is a slave. For signal handlers: takes no lock and allocates
/// nothing.
pub(crate) fn slave_here() -> Option<(u32, u32)> {
    current()?.slave.map(|s| (s.cluster, s.number))
}
