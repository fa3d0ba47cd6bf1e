//! Target regions on the host, leagues of teams, and device memory (OpenMP 5.1, sections 2.14 and 3.8). There
//! are no devices: all of it behaves like libgomp without devices.
//!
//! A target region on the host runs in a *fresh implicit context*: level 0, one thread, the variables of the
//! device. [`on_host`] provides that: for the time of the region the calling thread is the only member of
//! another team.
//!
//! `target nowait` makes a task. Its data is one block without pointers into the block (see `Packed`), so
//! that the task engine may copy it like any other data.

use crate::affinity::threads;
use crate::icv::{self, TargetOffload};
use crate::init;
use crate::query;
use crate::task::depend::{self, Dependence};
use crate::task::{self, NewTask};
use crate::team::members::{Outlined, Team};
use crate::team::region as team;
use crate::team::seat::Seat;
use crate::thread::Thread;
use crate::tool::league::League;
use core::sync::atomic::{AtomicU8, Ordering};
use hetmp_core::report;
use hetmp_core::sync::AtomicU32;
use libc::c_void;
use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};

/// There was no `device` clause: `default-device-var` decides.
const DEVICE_ICV: i32 = -1;
/// The `if` clause was false.
const DEVICE_HOST: i32 = -2;
/// The number of devices, which is also the host's device number.
const DEVICES: i32 = 0;

/// Teams of a league for which neither clause nor variable gives a number.
const DEFAULT_TEAMS: u32 = 3;

/// The policy that the program set: 0 for none, else a [`TargetOffload`] plus 1.
static OFFLOAD: AtomicU8 = AtomicU8::new(0);

/// `target-offload-var`.
pub fn target_offload() -> TargetOffload {
    match OFFLOAD.load(Ordering::Relaxed) {
        1 => TargetOffload::Default,
        2 => TargetOffload::Mandatory,
        3 => TargetOffload::Disabled,
        _ => init::globals().target_offload,
    }
}

/// Sets `target-offload-var` like `OMP_TARGET_OFFLOAD`; a value without meaning counts as `default`.
pub fn set_target_offload(value: &[u8]) {
    let kind = match icv::target_offload(value) {
        Ok(TargetOffload::Mandatory) => 2,
        Ok(TargetOffload::Disabled) => 3,
        _ => 1,
    };
    OFFLOAD.store(kind, Ordering::Relaxed);
}

/// Accepts that a construct for device `device` runs on the host. Ends the program if `mandatory` offloading
/// forbids that.
pub fn settle_for_host(device: i32) {
    if target_offload() == TargetOffload::Mandatory {
        refuse_host(device);
    }
}

#[cold]
fn refuse_host(device: i32) {
    let number = if device == DEVICE_ICV {
        query::icv().default_device
    } else {
        device
    };
    if number != DEVICE_HOST && number != DEVICES {
        report::fatal(format_args!(
            "OMP_TARGET_OFFLOAD 'mandatory' and device {number}: there are no devices; 'default' \
             or 'disabled' runs target regions on the host"
        ));
    }
}

/// Runs `body` as the initial task of a device, on this thread.
///
/// `thread_limit` is the `thread_limit` clause; `u32::MAX` means no limit.
pub fn on_host(th: &Thread, thread_limit: Option<u32>, body: impl FnOnce()) {
    let saved = th.save();
    let league = th.league.replace((0, 0));
    // The device's threads are a contention group by themselves.
    let group = AtomicU32::new(1);
    let busy = th.busy.replace(&group);
    let partition = th.partition.get();
    let places = init::globals().places.len() as u32;
    if places > 0 {
        th.partition.set((0, places));
    }
    let spare = th.devices.borrow_mut().pop();
    let team = spare.unwrap_or_else(Team::solo);
    th.become_member(&team, Seat::FIRST, 1);
    // SAFETY: the team has one thread, this one.
    th.ctx.pos.set(unsafe { team.works.position() });
    if let Some(limit) = thread_limit {
        th.task().change_icv(|icv| icv.thread_limit = limit);
    }
    body();
    // The region's tasks belong to this team, which ends here.
    team::barrier(th);
    th.task().end_implicit();
    // SAFETY: as above.
    unsafe { team.works.settle(th.ctx.pos.get()) };
    th.devices.borrow_mut().push(team);
    th.restore(&saved);
    th.league.set(league);
    th.busy.set(busy);
    th.partition.set(partition);
}

/// How one item of a target construct reaches the region.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Bytes of the object.
    pub size: usize,
    /// Alignment of the private copy that the region gets (`firstprivate`); `None` for items that need no
    /// action in host memory.
    pub private: Option<usize>,
}

/// A target region.
#[derive(Debug)]
pub struct Target<'a, I> {
    /// The region's body; its argument is the array of the items' addresses.
    pub f: Outlined,
    /// Addresses of the items. A region with private copies gets another array.
    pub addresses: &'a [*mut c_void],
    /// The items, in the same order.
    pub items: I,
    /// The `thread_limit` clause.
    pub thread_limit: Option<u32>,
}

/// Runs a target region, in place or as a task.
///
/// # Safety
/// The addresses are valid for their items' sizes, and `f` may be called with their array.
pub unsafe fn run<I: Iterator<Item = Item> + Clone>(
    th: &Thread,
    target: Target<'_, I>,
    depends: &[Dependence],
    nowait: bool,
) {
    let private = target.items.clone().any(|item| item.private.is_some());
    if !nowait && !private {
        if !depends.is_empty() {
            depend::wait_for(th, depends);
        }
        on_host(th, target.thread_limit, || {
            // SAFETY: `abi` passes the function that compiled code made for these addresses.
            unsafe { (target.f)(target.addresses.as_ptr().cast_mut().cast()) };
        });
        return;
    }
    // SAFETY: `abi` passes addresses and sizes that compiled code listed.
    let packed = unsafe { Packed::new(&target) };
    if nowait {
        // SAFETY: the body gets the packed block or a copy of it.
        unsafe {
            task::create(
                th,
                &NewTask {
                    f: Packed::body,
                    data: packed.block.cast(),
                    copy: None,
                    size: packed.layout.size(),
                    align: packed.layout.align(),
                    deferrable: true,
                    outside: true,
                    is_final: false,
                    depends: Some(depends),
                    priority: 0,
                    event: None,
                    range: None,
                },
            );
        }
        return;
    }
    // The copies were made before the wait: the construct's data environment begins before it.
    if !depends.is_empty() {
        depend::wait_for(th, depends);
    }
    // SAFETY: the block is complete, and this is its only use.
    unsafe { Packed::body(packed.block.cast()) };
}

/// A construct on device data (`target update`, `target enter data`, `target exit data`). In shared memory it
/// has nothing to do, but its place in the order of dependences counts: it waits for its predecessors, and
/// its successors wait for it. With `nowait` it is a task.
pub fn take_turn(th: &Thread, depends: &[Dependence], nowait: bool) {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    if !nowait {
        depend::wait_for(th, depends);
        return;
    }
    // SAFETY: the body does nothing, and has no data.
    unsafe {
        task::create(
            th,
            &NewTask {
                f: nothing,
                data: core::ptr::null_mut(),
                copy: None,
                size: 0,
                align: 1,
                deferrable: true,
                outside: true,
                is_final: false,
                depends: Some(depends),
                priority: 0,
                event: None,
                range: None,
            },
        );
    }
}

/// A target region and its private copies in one block: [`Head`], the addresses, the offset of each address's
/// private copy (0 for none), the copies.
struct Packed {
    block: *mut u8,
    layout: Layout,
}

/// The head of a packed block.
#[repr(C)]
struct Head {
    f: Outlined,
    count: usize,
    thread_limit: Option<u32>,
}

impl Packed {
    /// # Safety
    /// The same as for [`run`].
    unsafe fn new<I: Iterator<Item = Item> + Clone>(target: &Target<'_, I>) -> Packed {
        let count = target.addresses.len();
        let mut size = size_of::<Head>() + 2 * count * size_of::<usize>();
        let mut align = align_of::<Head>();
        // The same layout as that of the copies below.
        for item in target.items.clone() {
            if let Some(a) = item.private {
                align = align.max(a);
                size = size.next_multiple_of(a) + item.size;
            }
        }
        let Ok(layout) = Layout::from_size_align(size, align) else {
            report::fatal(format_args!(
                "private copies of {size} bytes in a target region: less than half of the memory"
            ));
        };
        // SAFETY: the size includes the head, so it is not zero.
        let block = unsafe { alloc(layout) };
        if block.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: everything is written within `layout`, by the sums above. Copies are made from addresses
        // that compiled code passed for items of these sizes.
        unsafe {
            block.cast::<Head>().write(Head {
                f: target.f,
                count,
                thread_limit: target.thread_limit,
            });
            let addresses = block.add(size_of::<Head>()).cast::<*mut c_void>();
            let offsets = addresses.add(count).cast::<usize>();
            let mut end = size_of::<Head>() + 2 * count * size_of::<usize>();
            for (i, item) in target.items.clone().take(count).enumerate() {
                let address = target.addresses[i];
                addresses.add(i).write(address);
                offsets.add(i).write(0);
                if let Some(a) = item.private {
                    end = end.next_multiple_of(a);
                    // An absent optional argument has a null address, and keeps it.
                    if !address.is_null() {
                        core::ptr::copy_nonoverlapping(
                            address.cast::<u8>(),
                            block.add(end),
                            item.size,
                        );
                        offsets.add(i).write(end);
                    }
                    end += item.size;
                }
            }
        }
        Packed { block, layout }
    }

    /// Runs the region of a packed block.
    ///
    /// # Safety
    /// `data` is a block made by [`Packed::new`], or a copy with the same alignment, and is used once.
    unsafe extern "C" fn body(data: *mut c_void) {
        let block: *mut u8 = data.cast();
        // SAFETY: `new` laid out the block.
        unsafe {
            let head = &*block.cast::<Head>();
            let addresses = block.add(size_of::<Head>()).cast::<*mut c_void>();
            let offsets = addresses.add(head.count).cast::<usize>();
            for i in 0..head.count {
                let offset = *offsets.add(i);
                if offset != 0 {
                    addresses.add(i).write(block.add(offset).cast());
                }
            }
            on_host(Thread::current(), head.thread_limit, || {
                (head.f)(addresses.cast());
            });
        }
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the block with this layout.
        unsafe { dealloc(self.block, self.layout) };
    }
}

/// The value of `thread-limit-var` for a clause with the value `limit`; values that do not fit an `int` mean
/// no limit.
fn limit_of(limit: u32) -> u32 {
    if limit > i32::MAX as u32 {
        u32::MAX
    } else {
        limit
    }
}

/// A `teams` construct on the host, outside of target regions: a league whose teams run one after the other
/// on this thread. `num_teams` and `thread_limit` are 0 where no clause gives them.
///
/// # Safety
/// `f` may be called with `data` once for each team.
pub unsafe fn teams(
    th: &Thread,
    f: Outlined,
    data: *mut c_void,
    num_teams: u32,
    thread_limit: u32,
) {
    let limit = match thread_limit {
        0 => query::teams_thread_limit().unsigned_abs(),
        n => n,
    };
    let before = th.task().icv().thread_limit;
    if limit > 0 {
        th.task()
            .change_icv(|icv| icv.thread_limit = limit_of(limit));
    }
    let count = match (num_teams, query::max_teams().unsigned_abs()) {
        (0, 0) => DEFAULT_TEAMS,
        (0, n) | (n, _) => n,
    };
    let most = crate::init::globals().libomp.teams_limit;
    let count = count.min(most.unwrap_or(u32::MAX));
    let placed = threads::league(th, count);
    let before_placed = placed.as_ref().map(|_| threads::here(th));
    let told = League::begin(th, count);
    for team in 0..count {
        th.league.set((team, count - 1));
        if let Some(placement) = placed.as_ref().and_then(|p| p.get(team as usize)) {
            threads::move_to(th, *placement);
        }
        // SAFETY: by this function's contract the body may run once for each team.
        let body = || unsafe { f(data) };
        match &told {
            Some(league) => league.team(th, team, body),
            None => body(),
        }
    }
    if let Some(league) = told {
        league.end(th);
    }
    th.league.set((0, 0));
    if let Some(placement) = before_placed {
        threads::move_to(th, placement);
    }
    if limit > 0 {
        th.task().change_icv(|icv| icv.thread_limit = before);
    }
}

/// Applies the `thread_limit` clause of a `teams` construct inside a target region (0: none) from here on.
pub fn limit_team(th: &Thread, thread_limit: u32) {
    if thread_limit > 0 {
        th.task()
            .change_icv(|icv| icv.thread_limit = limit_of(thread_limit));
    }
}

/// Begins a league of `count` teams (at least 1) inside a target region. The calling thread is the first
/// team.
pub fn begin_league(th: &Thread, count: u32) {
    th.league.set((0, count.max(1) - 1));
}

/// Makes the calling thread the next team of the league. False: the league has no further team.
pub fn next_team(th: &Thread) -> bool {
    let (team, last) = th.league.get();
    if team == last {
        return false;
    }
    th.league.set((team + 1, last));
    true
}

/// `omp_get_num_devices`, which is also the host's device number.
#[must_use]
pub const fn num_devices() -> i32 {
    DEVICES
}

/// Is `device` the host? Larger numbers end the program under `OMP_TARGET_OFFLOAD=mandatory`.
pub fn is_host(device: i32) -> bool {
    if device == DEVICES {
        return true;
    }
    if device > DEVICES {
        settle_for_host(device);
    }
    false
}

/// The shape of a block for [`copy_rect`]. All slices have one element for each dimension, the slowest
/// dimension first.
#[derive(Clone, Copy, Debug)]
pub struct Rect<'a> {
    /// Number of elements to copy.
    pub volume: &'a [usize],
    /// First element in the destination.
    pub dst_offsets: &'a [usize],
    /// First element in the source.
    pub src_offsets: &'a [usize],
    /// Number of elements of the destination.
    pub dst_dimensions: &'a [usize],
    /// Number of elements of the source.
    pub src_dimensions: &'a [usize],
}

/// Copies a block of an array into a block of another (`omp_target_memcpy_rect`). `None` if a size overflows,
/// possibly after a part was copied.
///
/// # Safety
/// Both arrays have elements of `element` bytes and the dimensions of `rect`.
pub unsafe fn copy_rect(
    dst: *mut u8,
    src: *const u8,
    element: usize,
    rect: &Rect<'_>,
) -> Option<()> {
    let (&count, inner_volume) = rect.volume.split_first()?;
    let inner = |s: &[usize]| {
        s.get(1..)?
            .iter()
            .try_fold(element, |bytes, &n| bytes.checked_mul(n))
    };
    if inner_volume.is_empty() {
        let bytes = element.checked_mul(count)?;
        let to = element.checked_mul(*rect.dst_offsets.first()?)?;
        let from = element.checked_mul(*rect.src_offsets.first()?)?;
        // SAFETY: the piece lies within both arrays, by this function's contract. The arrays may overlap, so
        // this is memmove.
        unsafe { core::ptr::copy(src.add(from), dst.add(to), bytes) };
        return Some(());
    }
    let dst_stride = inner(rect.dst_dimensions)?;
    let src_stride = inner(rect.src_dimensions)?;
    let to = dst_stride.checked_mul(*rect.dst_offsets.first()?)?;
    let from = src_stride.checked_mul(*rect.src_offsets.first()?)?;
    let rest = Rect {
        volume: inner_volume,
        dst_offsets: rect.dst_offsets.get(1..)?,
        src_offsets: rect.src_offsets.get(1..)?,
        dst_dimensions: rect.dst_dimensions.get(1..)?,
        src_dimensions: rect.src_dimensions.get(1..)?,
    };
    for i in 0..count {
        // SAFETY: row `i` lies within both arrays, by this function's contract.
        unsafe {
            copy_rect(
                dst.add(to + i * dst_stride),
                src.add(from + i * src_stride),
                element,
                &rest,
            )?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_a_block_of_a_matrix() {
        let src: Vec<u16> = (0..20).collect(); // 4 x 5
        let mut dst = vec![0u16; 18]; // 3 x 6
        let rect = Rect {
            volume: &[2, 3],
            dst_offsets: &[1, 2],
            src_offsets: &[2, 1],
            dst_dimensions: &[3, 6],
            src_dimensions: &[4, 5],
        };
        // SAFETY: the block lies inside both matrices.
        let done = unsafe { copy_rect(dst.as_mut_ptr().cast(), src.as_ptr().cast(), 2, &rect) };
        assert!(done.is_some());
        let mut expected = vec![0u16; 18];
        expected[8..11].copy_from_slice(&[11, 12, 13]);
        expected[14..17].copy_from_slice(&[16, 17, 18]);
        assert_eq!(dst, expected);
    }

    #[test]
    fn refuses_sizes_beyond_memory() {
        let rect = Rect {
            volume: &[usize::MAX, 2],
            dst_offsets: &[0, 0],
            src_offsets: &[0, 0],
            dst_dimensions: &[2, usize::MAX],
            src_dimensions: &[2, 2],
        };
        let mut a = [0u32; 4];
        let p: *mut u8 = a.as_mut_ptr().cast();
        // SAFETY: nothing is copied.
        assert!(unsafe { copy_rect(p, p, 4, &rect) }.is_none());
    }
}
