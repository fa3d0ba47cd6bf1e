//! What a user, or a test, wants of a pool.
#![forbid(unsafe_code)]

use super::lines::Point;

/// The pool that a user wants.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// The file that all nodes map; `None`: memory of this machine.
    pub file: Option<&'static str>,
    /// With the checker.
    pub checks: bool,
    /// At the end, what was done is said.
    pub says: bool,
    /// For tests.
    pub left_out: Option<LeftOut>,
}

/// What is left out at a point, for tests that must then fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Lines are not written back.
    WriteBack(Point),
    /// Lines that others changed are not taken anew.
    Invalidate(Point),
}

impl LeftOut {
    /// From `write-back:POINT` or `invalidate:POINT`; `None` for other texts.
    pub fn of(text: &str) -> Option<LeftOut> {
        let (what, point) = text.split_once(':')?;
        let point = Point::named(point)?;
        match what {
            "write-back" => Some(LeftOut::WriteBack(point)),
            "invalidate" => Some(LeftOut::Invalidate(point)),
            _ => None,
        }
    }
}
