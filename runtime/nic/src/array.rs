//! Arrays of atomics, in this process's own memory or in memory that other processes map.
//!
//! Either way the items stay in place as long as the array lives, and are shared as `&T` only.

use core::ops::Deref;

/// Types that may lie in shared memory: made of atomics, with zero as a value.
///
/// # Safety
/// All bytes zero is a value of the type, it is made of atomics, and its layout is fixed (`repr(C)`).
pub(crate) unsafe trait Shareable: Sync {}

/// An array that owns its memory, or lies in mapped memory that outlives it.
pub(crate) struct Array<T> {
    at: *const T,
    len: usize,
    /// Is the memory a box's, which this array has taken? Not kept as a box: moving one says that nobody else points
    /// there.
    own: bool,
}

// SAFETY: `at` points to what `T: Sync` allows to be shared, in this array's own box or in mapped memory.
unsafe impl<T: Sync + Send> Send for Array<T> {}
// SAFETY: a shared array gives out `&T` only, which `T: Sync` allows.
unsafe impl<T: Sync + Send> Sync for Array<T> {}

impl<T: core::fmt::Debug> core::fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Array").field("len", &self.len).finish()
    }
}

impl<T> Array<T> {
    /// An array in memory of its own.
    pub(crate) fn own(items: impl IntoIterator<Item = T>) -> Array<T> {
        let items: Box<[T]> = items.into_iter().collect();
        Array {
            len: items.len(),
            at: Box::into_raw(items).cast_const().cast(),
            own: true,
        }
    }

    /// The bytes that `len` items take.
    #[cfg(not(loom))]
    pub(crate) const fn bytes(len: usize) -> usize {
        (len * size_of::<T>()).next_multiple_of(128)
    }
}

#[cfg(not(loom))]
impl<T: Shareable> Array<T> {
    /// The array at `*at`. Moves `*at` to the end of the array.
    ///
    /// # Safety
    /// `*at` is aligned to 128 bytes, and valid for [`Array::bytes`] of `len` as long as the process lives; it was
    /// zero, and since then only arrays of the same type and length wrote there.
    pub(crate) unsafe fn at(at: &mut *mut u8, len: usize) -> Array<T> {
        debug_assert!(align_of::<T>() <= 128 && *at as usize % 128 == 0);
        let array = Array {
            at: (*at).cast::<T>().cast_const(),
            len,
            own: false,
        };
        *at = at.wrapping_add(Self::bytes(len));
        array
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        if self.own {
            let items = core::ptr::slice_from_raw_parts_mut(self.at.cast_mut(), self.len);
            // SAFETY: `own` has taken the memory from a box of this length, and this is the end of its only owner.
            drop(unsafe { Box::from_raw(items) });
        }
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: both constructors make `at` point to `len` items that live as long as this array.
        unsafe { core::slice::from_raw_parts(self.at, self.len) }
    }
}
