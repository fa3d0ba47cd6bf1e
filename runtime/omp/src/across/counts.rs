//! How often a node has had to fetch pages, and how long it has waited for them.

use super::table::{counts, Table};

/// Events of one node, the counts that [`Table::counts`] writes; and what this node has touched.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts([u64; 7], u64);

impl Counts {
    /// Faults that asked another node for a page to read.
    pub(super) fn reads(self) -> u64 {
        self.0[0]
    }

    /// Faults that asked another node for a page to write.
    pub(super) fn writes(self) -> u64 {
        self.0[1]
    }

    /// Pages sent to other nodes.
    pub(super) fn sent(self) -> u64 {
        self.0[2]
    }

    /// Pages taken away by other nodes.
    pub(super) fn lost(self) -> u64 {
        self.0[3]
    }

    /// Nanoseconds from a fault's arrival to the page's, summed over faults.
    pub(super) fn waited_ns(self) -> u64 {
        self.0[4]
    }

    /// Pages that came along with others.
    pub(super) fn along(self) -> u64 {
        self.0[5]
    }

    /// Copies of pages that were lent to it.
    pub(super) fn lent(self) -> u64 {
        self.0[6]
    }

    /// This node's.
    pub(super) fn own(t: &Table) -> Counts {
        Counts::of(t, t.me)
    }

    pub(super) fn of(t: &Table, node: u32) -> Counts {
        let words = counts(t, node);
        let [a, b, c, d, e, .., touched, along, lent] = words;
        Counts([a, b, c, d, e, along, lent], touched)
    }

    /// Faults that asked another node.
    pub(super) fn faults(self) -> u64 {
        self.reads() + self.writes()
    }

    /// Pages of its own that this node has touched.
    pub(super) fn touched(self) -> u64 {
        self.1
    }

    pub(super) fn since(self, before: Counts) -> Counts {
        let since = core::array::from_fn(|i| self.0[i].saturating_sub(before.0[i]));
        Counts(since, self.1)
    }

    pub(super) fn add(&mut self, more: Counts) {
        for (sum, word) in self.0.iter_mut().zip(more.0) {
            *sum += word;
        }
    }

    pub(super) fn text(self) -> String {
        format!(
            "{} read faults, {} write faults, {} pages along, {} lent, {} KiB moved, {} pages taken away, {} us waited",
            self.reads(),
            self.writes(),
            self.along(),
            self.lent(),
            self.sent() * 4,
            self.lost(),
            self.waited_ns() / 1000
        )
    }

    pub(super) fn json(self) -> String {
        format!(
            "\"read_faults\":{},\"write_faults\":{},\"pages_along\":{},\"bytes_sent\":{},\"pages_taken_away\":{},\
             \"waited_ns\":{}",
            self.reads(),
            self.writes(),
            self.along(),
            self.sent() * 4096,
            self.lost(),
            self.waited_ns()
        )
    }
}
