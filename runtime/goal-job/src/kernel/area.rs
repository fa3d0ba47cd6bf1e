//! The memory that this process shares with the program in the kernel.
//!
//! Two maps of the program are mapped here: its state, and the slots of runs. `hetmp_goal::kernel` says what lies
//! where.
//!
//! # Memory ordering
//! The process writes a run's image and then starts the program by a system call, so that the program sees the image.
//! The program exchanges a run's state for `DONE`, with a full barrier, after its last write to the arena, and
//! [`Area::state_of`] loads the state with acquire. Otherwise the process could copy results that are not there yet.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering};
use hetmp_goal::kernel::{run, state, Image, RUNS};
use hetmp_goal::series::{self, Turn};
use memmap2::{Advice, MmapOptions, MmapRaw};
use std::io;
use std::os::fd::OwnedFd;

/// The two mapped maps.
#[derive(Debug)]
pub(super) struct Area {
    state: MmapRaw,
    runs: MmapRaw,
}

fn map(fd: &OwnedFd, bytes: usize) -> io::Result<MmapRaw> {
    let map = MmapOptions::new().len(bytes).map_raw(fd)?;
    // A forked child must not write here.
    map.advise(Advice::DontFork)?;
    Ok(map)
}

impl Area {
    /// Maps the maps. Threads share words through atomics; images and arenas are accessed by the thread that holds the
    /// lock of `Offload`, while the state of the run keeps the program away from them.
    ///
    /// The program takes no packets yet. Each series begins before its first run.
    pub(super) fn new(state: &OwnedFd, runs: &OwnedFd) -> io::Result<Area> {
        let series = 1 + series::GROUPS;
        let area = Area {
            state: map(state, state::BYTES * series as usize)?,
            runs: map(runs, run::BYTES * series::slots(RUNS) as usize)?,
        };
        for series in 0..series {
            let none = Turn { series, number: 0 }.word();
            for word in [state::STARTED, state::DONE] {
                area.word(series, word).store(none, Ordering::Release);
            }
        }
        Ok(area)
    }

    /// A word of a series' state at one of the offsets of `kernel::state`.
    fn word(&self, series: u32, offset: usize) -> &AtomicU64 {
        debug_assert!(series <= series::GROUPS && offset + 8 <= state::BYTES && offset % 8 == 0);
        let at = state::BYTES * series as usize + offset;
        // SAFETY: the states of all series lie within the mapping, one after the other. The offsets of `kernel::state`
        // lie within a state and are multiples of 8. The program changes these words as wholes.
        unsafe { AtomicU64::from_ptr(self.state.as_mut_ptr().add(at).cast()) }
    }

    /// Run 1 to this one of a series are complete at the peer, as far as it has said so.
    pub(super) fn done_at(&self, series: u32, peer: u32) -> u64 {
        let word = self.word(series, state::PEERS + 8 * peer as usize);
        let none = Turn { series, number: 0 }.word();
        word.load(Ordering::Acquire).saturating_sub(none)
    }

    /// The program's counters, in the order of `kernel::COUNTERS`.
    pub(super) fn counter(&self, which: usize) -> u64 {
        let word = |series| self.word(series, state::COUNTERS + 8 * which);
        let each = (0..=series::GROUPS).map(|s| word(s).load(Ordering::Relaxed));
        each.fold(0, u64::wrapping_add)
    }

    fn slot(&self, turn: Turn) -> *mut u8 {
        self.runs
            .as_mut_ptr()
            .wrapping_add(run::BYTES * turn.slot(RUNS) as usize)
    }

    fn slot_state(&self, turn: Turn) -> &AtomicU32 {
        // SAFETY: a slot lies within the mapping, and its words at multiples of 4 within it.
        unsafe { AtomicU32::from_ptr(self.slot(turn).add(run::STATE).cast()) }
    }

    /// Whether the run's slot holds the run.
    pub(super) fn holds(&self, turn: Turn) -> bool {
        // SAFETY: a slot lies within the mapping, and begins at a multiple of 8.
        unsafe { AtomicU64::from_ptr(self.slot(turn).add(run::NUMBER).cast()) }
            .load(Ordering::Acquire)
            == turn.word()
    }

    /// The state of the run that the run's slot holds.
    pub(super) fn state_of(&self, turn: Turn) -> u32 {
        self.slot_state(turn).load(Ordering::Acquire)
    }

    /// Whether the operation at `place` of the run in the slot of `turn` is complete.
    pub(super) fn is_complete(&self, turn: Turn, place: usize) -> bool {
        let at = run::OPS + run::OP_BYTES * place + run::OP_STATE;
        // SAFETY: `place` is that of an operation of an image, so that the byte lies within the slot.
        unsafe { AtomicU8::from_ptr(self.slot(turn).add(at)) }.load(Ordering::Relaxed)
            == run::OP_COMPLETE
    }

    /// Takes the slot of the run before, whose results were taken, and writes the image and the segments into it.
    ///
    /// # Safety
    /// Each of `segments` is valid for reads of the length that the image says. Nobody can ask for messages of the run
    /// that the slot holds, and one thread at a time calls.
    pub(super) unsafe fn write(&self, turn: Turn, image: &Image, segments: &[*mut u8]) {
        // A run of a peer that is ahead may be there already: then its state says EARLY, and stays.
        let _ = self.slot_state(turn).compare_exchange(
            run::COLLECTED,
            run::FREE,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        let slot = self.slot(turn);
        let head = image.head();
        // SAFETY: an image's head ends before the arena, and its segments lie within the arena: `kernel::place` has
        // checked both. The program does not touch these bytes before the run is started, because the state is FREE or
        // EARLY. What the caller promises about `segments` covers the reads.
        unsafe {
            core::ptr::copy_nonoverlapping(head.as_ptr(), slot.add(run::IMAGE), head.len());
            let arena = slot.add(run::ARENA);
            let (zero, bytes) = image.zero();
            core::ptr::write_bytes(arena.add(zero as usize), 0, bytes as usize);
            for (placed, from) in image.segments().iter().zip(segments) {
                if placed.goes_in && placed.bytes > 0 {
                    let to = arena.add(placed.offset as usize);
                    core::ptr::copy_nonoverlapping(*from, to, placed.bytes as usize);
                }
            }
        }
    }

    /// Copies what the run wrote to the segments, and gives the slot back.
    ///
    /// # Safety
    /// The slot holds the run, its state is DONE, each of `segments` is valid for writes of the length that the image
    /// says, and one thread at a time calls.
    pub(super) unsafe fn read(&self, turn: Turn, image: &Image, segments: &[*mut u8]) {
        for (placed, to) in image.segments().iter().zip(segments) {
            if placed.comes_out && placed.bytes > 0 {
                // SAFETY: the segment lies within the arena (`kernel::place`), which the program does not touch any
                // more. The caller promises the target.
                unsafe {
                    let from = self.slot(turn).add(run::ARENA + placed.offset as usize);
                    core::ptr::copy_nonoverlapping(from, *to, placed.bytes as usize);
                }
            }
        }
        self.slot_state(turn)
            .store(run::COLLECTED, Ordering::Release);
    }
}
