//! `goal.h`: dependency graphs, their runs, and collectives.
//!
//! Each entry converts, calls one function of `hetmp-goal-job`, and converts back.

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

/// `GOAL_Piece`.
#[repr(C)]
pub(crate) struct Piece {
    start: *const c_void,
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

/// Adds an operation to a graph, and stores the operation's number in `op`. A null `op` is accepted: the program
/// does not need the number.
///
/// # Safety
/// `op` is null, or a variable that may be written and that no other thread uses meanwhile.
unsafe fn add(graph: Key, work: Result<Work>, op: *mut c_int) -> c_int {
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
        format_args!("{what} (null): an address is accepted"),
    )
}

/// The error of an argument with a value that is not accepted.
fn wrong(what: &str, value: impl core::fmt::Display, accepted: &str) -> Error {
    Error::new(
        Code::Argument,
        format_args!("{what} {value}: {accepted} is accepted"),
    )
}

fn rank(number: c_int) -> Result<u32> {
    u32::try_from(number).map_err(|_| {
        Error::new(
            Code::Rank,
            format_args!("rank {number}: one of the job is accepted"),
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
                "type {number:#x}: GOAL_SIGNED(1 to 64), GOAL_UNSIGNED(1 to 64), GOAL_FLOAT and GOAL_DOUBLE are accepted"
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
            format_args!("operation {number}: GOAL_ADD to GOAL_XOR are accepted"),
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
/// `GOAL_Error_string`.
extern "C" fn GOAL_Error_string(number: c_int) -> *const c_char {
    let known = usize::try_from(number)
        .ok()
        .and_then(|n| Code::ALL.get(n))
        .map(|c| c.text());
    known.unwrap_or(c"no code of goal.h").as_ptr()
}

crate::entry::api!("HETMP_GOAL", "GOAL_Last_error", GOAL_Last_error);
/// `GOAL_Last_error`.
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
/// `GOAL_Init`.
extern "C" fn GOAL_Init() -> c_int {
    code(api::init())
}

/// The allgather of `GOAL_Init_through`.
type Allgather = unsafe extern "C" fn(
    state: *mut c_void,
    give: *const c_void,
    get: *mut c_void,
    bytes: usize,
) -> c_int;

/// What the program hands to its allgather.
struct State(*mut c_void);

// SAFETY: the program's function gets the pointer back within `GOAL_Init_through`, in the thread that has called it: the
// exchange is used for fences only while the job is joined.
unsafe impl Send for State {}

crate::entry::api!("HETMP_GOAL", "GOAL_Init_through", GOAL_Init_through);
/// `GOAL_Init_through`.
unsafe extern "C" fn GOAL_Init_through(
    rank: c_int,
    size: c_int,
    allgather: Option<Allgather>,
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
/// `GOAL_Progress`.
extern "C" fn GOAL_Progress() -> c_int {
    code(api::advance())
}

crate::entry::api!("HETMP_GOAL", "GOAL_Finalize", GOAL_Finalize);
/// `GOAL_Finalize`.
extern "C" fn GOAL_Finalize() -> c_int {
    code(api::finalize())
}

crate::entry::api!("HETMP_GOAL", "GOAL_Rank", GOAL_Rank);
/// `GOAL_Rank`.
unsafe extern "C" fn GOAL_Rank(rank: *mut c_int) -> c_int {
    // SAFETY: the program passes null or a variable of type int.
    code(unsafe { put(rank, api::place().map(|p| p.0 as c_int)) })
}

crate::entry::api!("HETMP_GOAL", "GOAL_Size", GOAL_Size);
/// `GOAL_Size`.
unsafe extern "C" fn GOAL_Size(size: *mut c_int) -> c_int {
    // SAFETY: the program passes null or a variable of type int.
    code(unsafe { put(size, api::place().map(|p| p.1 as c_int)) })
}

crate::entry::api!("HETMP_GOAL", "GOAL_Create", GOAL_Create);
/// `GOAL_Create`.
unsafe extern "C" fn GOAL_Create(graph: *mut Key) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { make(graph, api::create) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Free_graph", GOAL_Free_graph);
/// `GOAL_Free_graph`.
unsafe extern "C" fn GOAL_Free_graph(graph: *mut Key) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { free(graph, api::free_graph) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Scratchpad", GOAL_Scratchpad);
/// `GOAL_Scratchpad`.
unsafe extern "C" fn GOAL_Scratchpad(graph: Key, bytes: usize, offset: *mut usize) -> c_int {
    // SAFETY: the program passes null or a variable of type size_t.
    code(unsafe { put(offset, api::scratch(graph, bytes).map(|o| o as usize)) })
}

crate::entry::api!("HETMP_GOAL", "GOAL_Bind", GOAL_Bind);
/// `GOAL_Bind`.
unsafe extern "C" fn GOAL_Bind(graph: Key, bytes: usize, space: *mut c_int) -> c_int {
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
/// `GOAL_Send`.
unsafe extern "C" fn GOAL_Send(
    graph: Key,
    buffer: *const c_void,
    space: c_int,
    bytes: usize,
    to: c_int,
    tag: c_int,
    op: *mut c_int,
) -> c_int {
    let from = piece(buffer, space, bytes).map(|p| vec![p]);
    // SAFETY: the program passes null or a variable for the operation's number.
    unsafe { add(graph, send(to, tag, from), op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Recv", GOAL_Recv);
/// `GOAL_Recv`.
unsafe extern "C" fn GOAL_Recv(
    graph: Key,
    buffer: *mut c_void,
    space: c_int,
    bytes: usize,
    from: c_int,
    tag: c_int,
    op: *mut c_int,
) -> c_int {
    let into = piece(buffer, space, bytes).map(|p| vec![p]);
    // SAFETY: the program passes null or a variable for the operation's number.
    unsafe { add(graph, recv(from, tag, into), op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Sendv", GOAL_Sendv);
/// `GOAL_Sendv`.
unsafe extern "C" fn GOAL_Sendv(
    graph: Key,
    list: *const Piece,
    n: c_int,
    to: c_int,
    tag: c_int,
    op: *mut c_int,
) -> c_int {
    // SAFETY: the program passes null or `n` pieces, and null or a variable for the operation's number.
    unsafe { add(graph, send(to, tag, pieces(list, n)), op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Recvv", GOAL_Recvv);
/// `GOAL_Recvv`.
unsafe extern "C" fn GOAL_Recvv(
    graph: Key,
    list: *const Piece,
    n: c_int,
    from: c_int,
    tag: c_int,
    op: *mut c_int,
) -> c_int {
    // SAFETY: the program passes null or `n` pieces, and null or a variable for the operation's number.
    unsafe { add(graph, recv(from, tag, pieces(list, n)), op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Local", GOAL_Local);
/// `GOAL_Local`.
unsafe extern "C" fn GOAL_Local(
    graph: Key,
    operation: c_int,
    type_: c_int,
    count: usize,
    target: *mut c_void,
    target_space: c_int,
    operand: *const c_void,
    operand_space: c_int,
    op: *mut c_int,
) -> c_int {
    let work = || {
        let v = vector(count, type_, operation)?;
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
/// `GOAL_Copy`.
unsafe extern "C" fn GOAL_Copy(
    graph: Key,
    to: *mut c_void,
    to_space: c_int,
    from: *const c_void,
    from_space: c_int,
    bytes: usize,
    op: *mut c_int,
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
/// `GOAL_Timestamp`.
unsafe extern "C" fn GOAL_Timestamp(
    graph: Key,
    buffer: *mut c_void,
    space: c_int,
    op: *mut c_int,
) -> c_int {
    let work = piece(buffer, space, 8).map(|into| Work::Timestamp { into });
    // SAFETY: the program passes null or a variable for the operation's number.
    unsafe { add(graph, work, op) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Requires", GOAL_Requires);
/// `GOAL_Requires`.
extern "C" fn GOAL_Requires(graph: Key, later: c_int, earlier: c_int) -> c_int {
    code(api::order(graph, later, After::Complete, earlier))
}

crate::entry::api!("HETMP_GOAL", "GOAL_Requires_begun", GOAL_Requires_begun);
/// `GOAL_Requires_begun`.
extern "C" fn GOAL_Requires_begun(graph: Key, later: c_int, earlier: c_int) -> c_int {
    code(api::order(graph, later, After::Begun, earlier))
}

crate::entry::api!("HETMP_GOAL", "GOAL_Compile", GOAL_Compile);
/// `GOAL_Compile`.
unsafe extern "C" fn GOAL_Compile(graph: Key, schedule: *mut Key) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { make(schedule, || api::compile(graph)) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Load", GOAL_Load);
/// `GOAL_Load`.
unsafe extern "C" fn GOAL_Load(bytes: *const c_void, n: usize, schedule: *mut Key) -> c_int {
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
/// `GOAL_Free_schedule`.
unsafe extern "C" fn GOAL_Free_schedule(schedule: *mut Key) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle.
    unsafe { free(schedule, api::free_schedule) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Run", GOAL_Run);
/// `GOAL_Run`.
unsafe extern "C" fn GOAL_Run(schedule: Key, handle: *mut Key) -> c_int {
    // SAFETY: the program passes null or a variable of its own for the handle, and keeps the buffers of the schedule
    // until the run has ended (`goal.h`, GOAL_USERSPACE).
    unsafe { make(handle, || api::run(schedule, 0, &[])) }
}

crate::entry::api!("HETMP_GOAL", "GOAL_Run_bound", GOAL_Run_bound);
/// `GOAL_Run_bound`.
unsafe extern "C" fn GOAL_Run_bound(
    schedule: Key,
    context: c_int,
    segments: *const *mut c_void,
    bytes: *const usize,
    n: c_int,
    handle: *mut Key,
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
/// `GOAL_Test`.
unsafe extern "C" fn GOAL_Test(handle: *mut Key, done: *mut c_int) -> c_int {
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
/// `GOAL_Wait`.
unsafe extern "C" fn GOAL_Wait(handle: *mut Key) -> c_int {
    if handle.is_null() {
        return code(Err(null("handle")));
    }
    // SAFETY: not null, hence the program's variable that holds the handle.
    match unsafe { core::mem::take(&mut *handle) } {
        0 => Code::Success as c_int,
        key => code(api::wait(key)),
    }
}
