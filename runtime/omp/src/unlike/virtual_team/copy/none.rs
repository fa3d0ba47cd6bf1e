//! Code that is not read: there are no copies.

use crate::team::members::Outlined;

#[derive(Debug)]
pub(crate) enum Copy {}

impl Copy {
    pub(crate) fn new(_code: usize, _threads: u32) -> Option<Copy> {
        None
    }

    pub(crate) fn entry(&self) -> Outlined {
        match *self {}
    }

    /// # Safety
    /// There is no copy.
    pub(crate) unsafe fn write(&self, _shares: &[f64]) {
        match *self {}
    }
}
