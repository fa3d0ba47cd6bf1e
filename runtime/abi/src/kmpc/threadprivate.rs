//! Threadprivate variables in code that clang compiled without thread-local storage.

use super::Loc;
use crate::entry::entries;
use hetmp_omp::threadprivate::{copy_of, register, Kind};
use hetmp_omp::Thread;
use libc::c_void;

type Construct = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type CopyConstruct = unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void;
type Destroy = unsafe extern "C" fn(*mut c_void);
type ConstructAll = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type CopyConstructAll = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;
type DestroyAll = unsafe extern "C" fn(*mut c_void, usize);

entries! {
    "VERSION" default:
    /// Registers how copies of a variable are made and destroyed.
    fn __kmpc_threadprivate_register(
        _loc: Loc, variable: *mut c_void, construct: Option<Construct>, copy: Option<CopyConstruct>,
        destroy: Option<Destroy>,
    ) {
        // SAFETY: the compiled code passes functions for its variable.
        unsafe { register(variable, Kind::Object { construct, copy, destroy }) };
    }

    /// `__kmpc_threadprivate_register` for an array.
    fn __kmpc_threadprivate_register_vec(
        _loc: Loc, variable: *mut c_void, construct: Option<ConstructAll>,
        copy: Option<CopyConstructAll>, destroy: Option<DestroyAll>, length: usize,
    ) {
        // SAFETY: the compiled code passes functions for its variable.
        unsafe { register(variable, Kind::Array { construct, copy, destroy, length }) };
    }

    /// The calling thread's copy of a variable.
    fn __kmpc_threadprivate(_loc: Loc, _gtid: i32, variable: *mut c_void, size: usize) -> *mut c_void {
        // SAFETY: the compiled code passes a threadprivate variable and its size.
        unsafe { copy_of(Thread::current(), variable, size) }
    }

    /// `__kmpc_threadprivate`. `cache` is the place of a table that compiled code might read; the runtime
    /// does not write to it.
    fn __kmpc_threadprivate_cached(
        _loc: Loc, _gtid: i32, variable: *mut c_void, size: usize, _cache: *mut *mut *mut c_void,
    ) -> *mut c_void {
        // SAFETY: the compiled code passes a threadprivate variable and its size.
        unsafe { copy_of(Thread::current(), variable, size) }
    }
}
