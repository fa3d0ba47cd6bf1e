//! What is noted of a region that is under way, and of the construct that it begins with.

/// The worksharing construct that a combined construct consists of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Construct {
    /// The region is not a combined construct.
    None,
    Sections,
    /// A loop whose iterations take turns.
    Ordered,
    Loop,
}

/// A region whose primary thread calls its part itself, between two calls of the runtime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(super) code: usize,
    pub(super) threads: u32,
    pub(super) started: u64,
    pub(super) construct: Construct,
}
