//! Makes the file of this process and maps it, and reserves room in it.
//!
//! No descriptor stays open: a program that makes itself a daemon closes all descriptors and uses their numbers for
//! files of its own.

use crate::layout::{Block, Map, Row, MAGIC, PAGE, PAGE_ROWS};
use core::mem::offset_of;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Relaxed, Release};
use hetmp_core::page;
use memmap2::{MmapOptions, MmapRaw};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The file of this process.
pub(crate) struct Output {
    pub(crate) map: &'static Map,
    path: PathBuf,
    /// There was no room. It is not asked for again: that would cost more than what is measured.
    full: AtomicBool,
}

impl Output {
    /// A new file in `folder`.
    pub(crate) fn create(folder: &[u8]) -> Result<Output> {
        room_for_files()?;
        let folder = Path::new(OsStr::from_bytes(folder));
        let (file, path) = new_file(folder)?;
        let prepare = || {
            let length = size_of::<Map>();
            file.set_len(length as u64)?;
            let fixed = offset_of!(Map, blocks);
            allocate(&file, 0, page::ceil(fixed))?;
            mapping(&file)?.map_raw(&file)
        };
        // Without a map the file holds nothing, and its reader would wonder.
        let map = prepare().inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        // It stays until the process ends.
        let map: &'static Map = mapped(Box::leak(Box::new(map)));
        let head = &map.head;
        // SAFETY: no preconditions.
        head.pid.store(unsafe { libc::getpid() } as u64, Relaxed);
        head.started.store(crate::now(), Relaxed);
        head.sites.store(1, Relaxed);
        map.say_program(&std::fs::read_link("/proc/self/exe").unwrap_or_default());
        head.magic.store(MAGIC, Release);
        let full = AtomicBool::new(false);
        Ok(Output { map, path, full })
    }

    /// Leaves a file in `folder`, if that is possible, which tells the reader that a process could not be measured.
    pub(crate) fn refuse(folder: &[u8]) {
        // SAFETY: no preconditions.
        let name = format!("{}.{}", unsafe { libc::getpid() }, crate::REFUSED);
        // The user has been told why. A folder that takes no file at all is found by its reader.
        let path = Path::new(OsStr::from_bytes(folder)).join(name);
        let _ = hetmp_core::file::create(&path, 0o600);
    }

    /// The row of a site in a thread, which the calling thread may write; `None` if there is no room.
    pub(crate) fn row(&self, block: &Block, site: u32) -> Option<&'static Row> {
        match self.map.row(block, site) {
            Some(row) => Some(row),
            None => self.new_row(block, site),
        }
    }

    #[cold]
    fn new_row(&self, block: &Block, site: u32) -> Option<&'static Row> {
        if self.full.load(Relaxed) {
            return None;
        }
        let head = &self.map.head;
        let number = head.pages.fetch_add(1, Relaxed);
        let Some(page) = self.map.pool.get(number as usize) else {
            self.give_up();
            return None;
        };
        self.reserve(core::ptr::from_ref(page).addr())?;
        let place = block.pages.get(site as usize / PAGE_ROWS)?;
        place.store(number as u32 + 1, Release);
        self.map.row(block, site)
    }

    /// Makes a block writable.
    pub(crate) fn begin(&self, block: &Block) -> Option<()> {
        self.reserve(core::ptr::from_ref(block).addr())
    }

    /// Has the file system promise room for the kernel's pages that hold what is reserved at this address.
    #[cold]
    fn reserve(&self, address: usize) -> Option<()> {
        let offset = address - core::ptr::from_ref(self.map).addr();
        let offset = page::floor(offset);
        let length = PAGE.max(page::size()).min(size_of::<Map>() - offset);
        // Read, too: where a file system cannot promise room, the C library looks at each block and writes it. A link
        // in the file's place is somebody else's.
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&self.path)
            .ok();
        let done = file.and_then(|file| allocate(&file, offset, length).ok());
        if done.is_none() {
            self.give_up();
        }
        done
    }

    fn give_up(&self) {
        self.full.store(true, Relaxed);
        self.map.head.is_short.store(1, Relaxed);
    }
}

/// The system ends a process by a signal that makes a file larger than its limit.
fn room_for_files() -> Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a live record.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    if known && limit.rlim_cur < size_of::<Map>() as u64 {
        return Err(Error::other(format!(
            "the limit for files (ulimit -f) is below {} MiB",
            size_of::<Map>() >> 20
        )));
    }
    Ok(())
}

/// A new file. A process that executes another program keeps its number, so there may be several of a number.
fn new_file(folder: &Path) -> Result<(File, PathBuf)> {
    let mut tries = 0;
    loop {
        let path = folder.join(format!("{}-{tries}.times", std::process::id()));
        match hetmp_core::file::create(&path, 0o600) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && tries < 1000 => {
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Has the file system promise room. In contrast to a hole, the room is there when it is written.
fn allocate(file: &File, offset: usize, length: usize) -> Result<()> {
    // SAFETY: a call for an open file.
    let error = unsafe {
        libc::posix_fallocate(
            file.as_raw_fd(),
            offset as libc::off_t,
            length as libc::off_t,
        )
    };
    match error {
        0 => Ok(()),
        n => Err(Error::from_raw_os_error(n)),
    }
}

/// How a file is mapped, which must be as long as a map.
pub(crate) fn mapping(file: &File) -> Result<MmapOptions> {
    if file.metadata()?.len() != size_of::<Map>() as u64 {
        return Err(Error::other("not of the length of a profile"));
    }
    let mut options = MmapOptions::new();
    options.len(size_of::<Map>()).no_reserve_swap();
    Ok(options)
}

/// What was mapped by [`mapping`].
pub(crate) fn mapped(map: &MmapRaw) -> &Map {
    debug_assert!(map.len() == size_of::<Map>());
    // SAFETY: the mapping is as long as a map, begins at a page, and outlives the reference. Every content is valid,
    // since all fields are atomic words; other processes and threads use the same atomic operations.
    unsafe { &*map.as_ptr().cast() }
}

/// Runs `child` in each child that the process forks from now on.
pub(crate) fn in_children(child: extern "C" fn()) {
    extern "C" {
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> libc::c_int;
    }
    // SAFETY: a function of the library, which is never unloaded while its threads run.
    unsafe { pthread_atfork(None, None, Some(child)) };
}
