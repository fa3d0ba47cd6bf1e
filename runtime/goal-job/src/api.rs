//! What `include/goal.h` offers, in Rust: graphs, schedules and runs by handle, and collectives.

mod handles;

use crate::choice::Collective;
use crate::driver::Outcome;
use crate::memory::Segment;
use crate::world::{self, How, JoinError, RunError, World};
use core::fmt;
pub use handles::Key;
use handles::Slots;
use hetmp_core::hash::HashMap;
use hetmp_goal::graph::{self, After, Graph, OpId, Work};
use hetmp_goal::memory::{Buffer, Space};
use hetmp_goal::rank::{Failure, StartError};
use hetmp_goal::schedule::{Invalid, Schedule};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a call of `goal.h` returns. The numbers are those of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// All is well.
    Success = 0,
    /// Not joined, or left.
    State = 1,
    /// A null pointer, or a value that means nothing.
    Argument = 2,
    /// A rank that the job does not have.
    Rank = 3,
    /// An operation that is not of the graph.
    Operation = 4,
    /// A piece beyond its memory.
    Bounds = 5,
    /// Lengths that differ, or that are not whole elements.
    Size = 6,
    /// An operation that its type does not have.
    Type = 7,
    /// A circle of dependences.
    Cycle = 8,
    /// Two operations on one memory without an order.
    Overlap = 9,
    /// More than the format has numbers for.
    Limit = 10,
    /// Bytes that are no schedule, or one of another rank.
    Format = 11,
    /// No memory.
    Memory = 12,
    /// The job cannot be joined.
    Job = 13,
    /// A message was longer than its receive.
    Truncated = 14,
    /// An integer was divided by zero.
    Division = 15,
    /// The run failed at a peer.
    PeerFailed = 16,
    /// A peer is gone.
    PeerLost = 17,
    /// The run was ended before it was over.
    Abandoned = 18,
}

impl Code {
    /// Every code, in order.
    pub const ALL: [Code; 19] = [
        Code::Success,
        Code::State,
        Code::Argument,
        Code::Rank,
        Code::Operation,
        Code::Bounds,
        Code::Size,
        Code::Type,
        Code::Cycle,
        Code::Overlap,
        Code::Limit,
        Code::Format,
        Code::Memory,
        Code::Job,
        Code::Truncated,
        Code::Division,
        Code::PeerFailed,
        Code::PeerLost,
        Code::Abandoned,
    ];

    /// What it means, for people.
    #[must_use]
    pub fn text(self) -> &'static core::ffi::CStr {
        match self {
            Code::Success => c"success",
            Code::State => c"not between GOAL_Init and GOAL_Finalize",
            Code::Argument => c"a null pointer, or a value that means nothing here",
            Code::Rank => c"no such rank",
            Code::Operation => c"no such operation in this graph",
            Code::Bounds => c"a piece beyond its memory",
            Code::Size => c"lengths that differ, or that are not whole elements",
            Code::Type => c"no such operation on elements of this type",
            Code::Cycle => c"operations that wait for each other in a circle",
            Code::Overlap => c"operations on the same memory without an order between them",
            Code::Limit => c"more than a schedule can hold",
            Code::Format => c"not a schedule of this rank",
            Code::Memory => c"no memory",
            Code::Job => c"the job cannot be joined",
            Code::Truncated => c"a message longer than its receive",
            Code::Division => c"division by zero",
            Code::PeerFailed => c"the run failed at a peer",
            Code::PeerLost => c"a peer is gone",
            Code::Abandoned => c"ended before it was over",
        }
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// For programs.
    pub code: Code,
    /// For people: one line.
    pub text: String,
}

impl Error {
    /// With a text.
    pub fn new(code: Code, text: impl fmt::Display) -> Error {
        Error {
            code,
            text: text.to_string(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl From<graph::Error> for Error {
    fn from(e: graph::Error) -> Error {
        let code = match &e {
            graph::Error::Rank { .. } => Code::Rank,
            graph::Error::Operation(_) => Code::Operation,
            graph::Error::Bounds { .. } => Code::Bounds,
            graph::Error::Lengths { .. } => Code::Size,
            graph::Error::Element { .. } => Code::Type,
            graph::Error::Cycle(_) => Code::Cycle,
            graph::Error::Overlap { .. } => Code::Overlap,
            _ => Code::Limit,
        };
        Error::new(code, e)
    }
}

impl From<Failure> for Error {
    fn from(e: Failure) -> Error {
        let code = match &e {
            Failure::Truncated { .. } | Failure::Refused { .. } => Code::Truncated,
            Failure::DivisionByZero { .. } => Code::Division,
            Failure::PeerFailed { .. } => Code::PeerFailed,
            Failure::PeerLost { .. } => Code::PeerLost,
            Failure::Differs { .. } => Code::Argument,
            _ => Code::Abandoned,
        };
        Error::new(code, e)
    }
}

impl From<RunError> for Error {
    fn from(e: RunError) -> Error {
        match e {
            RunError::Start(e @ StartError::Segment { .. }) => Error::new(Code::Bounds, e),
            RunError::Start(e) => Error::new(Code::Format, e),
            RunError::NoMemory { bytes } => Error::new(
                Code::Memory,
                format_args!("scratchpad of {bytes} bytes: what there is memory for is accepted"),
            ),
        }
    }
}

impl From<JoinError> for Error {
    fn from(e: JoinError) -> Error {
        let code = match &e {
            JoinError::Over => Code::State,
            _ => Code::Job,
        };
        Error::new(code, e)
    }
}

impl From<Invalid> for Error {
    fn from(e: Invalid) -> Error {
        Error::new(Code::Format, e)
    }
}

type Result<T> = core::result::Result<T, Error>;

/// A compiled schedule.
#[derive(Clone)]
struct Compiled {
    schedule: Arc<Schedule>,
    /// Made by a program of this process, whose segment 0 is the address space. Bytes from elsewhere never get that.
    addresses: bool,
}

struct Tables {
    graphs: Slots<Graph>,
    schedules: Slots<Compiled>,
    runs: Slots<Arc<Outcome>>,
    /// Compiled collectives, which are run again with other buffers.
    cache: HashMap<Collective, Arc<Schedule>>,
    /// The one that was run last: mostly the next one, too.
    latest: Option<(Collective, Arc<Schedule>)>,
}

static TABLES: Mutex<Option<Tables>> = Mutex::new(None);

/// Collectives that are kept compiled.
const CACHED: usize = 256;
/// The context of collectives; those of programs are below.
const COLLECTIVES: u32 = 1 << 31;

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
        cache: HashMap::default(),
        latest: None,
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

/// Leaves the job: see [`world::leave`].
///
/// # Errors
/// [`Code::State`].
pub fn finalize() -> Result<()> {
    world()?;
    world::leave();
    Ok(())
}

/// This process's number and how many there are.
///
/// # Errors
/// [`Code::State`].
pub fn place() -> Result<(u32, u32)> {
    world().map(|w| (w.rank(), w.ranks()))
}

/// Which memory an argument is of: `GOAL_USERSPACE`, `GOAL_SCRATCHPAD` or `GOAL_SEGMENT(n)`.
pub(crate) const USERSPACE: i32 = 0;
/// See `USERSPACE`.
pub const SCRATCHPAD: i32 = 1;
/// The first of the bound segments.
pub(crate) const SEGMENTS: i32 = 2;

/// A piece of memory as the C API names it.
///
/// # Errors
/// [`Code::Argument`] for a space that is none, or a null address of some bytes.
pub fn piece(space: i32, start: usize, bytes: usize) -> Result<Buffer> {
    let (offset, bytes) = (start as u64, bytes as u64);
    match space {
        USERSPACE if start == 0 && bytes > 0 => Err(Error::new(
            Code::Argument,
            format_args!("buffer (null) of {bytes} bytes: an address is accepted"),
        )),
        USERSPACE if bytes == 0 => Ok(Buffer::void(0)),
        USERSPACE => Ok(Buffer::user(0, offset, bytes)),
        SCRATCHPAD => Ok(Buffer::scratch(offset, bytes)),
        n if (SEGMENTS..SEGMENTS + 0xffff).contains(&n) => Ok(Buffer {
            // Segment 0 is the address space, so that the first bound one has number 1.
            space: Space::User((n - SEGMENTS + 1) as u16),
            offset,
            bytes,
        }),
        _ => Err(Error::new(
            Code::Argument,
            format_args!(
                "memory {space}: GOAL_USERSPACE, GOAL_SCRATCHPAD and GOAL_SEGMENT(n) are accepted"
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

/// Frees a graph; schedules made of it stay.
///
/// # Errors
/// [`Code::Argument`].
pub fn free_graph(graph: Key) -> Result<()> {
    tables().graphs.remove(graph, "graph").map(|_| ())
}

/// More of the scratchpad: where it begins there.
///
/// # Errors
/// [`Code::Argument`].
pub fn scratch(graph: Key, bytes: usize) -> Result<u64> {
    Ok(tables().graphs.get(graph, "graph")?.scratch(bytes as u64))
}

/// A further segment, bound when a run starts: which memory it is for arguments.
///
/// # Errors
/// [`Code::Argument`], [`Code::Limit`].
pub fn segment(graph: Key, bytes: usize) -> Result<i32> {
    let number = tables().graphs.get(graph, "graph")?.segment(bytes as u64)?;
    Ok(SEGMENTS + i32::from(number) - 1)
}

/// Adds an operation; its number.
///
/// # Errors
/// [`Code::Argument`], [`Code::Rank`], [`Code::Limit`].
pub fn add(graph: Key, work: Work) -> Result<i32> {
    let op = tables().graphs.get(graph, "graph")?.add(work)?;
    i32::try_from(op.index()).map_err(|_| Error::new(Code::Limit, "operations: too many"))
}

/// `later` begins once `earlier` is complete, or has begun.
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
                format_args!("operation {n}: one of this graph is accepted"),
            )
        })
    };
    let (later, earlier) = (op(later)?, op(earlier)?);
    Ok(graph.order(later, after, earlier)?)
}

/// The schedule of a graph.
///
/// # Errors
/// [`Code::Argument`], or what is wrong with the graph.
pub fn compile(graph: Key) -> Result<Key> {
    let graph = tables().graphs.get(graph, "graph")?.clone();
    let schedule = Arc::new(graph.compile()?);
    tables().schedules.insert(Compiled {
        schedule,
        addresses: true,
    })
}

/// The schedule that `bytes` are, as `hetmp goal compile` writes them. Validated: what is wrong is never run.
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
    })
}

/// Frees a schedule; its runs go on.
///
/// # Errors
/// [`Code::Argument`].
pub fn free_schedule(schedule: Key) -> Result<()> {
    tables().schedules.remove(schedule, "schedule").map(|_| ())
}

/// Begins a run in a context of the program's, on its bound segments.
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
            format_args!("context {context}: numbers from 0 are accepted"),
        )
    })?;
    let mut tables = tables();
    let compiled = tables.schedules.get(schedule, "schedule")?.clone();
    let addresses = compiled.addresses.then_some(Segment::ADDRESSES);
    let segments: Vec<Segment> = addresses.into_iter().chain(bound.iter().copied()).collect();
    // SAFETY: passed on to the caller.
    let outcome = unsafe { world.run(&compiled.schedule, context, &segments, How::Alone) }?;
    tables.runs.insert(outcome)
}

/// Whether a run has ended; if it has, its handle is freed.
///
/// # Errors
/// [`Code::State`], [`Code::Argument`], or why the run has failed (its handle is freed then, too).
pub fn test(run: Key) -> Result<bool> {
    let mut tables = tables();
    let outcome = tables.runs.get(run, "handle")?;
    let ended = match outcome.poll() {
        Some(ended) => Some(ended),
        // After leaving, no run goes on: what was not over has been given up.
        None => world()?.test(outcome),
    };
    let Some(ended) = ended else {
        return Ok(false);
    };
    tables.runs.remove(run, "handle")?;
    ended?;
    Ok(true)
}

/// Waits for the end of a run, and frees its handle.
///
/// # Errors
/// As [`test`].
pub fn wait(run: Key) -> Result<()> {
    let outcome = Arc::clone(tables().runs.get(run, "handle")?);
    let ended = match outcome.poll() {
        Some(ended) => ended,
        None => world()?.wait(&outcome),
    };
    // Another thread may have waited for the same run.
    let _ = tables().runs.remove(run, "handle");
    Ok(ended?)
}

/// This rank's schedule of a collective; the latest ones are kept.
fn compiled(world: &'static World, what: Collective) -> Result<Arc<Schedule>> {
    {
        let mut tables = tables();
        if let Some((_, schedule)) = tables.latest.as_ref().filter(|(w, _)| *w == what) {
            return Ok(Arc::clone(schedule));
        }
        if let Some(schedule) = tables.cache.get(&what).cloned() {
            tables.latest = Some((what, Arc::clone(&schedule)));
            return Ok(schedule);
        }
    }
    let graph = what.graph(world.rank(), world.ranks(), world.settings())?;
    let schedule = Arc::new(graph.compile()?);
    let mut tables = tables();
    if tables.cache.len() >= CACHED {
        tables.cache.clear();
    }
    tables.cache.insert(what.clone(), Arc::clone(&schedule));
    tables.latest = Some((what, Arc::clone(&schedule)));
    Ok(schedule)
}

fn begin(
    world: &'static World,
    what: Collective,
    buffers: [Segment; 2],
    how: How,
) -> Result<Arc<Outcome>> {
    let schedule = compiled(world, what)?;
    for (i, (need, have)) in schedule.segments().iter().zip(&buffers).enumerate() {
        if *need > 0 && have.start.is_null() {
            let which = ["what is given", "what is got"][i.min(1)];
            return Err(Error::new(
                Code::Argument,
                format_args!("buffer (null) for {which}: the address of {need} bytes is accepted"),
            ));
        }
    }
    // Every collective has these two.
    let mut bound = buffers;
    for (segment, bytes) in bound.iter_mut().zip(schedule.segments()) {
        segment.bytes = *bytes;
    }
    // SAFETY: the buffers hold the collective's lengths, which are the schedule's, until the collective is done: the program
    // upholds that by the contract of `start` and `blocking`.
    Ok(unsafe { world.run(&schedule, COLLECTIVES, &bound, how) }?)
}

fn both(give: *const u8, get: *mut u8) -> [Segment; 2] {
    [give.cast_mut(), get].map(|start| Segment { start, bytes: 0 })
}

/// Begins a collective from `give` to `get`: all ranks begin collectives in the same order.
///
/// # Errors
/// [`Code::State`], [`Code::Rank`] for a root that is none, [`Code::Argument`], [`Code::Type`], [`Code::Limit`], [`Code::Memory`].
///
/// # Safety
/// The buffers are valid for what the collective reads and writes there until the run has ended, and left alone meanwhile.
pub unsafe fn start(what: Collective, give: *const u8, get: *mut u8) -> Result<Key> {
    let outcome = begin(world()?, what, both(give, get), How::Alone)?;
    tables().runs.insert(outcome)
}

/// A collective, to its end.
///
/// # Errors
/// As [`start`], or why the run has failed.
///
/// # Safety
/// As [`start`].
pub unsafe fn blocking(what: Collective, give: *const u8, get: *mut u8) -> Result<()> {
    let world = world()?;
    // SAFETY: passed on to the caller.
    if let Some(done) = unsafe { world.direct(&what, give, get) } {
        return Ok(done?);
    }
    let outcome = begin(world, what, both(give, get), How::Awaited)?;
    Ok(world.wait(&outcome)?)
}

static LAST: Mutex<String> = Mutex::new(String::new());

/// Keeps the words of the last error of this process.
pub fn remember(error: &Error) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.clone_from(&error.text);
}

/// The words of the last error of this process.
#[must_use]
pub fn last_words() -> String {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_numbers_of_the_header() {
        for (i, code) in Code::ALL.iter().enumerate() {
            assert_eq!(*code as usize, i);
        }
        let header = include_str!("../../../include/goal.h");
        let listed: Vec<usize> = header
            .lines()
            .filter(|l| l.starts_with("#define GOAL_SUCCESS") || l.starts_with("#define GOAL_ERR_"))
            .filter_map(|l| l.split_whitespace().nth(2)?.parse().ok())
            .collect();
        assert_eq!(listed, (0..Code::ALL.len()).collect::<Vec<_>>());
    }

    #[test]
    fn calls_before_joining_say_so() {
        assert_eq!(create().map_err(|e| e.code), Err(Code::State));
        assert_eq!(place().map_err(|e| e.code), Err(Code::State));
        assert_eq!(finalize().map_err(|e| e.code), Err(Code::State));
        assert_eq!(test(7).map_err(|e| e.code), Err(Code::Argument));
    }
}
