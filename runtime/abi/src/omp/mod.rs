//! The functions that `omp.h` and the Fortran module `omp_lib` declare: `omp_*`.
//!
//! Every routine has a Fortran form with a trailing underscore, whose arguments are addresses. Forms whose
//! names end with `_8_` are for programs that were compiled with 8-byte default integers.

mod affinity;
mod alloc;
mod control;
mod dims;
mod interop;
pub(crate) mod lock;
mod query;
mod target;

/// Exports functions under further names: `alias!("NODE": f = "name", ...)`.
macro_rules! alias {
    ($($node:tt: $($f:ident = $export:literal),+ $(,)?;)+) => {
        $($($crate::entry::export!($f, $export, $node, "@@");)+)+
    };
}

pub(crate) use alias;

/// A Fortran 8-byte integer as a C `int`. Values outside the range of `int` become the nearest `int`.
pub(crate) fn to_int(n: i64) -> i32 {
    n.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}
