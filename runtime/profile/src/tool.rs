//! The tool: what the runtime calls at events, and what the account of the calling thread makes of it.
//!
//! A child of `fork` shares the file's memory with its parent, and so has to keep out of it: there the tool does
//! nothing. A program that is executed finds the tool anew, and writes a file of its own.

use crate::file::{self, Output};
use crate::layout::{Block, Row, ENDED, LIVES};
use crate::ledger::{add, Ended, Role};
use crate::read::Kind;
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use hetmp_core::report;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A word of the runtime that belongs to the tool (`ompt_data_t`).
type Data = *mut u64;

type Lookup = unsafe extern "C" fn(*const c_char) -> Option<unsafe extern "C" fn()>;

/// `ompt_start_tool_result_t`.
#[repr(C)]
struct Tool {
    initialize: unsafe extern "C" fn(Lookup, c_int, Data) -> c_int,
    finalize: unsafe extern "C" fn(Data),
    data: u64,
}

static OUTPUT: OnceLock<Output> = OnceLock::new();
/// This process is a child of the one that the file belongs to.
static CHILD: AtomicBool = AtomicBool::new(false);
/// Whoever gives a thread its block.
static BLOCKS: Mutex<()> = Mutex::new(());
/// `ompt_get_thread_data`.
static THREAD_DATA: AtomicUsize = AtomicUsize::new(0);

/// The tool, as `ompt_start_tool` returns it (`ompt_start_tool_result_t`): it writes into a new file in `folder`. A
/// folder that cannot be written costs a line; then there is no tool.
#[must_use]
pub fn tool(folder: &[u8]) -> Option<*mut c_void> {
    match Output::create(folder) {
        Ok(output) => {
            if OUTPUT.set(output).is_err() {
                return None;
            }
        }
        Err(error) => {
            report::warn(format_args!(
                "HETMP_TIMES: '{}': {error} (expected a folder that can be written)",
                String::from_utf8_lossy(folder)
            ));
            Output::refuse(folder);
            return None;
        }
    }
    let tool = Tool {
        initialize,
        finalize,
        data: 0,
    };
    // The runtime keeps the tool until the process ends.
    Some(Box::into_raw(Box::new(tool)).cast())
}

unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: Data) -> c_int {
    // SAFETY: the runtime's function, with a string.
    let get = |name: &core::ffi::CStr| unsafe { lookup(name.as_ptr()) };
    let (Some(set), Some(data)) = (get(c"ompt_set_callback"), get(c"ompt_get_thread_data")) else {
        return 0;
    };
    THREAD_DATA.store(data as usize, Relaxed);
    // SAFETY: the type that the interface gives the function of this name.
    let set: unsafe extern "C" fn(c_uint, usize) -> c_uint = unsafe { core::mem::transmute(set) };
    let callbacks = [
        (1, thread_begin as *const () as usize),
        (2, thread_end as *const () as usize),
        (3, parallel_begin as *const () as usize),
        (4, parallel_end as *const () as usize),
        (5, task_create as *const () as usize),
        (6, task_schedule as *const () as usize),
        (7, implicit_task as *const () as usize),
        (16, sync_region_wait as *const () as usize),
        (17, mutex_released as *const () as usize),
        (20, work as *const () as usize),
        (21, masked as *const () as usize),
        (26, mutex_acquire as *const () as usize),
        (27, mutex_acquired as *const () as usize),
        (28, nest_lock as *const () as usize),
        (31, reduction as *const () as usize),
    ];
    for (event, callback) in callbacks {
        // SAFETY: a function of the type that the interface gives this event's callback.
        unsafe { set(event, callback) };
    }
    file::in_children(leave);
    1
}

extern "C" fn leave() {
    CHILD.store(true, Relaxed);
}

unsafe extern "C" fn finalize(_data: Data) {
    if let Some(output) = output() {
        output.map.head.ended.store(crate::now(), Relaxed);
    }
}

fn output() -> Option<&'static Output> {
    OUTPUT.get().filter(|_| !CHILD.load(Relaxed))
}

/// The calling thread's account.
struct Account {
    output: &'static Output,
    block: &'static Block,
    now: u64,
}

/// The calling thread's account; `None` for threads beyond those that are measured.
fn account() -> Option<Account> {
    let output = output()?;
    let get = THREAD_DATA.load(Relaxed);
    if get == 0 {
        return None;
    }
    // SAFETY: the runtime's function of this name, which takes nothing and returns the calling thread's word, or null.
    let number = unsafe {
        let get: unsafe extern "C" fn() -> *const u64 = core::mem::transmute(get);
        get().as_ref().copied()
    };
    let block = output.map.blocks.get(number?.checked_sub(1)? as usize)?;
    Some(Account {
        output,
        block,
        now: crate::now(),
    })
}

impl Account {
    /// The region that the thread's time counts for; 0: none.
    fn region(&self) -> u32 {
        let in_region = self.block.top_down().find_map(|(site, role)| match role {
            Role::Region | Role::Part | Role::Join => Some(site),
            Role::Task => Some(self.output.map.sites.get(site as usize)?.region()),
            _ => None,
        });
        in_region.unwrap_or(0)
    }

    fn site(&self, kind: u32, address: usize) -> u32 {
        self.output.map.site(kind, self.region(), address)
    }

    fn row(&self, site: u32) -> Option<&Row> {
        self.output.row(self.block, site)
    }

    fn push(&self, site: u32, role: Role) {
        self.block.push(site, role, self.now);
    }

    /// Ends the topmost frame that is wanted, and those above.
    fn end(&self, wanted: impl Fn(u32, Role) -> bool) -> Option<Ended> {
        self.block.end(wanted, self.now, |ended| {
            if let Some(row) = self.row(ended.site) {
                ended.add_to(row);
            }
        })
    }

    fn is_kind(&self, site: u32, kind: u32) -> bool {
        let sites = &self.output.map.sites;
        sites.get(site as usize).is_some_and(|s| s.kind() == kind)
    }

    /// A construct begins or ends.
    fn scope(&self, scope: c_uint, role: Role, kind: u32, address: usize) {
        if scope == BEGIN {
            self.push(self.site(kind, address), role);
        } else {
            self.end(|site, r| r == role && self.is_kind(site, kind));
        }
    }
}

/// `ompt_scope_begin`.
const BEGIN: c_uint = 1;
/// `ompt_task_initial`.
const INITIAL: c_int = 1;
/// `ompt_sync_region_barrier_implicit_parallel`.
const END_OF_REGION: c_uint = 9;
/// `ompt_work_single_other`.
const SINGLE_OTHER: c_uint = 4;
// `ompt_mutex_t`.
const TEST_LOCK: c_uint = 2;
const TEST_NEST_LOCK: c_uint = 4;
const CRITICAL: c_uint = 5;
const ORDERED: c_uint = 7;

/// One execution of a region. The word of the region has its address.
struct Region {
    site: u32,
    /// The sum of the times at which threads came to the end (wrapping), and how many came.
    arrived: AtomicU64,
    arrivals: AtomicU64,
}

/// The region of which this is the word.
///
/// # Safety
/// The runtime passed `data` with an event of a region that has not ended.
unsafe fn region<'a>(data: Data) -> Option<&'a Region> {
    // SAFETY: null, or a word of the runtime that is 0 or what `parallel_begin` wrote: a region that stays until
    // `parallel_end`, which follows all other events of the region: this function's contract.
    unsafe { (*data.as_ref()? as *const Region).as_ref() }
}

unsafe extern "C" fn thread_begin(_kind: c_uint, data: Data) {
    let Some(output) = output() else { return };
    let head = &output.map.head;
    let _one = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = head.threads.load(Relaxed) as usize;
    let blocks = &output.map.blocks;
    let left = blocks[..taken]
        .iter()
        .position(|b| b.state.load(Relaxed) == ENDED);
    let at = left.unwrap_or(taken);
    let Some(block) = blocks.get(at) else {
        head.lost_threads.fetch_add(1, Relaxed);
        return;
    };
    if left.is_none() {
        if output.begin(block).is_none() {
            return;
        }
        head.threads.store(at as u64 + 1, Relaxed);
    }
    block.state.store(LIVES, Relaxed);
    // SAFETY: the runtime passes the new thread's word.
    unsafe { *data = at as u64 + 1 };
}

unsafe extern "C" fn thread_end(data: Data) {
    let Some(output) = output() else { return };
    // SAFETY: the runtime passes the thread's word, which `thread_begin` wrote.
    let number = unsafe { core::mem::take(&mut *data) };
    let at = number.checked_sub(1).unwrap_or(u64::MAX) as usize;
    if let Some(block) = output.map.blocks.get(at) {
        block.depth.store(0, Relaxed);
        block.state.store(ENDED, Relaxed);
    }
}

unsafe extern "C" fn parallel_begin(
    _task: Data,
    _frame: *const c_void,
    data: Data,
    _asked: c_uint,
    _flags: c_int,
    caller: usize,
) {
    let Some(a) = account() else { return };
    let site = a.output.map.site(Kind::REGION, 0, caller);
    let region = Box::new(Region {
        site,
        arrived: AtomicU64::new(0),
        arrivals: AtomicU64::new(0),
    });
    // SAFETY: the runtime passes the new region's word.
    unsafe { *data = Box::into_raw(region).addr() as u64 };
    a.push(site, Role::Region);
}

unsafe extern "C" fn parallel_end(data: Data, _task: Data, _flags: c_int, caller: usize) {
    // SAFETY: the runtime passes the region's word, and this is the region's last event.
    let region = unsafe { core::mem::take(&mut *data) as *mut Region };
    if region.is_null() {
        return;
    }
    // SAFETY: `parallel_begin` made the region by `Box::into_raw`; the word is 0 from now on, so nobody frees it again.
    let region = unsafe { Box::from_raw(region) };
    let Some(a) = account() else { return };
    let Some(ended) = a.end(|site, role| role == Role::Region && site == region.site) else {
        return;
    };
    if let Some(row) = a.row(region.site) {
        let threads = row.number.load(Relaxed) >> 32;
        let came = region.arrivals.load(Relaxed).wrapping_mul(a.now);
        let end_wait = came.wrapping_sub(region.arrived.load(Relaxed));
        add(&row.count, 1);
        add(&row.whole, ended.whole);
        add(&row.threads_time, ended.whole.wrapping_mul(threads));
        add(&row.end_wait, end_wait);
        row.most
            .store(row.most.load(Relaxed).max(ended.whole), Relaxed);
    }
    // For the region around, an inner one is a construct.
    if a.region() != 0 {
        let site = a.site(Kind::NESTED, caller);
        if let Some(row) = a.row(site) {
            let inner = Ended {
                site,
                role: Role::Work,
                inner: 0,
                ..ended
            };
            inner.add_to(row);
        }
    }
}

unsafe extern "C" fn implicit_task(
    scope: c_uint,
    data: Data,
    _task: Data,
    threads: c_uint,
    number: c_uint,
    flags: c_int,
) {
    if flags & INITIAL != 0 {
        return;
    }
    let Some(a) = account() else { return };
    if scope == BEGIN {
        // SAFETY: the runtime passes the word of the region that the task is a part of, which has not ended.
        let Some(region) = (unsafe { region(data) }) else {
            return;
        };
        if let Some(row) = a.row(region.site) {
            let number = (u64::from(number) + 1) | (u64::from(threads) << 32);
            row.number.store(number, Relaxed);
        }
        a.push(region.site, Role::Part);
    } else {
        a.end(|_, role| matches!(role, Role::Part | Role::Join));
    }
}

unsafe extern "C" fn sync_region_wait(
    kind: c_uint,
    scope: c_uint,
    data: Data,
    _task: Data,
    caller: usize,
) {
    let Some(a) = account() else { return };
    if kind != END_OF_REGION {
        return a.scope(scope, Role::Wait, Kind::SYNC + kind, caller);
    }
    if scope != BEGIN {
        a.end(|_, role| role == Role::Join);
        return;
    }
    let Some(part) = a.end(|_, role| role == Role::Part) else {
        return;
    };
    a.push(part.site, Role::Join);
    // SAFETY: the runtime passes the word of the region, which has not ended, since this thread has not come to its
    // end.
    if let Some(region) = unsafe { region(data) } {
        region.arrived.fetch_add(a.now, Relaxed);
        region.arrivals.fetch_add(1, Relaxed);
    }
}

unsafe extern "C" fn work(
    kind: c_uint,
    scope: c_uint,
    _region: Data,
    _task: Data,
    _count: u64,
    caller: usize,
) {
    if kind == SINGLE_OTHER {
        return;
    }
    if let Some(a) = account() {
        a.scope(scope, Role::Work, Kind::WORK + kind, caller);
    }
}

unsafe extern "C" fn masked(scope: c_uint, _region: Data, _task: Data, caller: usize) {
    if let Some(a) = account() {
        a.scope(scope, Role::Work, Kind::MASKED, caller);
    }
}

unsafe extern "C" fn reduction(
    _kind: c_uint,
    scope: c_uint,
    _region: Data,
    _task: Data,
    caller: usize,
) {
    if let Some(a) = account() {
        a.scope(scope, Role::Work, Kind::REDUCTION, caller);
    }
}

unsafe extern "C" fn task_create(
    _maker: Data,
    _frame: *const c_void,
    task: Data,
    _flags: c_int,
    _depends: c_int,
    caller: usize,
) {
    if let Some(a) = account() {
        // SAFETY: the runtime passes the new task's word.
        unsafe { *task = u64::from(a.site(Kind::TASK, caller)) + 1 };
    }
}

unsafe extern "C" fn task_schedule(before: Data, status: c_uint, next: Data) {
    // `ompt_task_status_t`: complete, cancel, detach; switch.
    let (ends, begins) = (matches!(status, 1 | 3 | 4), status == 7);
    // SAFETY: words of the runtime, or null. That of a task is what `task_create` wrote; those of implicit tasks are 0.
    let (before, next) = unsafe { (before.as_ref(), next.as_ref()) };
    let site = |data: Option<&u64>| Some(u32::try_from(data?.checked_sub(1)?).unwrap_or(0));
    let Some(a) = account() else { return };
    if begins {
        if let Some(site) = site(next) {
            a.push(site, Role::Task);
        }
    } else if ends && site(before).is_some() {
        let Some(ended) = a.end(|_, role| role == Role::Task) else {
            return;
        };
        // A worker helps with tasks of its region after its own part has ended. It counts as waiting then.
        if a.block.top_down().next().is_none() {
            let region = a.output.map.sites.get(ended.site as usize);
            let region = region.map_or(0, |site| site.region());
            if let Some(row) = a.row(region).filter(|_| region != 0) {
                add(&row.end_wait, ended.whole.wrapping_neg());
            }
        }
    }
}

unsafe extern "C" fn mutex_acquire(
    kind: c_uint,
    _hint: c_uint,
    _implementation: c_uint,
    _id: u64,
    caller: usize,
) {
    if matches!(kind, TEST_LOCK | TEST_NEST_LOCK) {
        // Nobody waits, and no event tells that the lock was not free.
        return;
    }
    if let Some(a) = account() {
        a.push(a.site(Kind::MUTEX + kind, caller), Role::Wait);
    }
}

unsafe extern "C" fn mutex_acquired(kind: c_uint, _id: u64, _caller: usize) {
    let Some(a) = account() else { return };
    let ended = a.end(|site, role| role == Role::Wait && a.is_kind(site, Kind::MUTEX + kind));
    // Only these two are left in the order in which they were entered.
    if let (Some(ended), CRITICAL | ORDERED) = (ended, kind) {
        a.push(ended.site, Role::Held);
    }
}

unsafe extern "C" fn mutex_released(kind: c_uint, _id: u64, _caller: usize) {
    if matches!(kind, CRITICAL | ORDERED) {
        if let Some(a) = account() {
            a.end(|site, role| role == Role::Held && a.is_kind(site, Kind::MUTEX + kind));
        }
    }
}

/// A nestable lock that the thread had already.
unsafe extern "C" fn nest_lock(scope: c_uint, _id: u64, _caller: usize) {
    // `ompt_mutex_nest_lock`
    const NEST_LOCK: u32 = 3;
    if let Some(a) = account().filter(|_| scope == BEGIN) {
        a.end(|site, role| role == Role::Wait && a.is_kind(site, Kind::MUTEX + NEST_LOCK));
    }
}
