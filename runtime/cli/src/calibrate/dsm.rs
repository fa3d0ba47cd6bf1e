//! The link between two nodes with memory of their own (`dsm:2`): the sweep of [`super::link`] over pages of the DSM.
//!
//! Two processes of this machine, one thread each. Both work on one set of pages in rounds, as in [`super::link`]; here
//! a page that changes hands costs a page fault and a transfer, as in the paper's first two figures.

use super::crew::median;
use super::link::{visit, Point, OPS, PAGE, PAGES, WORDS};
use hetmp_dsm::driver::{self, Driver, Peers, Settings};
use hetmp_dsm::fork;
use hetmp_dsm::space::{Range, Space};
use hetmp_nic::job::Way;
use memmap2::MmapMut;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The numbers of steps for each word of a page that are measured: up to 12288 operations per byte. The curve still
/// rises by a tenth at 3072.
const STEPS: [u32; 16] = [
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768,
];
/// Rounds of which the median is taken, at least and at most, besides the first.
const ROUNDS: [usize; 2] = [5, 64];

/// Who works in a round.
#[derive(Clone, Copy)]
enum Who {
    Alone(usize),
    /// Both; how many pages the first node has.
    Both(usize),
}

/// What the two processes know of each other's progress. Zero at first, in memory that both map.
#[repr(C)]
struct Board {
    arrived: AtomicU64,
    /// Seconds of a round, by node, as bits.
    took: [AtomicU64; 2],
}

impl Board {
    fn make() -> Result<&'static Board, String> {
        // SAFETY: the call makes a new mapping.
        let at = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                size_of::<Board>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(failed("memory"));
        }
        // SAFETY: `mmap` gave a page of zeros, which is a valid board, aligned, and never unmapped. Both processes use
        // the board through its atomics only.
        Ok(unsafe { &*at.cast::<Board>() })
    }

    /// Returns when both nodes have called this as often as this one. What a node did before is visible to both
    /// afterwards.
    fn meet(&self) {
        let turn = self.arrived.fetch_add(1, Ordering::AcqRel) / 2;
        while self.arrived.load(Ordering::Acquire) / 2 == turn {
            // The node's pages are served by a thread that may share this CPU.
            std::thread::yield_now();
        }
    }
}

fn failed(what: &str) -> String {
    format!("nodes dsm:2: {what}: {}", std::io::Error::last_os_error())
}

/// This process as one of the two nodes.
struct Node {
    me: usize,
    board: &'static Board,
    pages: &'static [AtomicU64],
}

impl Node {
    /// Seconds of a round of `who`, the slower node's: its median. Both nodes call this and get the same.
    fn round(&self, who: Who, steps: u32, rounds: usize) -> f64 {
        let mut times = Vec::new();
        for round in 0..=rounds {
            let part = match (who, self.me) {
                (Who::Alone(node), me) if node == me => 0..PAGES,
                (Who::Alone(_), _) => 0..0,
                // In each round the border moves on by the smaller part, so that as many pages change hands each way.
                (Who::Both(first), me) => {
                    let start = round * first.min(PAGES - first);
                    if me == 0 {
                        start..start + first
                    } else {
                        start + first..start + PAGES
                    }
                }
            };
            self.board.meet();
            let begun = Instant::now();
            for page in part {
                visit(&self.pages[page % PAGES * WORDS..][..WORDS], steps);
            }
            // The first round does not count: it finds the pages on any node.
            if round > 0 {
                times.push(begun.elapsed().as_secs_f64());
            }
        }
        self.board.took[self.me].store(median(&mut times).to_bits(), Ordering::Release);
        self.board.meet();
        let took = [0, 1].map(|n| f64::from_bits(self.board.took[n].load(Ordering::Acquire)));
        // Nobody writes the next times before both have read these.
        self.board.meet();
        took[0].max(took[1])
    }

    fn point(&self, steps: u32, each: Duration) -> Point {
        let least = (PAGES * WORDS) as f64 * f64::from(steps) * 0.5e-9;
        let rounds = ((each.as_secs_f64() / least) as usize).clamp(ROUNDS[0], ROUNDS[1]);
        let alone = [0, 1].map(|node| 1.0 / self.round(Who::Alone(node), steps, rounds));
        let total = alone[0] + alone[1];
        let first = ((alone[0] / total * PAGES as f64).round() as usize).clamp(1, PAGES - 1);
        let moved = 2 * first.min(PAGES - first);
        let both = self.round(Who::Both(first), steps, rounds);
        Point {
            ops_per_byte: f64::from(OPS * steps) / 8.0,
            throughput: [alone[0], alone[1], 1.0 / both].map(|r| r * PAGES as f64),
            fault_period_us: both * 1e6 * 2.0 / moved as f64,
        }
    }
}

/// Measures all points between two nodes of this machine, whose pages travel by `way`. Ends the calling process's life
/// as a lone one: the other node ends with this process.
///
/// # Errors
/// One line: what the system does not give.
pub(super) fn sweep(way: Way, each: Duration) -> Result<Vec<Point>, String> {
    let board = Board::make()?;
    let len = PAGES * PAGE;
    // At an address that both nodes inherit. The driver maps its view there, which stays.
    let memory = MmapMut::map_anon(len).map_err(|_| failed("memory"))?;
    let at = ManuallyDrop::new(memory).as_mut_ptr();
    let settings = Settings {
        space: Space::new(&[Range {
            start: at as usize,
            len,
            home: 0,
            executable: false,
        }]),
        way,
        backend: None,
        apart: true,
        ahead: false,
        pool: None,
    };
    // SAFETY: the command has no other thread here: crews have ended.
    let forked = unsafe { fork::fork(2) }.map_err(|e| format!("nodes dsm:2: {e}"))?;
    let me = usize::from(forked.me);
    if forked.cpus(0).is_none() {
        // The nodes would take turns on one CPU: what is measured then is the scheduler.
        return Err("nodes dsm:2: this process has one CPU (expected two)".to_owned());
    }
    // SAFETY: nobody uses the range yet, and it is empty.
    let driver: &'static Driver =
        unsafe { driver::start(Peers::Forked(forked), settings, &mut |_| {}) }?;
    driver.stay_on_cpus();
    // SAFETY: the driver has mapped the range, for as long as the process lives. Both nodes use the words as atomics
    // only.
    let pages = unsafe { core::slice::from_raw_parts(at.cast::<AtomicU64>(), PAGES * WORDS) };
    let node = Node { me, board, pages };
    let points = STEPS.iter().map(|&s| node.point(s, each)).collect();
    if me != 0 {
        // This node serves its pages until the origin has ended.
        loop {
            std::thread::park();
        }
    }
    driver.take_leave();
    Ok(points)
}
