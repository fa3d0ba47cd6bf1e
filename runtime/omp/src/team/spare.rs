//! Pools of threads that have ended, kept for threads that the program makes later.
//!
//! A server makes a thread for each request, and each of them opens regions. To create a pool's workers for each such
//! thread, and to end them with the thread, takes longer than short regions do. libomp keeps its workers for all
//! threads of the process. libgomp ends them with the thread that had them, and runs their destructors of thread-local
//! objects then. So pools are kept only where the program expects libomp.
//!
//! **What workers have from their creator.** A new thread has the CPU mask, the signal mask, the scheduling policy and
//! the floating-point modes of the thread that creates it, and programs count on that for workers. A pool is taken only
//! by a thread that has these properties as the creator of its workers had them
//! ([`Inherited`](super::inherited::Inherited)).
//!
//! **Data in**: [`keep`], when a thread ends. **Data out**: [`take`], when a thread opens its first region.

use super::inherited::Inherited;
use super::pool::Pool;
use crate::tool;
use hetmp_core::sync::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// At most this number of workers wait in pools that nobody has.
const MOST_WORKERS: usize = 128;

/// The kept pools. The lock is only ever tried: a thread that does not get the lock goes on without. So a child of
/// `fork`, in which the lock may be held for ever, has no kept pools at worst.
static POOLS: Mutex<Kept> = Mutex::new(Kept {
    pools: Vec::new(),
    workers: 0,
});

/// The number of kept pools, for a look without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Kept {
    #[allow(
        clippy::vec_box,
        reason = "a pool's address is in its workers' calls and must not move"
    )]
    pools: Vec<Box<Pool>>,
    /// Workers in all of the pools.
    workers: usize,
}

// SAFETY: a pool in the list belongs to no thread, and its workers wait for their next region. The lock passes the pool
// on with all that its last owner wrote. The pointers in its team to that owner's records are written anew by the next
// region before anybody follows them.
unsafe impl Send for Kept {}

/// Keeps `pool`, whose thread ends; gives it back where it is not to be kept.
pub(crate) fn keep(mut pool: Box<Pool>) -> Option<Box<Pool>> {
    let workers = pool.workers();
    // A tool has records of the owner's tasks, and may ask for them in a worker that waits.
    if workers == 0 || pool.inherited().is_none() || tool::on() {
        return Some(pool);
    }
    let Ok(mut kept) = POOLS.try_lock() else {
        return Some(pool);
    };
    if kept.workers + workers > MOST_WORKERS {
        return Some(pool);
    }
    pool.rest();
    kept.workers += workers;
    kept.pools.push(pool);
    COUNT.store(kept.pools.len(), Ordering::Relaxed);
    None
}

/// A kept pool whose workers are as those that the calling thread would create.
pub(crate) fn take() -> Option<Box<Pool>> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let wanted = Inherited::here()?;
    let mut kept = POOLS.try_lock().ok()?;
    // The pool that was kept last: its memory is most likely still in a cache.
    let at = kept
        .pools
        .iter()
        .rposition(|pool| pool.inherited() == Some(wanted))?;
    let pool = kept.pools.remove(at);
    kept.workers -= pool.workers();
    COUNT.store(kept.pools.len(), Ordering::Relaxed);
    Some(pool)
}

/// Ends the workers of all kept pools.
pub(crate) fn shut_down() {
    let pools = match POOLS.try_lock() {
        Ok(mut kept) => {
            COUNT.store(0, Ordering::Relaxed);
            kept.workers = 0;
            core::mem::take(&mut kept.pools)
        }
        Err(_) => return,
    };
    for pool in pools {
        pool.shut_down();
    }
}

/// Called in the child of a fork, in which the workers do not exist.
pub(crate) fn after_fork() {
    COUNT.store(0, Ordering::Relaxed);
    if let Ok(mut kept) = POOLS.try_lock() {
        kept.workers = 0;
        for pool in core::mem::take(&mut kept.pools) {
            pool.forget();
        }
    }
}
