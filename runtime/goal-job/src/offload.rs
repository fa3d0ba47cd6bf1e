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
//!
//! The collectives of all ranks have one [`Offload`], and those of each group have another one, with a
//! [series](hetmp_goal::series) of runs of its own. All of a process share the device.

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
use hetmp_goal::rank::Failure;
use hetmp_goal::schedule::Schedule;
use hetmp_goal::series::{self, Turn};
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
/// The most neighbours of a rank.
const NEIGHBOURS: usize = 256;

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
}

/// What all series of a process share.
#[derive(Debug)]
struct Shared {
    device: Box<dyn Device>,
    /// The ranks of the job.
    ranks: u32,
    /// Reasons for which the engine has declined a collective, and has said so.
    told: Mutex<Vec<String>>,
    all: Mutex<Vec<&'static Offload>>,
    /// How many runs are in their queues.
    queued: AtomicU32,
}

/// An engine whose device executes the runs of all ranks, or of a group.
#[derive(Debug)]
pub(crate) struct Offload {
    shared: Arc<Shared>,
    series: u32,
    /// The job's ranks, by number.
    members: Box<[u32]>,
    /// This rank's number.
    me: u32,
    runs: Mutex<Runs>,
}

impl Offload {
    /// The engine for all ranks.
    pub(crate) fn new(rank: u32, ranks: u32, device: Box<dyn Device>) -> &'static Offload {
        let shared = Shared {
            device,
            ranks,
            told: Mutex::new(Vec::new()),
            all: Mutex::new(Vec::new()),
            queued: AtomicU32::new(0),
        };
        Offload::of(Arc::new(shared), 0, (0..ranks).collect(), rank)
    }

    /// The engine for a group with this context, whose members are these ranks, with this one as number `me`. `None` if
    /// its collectives go another way: the same at all members, of which number 0 says why.
    pub(crate) fn group(&self, context: u32, members: &[u32], me: u32) -> Option<&'static Offload> {
        if context > series::GROUPS {
            let most = series::GROUPS;
            self.decline(
                me,
                format!("groups with contexts above {most}: not supported"),
            );
            return None;
        }
        let shared = Arc::clone(&self.shared);
        (members.len() > 1).then(|| Offload::of(shared, context, members.into(), me))
    }

    /// Stays as long as the process: a job is joined once, and a context is used for the same ranks only.
    fn of(shared: Arc<Shared>, series: u32, members: Box<[u32]>, me: u32) -> &'static Offload {
        let first = Turn { series, number: 0 };
        let slots = first.window(shared.device.runs()) as usize;
        let new: &'static Offload = Box::leak(Box::new(Offload {
            shared,
            series,
            members,
            me,
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
            }),
        }));
        let all = new.shared.all.lock();
        all.unwrap_or_else(PoisonError::into_inner).push(new);
        new
    }

    fn device(&self) -> &dyn Device {
        &*self.shared.device
    }

    fn turn(&self, number: u64) -> Turn {
        Turn {
            series: self.series,
            number,
        }
    }

    /// How many runs this rank can have at once.
    fn window(&self) -> u64 {
        self.turn(0).window(self.device().runs())
    }

    /// This rank, in the job.
    fn rank(&self) -> u32 {
        self.members[self.me as usize]
    }

    /// This rank's part of a collective, or why the device does not take the collective.
    fn place(&self, what: &Collective, settings: &Settings) -> Result<Image, String> {
        let n = self.members.len() as u32;
        let schedule = |number| -> Result<Schedule, String> {
            let graph = what.graph(number, n, settings);
            let moved = graph.and_then(|g| g.among(&self.members, self.shared.ranks));
            moved.and_then(|g| g.compile()).map_err(|e| e.to_string())
        };
        if let Some(exchange) = Exchange::of(what) {
            let most = self.device().longest_block();
            if exchange.bytes > most {
                return Err(format!(
                    "blocks of {} bytes for neighbours: too long (expected up to {most})",
                    exchange.bytes
                ));
            }
            return self.device().place_own(&schedule(self.me)?);
        }
        let all: Result<Vec<Schedule>, _> = (0..n).map(schedule).collect();
        self.device().place(&all?, self.rank())
    }

    /// Refuses an exchange that the device takes on the other ranks, and that has more neighbours on this one than fit.
    ///
    /// # Errors
    /// [`graph::Error::TooLarge`].
    pub(crate) fn fits(&self, what: &Collective) -> Result<(), graph::Error> {
        match Exchange::of(what) {
            Some(e) if e.bytes <= self.device().longest_block() && !e.fits(self.device()) => {
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
        (number % self.window()) as usize
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This rank's image of a collective; `None` if the engine does not take it. Then number 0 says why, once for each
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
                        self.decline(self.me, why);
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
    fn decline(&self, me: u32, why: String) {
        let told = self.shared.told.lock();
        let mut told = told.unwrap_or_else(PoisonError::into_inner);
        if me == 0 && !told.contains(&why) && told.len() < 8 {
            report::warn(format_args!(
                "GOAL engine {}: {why}; such collectives take the engine thread",
                self.device().name()
            ));
            told.push(why);
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
        let placed = all.and_then(|all| self.device().place(&all, self.rank()));
        match placed {
            Ok(image) => Some(Arc::new(image)),
            Err(why) => {
                self.decline(self.me, format!("GOAL_Agree: {why}"));
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
        self.shared.queued.fetch_add(1, Ordering::Relaxed);
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
            self.shared.queued.fetch_sub(1, Ordering::Relaxed);
            let slot = self.slot(run.number);
            runs.sent[slot] = run.image.sent();
            // SAFETY: who has started the run keeps its buffers valid until the run has ended. `is_free` says that
            // nobody needs what the slot holds. This thread holds the lock.
            let begun = unsafe {
                self.device()
                    .begin(self.turn(run.number), &run.image, &run.segments)
            };
            match begun {
                Ok(mark) => run.mark.store(mark, Ordering::Release),
                Err(error) => {
                    let name = self.device().name();
                    report::warn(format_args!("GOAL engine {name}: start of a run: {error}"));
                    self.fail_all(runs, Failure::Abandoned);
                    run.fail(Failure::Abandoned);
                    return;
                }
            }
            let number = run.number;
            runs.open[slot] = Some(run);
            runs.pause = PROBES;
            self.ask_ahead(runs, number);
        }
    }

    /// Peers that only receive, as in a broadcast, say by themselves nothing of how far they are. Halfway through the
    /// slots they are asked, so that the answer is there when the slots are needed again, and nobody waits for it.
    fn ask_ahead(&self, runs: &Runs, number: u64) {
        let half = self.window() / 2;
        let before = match number.checked_sub(half) {
            Some(before) if number % half == 0 && before > 0 => before,
            _ => return,
        };
        let behind = self.behind(runs, runs.sent[self.slot(before)], before);
        if behind != 0 {
            self.device().probe(self.series, behind);
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
        let before = run.number.saturating_sub(self.window());
        let peers = if self.device().is_asked() {
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
        (0..self.shared.ranks)
            .filter(|r| ranks >> r & 1 == 1 && self.device().done_at(self.series, *r) < number)
            .fold(0, |all, r| all | 1 << r)
    }

    /// Asks ranks how far they are, unless they were asked a moment ago.
    fn probe(&self, runs: &mut Runs, ranks: u64) {
        let now = sys::monotonic_ns();
        if now.saturating_sub(runs.probed) >= runs.pause {
            runs.probed = now;
            runs.pause = (runs.pause * 2).min(RAREST_PROBES);
            self.device().probe(self.series, ranks);
        }
    }

    /// Whether the device has completed a run, as long as that is not collected.
    fn is_done(&self, run: &Run) -> bool {
        let mark = run.mark.load(Ordering::Acquire);
        mark != 0 && self.device().is_done(self.turn(run.number), mark)
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
            self.device()
                .collect(self.turn(run.number), &run.image, &run.segments);
        }
        runs.open[slot] = None;
        run.word.store(ENDED, Ordering::Release);
        true
    }

    fn fail_all(&self, runs: &mut Runs, why: Failure) {
        runs.lost = Some(why);
        let queued = runs.queue.len() as u32;
        self.shared.queued.fetch_sub(queued, Ordering::Relaxed);
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
        if self.shared.queued.load(Ordering::Relaxed) != 0 {
            self.launch_all();
        }
        run.poll()
    }

    /// Begins the runs of all series that have slots. A peer may wait for one of another series than this thread does.
    fn launch_all(&self) {
        let all = self.shared.all.lock();
        for series in all.unwrap_or_else(PoisonError::into_inner).iter() {
            series.launch(&mut series.lock());
        }
    }
}

/// An exchange with neighbours.
struct Exchange<'c> {
    sources: &'c [u32],
    destinations: &'c [u32],
    /// The length of a block.
    bytes: u64,
}

impl<'c> Exchange<'c> {
    /// `None` for other collectives.
    fn of(what: &'c Collective) -> Option<Exchange<'c>> {
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
            } => Some(Exchange {
                sources,
                destinations,
                bytes: *bytes,
            }),
            _ => None,
        }
    }

    /// Whether the device takes this many neighbours of this rank.
    fn fits(&self, device: &dyn Device) -> bool {
        let most = device.edges(self.bytes);
        let is_few = |list: &[u32]| {
            let mut often: HashMap<u32, u64> = HashMap::default();
            list.iter().all(|peer| {
                let n = often.entry(*peer).or_default();
                *n += 1;
                *n <= most
            })
        };
        self.sources.len() + self.destinations.len() <= NEIGHBOURS
            && (most >= NEIGHBOURS as u64 || is_few(self.sources) && is_few(self.destinations))
    }
}
