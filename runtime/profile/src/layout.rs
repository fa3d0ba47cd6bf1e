//! The file as memory. Every number is a word of its own that is read and written whole, so that a reader finds no torn
//! number, and a file of zeros is a valid empty one.
//!
//! The file is sparse. A page of it is written only after the file system has promised the page's room
//! (`file::reserve`): a store into a mapped hole of a full disk would end the program.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering};

/// The first word of the file; its last byte is the version of the format.
pub const MAGIC: u64 = u64::from_le_bytes(*b"hetmpts1");
/// Places in the program that get rows of their own. Events of further ones are counted at site 0.
pub(crate) const SITES: usize = 4096;
/// Threads that are measured at a time.
pub(crate) const THREADS: usize = 1024;
/// What a thread is in at a time; deeper nesting counts for what is around.
pub(crate) const FRAMES: usize = 60;
/// Pages of rows, which all threads share. Threads take as many as they have sites.
pub(crate) const POOL: usize = 8192;
/// Rows of one page.
pub(crate) const PAGE_ROWS: usize = PAGE / size_of::<Row>();
/// What is reserved at a time, bytes.
pub(crate) const PAGE: usize = 4096;
/// Entries of the table by which sites are found: twice as many as sites, so that searches are short.
pub(crate) const INDEX: usize = 2 * SITES;
/// Room for the names of the files that sites are in, bytes.
pub(crate) const NAMES: usize = 256 << 10;

/// The whole file.
#[repr(C)]
pub(crate) struct Map {
    pub(crate) head: Head,
    pub(crate) index: [AtomicU32; INDEX],
    pub(crate) sites: [Site; SITES],
    pub(crate) names: [AtomicU8; NAMES],
    pub(crate) blocks: [Block; THREADS],
    pub(crate) pool: [Page; POOL],
}

/// What concerns the process.
#[repr(C, align(4096))]
pub(crate) struct Head {
    pub(crate) magic: AtomicU64,
    pub(crate) pid: AtomicU64,
    /// When the process used OpenMP for the first time, and when it ended; 0: not yet, or by a signal.
    pub(crate) started: AtomicU64,
    pub(crate) ended: AtomicU64,
    /// How many sites there are, site 0 included; how many bytes of names; how many threads were ever measured at a
    /// time.
    pub(crate) sites: AtomicU64,
    pub(crate) names: AtomicU64,
    pub(crate) threads: AtomicU64,
    /// Threads that came while [`THREADS`] others were measured.
    pub(crate) lost_threads: AtomicU64,
    /// How many pages of the pool were asked for.
    pub(crate) pages: AtomicU64,
    /// 1: events were not counted because there was no room for their sums.
    pub(crate) is_short: AtomicU64,
}

/// A construct at a place in the program. Written once, before its number is published.
#[repr(C)]
pub(crate) struct Site {
    /// The kind of the construct ([`crate::read::Kind`]), and above that the site of its region; 0: outside of regions.
    pub(crate) what: AtomicU64,
    /// The return address of the call.
    pub(crate) address: AtomicU64,
    /// Where the names of the object begin, plus 1; 0: in no object.
    pub(crate) object: AtomicU64,
    /// The address in the object's own numbering.
    pub(crate) offset: AtomicU64,
}

impl Site {
    pub(crate) fn kind(&self) -> u32 {
        self.what.load(Ordering::Relaxed) as u32
    }

    pub(crate) fn region(&self) -> u32 {
        (self.what.load(Ordering::Relaxed) >> 32) as u32
    }
}

/// A block's thread lives.
pub(crate) const LIVES: u64 = 1;
/// A block's thread has ended.
pub(crate) const ENDED: u64 = 2;

/// One thread. Only the thread itself writes here.
#[repr(C, align(4096))]
pub(crate) struct Block {
    /// 0: no thread was here; [`LIVES`]; [`ENDED`]: another thread may go on with the sums.
    pub(crate) state: AtomicU64,
    /// How many things the thread is in. More than [`FRAMES`]: those above are not kept.
    pub(crate) depth: AtomicU64,
    pub(crate) frames: [Frame; FRAMES],
    /// Where the rows of the thread are: for each page of sites the number of a page of the pool, plus 1; 0: none yet.
    pub(crate) pages: [AtomicU32; SITES / PAGE_ROWS],
}

/// What a thread is in.
#[repr(C)]
pub(crate) struct Frame {
    /// The site, and above that the role ([`crate::ledger::Role`]).
    pub(crate) what: AtomicU64,
    /// When it began.
    pub(crate) begun: AtomicU64,
    /// How much time of that went to what was above.
    pub(crate) inner: AtomicU64,
}

/// The rows of some sites in one thread.
#[repr(C, align(4096))]
pub(crate) struct Page(pub(crate) [Row; PAGE_ROWS]);

/// The sums of one site in one thread. Times are nanoseconds.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Row {
    /// How often the construct ended; for regions: in the thread that opened it.
    pub(crate) count: AtomicU64,
    /// Time of the program's own code in the construct, without what is in a construct of its own.
    pub(crate) busy: AtomicU64,
    /// Time of waiting.
    pub(crate) wait: AtomicU64,
    /// The longest time from begin to end.
    pub(crate) most: AtomicU64,
    /// For regions, in the thread that opened them: time from begin to end; the same times the number of threads.
    pub(crate) whole: AtomicU64,
    pub(crate) threads_time: AtomicU64,
    /// For regions: time from a thread's arrival at the end to the end, summed over threads, in the row of the thread
    /// that opened the region. Each thread takes off the time in which it executed tasks after it had arrived. So one
    /// row alone may be negative (two's complement); the sum over threads is not.
    pub(crate) end_wait: AtomicU64,
    /// For regions: the thread's number in its team, plus 1, and above that the number of the team's threads.
    pub(crate) number: AtomicU64,
}

const _: () = assert!(size_of::<Row>() == 64 && size_of::<Head>() == PAGE);
const _: () = assert!(size_of::<Block>() == PAGE && size_of::<Page>() == PAGE);
const _: () = assert!(core::mem::offset_of!(Map, blocks) % PAGE == 0);

impl Map {
    /// The row of a site in a thread, if there is one.
    pub(crate) fn row<'a>(&'a self, block: &Block, site: u32) -> Option<&'a Row> {
        let site = site as usize;
        let page = block.pages.get(site / PAGE_ROWS)?.load(Ordering::Acquire);
        let page = self.pool.get((page as usize).checked_sub(1)?)?;
        page.0.get(site % PAGE_ROWS)
    }
}
