//! The numbers of the judge ([`crate::gain`], [`crate::even`]) that are choices.
//!
//! "Lives" are the tests of these modules: whole lives of regions with invented times, which say how many executions
//! each way gets. "Untuned" says that no experiment has chosen a number.

/// Nanoseconds that looking and trying may take in every process. Regions of 8 KB, of which long programs may have a
/// single one that runs once, take 3 ms; nobody waits for a program that feels 20...
pub(crate) const ALLOWANCE_NS: u64 = 20_000_000;
/// ...or one part in this many of the time that the program has run, if that is more.
const ONE_IN: u64 = 100;

/// What looking and trying may cost together, in nanoseconds, in a process that has run for so long. Without floating
/// point: the program may have set its modes.
pub fn allowed_ns(ran_ns: u64) -> u64 {
    ALLOWANCE_NS.max(ran_ns / ONE_IN)
}

/// Error of the log ratio of a single pair, before anything is known of the spread: many regions have executions whose
/// sizes differ by such a factor. Lives pass with 0.3 and with 0.35.
pub(crate) const ONE_PAIR: f64 = 0.3;
/// What is concluded from the paces of a virtual team's threads is wrong by this log ratio (untuned).
pub(crate) const SYSTEMATIC: f64 = 0.15;
/// What an earlier trial has measured counts for this part in the next one, and so do uneven parts next to those that
/// the last execution asks for. At a quarter, the life of a region of five sizes had 16 % of its executions the worse
/// way, and less than 10 % at a half.
pub const FORGET: f64 = 0.5;
/// Executions between two trials, and of one at most: what has not become clear by then is not felt. The first time...
pub const FIRST_PERIOD: u32 = 32;
/// ...and at most. Untuned: the ledger bounds what trials cost.
pub const LONGEST_PERIOD: u32 = 8192;
/// A pair of which a thread lost its core counts for this part of one, and log ratios beyond two errors of such a pair
/// (a factor of 15) count as that: at a quarter, one of eight runs of a program next to 20 busy processes kept ordinary
/// teams from its first, disturbed pair on; at 0.35, lives of many sizes went by the wrong ones, as what is cut off
/// at both ends is not balanced there.
pub(crate) const DISTURBED: f64 = 0.2;
/// Executions of a settled region or loop that may pass unmeasured, at most. Untuned: a change is seen later.
pub const LONGEST_REST: u32 = 127;
/// Regions of fewer nanoseconds are short: two threads that wake up in 10 us are faster from 20 us on (untuned).
pub const SHORT_NS: f64 = 10_000.0;
/// A short execution that took this many times `SHORT_NS` was interrupted: asking the system would take longer
/// (untuned).
pub(crate) const INTERRUPTED: f64 = 5.0;
/// Nanoseconds around an execution that say nothing about it: a timer's interrupt, no reason to look at a region that
/// one thread runs, or the locks and clocks that fixed pieces of a loop save. Untuned.
pub(crate) const AROUND_NS: f64 = 1_000.0;
/// Nanoseconds for which the system leaves a core to another process at least, where two want it: Linux takes 3 to 4
/// ms.
pub const SLICE_NS: u64 = 3_000_000;
/// A thread's part of a loop, of an equal one, is no smaller than this, and a node's part that is, of the whole, is
/// none where nodes are coupled by page traffic: even without any traffic the loop would gain no more (untuned).
pub const NEGLIGIBLE: f64 = 0.02;
/// Times of loops that were measured to differ by less than this factor are taken for the same (untuned): nodes' times
/// in two probings, costs of iterations, and what another division among nodes would save.
pub(crate) const ALIKE: f64 = 1.25;
/// What differs by less than this factor (untuned) makes no difference: the speeds by which a loop was divided, for a
/// plan or a report (a loop in fixed pieces is then 2.5 % longer at most, and chunks even that out); a region's time
/// with more threads on nodes than it would have; how long its threads take; a loop that another division would make
/// shorter; and what an execution has lost to other processes.
pub const SAME: f64 = 1.05;
/// An execution is no usual one if it takes this many times as long, or less than this part. A settled region has
/// changed if some in a row are none (or two standard deviations off, whichever is wider); and what threads have waited
/// for each other counts for at most this many times the shortest execution, since a thread that lost its core is
/// behind by milliseconds. Untuned: in the life next to a busy process looking began 40 times as soon without a bound.
pub(crate) const UNUSUAL: f64 = 2.0;
/// One execution, or two in a row, may be another process's doing, as of the first ones with uneven parts. This many in
/// a row are not, and neither is one in this many of all: in the life next to a busy process every second one is
/// disturbed.
pub const STRAYS: u32 = 3;
/// Weight of the older executions in what is usual. Untuned: lives that grow are noticed before the band has widened.
pub(crate) const MEMORY: f64 = 0.94;
/// Nanoseconds that a look may take: at a region's code, which on nodes that are alike is read, and both ways tried,
/// once that much was lost (8 KB of code take 3 ms); and at a running loop, which is probed again.
pub(crate) const LOOK_NS: f64 = 2e6;
/// A thread's share of what is left of its node's range is divided into this many chunks at the end, so that the
/// threads of a node end together (untuned)...
pub(crate) const TAPER: u64 = 4;
/// ...and no chunk is smaller than this part of an even share of all that is split (untuned). This bounds the number of
/// takes, also when a node with a small share does another node's work.
pub(crate) const FINEST: u64 = 4096;
