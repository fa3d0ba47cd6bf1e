//! A thread's copies of threadprivate variables ([`super::threadprivate`]).

use core::cell::RefCell;
use core::ffi::c_void;
use hetmp_core::hash::HashMap;
use std::alloc::Layout;

/// How copies of a variable are made and destroyed.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// One object: constructor, copy constructor (arguments: copy, original), destructor.
    Object {
        /// Makes a copy without the original.
        construct: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>,
        /// Makes a copy from the original.
        copy: Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void>,
        /// Destroys a copy.
        destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    },
    /// An array of objects: the same functions, with the number of elements as last argument.
    Array {
        /// Makes a copy without the original.
        construct: Option<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>,
        /// Makes a copy from the original.
        copy: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void>,
        /// Destroys a copy.
        destroy: Option<unsafe extern "C" fn(*mut c_void, usize)>,
        /// Number of elements.
        length: usize,
    },
}

#[derive(Debug)]
pub(super) struct Copy {
    pub(super) at: *mut c_void,
    pub(super) layout: Layout,
    /// How the copy was made; `None` for the variable itself and for variables without functions.
    pub(super) kind: Option<Kind>,
    pub(super) own: bool,
}

impl Drop for Copy {
    fn drop(&mut self) {
        if !self.own {
            return;
        }
        // SAFETY: compiled code registered the function with the variable that this is a copy of. The memory
        // was allocated with this layout.
        unsafe {
            match self.kind {
                Some(Kind::Object {
                    destroy: Some(destroy),
                    ..
                }) => destroy(self.at),
                Some(Kind::Array {
                    destroy: Some(destroy),
                    length,
                    ..
                }) => destroy(self.at, length),
                _ => {}
            }
            std::alloc::dealloc(self.at.cast(), self.layout);
        }
    }
}

/// A thread's copies, by the address of the variable.
#[derive(Debug)]
pub(crate) struct Copies(pub(super) RefCell<HashMap<usize, Copy>>);

impl Copies {
    pub(crate) fn new() -> Copies {
        Copies(RefCell::new(HashMap::default()))
    }
}
