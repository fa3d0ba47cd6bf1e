//! Sets of logical CPUs.

use core::fmt;

/// One more than the largest CPU number a set may hold.
///
/// Linux is built for at most 8192 CPUs; the bound keeps a mistyped list such as `0-4000000000`
/// from asking for half a gigabyte.
pub const MAX_CPUS: usize = 1 << 16;

/// A set of logical CPU numbers, as the kernel numbers them.
///
/// **Invariant** (kept by this module): the last word is not zero, so that equal sets compare
/// equal.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    pub const fn new() -> Self {
        CpuSet { words: Vec::new() }
    }

    /// The set whose bit `b` of word `w` stands for CPU `64 * w + b`, the layout of the kernel's
    /// affinity masks.
    pub fn from_words(words: &[u64]) -> Self {
        let mut set = CpuSet {
            words: words[..words.len().min(MAX_CPUS / 64)].to_vec(),
        };
        set.trim();
        set
    }

    /// The set as words, in the layout of [`CpuSet::from_words`], without trailing zero words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Reads a CPU list such as `0-3,8`. An empty text is the empty set, as in sysfs.
    ///
    /// `None` when the text is anything else, or names a CPU of [`MAX_CPUS`] or above.
    pub(crate) fn parse_list(text: &str) -> Option<Self> {
        let mut set = CpuSet::new();
        let text = text.trim();
        if text.is_empty() {
            return Some(set);
        }
        for part in text.split(',') {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if first > last {
                return None;
            }
            for cpu in first..=last {
                set.insert(cpu);
            }
        }
        Some(set)
    }

    /// Adds a CPU. A number of [`MAX_CPUS`] or above is ignored.
    pub fn insert(&mut self, cpu: usize) {
        if cpu >= MAX_CPUS {
            return;
        }
        if self.words.len() <= cpu / 64 {
            self.words.resize(cpu / 64 + 1, 0);
        }
        self.words[cpu / 64] |= 1 << (cpu % 64);
    }

    /// Takes a CPU out, if it is there.
    pub fn remove(&mut self, cpu: usize) {
        if let Some(word) = self.words.get_mut(cpu / 64) {
            *word &= !(1 << (cpu % 64));
            self.trim();
        }
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        self.words
            .get(cpu / 64)
            .is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// How many CPUs are in the set.
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether no CPU is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The lowest CPU number of the set.
    pub fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// The CPU numbers, ascending.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            words: &self.words,
            at: 0,
            rest: self.words.first().copied().unwrap_or(0),
        }
    }

    /// The CPUs that are in both sets.
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        let words: Vec<u64> = self
            .words
            .iter()
            .zip(&other.words)
            .map(|(a, b)| a & b)
            .collect();
        let mut set = CpuSet { words };
        set.trim();
        set
    }

    /// The CPUs that are in this set and not in `other`.
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        let mut set = self.clone();
        for (a, b) in set.words.iter_mut().zip(&other.words) {
            *a &= !b;
        }
        set.trim();
        set
    }

    /// Adds every CPU of `other`.
    pub fn extend_from(&mut self, other: &CpuSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a |= b;
        }
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

/// A CPU number: decimal digits only (`str::parse` would also take a sign).
fn number(text: &str) -> Option<usize> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|&cpu: &usize| cpu < MAX_CPUS)
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

impl<'a> IntoIterator for &'a CpuSet {
    type Item = usize;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Ascending CPU numbers of a [`CpuSet`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    words: &'a [u64],
    at: usize,
    rest: u64,
}

impl Iterator for Iter<'_> {
    type Item = usize;
    fn next(&mut self) -> Option<usize> {
        while self.rest == 0 {
            self.at += 1;
            self.rest = *self.words.get(self.at)?;
        }
        let bit = self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(self.at * 64 + bit)
    }
}

/// Prints the list form that `CpuSet::parse_list` reads: `0-3,8`; nothing for the empty set.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_read_and_print() {
        for text in ["", "0", "0-3,8", "1,3,5", "63-64,128", "1023-1025,8191"] {
            assert_eq!(CpuSet::parse_list(text).expect(text).to_string(), text);
        }
        assert_eq!(
            CpuSet::parse_list(" 3,1-2,2\n").expect("list").to_string(),
            "1-3"
        );
        for text in [
            "-1",
            "3-1",
            "a",
            "1,,2",
            "+1",
            "1-",
            ",",
            "65536",
            "0-4000000000",
            "1 2",
        ] {
            assert_eq!(CpuSet::parse_list(text), None, "{text:?}");
        }
    }

    #[test]
    fn equal_sets_compare_equal_after_removal() {
        let mut set: CpuSet = [1, 200].into_iter().collect();
        set.remove(200);
        set.remove(5000);
        assert_eq!(set, CpuSet::parse_list("1").expect("list"));
        set.remove(1);
        assert!(set.is_empty());
        assert_eq!(set.first(), None);
    }

    proptest! {
        #[test]
        fn set_operations_match_a_model(
            a in proptest::collection::btree_set(0usize..300, 0..40),
            b in proptest::collection::btree_set(0usize..300, 0..40),
        ) {
            let (sa, sb): (CpuSet, CpuSet) =
                (a.iter().copied().collect(), b.iter().copied().collect());
            prop_assert_eq!(sa.iter().collect::<Vec<_>>(), a.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(sa.count(), a.len());
            prop_assert_eq!(
                sa.intersection(&sb),
                a.intersection(&b).copied().collect::<CpuSet>()
            );
            prop_assert_eq!(
                sa.difference(&sb),
                a.difference(&b).copied().collect::<CpuSet>()
            );
            let mut union = sa.clone();
            union.extend_from(&sb);
            prop_assert_eq!(union, a.union(&b).copied().collect::<CpuSet>());
            prop_assert_eq!(CpuSet::parse_list(&sa.to_string()), Some(sa.clone()));
            prop_assert_eq!(CpuSet::from_words(sa.words()), sa);
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = CpuSet::parse_list(&text);
        }
    }
}
