//! Who observes the threads of this process: one word, so that code which tells observers of an event costs one load
//! and one test while there are none.
//!
//! **Data in**: [`begin`] and [`end`], from [`crate::trace`], from the engine that attaches a tool, and from the
//! engine's part for regions across nodes.
//! **Data out**: [`any`] and [`has`].

use core::sync::atomic::{AtomicU8, Ordering};

/// [`crate::trace`] records what threads do.
pub const TRACE: u8 = 1;
/// A tool of the OpenMP tool interface is attached.
pub const TOOL: u8 = 2;
/// Nobody has looked for a tool yet. The bit stands from the load of the library to the first look, so that the
/// entry by which a program uses OpenMP for the first time already remembers where it was called.
pub const UNASKED: u8 = 4;

/// This process is a node of a program that runs in several processes, which share its locks. No observer; but entries
/// of locks then need one test for observers and nodes together.
pub const NODE: u8 = 8;

/// Entries in assembly test this byte by its address.
///
/// Relaxed everywhere: the bits are set before the threads start that they are for, or by a tool that asks for no
/// more than the events which follow.
pub static WORD: AtomicU8 = AtomicU8::new(UNASKED);

/// Is there any observer, or has nobody looked yet, or is this process a node?
#[inline(always)]
#[must_use]
pub fn any() -> bool {
    WORD.load(Ordering::Relaxed) != 0
}

/// Is one of these bits set?
#[inline(always)]
#[must_use]
pub fn has(bits: u8) -> bool {
    WORD.load(Ordering::Relaxed) & bits != 0
}

/// Sets these bits.
pub fn begin(bits: u8) {
    WORD.fetch_or(bits, Ordering::Relaxed);
}

/// Clears these bits.
pub fn end(bits: u8) {
    WORD.fetch_and(!bits, Ordering::Relaxed);
}
