//! States of a function's instructions in one piece of memory: flows visit instructions often, and copy what they know
//! of every location.

/// For each of some instructions a row of values, once the instruction has been reached.
pub(super) struct Rows<T> {
    width: usize,
    /// Where an instruction's row begins.
    starts: Vec<Option<usize>>,
    /// Rows in the order in which they were reached. There is room for all from the beginning, but memory that no row
    /// has come to is never touched.
    values: Vec<T>,
}

impl<T: Copy + Default> Rows<T> {
    /// No instruction of `count` is reached; each will have `width` values.
    pub(super) fn new(count: usize, width: usize) -> Rows<T> {
        Rows {
            width,
            starts: vec![None; count],
            values: Vec::with_capacity(count * width),
        }
    }

    /// The values of an instruction, if it is reached.
    pub(super) fn get(&self, index: usize) -> Option<&[T]> {
        let start = (*self.starts.get(index)?)?;
        Some(&self.values[start..start + self.width])
    }

    /// The values of an instruction that is now reached, and whether it was before.
    pub(super) fn reach(&mut self, index: usize) -> (&mut [T], bool) {
        let (start, was) = match self.starts[index] {
            Some(start) => (start, true),
            None => {
                let start = self.values.len();
                self.values.resize(start + self.width, T::default());
                self.starts[index] = Some(start);
                (start, false)
            }
        };
        (&mut self.values[start..start + self.width], was)
    }

    /// The instruction is reached with these values; what was there is forgotten.
    pub(super) fn set(&mut self, index: usize, values: &[T]) {
        self.reach(index).0.copy_from_slice(values);
    }
}

/// Instructions that are to be visited, the first ones first.
pub(super) struct Open {
    words: Vec<u64>,
    /// No bit is set in the words before this one.
    first: usize,
}

impl Open {
    /// None of `count`.
    pub(super) fn new(count: usize) -> Open {
        Open {
            words: vec![0; count.div_ceil(64)],
            first: 0,
        }
    }

    pub(super) fn insert(&mut self, index: usize) {
        self.words[index / 64] |= 1 << (index % 64);
        self.first = self.first.min(index / 64);
    }

    pub(super) fn pop_first(&mut self) -> Option<usize> {
        while let Some(word) = self.words.get_mut(self.first) {
            if *word != 0 {
                let bit = word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(self.first * 64 + bit);
            }
            self.first += 1;
        }
        None
    }
}

/// For each instruction a set of locations.
pub(super) struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    /// Empty sets.
    pub(super) fn new(count: usize, locations: usize) -> Sets {
        let words = locations.div_ceil(64);
        Sets {
            words,
            bits: vec![0; count * words],
        }
    }

    pub(super) fn has(&self, index: usize, l: usize) -> bool {
        self.bits[index * self.words + l / 64] >> (l % 64) & 1 != 0
    }

    pub(super) fn put(&mut self, index: usize, l: usize) {
        self.bits[index * self.words + l / 64] |= 1 << (l % 64);
    }

    pub(super) fn of(&self, index: usize) -> &[u64] {
        &self.bits[index * self.words..(index + 1) * self.words]
    }

    /// Adds to a set; tells whether anything was new.
    pub(super) fn add(&mut self, index: usize, more: impl Fn(usize) -> u64) -> bool {
        let range = index * self.words..(index + 1) * self.words;
        let mut changed = false;
        for (n, word) in self.bits[range].iter_mut().enumerate() {
            let all = *word | more(n);
            changed |= all != *word;
            *word = all;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_is_visited_first() {
        let mut open = Open::new(130);
        [129, 64, 3].into_iter().for_each(|n| open.insert(n));
        assert_eq!(open.pop_first(), Some(3));
        assert_eq!(open.pop_first(), Some(64));
        open.insert(0);
        open.insert(0);
        assert_eq!(open.pop_first(), Some(0));
        assert_eq!((open.pop_first(), open.pop_first()), (Some(129), None));
    }

    #[test]
    fn rows_are_there_once_they_are_reached() {
        let mut rows: Rows<u32> = Rows::new(2, 3);
        assert_eq!((rows.get(0), rows.get(2)), (None, None));
        rows.set(1, &[1, 2, 3]);
        assert_eq!(rows.get(1), Some(&[1, 2, 3][..]));
        assert_eq!(rows.reach(0), (&mut [0, 0, 0][..], false));
        assert_eq!(rows.reach(1), (&mut [1, 2, 3][..], true));
    }

    #[test]
    fn sets_tell_what_is_new() {
        let mut sets = Sets::new(2, 100);
        sets.put(1, 70);
        assert!(sets.has(1, 70) && !sets.has(0, 70) && !sets.has(1, 6));
        let other = sets.of(1).to_vec();
        assert!(sets.add(0, |n| other[n]) && sets.has(0, 70));
        assert!(!sets.add(0, |n| other[n]));
    }
}
