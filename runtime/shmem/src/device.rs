//! Posting from a device (`hetmp/device.h`): queue pairs whose send queue somebody else writes.
//!
//! [`open`] makes a queue pair of the job's engine, and tells where its memory lies and what its templates hold. The
//! inline functions of the header are the initiator, on the CPU or on a device. They call back for a [doorbell] that
//! the CPU rings, and for a [wait] that gives the core away.
//!
//! **Who executes.** The job's engine, if it has one (`HETMP_NIC=emulated`, `tcp`, peers that are not mapped). If
//! every peer is mapped there is none; then the queue gets the engine that executes in the thread that rings.
//!
//! **Polled queues.** A device cannot call functions. For `POLLED` queues one thread looks at the doorbell records
//! and rings on behalf of the devices. It runs as long as there is such a queue.
//!
//! **Checked queues** (`HETMP_NIC_MODEL=gpu,check`). The doorbell record that the initiator stores is then a word of
//! this module ([`Watch`]), so that what was posted comes by here before the adapter sees it: the checker is told
//! each operation with the place in the program that the header noted. Kernels on devices are checked in the same way;
//! they cannot tell their place.
//!
//! # Memory ordering
//! Those of [`Rings`](hetmp_nic::queue_pair::Rings); the header implements the initiator's side.

use crate::queue;
use crate::team::handles;
use crate::team::state::Team;
use crate::world::{self, World};
use core::ffi::{c_int, c_uint, c_void, CStr};
use core::sync::atomic::{AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use hetmp_core::park::Spinner;
use hetmp_nic::completion::Status;
use hetmp_nic::descriptor::{Descriptor, Words, WORDS};
use hetmp_nic::device_memory::board;
use hetmp_nic::engine::QueuePair;
use hetmp_nic::queue_pair::Raw;
use std::sync::Mutex;
use std::time::Duration;

/// `HETMP_DEVICE_LAYOUT`.
const LAYOUT: c_int = 2;
/// `HETMP_DEVICE_OK`.
pub(crate) const OK: c_int = 0;
/// `HETMP_DEVICE_BAD_PE`.
pub(crate) const BAD_PE: c_int = -1;
/// `HETMP_DEVICE_BAD_ADDRESS`.
pub(crate) const BAD_ADDRESS: c_int = -2;
/// `HETMP_DEVICE_MISALIGNED`.
pub(crate) const MISALIGNED: c_int = -3;
/// `HETMP_DEVICE_BAD_QUEUE`.
pub(crate) const BAD_QUEUE: c_int = -4;
/// `HETMP_DEVICE_BAD_VALUE`.
pub(crate) const BAD_VALUE: c_int = -5;
/// `HETMP_DEVICE_NO_MEMORY`.
pub(crate) const NO_MEMORY: c_int = -6;
/// `HETMP_DEVICE_BAD_TEAM`.
pub(crate) const BAD_TEAM: c_int = -7;
/// `HETMP_DEVICE_BAD_DEPTH`.
pub(crate) const BAD_DEPTH: c_int = -8;
/// `HETMP_DEVICE_BAD_FLAG`.
pub(crate) const BAD_FLAG: c_int = -9;
/// `HETMP_DEVICE_NO_RANGE`.
pub(crate) const NO_RANGE: c_int = -14;
/// `HETMP_DEVICE_BAD_VERSION`.
pub(crate) const BAD_VERSION: c_int = -15;
/// `HETMP_DEVICE_POLLED`.
pub(crate) const POLLED: c_uint = 1;
/// `HETMP_D_UNCHECKED`.
const UNCHECKED: u64 = 1;
/// The most descriptors of a queue.
const DEEPEST: usize = 1 << 16;
/// How long the polling thread sleeps between two looks at idle doorbells, after it has spun.
const NAP: Duration = Duration::from_micros(20);

/// A send queue. Programs use it through the functions of this header only.
#[derive(Debug)]
#[repr(C)]
pub struct Queue {
    /// The rings, in memory that a device can map. First the descriptors: mask + 1 slots of eight words.
    slots: *mut u64,
    /// The doorbell record: the number of operations announced.
    posted: *mut u64,
    /// The number of operations done.
    done: *const u64,
    /// The number of completions written.
    written: *const u64,
    /// mask + 1 completions of four words.
    completions: *const u64,
    mask: u64,
    /// The parts that all descriptors of this queue share. Word 0: the number of the queue pair, in the high half.
    number: u64,
    /// Word 3: the key of the targets' memory, in both halves.
    keys: u64,
    /// Word 4: the key of this process's memory, in the high half.
    local_key: u64,
    /// Symmetric memory of this PE: first address, length in bytes, and offset in the region of the targets.
    heap: u64,
    heap_bytes: u64,
    heap_at: u64,
    data: u64,
    data_bytes: u64,
    data_at: u64,
    /// The number in the job of each PE of the team; NULL for the world.
    members: *const u32,
    /// The number of PEs of the team; 0: the queue is not open.
    pes: u32,
    /// Not 0: not POLLED, so hetmp_ring calls the library.
    host_only: u32,
    /// PEs of the job whose memory holds writes back (HETMP_NIC_MODEL=gpu), else 0.
    flush: u64,
    /// Words that only the initiator uses. The number of descriptors written.
    staged: u64,
    /// The number of descriptors announced.
    rung: u64,
    /// Posts that are possible before the next look at `done`.
    credits: u64,
    /// The number of completions read.
    read: u64,
    /// Slots from this position on hold templates for puts.
    plain_from: u64,
    /// Status of the first operation that failed since the last quiet.
    error: u64,
    error_value: u64,
    /// The ticket of the fetching operation that the initiator waits for, plus 1.
    awaited: u64,
    /// The value that this operation brought.
    fetched: u64,
    /// HETMP_NIC_MODEL=gpu,check: mask + 1 places in the program that posted; else NULL.
    sites: *mut u64,
    /// The library's end; NULL: the queue is not open.
    host: *mut c_void,
}

const _: () = assert!(size_of::<Queue>() == 29 * 8);

/// What stands between the initiator of a checked queue and the engine.
struct Watch {
    /// The doorbell record as the initiator knows it.
    posted: Box<CachePadded<AtomicU64>>,
    /// For each slot the place in the program that wrote it.
    sites: Box<[AtomicU64]>,
}

/// The library's end of a queue.
struct Host {
    raw: Raw,
    /// The world's numbers of the team's PEs; empty for the world.
    members: Box<[u32]>,
    polled: bool,
    /// Only the initiator uses the pair of a queue that is not polled. The pair of a polled queue is used by the
    /// polling thread only, under the lock of [`POLLING`].
    pair: QueuePair,
    /// The doorbell record for which the engine was rung last.
    seen: u64,
    /// A checker is told what is posted here.
    watch: Option<Watch>,
}

impl Host {
    /// The doorbell record that the initiator stores.
    fn record(&self) -> *mut u64 {
        match &self.watch {
            Some(watch) => watch.posted.as_ptr(),
            None => self.raw.posted,
        }
    }

    /// Tells the checker what was posted since the last call, and only then the engine. Nothing to do on a queue that
    /// is not checked: its initiator stores the engine's own record.
    fn announce(&mut self) {
        let Some(watch) = &self.watch else { return };
        let posted = watch.posted.load(Ordering::Acquire);
        for n in self.seen..posted {
            let slot = (n & (self.raw.depth as u64 - 1)) as usize;
            let words: Words = core::array::from_fn(|i| {
                // SAFETY: the slot is one of the queue's, which live as long as the pair. The initiator wrote the slot
                // before the record that was acquired above, and writes it again only after the operation is done.
                unsafe { AtomicU64::from_ptr(self.raw.slots.add(slot * WORDS + i)) }
                    .load(Ordering::Relaxed)
            });
            let site = watch.sites[slot].load(Ordering::Relaxed);
            if let (true, Ok(d)) = (site != UNCHECKED, Descriptor::parse(&words)) {
                let site = match site {
                    0 => queue::site::A_KERNEL,
                    at => board::site(at as usize),
                };
                if let (Some(world), Some(checker)) = (world::get(), queue::checker()) {
                    checker.departs(world, d.peer, site, &d.work);
                }
                self.pair.at_site(site).posted_outside(n, d.peer, &d.work);
            }
        }
        self.seen = posted;
        // SAFETY: the word lives as long as the queue pair.
        unsafe { AtomicU64::from_ptr(self.raw.posted) }.store(posted, Ordering::Release);
    }
}

/// The polled queues.
struct Polling {
    queues: Vec<*mut Host>,
    running: bool,
}

// SAFETY: hosts in the list are touched under the lock of `POLLING` only.
unsafe impl Send for Polling {}

static POLLING: Mutex<Polling> = Mutex::new(Polling {
    queues: Vec::new(),
    running: false,
});

/// The polled queues, locked. No thread can die while it holds the lock, since panics abort.
fn polling() -> std::sync::MutexGuard<'static, Polling> {
    match POLLING.lock() {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// A new queue pair of the job's engine, or of one that works on mapped memory.
fn pair(world: &'static World, depth: usize) -> Option<QueuePair> {
    if let Some(net) = queue::net() {
        return Some(net.queue_pair(depth));
    }
    let engine = world.job.queues()?;
    Some(engine.queue_pair(depth, world.job.keys()))
}

/// `hetmp_device_queue_open`.
///
/// # Safety
/// `out` points to a `hetmp_device_queue` of `bytes`.
pub unsafe fn open(
    f: &'static str,
    team: Team,
    depth: usize,
    flags: c_uint,
    out: *mut Queue,
    layout: c_int,
    bytes: usize,
) -> c_int {
    let world = world::need(f);
    if out.is_null() {
        return BAD_QUEUE;
    }
    if layout != LAYOUT || bytes != size_of::<Queue>() {
        return BAD_VERSION;
    }
    // SAFETY: this function's contract: `out` points to a `hetmp_device_queue` of `bytes`. Zero is a closed queue,
    // every field is a number or a pointer.
    unsafe { out.write_bytes(0, 1) };
    if flags & !POLLED != 0 {
        return BAD_FLAG;
    }
    if !(2..=DEEPEST).contains(&depth) {
        return BAD_DEPTH;
    }
    if team.is_null() {
        return BAD_TEAM;
    }
    let members = handles::members(f, team);
    let Some(mut pair) = pair(world, depth) else {
        return NO_MEMORY;
    };
    let flush = u64::from(pair.holding());
    let statics = pair.initiator().statics();
    let raw = pair.initiator().raw();
    let pes = match &members {
        Some(list) => list.len() as u32,
        None => world.n,
    };
    let watch = pair.is_checked().then(|| Watch {
        posted: Box::new(CachePadded::new(AtomicU64::new(0))),
        sites: (0..raw.depth).map(|_| AtomicU64::new(0)).collect(),
    });
    let host = Box::into_raw(Box::new(Host {
        raw,
        members: members.unwrap_or_default(),
        polled: flags & POLLED != 0,
        pair,
        seen: 0,
        watch,
    }));
    if flags & POLLED != 0 && !poll(host) {
        // SAFETY: made above, and not in the list.
        drop(unsafe { Box::from_raw(host) });
        return NO_MEMORY;
    }
    // SAFETY: made above, and alive until `close`. The members and the places of the words never change.
    let (members, record, sites): (&[u32], _, _) = unsafe {
        let host = &*host;
        let sites = host.watch.as_ref().map(|w| w.sites.as_ptr());
        (&host.members, host.record(), sites)
    };
    let place = &world.own().layout;
    let queue = Queue {
        slots: raw.slots,
        posted: record,
        done: raw.done,
        written: raw.written,
        completions: raw.completions,
        mask: raw.depth as u64 - 1,
        number: u64::from(statics.queue_pair) << 32,
        keys: u64::from(statics.remote.0) | u64::from(statics.remote.0) << 32,
        local_key: u64::from(statics.local.0) << 32,
        heap: world.heap_range.start as u64,
        heap_bytes: world.heap_range.len() as u64,
        heap_at: place.heap_at() as u64,
        data: world.data.start as u64,
        data_bytes: world.data.len() as u64,
        data_at: place.data_at() as u64,
        members: if members.is_empty() {
            core::ptr::null()
        } else {
            members.as_ptr()
        },
        pes,
        host_only: c_uint::from(flags & POLLED == 0),
        flush,
        staged: 0,
        rung: 0,
        // Without credits every post takes the way on which the header notes its place.
        credits: if sites.is_some() { 0 } else { raw.depth as u64 },
        read: 0,
        plain_from: 0,
        error: 0,
        error_value: 0,
        awaited: 0,
        fetched: 0,
        sites: sites.map_or(core::ptr::null_mut(), |s| s.cast::<u64>().cast_mut()),
        host: host.cast(),
    };
    // SAFETY: this function's contract: `out` points to a `hetmp_device_queue` of `bytes`.
    unsafe { out.write(queue) };
    OK
}

/// `hetmp_device_queue_close`. The header has waited for all posted operations before.
///
/// # Safety
/// `queue` was filled by [`open`]; nobody uses it.
pub unsafe fn close(_f: &'static str, queue: *mut Queue) -> c_int {
    // SAFETY: this function's contract: `queue` was filled by [`open`]; nobody uses it.
    let Some(queue) = (unsafe { queue.as_mut() }) else {
        return BAD_QUEUE;
    };
    let host = queue.host.cast::<Host>();
    if host.is_null() {
        return BAD_QUEUE;
    }
    let mut list = polling();
    list.queues.retain(|h| *h != host);
    drop(list);
    // SAFETY: `open` made it, the polling thread does not have it any more, and the caller is the initiator.
    drop(unsafe { Box::from_raw(host) });
    // No PE is one of a closed queue's, so that the header's functions refuse to post to it.
    // SAFETY: as in `open`.
    unsafe { core::ptr::from_mut(queue).write_bytes(0, 1) };
    OK
}

/// The ranges of memory that a device has to map.
///
/// # Safety
/// `queue` was filled by [`open`].
pub unsafe fn range(
    _f: &'static str,
    queue: *const Queue,
    i: c_uint,
    base: *mut *mut c_void,
    bytes: *mut usize,
) -> c_int {
    // SAFETY: this function's contract: `queue` was filled by [`open`].
    let Some(host) = (unsafe { queue.as_ref().and_then(|q| q.host.cast::<Host>().as_ref()) })
    else {
        return BAD_QUEUE;
    };
    let raw = &host.raw;
    let line = 64;
    let sites = match &host.watch {
        Some(watch) => (watch.sites.as_ptr() as usize, size_of_val(&*watch.sites)),
        None => (0, 0),
    };
    let ranges = [
        (raw.slots as usize, raw.depth * 64),
        (raw.completions as usize, raw.depth * 32),
        (host.record() as usize, line),
        (raw.done as usize, line),
        (host.members.as_ptr() as usize, size_of_val(&*host.members)),
        sites,
    ];
    if base.is_null() || bytes.is_null() {
        return BAD_VALUE;
    }
    let Some((at, n)) = ranges.into_iter().filter(|r| r.1 != 0).nth(i as usize) else {
        return NO_RANGE;
    };
    // SAFETY: the program passes two writable places.
    unsafe {
        *base = at as *mut c_void;
        *bytes = n;
    }
    OK
}

/// Called when the doorbell of a queue that is not polled was rung.
///
/// # Safety
/// `host` is an open queue's, and the caller its initiator.
#[inline]
pub unsafe fn doorbell(host: *mut c_void) {
    // SAFETY: this function's contract: `host` is an open queue's, and the caller its initiator.
    let host = unsafe { &mut *host.cast::<Host>() };
    if !host.polled {
        host.announce();
        host.pair.doorbell();
        turn(host);
    }
}

/// Lets a checker say what it has noticed.
#[inline]
fn turn(host: &Host) {
    if host.watch.is_some() {
        if let (Some(world), Some(checker)) = (world::get(), queue::checker()) {
            checker.turn(world);
        }
    }
}

/// Waits until the queue's first `operations` operations are done.
///
/// # Safety
/// `host` is an open queue's, and the caller its initiator.
pub unsafe fn wait(host: *mut c_void, operations: u64) {
    let host = host.cast::<Host>();
    // SAFETY: this function's contract: `host` is an open queue's, and the caller its initiator. `polled` and
    // `raw` do not change.
    let (polled, done) = unsafe { ((*host).polled, (*host).raw.done) };
    if !polled {
        // SAFETY: the queue is not polled, so that only its initiator, the caller, uses the pair.
        unsafe { (*host).pair.wait_done(operations) };
        // SAFETY: as above.
        turn(unsafe { &*host });
        return;
    }
    // SAFETY: the word lives as long as the queue pair.
    let done = unsafe { AtomicU64::from_ptr(done) };
    let mut spinner = Spinner::new();
    while done.load(Ordering::Acquire) < operations {
        spinner.turn_or_rest();
    }
}

/// Adds a queue to the polling thread's list. False if the thread cannot be started.
fn poll(host: *mut Host) -> bool {
    let mut list = polling();
    if !list.running {
        let started = hetmp_core::thread::start(c"hetmp-doorbell", serve);
        if started.is_err() {
            return false;
        }
        list.running = true;
    }
    list.queues.push(host);
    true
}

/// The polling thread: rings for devices until the last polled queue is closed.
fn serve() {
    let mut spinner = Spinner::new();
    loop {
        let mut worked = false;
        let mut list = polling();
        if list.queues.is_empty() {
            list.running = false;
            return;
        }
        for host in &list.queues {
            // SAFETY: hosts in the list are alive, and this thread holds the lock.
            let host = unsafe { &mut **host };
            // SAFETY: the word lives as long as the queue pair.
            let posted = unsafe { AtomicU64::from_ptr(host.record()) }.load(Ordering::Acquire);
            if posted != host.seen {
                host.announce();
                host.seen = posted;
                host.pair.doorbell();
                worked = true;
            }
        }
        drop(list);
        if worked {
            spinner = Spinner::new();
        } else if !spinner.turn() {
            std::thread::sleep(NAP);
        }
    }
}

/// The text of a status. The header returns some of these itself.
pub fn error_text(status: c_int) -> &'static CStr {
    match status {
        OK => c"no error",
        BAD_PE => c"not a PE of the queue's team",
        BAD_ADDRESS => c"not a symmetric address, or beyond the end of its region",
        MISALIGNED => c"the address is not aligned to the size of the word",
        BAD_QUEUE => c"the queue is not open",
        BAD_VALUE => c"NULL or a number of 0 (expected memory, and at least one element of it)",
        NO_MEMORY => c"no more queues can be opened",
        BAD_TEAM => c"not a team",
        BAD_DEPTH => c"bad depth of a queue (expected 2 to 65536)",
        BAD_FLAG => c"unknown flag of a queue (expected HETMP_DEVICE_POLLED or 0)",
        -10 => c"bad size of a value (expected 1, 2, 4 or 8 bytes)",
        -11 => c"too long for one operation (expected at most 1 GiB)",
        -12 => c"unknown operation of a signal (expected SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD)",
        -13 => {
            c"unknown comparison (expected SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT or \
                SHMEM_CMP_LE)"
        }
        NO_RANGE => c"the queue has no range of that number",
        BAD_VERSION => c"hetmp/device.h of another version than the library",
        -16 => c"the queue was opened for another team than the group",
        -17 => c"unknown type of a reduction (expected HETMP_TYPE_INT32 to HETMP_TYPE_DOUBLE)",
        -18 => {
            c"unknown operation of a reduction, or a bitwise one on a float (expected HETMP_OP_SUM to HETMP_OP_XOR)"
        }
        -19 => c"the group's work memory is too small (expected hetmp_group_bytes)",
        _ => match u8::try_from(status).ok().and_then(Status::of) {
            Some(Status::Ok) | None => c"unknown status",
            Some(Status::Malformed) => c"the engine could not read the descriptor",
            Some(Status::Peer) => c"the engine knows no such PE",
            Some(Status::LocalKey | Status::LocalBounds | Status::LocalRight) => {
                c"memory of this process that the engine may not use"
            }
            Some(Status::RemoteKey | Status::RemoteBounds | Status::RemoteRight) => {
                c"memory of the target that the engine may not use"
            }
            Some(Status::Misaligned) => c"the word of an atomic or a signal is not aligned",
            Some(Status::Counter) => c"no such counter",
            Some(Status::PeerLost) => c"the target PE is gone",
            Some(Status::Unsupported) => c"the engine does not do that",
            Some(Status::Stopped) => c"the engine was stopped",
            Some(Status::Port) => c"the target has no such port",
            Some(Status::Divisor) => c"an integer was divided by zero",
        },
    }
}
