//! Threadprivate variables that the runtime keeps (OpenMP 5.1, section 2.21.2), for compiled code that does
//! not use thread-local storage. The process's initial thread uses the variable itself. Other threads get
//! copies. A copy is made by the variable's registered constructor or copy constructor; without these it gets
//! the value that the variable had at its first use.

use super::copies::Copy;
pub use super::copies::Kind;
use crate::ahead;
use crate::thread::Thread;
use core::ffi::c_void;
use hetmp_core::hash::HashMap;
use hetmp_core::report;
use hetmp_core::whole::Mutex;
use std::alloc::Layout;

#[derive(Debug)]
struct Variable {
    kind: Option<Kind>,
    /// The variable's bytes at its first use.
    first: Option<Box<[u8]>>,
}

static VARIABLES: Mutex<Option<HashMap<usize, Variable>>> = Mutex::new(None);

fn with_variable<R>(address: usize, f: impl FnOnce(&mut Variable) -> R) -> R {
    let mut variables = VARIABLES.lock();
    let v = variables
        .get_or_insert_with(HashMap::default)
        .entry(address)
        .or_insert(Variable {
            kind: None,
            first: None,
        });
    f(v)
}

/// Registers how copies of the variable at `address` are made.
///
/// # Safety
/// The functions are made for this variable, and stay callable as long as threads use it.
pub unsafe fn register(address: *mut c_void, kind: Kind) {
    with_variable(address as usize, |v| v.kind = Some(kind));
}

/// The calling thread's copy of the variable of `size` bytes at `address`.
///
/// # Safety
/// `address` is the address of a threadprivate variable of `size` bytes.
pub unsafe fn copy_of(th: &Thread, address: *mut c_void, size: usize) -> *mut c_void {
    if let Some(copy) = th.privates.0.borrow().get(&(address as usize)) {
        return copy.at;
    }
    // SAFETY: `abi` passes the address and size of compiled code's variable.
    let copy = unsafe { make(th, address, size) };
    let at = copy.at;
    th.privates.0.borrow_mut().insert(address as usize, copy);
    at
}

#[cold]
unsafe fn make(th: &Thread, address: *mut c_void, size: usize) -> Copy {
    let layout = Layout::from_size_align(size.max(1), 64).unwrap_or_else(|_| {
        report::fatal(format_args!(
            "a threadprivate variable of {size} bytes: less than half of the memory"
        ))
    });
    let kind = with_variable(address as usize, |v| {
        v.first.get_or_insert_with(|| {
            // SAFETY: compiled code's variable has `size` bytes, which no thread writes while the first copy
            // is made.
            unsafe { core::slice::from_raw_parts(address.cast::<u8>(), size) }.into()
        });
        v.kind
    });
    if ahead::index(th) == 0 {
        return Copy {
            at: address,
            layout,
            kind: None,
            own: false,
        };
    }
    // SAFETY: the layout is not empty.
    let at: *mut c_void = unsafe { std::alloc::alloc_zeroed(layout) }.cast();
    if at.is_null() {
        report::fatal(format_args!(
            "out of memory for a threadprivate variable of {size} bytes"
        ));
    }
    // SAFETY: compiled code registered the functions for this variable, whose size this is.
    unsafe {
        match kind {
            Some(Kind::Object {
                construct: Some(construct),
                ..
            }) => {
                construct(at);
            }
            Some(Kind::Object {
                copy: Some(copy), ..
            }) => {
                copy(at, address);
            }
            Some(Kind::Array {
                construct: Some(construct),
                length,
                ..
            }) => {
                construct(at, length);
            }
            Some(Kind::Array {
                copy: Some(copy),
                length,
                ..
            }) => {
                copy(at, address, length);
            }
            _ => with_variable(address as usize, |v| {
                if let Some(first) = &v.first {
                    let bytes = first.len().min(size);
                    core::ptr::copy_nonoverlapping(first.as_ptr(), at.cast(), bytes);
                }
            }),
        }
    }
    Copy {
        at,
        layout,
        kind,
        own: true,
    }
}
