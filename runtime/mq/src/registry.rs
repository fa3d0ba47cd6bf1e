//! Everything that exists in the process: the platform, the queues by slave and handle, the stores.
//!
//! A queue's memory is freed only when no table has it and no slave of its number runs; until then it waits in a list.
//! So whoever found a queue in a table may use it during its call, and the interface forbids destroying a queue in use.

use crate::callers::{self, table, Caller, HANDLES, SLAVES};
use crate::dma::Controller;
use crate::error::Error;
use crate::platform::{Kind, Platform};
use crate::queue::{Key, Queue, Request};
use crate::slave;
use crate::staged::Direction;
use crate::store::{Shared, Store};
use core::sync::atomic::{AtomicPtr, Ordering};
use hetmp_core::env;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const CLUSTERS: usize = 16;

static CONTROLLERS: [Controller; CLUSTERS] = [const { Controller::new() }; CLUSTERS];

/// Everything that the process has.
pub(crate) struct Registry {
    pub(crate) platform: Platform,
    /// Seconds after which a wait ends; 0 for never.
    pub(crate) timeout: f64,
    /// The queue of each slave number and index; null if there is none.
    queues: &'static [AtomicPtr<Queue>],
    stores: Vec<OnceLock<Store>>,
    /// The memories of each cluster that its slaves share.
    shared: Vec<Shared>,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    /// By slave number: how often each index was used.
    uses: Vec<Vec<u32>>,
    /// Queues that were destroyed while their slave ran. They are freed when it has ended.
    retired: Vec<*mut Queue>,
    /// Memory of freed queues, for new ones. It is never returned: an inline path may still look at the ends of the
    /// queue that it used last.
    spare: Vec<*mut Queue>,
}

impl Rows {
    /// Frees a queue.
    ///
    /// # Safety
    /// Nobody uses the queue any more, and `create` made it.
    unsafe fn free(&mut self, p: *mut Queue) {
        // SAFETY: who calls has promised that nobody uses the queue, and that `create` made it. Its two ends, which
        // inline paths may still look at, have no destructor.
        unsafe { core::ptr::drop_in_place(p) };
        self.spare.push(p);
    }
}

/// Puts a new queue into spare memory, or into memory of its own if there is none.
fn place(spare: &mut Vec<*mut Queue>, queue: Box<Queue>) -> *mut Queue {
    let Some(p) = spare.pop() else {
        return Box::into_raw(queue);
    };
    // SAFETY: the memory of a `Box<Queue>` whose queue was freed. A thread that still looks at `pass` of its ends
    // finds a value that is not its own, before and after this write.
    unsafe { p.write(*queue) };
    p
}

// SAFETY: the registry owns the pointers, and touches them only under its lock.
unsafe impl Send for Rows {}

static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// The process's registry, set up on the first call.
#[inline(always)]
pub(crate) fn get() -> &'static Registry {
    match REGISTRY.get() {
        Some(registry) => registry,
        None => set_up(),
    }
}

#[cold]
fn set_up() -> &'static Registry {
    REGISTRY.get_or_init(|| {
        let platform = env::snapshot().get("HETMP_PLATFORM");
        let platform = Platform::from_env(platform).unwrap_or_else(|line| {
            // Going on with another platform would let errors pass that the requested platform finds.
            hetmp_core::report::fatal(format_args!("{line}"))
        });
        let timeout = env::number("HETMP_MQ_TIMEOUT", 0.0..=1e9).unwrap_or(0.0);
        env::name_unknown();
        if platform.strict {
            crate::strict::install();
        }
        hetmp_core::park::Policy::join(hetmp_core::quota::available_cpus());
        hetmp_core::sleep::prepare();
        callers::at_masters_end(|caller| get().thread_ended(caller));
        let stores = (0..platform.clusters as usize * SLAVES)
            .map(|_| OnceLock::new())
            .collect();
        let shared = (0..platform.clusters).map(|cluster| Shared::new(&platform, cluster));
        Registry {
            shared: shared.collect(),
            platform,
            timeout,
            queues: table(SLAVES * HANDLES),
            stores,
            rows: Mutex::default(),
        }
    })
}

impl Registry {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        // A panic aborts the process, so the lock is never poisoned.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn check_cluster(&self, cluster: i32) -> Result<u32, Error> {
        u32::try_from(cluster)
            .ok()
            .filter(|&c| c < self.platform.clusters)
            .ok_or(Error::BadCluster)
    }

    pub(crate) fn check_slave(&self, slave: i32) -> Result<u32, Error> {
        u32::try_from(slave)
            .ok()
            .filter(|&s| s < self.platform.max_slaves)
            .ok_or(Error::BadSlave)
    }

    pub(crate) fn controller(&self, cluster: u32) -> &'static Controller {
        &CONTROLLERS[cluster as usize % CLUSTERS]
    }

    pub(crate) fn store(&self, cluster: u32, slave: u32) -> &Store {
        self.stores[cluster as usize * SLAVES + slave as usize].get_or_init(|| {
            Store::new(
                &self.platform,
                cluster,
                slave,
                &self.shared[cluster as usize],
            )
        })
    }

    /// The queue with this slave number and handle.
    #[inline(always)]
    pub(crate) fn queue(&self, slave: u32, handle: i32) -> Result<&'static Queue, Error> {
        if slave as usize >= SLAVES {
            return Err(Error::BadSlave);
        }
        let at = slave as usize * HANDLES + (handle as usize & (HANDLES - 1));
        let p = self.queues[at].load(Ordering::Acquire);
        if p.is_null() {
            return Err(Error::NoSuchQueue);
        }
        // SAFETY: the master that destroys a queue clears its entry before the queue is freed, and frees it only
        // while no slave of that number runs. The interface forbids other threads to use the queue meanwhile.
        let queue = unsafe { &*p };
        if queue.handle == handle && !queue.is_closed() {
            Ok(queue)
        } else {
            Err(Error::NoSuchQueue)
        }
    }

    /// All queues of a slave number.
    pub(crate) fn of_slave(&self, slave: u32) -> impl Iterator<Item = &'static Queue> + '_ {
        let row = &self.queues[slave as usize * HANDLES..][..HANDLES];
        let used = self.rows().uses.get(slave as usize).map_or(0, Vec::len);
        row[..used].iter().filter_map(|entry| {
            let p = entry.load(Ordering::Acquire);
            // SAFETY: queues in the table are alive: `remove` clears the entry first, and keeps the memory while a
            // slave runs that may have found the queue here.
            (!p.is_null()).then(|| unsafe { &*p })
        })
    }

    pub(crate) fn by_name(
        &self,
        slave: u32,
        cluster: Option<u32>,
        name: &[u8],
    ) -> Option<&'static Queue> {
        let mut found: Option<&'static Queue> = None;
        for queue in self.of_slave(slave) {
            if queue.name() == name
                && cluster.is_none_or(|c| c == queue.cluster)
                && found.is_none_or(|f| queue.cluster < f.cluster)
            {
                found = Some(queue);
            }
        }
        found
    }

    pub(crate) fn create(&'static self, request: &Request<'_>) -> Result<i32, Error> {
        if slave::current().is_some() {
            return Err(Error::NotTheMaster);
        }
        let cluster = self.check_cluster(request.cluster)?;
        let slave = self.check_slave(request.slave)?;
        if request.name.is_empty() || request.name.len() > 63 {
            return Err(Error::BadName);
        }
        if request.msg_bytes == 0 || request.msg_bytes > 1 << 29 {
            return Err(Error::BadSize);
        }
        if !(1..=65536).contains(&request.master_slots)
            || !(1..=65536).contains(&request.slave_slots)
        {
            return Err(Error::BadSlots);
        }
        let direction = match request.direction {
            0 => Direction::MasterToSlave,
            1 => Direction::SlaveToMaster,
            _ => return Err(Error::BadDirection),
        };
        let kind = Kind::from_number(request.kind).ok_or(Error::BadKind)?;
        if request.master_addr % 8 != 0 {
            return Err(Error::BadAddress);
        }
        if self.by_name(slave, Some(cluster), request.name).is_some() {
            return Err(Error::NameInUse);
        }
        let mut guard = self.rows();
        let rows = &mut *guard;
        if rows.uses.len() <= slave as usize {
            rows.uses.resize(slave as usize + 1, Vec::new());
        }
        // Prefers an index that was never used, so that handles stay small, and old handles stay invalid as long as
        // possible.
        let base = slave as usize * HANDLES;
        let uses = &mut rows.uses[slave as usize];
        let index = if uses.len() < HANDLES {
            uses.push(0);
            uses.len() - 1
        } else {
            (0..HANDLES)
                .filter(|&i| {
                    self.queues[base + i].load(Ordering::Relaxed).is_null() && uses[i] < 1 << 18
                })
                .min_by_key(|&i| uses[i])
                .ok_or(Error::TooManyQueues)?
        };
        let handle = (uses[index] as usize * HANDLES + index) as i32;
        let key = Key {
            cluster,
            slave,
            handle,
            direction,
        };
        let made = Queue::new(
            request,
            key,
            kind,
            self.store(cluster, slave),
            &self.platform,
        );
        let queue = match made {
            Ok(queue) => place(&mut rows.spare, queue),
            Err(error) => {
                if uses[index] == 0 {
                    uses.pop();
                }
                return Err(error);
            }
        };
        uses[index] += 1;
        self.queues[base + index].store(queue, Ordering::Release);
        Ok(handle)
    }

    /// Removes a queue. Its memory is freed now, or after its slave has ended.
    pub(crate) fn remove(&self, queue: &'static Queue) {
        let at = queue.slave as usize * HANDLES + (queue.handle as usize & (HANDLES - 1));
        queue.close();
        let p = self.queues[at].swap(core::ptr::null_mut(), Ordering::AcqRel);
        if slave::find(None, queue.slave).is_some() {
            self.rows().retired.push(p);
        } else {
            // SAFETY: `create` made it, no table has it any more, and no slave runs that could know it.
            unsafe { self.rows().free(p) };
        }
    }

    /// A thread that used queues as a master has ended: other threads may use its ends.
    fn thread_ended(&self, caller: &Caller) {
        let tables = [caller.m_send, caller.m_recv];
        let slaves = self.rows().uses.len() as u32;
        for slave in 0..slaves {
            for queue in self.of_slave(slave) {
                queue.master_leaves(tables, caller.len);
            }
        }
    }

    /// A slave has ended: frees the queues that were kept for it, and wakes a master that waits for it.
    pub(crate) fn slave_ended(&self, slave: u32) {
        for queue in self.of_slave(slave) {
            queue.wake_master();
        }
        if slave::find(None, slave).is_none() {
            let mut rows = self.rows();
            // SAFETY: queues in this list are alive; `remove` has put them here instead of freeing them.
            let theirs = |p: *mut Queue| unsafe { (*p).slave } == slave;
            let (over, stay) = rows.retired.drain(..).partition(|&p| theirs(p));
            rows.retired = stay;
            for p in over as Vec<*mut Queue> {
                // SAFETY: no slave of that number runs any more.
                unsafe { rows.free(p) };
            }
        }
    }
}
