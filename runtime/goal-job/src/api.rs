//! The functions behind `include/goal.h`: graphs, schedules and runs by handle, and collectives.
//!
//! Pointers are the program's and are passed on with its promise: valid and untouched until the run has been waited
//! for.

mod agreement;
mod collective;
mod error;
mod handles;

use crate::driver::Outcome;
use crate::memory::Segment;
use crate::offload::{self, Offload};
use crate::team::Team;
use crate::world::{self, How, RunError, World};
pub use agreement::agree;
use agreement::Agreed;
pub use collective::{blocking, free_group, group, start, start_in_group};
use collective::{Cache, Group};
pub use error::{Code, Error};
pub use handles::Key;
use handles::Slots;
use hetmp_core::bootstrap::Exchange;
use hetmp_goal::graph::{After, Graph, OpId, Work};
use hetmp_goal::memory::{Buffer, Space};
use hetmp_goal::rank::{Failure, StartError};
use hetmp_goal::schedule::Schedule;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Result<T> = core::result::Result<T, Error>;

/// A compiled schedule.
#[derive(Clone)]
struct Compiled {
    schedule: Arc<Schedule>,
    /// A program of this process has made the schedule; then its segment 0 is the address space. Bytes from elsewhere
    /// never get that segment.
    addresses: bool,
    /// The ranks have agreed on an engine that takes its runs.
    agreed: Option<Arc<Agreed>>,
}

/// A run that the program has a handle of, by who moves it on.
#[derive(Clone)]
enum Running {
    /// The engines `user` and `thread`.
    Here(Arc<Outcome>),
    /// The engines `kernel` and `nic`.
    Away(&'static Offload, Arc<offload::Run>),
    /// Without a schedule: the collective of a team with this name, where the team has no room to note its handle.
    Direct(&'static Team, u64),
}

impl Running {
    /// The result; `None` while the run goes on.
    fn test(&self) -> Result<Option<core::result::Result<(), Failure>>> {
        let known = match self {
            Running::Here(outcome) => outcome.poll(),
            Running::Away(_, run) => run.poll(),
            Running::Direct(..) => None,
        };
        if known.is_some() {
            return Ok(known);
        }
        // No run goes on after this process has left: runs that were not done were given up.
        let world = world()?;
        Ok(match self {
            Running::Here(outcome) => world.test(outcome),
            Running::Away(away, run) => world.test_away(away, run),
            Running::Direct(team, step) => world.test_direct(team, *step),
        })
    }

    fn wait(&self) -> Result<core::result::Result<(), Failure>> {
        if let Running::Direct(team, step) = self {
            return Ok(world()?.wait_direct(team, *step));
        }
        if let Some(ended) = self.test()? {
            return Ok(ended);
        }
        let world = world()?;
        Ok(match self {
            Running::Here(outcome) => world.wait(outcome),
            Running::Away(away, run) => world.wait_away(away, run),
            Running::Direct(team, step) => world.wait_direct(team, *step),
        })
    }
}

struct Tables {
    graphs: Slots<Graph>,
    schedules: Slots<Compiled>,
    runs: Slots<Running>,
    groups: Slots<Arc<Group>>,
    /// Collectives of all ranks.
    cache: Cache,
}

static TABLES: Mutex<Option<Tables>> = Mutex::new(None);

/// The tables, locked.
struct Locked(MutexGuard<'static, Option<Tables>>);

impl core::ops::Deref for Locked {
    type Target = Tables;
    fn deref(&self) -> &Tables {
        match &*self.0 {
            Some(tables) => tables,
            None => unreachable!("made by `tables`"),
        }
    }
}

impl core::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Tables {
        match &mut *self.0 {
            Some(tables) => tables,
            None => unreachable!("made by `tables`"),
        }
    }
}

fn tables() -> Locked {
    let mut guard = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_with(|| Tables {
        graphs: Slots::new(1),
        schedules: Slots::new(2),
        runs: Slots::new(3),
        groups: Slots::new(4),
        cache: Cache::default(),
    });
    Locked(guard)
}

fn world() -> Result<&'static World> {
    world::joined().ok_or_else(|| Error::new(Code::State, Code::State.text().to_string_lossy()))
}

/// Joins the job.
///
/// # Errors
/// [`Code::State`], [`Code::Job`].
pub fn init() -> Result<()> {
    Ok(world::join().map(|_| ())?)
}

/// Joins the job of the processes that `exchange` connects, for a program that another library has started.
///
/// # Errors
/// [`Code::State`], [`Code::Job`].
pub fn init_through(exchange: Box<dyn Exchange>) -> Result<()> {
    Ok(world::join_through(exchange).map(|_| ())?)
}

/// Moves this process's runs on once, and returns at once.
///
/// # Errors
/// [`Code::State`].
pub fn advance() -> Result<()> {
    world()?.advance();
    Ok(())
}

/// Leaves the job: see [`world::leave`].
///
/// # Errors
/// [`Code::State`].
pub fn finalize() -> Result<()> {
    world()?;
    world::leave();
    Ok(())
}

/// This process's rank, and the number of ranks.
///
/// # Errors
/// [`Code::State`].
pub fn place() -> Result<(u32, u32)> {
    world().map(|w| (w.rank(), w.ranks()))
}

/// The memory that an argument refers to: `GOAL_USERSPACE`, `GOAL_SCRATCHPAD` or `GOAL_SEGMENT(n)`.
pub(crate) const USERSPACE: i32 = 0;
/// See `USERSPACE`.
pub const SCRATCHPAD: i32 = 1;
/// `GOAL_SEGMENT(0)`, the first of the bound segments.
pub(crate) const SEGMENTS: i32 = 2;

/// A piece of memory, from the values by which the C API names it.
///
/// # Errors
/// [`Code::Argument`] for an unknown kind of memory, or a null address with a length above 0.
pub fn piece(space: i32, start: usize, bytes: usize) -> Result<Buffer> {
    let (offset, bytes) = (start as u64, bytes as u64);
    match space {
        USERSPACE if start == 0 && bytes > 0 => Err(Error::new(
            Code::Argument,
            format_args!("buffer of {bytes} bytes: null (expected an address)"),
        )),
        USERSPACE if bytes == 0 => Ok(Buffer::void(0)),
        USERSPACE => Ok(Buffer::user(0, offset, bytes)),
        SCRATCHPAD => Ok(Buffer::scratch(offset, bytes)),
        n if (SEGMENTS..SEGMENTS + 0xffff).contains(&n) => Ok(Buffer {
            // Segment 0 of the schedule is the address space, so that the first bound segment has number 1.
            space: Space::User((n - SEGMENTS + 1) as u16),
            offset,
            bytes,
        }),
        _ => Err(Error::new(
            Code::Argument,
            format_args!(
                "memory {space}: unknown (expected GOAL_USERSPACE, GOAL_SCRATCHPAD or GOAL_SEGMENT(n))"
            ),
        )),
    }
}

/// An empty graph of this rank.
///
/// # Errors
/// [`Code::State`], [`Code::Limit`].
pub fn create() -> Result<Key> {
    let world = world()?;
    let mut graph = Graph::new(world.rank(), world.ranks())?;
    graph.segment(u64::MAX)?;
    tables().graphs.insert(graph)
}

/// Frees a graph. Schedules that were compiled from it stay.
///
/// # Errors
/// [`Code::Argument`].
pub fn free_graph(graph: Key) -> Result<()> {
    tables().graphs.remove(graph, "graph").map(|_| ())
}

/// Reserves `bytes` more of the scratchpad, and returns their offset.
///
/// # Errors
/// [`Code::Argument`].
pub fn scratch(graph: Key, bytes: usize) -> Result<u64> {
    Ok(tables().graphs.get(graph, "graph")?.scratch(bytes as u64))
}

/// Adds a segment, which is bound when a run starts. Returns the value by which arguments refer to it.
///
/// # Errors
/// [`Code::Argument`], [`Code::Limit`].
pub fn segment(graph: Key, bytes: usize) -> Result<i32> {
    let number = tables().graphs.get(graph, "graph")?.segment(bytes as u64)?;
    Ok(SEGMENTS + i32::from(number) - 1)
}

/// Adds an operation, and returns its number.
///
/// # Errors
/// [`Code::Argument`], [`Code::Rank`], [`Code::Limit`].
pub fn add(graph: Key, work: Work) -> Result<i32> {
    let op = tables().graphs.get(graph, "graph")?.add(work)?;
    i32::try_from(op.index()).map_err(|_| Error::new(Code::Limit, "operations: too many"))
}

/// Lets `later` begin only after `earlier` is complete, or has begun.
///
/// # Errors
/// [`Code::Argument`], [`Code::Operation`], [`Code::Cycle`].
pub fn order(graph: Key, later: i32, after: After, earlier: i32) -> Result<()> {
    let mut tables = tables();
    let graph = tables.graphs.get(graph, "graph")?;
    let op = |n: i32| -> Result<OpId> {
        let found = usize::try_from(n).ok().and_then(|n| graph.id(n));
        found.ok_or_else(|| {
            Error::new(
                Code::Operation,
                format_args!("operation {n}: not in this graph (expected one of its operations)"),
            )
        })
    };
    let (later, earlier) = (op(later)?, op(earlier)?);
    Ok(graph.order(later, after, earlier)?)
}

/// How many operations of an error are described.
const NAMED: usize = 8;

/// Compiles a graph to a schedule.
///
/// # Errors
/// [`Code::Argument`], or the code for what is wrong with the graph.
pub fn compile(graph: Key) -> Result<Key> {
    let graph = tables().graphs.get(graph, "graph")?.clone();
    let schedule = graph.compile().map_err(|e| {
        let what = e.operations().into_iter().take(NAMED).filter_map(|n| {
            let work = graph.operations().get(n as usize)?;
            Some(format!("; operation {n}: {work}"))
        });
        let text = format!("{e}{}", what.collect::<String>());
        Error { text, ..e.into() }
    })?;
    let schedule = Arc::new(schedule);
    tables().schedules.insert(Compiled {
        schedule,
        addresses: true,
        agreed: None,
    })
}

/// Loads a schedule from the bytes that `hetmp goal compile` writes. Bad bytes are refused here, and never run.
///
/// # Errors
/// [`Code::State`], [`Code::Format`], [`Code::Limit`].
pub fn load(bytes: &[u8]) -> Result<Key> {
    let world = world()?;
    let schedule = Schedule::from_bytes(bytes)?;
    let (of, here) = (
        (schedule.rank(), schedule.ranks()),
        (world.rank(), world.ranks()),
    );
    if of != here {
        return Err(RunError::Start(StartError::Rank { schedule: of, here }).into());
    }
    tables().schedules.insert(Compiled {
        schedule: Arc::new(schedule),
        addresses: false,
        agreed: None,
    })
}

/// Frees a schedule. Its runs go on.
///
/// # Errors
/// [`Code::Argument`].
pub fn free_schedule(schedule: Key) -> Result<()> {
    tables().schedules.remove(schedule, "schedule").map(|_| ())
}

/// Begins a run of a schedule on its bound segments, in a context of the program.
///
/// # Errors
/// [`Code::State`], [`Code::Argument`], [`Code::Bounds`], [`Code::Memory`].
///
/// # Safety
/// As [`World::run`].
pub unsafe fn run(schedule: Key, context: i32, bound: &[Segment]) -> Result<Key> {
    let world = world()?;
    let context = u32::try_from(context).map_err(|_| {
        Error::new(
            Code::Argument,
            format_args!("context {context}: below 0 (expected a number from 0)"),
        )
    })?;
    let compiled = tables().schedules.get(schedule, "schedule")?.clone();
    if let Some(agreed) = &compiled.agreed {
        // SAFETY: who calls upholds the contract of `run`, which is that of `Agreed::run`.
        let (away, run) = unsafe { agreed.run(world, bound) }?;
        return tables().runs.insert(Running::Away(away, run));
    }
    let addresses = compiled.addresses.then_some(Segment::ADDRESSES);
    let segments: Vec<Segment> = addresses.into_iter().chain(bound.iter().copied()).collect();
    // SAFETY: who calls upholds the contract of `World::run`.
    let outcome = unsafe { world.run(&compiled.schedule, context, &segments, How::Alone) }?;
    tables().runs.insert(Running::Here(outcome))
}

/// The collective of a team that a handle names. `None` for a handle of the table.
#[inline]
fn of_team(run: Key) -> Result<Option<(&'static World, &'static Team, u64)>> {
    let Some((number, step)) = handles::team_and_step(run) else {
        return Ok(None);
    };
    let world = world()?;
    let team = world.team_of(number).filter(|team| team.is_open(step));
    let team = team.ok_or_else(|| handles::none("handle"))?;
    team.will_look(step);
    Ok(Some((world, team, step)))
}

/// True if a run has ended; then its handle is freed.
///
/// # Errors
/// [`Code::State`], [`Code::Argument`], or the code for why the run has failed; then too the handle is freed.
pub fn test(run: Key) -> Result<bool> {
    if let Some((world, team, step)) = of_team(run)? {
        let Some(ended) = world.test_direct(team, step) else {
            return Ok(false);
        };
        team.close(step);
        ended?;
        return Ok(true);
    }
    // Without the tables: the test may look at all that goes on.
    let running = tables().runs.get(run, "handle")?.clone();
    let Some(ended) = running.test()? else {
        return Ok(false);
    };
    // Another thread may have tested the same run, and removed it.
    let _ = tables().runs.remove(run, "handle");
    ended?;
    Ok(true)
}

/// Waits for the end of a run, and frees its handle.
///
/// # Errors
/// As [`test`](fn@test).
pub fn wait(run: Key) -> Result<()> {
    if let Some((world, team, step)) = of_team(run)? {
        let mut ended = Ok(());
        if !team.has_ended(step) {
            // Most of them are over soon.
            let soon = world.look_soon(team, step);
            ended = soon.unwrap_or_else(|| world.wait_direct(team, step));
        }
        team.close(step);
        return Ok(ended?);
    }
    let running = tables().runs.get(run, "handle")?.clone();
    let ended = running.wait()?;
    // Another thread may have waited for the same run, and removed it.
    let _ = tables().runs.remove(run, "handle");
    Ok(ended?)
}

static LAST: Mutex<String> = Mutex::new(String::new());

/// Keeps the text of the last error of this process.
pub fn remember(error: &Error) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.clone_from(&error.text);
}

/// The text of the last error of this process.
#[must_use]
pub fn last_words() -> String {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_before_joining_say_so() {
        assert_eq!(create().map_err(|e| e.code), Err(Code::State));
        assert_eq!(place().map_err(|e| e.code), Err(Code::State));
        assert_eq!(finalize().map_err(|e| e.code), Err(Code::State));
        assert_eq!(test(7).map_err(|e| e.code), Err(Code::Argument));
    }
}
