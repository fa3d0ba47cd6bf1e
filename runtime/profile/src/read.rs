//! Reads a profile, of a process that has ended or that still runs.

use crate::file;
pub use crate::layout::MAGIC;
use crate::layout::{Block, Map, Row, ENDED, FRAMES, SITES, THREADS};
use crate::ledger::Role;
use core::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed};
use std::ffi::OsString;
use std::io::{Error, Result};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// How long a profile's file is, bytes.
pub const LENGTH: u64 = size_of::<Map>() as u64;

/// What a site is, in the numbers of the tool interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub u32);

impl Kind {
    /// A parallel region.
    pub const REGION: u32 = 1;
    /// A region inside of another one, as a construct of that.
    pub const NESTED: u32 = 2;
    /// `masked`.
    pub const MASKED: u32 = 3;
    /// Partial results are combined.
    pub const REDUCTION: u32 = 4;
    /// A task.
    pub const TASK: u32 = 5;
    /// A worksharing construct: this plus its number in `ompt_work_t`.
    pub const WORK: u32 = 0x10;
    /// A wait for threads or tasks: this plus its number in `ompt_sync_region_t`.
    pub const SYNC: u32 = 0x30;
    /// A lock: this plus its number in `ompt_mutex_t`.
    pub const MUTEX: u32 = 0x50;

    /// The construct in OpenMP's words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::REGION => "parallel",
            Kind::NESTED => "parallel, nested",
            Kind::MASKED => "masked",
            Kind::REDUCTION => "reduction",
            Kind::TASK => "task",
            0x11 => "loop",
            0x12 => "sections",
            0x13 => "single",
            0x15 => "workshare",
            0x16 => "distribute",
            0x17 => "taskloop",
            0x18 => "scope",
            0x1a => "loop, static",
            0x1b => "loop, dynamic",
            0x1c => "loop, guided",
            0x1d => "loop, other schedule",
            0x33 => "barrier",
            0x34 => "barrier of the runtime",
            0x35 => "taskwait",
            0x36 => "end of taskgroup",
            0x38 => "end of worksharing",
            0x51 | 0x52 => "lock",
            0x53 | 0x54 => "nestable lock",
            0x55 => "critical",
            0x56 => "atomic",
            0x57 => "ordered",
            n if n > Kind::SYNC && n < Kind::MUTEX => "barrier",
            _ => "other",
        }
    }

    /// Is it worth comparing how long threads were in it? Only where each thread of the team comes there.
    #[must_use]
    pub fn is_shared(self) -> bool {
        matches!(
            self.0,
            Kind::REGION | 0x11 | 0x12 | 0x16 | 0x1a..=0x1d | Kind::TASK
        )
    }
}

/// A construct at a place in the program.
#[derive(Clone, Debug)]
pub struct Site {
    /// What it is.
    pub kind: Kind,
    /// The number of the region that it was met in; 0: outside of regions, or itself a region.
    pub region: u32,
    /// Where its call returns to; `None`: not known, or in no file.
    pub place: Option<Place>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path of the file.
    pub path: PathBuf,
    /// Its build identity in hexadecimal digits; empty: it has none.
    pub build_id: String,
    /// The address in the object's own numbering.
    pub offset: u64,
}

/// The sums of one site in one thread, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// How often the construct ended; for regions: in the thread that opened it.
    pub count: u64,
    /// Time of the program's own code in it, without what is in a construct of its own.
    pub busy: u64,
    /// Time of waiting.
    pub wait: u64,
    /// The longest time from begin to end.
    pub most: u64,
    /// For regions, in the thread that opened them: from begin to end.
    pub whole: u64,
    /// The same times the number of threads.
    pub threads_time: u64,
    /// For regions: the waiting at the end, of which single threads may take some off.
    pub end_wait: i64,
    /// For regions: the thread's number in its team.
    pub number: Option<u32>,
    /// For regions: how many threads the team had.
    pub threads: u32,
}

/// Something that a thread was in at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The site.
    pub site: u32,
    /// The thread waited there.
    pub waits: bool,
    /// For how long the thread was in it, nanoseconds.
    pub since: u64,
}

/// What one thread did.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Site and sums. What is unfinished is counted up to the end.
    pub rows: Vec<(u32, Sums)>,
    /// What the thread was in at the end, from the outside to the inside.
    pub unfinished: Vec<Unfinished>,
}

/// The profile of one process.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The process.
    pub pid: u32,
    /// The file that the process executed.
    pub program: PathBuf,
    /// When it used OpenMP first, on the monotonic clock, nanoseconds.
    pub started: u64,
    /// When it ended; `None`: by a signal, `_exit` or `exec`, or it still runs.
    pub ended: Option<u64>,
    /// By number. Site 0 stands for those for which there was no room.
    pub sites: Vec<Site>,
    /// The threads, in the order in which they came. One entry may be that of several, one after the other.
    pub threads: Vec<Thread>,
    /// Threads that were not measured, because too many lived at the same time.
    pub lost_threads: u64,
    /// Is something missing, because there was no room?
    pub is_short: bool,
}

/// Reads a file that the tool has written. `end`: when to cut off what is unfinished, if the process has not noted its
/// end.
///
/// # Errors
/// Those of the system, and a sentence for a file that is no profile.
pub fn read(path: &Path, end: u64) -> Result<Profile> {
    let file = hetmp_core::file::open(path)?;
    let map = file::mapping(&file)?.map_raw_read_only(&file)?;
    of(file::mapped(&map), end)
        .ok_or_else(|| Error::other("no profile, or one of another version of hetmp"))
}

fn of(map: &Map, end: u64) -> Option<Profile> {
    let head = &map.head;
    if head.magic.load(Acquire) != MAGIC {
        return None;
    }
    let number = |n: &AtomicU64, most: usize| (n.load(Acquire) as usize).min(most);
    let ended = Some(head.ended.load(Relaxed)).filter(|&t| t != 0);
    let sites: Vec<Site> = map.sites[..number(&head.sites, SITES)]
        .iter()
        .map(|site| Site {
            kind: Kind(site.kind()),
            region: site.region(),
            place: place(map, site),
        })
        .collect();
    let threads = &map.blocks[..number(&head.threads, THREADS)];
    let end = ended.unwrap_or(end);
    Some(Profile {
        pid: head.pid.load(Relaxed) as u32,
        program: PathBuf::from(OsString::from_vec(map.name(0))),
        started: head.started.load(Relaxed),
        ended,
        threads: threads
            .iter()
            .map(|b| thread(map, b, sites.len(), end))
            .collect(),
        sites,
        lost_threads: head.lost_threads.load(Relaxed),
        is_short: head.is_short.load(Relaxed) != 0,
    })
}

fn place(map: &Map, site: &crate::layout::Site) -> Option<Place> {
    let at = site.object.load(Relaxed).checked_sub(1)? as usize;
    let path = map.name(at);
    let build_id = map.name(at + path.len() + 1);
    Some(Place {
        path: PathBuf::from(OsString::from_vec(path)),
        build_id: String::from_utf8(build_id).unwrap_or_default(),
        offset: site.offset.load(Relaxed),
    })
}

fn sums(row: &Row) -> Sums {
    let number = row.number.load(Relaxed);
    Sums {
        count: row.count.load(Relaxed),
        busy: row.busy.load(Relaxed),
        wait: row.wait.load(Relaxed),
        most: row.most.load(Relaxed),
        whole: row.whole.load(Relaxed),
        threads_time: row.threads_time.load(Relaxed),
        end_wait: row.end_wait.load(Relaxed) as i64,
        number: (number as u32).checked_sub(1),
        threads: (number >> 32) as u32,
    }
}

fn thread(map: &Map, block: &Block, sites: usize, end: u64) -> Thread {
    let mut rows: Vec<Sums> = (0..sites)
        .map(|site| map.row(block, site as u32).map(sums).unwrap_or_default())
        .collect();
    let mut unfinished = Vec::new();
    if block.state.load(Relaxed) != ENDED {
        let depth = (block.depth.load(Acquire) as usize).min(FRAMES);
        let mut inner = 0;
        for frame in block.frames[..depth].iter().rev() {
            let what = frame.what.load(Relaxed);
            let (site, role) = (what as u32, Role::of(what));
            let whole = end.saturating_sub(frame.begun.load(Relaxed));
            let own = whole.saturating_sub(frame.inner.load(Relaxed).saturating_add(inner));
            inner = whole;
            let (Some(role), Some(row)) = (role, rows.get_mut(site as usize)) else {
                continue;
            };
            match role {
                Role::Region => {
                    let all = whole.saturating_mul(row.threads.into());
                    row.whole = row.whole.saturating_add(whole);
                    row.threads_time = row.threads_time.saturating_add(all);
                }
                Role::Join => row.end_wait = row.end_wait.saturating_add_unsigned(own),
                Role::Wait => row.wait = row.wait.saturating_add(own),
                Role::Part | Role::Work | Role::Held | Role::Task => {
                    row.busy = row.busy.saturating_add(own);
                }
            }
            unfinished.push(Unfinished {
                site,
                waits: matches!(role, Role::Join | Role::Wait),
                since: whole,
            });
        }
        unfinished.reverse();
    }
    let rows = rows.into_iter().enumerate();
    Thread {
        rows: rows
            .filter(|(_, sums)| *sums != Sums::default())
            .map(|(site, sums)| (site as u32, sums))
            .collect(),
        unfinished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> Box<Map> {
        // SAFETY: a map of zeros is valid: it consists of atomic words. The memory is that of one map, of which the
        // system provides what is touched.
        unsafe { Box::from_raw(std::alloc::alloc_zeroed(std::alloc::Layout::new::<Map>()).cast()) }
    }

    #[test]
    fn an_empty_file_is_no_profile() {
        assert!(of(&map(), 0).is_none());
        let file = std::env::temp_dir().join(format!("hetmp-profile-{}", std::process::id()));
        std::fs::write(&file, "text").expect("a file");
        assert!(read(&file, 0).is_err());
        std::fs::remove_file(&file).expect("that file");
    }

    #[test]
    fn what_is_unfinished_counts_up_to_the_end() {
        let map = map();
        map.head.magic.store(MAGIC, Relaxed);
        map.head.threads.store(1, Relaxed);
        map.head.sites.store(1, Relaxed);
        let region = map.site(Kind::REGION, 0, 0);
        let lock = map.site(Kind::MUTEX + 5, region, 0);
        let block = &map.blocks[0];
        block.pages[0].store(3, Relaxed);
        let row = &map.pool[2].0[region as usize];
        row.number.store(1 | (2 << 32), Relaxed);
        block.push(region, Role::Region, 100);
        block.push(region, Role::Part, 110);
        block.push(lock, Role::Wait, 150);
        let profile = of(&map, 200).expect("a profile");
        assert_eq!(profile.ended, None);
        let [thread] = &profile.threads[..] else {
            panic!("one thread: {profile:?}");
        };
        let sums: Vec<_> = thread
            .rows
            .iter()
            .map(|(s, r)| (*s, r.busy, r.wait))
            .collect();
        assert_eq!(sums, [(region, 40, 0), (lock, 0, 50)]);
        assert_eq!(
            (thread.rows[0].1.whole, thread.rows[0].1.threads_time),
            (100, 200)
        );
        let last = thread.unfinished.last().expect("the lock");
        assert_eq!((last.site, last.waits, last.since), (lock, true, 50));
    }

    #[test]
    fn kinds_have_names() {
        assert_eq!(Kind(Kind::WORK + 11).name(), "loop, dynamic");
        assert_eq!(Kind(Kind::SYNC + 3).name(), "barrier");
        assert_eq!(Kind(Kind::MUTEX + 5).name(), "critical");
    }
}
