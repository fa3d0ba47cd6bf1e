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
    pub(super) fn new(state: OwnedFd, runs: OwnedFd) -> io::Result<Area> {
        Ok(Area {
            state: map(&state, state::BYTES)?,
            runs: map(&runs, run::BYTES * RUNS as usize)?,
        })
    }

    /// A word of the state at one of the offsets of `kernel::state`.
    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset + 8 <= state::BYTES && offset % 8 == 0);
        // SAFETY: the offsets of `kernel::state` lie within the mapping and are multiples of 8. The program changes
        // these words as wholes.
        unsafe { AtomicU64::from_ptr(self.state.as_mut_ptr().add(offset).cast()) }
    }

    /// Run 1 to this one are complete at the peer, as far as it has said so.
    pub(super) fn done_at(&self, peer: u32) -> u64 {
        self.word(state::PEERS + 8 * peer as usize)
            .load(Ordering::Acquire)
    }

    /// The program's counters, in the order of `kernel::COUNTERS`.
    pub(super) fn counter(&self, which: usize) -> u64 {
        self.word(state::COUNTERS + 8 * which)
            .load(Ordering::Relaxed)
    }

    fn slot(&self, number: u64) -> *mut u8 {
        self.runs
            .as_mut_ptr()
            .wrapping_add(run::BYTES * (number % RUNS) as usize)
    }

    fn slot_state(&self, number: u64) -> &AtomicU32 {
        // SAFETY: a slot lies within the mapping, and its words at multiples of 4 within it.
        unsafe { AtomicU32::from_ptr(self.slot(number).add(run::STATE).cast()) }
    }

    /// The number of the run that the slot of run `number` holds.
    pub(super) fn holds(&self, number: u64) -> u64 {
        // SAFETY: a slot lies within the mapping, and begins at a multiple of 8.
        unsafe { AtomicU64::from_ptr(self.slot(number).add(run::NUMBER).cast()) }
            .load(Ordering::Acquire)
    }

    /// The state of the run that the slot of run `number` holds.
    pub(super) fn state_of(&self, number: u64) -> u32 {
        self.slot_state(number).load(Ordering::Acquire)
    }

    /// Whether the operation at `place` of the run in the slot of `number` is complete.
    pub(super) fn is_complete(&self, number: u64, place: usize) -> bool {
        let at = run::OPS + run::OP_BYTES * place + run::OP_STATE;
        // SAFETY: `place` is that of an operation of an image, so that the byte lies within the slot.
        unsafe { AtomicU8::from_ptr(self.slot(number).add(at)) }.load(Ordering::Relaxed)
            == run::OP_COMPLETE
    }

    /// Takes the slot of run `number`, whose results were taken, and writes the image and the segments into it.
    ///
    /// # Safety
    /// Each of `segments` is valid for reads of the length that the image says. Nobody can ask for messages of the run
    /// that the slot holds, and one thread at a time calls.
    pub(super) unsafe fn write(&self, number: u64, image: &Image, segments: &[*mut u8]) {
        // A run of a peer that is ahead may be there already: then its state says EARLY, and stays.
        let _ = self.slot_state(number).compare_exchange(
            run::COLLECTED,
            run::FREE,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        let slot = self.slot(number);
        let head = image.head();
        // SAFETY: an image's head ends before the arena, and its segments lie within the arena: `kernel::place` has
        // checked both. The program does not touch these bytes before the run is started, because the state is FREE or
        // EARLY. What the caller promises about `segments` holds for the reads.
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

    /// Copies what run `number` wrote to the segments, and gives the slot back.
    ///
    /// # Safety
    /// The slot holds the run, its state is DONE, each of `segments` is valid for writes of the length that the image
    /// says, and one thread at a time calls.
    pub(super) unsafe fn read(&self, number: u64, image: &Image, segments: &[*mut u8]) {
        for (placed, to) in image.segments().iter().zip(segments) {
            if placed.comes_out && placed.bytes > 0 {
                // SAFETY: the segment lies within the arena (`kernel::place`), which the program does not touch any
                // more. The caller promises the target.
                unsafe {
                    let from = self.slot(number).add(run::ARENA + placed.offset as usize);
                    core::ptr::copy_nonoverlapping(from, *to, placed.bytes as usize);
                }
            }
        }
        self.slot_state(number)
            .store(run::COLLECTED, Ordering::Release);
    }
}
