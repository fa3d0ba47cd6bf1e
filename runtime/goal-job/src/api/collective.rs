//! Collectives: of all ranks, and of groups of ranks.
//!
//! A group's collectives are those of a job that has only the group's ranks, moved to the places that these have in the
//! whole job ([`Graph::among`]). Each group has a context of its own, so that ranks may begin the collectives of two
//! groups in different orders.

use super::{handles, tables, world, Code, Error, Key, Result, Running};
use crate::choice::Collective;
use crate::memory::Segment;
use crate::offload::Offload;
use crate::team::Team;
use crate::world::{How, World};
use core::fmt::Display;
use hetmp_core::hash::HashMap;
use hetmp_goal::graph::Graph;
use hetmp_goal::schedule::Schedule;
use std::sync::{Arc, Mutex, PoisonError};

/// How many compiled collectives of all ranks, or of a group, are kept.
const CACHED: usize = 256;
/// The context of collectives of all ranks. Those of groups are larger, those of programs smaller.
const COLLECTIVES: u32 = 1 << 31;

/// Compiled collectives, to be run again with other buffers.
#[derive(Default)]
pub(super) struct Cache {
    all: HashMap<Collective, Arc<Schedule>>,
    /// The collective that was run last; most calls repeat it.
    latest: Option<(Collective, Arc<Schedule>)>,
}

impl Cache {
    fn get(&mut self, what: &Collective) -> Option<Arc<Schedule>> {
        if let Some((_, schedule)) = self.latest.as_ref().filter(|(w, _)| w == what) {
            return Some(Arc::clone(schedule));
        }
        let schedule = self.all.get(what).cloned()?;
        self.latest = Some((what.clone(), Arc::clone(&schedule)));
        Some(schedule)
    }

    fn put(&mut self, what: Collective, schedule: &Arc<Schedule>) {
        if self.all.len() >= CACHED {
            self.all.clear();
        }
        self.all.insert(what.clone(), Arc::clone(schedule));
        self.latest = Some((what, Arc::clone(schedule)));
    }
}

/// Some ranks of the job, with numbers of their own.
pub(super) struct Group {
    context: u32,
    /// The job's rank of each member.
    members: Box<[u32]>,
    /// This rank's number in the group.
    me: u32,
    /// The short way of its collectives, if they have one.
    team: Option<&'static Team>,
    /// The engine `kernel` or `nic`, if it takes the group's.
    pub(super) away: Option<&'static Offload>,
    cache: Mutex<Cache>,
}

impl Group {
    /// The job's ranks, by number.
    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }

    fn graph(&self, what: &Collective, world: &World) -> Result<Graph> {
        let graph = what.graph(self.me, self.members.len() as u32, world.settings())?;
        Ok(graph.among(&self.members, world.ranks())?)
    }
}

fn refused(code: Code, what: &str, value: impl Display, wrong: &str) -> Error {
    Error::new(code, format_args!("{what} {value}: {wrong}"))
}

/// Creates a group of these ranks, in this order. All its members call this with the same arguments; nothing is sent.
///
/// # Errors
/// [`Code::State`]; [`Code::Rank`] for a rank that does not exist; [`Code::Argument`] for a context below 1, a rank
/// that is listed twice, or a group without this rank; [`Code::Limit`].
pub fn group(context: i32, members: &[i32]) -> Result<Key> {
    let world = world()?;
    let context = u32::try_from(context)
        .ok()
        .filter(|c| *c > 0)
        .ok_or_else(|| {
            refused(
                Code::Argument,
                "context",
                context,
                "not a number of ranks (expected 1 or more)",
            )
        })?;
    let mut listed = vec![false; world.ranks() as usize];
    let mut ranks = Vec::with_capacity(members.len());
    for member in members {
        let rank = u32::try_from(*member).ok().filter(|r| *r < world.ranks());
        let rank = rank.ok_or_else(|| {
            refused(
                Code::Rank,
                "rank",
                member,
                "not of the job (expected its ranks)",
            )
        })?;
        if core::mem::replace(&mut listed[rank as usize], true) {
            let accepted = "twice in the group (expected each rank once)";
            return Err(refused(Code::Argument, "rank", rank, accepted));
        }
        ranks.push(rank);
    }
    let me = ranks
        .iter()
        .position(|r| *r == world.rank())
        .ok_or_else(|| {
            let accepted = "without the calling rank (expected a group with it)";
            refused(Code::Argument, "group without rank", world.rank(), accepted)
        })?;
    let team = world.group_team(context, &ranks, me as u32);
    let away = world.group_away(context, &ranks, me as u32);
    tables().groups.insert(Arc::new(Group {
        context: COLLECTIVES + context,
        members: ranks.into(),
        me: me as u32,
        team,
        away,
        cache: Mutex::new(Cache::default()),
    }))
}

/// Frees a group. Its runs go on.
///
/// # Errors
/// [`Code::Argument`].
pub fn free_group(group: Key) -> Result<()> {
    tables().groups.remove(group, "group").map(|_| ())
}

/// This rank's schedule of a collective: from the cache, or compiled now. `group` is none for all ranks.
fn compiled(world: &World, group: Option<&Group>, what: Collective) -> Result<Arc<Schedule>> {
    let with = |f: &mut dyn FnMut(&mut Cache)| match group {
        None => f(&mut tables().cache),
        Some(group) => f(&mut group.cache.lock().unwrap_or_else(PoisonError::into_inner)),
    };
    let mut found = None;
    with(&mut |cache| found = cache.get(&what));
    if let Some(schedule) = found {
        return Ok(schedule);
    }
    let graph = match group {
        None => what.graph(world.rank(), world.ranks(), world.settings())?,
        Some(group) => group.graph(&what, world)?,
    };
    let schedule = Arc::new(graph.compile()?);
    with(&mut |cache| cache.put(what.clone(), &schedule));
    Ok(schedule)
}

/// Begins a collective by its schedule.
fn begin_here(
    world: &World,
    group: Option<&Group>,
    what: Collective,
    buffers: [Segment; 2],
    how: How,
) -> Result<Running> {
    let schedule = compiled(world, group, what)?;
    for (i, (need, have)) in schedule.segments().iter().zip(&buffers).enumerate() {
        if *need > 0 && have.start.is_null() {
            let which = ["what is given", "what is got"][i.min(1)];
            return Err(Error::new(
                Code::Argument,
                format_args!("buffer for {which}: null (expected the address of {need} bytes)"),
            ));
        }
    }
    // A collective has two segments: the input and the output.
    let mut bound = buffers;
    for (segment, bytes) in bound.iter_mut().zip(schedule.segments()) {
        segment.bytes = *bytes;
    }
    let context = group.map_or(COLLECTIVES, |g| g.context);
    // SAFETY: the buffers have the collective's lengths, which are those of the schedule, until the collective is
    // done: the callers of `start`, `start_in_group` and `blocking` have promised that.
    let outcome = unsafe { world.run(&schedule, context, &bound, how) }?;
    Ok(Running::Here(outcome))
}

/// Begins a collective in the engine `kernel` or `nic`. `None` if neither takes it.
///
/// # Safety
/// That of [`start`].
unsafe fn begin_away(
    world: &World,
    away: Option<&'static Offload>,
    what: &Collective,
    buffers: &[Segment; 2],
) -> Result<Option<Running>> {
    let Some(away) = away else {
        return Ok(None);
    };
    away.fits(what)?;
    // SAFETY: the buffers have the collective's lengths until the collective is done: who calls has promised that.
    let run = unsafe { away.start(what, buffers, world.settings()) };
    Ok(run.transpose()?.map(|run| Running::Away(away, run)))
}

/// Begins a collective of a group, or of all ranks, by the first way that takes it, and returns its handle.
fn begin(
    world: &'static World,
    group: Option<&Group>,
    what: Collective,
    buffers: [Segment; 2],
) -> Result<Key> {
    let (me, team, away) = match group {
        None => (world.rank(), world.team(), world.away()),
        Some(group) => (group.me, group.team, group.away),
    };
    if away.is_some() {
        // SAFETY: the callers of `start` and `start_in_group` have promised it.
        if let Some(running) = unsafe { begin_away(world, away, &what, &buffers) }? {
            return tables().runs.insert(running);
        }
    }
    if let Some(team) = team {
        // SAFETY: as above.
        if let Some(step) = unsafe { world.start_direct(team, me, &what, &buffers) } {
            let step = step?;
            return match team.is_open(step) {
                true => Ok(handles::of_team(team.number(), step)),
                false => tables().runs.insert(Running::Direct(team, step)),
            };
        }
    }
    let running = begin_here(world, group, what, buffers, How::Alone)?;
    tables().runs.insert(running)
}

fn both(give: *const u8, get: *mut u8) -> [Segment; 2] {
    [give.cast_mut(), get].map(|start| Segment { start, bytes: 0 })
}

/// Begins a collective that reads `give` and writes `get`. All ranks begin their collectives in the same order.
///
/// # Errors
/// [`Code::State`], [`Code::Rank`] for a root that does not exist, [`Code::Argument`], [`Code::Type`],
/// [`Code::Limit`], [`Code::Memory`].
///
/// # Safety
/// The buffers are valid for the collective's reads and writes until the run has ended, and nobody else uses them
/// meanwhile.
pub unsafe fn start(what: Collective, give: *const u8, get: *mut u8) -> Result<Key> {
    begin(world()?, None, what, both(give, get))
}

/// As [`start`], among the ranks of a group; roots and neighbours are numbers in the group. All its members begin the
/// group's collectives in the same order.
///
/// # Errors
/// Those of [`start`].
///
/// # Safety
/// That of [`start`].
pub unsafe fn start_in_group(
    group: Key,
    what: Collective,
    give: *const u8,
    get: *mut u8,
) -> Result<Key> {
    let group = Arc::clone(tables().groups.get(group, "group")?);
    begin(world()?, Some(&group), what, both(give, get))
}

/// Runs a collective to its end.
///
/// # Errors
/// Those of [`start`], or why the run has failed.
///
/// # Safety
/// As [`start`].
pub unsafe fn blocking(what: Collective, give: *const u8, get: *mut u8) -> Result<()> {
    let world = world()?;
    // SAFETY: who calls upholds the contract of `blocking`, which is that of `World::direct`.
    if let Some(done) = unsafe { world.direct(&what, give, get) } {
        return Ok(done?);
    }
    let buffers = both(give, get);
    // SAFETY: as above; the contract of `begin_away` is the same.
    let running = match unsafe { begin_away(world, world.away(), &what, &buffers) }? {
        Some(running) => running,
        None => begin_here(world, None, what, buffers, How::Awaited)?,
    };
    Ok(running.wait()??)
}
