//! Nests of loops that compiled code numbers as one: it asks for the number of iterations, and for the variables'
//! values in one of them. Bounds must not depend on outer loops.

use super::Loc;
use crate::entry::entries;
use hetmp_sched::nest::{numbers, Integer, NestLoop, Until};

/// One loop of a nest (`bounds_info_t`).
#[repr(C)]
pub(crate) struct Bounds {
    bounds_type: i32,
    variable_type: i32,
    comparison: i32,
    /// The loop that the factors belong to, which are 0 here.
    outer: i32,
    first: u64,
    first_factor: u64,
    last: u64,
    last_factor: u64,
    step: u64,
    count: u64,
}

const _: () = assert!(core::mem::size_of::<Bounds>() == 64);

/// A type by its number: from 8 bits up, the unsigned one first.
fn integer(number: i32) -> Integer {
    Integer {
        bits: 8 << (number.clamp(0, 7) / 2),
        signed: number % 2 == 1,
    }
}

impl Bounds {
    fn nest_loop(&self) -> NestLoop {
        NestLoop {
            bounds: integer(self.bounds_type),
            until: match self.comparison {
                0 => Until::AtMost,
                1 => Until::AtLeast,
                2 => Until::Unequal,
                3 => Until::Below,
                _ => Until::Above,
            },
            first: self.first,
            last: self.last,
            step: self.step,
        }
    }
}

entries! {
    "VERSION" default:
    /// The iterations of a nest of `count` loops, outermost first. Comparisons become `<=` and `>=`, and each loop gets
    /// its own number of iterations.
    fn __kmpc_process_loop_nest_rectang(_loc: Loc, _gtid: i32, nest: *mut Bounds, count: i32) -> u64 {
        // SAFETY: the compiled code passes an array of that size, which belongs to the thread.
        let nest = unsafe { core::slice::from_raw_parts_mut(nest, count.max(0) as usize) };
        nest.iter_mut().fold(1u64, |product, bounds| {
            let canonical = bounds.nest_loop().canonical();
            bounds.last = canonical.last;
            bounds.comparison = i32::from(canonical.until == Until::AtLeast);
            bounds.count = canonical.trip_count();
            product.wrapping_mul(bounds.count)
        })
    }

    /// The variables' values in iteration `number` of a nest that `__kmpc_process_loop_nest_rectang` has seen.
    fn __kmpc_calc_original_ivs_rectang(
        _loc: Loc, number: u64, nest: *const Bounds, values: *mut u64, count: i32,
    ) {
        let count = count.max(0) as usize;
        // SAFETY: the compiled code passes arrays of that size, which belong to the thread.
        let (nest, values) = unsafe {
            (
                core::slice::from_raw_parts(nest, count),
                core::slice::from_raw_parts_mut(values, count),
            )
        };
        let inner_first = nest.iter().zip(values).rev();
        let own = numbers(number, nest.iter().rev().map(|bounds| bounds.count));
        for ((bounds, value), own) in inner_first.zip(own) {
            *value = bounds.nest_loop().value(integer(bounds.variable_type), own);
        }
    }
}
