//! What the runtime keeps for the tool of each thread, region and task. Nothing here is touched without a tool.

use super::interface::{Data, Frame, State, Work};
use core::cell::Cell;

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
    /// The worksharing construct that the thread is in, its count, and where the program entered it.
    pub(super) work: Cell<Option<(Work, u64, usize)>>,
    /// The data of a worker's implicit task, from the worker's report at the join to the end of its part. The task's own
    /// record may belong to the next region by then.
    pub(super) kept: Data,
    /// The tool knows the thread.
    pub(super) begun: Cell<bool>,
    /// The program itself calls the primary thread's part of the region that the thread opens next.
    pub(super) opens: Cell<bool>,
}

impl ThreadRecord {
    pub(crate) const fn new() -> ThreadRecord {
        ThreadRecord {
            data: Data::new(),
            state: Cell::new(State::Undefined),
            awaited: Cell::new(0),
            caller: Cell::new(0),
            frame: Cell::new(0),
            work: Cell::new(None),
            kept: Data::new(),
            begun: Cell::new(false),
            opens: Cell::new(false),
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
}

impl TaskRecord {
    pub(crate) fn new() -> TaskRecord {
        TaskRecord {
            data: Data::new(),
            frame: Frame::new(),
            flags: Cell::new(0),
            beneath: Cell::new(core::ptr::null()),
        }
    }

    /// Makes the record that of a new task.
    pub(super) fn begin(&self, flags: u32) {
        self.data.0.set(0);
        self.frame.clear();
        self.flags.set(flags);
        self.beneath.set(core::ptr::null());
    }

    /// The tool's word.
    pub(super) fn data(&self) -> &Data {
        &self.data
    }

    /// The word into which the code that calls the task's function writes its frame pointer.
    pub(crate) fn exit_frame(&self) -> &Cell<usize> {
        &self.frame.exit
    }
}
