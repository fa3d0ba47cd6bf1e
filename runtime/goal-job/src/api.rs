//! The functions behind `include/goal.h`: graphs, schedules and runs by handle, and collectives.

mod handles;

use crate::choice::Collective;
use crate::driver::Outcome;
use crate::memory::Segment;
use crate::offload;
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
    /// The call has succeeded.
    Success = 0,
    /// This process has not joined the job, or has left it.
    State = 1,
    /// A null pointer, or a value without a meaning.
    Argument = 2,
    /// A rank that the job does not have.
    Rank = 3,
    /// An operation that is not in this graph.
    Operation = 4,
    /// A piece of memory that ends outside of its segment.
    Bounds = 5,
    /// Lengths that differ, or that are not a multiple of the element's size.
    Size = 6,
    /// An operation that does not exist for its type.
    Type = 7,
    /// A circle of dependences.
    Cycle = 8,
    /// Two operations use the same memory without an order between them.
    Overlap = 9,
    /// More than the format can count.
    Limit = 10,
    /// Bytes that are no schedule, or a schedule of another rank.
    Format = 11,
    /// There is not enough memory.
    Memory = 12,
    /// The job cannot be joined.
    Job = 13,
    /// A message was longer than its receive.
    Truncated = 14,
    /// An integer was divided by zero.
    Division = 15,
    /// The run has failed at a peer.
    PeerFailed = 16,
    /// A peer has died or left.
    PeerLost = 17,
    /// The run was ended before it was done.
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

    /// The code's meaning, as text for people.
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
    /// The code, for programs.
    pub code: Code,
    /// One line of text, for people.
    pub text: String,
}

impl Error {
    /// An error with a text.
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
    /// A program of this process has made the schedule; then its segment 0 is the address space. Bytes from elsewhere
    /// never get that segment.
    addresses: bool,
}

/// A run that the program has a handle of, by who moves it on.
#[derive(Clone)]
enum Running {
    /// The engines `user` and `thread`.
    Here(Arc<Outcome>),
    /// The engines `kernel` and `nic`.
    Away(Arc<offload::Run>),
}

impl Running {
    /// The result; `None` while the run goes on.
    fn test(&self) -> Result<Option<core::result::Result<(), Failure>>> {
        let known = match self {
            Running::Here(outcome) => outcome.poll(),
            Running::Away(run) => run.poll(),
        };
        if known.is_some() {
            return Ok(known);
        }
        // No run goes on after this process has left: runs that were not done were given up.
        let world = world()?;
        Ok(match self {
            Running::Here(outcome) => world.test(outcome),
            Running::Away(run) => world.test_away(run),
        })
    }

    fn wait(&self) -> Result<core::result::Result<(), Failure>> {
        if let Some(ended) = self.test()? {
            return Ok(ended);
        }
        let world = world()?;
        Ok(match self {
            Running::Here(outcome) => world.wait(outcome),
            Running::Away(run) => world.wait_away(run),
        })
    }
}

struct Tables {
    graphs: Slots<Graph>,
    schedules: Slots<Compiled>,
    runs: Slots<Running>,
    /// Compiled collectives, to be run again with other buffers.
    cache: HashMap<Collective, Arc<Schedule>>,
    /// The collective that was run last; most calls repeat it.
    latest: Option<(Collective, Arc<Schedule>)>,
}

static TABLES: Mutex<Option<Tables>> = Mutex::new(None);

/// How many compiled collectives are kept.
const CACHED: usize = 256;
/// The context of collectives. Contexts of programs are smaller.
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
            format_args!("buffer (null) of {bytes} bytes: an address is accepted"),
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
                format_args!("operation {n}: one of this graph is accepted"),
            )
        })
    };
    let (later, earlier) = (op(later)?, op(earlier)?);
    Ok(graph.order(later, after, earlier)?)
}

/// Compiles a graph to a schedule.
///
/// # Errors
/// [`Code::Argument`], or the code for what is wrong with the graph.
pub fn compile(graph: Key) -> Result<Key> {
    let graph = tables().graphs.get(graph, "graph")?.clone();
    let schedule = Arc::new(graph.compile()?);
    tables().schedules.insert(Compiled {
        schedule,
        addresses: true,
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
            format_args!("context {context}: numbers from 0 are accepted"),
        )
    })?;
    let mut tables = tables();
    let compiled = tables.schedules.get(schedule, "schedule")?.clone();
    let addresses = compiled.addresses.then_some(Segment::ADDRESSES);
    let segments: Vec<Segment> = addresses.into_iter().chain(bound.iter().copied()).collect();
    // SAFETY: who calls upholds the contract of `World::run`.
    let outcome = unsafe { world.run(&compiled.schedule, context, &segments, How::Alone) }?;
    tables.runs.insert(Running::Here(outcome))
}

/// True if a run has ended; then its handle is freed.
///
/// # Errors
/// [`Code::State`], [`Code::Argument`], or the code for why the run has failed; then too the handle is freed.
pub fn test(run: Key) -> Result<bool> {
    let mut tables = tables();
    let Some(ended) = tables.runs.get(run, "handle")?.test()? else {
        return Ok(false);
    };
    tables.runs.remove(run, "handle")?;
    ended?;
    Ok(true)
}

/// Waits for the end of a run, and frees its handle.
///
/// # Errors
/// As [`test`](fn@test).
pub fn wait(run: Key) -> Result<()> {
    let running = tables().runs.get(run, "handle")?.clone();
    let ended = running.wait()?;
    // Another thread may have waited for the same run, and removed it.
    let _ = tables().runs.remove(run, "handle");
    Ok(ended?)
}

/// This rank's schedule of a collective: from the cache, or compiled now.
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
) -> Result<Running> {
    // SAFETY: the buffers have the collective's lengths until the collective is done: who calls `start` or `blocking`
    // has promised that.
    if let Some(run) = unsafe { world.start_away(&what, &buffers) } {
        return Ok(Running::Away(run?));
    }
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
    // A collective has two segments: the input and the output.
    let mut bound = buffers;
    for (segment, bytes) in bound.iter_mut().zip(schedule.segments()) {
        segment.bytes = *bytes;
    }
    // SAFETY: the buffers have the collective's lengths, which are those of the schedule, until the collective is
    // done: who calls `start` or `blocking` has promised that.
    let outcome = unsafe { world.run(&schedule, COLLECTIVES, &bound, how) }?;
    Ok(Running::Here(outcome))
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
    let running = begin(world()?, what, both(give, get), How::Alone)?;
    tables().runs.insert(running)
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
    Ok(begin(world, what, both(give, get), How::Awaited)?.wait()??)
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
