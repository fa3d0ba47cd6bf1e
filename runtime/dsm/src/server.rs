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
//! What a node will want next comes along with what it wants ([`crate::sets`]), after the thread that faulted has been
//! woken. Pages in succession that change hands in the same way are moved together: system calls for one page take
//! longer than its bytes.
//!
//! If a node is killed, its pages are still in its file, which the origin maps. So the origin can go on using
//! them for as long as it needs to report that node's end.

mod view;

use crate::backend::uffd::Uffd;
use crate::backend::Fault;
use crate::by_page::ByPage;
use crate::counts::{Counts, Waits};
use crate::holds::{Holds, Keep, Length};
use crate::loans::{Loaned, Switch, Twin};
use crate::sets::{Run, Sets};
use crate::space::Space;
use crate::touches::Touches;
use crate::PAGE;
use crate::{Access, Action, Message, Node, NodeId, NodeSet};
use core::sync::atomic::Ordering;
use core::time::Duration;
use hetmp_core::{report, sys};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use view::{Bytes, Pages, View, BULK};

/// Looks at the lock before the server sleeps for it: about as long as a transaction takes.
const LOOKS: u32 = 2000;

/// See the [module](self).
pub(crate) struct PageServer {
    space: Space,
    views: Box<[View]>,
    counts: &'static [Counts],
    /// Pages come along with others.
    ahead: bool,
    /// The origin's.
    keep: &'static Keep,
    lending: &'static Switch,
    core: Mutex<Core>,
}

struct Core {
    nodes: Vec<Node>,
    holds: Vec<Holds>,
    /// For each thread of the server, and for who calls it: holders of pages, and the pages that another node waits for
    /// until the hold ends.
    due: Vec<Vec<(NodeId, u64)>>,
    /// Messages that are not delivered yet: sender, receiver, message. All are about one page.
    mail: VecDeque<(NodeId, NodeId, Message)>,
    out: Vec<Action>,
    /// What is to be done to the page that the mail is about.
    steps: Steps,
    /// The pages of the last [`Message::Page`] that is not delivered yet. There is at most one for a page: all mail is
    /// about one page, since it is delivered before the lock is released, and a page has one transaction
    /// at a time.
    bytes: Box<Bytes>,
    /// By node: threads that wait.
    waits: Vec<Waits>,
    /// By node: what it wants next.
    sets: Vec<Sets>,
    touches: Vec<Touches>,
    /// How often nodes asked for each page of the origin.
    wanted: ByPage<u64>,
    /// By node: what it has borrowed.
    loans: Vec<(ByPage<Twin>, Loaned)>,
    /// For each thread of the server: the nodes whose loans it ends when they last too long.
    lent: Vec<NodeSet>,
}

/// What is done to a page of a node's: the state machine's actions, with what they meant for the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The page's bytes are copied from the node.
    Read,
    /// The page goes away from the node, which had these rights. `read`: its bytes are copied first.
    Take {
        was: Access,
        read: bool,
    },
    /// The node gets the page, with the bytes that were copied last.
    Give(Access),
    AllowWrites,
    ForbidWrites,
    /// The node has the right already.
    Refresh(Access),
    /// Threads that waited for the page go on, as the change of its protection has told them.
    Woken,
    /// The bytes that were copied last are the twin of the page that the node borrows.
    Twin,
    /// Of the bytes that were copied last, those that the other node wrote to the page which it borrowed go into the
    /// node's.
    Merge(NodeId),
}

/// Steps in their order, each with its node. In bulk they are the same for all pages.
type Steps = Vec<(NodeId, Step)>;

impl PageServer {
    /// The server of all nodes of a job. For each node: its userfaultfd, and where the origin maps its file.
    pub(crate) fn new(
        space: Space,
        nodes: Vec<(Uffd, *mut u8)>,
        counts: &'static [Counts],
        ahead: bool,
        (keep, lending): (&'static Keep, &'static Switch),
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
            due: vec![Vec::new(); nodes.len() + 1],
            mail: VecDeque::new(),
            out: Vec::new(),
            steps: Vec::new(),
            bytes: Box::new(Bytes([[0; PAGE]; BULK])),
            waits: nodes.iter().map(|_| Waits::default()).collect(),
            sets: vec![Sets::default(); nodes.len()],
            touches: nodes.iter().map(|_| Touches::default()).collect(),
            wanted: ByPage::default(),
            loans: nodes.iter().map(|_| Default::default()).collect(),
            lent: vec![NodeSet::default(); nodes.len() + 1],
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
            keep,
            lending,
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
        // What is to come along. A thread that waits goes before what does not fit in one turn.
        let mut along: VecDeque<Run> = VecDeque::new();
        loop {
            let now = (!along.is_empty()).then_some(0);
            let fault = match view.next_fault(now.or(wait)) {
                Ok(fault) => fault,
                Err(e) => self.fail(node, format_args!("page faults cannot be read: {e}")),
            };
            let mut core = self.lock();
            if let Some(fault) = fault {
                along.extend(self.fault(&mut core, node, fault));
            }
            let mut pages = 0;
            while let Some(&run) = along.front() {
                pages += run.count;
                if pages > BULK as u64 {
                    break;
                }
                along.pop_front();
                self.bring(&mut core, node, run);
            }
            let ends = [
                self.end_holds(&mut core, node),
                self.end_loans(&mut core, node),
            ];
            wait = ends.into_iter().flatten().min();
        }
    }

    /// Ends the loans that have lasted too long and whose end this thread waits for. Returns the nanoseconds until the
    /// next ones do, if there are some.
    fn end_loans(&self, core: &mut Core, thread: NodeId) -> Option<u64> {
        let mut next = None;
        for node in core.lent[usize::from(thread)].iter() {
            let loans = core.nodes[usize::from(node)].loans();
            let mut left = core.loans[usize::from(node)].1.left_ns(loans);
            if left == Some(0) {
                self.give_back(core, node, thread);
                left = None;
            }
            match left {
                Some(left) => next = Some(next.map_or(left, |n: u64| n.min(left))),
                None => {
                    let lent = &mut core.lent[usize::from(thread)];
                    *lent = lent.without(node);
                }
            }
        }
        next
    }

    /// Takes back all that the node has borrowed. Not for the server's own threads.
    pub(crate) fn settle(&self, node: NodeId) {
        let mut core = self.lock();
        let thread = self.views.len() as NodeId;
        self.give_back(&mut core, node, thread);
        while let Some(ns) = self.end_holds(&mut core, thread) {
            drop(core);
            std::thread::sleep(Duration::from_nanos(ns));
            core = self.lock();
        }
    }

    fn give_back(&self, core: &mut Core, node: NodeId, thread: NodeId) {
        let borrowed: Vec<u64> = core.nodes[usize::from(node)].borrowed().collect();
        for page in borrowed {
            core.nodes[usize::from(node)].give_back(page, &mut core.out);
            self.carry_out(core, node, Access::Write);
            self.deliver(core, thread);
            self.perform(core, page, 1);
        }
        self.count_loans(core, node);
    }

    fn count_loans(&self, core: &Core, node: NodeId) {
        let loans = core.nodes[usize::from(node)].loans() as u64;
        let counts = &self.counts[usize::from(node)];
        counts.loans.store(loans, Ordering::SeqCst);
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

    /// Serves a fault. Returns what is to come along with the page, in runs of at most [`BULK`] pages of one range.
    fn fault(&self, core: &mut Core, node: NodeId, fault: Fault) -> Vec<Run> {
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
        if before < fault.access {
            counts.asks(fault);
            let waits = &mut core.waits[usize::from(node)];
            waits.begin(page, fault.thread, sys::monotonic_ns());
            if node == 0 {
                self.keep.asks();
            }
        } else {
            counts.local.fetch_add(1, Ordering::Relaxed);
        }
        if before == Access::Write && machine.is_untouched(page) {
            self.touch(core, node, page);
            return Vec::new();
        }
        let wants = before < fault.access && machine.wanted(page) == Access::None;
        machine.set_order(counts.orders.load(Ordering::SeqCst));
        machine.fault(page, fault.access, &mut core.out);
        if wants && self.keeps(node) && machine.is_demanded(page) {
            // Its turn comes after that of who waits.
            machine.release(page, &mut core.out);
        }
        self.carry_out(core, node, before);
        self.deliver(core, node);
        self.perform(core, page, 1);
        if !self.ahead || !wants {
            return Vec::new();
        }
        let phase = counts.phase.load(Ordering::Relaxed);
        let along = core.sets[usize::from(node)].fault(phase, page, fault.access);
        let pieces = along
            .into_iter()
            .flat_map(|run| self.space.pieces(run, BULK as u64));
        pieces.collect()
    }

    /// Does the node keep its pages now?
    fn keeps(&self, node: NodeId) -> bool {
        node == 0 && self.keep.is_on()
    }

    /// Gives the node pages before it faults, but for those that must not come now: the node has it, or a holder keeps
    /// it or waits for it. Pages that change hands in the same way are moved together.
    fn bring(&self, core: &mut Core, node: NodeId, run: Run) {
        let mut came = 0;
        // The first page of those that are to be moved next, their number, and the steps.
        let (mut first, mut count, mut steps) = (run.first, 0, Vec::new());
        for page in run.pages() {
            if self.may_come(core, node, page, run.access) {
                let machine = &mut core.nodes[usize::from(node)];
                let before = machine.access(page);
                machine.fault(page, run.access, &mut core.out);
                self.carry_out(core, node, before);
                self.deliver(core, node);
                // No thread waits for it, so that it need not be held.
                core.nodes[usize::from(node)].release(page, &mut core.out);
                core.sets[usize::from(node)].came(page, run.access);
                came += 1;
            }
            if core.steps == steps && first + count == page {
                count += 1;
            } else {
                core::mem::swap(&mut core.steps, &mut steps);
                self.perform(core, first, count);
                (first, count) = (page, 1);
            }
            core.steps.clear();
        }
        core.steps = steps;
        self.perform(core, first, count);
        let counts = &self.counts[usize::from(node)];
        counts.along.fetch_add(came, Ordering::Relaxed);
    }

    /// May the node get a page that none of its threads has asked for? Ends the holds of it that are over.
    fn may_come(&self, core: &mut Core, node: NodeId, page: u64, access: Access) -> bool {
        let has = |n: &Node| n.number() == node && n.access(page) >= access;
        let waits =
            |n: &Node| n.is_demanded(page) || n.wanted(page) != Access::None || n.is_to_lend(page);
        let held = |n: &Node| n.is_held(page) && core.holds[usize::from(n.number())].left(page) > 0;
        let kept = |n: &Node| {
            n.number() != node && n.access(page) != Access::None && self.keeps(n.number())
        };
        if (core.nodes.iter()).any(|n| has(n) || waits(n) || held(n) || kept(n)) {
            return false;
        }
        for machine in &mut core.nodes {
            machine.release(page, &mut core.out);
        }
        true
    }

    /// After a first touch of a page whose home is the node: makes the pages next to it accessible, too, as long as
    /// no node asked for them.
    fn touch(&self, core: &mut Core, node: NodeId, page: u64) {
        let start = self.address(node, page);
        let machine = &core.nodes[usize::from(node)];
        let run = core.touches[usize::from(node)].touch(page, |p| {
            machine.is_untouched(p)
                && machine.access(p) == Access::Write
                && self.space.are_together(page, p)
        });
        let counts = &self.counts[usize::from(node)];
        let count = run.end - run.start;
        counts.touched.fetch_add(count, Ordering::Relaxed);
        let first = start - (page - run.start) as usize * PAGE;
        if let Err(e) = self.views[usize::from(node)].first_touch(first, count as usize) {
            self.fail(node, format_args!("pages at {first:#x}: {e}"));
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
            let counts = &self.counts[usize::from(to)];
            let lends = matches!(message, Message::Lend { .. });
            if lends {
                // A thread that orders memory counts that, and then looks for loans; so one of the two sees the other.
                counts.loans.fetch_add(1, Ordering::SeqCst);
            }
            machine.set_order(counts.orders.load(Ordering::SeqCst));
            machine.set_lending(self.lending.get());
            let demands = message.demands();
            if demands && self.keeps(to) {
                machine.hold(page);
            }
            if let Err(violation) = machine.receive(from, message, &mut core.out) {
                self.fail(to, format_args!("{violation}"));
            }
            if let Message::Want { .. } = message {
                if to == 0 {
                    *core.wanted.entry(page).or_insert(0) += 1;
                }
            }
            let waits = demands && machine.is_demanded(page);
            if waits && !core.due.iter().flatten().any(|d| *d == (to, page)) {
                core.due[usize::from(thread)].push((to, page));
            }
            self.carry_out(core, to, before);
            if lends {
                self.count_loans(core, to);
                core.loans[usize::from(to)].1.begin();
                let lent = &mut core.lent[usize::from(thread)];
                *lent = lent.with(to);
            }
        }
    }

    /// Ends the holds that are over and whose end this thread waits for. Returns the nanoseconds until the next
    /// such hold ends, if there is one.
    fn end_holds(&self, core: &mut Core, thread: NodeId) -> Option<u64> {
        let mut next = None;
        let mut i = 0;
        while let Some(&(node, page)) = core.due[usize::from(thread)].get(i) {
            let mut left = core.holds[usize::from(node)].left(page);
            if node == 0 {
                left = self.keep.wait(left);
            }
            if left > 0 && core.nodes[usize::from(node)].is_held(page) {
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
            self.perform(core, page, 1);
        }
        next
    }

    /// Takes the actions of the node's state machine, all about one page: messages to the mail, and the rest to the
    /// steps. `before`: what the node could do with the page before.
    fn carry_out(&self, core: &mut Core, node: NodeId, before: Access) {
        let mut is_read = false;
        for (i, action) in core.out.iter().enumerate() {
            let step = match *action {
                Action::Send { to, message } => {
                    core.mail.push_back((node, to, message));
                    if !matches!(message, Message::Page { .. } | Message::Lend { .. }) || is_read {
                        continue;
                    }
                    Step::Read
                }
                Action::Protect { access, .. } => match (before, access) {
                    (was, Access::None) => {
                        // The bytes leave with the page, so they are read now if they are to be sent.
                        let next = core.out.get(i + 1);
                        is_read = matches!(
                            next,
                            Some(Action::Send {
                                message: Message::Page { .. } | Message::Return { .. },
                                ..
                            })
                        );
                        Step::Take { was, read: is_read }
                    }
                    (Access::None, _) => Step::Give(access),
                    (Access::Read, Access::Write) => Step::AllowWrites,
                    (Access::Write, Access::Read) => Step::ForbidWrites,
                    (Access::Read | Access::Write, _) => Step::Refresh(access),
                },
                Action::Wake { .. } => Step::Woken,
                Action::Twin { .. } => Step::Twin,
                Action::Merge { from, .. } => Step::Merge(from),
            };
            core.steps.push((node, step));
        }
        core.out.clear();
    }

    /// Does to `count` pages from `first` on, all in one range, what the steps say, and forgets the steps.
    fn perform(&self, core: &mut Core, first: u64, count: u64) {
        let steps = core::mem::take(&mut core.steps);
        for &(node, step) in &steps {
            let view = &self.views[usize::from(node)];
            let counts = &self.counts[usize::from(node)];
            let pages = Pages {
                first,
                address: self.address(node, first),
                count: count as usize,
            };
            let done = match step {
                Step::Read => {
                    counts.sent.fetch_add(count, Ordering::Relaxed);
                    view.read(pages, &mut core.bytes);
                    Ok(())
                }
                Step::Take { was, read } => {
                    counts.lost.fetch_add(count, Ordering::Relaxed);
                    if read {
                        counts.sent.fetch_add(count, Ordering::Relaxed);
                    }
                    view.take(pages, was, read.then_some(&mut *core.bytes))
                }
                Step::Give(access) => view.give(pages, access, &core.bytes),
                Step::AllowWrites => view.allow_writes(pages),
                Step::ForbidWrites => view.forbid_writes(pages),
                Step::Refresh(access) => view.refresh(pages, access),
                Step::Twin => {
                    counts.lent.fetch_add(count, Ordering::Relaxed);
                    let twins = &mut core.loans[usize::from(node)].0;
                    for (page, bytes) in (first..first + count).zip(&core.bytes.0) {
                        twins.insert(page, Box::new(*bytes));
                    }
                    Ok(())
                }
                Step::Merge(from) => {
                    let twins = &mut core.loans[usize::from(from)].0;
                    // A loan that came too late has no twin.
                    if let Some(twin) = twins.remove(&first) {
                        view.merge(pages, &core.bytes, &twin);
                    }
                    Ok(())
                }
                Step::Woken => {
                    for page in first..first + count {
                        self.woken(core, node, page);
                    }
                    Ok(())
                }
            };
            if let Err(e) = done {
                self.fail(node, format_args!("page at {:#x}: {e}", pages.address));
            }
        }
        core.steps = steps;
        core.steps.clear();
    }

    /// The node's threads that waited for the page go on.
    fn woken(&self, core: &mut Core, node: NodeId, page: u64) {
        let now = sys::monotonic_ns();
        let counts = &self.counts[usize::from(node)];
        core.waits[usize::from(node)].end(page, now, counts);
        if core.nodes[usize::from(node)].is_held(page) {
            core.holds[usize::from(node)].begin_at(page, now);
        }
    }
}
