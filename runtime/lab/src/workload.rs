//! The program that is simulated: arrays, loops, serial parts.

/// How the cost of iterations varies along a loop. The mean stays what the
/// loop says, up to chance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Spread {
    /// All alike.
    #[default]
    Even,
    /// Evenly between `1 - a` and `1 + a` times the mean; `a` in `[0, 1]`.
    Uniform(f64),
    /// `1 - a` of the mean, plus `a` times an exponentially distributed part:
    /// few iterations cost much.
    Exponential(f64),
    /// Falls in a line from `1 + a` to `1 - a` times the mean; rises for
    /// negative `a`.
    Ramp(f64),
}

/// A second kind of iterations in a loop: in every period of `period`
/// iterations, the first `part` of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mix {
    /// What they run.
    pub kernel: String,
    /// What part of the iterations, in `[0, 1]`.
    pub part: f64,
    /// Iterations of a period, at least 1.
    pub period: u64,
    /// Nanoseconds of such an iteration on a core of speed 1.
    pub ns: f64,
    /// Instructions of such an iteration.
    pub instructions: f64,
    /// Last-level cache misses per 1000 instructions where the node does not
    /// say.
    pub misses_per_kilo: f64,
}

/// Which pages of an array a range of iterations touches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// The pages in the same place of the array as the range in the loop, and
    /// this many on either side.
    Block {
        /// Pages on either side.
        halo: u64,
    },
    /// The array is a matrix of `rows` rows of pages, and the range selects
    /// columns: some pages of every row.
    Across {
        /// Rows.
        rows: u64,
    },
    /// Every page, whatever the range.
    All,
    /// This many pages an iteration, anywhere; the same in every execution.
    Scattered {
        /// Pages an iteration touches on average.
        per_iteration: f64,
    },
}

/// A loop, or a serial part, and an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// Number of the array.
    pub array: usize,
    /// Which pages.
    pub pattern: Pattern,
    /// They are written (and must be held alone), not only read.
    pub writes: bool,
}

/// Data of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Array {
    /// Name, for people.
    pub name: String,
    /// Pages that the simulator follows.
    pub units: u64,
    /// Real pages in each of those; each costs a fault.
    pub pages_per_unit: u64,
}

/// One parallel loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopModel {
    /// Name, for people.
    pub name: String,
    /// What its iterations run; names a [`super::KernelOnNode`].
    pub kernel: String,
    /// Iterations.
    pub iterations: u64,
    /// Nanoseconds of an iteration on a core of speed 1, with the data at hand.
    pub ns: f64,
    /// Instructions of an iteration.
    pub instructions: f64,
    /// Last-level cache misses per 1000 instructions where the node does not
    /// say.
    pub misses_per_kilo: f64,
    /// Last-level cache misses that an iteration has in addition, if another node ran it last, or none did: each node
    /// has a cache that keeps the data of the iterations which that node ran last. 0: no cache is modelled.
    pub cold_misses: f64,
    /// How the cost varies.
    pub spread: Spread,
    /// Iterations of another kind between them.
    pub mix: Option<Mix>,
    /// What it touches.
    pub accesses: Vec<Access>,
}

/// What the origin does alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Serial {
    /// Milliseconds on a core of speed 1.
    pub ms: f64,
    /// What it touches; all of each array.
    pub accesses: Vec<Access>,
}

/// A program: a serial part, then `repeat` times a serial part and all loops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Name, for people; also the kernel of the serial parts.
    pub name: String,
    /// Its data.
    pub arrays: Vec<Array>,
    /// Before everything.
    pub start: Serial,
    /// Before the loops of every round.
    pub round: Serial,
    /// Rounds.
    pub repeat: u64,
    /// The loops of a round.
    pub loops: Vec<LoopModel>,
    /// Chunk of `cross-dynamic`, at least 1.
    pub chunk: u64,
}
