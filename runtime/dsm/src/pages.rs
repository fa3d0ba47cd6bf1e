//! The pages of this node, where each node serves its own: by messages to and from the other nodes.
//!
//! What a node will want next is asked for with what it wants ([`crate::sets`]). Of what is to be done at a time, the
//! same for successive pages is done together: one change of protection, one message, one transfer.
//!
//! The program's own threads never run this code: a thread that faults sleeps in the kernel (or in the signal
//! handler) until its page is there. So nothing in this file runs on a shared stack or needs a shared page.

use crate::backend::{Backend, Kind};
use crate::by_page::ByPage;
use crate::counts::{Counts, Waits};
use crate::holds::{Holds, Keep, Length};
use crate::loans::{self, Loaned, Switch, Twin, ENCODED};
use crate::message::{BULK, UNCHANGED};
use crate::sets::{Run, Sets};
use crate::space::Space;
use crate::touches::Touches;
use crate::PAGE;
use crate::{Access, Action, Message, Node, NodeId};
use core::sync::atomic::{AtomicU8, Ordering};
use hetmp_core::{report, sys};
use hetmp_nic::engine::QueuePair;
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The port of the page protocol and of the messages of [`crate::together`].
pub(crate) const PORT: u8 = 0;
/// The tag of the page protocol's messages.
pub(crate) const TAG: u32 = 0;

struct Core {
    node: Node,
    holds: Holds,
    /// Pages that a peer waits for until their hold ends.
    due: Vec<u64>,
    out: Vec<Action>,
    /// Threads that wait.
    waits: Waits,
    /// Pages that this node has asked another one for before a thread wanted them.
    along: ByPage<Access>,
    /// What this node wants next.
    sets: Sets,
    touches: Touches,
    /// What is to be done.
    batch: Batch,
    /// How often nodes asked this node for each page whose home it is or was.
    wanted: ByPage<u64>,
    twins: ByPage<Twin>,
    loaned: Loaned,
    /// Places of this node at homes that hold what it wrote to pages which it is giving back.
    places: u8,
}

/// Bytes between such places.
const PLACE: usize = 2 * PAGE;

/// Bytes of a node's file behind its pages, for `nodes` nodes: for each of them, places for what it gives back.
pub(crate) fn places(nodes: NodeId) -> usize {
    usize::from(nodes) * BULK as usize * PLACE
}

/// What is to be done to successive pages, in this order: changes of protection, wakes, messages.
#[derive(Default)]
struct Batch {
    protect: Option<Run>,
    wake: Option<Run>,
    /// Receiver, message about the first page, number of pages.
    mail: Vec<(NodeId, Message, u32)>,
}

impl Batch {
    fn send(&mut self, to: NodeId, message: Message) {
        let goes_on = |m: &&mut (NodeId, Message, u32)| {
            let next = m.1.page() + u64::from(m.2);
            m.0 == to && m.2 < BULK && m.1.about(next) == message
        };
        match self.mail.iter_mut().rev().find(goes_on) {
            Some((.., count)) => *count += 1,
            None => self.mail.push((to, message, 1)),
        }
    }

    /// Is there a message about the page?
    fn tells_of(&self, page: u64) -> bool {
        let about =
            |m: &(NodeId, Message, u32)| (m.1.page()..m.1.page() + u64::from(m.2)).contains(&page);
        self.mail.iter().any(about)
    }
}

/// Adds a page to a run, if it is the next one of it.
fn extend(run: &mut Option<Run>, page: u64, access: Access, space: &Space) -> bool {
    match run {
        Some(r) if r.pages().end == page && r.access == access && space.rest(r.first) > r.count => {
            r.count += 1;
            true
        }
        Some(_) => false,
        None => {
            *run = Some(Run {
                first: page,
                count: 1,
                access,
            });
            true
        }
    }
}

/// What a node that serves its own pages has.
pub(crate) struct Parts {
    pub(crate) space: Space,
    /// Where the whole file is mapped: this node's copies, one page after another.
    pub(crate) copies: *mut u8,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) link: &'static Mutex<QueuePair>,
    pub(crate) counts: &'static Counts,
    pub(crate) keep: &'static Keep,
    pub(crate) lending: &'static Switch,
}

/// Serves the pages of one node, in that node.
pub(crate) trait Serves: Send + Sync {
    /// How faults are caught.
    fn kind(&self) -> Kind;

    /// Serves the faults of this node's threads as long as the process lives.
    fn serve_faults(&self) -> !;

    /// Takes a message of the page protocol.
    fn receive(&self, from: NodeId, bytes: &[u8]);

    /// Ends the holds that are over and that a peer waits for. Returns the nanoseconds until the next such
    /// hold ends.
    fn end_holds(&self) -> u64;

    /// Gives all pages back that are borrowed now, and waits until their homes have them.
    fn settle(&self);

    /// The address of the page for which nodes asked most often but for `rank` other pages, and the number of
    /// requests. Only requests to this node are counted, as the pages' home.
    fn hot(&self, rank: usize) -> Option<(usize, u64)>;
}

/// See the [module](self).
pub(crate) struct Pages {
    me: NodeId,
    space: Space,
    alias: *mut u8,
    backend: Box<dyn Backend>,
    /// Taken after `core` where both are.
    link: &'static Mutex<QueuePair>,
    counts: &'static Counts,
    /// Pages come along with others.
    ahead: bool,
    keep: &'static Keep,
    lending: &'static Switch,
    core: Mutex<Core>,
    /// Told when homes have pages back.
    returned: Condvar,
}

// SAFETY: `alias` is a mapping that stays. The protocol decides who reads or writes a page through it, under
// `core`.
unsafe impl Send for Pages {}
// SAFETY: threads share the pages through mutexes and atomics. The protocol decides who uses a page
// through `alias`, under `core`.
unsafe impl Sync for Pages {}

impl Pages {
    /// Node `me` of `nodes`, in the protocol's first state. `ahead`: pages come along with others.
    pub(crate) fn new((me, nodes): (NodeId, NodeId), parts: Parts, ahead: bool) -> Pages {
        let space = parts.space;
        // Between two nodes each turn is between the home and another node already.
        let homes = match nodes {
            0..=2 => space.homes(),
            _ => space.homes().that_move(),
        };
        let core = Core {
            node: Node::new(me, nodes, homes),
            holds: Holds::new(sys::monotonic_ns(), Length::SENT),
            due: Vec::new(),
            out: Vec::new(),
            waits: Waits::default(),
            along: ByPage::default(),
            sets: Sets::default(),
            touches: Touches::default(),
            batch: Batch::default(),
            wanted: ByPage::default(),
            twins: ByPage::default(),
            loaned: Loaned::default(),
            places: 0,
        };
        Pages {
            me,
            space,
            alias: parts.copies,
            backend: parts.backend,
            link: parts.link,
            counts: parts.counts,
            ahead,
            keep: parts.keep,
            lending: parts.lending,
            core: Mutex::new(core),
            returned: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends this process with an error; the other nodes then end, too.
    fn fail(&self, what: core::fmt::Arguments<'_>) -> ! {
        report::warn(format_args!("node {}: {what}", self.me));
        // SAFETY: _exit has no preconditions. Memory of the program may be lost, so none of its code may run
        // any more.
        unsafe { libc::_exit(1) }
    }

    /// Asks for pages that no thread has asked for yet.
    fn ask_along(&self, core: &mut Core, run: Run) {
        for page in (self.space.pieces(run, u64::MAX)).flat_map(Run::pages) {
            let node = &mut core.node;
            if node.access(page) < run.access && node.wanted(page) == Access::None {
                node.fault(page, run.access, &mut core.out);
                core.along.insert(page, run.access);
                self.counts.along.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// After a first touch of a page whose home is this node: makes the pages next to it accessible, too, as
    /// long as no node asked for them.
    fn touch(&self, core: &mut Core, page: u64) {
        let start = self.address(page);
        let node = &core.node;
        let run = core.touches.touch(page, |p| {
            node.is_untouched(p)
                && node.access(p) == Access::Write
                && self.space.are_together(page, p)
        });
        let count = run.end - run.start;
        (self.counts.touched).fetch_add(count, Ordering::Relaxed);
        let first = start - (page - run.start) as usize * PAGE;
        if let Err(e) = self.backend.first_touch(first, count as usize) {
            self.fail(format_args!("pages at {first:#x}: {e}"));
        }
    }

    /// Learns what the program's threads have said.
    fn look_up(&self, core: &mut Core) {
        let order = self.counts.orders.load(Ordering::SeqCst);
        core.node.set_order(order);
        core.node.set_lending(self.lending.get());
    }

    /// Gives back as many of these borrowed pages as there are places for. Nothing while others are on their way.
    fn give_back(&self, core: &mut Core, which: impl Fn(u64) -> bool) {
        let borrowed: Vec<u64> = core.node.borrowed().collect();
        if borrowed.len() < core.node.loans() {
            return;
        }
        core.places = 0;
        let some = borrowed.into_iter().filter(|page| which(*page));
        for page in some.take(BULK as usize) {
            core.node.give_back(page, &mut core.out);
        }
        self.carry_out(core);
    }

    fn accept(&self, core: &mut Core, from: NodeId, message: Message) {
        let page = message.page();
        if message.demands() && self.keep.is_on() {
            core.node.hold(page);
        }
        if let Err(violation) = core.node.receive(from, message, &mut core.out) {
            self.fail(format_args!("{violation}"));
        }
        if let Message::Want { .. } = message {
            *core.wanted.entry(page).or_insert(0) += 1;
        }
        if core.node.is_demanded(page) && !core.due.contains(&page) {
            core.due.push(page);
        }
    }

    /// Carries out the state machine's actions. Messages to this node itself are taken at once.
    fn carry_out(&self, core: &mut Core) {
        let mut at = 0;
        while let Some(&action) = core.out.get(at) {
            at += 1;
            match action {
                Action::Send { to, message } if to == self.me => {
                    self.accept(core, to, message);
                }
                Action::Send { to, message } => {
                    let message = self.with_changes(core, message);
                    core.batch.send(to, message);
                }
                Action::Twin { page } => {
                    // SAFETY: the page is in the file, and no thread of this node can write it yet.
                    let bytes = unsafe { self.page(page).read() };
                    core.twins.insert(page, Box::new(bytes));
                    core.loaned.begin();
                    self.counts.lent.fetch_add(1, Ordering::Relaxed);
                }
                Action::Merge { page, from, place } if place != UNCHANGED => {
                    let (from, to) = (self.place(from, place), self.page(page));
                    // SAFETY: both are in the file. The node has written its place before it sent the message, and
                    // writes it again after the answer. Others may write to the page meanwhile, but not to these bytes.
                    unsafe { loans::decode(&*from, &*to.cast::<[AtomicU8; PAGE]>()) };
                }
                Action::Merge { .. } => {}
                Action::Protect { page, access } => {
                    if access == Access::None {
                        self.counts.lost.fetch_add(1, Ordering::Relaxed);
                    }
                    // What was said of the page must be said before it changes again.
                    if core.batch.tells_of(page) {
                        self.perform(&mut core.batch);
                    }
                    if !extend(&mut core.batch.protect, page, access, &self.space) {
                        self.protect(&mut core.batch);
                        extend(&mut core.batch.protect, page, access, &self.space);
                    }
                }
                Action::Wake { page } => {
                    let along = core.along.remove(&page);
                    let waited = (core.waits).end(page, sys::monotonic_ns(), self.counts);
                    if let (Some(access), false) = (along, waited) {
                        core.sets.came(page, access);
                        // No thread waits for it, so that it need not be held.
                        core.node.release(page, &mut core.out);
                    } else if core.node.is_held(page) {
                        core.holds.begin(page);
                    }
                    let any = Access::None;
                    if !extend(&mut core.batch.wake, page, any, &self.space) {
                        self.protect(&mut core.batch);
                        extend(&mut core.batch.wake, page, any, &self.space);
                    }
                }
            }
        }
        core.out.clear();
        self.perform(&mut core.batch);
        let loans = core.node.loans() as u64;
        if self.counts.loans.swap(loans, Ordering::SeqCst) != loans {
            self.returned.notify_all();
        }
    }

    /// A page in this node's file.
    fn page(&self, page: u64) -> *mut [u8; PAGE] {
        self.alias.wrapping_add(page as usize * PAGE).cast()
    }

    /// Where in a node's file lies what `node` wrote to a page.
    fn place(&self, node: NodeId, place: u8) -> *mut [u8; ENCODED] {
        let at = usize::from(node) * BULK as usize + usize::from(place);
        self.alias
            .wrapping_add(self.space.len() + at * PLACE)
            .cast()
    }

    /// If the message gives a borrowed page back: looks what was written to it.
    fn with_changes(&self, core: &mut Core, message: Message) -> Message {
        let Message::Return { page, .. } = message else {
            return message;
        };
        let Some(twin) = core.twins.remove(&page) else {
            return message;
        };
        // From now on no thread of this node writes to the page.
        self.perform(&mut core.batch);
        let place = core.places;
        // SAFETY: both are in the file. The place is used for one page until the home has answered.
        let len =
            unsafe { loans::encode(&*self.page(page), &twin, &mut *self.place(self.me, place)) };
        if len == 0 {
            return message;
        }
        core.places += 1;
        Message::Return { page, place }
    }

    /// Changes what is to be changed of protections, and wakes whom it concerns.
    fn protect(&self, batch: &mut Batch) {
        if let Some(run) = batch.protect.take() {
            let address = self.address(run.first);
            let done = (self.backend).protect(address, run.count as usize, run.access);
            if let Err(e) = done {
                self.fail(format_args!("protection of address {address:#x}: {e}"));
            }
        }
        if let Some(run) = batch.wake.take() {
            (self.backend).wake(self.address(run.first), run.count as usize);
        }
    }

    fn perform(&self, batch: &mut Batch) {
        self.protect(batch);
        for (to, message, count) in batch.mail.drain(..) {
            self.post(to, message, count);
        }
    }

    fn address(&self, page: u64) -> usize {
        match self.space.address_of(page) {
            Some(address) => address,
            None => self.fail(format_args!(
                "page {page}: not shared (expected one of the shared ranges)"
            )),
        }
    }

    fn post(&self, to: NodeId, message: Message, count: u32) {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = match message {
            Message::Page { page, .. } | Message::Lend { page } => {
                self.counts.sent.fetch_add(count.into(), Ordering::Relaxed);
                Some((self.page(page).addr(), count * PAGE as u32))
            }
            Message::Return { place, .. } if place != UNCHANGED => {
                Some((self.place(self.me, place).addr(), ENCODED as u32))
            }
            _ => None,
        };
        if let Some((here, len)) = bytes {
            let offset = here - self.alias.addr();
            link.put(to.into(), offset as u64, here as u64, len);
            link.fence(to.into());
        }
        let _ = link.send_inline(to.into(), PORT, TAG, &message.encode(count));
    }
}

impl Serves for Pages {
    fn kind(&self) -> Kind {
        self.backend.kind()
    }

    fn serve_faults(&self) -> ! {
        loop {
            let fault = match self.backend.next_fault() {
                Ok(fault) => fault,
                Err(e) => self.fail(format_args!("page faults cannot be read: {e}")),
            };
            let Some(page) = self.space.page_of(fault.address) else {
                self.fail(format_args!(
                    "a fault at {:#x}, outside of the shared ranges",
                    fault.address
                ));
            };
            let mut guard = self.lock();
            let core = &mut *guard;
            self.look_up(core);
            if core.node.access(page) < fault.access {
                self.counts.asks(fault);
                (core.waits).begin(page, fault.thread, sys::monotonic_ns());
                self.keep.asks();
            } else {
                self.counts.local.fetch_add(1, Ordering::Relaxed);
            }
            if core.node.is_untouched(page) && core.node.access(page) == Access::Write {
                self.touch(core, page);
            }
            let wants =
                core.node.access(page) < fault.access && core.node.wanted(page) == Access::None;
            core.node.fault(page, fault.access, &mut core.out);
            if wants && core.node.is_demanded(page) && self.keep.is_on() {
                // Its turn comes after that of who waits.
                core.node.release(page, &mut core.out);
            }
            self.carry_out(core);
            if self.ahead && wants {
                let phase = self.counts.phase.load(Ordering::Relaxed);
                for run in core.sets.fault(phase, page, fault.access) {
                    self.ask_along(core, run);
                }
                self.carry_out(core);
            }
        }
    }

    fn receive(&self, from: NodeId, bytes: &[u8]) {
        let Some((message, count)) = Message::decode(bytes) else {
            self.fail(format_args!(
                "{bytes:?} of node {from}: unknown (expected a message of the page protocol)"
            ));
        };
        let mut guard = self.lock();
        let core = &mut *guard;
        if let Message::Lend { .. } = message {
            // A thread that orders memory counts that, and then looks for loans; so one of the two sees the other.
            self.counts.loans.fetch_add(1, Ordering::SeqCst);
        }
        self.look_up(core);
        for i in 0..u64::from(count) {
            self.accept(core, from, message.about(message.page() + i));
        }
        self.carry_out(core);
    }

    fn end_holds(&self) -> u64 {
        let mut guard = self.lock();
        let core = &mut *guard;
        let mut next = u64::MAX;
        let mut i = 0;
        while let Some(&page) = core.due.get(i) {
            let left = self.keep.wait(core.holds.left(page));
            if left > 0 && core.node.is_held(page) {
                next = next.min(left);
                i += 1;
            } else {
                core.due.swap_remove(i);
                core.node.release(page, &mut core.out);
            }
        }
        let late = core.loaned.left_ns(core.node.loans());
        if late == Some(0) {
            self.give_back(core, |_| true);
        }
        self.carry_out(core);
        let late = core.loaned.left_ns(core.node.loans());
        late.map_or(next, |left| next.min(left))
    }

    fn settle(&self) {
        let mut core = self.lock();
        let mine: BTreeSet<u64> = core.node.borrowed().collect();
        loop {
            let is_settled = |page: &u64| !core.node.has_loan(*page);
            if mine.iter().all(is_settled) && core.node.loans() == core.node.borrowed().count() {
                return;
            }
            self.give_back(&mut core, |page| mine.contains(&page));
            core = (self.returned.wait(core)).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn hot(&self, rank: usize) -> Option<(usize, u64)> {
        let core = self.lock();
        let mut all: Vec<(u64, u64)> = core.wanted.iter().map(|(&p, &n)| (n, p)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let &(requests, page) = all.get(rank)?;
        Some((self.address(page), requests))
    }
}
