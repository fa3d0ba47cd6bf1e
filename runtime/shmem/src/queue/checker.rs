//! The checker of the modelled memory (`HETMP_NIC_MODEL=gpu,check`): what it has noticed, said by a thread of the
//! program.
//!
//! | mistake | noticed by |
//! | --- | --- |
//! | data that may arrive after their flag | the target's [board](Board), when the flag is waited for |
//! | memory that is read while a put is on its way there | the [guard] |
//! | a source that is changed too early | the adapter ([`Sources`]) |
//! | cached memory that was not written back | the put ([`crate::caches`]) |
//!
//! **Nothing is said about a program that is right.** Unordered data matter only if they are read before the order
//! comes about. So a pair of writes on the board is a suspicion, which the guard confirms when the data are read. The
//! suspicion is dropped at the next wait that succeeds and when all PEs meet; or if the data are waited for, because
//! then they are a flag themselves. Where the system allows no guard, pairs whose data were not waited for are reported
//! at the meeting.

use super::guard::{self, Guard, Read, Why};
use super::{lock, site};
use crate::caches;
use crate::world::{self, World};
use hetmp_nic::descriptor::{Source, Work};
use hetmp_nic::device_memory::board::{self, Access, Board, Kind, Race};
use hetmp_nic::device_memory::sources::Sources;
use hetmp_nic::job::Job;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Ranges of this PE's segment that were waited for or tested, start to end. What is written there are flags. The
/// order of two flags does not matter to the checker, because the program waits for each.
#[derive(Debug, Default)]
struct Awaited(BTreeMap<u64, u64>);

impl Awaited {
    fn add(&mut self, start: u64, len: u64) {
        let end = self.0.entry(start).or_insert(0);
        *end = (*end).max(start + len);
    }

    fn has(&self, start: u64, len: u64) -> bool {
        // An earlier range may be shorter than one before it, so all are searched; few programs wait for many.
        self.0
            .range(..=start)
            .rev()
            .any(|(_, end)| *end >= start + len)
    }
}

/// What this PE has waited for, and the writes whose order is in doubt.
#[derive(Debug, Default)]
struct Waits {
    awaited: Awaited,
    suspects: Vec<Race>,
    /// Single words that were read too early. A word that is waited for later is a flag, and not data.
    words: Vec<Read>,
}

/// The checker of one PE.
#[derive(Debug)]
pub(crate) struct Checker {
    /// This PE's board.
    board: &'static Board,
    sources: &'static Arc<Sources>,
    waits: Mutex<Waits>,
    guard: Option<&'static Guard>,
}

impl Checker {
    /// The checker, if the setting asks for one.
    pub(super) fn of(world: &World, job: &'static Job) -> Option<Checker> {
        let board = job.boards()?.get(world.me as usize)?;
        Some(Checker {
            board,
            sources: job.sources()?,
            waits: Mutex::default(),
            guard: guard::start(world, board),
        })
    }

    /// All PEs have met, and everything they posted before is done.
    pub(super) fn met(&self, world: &World) {
        self.look(world);
        let mut waits = lock(&self.waits);
        if let Some(read) = waits.words.first() {
            read_early(world, read);
        }
        let suspects = core::mem::take(&mut waits.suspects);
        drop(waits);
        if let (None, Some(race)) = (self.guard, suspects.first()) {
            unordered(world, race, "");
        }
        self.board.advance();
        self.arm();
    }

    /// A wait or test looks at `bytes` at `address`: remembers that flags are written there.
    pub(super) fn awaits(&self, world: &World, address: usize, bytes: usize) {
        if let Some(offset) = world.offset(address, bytes) {
            lock(&self.waits).awaited.add(offset, bytes as u64);
        }
    }

    /// A wait or test has found its value in `bytes` at `address`. The write of that value may have overtaken another
    /// write that the program expects to be there.
    pub(super) fn observed(&self, world: &World, address: usize, bytes: usize) {
        self.look(world);
        let Some(offset) = world.offset(address, bytes) else {
            return;
        };
        let mut waits = lock(&self.waits);
        let waits = &mut *waits;
        waits.awaited.add(offset, bytes as u64);
        if self.guard.is_some() {
            waits.suspects.clear();
        }
        waits
            .suspects
            .extend(self.board.observe(offset, bytes as u32));
        let awaited = &waits.awaited;
        let is_data = |r: &Race| !awaited.has(r.first.address, u64::from(r.first.len));
        waits.suspects.retain(is_data);
        waits
            .words
            .retain(|read| matches!(&read.why, Why::Unordered(race) if is_data(race)));
        if let Some(guard) = self.guard {
            guard.arm(&waits.suspects);
        }
    }

    /// The program is about to do something else: says what was noticed, and watches what has come under way.
    pub(crate) fn turn(&self, world: &World) {
        self.look(world);
        self.arm();
    }

    fn arm(&self) {
        if let Some(guard) = self.guard {
            let suspects = lock(&self.waits).suspects.clone();
            guard.arm(&suspects);
        }
    }

    /// Ends the job with a line if a mistake was noticed.
    fn look(&self, world: &World) {
        if let Some(put) = self.sources.take_changed() {
            say(format_args!(
                "PE {}: put of {} bytes to PE {} at {}: the source {:#x} was changed at {:#x} before the put was done \
                 (expected no change before shmem_quiet or hetmp_quiet)",
                world.me,
                put.len,
                put.peer,
                site::name(put.site),
                put.source,
                put.source + u64::from(put.at)
            ));
        }
        match self.guard.and_then(Guard::found) {
            Some(read) if matches!(read.why, Why::Unordered(race) if race.first.len <= 8) => {
                lock(&self.waits).words.push(read);
            }
            Some(read) => read_early(world, &read),
            None => {}
        }
    }

    /// Ends the job with a line if a put takes its source from cached memory that was not written back.
    pub(crate) fn departs(&self, world: &World, peer: u32, site: u64, work: &Work) {
        let Work::Put {
            source: Source::Memory(local, len),
            ..
        } = work
        else {
            return;
        };
        let Some(dirty) = caches::unflushed(local.address as usize, *len as usize) else {
            return;
        };
        let expected = if dirty.in_kernel {
            "hetmp_device_flush before the put, or the put after hetmp_device_kernel_end"
        } else {
            "hetmp_device_kernel_begin before what a kernel writes, and hetmp_device_flush or hetmp_device_kernel_end \
                before the put"
        };
        say(format_args!(
            "PE {}: put of {len} bytes to PE {peer} at {}: the source {:#x} is cached memory that was written at \
                {:#x} {} \
             and not flushed (expected {expected})",
            world.me,
            site::name(site),
            local.address,
            dirty.at,
            if dirty.in_kernel {
                "in this kernel"
            } else {
                "without a kernel begin"
            },
        ));
    }
}

fn text(world: &World, a: &Access) -> String {
    let what = match a.kind {
        Kind::Put => "put",
        Kind::Atomic => "atomic",
        Kind::Signal => "signal",
    };
    format!(
        "{what} of {} bytes to {:#x} at {}",
        a.len,
        world.address(a.address).unwrap_or(0),
        site::name(a.site)
    )
}

fn unordered(world: &World, race: &Race, read: &str) -> ! {
    say(format_args!(
        "PE {}: the flag {:#x} may be seen before the data: by PE {}, {}, then {}{read} (expected a fence or quiet \
            between \
         the two, or a put with signal)",
        world.me,
        world.address(race.flag.address).unwrap_or(0),
        race.initiator,
        text(world, &race.first),
        text(world, &race.flag)
    ))
}

fn read_early(world: &World, read: &Read) -> ! {
    let place = site::name(board::site(read.at));
    match read.why {
        Why::Unordered(race) => unordered(
            world,
            &race,
            &format!("; {:#x} was read at {place}", read.address),
        ),
        Why::Under(initiator, put) => say(format_args!(
            "PE {}: {:#x} was read at {place} while a write was on its way: by PE {initiator}, {} (expected the read \
                after \
             the wait for a flag or signal behind the data, and the put after the target has told that it has read)",
            world.me,
            read.address,
            text(world, &put)
        )),
    }
}

#[cold]
fn say(what: core::fmt::Arguments<'_>) -> ! {
    world::abort(1, &format!("HETMP_NIC_MODEL: 'check': {what}"))
}

#[cfg(test)]
mod tests {
    use super::Awaited;

    #[test]
    fn what_was_waited_for_is_known_whole() {
        let mut a = Awaited::default();
        a.add(100, 8);
        a.add(96, 64);
        a.add(100, 4);
        assert!(a.has(100, 8) && a.has(152, 8) && a.has(96, 1));
        assert!(!a.has(156, 8) && !a.has(92, 8) && !a.has(0, 1));
    }
}
