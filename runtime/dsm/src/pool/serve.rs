//! A node's threads around the pool: page faults, messages about owned pages, and the points of the program.
//!
//! As in [`crate::pages`], the program's threads run none of this. A thread that faults sleeps until its page is
//! there; at a point it asks the node's agent ([`crate::together`]). All steps are made under `core`.
//!
//! **Two kinds of regions.** Which one a region is the origin decides as it opens it, and the others see in the window
//! as their part begins. In an interval, rights to pages that [`crate::protocol`] has handed out stay where they are,
//! unused. Between two kinds, each node writes back what it has and keeps no copy: so its copies fit its rights again.

use super::check::Check;
use super::lines::{Copies, Lines, Point, Step};
use super::shared::{Full, Shared};
use super::wanted::LeftOut;
use super::window::Head;
use crate::backend::{Backend, Fault, Kind};
use crate::by_page::ByPage;
use crate::counts::{Counts, Waits};
use crate::holds::{Holds, Keep, Length};
use crate::loans::{Switch, Twin};
use crate::pages::{Parts, Serves, PORT, TAG};
use crate::space::Space;
use crate::{Access, Action, Message, Node, NodeId, PAGE};
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::{report, sys};
use hetmp_nic::engine::QueuePair;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most pages that one fault makes writable.
const AHEAD: u64 = 32;

struct Core {
    copies: Copies,
    twins: ByPage<Twin>,
    /// Pages of which this node changed bytes when it last might write them.
    written: BTreeSet<u64>,
    node: Node,
    holds: Holds,
    /// Pages that a peer waits for until their hold ends.
    due: Vec<u64>,
    waits: Waits,
    check: Option<Check>,
    /// The region that runs; 0: none.
    region: u64,
}

/// See the [module](self).
pub(crate) struct Pool {
    me: NodeId,
    space: Space,
    /// Where this node's copies lie, one page after another.
    copies: *mut u8,
    shared: &'static Shared,
    backend: Box<dyn Backend>,
    /// Taken after `core` where both are.
    link: &'static Mutex<QueuePair>,
    counts: &'static Counts,
    keep: &'static Keep,
    lending: &'static Switch,
    /// Nodes ask nobody between points.
    interval: AtomicBool,
    core: Mutex<Core>,
}

// SAFETY: `copies` is a mapping that stays, used under `core`.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// Node `me` of `nodes`, which has no copy of any page.
    pub(crate) fn new(
        (me, nodes): (NodeId, NodeId),
        parts: Parts,
        shared: &'static Shared,
    ) -> Pool {
        let core = Core {
            copies: Copies::default(),
            twins: ByPage::default(),
            written: BTreeSet::new(),
            node: Node::new(me, nodes, parts.space.homes()),
            holds: Holds::new(sys::monotonic_ns(), Length::SENT),
            due: Vec::new(),
            waits: Waits::default(),
            check: Check::new(shared, me),
            region: 0,
        };
        Pool {
            me,
            space: parts.space,
            copies: parts.copies,
            shared,
            backend: parts.backend,
            link: parts.link,
            counts: parts.counts,
            keep: parts.keep,
            lending: parts.lending,
            interval: AtomicBool::new(false),
            core: Mutex::new(core),
        }
    }

    /// One line about what all nodes did so far, if the user wants it.
    pub(crate) fn said(&self) -> Option<String> {
        self.shared.said()
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

    fn is_interval(&self) -> bool {
        self.interval.load(Ordering::SeqCst)
    }

    /// Is there anything to do at this point? Takes no lock: the caller may run on a shared stack.
    pub(crate) fn minds(&self, point: Point) -> bool {
        point.is_of_regions() || self.is_interval()
    }

    /// The program is at the point with this number, before (`releases`) or after the nodes have met. `entry`: the
    /// region's code, where one begins.
    pub(crate) fn order(&self, number: u8, releases: bool, entry: u64) {
        let Some(point) = Point::numbered(number) else {
            return;
        };
        let mut guard = self.lock();
        let core = &mut *guard;
        self.shared.alone(|| {
            let mut steps = Vec::new();
            if releases {
                core.copies.release(point, &mut steps);
                self.make(core, &mut steps);
                if point == Point::RegionBegins {
                    let interval = self.lending.get().round().is_some();
                    (self.shared.head(Head::Interval)).store(interval.into(), Ordering::SeqCst);
                    self.change(core, point, interval);
                    core.region = entry;
                }
                return;
            }
            if point == Point::PartBegins {
                let interval = self.shared.head(Head::Interval).load(Ordering::SeqCst) != 0;
                self.change(core, point, interval);
            }
            match point {
                Point::PartBegins => core.region = entry,
                Point::RegionEnds => core.region = 0,
                _ => {}
            }
            if self.is_interval() {
                self.acquire(core, point);
            }
        });
    }

    /// From now on nodes ask nobody between points, or pages are owned.
    fn change(&self, core: &mut Core, point: Point, interval: bool) {
        if self.is_interval() != interval {
            let mut steps = Vec::new();
            core.copies.drop_all(point, &mut steps);
            self.make(core, &mut steps);
            self.interval.store(interval, Ordering::SeqCst);
        }
    }

    fn acquire(&self, core: &mut Core, point: Point) {
        let mut steps = Vec::new();
        self.shared.told(self.me, &mut |page, lines| {
            if !self.leaves_out(page, LeftOut::Invalidate(point)) {
                core.copies.acquire(page, lines, point, &mut steps);
            }
        });
        self.make(core, &mut steps);
        if let Some(check) = &mut core.check {
            let access = Access::None;
            let kept = core.copies.clean().filter(|page| check.keeps(*page, point));
            steps.extend(kept.map(|page| Step::Protect { page, access }));
            self.make(core, &mut steps);
        }
    }

    /// Is this left out in a test? Only of the program's variables: without stacks no region would begin.
    fn leaves_out(&self, page: u64, what: LeftOut) -> bool {
        self.shared.left_out == Some(what) && page < self.space.rest(0)
    }

    /// A page in this node's memory.
    fn copy(&self, page: u64) -> *mut [u8; PAGE] {
        self.copies.wrapping_add(page as usize * PAGE).cast()
    }

    fn address(&self, page: u64) -> usize {
        match self.space.address_of(page) {
            Some(address) => address,
            None => self.fail(format_args!(
                "page {page}: not shared (expected one of the shared ranges)"
            )),
        }
    }

    /// Makes the steps, changes of protection of neighbours together.
    fn make(&self, core: &mut Core, steps: &mut Vec<Step>) {
        let mut i = 0;
        while let Some(&step) = steps.get(i) {
            i += 1;
            match step {
                Step::Protect { page, access } => {
                    let mut count = 1;
                    let next = |count| Step::Protect {
                        page: page + count,
                        access,
                    };
                    while steps.get(i) == Some(&next(count)) && self.space.rest(page) > count {
                        (count, i) = (count + 1, i + 1);
                    }
                    let address = self.address(page);
                    if let Err(e) = self.backend.protect(address, count as usize, access) {
                        self.fail(format_args!("protection of address {address:#x}: {e}"));
                    }
                    if let (Access::None, Some(check)) = (access, &mut core.check) {
                        // What is still to be written back is checked first.
                        let gone = |page: &u64| {
                            core.copies.access(*page) == Access::None
                                && !core.twins.contains_key(page)
                        };
                        let all = page..page + count;
                        all.filter(gone).for_each(|page| check.drops(page));
                    }
                }
                Step::Take { page, lines } => {
                    if let Some(check) = &mut core.check {
                        check.takes(page, lines);
                    }
                    if lines == Lines::ALL {
                        self.shared.count(Head::Pages, 1);
                    }
                    // SAFETY: the page is in this node's memory. Its threads have no right to it, or do not use these
                    // lines, which other nodes have written.
                    unsafe { self.shared.take(page, lines, self.copy(page).cast()) };
                }
                Step::Twin { page } => {
                    // SAFETY: the page is in this node's memory, and no thread may write it.
                    let bytes = unsafe { self.copy(page).read() };
                    core.twins.insert(page, Box::new(bytes));
                }
                Step::WriteBack { page, point } => {
                    self.write_back(core, page, point);
                    if let (Access::None, Some(check)) = (core.copies.access(page), &mut core.check)
                    {
                        check.drops(page);
                    }
                }
            }
        }
        steps.clear();
    }

    fn write_back(&self, core: &mut Core, page: u64, point: Point) {
        let Some(twin) = core.twins.remove(&page) else {
            return;
        };
        // SAFETY: the page is in this node's memory, and no thread may write it.
        let now = unsafe { &*self.copy(page) };
        let lines = Lines::changed(now, &twin);
        if lines.is_empty() {
            core.written.remove(&page);
            return;
        }
        core.written.insert(page);
        let is_done = !self.leaves_out(page, LeftOut::WriteBack(point));
        if is_done {
            if let Err(Full) = self.shared.write_back(page, lines, now, &twin) {
                self.fail(format_args!("{}", self.shared.full()));
            }
        }
        let at = (page, self.address(page));
        if let Some(check) = &mut core.check {
            check.wrote(at, lines, (point, core.region), is_done);
        }
        if self.is_interval() {
            self.shared.tell(self.me, page, lines);
        }
    }

    fn serve(&self, core: &mut Core, page: u64, fault: Fault) {
        if self.is_interval() || core.node.access(page) >= fault.access {
            self.counts.local.fetch_add(1, Ordering::Relaxed);
            if let Some(check) = &mut core.check {
                check.uses(page, fault.address & !(PAGE - 1));
            }
            let mut steps = Vec::new();
            core.copies.raise(page, fault.access, &mut steps);
            if fault.access == Access::Write && self.is_interval() {
                self.go_on(core, page, &mut steps);
            }
            self.make(core, &mut steps);
            return self.backend.wake(self.address(page), 1);
        }
        self.counts.asks(fault);
        (core.waits).begin(page, fault.thread, sys::monotonic_ns());
        self.keep.asks();
        let wants = core.node.wanted(page) == Access::None;
        let mut out = Vec::new();
        core.node.fault(page, fault.access, &mut out);
        if wants && core.node.is_demanded(page) && self.keep.is_on() {
            // Its turn comes after that of who waits.
            core.node.release(page, &mut out);
        }
        self.carry_out(core, out);
    }

    /// A thread writes to the page: others behind it that this node wrote before come along, as one step. (The checker
    /// wants to see each page's first use.)
    fn go_on(&self, core: &mut Core, page: u64, steps: &mut Vec<Step>) {
        let behind = page + 1..page + self.space.rest(page).min(AHEAD);
        let comes = |p: &u64| core.written.contains(p) && core.copies.access(*p) == Access::Read;
        if core.check.is_none() {
            let run: Vec<u64> = behind.take_while(comes).collect();
            for page in run {
                core.copies.raise(page, Access::Write, steps);
            }
            // All twins first: changes of protection of neighbours are one.
            steps.sort_by_key(|step| matches!(step, Step::Protect { .. }));
        }
    }

    fn accept(&self, core: &mut Core, from: NodeId, message: Message) -> Vec<Action> {
        let page = message.page();
        if message.demands() && self.keep.is_on() {
            core.node.hold(page);
        }
        let mut out = Vec::new();
        if let Err(violation) = core.node.receive(from, message, &mut out) {
            self.fail(format_args!("{violation}"));
        }
        if core.node.is_demanded(page) && !core.due.contains(&page) {
            core.due.push(page);
        }
        out
    }

    /// Carries out the protocol's actions. Messages to this node itself are taken at once.
    fn carry_out(&self, core: &mut Core, mut out: Vec<Action>) {
        let mut at = 0;
        while let Some(&action) = out.get(at) {
            at += 1;
            match action {
                Action::Send { to, message } if to == self.me => {
                    out.extend(self.accept(core, to, message));
                }
                Action::Send { to, message } => {
                    if let Message::Page { .. } = message {
                        self.counts.sent.fetch_add(1, Ordering::Relaxed);
                    }
                    let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
                    let _ = link.send_inline(to.into(), PORT, TAG, &message.encode(1));
                }
                Action::Protect { page, access } => self.limit(core, page, access),
                Action::Wake { page } => {
                    (core.waits).end(page, sys::monotonic_ns(), self.counts);
                    if core.node.is_held(page) {
                        core.holds.begin(page);
                    }
                    self.backend.wake(self.address(page), 1);
                }
                // Nobody lends pages here.
                Action::Twin { .. } | Action::Merge { .. } => {}
            }
        }
    }

    /// The node owns so much of the page now.
    fn limit(&self, core: &mut Core, page: u64, access: Access) {
        if access == Access::None {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
        if self.is_interval() {
            return;
        }
        let mut steps = Vec::new();
        (core.copies).lower(page, access, Point::GivenAway, &mut steps);
        if core.copies.access(page) < access {
            core.copies.raise(page, access, &mut steps);
        }
        self.make(core, &mut steps);
    }
}

impl Serves for Pool {
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
            self.shared.alone(|| self.serve(&mut guard, page, fault));
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
        self.shared.alone(|| {
            for i in 0..u64::from(count) {
                let out = self.accept(core, from, message.about(message.page() + i));
                self.carry_out(core, out);
            }
        });
    }

    fn end_holds(&self) -> u64 {
        let mut guard = self.lock();
        let core = &mut *guard;
        let (mut next, mut out, mut i) = (u64::MAX, Vec::new(), 0);
        while let Some(&page) = core.due.get(i) {
            let left = self.keep.wait(core.holds.left(page));
            if left > 0 && core.node.is_held(page) {
                next = next.min(left);
                i += 1;
            } else {
                core.due.swap_remove(i);
                core.node.release(page, &mut out);
            }
        }
        self.shared.alone(|| self.carry_out(core, out));
        next
    }

    fn settle(&self) {}

    fn hot(&self, _: usize) -> Option<(usize, u64)> {
        None
    }
}
