//! `goal.h`: dependency graphs, their runs, and collectives.
//!
//! The documentation of each entry is the program's, too: `abi-compat/surface` writes it and the prototype into the
//! header. Each entry converts, calls one function of `hetmp-goal-job`, and converts back.

#![allow(non_snake_case, reason = "the names are the ABI's")]

mod collectives;

use core::ffi::{c_char, c_int, c_void};
use hetmp_goal::collectives::Vector;
use hetmp_goal::element::{Arithmetic, Type};
use hetmp_goal::graph::{After, Work};
use hetmp_goal::memory::Buffer;
use hetmp_goal_job::api::{self, Code, Error, Key};
use hetmp_goal_job::through::Through;
use hetmp_goal_job::Segment;

type Result<T> = core::result::Result<T, Error>;

// In C these are different types.
type Graph = Key;
type Schedule = Key;
type Handle = Key;
type Op = c_int;

/// A piece of a message: sends gather a message from pieces, receives scatter it to pieces.
#[repr(C)]
pub(crate) struct Piece {
    start: *mut c_void,
    bytes: usize,
    space: c_int,
}

const _: () = assert!(size_of::<Piece>() == 24 && align_of::<Piece>() == 8);

/// The code that the program gets for a result. The words of an error are kept for `GOAL_Last_error`.
fn code(result: Result<()>) -> c_int {
    match result {
        Ok(()) => Code::Success as c_int,
        Err(error) => {
            api::remember(&error);
            error.code as c_int
        }
    }
}

/// Stores an answer in the program's variable.
///
/// # Safety
/// `at` is null, or a variable that may be written and that no other thread uses meanwhile.
unsafe fn put<T>(at: *mut T, value: Result<T>) -> Result<()> {
    if at.is_null() {
        return Err(null("result"));
    }
    // SAFETY: not null, hence a variable of the program (`goal.h` asks for one).
    unsafe { *at = value? };
    Ok(())
}

/// Creates an object and stores its handle in the program's variable. Without a variable nothing is created: nobody
/// could free the object.
///
/// # Safety
/// `at` is null, or a variable that may be written and that no other thread uses meanwhile.
unsafe fn make(at: *mut Key, make: impl FnOnce() -> Result<Key>) -> c_int {
    if at.is_null() {
        return code(Err(null("handle")));
    }
    // SAFETY: not null, hence the program's variable for the handle (`goal.h` asks for one).
    code(unsafe { put(at, make()) })
}

/// Frees the object of a handle. The program's variable becomes the null handle, also after an error.
///
/// # Safety
/// `at` is null, or a variable that may be read and written and that no other thread uses meanwhile.
unsafe fn free(at: *mut Key, free: impl FnOnce(Key) -> Result<()>) -> c_int {
    if at.is_null() {
        return code(Err(null("handle")));
    }
    // SAFETY: not null, hence the program's variable that holds the handle (`goal.h` asks for one).
    let key = unsafe { core::mem::take(&mut *at) };
    code(free(key))
}

/// Adds an operation to a graph, and stores the operation's number in `op`. `op` may be null: then nobody
/// needs the number.
///
/// # Safety
/// `op` is null, or a variable that may be written and that no other thread uses meanwhile.
unsafe fn add(graph: Graph, work: Result<Work>, op: *mut Op) -> c_int {
    code(work.and_then(|work| api::add(graph, work)).map(|number| {
        if !op.is_null() {
            // SAFETY: not null, hence a variable of the program (`goal.h` asks for one).
            unsafe { *op = number };
        }
    }))
}

/// The error of a null argument.
fn null(what: &str) -> Error {
    Error::new(
        Code::Argument,
        format_args!("{what}: null (expected an address)"),
    )
}

/// The error of an argument with a value that is not accepted.
fn wrong(what: &str, value: impl core::fmt::Display, accepted: &str) -> Error {
    Error::new(
        Code::Argument,
        format_args!("{what} {value}: not usable here (expected {accepted})"),
    )
}

fn rank(number: c_int) -> Result<u32> {
    u32::try_from(number).map_err(|_| {
        Error::new(
            Code::Rank,
            format_args!("rank {number}: not in this job (expected one of its ranks)"),
        )
    })
}

fn tag(number: c_int) -> Result<u32> {
    u32::try_from(number).map_err(|_| wrong("tag", number, "a number from 0"))
}

/// An element type from its number in `goal.h`: bits 8 and 9 hold the kind, the low eight bits the width.
fn element(number: c_int) -> Result<Type> {
    let bits = number & 0xff;
    match number & !0xff {
        0x100 if (1..=64).contains(&bits) => Ok(Type::Signed(bits as u8)),
        0x200 if (1..=64).contains(&bits) => Ok(Type::Unsigned(bits as u8)),
        0x300 if bits == 0 => Ok(Type::Float),
        0x300 if bits == 1 => Ok(Type::Double),
        _ => Err(Error::new(
            Code::Type,
            format_args!(
                "type {number:#x}: unknown (expected GOAL_SIGNED(1 to 64), GOAL_UNSIGNED(1 to 64), GOAL_FLOAT or \
                 GOAL_DOUBLE)"
            ),
        )),
    }
}

fn arithmetic(number: c_int) -> Result<Arithmetic> {
    let found = usize::try_from(number)
        .ok()
        .and_then(|n| Arithmetic::ALL.get(n).copied());
    found.ok_or_else(|| {
        Error::new(
            Code::Type,
            format_args!("operation {number}: unknown (expected GOAL_ADD to GOAL_XOR)"),
        )
    })
}

fn vector(count: usize, type_: c_int, operation: c_int) -> Result<Vector> {
    let (op, element) = (arithmetic(operation)?, element(type_)?);
    if !op.takes(element) {
        return Err(Error::new(
            Code::Type,
            format_args!("{op} of {element}: no such operation"),
        ));
    }
    Ok(Vector {
        op,
        element,
        count: count as u64,
    })
}

fn piece(start: *const c_void, space: c_int, bytes: usize) -> Result<Buffer> {
    // A run later turns this address back into a pointer.
    api::piece(space, start.expose_provenance(), bytes)
}

/// A list of `GOAL_Piece` as buffers.
///
/// # Safety
/// `pieces` is null, or an array of `n` pieces.
unsafe fn pieces(pieces: *const Piece, n: c_int) -> Result<Vec<Buffer>> {
    let n = usize::try_from(n).map_err(|_| wrong("number of pieces", n, "a number from 0"))?;
    if n == 0 {
        return Ok(Vec::new());
    }
    if pieces.is_null() {
        return Err(null("pieces"));
    }
    // SAFETY: not null, hence the program's array of `n` pieces (`goal.h` asks for that many).
    let pieces = unsafe { core::slice::from_raw_parts(pieces, n) };
    pieces
        .iter()
        .map(|p| piece(p.start, p.space, p.bytes))
        .collect()
}

crate::entry::api!("HETMP_GOAL", "GOAL_Error_string", GOAL_Error_string);
/// The meaning of a code, a string in static memory.
extern "C" fn GOAL_Error_string(code: c_int) -> *const c_char {
    let known = usize::try_from(code)
        .ok()
        .and_then(|n| Code::ALL.get(n))
        .map(|c| c.text());
    known.unwrap_or(c"no code of goal.h").as_ptr()
}

crate::entry::api!("HETMP_GOAL", "GOAL_Last_error", GOAL_Last_error);
/// Copies the text of the process's last error to `text`, cut to n bytes including the final 0. The text names the
/// argument and what is expected.
unsafe extern "C" fn GOAL_Last_error(text: *mut c_char, n: usize) -> c_int {
    if text.is_null() || n == 0 {
        return Code::Argument as c_int;
    }
    let words = api::last_words();
    let len = words.len().min(n - 1);
    // SAFETY: the program passes `n` bytes; `len` and the final zero are at most `n`.
    unsafe {
        core::ptr::copy_nonoverlapping(words.as_ptr().cast(), text, len);
        *text.add(len) = 0;
    }
    Code::Success as c_int
}

crate::entry::api!("HETMP_GOAL", "GOAL_Init", GOAL_Init);
/// Joins the job. Every process of the job calls it. A second call does nothing.
extern "C" fn GOAL_Init() -> c_int {
    code(api::init())
}

/// What the program hands to its allgather.
struct State(*mut c_void);

// SAFETY: the program's function gets the pointer back within `GOAL_Init_through`, in the thread that has called it:
// the exchange is used for fences only while the job is joined.
unsafe impl Send for State {}

crate::entry::api!("HETMP_GOAL", "GOAL_Init_through", GOAL_Init_through);
/// As GOAL_Init, for a program whose processes another library has started (MPI, for example): this process is number
/// `rank` of `size`. `allgather` gives each process's `bytes` bytes to all processes, in the order of ranks, and
/// returns 0; it is called within GOAL_Init_through, by the calling thread, and gets `state` back. The engine `user` is
/// not used.
unsafe extern "C" fn GOAL_Init_through(
    rank: c_int,
    size: c_int,
    allgather: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            give: *const c_void,
            get: *mut c_void,
            bytes: usize,
        ) -> c_int,
    >,
    state: *mut c_void,
) -> c_int {
    let join = || {
        let size = u32::try_from(size)
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| wrong("size", size, "a number from 1"))?;
        let rank = u32::try_from(rank)
            .ok()
            .filter(|r| *r < size)
            .ok_or_else(|| wrong("rank", rank, "one below the size"))?;
        let allgather = allgather.ok_or_else(|| null("allgather"))?;
        let state = State(state);
        let gather = move |give: &[u8], get: &mut [u8]| {
            // The whole value is moved into this function, not only its pointer, which may not change threads.
            let state = &state;
            // SAFETY: the program's function reads `give.len()` bytes and writes that many for each of `size` ranks:
            // `Through` has made `get` that long.
            let failed = unsafe {
                allgather(
                    state.0,
                    give.as_ptr().cast(),
                    get.as_mut_ptr().cast(),
                    give.len(),
                )
            };
            match failed {
                0 => Ok(()),
                error => Err(format!("allgather of the program: error {error}")),
            }
        };
        api::init_through(Box::new(Through::new(rank, size, Box::new(gather))))
    };
    code(join())
}

crate::entry::api!("HETMP_GOAL", "GOAL_Progress", GOAL_Progress);
/// Moves this process's runs on once and returns at once: for a loop that waits for something else, too.
extern "C" fn GOAL_Progress() -> c_int {
    code(api::advance())
}

crate::entry::api!("HETMP_GOAL", "GOAL_Finalize", GOAL_Finalize);
/// Leaves the job: see "Ends" above.
extern "C" fn GOAL_Finalize() -> c_int {
    code(api::finalize())
}

crate::entry::api!("HETMP_GOAL", "GOAL_Rank", GOAL_Rank);
/// *rank: this process's number in the job, from 0.
unsafe extern "C" fn GOAL_Rank(rank: *mut c_int) -> c_int {
    // SAFETY: the program passes null or a variable of type int.
    code(unsafe { put(rank, api::place().map(|p| p.0 as c_int)) })
}

crate::entry::api!("HETMP_GOAL", "GOAL_Size", GOAL_Size);
/// *size: the number of processes of the job.
unsafe extern "C" fn GOAL_Size(size: *mut c_int) -> c_int {
    // SAFETY: the program passes null or a variable of type int.
    code(unsafe { put(size, api::place().map(|p| p.1 as c_int)) })
}

crate::entry::api!("HETMP_GOAL", "GOAL_Create", GOAL_Create);
/// Creates an empty graph of this process.
unsafe extern "C" fn GOAL_Create(graph: *mut Graph) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { make(graph, api::create) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Free_graph", GOAL_Free_graph);
/// Frees a graph; *graph becomes null. Schedules that were compiled from the graph stay.
unsafe extern "C" fn GOAL_Free_graph(graph: *mut Graph) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { free(graph, api::free_graph) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Scratchpad", GOAL_Scratchpad);
/// Adds `bytes` to the graph's scratchpad, which is zero when a run starts. *offset: where the added part begins.
unsafe extern "C" fn GOAL_Scratchpad(graph: Graph, bytes: usize, offset: *mut usize) -> c_int {
    // SAFETY: the program passes null or a variable of type size_t.
    code(unsafe { put(offset, api::scratch(graph, bytes).map(|o| o as usize)) })
}

crate::entry::api!("HETMP_GOAL", "GOAL_Bind", GOAL_Bind);
/// Declares a segment of `bytes`, which is bound to memory when a run starts. *space: the segment's number for
/// buffers, GOAL_SEGMENT(0) for the first, then GOAL_SEGMENT(1) ...
unsafe extern "C" fn GOAL_Bind(graph: Graph, bytes: usize, space: *mut c_int) -> c_int {
    // SAFETY: the program passes null or a variable of type int.
    code(unsafe { put(space, api::segment(graph, bytes)) })
}

fn send(to: c_int, number: c_int, from: Result<Vec<Buffer>>) -> Result<Work> {
    Ok(Work::Send {
        to: rank(to)?,
        tag: tag(number)?,
        from: from?,
    })
}

fn recv(from: c_int, number: c_int, into: Result<Vec<Buffer>>) -> Result<Work> {
    Ok(Work::Recv {
        from: rank(from)?,
        tag: tag(number)?,
        into: into?,
    })
}

crate::entry::api!("HETMP_GOAL", "GOAL_Send", GOAL_Send);
/// Adds a send of `bytes` to rank `to`, with a tag from 0 on. It is complete when its buffer may be written again. *op,
/// here and below: the operation's number, for GOAL_Requires; op may be null.
unsafe extern "C" fn GOAL_Send(
    graph: Graph,
    buffer: *const c_void,
    space: c_int,
    bytes: usize,
    to: c_int,
    tag: c_int,
    op: *mut Op,
) -> c_int {
    let from = piece(buffer, space, bytes).map(|p| vec![p]);
    // SAFETY: the program passes null or a variable for the operation's number.
    unsafe { add(graph, send(to, tag, from), op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Recv", GOAL_Recv);
/// Adds a receive of up to `bytes`, which takes the next message with its source and tag in the same run. It is
/// complete when the message is in its buffer.
unsafe extern "C" fn GOAL_Recv(
    graph: Graph,
    buffer: *mut c_void,
    space: c_int,
    bytes: usize,
    from: c_int,
    tag: c_int,
    op: *mut Op,
) -> c_int {
    let into = piece(buffer, space, bytes).map(|p| vec![p]);
    // SAFETY: the program passes null or a variable for the operation's number.
    unsafe { add(graph, recv(from, tag, into), op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Sendv", GOAL_Sendv);
/// As GOAL_Send, of a message from n pieces.
unsafe extern "C" fn GOAL_Sendv(
    graph: Graph,
    list: *const Piece,
    n: c_int,
    to: c_int,
    tag: c_int,
    op: *mut Op,
) -> c_int {
    // SAFETY: the program passes null or `n` pieces, and null or a variable for the operation's number.
    unsafe { add(graph, send(to, tag, pieces(list, n)), op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Recvv", GOAL_Recvv);
/// As GOAL_Recv, into n pieces.
unsafe extern "C" fn GOAL_Recvv(
    graph: Graph,
    list: *const Piece,
    n: c_int,
    from: c_int,
    tag: c_int,
    op: *mut Op,
) -> c_int {
    // SAFETY: the program passes null or `n` pieces, and null or a variable for the operation's number.
    unsafe { add(graph, recv(from, tag, pieces(list, n)), op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Local", GOAL_Local);
/// Adds target[i] = target[i] OP operand[i] for count elements.
unsafe extern "C" fn GOAL_Local(
    graph: Graph,
    operation: c_int,
    r#type: c_int,
    count: usize,
    target: *mut c_void,
    target_space: c_int,
    operand: *const c_void,
    operand_space: c_int,
    op: *mut Op,
) -> c_int {
    let work = || {
        let v = vector(count, r#type, operation)?;
        let bytes = usize::try_from(v.bytes()).unwrap_or(usize::MAX);
        Ok(Work::Local {
            op: v.op,
            element: v.element,
            target: vec![piece(target, target_space, bytes)?],
            operand: vec![piece(operand, operand_space, bytes)?],
        })
    };
    // SAFETY: the program passes null or a variable for the operation's number.
    unsafe { add(graph, work(), op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Copy", GOAL_Copy);
/// Adds a copy of `bytes`.
unsafe extern "C" fn GOAL_Copy(
    graph: Graph,
    to: *mut c_void,
    to_space: c_int,
    from: *const c_void,
    from_space: c_int,
    bytes: usize,
    op: *mut Op,
) -> c_int {
    let work = || {
        Ok(Work::Copy {
            into: vec![piece(to, to_space, bytes)?],
            from: vec![piece(from, from_space, bytes)?],
        })
    };
    // SAFETY: the program passes null or a variable for the operation's number.
    unsafe { add(graph, work(), op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Timestamp", GOAL_Timestamp);
/// Stores the time at which the operation is executed: nanoseconds of the monotonic clock, 8 bytes, little-endian.
unsafe extern "C" fn GOAL_Timestamp(
    graph: Graph,
    buffer: *mut c_void,
    space: c_int,
    op: *mut Op,
) -> c_int {
    let work = piece(buffer, space, 8).map(|into| Work::Timestamp { into });
    // SAFETY: the program passes null or a variable for the operation's number.
    unsafe { add(graph, work, op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Requires", GOAL_Requires);
/// `later` begins once `earlier` is complete.
extern "C" fn GOAL_Requires(graph: Graph, later: Op, earlier: Op) -> c_int {
    code(api::order(graph, later, After::Complete, earlier))
}

crate::entry::api!("HETMP_GOAL", "GOAL_Requires_begun", GOAL_Requires_begun);
/// `later` begins once `earlier` has begun.
extern "C" fn GOAL_Requires_begun(graph: Graph, later: Op, earlier: Op) -> c_int {
    code(api::order(graph, later, After::Begun, earlier))
}

crate::entry::api!("HETMP_GOAL", "GOAL_Compile", GOAL_Compile);
/// Checks the graph and compiles it. The schedule stays as it is when the graph is freed, or extended and compiled
/// again.
unsafe extern "C" fn GOAL_Compile(graph: Graph, schedule: *mut Schedule) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { make(schedule, || api::compile(graph)) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Load", GOAL_Load);
/// Loads a schedule from n bytes that `hetmp goal compile` wrote. The bytes are checked. Such a schedule must not
/// use GOAL_USERSPACE.
unsafe extern "C" fn GOAL_Load(bytes: *const c_void, n: usize, schedule: *mut Schedule) -> c_int {
    let load = || {
        if bytes.is_null() {
            return Err(null("bytes"));
        }
        // SAFETY: the program passes `n` bytes.
        api::load(unsafe { core::slice::from_raw_parts(bytes.cast(), n) })
    };
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { make(schedule, load) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Free_schedule", GOAL_Free_schedule);
/// Frees a schedule; *schedule becomes null. Runs of the schedule go on.
unsafe extern "C" fn GOAL_Free_schedule(schedule: *mut Schedule) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { free(schedule, api::free_schedule) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Agree", GOAL_Agree);
/// All processes call this together, each with its schedule of one communication; a process without a part in it passes
/// the schedule of an empty graph. So the engines kernel and nic know the schedules of all, and run them if they can.
/// Under other engines, and where they cannot, nothing changes. If they see a receive without a message, all processes
/// get GOAL_ERR_NOT_SENT. From then on all processes begin the runs of these schedules in the same order, among all
/// other collectives, whatever their contexts; and no two bound segments overlap.
extern "C" fn GOAL_Agree(schedule: Schedule) -> c_int {
    code(api::agree(None, schedule))
}

crate::entry::api!("HETMP_GOAL", "GOAL_Run", GOAL_Run);
/// Begins a run in context 0, also while other runs of the same schedule go on. All processes of the job begin the
/// runs of one context in the same order: the n-th run of a process exchanges messages with the n-th run of its
/// peers. So one without a part in a communication begins a run of an empty graph, too.
unsafe extern "C" fn GOAL_Run(schedule: Schedule, handle: *mut Handle) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle, and keeps the buffers of the schedule
    // until the run has ended (`goal.h`, GOAL_USERSPACE).
    unsafe { make(handle, || api::run(schedule, 0, &[])) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Run_bound", GOAL_Run_bound);
/// As GOAL_Run, in any context, and binds the n segments of the schedule: segments[i] is the address, bytes[i] the
/// length.
unsafe extern "C" fn GOAL_Run_bound(
    schedule: Schedule,
    context: c_int,
    segments: *const *mut c_void,
    bytes: *const usize,
    n: c_int,
    handle: *mut Handle,
) -> c_int {
    let run = || {
        let count =
            usize::try_from(n).map_err(|_| wrong("number of segments", n, "a number from 0"))?;
        if count > 0 && (segments.is_null() || bytes.is_null()) {
            return Err(null("segments"));
        }
        let mut bound = Vec::new();
        for i in 0..count {
            // SAFETY: not null, hence arrays of `n` addresses and `n` lengths; `i` is less than `n`.
            let (start, bytes) = unsafe { (*segments.add(i), *bytes.add(i)) };
            if start.is_null() && bytes > 0 {
                return Err(null("segment"));
            }
            bound.push(Segment {
                start: start.cast(),
                bytes: bytes as u64,
            });
        }
        // SAFETY: the program keeps the segments, and the buffers of the schedule, until the run has ended.
        unsafe { api::run(schedule, context, &bound) }
    };
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { make(handle, run) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Test", GOAL_Test);
/// Sets *done to 1 if the run has ended, else to 0. Returns the run's error if the run has failed. When a run has
/// ended, its handle is freed and *handle becomes GOAL_HANDLE_NULL. With GOAL_HANDLE_NULL, *done is 1.
unsafe extern "C" fn GOAL_Test(handle: *mut Handle, done: *mut c_int) -> c_int {
    if handle.is_null() || done.is_null() {
        return code(Err(null("handle or done")));
    }
    // SAFETY: not null, hence the program's variables for the handle and the answer.
    let (handle, done) = unsafe { (&mut *handle, &mut *done) };
    *done = 1;
    if *handle == 0 {
        return Code::Success as c_int;
    }
    let ended = api::test(*handle);
    if ended == Ok(false) {
        *done = 0;
    } else {
        *handle = 0;
    }
    code(ended.map(|_| ()))
}

crate::entry::api!("HETMP_GOAL", "GOAL_Wait", GOAL_Wait);
/// Waits for the end of a run, and returns as GOAL_Test. With GOAL_HANDLE_NULL it returns at once.
unsafe extern "C" fn GOAL_Wait(handle: *mut Handle) -> c_int {
    if handle.is_null() {
        return code(Err(null("handle")));
    }
    // SAFETY: not null, hence the program's variable that holds the handle.
    match unsafe { core::mem::take(&mut *handle) } {
        0 => Code::Success as c_int,
        key => code(api::wait(key)),
    }
}
