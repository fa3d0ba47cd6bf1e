//! What may be done with a sum, so that the parts of any number of chunks give the same.
//!
//! A private variable that begins at zero and collects something of each iteration is put together after the loop
//! (`reduction(+:s)`). How the loop is divided does not show where the iterations collect by an operation that is
//! associative and commutative and has zero for a neutral element, and where the parts are put together by the same
//! one. A hash (`h = h * 37 + x`) begins at zero, too, but is none. (Sums of floating-point numbers count as sums,
//! although they are rounded differently.)

use super::effect::location;
use super::function::{Location, Mark};
use super::function::{ADDED, LEAST, MOST, ORED, XORED};
use crate::code::{Collects, Instruction};

/// The operation by which an instruction goes on with a sum, as a mark; 0 where it only moves or widens the sum; `None`
/// where what it makes is no sum any more. `is_sum` tells which registers hold one, `has` which operations it was made
/// by, `in_loop` whether the instruction belongs to a static loop.
pub(super) fn collects(
    i: &Instruction,
    is_sum: &dyn Fn(Location) -> bool,
    has: Mark,
    in_loop: bool,
) -> Option<Mark> {
    let operand = |o: u8| {
        let register = i.operand(usize::from(o)).register();
        register.and_then(location).map(is_sum)
    };
    let may_be = |o: u8| operand(o) != Some(false);
    match i.collects {
        Collects::Nothing => None,
        Collects::Moves => Some(0),
        // The carry of bytes that were added would be lost.
        Collects::Widens => (has & ADDED == 0).then_some(0),
        Collects::Adds => Some(ADDED),
        Collects::AddsIndex => {
            let address = i.address?;
            let index = address.index.and_then(location).is_some_and(is_sum);
            (!index || address.scale == 1).then_some(ADDED)
        }
        // Each part may be subtracted from something, but no iteration may subtract all before from its own.
        Collects::Negates => (!in_loop).then_some(ADDED),
        Collects::Subtracts(o) => {
            let memory = i.operand(usize::from(o)).is_memory();
            (!in_loop || !memory && operand(o) != Some(true)).then_some(ADDED)
        }
        Collects::AddsProduct(a, b) => {
            (operand(a) == Some(false) && operand(b) != Some(true)).then_some(ADDED)
        }
        Collects::Ors => Some(ORED),
        Collects::Xors => Some(XORED),
        Collects::Most => Some(MOST),
        Collects::Least => Some(LEAST),
        // Both are sums, or memory that may be one.
        Collects::OneOf(a, b) => (may_be(a) && may_be(b)).then_some(0),
    }
}

/// Whether the marks name more than one operation.
pub(super) fn is_mixed(mark: Mark) -> bool {
    (mark & (ADDED | ORED | XORED | MOST | LEAST)).count_ones() > 1
}
