//! This process as a node: the start, the threads around the state machine, and messages.
//!
//! Who serves the pages of a node: the node itself, by messages to the others ([`crate::pages`]), or, for nodes of one
//! machine whose faults userfaultfd catches, a server in the origin ([`crate::server`]). In both, the program's own
//! threads run none of that code: a thread that faults sleeps until its page is there.

use crate::backend::uffd::Uffd;
use crate::backend::{self, Kind};
use crate::counts::Counts;
use crate::fork::Forked;
use crate::holds::Keep;
use crate::loans::Switch;
use crate::meeting::Meeting;
use crate::pages::{places, Pages, Parts, Serves, PORT, TAG};
use crate::pool::{Pool, Shared};
use crate::prompt::{be_prompt, stay_on};
use crate::server::PageServer;
use crate::space::Space;
use crate::waiting::{Waiting, END, FAULTS, MESSAGE};
use crate::NodeId;
use crate::PAGE;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use hetmp_core::bell::LocalBell;
use hetmp_core::bootstrap::{through, Job as Exchange};
use hetmp_core::park::Policy;
use hetmp_core::report;
use hetmp_core::topo::{self, CpuSet};
use hetmp_nic::domain::Sizes;
use hetmp_nic::engine::QueuePair;
use hetmp_nic::job::{self, Job, Request, Way};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Enough messages for everything that can be under way to one node: a few for each of its threads.
const MESSAGES: usize = 4096;
const DEPTH: usize = 1024;
/// The home of no page.
const NOBODY: NodeId = NodeId::MAX;
/// Bytes of stack of a thread that serves pages.
pub(crate) const STACK: usize = 2 << 20;

/// How a node is started.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The shared ranges.
    pub space: Space,
    /// How messages travel between the nodes.
    pub way: Way,
    /// How faults are caught; `None`: by the first backend that works.
    pub backend: Option<Kind>,
    /// The origin, too, always stays on its own CPUs, if the nodes have CPUs of their own.
    pub apart: bool,
    /// Pages come along with others.
    pub ahead: bool,
    /// The pool that forked nodes share; then no pages travel.
    pub pool: Option<&'static Shared>,
}

/// A callback for messages outside of the page protocol: sender, tag, bytes. Runs on the thread that waits
/// for messages.
pub type Handler = Box<dyn Fn(NodeId, u32, &[u8]) + Send + Sync>;

/// Who serves this node's pages.
enum Serving {
    /// This node, by messages, or from a pool.
    Here(&'static dyn Serves),
    /// A server in this process, the origin, which serves all nodes.
    AllHere(&'static PageServer),
    /// The server in the origin. The userfaultfd stays open here, too: if the origin ends, the kernel would otherwise
    /// let this node's threads go on, with pages of zeros, until the node has noticed the end.
    AtTheOrigin { _watched: Uffd },
}

/// This process as a node. Lives as long as the process.
pub struct Driver {
    me: NodeId,
    nodes: NodeId,
    space: Space,
    job: &'static Job,
    serving: Serving,
    pool: Option<&'static Pool>,
    link: &'static Mutex<QueuePair>,
    handler: OnceLock<Handler>,
    counts: &'static Counts,
    keep: &'static Keep,
    lending: &'static Switch,
    /// The CPUs on which this node's threads run while a region crosses nodes, if the nodes have CPUs of their own.
    cpus: Option<CpuSet>,
    /// Where forked nodes meet.
    meeting: Option<&'static Meeting>,
    leaving: AtomicBool,
    lost: Lost,
}

/// What the thread that watches the other nodes tells the origin's first thread.
#[derive(Debug, Default)]
struct Lost {
    /// The node that is gone; 0: none.
    node: AtomicU8,
    bell: LocalBell,
    /// There is a thread that says so.
    attended: AtomicBool,
}

impl core::fmt::Debug for Driver {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Driver")
            .field("me", &self.me)
            .field("nodes", &self.nodes)
            .field("backend", &self.backend())
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

fn gone(node: NodeId, error: &std::io::Error) -> String {
    format!("node {node}: its userfaultfd is needed ({error})")
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
    let lifelines = match &peers {
        Peers::Forked(forked) => Some(forked.lifelines()),
        Peers::Launched(_) => None,
    };
    // SAFETY: this function's own contract.
    let started = unsafe { begin(peers, settings, fill) };
    // If another node is gone, the step that failed is not the reason. The origin says so, alone. Its sockets may tell
    // it a little later.
    started.map_err(|why| match lifelines {
        Some(lines) if lines.me() == 0 => match lines.gone(100) {
            Some(node) => format!("node {node} ended while the nodes started"),
            None => why,
        },
        // SAFETY: _exit has no preconditions; the program has not begun.
        Some(lines) if lines.gone(1000).is_some() => unsafe { libc::_exit(2) },
        _ => why,
    })
}

/// [`start`], with what failed first as the error.
///
/// # Safety
/// As for [`start`].
unsafe fn begin(
    peers: Peers,
    settings: Settings,
    fill: &mut dyn FnMut(*mut u8),
) -> Result<&'static Driver, String> {
    crate::fits_kernel()?;
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
        memory: space.len() + places(nodes),
        align: PAGE,
        sizes,
        way: settings.way,
        model: "",
        dials: false,
        needs_all: true,
    };
    let joining = job::begin(request, exchange.as_mut()).map_err(|e| e.to_string())?;
    let (alias, file) = (joining.base(), joining.file());
    fill(alias);
    if let Some(shared) = settings.pool {
        shared.fill(file, alias, space.len())?;
    }
    let mut joined = joining.meet(exchange.as_mut(), &[], &mut |_, _, _| Ok(()), &|_, _| None)?;
    joined.start(exchange.as_mut())?;
    // Nodes of this machine that can map each other's files need no messages for their pages.
    let mapped = joined.peers().iter().all(|p| !p.base().is_null());
    let server = forked
        .as_ref()
        .filter(|_| mapped && settings.backend == Some(Kind::Uffd) && settings.pool.is_none());
    if let Some(forked) = server {
        // All threads of a node stay on its CPUs: the server's thread for this node does so, too, and only there
        // finds a core that has nothing else to do. The origin also runs regions that do not cross, on all CPUs if it
        // is not to stay on its own.
        if me != 0 || settings.apart {
            forked.cpus(me).iter().for_each(stay_on);
        }
    }
    let faults = match server {
        Some(_) if me == 0 => usize::from(nodes),
        Some(_) => 0,
        None => 1,
    };
    let mut threads = Waiting::start(me, faults, forked.is_some())?;
    // SAFETY: the caller of this function lets nobody use the ranges meanwhile, and `fill` has copied their
    // content.
    unsafe { space.map_view(file) }.map_err(|e| format!("shared ranges of node {me}: {e}"))?;
    let mut watched = Vec::new();
    let mut backend = None;
    if let Some(forked) = server {
        let own = Uffd::start(&space, alias).map_err(|e| backend::no_uffd(&e))?;
        if me != 0 {
            forked.hand_over(own.file()).map_err(|e| gone(0, &e))?;
        }
        watched.push((own, alias));
        if me == 0 {
            for peer in 1..nodes {
                let base = joined.peers()[usize::from(peer)].base();
                let file = forked.take_over(peer).map_err(|e| gone(peer, &e))?;
                watched.push((Uffd::of_peer(file, &space, base), base));
            }
        }
    } else {
        let home = if settings.pool.is_some() { NOBODY } else { me };
        // SAFETY: the view was mapped just now. In the file, the home's pages have their content, and other pages
        // are empty.
        backend = Some(unsafe { backend::start(settings.backend, &space, alias, home) }?);
    }
    exchange.fence().map_err(|e| e.to_string())?;
    let job = joined.establish(exchange);
    // The threads that wait for messages share their CPUs with threads that compute. A wait that spins for a
    // millisecond after each message, as is best for a job's own threads, takes that millisecond from the program.
    Policy::set_spins(0, 0);
    let keys = job.keys();
    let Some(engine) = job.queues() else {
        return Err(
            "node: not all peers are reached (expected an engine that reaches them)".to_owned(),
        );
    };
    let link: &'static Mutex<QueuePair> =
        Box::leak(Box::new(Mutex::new(engine.queue_pair(DEPTH, keys))));
    let counts = forked
        .as_ref()
        .and_then(|f| f.counts().get(usize::from(me)))
        .unwrap_or_else(|| Box::leak(Box::default()));
    let keep: &'static Keep = Box::leak(Box::default());
    let lending: &'static Switch = Box::leak(Box::default());
    let mut pool: Option<&'static Pool> = None;
    let serving = match (backend, &forked, watched.pop()) {
        (Some(backend), ..) => {
            let parts = Parts {
                space: space.clone(),
                copies: alias,
                backend,
                link,
                counts,
                keep,
                lending,
            };
            Serving::Here(match settings.pool {
                Some(shared) => {
                    let new = Pool::new((me, nodes), parts, shared);
                    *pool.insert(Box::leak(Box::new(new)))
                }
                None => Box::leak(Box::new(Pages::new((me, nodes), parts, settings.ahead))),
            })
        }
        (None, Some(forked), Some(last)) if me == 0 => {
            watched.push(last);
            let (counts, ahead) = (forked.counts(), settings.ahead);
            let server = PageServer::new(space.clone(), watched, counts, ahead, (keep, lending));
            Serving::AllHere(Box::leak(Box::new(server)))
        }
        (None, _, Some((own, _))) => Serving::AtTheOrigin { _watched: own },
        (None, _, None) => unreachable!("a node that has no backend has its userfaultfd"),
    };
    let driver: &'static Driver = Box::leak(Box::new(Driver {
        me,
        nodes,
        space,
        job,
        serving,
        pool,
        link,
        handler: OnceLock::new(),
        counts,
        keep,
        lending,
        cpus: server.and_then(|f| f.cpus(me)),
        meeting: forked.as_ref().map(Forked::meeting),
        leaving: AtomicBool::new(false),
        lost: Lost::default(),
    }));
    match driver.serving {
        Serving::Here(pages) => threads.run(
            FAULTS,
            Box::new(|| {
                be_prompt();
                pages.serve_faults()
            }),
        ),
        Serving::AllHere(server) => {
            for node in 0..nodes {
                let cpus = forked.as_ref().and_then(|f| f.cpus(node));
                let serve = move || {
                    cpus.iter().for_each(stay_on);
                    be_prompt();
                    server.serve(node)
                };
                threads.run(FAULTS, Box::new(serve));
            }
        }
        Serving::AtTheOrigin { .. } => {}
    }
    threads.run(MESSAGE, Box::new(|| driver.serve_messages()));
    // A launcher sees its nodes end by itself, and ends the others.
    if let Some(forked) = forked {
        threads.run(END, Box::new(move || driver.watch(&forked)));
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
        match &self.serving {
            Serving::Here(pages) => pages.kind(),
            Serving::AllHere(_) | Serving::AtTheOrigin { .. } => Kind::Uffd,
        }
    }

    /// Where this node meets the others, if one process forked all; and whether the nodes have CPUs of their own.
    pub(crate) fn meeting(&self) -> Option<(&'static Meeting, bool)> {
        self.meeting.map(|m| (m, self.cpus.is_some()))
    }

    /// Binds the calling thread to this node's CPUs, as far as the thread may run on them. Nothing happens if the nodes
    /// have no CPUs of their own.
    pub fn stay_on_cpus(&self) {
        if let Some(cpus) = &self.cpus {
            let both = cpus.intersection(&topo::affinity());
            if !both.is_empty() {
                stay_on(&both);
            }
        }
    }

    /// The shared ranges.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The numbers of events so far.
    pub fn counts(&self) -> &Counts {
        self.counts
    }

    /// For how long this node keeps its pages. Only the origin can where it serves all nodes.
    pub fn keep(&self) -> &'static Keep {
        self.keep
    }

    /// From now on this node lends pages to other nodes that write different bytes of them, or does not; where it
    /// serves all nodes, also those of others. Called by one thread at a time.
    pub fn lend(&self, on: bool) {
        self.lending.set(on);
    }

    /// Gives back what the node has borrowed, and waits until it is at its homes. `false`, and nothing is done, where a
    /// server in another process has to do that. Not for threads on shared stacks.
    pub(crate) fn settle(&self, node: NodeId) -> bool {
        match &self.serving {
            Serving::Here(pages) => pages.settle(),
            Serving::AllHere(server) => server.settle(node),
            Serving::AtTheOrigin { .. } => return false,
        }
        true
    }

    /// The pool, if pages are taken from one.
    pub(crate) fn pool(&self) -> Option<&'static Pool> {
        self.pool
    }

    /// One line about what all nodes did with the pool, if there is one.
    pub fn said(&self) -> Option<String> {
        self.pool.and_then(Pool::said)
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
        debug_assert!(tag != TAG);
        let mut link = self.link();
        let sent = link.send_inline(to.into(), PORT, tag, bytes);
        assert!(sent.is_some(), "{} bytes of a message", bytes.len());
    }

    /// Waits until every message has arrived: if the process ended earlier, messages under way would be lost.
    pub(crate) fn flush(&self) {
        loop {
            let mut link = self.link();
            link.ring();
            if link.initiator().is_quiet() {
                return;
            }
            drop(link);
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
    }

    /// Tells the launcher that this process is about to end, and not by accident.
    pub fn take_leave(&self) {
        self.leaving.store(true, Ordering::Release);
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
        match &self.serving {
            Serving::Here(pages) => pages.hot(rank),
            Serving::AllHere(server) => server.hot(rank),
            Serving::AtTheOrigin { .. } => None,
        }
    }

    fn link(&self) -> MutexGuard<'_, QueuePair> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends this process with an error; the other nodes then end, too.
    fn fail(&self, what: core::fmt::Arguments<'_>) -> ! {
        report::warn(format_args!("node {}: {what}", self.me));
        // SAFETY: _exit has no preconditions. Memory of the program may be lost, so none of its code may run
        // any more.
        unsafe { libc::_exit(1) }
    }

    fn serve_messages(&self) {
        be_prompt();
        let Some(inbox) = self.job.domain().port(PORT).and_then(|p| p.inbox()) else {
            self.fail(format_args!("a port with an inbox is needed"));
        };
        let mut wait = u64::MAX;
        loop {
            let message = inbox.receive_within(wait);
            if let Some(m) = &message {
                if m.tag != TAG {
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
            wait = u64::MAX;
            if let Serving::Here(pages) = self.serving {
                if let Some(m) = message {
                    pages.receive(m.source as NodeId, m.bytes());
                }
                wait = pages.end_holds();
            }
            // If a peer's inbox was full, messages wait in the queue pair until this thread rings again.
            let mut link = self.link();
            link.ring();
            if !link.initiator().is_quiet() {
                wait = wait.min(50_000);
            }
        }
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
        self.lost.node.store(node, Ordering::Release);
        self.lost.bell.ring();
        self.attend();
    }

    /// Waits for the end of another node, which ends this one, the origin. The program's output, which then waits to be
    /// written, goes to a descriptor of the program's: so this is for its first thread, and [`crate::tables`] says why.
    /// A second thread that calls it only waits for the end of the process.
    pub fn attend(&self) -> ! {
        let lost = &self.lost;
        while lost.attended.swap(true, Ordering::AcqRel) {
            std::thread::park();
        }
        lost.bell
            .sleep_until(&mut || lost.node.load(Ordering::Acquire) != 0);
        report::flush_output();
        let node = lost.node.load(Ordering::Acquire);
        self.fail(format_args!(
            "node {node} ended while the program ran: the program ends, too"
        ));
    }
}
