//! How a parallel region ran, or why it stayed an ordinary team: the words of the reports.

#![allow(dead_code, reason = "some guards are said on some machines only")]

use crate::across::table;
use core::fmt;

/// How a region ran under one of hetmp's schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Lever {
    /// As a team of virtual threads, called one after the other.
    VirtualTeam,
    /// As a team of virtual threads with stacks of their own, for regions with barriers.
    Fibers,
    /// As a team of one: it is short, and starting other threads and waiting for them would take longer.
    Alone,
    /// As an ordinary team whose threads run uneven parts of the compiler's own loops.
    Uneven,
    /// As an ordinary team whose loops come to hetmp's schedules by themselves.
    Dispatched,
    /// With threads on all nodes of a distributed shared memory.
    Across,
    /// Whole on another node of a distributed shared memory.
    Elsewhere,
    /// As an ordinary team, for this reason.
    Plain(Guard),
}

/// Why a region keeps an ordinary team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Guard {
    /// `HETMP_STATIC=off`, or no schedule of hetmp's own is named.
    Off,
    /// It runs at the origin of a distributed shared memory, where no schedule of hetmp's own divides it.
    Origin,
    /// All nodes are alike, so nothing can be gained.
    AlikeNodes,
    /// The nodes do not differ by any known property, and the threads take equally long: the region was not
    /// examined.
    Even,
    /// Its code is still being read, beside the program.
    Unread,
    /// The team has one thread (as with `if(false)`, too).
    OneThread,
    /// Inside another parallel region.
    Nested,
    /// Cancellation is on.
    Cancellation,
    /// The code reaches thread-local variables, or may do so where it was not followed.
    ThreadLocal,
    /// The thread number goes into more than the bounds of a static loop, and no larger team was announced.
    ThreadNumber,
    /// The code could not be followed, and no larger team was announced.
    Unscanned,
    /// The number of threads of the contention group is limited.
    ThreadLimit,
    /// The program asks for a number of threads, and its results may depend on that number.
    Asked,
    /// The threads must be on certain places (`proc_bind`, `OMP_PLACES`), and may ask for them.
    Bound,
    /// The region creates tasks.
    Tasks,
    /// The region has an ordered or doacross loop, or another construct whose order virtual threads would
    /// have to keep.
    Ordered,
    /// A virtual thread waited for another one in a way that the runtime does not see.
    Waits,
    /// The region did something that a virtual thread cannot do. Found out when it ran.
    Unforeseen,
    /// The loops have no more pieces than the team has threads.
    FewPieces,
    /// The region is too short: dividing it costs more than it gains.
    Short,
    /// A virtual team was tried, and an ordinary team is as fast.
    NoGain,
    /// The primary thread calls the body itself, between two calls of the runtime, as code of gcc before 4.9
    /// does.
    Inline,
    /// The region consists of sections.
    Sections,
    /// The region consists of a loop that keeps the program's own schedule.
    Schedule,
}

impl Lever {
    /// One word for tables and files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Lever::VirtualTeam => "virtual-team",
            Lever::Fibers => "fibers",
            Lever::Alone => "alone",
            Lever::Uneven => "uneven",
            Lever::Dispatched => "dispatched",
            Lever::Across => "across",
            Lever::Elsewhere => "elsewhere",
            Lever::Plain(guard) => guard.name(),
        }
    }

    /// Why, in a few words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Lever::VirtualTeam => "run as more pieces than threads",
            Lever::Fibers => "run as more pieces than threads, each with its own stack",
            Lever::Alone => "run by one thread: shorter than starting others",
            Lever::Uneven => "each thread's part of a loop has a size of its own",
            Lever::Dispatched => "its loops ask the runtime for their iterations",
            Lever::Across => "on all nodes of the distributed shared memory",
            Lever::Elsewhere => "whole on another node of the distributed shared memory",
            Lever::Plain(guard) => guard.reason(),
        }
    }
}

impl Guard {
    /// No schedule of hetmp's own is asked for.
    pub(super) fn off() -> Guard {
        if table::is_on() {
            Guard::Origin
        } else {
            Guard::Off
        }
    }

    /// One word for tables and files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Guard::Off => "off",
            Guard::Origin => "origin",
            Guard::AlikeNodes => "alike-nodes",
            Guard::Even => "even",
            Guard::Unread => "unread",
            Guard::OneThread => "one-thread",
            Guard::Nested => "nested",
            Guard::Cancellation => "cancellation",
            Guard::ThreadLocal => "thread-local",
            Guard::ThreadNumber => "thread-number",
            Guard::Unscanned => "unscanned",
            Guard::ThreadLimit => "thread-limit",
            Guard::Asked => "asked",
            Guard::Bound => "bound",
            Guard::Tasks => "tasks",
            Guard::Ordered => "ordered",
            Guard::Waits => "waits",
            Guard::Unforeseen => "unforeseen",
            Guard::FewPieces => "few-pieces",
            Guard::Short => "short",
            Guard::NoGain => "no-gain",
            Guard::Inline => "inline",
            Guard::Sections => "sections",
            Guard::Schedule => "schedule",
        }
    }

    /// Why, in a few words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Guard::Off => "not asked for",
            Guard::Origin => "at the origin of the distributed shared memory",
            Guard::AlikeNodes => "all nodes are alike",
            Guard::Even => "its threads take equally long",
            Guard::Unread => "its code is still being read",
            Guard::OneThread => "a team of one thread",
            Guard::Nested => "inside another region",
            Guard::Cancellation => "cancellation is on",
            Guard::ThreadLocal => "reaches thread-local variables",
            Guard::ThreadNumber => "uses the thread number for more than loop bounds",
            Guard::Unscanned => "its code cannot be followed",
            Guard::ThreadLimit => "the number of threads is limited",
            Guard::Asked => "asks for that many threads, and may count on it",
            Guard::Bound => "its threads are bound to places",
            Guard::Tasks => "creates tasks",
            Guard::Ordered => "keeps an order between threads",
            Guard::Waits => "its threads wait for each other unseen",
            Guard::Unforeseen => "called what a virtual thread cannot do",
            Guard::FewPieces => "no more pieces than threads",
            Guard::Short => "too short",
            Guard::NoGain => "an ordinary team is as fast",
            Guard::Inline => "its primary thread calls the body itself",
            Guard::Sections => "sections, which are not divided",
            Guard::Schedule => "its loop keeps its own schedule",
        }
    }
}

impl fmt::Display for Lever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
