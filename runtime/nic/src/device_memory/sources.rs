//! The sources of puts under way: a program must not change them before it knows that the puts are done.
//!
//! When a put is posted, its source is copied. The adapter compares what it reads with that copy: a difference is a
//! change that the program made too early, whether it matters this time or not.

use super::board::Board;
use crate::descriptor::{Local, Remote};
use crate::domain::Domain;
use crate::keys::{Rights, Side};
use crate::memory;
use hetmp_core::hash::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A put whose source was changed too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Where in the program the put was posted.
    pub site: u64,
    /// Its target.
    pub peer: u32,
    /// First address of the source, as the program knows it.
    pub source: u64,
    /// Bytes.
    pub len: u32,
    /// The first byte that was changed, counted from the source's begin.
    pub at: u32,
}

/// A put under way, and its source when it was posted.
#[derive(Debug)]
struct Sent {
    put: Changed,
    bytes: Box<[u8]>,
}

/// What the queue pairs of a rank, its adapter and its program share while they are checked.
#[derive(Debug, Default)]
pub struct Sources {
    /// By queue pair and ticket.
    under_way: Mutex<HashMap<(u32, u64), Sent>>,
    changed: Mutex<Vec<Changed>>,
    /// The boards of all ranks.
    pub(crate) boards: OnceLock<Arc<[Board]>>,
}

impl Sources {
    /// A put is posted; the adapter has not been told yet.
    pub(crate) fn posted(
        &self,
        domain: &Domain,
        queue_ticket: (u32, u64),
        (site, peer): (u64, u32),
        (local, len): (Local, u32),
    ) {
        let adapters = domain.adapters(local.address);
        let Ok(span) = domain.keys().find(
            Side::Local,
            local.key,
            adapters,
            len as usize,
            Rights::LOCAL_READ,
        ) else {
            return;
        };
        let mut bytes = vec![0; len as usize].into_boxed_slice();
        // SAFETY: the span has `len` bytes, and keeps its region registered. Who registered it keeps the memory valid
        // until then.
        unsafe { memory::copy(span.start(), bytes.as_mut_ptr(), bytes.len()) };
        let source = local.address;
        let put = Changed {
            site,
            peer,
            source,
            len,
            at: 0,
        };
        let sent = Sent { put, bytes };
        lock(&self.under_way).insert(queue_ticket, sent);
    }

    /// The adapter has read the source of an operation, or nothing if the operation failed.
    pub(crate) fn read(&self, queue_ticket: (u32, u64), bytes: Option<&[u8]>) {
        let Some(sent) = lock(&self.under_way).remove(&queue_ticket) else {
            return;
        };
        let differs = bytes.and_then(|now| now.iter().zip(&sent.bytes).position(|(a, b)| a != b));
        if let Some(at) = differs {
            let at = at as u32;
            lock(&self.changed).push(Changed { at, ..sent.put });
        }
    }

    /// A put whose source was changed too early, if there was one since the last call.
    pub fn take_changed(&self) -> Option<Changed> {
        lock(&self.changed).pop()
    }

    /// The adapter is about to write the last bytes of a put.
    pub(crate) fn land(&self, rank: u32, peer: u32, to: &Remote, len: u32) {
        if let Some(board) = self.boards.get().and_then(|all| all.get(peer as usize)) {
            board.land(rank, to.address, len);
        }
    }
}

/// Nobody can die while holding one of these locks, since panics abort.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
