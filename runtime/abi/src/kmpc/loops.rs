//! Worksharing loops: `__kmpc_for_static_*`, `__kmpc_dispatch_*`, and their forms for leagues of teams.
//!
//! A static loop needs one call, which replaces the loop's bounds by the bounds of the thread's part. A loop
//! with another schedule is entered (`init`), hands out chunks (`next`), and with `ordered` is told when an
//! iteration has ended (`fini`). Bounds include the last value.

use super::{flags, Loc, DISTRIBUTE, SECTIONS};
use crate::entry::entries;
use crate::gomp::keyed;
use hetmp_omp::ahead::has_doacross;
use hetmp_omp::loops::{self, Clause, Loop, Order, SchedKind, RUNTIME};
use hetmp_omp::pieces::{self, first_chunk, plain, LoopBounds, Piece, Range};
use hetmp_omp::tool::interface::{Dispatch, Work};
use hetmp_omp::tool::{self, events};
use hetmp_omp::Thread;

/// Schedule numbers of clang (`enum sched_type`), without modifiers, and without the offset that marks loops
/// which must not be merged.
mod schedule {
    /// `static` with a chunk size.
    pub(super) const STATIC_CHUNKED: i32 = 33;
    /// `static`.
    pub(super) const STATIC: i32 = 34;
    /// `dynamic`.
    pub(super) const DYNAMIC: i32 = 35;
    /// `guided`.
    pub(super) const GUIDED: i32 = 36;
    /// `runtime`.
    pub(super) const RUNTIME: i32 = 37;
    /// `trapezoidal`, libomp's own: chunks that shrink.
    pub(super) const TRAPEZOIDAL: i32 = 39;
    /// Two ways in which the chunks of `guided` shrink.
    pub(super) const GUIDED_FORMS: core::ops::RangeInclusive<i32> = 42..=43;
    /// `static`, but idle threads may steal chunks.
    pub(super) const STATIC_STEAL: i32 = 44;
    /// One stretch of iterations for each thread; its length is a multiple of the chunk size (`simd`).
    pub(super) const STATIC_SIMD: i32 = 45;
    /// `guided` and `runtime` with `simd`.
    pub(super) const GUIDED_SIMD: i32 = 46;
    pub(super) const RUNTIME_SIMD: i32 = 47;
    /// The numbers above this one are those of 33 and up, with `ordered`.
    pub(super) const ORDERED: i32 = 64;
    /// `distribute` with and without a chunk size.
    pub(super) const DISTRIBUTE_CHUNKED: i32 = 91;
    pub(super) const DISTRIBUTE: i32 = 92;
    /// The numbers from here on are those of 32 and up, for loops that must not be merged with a neighbour.
    /// The runtime never merges loops.
    pub(super) const NO_MERGE: i32 = 160;
    pub(super) const MONOTONIC: i32 = 1 << 29;
    pub(super) const NONMONOTONIC: i32 = 1 << 30;
}

/// A schedule number without modifiers and offset.
fn plain_number(raw: i32) -> i32 {
    let n = raw & !(schedule::MONOTONIC | schedule::NONMONOTONIC);
    if n >= schedule::NO_MERGE {
        n - (schedule::NO_MERGE - 32)
    } else {
        n
    }
}

/// The sharers of a static loop (threads or teams): their number, and the caller's number among them.
#[derive(Clone, Copy)]
struct Sharers {
    count: u64,
    me: u64,
}

impl Sharers {
    #[inline]
    fn threads(th: &Thread) -> Sharers {
        Sharers {
            count: th.nthreads().into(),
            me: th.number().into(),
        }
    }

    fn teams() -> Sharers {
        Sharers {
            count: hetmp_omp::query::num_teams().max(1) as u64,
            me: hetmp_omp::query::team_num().max(0) as u64,
        }
    }
}

/// The caller's part of a static loop.
struct Told {
    /// The first chunk.
    piece: Option<Piece>,
    /// The part contains the loop's last iteration.
    is_last: bool,
    /// The distance from one chunk of the caller to its next, in iterations.
    stride: u64,
}

#[inline]
fn share_out(bounds: &LoopBounds, number: i32, chunk: i64, who: Sharers) -> Told {
    let n = bounds.trip_count();
    let chunk = chunk.max(1) as u64;
    match number {
        schedule::STATIC_CHUNKED | schedule::DISTRIBUTE_CHUNKED => Told {
            piece: first_chunk(n, chunk, who.count, who.me).map(|r| Piece::of(bounds, r)),
            is_last: n > 0 && (n - 1) / chunk % who.count == who.me,
            stride: chunk.wrapping_mul(who.count),
        },
        schedule::STATIC_SIMD => {
            let span = n.div_ceil(who.count).next_multiple_of(chunk);
            let start = span.saturating_mul(who.me).min(n);
            let range = Range {
                start,
                end: start.saturating_add(span).min(n),
            };
            one(bounds, range)
        }
        _ => one(bounds, plain(n, who.count, who.me)),
    }
}

#[inline]
fn one(bounds: &LoopBounds, range: Range) -> Told {
    let n = bounds.trip_count();
    Told {
        piece: (!range.is_empty()).then(|| Piece::of(bounds, range)),
        is_last: !range.is_empty() && range.end == n,
        stride: n,
    }
}

/// What compiled code asks for in one number and a chunk size.
struct Asked {
    clause: Clause,
    chunk: u64,
    /// Chunks are multiples of the chunk size.
    whole: bool,
}

impl Asked {
    fn of(clause: Clause, chunk: u64) -> Asked {
        Asked {
            clause,
            chunk,
            whole: false,
        }
    }
}

/// The clause of a dispatched loop, and its order.
fn dispatched(raw: i32, chunk: i64) -> (Asked, Order) {
    let number = plain_number(raw);
    let ordered = (schedule::ORDERED + 1..schedule::ORDERED + 8).contains(&number);
    let number = if ordered { number - 32 } else { number };
    let order = if ordered {
        Order::Ordered
    } else if raw & schedule::NONMONOTONIC != 0 {
        Order::None
    } else {
        Order::Monotonic
    };
    let at_least_one = chunk.max(1) as u64;
    let (clause, chunk) = match number {
        schedule::STATIC_CHUNKED => (Some(SchedKind::Static), at_least_one),
        schedule::DYNAMIC | schedule::STATIC_STEAL => (Some(SchedKind::Dynamic), at_least_one),
        schedule::GUIDED | schedule::TRAPEZOIDAL | schedule::GUIDED_SIMD => {
            (Some(SchedKind::Guided), at_least_one)
        }
        n if schedule::GUIDED_FORMS.contains(&n) => (Some(SchedKind::Guided), at_least_one),
        schedule::RUNTIME | schedule::RUNTIME_SIMD => (RUNTIME, 0),
        // `static`, `auto`, and numbers that libomp might add.
        _ => (Some(SchedKind::Static), 0),
    };
    let whole = number == schedule::GUIDED_SIMD;
    (
        Asked {
            clause,
            chunk,
            whole,
        },
        order,
    )
}

/// The clause of a form with `simd`, whose chunks are multiples of the vector's length `width`. `None` for
/// other schedules.
fn of_whole_vectors(th: &Thread, number: i32, width: u64, n: u64) -> Option<Asked> {
    let spans = || {
        let share = n.div_ceil(u64::from(th.nthreads()));
        Asked::of(
            Some(SchedKind::Static),
            share.next_multiple_of(width).max(1),
        )
    };
    if number == schedule::STATIC_SIMD {
        return Some(spans());
    }
    if number != schedule::RUNTIME_SIMD {
        return None;
    }
    let run = hetmp_omp::query::icv().run_sched;
    let chunk = u64::from(run.chunk.unsigned_abs()).saturating_mul(width);
    match run.kind {
        SchedKind::Auto => Some(spans()),
        SchedKind::Static if chunk == 0 => Some(spans()),
        SchedKind::Static => Some(Asked::of(Some(SchedKind::Static), chunk)),
        SchedKind::Dynamic => Some(Asked::of(Some(SchedKind::Dynamic), chunk.max(width))),
        SchedKind::Guided | SchedKind::Trapezoidal => Some(Asked {
            whole: true,
            ..Asked::of(Some(SchedKind::Guided), chunk.max(width))
        }),
        // hetmp's own schedules choose the size of their pieces themselves.
        _ => None,
    }
}

/// Enters a loop that hands out chunks.
fn enter(bounds: LoopBounds, raw: i32, chunk: i64, key: usize) {
    let th = Thread::current();
    let width = chunk.max(1) as u64;
    let (asked, order) = dispatched(raw, chunk);
    let simd = of_whole_vectors(th, plain_number(raw), width, bounds.trip_count());
    let Asked {
        clause,
        chunk,
        whole,
    } = simd.unwrap_or(asked);
    let order = if has_doacross(th) {
        Order::Global
    } else {
        order
    };
    pieces::enter(
        th,
        &Loop {
            bounds,
            clause,
            chunk,
            whole,
            order,
            key,
        },
    );
}

/// Exports a function with 7 arguments, and passes it its return address as the eighth.
macro_rules! keyed_entry {
    ($(#[$m:meta])* $module:ident, $export:literal, $t:ty, $bounds:ident) => {
        mod $module {
            use super::*;

            $(#[$m])*
            #[allow(clippy::too_many_arguments, reason = "the arguments are the ABI's")]
            unsafe extern "C" fn init(
                _loc: Loc, _gtid: i32, schedule: i32, first: $t, last: $t, step: Signed, chunk: Signed,
                key: usize,
            ) {
                enter($bounds(first, last, step), schedule, chunk.into(), key);
            }

            #[cfg(target_arch = "x86_64")]
            keyed::named!(
                init, $export, ["VERSION" "@@"],
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "push qword ptr [rsp + 8]",
                ".cfi_adjust_cfa_offset 8",
                "push qword ptr [rsp + 24]",
                ".cfi_adjust_cfa_offset 8",
                "call {f}",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret"
            );
            #[cfg(target_arch = "aarch64")]
            keyed::named!(init, $export, ["VERSION" "@@"], "mov x7, x30", "b {f}");

            type Signed = <$t as super::Value>::Signed;
        }
    };
}

/// A type that a loop variable may have.
pub(crate) trait Value: Copy {
    /// The signed type of the same size: a loop's step has this type.
    type Signed: Copy + Into<i64>;
    /// The low bits of a 64-bit value.
    fn cut(wide: u64) -> Self;
    /// The low bits of a 64-bit step.
    fn cut_step(wide: u64) -> Self::Signed;
    /// The bounds of a loop.
    fn bounds(first: Self, last: Self, step: Self::Signed) -> LoopBounds;
    /// Bounds without any iteration, for a loop that counts up (`up`) or down.
    fn nothing(up: bool) -> (Self, Self);
}

macro_rules! value {
    ($t:ty, $signed:ty, $wide:ty, $make:ident) => {
        impl Value for $t {
            type Signed = $signed;
            #[inline]
            fn cut(wide: u64) -> $t {
                wide as $t
            }
            #[inline]
            fn cut_step(wide: u64) -> $signed {
                wide as $signed
            }
            #[inline]
            fn bounds(first: $t, last: $t, step: $signed) -> LoopBounds {
                LoopBounds::$make(<$wide>::from(first), <$wide>::from(last), i64::from(step))
            }
            #[inline]
            fn nothing(up: bool) -> ($t, $t) {
                if up {
                    (1, 0)
                } else {
                    (0, 1)
                }
            }
        }
    };
}

value!(i32, i32, i64, signed_to);
value!(u32, i32, u64, unsigned_to);
value!(i64, i64, i64, signed_to);
value!(u64, i64, u64, unsigned_to);

fn bounds_4(first: i32, last: i32, step: i32) -> LoopBounds {
    Value::bounds(first, last, step)
}
fn bounds_4u(first: u32, last: u32, step: i32) -> LoopBounds {
    Value::bounds(first, last, step)
}
fn bounds_8(first: i64, last: i64, step: i64) -> LoopBounds {
    Value::bounds(first, last, step)
}
fn bounds_8u(first: u64, last: u64, step: i64) -> LoopBounds {
    Value::bounds(first, last, step)
}

/// Tells a tool that the thread enters a static loop of `count` iterations. Returns what kind of construct that is.
///
/// # Safety
/// `loc` is null or a place in the source.
#[cold]
unsafe fn tell(loc: Loc, count: u64) -> Work {
    // SAFETY: null or a place in the source: this function's contract.
    let kind = match unsafe { flags(loc) } {
        f if f & SECTIONS != 0 => Work::Sections,
        f if f & DISTRIBUTE != 0 => Work::Distribute,
        _ => Work::LoopStatic,
    };
    events::begin(Thread::current(), kind, count);
    kind
}

/// Tells a tool of the thread's first chunk of a static loop, from `lower` to `upper`; compiled code finds the others
/// itself. Of several sections in one chunk only the first is told.
#[cold]
fn tell_chunk<T: Value>(kind: Work, lower: T, upper: T, step: T::Signed) {
    let th = Thread::current();
    let bounds = T::bounds(lower, upper, step);
    let count = bounds.trip_count();
    match kind {
        Work::Sections if count > 0 => events::begins_section(th),
        Work::Sections => {}
        Work::Distribute => {
            events::begins_chunk(th, Dispatch::DistributeChunk, bounds.value(0), count)
        }
        _ => events::begins_chunk(th, Dispatch::LoopChunk, bounds.value(0), count),
    }
}

/// Turns the bounds of a static loop into those of the calling thread (or team).
///
/// # Safety
/// The pointers are null (`last`, `stride`) or to variables of the compiled code.
#[inline]
#[allow(clippy::too_many_arguments, reason = "the arguments are the ABI's")]
unsafe fn static_init<T: Value>(
    who: Sharers,
    number: i32,
    last: *mut i32,
    lower: *mut T,
    upper: *mut T,
    stride: *mut T::Signed,
    step: T::Signed,
    chunk: T::Signed,
) {
    let wide: i64 = step.into();
    // SAFETY: the pointers that are not null are variables of the compiled code: this function's contract.
    // Null pointers are not used.
    unsafe {
        let bounds = T::bounds(*lower, *upper, step);
        let told = if who.count == 1 && number != schedule::STATIC_CHUNKED {
            one(&bounds, bounds.all())
        } else {
            share_out(&bounds, number, chunk.into(), who)
        };
        if let Some(last) = last.as_mut() {
            *last = i32::from(told.is_last);
        }
        if let Some(stride) = stride.as_mut() {
            *stride = T::cut_step(told.stride.wrapping_mul(wide as u64));
        }
        if let Some(piece) = told.piece {
            *lower = T::cut(piece.first);
            *upper = T::cut(piece.last);
        } else if bounds.trip_count() > 0 {
            (*lower, *upper) = T::nothing(wide > 0);
        }
    }
}

/// `distribute parallel for`: finds the team's part, and the thread's part of that.
///
/// # Safety
/// The pointers are null (`last`, `stride`) or to variables of the compiled code.
#[inline]
#[allow(clippy::too_many_arguments, reason = "the arguments are the ABI's")]
unsafe fn dist_static_init<T: Value>(
    number: i32,
    last: *mut i32,
    lower: *mut T,
    upper: *mut T,
    upper_of_team: *mut T,
    stride: *mut T::Signed,
    step: T::Signed,
    chunk: T::Signed,
) {
    // SAFETY: the pointers that are not null are variables of the compiled code: this function's contract.
    unsafe {
        let mut teams_last = 0;
        let null = core::ptr::null_mut();
        static_init(
            Sharers::teams(),
            schedule::STATIC,
            &mut teams_last,
            lower,
            upper,
            null,
            step,
            chunk,
        );
        *upper_of_team = *upper;
        static_init(
            Sharers::threads(Thread::current()),
            number,
            last,
            lower,
            upper,
            stride,
            step,
            chunk,
        );
        if let Some(last) = last.as_mut() {
            *last &= teams_last;
        }
    }
}

/// Takes the thread's next chunk. Returns 0 if there is none.
///
/// # Safety
/// The pointers are null (`last`, `stride`) or to variables of the compiled code.
#[inline]
unsafe fn next<T: Value>(
    last: *mut i32,
    lower: *mut T,
    upper: *mut T,
    stride: *mut T::Signed,
) -> i32 {
    let th = Thread::current();
    let Some(piece) = pieces::next(th) else {
        loops::end_nowait();
        return 0;
    };
    // SAFETY: the pointers that are not null are variables of the compiled code: this function's contract.
    unsafe {
        *lower = T::cut(piece.first);
        *upper = T::cut(piece.last);
        if let Some(last) = last.as_mut() {
            *last = i32::from(piece.is_last);
        }
        if let Some(stride) = stride.as_mut() {
            *stride = T::cut_step(pieces::step(th));
        }
    }
    1
}

/// The entries for one type of loop variables.
macro_rules! family {
    ($t:ty, $init:ident, $dist_init:ident, $team_init:ident, $next:ident, $dist_dispatch:ident, $fini:ident) => {
        entries! {
            "VERSION" default:
            /// Shares out a static loop among threads, or `distribute` among teams.
            watched fn $init(
                loc: Loc, _gtid: i32, schedule: i32, last: *mut i32, lower: *mut $t, upper: *mut $t,
                stride: *mut <$t as Value>::Signed, step: <$t as Value>::Signed,
                chunk: <$t as Value>::Signed,
            ) {
                let number = plain_number(schedule);
                let who = if matches!(number, schedule::DISTRIBUTE | schedule::DISTRIBUTE_CHUNKED) {
                    Sharers::teams()
                } else {
                    Sharers::threads(Thread::current())
                };
                // SAFETY: the compiled code passes its variables, and a place or null.
                unsafe {
                    if tool::on() {
                        let kind = tell(loc, <$t as Value>::bounds(*lower, *upper, step).trip_count());
                        static_init(who, number, last, lower, upper, stride, step, chunk);
                        return tell_chunk(kind, *lower, *upper, step);
                    }
                    static_init(who, number, last, lower, upper, stride, step, chunk);
                }
            }

            /// Shares out `distribute parallel for`.
            watched fn $dist_init(
                _loc: Loc, _gtid: i32, schedule: i32, last: *mut i32, lower: *mut $t, upper: *mut $t,
                upper_of_team: *mut $t, stride: *mut <$t as Value>::Signed,
                step: <$t as Value>::Signed, chunk: <$t as Value>::Signed,
            ) {
                let number = plain_number(schedule);
                // SAFETY: the compiled code passes its variables.
                unsafe {
                    if tool::on() {
                        tell(core::ptr::null(), <$t as Value>::bounds(*lower, *upper, step).trip_count());
                    }
                    dist_static_init(number, last, lower, upper, upper_of_team, stride, step, chunk);
                    if tool::on() {
                        tell_chunk(Work::LoopStatic, *lower, *upper, step);
                    }
                }
            }

            /// Shares out `distribute` with a chunk size.
            fn $team_init(
                _loc: Loc, _gtid: i32, last: *mut i32, lower: *mut $t, upper: *mut $t,
                stride: *mut <$t as Value>::Signed, step: <$t as Value>::Signed,
                chunk: <$t as Value>::Signed,
            ) {
                let who = Sharers::teams();
                // SAFETY: the compiled code passes its variables.
                unsafe {
                    static_init(who, schedule::STATIC_CHUNKED, last, lower, upper, stride, step, chunk);
                }
            }

            /// Enters a loop that hands out chunks of the team's part of `distribute`.
            watched fn $dist_dispatch(
                _loc: Loc, _gtid: i32, schedule: i32, last: *mut i32, lower: $t, upper: $t,
                step: <$t as Value>::Signed, chunk: <$t as Value>::Signed,
            ) {
                let (mut lower, mut upper) = (lower, upper);
                let null = core::ptr::null_mut();
                let who = Sharers::teams();
                // SAFETY: variables of this function, and one of the compiled code or null.
                unsafe {
                    static_init(who, schedule::STATIC, last, &mut lower, &mut upper, null, step, chunk);
                }
                enter(Value::bounds(lower, upper, step), schedule, chunk.into(), 0);
            }

            /// Takes the thread's next chunk. Returns 0 if there is none.
            watched fn $next(
                _loc: Loc, _gtid: i32, last: *mut i32, lower: *mut $t, upper: *mut $t,
                stride: *mut <$t as Value>::Signed,
            ) -> i32 {
                // SAFETY: the compiled code passes its variables.
                unsafe { next(last, lower, upper, stride) }
            }

            /// Called when an iteration of an ordered loop has ended. There is nothing to do: the turn goes
            /// on to the next iteration with the thread's next chunk, or at the end of the ordered region.
            fn $fini(_loc: Loc, _gtid: i32) {}
        }
    };
}

family!(
    i32,
    __kmpc_for_static_init_4,
    __kmpc_dist_for_static_init_4,
    __kmpc_team_static_init_4,
    __kmpc_dispatch_next_4,
    __kmpc_dist_dispatch_init_4,
    __kmpc_dispatch_fini_4
);
family!(
    u32,
    __kmpc_for_static_init_4u,
    __kmpc_dist_for_static_init_4u,
    __kmpc_team_static_init_4u,
    __kmpc_dispatch_next_4u,
    __kmpc_dist_dispatch_init_4u,
    __kmpc_dispatch_fini_4u
);
family!(
    i64,
    __kmpc_for_static_init_8,
    __kmpc_dist_for_static_init_8,
    __kmpc_team_static_init_8,
    __kmpc_dispatch_next_8,
    __kmpc_dist_dispatch_init_8,
    __kmpc_dispatch_fini_8
);
family!(
    u64,
    __kmpc_for_static_init_8u,
    __kmpc_dist_for_static_init_8u,
    __kmpc_team_static_init_8u,
    __kmpc_dispatch_next_8u,
    __kmpc_dist_dispatch_init_8u,
    __kmpc_dispatch_fini_8u
);

keyed_entry!(init_4, "__kmpc_dispatch_init_4", i32, bounds_4);
keyed_entry!(init_4u, "__kmpc_dispatch_init_4u", u32, bounds_4u);
keyed_entry!(init_8, "__kmpc_dispatch_init_8", i64, bounds_8);
keyed_entry!(init_8u, "__kmpc_dispatch_init_8u", u64, bounds_8u);

entries! {
    "VERSION" default:
    /// Called when a static loop has ended. The runtime keeps no state of such a loop.
    watched fn __kmpc_for_static_fini(_loc: Loc, _gtid: i32) {
        loops::end_nowait();
    }

    /// Called when a loop that hands out chunks has ended. Its state is freed when all threads have left the
    /// construct.
    fn __kmpc_dispatch_deinit(_loc: Loc, _gtid: i32) {}
}
