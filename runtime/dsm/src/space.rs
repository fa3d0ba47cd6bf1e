//! Where the shared pages are: ranges of addresses, the same in every node, which lie one after another in
//! one file.
//!
//! The file is the node's own segment of the job. It is mapped twice: at the program's addresses (the *view*,
//! whose protection is the state of coherence), and as a whole elsewhere (the *alias*, through which the
//! runtime and the peers' engines read and write pages, whatever the program may do with them).

use crate::sets::Run;
use crate::NodeId;
use crate::PAGE;
use std::io;

/// One range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First address, a multiple of the page size.
    pub start: usize,
    /// Length in bytes, a multiple of the page size.
    pub len: usize,
    /// The home of its pages.
    pub home: NodeId,
    /// The view may be executed: for stacks of a program that needs executable stacks.
    pub executable: bool,
}

impl Range {
    fn pages(&self) -> u64 {
        (self.len / PAGE) as u64
    }
}

/// All ranges, in the order of the file.
#[derive(Clone, Debug)]
pub struct Space {
    /// Each range with the number of its first page.
    ranges: Vec<(u64, Range)>,
    pages: u64,
}

impl Space {
    /// The ranges, which must not overlap.
    pub fn new(ranges: &[Range]) -> Space {
        let mut pages = 0;
        let ranges = ranges
            .iter()
            .map(|r| {
                debug_assert!(r.start % PAGE == 0 && r.len % PAGE == 0);
                let first = pages;
                pages += r.pages();
                (first, *r)
            })
            .collect();
        Space { ranges, pages }
    }

    /// Bytes of the file.
    pub fn len(&self) -> usize {
        self.pages as usize * PAGE
    }

    /// Is there no page at all?
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// The ranges, each with the number of its first page.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, &Range)> {
        self.ranges.iter().map(|(first, r)| (*first, r))
    }

    /// The page at an address; `None` outside of the ranges.
    pub fn page_of(&self, address: usize) -> Option<u64> {
        self.ranges.iter().find_map(|(first, r)| {
            let offset = address.checked_sub(r.start)?;
            (offset < r.len).then(|| first + (offset / PAGE) as u64)
        })
    }

    /// The address of a page in the view; `None` if there is no such page.
    pub fn address_of(&self, page: u64) -> Option<usize> {
        let after = self.ranges.partition_point(|(first, _)| *first <= page);
        let (first, r) = self.ranges.get(after.checked_sub(1)?)?;
        let offset = (page - first) as usize * PAGE;
        (offset < r.len).then_some(r.start + offset)
    }

    /// Do the pages lie as far apart in the view as their numbers do?
    pub(crate) fn are_together(&self, page: u64, other: u64) -> bool {
        let (low, high) = (page.min(other), page.max(other));
        let (Some(start), Some(end)) = (self.address_of(low), self.address_of(high)) else {
            return false;
        };
        end.checked_sub(start) == Some((high - low) as usize * PAGE)
    }

    /// The pages from `page` on to the end of its range; 0 if there is no such page.
    pub(crate) fn rest(&self, page: u64) -> u64 {
        let after = self.ranges.partition_point(|(first, _)| *first <= page);
        let range = after.checked_sub(1).and_then(|i| self.ranges.get(i));
        range.map_or(0, |(first, r)| (first + r.pages()).saturating_sub(page))
    }

    /// The run's pages that there are, in runs of at most `most` pages of one range.
    pub(crate) fn pieces(&self, run: Run, most: u64) -> impl Iterator<Item = Run> + '_ {
        let (mut first, end) = (run.first, run.pages().end);
        core::iter::from_fn(move || {
            let count = self.rest(first).min(end - first).min(most);
            let piece = Run {
                first,
                count,
                ..run
            };
            first += count;
            (count > 0).then_some(piece)
        })
    }

    /// Which node is home of which page.
    pub fn homes(&self) -> crate::Homes {
        let mut runs = self.ranges.iter().filter(|(_, r)| r.len > 0);
        let first = runs.next().map_or(0, |(_, r)| r.home);
        runs.fold(crate::Homes::all_at(first), |all, (page, r)| {
            all.then(*page, r.home)
        })
    }

    /// Maps `file` at the ranges' addresses, replacing the mappings there.
    ///
    /// # Errors
    /// The system refuses.
    ///
    /// # Safety
    /// Nobody else uses the ranges' addresses while this runs, and their content was copied to the file.
    pub(crate) unsafe fn map_view(&self, file: libc::c_int) -> io::Result<()> {
        for (first, r) in self.ranges() {
            if r.len == 0 {
                continue;
            }
            let mut may = libc::PROT_READ | libc::PROT_WRITE;
            if r.executable {
                may |= libc::PROT_EXEC;
            }
            // SAFETY: the file is as long as all ranges together. `driver::start`, the only caller, lets
            // nobody use the addresses now, and has copied their content to the file.
            let at = unsafe {
                libc::mmap(
                    core::ptr::with_exposed_provenance_mut(r.start),
                    r.len,
                    may,
                    libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE,
                    file,
                    (first as usize * PAGE) as libc::off_t,
                )
            };
            if at == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            // A process that is forked past all wrappers would write to this node's file, and no server would see it.
            // Without the view it ends at its first access. SAFETY: the mapping was made just now.
            if unsafe { libc::madvise(at, r.len, libc::MADV_DONTFORK) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_addresses() {
        let range = |start, pages, home| Range {
            start,
            len: pages * PAGE,
            home,
            executable: false,
        };
        let s = Space::new(&[
            range(0x10000, 2, 0),
            range(0x80000, 0, 1),
            range(0x50000, 3, 2),
        ]);
        assert_eq!(s.len(), 5 * PAGE);
        assert_eq!(s.page_of(0x11fff), Some(1));
        assert_eq!(s.page_of(0x12000), None);
        assert_eq!(s.page_of(0x52fff), Some(4));
        for page in 0..5 {
            let at = s.address_of(page).expect("there");
            assert_eq!(s.page_of(at + PAGE - 1), Some(page));
        }
        assert_eq!(s.address_of(5), None);
        let rest: Vec<u64> = (0..6).map(|p| s.rest(p)).collect();
        assert_eq!(rest, [2, 1, 3, 2, 1, 0]);
        assert_eq!((s.homes().of(1), s.homes().of(2)), (0, 2));
    }
}
