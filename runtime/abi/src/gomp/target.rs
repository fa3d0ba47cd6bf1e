//! Target constructs, which all run on the host: there are no devices.
//!
//! `kinds` are gcc's map kinds: the low byte says what to do with an item, the high byte is the logarithm of
//! the item's alignment. Host and device share memory here, so of all kinds only `firstprivate` needs work.

use super::task::dependences;
use crate::entry::entries;
use hetmp_omp::device::{self, Item, Target};
use hetmp_omp::team::Outlined;
use hetmp_omp::Thread;
use libc::{c_int, c_uint, c_void};

/// `GOMP_MAP_FIRSTPRIVATE` of gomp-constants.h.
const FIRSTPRIVATE: u16 = 12;
/// `GOMP_TARGET_FLAG_NOWAIT`.
const NOWAIT: c_uint = 1;

/// Finds the `thread_limit` clause among the arguments of a target region. The arguments are a list of words
/// that ends with zero. If bit 7 of an argument is set, its value is in the next word; otherwise its value is
/// in the bits above the second byte. The low 7 bits tell which devices an argument is for (0: all devices),
/// and the second byte tells its kind.
///
/// # Safety
/// `args` is null or such a list.
unsafe fn thread_limit(mut args: *const isize) -> Option<u32> {
    const TWO_WORDS: isize = 1 << 7;
    const DEVICE: isize = TWO_WORDS - 1;
    const WHAT: isize = 0xff << 8;
    const THREAD_LIMIT: isize = 2 << 8;
    if args.is_null() {
        return None;
    }
    loop {
        // SAFETY: the terminating zero has not been read yet, so there is a word here.
        let word = unsafe { *args };
        if word == 0 {
            return None;
        }
        // SAFETY: the next word is an argument's second word or at most the terminating zero.
        let value = unsafe {
            args = args.add(1);
            if word & TWO_WORDS != 0 {
                let value = *args;
                args = args.add(1);
                value
            } else {
                word >> 16
            }
        };
        if word & DEVICE == 0 && word & WHAT == THREAD_LIMIT {
            // -1 means "known on the device only", and becomes a limit so large that it has no effect.
            return (value != 0).then_some(value.min(i32::MAX as isize) as u32);
        }
    }
}

/// Lets a construct that has nothing to do wait for the tasks that `depend` names; with `nowait`, makes an
/// empty task with these dependences.
///
/// # Safety
/// `depend` is null or an array as `dependences` reads it.
pub(crate) unsafe fn take_turn(depend: *const *mut c_void, flags: c_uint) {
    if !depend.is_null() {
        // SAFETY: not null, and so an array as `dependences` reads it: this function's contract.
        let list = unsafe { dependences(depend) };
        device::take_turn(Thread::current(), list.as_slice(), flags & NOWAIT != 0);
    }
}

entries! {
    "GOMP_4.0" default:
    /// Runs a target region; gcc before 5 calls this function.
    fn GOMP_target(
        device: c_int, f: Outlined, _unused: *const c_void, _count: usize,
        addresses: *mut *mut c_void, _sizes: *const usize, _kinds: *const u8,
    ) {
        device::settle_for_host(device);
        device::on_host(Thread::current(), None, || {
            // SAFETY: the compiled code gives a region and its addresses.
            unsafe { f(addresses.cast()) };
        });
    }

    /// Begins `target data`; gcc before 5 calls this function.
    fn GOMP_target_data(
        device: c_int, _unused: *const c_void, _count: usize, _addresses: *mut *mut c_void,
        _sizes: *const usize, _kinds: *const u8,
    ) {
        device::settle_for_host(device);
    }

    /// Ends `target data`.
    fn GOMP_target_end_data() {}

    /// `target update`; gcc before 5 calls this function.
    fn GOMP_target_update(
        device: c_int, _unused: *const c_void, _count: usize, _addresses: *mut *mut c_void,
        _sizes: *const usize, _kinds: *const u8,
    ) {
        device::settle_for_host(device);
    }

    "GOMP_4.0.1" default:
    /// A program or library brings code for devices. There are no devices, so nothing is done.
    fn GOMP_offload_register(
        _host: *const c_void, _kind: c_int, _image: *const c_void,
    ) {}

    /// The program or library withdraws its code for devices.
    fn GOMP_offload_unregister(
        _host: *const c_void, _kind: c_int, _image: *const c_void,
    ) {}

    "GOMP_4.5" default:
    /// `GOMP_offload_register` with the version of the code.
    fn GOMP_offload_register_ver(
        _version: c_uint, _host: *const c_void, _kind: c_int, _image: *const c_void,
    ) {}

    /// `GOMP_offload_unregister` with the version of the code.
    fn GOMP_offload_unregister_ver(
        _version: c_uint, _host: *const c_void, _kind: c_int, _image: *const c_void,
    ) {}

    /// Runs a target region.
    fn GOMP_target_ext(
        device: c_int, f: Outlined, count: usize, addresses: *mut *mut c_void,
        sizes: *const usize, kinds: *const u16, flags: c_uint, depend: *const *mut c_void,
        args: *const isize,
    ) {
        device::settle_for_host(device);
        let list;
        // SAFETY: the compiled code passes arrays of `count` elements, and lists as the functions read them.
        let (depends, target) = unsafe {
            let depends = if depend.is_null() {
                &[]
            } else {
                list = dependences(depend);
                list.as_slice()
            };
            let items = (0..count).map(move |i| {
                let kind = *kinds.add(i);
                Item {
                    size: *sizes.add(i),
                    private: (kind & 0xff == FIRSTPRIVATE).then(|| 1 << (kind >> 8)),
                }
            });
            let addresses = if count == 0 {
                &[]
            } else {
                core::slice::from_raw_parts(addresses, count)
            };
            (depends, Target { f, addresses, items, thread_limit: thread_limit(args) })
        };
        // SAFETY: the compiled code passes a region's function and valid items.
        unsafe { device::run(Thread::current(), target, depends, flags & NOWAIT != 0) };
    }

    /// Begins `target data`.
    fn GOMP_target_data_ext(
        device: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *const usize,
        _kinds: *const u16,
    ) {
        device::settle_for_host(device);
    }

    /// `target update`. Host memory is up to date, so only the construct's dependences count.
    fn GOMP_target_update_ext(
        device: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *const usize,
        _kinds: *const u16, flags: c_uint, depend: *const *mut c_void,
    ) {
        device::settle_for_host(device);
        // SAFETY: the compiled code passes an array as `dependences` reads it.
        unsafe { take_turn(depend, flags) };
    }

    /// `target enter data` and `target exit data`. There is no data to move, so only the construct's
    /// dependences count.
    fn GOMP_target_enter_exit_data(
        device: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *const usize,
        _kinds: *const u16, flags: c_uint, depend: *const *mut c_void,
    ) {
        device::settle_for_host(device);
        // SAFETY: the compiled code passes an array as `dependences` reads it.
        unsafe { take_turn(depend, flags) };
    }

    "GOMP_5.1.2" default:
    /// The device's address of a function. Here the only device is the host.
    fn GOMP_target_map_indirect_ptr(function: *mut c_void) -> *mut c_void {
        function
    }
}
