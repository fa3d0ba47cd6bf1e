//! What all nodes of a pool map: the pool itself, which no hardware need keep coherent, and the
//! [`window`](super::window).
//!
//! The pool is memory of this machine, or a file, such as one on a memory that several hosts have. A page gets its
//! place in it when a line of it is first written back: a program's addresses are many more than its pages.

use super::flush;
use super::lines::{Lines, LINE};
use super::wanted::{LeftOut, Wanted};
use super::window::{map, Head, Ledger, Table, Told};
use crate::loans::Twin;
use crate::{NodeId, PAGE};
use core::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use hetmp_core::sys;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::FileTypeExt;

/// The number of locks that pages share.
const LOCKS: usize = 4096;

/// See the [module](self).
pub struct Shared {
    pool: *mut u8,
    /// Pages for which the pool has room.
    room: usize,
    /// For each page, the number of its place in the pool, from 1 on.
    places: Table,
    told: Vec<Told>,
    locks: Table,
    head: Table,
    pub(super) ledger: Option<Ledger>,
    says: bool,
    pub(super) left_out: Option<LeftOut>,
}

// SAFETY: the pool stays mapped. Nodes write bytes of it under the page's lock, as atomics.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl core::fmt::Debug for Shared {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// The pool has no room for another page.
#[derive(Debug)]
pub(super) struct Full;

/// What a pool's file begins with: another file is not written to.
const MARK: &[u8; 16] = b"hetmp pool 1\n\0\0\0";

/// Maps the whole of a file, which no other program may use meanwhile. Returns where its pages begin, and their length.
fn map_file(path: &str) -> io::Result<(*mut u8, usize)> {
    let file = File::options().read(true).write(true).open(path)?;
    let what = file.metadata()?;
    let mut len = what.len();
    let mut begin = [0; MARK.len()];
    if what.file_type().is_char_device() {
        let (major, minor) = (libc::major(what.st_rdev()), libc::minor(what.st_rdev()));
        let size = std::fs::read_to_string(format!("/sys/dev/char/{major}:{minor}/size"))?;
        len = size.trim().parse().map_err(io::Error::other)?;
    } else if len >= 2 * PAGE as u64 {
        file.read_exact_at(&mut begin, 0)?;
        if begin != *MARK && begin != [0; MARK.len()] {
            return Err(io::Error::other("it is no pool, and not empty"));
        }
    }
    let len = usize::try_from(len).map_err(io::Error::other)?;
    if len < 2 * PAGE {
        return Err(io::Error::other("it has no room for a page"));
    }
    // SAFETY: the calls lock the file, and make a new mapping of it.
    let at = unsafe {
        if libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::mmap(
            core::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // The lock lasts as long as the descriptor, which nodes inherit.
    core::mem::forget(file);
    let at = at.cast::<u8>();
    // SAFETY: in the mapping, which nobody else knows.
    unsafe { core::ptr::copy_nonoverlapping(MARK.as_ptr(), at, MARK.len()) };
    Ok((at.wrapping_add(PAGE), len - PAGE))
}

impl Shared {
    /// A pool for a space of `len` bytes, and for `nodes` nodes that will be forked.
    ///
    /// # Errors
    /// There are no addresses left, or the file cannot be used.
    pub fn new(len: usize, nodes: NodeId, wanted: &Wanted) -> io::Result<&'static Shared> {
        let pages = len / PAGE;
        let (pool, room) = match wanted.file {
            Some(path) => map_file(path)?,
            None => (map(len)?, len),
        };
        Ok(Box::leak(Box::new(Shared {
            pool,
            room: room / PAGE,
            places: Table::new(pages)?,
            told: (0..nodes)
                .map(|_| Told::new(pages))
                .collect::<Result<_, _>>()?,
            locks: Table::new(LOCKS)?,
            head: Table::new(Head::Lock as usize + 1)?,
            ledger: wanted.checks.then(|| Ledger::new(pages)).transpose()?,
            says: wanted.says,
            left_out: wanted.left_out,
        })))
    }

    pub(super) fn head(&self, word: Head) -> &AtomicU64 {
        self.head.word(word as usize)
    }

    pub(super) fn count(&self, word: Head, more: u32) {
        self.head(word).fetch_add(more.into(), Ordering::Relaxed);
    }

    /// Tells all nodes but `me` that these lines have changed.
    pub(super) fn tell(&self, me: NodeId, page: u64, lines: Lines) {
        let others = self.told.iter().enumerate();
        for (_, told) in others.filter(|(node, _)| *node != usize::from(me)) {
            told.tell(page as usize, lines);
        }
    }

    /// What node `me` was told since the last time.
    pub(super) fn told(&self, me: NodeId, found: &mut dyn FnMut(u64, Lines)) {
        self.told[usize::from(me)].collect_all(found);
    }

    /// Runs `body` while no other node runs one for the same word.
    fn locked<R>(word: &AtomicU64, body: impl FnOnce() -> R) -> R {
        while word.swap(1, Ordering::Acquire) != 0 {
            sys::yield_now();
        }
        let result = body();
        word.store(0, Ordering::Release);
        result
    }

    /// Runs `body` alone among all nodes, where there is a checker.
    pub(super) fn alone<R>(&self, body: impl FnOnce() -> R) -> R {
        match self.ledger {
            Some(_) => Shared::locked(self.head(Head::Lock), body),
            None => body(),
        }
    }

    /// Where the page lies in the pool; `None` if no line of it was ever written back.
    fn place(&self, page: u64) -> Option<*mut u8> {
        let number = self.places.word(page as usize).load(Ordering::Acquire) as usize;
        let before = number.checked_sub(1)?;
        Some(self.pool.wrapping_add(before * PAGE))
    }

    /// Makes a place for the page, filled with zeros. Called under the page's lock.
    fn new_place(&self, page: u64) -> Result<*mut u8, Full> {
        let before = self.head(Head::Room).fetch_add(1, Ordering::Relaxed) as usize;
        if before >= self.room {
            return Err(Full);
        }
        let at = self.pool.wrapping_add(before * PAGE);
        // SAFETY: in the pool, and no node knows of the place yet.
        unsafe { at.write_bytes(0, PAGE) };
        (0..PAGE)
            .step_by(LINE)
            .for_each(|i| flush::write_back(at.wrapping_add(i)));
        flush::fence();
        (self.places.word(page as usize)).store(before as u64 + 1, Ordering::Release);
        Ok(at)
    }

    /// Invalidates these lines of a place in this processor's caches.
    fn invalidate(at: *mut u8, lines: Lines) {
        for i in lines.iter() {
            flush::invalidate(at.wrapping_add(i * LINE));
        }
        flush::fence();
    }

    /// Copies these lines of a page to `to`.
    ///
    /// # Safety
    /// `to` is a page's memory, of which no thread uses these lines.
    pub(super) unsafe fn take(&self, page: u64, lines: Lines, to: *mut u8) {
        let from = self.place(page);
        if let Some(at) = from {
            Shared::invalidate(at, lines);
        }
        for i in lines.iter() {
            // SAFETY: `to` is a page's memory (this function's contract), and so is its place in the pool. Bytes that
            // other nodes write there meanwhile are none that this node's threads may read before it is told.
            unsafe {
                match from {
                    Some(at) => to
                        .add(i * LINE)
                        .copy_from_nonoverlapping(at.add(i * LINE), LINE),
                    None => to.add(i * LINE).write_bytes(0, LINE),
                }
            }
        }
        self.count(Head::Taken, lines.len());
    }

    /// Writes the bytes of these lines that differ from the twin to the pool.
    pub(super) fn write_back(
        &self,
        page: u64,
        lines: Lines,
        now: &[u8; PAGE],
        twin: &Twin,
    ) -> Result<(), Full> {
        let lock = self.locks.word(page as usize % LOCKS);
        self.count(Head::Written, lines.len());
        Shared::locked(lock, || {
            let at = match self.place(page) {
                Some(at) => at,
                None => self.new_place(page)?,
            };
            // Other nodes' bytes of these lines are in memory, not in this cache.
            Shared::invalidate(at, lines);
            for i in lines.iter() {
                for byte in i * LINE..(i + 1) * LINE {
                    if now[byte] != twin[byte] {
                        // SAFETY: the byte is in the pool. Nodes write there as atomics, under the page's lock.
                        let to = unsafe { AtomicU8::from_ptr(at.add(byte)) };
                        to.store(now[byte], Ordering::Relaxed);
                    }
                }
                flush::write_back(at.wrapping_add(i * LINE));
            }
            flush::fence();
            Ok(())
        })
    }

    /// Puts what lies in the first `len` bytes of a file, mapped at `at`, into the pool: called before there are nodes.
    ///
    /// # Errors
    /// One line: there is no room.
    pub(crate) fn fill(&self, file: RawFd, at: *const u8, len: usize) -> Result<(), String> {
        let zeros: Twin = Box::new([0; PAGE]);
        let mut offset = 0;
        // Only what was written: the file is as long as the program's addresses.
        while let Some(first) = next(file, offset, libc::SEEK_DATA).filter(|at| *at < len) {
            let end = next(file, first, libc::SEEK_HOLE).unwrap_or(len).min(len);
            for start in (first / PAGE * PAGE..end).step_by(PAGE) {
                // SAFETY: within the mapping, and nobody writes to it now.
                let now = unsafe { &*at.add(start).cast::<[u8; PAGE]>() };
                let lines = Lines::changed(now, &zeros);
                if !lines.is_empty() {
                    let done = self.write_back((start / PAGE) as u64, lines, now, &zeros);
                    done.map_err(|Full| self.full())?;
                }
            }
            offset = end;
        }
        Ok(())
    }

    /// What is said where there is no room.
    pub(super) fn full(&self) -> String {
        format!(
            "HETMP_DSM: 'pool': no room for more than {} pages (expected a larger file)",
            self.room
        )
    }

    /// One line about what was done so far, if the user wants it.
    pub(super) fn said(&self) -> Option<String> {
        let n = |word| self.head(word).load(Ordering::Relaxed);
        let said = || {
            format!(
                "pool: {} lines written back ({}), {} taken, {} of them with {} pages",
                n(Head::Written),
                flush::name(),
                n(Head::Taken),
                n(Head::Pages) * (PAGE / LINE) as u64,
                n(Head::Pages)
            )
        };
        self.says.then(said)
    }
}

/// Where the next data, or the next hole, of a file begins.
fn next(file: RawFd, offset: usize, what: libc::c_int) -> Option<usize> {
    // SAFETY: the call moves the descriptor's offset, which nobody uses.
    let at = unsafe { libc::lseek(file, offset as libc::off_t, what) };
    usize::try_from(at).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_two_nodes_meet_in_a_line() {
        let shared = Shared::new(PAGE, 2, &Wanted::default()).expect("addresses");
        let twin: Twin = Box::new([0; PAGE]);
        let mut page = [9; PAGE];
        // SAFETY: nobody else uses the page.
        unsafe { shared.take(0, Lines::ALL, page.as_mut_ptr()) };
        assert_eq!(page, [0; PAGE]);
        for (byte, value) in [(130, 5), (131, 6)] {
            let mut now = *twin;
            now[byte] = value;
            let lines = Lines::changed(&now, &twin);
            assert_eq!(lines.iter().collect::<Vec<_>>(), [2]);
            shared.write_back(0, lines, &now, &twin).expect("room");
        }
        // SAFETY: nobody else uses the page.
        unsafe { shared.take(0, Lines(4), page.as_mut_ptr()) };
        assert_eq!(page[128..133], [0, 0, 5, 6, 0]);
    }

    #[test]
    fn a_file_has_room_for_the_pages_that_are_written() {
        let path = std::env::temp_dir().join(format!("hetmp-pool-{}", std::process::id()));
        std::fs::write(&path, [7; 3 * PAGE]).expect("a file");
        let wanted = Wanted {
            file: path.to_str().map(|p| &*p.to_owned().leak()),
            ..Wanted::default()
        };
        let refused = Shared::new(1 << 30, 2, &wanted).expect_err("what somebody wrote");
        assert!(refused.to_string().contains("not empty"), "{refused}");
        assert_eq!(std::fs::read(&path).expect("it"), [7; 3 * PAGE]);
        let file = File::create(&path).expect("a file");
        file.set_len(3 * PAGE as u64).expect("its length");
        let shared = Shared::new(1 << 30, 2, &wanted).expect("a pool");
        assert!(Shared::new(1 << 30, 2, &wanted).is_err(), "used twice");
        assert_eq!(std::fs::read(&path).expect("it")[..MARK.len()], *MARK);
        std::fs::remove_file(&path).expect("the file");
        let twin: Twin = Box::new([0; PAGE]);
        let now = [1; PAGE];
        let write = |page| shared.write_back(page, Lines(2), &now, &twin);
        assert!([1000, 7, 1000].into_iter().all(|page| write(page).is_ok()));
        assert!(write(8).is_err() && shared.full().contains("2 pages"));
        let mut page = [9; PAGE];
        // SAFETY: nobody else uses the page.
        unsafe { shared.take(7, Lines::ALL, page.as_mut_ptr()) };
        assert_eq!(
            page[..130],
            [[0; 64].as_slice(), &[1; 64], &[0; 2]].concat()
        );
    }
}
