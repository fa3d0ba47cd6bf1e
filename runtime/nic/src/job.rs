//! A job: the processes that reach each other's memory, joined once per process, for every library that uses it.
//!
//! 1. [`begin`] decides which engine is needed and makes this process' segment: the user's memory, then a *block* with
//!    the rank's [domain](crate::domain). The user may fill its memory now.
//! 2. [`Joining::meet`] tells the others where it is, and maps the segments of those on this machine.
//! 3. [`Job::start`] starts the engine.
//! 4. [`Job::establish`] makes it the job of this process, which later users find by [`established`].
//!
//! Processes find each other through an exchange of small values (put, get, fence): that of a launcher
//! ([`hetmp_core::bootstrap::connect`]), or one that the caller has, under MPI for example
//! ([`hetmp_core::bootstrap::through`]).
//!
//! | way | peers on this machine | peers on others |
//! | --- | --- | --- |
//! | `auto` | mapped memory | sockets |
//! | `shm` | mapped memory | refused |
//! | `emulated`, or a model | this process' software adapter, on mapped memory | refused |
//! | `tcp` | sockets | sockets |
//!
//! **Several users.** Each has a [port](crate::domain::Port): a number that the users of a job agree on, below
//! [`Sizes::ports`]. Its inbox, counters and regions are its own. Memory that came later is shared by [`Job::segment`].

use crate::descriptor::Key;
use crate::device_memory::board::{Board, BOARD_BYTES};
use crate::device_memory::DeviceMemory;
use crate::domain::{Arrival, Domain, Domains, Sizes};
use crate::engine::emulated::{self, Model};
use crate::engine::shm::Shm;
use crate::engine::tcp::{connect, Tcp};
use crate::engine::{Engine, TemplateKeys};
use crate::keys::{Memory, Rights, WINDOWS};
use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering};
use hetmp_core::bootstrap::Job as Exchange;
use hetmp_core::segment::{Segment, PAGE};
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Where a rank's segment is, and its user's note.
const CARD: &str = "nic.card";
/// Where a rank listens for its peers.
const ADDRESS: &str = "nic.tcp";
/// How long peers may take to connect.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was asked for: `HETMP_NIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Mapped memory where it can be, sockets elsewhere.
    Auto,
    /// Mapped memory only.
    Shm,
    /// The software adapter, for peers on this machine.
    Emulated,
    /// Sockets to everybody.
    Tcp,
}

impl Way {
    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Way::Auto => "auto",
            Way::Shm => "shm",
            Way::Emulated => "emulated",
            Way::Tcp => "tcp",
        }
    }

    /// Of what a user wrote.
    pub fn of(name: &str) -> Option<Way> {
        [Way::Auto, Way::Shm, Way::Emulated, Way::Tcp]
            .into_iter()
            .find(|w| w.name() == name)
    }
}

/// Whom the engine of a job reaches; the others' memory is accessed by loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nobody: every peer is mapped, and there is no engine.
    Nobody,
    /// Those whose memory is not mapped here.
    Unmapped,
    /// All but this rank.
    Others,
    /// All, this rank too: the modelled memory is behind the adapter.
    All,
}

/// What a process brings along.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What messages call a rank: `PE` for example.
    pub member: &'static str,
    /// What `/proc` calls the segment.
    pub name: &'a CStr,
    /// Bytes of memory that peers are to reach.
    pub memory: usize,
    /// What that memory is aligned to in every process: a power of two, at least a page.
    pub align: usize,
    /// Of the domain; the same in every process.
    pub sizes: Sizes,
    /// Which engine.
    pub way: Way,
    /// `HETMP_NIC_MODEL`; empty for none.
    pub model: &'a str,
}

enum Plan {
    Mapped,
    Emulated(Model),
    Tcp(TcpListener, Reach),
}

impl Plan {
    /// True if memory of peers of this machine is to be mapped.
    fn maps(&self) -> bool {
        !matches!(self, Plan::Tcp(_, Reach::Others))
    }

    fn reach(&self) -> Reach {
        match self {
            Plan::Mapped => Reach::Nobody,
            Plan::Emulated(model) if model.device.is_some() => Reach::All,
            Plan::Emulated(_) => Reach::Others,
            Plan::Tcp(_, reach) => *reach,
        }
    }
}

/// Which engine; a rank that listens says where.
fn plan(request: &Request<'_>, exchange: &mut dyn Exchange) -> Result<Plan, String> {
    let all_local = exchange.local_ranks().len() == exchange.size() as usize;
    let here_only = |plan| {
        if all_local {
            Ok(plan)
        } else {
            Err(format!(
                "HETMP_NIC {}: auto or tcp is accepted for {}s on several machines",
                request.way.name(),
                request.member
            ))
        }
    };
    if !request.model.is_empty() {
        let device = DeviceMemory::parse(request.model).map_err(|e| e.to_string())?;
        if !matches!(request.way, Way::Auto | Way::Emulated) {
            return Err(format!(
                "HETMP_NIC {}: auto or emulated is accepted with HETMP_NIC_MODEL",
                request.way.name()
            ));
        }
        return here_only(Plan::Emulated(Model {
            device: Some(device),
            ..Model::default()
        }));
    }
    match request.way {
        Way::Auto if all_local => Ok(Plan::Mapped),
        Way::Auto => listen(exchange, Reach::Unmapped),
        Way::Tcp => listen(exchange, Reach::Others),
        Way::Shm => here_only(Plan::Mapped),
        Way::Emulated => here_only(Plan::Emulated(Model::default())),
    }
}

fn listen(exchange: &mut dyn Exchange, reach: Reach) -> Result<Plan, String> {
    let address = match exchange.address() {
        Some(address) => address,
        None => own_address()?,
    };
    let listener = TcpListener::bind((address, 0))
        .and_then(|l| l.local_addr().map(|a| (l, a)))
        .map_err(|e| format!("listening at {address}: {e}"));
    let (listener, at) = listener?;
    exchange
        .put(ADDRESS, at.to_string().as_bytes())
        .map_err(|e| e.to_string())?;
    Ok(Plan::Tcp(listener, reach))
}

/// The address that this machine's name stands for, where the launcher does not say one.
fn own_address() -> Result<IpAddr, String> {
    let mut buffer = [0u8; 256];
    // SAFETY: room for as many as said; the last byte stays zero.
    unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let end = buffer.iter().position(|&b| b == 0).unwrap_or(0);
    let name = String::from_utf8_lossy(&buffer[..end]).into_owned();
    (name.as_str(), 0)
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.find(|a| !a.ip().is_loopback()))
        .map(|a| a.ip())
        .ok_or_else(|| {
            format!("host name {name}: one that stands for an address which other machines reach is accepted")
        })
}

/// What a rank tells the others: where its segment is, and what its user wants them to know.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Card {
    pid: u32,
    fd: i32,
    memory: usize,
    sizes: Sizes,
    note: Vec<u8>,
}

impl Card {
    fn encode(&self) -> Vec<u8> {
        let s = &self.sizes;
        let head = format!(
            "{} {} {} {} {} {} {}\n",
            self.pid, self.fd, self.memory, s.ports, s.regions, s.messages, s.counters
        );
        [head.as_bytes(), &self.note].concat()
    }

    fn parse(text: &[u8]) -> Option<Card> {
        let end = text.iter().position(|b| *b == b'\n')?;
        let mut words = core::str::from_utf8(&text[..end]).ok()?.split(' ');
        let mut next = || words.next();
        let card = Card {
            pid: next()?.parse().ok()?,
            fd: next()?.parse().ok()?,
            memory: next()?.parse().ok()?,
            sizes: Sizes {
                ports: next()?.parse().ok()?,
                regions: next()?.parse().ok()?,
                messages: next()?.parse().ok()?,
                counters: next()?.parse().ok()?,
            },
            note: text[end + 1..].to_vec(),
        };
        words.next().is_none().then_some(card)
    }
}

/// Bytes of a rank's block, behind its user's memory.
fn block_bytes(sizes: Sizes, ranks: usize) -> usize {
    Domain::bytes(sizes, ranks).next_multiple_of(PAGE) + BOARD_BYTES
}

/// A peer as this process reaches it.
#[derive(Debug)]
pub struct Peer {
    /// Its segment, where it is mapped here (this process' own for itself).
    pub segment: Option<Segment>,
    /// Runs on this machine.
    pub local: bool,
}

impl Peer {
    /// Its memory in this process; null where it is not mapped.
    pub fn base(&self) -> *mut u8 {
        self.segment
            .as_ref()
            .map_or(core::ptr::null_mut(), Segment::base)
    }
}

/// A process that has made its segment, and has not met the others.
pub struct Joining<'a> {
    request: Request<'a>,
    plan: Plan,
    own: Segment,
    fd: i32,
}

/// Why a job cannot be begun.
#[derive(Debug)]
pub enum Refused {
    /// What was asked for cannot be: one line.
    Way(String),
    /// There is no memory.
    Memory {
        /// So many bytes.
        bytes: usize,
        /// Why.
        error: std::io::Error,
    },
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Refused::Way(text) => f.write_str(text),
            Refused::Memory { bytes, error } => {
                write!(f, "shared memory of {bytes} bytes: {error}")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Decides which engine is needed, and makes this process' segment.
///
/// # Errors
/// What was asked for cannot be, or there is no memory.
pub fn begin<'a>(
    request: Request<'a>,
    exchange: &mut dyn Exchange,
) -> Result<Joining<'a>, Refused> {
    let plan = plan(&request, exchange).map_err(Refused::Way)?;
    let len = request.memory.next_multiple_of(PAGE)
        + block_bytes(request.sizes, exchange.size() as usize);
    let own = Segment::create(request.name, len, request.align)
        .map_err(|error| Refused::Memory { bytes: len, error })?;
    let Some(fd) = own.file() else {
        unreachable!("a segment that was created has its file")
    };
    Ok(Joining {
        request,
        plan,
        own,
        fd,
    })
}

/// Sees another rank's note before its memory is mapped: its number, whether it runs on this machine, and the note. What
/// it says against the rank ends the joining.
pub type Check<'a> = dyn FnMut(u32, bool, &[u8]) -> Result<(), String> + 'a;

/// Called for what arrives at a rank: see [`Domain::on_arrival`].
pub type Handler = Box<dyn Fn(&Arrival) + Send + Sync>;

impl Joining<'_> {
    /// This process' memory: zero, until the user writes there.
    pub fn base(&self) -> *mut u8 {
        self.own.base()
    }

    /// The file that is mapped there.
    pub fn file(&self) -> i32 {
        self.fd
    }

    /// Tells the others where this process' memory is, and `note`; maps the memory of those on this machine.
    ///
    /// `check` sees every other rank's note before its memory is mapped. `handler` makes what is called when something
    /// arrives at a rank that is mapped here, from its number and where its memory lies.
    ///
    /// # Errors
    /// One line: a peer cannot be mapped, or did not bring the same, or the launcher is lost, or what `check` says.
    pub fn meet(
        self,
        exchange: &mut dyn Exchange,
        note: &[u8],
        check: &mut Check<'_>,
        handler: &dyn Fn(u32, *mut u8) -> Option<Handler>,
    ) -> Result<Job, String> {
        let Joining {
            request,
            plan,
            own,
            fd,
        } = self;
        let (rank, size) = (exchange.rank(), exchange.size());
        let member = request.member;
        let card = Card {
            pid: std::process::id(),
            fd,
            memory: request.memory,
            sizes: request.sizes,
            note: note.to_vec(),
        };
        exchange
            .put(CARD, &card.encode())
            .and_then(|()| exchange.fence())
            .map_err(|e| e.to_string())?;
        let local: Vec<u32> = exchange.local_ranks().to_vec();
        let mut own = Some(own);
        let mut peers = Vec::new();
        for r in 0..size {
            let is_local = local.contains(&r);
            if r == rank {
                peers.push(Peer {
                    segment: own.take(),
                    local: true,
                });
                continue;
            }
            let theirs = exchange
                .get(r, CARD)
                .map_err(|e| format!("{member} {r}: {e}"))?
                .and_then(|text| Card::parse(&text));
            let Some(theirs) = theirs else {
                return Err(format!(
                    "{member} {r}: it did not say where its memory is: a process that joins the job in the same way is accepted"
                ));
            };
            check(r, is_local, &theirs.note)?;
            if (theirs.memory, theirs.sizes) != (card.memory, card.sizes) {
                return Err(format!(
                    "{member} {r}: shared memory of {} bytes: as much as of {member} {rank}, {}, is accepted",
                    theirs.memory, card.memory
                ));
            }
            let segment =
                if plan.maps() && is_local {
                    let len =
                        card.memory.next_multiple_of(PAGE) + block_bytes(card.sizes, size as usize);
                    let opened = Segment::open(theirs.pid, theirs.fd, len, request.align);
                    Some(opened.map_err(|e| {
                        format!("{member} {r}: memory of process {}: {e}", theirs.pid)
                    })?)
                } else {
                    None
                };
            peers.push(Peer {
                segment,
                local: is_local,
            });
        }
        let (domains, keys) = domains(rank as usize, &request, &peers, handler);
        // Nobody may end, and take its segment's file along, before all have opened it; and what a rank has registered
        // is there for all.
        exchange.fence().map_err(|e| e.to_string())?;
        Ok(Job {
            rank,
            size,
            member,
            memory: request.memory,
            sizes: request.sizes,
            reach: plan.reach(),
            peers: peers.into(),
            domains,
            keys,
            plan: Some(plan),
            engine: None,
            boards: None,
            shm: OnceLock::new(),
            exchange: Mutex::new(None),
            segments: Mutex::new(1),
        })
    }
}

/// The domains of all ranks: of those that are not mapped an empty one, which nobody uses. The memory of each is its
/// window 1 and registered as its first region, from address 0; the second region is this process' address space.
fn domains(
    rank: usize,
    request: &Request<'_>,
    peers: &[Peer],
    handler: &dyn Fn(u32, *mut u8) -> Option<Handler>,
) -> (Domains, TemplateKeys) {
    let behind = request.memory.next_multiple_of(PAGE);
    let blocks: Vec<*mut u8> = peers
        .iter()
        .map(|p| match &p.segment {
            Some(s) => s.base().wrapping_add(behind),
            None => core::ptr::null_mut(),
        })
        .collect();
    let alone = blocks.iter().filter(|b| !b.is_null()).count() == 1;
    let none = Sizes {
        ports: 1,
        regions: 0,
        messages: 0,
        counters: 0,
    };
    let mut keys = TemplateKeys::default();
    let all: Vec<Arc<Domain>> = (0..peers.len())
        .map(|r| {
            let base = peers[r].base();
            let domain = match (r == rank, base.is_null()) {
                // No peer maps this process' block: it need not be told what lies in a window.
                (true, _) if alone => Domain::new(request.sizes),
                // SAFETY: the blocks lie behind the users' memory in segments that stay mapped, are aligned to pages, and
                // were made for these sizes, which the cards have compared.
                (true, _) => unsafe { Domain::own_at(&blocks, rank, request.sizes) },
                (false, true) => Domain::view(none),
                // SAFETY: the blocks lie behind the users' memory in segments that stay mapped, are aligned to
                // pages, and were made for these sizes, which the cards have compared; neither of the two is null.
                (false, false) => unsafe { Domain::peer_at(&blocks, rank, r, request.sizes) },
            };
            if !base.is_null() {
                domain.keys().window(1, base, request.memory);
            }
            if r == rank {
                keys = register(&domain, base, request.memory);
            }
            let handler = (!base.is_null()).then(|| handler(r as u32, base)).flatten();
            Arc::new(match handler {
                Some(handler) => domain.on_arrival(handler),
                None => domain,
            })
        })
        .collect();
    (all.into(), keys)
}

/// Registers a rank's memory, and its address space for its own operations.
fn register(domain: &Domain, base: *mut u8, len: usize) -> TemplateKeys {
    let memory = Memory {
        here: base,
        len,
        base: 0,
    };
    let everything = Memory {
        here: core::ptr::null_mut(),
        len: isize::MAX as usize,
        base: 0,
    };
    let local = Rights::LOCAL_READ | Rights::LOCAL_WRITE;
    // SAFETY: a segment stays mapped as long as the process lives, and its user expects its peers to write there. Of the
    // address space, only this process' own operations use parts, which whoever posts them vouches for.
    unsafe {
        let remote = domain.register(0, memory, Rights::ALL, None);
        let local = domain.register(0, everything, local, None);
        TemplateKeys {
            local: local.unwrap_or(Key::NONE),
            remote: remote.unwrap_or(Key::NONE),
        }
    }
}

/// The job of this process.
pub struct Job {
    rank: u32,
    size: u32,
    member: &'static str,
    memory: usize,
    sizes: Sizes,
    reach: Reach,
    peers: Box<[Peer]>,
    domains: Domains,
    keys: TemplateKeys,
    plan: Option<Plan>,
    engine: Option<Box<dyn Engine>>,
    boards: Option<Arc<[Board]>>,
    /// Where there is no engine, for those who want queue pairs all the same.
    shm: OnceLock<Option<Shm>>,
    exchange: Mutex<Option<Box<dyn Exchange>>>,
    /// Windows taken.
    segments: Mutex<usize>,
}

impl core::fmt::Debug for Job {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Job")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

static ESTABLISHED: AtomicPtr<Job> = AtomicPtr::new(core::ptr::null_mut());

/// The job that this process has joined.
pub fn established() -> Option<&'static Job> {
    // SAFETY: null, or what `Job::establish` leaked.
    unsafe { ESTABLISHED.load(Ordering::Acquire).as_ref() }
}

impl Job {
    /// Starts the engine, if one is needed.
    ///
    /// # Errors
    /// One line: a thread or a connection cannot be made.
    pub fn start(&mut self, exchange: &mut dyn Exchange) -> Result<(), String> {
        match self.plan.take() {
            None | Some(Plan::Mapped) => {}
            Some(Plan::Emulated(model)) => {
                let mut engine = emulated::start_one(self.rank, self.domains.clone(), model)
                    .map_err(|e| format!("thread of the software adapter: {e}"))?;
                if model.device.is_some_and(|d| d.check) {
                    let all: Arc<[Board]> =
                        self.peers.iter().filter_map(|p| self.board(p)).collect();
                    engine = engine.checking(all.clone());
                    self.boards = Some(all);
                }
                self.engine = Some(Box::new(engine));
            }
            Some(Plan::Tcp(listener, _)) => {
                let addresses = (0..self.size)
                    .map(|r| self.address(exchange, r))
                    .collect::<Result<Vec<SocketAddr>, String>>()?;
                let (member, rank) = (self.member, self.rank);
                let streams =
                    connect::mesh(rank, &listener, &addresses, exchange.secret(), PATIENCE)
                        .map_err(|e| format!("connecting {member} {rank} with its peers: {e}"))?;
                let engine = Tcp::start(rank, self.domains[rank as usize].clone(), streams)
                    .map_err(|e| format!("thread of the sockets: {e}"))?;
                self.engine = Some(Box::new(engine));
            }
        }
        Ok(())
    }

    fn board(&self, peer: &Peer) -> Option<Board> {
        let segment = peer.segment.as_ref()?;
        let at = segment.base().wrapping_add(segment.len() - BOARD_BYTES);
        // SAFETY: the last part of a block, which stays mapped; a new file is zero.
        Some(unsafe { Board::at(at) })
    }

    fn address(&self, exchange: &mut dyn Exchange, rank: u32) -> Result<SocketAddr, String> {
        let why = |what: &str| format!("{} {rank}: where it listens: {what}", self.member);
        let text = exchange
            .get(rank, ADDRESS)
            .map_err(|e| why(&e.to_string()))?
            .ok_or_else(|| why("an address is accepted, it said none"))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        text.parse()
            .map_err(|_| why(&format!("{text}: an address is accepted")))
    }

    /// Makes it the job of this process; the first one stays.
    pub fn establish(self, exchange: Box<dyn Exchange>) -> &'static Job {
        *self.lock() = Some(exchange);
        let job = Box::leak(Box::new(self));
        let _ = ESTABLISHED.compare_exchange(
            core::ptr::null_mut(),
            job,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        job
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Box<dyn Exchange>>> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process' number.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Processes of the job.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// All ranks, this one among them.
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// What this rank offers: [`Domain::port`] has a user's part of it.
    pub fn domain(&self) -> &Domain {
        &self.domains[self.rank as usize]
    }

    /// Of the first segment of every rank, and of this process' address space.
    pub fn keys(&self) -> TemplateKeys {
        self.keys
    }

    /// Whom the engine reaches.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// The engine; none where every peer is mapped.
    pub fn engine(&self) -> Option<&dyn Engine> {
        self.engine.as_deref()
    }

    /// An engine in any case: where there is none, one that executes in whoever rings, on mapped memory.
    pub fn queues(&self) -> Option<&dyn Engine> {
        if let Some(engine) = self.engine() {
            return Some(engine);
        }
        let shm = self
            .shm
            .get_or_init(|| Shm::new(self.rank, self.domains.clone()));
        shm.as_ref().map(|e| e as &dyn Engine)
    }

    /// Where a checker of the modelled memory pins what it finds, one of each rank.
    pub fn boards(&self) -> Option<&Arc<[Board]>> {
        self.boards.as_ref()
    }

    /// Shares more memory: collective, all ranks with the same arguments. Returns the segment of every rank that is mapped
    /// here, this process' own among them. What lies there can then be [registered](Domain::register) for peers.
    ///
    /// # Errors
    /// One line: there is no memory, or a peer's cannot be mapped, or [`WINDOWS`] are taken.
    pub fn segment(
        &self,
        name: &CStr,
        len: usize,
        align: usize,
    ) -> Result<Box<[Option<Segment>]>, String> {
        let mut segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let window = *segments + 1;
        if window >= WINDOWS {
            return Err(format!(
                "segment {window}: at most {} are accepted",
                WINDOWS - 1
            ));
        }
        let len = len.next_multiple_of(PAGE);
        let own = Segment::create(name, len, align)
            .map_err(|e| format!("shared memory of {len} bytes: {e}"))?;
        let mut guard = self.lock();
        let Some(exchange) = guard.as_mut() else {
            return Err("job: one that is established is accepted".to_owned());
        };
        let key = format!("nic.segment.{window}");
        let card = format!("{} {}", std::process::id(), own.file().unwrap_or(-1));
        exchange
            .put(&key, card.as_bytes())
            .and_then(|()| exchange.fence())
            .map_err(|e| e.to_string())?;
        let mut own = Some(own);
        let mut all = Vec::new();
        for r in 0..self.size {
            let segment = if r == self.rank {
                own.take()
            } else if self.peers[r as usize].segment.is_some() {
                let text = exchange.get(r, &key).map_err(|e| e.to_string())?;
                let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
                let place = text
                    .split_once(' ')
                    .and_then(|(pid, fd)| Some((pid.parse().ok()?, fd.parse().ok()?)));
                let Some((pid, fd)) = place else {
                    return Err(format!(
                        "{} {r}: it did not say where its memory is: the same call on every rank is accepted",
                        self.member
                    ));
                };
                let opened = Segment::open(pid, fd, len, align);
                let why = |e| format!("{} {r}: memory of process {pid}: {e}", self.member);
                Some(opened.map_err(why)?)
            } else {
                None
            };
            if let Some(s) = &segment {
                self.domains[r as usize]
                    .keys()
                    .window(window, s.base(), len);
            }
            all.push(segment);
        }
        exchange.fence().map_err(|e| e.to_string())?;
        *segments = window;
        Ok(all.into())
    }

    /// Ends every process of the job with `status` and a line about it. False: another thread is in the exchange, or ends
    /// the job at this moment; the launcher then notices that this process ends.
    pub fn abort(&self, status: i32, text: &str) -> bool {
        if let Ok(mut exchange) = self.exchange.try_lock() {
            if let Some(exchange) = exchange.as_mut() {
                exchange.abort(status, text);
            }
        }
        false
    }

    /// Whether the launcher is there no more, as far as its protocol tells ([`Exchange::is_gone`]). False while another
    /// thread is in the exchange, which notices by itself.
    pub fn launcher_is_gone(&self) -> bool {
        self.exchange
            .try_lock()
            .is_ok_and(|exchange| exchange.as_ref().is_some_and(|exchange| exchange.is_gone()))
    }

    /// Says that this process is done with the job, and ends well.
    pub fn leave(&self) {
        if let Ok(mut exchange) = self.exchange.try_lock() {
            if let Some(exchange) = exchange.as_mut() {
                // The process ends; there is nobody to tell.
                let _ = exchange.finalize();
            }
        }
    }

    /// Bytes of the memory that every rank brought along.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Sizes of the domains.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_come_back_and_other_texts_do_not() {
        let card = Card {
            pid: 12,
            fd: 5,
            memory: 1 << 20,
            sizes: Sizes::default(),
            note: b"any\nbytes \xff".to_vec(),
        };
        assert_eq!(Card::parse(&card.encode()), Some(card));
        for bad in [
            "",
            "1 2 3\n",
            "1 2 3 4 5 6 7",
            "a 2 3 4 5 6 7\n",
            "1 2 3 4 5 6 7 8\n",
        ] {
            assert_eq!(Card::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn ways_have_names() {
        for way in [Way::Auto, Way::Shm, Way::Emulated, Way::Tcp] {
            assert_eq!(Way::of(way.name()), Some(way));
        }
        assert_eq!(Way::of("pigeon"), None);
    }
}
