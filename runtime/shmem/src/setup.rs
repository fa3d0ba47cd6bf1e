//! Starting and ending (specification 1.5, section 9.1): joins the job, maps the peers' memory, and leaves the job.
//!
//! Segments begin with a control block of atomics, and stay mapped until the process ends. The copy that `fork` needs
//! is touched only under the lock that the fork holds.

use crate::blocks::Heap;
use crate::cached;
use crate::collective;
use crate::context;
use crate::control::{self, Control};
use crate::queue;
use crate::segment::{Layout, Segment, HEAP_ALIGN};
use crate::settings::Settings;
use crate::standstill;
use crate::world::{self, Peer, State, World};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use hetmp_core::bootstrap;
use hetmp_core::lock::Lock;
use hetmp_core::park::Policy;
use hetmp_core::{quota, report, statics, topo};
use hetmp_nic::engine::Sizes;
use hetmp_nic::job::{self, Handler, Job, Refused, Request};
use std::sync::Mutex;

/// `SHMEM_THREAD_SINGLE` to `SHMEM_THREAD_MULTIPLE`.
pub(crate) const THREAD_LEVELS: core::ops::RangeInclusive<c_int> = 0..=3;

/// Words in a card's set of CPUs.
const CPU_WORDS: usize = 16;

/// What every PE offers to its peers. OpenSHMEM is the user of port 0, with two regions; other libraries may join
/// later.
const SIZES: Sizes = Sizes {
    ports: 3,
    regions: 64,
    messages: 256,
    counters: 256,
};

/// How many calls of init have not been answered by a finalize (1.6: the library can be initialised again).
static OPEN: AtomicU32 = AtomicU32::new(0);
/// Held while the library starts or ends.
static STARTING: Mutex<()> = Mutex::new(());

/// What a PE tells its peers at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Card {
    layout: Layout,
    /// Bytes of static data. A difference means that a peer runs another executable.
    data: usize,
    /// The CPUs that the PE may use.
    cpus: [u64; CPU_WORDS],
}

impl Card {
    fn encode(&self) -> String {
        // The set as hexadecimal words, without the highest words that are zero.
        let used = self.cpus.iter().rposition(|w| *w != 0).map_or(1, |i| i + 1);
        let cpus: Vec<String> = self.cpus[..used].iter().map(|w| format!("{w:x}")).collect();
        format!(
            "{} {} {} {} {}",
            self.layout.control,
            self.layout.data,
            self.layout.heap,
            self.data,
            cpus.join(",")
        )
    }

    fn parse(text: &[u8]) -> Option<Card> {
        let mut words = core::str::from_utf8(text).ok()?.split(' ');
        let mut next = || words.next();
        let card = Card {
            layout: Layout {
                control: next()?.parse().ok()?,
                data: next()?.parse().ok()?,
                heap: next()?.parse().ok()?,
            },
            data: next()?.parse().ok()?,
            cpus: {
                let mut cpus = [0; CPU_WORDS];
                for (i, word) in next()?.split(',').enumerate() {
                    *cpus.get_mut(i)? = u64::from_str_radix(word, 16).ok()?;
                }
                cpus
            },
        };
        words.next().is_none().then_some(card)
    }
}

/// `shmem_init`.
pub fn init(f: &'static str) {
    init_thread(f, 0);
}

/// `shmem_init_thread`: returns the level that is provided, which is always the one asked for.
pub fn init_thread(f: &'static str, requested: c_int) -> c_int {
    let _one = STARTING.lock();
    if world::state() == State::Forked {
        world::not_running(f);
    }
    if !THREAD_LEVELS.contains(&requested) {
        report::fatal(format_args!(
            "{f} thread level {requested}: unknown (expected SHMEM_THREAD_SINGLE to SHMEM_THREAD_MULTIPLE)"
        ));
    }
    if OPEN.fetch_add(1, Ordering::Relaxed) > 0 {
        let world = world::need(f);
        world.threads.fetch_max(requested, Ordering::Relaxed);
        return world.threads.load(Ordering::Relaxed);
    }
    match world::earlier() {
        Some(world) => {
            world.threads.store(requested, Ordering::Relaxed);
            reopen(world);
            standstill::back(f, world);
            collective::barrier_all(f);
        }
        None => start(f, requested),
    }
    standstill::begin();
    requested
}

fn reopen(world: &'static World) {
    let all_mapped = world.peers.iter().all(|p| p.mapped.is_some());
    let direct =
        all_mapped && queue::net().is_none() && !world.settings.check && world.is_coherent();
    world::open(world, direct);
}

fn start(f: &'static str, requested: c_int) {
    if job::established().is_some() {
        report::fatal(format_args!(
            "{f} after GOAL_Init (expected before it: GOAL then shares the job)"
        ));
    }
    let mut exchange = match bootstrap::connect() {
        Ok(exchange) => exchange,
        Err(e) => report::fatal(format_args!("{f} {e}")),
    };
    let settings = Settings::read();
    let data = statics::range();
    let layout = Layout::new(control::bytes(exchange.size()), data.len(), settings.heap);
    let request = Request {
        member: "PE",
        name: c"hetmp-shmem",
        memory: layout.len(),
        align: HEAP_ALIGN,
        sizes: SIZES,
        way: settings.nic,
        model: &settings.model,
        dials: false,
        needs_all: false,
    };
    let joining = match job::begin(request, exchange.as_mut()) {
        Ok(joining) => joining,
        Err(Refused::Way(e)) => exchange.abort(1, &format!("{f} {e}")),
        Err(Refused::Memory { bytes, error }) => exchange.abort(
            1,
            &format!("{f} symmetric memory of {bytes} bytes: {error} (expected a SHMEM_SYMMETRIC_SIZE that fits)"),
        ),
    };
    let copy = joining.base().wrapping_add(layout.data_at());
    // SAFETY: `range` found the data, and the copy is the segment's part for them. The program calls init before it
    // starts threads that use symmetric variables.
    if let Err(e) = unsafe { statics::share(&data, copy, joining.file(), layout.data_at()) } {
        exchange.abort(1, &format!("{f} static data at {:#x}: {e}", data.start));
    }
    let mut cpus = [0; CPU_WORDS];
    for (place, word) in cpus.iter_mut().zip(topo::affinity().words()) {
        *place = *word;
    }
    let card = Card {
        layout,
        data: data.len(),
        cpus,
    };
    let me = exchange.rank();
    let mut check = |pe: u32, local: bool, note: &[u8]| {
        let theirs = same(me, &card, pe, note)?;
        if local {
            for (sum, word) in cpus.iter_mut().zip(&theirs.cpus) {
                *sum |= word;
            }
        }
        Ok(())
    };
    let met = joining.meet(
        exchange.as_mut(),
        card.encode().as_bytes(),
        &mut check,
        &|_, base| Some(waking(base)),
    );
    let mut job = match met {
        Ok(job) => job,
        Err(e) => exchange.abort(1, &format!("{f} {e}")),
    };
    // The engine's threads wait under the same policy.
    set_policy(&job, &cpus);
    if let Err(e) = job.start(exchange.as_mut()) {
        exchange.abort(1, &format!("{f} {e}"));
    }
    let job = job.establish(exchange);
    let peers: Vec<Peer> = job
        .peers()
        .iter()
        .map(|p| Peer {
            mapped: p.segment.as_ref().map(|s| Segment {
                base: s.base(),
                layout,
            }),
        })
        .collect();
    let own = match &peers[me as usize].mapped {
        Some(s) => s.heap(),
        None => unreachable!("a process' own segment is mapped"),
    };
    let heap_range = if settings.model.is_empty() {
        own
    } else {
        // Behind a modelled adapter the program may have memory that is cached.
        match cached::second_view(&own) {
            Ok(view) => {
                job.domain().seen_at(view.clone(), own.start);
                view
            }
            Err(e) => report::fatal(format_args!(
                "{f} symmetric heap of {} bytes, mapped a second time for HETMP_NIC_MODEL: {e}",
                own.len()
            )),
        }
    };
    let world: &'static World = Box::leak(Box::new(World {
        me,
        n: job.size(),
        data,
        heap_range,
        heap: Mutex::new(Heap::new(layout.heap)),
        peers,
        job,
        threads: AtomicI32::new(requested),
        settings,
    }));
    queue::start(world);
    // SAFETY: the handlers are functions of this library, which is never unloaded.
    unsafe {
        libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child));
        on_exit(at_exit, core::ptr::null_mut());
    }
    reopen(world);
    say(world);
}

/// Reads a peer's card. The error says why the peer cannot be in one job with `me`, which has `card`.
fn same(me: u32, card: &Card, pe: u32, note: &[u8]) -> Result<Card, String> {
    let Some(theirs) = Card::parse(note) else {
        return Err(format!(
            "PE {pe}: it did not say how its memory is laid out (expected a process that calls \
            shmem_init)"
        ));
    };
    if theirs.data != card.data {
        return Err(format!(
            "PE {pe}: static data of {} bytes (expected the same executable as PE {me}'s, with {})",
            theirs.data, card.data
        ));
    }
    if theirs.layout != card.layout {
        return Err(format!("PE {pe}: symmetric heap of {} bytes (expected the same SHMEM_SYMMETRIC_SIZE as PE {me}'s, \
            {} bytes)", theirs.layout.heap, card.layout.heap));
    }
    Ok(theirs)
}

/// A handler that wakes the PE whose segment is mapped at `base`, if it sleeps, when something arrives there.
fn waking(base: *mut u8) -> Handler {
    let base = base.expose_provenance();
    Box::new(move |_| {
        // SAFETY: every segment begins with a control block of atomics and stays mapped.
        let control = unsafe { &*core::ptr::with_exposed_provenance::<Control>(base) };
        control.bell.ring();
    })
}

/// Tells the waiting policy how many PEs share how many CPUs. The CPUs of all PEs are counted together: a launcher
/// that binds every PE to a core of its own has not crowded them.
fn set_policy(job: &Job, cpus: &[u64; CPU_WORDS]) {
    let pes = job.peers().iter().filter(|p| p.local).count();
    let cpus: u32 = cpus.iter().map(|w| w.count_ones()).sum();
    let cpus = match quota::cpus() {
        Some(quota) => quota.min(cpus as usize),
        None => cpus as usize,
    };
    Policy::join_job(pes.saturating_sub(1), cpus);
}

/// Prints what `SHMEM_VERSION`, `SHMEM_INFO` and `SHMEM_DEBUG` ask for.
fn say(world: &World) {
    let s = &world.settings;
    if world.me == 0 && (s.version || s.info) {
        report::line(
            "",
            format_args!(
                "hetmp OpenSHMEM {}.{} (hetmp {})",
                crate::MAJOR,
                crate::MINOR,
                env!("CARGO_PKG_VERSION")
            ),
        );
    }
    if world.me == 0 && s.info {
        report::line(
            "",
            format_args!(
                "SHMEM_SYMMETRIC_SIZE={} SHMEM_DEBUG={} HETMP_CHECK={} HETMP_NIC={:?} HETMP_NIC_MODEL={}",
                s.heap,
                u8::from(s.debug),
                u8::from(s.check),
                s.nic,
                s.model
            ),
        );
    }
    if s.debug {
        let way = match queue::net() {
            Some(net) => net.engine.name(),
            None if world::is_direct() => "direct",
            None => "checked",
        };
        report::warn(format_args!(
            "PE {} of {}: process {}, heap {:#x}..{:#x}, static data {:#x}..{:#x}, {way}",
            world.me,
            world.n,
            std::process::id(),
            world.heap_range.start,
            world.heap_range.end,
            world.data.start,
            world.data.end,
        ));
    }
}

/// The copy of static data during a fork. The lock is held from before the fork until after it, in both processes, so
/// that forks of two threads follow each other.
struct Fork {
    lock: Lock,
    snapshot: UnsafeCell<Option<statics::Snapshot>>,
}

// SAFETY: the snapshot is only touched while the lock is held.
unsafe impl Sync for Fork {}

static FORK: Fork = Fork {
    lock: Lock::new(),
    snapshot: UnsafeCell::new(None),
};

extern "C" fn before_fork() {
    FORK.lock.lock();
    let Some(world) = world::earlier().filter(|_| world::state() != State::Forked) else {
        return;
    };
    // SAFETY: the lock is held; the world's data were shared by `start`.
    unsafe { *FORK.snapshot.get() = statics::Snapshot::take(&world.data) };
}

extern "C" fn in_parent() {
    // SAFETY: `before_fork` has taken the lock.
    unsafe { *FORK.snapshot.get() = None };
    FORK.lock.unlock();
}

extern "C" fn in_child() {
    // SAFETY: `before_fork` has taken the lock, on the thread that goes on in the child.
    let snapshot = unsafe { (*FORK.snapshot.get()).take() };
    FORK.lock.unlock();
    if world::earlier().is_none() || world::state() == State::Forked {
        return;
    }
    if !snapshot.is_some_and(statics::Snapshot::put_in_place) {
        report::warn(format_args!(
            "fork: no memory for a copy of the static data: as much as they take is needed"
        ));
        // SAFETY: `_exit` has no preconditions. Ending the child is better than letting it write to its parent's
        // variables.
        unsafe { libc::_exit(127) };
    }
    world::close(State::Forked);
}

extern "C" {
    fn on_exit(
        function: unsafe extern "C" fn(status: c_int, argument: *mut core::ffi::c_void),
        argument: *mut core::ffi::c_void,
    ) -> c_int;
}

/// Leaves the job when the process ends. `shmem_finalize` does not leave it, because the library may be initialised
/// again.
///
/// A program that exits with status 0 and has not called `shmem_finalize` is finalized here, so that its peers can
/// end too. Another status means that the program has failed; the launcher sees that.
unsafe extern "C" fn at_exit(status: c_int, _argument: *mut core::ffi::c_void) {
    match world::state() {
        State::Forked => return,
        State::Running if status != 0 => return,
        State::Running => {
            OPEN.store(1, Ordering::Relaxed);
            finalize("exit");
        }
        State::New | State::Finished => {}
    }
    if let Some(world) = world::earlier() {
        world.job.leave();
    }
}

/// `shmem_finalize`: a barrier of all PEs. The last of nested calls closes the library. A further call does nothing:
/// published programs make it, and everything that they do is right.
pub fn finalize(f: &'static str) {
    if let (State::Finished, Some(world)) = (world::state(), world::earlier()) {
        report::warn(format_args!(
            "{f}: PE {}: called once more without effect (expected once for each shmem_init)",
            world.me
        ));
        return;
    }
    let world = world::need(f);
    context::quiet_every(f);
    if OPEN.load(Ordering::Relaxed) == 1 {
        standstill::leaving();
    }
    collective::barrier_all(f);
    let _one = STARTING.lock();
    if OPEN.fetch_sub(1, Ordering::Relaxed) == 1 {
        standstill::left(f, world);
        if let Some(net) = queue::net() {
            // Peers wait for what is still on its way to them, and end when they have it.
            net.internal.drain(net);
            if !net.engine.notices_ends() {
                // A PE that ended now could take along the replies that a peer's drain waits for, and the peer would
                // not hear of that end. An error is ignored: the launcher is gone, and ends the job.
                let _ = world.job.fence();
            }
            if world.settings.debug {
                report::warn(format_args!(
                    "PE {} {}: {}",
                    world.me,
                    net.engine.name(),
                    net.counts
                ));
            }
        }
        crate::team::split::end_all();
        world::close(State::Finished);
    }
}

/// `shmem_my_pe`.
#[inline(always)]
pub fn my_pe(f: &'static str) -> c_int {
    match world::direct_place() {
        Some((me, _)) => me as c_int,
        None => world::need(f).me as c_int,
    }
}

/// `shmem_n_pes`.
#[inline(always)]
pub fn n_pes(f: &'static str) -> c_int {
    match world::direct_place() {
        Some((_, n)) => n as c_int,
        None => world::need(f).n as c_int,
    }
}

/// `shmem_global_exit`: ends every PE with `status`.
pub fn global_exit(f: &'static str, status: c_int) -> ! {
    let world = world::need(f);
    // What the program has written through stdio belongs to its output.
    // SAFETY: null means all streams.
    unsafe { libc::fflush(core::ptr::null_mut()) };
    world::abort(status, &format!("{f} on PE {}", world.me))
}

/// `shmem_pe_accessible`.
pub fn pe_accessible(f: &'static str, pe: c_int) -> c_int {
    let world = world::need(f);
    c_int::from(u32::try_from(pe).is_ok_and(|pe| pe < world.n))
}

/// `shmem_addr_accessible`.
pub fn addr_accessible(f: &'static str, address: *const u8, pe: c_int) -> c_int {
    let world = world::need(f);
    c_int::from(pe_accessible(f, pe) == 1 && world.offset(address as usize, 1).is_some())
}

/// `shmem_query_thread`.
pub fn query_thread(f: &'static str) -> c_int {
    world::need(f).threads.load(Ordering::Relaxed)
}

/// `shmem_query_initialized` (1.6).
pub fn query_initialized() -> c_int {
    c_int::from(world::state() == State::Running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_come_back_and_other_texts_do_not() {
        let card = Card {
            layout: Layout::new(100, 8192, 1 << 20),
            data: 8192,
            cpus: {
                let mut cpus = [0; CPU_WORDS];
                (cpus[0], cpus[2]) = (0xff, 1);
                cpus
            },
        };
        let text = card.encode();
        assert_eq!(Card::parse(text.as_bytes()), Some(card));
        for bad in [
            "",
            "1 2 3",
            "a b c d 3",
            "1 2 3 4",
            "1 2 3 4 5 6",
            "-1 2 3 4 5",
            "1 2 3 4 x",
            "1 2 3 4 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
        ] {
            assert_eq!(Card::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
