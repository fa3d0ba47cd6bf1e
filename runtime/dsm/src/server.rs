//! The page server: one process of a machine serves the page faults of all nodes there.
//!
//! Nodes that [`crate::fork`] made, and that catch faults by userfaultfd, need no messages for their pages. Each of
//! them hands its userfaultfd to the origin. There, one thread for each node waits for the node's faults, and carries
//! out the whole transaction by itself: it takes the page from its holders, copies it, and puts it in place. So two
//! threads are woken for a fault, this one and then the one that faulted, where messages between threads that serve
//! their own node wake four. Waking is most of what a fault costs, above all waking a core that sleeps: so the
//! thread runs on the CPUs of the node that it serves, where the thread that faulted has just gone to sleep.
//!
//! The protocol is that of [`crate::protocol`], unchanged. The server has the state machines of all nodes, and
//! delivers a message at once instead of sending it. That is one of the orders in which messages may come, and the
//! protocol is checked for all of them.
//!
//! If asked, a node that goes through new data page by page gets several pages with one fault ([`crate::ahead`]).
//!
//! If a node is killed, its pages are still in its file, which the origin maps. So the origin can go on using
//! them for as long as it needs to report that node's end.

mod view;

use crate::ahead::Ahead;
use crate::backend::uffd::Uffd;
use crate::backend::Fault;
use crate::counts::Counts;
use crate::holds::{Holds, Length};
use crate::pages::TOUCHED;
use crate::space::Space;
use crate::{Access, Action, Message, Node, NodeId};
use core::sync::atomic::Ordering;
use hetmp_core::segment::PAGE;
use hetmp_core::{report, sys};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use view::{Bytes, View};

/// Looks at the lock before the server sleeps for it: about as long as a transaction takes.
const LOOKS: u32 = 2000;

/// A fault that waits for a page of another node: the node, the page, and when the fault arrived.
type Asked = (NodeId, u64, u64);

/// See the [module](self).
pub(crate) struct PageServer {
    space: Space,
    views: Box<[View]>,
    counts: &'static [Counts],
    /// Pages come along with others.
    ahead: bool,
    core: Mutex<Core>,
}

struct Core {
    nodes: Vec<Node>,
    holds: Vec<Holds>,
    /// For each thread of the server: holders of pages, and the pages that another node waits for until the hold
    /// ends.
    due: Vec<Vec<(NodeId, u64)>>,
    /// Messages that are not delivered yet: sender, receiver, message.
    mail: VecDeque<(NodeId, NodeId, Message)>,
    out: Vec<Action>,
    /// The page of the last [`Message::Page`] that is not delivered yet. There is at most one: all mail is
    /// about one page, since it is delivered before the lock is released, and a page has one transaction
    /// at a time.
    bytes: Box<Bytes>,
    asked: Vec<Asked>,
    /// By node: what it wants next.
    ahead: Vec<Ahead>,
    /// How often nodes asked for each page of the origin.
    wanted: BTreeMap<u64, u64>,
}

impl PageServer {
    /// The server of all nodes of a job. For each node: its userfaultfd, and where the origin maps its file.
    pub(crate) fn new(
        space: Space,
        nodes: Vec<(Uffd, *mut u8)>,
        counts: &'static [Counts],
        ahead: bool,
    ) -> PageServer {
        let count = nodes.len() as NodeId;
        let homes = space.homes();
        let seed = sys::monotonic_ns();
        let core = Core {
            nodes: (0..count)
                .map(|n| Node::new(n, count, homes.clone()))
                .collect(),
            holds: (0..count)
                .map(|n| Holds::new(seed ^ u64::from(n) << 32, Length::SERVED))
                .collect(),
            due: vec![Vec::new(); nodes.len()],
            mail: VecDeque::new(),
            out: Vec::new(),
            bytes: Box::new(Bytes([0; PAGE])),
            asked: Vec::new(),
            ahead: vec![Ahead::default(); nodes.len()],
            wanted: BTreeMap::new(),
        };
        let views = nodes
            .into_iter()
            .enumerate()
            .map(|(n, (uffd, alias))| View::new(uffd, alias, n == 0))
            .collect();
        PageServer {
            space,
            views,
            counts,
            ahead,
            core: Mutex::new(core),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        for _ in 0..LOOKS {
            if let Ok(core) = self.core.try_lock() {
                return core;
            }
            core::hint::spin_loop();
        }
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends this process with an error; the other nodes then end, too.
    fn fail(&self, node: NodeId, what: core::fmt::Arguments<'_>) -> ! {
        report::warn(format_args!("node {node}: {what}"));
        // SAFETY: _exit has no preconditions. Memory of the program may be lost, so none of its code may run
        // any more.
        unsafe { libc::_exit(1) }
    }

    fn address(&self, node: NodeId, page: u64) -> usize {
        match self.space.address_of(page) {
            Some(address) => address,
            None => self.fail(
                node,
                format_args!("page {page}: not shared (expected one of the shared ranges)"),
            ),
        }
    }

    /// Serves the faults of `node` as long as the process lives.
    pub(crate) fn serve(&self, node: NodeId) -> ! {
        let view = &self.views[usize::from(node)];
        let mut wait = None;
        loop {
            let fault = match view.next_fault(wait) {
                Ok(fault) => fault,
                Err(e) => self.fail(node, format_args!("page faults cannot be read: {e}")),
            };
            let mut core = self.lock();
            if let Some(fault) = fault {
                self.fault(&mut core, node, fault);
            }
            wait = self.end_holds(&mut core, node);
        }
    }

    /// The address of the page of the origin for which nodes asked most often but for `rank` other pages, and the
    /// number of requests.
    pub(crate) fn hot(&self, rank: usize) -> Option<(usize, u64)> {
        let core = self.lock();
        let mut all: Vec<(u64, u64)> = core.wanted.iter().map(|(&p, &n)| (n, p)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let &(requests, page) = all.get(rank)?;
        Some((self.address(0, page), requests))
    }

    fn fault(&self, core: &mut Core, node: NodeId, fault: Fault) {
        let Some(page) = self.space.page_of(fault.address) else {
            self.fail(
                node,
                format_args!(
                    "a fault at {:#x}, outside of the shared ranges",
                    fault.address
                ),
            );
        };
        let counts = &self.counts[usize::from(node)];
        let machine = &mut core.nodes[usize::from(node)];
        let before = machine.access(page);
        let counter = if before >= fault.access {
            &counts.local
        } else if fault.access == Access::Read {
            &counts.reads
        } else {
            &counts.writes
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if before == Access::Write && machine.is_untouched(page) {
            self.touch(core, node, page);
            return;
        }
        if before < fault.access {
            let known = |a: &Asked| (a.0, a.1) == (node, page);
            if !core.asked.iter().any(known) {
                core.asked.push((node, page, sys::monotonic_ns()));
            }
        }
        let machine = &mut core.nodes[usize::from(node)];
        machine.fault(page, fault.access, &mut core.out);
        self.carry_out(core, node, before);
        self.deliver(core, node);
        if self.ahead && before < fault.access {
            let more = core.ahead[usize::from(node)].fault(page, fault.access);
            let came = (1..=more).take_while(|i| self.bring(core, node, page + i, fault.access));
            let came = came.count() as u64;
            core.ahead[usize::from(node)].came(page, came);
        }
    }

    /// Gives the node a page before it faults. False if the page must not come now: the node has it, its address does not
    /// follow, or a holder keeps it or waits for it.
    fn bring(&self, core: &mut Core, node: NodeId, page: u64, access: Access) -> bool {
        let address = |page: u64| self.space.address_of(page);
        let follows = address(page - 1).map(|a| a + PAGE) == address(page);
        let machine = &core.nodes[usize::from(node)];
        let before = machine.access(page);
        if !follows || before >= access || machine.wanted(page) != Access::None {
            return false;
        }
        let kept = |n: &Node| {
            let held = n.is_held(page) && core.holds[usize::from(n.number())].left(page) > 0;
            held || n.is_demanded(page) || n.wanted(page) != Access::None
        };
        if core.nodes.iter().any(kept) {
            return false;
        }
        let machine = &mut core.nodes[usize::from(node)];
        machine.fault(page, access, &mut core.out);
        self.carry_out(core, node, before);
        self.deliver(core, node);
        true
    }

    /// After a first touch of a page whose home is the node: makes the pages behind it accessible, too, as long as
    /// no node asked for them.
    fn touch(&self, core: &Core, node: NodeId, page: u64) {
        let start = self.address(node, page);
        let machine = &core.nodes[usize::from(node)];
        let run = (0..TOUCHED)
            .take_while(|i| {
                machine.is_untouched(page + i)
                    && machine.access(page + i) == Access::Write
                    && self.space.address_of(page + i) == Some(start + *i as usize * PAGE)
            })
            .count();
        let counts = &self.counts[usize::from(node)];
        counts.touched.fetch_add(run as u64, Ordering::Relaxed);
        if let Err(e) = self.views[usize::from(node)].first_touch(start, run) {
            self.fail(node, format_args!("pages at {start:#x}: {e}"));
        }
    }

    /// Delivers all messages. `thread`: the thread of the server that does.
    fn deliver(&self, core: &mut Core, thread: NodeId) {
        while let Some((from, to, message)) = core.mail.pop_front() {
            let page = message.page();
            let machine = &mut core.nodes[usize::from(to)];
            // What comes to the directory changes no node's rights.
            let before = match message {
                Message::Want { .. } | Message::Taken { .. } | Message::Dropped { .. } => {
                    Access::None
                }
                _ => machine.access(page),
            };
            if let Err(violation) = machine.receive(from, message, &mut core.out) {
                self.fail(to, format_args!("{violation}"));
            }
            if let Message::Want { .. } = message {
                if to == 0 {
                    *core.wanted.entry(page).or_insert(0) += 1;
                }
            }
            let demands = matches!(message, Message::Pass { .. } | Message::Drop { .. });
            let waits = demands && machine.is_demanded(page);
            if waits && !core.due.iter().flatten().any(|d| *d == (to, page)) {
                core.due[usize::from(thread)].push((to, page));
            }
            self.carry_out(core, to, before);
        }
    }

    /// Ends the holds that are over and whose end this thread waits for. Returns the nanoseconds until the next
    /// such hold ends, if there is one.
    fn end_holds(&self, core: &mut Core, thread: NodeId) -> Option<u64> {
        let mut next = None;
        let mut i = 0;
        while let Some(&(node, page)) = core.due[usize::from(thread)].get(i) {
            let left = core.holds[usize::from(node)].left(page);
            if left > 0 {
                next = Some(next.map_or(left, |n: u64| n.min(left)));
                i += 1;
                continue;
            }
            core.due[usize::from(thread)].swap_remove(i);
            let machine = &mut core.nodes[usize::from(node)];
            let before = machine.access(page);
            machine.release(page, &mut core.out);
            self.carry_out(core, node, before);
            self.deliver(core, thread);
        }
        next
    }

    /// Carries out the actions of the node's state machine, all about one page. `before`: what the node could do
    /// with the page before.
    fn carry_out(&self, core: &mut Core, node: NodeId, before: Access) {
        let actions = core::mem::take(&mut core.out);
        let view = &self.views[usize::from(node)];
        let counts = &self.counts[usize::from(node)];
        // The page's bytes are in `core.bytes` already.
        let mut is_read = false;
        for (i, action) in actions.iter().enumerate() {
            let done = match *action {
                Action::Send { to, message } => {
                    if let Message::Page { page, .. } = message {
                        counts.sent.fetch_add(1, Ordering::Relaxed);
                        if !is_read {
                            view.read(page, &mut core.bytes);
                        }
                    }
                    core.mail.push_back((node, to, message));
                    continue;
                }
                Action::Protect { page, access } => {
                    let address = self.address(node, page);
                    let done = match (before, access) {
                        (_, Access::None) => {
                            counts.lost.fetch_add(1, Ordering::Relaxed);
                            // The bytes leave with the page, so read them now if they are to be sent.
                            let next = actions.get(i + 1);
                            is_read = matches!(
                                next,
                                Some(Action::Send {
                                    message: Message::Page { .. },
                                    ..
                                })
                            );
                            let into = is_read.then_some(&mut *core.bytes);
                            view.take(page, address, before, into)
                        }
                        (Access::None, _) => view.give(page, address, access, &core.bytes),
                        (Access::Read, Access::Write) => view.allow_writes(address),
                        (Access::Write, Access::Read) => view.forbid_writes(address),
                        (Access::Read | Access::Write, _) => view.refresh(address, access),
                    };
                    done.map_err(|e| (page, e))
                }
                Action::Wake { page } => {
                    // The change of the page's protection has woken the threads.
                    let known = |a: &Asked| (a.0, a.1) == (node, page);
                    let now = sys::monotonic_ns();
                    if let Some(i) = core.asked.iter().position(known) {
                        let (_, _, since) = core.asked.swap_remove(i);
                        let waited = now.saturating_sub(since);
                        counts.waited_ns.fetch_add(waited, Ordering::Relaxed);
                    }
                    if core.nodes[usize::from(node)].is_held(page) {
                        core.holds[usize::from(node)].begin_at(page, now);
                    }
                    continue;
                }
            };
            if let Err((page, e)) = done {
                self.fail(
                    node,
                    format_args!("page at {:#x}: {e}", self.address(node, page)),
                );
            }
        }
        core.out = actions;
        core.out.clear();
    }
}
