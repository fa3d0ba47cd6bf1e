//! Code that is not read: there are no copies.

use crate::team::members::Outlined;

#[derive(Debug)]
pub(super) enum Copy {}

impl Copy {
    pub(super) fn new(_code: usize, _threads: u32) -> Option<Copy> {
        None
    }

    pub(super) fn entry(&self) -> Outlined {
        match *self {}
    }

    /// # Safety
    /// There is no copy.
    pub(super) unsafe fn write(&self, _shares: &[f64]) {
        match *self {}
    }
}
