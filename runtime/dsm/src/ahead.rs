//! Which pages a node will want next.
//!
//! A node that comes to new data faults on one page after the other, and each fault wakes two threads, which takes longer
//! than the page's way. So after [`LEAST`] faults on successive pages the server lets the next pages come along, half as
//! many as have come so far and at most [`MOST`]. If the node then stops, where its part of an array ends, what came in vain is
//! at most half of what it needed.
//!
//! Nothing here knows who else writes the pages. Where nodes fight for pages, more of them are taken from their writers, so
//! this is off unless the user asks for it.
//!
//! Pure: faults come in, numbers of pages go out.
#![forbid(unsafe_code)]

use crate::Access;

/// Successive pages before the next ones come along.
const LEAST: u64 = 4;
/// Pages that come along with one fault.
const MOST: u64 = 8;
/// Successions that a node is in at once: its threads read and write several arrays.
const SUCCESSIONS: usize = 8;

/// Pages that were wanted one after the other.
#[derive(Clone, Copy, Debug)]
struct Succession {
    access: Access,
    /// The page behind the last one that has come.
    next: u64,
    /// Pages that have come.
    len: u64,
    /// When it last went on, as a count of faults.
    when: u64,
}

/// What one node has wanted lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ahead {
    successions: Vec<Succession>,
    faults: u64,
}

impl Ahead {
    /// A thread wants `page`, which is on another node. Returns how many of the pages behind it are to come along;
    /// [`Ahead::came`] tells how many did.
    pub(crate) fn fault(&mut self, page: u64, access: Access) -> u64 {
        self.faults += 1;
        let fresh = Succession {
            access,
            next: page + 1,
            len: 1,
            when: self.faults,
        };
        let goes_on = |s: &&mut Succession| s.next == page && s.access == access;
        if let Some(s) = self.successions.iter_mut().find(goes_on) {
            (s.next, s.len, s.when) = (page + 1, s.len + 1, self.faults);
            return if s.len < LEAST {
                0
            } else {
                (s.len / 2).min(MOST)
            };
        }
        if self.successions.len() < SUCCESSIONS {
            self.successions.push(fresh);
        } else if let Some(oldest) = self.successions.iter_mut().min_by_key(|s| s.when) {
            *oldest = fresh;
        }
        0
    }

    /// `count` pages came along behind `page`.
    pub(crate) fn came(&mut self, page: u64, count: u64) {
        if let Some(s) = self.successions.iter_mut().find(|s| s.next == page + 1) {
            s.next += count;
            s.len += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults of a node that wants the pages in this order.
    fn faults(pages: impl Iterator<Item = u64>) -> (u64, std::collections::BTreeSet<u64>) {
        let mut ahead = Ahead::default();
        let (mut count, mut here) = (0, std::collections::BTreeSet::new());
        for page in pages {
            if here.insert(page) {
                count += 1;
                let more = ahead.fault(page, Access::Read);
                here.extend(page + 1..=page + more);
                ahead.came(page, more);
            }
        }
        (count, here)
    }

    #[test]
    fn pages_in_succession_come_along() {
        let (count, here) = faults(0..1000);
        assert!(count < 125, "{count}");
        assert!(here.len() <= 1000 + MOST as usize);
        // Three arrays at once.
        let (count, _) = faults((0..1000).flat_map(|i| [i, 10_000 + i, 20_000 + i]));
        assert!(count < 3 * 125, "{count}");
    }

    #[test]
    fn what_comes_in_vain_is_at_most_half() {
        for len in 1..100 {
            let (_, here) = faults(0..len);
            assert!(here.len() as u64 <= len + len / 2, "{len}: {here:?}");
        }
    }

    #[test]
    fn other_orders_bring_nothing_along() {
        let (count, _) = faults((0..500).map(|i| i * 7919 % 100_003));
        assert_eq!(count, 500);
        let (count, _) = faults((0..500).rev());
        assert_eq!(count, 500);
        let (count, _) = faults((0..500).map(|i| 2 * i));
        assert_eq!(count, 500);
    }
}
