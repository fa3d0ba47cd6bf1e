//! Memory that the kernel may use in place of the program's, for the length of one system call.
//!
//! What the program passes is believed as far as the kernel believes it: its buffers are as large as the call demands,
//! or the program's own call would have failed. Rooms belong to one call, on one thread, and go with it.

pub(crate) use super::stacks::{map, unmap};
use super::table::{Pointer, Size, Way};
use super::{is_bad, is_shared, without_ours};
use core::mem::MaybeUninit;
use pages::backend::sigsegv::raw;
use pages::PAGE;

/// Bytes that need no mapping of their own.
const SMALL: usize = 16 << 10;
/// The longest path, with the zero at its end.
const PATH: usize = 4096;

/// Private memory of one system call.
pub(crate) struct Scratch {
    small: MaybeUninit<[u64; SMALL / 8]>,
    used: usize,
    maps: [(usize, usize); 8],
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch {
            small: MaybeUninit::uninit(),
            used: 0,
            maps: [(0, 0); 8],
        }
    }

    /// Room for `len` bytes; `None` if there is none.
    pub(crate) fn room(&mut self, len: usize) -> Option<*mut u8> {
        let rounded = len.checked_next_multiple_of(8)?;
        if rounded <= SMALL - self.used {
            let at = self.small.as_mut_ptr().cast::<u8>().wrapping_add(self.used);
            self.used += rounded;
            return Some(at);
        }
        let free = self.maps.iter_mut().find(|m| m.1 == 0)?;
        let at = map(len)?;
        *free = (at, len);
        Some(core::ptr::with_exposed_provenance_mut(at))
    }

    /// Room for the program's buffer of `len` bytes at `at`, with its alignment.
    pub(crate) fn room_like(&mut self, at: usize, len: usize) -> Option<*mut u8> {
        if !may_be_direct(at, len) {
            return self.room(len);
        }
        let room = self.room(reach(at, len))?;
        Some(aligned(room, at, len))
    }
}

/// May this buffer be for input and output that go past the system's own copies (`O_DIRECT`)? The kernel then demands
/// addresses and lengths that are multiples of a sector, and of a page in some file systems.
fn may_be_direct(at: usize, len: usize) -> bool {
    const SECTOR: usize = 512;
    len > 0 && (at | len) % SECTOR == 0
}

/// Bytes that hold [`aligned`] memory for the program's buffer, wherever the room begins.
pub(crate) fn reach(at: usize, len: usize) -> usize {
    len.saturating_add(if may_be_direct(at, len) { PAGE } else { 8 })
}

/// The first place from `room` on that has the alignment that the program's buffer of `len` bytes at `at` needs.
pub(crate) fn aligned(room: *mut u8, at: usize, len: usize) -> *mut u8 {
    let before = match may_be_direct(at, len) {
        true => at.wrapping_sub(room.addr()) % PAGE,
        false => room.addr().wrapping_neg() % 8,
    };
    room.wrapping_add(before)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for (at, len) in self.maps.iter().filter(|m| m.1 != 0) {
            // SAFETY: `room` made the mapping for this call, which is over.
            unsafe { unmap(*at, *len) };
        }
    }
}

/// Copies the program's text to `to`, `most` bytes at most with its zero. Returns their number.
///
/// # Safety
/// `from` is the program's text, and `to` has room.
pub(crate) unsafe fn copy_text(from: usize, to: *mut u8, most: usize) -> usize {
    let from: *const u8 = core::ptr::with_exposed_provenance(from);
    for i in 0..most {
        // SAFETY: up to its zero the text is readable, and `to` has `most` bytes: this function's contract.
        unsafe {
            let byte = from.add(i).read_volatile();
            to.add(i).write(byte);
            if byte == 0 {
                return i + 1;
            }
        }
    }
    most
}

fn length(size: Size, a: &[usize; 6]) -> usize {
    match size {
        Size::Bytes(n) => n as usize,
        Size::Times(argument, each) => a[usize::from(argument)].saturating_mul(each as usize),
        Size::Message(argument) => a[usize::from(argument)].saturating_add(8),
        Size::Pages(argument) => a[usize::from(argument)].div_ceil(PAGE),
        Size::Text => PATH,
        Size::At(argument) => {
            let at: *const u32 = core::ptr::with_exposed_provenance(a[usize::from(argument)]);
            match is_bad(at.addr()) {
                true => 0,
                // SAFETY: the length that the program gave next to a buffer, as the call demands.
                false => unsafe { at.read_unaligned() as usize },
            }
        }
        Size::Bits(argument) => a[usize::from(argument)].div_ceil(64) * 8,
    }
}

/// The system call, with private memory in the place of what `pointers` name if that is shared.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn call(number: libc::c_long, a: [usize; 6], pointers: &[Pointer]) -> isize {
    let mut scratch = Scratch::new();
    let mut given = a;
    let mut placed = [(core::ptr::null_mut::<u8>(), 0usize); 6];
    for (i, p) in pointers.iter().enumerate() {
        let (at, n) = (a[usize::from(p.argument)], usize::from(p.argument));
        if !is_shared(at) && (p.way != Way::Signals || is_bad(at)) {
            continue;
        }
        let len = length(p.size, &a);
        let Some(room) = scratch.room_like(at, len) else {
            return -libc::ENOMEM as isize;
        };
        let from: *const u8 = core::ptr::with_exposed_provenance(at);
        // SAFETY: the program's memory is as large as the call demands, and the room is.
        unsafe {
            match (p.size, p.way) {
                (Size::Text, _) => {
                    copy_text(at, room, PATH);
                }
                (_, Way::Result) => {}
                (_, Way::Signals) => room
                    .cast::<u64>()
                    .write(without_ours(from.cast::<u64>().read_unaligned())),
                _ => room.copy_from_nonoverlapping(from, len),
            }
        }
        given[n] = room.expose_provenance();
        placed[i] = (room, len);
    }
    // The kernel would read the set of signals where this structure says.
    if number == libc::SYS_pselect6 && !is_bad(a[5]) {
        let pair: *const [usize; 2] = core::ptr::with_exposed_provenance(a[5]);
        // SAFETY: the program's structure, as the call demands: the address of a set of signals, or null, and its size.
        let set = unsafe {
            let [set, _] = pair.read_unaligned();
            let set: *const u64 = core::ptr::with_exposed_provenance(set);
            (!is_bad(set.addr())).then(|| without_ours(set.read_unaligned()))
        };
        if let Some(set) = set {
            let Some(room) = scratch.room(24) else {
                return -libc::ENOMEM as isize;
            };
            let room: *mut u64 = room.cast();
            // SAFETY: three words of the scratch memory: the set, and the structure.
            unsafe {
                room.write(set);
                room.add(1).write(room.expose_provenance() as u64);
                room.add(2).write(8);
                given[5] = room.add(1).expose_provenance();
            }
        }
    }
    // SAFETY: the arguments are the program's, with memory of the same size in the place of the program's own.
    let result = unsafe { raw::call(number, given) };
    for (p, (room, len)) in pointers.iter().zip(placed) {
        let written = match p.way {
            _ if room.is_null() => 0,
            Way::In | Way::Signals => 0,
            Way::Both if result >= 0 || result == -libc::EINTR as isize => len,
            Way::Both => 0,
            Way::Result => usize::try_from(result).map_or(0, |n| match p.size {
                Size::Times(_, each) => n.saturating_mul(each as usize).min(len),
                Size::Message(_) => n.saturating_add(8).min(len),
                _ => n.min(len),
            }),
        };
        let to: *mut u8 = core::ptr::with_exposed_provenance_mut(a[usize::from(p.argument)]);
        // SAFETY: the program's memory is as large as the call demands.
        unsafe { to.copy_from_nonoverlapping(room, written) };
    }
    result
}
