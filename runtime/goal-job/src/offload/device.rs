//! What executes collectives away from the process, as the rest of the crate sees it: the program in the kernel, or the
//! network adapter.

use core::fmt::Debug;
use hetmp_goal::arena::Placed;
use hetmp_goal::schedule::Schedule;
use hetmp_goal::series::Turn;
use hetmp_goal::{kernel, triggered};
use std::io;

/// A rank's part of a collective, as a device runs it.
#[derive(Debug)]
pub(crate) enum Image {
    /// For the program in the kernel.
    Kernel(kernel::Image),
    /// For the network adapter.
    Nic(triggered::Program),
}

impl Image {
    pub(crate) fn segments(&self) -> &[Placed] {
        match self {
            Image::Kernel(image) => image.segments(),
            Image::Nic(program) => program.segments(),
        }
    }

    /// The ranks that get messages, one bit each.
    pub(super) fn sent(&self) -> u64 {
        match self {
            Image::Kernel(image) => image.sent(),
            Image::Nic(program) => program.sent(),
        }
    }
}

/// Why a rank does not get the engine.
pub(crate) enum Refused {
    /// No rank gets it. One line.
    All(String),
    /// The job cannot go on. One line.
    Job(String),
}

/// What executes runs. Of its methods only [`Device::is_done`] is called without the lock of the run's
/// [`Offload`](super::Offload); others are called with it, and so by one thread at a time for each series.
pub(crate) trait Device: Debug + Send + Sync {
    /// The engine's name, as users write it.
    fn name(&self) -> &'static str;

    /// How many runs of all ranks a rank can have at once. See [`Turn::slot`].
    fn runs(&self) -> u64;

    /// The part of rank `rank` in the collective whose schedules are `all`, those of all ranks or of a group's.
    ///
    /// # Errors
    /// Why the device does not take the collective, the same on all ranks.
    fn place(&self, all: &[Schedule], rank: u32) -> Result<Image, String>;

    /// The longest block of an exchange with neighbours that the device takes, bytes; whatever
    /// neighbours other ranks have, of which this one knows nothing.
    fn longest_block(&self) -> u64;

    /// How often a rank can be a neighbour of another one, with blocks of this many bytes.
    fn edges(&self, bytes: u64) -> u64;

    /// This rank's part in an exchange with neighbours.
    ///
    /// # Errors
    /// Why the device does not take it.
    fn place_own(&self, own: &Schedule) -> Result<Image, String>;

    /// Begins a run. Returns the run's mark, by which [`Device::is_done`] knows it; never 0.
    ///
    /// # Errors
    /// The system's. Then the device cannot be used any more.
    ///
    /// # Safety
    /// Each of `segments` is valid for reads of the length that the image says. The slot is free.
    unsafe fn begin(&self, turn: Turn, image: &Image, segments: &[*mut u8]) -> io::Result<u64>;

    /// Whether the run that was begun with this mark, and was not collected, is complete (acquire).
    fn is_done(&self, turn: Turn, mark: u64) -> bool;

    /// Copies what the run wrote to the segments, and gives the slot back.
    ///
    /// # Safety
    /// The run is complete and was not collected. Each of `segments` is valid for writes of the length that the image
    /// says.
    unsafe fn collect(&self, turn: Turn, image: &Image, segments: &[*mut u8]);

    /// The slots of runs 1 to this one of a series are free at the peer, as far as is known here.
    fn done_at(&self, series: u32, peer: u32) -> u64;

    /// Asks peers how far they are in a series, one bit each, if that is not known without asking.
    fn probe(&self, series: u32, peers: u64);

    /// Whether the run still needs something of a peer, that has left.
    fn needs(&self, turn: Turn, image: &Image, peer: u32) -> bool;

    /// Something that the device could not do, if there is any: then no run can end any more.
    fn failure(&self) -> Option<String>;

    /// Whether peers ask for messages, perhaps of runs that have ended here. Otherwise what a run sends goes to the
    /// slots of its receivers, whether or not the run has begun there.
    fn is_asked(&self) -> bool;

    /// Ends what was started for this rank. No run is begun after that.
    fn detach(&self);

    /// What the device has counted, for people.
    fn counted(&self) -> String;
}
