//! Memory behind a device's second-level cache, which the adapter does not see.
//!
//! A program that works on *cached* memory works on its cache. The adapter, and with it every peer, works on
//! the image in the device's memory. The two meet at a kernel boundary: bytes that the program wrote since the
//! last one go to the image, all others come from it.

use crate::keys::Memory;

/// Cached memory of a program, with its image.
#[derive(Debug)]
pub struct Cached {
    program: *mut u8,
    image: *mut u8,
    /// What the program saw at the last boundary: what differs from it is dirty.
    clean: Box<[u8]>,
}

// SAFETY: the pointers are used by the methods that take `&mut self` only, and point to memory that the caller
// of `new` promised to outlive it.
unsafe impl Send for Cached {}

impl Cached {
    /// `len` bytes at `program`, of which the adapter sees `image`. The program's bytes hold from the
    /// start: nothing is dirty, and the image is made equal.
    ///
    /// # Safety
    /// Both are valid for reads and writes of `len` bytes, do not overlap, and outlive the result. Nobody
    /// accesses `program` during [`Cached::flush`], [`Cached::invalidate`] and [`Cached::boundary`];
    /// who accesses the image meanwhile expects that.
    pub unsafe fn new(program: *mut u8, image: *mut u8, len: usize) -> Cached {
        // SAFETY: this function's contract: both are valid for `len` bytes, and do not overlap.
        let clean = unsafe {
            core::ptr::copy_nonoverlapping(program, image, len);
            core::slice::from_raw_parts(program, len).into()
        };
        Cached {
            program,
            image,
            clean,
        }
    }

    /// What to register: the image, under the addresses of the program.
    pub fn memory(&self) -> Memory {
        Memory {
            here: self.image,
            len: self.clean.len(),
            base: self.program as u64,
        }
    }

    /// Writes dirty bytes back to the image: the end of a kernel, or an explicit flush.
    pub fn flush(&mut self) {
        for (i, clean) in self.clean.iter_mut().enumerate() {
            // SAFETY: in bounds; valid by the promise made to `new`. Volatile: the adapter may be reading
            // or writing the image.
            unsafe {
                let now = self.program.add(i).read_volatile();
                if now != *clean {
                    self.image.add(i).write_volatile(now);
                    *clean = now;
                }
            }
        }
    }

    /// Drops what is not dirty, so that the program sees the image there: the begin of a kernel.
    pub fn invalidate(&mut self) {
        for (i, clean) in self.clean.iter_mut().enumerate() {
            // SAFETY: both arrays are valid for as many bytes as `clean` has: the contract of `new`.
            unsafe {
                if self.program.add(i).read_volatile() == *clean {
                    let seen = self.image.add(i).read_volatile();
                    self.program.add(i).write_volatile(seen);
                    *clean = seen;
                }
            }
        }
    }

    /// Between two kernels: both.
    pub fn boundary(&mut self) {
        self.flush();
        self.invalidate();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_meet_at_the_boundary_only() {
        let (mut program, mut image) = ([1u8; 8], [0u8; 8]);
        let (p, i) = (program.as_mut_ptr(), image.as_mut_ptr());
        // SAFETY: both arrays outlive it; they are accessed through the same pointers between calls.
        let mut cached = unsafe { Cached::new(p, i, 8) };
        // SAFETY: in bounds of two arrays that outlive the test's closures.
        let (at, set) = (
            |m: *mut u8, n: usize| unsafe { m.add(n).read_volatile() },
            |m: *mut u8, n: usize, v: u8| unsafe { m.add(n).write_volatile(v) },
        );
        assert_eq!(at(i, 0), 1);
        set(p, 0, 5);
        set(i, 1, 6);
        assert_eq!((at(i, 0), at(p, 1)), (1, 1));
        cached.flush();
        assert_eq!(
            (at(i, 0), at(p, 1)),
            (5, 1),
            "a flush writes back and no more"
        );
        set(p, 2, 7);
        cached.invalidate();
        assert_eq!(
            (at(p, 1), at(p, 2), at(i, 2)),
            (6, 7, 1),
            "dirty bytes are kept"
        );
        cached.boundary();
        assert_eq!(at(i, 2), 7);
        // Neighbours in one line written by both sides: neither is lost.
        set(p, 3, 8);
        set(i, 4, 9);
        cached.boundary();
        assert_eq!((at(i, 3), at(p, 4)), (8, 9));
    }
}
