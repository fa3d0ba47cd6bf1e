//! The threads around the state machine: one waits for faults, one for messages, one for the end of other
//! processes.
//!
//! The program's own threads never run this code: a thread that faults sleeps in the kernel (or in the signal
//! handler) until its page is there. So nothing in this file runs on a shared stack or needs a shared page.
//!
//! # Holds
//! A page that was granted stays for a random time before it can be taken away ([`crate::protocol`],
//! "Holds"). If the page comes back within 5 ms of the end of its last hold, the random part is drawn from a
//! range twice as long as before, up to some 2 ms: nodes that fight for a page then get more done with each
//! visit of it. After a hold has ended, no node waits because of it.

use crate::backend::{self, Backend, Kind};
use crate::fork::Forked;
use crate::space::Space;
use crate::{Access, Action, Message, Node, NodeId};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hetmp_core::bootstrap::{through, Job as Exchange};
use hetmp_core::segment::PAGE;
use hetmp_core::{report, sys};
use hetmp_nic::domain::Sizes;
use hetmp_nic::engine::QueuePair;
use hetmp_nic::job::{self, Job, Request, Way};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The port of the page protocol and of the messages of [`crate::together`].
const PORT: u8 = 0;
/// The tag of the page protocol's messages; callers of [`Driver::send`] use other tags.
const PAGES: u32 = 0;
/// Enough messages for everything that can be under way to one node: a few for each of its threads.
const MESSAGES: usize = 4096;
const DEPTH: usize = 1024;
/// Bytes of stack of a thread that serves pages.
pub(crate) const STACK: usize = 2 << 20;
/// Pages that one first touch makes accessible.
const TOUCHED: u64 = 16;
/// The shortest hold, and the shortest range of its random part, in nanoseconds.
const HOLD: u64 = 30_000;
/// Nanoseconds. A page that comes back this soon after its last hold is fought for.
const AGAIN: u64 = 5_000_000;
/// Most doublings of the random part.
const DOUBLINGS: u32 = 6;

/// How a node is started.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The shared ranges.
    pub space: Space,
    /// How messages travel between the nodes.
    pub way: Way,
    /// How faults are caught; `None`: by the first backend that works.
    pub backend: Option<Kind>,
}

/// Numbers of events on this node so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// Faults that asked another node for a page to read.
    pub reads: AtomicU64,
    /// Faults that asked another node for a page to write, or for the right to write.
    pub writes: AtomicU64,
    /// Faults on pages that this node already had the right to: first touches, and further threads on one
    /// page.
    pub local: AtomicU64,
    /// Pages sent to other nodes.
    pub sent: AtomicU64,
    /// Pages taken away.
    pub lost: AtomicU64,
    /// Nanoseconds from the arrival of a fault that asked another node to its page's, summed over faults.
    pub waited_ns: AtomicU64,
}

struct Hold {
    /// When the hold ends, in nanoseconds of the monotonic clock.
    until: u64,
    /// How often its random part was doubled.
    doubled: u32,
}

struct Core {
    node: Node,
    link: QueuePair,
    /// The hold of each page that was ever granted.
    holds: BTreeMap<u64, Hold>,
    /// Pages that a peer waits for until their hold ends.
    due: Vec<u64>,
    random: u64,
    out: Vec<Action>,
    /// Pages that this node has asked another one for, and when it did.
    asked: Vec<(u64, u64)>,
    /// How often nodes asked for each page whose home this node is.
    wanted: BTreeMap<u64, u64>,
}

/// A callback for messages outside of the page protocol: sender, tag, bytes. Runs on the thread that waits
/// for messages.
pub type Handler = Box<dyn Fn(NodeId, u32, &[u8]) + Send + Sync>;

/// This process as a node. Lives as long as the process.
pub struct Driver {
    me: NodeId,
    nodes: NodeId,
    space: Space,
    job: &'static Job,
    alias: *mut u8,
    backend: Box<dyn Backend>,
    core: Mutex<Core>,
    handler: OnceLock<Handler>,
    counts: Counts,
    leaving: AtomicBool,
}

// SAFETY: `alias` is a mapping that stays. The protocol decides who reads or writes a page through it, under
// `core`.
unsafe impl Send for Driver {}
// SAFETY: threads share the driver through its mutex and atomics. The protocol decides who uses a page
// through `alias`, under `core`.
unsafe impl Sync for Driver {}

impl core::fmt::Debug for Driver {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Driver")
            .field("me", &self.me)
            .field("nodes", &self.nodes)
            .field("backend", &self.backend.kind())
            .finish_non_exhaustive()
    }
}

/// The processes that will be nodes, before they have exchanged addresses.
#[derive(Debug)]
pub enum Peers {
    /// Forked from one process: see [`crate::fork`].
    Forked(Forked),
    /// Started by a launcher, perhaps on several machines: `hetrun --dsm`.
    Launched(Launched),
}

impl Peers {
    /// This process's number among them.
    pub fn me(&self) -> NodeId {
        match self {
            Peers::Forked(forked) => forked.me,
            Peers::Launched(Launched(job)) => job.rank() as NodeId,
        }
    }
}

/// A launcher's way to exchange values.
pub struct Launched(pub Box<dyn Exchange>);

impl core::fmt::Debug for Launched {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Launched({} of {})", self.0.rank(), self.0.size())
    }
}

/// Joins the nodes to one job, shares the ranges, and starts serving them. All nodes call this. `fill` is
/// called with the alias before the view is mapped: the origin copies the ranges' content to it, each range
/// to its place in the file.
///
/// # Errors
/// One line: a peer is gone, there is no memory, or no backend works.
///
/// # Safety
/// Nobody uses the ranges' addresses meanwhile. What the ranges held is lost, unless `fill` copies it.
pub unsafe fn start(
    peers: Peers,
    settings: Settings,
    fill: &mut dyn FnMut(*mut u8),
) -> Result<&'static Driver, String> {
    let (mut exchange, forked) = match peers {
        Peers::Forked(forked) => {
            let exchange = through(forked.exchange()).map_err(|e| e.to_string())?;
            (exchange, Some(forked))
        }
        Peers::Launched(Launched(exchange)) => (exchange, None),
    };
    let space = settings.space;
    let (me, nodes) = (exchange.rank() as NodeId, exchange.size() as NodeId);
    let sizes = Sizes {
        ports: 1,
        regions: 4,
        messages: MESSAGES,
        counters: 1,
    };
    let request = Request {
        member: "node",
        name: c"hetmp-dsm",
        memory: space.len(),
        align: PAGE,
        sizes,
        way: settings.way,
        model: "",
        dials: false,
    };
    let joining = job::begin(request, exchange.as_mut()).map_err(|e| e.to_string())?;
    let (alias, file) = (joining.base(), joining.file());
    fill(alias);
    let note = env!("CARGO_PKG_VERSION").as_bytes();
    let mut check = |node: u32, _: bool, theirs: &[u8]| match theirs == note {
        true => Ok(()),
        false => Err(format!(
            "node {node}: the same version of hetmp is accepted"
        )),
    };
    let mut joined = joining.meet(exchange.as_mut(), note, &mut check, &|_, _| None)?;
    joined.start(exchange.as_mut())?;
    // SAFETY: the caller of this function lets nobody use the ranges meanwhile, and `fill` has copied their
    // content.
    unsafe { space.map_view(file) }.map_err(|e| format!("shared ranges of node {me}: {e}"))?;
    // SAFETY: the view was mapped just now. In the file, the home's pages have their content, and other pages
    // are empty.
    let backend = unsafe { backend::start(settings.backend, &space, alias, me) }?;
    exchange.fence().map_err(|e| e.to_string())?;
    let job = joined.establish(exchange);
    let keys = job.keys();
    let Some(engine) = job.queues() else {
        return Err("node: an engine that reaches all peers is accepted".to_owned());
    };
    let core = Core {
        node: Node::new(me, nodes, space.homes()),
        link: engine.queue_pair(DEPTH, keys),
        holds: BTreeMap::new(),
        due: Vec::new(),
        random: sys::monotonic_ns() | 1,
        out: Vec::new(),
        asked: Vec::new(),
        wanted: BTreeMap::new(),
    };
    let driver: &'static Driver = Box::leak(Box::new(Driver {
        me,
        nodes,
        space,
        job,
        alias,
        backend,
        core: Mutex::new(core),
        handler: OnceLock::new(),
        counts: Counts::default(),
        leaving: AtomicBool::new(false),
    }));
    let spawn = |name: &str, body: Box<dyn FnOnce() + Send>| {
        // The stack's size is given. Without it the standard library would look for one in the environment,
        // and the program's `environ` may lie in shared pages, whose faults nobody serves yet.
        std::thread::Builder::new()
            .name(name.to_owned())
            .stack_size(STACK)
            .spawn(body)
            .map(|_| ())
            .map_err(|e| format!("thread of node {me}: {e}"))
    };
    spawn("hetmp-dsm-fault", Box::new(|| driver.serve_faults()))?;
    spawn("hetmp-dsm-msg", Box::new(|| driver.serve_messages()))?;
    // A launcher sees its nodes end by itself, and ends the others.
    if let Some(forked) = forked {
        spawn("hetmp-dsm-end", Box::new(move || driver.watch(&forked)))?;
    }
    Ok(driver)
}

impl Driver {
    /// This node.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// The number of nodes.
    pub fn nodes(&self) -> NodeId {
        self.nodes
    }

    /// How faults are caught.
    pub fn backend(&self) -> Kind {
        self.backend.kind()
    }

    /// The shared ranges.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The numbers of events so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Sets the callback for messages with tags other than 0. The first callback stays. Until there is one,
    /// such a message waits, and all later messages wait behind it.
    pub(crate) fn on_message(&self, handler: Handler) {
        let _ = self.handler.set(handler);
    }

    /// Sends up to [`hetmp_nic::descriptor::INLINE_BYTES`] bytes to a node (this node included) with a tag
    /// from 1 on. That node's handler gets them. Messages between two nodes keep their
    /// order.
    pub fn send(&self, to: NodeId, tag: u32, bytes: &[u8]) {
        debug_assert!(tag != PAGES);
        let mut core = self.lock();
        let sent = core.link.send_inline(to.into(), PORT, tag, bytes);
        assert!(sent.is_some(), "{} bytes of a message", bytes.len());
    }

    /// From now on, other processes may end without this node failing.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    /// Waits until every message has arrived: if the process ended earlier, messages under way would be lost.
    pub fn flush(&self) {
        loop {
            let mut core = self.lock();
            core.link.ring();
            if core.link.initiator().is_quiet() {
                return;
            }
            drop(core);
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
    }

    /// Tells the launcher that this process is about to end, and not by accident.
    pub fn take_leave(&self) {
        self.leave();
        self.job.leave();
    }

    /// Ends this node, because the origin says that the program has ended.
    pub fn end(&self) -> ! {
        self.take_leave();
        // SAFETY: _exit has no preconditions; a node runs no code of its own at its end.
        unsafe { libc::_exit(0) }
    }

    /// The address of the page for which nodes asked most often but for `rank` other pages, and the number of
    /// requests. Only pages whose home this node is are counted. Not for threads on shared stacks.
    pub(crate) fn hot(&self, rank: usize) -> Option<(usize, u64)> {
        let core = self.lock();
        let mut all: Vec<(u64, u64)> = core.wanted.iter().map(|(&p, &n)| (n, p)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let &(requests, page) = all.get(rank)?;
        Some((self.address(page), requests))
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

    fn serve_faults(&self) {
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
            let counter = if core.node.access(page) >= fault.access {
                &self.counts.local
            } else if fault.access == Access::Read {
                &self.counts.reads
            } else {
                &self.counts.writes
            };
            counter.fetch_add(1, Ordering::Relaxed);
            if core.node.access(page) < fault.access && core.asked.iter().all(|a| a.0 != page) {
                core.asked.push((page, sys::monotonic_ns()));
            }
            if core.node.is_untouched(page) && core.node.access(page) == Access::Write {
                self.touch(core, page);
            }
            core.node.fault(page, fault.access, &mut core.out);
            self.carry_out(core);
        }
    }

    /// After a first touch of a page whose home is this node: makes the pages behind it accessible, too, as
    /// long as no node asked for them.
    fn touch(&self, core: &Core, page: u64) {
        let start = self.address(page);
        let run = (0..TOUCHED)
            .take_while(|i| {
                core.node.is_untouched(page + i)
                    && core.node.access(page + i) == Access::Write
                    && self.space.address_of(page + i) == Some(start + *i as usize * PAGE)
            })
            .count();
        if let Err(e) = self.backend.first_touch(start, run) {
            self.fail(format_args!("pages at {start:#x}: {e}"));
        }
    }

    fn serve_messages(&self) {
        let Some(inbox) = self.job.domain().port(PORT).and_then(|p| p.inbox()) else {
            self.fail(format_args!("a port with an inbox is needed"));
        };
        let mut wait = u64::MAX;
        loop {
            let message = inbox.receive_within(wait);
            if let Some(m) = &message {
                if m.tag != PAGES {
                    // A peer that started earlier may have sent the message before this node has its handler.
                    let handler = loop {
                        match self.handler.get() {
                            Some(handler) => break handler,
                            None => std::thread::sleep(std::time::Duration::from_micros(50)),
                        }
                    };
                    handler(m.source as NodeId, m.tag, m.bytes());
                    continue;
                }
            }
            let mut guard = self.lock();
            let core = &mut *guard;
            if let Some(m) = message {
                let Some(decoded) = Message::decode(m.bytes()) else {
                    self.fail(format_args!(
                        "{:?} of node {}: a message of the page protocol is accepted",
                        m.bytes(),
                        m.source
                    ));
                };
                self.accept(core, m.source as NodeId, decoded);
                self.carry_out(core);
            }
            wait = self.end_holds(core);
            // If a peer's inbox was full, messages wait in the queue pair until this thread rings again.
            core.link.ring();
            if !core.link.initiator().is_quiet() {
                wait = wait.min(50_000);
            }
        }
    }

    fn accept(&self, core: &mut Core, from: NodeId, message: Message) {
        if let Err(violation) = core.node.receive(from, message, &mut core.out) {
            self.fail(format_args!("{violation}"));
        }
        let page = message.page();
        if let Message::Want { .. } = message {
            *core.wanted.entry(page).or_insert(0) += 1;
        }
        if core.node.is_demanded(page) && !core.due.contains(&page) {
            core.due.push(page);
        }
    }

    /// Ends the holds that are over and that a peer waits for. Returns the nanoseconds until the next such
    /// hold ends.
    fn end_holds(&self, core: &mut Core) -> u64 {
        let mut next = u64::MAX;
        let mut i = 0;
        while let Some(&page) = core.due.get(i) {
            let until = core.holds.get(&page).map_or(0, |h| h.until);
            let left = until.saturating_sub(sys::monotonic_ns());
            if left > 0 {
                next = next.min(left);
                i += 1;
            } else {
                core.due.swap_remove(i);
                core.node.release(page, &mut core.out);
                self.carry_out(core);
            }
        }
        next
    }

    fn begin_hold(&self, core: &mut Core, page: u64) {
        let now = sys::monotonic_ns();
        core.random ^= core.random << 13;
        core.random ^= core.random >> 7;
        core.random ^= core.random << 17;
        let hold = core.holds.entry(page).or_insert(Hold {
            until: 0,
            doubled: 0,
        });
        hold.doubled = if now.saturating_sub(hold.until) < AGAIN && hold.until != 0 {
            (hold.doubled + 1).min(DOUBLINGS)
        } else {
            0
        };
        hold.until = now + HOLD + core.random % (HOLD << hold.doubled);
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
                Action::Send { to, message } => self.post(core, to, message),
                Action::Protect { page, access } => {
                    if access == Access::None {
                        self.counts.lost.fetch_add(1, Ordering::Relaxed);
                    }
                    if let Err(e) = self.backend.protect(self.address(page), access) {
                        self.fail(format_args!(
                            "protection of address {:#x}: {e}",
                            self.address(page)
                        ));
                    }
                }
                Action::Wake { page } => {
                    if let Some(i) = core.asked.iter().position(|a| a.0 == page) {
                        let (_, since) = core.asked.swap_remove(i);
                        let waited = sys::monotonic_ns().saturating_sub(since);
                        self.counts.waited_ns.fetch_add(waited, Ordering::Relaxed);
                    }
                    if core.node.is_held(page) {
                        self.begin_hold(core, page);
                    }
                    self.backend.wake(self.address(page));
                }
            }
        }
        core.out.clear();
    }

    fn address(&self, page: u64) -> usize {
        match self.space.address_of(page) {
            Some(address) => address,
            None => self.fail(format_args!(
                "page {page}: one of the shared ranges is accepted"
            )),
        }
    }

    fn post(&self, core: &mut Core, to: NodeId, message: Message) {
        let bytes = message.encode();
        if let Message::Page { page, .. } = message {
            self.counts.sent.fetch_add(1, Ordering::Relaxed);
            let offset = page * PAGE as u64;
            let here = self.alias as u64 + offset;
            core.link.put(to.into(), offset, here, PAGE as u32);
            core.link.fence(to.into());
        }
        let _ = core.link.send_inline(to.into(), PORT, PAGES, &bytes);
    }

    fn watch(&self, forked: &Forked) {
        let node = forked.wait_for_the_end();
        if self.leaving.load(Ordering::Acquire) {
            return;
        }
        if self.me != 0 {
            // SAFETY: _exit has no preconditions; a node runs no code of its own at its end. The origin has
            // ended, and the program with it.
            unsafe { libc::_exit(0) }
        }
        report::flush_output();
        self.fail(format_args!(
            "node {node} ended while the program ran: the program ends, too"
        ));
    }
}
