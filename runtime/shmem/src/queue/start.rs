//! Which engine a job needs, and its start.
//!
//! | `HETMP_NIC` | peers on this machine | peers on others |
//! | --- | --- | --- |
//! | `auto` | mapped memory | sockets |
//! | `shm` | mapped memory | refused |
//! | `emulated`, or a model | this process's software adapter, on mapped memory | refused |
//! | `tcp` | sockets | sockets |

use super::lanes::Lanes;
use super::{Counts, Net, Reach};
use crate::segment::Segment;
use crate::settings::{Nic, Settings};
use crate::world::Peer;
use hetmp_core::bootstrap::Job;
use hetmp_nic::device_memory::board::{Board, BOARD_BYTES};
use hetmp_nic::device_memory::DeviceMemory;
use hetmp_nic::engine::emulated::{self, Model};
use hetmp_nic::engine::tcp::{connect, Tcp};
use hetmp_nic::engine::{Domain, Engine, Sizes, TemplateKeys};
use hetmp_nic::keys::{Memory, Rights};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where a PE listens for its peers.
const KEY: &str = "shmem.tcp";
/// How long peers may take to connect.
const PATIENCE: Duration = Duration::from_secs(60);
/// Slots of the default context's queue pairs, and of the library's own.
const DEPTH: usize = 256;
/// Slots of a context that the program makes: there may be many.
pub(crate) const CONTEXT_DEPTH: usize = 64;
/// Two regions; no messages; no counters.
const SIZES: Sizes = Sizes {
    regions: 4,
    messages: 2,
    counters: 1,
};

/// What was decided.
pub(crate) enum Plan {
    /// All peers are mapped.
    Mapped,
    Emulated(Model),
    Tcp(TcpListener, Reach),
}

/// Decides, and tells the peers where this PE is reached; before the first fence of the job. Errors are one line.
pub(crate) fn plan(settings: &Settings, job: &mut dyn Job) -> Result<Plan, String> {
    let all_local = job.local_ranks().len() == job.size() as usize;
    let here_only = |plan| {
        if all_local {
            Ok(plan)
        } else {
            Err(format!(
                "HETMP_NIC {}: auto or tcp is accepted for PEs on several machines",
                name(settings.nic)
            ))
        }
    };
    if !settings.model.is_empty() {
        let device = DeviceMemory::parse(&settings.model).map_err(|e| e.to_string())?;
        if !matches!(settings.nic, Nic::Auto | Nic::Emulated) {
            return Err(format!(
                "HETMP_NIC {}: auto or emulated is accepted with HETMP_NIC_MODEL",
                name(settings.nic)
            ));
        }
        return here_only(Plan::Emulated(Model {
            device: Some(device),
            ..Model::default()
        }));
    }
    match settings.nic {
        Nic::Auto if all_local => Ok(Plan::Mapped),
        Nic::Auto => listen(job, Reach::Unmapped),
        Nic::Tcp => listen(job, Reach::Others),
        Nic::Shm => here_only(Plan::Mapped),
        Nic::Emulated => here_only(Plan::Emulated(Model::default())),
    }
}

fn name(nic: Nic) -> &'static str {
    match nic {
        Nic::Auto => "auto",
        Nic::Shm => "shm",
        Nic::Emulated => "emulated",
        Nic::Tcp => "tcp",
    }
}

fn listen(job: &mut dyn Job, reach: Reach) -> Result<Plan, String> {
    let address = match job.address() {
        Some(address) => address,
        None => own_address()?,
    };
    let listener = TcpListener::bind((address, 0))
        .and_then(|l| l.local_addr().map(|a| (l, a)))
        .map_err(|e| format!("listening at {address}: {e}"));
    let (listener, at) = listener?;
    job.put(KEY, at.to_string().as_bytes())
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

impl Plan {
    /// True if memory of peers of this machine is to be mapped.
    pub(crate) fn maps(&self) -> bool {
        !matches!(self, Plan::Tcp(_, Reach::Others))
    }

    /// Starts the engine, after the fence that followed [`plan`]. Errors are one line.
    pub(crate) fn start(self, job: &mut dyn Job, peers: &[Peer]) -> Result<Option<Net>, String> {
        let me = job.rank();
        let Some(segment) = peers.get(me as usize).and_then(|p| p.mapped.as_ref()) else {
            unreachable!("a PE's own segment is mapped before the engine starts")
        };
        let own = waking(Domain::new(SIZES), segment);
        let remote = register(&own, segment);
        let everything = Memory {
            here: core::ptr::null_mut(),
            len: isize::MAX as usize,
            base: 0,
        };
        // SAFETY: only this PE's own operations may use it, and each names memory that its caller vouches for.
        let local = unsafe {
            own.keys()
                .register(everything, Rights::LOCAL_READ | Rights::LOCAL_WRITE, None)
        };
        let keys = TemplateKeys {
            remote,
            local: local.unwrap_or_default(),
        };
        let mut boards = None;
        let (engine, reach): (Box<dyn Engine>, Reach) = match self {
            Plan::Mapped => return Ok(None),
            Plan::Emulated(model) => {
                let own = Arc::new(own);
                let domains: Vec<Arc<Domain>> = peers
                    .iter()
                    .enumerate()
                    .map(|(pe, peer)| match &peer.mapped {
                        Some(segment) if pe as u32 != me => {
                            let view = waking(Domain::view(SIZES), segment);
                            register(&view, segment);
                            Arc::new(view)
                        }
                        _ => own.clone(),
                    })
                    .collect();
                let reach = if model.device.is_some() {
                    Reach::All
                } else {
                    Reach::Others
                };
                let checks = model.device.is_some_and(|d| d.check);
                let mut engine = emulated::start_one(me, domains.into(), model)
                    .map_err(|e| format!("thread of the software adapter: {e}"))?;
                if checks {
                    let all: Arc<[Board]> = peers.iter().filter_map(board).collect();
                    engine = engine.checking(all.clone());
                    boards = Some(all);
                }
                (Box::new(engine), reach)
            }
            Plan::Tcp(listener, reach) => {
                let addresses = (0..job.size())
                    .map(|pe| address_of(job, pe))
                    .collect::<Result<Vec<SocketAddr>, String>>()?;
                let streams = connect::mesh(me, &listener, &addresses, job.secret(), PATIENCE)
                    .map_err(|e| format!("connecting PE {me} with its peers: {e}"))?;
                let engine = Tcp::start(me, Arc::new(own), streams)
                    .map_err(|e| format!("thread of the sockets: {e}"))?;
                (Box::new(engine), reach)
            }
        };
        Ok(Some(Net {
            engine,
            keys,
            reach,
            default: Lanes::new(DEPTH, false),
            internal: Lanes::of_library(DEPTH),
            counts: Counts::default(),
            boards,
            awaited: Mutex::default(),
        }))
    }
}

/// A peer's board: the last part of its control block.
fn board(peer: &Peer) -> Option<Board> {
    let segment = peer.mapped.as_ref()?;
    let at = segment
        .base
        .wrapping_add(segment.layout.control - BOARD_BYTES);
    // SAFETY: room for it was added to the control block, which stays mapped; a new file is zero.
    Some(unsafe { Board::at(at) })
}

/// What arrives wakes the PE that the segment belongs to, if it sleeps.
fn waking(domain: Domain, segment: &Segment) -> Domain {
    let base = segment.base.expose_provenance();
    domain.on_arrival(Box::new(move || {
        // SAFETY: every segment begins with a control block of atomics and stays mapped.
        let control =
            unsafe { &*core::ptr::with_exposed_provenance::<crate::control::Control>(base) };
        crate::wait::ring(&control.bell);
    }))
}

/// Registers a segment as the first region, so that its key is the same everywhere.
fn register(domain: &Domain, segment: &Segment) -> hetmp_nic::descriptor::Key {
    let memory = Memory {
        here: segment.base,
        len: segment.layout.len(),
        base: 0,
    };
    // SAFETY: a segment stays mapped as long as the process lives; OpenSHMEM's memory model is what its owner
    // expects of it.
    match unsafe { domain.keys().register(memory, Rights::ALL, None) } {
        Ok(key) => key,
        Err(e) => unreachable!("an empty table has room: {e}"),
    }
}

fn address_of(job: &mut dyn Job, pe: u32) -> Result<SocketAddr, String> {
    let mut why = format!("PE {pe}: where it listens: ");
    let text = match job.get(pe, KEY) {
        Ok(Some(text)) => text,
        Ok(None) => {
            why += "an address is accepted, it said none";
            return Err(why);
        }
        Err(e) => {
            let _ = write!(why, "{e}");
            return Err(why);
        }
    };
    core::str::from_utf8(&text)
        .ok()
        .and_then(|t| t.parse().ok())
        .ok_or_else(|| {
            let _ = write!(
                why,
                "{}: an address is accepted",
                String::from_utf8_lossy(&text)
            );
            why
        })
}
