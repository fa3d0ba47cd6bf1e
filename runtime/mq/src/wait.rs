//! Waiting on a queue, and noticing that the wait can never end.
//!
//! A wait follows one policy, [`hetmp_core::park::Spinner`]: it spins, yields, then sleeps ([`hetmp_core::sleep`]). A
//! sleep ends after 100 ms at the latest, to check whether the wait can still end: the slave may have ended, master
//! and slave may wait for each other, or the time of `HETMP_MQ_TIMEOUT` may be over.

use crate::callers;
use crate::error::Error;
use crate::queue::{Queue, Side};
use crate::registry;
use crate::slave::{self, Slave};
use crate::staged::Direction;
use crate::thread;
use core::sync::atomic::Ordering;
use hetmp_core::park::{give_core, Policy, Spinner};
use hetmp_core::report;
use hetmp_core::sys::monotonic_ns;
use std::sync::Arc;

/// The longest sleep without a wake-up, in milliseconds.
const TURN: u32 = 100;
/// After this time a wait writes a line that says what it waits for, in nanoseconds.
const LONG: u64 = 10_000_000_000;
/// How often a wait gives its core away before it spins, if threads outnumber cores. The awaited thread may be queued
/// on this very core, and spinning would delay it.
const YIELDS: u32 = 1000;
/// How many looks in a row must find both sides waiting: a side that was just woken still looks asleep.
const LOOKS: u32 = 3;

/// Waits until there is something to take, or returns why there never will be.
pub(crate) fn wait(queue: &'static Queue, side: Side) -> Result<(), Error> {
    let mut spinner = Spinner::new();
    let crowded = Policy::oversubscribed();
    let mut yields = if crowded { YIELDS } else { 0 };
    let pauses = if crowded { 0 } else { callers::PAUSES };
    callers::mine().pauses.store(pauses, Ordering::Relaxed);
    if !crowded {
        // One pause before the first look: meanwhile the other side gets a few messages ahead, and one look serves
        // them all.
        spinner.turn();
    }
    loop {
        if queue.ready(side) {
            return Ok(());
        }
        if queue.is_closed() {
            return Err(Error::Destroyed);
        }
        if queue.holds_all(side) {
            return Err(Error::AllHeld);
        }
        if let (Side::Slave(slave), Some(ends)) = (side, queue.transfer_ends_for(side)) {
            slave.engine.wait(ends);
            continue;
        }
        if yields != 0 {
            yields -= 1;
            if !give_core() {
                break;
            }
            continue;
        }
        if !spinner.turn() {
            break;
        }
    }
    if let Side::Slave(slave) = side {
        slave.begins_wait(queue);
        let result = asleep(queue, side);
        slave.ends_wait();
        result
    } else {
        asleep(queue, side)
    }
}

fn asleep(queue: &'static Queue, side: Side) -> Result<(), Error> {
    let began = monotonic_ns();
    let mut said = false;
    let mut watch = Watch::new();
    let timeout = (registry::get().timeout * 1e9) as u64;
    loop {
        // Asked before the look at the queue: messages that the slave sent before it ended still count.
        let alone = matches!(side, Side::Master) && !queue.has_slave();
        if queue.ready(side) {
            return Ok(());
        }
        if queue.is_closed() {
            return Err(Error::Destroyed);
        }
        if alone {
            return Err(Error::NoSlave);
        }
        match side {
            Side::Master => watch.master_waits(queue)?,
            Side::Slave(slave) => {
                if let Some(why) = slave.abandoned() {
                    return Err(why);
                }
            }
        }
        let waited = monotonic_ns() - began;
        if timeout != 0 && waited >= timeout {
            return Err(Error::TimedOut);
        }
        if !said && waited >= LONG {
            said = true;
            complain(queue, side);
        }
        let under_way = match side {
            // The transfers of this slave's other queues must be completed too, and nobody else does it.
            Side::Slave(slave) => slave.pump_all(),
            Side::Master => false,
        };
        let ms = if under_way {
            1
        } else if timeout != 0 {
            (((timeout - waited) / 1_000_000) as u32 + 1).min(TURN)
        } else {
            TURN
        };
        queue.sleep_of(side).sleep(
            &mut || {
                queue.ready(side)
                    || queue.is_closed()
                    || matches!(side, Side::Slave(slave) if slave.abandoned().is_some())
            },
            ms,
        );
    }
}

/// Writes what a long wait waits for.
fn complain(queue: &Queue, side: Side) {
    let name = queue.shown_name();
    let slave = queue.slave;
    let sends = queue.direction() == Direction::MasterToSlave;
    match side {
        Side::Master => {
            let what = if sends {
                "to take a message from"
            } else {
                "to send a message to"
            };
            let doing = match slave::find(None, slave)
                .and_then(|s| s.waits_on().map(|w| w.0.shown_name()))
            {
                Some(other) => format!("which waits on queue \"{other}\""),
                None => "which runs".to_owned(),
            };
            report::warn(format_args!(
                "queue \"{name}\": the master has waited 10 s for slave {slave} {what} it, {doing}: a call of that \
                    slave ends \
                 the wait, as does HETMP_MQ_TIMEOUT=seconds"
            ));
        }
        Side::Slave(_) => {
            let what = if sends {
                "send a message to"
            } else {
                "release a message of"
            };
            report::warn(format_args!(
                "queue \"{name}\": slave {slave} has waited 10 s for the master to {what} it: a call of the master \
                    ends the \
                 wait, as does HETMP_MQ_TIMEOUT=seconds"
            ));
        }
    }
}

/// Finds waits that wait for each other.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// For each slave: the number of the wait that was seen last, and how many looks in a row have seen it.
    seen: Vec<(u64, u32)>,
    began: u64,
    said: bool,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch {
            began: monotonic_ns(),
            ..Watch::default()
        }
    }

    /// True if this slave has waited, at `LOOKS` looks in a row, for something that only the calling thread could do.
    fn stuck(&mut self, at: usize, slave: &Slave, except: Option<&Queue>) -> bool {
        if self.seen.len() <= at {
            self.seen.resize(at + 1, (0, 0));
        }
        let stuck = slave.waits_on().filter(|(queue, _)| {
            let master = queue.master_thread();
            queue.waits_for_master()
                && !except.is_some_and(|q| core::ptr::eq(q, *queue))
                && (master == thread::pointer() || master == 0 && alone())
        });
        let entry = &mut self.seen[at];
        match stuck {
            Some((_, wait)) if entry.1 > 0 && entry.0 == wait => entry.1 += 1,
            Some((_, wait)) => *entry = (wait, 1),
            None => *entry = (0, 0),
        }
        entry.1 >= LOOKS
    }

    /// The master waits on a queue. An error if the queue's slave waits on another queue of the same master.
    fn master_waits(&mut self, queue: &Queue) -> Result<(), Error> {
        match slave::find(None, queue.slave) {
            Some(slave) if self.stuck(0, &slave, Some(queue)) => Err(Error::Deadlock),
            _ => Ok(()),
        }
    }

    /// The master waits for these slaves to end. Slaves that wait for the master get an error.
    pub(crate) fn end_of_group(&mut self, slaves: &[Arc<Slave>]) {
        for (i, slave) in slaves.iter().enumerate() {
            if slave.runs() && slave.abandoned().is_none() && self.stuck(i, slave, None) {
                if let Some((queue, _)) = slave.waits_on() {
                    report::warn(format_args!(
                        "queue \"{}\": slave {} waits on it, and the master for the slave's end: the slave's call \
                            returns \
                         MQ_DEADLOCK",
                        queue.shown_name(),
                        slave.number
                    ));
                }
                slave.abandon(Error::Deadlock);
            }
        }
        if !self.said && monotonic_ns() - self.began >= LONG {
            self.said = true;
            let left = slaves.iter().filter(|s| s.runs()).count();
            let first = slaves.iter().find(|s| s.runs()).map_or(0, |s| s.number);
            report::warn(format_args!(
                "slave threads: the master has waited 10 s for the end of {left} of {}: slave {first} still runs",
                slaves.len()
            ));
        }
    }
}

/// True if the calling thread is the only one besides slaves. Other threads could still begin to use a queue that
/// nobody uses.
fn alone() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() <= 1 + slave::running())
}

impl Queue {
    /// The end of the transfer for which a slave's wait waits, if one is under way.
    fn transfer_ends_for(&self, side: Side) -> Option<u64> {
        match side {
            Side::Master => None,
            Side::Slave(_) => self.transfer_ends(),
        }
    }
}
