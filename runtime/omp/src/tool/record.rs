//! What the runtime keeps for the tool of each thread, region and task. Nothing here is touched without a tool.

use super::interface::{Chunk, Data, Frame, State, Work};
use core::cell::Cell;

/// Nanoseconds that a thread first waits for others to take its tasks, and again after a task was taken. To wake a
/// thread takes about 50 us, many times as long where a detector has instrumented the program.
pub(crate) const PATIENCE: u32 = 2_000_000;

/// The tool's part of a thread. Only the thread itself uses it.
#[derive(Debug)]
pub(crate) struct ThreadRecord {
    pub(super) data: Data,
    pub(super) state: Cell<State>,
    /// The object that the thread waits for, in a state of waiting.
    pub(super) awaited: Cell<u64>,
    /// Where the program called the runtime last: the return address of the call; 0: not known.
    pub(super) caller: Cell<usize>,
    /// The canonical frame address of that call.
    pub(super) frame: Cell<usize>,
    /// The frame pointer of the code that made the call, if that code keeps one.
    pub(super) pointer: Cell<usize>,
    /// The task that the thread makes next executes this chunk of a `taskloop`.
    pub(super) chunk: Cell<Option<Chunk>>,
    /// What is around the team of a league that the thread runs; null: no league.
    pub(super) league: Cell<*const Around>,
    /// The thread is in `taskyield`.
    pub(super) yields: Cell<bool>,
    /// The worksharing construct that the thread is in, its count, and where the program entered it.
    pub(super) work: Cell<Option<(Work, u64, usize)>>,
    /// The data of a worker's implicit task, from the worker's report at the join to the end of its part. The task's
    /// own record may belong to the next region by then.
    pub(super) kept: Data,
    /// The tool knows the thread.
    pub(super) begun: Cell<bool>,
    /// The program itself calls the primary thread's part of the region that the thread opens next.
    pub(super) opens: Cell<bool>,
    /// How long the thread offers its tasks to others, in nanoseconds, and the number of the region in which it did so
    /// last.
    pub(crate) patience: Cell<(u32, u32)>,
    /// How long the thread leaves others' tasks to further threads, and the number of the region in which it stole
    /// last.
    pub(crate) thief: Cell<(u32, u32)>,
}

impl ThreadRecord {
    pub(crate) const fn new() -> ThreadRecord {
        ThreadRecord {
            data: Data::new(),
            state: Cell::new(State::Undefined),
            awaited: Cell::new(0),
            caller: Cell::new(0),
            frame: Cell::new(0),
            pointer: Cell::new(0),
            chunk: Cell::new(None),
            league: Cell::new(core::ptr::null()),
            yields: Cell::new(false),
            work: Cell::new(None),
            kept: Data::new(),
            begun: Cell::new(false),
            opens: Cell::new(false),
            patience: Cell::new((PATIENCE, 0)),
            thief: Cell::new((0, 0)),
        }
    }

    /// What the thread does.
    pub(crate) fn state(&self) -> State {
        self.state.get()
    }

    /// The thread does this from now on.
    pub(crate) fn set_state(&self, state: State) {
        self.state.set(state);
    }

    /// Does the tool know the thread?
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.get()
    }
}

/// The tool's part of a region.
#[derive(Debug)]
pub(crate) struct TeamRecord {
    pub(super) data: Data,
    /// Where the program opened the region.
    pub(super) caller: Cell<usize>,
    /// The region's flags.
    pub(super) flags: Cell<u32>,
    /// The worksharing construct in which the region was opened.
    pub(super) around: Cell<Option<(Work, u64, usize)>>,
}

impl TeamRecord {
    pub(crate) const fn new() -> TeamRecord {
        TeamRecord {
            data: Data::new(),
            caller: Cell::new(0),
            flags: Cell::new(0),
            around: Cell::new(None),
        }
    }
}

/// The tool's part of a task.
#[derive(Debug)]
pub(crate) struct TaskRecord {
    pub(super) data: Data,
    pub(super) frame: Frame,
    /// The task's flags.
    pub(super) flags: Cell<u32>,
    /// The task's thread ran this task before, and suspended it; null: not known.
    pub(super) beneath: Cell<*const libc::c_void>,
    /// The begin of this task has set the entry frame of the suspended task, and the end clears it.
    pub(super) entered: Cell<bool>,
    /// The chunk of a `taskloop` that the task executes.
    pub(super) chunk: Cell<Option<Chunk>>,
}

impl TaskRecord {
    pub(crate) fn new() -> TaskRecord {
        TaskRecord {
            data: Data::new(),
            frame: Frame::new(),
            flags: Cell::new(0),
            beneath: Cell::new(core::ptr::null()),
            entered: Cell::new(false),
            chunk: Cell::new(None),
        }
    }

    /// Makes the record that of a new task.
    pub(super) fn begin(&self, flags: u32) {
        self.data.0.set(0);
        self.frame.clear();
        self.flags.set(flags);
        self.beneath.set(core::ptr::null());
        self.entered.set(false);
        self.chunk.set(None);
    }

    /// The tool's word.
    pub(crate) fn data(&self) -> &Data {
        &self.data
    }

    /// The word into which the code that calls the task's function writes its frame pointer.
    pub(crate) fn exit_frame(&self) -> &Cell<usize> {
        &self.frame.exit
    }
}

/// What is around a team's implicit task: the team's initial task, and the task that meets the league, whose own record
/// is the implicit task's meanwhile. On the stack of the thread that runs the team.
#[derive(Debug)]
pub(super) struct Around {
    pub(super) league: *const Data,
    pub(super) initial: Data,
    /// The frame of the initial task, which opens the inner region.
    pub(super) opens: Frame,
    /// Word of the region, and word, frame and flags of the task that meets the league.
    pub(super) region: Data,
    pub(super) task: Data,
    pub(super) frame: Frame,
    pub(super) flags: u32,
    pub(super) number: u32,
}
