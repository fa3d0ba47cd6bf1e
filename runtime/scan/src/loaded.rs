//! The objects that are mapped into this process.

/// One mapped object: the program or a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Path as the loader knows it; empty for the program itself.
    pub path: String,
    /// What is added to the addresses in the file.
    pub base: u64,
    /// First mapped address.
    pub start: u64,
    /// Address after the last mapped byte.
    pub end: u64,
    /// The note that names the build, empty where there is none.
    pub build_id: Vec<u8>,
    /// Whether it has thread-local storage of its own (`PT_TLS`).
    pub has_tls: bool,
}

use crate::{Callee, Image, Unwind, Why};

/// The object that `address` is mapped from, or `None` where it is in none.
pub fn object_of(address: u64) -> Option<Object> {
    Loaded::at(address).map(|loaded| loaded.object)
}

/// The [`Image`] of one mapped object.
#[derive(Clone, Debug)]
pub struct Loaded {
    object: Object,
}

impl Loaded {
    /// The object that holds `address`, or `None`.
    pub fn at(address: u64) -> Option<Loaded> {
        let _ = address;
        None
    }

    /// What is known about the object.
    pub fn object(&self) -> &Object {
        &self.object
    }
}

impl Image for Loaded {
    fn code(&self, _address: u64) -> Option<&[u8]> {
        None
    }

    fn callee(&self, _target: u64) -> Callee {
        Callee::Unknown
    }

    fn slot(&self, _slot: u64) -> Callee {
        Callee::Unknown
    }

    fn unwind(&self, _address: u64) -> Result<Option<Unwind>, Why> {
        Ok(None)
    }
}
