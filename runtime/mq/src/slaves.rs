//! Starting slave threads, ending them, and waiting for their ends.
//!
//! What a thread starts with is a box that either it or, if it was not made, its maker takes back; each thread is
//! joined once, by whoever clears its entry.

use crate::callers::{self, Caller, SlaveThread};
use crate::error::Error;
use crate::registry;
use crate::slave::{self, current, Slave};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::park::{Flag, Policy};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

struct Group {
    id: u64,
    cluster: u32,
    slaves: Vec<Arc<Slave>>,
    threads: Vec<Option<libc::pthread_t>>,
}

#[derive(Default)]
struct State {
    groups: Vec<Arc<Mutex<Group>>>,
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

struct Start {
    slave: Arc<Slave>,
    function: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    gate: Arc<Gate>,
}

/// Where new slaves wait until all of a group are there.
#[derive(Default)]
struct Gate {
    open: Flag,
    /// Not all could be started: those that were end again. Written before the gate opens.
    failed: AtomicBool,
}

impl Gate {
    /// Opens the gate.
    fn open(&self, failed: bool) {
        self.failed.store(failed, Ordering::Relaxed);
        self.open.signal(1);
    }

    /// Waits until the gate is open. False: the slave is not to run.
    fn pass(&self) -> bool {
        self.open.wait(1);
        !self.failed.load(Ordering::Relaxed)
    }
}

extern "C" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: `start` has made the box for this thread alone.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    let Start {
        slave,
        function,
        argument,
        gate,
    } = *start;
    if !gate.pass() {
        return core::ptr::null_mut();
    }
    drop(gate);
    slave.has_signal_stack(crate::crash::begin_thread());
    let (cluster, number) = (slave.cluster, slave.number);
    let thread = SlaveThread {
        record: Arc::into_raw(slave).cast(),
        cluster,
        number,
    };
    callers::begin(Some(thread), over);
    // SAFETY: the program's slave function, of the type that the header declares. This frame has nothing to drop,
    // because pthread_exit may unwind it.
    unsafe {
        function(argument);
    }
    core::ptr::null_mut()
}

/// Runs at the end of a slave thread.
fn over(caller: &Caller) {
    let Some(thread) = caller.slave else {
        return;
    };
    // SAFETY: `run` has passed this count to the thread's record, which ends now.
    let slave = unsafe { Arc::from_raw(thread.record.cast::<Slave>()) };
    // Transfers under way are finished. What cannot be moved is left to the master.
    while slave.pump_all() {
        hetmp_core::park::rest();
    }
    while let Some(ends) = slave.finish_transfers() {
        slave.engine.wait(ends);
    }
    let mine = slave.ends();
    if let Some(stack) = mine.signal_stack {
        crate::crash::end_thread(stack);
    }
    for queue in &mine.queues {
        queue.slave_leaves(&slave);
    }
    for block in mine.blocks {
        registry::get()
            .store(slave.cluster, slave.number)
            .free(block);
    }
    slave.is_over();
    registry::get().slave_ended(slave.number);
    Policy::add_threads(-1);
}

/// Starts slaves 0 to `n - 1` of a cluster, and returns the group's number.
///
/// # Errors
/// A bad cluster or number, a slave that runs already, or no more threads.
pub(crate) fn start(
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
    let mut running = slave::all();
    if running
        .iter()
        .any(|s| s.cluster == cluster && s.number < n as u32)
    {
        return Err(Error::SlavesRunning);
    }
    let gate = Arc::new(Gate::default());
    let (mut slaves, mut threads) = (Vec::new(), Vec::new());
    for number in 0..n as u32 {
        let controller = registry.controller(cluster);
        let slave = Arc::new(Slave::new(cluster, number, &registry.platform, controller));
        let start = Box::into_raw(Box::new(Start {
            slave: Arc::clone(&slave),
            function,
            argument,
            gate: Arc::clone(&gate),
        }));
        let mut thread = 0;
        // SAFETY: `run` takes over the box. If no thread is made, it is taken back below.
        let failed =
            unsafe { libc::pthread_create(&mut thread, core::ptr::null(), run, start.cast()) };
        if failed != 0 {
            // SAFETY: no thread was made, so nobody else has the box.
            drop(unsafe { Box::from_raw(start) });
            gate.open(true);
            for thread in threads.into_iter().flatten() {
                // SAFETY: the threads were just created, and each is joined once.
                unsafe { libc::pthread_join(thread, core::ptr::null_mut()) };
            }
            return Err(Error::NoMemory);
        }
        slaves.push(slave);
        threads.push(Some(thread));
    }
    running.extend(slaves.iter().cloned());
    drop(running);
    let mut state = state();
    state.last += 1;
    let id = state.last;
    state.groups.push(Arc::new(Mutex::new(Group {
        id,
        cluster,
        slaves,
        threads,
    })));
    drop(state);
    Policy::add_threads(n as isize);
    gate.open(false);
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
/// There is no such group, or a slave has called. A group may be waited for more than once.
pub(crate) fn wait(cluster: i32, id: u64) -> Result<(), Error> {
    if current().is_some() {
        return Err(Error::NotTheMaster);
    }
    let group = group(cluster, id)?;
    let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
    let mut watch = crate::wait::Watch::new();
    for i in 0..group.threads.len() {
        while let Some(thread) = group.threads[i] {
            // SAFETY: the thread is joined once, since its entry is cleared. The time is a live timespec.
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

/// Waits for a group, then forgets it.
///
/// # Errors
/// Those of [`wait`].
pub(crate) fn destroy(cluster: i32, id: u64) -> Result<(), Error> {
    wait(cluster, id)?;
    state()
        .groups
        .retain(|g| g.lock().unwrap_or_else(PoisonError::into_inner).id != id);
    Ok(())
}
