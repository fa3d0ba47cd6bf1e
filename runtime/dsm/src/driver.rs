//! The threads around the state machine: one waits for faults, one for messages, one for the end of other processes.
//!
//! The program's own threads never come here: a thread that faults sleeps in the kernel (or in the signal handler)
//! until its page is there. So nothing in this file runs on a shared stack or needs a shared page.
//!
//! # Holds
//! A page that was granted stays for a random time before it can be taken away ([`crate::protocol`], "Holds"). Within
//! 5 ms of its last grant here, a page that comes back stays twice as long as before, up to some 4 ms: nodes that fight for
//! a page then get more done with each visit of it. Nobody waits for a hold that is over.

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

/// The port of the page protocol and of what rides with it.
const PORT: u8 = 0;
/// What messages of the page protocol are tagged with; other tags are the caller's.
const PAGES: u32 = 0;
/// Enough for all that can be under way to one node: a few messages for each of its threads.
const MESSAGES: usize = 4096;
const DEPTH: usize = 1024;
/// Bytes of stack of a thread that serves pages.
pub(crate) const STACK: usize = 2 << 20;
/// Pages that a first touch opens.
const TOUCHED: u64 = 16;
/// The shortest hold, and its random part, nanoseconds.
const HOLD: u64 = 30_000;
/// A page that comes back within this time is fought for.
const AGAIN: u64 = 5_000_000;
/// How often a hold is doubled at most.
const DOUBLINGS: u32 = 6;

/// What a node is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The shared ranges.
    pub space: Space,
    /// How messages travel.
    pub way: Way,
    /// How faults are caught; none: what works.
    pub backend: Option<Kind>,
}

/// What happened on this node so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// Faults that asked another node for a page to read.
    pub reads: AtomicU64,
    /// Faults that asked another node for a page to write, or for the right to write.
    pub writes: AtomicU64,
    /// Faults on pages that this node had the right to: first touches, and second threads.
    pub local: AtomicU64,
    /// Pages sent to other nodes.
    pub sent: AtomicU64,
    /// Pages taken away.
    pub lost: AtomicU64,
}

struct Hold {
    /// When it ends, nanoseconds of the monotonic clock.
    until: u64,
    /// How often it was doubled.
    doubled: u32,
}

struct Core {
    node: Node,
    link: QueuePair,
    /// Of every page that was ever granted.
    holds: BTreeMap<u64, Hold>,
    /// Pages that a peer waits for until their hold ends.
    due: Vec<u64>,
    random: u64,
    out: Vec<Action>,
}

/// Called for messages that are not of the page protocol, on the thread that waits for messages: sender, tag, bytes.
pub type Handler = Box<dyn Fn(NodeId, u32, &[u8]) + Send + Sync>;

/// A node that takes part. It lives as long as its process.
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

// SAFETY: `alias` is a mapping that stays; who reads or writes a page through it is decided by the protocol, under `core`.
unsafe impl Send for Driver {}
// SAFETY: threads share the driver by its mutex and atomics; who uses a page through `alias` is decided under `core`.
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

/// The processes that are to be nodes, before they know each other.
#[derive(Debug)]
pub enum Peers {
    /// Forked from one process: see [`crate::fork`].
    Forked(Forked),
    /// Started by a launcher, perhaps on several machines: `hetrun --dsm`.
    Launched(Launched),
}

impl Peers {
    /// This process among them.
    pub fn me(&self) -> NodeId {
        match self {
            Peers::Forked(forked) => forked.me,
            Peers::Launched(Launched(job)) => job.rank() as NodeId,
        }
    }
}

/// A launcher's exchange of values.
pub struct Launched(pub Box<dyn Exchange>);

impl core::fmt::Debug for Launched {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Launched({} of {})", self.0.rank(), self.0.size())
    }
}

/// Joins the nodes to one job, shares the ranges, and starts serving them. Collective. `fill` is called with the
/// alias, before the view is mapped: the origin copies there what the ranges hold, at each range's place in the file.
///
/// # Errors
/// One line: a peer is gone, there is no memory, or no backend works.
///
/// # Safety
/// Nobody uses the ranges' addresses meanwhile, and what `fill` leaves behind is lost.
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
    // SAFETY: nobody else uses the ranges meanwhile, as the callers of this function uphold, and `fill` has copied what lay there.
    unsafe { space.map_view(file) }.map_err(|e| format!("shared ranges of node {me}: {e}"))?;
    // SAFETY: just mapped; in the file, the home's pages hold what they held, and others nothing.
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
        // With a size, the library does not look for one in the environment: the program's variable `environ` may lie
        // among the shared pages, whose faults nobody serves yet.
        std::thread::Builder::new()
            .name(name.to_owned())
            .stack_size(STACK)
            .spawn(body)
            .map(|_| ())
            .map_err(|e| format!("thread of node {me}: {e}"))
    };
    spawn("hetmp-dsm-fault", Box::new(|| driver.serve_faults()))?;
    spawn("hetmp-dsm-msg", Box::new(|| driver.serve_messages()))?;
    // Who launched the nodes sees their ends, and ends the others.
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

    /// How many nodes there are.
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

    /// What happened so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Who gets messages with tags other than 0; the first one stays. Until there is one, such a message waits, and with
    /// it all that came after.
    pub(crate) fn on_message(&self, handler: Handler) {
        let _ = self.handler.set(handler);
    }

    /// Sends up to [`hetmp_nic::descriptor::INLINE_BYTES`] bytes to a node, this one included, with a tag from 1 on. Its
    /// [handler](Driver::on_message) gets them. Messages between two nodes keep their order.
    pub fn send(&self, to: NodeId, tag: u32, bytes: &[u8]) {
        debug_assert!(tag != PAGES);
        let mut core = self.lock();
        let sent = core.link.send_inline(to.into(), PORT, tag, bytes);
        assert!(sent.is_some(), "{} bytes of a message", bytes.len());
    }

    /// From now on, the end of other processes is no accident.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    /// Waits until everything that was sent has come: a process that ends takes what is under way along.
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

    /// Tells whatever started the job that this process' end is no accident.
    pub fn take_leave(&self) {
        self.leave();
        self.job.leave();
    }

    /// The program has ended, says the origin: this node ends, too.
    pub fn end(&self) -> ! {
        self.take_leave();
        // SAFETY: _exit has no preconditions; a node runs nothing of its own at the end.
        unsafe { libc::_exit(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends this process; the others follow.
    fn fail(&self, what: core::fmt::Arguments<'_>) -> ! {
        report::warn(format_args!("node {}: {what}", self.me));
        // SAFETY: _exit has no preconditions. The program's memory may be lost: nothing of it may run any more.
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
            if core.node.is_untouched(page) && core.node.access(page) == Access::Write {
                self.touch(core, page);
            }
            core.node.fault(page, fault.access, &mut core.out);
            self.carry_out(core);
        }
    }

    /// A first touch of a page that is at home here brings the pages behind it along, as far as nobody asked for them.
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
                    // A peer that started earlier may have sent it before this node has its handler.
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
            // Where a peer's inbox was full, messages wait in the queue pair until somebody rings again.
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
        if core.node.is_demanded(page) && !core.due.contains(&page) {
            core.due.push(page);
        }
    }

    /// Ends the holds that are over and waited for. The nanoseconds until the next one is.
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

    /// Does what the state machine said. Messages to this node itself are taken at once.
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
            // The origin ended, and with it the program.
            // SAFETY: _exit has no preconditions; a node runs nothing of its own at the end.
            unsafe { libc::_exit(0) }
        }
        report::flush_output();
        self.fail(format_args!(
            "node {node} ended while the program ran: the program ends, too"
        ));
    }
}
