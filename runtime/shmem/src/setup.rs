//! Starting and ending (specification 1.5, section 9.1): who is in the job, and where everybody's memory is.

use crate::collective;
use crate::context;
use crate::fail;
use crate::heap::Heap;
use crate::queue;
use crate::segment::{Layout, Segment};
use crate::settings::Settings;
use crate::statics;
use crate::world::{self, Peer, State, World};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use hetmp_core::bootstrap::{self, Job};
use hetmp_core::lock::Lock;
use hetmp_core::park::Policy;
use hetmp_core::{quota, report, topo};
use hetmp_nic::device_memory::board::BOARD_BYTES;
use std::os::fd::AsRawFd;
use std::sync::Mutex;

/// `SHMEM_THREAD_SINGLE` to `SHMEM_THREAD_MULTIPLE`.
pub const THREAD_LEVELS: core::ops::RangeInclusive<c_int> = 0..=3;

/// Words of a set of CPUs.
const CPU_WORDS: usize = 16;

/// The key under which a PE tells where its segment is.
const KEY: &str = "shmem.segment";

/// Calls of init that no finalize has answered yet (1.6: the library can be initialised again).
static OPEN: AtomicU32 = AtomicU32::new(0);
/// Held while starting and ending.
static STARTING: Mutex<()> = Mutex::new(());

/// What a PE tells its peers at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Card {
    pid: u32,
    fd: i32,
    layout: Layout,
    /// Bytes of static data, to notice another executable.
    data: usize,
    /// CPUs that the PE may use.
    cpus: [u64; CPU_WORDS],
}

impl Card {
    fn encode(&self) -> String {
        // The set in hexadecimal, its highest words left out where they are empty.
        let used = self.cpus.iter().rposition(|w| *w != 0).map_or(1, |i| i + 1);
        let cpus: Vec<String> = self.cpus[..used].iter().map(|w| format!("{w:x}")).collect();
        format!(
            "{} {} {} {} {} {} {}",
            self.pid,
            self.fd,
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
            pid: next()?.parse().ok()?,
            fd: next()?.parse().ok()?,
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

/// `shmem_init_thread`: the level that is provided, which is always the one asked for.
pub fn init_thread(f: &'static str, requested: c_int) -> c_int {
    let _one = STARTING.lock();
    if world::state() == State::Forked {
        fail::not_running(f);
    }
    if !THREAD_LEVELS.contains(&requested) {
        report::fatal(format_args!(
            "{f} thread level {requested}: SHMEM_THREAD_SINGLE to SHMEM_THREAD_MULTIPLE are accepted"
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
            collective::barrier_all(f);
        }
        None => start(f, requested),
    }
    requested
}

fn reopen(world: &'static World) {
    let all_mapped = world.peers.iter().all(|p| p.mapped.is_some());
    let direct = all_mapped && world.net.is_none() && !world.settings.check && world.is_coherent();
    world::open(world, direct);
}

fn start(f: &'static str, requested: c_int) {
    let mut job = match bootstrap::connect() {
        Ok(job) => job,
        Err(e) => report::fatal(format_args!("{f} {e}")),
    };
    let settings = Settings::read();
    let data = statics::range();
    let layout = Layout::new(
        crate::control::bytes(job.size()) + BOARD_BYTES,
        data.len(),
        settings.heap,
    );
    let plan = match queue::start::plan(&settings, job.as_mut()) {
        Ok(plan) => plan,
        Err(e) => job.abort(1, &format!("{f} {e}")),
    };
    let own = match Segment::create(layout) {
        Ok(segment) => segment,
        Err(e) => job.abort(
            1,
            &format!(
                "{f} symmetric memory of {} bytes: {e}: a SHMEM_SYMMETRIC_SIZE that fits is accepted",
                layout.len()
            ),
        ),
    };
    let Some(file) = own.file.as_ref().map(AsRawFd::as_raw_fd) else {
        unreachable!("a segment that was created has its file")
    };
    // SAFETY: found by `range`, the copy is the segment's part for it. The program calls init before it
    // starts threads that use symmetric variables.
    if let Err(e) = unsafe { statics::share(&data, own.data(), file, layout.data_at()) } {
        job.abort(1, &format!("{f} static data at {:#x}: {e}", data.start));
    }
    let mut cpus = [0; CPU_WORDS];
    for (place, word) in cpus.iter_mut().zip(topo::affinity().words()) {
        *place = *word;
    }
    let card = Card {
        pid: std::process::id(),
        fd: file,
        layout,
        data: data.len(),
        cpus,
    };
    let exchanged = job
        .put(KEY, card.encode().as_bytes())
        .and_then(|()| job.fence());
    if let Err(e) = exchanged {
        job.abort(1, &format!("{f} {e}"));
    }
    let (peers, cpus) = map_peers(f, job.as_mut(), &card, own, plan.maps());
    // Nobody may end, and take its segment's file along, before all have opened it.
    if let Err(e) = job.fence() {
        job.abort(1, &format!("{f} {e}"));
    }
    // Its threads wait as everybody does.
    set_policy(&peers, &cpus);
    let net = match plan.start(job.as_mut(), &peers) {
        Ok(net) => net,
        Err(e) => job.abort(1, &format!("{f} {e}")),
    };
    let (me, n) = (job.rank(), job.size());
    let world: &'static World = Box::leak(Box::new(World {
        me,
        n,
        data,
        heap_range: match &peers[me as usize].mapped {
            Some(s) => s.heap(),
            None => unreachable!("put there by map_peers"),
        },
        heap: Mutex::new(Heap::new(layout.heap)),
        peers,
        job: Mutex::new(job),
        threads: AtomicI32::new(requested),
        settings,
        net,
    }));
    // SAFETY: handlers of ours that live as long as the library, which is never unloaded.
    unsafe {
        libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child));
        on_exit(at_exit, core::ptr::null_mut());
    }
    reopen(world);
    say(world);
}

/// Opens the segments of all PEs of this machine, if they are to be mapped; ends the job if one cannot be. Also gives
/// the CPUs that these PEs may use, all together.
fn map_peers(
    f: &'static str,
    job: &mut dyn Job,
    card: &Card,
    own: Segment,
    maps: bool,
) -> (Vec<Peer>, [u64; CPU_WORDS]) {
    let (me, n) = (job.rank(), job.size());
    let local: Vec<u32> = job.local_ranks().to_vec();
    let mut own = Some(own);
    let mut cpus = card.cpus;
    let peers = (0..n)
        .map(|pe| {
            if pe == me {
                return Peer {
                    mapped: own.take(),
                    local: true,
                };
            }
            let theirs = match job.get(pe, KEY) {
                Ok(Some(text)) => Card::parse(&text),
                Ok(None) => None,
                Err(e) => job.abort(1, &format!("{f} PE {pe}: {e}")),
            };
            let Some(theirs) = theirs else {
                job.abort(1, &format!("{f} PE {pe}: it did not say where its memory is: a process that calls shmem_init is accepted"));
            };
            if theirs.data != card.data {
                job.abort(1, &format!("{f} PE {pe}: static data of {} bytes: the same executable as PE {me}'s, with {}, is accepted", theirs.data, card.data));
            }
            if theirs.layout != card.layout {
                job.abort(1, &format!("{f} PE {pe}: symmetric heap of {} bytes: the same SHMEM_SYMMETRIC_SIZE as PE {me}'s, {} bytes, is accepted", theirs.layout.heap, card.layout.heap));
            }
            let is_local = local.contains(&pe);
            if is_local {
                for (sum, word) in cpus.iter_mut().zip(&theirs.cpus) {
                    *sum |= word;
                }
            }
            if !(maps && is_local) {
                return Peer {
                    mapped: None,
                    local: is_local,
                };
            }
            match Segment::open(theirs.pid, theirs.fd, theirs.layout) {
                Ok(segment) => Peer {
                    mapped: Some(segment),
                    local: is_local,
                },
                Err(e) => job.abort(1, &format!("{f} PE {pe}: memory of process {}: {e}", theirs.pid)),
            }
        })
        .collect();
    (peers, cpus)
}

/// Tells the waiting policy how many PEs share how many CPUs. A launcher that binds every PE to a core of its own has
/// not crowded them, so that the CPUs of all count.
fn set_policy(peers: &[Peer], cpus: &[u64; CPU_WORDS]) {
    let pes = peers.iter().filter(|p| p.local).count() as isize;
    let cpus: u32 = cpus.iter().map(|w| w.count_ones()).sum();
    let cpus = match quota::cpus() {
        Some(quota) => quota.min(cpus as usize),
        None => cpus as usize,
    };
    Policy::set_cpus(cpus);
    Policy::add_threads(pes - 1);
}

/// Prints what was asked for by `SHMEM_VERSION`, `SHMEM_INFO` and `SHMEM_DEBUG`.
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
        let way = match &world.net {
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

/// The snapshot of static data between the two sides of a fork. The lock is held from before the fork until after it,
/// in both processes: forks of two threads come one after the other.
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
    // SAFETY: the lock is held, since `before_fork`.
    if let Some(snapshot) = unsafe { (*FORK.snapshot.get()).take() } {
        snapshot.drop_it();
    }
    FORK.lock.unlock();
}

extern "C" fn in_child() {
    // SAFETY: the lock is held, since `before_fork`, by the thread that lives on here.
    let snapshot = unsafe { (*FORK.snapshot.get()).take() };
    FORK.lock.unlock();
    if world::earlier().is_none() || world::state() == State::Forked {
        return;
    }
    if !snapshot.is_some_and(statics::Snapshot::put_in_place) {
        report::warn(format_args!(
            "fork: no memory for a copy of the static data: as much as they take is needed"
        ));
        // SAFETY: no preconditions. A child that wrote to its parent's variables would be worse than none.
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

/// Leaves the job when the process ends, not in `shmem_finalize`: the library may be initialised again.
///
/// A program that ends well without `shmem_finalize` gets it here, so that its peers can end, too; one that ends with
/// another status has failed, which the launcher sees.
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
        if let Ok(mut job) = world.job.try_lock() {
            // The process ends; there is nobody to tell.
            let _ = job.finalize();
        }
    }
}

/// `shmem_finalize`: a barrier of all, then the library is closed (at the last of nested ones).
pub fn finalize(f: &'static str) {
    let world = world::need(f);
    context::quiet_every(f);
    collective::barrier_all(f);
    let _one = STARTING.lock();
    if OPEN.fetch_sub(1, Ordering::Relaxed) == 1 {
        if let Some(net) = &world.net {
            // Peers wait for what is still on its way to them, and end once they have it.
            net.internal.drain(net);
            if world.settings.debug {
                report::warn(format_args!(
                    "PE {} {}: {}",
                    world.me,
                    net.engine.name(),
                    net.counts
                ));
            }
        }
        crate::team::end_all();
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
    // What the program wrote through stdio is its output.
    // SAFETY: null means all streams.
    unsafe { libc::fflush(core::ptr::null_mut()) };
    world::abort(
        status,
        &format!("{f} status {status}: called by PE {}", world.me),
    )
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
            pid: 12,
            fd: 5,
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
            "a b c d e f 3",
            "1 2 3 4 5 6",
            "1 2 3 4 5 6 7 8",
            "-1 2 3 4 5 6 7",
            "1 2 3 4 5 6 x",
            "1 2 3 4 5 6 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
        ] {
            assert_eq!(Card::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
