//! The table of schedules. A row says everything about a schedule's name and its arguments; parser, messages,
//! completions, page, header, the integers of `omp_set_schedule` and what tests run follow from it. [`Kind::begin`]
//! says how each runs.

use super::arguments::{chunk, first_argument, percents, ratios, MAX_CHUNK};
use crate::aid::DEFAULT_PART;

/// The `probe%` of a text that gives none, as a fraction.
pub const DEFAULT_FRACTION: f64 = 0.1;

/// What the second integer of `omp_set_schedule` and `omp_get_schedule` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second {
    /// The chunk size in iterations, and the number that stands for none given.
    Chunk(i32),
    /// The chunk size that was set before, unchanged: the schedule uses none.
    Kept,
    /// A percentage; 0 if none was given.
    Percent,
    /// Nothing.
    Nothing,
}

impl Second {
    /// Whether the schedule's last argument in `OMP_SCHEDULE` is a chunk size.
    #[must_use]
    pub const fn is_chunk(self) -> bool {
        matches!(self, Second::Chunk(_) | Second::Kept)
    }
}

/// Whether iterations are divided among the nodes before the loop begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// By what earlier executions measured, once that is known.
    Learned,
    /// By what the schedule's arguments say.
    Given,
    /// They are not.
    No,
}

/// In which order a thread gets its iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Always increasing.
    Increasing,
    /// A thread that has run the end of the loop may help elsewhere.
    Any,
}

type Read = for<'a> fn(&'a str, &str) -> Result<(Kind, &'a str), String>;

/// What is said of a schedule.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The schedule.
    pub name: SchedKind,
    /// Its word in `OMP_SCHEDULE`.
    pub word: &'static str,
    /// The word with its arguments.
    pub notation: &'static str,
    /// What it does, for people.
    pub help: &'static str,
    /// Its second integer.
    pub second: Second,
    /// Whether it divides before the loop begins.
    pub ahead: Ahead,
    /// The order of a thread's iterations, where nothing asks for increasing ones.
    pub order: Order,
    /// Texts of `OMP_SCHEDULE` that choose it, as it prints itself: the tests run each.
    pub examples: &'static [&'static str],
    /// Reads the arguments, given the notation: the schedule, and the text that is left for a chunk size.
    pub(super) read: Read,
}

macro_rules! schedules {
    ($(
        $(#[doc = $help:literal])*
        $name:ident $({ $($(#[$of:meta])* $field:ident: $type:ty,)* })? = $number:literal,
        $word:literal $arguments:literal, $second:expr, $ahead:expr, $order:expr,
        [$($example:literal),*], $read:expr;
    )*) => {
        /// The kind of a schedule: how iterations are divided, with the kind's own parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Kind {
            $($(#[doc = $help])* $name $({ $($(#[$of])* $field: $type,)* })?,)*
        }

        /// The schedules by name only. The numbers are those of `omp_sched_t`; hetmp's own have numbers that no other
        /// runtime uses (libomp uses 100 and following).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum SchedKind {
            $(#[doc = concat!("`", $word, $arguments, "`.")] $name = $number,)*
            /// `trapezoidal` of libomp: chunks that shrink. Runs as `guided`.
            Trapezoidal = 101,
        }

        impl Kind {
            /// The kind without its parameters.
            #[must_use]
            pub const fn name(&self) -> SchedKind {
                match self {
                    $(Kind::$name { .. } => SchedKind::$name,)*
                }
            }
        }

        /// Every schedule as `OMP_SCHEDULE` spells it, with its arguments.
        pub const NOTATIONS: &[&str] = &[$(concat!($word, $arguments)),*];

        /// The rows of all schedules.
        pub static TABLE: &[Row] = &[$(Row {
            name: SchedKind::$name,
            word: $word,
            notation: concat!($word, $arguments),
            help: concat!($($help),*),
            second: $second,
            ahead: $ahead,
            order: $order,
            examples: &[$($example),*],
            read: $read,
        }),*];
    };
}

schedules! {
    /// Times the first P % of the iterations (10) on every node, decides, then divides the rest; remembers per loop.
    HetProbe {
        /// Part of the iterations that probing uses, in `(0, 1]`.
        probe: f64,
    } = 0x4801, "hetprobe" "[,probe%]", Second::Percent, Ahead::Learned, Order::Any,
        ["hetprobe,10%", "hetprobe,100%"], |args, form| {
        let [probe] = percents(args, form)?;
        Ok((Kind::HetProbe { probe: probe.unwrap_or(DEFAULT_FRACTION) }, ""))
    };
    /// As `hetprobe`, for loops whose iterations differ: probes in several places, measures every chunk, divides the
    /// rest anew.
    HetProbeI {
        /// Part of the iterations that the first probing uses, in `(0, 1]`.
        probe: f64,
        /// Part of the distributed iterations after which probing starts again, in `(0, 1]`. With `None`,
        /// probing starts again when the nodes' speeds have changed.
        jump: Option<f64>,
    } = 0x4802, "hetprobe-i" "[,probe%[,jump%]]", Second::Percent, Ahead::Learned, Order::Any,
        ["hetprobe-i,10%", "hetprobe-i,20%", "hetprobe-i,5%,20%"], |args, form| {
        let [probe, jump] = percents(args, form)?;
        Ok((Kind::HetProbeI { probe: probe.unwrap_or(DEFAULT_FRACTION), jump }, ""))
    };
    /// A fixed division: a core of node *i* gets Ri shares; 0 for a node that is to have none.
    StaticCsr {
        /// The ratios: finite, none negative, and not all of them 0.
        ratios: Box<[f64]>,
    } = 0x4803, "static-csr" ":R0,R1,...", Second::Nothing, Ahead::Given, Order::Increasing,
        ["static-csr:3,1", "static-csr:1,0"], |args, _| {
        Ok((Kind::StaticCsr { ratios: ratios(args)? }, ""))
    };
    /// Dynamic in two levels: nodes take large pieces, their threads small ones.
    CrossDynamic = 0x4804, "cross-dynamic" "[,chunk]", Second::Chunk(0), Ahead::No, Order::Any,
        ["cross-dynamic", "cross-dynamic,7"], |args, _| Ok((Kind::CrossDynamic, args));
    /// Asymmetric iteration distribution (arXiv 2402.07664), to compare with: every execution samples the nodes and
    /// divides the rest at once.
    AidStatic = 0x4805, "aid-static" "[,chunk]", Second::Chunk(0), Ahead::No, Order::Increasing,
        ["aid-static"], |args, _| Ok((Kind::AidStatic, args));
    /// `aid-static` for a part of the loop (80 %); the rest in chunks on demand.
    AidHybrid {
        /// The part that is distributed at once, in `(0, 1]`.
        part: f64,
    } = 0x4806, "aid-hybrid" "[,part%[,chunk]]", Second::Chunk(0), Ahead::No, Order::Increasing,
        ["aid-hybrid,50%,3"], |args, form| {
        let (own, args) = first_argument(args);
        let [part] = percents(own, form)?;
        Ok((Kind::AidHybrid { part: part.unwrap_or(DEFAULT_PART) }, args))
    };
    /// `aid-static` in phases, each of which samples the nodes; a thread of the slowest node gets `major` iterations.
    AidDynamic {
        /// Iterations that one thread of the slowest node gets in a phase; `None`: computed from the chunk.
        major: Option<u64>,
    } = 0x4807, "aid-dynamic" "[,major[,chunk]]", Second::Chunk(0), Ahead::No, Order::Increasing,
        ["aid-dynamic,40,2"], |args, form| {
        let (own, args) = first_argument(args);
        let major = chunk(own).ok().filter(|&c| c != Some(0));
        let major = major.ok_or_else(|| format!("{form} with a major of 1 to {MAX_CHUNK}"))?;
        Ok((Kind::AidDynamic { major }, args))
    };
    /// Equal contiguous pieces, or round-robin chunks.
    Static = 1, "static" "[,chunk]", Second::Chunk(0), Ahead::No, Order::Increasing,
        ["static"], |args, _| Ok((Kind::Static, args));
    /// Chunks on demand.
    Dynamic = 2, "dynamic" "[,chunk]", Second::Chunk(1), Ahead::No, Order::Increasing,
        ["dynamic,3"], |args, _| Ok((Kind::Dynamic, args));
    /// Shrinking chunks on demand.
    Guided = 3, "guided" "[,chunk]", Second::Chunk(1), Ahead::No, Order::Increasing,
        ["guided,2"], |args, _| Ok((Kind::Guided, args));
    /// The runtime chooses. hetmp runs `static`.
    Auto = 4, "auto" "[,chunk]", Second::Kept, Ahead::No, Order::Increasing,
        ["auto"], |args, _| Ok((Kind::Auto, args));
}

impl Kind {
    /// Deals out chunks on demand below what the nodes get.
    #[must_use]
    pub fn deals_chunks(&self) -> bool {
        self.name().is_ours() && self.name().row().second.is_chunk()
    }

    /// The ratios by which it divides before the loop begins ([`Ahead::Given`]).
    #[must_use]
    pub fn ratios(&self) -> &[f64] {
        match self {
            Kind::StaticCsr { ratios } => ratios,
            _ => &[],
        }
    }

    /// The same, if there are as many as `nodes`.
    #[must_use]
    pub fn ratios_of(&self, nodes: usize) -> Option<&[f64]> {
        Some(self.ratios()).filter(|ratios| ratios.len() == nodes)
    }
}

impl SchedKind {
    /// The kind of an `omp_sched_t` without its modifier bit.
    #[must_use]
    pub fn from_raw(raw: u32) -> Option<Self> {
        let mut all = TABLE
            .iter()
            .map(|row| row.name)
            .chain([SchedKind::Trapezoidal]);
        all.find(|&kind| kind as u32 == raw)
    }

    /// Is this one of hetmp's own schedules?
    #[must_use]
    pub const fn is_ours(self) -> bool {
        self as u16 >= SchedKind::HetProbe as u16
    }

    /// Does it divide by what was measured of the loop?
    #[must_use]
    pub fn learns(self) -> bool {
        self.row().ahead == Ahead::Learned
    }

    /// What the table says of it.
    #[must_use]
    pub fn row(self) -> &'static Row {
        let name = match self {
            SchedKind::Trapezoidal => SchedKind::Guided,
            name => name,
        };
        TABLE
            .iter()
            .find(|row| row.name == name)
            .expect("every name has a row")
    }

    /// The schedule of this name without arguments. One that cannot be without any is `static`.
    #[must_use]
    pub fn plain(self) -> Kind {
        let row = self.row();
        (row.read)("", row.notation).map_or(Kind::Static, |(kind, _)| kind)
    }
}
