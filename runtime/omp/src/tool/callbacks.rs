//! The callbacks that the tool has registered, and how each is called (OpenMP 5.2, sections 19.4.2 and 19.5).
//!
//! A callback may be replaced while other threads run. Each call reads the table once.

use super::interface::{
    Data, Dispatch, Event, Frame, Kind, Mutex, Scope, Status, Sync, Work, EVENTS,
};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The address of each event's callback, by the event's number; 0: none.
///
/// Relaxed: whoever passes a callback to the runtime has made it, and passes no data by registering it.
static TABLE: [AtomicUsize; EVENTS] = [const { AtomicUsize::new(0) }; EVENTS];

/// The event with this number, if the runtime knows it.
fn event(number: u32) -> Option<Event> {
    use Event::*;
    const ALL: [Event; 25] = [
        ThreadBegin,
        ThreadEnd,
        ParallelBegin,
        ParallelEnd,
        TaskCreate,
        TaskSchedule,
        ImplicitTask,
        ControlTool,
        SyncRegionWait,
        MutexReleased,
        Dependences,
        TaskDependence,
        Work,
        Masked,
        SyncRegion,
        LockInit,
        LockDestroy,
        MutexAcquire,
        MutexAcquired,
        NestLock,
        Flush,
        Cancel,
        Reduction,
        Dispatch,
        Error,
    ];
    ALL.into_iter().find(|&e| e as u32 == number)
}

/// The events of devices. The runtime accepts their callbacks and never calls them, since it has no devices.
fn is_of_devices(number: u32) -> bool {
    matches!(number, 8..=10 | 12..=15 | 22 | 33..=36)
}

/// How often a registered callback is called (`ompt_set_result_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Registered {
    /// There is no such event.
    Error = 0,
    /// Never.
    Never = 1,
    /// At some of the events. The others are not seen by the runtime: with some compilers the construct's code
    /// calls nothing.
    Sometimes = 3,
    /// At every event.
    Always = 5,
}

/// Registers `address` for the event `number`; 0 removes the callback.
pub fn register(number: u32, address: usize) -> Registered {
    let Some(event) = event(number) else {
        return if is_of_devices(number) {
            Registered::Never
        } else {
            Registered::Error
        };
    };
    TABLE[number as usize].store(address, Ordering::Relaxed);
    match event {
        _ if address == 0 => Registered::Always,
        // gcc divides loops with a static schedule, and asks for the primary thread, without a call. Compiled code that
        // has taken a chunk divides further by itself: single iterations are not told.
        Event::Work | Event::Dispatch | Event::Masked | Event::Reduction | Event::Flush => {
            Registered::Sometimes
        }
        _ => Registered::Always,
    }
}

/// The callback that is registered for the event `number`.
#[must_use]
pub fn registered(number: u32) -> Option<usize> {
    let event = event(number)?;
    Some(address(event)).filter(|&a| a != 0)
}

fn address(event: Event) -> usize {
    TABLE[event as usize].load(Ordering::Relaxed)
}

/// Forgets all callbacks.
pub(super) fn forget() {
    for place in &TABLE {
        place.store(0, Ordering::Relaxed);
    }
}

/// A dependence of a task (`ompt_dependence_t`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Dependence {
    /// The variable's address.
    pub(super) variable: u64,
    /// `ompt_dependence_type_t`.
    pub(super) kind: u32,
}

/// Defines a function for each event, which calls the event's callback if there is one.
macro_rules! calls {
    ($($(#[$m:meta])* fn $name:ident = $event:ident($($a:ident: $t:ty),* $(,)?) $(-> $r:ty)?;)*) => {$(
        $(#[$m])*
        #[cold]
        #[allow(clippy::too_many_arguments, reason = "the arguments are the interface's")]
        pub(super) fn $name($($a: $t),*) $(-> Option<$r>)? {
            let address = address(Event::$event);
            if address == 0 {
                return $crate::tool::callbacks::calls!(@none $($r)?);
            }
            // SAFETY: the tool registered a function of this event's type, as its `ompt_set_callback` demands, and the
            // callback may be called until the tool removes it. A null pointer was sorted out above.
            unsafe {
                let callback: unsafe extern "C" fn($($t),*) $(-> $r)? = core::mem::transmute(address);
                $crate::tool::callbacks::calls!(@give callback($($a),*) $(, $r)?)
            }
        }
    )*};
    (@none) => { () };
    (@none $r:ty) => { None };
    (@give $call:expr) => { $call };
    (@give $call:expr, $r:ty) => { Some($call) };
}
pub(super) use calls;

calls! {
    /// A thread begins, before it runs anything else for OpenMP.
    fn thread_begin = ThreadBegin(kind: Kind, thread: *const Data);
    /// A thread ends.
    fn thread_end = ThreadEnd(thread: *const Data);
    /// A thread opens a region; no thread of the region runs yet.
    fn parallel_begin = ParallelBegin(
        task: *const Data, frame: *const Frame, region: *const Data, asked: u32, flags: u32, caller: usize
    );
    /// The region has ended.
    fn parallel_end = ParallelEnd(region: *const Data, task: *const Data, flags: u32, caller: usize);
    /// A thread's part of a region begins or ends.
    fn implicit_task = ImplicitTask(
        scope: Scope, region: *const Data, task: *const Data, threads: u32, number: u32, flags: u32
    );
    /// A construct begins or ends whose threads wait for each other.
    fn sync_region = SyncRegion(kind: Sync, scope: Scope, region: *const Data, task: *const Data, caller: usize);
    /// The waiting in such a construct begins or ends.
    fn sync_region_wait = SyncRegionWait(
        kind: Sync, scope: Scope, region: *const Data, task: *const Data, caller: usize
    );
    /// A worksharing construct begins or ends.
    fn work = Work(kind: Work, scope: Scope, region: *const Data, task: *const Data, count: u64, caller: usize);
    /// A thread begins a part of a construct that hands out work. `instance`: the address of a chunk, or the place in
    /// the program.
    fn dispatch = Dispatch(region: *const Data, task: *const Data, kind: Dispatch, instance: usize);
    /// `masked` begins or ends in the thread that executes it.
    fn masked = Masked(scope: Scope, region: *const Data, task: *const Data, caller: usize);
    /// A task is made.
    fn task_create = TaskCreate(
        maker: *const Data, frame: *const Frame, task: *const Data, flags: u32, depends: i32, caller: usize
    );
    /// A task names its dependences.
    fn dependences = Dependences(task: *const Data, list: *const Dependence, count: i32);
    /// The task `second` has to wait for the task `first`.
    fn task_dependence = TaskDependence(first: *const Data, second: *const Data);
    /// The program has met the `error` directive.
    fn error = Error(severity: u32, message: *const libc::c_char, length: usize, caller: usize);
    /// A thread goes from one task to another.
    fn task_schedule = TaskSchedule(before: *const Data, status: Status, next: *const Data);
    /// A thread asks for a lock.
    fn mutex_acquire = MutexAcquire(kind: Mutex, hint: u32, implementation: u32, id: u64, caller: usize);
    /// A thread has got a lock.
    fn mutex_acquired = MutexAcquired(kind: Mutex, id: u64, caller: usize);
    /// A thread has released a lock.
    fn mutex_released = MutexReleased(kind: Mutex, id: u64, caller: usize);
    /// A thread has added or removed a nesting of a lock that it holds.
    fn nest_lock = NestLock(scope: Scope, id: u64, caller: usize);
    /// The program has made a lock.
    fn lock_init = LockInit(kind: Mutex, hint: u32, implementation: u32, id: u64, caller: usize);
    /// The program destroys a lock.
    fn lock_destroy = LockDestroy(kind: Mutex, id: u64, caller: usize);
    /// A thread has ordered its accesses to memory.
    fn flush = Flush(thread: *const Data, caller: usize);
    /// A task cancels a construct, or leaves a cancelled one.
    fn cancel = Cancel(task: *const Data, flags: u32, caller: usize);
    /// A thread begins or ends to combine the partial results of a reduction.
    fn reduction = Reduction(kind: u32, scope: Scope, region: *const Data, task: *const Data, caller: usize);
    /// The program sends the tool a command (`omp_control_tool`).
    fn control_tool = ControlTool(command: u64, modifier: u64, argument: *mut libc::c_void, caller: usize) -> i32;
}
