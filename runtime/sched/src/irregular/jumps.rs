//! Iterations that are not contiguous: disjoint ranges in increasing order.
//!
//! The paper calls the gaps between the ranges *jumps*. They appear when the rests of the nodes' shares are
//! gathered, and there can be any number of them.

use crate::csr;
use crate::ranges::Range;
use std::collections::VecDeque;

/// Disjoint ranges in increasing order, none empty, no two adjacent.
#[derive(Debug, Default)]
pub struct Jumps {
    ranges: VecDeque<Range>,
    len: u64,
}

impl Jumps {
    /// Number of iterations.
    #[inline]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.len = 0;
    }

    /// Adds a range behind all others.
    pub fn push(&mut self, r: Range) {
        if r.is_empty() {
            return;
        }
        self.len += r.len();
        match self.ranges.back_mut() {
            Some(last) if last.end == r.start => last.end = r.end,
            last => {
                debug_assert!(last.is_none_or(|l| l.end < r.start));
                self.ranges.push_back(r);
            }
        }
    }

    /// The first iteration.
    pub fn start(&self) -> Option<u64> {
        self.ranges.front().map(|r| r.start)
    }

    /// Appends the ranges of `more`, which lie behind all ranges here, and empties it.
    pub fn append(&mut self, more: &mut Jumps) {
        for r in more.ranges.drain(..) {
            self.push(r);
        }
        more.len = 0;
    }

    /// Fills this empty queue with ranges given in any order. Empties `loose`.
    pub fn gather(&mut self, loose: &mut Vec<Range>) {
        debug_assert!(self.is_empty());
        loose.sort_unstable_by_key(|r| r.start);
        for r in loose.drain(..) {
            self.push(r);
        }
    }

    /// Moves all ranges to `out`.
    pub fn drain_to(&mut self, out: &mut Vec<Range>) {
        out.extend(self.ranges.drain(..));
        self.len = 0;
    }

    /// Takes `count` iterations from the front, or fewer at the end. Returns the first range; ranges that
    /// follow after jumps go to `rest`, in order.
    #[inline]
    pub fn take(&mut self, count: u64, rest: &mut VecDeque<Range>) -> Option<Range> {
        let mut count = count.min(self.len);
        if count == 0 {
            return None;
        }
        let first = self.front(count);
        count -= first.len();
        while count > 0 {
            let next = self.front(count);
            count -= next.len();
            rest.push_back(next);
        }
        Some(first)
    }

    /// Takes up to `count` iterations of the first range, which must exist.
    #[inline]
    fn front(&mut self, count: u64) -> Range {
        let head = &mut self.ranges[0];
        let start = head.start;
        let part = if head.len() <= count {
            let part = *head;
            self.ranges.pop_front();
            part
        } else {
            head.start += count;
            Range {
                start,
                end: start + count,
            }
        };
        self.len -= part.len();
        part
    }

    /// Takes `count` iterations from the far end, or all if there are fewer.
    pub fn take_back(&mut self, count: u64) -> Jumps {
        let mut count = count.min(self.len);
        let mut out = Jumps::default();
        while count > 0 {
            let Some(tail) = self.ranges.back_mut() else {
                break;
            };
            let part = if tail.len() <= count {
                let part = *tail;
                self.ranges.pop_back();
                part
            } else {
                tail.end -= count;
                Range {
                    start: tail.end,
                    end: tail.end + count,
                }
            };
            self.len -= part.len();
            count -= part.len();
            out.len += part.len();
            out.ranges.push_front(part);
        }
        out
    }

    /// Cuts at the places `starts`, which increase, into one part for each. Iterations before the second
    /// place belong to the first part. Leaves this queue empty.
    pub(crate) fn cut(&mut self, starts: &[u64]) -> Vec<Jumps> {
        let mut parts: Vec<Jumps> = starts.iter().map(|_| Jumps::default()).collect();
        let mut at = 0;
        for mut r in self.ranges.drain(..) {
            while let Some(&next) = starts.get(at + 1) {
                if r.end <= next {
                    break;
                }
                if r.start < next {
                    parts[at].push(Range {
                        start: r.start,
                        end: next,
                    });
                    r.start = next;
                }
                at += 1;
            }
            parts[at].push(r);
        }
        self.len = 0;
        parts
    }

    /// Cuts into parts proportional to `weights`, in order. Leaves this queue empty.
    pub fn split<W>(&mut self, weights: W) -> Vec<Jumps>
    where
        W: Iterator<Item = f64> + Clone,
    {
        let all = Range {
            start: 0,
            end: self.len,
        };
        csr::split(all, weights)
            .map(|part| {
                let mut out = Jumps::default();
                let mut left = part.len();
                while left > 0 {
                    let r = self.front(left);
                    left -= r.len();
                    out.push(r);
                }
                out
            })
            .collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(j: &Jumps) -> Vec<(u64, u64)> {
        j.ranges.iter().map(|r| (r.start, r.end)).collect()
    }

    fn queue(ranges: &[(u64, u64)]) -> Jumps {
        let mut j = Jumps::default();
        let mut loose = ranges.iter().map(|&(s, e)| Range::new(s, e)).collect();
        j.gather(&mut loose);
        j
    }

    #[test]
    fn an_allotment_with_jumps() {
        // The paper's figure: 100 iterations, some of which are done.
        let mut j = queue(&[(60, 100), (10, 30), (30, 35), (40, 45)]);
        assert_eq!(list(&j), [(10, 35), (40, 45), (60, 100)]);
        assert_eq!(j.len(), 70);
        let mut rest = VecDeque::new();
        assert_eq!(j.take(20, &mut rest), Some(Range::new(10, 30)));
        assert!(rest.is_empty());
        assert_eq!(j.take(12, &mut rest), Some(Range::new(30, 35)));
        assert_eq!(rest, [Range::new(40, 45), Range::new(60, 62)]);
        let tail = j.take_back(8);
        assert_eq!(list(&tail), [(92, 100)]);
        assert_eq!((j.len(), list(&j)), (30, vec![(62, 92)]));
        rest.clear();
        assert_eq!(j.take(u64::MAX, &mut rest), Some(Range::new(62, 92)));
        assert_eq!(j.take(1, &mut rest), None);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(cuts in prop::collection::btree_set(0u64..1000, 2..40), big: bool,
                           weights in prop::collection::vec(0.0f64..4.0, 1..6), back in 0u64..300) {
            let scale = if big { u64::MAX / 1000 } else { 1 };
            let cuts: Vec<u64> = cuts.into_iter().map(|c| c * scale).collect();
            let ranges: Vec<(u64, u64)> = cuts.chunks_exact(2).map(|c| (c[0], c[1])).collect();
            let mut j = queue(&ranges);
            let all: u64 = ranges.iter().map(|(s, e)| e - s).sum();
            prop_assert_eq!(j.len(), all);
            let tail = j.take_back(back * scale);
            let mut got = Vec::new();
            for mut part in j.split(weights.iter().copied()) {
                let mut rest = VecDeque::new();
                while let Some(first) = part.take(7 * scale, &mut rest) {
                    got.push((first.start, first.end));
                    got.extend(rest.drain(..).map(|r| (r.start, r.end)));
                }
            }
            got.extend(list(&tail));
            prop_assert!(j.is_empty());
            prop_assert_eq!(got.iter().map(|(s, e)| e - s).sum::<u64>(), all);
            prop_assert!(got.windows(2).all(|w| w[0].1 <= w[1].0), "in order: {:?}", got);
        }
    }
}
