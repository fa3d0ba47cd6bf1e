//! The ways in which a region can run, and the reasons for a way: the one table of their words.
//!
//! The runtime, its report, `hetmp which` and what is said under `HETMP_VERBOSE` take word and sentence from here, and
//! so does the page docs/reasons.md. What a scan finds in code is in a table of the same kind.

/// An enum whose variants have a word, for tables and files, a sentence for people, and what the page adds to that.
#[macro_export]
macro_rules! table {
    ($(#[$of_all:meta])* $name:ident {
        $($(#[doc = $more:literal])* $variant:ident $word:literal $sentence:literal,)*
    }) => {
        $(#[$of_all])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[doc = concat!("`", $word, "`: ", $sentence, ".")] $(#[doc = $more])* $variant,)*
        }

        impl $name {
            /// The whole table.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// One word for tables and files.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// The same in a few words.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $($name::$variant => $sentence,)* }
            }

            /// What a page says besides.
            #[must_use]
            pub const fn more(self) -> &'static str {
                match self { $($name::$variant => concat!($($more),*),)* }
            }
        }
    };
}

table! {
    /// Why a region runs as an ordinary team, or why it or a loop runs on one node.
    Reason {
        NoSchedule "no-schedule" "divided as the program says; for unlike cores: --schedule hetprobe",
        StaticOff "static-off" "HETMP_STATIC=off",
        Origin "origin" "at the origin of the distributed shared memory",
        /// Or there is one node.
        AlikeNodes "alike-nodes" "all nodes are alike",
        /// On nodes that no known property tells apart.
        Even "even" "its threads take equally long",
        /// While the program runs.
        Unread "unread" "its code is still being read",
        /// By `num_threads(1)` or `if(false)`, too.
        OneThread "one-thread" "a team of one thread",
        Nested "nested" "it is inside another region",
        Cancellation "cancellation" "it may be cancelled (OMP_CANCELLATION)",
        /// Or unknown code in an object that has some: virtual threads would share them.
        ThreadLocal "thread-local" "reaches thread-local variables",
        /// Or the number of threads; and no larger team was announced.
        ThreadNumber "thread-number" "uses the thread number for more than loop bounds",
        /// Only `hetmp which` says so.
        NotFound "not-found" "its function was not found",
        /// And no larger team was announced.
        Unscanned "unscanned" "its code cannot be followed",
        NoLoop "no-loop" "has no loop that could be divided",
        /// By `OMP_THREAD_LIMIT` or `thread_limit`.
        ThreadLimit "thread-limit" "the number of threads is limited",
        Asked "asked" "asks for that many threads, and may count on it",
        /// By `proc_bind`, `OMP_PROC_BIND` or `OMP_PLACES`; they may ask where they are.
        Bound "bound" "its threads are bound to places",
        /// Which balance themselves.
        Tasks "tasks" "creates tasks",
        Ordered "ordered" "keeps an order between threads",
        /// By looking at memory, as its code shows, or by condition variables, which a watchdog notices.
        Waits "waits" "its threads wait for each other unseen",
        /// Devices, leagues, what is not known.
        Unforeseen "unforeseen" "called what a virtual thread cannot do",
        FewPieces "few-pieces" "no more pieces than threads",
        /// It spends less than 30 us in the program's code, or moving it costs more than it gains.
        Short "short" "too short",
        NoGain "no-gain" "an ordinary team is as fast",
        /// Between two calls of the runtime, as code of gcc before 4.9 does.
        Inline "inline" "its primary thread calls the body itself",
        Sections "sections" "sections, which are not divided",
        Schedule "schedule" "its loop keeps its own schedule",
        /// Part of a league, reductions of tasks, clang's form without an address of its own.
        OtherKind "other-kind" "it is not of the plain kind",
        FewThreads "few-threads" "it has fewer threads than there are nodes",
        Library "library" "the program has loaded a library after the nodes started",
        Never "never" "HETMP_DSM_CROSS=never",
        OwnStack "own-stack" "its opener's stack is not shared",
        OwnData "own-data" "its data is not in shared memory",
        KeptValues "kept-values" "its thread-local variables have values of a region that stayed there",
        /// It ran less than twice.
        Unmeasured "unmeasured" "its time at home is not known yet",
        NotAcross "not-across" "it calls what is not done across nodes",
        OfOneNode "of-one-node" "it calls what works between threads of one node",
        /// `HETMP_DSM_TRUST=1` lets it cross.
        UnknownCall "unknown-call" "it calls what is not known to work across nodes",
        /// Above all since its data is large.
        Untried "untried" "no trial yet",
        Tried "tried" "tried",
        /// By itself or with the other regions.
        Faster "faster" "faster away from the origin",
        /// By itself or with the other regions.
        Slower "slower" "slower away from the origin",
        /// This and the following say why a node runs a whole loop.
        OnlyNode "only-node" "no other node has threads",
        /// Of all divisions, by the objective.
        LeastCost "least-cost" "least cost",
    }
}

/// The way of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// As more pieces than threads, called one after the other.
    Virtual,
    /// The same with a stack for each, in regions with barriers.
    Fibers,
    /// As a team of one: starting other threads and waiting for them would take longer.
    Alone,
    /// As an ordinary team whose threads run uneven parts of the compiler's own loops.
    Uneven,
    /// As an ordinary team whose loops come to hetmp's schedules by themselves.
    Dispatched,
    /// With threads on all nodes of a distributed shared memory.
    Across,
    /// Whole on this node, another one than the origin, of a distributed shared memory.
    Elsewhere(usize),
    /// As an ordinary team, for this reason.
    Ordinary(Reason),
}

impl Way {
    /// At the origin of a distributed shared memory, or as if there were none.
    pub const HOME: Way = Way::Ordinary(Reason::Origin);

    /// Those that reach a region.
    pub const REACHING: [Way; 7] = [
        Way::Virtual,
        Way::Fibers,
        Way::Alone,
        Way::Uneven,
        Way::Dispatched,
        Way::Across,
        Way::Elsewhere(1),
    ];

    /// One word for tables and files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.words().0
    }

    /// The same in a few words.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        self.words().1
    }

    /// The way of this word.
    pub(crate) fn of_word(word: &str) -> Option<Way> {
        let ordinary = Reason::ALL.iter().map(|&reason| Way::Ordinary(reason));
        let mut all = Way::REACHING.into_iter().chain(ordinary);
        all.find(|way| way.word() == word)
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Way::Virtual => ("virtual-team", "run as more pieces than threads"),
            Way::Fibers => (
                "fibers",
                "run as more pieces than threads, each with its own stack",
            ),
            Way::Alone => ("alone", "run by one thread: shorter than starting others"),
            Way::Uneven => (
                "uneven",
                "each thread's part of a loop has a size of its own",
            ),
            Way::Dispatched => (
                "dispatched",
                "its loops ask the runtime for their iterations",
            ),
            Way::Across => ("across", "on all nodes of the distributed shared memory"),
            Way::Elsewhere(_) => (
                "elsewhere",
                "whole on another node of the distributed shared memory",
            ),
            Way::Ordinary(reason) => (reason.word(), reason.sentence()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// `HETMP_BLESS=1 cargo test -p hetmp-sched` writes the page anew.
    #[test]
    fn the_page_is_the_table() {
        let mut page = String::from(
            "# Ways and reasons\n\n\
             The words of `hetmp report`, `hetmp which` and `HETMP_VERBOSE`.\n\n\
             | a region's way | |\n| --- | --- |\n",
        );
        for way in Way::REACHING {
            page += &format!("| `{}` | {} |\n", way.word(), way.sentence());
        }
        page +=
            "\nA region that runs in no such way is an ordinary team at home, for a reason:\n\n\
                 | reason | |\n| --- | --- |\n";
        for reason in Reason::ALL {
            let more = reason.more().trim().trim_end_matches('.').chars();
            let more: String = (more.enumerate())
                .map(|(i, c)| if i == 0 { c.to_ascii_lowercase() } else { c })
                .collect();
            page += &format!("| `{}` | {}", reason.word(), reason.sentence());
            page += &if more.is_empty() {
                " |\n".into()
            } else {
                format!(" ({more}) |\n")
            };
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reasons.md");
        if std::env::var_os("HETMP_BLESS").is_some() {
            std::fs::write(path, &page).expect("write the page");
        }
        let text = std::fs::read_to_string(path).expect("docs/reasons.md");
        assert_eq!(text, page, "run HETMP_BLESS=1 cargo test -p hetmp-sched");
    }

    #[test]
    fn each_word_means_one_thing() {
        let ordinary = Reason::ALL.iter().map(|&reason| Way::Ordinary(reason));
        let all: Vec<Way> = Way::REACHING.into_iter().chain(ordinary).collect();
        for (i, one) in all.iter().enumerate() {
            assert_eq!(Way::of_word(one.word()), Some(*one));
            for other in &all[..i] {
                assert_ne!(one.word(), other.word());
                assert_ne!(one.sentence(), other.sentence());
            }
        }
    }
}
