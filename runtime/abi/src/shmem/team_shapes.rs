//! The shapes of the collective families, over teams and over active sets: one macro for each C signature. The
//! generated tables next to this file use them. A row of a table is the element's size in bytes, or the element type
//! of a reduction, and the routine's name. The parent module says what the SAFETY comments rely on.

pub(super) use super::routine::routines;
pub(super) use super::shapes::bytes;
pub(super) use core::ffi::{c_int, c_long};
pub(super) use hetmp_shmem::active::{self, Set};
pub(super) use hetmp_shmem::collective::{self, Reduction, Type};
pub(super) use hetmp_shmem::team::Team;

/// `int name(team, dest, source, nelems)`.
macro_rules! team_block {
    ($function:path; $($size:literal $name:ident;)*) => { $(
        routines! {
            fn $name(team: Team, dest: *mut u8, source: *const u8, nelems: usize) -> c_int {
                // SAFETY: the program's buffers and team.
                unsafe { $function(F, team, dest, source, bytes(nelems, $size)) }
            }
        }
    )* };
}

/// `int name(team, dest, source, nelems, PE_root)`.
macro_rules! broadcast {
    ($($size:literal $name:ident;)*) => { $(
        routines! {
            fn $name(team: Team, dest: *mut u8, source: *const u8, nelems: usize, root: c_int) -> c_int {
                // SAFETY: the program's buffers and team.
                unsafe { collective::broadcast(F, team, dest, source, bytes(nelems, $size), root) }
            }
        }
    )* };
}

/// `int name(team, dest, source, dst, sst, nelems)`.
macro_rules! alltoalls {
    ($($size:literal $name:ident;)*) => { $(
        routines! {
            fn $name(team: Team, dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize) -> c_int {
                // SAFETY: the program's buffers and team.
                unsafe { collective::alltoalls(F, team, dest, source, dst, sst, $size, nelems) }
            }
        }
    )* };
}

/// `int name(team, dest, source, nreduce)`.
macro_rules! reduce {
    ($op:ident; $($t:ident $name:ident;)*) => { $(
        routines! {
            fn $name(team: Team, dest: *mut u8, source: *const u8, nreduce: usize) -> c_int {
                // SAFETY: the program's buffers and team.
                unsafe { collective::reduce(F, team, Reduction::$op, Type::$t, dest, source, nreduce) }
            }
        }
    )* };
}

/// `int name(team, dest, source, nelems)`: prefix sums over the PEs of the team, inclusive or exclusive.
macro_rules! scan {
    ($function:ident; $($t:ident $name:ident;)*) => { $(
        routines! {
            fn $name(team: Team, dest: *mut u8, source: *const u8, nelems: usize) -> c_int {
                // SAFETY: the program's buffers and team.
                unsafe { collective::$function(F, team, Reduction::Sum, Type::$t, dest, source, nelems) }
            }
        }
    )* };
}

/// `void name(dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)`.
macro_rules! active_block {
    ($function:path; $($size:literal $name:ident;)*) => { $(
        routines! {
            fn $name(
                dest: *mut u8, source: *const u8, nelems: usize, start: c_int, log_stride: c_int, size: c_int,
                psync: *mut c_long,
            ) {
                let set = Set { start, log_stride, size };
                // SAFETY: the program's buffers and work arrays.
                unsafe { $function(F, dest, source, bytes(nelems, $size), set, psync) }
            }
        }
    )* };
}

/// `void name(dest, source, nelems, PE_root, PE_start, logPE_stride, PE_size, pSync)`.
macro_rules! broadcast_old {
    ($($size:literal $name:ident;)*) => { $(
        routines! {
            fn $name(
                dest: *mut u8, source: *const u8, nelems: usize, root: c_int, start: c_int, log_stride: c_int,
                size: c_int, psync: *mut c_long,
            ) {
                let set = Set { start, log_stride, size };
                // SAFETY: the program's buffers and work arrays.
                unsafe { active::broadcast(F, dest, source, bytes(nelems, $size), root, set, psync) }
            }
        }
    )* };
}

/// `void name(dest, source, dst, sst, nelems, PE_start, logPE_stride, PE_size, pSync)`.
macro_rules! alltoalls_old {
    ($($size:literal $name:ident;)*) => { $(
        routines! {
            fn $name(
                dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, start: c_int,
                log_stride: c_int, size: c_int, psync: *mut c_long,
            ) {
                let set = Set { start, log_stride, size };
                // SAFETY: the program's buffers and work arrays.
                unsafe { active::alltoalls(F, dest, source, dst, sst, $size, nelems, set, psync) }
            }
        }
    )* };
}

/// `void name(dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync)`.
macro_rules! to_all {
    ($op:ident; $($t:ident $name:ident;)*) => { $(
        routines! {
            fn $name(
                dest: *mut u8, source: *const u8, nreduce: c_int, start: c_int, log_stride: c_int, size: c_int,
                pwrk: *mut u8, psync: *mut c_long,
            ) {
                let set = Set { start, log_stride, size };
                // SAFETY: the program's buffers and work arrays.
                unsafe { active::reduce(F, Reduction::$op, Type::$t, dest, source, nreduce, set, pwrk, psync) }
            }
        }
    )* };
}

pub(super) use {
    active_block, alltoalls, alltoalls_old, broadcast, broadcast_old, reduce, scan, team_block,
    to_all,
};
