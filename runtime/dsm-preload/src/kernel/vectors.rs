//! Calls whose pointers lead to further pointers: lists of buffers, messages, and the arguments of a new program.
//!
//! As in [`super::bounce`]: lists are as long as the program says, are copied before they are looked at, and the copies
//! live in scratch memory of the call.

use super::bounce::{self, copy_text, Scratch};
use super::{is_bad, is_shared};
use pages::backend::sigsegv::raw;

/// `struct iovec`.
type Part = [usize; 2];
/// More buffers than the kernel accepts.
const PARTS: usize = 1024;

/// The buffers of a call: as the program gave them, and as the kernel gets them, with private memory in the place of
/// shared.
struct Buffers<'a> {
    programs: &'a [Part],
    given: &'a [Part],
}

impl<'a> Buffers<'a> {
    /// # Safety
    /// At `at` lie `count` buffers, as a call demands: they may be read if the call `writes`, else written. The scratch
    /// memory outlives the call.
    unsafe fn new(
        at: usize,
        count: usize,
        writes: bool,
        scratch: &mut Scratch,
    ) -> Result<Buffers<'a>, libc::c_int> {
        if count > PARTS {
            return Err(libc::EINVAL);
        }
        if count > 0 && is_bad(at) {
            return Err(libc::EFAULT);
        }
        let from: *const u8 = core::ptr::with_exposed_provenance(at);
        let bytes = count * size_of::<Part>();
        let list = scratch.room(2 * bytes).ok_or(libc::ENOMEM)?;
        // SAFETY: the list is as long as the program says, and there is room for two; the rooms have the alignment of
        // words.
        let (programs, given) = unsafe {
            list.copy_from_nonoverlapping(from, bytes);
            list.add(bytes).copy_from_nonoverlapping(list, bytes);
            let list: *mut Part = list.cast();
            (
                core::slice::from_raw_parts(list, count),
                core::slice::from_raw_parts_mut(list.add(count), count),
            )
        };
        let shared = |p: &Part| p[1] > 0 && is_shared(p[0]);
        let mut len = 0usize;
        for p in programs.iter().filter(|p| shared(p)) {
            if p[1] > isize::MAX as usize {
                return Err(libc::EINVAL);
            }
            len = len.saturating_add(bounce::reach(p[0], p[1]));
        }
        let mut room = scratch.room(len).ok_or(libc::ENOMEM)?;
        for p in given.iter_mut().filter(|p| shared(p)) {
            let [at, len] = *p;
            let from: *const u8 = core::ptr::with_exposed_provenance(at);
            let to = bounce::aligned(room, at, len);
            if writes {
                // SAFETY: this function's contract; `reach` has counted the room.
                unsafe { to.copy_from_nonoverlapping(from, len) };
            }
            p[0] = to.expose_provenance();
            room = to.wrapping_add(len);
        }
        Ok(Buffers { programs, given })
    }

    fn address(&self) -> usize {
        self.given.as_ptr().expose_provenance()
    }

    /// Copies what the kernel has written, `n` bytes in all, to where the program wants it.
    ///
    /// # Safety
    /// The program's buffers may be written.
    unsafe fn hand_over(&self, mut n: usize) {
        for ([to, len], [from, _]) in self.programs.iter().zip(self.given) {
            let here = n.min(*len);
            if from != to {
                let from: *const u8 = core::ptr::with_exposed_provenance(*from);
                // SAFETY: this function's contract; the other buffer is scratch memory of the same length.
                unsafe {
                    core::ptr::with_exposed_provenance_mut::<u8>(*to)
                        .copy_from_nonoverlapping(from, here);
                }
            }
            n -= here;
        }
    }
}

/// `readv`, `writev` and their kin: a list of buffers is the second argument, their number the third.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn list(number: libc::c_long, mut a: [usize; 6], writes: bool) -> isize {
    let mut scratch = Scratch::new();
    // SAFETY: the list and its buffers are as the call demands: this function's contract.
    unsafe {
        let buffers = match Buffers::new(a[1], a[2], writes, &mut scratch) {
            Ok(buffers) => buffers,
            Err(error) => return -error as isize,
        };
        a[1] = buffers.address();
        let result = raw::call(number, a);
        if let (false, Ok(n)) = (writes, usize::try_from(result)) {
            buffers.hand_over(n);
        }
        result
    }
}

/// `process_vm_readv` and `process_vm_writev`: as for [`list`], with a second list, of buffers in another process.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn of_process(number: libc::c_long, mut a: [usize; 6], writes: bool) -> isize {
    let mut scratch = Scratch::new();
    if a[4] > PARTS {
        return -libc::EINVAL as isize;
    }
    let bytes = a[4] * size_of::<Part>();
    if is_shared(a[3]) {
        let Some(remote) = scratch.room(bytes) else {
            return -libc::ENOMEM as isize;
        };
        let from: *const u8 = core::ptr::with_exposed_provenance(a[3]);
        // SAFETY: the second list is as long as the program says: this function's contract.
        unsafe { remote.copy_from_nonoverlapping(from, bytes) };
        a[3] = remote.expose_provenance();
    }
    // SAFETY: the lists and buffers are as the call demands: this function's contract.
    unsafe { list(number, a, writes) }
}

/// `sendmsg` and `recvmsg`.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn message(number: libc::c_long, a: [usize; 6]) -> isize {
    let sends = number == libc::SYS_sendmsg;
    if is_bad(a[1]) {
        return -libc::EFAULT as isize;
    }
    let message: *mut libc::msghdr = core::ptr::with_exposed_provenance_mut(a[1]);
    let mut scratch = Scratch::new();
    // SAFETY: the message and what it points to are as the call demands: this function's contract. The copies lie in
    // scratch memory of their sizes.
    unsafe {
        let programs = message.read_unaligned();
        let parts = programs.msg_iov.expose_provenance();
        let buffers = match Buffers::new(parts, programs.msg_iovlen, sends, &mut scratch) {
            Ok(buffers) => buffers,
            Err(libc::EINVAL) if programs.msg_iovlen > PARTS => return -libc::EMSGSIZE as isize,
            Err(error) => return -error as isize,
        };
        let mut given = programs;
        given.msg_iov = core::ptr::with_exposed_provenance_mut(buffers.address());
        // A longer name is none of a socket.
        let of_name = (programs.msg_namelen as usize).min(size_of::<libc::sockaddr_storage>());
        let mut copied = [
            (&mut given.msg_name, of_name),
            (&mut given.msg_control, programs.msg_controllen),
        ];
        for (at, len) in &mut copied {
            if is_shared(at.addr()) {
                let Some(room) = scratch.room(*len) else {
                    return -libc::ENOMEM as isize;
                };
                room.copy_from_nonoverlapping(at.cast(), *len);
                **at = room.cast();
            }
        }
        let head = (&raw mut given).expose_provenance();
        let result = raw::call(number, [a[0], head, a[2], 0, 0, 0]);
        if let (false, Ok(n)) = (sends, usize::try_from(result)) {
            buffers.hand_over(n);
            for (to, from, len) in [
                (
                    programs.msg_name,
                    given.msg_name,
                    of_name.min(given.msg_namelen as usize),
                ),
                (
                    programs.msg_control,
                    given.msg_control,
                    programs.msg_controllen.min(given.msg_controllen),
                ),
            ] {
                if to != from {
                    to.cast::<u8>().copy_from_nonoverlapping(from.cast(), len);
                }
            }
            (*message).msg_namelen = given.msg_namelen;
            (*message).msg_controllen = given.msg_controllen;
            (*message).msg_flags = given.msg_flags;
        }
        result
    }
}

/// The monotonic clock, in nanoseconds.
fn now() -> i128 {
    let mut time = [0i64; 2];
    let to = (&raw mut time).expose_provenance();
    // SAFETY: the structure lives during the call.
    unsafe {
        raw::call(
            libc::SYS_clock_gettime,
            [libc::CLOCK_MONOTONIC as usize, to, 0, 0, 0, 0],
        )
    };
    i128::from(time[0]) * 1_000_000_000 + i128::from(time[1])
}

/// `sendmmsg` and `recvmmsg`: one message after another. As in the kernel, the time that `recvmmsg` may take is looked
/// at behind each message, and what is left of it is told.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn messages(number: libc::c_long, a: [usize; 6]) -> isize {
    const WAITFORONE: usize = 0x10000;
    const SECOND: i128 = 1_000_000_000;
    let receives = number == libc::SYS_recvmmsg;
    let one = if receives {
        libc::SYS_recvmsg
    } else {
        libc::SYS_sendmsg
    };
    if a[2] > 0 && is_bad(a[1]) || receives && a[4] != 0 && is_bad(a[4]) {
        return -libc::EFAULT as isize;
    }
    let all: *mut libc::mmsghdr = core::ptr::with_exposed_provenance_mut(a[1]);
    let limit: *mut [i64; 2] = core::ptr::with_exposed_provenance_mut(a[4]);
    let mut until = None;
    if receives && a[4] != 0 {
        // SAFETY: the program's time, as the call demands.
        let [s, ns] = unsafe { limit.read_unaligned() };
        if s < 0 || !(0..SECOND).contains(&ns.into()) {
            return -libc::EINVAL as isize;
        }
        until = Some(now() + i128::from(s) * SECOND + i128::from(ns));
    }
    let mut flags = a[3] & !WAITFORONE;
    let (mut count, mut failed) = (0, 0);
    while count < a[2] {
        // SAFETY: the program gave a list of this length: this function's contract.
        let result = unsafe {
            let at = all.add(count);
            let head = (&raw mut (*at).msg_hdr).expose_provenance();
            let result = message(one, [a[0], head, flags, 0, 0, 0]);
            if let Ok(n) = libc::c_uint::try_from(result) {
                (*at).msg_len = n;
            }
            result
        };
        if result < 0 {
            failed = result;
            break;
        }
        count += 1;
        if a[3] & WAITFORONE != 0 {
            flags |= libc::MSG_DONTWAIT as usize;
        }
        if until.is_some_and(|until| now() >= until) {
            break;
        }
    }
    if count == 0 {
        return failed;
    }
    if let Some(until) = until {
        let left = (until - now()).max(0);
        // SAFETY: the program's time, as the call demands.
        unsafe { limit.write_unaligned([(left / SECOND) as i64, (left % SECOND) as i64]) };
    }
    count as isize
}

/// Private copies of the arguments of `execve`. They lie in one mapping: its address and length.
pub(crate) struct NewProgram {
    pub(crate) mapping: (usize, usize),
    pub(crate) path: usize,
    pub(crate) arguments: usize,
    pub(crate) environment: usize,
}

/// The number of pointers in a list that ends with a null pointer, and the bytes of the texts they lead to.
///
/// `None` if one of the addresses is bad.
///
/// # Safety
/// `at` is null or the address of such a list.
unsafe fn extent(at: usize) -> Option<(usize, usize)> {
    if at != 0 && is_bad(at) {
        return None;
    }
    let (mut count, mut bytes) = (0, 0);
    let list: *const *const libc::c_char = core::ptr::with_exposed_provenance(at);
    // SAFETY: this function's contract. `strlen` makes no system call.
    unsafe {
        while !list.is_null() && !(*list.add(count)).is_null() {
            if is_bad((*list.add(count)).addr()) {
                return None;
            }
            bytes += libc::strlen(*list.add(count)) + 1;
            count += 1;
        }
    }
    Some((count, bytes))
}

/// Copies what `execve` reads.
///
/// # Errors
/// A number of an error, as the call's.
///
/// # Safety
/// The arguments are as `execve` demands.
pub(crate) unsafe fn new_program(
    path: usize,
    arguments: usize,
    environment: usize,
) -> Result<NewProgram, libc::c_int> {
    if is_bad(path) {
        return Err(libc::EFAULT);
    }
    // SAFETY: the lists and texts are as `execve` demands, and the mapping is as large as what is copied.
    unsafe {
        let (Some(first), Some(second)) = (extent(arguments), extent(environment)) else {
            return Err(libc::EFAULT);
        };
        let of_path = libc::strlen(core::ptr::with_exposed_provenance(path)) + 1;
        let len = (first.0 + second.0 + 2) * 8 + first.1 + second.1 + of_path;
        let at = bounce::map(len).ok_or(libc::ENOMEM)?;
        let mut words: *mut usize = core::ptr::with_exposed_provenance_mut(at);
        let mut text = at + (first.0 + second.0 + 2) * 8;
        let mut copied = |from: usize| {
            let here = text;
            text += copy_text(
                from,
                core::ptr::with_exposed_provenance_mut(text),
                at + len - text,
            );
            here
        };
        let path = copied(path);
        let mut starts = [0, 0];
        for (start, (from, count)) in starts
            .iter_mut()
            .zip([(arguments, first.0), (environment, second.0)])
        {
            *start = words.expose_provenance();
            let list: *const usize = core::ptr::with_exposed_provenance(from);
            for i in 0..count {
                words.write(copied(list.add(i).read()));
                words = words.add(1);
            }
            words.write(0);
            words = words.add(1);
        }
        Ok(NewProgram {
            mapping: (at, len),
            path,
            arguments: starts[0],
            environment: starts[1],
        })
    }
}
