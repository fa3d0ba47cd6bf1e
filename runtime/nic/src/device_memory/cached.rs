//! Memory behind a device's second-level cache. The adapter sees another image of it.
//!
//! A program that works on *cached* memory works on the cache's content. The adapter, and with it every peer, works
//! on the image in the device's memory. The two meet at a kernel boundary: bytes that the program wrote since the
//! last boundary go to the image, and all other bytes come from the image.

use crate::keys::Memory;

/// A program's cached memory, with its image.
#[derive(Debug)]
pub struct Cached {
    program: *mut u8,
    image: *mut u8,
    /// The program's bytes at the last boundary. A byte that differs from them is dirty.
    clean: Box<[u8]>,
}

// SAFETY: only methods that take `&mut self` use the pointers, and who called `new` keeps the memory behind them
// valid as long as this value.
unsafe impl Send for Cached {}

impl Cached {
    /// Cached memory of `len` bytes: the program's at `program`, and the adapter's at `image`. The program's bytes
    /// are copied to the image, and none is dirty.
    ///
    /// # Safety
    /// Both are valid for reads and writes of `len` bytes, do not overlap, and outlive the result. Nobody
    /// accesses `program` during [`Cached::flush`], [`Cached::invalidate`] and [`Cached::boundary`];
    /// whoever accesses the image meanwhile expects the concurrent access.
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
            // SAFETY: `i` is below `len`, and who called `new` keeps both arrays valid for `len` bytes. Volatile,
            // because the adapter may read or write the image meanwhile.
            unsafe {
                let now = self.program.add(i).read_volatile();
                if now != *clean {
                    self.image.add(i).write_volatile(now);
                    *clean = now;
                }
            }
        }
    }

    /// The address of the first of `len` bytes, from byte `from` on, that the program has written since the last
    /// boundary or flush.
    pub fn dirty(&self, from: usize, len: usize) -> Option<usize> {
        let clean = self.clean.get(from..from.checked_add(len)?)?;
        clean.iter().enumerate().find_map(|(i, clean)| {
            // SAFETY: `from + i` is below the length of `clean`, and who called `new` keeps the program's bytes valid.
            let now = unsafe { self.program.add(from + i).read_volatile() };
            (now != *clean).then_some(self.program as usize + from + i)
        })
    }

    /// Replaces clean bytes by the image's, so that the program sees what the adapter wrote: the begin of a kernel.
    pub fn invalidate(&mut self) {
        for (i, clean) in self.clean.iter_mut().enumerate() {
            // SAFETY: `i` is below the length of `clean`, for which who called `new` keeps both arrays valid.
            unsafe {
                if self.program.add(i).read_volatile() == *clean {
                    let seen = self.image.add(i).read_volatile();
                    self.program.add(i).write_volatile(seen);
                    *clean = seen;
                }
            }
        }
    }

    /// The boundary between two kernels: flush, then invalidate.
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
        assert_eq!(cached.dirty(0, 8), Some(p as usize));
        assert_eq!((cached.dirty(1, 7), cached.dirty(1, 8)), (None, None));
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
        // The program and the adapter write neighbouring bytes of one line, and neither write is lost.
        set(p, 3, 8);
        set(i, 4, 9);
        cached.boundary();
        assert_eq!((at(i, 3), at(p, 4)), (8, 9));
    }
}
