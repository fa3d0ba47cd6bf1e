//! Collectives that are executed away from the process: the engines `kernel` and `nic`.
//!
//! * **What it owns**: the runs that have not ended, the queue of those that have not begun, and which collectives the
//!   engine takes. What executes them is behind [`Device`].
//! * **Data in**: collectives with their buffers. **Data out**: bytes in the buffers, and for each run a word that says
//!   that the run has ended.
//!
//! The process copies a run's input into memory that it shares with the device, starts the run, and copies the output
//! back when it sees that the run is complete. In between nobody needs the process.
//!
//! What a device does not take goes to the engine `thread`. Whether it takes a collective depends on what all ranks
//! know, so that all ranks decide alike.
//!
//! More collectives at once than a device keeps wait in a queue for those before them, and then begin within later
//! calls.

mod device;
mod wait;

use crate::choice::Collective;
use crate::memory::Segment;
use crate::settings::{Allgather, Allreduce, Alltoall, Settings};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
pub(crate) use device::{Device, Image, Refused};
use hetmp_core::hash::HashMap;
use hetmp_core::{report, sys};
use hetmp_goal::arena::Placed;
use hetmp_goal::graph;
use hetmp_goal::kernel;
use hetmp_goal::rank::Failure;
use hetmp_goal::schedule::Schedule;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
pub(crate) use wait::Gone;

/// How many collectives are remembered, with their images or why they were declined.
const CACHED: usize = 256;
/// How soon peers are asked again how far they are, nanoseconds, by a thread that waits for a slot. Each question
/// doubles the time to the next, because it takes a peer's processor for some microseconds.
const PROBES: u64 = 100_000;
/// How late at most.
const RAREST_PROBES: u64 = 3_200_000;
const RUNNING: u32 = 0;
const ENDED: u32 = 1;
const FAILED: u32 = 2;

/// A run of a device.
#[derive(Debug)]
pub(crate) struct Run {
    number: u64,
    image: Arc<Image>,
    segments: Box<[*mut u8]>,
    /// What the device has called the run; 0 until it has begun.
    mark: AtomicU64,
    /// Stored with release after the results are in the program's memory.
    word: AtomicU32,
    failure: OnceLock<Failure>,
}

// SAFETY: who started the run has promised that the segments are valid, and that nobody else uses them, until the run
// has ended. They are accessed under the lock of `Offload` only.
unsafe impl Send for Run {}
// SAFETY: as for `Send`, by the same rule.
unsafe impl Sync for Run {}

impl Run {
    /// `None` while the run goes on, as far as the last test has seen.
    #[inline]
    pub(crate) fn poll(&self) -> Option<Result<(), Failure>> {
        match self.word.load(Ordering::Acquire) {
            RUNNING => None,
            ENDED => Some(Ok(())),
            _ => Some(Err(self
                .failure
                .get()
                .copied()
                .unwrap_or(Failure::Abandoned))),
        }
    }

    fn fail(&self, why: Failure) {
        // The first failure counts.
        let _ = self.failure.set(why);
        self.word.store(FAILED, Ordering::Release);
    }
}

#[derive(Debug)]
struct Runs {
    /// The number of the run that was begun last, by its caller.
    last: u64,
    /// Runs that wait for their slots, in order.
    queue: VecDeque<Arc<Run>>,
    /// By slot: the run that has not ended.
    open: Box<[Option<Arc<Run>>]>,
    /// By slot: which ranks got messages of the run that the slot holds.
    sent: Box<[u64]>,
    /// When peers were asked how far they are.
    probed: u64,
    /// How long after that they may be asked again.
    pause: u64,
    /// Why no further run can succeed.
    lost: Option<Failure>,
    /// Ranks that have left, one bit each: they ask for nothing, and need no slot.
    left: u64,
    taken: HashMap<Collective, Option<Arc<Image>>>,
    /// The collective that was run last; most calls repeat it.
    latest: Option<(Collective, Option<Arc<Image>>)>,
    /// Reasons for which the engine has declined a collective, and has said so.
    told: Vec<String>,
}

/// An engine whose device executes the runs.
#[derive(Debug)]
pub(crate) struct Offload {
    rank: u32,
    ranks: u32,
    device: Box<dyn Device>,
    runs: Mutex<Runs>,
    /// The number of the last run that has left the queue.
    launched: AtomicU64,
}

impl Offload {
    /// An engine without runs.
    pub(crate) fn new(rank: u32, ranks: u32, device: Box<dyn Device>) -> Offload {
        let slots = device.runs() as usize;
        Offload {
            rank,
            ranks,
            device,
            runs: Mutex::new(Runs {
                last: 0,
                queue: VecDeque::new(),
                open: vec![None; slots].into(),
                sent: vec![0; slots].into(),
                probed: 0,
                pause: PROBES,
                lost: None,
                left: 0,
                taken: HashMap::default(),
                latest: None,
                told: Vec::new(),
            }),
            launched: AtomicU64::new(0),
        }
    }

    /// This rank's part of a collective, or why the device does not take the collective.
    fn place(&self, what: &Collective, settings: &Settings) -> Result<Image, String> {
        if let Some((_, bytes)) = neighbours(what) {
            let most = self.device.neighbours().ok_or(
                "neighbour collective: not supported (expected a collective of all ranks)",
            )?;
            if bytes > most {
                return Err(format!(
                    "blocks of {bytes} bytes for neighbours: too long (expected up to {most})"
                ));
            }
            let own = what.graph(self.rank, self.ranks, settings);
            let own = own.and_then(|g| g.compile()).map_err(|e| e.to_string())?;
            return self.device.place_own(&own);
        }
        let schedule = |r| -> Result<Schedule, graph::Error> {
            what.graph(r, self.ranks, settings)?.compile()
        };
        let all: Result<Vec<Schedule>, _> = (0..self.ranks).map(schedule).collect();
        self.device
            .place(&all.map_err(|e| e.to_string())?, self.rank)
    }

    /// Refuses an exchange that the device takes on the other ranks, and that has more neighbours on this one than an
    /// engine has operations.
    ///
    /// # Errors
    /// [`graph::Error::TooLarge`].
    pub(crate) fn fits(&self, what: &Collective) -> Result<(), graph::Error> {
        match (neighbours(what), self.device.neighbours()) {
            (Some((n, bytes)), Some(most)) if bytes <= most && n > kernel::OPS => {
                Err(graph::Error::TooLarge("neighbours"))
            }
            _ => Ok(()),
        }
    }

    /// As [`Offload::place`]. Where the algorithm that length and ranks would choose is declined, the other one may be
    /// taken. An algorithm that the environment forces stays.
    fn place_any(&self, what: &Collective, settings: &Settings) -> Result<Image, String> {
        let first = self.place(what, settings);
        let Err(why) = first else { return first };
        let (mut other, mut another) = (*settings, *settings);
        match what {
            Collective::Allreduce { .. } if settings.allreduce == Allreduce::Auto => {
                (other.allreduce, another.allreduce) = (Allreduce::Doubling, Allreduce::Ring);
            }
            Collective::Allgather { .. } if settings.allgather == Allgather::Auto => {
                (other.allgather, another.allgather) = (Allgather::Ring, Allgather::Log);
            }
            Collective::Alltoall { .. } if settings.alltoall == Alltoall::Auto => {
                (other.alltoall, another.alltoall) = (Alltoall::Direct, Alltoall::Bruck);
            }
            _ => return Err(why),
        }
        self.place(what, &other)
            .or_else(|_| self.place(what, &another))
            .map_err(|_| why)
    }

    fn slot(&self, number: u64) -> usize {
        (number % self.device.runs()) as usize
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This rank's image of a collective; `None` if the engine does not take it. Then rank 0 says why, once for each
    /// reason.
    fn image(&self, runs: &mut Runs, what: &Collective, settings: &Settings) -> Option<Arc<Image>> {
        if let Some((latest, image)) = &runs.latest {
            if latest == what {
                return image.clone();
            }
        }
        let image = match runs.taken.get(what) {
            Some(image) => image.clone(),
            None => {
                let image = match self.place_any(what, settings) {
                    Ok(image) => Some(Arc::new(image)),
                    Err(why) => {
                        self.decline(runs, why);
                        None
                    }
                };
                if runs.taken.len() >= CACHED {
                    runs.taken.clear();
                }
                runs.taken.insert(what.clone(), image.clone());
                image
            }
        };
        runs.latest = Some((what.clone(), image.clone()));
        image
    }

    #[cold]
    fn decline(&self, runs: &mut Runs, why: String) {
        if self.rank == 0 && !runs.told.contains(&why) && runs.told.len() < 8 {
            report::warn(format_args!(
                "GOAL engine {}: {why}; such collectives take the engine thread",
                self.device.name()
            ));
            runs.told.push(why);
        }
    }

    /// Begins a collective. `None` if the engine does not take it.
    ///
    /// # Errors
    /// A peer is lost, so that no collective can end any more; or the kernel does not start the program.
    ///
    /// # Safety
    /// The buffers are valid for the collective's reads and writes until the run has ended, and nobody else uses them
    /// meanwhile.
    pub(crate) unsafe fn start(
        &self,
        what: &Collective,
        buffers: &[Segment; 2],
        settings: &Settings,
    ) -> Option<Result<Arc<Run>, Failure>> {
        let mut runs = self.lock();
        let image = self.image(&mut runs, what, settings)?;
        // A missing buffer is an error that the other way reports. Nothing has begun yet.
        let needs = |(placed, have): (&Placed, &Segment)| placed.bytes > 0 && have.start.is_null();
        if image.segments().iter().zip(buffers).any(needs) {
            return None;
        }
        let segments = buffers.iter().map(|b| b.start).collect();
        Some(self.begin(&mut runs, image, segments))
    }

    /// This rank's image of a communication whose schedules are `all`, or why they are not known. `None` if the engine
    /// does not take it, on all ranks alike; rank 0 says why.
    pub(crate) fn agree(&self, all: Result<Vec<Schedule>, String>) -> Option<Arc<Image>> {
        let placed = all.and_then(|all| self.device.place(&all, self.rank));
        match placed {
            Ok(image) => Some(Arc::new(image)),
            Err(why) => {
                self.decline(&mut self.lock(), format!("GOAL_Agree: {why}"));
                None
            }
        }
    }

    /// Begins a run of what was [agreed](Offload::agree), on these segments.
    ///
    /// # Errors
    /// Those of [`Offload::start`].
    ///
    /// # Safety
    /// The segments have the lengths that the image says, and what [`Offload::start`] expects of its buffers holds for
    /// them.
    pub(crate) unsafe fn start_agreed(
        &self,
        image: &Arc<Image>,
        segments: Box<[*mut u8]>,
    ) -> Result<Arc<Run>, Failure> {
        self.begin(&mut self.lock(), Arc::clone(image), segments)
    }

    /// Begins a run now, or as soon as it has a slot.
    fn begin(
        &self,
        runs: &mut Runs,
        image: Arc<Image>,
        segments: Box<[*mut u8]>,
    ) -> Result<Arc<Run>, Failure> {
        if let Some(why) = runs.lost {
            return Err(why);
        }
        runs.last += 1;
        let run = Arc::new(Run {
            number: runs.last,
            segments,
            image,
            mark: AtomicU64::new(0),
            word: AtomicU32::new(RUNNING),
            failure: OnceLock::new(),
        });
        runs.queue.push_back(Arc::clone(&run));
        self.launch(runs);
        Ok(run)
    }

    /// Begins the runs of the queue that have slots.
    fn launch(&self, runs: &mut Runs) {
        while let Some(run) = runs.queue.front() {
            let run = Arc::clone(run);
            if !self.is_free(runs, &run) {
                return;
            }
            runs.queue.pop_front();
            let slot = self.slot(run.number);
            runs.sent[slot] = run.image.sent();
            // SAFETY: who has started the run keeps its buffers valid until the run has ended. `is_free` says that
            // nobody needs what the slot holds. This thread holds the lock.
            let begun = unsafe { self.device.begin(run.number, &run.image, &run.segments) };
            match begun {
                Ok(mark) => run.mark.store(mark, Ordering::Release),
                Err(error) => {
                    let name = self.device.name();
                    report::warn(format_args!("GOAL engine {name}: start of a run: {error}"));
                    self.fail_all(runs, Failure::Abandoned);
                    run.fail(Failure::Abandoned);
                    return;
                }
            }
            self.launched.store(run.number, Ordering::Relaxed);
            let number = run.number;
            runs.open[slot] = Some(run);
            runs.pause = PROBES;
            self.ask_ahead(runs, number);
        }
    }

    /// Peers that only receive, as in a broadcast, say by themselves nothing of how far they are. Halfway through the
    /// slots they are asked, so that the answer is there when the slots are needed again, and nobody waits for it.
    fn ask_ahead(&self, runs: &Runs, number: u64) {
        let half = self.device.runs() / 2;
        let before = match number.checked_sub(half) {
            Some(before) if number % half == 0 && before > 0 => before,
            _ => return,
        };
        let behind = self.behind(runs, runs.sent[self.slot(before)], before);
        if behind != 0 {
            self.device.probe(behind);
        }
    }

    /// Whether the slot of a run that has not begun can be written: the run before it there has ended here; and no peer
    /// can ask for messages of that one, or where the device writes to peers directly, they have given their slots
    /// back.
    fn is_free(&self, runs: &mut Runs, run: &Run) -> bool {
        let slot = self.slot(run.number);
        if let Some(before) = runs.open[slot].clone() {
            if !self.collect(runs, &before) {
                return false;
            }
        }
        let before = run.number.saturating_sub(self.device.runs());
        let peers = if self.device.is_asked() {
            runs.sent[slot]
        } else {
            run.image.sent()
        };
        let behind = self.behind(runs, peers, before);
        if behind != 0 {
            self.probe(runs, behind);
        }
        behind == 0
    }

    /// Of these ranks: those that are still there, and have not said that they are done with run `number`.
    fn behind(&self, runs: &Runs, ranks: u64, number: u64) -> u64 {
        let ranks = ranks & !runs.left;
        (0..self.ranks)
            .filter(|r| ranks >> r & 1 == 1 && self.device.done_at(*r) < number)
            .fold(0, |all, r| all | 1 << r)
    }

    /// Asks ranks how far they are, unless they were asked a moment ago.
    fn probe(&self, runs: &mut Runs, ranks: u64) {
        let now = sys::monotonic_ns();
        if now.saturating_sub(runs.probed) >= runs.pause {
            runs.probed = now;
            runs.pause = (runs.pause * 2).min(RAREST_PROBES);
            self.device.probe(ranks);
        }
    }

    /// Whether the device has completed a run, as long as that is not collected.
    fn is_done(&self, run: &Run) -> bool {
        let mark = run.mark.load(Ordering::Acquire);
        mark != 0 && self.device.is_done(run.number, mark)
    }

    /// Takes the results of a run if it is complete. True if the run has ended.
    fn collect(&self, runs: &mut Runs, run: &Arc<Run>) -> bool {
        let slot = self.slot(run.number);
        let is_open = matches!(&runs.open[slot], Some(open) if Arc::ptr_eq(open, run));
        if !is_open {
            return run.poll().is_some();
        }
        if !self.is_done(run) {
            return false;
        }
        // SAFETY: the run is complete and open: nobody has collected it. Who started the run keeps its buffers valid
        // until `word` says that the run has ended. This thread holds the lock.
        unsafe {
            self.device.collect(run.number, &run.image, &run.segments);
        }
        runs.open[slot] = None;
        run.word.store(ENDED, Ordering::Release);
        true
    }

    fn fail_all(&self, runs: &mut Runs, why: Failure) {
        runs.lost = Some(why);
        let open = runs.open.iter_mut().filter_map(Option::take);
        for run in open.chain(runs.queue.drain(..)) {
            run.fail(why);
        }
    }

    /// The result of a run; `None` while it goes on.
    pub(crate) fn test(&self, run: &Arc<Run>) -> Option<Result<(), Failure>> {
        let ended = run.poll();
        if ended.is_some() {
            return ended;
        }
        if self.is_done(run) {
            let mut runs = self.lock();
            self.collect(&mut runs, run);
            self.launch(&mut runs);
            return run.poll();
        }
        if run.number > self.launched.load(Ordering::Relaxed) {
            let mut runs = self.lock();
            self.launch(&mut runs);
        }
        None
    }
}

/// The number of neighbours of an exchange with them, and the bytes of a block; `None` for other collectives.
fn neighbours(what: &Collective) -> Option<(usize, u64)> {
    match what {
        Collective::NeighbourAllgather {
            sources,
            destinations,
            bytes,
        }
        | Collective::NeighbourAlltoall {
            sources,
            destinations,
            bytes,
        } => Some((sources.len() + destinations.len(), *bytes)),
        _ => None,
    }
}
