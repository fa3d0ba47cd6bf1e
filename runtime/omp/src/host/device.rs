//! Target regions on the host, leagues of teams, and device memory (OpenMP 5.1, sections 2.14 and
//! 3.8). There are no devices: everything here is what libgomp does without one.
//!
//! A target region on the host runs in a *fresh implicit context*: level 0, one thread, the
//! variables of the device. [`on_host`] gives it that, by making the calling thread the only member
//! of a new team for the time of the region.
//!
//! `target nowait` makes a task. Its data is one block without pointers into itself (see
//! [`Packed`]), so that the task engine may copy it like any other.

use crate::affinity::threads;
use crate::icv::{self, TargetOffload};
use crate::init;
use crate::query;
use crate::task::depend::{self, Dependence};
use crate::task::{self, NewTask};
use crate::team::members::{Outlined, Team};
use crate::team::region as team;
use crate::thread::Thread;
use core::sync::atomic::{AtomicU8, Ordering};
use hetmp_core::report;
use hetmp_core::sync::AtomicU32;
use libc::c_void;
use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};

/// `device(...)` was not given: `default-device-var` decides.
const DEVICE_ICV: i32 = -1;
/// An `if` clause said no.
const DEVICE_HOST: i32 = -2;
/// The number of devices, and with that the number of the host.
const DEVICES: i32 = 0;

/// Teams of a league whose size nobody gave.
const DEFAULT_TEAMS: u32 = 3;

/// What the program said since the start: 0 nothing, else a [`TargetOffload`] and 1.
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

/// Sets it, as `OMP_TARGET_OFFLOAD` does before the start; what is none of its values means `default`.
pub fn set_target_offload(value: &[u8]) {
    let kind = match icv::target_offload(value) {
        Ok(TargetOffload::Mandatory) => 2,
        Ok(TargetOffload::Disabled) => 3,
        _ => 1,
    };
    OFFLOAD.store(kind, Ordering::Relaxed);
}

/// Accepts that a construct for device `device` runs on the host; ends the program where
/// `OMP_TARGET_OFFLOAD=mandatory` forbids it.
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

/// Runs `body` as the initial task of a device that is this thread of the host.
///
/// `thread_limit` is the `thread_limit` clause; `u32::MAX` for no limit.
pub fn on_host(th: &Thread, thread_limit: Option<u32>, body: impl FnOnce()) {
    let saved = th.save();
    let league = th.league.replace((0, 0));
    // The device's threads are a contention group of their own.
    let group = AtomicU32::new(1);
    let busy = th.busy.replace(&group);
    let partition = th.partition.get();
    let places = init::globals().places.len() as u32;
    if places > 0 {
        th.partition.set((0, places));
    }
    let spare = th.devices.borrow_mut().pop();
    let team = spare.unwrap_or_else(Team::solo);
    th.become_member(&team, 0, 1);
    th.ctx.pos.set(team.works.position());
    if let Some(limit) = thread_limit {
        th.task().change_icv(|icv| icv.thread_limit = limit);
    }
    body();
    // Tasks of the region belong to a team that ends here.
    team::barrier(th);
    th.task().end_implicit();
    team.works.settle(th.ctx.pos.get());
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
    /// Alignment of the private copy the region gets (`firstprivate`); `None` for everything that
    /// host memory needs no action for.
    pub private: Option<usize>,
}

/// A target region.
#[derive(Debug)]
pub struct Target<'a, I> {
    /// The region's body; its argument is the array of addresses.
    pub f: Outlined,
    /// Addresses of the items. A region with private copies gets an array of its own.
    pub addresses: &'a [*mut c_void],
    /// The items, in the same order.
    pub items: I,
    /// The `thread_limit` clause.
    pub thread_limit: Option<u32>,
}

/// Runs a target region, in place or as a task.
///
/// # Safety
/// The addresses are valid for their items' sizes, and `f` may be called with the array of them.
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
            // SAFETY: this function's contract: `abi` passes the function that compiled code made for the addresses
            // it listed.
            unsafe { (target.f)(target.addresses.as_ptr().cast_mut().cast()) };
        });
        return;
    }
    // SAFETY: this function's contract: `abi` passes addresses and sizes that compiled code listed.
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
    // The copies above were made before the wait, as the construct's data environment is.
    if !depends.is_empty() {
        depend::wait_for(th, depends);
    }
    // SAFETY: the block is whole, and this is its only use.
    unsafe { Packed::body(packed.block.cast()) };
}

/// A construct on device data (`target update`, `target enter data`, `target exit data`): nothing is
/// to be done in shared memory, but what it depends on comes before it, and what depends on it
/// after. With `nowait` it is a task.
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

/// A target region and its private copies in one block: [`Head`], the addresses, for each address
/// the offset of its private copy (0 for none), the copies.
struct Packed {
    block: *mut u8,
    layout: Layout,
}

/// The beginning of a packed block.
#[repr(C)]
struct Head {
    f: Outlined,
    count: usize,
    thread_limit: Option<u32>,
}

impl Packed {
    /// # Safety
    /// As for [`run`].
    unsafe fn new<I: Iterator<Item = Item> + Clone>(target: &Target<'_, I>) -> Packed {
        let count = target.addresses.len();
        let mut size = size_of::<Head>() + 2 * count * size_of::<usize>();
        let mut align = align_of::<Head>();
        // As the copies are laid out below.
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
        // SAFETY: the size is not zero, it includes the head.
        let block = unsafe { alloc(layout) };
        if block.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: everything written lies within `layout`, by the sums above; what is copied
        // lies at addresses that compiled code passed for items of these sizes.
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
                    // An absent optional argument has no address, and stays so.
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
    /// `data` is a block made by [`Packed::new`] or a copy at the same alignment, used once.
    unsafe extern "C" fn body(data: *mut c_void) {
        let block: *mut u8 = data.cast();
        // SAFETY: laid out by `new`.
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
        // SAFETY: allocated with this layout by `new`.
        unsafe { dealloc(self.block, self.layout) };
    }
}

/// The `thread_limit` variable for a clause of value `limit`; values beyond an `int` mean none.
fn limit_of(limit: u32) -> u32 {
    if limit > i32::MAX as u32 {
        u32::MAX
    } else {
        limit
    }
}

/// A `teams` construct on the host, outside target regions: a league whose teams run one after the
/// other, each on this thread. `num_teams` and `thread_limit` are 0 where no clause gave them.
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
    for team in 0..count {
        th.league.set((team, count - 1));
        if let Some(placement) = placed.as_ref().and_then(|p| p.get(team as usize)) {
            threads::move_to(th, *placement);
        }
        // SAFETY: this function's contract: compiled code gives a body that may run once for each team.
        unsafe { f(data) };
    }
    th.league.set((0, 0));
    if let Some(placement) = before_placed {
        threads::move_to(th, placement);
    }
    if limit > 0 {
        th.task().change_icv(|icv| icv.thread_limit = before);
    }
}

/// A `thread_limit` clause of a `teams` construct inside a target region, 0 for none: holds from here on.
pub fn limit_team(th: &Thread, thread_limit: u32) {
    if thread_limit > 0 {
        th.task()
            .change_icv(|icv| icv.thread_limit = limit_of(thread_limit));
    }
}

/// Begins a league of `count` teams (at least 1) inside a target region: the calling thread is the first of them.
pub fn begin_league(th: &Thread, count: u32) {
    th.league.set((0, count.max(1) - 1));
}

/// Makes the calling thread the next team of the league; false: that was the last one.
pub fn next_team(th: &Thread) -> bool {
    let (team, last) = th.league.get();
    if team == last {
        return false;
    }
    th.league.set((team + 1, last));
    true
}

/// `omp_get_num_devices`, and the number of the host.
#[must_use]
pub const fn num_devices() -> i32 {
    DEVICES
}

/// Is `device` the host? Other numbers that are not negative end the program under
/// `OMP_TARGET_OFFLOAD=mandatory`.
pub fn is_host(device: i32) -> bool {
    if device == DEVICES {
        return true;
    }
    if device > DEVICES {
        settle_for_host(device);
    }
    false
}

/// The shape of a block for [`copy_rect`]; all slices have an element for each dimension, the
/// slowest first.
#[derive(Clone, Copy, Debug)]
pub struct Rect<'a> {
    /// Elements to copy.
    pub volume: &'a [usize],
    /// First element in the destination.
    pub dst_offsets: &'a [usize],
    /// First element in the source.
    pub src_offsets: &'a [usize],
    /// Elements of the destination.
    pub dst_dimensions: &'a [usize],
    /// Elements of the source.
    pub src_dimensions: &'a [usize],
}

/// Copies a block of an array into a block of another (`omp_target_memcpy_rect`); `None` where a
/// size does not fit into the memory there can be, possibly after a part was copied.
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
        // SAFETY: within both arrays, as this function's contract has it of what the program passes; a program that
        // copies an array onto itself gets what memmove gives.
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
        // SAFETY: row `i` lies within both arrays, as this function's contract has it of what the program passes.
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
