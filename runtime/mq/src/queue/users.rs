//! The users of a queue's ends: the first call takes an end, every later call checks it, and an end is given up when
//! its thread ends.

use super::{Body, Queue, Side};
use crate::callers::{self, Caller};
use crate::error::Error;
use crate::slave::{self, Slave};
use crate::staged::Direction;
use crate::thread;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};
use crossbeam_utils::Backoff;

/// The value of `user` while the master moves messages of a slave that has ended.
pub(super) fn stand_in() -> *mut Slave {
    core::ptr::without_provenance_mut(1)
}

impl Queue {
    /// The thread that uses the master's end; 0 if none does yet.
    pub(crate) fn master_thread(&self) -> u64 {
        self.master_end().owner.load(Ordering::Relaxed)
    }

    /// Makes the calling thread the user of the master's end.
    pub(crate) fn adopt(&self) {
        self.hide();
        self.master_end()
            .owner
            .store(thread::pointer(), Ordering::Release);
        self.show_to_master();
    }

    /// Takes the queue out of the table of the master's thread.
    pub(super) fn hide(&self) {
        self.master_end().pass.store(0, Ordering::Release);
        let entry = self.shown.swap(core::ptr::null_mut(), Ordering::AcqRel);
        if !entry.is_null() {
            // SAFETY: the table lives until its thread has ended, and a thread that ends removes its queues first.
            unsafe { &*entry }.store(core::ptr::null_mut(), Ordering::Release);
        }
    }

    /// Shows a ring's end to the fast paths of the calling thread, which owns the end.
    fn show(&self, caller: &Caller, sends: bool) -> *const AtomicPtr<c_void> {
        if let Some(pass) = caller.pass(self.slave, self.handle) {
            let word = &self.ring_end(sends).pass;
            word.store(pass, Ordering::SeqCst);
            // The queue may have been closed meanwhile. Then `close` or this line clears the word.
            if self.is_closed() {
                word.store(0, Ordering::Release);
            }
        }
        let ring = core::ptr::from_ref(self).cast_mut().cast();
        caller.show(ring, self.slave, self.handle, sends)
    }

    fn show_to_master(&self) {
        let caller = callers::mine();
        if matches!(self.body, Body::Ring { .. }) {
            let entry = self.show(caller, self.direction == Direction::MasterToSlave);
            self.shown.store(entry.cast_mut(), Ordering::Release);
        }
    }

    /// The thread with these tables ends: another thread may use the master's end of this queue.
    pub(crate) fn master_leaves(&self, tables: [callers::Table; 2], len: usize) {
        let entry = self.shown.load(Ordering::Acquire).cast_const();
        if tables
            .iter()
            .any(|&table| entry >= table && entry < table.wrapping_add(len))
            || self.master_thread() == thread::pointer()
        {
            self.hide();
            self.master_end().owner.store(0, Ordering::Release);
        }
    }

    /// Ensures that the calling thread is the user of this side.
    #[inline(always)]
    pub(crate) fn enter(&'static self, side: Side) -> Result<(), Error> {
        match side {
            Side::Master if self.master_thread() == thread::pointer() => Ok(()),
            Side::Slave(slave) if core::ptr::eq(self.user.load(Ordering::Relaxed), slave) => Ok(()),
            _ => self.first_use(side),
        }
    }

    #[cold]
    fn first_use(&'static self, side: Side) -> Result<(), Error> {
        match side {
            Side::Master => {
                if slave::current().is_some() {
                    return Err(Error::NotTheMaster);
                }
                let me = thread::pointer();
                match self.master_end().owner.compare_exchange(
                    0,
                    me,
                    Ordering::AcqRel,
                    Ordering::Acquire,
                ) {
                    Ok(_) => {
                        self.show_to_master();
                        Ok(())
                    }
                    Err(_) => Err(Error::SecondUser),
                }
            }
            Side::Slave(slave) => {
                // On a machine with one memory, slaves of the same number in different clusters reach the same
                // queues.
                if self.cluster != slave.cluster && matches!(self.body, Body::Staged(_)) {
                    return Err(Error::NoSuchQueue);
                }
                let me = core::ptr::from_ref(slave).cast_mut();
                let backoff = Backoff::new();
                loop {
                    match self.user.compare_exchange(
                        core::ptr::null_mut(),
                        me,
                        Ordering::AcqRel,
                        Ordering::Acquire,
                    ) {
                        Ok(_) => break,
                        Err(p) if p == stand_in() => backoff.snooze(),
                        Err(_) => return Err(Error::SecondUser),
                    }
                }
                slave.uses(self);
                if matches!(self.body, Body::Ring { .. }) {
                    self.show(callers::mine(), self.direction == Direction::SlaveToMaster);
                }
                Ok(())
            }
        }
    }

    /// The slave's thread ends: another slave may use its end.
    pub(crate) fn slave_leaves(&self, slave: &Slave) {
        let me = core::ptr::from_ref(slave).cast_mut();
        let _ = self.user.compare_exchange(
            me,
            core::ptr::null_mut(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }

    /// True if a slave uses the other end, or could still come to use it.
    pub(crate) fn has_slave(&self) -> bool {
        let user = self.user.load(Ordering::Acquire);
        if user.is_null() || user == stand_in() {
            let cluster = matches!(self.body, Body::Staged(_)).then_some(self.cluster);
            return slave::find(cluster, self.slave).is_some();
        }
        // The record behind `user` may be going away, so the list is asked instead.
        slave::find(None, self.slave).is_some()
    }
}
