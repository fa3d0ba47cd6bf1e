//! A PE's symmetric memory: one file in memory that every peer on the machine maps whole.
//!
//! ```text
//! offset 0              control        data           heap
//!        | control block | static data | symmetric heap |
//! ```
//!
//! The file has no name: peers open it through `/proc/PID/fd/N`, so that nothing is left behind however a job
//! ends.

use crate::statics::PAGE;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Sizes of the parts, in bytes, all multiples of a page. The same in every PE of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) control: usize,
    pub(crate) data: usize,
    pub(crate) heap: usize,
}

impl Layout {
    /// A layout for so many bytes each; the data part is padded so that the heap is aligned.
    pub(crate) fn new(control: usize, data: usize, heap: usize) -> Layout {
        let control = pages(control);
        Layout {
            control,
            data: (control + pages(data)).next_multiple_of(HEAP_ALIGN) - control,
            heap: pages(heap.max(1)),
        }
    }

    /// Offset of the static data.
    pub(crate) fn data_at(&self) -> usize {
        self.control
    }

    /// Offset of the heap.
    pub(crate) fn heap_at(&self) -> usize {
        self.control + self.data
    }

    /// All of it.
    pub(crate) fn len(&self) -> usize {
        self.control + self.data + self.heap
    }
}

/// A mapped segment, this PE's or a peer's. It stays mapped as long as the process lives: the program holds
/// pointers into it.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) base: *mut u8,
    pub(crate) layout: Layout,
    /// Open in the owner only: peers open it again.
    pub(crate) file: Option<OwnedFd>,
}

impl Segment {
    /// Makes this PE's own.
    pub(crate) fn create(layout: Layout) -> io::Result<Segment> {
        // Beyond the limit for files, the kernel would send a signal that ends the process.
        // SAFETY: plain data, filled by the call.
        let limit = unsafe {
            let mut limit: libc::rlimit = core::mem::zeroed();
            libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit);
            limit.rlim_cur
        };
        if limit != libc::RLIM_INFINITY && layout.len() as u64 > limit {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("the limit for files (ulimit -f) is {limit} bytes"),
            ));
        }
        // SAFETY: a C string; the descriptor is new and ours.
        let file = unsafe {
            let fd = libc::memfd_create(c"hetmp-shmem".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: the descriptor is open.
        if unsafe { libc::ftruncate(file.as_raw_fd(), layout.len() as libc::off_t) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let base = map(&file, layout.len())?;
        Ok(Segment {
            base,
            layout,
            file: Some(file),
        })
    }

    /// Maps the one that process `pid` has open as `fd`.
    pub(crate) fn open(pid: u32, fd: i32, layout: Layout) -> io::Result<Segment> {
        let path = format!("/proc/{pid}/fd/{fd}");
        let file: OwnedFd = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)?
            .into();
        // SAFETY: plain data; the descriptor is open.
        let size = unsafe {
            let mut stat: libc::stat = core::mem::zeroed();
            if libc::fstat(file.as_raw_fd(), &raw mut stat) != 0 {
                return Err(io::Error::last_os_error());
            }
            stat.st_size as usize
        };
        if size != layout.len() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{size} bytes where {} are expected", layout.len()),
            ));
        }
        let base = map(&file, layout.len())?;
        Ok(Segment {
            base,
            layout,
            file: None,
        })
    }

    /// Addresses of the heap in this mapping.
    pub(crate) fn heap(&self) -> Range<usize> {
        let start = self.base as usize + self.layout.heap_at();
        start..start + self.layout.heap
    }

    /// Start of the copy of the static data in this mapping.
    pub(crate) fn data(&self) -> *mut u8 {
        self.base.wrapping_add(self.layout.data_at())
    }
}

/// Maps the file at an address that is a multiple of [`HEAP_ALIGN`].
fn map(file: &OwnedFd, len: usize) -> io::Result<*mut u8> {
    let refused = || Err(io::Error::last_os_error());
    // SAFETY: a reservation that nothing else uses, then the file over the aligned part of it, then the ends
    // given back.
    unsafe {
        let room = len + HEAP_ALIGN;
        let at = libc::mmap(
            core::ptr::null_mut(),
            room,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if at == libc::MAP_FAILED {
            return refused();
        }
        let start = at as usize;
        let base = start.next_multiple_of(HEAP_ALIGN);
        let mapped = libc::mmap(
            at.cast::<u8>().add(base - start).cast(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE,
            file.as_raw_fd(),
            0,
        );
        if mapped == libc::MAP_FAILED {
            let error = refused();
            libc::munmap(at, room);
            return error;
        }
        if base > start {
            libc::munmap(at, base - start);
        }
        let end = base + len;
        if start + room > end {
            libc::munmap(mapped.cast::<u8>().add(len).cast(), start + room - end);
        }
        Ok(mapped.cast())
    }
}

/// What the heap is aligned to in every mapping.
pub(crate) const HEAP_ALIGN: usize = 2 << 20;

/// A size in whole pages.
fn pages(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}
