//! Protection by userfaultfd.
//!
//! An absent page of the view has no entry in the page tables. If the file has the page (an old copy, or
//! bytes that just came through an alias), a fault is a *minor* one, and `UFFDIO_CONTINUE` puts the file's
//! page in place. Otherwise the fault is a *missing* one. Both are caught at every node, even at the page's
//! home: if the home gave a page away without ever touching it, the kernel would otherwise silently give the
//! home a page of zeros later. A page that may only be read is write-protected. `madvise(MADV_DONTNEED)` on
//! the view removes the entry and leaves the file as it is.

use super::{Backend, Fault, Kind};
use crate::space::Space;
use crate::Access;
use crate::PAGE;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const API: u64 = 0xAA;
const FEATURE_FLAG_WP: u64 = 1 << 0;
const FEATURE_MISSING_SHMEM: u64 = 1 << 5;
const FEATURE_THREAD_ID: u64 = 1 << 8;
const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
const FEATURE_WP_SHMEM: u64 = 1 << 12;
const FEATURES: u64 = FEATURE_FLAG_WP
    | FEATURE_MISSING_SHMEM
    | FEATURE_THREAD_ID
    | FEATURE_MINOR_SHMEM
    | FEATURE_WP_SHMEM;

const REGISTER_MISSING: u64 = 1;
const REGISTER_WP: u64 = 2;
const REGISTER_MINOR: u64 = 4;

const EVENT_PAGEFAULT: u8 = 0x12;
const FAULT_WRITE: u64 = 1;
const FAULT_WP: u64 = 2;

const COPY_WP: u64 = 2;
const ZEROPAGE_DONTWAKE: u64 = 1;
const CONTINUE_DONTWAKE: u64 = 1;
const CONTINUE_WP: u64 = 2;
const WP_PROTECT: u64 = 1;
const WP_DONTWAKE: u64 = 2;

/// The number of an ioctl that reads and writes `bytes`.
const fn both(number: u64, bytes: u64) -> libc::c_ulong {
    (3 << 30 | bytes << 16 | API << 8 | number) as libc::c_ulong
}

const UFFDIO_API: libc::c_ulong = both(0x3f, 24);
const UFFDIO_REGISTER: libc::c_ulong = both(0x00, 32);
const UFFDIO_WAKE: libc::c_ulong = (2 << 30 | 16 << 16 | API << 8 | 2) as libc::c_ulong;
const UFFDIO_COPY: libc::c_ulong = both(0x03, 40);
const UFFDIO_ZEROPAGE: libc::c_ulong = both(0x04, 32);
const UFFDIO_WRITEPROTECT: libc::c_ulong = both(0x06, 24);
const UFFDIO_CONTINUE: libc::c_ulong = both(0x07, 32);
/// The request to `/dev/userfaultfd` that opens a new descriptor.
const USERFAULTFD_IOC_NEW: libc::c_ulong = (API << 8) as libc::c_ulong;

/// The view, watched by a userfaultfd.
#[derive(Debug)]
pub struct Uffd {
    file: OwnedFd,
    space: Space,
    /// Where the whole file is mapped.
    alias: usize,
}

fn open() -> io::Result<OwnedFd> {
    // SAFETY: a system call with a flag; the descriptor is new and ours.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) } as i32;
    if fd >= 0 {
        // SAFETY: the system call has just made the descriptor, and nobody else knows it.
        return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let refused = io::Error::last_os_error();
    let Ok(device) = std::fs::File::open("/dev/userfaultfd") else {
        return Err(refused);
    };
    // SAFETY: the descriptor is open; the call's argument is a flag.
    let fd = unsafe { libc::ioctl(device.as_raw_fd(), USERFAULTFD_IOC_NEW, libc::O_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made the descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn call(file: &OwnedFd, request: libc::c_ulong, words: &mut [u64]) -> io::Result<()> {
    loop {
        // SAFETY: each request used here takes a structure of words. The request's number says how many, and
        // the callers pass as many.
        let done = unsafe { libc::ioctl(file.as_raw_fd(), request, words.as_mut_ptr()) };
        if done == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        // EAGAIN: another thread changes the mappings of the process. Try again.
        if error.raw_os_error() != Some(libc::EAGAIN) {
            return Err(error);
        }
        std::thread::yield_now();
    }
}

impl Uffd {
    /// May this process watch memory by userfaultfd?
    ///
    /// # Errors
    /// The kernel lacks a feature that is needed, or refuses.
    pub fn probe() -> io::Result<()> {
        call(&open()?, UFFDIO_API, &mut [API, FEATURES, 0])
    }

    /// Watches the view of `space`, whose file is mapped at `alias`.
    ///
    /// # Errors
    /// The kernel lacks a feature that is needed, or refuses.
    pub fn start(space: &Space, alias: *mut u8) -> io::Result<Uffd> {
        let uffd = Uffd {
            file: open()?,
            space: space.clone(),
            alias: alias.expose_provenance(),
        };
        uffd.call(UFFDIO_API, &mut [API, FEATURES, 0])?;
        for (_, r) in space.ranges().filter(|(_, r)| r.len > 0) {
            let mode = REGISTER_WP | REGISTER_MINOR | REGISTER_MISSING;
            uffd.call(
                UFFDIO_REGISTER,
                &mut [r.start as u64, r.len as u64, mode, 0],
            )?;
        }
        Ok(uffd)
    }

    /// The view of another process of this machine. `file`: that process's userfaultfd. `alias`: where this process
    /// maps that process's file.
    pub(crate) fn of_peer(file: OwnedFd, space: &Space, alias: *mut u8) -> Uffd {
        Uffd {
            file,
            space: space.clone(),
            alias: alias.expose_provenance(),
        }
    }

    /// The descriptor.
    pub(crate) fn file(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    fn call(&self, request: libc::c_ulong, words: &mut [u64]) -> io::Result<()> {
        call(&self.file, request, words)
    }

    /// Takes away the right to write pages.
    pub(crate) fn forbid_writes(&self, address: usize, pages: usize) -> io::Result<()> {
        self.write_protect(address, pages, WP_PROTECT)
    }

    /// Gives back the right to write pages, and wakes the threads that wait for them.
    pub(crate) fn allow_writes_and_wake(&self, address: usize, pages: usize) -> io::Result<()> {
        self.pieces(address, pages, |words| {
            self.call(UFFDIO_WRITEPROTECT, &mut [words[0], words[1], 0])?;
            Ok(words[1])
        })
    }

    /// Removes pages from this process's page tables; its file keeps them.
    pub(crate) fn unmap(&self, address: usize, pages: usize) -> io::Result<()> {
        // SAFETY: the driver and the page server name only pages of the view, whose content stays in the file.
        let done = unsafe {
            libc::madvise(
                core::ptr::with_exposed_provenance_mut(address),
                pages * PAGE,
                libc::MADV_DONTNEED,
            )
        };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Puts the file's pages in place, where none are, and wakes the threads that wait for them. `readable`: for
    /// reading only.
    pub(crate) fn map_and_wake(
        &self,
        address: usize,
        pages: usize,
        readable: bool,
    ) -> io::Result<()> {
        let mode = if readable { CONTINUE_WP } else { 0 };
        self.pieces(address, pages, |[at, len]| {
            let words = &mut [at, len, mode, 0];
            self.partly(UFFDIO_CONTINUE, words).map(|()| words[3])
        })
    }

    /// Gives the file pages that it does not have, with these bytes, puts the pages in place, and wakes the threads
    /// that wait for them. `readable`: for reading only.
    pub(crate) fn copy_and_wake(
        &self,
        address: usize,
        bytes: &[[u8; PAGE]],
        readable: bool,
    ) -> io::Result<()> {
        let from = bytes.as_ptr().expose_provenance() as u64;
        let mode = if readable { COPY_WP } else { 0 };
        self.pieces(address, bytes.len(), |[at, len]| {
            let words = &mut [at, from + (at - address as u64), len, mode, 0];
            self.partly(UFFDIO_COPY, words).map(|()| words[4])
        })
    }

    /// Makes a call that may stop before its end, and then says in its last word how far it came.
    fn partly(&self, request: libc::c_ulong, words: &mut [u64]) -> io::Result<()> {
        loop {
            // SAFETY: as in `call`.
            let done = unsafe { libc::ioctl(self.file.as_raw_fd(), request, words.as_mut_ptr()) };
            if done == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            let some = words.last().is_some_and(|w| (*w as i64) > 0);
            match error.raw_os_error() {
                Some(libc::EAGAIN) if some => return Ok(()),
                // Another thread changes the mappings of the process. Try again.
                Some(libc::EAGAIN) => std::thread::yield_now(),
                _ => return Err(error),
            }
        }
    }

    /// Calls `step` with an address and a length until all pages are done; it returns the bytes that it has done. A
    /// call over the border of two mappings, such as a stack's guard, is refused (ENOENT): there pages go one at a
    /// time.
    fn pieces(
        &self,
        address: usize,
        pages: usize,
        mut step: impl FnMut([u64; 2]) -> io::Result<u64>,
    ) -> io::Result<()> {
        let (mut at, end) = (address as u64, (address + pages * PAGE) as u64);
        let mut most = end - at;
        while at < end {
            match step([at, most.min(end - at)]) {
                Ok(done) => at += done,
                Err(e) if e.raw_os_error() == Some(libc::ENOENT) && most > PAGE as u64 => {
                    most = PAGE as u64;
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn read_fault(&self) -> io::Result<Option<Fault>> {
        /// `struct uffd_msg`: the event's number, and its arguments from the second word on.
        #[repr(C, align(8))]
        struct Msg([u64; 4]);
        let mut msg = Msg([0; 4]);
        // SAFETY: room for one message.
        let n = unsafe {
            libc::read(
                self.file.as_raw_fd(),
                (&raw mut msg).cast(),
                size_of::<Msg>(),
            )
        };
        if n != size_of::<Msg>() as isize {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EINTR | libc::EAGAIN) => Ok(None),
                _ => Err(error),
            };
        }
        let [head, flags, address, thread] = msg.0;
        if head as u8 != EVENT_PAGEFAULT {
            return Ok(None);
        }
        let access = if flags & (FAULT_WRITE | FAULT_WP) != 0 {
            Access::Write
        } else {
            Access::Read
        };
        Ok(Some(Fault {
            address: address as usize,
            access,
            // In the process's own numbers, and the lower half of the word.
            thread: thread as u32,
        }))
    }

    /// The next fault, or `None` after `ns` nanoseconds or earlier. `None` for `ns`: no limit. Called by one thread.
    pub(crate) fn next_fault_within(&self, ns: Option<u64>) -> io::Result<Option<Fault>> {
        let Some(ns) = ns else {
            return self.read_fault();
        };
        // The kernel polls only descriptors whose reads do not block. With a limit a fault costs two more system
        // calls, therefore.
        self.set_blocking(false)?;
        let mut poll = libc::pollfd {
            fd: self.file.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let time = libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: one descriptor and one time, which live during the call. An interrupted call is one that ends early.
        unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, core::ptr::null()) };
        let fault = self.read_fault();
        self.set_blocking(true)?;
        fault
    }

    fn set_blocking(&self, blocks: bool) -> io::Result<()> {
        let flags = if blocks { 0 } else { libc::O_NONBLOCK };
        // SAFETY: the descriptor is open, and has no other flags that can be set.
        match unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_SETFL, flags) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn write_protect(&self, address: usize, pages: usize, mode: u64) -> io::Result<()> {
        // Protecting wakes no thread, and the kernel refuses the flag there.
        let quietly = if mode == WP_PROTECT { 0 } else { WP_DONTWAKE };
        self.pieces(address, pages, |[at, len]| {
            self.call(UFFDIO_WRITEPROTECT, &mut [at, len, mode | quietly])?;
            Ok(len)
        })
    }

    /// Puts the file's pages in place, where none are in place already.
    fn put_in_place(&self, address: usize, pages: usize, mode: u64) -> io::Result<()> {
        let one = PAGE as u64;
        self.pieces(address, pages, |[at, len]| {
            let words = &mut [at, len, mode | CONTINUE_DONTWAKE, 0];
            match self
                .partly(UFFDIO_CONTINUE, words)
                .map_err(|e| (e.raw_os_error(), e))
            {
                Ok(()) => Ok(words[3]),
                // Pages differ: one at a time.
                Err((Some(libc::EEXIST | libc::EFAULT), _)) if len > one => {
                    Err(io::Error::from_raw_os_error(libc::ENOENT))
                }
                Err((Some(libc::EEXIST), _)) => Ok(one),
                // No thread ever touched the page, so the file does not have it yet.
                Err((Some(libc::EFAULT), _)) => {
                    self.make(at as usize);
                    Ok(0)
                }
                Err((_, e)) => Err(e),
            }
        })
    }

    /// Makes the file have the page, filled with zeros.
    fn make(&self, address: usize) {
        if let Some(page) = self.space.page_of(address) {
            let at = self.alias + page as usize * PAGE;
            let at: *const u8 = core::ptr::with_exposed_provenance(at);
            // SAFETY: the alias maps the whole file as long as the process lives. The read makes the kernel
            // add the page.
            unsafe { at.read_volatile() };
        }
    }
}

impl Backend for Uffd {
    fn kind(&self) -> Kind {
        Kind::Uffd
    }

    fn next_fault(&self) -> io::Result<Fault> {
        loop {
            if let Some(fault) = self.read_fault()? {
                return Ok(fault);
            }
        }
    }

    fn protect(&self, address: usize, pages: usize, access: Access) -> io::Result<()> {
        match access {
            Access::None => self.unmap(address, pages),
            Access::Read => {
                self.write_protect(address, pages, WP_PROTECT)?;
                self.put_in_place(address, pages, CONTINUE_WP)
            }
            Access::Write => {
                self.write_protect(address, pages, 0)?;
                self.put_in_place(address, pages, 0)
            }
        }
    }

    fn first_touch(&self, address: usize, pages: usize) -> io::Result<()> {
        // Most first touches are of memory that the program has just got: the file has none of these pages. The call
        // fails where it has some (EEXIST), and across the border of two mappings, such as a stack's guard (ENOENT).
        let len = (pages * PAGE) as u64;
        let words = &mut [address as u64, len, ZEROPAGE_DONTWAKE, 0];
        match self.call(UFFDIO_ZEROPAGE, words) {
            Err(e) if matches!(e.raw_os_error(), Some(libc::EEXIST | libc::ENOENT)) => {
                self.put_in_place(address, pages, 0)
            }
            done => done,
        }
    }

    fn wake(&self, address: usize, pages: usize) {
        let words = &mut [address as u64, (pages * PAGE) as u64];
        // The call fails only for a range that is not registered.
        let _ = self.call(UFFDIO_WAKE, words);
    }
}
