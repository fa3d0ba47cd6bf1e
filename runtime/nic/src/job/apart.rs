//! The software adapter as a process of its own: it executes what a rank posts, whatever the rank's process does, even
//! while that is stopped.
//!
//! The rank [describes](Job::layout) its job in a text. The other process reads the text, maps what the rank has
//! mapped, and [starts](start) an adapter for the rank. The queue pair between the two lies in a segment that the rank
//! has shared ([`Job::segment`]): the rank [posts](queue_pair), the adapter executes.
//!
//! The adapter cannot reach memory that is the rank's alone: it does not know keys of such memory.

use super::joining::block_bytes;
use super::{Job, Place, Reach, FIRST_WINDOW};
use crate::domain::{Domain, Sizes};
use crate::engine::emulated::{self, Emulated, Model};
use crate::engine::{Bell, QueuePair};
use crate::queue_pair::{consumer_at, initiator_at, shared_bytes};
use crate::template::Statics;
use core::fmt::Write as _;
use hetmp_core::page;
use hetmp_core::segment::Segment;
use std::sync::Arc;

/// The first line of a layout.
const HEADER: &str = "hetmp job 1";
/// The last line of a layout.
pub const END: &str = "end";

/// Bytes of shared memory that a queue pair with `depth` slots takes.
#[must_use]
pub fn queue_bytes(depth: usize) -> usize {
    shared_bytes(depth)
}

/// Where a queue pair lies: in which of the later segments of the rank (0 for the first), at which offset, and with how
/// many slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Number of the call of [`Job::segment`], from 0.
    pub segment: usize,
    /// A multiple of 128.
    pub offset: usize,
    /// The number of slots.
    pub depth: usize,
}

/// The sizes of a job's segments, and where each is to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layout {
    rank: u32,
    memory: usize,
    sizes: Sizes,
    /// Length, and place by rank, of each window from number 1 on.
    windows: Vec<(usize, Vec<Place>)>,
    queue: Queue,
}

impl Layout {
    fn encode(&self) -> String {
        let (s, q) = (&self.sizes, &self.queue);
        let mut text = format!(
            "{HEADER}\n{} {} {} {} {} {} {} {} {}\n",
            self.rank,
            self.memory,
            s.ports,
            s.regions,
            s.messages,
            s.counters,
            q.segment,
            q.offset,
            q.depth
        );
        for (len, places) in &self.windows {
            let _ = write!(text, "{len}");
            for (pid, fd) in places {
                let _ = write!(text, " {pid}:{fd}");
            }
            text.push('\n');
        }
        text.push_str(END);
        text.push('\n');
        text
    }

    fn parse(text: &str) -> Option<Layout> {
        let mut lines = text.lines();
        if lines.next()? != HEADER {
            return None;
        }
        let mut numbers = lines.next()?.split(' ').map(|n| n.parse::<usize>().ok());
        let mut next = || numbers.next().flatten();
        let mut layout = Layout {
            rank: u32::try_from(next()?).ok()?,
            memory: next()?,
            sizes: Sizes {
                ports: next()?,
                regions: next()?,
                messages: next()?,
                counters: next()?,
            },
            queue: Queue {
                segment: next()?,
                offset: next()?,
                depth: next()?,
            },
            windows: Vec::new(),
        };
        let place = |word: &str| -> Option<Place> {
            let (pid, fd) = word.split_once(':')?;
            Some((pid.parse().ok()?, fd.parse().ok()?))
        };
        for line in lines.by_ref().take_while(|l| *l != END) {
            let mut words = line.split(' ');
            let len = words.next()?.parse().ok()?;
            let places = words.map(place).collect::<Option<Vec<_>>>()?;
            layout.windows.push((len, places));
        }
        let ranks = layout.windows.first()?.1.len();
        let same = layout.windows.iter().all(|(_, p)| p.len() == ranks);
        let window = layout.windows.get(layout.queue.segment + 1)?;
        let end = layout
            .queue
            .offset
            .checked_add(shared_bytes(layout.queue.depth))?;
        let fits = end <= window.0 && layout.queue.offset % 128 == 0;
        (same && fits && (layout.rank as usize) < ranks && lines.next().is_none()).then_some(layout)
    }
}

impl Job {
    /// This rank and its job, for [`start`] in another process of this machine. `None` if not all ranks are mapped
    /// here, or this process has an adapter of its own.
    #[must_use]
    pub fn layout(&self, queue: Queue) -> Option<String> {
        if self.reach != Reach::Nobody {
            return None;
        }
        let all = |places: &[Option<Place>]| places.iter().copied().collect::<Option<Vec<_>>>();
        let block = block_bytes(self.sizes, self.size as usize);
        let first = self.memory.next_multiple_of(page::LARGEST) + block;
        let mut windows = vec![(first, all(&self.cards)?)];
        let later = self
            .segments
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for window in later.iter() {
            windows.push((window.len, all(&window.places)?));
        }
        let layout = Layout {
            rank: self.rank,
            memory: self.memory,
            sizes: self.sizes,
            windows,
            queue,
        };
        Some(layout.encode())
    }
}

/// The rank's door, as its process reaches it.
struct Knocker {
    domain: &'static Domain,
}

impl Bell for Knocker {
    fn rung(&mut self) {
        self.domain.door().knock();
    }

    fn drive(&mut self) -> bool {
        false
    }
}

/// The posting end of a queue pair at `at`, for this process's rank.
///
/// # Safety
/// `at` is aligned to 128 bytes and valid for [`queue_bytes`] of `depth` as long as the process lives; the memory was
/// zero, and only the adapter that was started for this queue uses it next to the returned end.
pub unsafe fn queue_pair(job: &'static Job, at: *mut u8, depth: usize) -> QueuePair {
    let keys = job.keys();
    let statics = Statics {
        queue_pair: 0,
        local: keys.local,
        remote: keys.remote,
    };
    // SAFETY: who calls upholds the contract of `initiator_at`, which is the same.
    let initiator = unsafe { initiator_at(at, depth, statics) };
    let domain = job.domain();
    QueuePair::new(initiator, Box::new(Knocker { domain }))
}

/// A running adapter. It stops when this is dropped.
pub struct Adapter {
    _engine: Emulated,
    _bell: Box<dyn Bell>,
}

impl core::fmt::Debug for Adapter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Adapter").finish_non_exhaustive()
    }
}

/// Maps the job of a [layout](Job::layout), and starts the adapter of its rank.
///
/// # Errors
/// One line: the text is no layout, a segment cannot be mapped, or there is no thread.
pub fn start(text: &str) -> Result<Adapter, String> {
    let layout =
        Layout::parse(text).ok_or("layout of a job: another version (expected this one's)")?;
    let rank = layout.rank as usize;
    let mut bases = Vec::new();
    for (len, places) in &layout.windows {
        let mut window = Vec::new();
        for (pid, fd) in places {
            let segment = Segment::open(*pid, *fd, *len, page::LARGEST)
                .map_err(|e| format!("memory of process {pid}: {e}"))?;
            window.push(segment.base());
            // Mapped as long as the process.
            core::mem::forget(segment);
        }
        bases.push((*len, window));
    }
    let behind = layout.memory.next_multiple_of(page::LARGEST);
    let ranks = bases[0].1.len();
    if bases[0].0 != behind + block_bytes(layout.sizes, ranks) {
        return Err(
            "layout of a job: lengths that do not belong together (expected one job's)".to_owned(),
        );
    }
    let blocks: Vec<*mut u8> = bases[0].1.iter().map(|b| b.wrapping_add(behind)).collect();
    let domains: Vec<Arc<Domain>> = (0..ranks)
        .map(|r| {
            // SAFETY: the blocks lie behind the users' memory in segments that stay mapped, are aligned to pages, and
            // were made for these sizes by the processes of the job, of which this is one more.
            let domain = unsafe {
                if r == rank {
                    Domain::adapters_at(&blocks, rank, layout.sizes)
                } else {
                    Domain::peer_at(&blocks, rank, r, layout.sizes)
                }
            };
            domain.keys().window(1, bases[0].1[r], layout.memory);
            for (number, (len, window)) in (FIRST_WINDOW..).zip(&bases[1..]) {
                domain.keys().window(number, window[r], *len);
            }
            Arc::new(domain)
        })
        .collect();
    let engine = emulated::start_one(layout.rank, domains.into(), Model::default())
        .map_err(|e| format!("thread of the software adapter: {e}"))?;
    let queue = &layout.queue;
    let at = bases[queue.segment + 1].1[rank].wrapping_add(queue.offset);
    // SAFETY: parsing has found the queue within its segment, which stays mapped, and aligned. The rank has made the
    // memory for this queue, and has one adapter started for it.
    let bell = engine.take_over(unsafe { consumer_at(at, queue.depth) });
    Ok(Adapter {
        _bell: Box::new(bell),
        _engine: engine,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_come_back_and_others_are_refused() {
        let layout = Layout {
            rank: 1,
            memory: 4096,
            sizes: Sizes::default(),
            windows: vec![
                (8192, vec![(10, 3), (11, 4)]),
                (1 << 20, vec![(10, 5), (11, 6)]),
            ],
            queue: Queue {
                segment: 0,
                offset: 256,
                depth: 64,
            },
        };
        let text = layout.encode();
        assert_eq!(Layout::parse(&text), Some(layout));
        for bad in [
            String::new(),
            text.replace("job 1", "job 2"),
            text.replace("\n1 4096", "\n2 4096"),
            text.replace(" 256 64", " 257 64"),
            text.replace(" 256 64", " 1048000 64"),
            text.replace(" 11:6", ""),
            text.replace("11:6", "11"),
            text.replace("\n1048576 10:5 11:6", ""),
            format!("{text}more\n"),
        ] {
            assert_eq!(Layout::parse(&bad), None, "{bad}");
        }
    }
}
