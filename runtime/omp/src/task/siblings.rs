//! The graph of dependences among sibling tasks (OpenMP 5.1, section 2.19.11).
//!
//! The parent keeps a [`Site`] for each address that its children named. A site has two groups of children:
//! the last group of children that may run at the same time (readers; members of an inoutset; or one writer),
//! and the group before it. A new child either joins the last group, and waits for the group before, or
//! starts a new group and waits for the last group.
//!
//! Only the thread that runs the parent touches the sites. A completing child meets that thread at the
//! child's [`Node`]: its list of [`Successors`] is closed when the child completes.

use super::record::Task;
use super::recycle::{Depot, Record};
use super::sleep::Sleep;
use super::successors::{one_less, Edge, Successors};
use crate::thread::Thread;
use crate::tool::{self, interface::Data};
use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;
use hetmp_core::hash::HashMap;
use hetmp_core::sync::{AtomicU32, Ordering};

/// The kinds of the `depend` clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `in`: runs together with other `in` tasks.
    In,
    /// `out` and `inout`: runs alone.
    Out,
    /// `mutexinoutset`: its members exclude each other. Putting them in an order, as with `out`, achieves that.
    MutexInOutSet,
    /// `inoutset`: runs together with members of the same set, after and before everything else.
    InOutSet,
}

impl Kind {
    /// The kind that has the same order among siblings.
    fn order(self) -> Kind {
        match self {
            Kind::MutexInOutSet => Kind::Out,
            kind => kind,
        }
    }
}

/// The address that stands for all memory (`omp_all_memory`, OpenMP 5.1, section 2.19.11): a task that names
/// it comes after every earlier sibling with dependences, and before every later one.
pub const EVERYWHERE: usize = usize::MAX;

/// One list item of a `depend` clause.
#[derive(Clone, Copy, Debug)]
pub struct Dependence {
    /// The storage location.
    pub address: usize,
    /// How it is used.
    pub kind: Kind,
}

/// A child with dependences, as its siblings see it. A node outlives its task.
#[derive(Debug)]
pub(crate) struct Node {
    /// References to this node: by the task, the sites, and edges.
    count: AtomicU32,
    /// Links free nodes.
    next_free: Cell<*mut Node>,
    /// The task, until it is complete. Null for a wait of the parent itself.
    pub(super) task: Cell<*const Task>,
    /// Predecessors that are not complete, plus one while the maker still adds some.
    pub(super) missing: AtomicU32,
    successors: Successors<Node>,
    /// The sleep to nudge when `missing` becomes 0 and there is no task.
    pub(super) waiter: Cell<*const Sleep>,
    /// A copy of the tool's word of the task. The task's own may be gone while the node is still looked at.
    pub(super) told: Data,
    /// Edges *to* this node, linked into the lists of its predecessors; most nodes need no others. Used by
    /// the maker only, in order.
    own_edges: [UnsafeCell<Edge<Node>>; OWN_EDGES],
    used_edges: Cell<usize>,
}

/// Predecessors that a node can have before each needs an allocation.
const OWN_EDGES: usize = 3;

// SAFETY: the cells are written before the node is shared and only read after. An edge is written by the
// maker before it is linked, and read by the thread that takes the list. Everything else is atomic.
unsafe impl Send for Node {}
// SAFETY: the cells are written before the node is shared; an edge goes from the maker to one taker; the rest
// is atomic.
unsafe impl Sync for Node {}

impl Node {
    pub(super) fn make(task: *const Task, waiter: *const Sleep) -> NodeRef {
        NodeRef::new(Node {
            count: AtomicU32::new(1),
            next_free: Cell::new(core::ptr::null_mut()),
            task: Cell::new(task),
            missing: AtomicU32::new(1),
            successors: Successors::new(),
            waiter: Cell::new(waiter),
            told: Data::new(),
            own_edges: [const { UnsafeCell::new(Edge::NONE) }; OWN_EDGES],
            used_edges: Cell::new(0),
        })
    }

    fn is_complete(&self) -> bool {
        self.successors.is_closed()
    }

    /// An edge that leads to this node and is not linked yet. It holds one reference to the node.
    fn edge_to(this: &NodeRef) -> *mut Edge<Node> {
        let to = NodeRef::clone(this).into_raw();
        let used = this.used_edges.get();
        if let Some(own) = this.own_edges.get(used) {
            this.used_edges.set(used + 1);
            let edge = own.get();
            // SAFETY: edges of a node are given out once, by its maker.
            unsafe { (*edge).to = to };
            edge
        } else {
            Box::into_raw(Box::new(Edge {
                to,
                boxed: true,
                ..Edge::NONE
            }))
        }
    }

    /// Takes the reference that an edge holds; the edge is gone.
    ///
    /// # Safety
    /// The edge comes from `edge_to`, and nobody else has it.
    unsafe fn follow_edge(edge: *mut Edge<Node>) -> NodeRef {
        // SAFETY: by this function's contract the edge was taken from a list and is followed once. The box is
        // freed before the node, inside which an edge without a box would lie.
        unsafe {
            let to = (*edge).to;
            if (*edge).boxed {
                drop(Box::from_raw(edge));
            }
            NodeRef::from_raw(to)
        }
    }

    /// Makes `to` wait for this node, unless it is complete.
    fn precede(&self, to: &NodeRef) {
        if self.is_complete() {
            return;
        }
        if tool::on() {
            tool::tasks::waits_for(&self.told, &to.told);
        }
        let edge = Node::edge_to(to);
        // SAFETY: the edge is new, and lives until `follow_edge`.
        if !unsafe { self.successors.add(edge, &to.missing) } {
            // SAFETY: the edge was not linked.
            drop(unsafe { Node::follow_edge(edge) });
        }
    }

    /// Closes the list and hands every successor to `each`.
    pub(super) fn close(&self, mut each: impl FnMut(NodeRef)) {
        self.successors.close(|edge| {
            // SAFETY: the edge was in the list, and is followed once.
            each(unsafe { Node::follow_edge(edge) });
        });
    }

    /// Counts one predecessor less. True when it was the last.
    pub(super) fn one_less(&self) -> bool {
        one_less(&self.missing)
    }
}

static DEPOT: Depot<Node> = Depot::new();

// SAFETY: a free record refers to nothing that belongs to a thread.
unsafe impl Record for Node {
    #[inline]
    fn next(&self) -> &Cell<*mut Node> {
        &self.next_free
    }
    unsafe fn dispose(this: *mut Node) {
        // SAFETY: nodes are boxed, and by the trait's contract nobody uses this one.
        drop(unsafe { Box::from_raw(this) });
    }
    fn depot() -> &'static Depot<Node> {
        &DEPOT
    }
}

/// A counted reference to a node. It is no `Arc`, because nodes are recycled.
#[derive(Debug)]
pub(super) struct NodeRef(NonNull<Node>);

impl NodeRef {
    fn new(node: Node) -> NodeRef {
        let kept = Thread::try_current().and_then(|th| th.cache.nodes.take());
        match kept.and_then(NonNull::new) {
            Some(p) => {
                // SAFETY: a free node is memory of the right size and alignment, and has nothing to drop.
                unsafe { p.write(node) };
                NodeRef(p)
            }
            None => NodeRef(NonNull::from(Box::leak(Box::new(node)))),
        }
    }

    fn same(a: &NodeRef, b: &NodeRef) -> bool {
        a.0 == b.0
    }

    pub(super) fn into_raw(self) -> *const Node {
        let p = self.0.as_ptr();
        core::mem::forget(self);
        p
    }

    /// # Safety
    /// `p` comes from `into_raw`, once.
    pub(super) unsafe fn from_raw(p: *const Node) -> NodeRef {
        // SAFETY: `into_raw` never gives null.
        NodeRef(unsafe { NonNull::new_unchecked(p.cast_mut()) })
    }
}

impl core::ops::Deref for NodeRef {
    type Target = Node;
    #[inline]
    fn deref(&self) -> &Node {
        // SAFETY: this reference is counted, so the node lives.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for NodeRef {
    #[inline]
    fn clone(&self) -> NodeRef {
        // Relaxed, as in `Arc`: the reference that is cloned keeps the node alive.
        self.count.fetch_add(1, Ordering::Relaxed);
        NodeRef(self.0)
    }
}

impl Drop for NodeRef {
    #[inline]
    fn drop(&mut self) {
        // AcqRel: what others did through their references comes before the reuse.
        if self.count.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        // A node whose task never ran (it was cancelled, or there is none) still has its successors.
        self.close(|_| {});
        let p = self.0.as_ptr();
        match Thread::try_current() {
            // SAFETY: that was the last reference.
            Some(th) => unsafe { th.cache.nodes.give(p) },
            // SAFETY: that was the last reference.
            None => unsafe { Node::dispose(p) },
        }
    }
}

/// Siblings that may run at the same time; nearly always one.
#[derive(Debug, Default)]
struct Peers {
    first: Option<NodeRef>,
    more: Vec<NodeRef>,
}

impl Peers {
    fn iter(&self) -> impl Iterator<Item = &NodeRef> {
        self.first.iter().chain(&self.more)
    }

    fn push(&mut self, node: NodeRef) {
        if self.first.is_none() {
            self.first = Some(node);
            return;
        }
        // Long lists of readers consist mostly of complete ones.
        if self.more.len() >= 32 && self.more.len().is_power_of_two() {
            self.more.retain(|n| !n.is_complete());
        }
        self.more.push(node);
    }

    fn contains(&self, node: &NodeRef) -> bool {
        self.iter().any(|n| NodeRef::same(n, node))
    }
}

/// The uses of one address by the children of a task.
#[derive(Debug)]
struct Site {
    kind: Kind,
    last: Peers,
    before: Peers,
}

/// The dependences among the children of one task.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    sites: HashMap<usize, Site>,
    /// The predecessors that were last given to the child being added. A predecessor that stands at several
    /// of the child's addresses needs only one edge.
    recent: Recent,
    /// Some child depends on all memory ([`EVERYWHERE`] has a site). From then on every child with
    /// dependences also reads that site.
    everywhere: bool,
}

/// The last few predecessors of one child.
#[derive(Debug, Default)]
struct Recent {
    nodes: [Cell<Option<NonNull<Node>>>; 4],
    next: Cell<usize>,
}

impl Recent {
    fn forget(&self) {
        self.nodes.iter().for_each(|n| n.set(None));
    }

    /// Makes `to` wait for `n`, unless that was done for one of the last addresses.
    fn precede(&self, n: &NodeRef, to: &NodeRef) {
        let p = Some(n.0);
        if self.nodes.iter().any(|seen| seen.get() == p) {
            return;
        }
        self.nodes[self.next.get()].set(p);
        self.next.set((self.next.get() + 1) % self.nodes.len());
        n.precede(to);
    }
}

/// Once a child has named all memory: the dependence on it of every child that does not name it.
const AMONG_ALL: Dependence = Dependence {
    address: EVERYWHERE,
    kind: Kind::In,
};

impl Sites {
    /// Adds the edges from earlier children to `node`, and `node` to the sites.
    pub(super) fn add(&mut self, node: &NodeRef, list: &[Dependence]) {
        if let Some(all) = list.iter().find(|d| d.address == EVERYWHERE) {
            // All memory includes every other address that the task names.
            self.begin_everywhere();
            self.recent.forget();
            self.add_one(node, all);
            return;
        }
        self.recent.forget();
        for d in list {
            self.add_one(node, d);
        }
        if self.everywhere && !list.is_empty() {
            self.add_one(node, &AMONG_ALL);
        }
    }

    fn add_one(&mut self, node: &NodeRef, d: &Dependence) {
        let kind = d.kind.order();
        let site = self.sites.entry(d.address).or_insert_with(|| Site {
            kind,
            last: Peers::default(),
            before: Peers::default(),
        });
        if site.last.contains(node) {
            // One task names the address twice: the stronger use counts, and the task never waits for itself.
            if site.kind != kind {
                Self::own(site, node, &self.recent);
            }
            return;
        }
        let joins = kind != Kind::Out && site.kind == kind;
        if !joins {
            site.before = core::mem::take(&mut site.last);
            site.kind = kind;
        }
        for n in site.before.iter() {
            self.recent.precede(n, node);
        }
        site.last.push(NodeRef::clone(node));
    }

    /// Makes the site of all memory, as if every child so far had read it.
    fn begin_everywhere(&mut self) {
        if self.everywhere {
            return;
        }
        let mut last = Peers::default();
        for n in self.children().filter(|n| !n.is_complete()) {
            last.push(NodeRef::clone(n));
        }
        self.everywhere = true;
        let site = Site {
            kind: Kind::In,
            last,
            before: Peers::default(),
        };
        self.sites.insert(EVERYWHERE, site);
    }

    /// The children that later ones may have to wait for. A child with several dependences comes several
    /// times.
    fn children(&self) -> impl Iterator<Item = &NodeRef> {
        self.sites
            .values()
            .flat_map(|site| site.before.iter().chain(site.last.iter()))
    }

    /// `node`, a member of the site's last group, becomes its only writer.
    fn own(site: &mut Site, node: &NodeRef, recent: &Recent) {
        let mut others = Peers::default();
        for n in site.last.iter().filter(|n| !NodeRef::same(n, node)) {
            recent.precede(n, node);
            others.push(NodeRef::clone(n));
        }
        site.before = others;
        site.last = Peers::default();
        site.last.push(NodeRef::clone(node));
        site.kind = Kind::Out;
    }

    /// Adds the edges from earlier children to `node`, which stands for a wait of the parent and is no child.
    pub(super) fn follow(&self, node: &NodeRef, list: &[Dependence]) {
        if list.iter().any(|d| d.address == EVERYWHERE) {
            self.children().for_each(|n| n.precede(node));
            return;
        }
        let among_all = Some(AMONG_ALL).filter(|_| self.everywhere && !list.is_empty());
        for d in list.iter().chain(&among_all) {
            let Some(site) = self.sites.get(&d.address) else {
                continue;
            };
            let kind = d.kind.order();
            let joins = kind != Kind::Out && site.kind == kind;
            let group = if joins { &site.before } else { &site.last };
            for n in group.iter() {
                n.precede(node);
            }
        }
    }
}

/// For programs that look at the graph of dependences: the address of the task's node, null without
/// dependences, and the address of its list of successors, null without any. The list belongs to the engine,
/// and changes as tasks are made and end.
///
/// # Safety
/// The task is not complete.
pub(super) unsafe fn look(t: &Task) -> (*const libc::c_void, *const libc::c_void) {
    let node = t.node.get();
    // SAFETY: a task that is not complete holds a reference to its node.
    let Some(n) = (unsafe { node.as_ref() }) else {
        return (core::ptr::null(), core::ptr::null());
    };
    (node.cast(), n.successors.first().cast_const().cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> NodeRef {
        Node::make(core::ptr::null(), core::ptr::null())
    }

    fn dep(address: usize, kind: Kind) -> [Dependence; 1] {
        [Dependence { address, kind }]
    }

    fn missing(n: &Node) -> u32 {
        n.missing.load(Ordering::Relaxed) - 1
    }

    #[test]
    fn readers_run_together_between_writers() {
        let mut s = Sites::default();
        let (w1, r1, r2, w2) = (node(), node(), node(), node());
        s.add(&w1, &dep(8, Kind::Out));
        s.add(&r1, &dep(8, Kind::In));
        s.add(&r2, &dep(8, Kind::In));
        s.add(&w2, &dep(8, Kind::Out));
        assert_eq!([&w1, &r1, &r2, &w2].map(|n| missing(n)), [0, 1, 1, 2]);
        let mut released = 0;
        w1.close(|n| {
            n.one_less();
            released += 1;
        });
        assert_eq!(released, 2);
        assert_eq!([&r1, &r2, &w2].map(|n| missing(n)), [0, 0, 2]);
    }

    #[test]
    fn inoutset_members_run_together_but_not_with_readers() {
        let mut s = Sites::default();
        let n: Vec<_> = (0..5).map(|_| node()).collect();
        s.add(&n[0], &dep(8, Kind::In));
        s.add(&n[1], &dep(8, Kind::InOutSet));
        s.add(&n[2], &dep(8, Kind::InOutSet));
        s.add(&n[3], &dep(8, Kind::In));
        s.add(&n[4], &dep(16, Kind::In));
        assert_eq!(
            n.iter().map(|n| missing(n)).collect::<Vec<_>>(),
            [0, 1, 1, 2, 0]
        );
    }

    #[test]
    fn a_task_that_names_an_address_twice_does_not_wait_for_itself() {
        let mut s = Sites::default();
        let (r, both, after) = (node(), node(), node());
        s.add(&r, &dep(8, Kind::In));
        s.add(
            &both,
            &[
                dep(8, Kind::In)[0],
                dep(8, Kind::Out)[0],
                dep(8, Kind::Out)[0],
            ],
        );
        s.add(&after, &dep(8, Kind::In));
        assert_eq!([&r, &both, &after].map(|n| missing(n)), [0, 1, 1]);
    }

    #[test]
    fn all_memory_lies_between_all_earlier_and_all_later_children() {
        let mut s = Sites::default();
        let (a, b, all, c, again) = (node(), node(), node(), node(), node());
        s.add(&a, &dep(8, Kind::In));
        s.add(&b, &dep(16, Kind::Out));
        let both = [dep(8, Kind::In)[0], dep(EVERYWHERE, Kind::Out)[0]];
        s.add(&all, &both);
        s.add(&c, &dep(24, Kind::In));
        s.add(&again, &both);
        assert_eq!(
            [&a, &b, &all, &c, &again].map(|n| missing(n)),
            [0, 0, 2, 1, 1]
        );
        let (wait_all, wait_other) = (node(), node());
        s.follow(&wait_all, &both);
        s.follow(&wait_other, &dep(32, Kind::In));
        assert!(missing(&wait_all) >= 5);
        assert_eq!(missing(&wait_other), 1);
    }

    #[test]
    fn a_predecessor_at_two_addresses_counts_once() {
        let mut s = Sites::default();
        let (w, r, other) = (node(), node(), node());
        let both = |kind| [dep(8, kind)[0], dep(16, kind)[0]];
        s.add(&w, &both(Kind::Out));
        s.add(&r, &both(Kind::In));
        s.add(&other, &both(Kind::In));
        assert_eq!([&w, &r, &other].map(|n| missing(n)), [0, 1, 1]);
        let mut released = 0;
        w.close(|_| released += 1);
        assert_eq!(released, 2);
    }

    #[test]
    fn complete_predecessors_do_not_count() {
        let mut s = Sites::default();
        let (w1, w2) = (node(), node());
        s.add(&w1, &dep(8, Kind::Out));
        w1.close(|_| {});
        s.add(&w2, &dep(8, Kind::Out));
        assert_eq!(missing(&w2), 0);
    }
}
