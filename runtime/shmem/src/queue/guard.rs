//! Notices reads of memory into which a put is on its way, for the checker.
//!
//! The program's views of the heap and of static data are registered with a userfaultfd. Where a put is on its way, or
//! was left unordered, [`Guard::arm`] takes the pages out of the program's page table; their content stays where it is.
//! The next access to such a page stops its thread, and the guard's thread looks which byte it was: if that is one of
//! the put's, it notes the place in the program. Then it gives the page back. So an access is noticed at most once
//! between two calls of `arm`, and never one that did not happen.
//!
//! **The guard's thread must not touch the program's memory**, which only it can give back. That includes memory that a
//! program's own `malloc` manages. So it allocates nothing, and all that it uses lies in this library's own variables,
//! in the job's segment, or on its stack.

use super::lock;
use super::site::{self, Code};
use crate::caches;
use crate::world::World;
use core::ffi::{c_int, c_void};
use hetmp_core::page;
use hetmp_nic::device_memory::board::{Access, Board, Race};
use std::sync::{Mutex, OnceLock};

/// `UFFD_API`, and the features that are needed: the thread, minor faults of shared memory, the address to the byte.
const API: u64 = 0xaa;
const FEATURES: u64 = 1 << 8 | 1 << 10 | 1 << 11;
const REGISTER_MINOR: u64 = 4;
const EVENT_PAGEFAULT: u8 = 0x12;
const FAULT_WRITE: u64 = 1;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_WAKE: libc::c_ulong = 0x8010_aa02;
const UFFDIO_CONTINUE: libc::c_ulong = 0xc020_aa07;

/// Unordered writes that are watched at a time.
const SUSPECTS: usize = 32;

/// A read that came too early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    /// What was read, as the program knows it.
    pub(super) address: u64,
    /// Where in the program: a code address.
    pub(super) at: usize,
    pub(super) why: Why,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    /// This put of that PE was on its way.
    Under(u32, Access),
    /// The program had seen the flag, which nothing orders after these data.
    Unordered(Race),
}

/// Memory of the program: where it begins, its bytes, and its offset in the segment.
#[derive(Clone, Copy, Debug)]
struct View {
    start: usize,
    len: usize,
    at: usize,
}

#[derive(Debug)]
pub(super) struct Guard {
    file: c_int,
    views: [Option<View>; 2],
    board: Board,
    code: &'static Code,
    suspects: Mutex<[Option<Race>; SUSPECTS]>,
    found: Mutex<Option<Read>>,
}

static GUARD: OnceLock<Guard> = OnceLock::new();

/// Starts the guard. `None` where the system has no userfaultfd for this user, who would get wrong results from system
/// calls if only the program's own accesses were caught.
pub(super) fn start(world: &World, board: &Board) -> Option<&'static Guard> {
    // SAFETY: a system call with a flag.
    let file = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) } as c_int;
    if file < 0 || !call(file, UFFDIO_API, &mut [API, FEATURES, 0]) {
        return None;
    }
    let layout = &world.own().layout;
    let views = [
        (&world.heap_range, layout.heap_at()),
        (&world.data, layout.data_at()),
    ]
    .map(|(range, at)| {
        let view = View {
            start: range.start,
            len: page::floor(range.len()),
            at,
        };
        let words = &mut [view.start as u64, view.len as u64, REGISTER_MINOR, 0];
        // Where the library is a part of the program's file, its variables lie in the program's data, and the guard's
        // thread would wait for itself.
        let own = range.contains(&(&raw const GUARD as usize));
        let whole = view.len != 0 && page::floor(view.start) == view.start && !own;
        (whole && call(file, UFFDIO_REGISTER, words)).then_some(view)
    });
    let guard = GUARD.get_or_init(|| Guard {
        file,
        views,
        board: board.again(),
        code: site::code(),
        suspects: Mutex::new([None; SUSPECTS]),
        found: Mutex::new(None),
    });
    // Without the thread, nobody would give pages back; but nothing has taken one yet.
    hetmp_core::thread::start(c"hetmp-check", || guard.serve()).ok()?;
    Some(guard)
}

/// An ioctl whose argument is a structure of words.
fn call(file: c_int, request: libc::c_ulong, words: &mut [u64]) -> bool {
    loop {
        // SAFETY: the request's number says how many words the structure has; callers pass as many.
        if unsafe { libc::ioctl(file, request, words.as_mut_ptr()) } == 0 {
            return true;
        }
        // SAFETY: the C library's own variable of this thread.
        match unsafe { *libc::__errno_location() } {
            libc::EAGAIN | libc::EINTR => {}
            _ => return false,
        }
    }
}

impl Guard {
    /// From now on the next access to data that the program cannot know to be there is noticed: to puts on their way,
    /// and to `suspects`.
    pub(super) fn arm(&self, suspects: &[Race]) {
        // Copied first: while the lock is held, this thread must not wait for the guard's thread.
        let mut list = [None; SUSPECTS];
        for (to, from) in list.iter_mut().zip(suspects) {
            *to = Some(*from);
        }
        *lock(&self.suspects) = list;
        for race in suspects {
            self.take_away(race.first.address, race.first.len);
        }
        self.board
            .flights(|_, put| self.take_away(put.address, put.len));
    }

    /// A read that was noticed since the last call.
    pub(super) fn found(&self) -> Option<Read> {
        lock(&self.found).take()
    }

    fn take_away(&self, offset: u64, len: u32) {
        let (offset, len) = (offset as usize, len as usize);
        for view in self.views.iter().flatten() {
            let Some(inside) = offset.checked_sub(view.at).filter(|i| *i < view.len) else {
                continue;
            };
            let first = view.start + inside;
            let from = page::floor(first);
            let end = page::ceil(first + len).min(view.start + view.len);
            if caches::touches(from, end - from) {
                return;
            }
            // SAFETY: shared pages of the segment, whose file keeps their content. Cached blocks, whose pages are
            // private, were excluded; the program does not make one of memory into which a put is on its way.
            unsafe { libc::madvise(from as *mut c_void, end - from, libc::MADV_DONTNEED) };
        }
    }

    /// The guard's thread. It ends when the program has closed the descriptor; then nothing is registered any more.
    fn serve(&self) {
        loop {
            let mut message = [0u64; 4];
            // SAFETY: the buffer is as long as said. A message has four words.
            let n = unsafe { libc::read(self.file, message.as_mut_ptr().cast(), 32) };
            if n != 32 {
                // SAFETY: the C library's own variable of this thread.
                match unsafe { *libc::__errno_location() } {
                    libc::EAGAIN | libc::EINTR => continue,
                    _ => return,
                }
            }
            let [event, flags, address, thread] = message;
            if event as u8 != EVENT_PAGEFAULT {
                continue;
            }
            if flags & FAULT_WRITE == 0 {
                self.judge(address, thread as u32);
            }
            let page = page::floor(address as usize) as u64;
            let size = page::size() as u64;
            if !call(self.file, UFFDIO_CONTINUE, &mut [page, size, 0, 0]) {
                // Another thread has got the page already.
                call(self.file, UFFDIO_WAKE, &mut [page, size]);
            }
        }
    }

    fn judge(&self, address: u64, thread: u32) {
        let at = address as usize;
        let view = self
            .views
            .iter()
            .flatten()
            .find(|v| (v.start..v.start + v.len).contains(&at));
        let Some(offset) = view.map(|v| (at - v.start + v.at) as u64) else {
            return;
        };
        let mut why = lock(&self.suspects)
            .iter()
            .flatten()
            .find(|race| race.first.overlaps(offset, 1))
            .map(|race| Why::Unordered(*race));
        self.board.flights(|initiator, put| {
            if why.is_none() && put.overlaps(offset, 1) {
                why = Some(Why::Under(initiator, put));
            }
        });
        if let (Some(why), Some(at)) = (why, self.place(thread)) {
            *lock(&self.found) = Some(Read { address, at, why });
        }
    }

    /// Where a thread that has stopped is in the program; `None` if this library reads on the program's behalf, as
    /// waits do.
    fn place(&self, thread: u32) -> Option<usize> {
        let (stack, code) = registers(thread)?;
        if self.code.own.contains(&code) {
            return None;
        }
        if self.code.program.contains(&code) {
            return Some(code);
        }
        // A function such as memcpy, which has put nothing on the stack: the top is the return address.
        // SAFETY: the top of the stack of a thread that waits in the system.
        let caller = unsafe { (stack as *const usize).read_volatile() };
        if self.code.own.contains(&caller) {
            return None;
        }
        Some(if self.code.program.contains(&caller) {
            // Within the call, not behind it.
            caller - 1
        } else {
            code
        })
    }
}

/// The stack pointer and the code address of a thread of this process that waits in the system: the last two words of
/// its `syscall` file.
fn registers(thread: u32) -> Option<(usize, usize)> {
    let mut path = *b"/proc/self/task/0000000000/syscall\0";
    let mut rest = thread;
    // Leading zeros are no number of a thread to the system: the digits are shifted to the left instead.
    let mut digits = [0u8; 10];
    let mut n = 0;
    while rest != 0 {
        digits[n] = b'0' + (rest % 10) as u8;
        rest /= 10;
        n += 1;
    }
    let head = b"/proc/self/task/".len();
    for (i, digit) in digits[..n].iter().rev().enumerate() {
        path[head + i] = *digit;
    }
    for (i, byte) in b"/syscall\0".iter().enumerate() {
        path[head + n + i] = *byte;
    }
    let mut text = [0u8; 256];
    // SAFETY: the path ends with a zero; the buffer is as long as said.
    let length = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        usize::try_from(length).ok()?
    };
    let text = core::str::from_utf8(&text[..length]).ok()?;
    let mut words = text.trim_end().rsplit(' ');
    let mut next = || usize::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let code = next()?;
    Some((next()?, code))
}
