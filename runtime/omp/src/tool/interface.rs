//! Types and numbers of the tool interface, as tools see them (OpenMP 5.2, section 19.4).

use core::cell::Cell;

/// A word that belongs to the tool (`ompt_data_t`). The runtime sets it to 0 when the thread, region or task begins
/// to which it belongs.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Data(pub(super) Cell<u64>);

impl Data {
    pub(crate) const fn new() -> Data {
        Data(Cell::new(0))
    }

    /// Makes this word a copy of `other`.
    pub(crate) fn copy(&self, other: &Data) {
        self.0.set(other.0.get());
    }
}

/// Where on the stack a task's code and the runtime meet (`ompt_frame_t`).
#[derive(Debug, Default)]
#[repr(C)]
pub struct Frame {
    /// The runtime's frame that called the task's code; 0 if the task's code does not run.
    pub(super) exit: Cell<usize>,
    /// The frame in which the task's code called the runtime; 0 if the task is not in the runtime.
    pub(super) enter: Cell<usize>,
    exit_flags: Cell<i32>,
    enter_flags: Cell<i32>,
}

/// Flags of a frame: its address is a canonical frame address of the runtime's function.
const CANONICAL: i32 = 0x10;
/// Flags of a frame: its address is a frame pointer of the runtime's function.
const POINTER: i32 = 0x20;

impl Frame {
    pub(super) const fn new() -> Frame {
        Frame {
            exit: Cell::new(0),
            enter: Cell::new(0),
            exit_flags: Cell::new(POINTER),
            enter_flags: Cell::new(CANONICAL),
        }
    }

    /// Exchanges the frames of two tasks.
    pub(super) fn exchange(&self, other: &Frame) {
        self.exit.swap(&other.exit);
        self.enter.swap(&other.enter);
    }

    pub(super) fn clear(&self) {
        self.exit.set(0);
        self.enter.set(0);
    }
}

const _: () = assert!(size_of::<Frame>() == 24 && size_of::<Data>() == 8);

/// The events of the host that a tool may register a callback for (`ompt_callbacks_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub(crate) enum Event {
    ThreadBegin = 1,
    ThreadEnd = 2,
    ParallelBegin = 3,
    ParallelEnd = 4,
    TaskCreate = 5,
    TaskSchedule = 6,
    ImplicitTask = 7,
    ControlTool = 11,
    SyncRegionWait = 16,
    MutexReleased = 17,
    Dependences = 18,
    TaskDependence = 19,
    Work = 20,
    Masked = 21,
    SyncRegion = 23,
    LockInit = 24,
    LockDestroy = 25,
    MutexAcquire = 26,
    MutexAcquired = 27,
    NestLock = 28,
    Flush = 29,
    Cancel = 30,
    Reduction = 31,
    Dispatch = 32,
    Error = 37,
}

/// One more than the largest number of an event.
pub(super) const EVENTS: usize = 38;

/// Whether a scope begins or ends (`ompt_scope_endpoint_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Scope {
    Begin = 1,
    End = 2,
}

/// What kind of thread a thread is (`ompt_thread_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A thread of the program.
    Initial = 1,
    /// A thread that the runtime made.
    Worker = 2,
}

/// Why threads wait for each other, or a task for tasks (`ompt_sync_region_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Sync {
    /// The `barrier` construct.
    Explicit = 3,
    /// A barrier that the runtime needs itself.
    Implementation = 4,
    /// The `taskwait` construct.
    Taskwait = 5,
    /// The end of a `taskgroup`.
    Taskgroup = 6,
    /// The end of a worksharing construct.
    Workshare = 8,
    /// The end of a region.
    Parallel = 9,
}

impl Sync {
    /// The state of a thread that waits for this reason.
    pub(super) fn state(self) -> State {
        match self {
            Sync::Explicit => State::WaitBarrierExplicit,
            Sync::Implementation => State::WaitBarrierImplementation,
            Sync::Taskwait => State::WaitTaskwait,
            Sync::Taskgroup => State::WaitTaskgroup,
            Sync::Workshare => State::WaitBarrierImplicitWorkshare,
            Sync::Parallel => State::WaitBarrierImplicitParallel,
        }
    }
}

/// What a worksharing construct is (`ompt_work_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Work {
    /// `sections`.
    Sections = 2,
    /// `single`, in the thread that executes it.
    SingleExecutor = 3,
    /// `single`, in another thread.
    SingleOther = 4,
    /// `distribute`.
    Distribute = 6,
    /// `taskloop`.
    Taskloop = 7,
    /// `scope`.
    Scope = 8,
    /// A loop with a static schedule.
    LoopStatic = 10,
    /// A loop with `schedule(dynamic)`.
    LoopDynamic = 11,
    /// A loop with `schedule(guided)`.
    LoopGuided = 12,
    /// A loop with a schedule of another kind.
    LoopOther = 13,
}

/// What a thread begins in a construct that hands out work (`ompt_dispatch_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Dispatch {
    /// One of the `sections`.
    Section = 2,
    /// A chunk of a worksharing loop.
    LoopChunk = 3,
    /// The iterations of one task of a `taskloop`.
    TaskloopChunk = 4,
    /// A chunk of `distribute`.
    DistributeChunk = 5,
}

/// A chunk of a loop (`ompt_dispatch_chunk_t`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Chunk {
    /// The first value of the loop variable.
    pub(super) start: u64,
    /// The number of iterations.
    pub(super) iterations: u64,
}

/// What a lock is for (`ompt_mutex_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mutex {
    /// `omp_set_lock`.
    Lock = 1,
    /// `omp_test_lock`.
    TestLock = 2,
    /// `omp_set_nest_lock`.
    NestLock = 3,
    /// `omp_test_nest_lock`.
    TestNestLock = 4,
    /// `critical`.
    Critical = 5,
    /// `atomic`.
    Atomic = 6,
    /// `ordered`.
    Ordered = 7,
}

impl Mutex {
    /// The state of a thread that waits for such a lock.
    pub(super) fn state(self) -> State {
        match self {
            Mutex::Critical => State::WaitCritical,
            Mutex::Atomic => State::WaitAtomic,
            Mutex::Ordered => State::WaitOrdered,
            _ => State::WaitLock,
        }
    }
}

/// Why a thread goes from one task to another (`ompt_task_status_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Status {
    Complete = 1,
    Yield = 2,
    Cancel = 3,
    Detach = 4,
    EarlyFulfill = 5,
    LateFulfill = 6,
    Switch = 7,
    TaskwaitComplete = 8,
}

// Flags of tasks (`ompt_task_flag_t`).
pub(crate) const INITIAL: u32 = 1;
pub(crate) const IMPLICIT: u32 = 2;
pub(crate) const EXPLICIT: u32 = 4;
/// The task stands for a `taskwait` with dependences.
pub(crate) const TASKWAIT: u32 = 0x10;
pub(crate) const UNDEFERRED: u32 = 0x0800_0000;
pub(crate) const UNTIED: u32 = 0x1000_0000;
pub(crate) const FINAL: u32 = 0x2000_0000;
pub(crate) const MERGEABLE: u32 = 0x4000_0000;

// Flags of regions (`ompt_parallel_flag_t`).
/// The primary thread's part is called by the program itself.
pub(crate) const BY_PROGRAM: u32 = 1;
/// The primary thread's part is called by the runtime.
pub(crate) const BY_RUNTIME: u32 = 2;
/// The region is a league of teams.
pub(crate) const LEAGUE: u32 = 0x4000_0000;
/// The region is one of a team.
pub(crate) const TEAM: u32 = 0x8000_0000;

/// What a thread does (`ompt_state_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum State {
    WorkSerial = 0x000,
    WorkParallel = 0x001,
    WorkReduction = 0x002,
    WaitBarrierImplicitParallel = 0x011,
    WaitBarrierImplicitWorkshare = 0x012,
    WaitBarrierExplicit = 0x014,
    WaitBarrierImplementation = 0x015,
    WaitTaskwait = 0x020,
    WaitTaskgroup = 0x021,
    WaitLock = 0x041,
    WaitCritical = 0x042,
    WaitAtomic = 0x043,
    WaitOrdered = 0x044,
    Idle = 0x100,
    Overhead = 0x101,
    Undefined = 0x102,
}
