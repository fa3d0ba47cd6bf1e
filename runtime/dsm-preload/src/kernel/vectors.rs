//! Calls whose pointers lead to further pointers: lists of buffers, messages, and the arguments of a new program.

use super::bounce::{self, copy_text, Scratch};
use pages::backend::sigsegv::raw;

/// `struct iovec`.
type Part = [usize; 2];
/// More buffers than the kernel accepts.
const PARTS: usize = 1024;

/// # Safety
/// `at` is the address of a list of `count` buffers, as a call demands.
unsafe fn parts<'a>(at: usize, count: usize) -> Option<&'a [Part]> {
    if count > PARTS {
        return None;
    }
    if count == 0 {
        return Some(&[]);
    }
    // SAFETY: this function's contract.
    Some(unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(at), count) })
}

fn total(parts: &[Part]) -> usize {
    parts.iter().fold(0, |n, p| n.saturating_add(p[1]))
}

/// Copies the program's buffers to `to`, one after another.
///
/// # Safety
/// The buffers may be read, and `to` has room for all.
unsafe fn gather(parts: &[Part], mut to: *mut u8) {
    for [at, len] in parts {
        let from: *const u8 = core::ptr::with_exposed_provenance(*at);
        // SAFETY: this function's contract.
        unsafe {
            to.copy_from_nonoverlapping(from, *len);
            to = to.add(*len);
        }
    }
}

/// Copies `len` bytes from `from` to the program's buffers, one after another.
///
/// # Safety
/// The buffers may be written, and `from` has these bytes.
unsafe fn scatter(parts: &[Part], mut from: *const u8, mut len: usize) {
    for [at, most] in parts {
        let n = len.min(*most);
        let to: *mut u8 = core::ptr::with_exposed_provenance_mut(*at);
        // SAFETY: this function's contract.
        unsafe {
            to.copy_from_nonoverlapping(from, n);
            from = from.add(n);
        }
        len -= n;
    }
}

/// `readv`, `writev` and their kin: a list of buffers is the second argument, their number the third.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn list(number: libc::c_long, mut a: [usize; 6], writes: bool) -> isize {
    // SAFETY: the list and its buffers are as the call demands: this function's contract.
    unsafe {
        let Some(parts) = parts(a[1], a[2]) else {
            return -libc::EINVAL as isize;
        };
        let len = total(parts);
        let mut scratch = Scratch::new();
        let (Some(room), Some(one)) = (scratch.room(len), scratch.room(size_of::<Part>())) else {
            return -libc::ENOMEM as isize;
        };
        if writes {
            gather(parts, room);
        }
        one.cast::<Part>().write([room.expose_provenance(), len]);
        (a[1], a[2]) = (one.expose_provenance(), 1);
        let result = raw::call(number, a);
        if let (false, Ok(n)) = (writes, usize::try_from(result)) {
            scatter(parts, room, n.min(len));
        }
        result
    }
}

/// `sendmsg` and `recvmsg`.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn message(number: libc::c_long, a: [usize; 6]) -> isize {
    let sends = number == libc::SYS_sendmsg;
    let message: *mut libc::msghdr = core::ptr::with_exposed_provenance_mut(a[1]);
    // SAFETY: the message and what it points to are as the call demands: this function's contract. The copies lie in
    // scratch memory of their sizes.
    unsafe {
        let given = message.read_unaligned();
        let Some(parts) = parts(given.msg_iov.expose_provenance(), given.msg_iovlen) else {
            return -libc::EMSGSIZE as isize;
        };
        let len = total(parts);
        let mut scratch = Scratch::new();
        let rooms = (
            scratch.room(size_of::<libc::msghdr>()),
            scratch.room(size_of::<Part>()),
            scratch.room(given.msg_namelen as usize),
            scratch.room(given.msg_controllen),
            scratch.room(len),
        );
        let (Some(head), Some(one), Some(name), Some(control), Some(room)) = rooms else {
            return -libc::ENOMEM as isize;
        };
        if sends {
            gather(parts, room);
            if !given.msg_control.is_null() {
                control.copy_from_nonoverlapping(given.msg_control.cast(), given.msg_controllen);
            }
        }
        if !given.msg_name.is_null() {
            name.copy_from_nonoverlapping(given.msg_name.cast(), given.msg_namelen as usize);
        }
        one.cast::<Part>().write([room.expose_provenance(), len]);
        let head: *mut libc::msghdr = head.cast();
        let mut ours = given;
        ours.msg_iov = one.cast();
        ours.msg_iovlen = 1;
        if !given.msg_name.is_null() {
            ours.msg_name = name.cast();
        }
        if !given.msg_control.is_null() {
            ours.msg_control = control.cast();
        }
        head.write(ours);
        let result = raw::call(number, [a[0], head.expose_provenance(), a[2], 0, 0, 0]);
        if let (false, Ok(n)) = (sends, usize::try_from(result)) {
            scatter(parts, room, n.min(len));
            let after = head.read();
            if !given.msg_name.is_null() {
                let n = after.msg_namelen.min(given.msg_namelen) as usize;
                given
                    .msg_name
                    .cast::<u8>()
                    .copy_from_nonoverlapping(name, n);
            }
            if !given.msg_control.is_null() {
                let n = after.msg_controllen.min(given.msg_controllen);
                given
                    .msg_control
                    .cast::<u8>()
                    .copy_from_nonoverlapping(control, n);
            }
            (*message).msg_namelen = after.msg_namelen;
            (*message).msg_controllen = after.msg_controllen;
            (*message).msg_flags = after.msg_flags;
        }
        result
    }
}

/// `sendmmsg` and `recvmmsg`: one message after another.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn messages(number: libc::c_long, a: [usize; 6]) -> isize {
    const WAITFORONE: usize = 0x10000;
    let sends = number == libc::SYS_sendmmsg;
    let one = if sends {
        libc::SYS_sendmsg
    } else {
        libc::SYS_recvmsg
    };
    let all: *mut libc::mmsghdr = core::ptr::with_exposed_provenance_mut(a[1]);
    let mut flags = a[3] & !WAITFORONE;
    for i in 0..a[2] {
        // SAFETY: the program gave a list of this length: this function's contract.
        let result = unsafe {
            let at = all.add(i);
            let head = (&raw mut (*at).msg_hdr).expose_provenance();
            let result = message(one, [a[0], head, flags, 0, 0, 0]);
            if let Ok(n) = libc::c_uint::try_from(result) {
                (*at).msg_len = n;
            }
            result
        };
        if result < 0 {
            return if i == 0 { result } else { i as isize };
        }
        if a[3] & WAITFORONE != 0 {
            flags |= libc::MSG_DONTWAIT as usize;
        }
    }
    a[2] as isize
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
/// # Safety
/// `at` is null or the address of such a list.
unsafe fn extent(at: usize) -> (usize, usize) {
    let (mut count, mut bytes) = (0, 0);
    let list: *const *const libc::c_char = core::ptr::with_exposed_provenance(at);
    // SAFETY: this function's contract. `strlen` makes no system call.
    unsafe {
        while !list.is_null() && !(*list.add(count)).is_null() {
            bytes += libc::strlen(*list.add(count)) + 1;
            count += 1;
        }
    }
    (count, bytes)
}

/// Copies what `execve` reads.
///
/// # Safety
/// The arguments are as `execve` demands.
pub(crate) unsafe fn new_program(
    path: usize,
    arguments: usize,
    environment: usize,
) -> Option<NewProgram> {
    // SAFETY: the lists and texts are as `execve` demands, and the mapping is as large as what is copied.
    unsafe {
        let (first, second) = (extent(arguments), extent(environment));
        let of_path = libc::strlen(core::ptr::with_exposed_provenance(path)) + 1;
        let len = (first.0 + second.0 + 2) * 8 + first.1 + second.1 + of_path;
        let at = bounce::map(len)?;
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
        Some(NewProgram {
            mapping: (at, len),
            path,
            arguments: starts[0],
            environment: starts[1],
        })
    }
}
