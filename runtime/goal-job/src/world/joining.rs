//! Joining a job: how this process gets a segment at every rank, and which engine all ranks agree on.
//!
//! A job is begun here, through the launcher's exchange or one of the caller's own, or was begun by another library of
//! this process and is shared.

use crate::kernel;
use crate::link::{self, Layout};
use crate::nic;
use crate::offload::{self, Offload};
use crate::settings::{self, Engine, Settings};
use hetmp_core::bootstrap::{self, Exchange};
use hetmp_core::park::Policy;
use hetmp_core::{quota, report, topo};
use hetmp_nic::descriptor::Key;
use hetmp_nic::domain::Sizes;
use hetmp_nic::job::{self, Handler, Job, Refused, Request};
use hetmp_nic::keys::{Memory, Rights};

/// GOAL's port number in a job's domains. OpenSHMEM has port 0.
const PORT: u8 = 2;
/// What a rank offers in a job that GOAL has begun: its segment and nothing else.
fn sizes(settings: &Settings) -> Sizes {
    let by_adapter = matches!(settings.engine, Engine::Nic | Engine::NicThread);
    Sizes {
        ports: 3,
        regions: 4,
        messages: 2,
        counters: if by_adapter { nic::ALL_COUNTERS } else { 1 },
    }
}

/// Why this process is not, and cannot be, part of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// The process has left, or is a forked child of a process that has joined.
    Over,
    /// One line that says what went wrong.
    Refused(String),
}

impl core::fmt::Display for JoinError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            JoinError::Over => {
                f.write_str("GOAL: this process has left its job (expected one that has not)")
            }
            JoinError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for JoinError {}

/// The job that was joined, and this rank's segments in it.
pub(super) struct Place {
    pub(super) job: &'static Job,
    /// By rank: where its segment is mapped; null if it is not mapped.
    pub(super) bases: Box<[*mut u8]>,
    pub(super) key: Key,
    pub(super) away: Option<&'static Offload>,
    /// GOAL has begun the job, and leaves it at the process's end.
    pub(super) made_here: bool,
}

/// Joins the job: the one that another library of this process has begun, or else a new one, through `exchange` if
/// there is any.
pub(super) fn place(
    settings: &Settings,
    exchange: Option<Box<dyn Exchange>>,
) -> Result<Place, JoinError> {
    let Some(job) = job::established() else {
        return begin(settings, exchange);
    };
    if let Some(exchange) = exchange {
        let (of, here) = ((exchange.rank(), exchange.size()), (job.rank(), job.size()));
        if of != here {
            return Err(refused(format_args!(
                "GOAL: rank {} of {} (expected rank {} of {}, as in the job of this process)",
                of.0, of.1, here.0, here.1
            )));
        }
    }
    if wants_away(settings) {
        without_away(settings, "the job was begun by another library");
    }
    share(job)
}

/// Whether runs are to be executed away from the process.
fn wants_away(settings: &Settings) -> bool {
    !matches!(settings.engine, Engine::User | Engine::Thread)
}

/// Says why the engine that is asked for is not used.
fn without_away(settings: &Settings, why: impl core::fmt::Display) {
    report::warn(format_args!(
        "HETMP_GOAL_ENGINE: '{}': {why}; the engine thread is used",
        settings.engine.name()
    ));
}

/// This rank's part of an engine away from the process, before the rank has met the others.
enum Offer {
    None,
    Kernel(kernel::Offer),
    Nic(nic::Form),
}

impl Offer {
    fn new(settings: &Settings, ranks: u32) -> Offer {
        if ranks < 2 {
            return Offer::None;
        }
        match settings.engine {
            Engine::User | Engine::Thread => Offer::None,
            Engine::Nic => Offer::Nic(nic::Form::Process),
            Engine::NicThread => Offer::Nic(nic::Form::Thread),
            Engine::Kernel => match kernel::Offer::new(&settings::interface(), ranks) {
                Ok(offer) => Offer::Kernel(offer),
                Err(why) => {
                    without_away(settings, why);
                    Offer::None
                }
            },
        }
    }

    /// What the other ranks have to know.
    fn note(&self) -> Vec<u8> {
        match self {
            Offer::None => Vec::new(),
            Offer::Kernel(offer) => offer.note(),
            Offer::Nic(form) => form.note(),
        }
    }

    /// The engine, if all ranks have offered it. `notes` are those of all ranks. Collective.
    fn accept(
        self,
        settings: &Settings,
        job: &'static Job,
        notes: &[Vec<u8>],
    ) -> Result<Option<&'static Offload>, JoinError> {
        let engine = match self {
            Offer::None => return Ok(None),
            Offer::Kernel(offer) => offer.accept(job.rank(), notes),
            Offer::Nic(form) => match form.agreed(notes) {
                Ok(form) => nic::join(job, PORT, form),
                Err(why) => Err(offload::Refused::All(why)),
            },
        };
        match engine {
            Ok(engine) => Ok(Some(engine)),
            Err(offload::Refused::All(why)) => {
                without_away(settings, why);
                Ok(None)
            }
            Err(offload::Refused::Job(why)) => Err(JoinError::Refused(why)),
        }
    }
}

fn refused(e: impl core::fmt::Display) -> JoinError {
    JoinError::Refused(e.to_string())
}

/// What a rank tells the others when they meet: the processors that it may use, and what it offers of an engine.
///
/// The processors' words come first, after a byte with their number.
struct Note {
    cpus: Vec<u64>,
    offer: Vec<u8>,
}

impl Note {
    fn encode(&self) -> Vec<u8> {
        let cpus = &self.cpus[..self.cpus.len().min(usize::from(u8::MAX))];
        let mut bytes = vec![cpus.len() as u8];
        bytes.extend(cpus.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend_from_slice(&self.offer);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Note> {
        let (words, rest) = bytes.split_first()?;
        let (words, offer) = rest.split_at_checked(8 * usize::from(*words))?;
        let words = words.chunks_exact(8);
        Some(Note {
            cpus: words
                .map(|w| w.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
                .collect(),
            offer: offer.to_vec(),
        })
    }
}

/// Begins a job for GOAL alone.
fn begin(settings: &Settings, own: Option<Box<dyn Exchange>>) -> Result<Place, JoinError> {
    let exchange = match own {
        Some(own) => bootstrap::through(own),
        None => bootstrap::connect(),
    };
    let mut exchange = exchange.map_err(refused)?;
    let (rank, size) = (exchange.rank(), exchange.size());
    let offer = Offer::new(settings, size);
    let mut cpus = topo::affinity().words().to_vec();
    let note = Note {
        cpus: cpus.clone(),
        offer: offer.note(),
    };
    let mut notes = vec![Vec::new(); size as usize];
    notes[rank as usize].clone_from(&note.offer);
    let local = exchange.local_ranks().to_vec();
    let request = Request {
        member: "rank",
        name: c"hetmp-goal",
        memory: Layout::new(exchange.size()).bytes(),
        align: hetmp_core::page::LARGEST,
        sizes: sizes(settings),
        way: settings.way,
        model: "",
        dials: true,
        needs_all: false,
    };
    let joining = job::begin(request, exchange.as_mut()).map_err(|e| match e {
        Refused::Way(why) => JoinError::Refused(why),
        e @ Refused::Memory { .. } => refused(e),
    })?;
    let mut job = joining
        .meet(
            exchange.as_mut(),
            &note.encode(),
            &mut |r, _, bytes| {
                let note = Note::decode(bytes).ok_or_else(|| {
                    format!("rank {r}: another version of hetmp (expected the same)")
                })?;
                if local.contains(&r) {
                    cpus.resize(cpus.len().max(note.cpus.len()), 0);
                    cpus.iter_mut()
                        .zip(&note.cpus)
                        .for_each(|(all, word)| *all |= word);
                }
                notes[r as usize] = note.offer;
                Ok(())
            },
            &|_, base| Some(waking(base)),
        )
        .map_err(JoinError::Refused)?;
    set_policy(&job, &cpus);
    job.start(exchange.as_mut()).map_err(JoinError::Refused)?;
    let key = job.keys().remote;
    let job = job.establish(exchange);
    let bases = job.peers().iter().map(job::Peer::base).collect();
    let away = offer.accept(settings, job, &notes)?;
    Ok(Place {
        job,
        bases,
        key,
        away,
        made_here: true,
    })
}

/// A handler that wakes the rank whose segment is mapped at `base`, if it sleeps, when something arrives there.
fn waking(base: *mut u8) -> Handler {
    let base = base.expose_provenance();
    Box::new(move |_| {
        // SAFETY: `base` is the start of a `Layout` that `begin` or `share` has mapped, and nobody unmaps.
        unsafe { link::bell(core::ptr::with_exposed_provenance_mut(base)) }.ring();
    })
}

/// Tells the waiting policy how many processes share how many processors. The processors of all ranks are counted
/// together: a launcher that binds every rank to a core of its own has not crowded them.
fn set_policy(job: &Job, cpus: &[u64]) {
    let local = job.peers().iter().filter(|p| p.local).count();
    let own = cpus.iter().map(|w| w.count_ones() as usize).sum();
    let cpus = quota::cpus().map_or(own, |quota| quota.min(own));
    Policy::join_job(local.saturating_sub(1), cpus);
}

/// Joins the job that another library of this process has begun.
fn share(job: &'static Job) -> Result<Place, JoinError> {
    if job.domain().port(PORT).is_none() {
        return Err(refused(
            "GOAL: no port in this job (expected a job with one)",
        ));
    }
    let bytes = Layout::new(job.size()).bytes();
    let segments = job
        .segment(c"hetmp-goal", bytes, hetmp_core::page::LARGEST)
        .map_err(JoinError::Refused)?;
    let bases: Box<[*mut u8]> = segments
        .iter()
        .map(|s| match s {
            Some(s) => s.base(),
            None => core::ptr::null_mut(),
        })
        .collect();
    // Never unmapped: the segments are used until the process ends.
    core::mem::forget(segments);
    let memory = Memory {
        here: bases[job.rank() as usize],
        len: bytes,
        base: 0,
    };
    // SAFETY: the segment stays mapped, and peers are expected to write there. It is the first region that every rank
    // registers at this port, so that the key is the same on all ranks.
    let key = unsafe { job.domain().register(PORT, memory, Rights::ALL, None) }.map_err(refused)?;
    for (rank, base) in (0..).zip(&bases) {
        if !base.is_null() && !job.domain_of(rank).on_arrival_at(PORT, waking(*base)) {
            return Err(refused(
                "GOAL: its ports are taken (expected a job whose ports are free)",
            ));
        }
    }
    // After this fence all ranks have registered their segment.
    job.fence().map_err(JoinError::Refused)?;
    Ok(Place {
        job,
        bases,
        key,
        away: None,
        made_here: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_short_ones_are_refused() {
        for cpus in [vec![], vec![3], vec![u64::MAX, 0, 1 << 63]] {
            for offer in [&b""[..], b"offer"] {
                let note = Note {
                    cpus: cpus.clone(),
                    offer: offer.to_vec(),
                };
                let back = Note::decode(&note.encode()).map(|n| (n.cpus, n.offer));
                assert_eq!(back, Some((note.cpus, note.offer)));
            }
        }
        assert!(Note::decode(b"").is_none() && Note::decode(&[1, 2, 3]).is_none());
    }
}
