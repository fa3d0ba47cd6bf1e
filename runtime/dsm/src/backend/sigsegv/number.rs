//! Where a thread's control block has the thread's number, for kernels that do not say so.

use core::sync::atomic::{AtomicU32, Ordering};

/// The words of a control block that are searched.
pub const WORDS: usize = 256;

/// The word in which the C library keeps the number `me`. The block begins with addresses, whose upper halves are
/// numbers such as 0x7f5c: as large as those of threads. The thread's number is the lower half of a pair, and the upper
/// half is not used.
pub fn of(block: &[AtomicU32; WORDS], me: u32) -> Option<&AtomicU32> {
    let is = |word: &AtomicU32, number: u32| word.load(Ordering::Relaxed) == number;
    let mut pairs = block.chunks_exact(2);
    pairs
        .find(|pair| is(&pair[0], me) && is(&pair[1], 0))
        .map(|pair| &pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_an_address_is_no_threads_number() {
        let block = [const { AtomicU32::new(0) }; WORDS];
        for (i, word) in [0x3d7f_f6c0, 0x7f5c, 0x7f5c, 0x7f5c]
            .into_iter()
            .enumerate()
        {
            block[i].store(word, Ordering::Relaxed);
        }
        assert!(of(&block, 0x7f5c).is_none());
        block[180].store(0x7f5c, Ordering::Relaxed);
        let found = of(&block, 0x7f5c).expect("the number is there");
        assert!(core::ptr::eq(found, &raw const block[180]));
    }
}
