//! Memory that processes of one machine share: a file in memory, without a name.
//!
//! The owner [creates](Segment::create) a segment. A peer [opens](Segment::open) it through `/proc/PID/fd/N`, so that
//! no file is left behind however the job ends. Its length is sealed: no process that has it open can cut it off under
//! the others, whose accesses would then end them by SIGBUS. A peer's memory is believed only if it is such a file and
//! belongs to the same user. A segment stays mapped as long as the process lives, because programs
//! hold pointers into it.

use crate::page;
use core::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;

/// Seals of a file in memory whose length stays as it is.
const LENGTH: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

/// A mapped segment of this process or of a peer.
#[derive(Debug)]
pub struct Segment {
    base: *mut u8,
    len: usize,
    /// The owner's descriptor, through which peers open the file. A peer keeps none.
    file: Option<OwnedFd>,
}

// SAFETY: the memory stays mapped, and this type accesses none of it: users of `base` order their own accesses.
unsafe impl Send for Segment {}
// SAFETY: the memory stays mapped, and this type accesses none of it: users of `base` order their own accesses.
unsafe impl Sync for Segment {}

impl Segment {
    /// Makes a segment of `len` zero bytes, mapped at a multiple of `align` (a power of two, at least a page of the
    /// kernel). `/proc` shows it as `name`.
    ///
    /// # Errors
    /// There is no memory, or the limit for files is lower.
    pub fn create(name: &CStr, len: usize, align: usize) -> io::Result<Segment> {
        let file = sealed(name, len)?;
        let base = map(&file, len, align)?;
        Ok(Segment {
            base,
            len,
            file: Some(file),
        })
    }

    /// Maps the segment of `len` bytes that process `pid` has open as descriptor `fd`.
    ///
    /// # Errors
    /// It cannot be opened or mapped, has another length, or is no segment of this user's.
    pub fn open(pid: u32, fd: RawFd, len: usize, align: usize) -> io::Result<Segment> {
        let path = format!("/proc/{pid}/fd/{fd}");
        let file: OwnedFd = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?
            .into();
        // SAFETY: plain data; the descriptor is open.
        let (size, owner, seals) = unsafe {
            let mut stat: libc::stat = core::mem::zeroed();
            if libc::fstat(file.as_raw_fd(), &raw mut stat) != 0 {
                return Err(io::Error::last_os_error());
            }
            let seals = libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS);
            (stat.st_size as usize, stat.st_uid, seals)
        };
        let invalid = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        // A file that is none in memory has no seals: the call then gives -1, with all bits set.
        if seals < 0 || seals & LENGTH != LENGTH {
            return invalid("no memory of sealed length".to_owned());
        }
        // SAFETY: geteuid has no preconditions.
        if owner != unsafe { libc::geteuid() } {
            return invalid(format!("it belongs to user {owner}"));
        }
        if size != len {
            return invalid(format!("{size} bytes where {len} are expected"));
        }
        let base = map(&file, len, align)?;
        Ok(Segment {
            base,
            len,
            file: None,
        })
    }

    /// Its first byte in this process.
    #[inline(always)]
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The descriptor through which peers open the segment; `None` for a segment of a peer.
    pub fn file(&self) -> Option<RawFd> {
        self.file.as_ref().map(AsRawFd::as_raw_fd)
    }
}

/// A file in memory of `len` zero bytes, which keeps its length. `/proc` shows it as `name`.
///
/// # Errors
/// There is no memory, or the limit for files is lower.
pub fn sealed(name: &CStr, len: usize) -> io::Result<OwnedFd> {
    // Checked first: a file larger than the process's limit makes the kernel send a signal that ends the process.
    // SAFETY: plain data, filled by the call.
    let limit = unsafe {
        let mut limit: libc::rlimit = core::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit);
        limit.rlim_cur
    };
    if limit != libc::RLIM_INFINITY && len as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("the limit for files (ulimit -f) is {limit} bytes"),
        ));
    }
    // SAFETY: a C string; the descriptor is new and ours.
    let file = unsafe {
        let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    // SAFETY: the descriptor is open.
    let sized = unsafe {
        libc::ftruncate(file.as_raw_fd(), len as libc::off_t) == 0
            && libc::fcntl(
                file.as_raw_fd(),
                libc::F_ADD_SEALS,
                LENGTH | libc::F_SEAL_SEAL,
            ) == 0
    };
    if !sized {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

/// Maps the file at an address that is a multiple of `align`.
fn map(file: &OwnedFd, len: usize, align: usize) -> io::Result<*mut u8> {
    debug_assert!(align.is_power_of_two() && align >= page::size());
    let refused = || Err(io::Error::last_os_error());
    // SAFETY: a fresh reservation, which nothing else uses; the file is mapped over its aligned part, and the two
    // ends are unmapped.
    unsafe {
        let room = len + align;
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
        let base = start.next_multiple_of(align);
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
        let end = page::ceil(base + len);
        if start + room > end {
            libc::munmap(
                core::ptr::with_exposed_provenance_mut(end),
                start + room - end,
            );
        }
        Ok(mapped.cast())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::page::LARGEST as PAGE;

    #[test]
    fn what_one_mapping_writes_another_one_reads() {
        let own = Segment::create(c"hetmp-test", 3 * PAGE, 1 << 20).expect("memory");
        let fd = own.file().expect("its file");
        let peer = Segment::open(std::process::id(), fd, 3 * PAGE, PAGE).expect("this process");
        assert_ne!(own.base(), peer.base());
        assert_eq!(own.base() as usize % (1 << 20), 0);
        // SAFETY: both are mapped, and nobody else knows them.
        unsafe {
            own.base().add(2 * PAGE).write(7);
            assert_eq!(peer.base().add(2 * PAGE).read(), 7);
        }
        let other = Segment::open(std::process::id(), fd, PAGE, PAGE);
        assert_eq!(
            other.expect_err("another length").kind(),
            io::ErrorKind::InvalidData
        );
    }

    #[test]
    fn nobody_changes_a_segments_length() {
        let own = Segment::create(c"hetmp-test", 2 * PAGE, PAGE).expect("memory");
        let fd = own.file().expect("its file");
        for len in [0, PAGE, 3 * PAGE] {
            // SAFETY: the descriptor is open.
            let refused = unsafe { libc::ftruncate(fd, len as libc::off_t) };
            assert_eq!(refused, -1, "{len} bytes");
        }
        // SAFETY: it is still as long as it was.
        unsafe { own.base().add(PAGE).write(1) };
    }

    #[test]
    fn memory_that_its_owner_can_cut_off_is_not_mapped() {
        // SAFETY: C string; the descriptor is new, and closed by its owner.
        let file = unsafe {
            let fd = libc::memfd_create(c"hetmp-test".as_ptr(), libc::MFD_CLOEXEC);
            assert!(fd >= 0 && libc::ftruncate(fd, PAGE as libc::off_t) == 0);
            OwnedFd::from_raw_fd(fd)
        };
        let opened = Segment::open(std::process::id(), file.as_raw_fd(), PAGE, PAGE);
        assert!(opened.is_err_and(|e| e.to_string() == "no memory of sealed length"));
        let named = std::fs::File::open("/proc/self/exe").expect("this program");
        // Its length does not matter: a file with a name has no seals at all.
        assert!(Segment::open(std::process::id(), named.as_raw_fd(), PAGE, PAGE).is_err());
    }
}
