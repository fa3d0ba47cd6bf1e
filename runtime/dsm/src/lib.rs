//! `hetmp-dsm`: memory that several processes share page by page, where no hardware keeps their copies coherent.
//!
//! * **What it is**: a software distributed shared memory. Each process (a *node*) has its own copy of a shared range.
//!   A copy's page may be absent, readable or writable; at any time a page has one writer or any number of readers.
//!   Where threads can tell each other nothing meanwhile, several nodes may write different bytes of it ([`directory`],
//!   "Pages that are lent").
//!   The paper's DSM is in the Popcorn Linux kernel; this one is in user space, for kernels as they come. Source:
//!   Lyerly et al., "An OpenMP Runtime for Transparent Work Sharing across Cache-Incoherent Heterogeneous Nodes".
//! * **What it owns**: the rights of each node to each page ([`protocol`]), the order of requests
//!   ([`directory`]), the mappings of the shared ranges and their protection ([`space`], [`backend`]), the
//!   threads that serve faults and messages ([`driver`]; each node's own, `pages`, or those of one server for all nodes
//!   of a machine, `server`), copies of a memory that nodes share without coherence ([`pool`]), and what OpenMP does
//!   across nodes: regions, barriers, locks, loops ([`together`]).
//! * **Data in**: page faults of this node's threads, messages of peers, the end of holds. **Data out**: messages,
//!   changes of a page's protection, threads that go on.
//!
//! The protocol is a pure state machine: no thread, no clock, no system call. The driver carries its messages
//! over a port of [`hetmp_nic::job`], between processes that [`fork`] made or a launcher started.
//!
//! Words. A *page* is named by its number in the shared range. Its *home* is the node that keeps its directory entry;
//! its first home is its first owner. An *access* is what a node may do with its copy: nothing, read, or read and
//! write. A *hold* keeps a page that was just granted until the thread that asked has used it.

pub mod backend;
mod by_page;
mod counts;
pub mod directory;
pub mod driver;
pub mod fork;
mod holds;
mod loans;
mod meeting;
pub mod message;
mod pages;
pub mod pool;
mod prompt;
pub mod protocol;
mod server;
mod sets;
pub mod space;
pub mod tables;
pub mod together;
mod touches;
mod waiting;

pub use counts::Counts;
pub use holds::Keep;
pub use loans::Lending;
pub use message::Message;
pub use protocol::{Action, Node, Violation};

/// Bytes of a page that nodes hold and pass on.
pub const PAGE: usize = 4096;

/// Whether this kernel can protect such a page alone.
///
/// # Errors
/// One line: its pages are larger.
pub fn fits_kernel() -> Result<(), String> {
    match hetmp_core::page::size() {
        PAGE => Ok(()),
        size => Err(format!(
            "this kernel's pages have {size} bytes (expected a kernel with pages of {PAGE})"
        )),
    }
}

/// A node's number; the origin, which runs `main`, is 0.
pub type NodeId = u8;

/// Most nodes: a set of nodes is one word.
pub(crate) const MAX_NODES: usize = 64;

/// What a node may do with its copy of a page. Ordered: more rights are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// The copy is out of date, or was never there.
    None,
    /// Other nodes may read, too; nobody writes.
    Read,
    /// No other node has a valid copy.
    Write,
}

/// Which node is the first home of which page, and whether homes move ([`directory`], "Usual writers").
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Homes {
    /// A page's home may move, once.
    move_once: bool,
    /// For each run of pages: its first page, and the home of all its pages. Ascending; the first run begins
    /// at 0.
    runs: Vec<(u64, NodeId)>,
}

impl Homes {
    /// One node is the home of all pages, and stays so.
    pub fn all_at(node: NodeId) -> Homes {
        Homes {
            move_once: false,
            runs: vec![(0, node)],
        }
    }

    /// Makes `node` the home of the pages from `first` on, up to the next run. Runs are given in ascending
    /// order.
    #[must_use]
    pub fn then(mut self, first: u64, node: NodeId) -> Homes {
        debug_assert!(self.runs.last().is_none_or(|r| r.0 < first));
        self.runs.push((first, node));
        self
    }

    /// The same, where homes may move.
    #[must_use]
    pub fn that_move(self) -> Homes {
        Homes {
            move_once: true,
            ..self
        }
    }

    /// The first home of a page.
    pub fn of(&self, page: u64) -> NodeId {
        let after = self.runs.partition_point(|r| r.0 <= page);
        self.runs[after.max(1) - 1].1
    }
}

/// A set of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeSet(u64);

impl NodeSet {
    /// The set of one node.
    pub fn only(node: NodeId) -> NodeSet {
        NodeSet(1 << (node & 63))
    }

    /// Is the node in the set?
    pub fn has(self, node: NodeId) -> bool {
        self.0 & NodeSet::only(node).0 != 0
    }

    /// The set with the node added.
    #[must_use]
    pub fn with(self, node: NodeId) -> NodeSet {
        NodeSet(self.0 | NodeSet::only(node).0)
    }

    /// The set with the node removed.
    #[must_use]
    pub fn without(self, node: NodeId) -> NodeSet {
        NodeSet(self.0 & !NodeSet::only(node).0)
    }

    /// Is the set empty?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of nodes in the set.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The member with the lowest number.
    pub fn first(self) -> Option<NodeId> {
        (!self.is_empty()).then(|| self.0.trailing_zeros() as NodeId)
    }

    /// The first member whose number is at least `from`, or else the first of all.
    pub(crate) fn first_from(self, from: NodeId) -> Option<NodeId> {
        let above = NodeSet(self.0.checked_shr(from.into()).unwrap_or(0));
        above.first().map(|n| n + from).or(self.first())
    }

    /// The set's members, ascending.
    pub fn iter(self) -> impl Iterator<Item = NodeId> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let next = NodeSet(left).first()?;
            left &= left - 1;
            Some(next)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_homes() {
        let homes = Homes::all_at(0).then(10, 2).then(20, 1);
        let found: Vec<NodeId> = [0, 9, 10, 19, 20, 1 << 40].map(|p| homes.of(p)).into();
        assert_eq!(found, [0, 0, 2, 2, 1, 1]);
    }

    #[test]
    fn sets_go_round() {
        let set = NodeSet::only(3).with(63);
        assert_eq!(set.first_from(4), Some(63));
        assert_eq!(set.without(63).first_from(4), Some(3));
        assert_eq!(set.first_from(64), Some(3));
        assert_eq!(NodeSet::default().first_from(1), None);
        assert_eq!(
            (set.len(), set.iter().collect::<Vec<_>>()),
            (2, vec![3, 63])
        );
    }
}
