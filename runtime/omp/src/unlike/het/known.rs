//! What is known about the program's loops.
//!
//! There is one table for the process, under one lock. The lock is held for less than a microsecond each
//! time: when an execution begins (to take a snapshot), when its last thread leaves (to bring in the record),
//! and when its memory is given back.

use super::parts::Parts;
use super::report::{self, Summary};
use super::schedule::{learns, Chosen};
use super::{profile, settled, source};
use crate::unlike::nodes;
use hetmp_core::whole::{Held, Mutex};
use hetmp_sched::blocks::Blocks;
use hetmp_sched::cache::{Key, Known, ProbeCache};
use hetmp_sched::decide::Objective;
use hetmp_sched::placement::Placement;
use hetmp_sched::record::LoopRecord;
use hetmp_sched::schedule::SchedKind;
use once_cell::race::OnceBox;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most parts of executions that are kept for later executions.
const SPARES: usize = 16;
/// Most placements that are kept. A program needs a handful; with more, some are made again.
const TEAMS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Regions {
    pub(super) cache: ProbeCache,
    teams: Vec<Arc<Placement>>,
    #[allow(clippy::vec_box, reason = "they come and go as boxes")]
    spares: Vec<Box<Parts>>,
    /// By region and its schedule; `None`: run as virtual threads. Kept only if there is a report.
    pub(super) summaries: BTreeMap<(Key, Option<SchedKind>), Summary>,
}

impl Regions {
    /// The team of `threads` threads whose thread `t` belongs to node `node_of(t)`.
    fn team(&mut self, threads: usize, node_of: impl Fn(usize) -> u32) -> Arc<Placement> {
        if let Some(team) = self.teams.iter().find(|t| {
            t.threads() == threads && (0..threads).all(|i| t.node_of(i) == node_of(i) as usize)
        }) {
            return Arc::clone(team);
        }
        let nodes: Vec<u32> = (0..threads).map(node_of).collect();
        let team = Arc::new(Placement::placed(&nodes, nodes::count()).with_power(source::power()));
        if self.teams.len() == TEAMS {
            self.teams.remove(0);
        }
        self.teams.push(Arc::clone(&team));
        team
    }
}

/// The table, made at its first use.
static REGIONS: OnceBox<Mutex<Regions>> = OnceBox::new();

fn table() -> &'static Mutex<Regions> {
    REGIONS.get_or_init(Box::default)
}

fn lock() -> Held<'static, Regions> {
    table().lock()
}

/// The table for the report at exit; `None` if another thread, which may run on, holds the lock.
pub(super) fn at_exit() -> Option<Held<'static, Regions>> {
    table().try_lock()
}

/// An object was unloaded: another one may now lie where it did.
pub(in crate::unlike) fn forget() {
    lock().cache = ProbeCache::new();
}

/// Takes or makes the memory and state of one execution, which divides `blocks`.
pub(super) fn parts(
    chosen: &Chosen,
    region: usize,
    blocks: Blocks,
    nthreads: u32,
    node_of: impl Fn(usize) -> u32,
) -> Box<Parts> {
    let threads = nthreads as usize;
    // A loop without an address cannot be told from others, so nothing is learned about it.
    let learns = learns(chosen) && region != 0;
    if learns {
        profile::prepare(region as u64);
    }
    let mut guard = lock();
    let all = &mut *guard;
    let team = all.team(threads, node_of);
    let key = Key::new(region as u64, blocks.count(), &team);
    let known = if learns {
        profile::fill(&mut all.cache, &key, &team);
        all.cache.known(&key)
    } else {
        None
    };
    // Prefer the parts given back last: they are most likely in this core's cache.
    let spare = all
        .spares
        .iter()
        .rposition(|p| {
            let s = &p.schedule;
            s.chosen == *chosen && Arc::ptr_eq(&s.team, &team) && s.suits(known.as_ref())
        })
        .map(|i| all.spares.swap_remove(i));
    drop(guard);
    match spare {
        Some(mut parts) => {
            parts.restart(key, blocks, known);
            parts
        }
        None => Parts::new(key, chosen, blocks, &team, known),
    }
}

/// Takes back the parts of an execution that is over.
pub(super) fn give_back(parts: Box<Parts>) {
    let mut all = lock();
    let full = (all.spares.len() == SPARES).then(|| all.spares.remove(0));
    all.spares.push(parts);
    drop(all);
    drop(full);
}

/// Learns from an execution that all threads have left.
pub(super) fn learn(parts: &Parts) {
    let schedule = &parts.schedule;
    let learns = learns(&schedule.chosen) && schedule.key.region != 0;
    if !learns && !report::wanted() {
        return;
    }
    let mut record = parts.record();
    if report::wanted() {
        report::prepare(schedule.key.region);
    }
    let mut guard = lock();
    let all = &mut *guard;
    if learns {
        let changed = all.cache.update(schedule.key, &record, source::objective());
        if changed {
            settled::forget(schedule.key.region as usize, schedule.key.magnitude);
        }
    }
    if !report::wanted() {
        return;
    }
    let kind = schedule.chosen.executes_as().kind.name();
    record.count_iterations(parts.blocks);
    let line = all
        .summaries
        .entry((schedule.key, Some(kind)))
        .or_insert_with(|| Summary::new(schedule.key.region))
        .add(record);
    drop(guard);
    if let Some(line) = line {
        report::say(&line);
    }
}

/// What is known about the parallel region of the outlined function at `address`, when `threads` real threads
/// run it as `pieces` virtual threads.
pub(crate) fn known_pieces(
    address: usize,
    pieces: u32,
    threads: usize,
    node_of: impl Fn(usize) -> u32,
) -> (Key, Arc<Placement>, Option<Arc<Known>>) {
    profile::prepare(address as u64);
    let mut all = lock();
    let team = all.team(threads, node_of);
    let key = Key::new(address as u64, u64::from(pieces), &team);
    profile::fill(&mut all.cache, &key, &team);
    let known = all.cache.known(&key);
    (key, team, known)
}

/// Learns from an execution of a region whose iterations are its virtual threads. `record` makes the
/// execution's record by the objective in effect.
pub(crate) fn learn_pieces(key: Key, record: impl FnOnce(Objective) -> LoopRecord) {
    let objective = source::objective();
    let record = record(objective);
    if report::wanted() {
        report::prepare(key.region);
    }
    let mut guard = lock();
    let all = &mut *guard;
    all.cache.update(key, &record, objective);
    if !report::wanted() {
        return;
    }
    let line = all
        .summaries
        .entry((key, None))
        .or_insert_with(|| Summary::new(key.region))
        .add(record);
    drop(guard);
    if let Some(line) = line {
        report::say(&line);
    }
}
