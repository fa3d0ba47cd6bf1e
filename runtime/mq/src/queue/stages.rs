//! Calls on a queue of two stages: they take and give slots of [`crate::staged`], copy messages on behalf of the
//! slave, and on strict platforms keep the program away from slots.

use super::users::stand_in;
use super::{map, Body, Key, Queue, Request, Side, Stages, Taken};
use crate::error::Error;
use crate::platform::Platform;
use crate::slave::Slave;
use crate::staged::{Direction, MasterSide, Mover, SlaveSide};
use crate::store::Store;
use crate::strict::{End, Guarded};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hetmp_core::page;

/// Copies messages of a staged queue, on behalf of a slave, or of the master after the slave has ended.
pub(super) struct Copier<'a> {
    pub(super) stages: &'a Stages,
    pub(super) slave: Option<&'a Slave>,
}

impl Mover for Copier<'_> {
    fn start(
        &mut self,
        master_slot: u32,
        slave_slot: u32,
        bytes: u32,
        direction: Direction,
    ) -> u64 {
        let m = self.stages.master_base + master_slot as usize * self.stages.master_stride;
        let s = self.stages.slave_base + slave_slot as usize * self.stages.slave_stride;
        let (from, to) = match direction {
            Direction::MasterToSlave => (m, s),
            Direction::SlaveToMaster => (s, m),
        };
        // SAFETY: both slots are in state Tran, so that neither the master nor the slave's program touches them.
        // `bytes` is at most the queue's message size, which is the size of both slots.
        unsafe {
            core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes as usize);
        }
        self.slave
            .map_or(0, |slave| slave.engine.start(bytes as usize))
    }

    fn done(&mut self, ticket: u64) -> bool {
        ticket == 0 || hetmp_core::sys::monotonic_ns() >= ticket
    }

    fn direct_access(&mut self) {
        if let Some(slave) = self.slave {
            slave.engine.direct_access();
        }
    }
}

impl Queue {
    /// Moves messages that an ended slave has left in its store.
    pub(super) fn pump_for_ended(&self, stages: &Stages) {
        if stages.used.load(Ordering::Acquire) == 0 {
            return;
        }
        let taken = self.user.compare_exchange(
            core::ptr::null_mut(),
            stand_in(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if taken.is_err() {
            return;
        }
        // SAFETY: no slave uses the queue while `user` is the stand-in, and only one thread sets that.
        let side = unsafe { &mut *stages.slave.get() };
        side.pump(
            &stages.list,
            &mut Copier {
                stages,
                slave: None,
            },
        );
        stages.note(side);
        self.user.store(core::ptr::null_mut(), Ordering::Release);
    }

    pub(super) fn try_take_staged(&'static self, side: Side) -> Option<Taken> {
        let Body::Staged(stages) = &self.body else {
            return None;
        };
        match side {
            Side::Master => {
                if self.direction == Direction::SlaveToMaster
                    && self.user.load(Ordering::Acquire).is_null()
                {
                    self.pump_for_ended(stages);
                }
                // SAFETY: the caller is the thread that uses the master's end (`enter`).
                let (slot, bytes) = unsafe { &mut *stages.master.get() }.take(&stages.list)?;
                let offset = slot as usize * stages.master_stride;
                if let Some(guard) = &stages.guard {
                    guard.allow(offset, stages.master_stride, true);
                }
                Some(Taken {
                    at: stages.shown + offset,
                    n: 1,
                    stride: stages.master_stride,
                    bytes,
                })
            }
            Side::Slave(slave) => {
                slave.pump_all();
                // SAFETY: the caller is the slave that uses this queue (`enter`).
                let mine = unsafe { &mut *stages.slave.get() };
                let (slot, bytes) = mine.take()?;
                stages.note(mine);
                let offset = slot as usize * stages.slave_stride;
                if let Some(guard) = &stages.slave_guard {
                    guard.allow(offset, stages.slave_stride, true);
                }
                Some(Taken {
                    at: stages.slave_shown + offset,
                    n: 1,
                    stride: stages.slave_stride,
                    bytes,
                })
            }
        }
    }

    pub(super) fn give_staged(
        &'static self,
        side: Side,
        at: usize,
        n: u32,
        bytes: u32,
    ) -> Result<(), Error> {
        let Body::Staged(stages) = &self.body else {
            return Ok(());
        };
        if at == 0 {
            return Err(Error::BadAddress);
        }
        // A batch of a staged queue has one message.
        if n != 1 {
            return Err(Error::BadCount);
        }
        match side {
            Side::Master => {
                // SAFETY: the caller is the thread that owns the master's end: `api::find` let it enter.
                let mine = unsafe { &mut *stages.master.get() };
                stages.check(
                    at,
                    stages.shown,
                    stages.master_stride,
                    stages.list.len(),
                    mine.oldest(),
                    mine.held(),
                )?;
                if let Some(guard) = &stages.guard {
                    // The program loses access before the slot is passed on.
                    guard.allow(at - stages.shown, stages.master_stride, false);
                }
                mine.give(bytes, &stages.list);
                self.slave_sleep().notify();
            }
            Side::Slave(slave) => {
                // SAFETY: the caller is the slave that uses this queue: `api::find` let it enter.
                let mine = unsafe { &mut *stages.slave.get() };
                stages.check(
                    at,
                    stages.slave_shown,
                    stages.slave_stride,
                    mine.slots(),
                    mine.oldest(),
                    mine.held(),
                )?;
                if let Some(guard) = &stages.slave_guard {
                    // As at the master: from now on the message belongs to the queue.
                    guard.allow(at - stages.slave_shown, stages.slave_stride, false);
                }
                mine.give(bytes);
                stages.note(mine);
                slave.pump_all();
            }
        }
        Ok(())
    }
}

impl Stages {
    /// The two stages of a new queue, whose slots in the store are `block`.
    ///
    /// # Errors
    /// The kernel gives no memory.
    pub(super) fn new(
        request: &Request<'_>,
        platform: &Platform,
        key: &Key,
        store: &'static Store,
        block: usize,
    ) -> Result<Stages, Error> {
        let msg_bytes = request.msg_bytes;
        let (m_slots, s_slots) = (request.master_slots as usize, request.slave_slots as usize);
        let slave_stride = msg_bytes.next_multiple_of(64);
        let page_stride = page::ceil(msg_bytes);
        let slave = key.slave as usize;
        let mut stages = Stages {
            list: (0..m_slots).map(|_| AtomicU64::new(0)).collect(),
            master: UnsafeCell::new(MasterSide::new(key.direction)),
            slave: UnsafeCell::new(SlaveSide::new(key.direction, s_slots as u32)),
            used: AtomicU32::new(0),
            messages: AtomicU32::new(0),
            held: AtomicU32::new(0),
            shown: request.master_addr,
            master_base: request.master_addr,
            master_stride: msg_bytes.next_multiple_of(8),
            slave_shown: block,
            slave_base: block,
            slave_stride,
            guard: None,
            slave_guard: None,
            mapping: None,
        };
        if request.master_addr == 0 && platform.strict {
            stages.master_stride = page_stride;
            let guard = Guarded::new(m_slots, page_stride, slave, End::Master)?;
            (stages.shown, stages.master_base) = (guard.shown(), guard.hidden());
            stages.guard = Some(guard);
        } else if request.master_addr == 0 {
            stages.master_stride = slave_stride;
            let memory = map(slave_stride * m_slots)?;
            stages.shown = memory.as_ptr() as usize;
            stages.master_base = stages.shown;
            stages.mapping = Some(memory);
        }
        if platform.strict {
            // The block in the store stays unused: guarded slots have pages of their own, of which a store of a
            // chip's size has too few.
            stages.slave_stride = page_stride;
            let guard = Guarded::new(s_slots, page_stride, slave, End::Store)?;
            (stages.slave_shown, stages.slave_base) = (guard.shown(), guard.hidden());
            store.add_row(guard.shown(), guard.len());
            stages.slave_guard = Some(guard);
        }
        Ok(stages)
    }

    /// Publishes for the master what is in the store.
    pub(super) fn note(&self, side: &SlaveSide) {
        self.messages.store(side.messages(), Ordering::Release);
        self.held.store(side.held(), Ordering::Release);
        self.used.store(side.used(), Ordering::Release);
    }

    fn check(
        &self,
        at: usize,
        base: usize,
        stride: usize,
        slots: usize,
        oldest: u32,
        held: u32,
    ) -> Result<(), Error> {
        let slot = at.wrapping_sub(base) / stride;
        if at < base || slot >= slots || (at - base) % stride != 0 {
            return Err(Error::ForeignMessage);
        }
        let back = (slot + slots - oldest as usize) % slots;
        if back >= held as usize {
            Err(Error::ForeignMessage)
        } else if back != 0 {
            Err(Error::OutOfOrder)
        } else {
            Ok(())
        }
    }
}
