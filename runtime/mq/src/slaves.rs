//! Slave threads: starting, waiting, and what each of them carries.

use crate::callers;
use crate::dma::Engine;
use crate::error::Error;
use crate::queue::Queue;
use crate::registry;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use hetmp_core::park::Policy;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A slave while its thread runs.
#[derive(Debug)]
pub struct Slave {
    /// Its cluster.
    pub cluster: u32,
    /// Its number in the cluster.
    pub number: u32,
    /// Its engine; used by its thread only.
    pub engine: Engine,
    running: AtomicBool,
    /// The queue it waits on, and how many waits it has begun.
    blocked: AtomicPtr<Queue>,
    waits: AtomicU64,
    /// Why its waits are to end, an [`Error`]'s number.
    abandon: AtomicI32,
    mine: UnsafeCell<Mine>,
}

/// What only the slave's thread touches.
#[derive(Debug, Default)]
struct Mine {
    /// Queues it has used.
    queues: Vec<&'static Queue>,
    /// Blocks of its store.
    blocks: Vec<usize>,
    /// Transfers of its own that are under way: when they end, and what they count up.
    transfers: Vec<(u64, *mut i32)>,
    /// Its stack for signals, 0 for none.
    signal_stack: usize,
}

// SAFETY: `mine` and `engine` are touched by the slave's own thread only (`own` checks it), the rest is
// atomic.
unsafe impl Sync for Slave {}
// SAFETY: as above; the pointers in `mine` are the slave program's.
unsafe impl Send for Slave {}

impl Slave {
    /// Does it run?
    #[must_use]
    pub fn runs(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    fn own(&self) -> *mut Mine {
        debug_assert!(current().is_none_or(|me| core::ptr::eq(me, self)));
        self.mine.get()
    }

    pub(crate) fn uses(&self, queue: &'static Queue) {
        // SAFETY: only the slave's own thread calls this.
        unsafe { (*self.own()).queues.push(queue) };
    }

    pub(crate) fn took_block(&self, address: usize) {
        // SAFETY: as above.
        unsafe { (*self.own()).blocks.push(address) };
    }

    /// Forgets a block; false if it is not this slave's own.
    pub(crate) fn gave_block(&self, address: usize) -> bool {
        // SAFETY: as above.
        let blocks = unsafe { &mut (*self.own()).blocks };
        match blocks.iter().position(|&b| b == address) {
            Some(i) => {
                blocks.swap_remove(i);
                true
            }
            None => false,
        }
    }

    pub(crate) fn began_transfer(&self, ends: u64, reply: *mut i32) {
        // SAFETY: as above.
        unsafe { (*self.own()).transfers.push((ends, reply)) };
    }

    /// Counts up the replies of transfers that have ended; when the first of the others ends.
    pub(crate) fn finish_transfers(&self) -> Option<u64> {
        // SAFETY: as above; no reference survives the call.
        let transfers = unsafe { &mut (*self.own()).transfers };
        transfers.retain(|&(ends, reply)| {
            let done = self.engine.done(ends);
            if done && !reply.is_null() {
                // SAFETY: the program keeps its reply counter until the transfer is done, and only
                // this thread counts it up.
                unsafe { reply.write_volatile(reply.read_volatile() + 1) };
            }
            !done
        });
        transfers.iter().map(|t| t.0).min()
    }

    /// Moves what can be moved in all of its queues; true if transfers are under way.
    pub(crate) fn pump_all(&self) -> bool {
        // SAFETY: as above; pumping does not reach `mine`.
        let queues = unsafe { &(*self.own()).queues };
        let mut under_way = false;
        for queue in queues {
            under_way |= queue.pump(self);
        }
        under_way
    }

    pub(crate) fn begins_wait(&self, queue: &'static Queue) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.blocked
            .store(core::ptr::from_ref(queue).cast_mut(), Ordering::Release);
    }

    pub(crate) fn ends_wait(&self) {
        self.blocked.store(core::ptr::null_mut(), Ordering::Release);
    }

    /// The queue it waits on, and which of its waits that is.
    pub(crate) fn waits_on(&self) -> Option<(&'static Queue, u64)> {
        let queue = self.blocked.load(Ordering::Acquire);
        // SAFETY: memory of queues that a slave uses is kept until its thread has ended.
        (!queue.is_null()).then(|| (unsafe { &*queue }, self.waits.load(Ordering::Relaxed)))
    }

    /// Why it should give up waiting.
    pub(crate) fn abandoned(&self) -> Option<Error> {
        Error::from_number(self.abandon.load(Ordering::Acquire))
    }

    pub(crate) fn abandon(&self, why: Error) {
        self.abandon.store(why as i32, Ordering::Release);
        if let Some((queue, _)) = self.waits_on() {
            queue.wake_slave();
        }
    }
}

/// The calling thread's slave.
#[inline(always)]
pub fn current() -> Option<&'static Slave> {
    let caller = callers::current()?;
    // SAFETY: null, or counted until the thread's end; no reference outlives the calls of that thread.
    (!caller.slave.is_null()).then(|| unsafe { &*caller.slave })
}

struct Group {
    id: u64,
    cluster: u32,
    slaves: Vec<Arc<Slave>>,
    threads: Vec<Option<libc::pthread_t>>,
}

#[derive(Default)]
struct State {
    groups: Vec<Arc<Mutex<Group>>>,
    /// Running slaves.
    running: Vec<Arc<Slave>>,
    last: u64,
}

fn state() -> MutexGuard<'static, State> {
    static STATE: OnceLock<Mutex<State>> = OnceLock::new();
    // A panic aborts the process, so the lock is never poisoned.
    STATE
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// The running slave of this number: in `cluster`, or in any.
pub(crate) fn find(cluster: Option<u32>, number: u32) -> Option<Arc<Slave>> {
    state()
        .running
        .iter()
        .find(|s| s.number == number && cluster.is_none_or(|c| c == s.cluster))
        .cloned()
}

/// How many slaves run in the process.
pub(crate) fn running() -> usize {
    state().running.len()
}

struct Start {
    slave: Arc<Slave>,
    function: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    /// 0: wait; 1: go; 2: not all could be started.
    gate: Arc<AtomicU32>,
}

extern "C" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: `start` boxed it for this thread alone.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    let Start {
        slave,
        function,
        argument,
        gate,
    } = *start;
    let mut spinner = hetmp_core::park::Spinner::new();
    while gate.load(Ordering::Acquire) == 0 {
        if !spinner.turn() {
            hetmp_core::sys::futex_wait(&gate, 0);
        }
    }
    if gate.load(Ordering::Acquire) != 1 {
        return core::ptr::null_mut();
    }
    drop(gate);
    // SAFETY: this thread is the slave's, and the only one that touches its own part.
    unsafe { (*slave.mine.get()).signal_stack = crate::crash::begin_thread() };
    callers::begin(Arc::into_raw(slave));
    // SAFETY: the program's slave function, of the type that the header asks for. Nothing that needs
    // dropping is on this frame: pthread_exit may unwind it.
    unsafe {
        function(argument);
    }
    core::ptr::null_mut()
}

/// The end of a slave thread.
pub(crate) fn over(slave: *const Slave) {
    // SAFETY: the count that `run` passed to the thread's record, which ends now.
    let slave = unsafe { Arc::from_raw(slave) };
    // What is under way is finished; what cannot move is left for the master.
    while slave.pump_all() {
        hetmp_core::sys::yield_now();
    }
    while let Some(ends) = slave.finish_transfers() {
        slave.engine.wait(ends);
    }
    // SAFETY: this thread's own part; the lists end with it.
    let mine = unsafe { core::mem::take(&mut *slave.mine.get()) };
    crate::crash::end_thread(mine.signal_stack);
    for queue in &mine.queues {
        queue.slave_leaves(&slave);
    }
    for block in mine.blocks {
        registry::get()
            .store(slave.cluster, slave.number)
            .free(block);
    }
    slave.running.store(false, Ordering::Release);
    state().running.retain(|s| !Arc::ptr_eq(s, &slave));
    registry::get().slave_ended(slave.number);
    Policy::add_threads(-1);
}

/// Starts slaves 0 to `n - 1` of a cluster; the group's number.
///
/// # Errors
/// A bad cluster or number, a slave that runs already, or no more threads.
pub fn start(
    cluster: i32,
    n: i32,
    function: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>,
    argument: *mut c_void,
) -> Result<u64, Error> {
    if current().is_some() {
        return Err(Error::NotTheMaster);
    }
    let registry = registry::get();
    let cluster = registry.check_cluster(cluster)?;
    if n < 1 || n as u32 > registry.platform.max_slaves {
        return Err(Error::BadCount);
    }
    let function = function.ok_or(Error::BadAddress)?;
    callers::end_key();
    crate::crash::install();
    let mut all = state();
    if all
        .running
        .iter()
        .any(|s| s.cluster == cluster && s.number < n as u32)
    {
        return Err(Error::SlavesRunning);
    }
    let gate = Arc::new(AtomicU32::new(0));
    let (mut slaves, mut threads) = (Vec::new(), Vec::new());
    for number in 0..n as u32 {
        let slave = Arc::new(Slave {
            cluster,
            number,
            engine: Engine::new(&registry.platform, registry.controller(cluster)),
            running: AtomicBool::new(true),
            blocked: AtomicPtr::new(core::ptr::null_mut()),
            waits: AtomicU64::new(0),
            abandon: AtomicI32::new(0),
            mine: UnsafeCell::new(Mine::default()),
        });
        let start = Box::into_raw(Box::new(Start {
            slave: Arc::clone(&slave),
            function,
            argument,
            gate: Arc::clone(&gate),
        }));
        let mut thread = 0;
        // SAFETY: `run` takes the box over; without a thread it is taken back here.
        let failed =
            unsafe { libc::pthread_create(&mut thread, core::ptr::null(), run, start.cast()) };
        if failed != 0 {
            // SAFETY: nobody else has it.
            drop(unsafe { Box::from_raw(start) });
            gate.store(2, Ordering::Release);
            hetmp_core::sys::futex_wake(gate.as_ptr(), i32::MAX);
            for thread in threads.into_iter().flatten() {
                // SAFETY: threads that were just created and are joined once.
                unsafe { libc::pthread_join(thread, core::ptr::null_mut()) };
            }
            return Err(Error::NoMemory);
        }
        slaves.push(slave);
        threads.push(Some(thread));
    }
    all.running.extend(slaves.iter().cloned());
    all.last += 1;
    let id = all.last;
    all.groups.push(Arc::new(Mutex::new(Group {
        id,
        cluster,
        slaves,
        threads,
    })));
    drop(all);
    Policy::add_threads(n as isize);
    gate.store(1, Ordering::Release);
    hetmp_core::sys::futex_wake(gate.as_ptr(), i32::MAX);
    Ok(id)
}

fn group(cluster: i32, id: u64) -> Result<Arc<Mutex<Group>>, Error> {
    state()
        .groups
        .iter()
        .find(|g| {
            let g = g.lock().unwrap_or_else(PoisonError::into_inner);
            g.id == id && i64::from(g.cluster) == i64::from(cluster)
        })
        .cloned()
        .ok_or(Error::NoSuchThreads)
}

extern "C" {
    // Not in the libc crate for every target.
    fn pthread_timedjoin_np(
        thread: libc::pthread_t,
        result: *mut *mut c_void,
        until: *const libc::timespec,
    ) -> libc::c_int;
}

/// Waits until all slaves of a group have ended.
///
/// # Errors
/// No such group, or called by a slave. A group may be waited for more than once.
pub fn wait(cluster: i32, id: u64) -> Result<(), Error> {
    if current().is_some() {
        return Err(Error::NotTheMaster);
    }
    let group = group(cluster, id)?;
    let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
    let mut watch = crate::wait::Watch::new();
    for i in 0..group.threads.len() {
        while let Some(thread) = group.threads[i] {
            // SAFETY: joined once (the entry is cleared); the time is a live timespec.
            let result = unsafe {
                let mut until: libc::timespec = core::mem::zeroed();
                libc::clock_gettime(libc::CLOCK_REALTIME, &mut until);
                until.tv_nsec += 100_000_000;
                until.tv_sec += until.tv_nsec / 1_000_000_000;
                until.tv_nsec %= 1_000_000_000;
                pthread_timedjoin_np(thread, core::ptr::null_mut(), &until)
            };
            if result == libc::ETIMEDOUT {
                watch.end_of_group(&group.slaves);
            } else {
                group.threads[i] = None;
            }
        }
    }
    Ok(())
}

/// Forgets a group, after waiting for it.
///
/// # Errors
/// As [`wait`].
pub fn destroy(cluster: i32, id: u64) -> Result<(), Error> {
    wait(cluster, id)?;
    state()
        .groups
        .retain(|g| g.lock().unwrap_or_else(PoisonError::into_inner).id != id);
    Ok(())
}
