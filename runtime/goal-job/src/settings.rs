//! The settings from the environment, read once when the process joins its job.

use hetmp_core::env::{self, snapshot};
use hetmp_nic::job::Way;

/// Which thread makes progress: `HETMP_GOAL_ENGINE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The program, within its calls of Test and Wait.
    User,
    /// A thread that sleeps until a message comes.
    Thread,
    /// A program in the Linux kernel, where packets arrive; what it does not take, as `Thread`.
    Kernel,
    /// An emulated network adapter, which is a process of its own; what it does not take, as `Thread`.
    Nic,
    /// An emulated network adapter, which is a thread of the rank's process; what it does not take, as `Thread`.
    NicThread,
}

impl Engine {
    /// The name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Engine::User => "user",
            Engine::Thread => "thread",
            Engine::Kernel => "kernel",
            Engine::Nic => "nic",
            Engine::NicThread => "nic-thread",
        }
    }
}

/// `HETMP_GOAL_ALLREDUCE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allreduce {
    /// Chosen by size and number of ranks.
    Auto,
    /// Recursive doubling.
    Doubling,
    /// Around a ring.
    Ring,
}

/// `HETMP_GOAL_ALLGATHER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allgather {
    /// Chosen by size and number of ranks.
    Auto,
    /// In log2 steps.
    Log,
    /// Around a ring.
    Ring,
}

/// `HETMP_GOAL_ALLTOALL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alltoall {
    /// Chosen by size and number of ranks.
    Auto,
    /// All pairs at the same time.
    Direct,
    /// In log2 steps, after Bruck et al.
    Bruck,
}

/// Whether collectives go by schedules: `HETMP_GOAL_BLOCKING` and `HETMP_GOAL_NONBLOCKING`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Without a schedule, if all ranks map each other's memory.
    Auto,
    /// Always by a schedule.
    Schedule,
}

/// The sizes at which another algorithm is chosen: `HETMP_GOAL_CHOICE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// From this many bytes on, an allreduce uses a ring.
    pub allreduce: u64,
    /// From this many bytes on (of all ranks together), an allgather uses a ring.
    pub allgather: u64,
    /// Up to this many bytes in a block, an all-to-all uses log2 steps.
    pub alltoall: u64,
}

impl Choice {
    /// Measured by `hetmp calibrate goal` on two cores, with four and with eight processes in shared memory. There,
    /// all pairs at the same time was fastest for every length. Log2 steps are for links on which a message costs
    /// more.
    pub const DEFAULT: Choice = Choice {
        allreduce: 32 << 10,
        allgather: 1 << 20,
        alltoall: 0,
    };

    /// Reads `allreduce=BYTES,allgather=BYTES,alltoall=BYTES`. Each part may be left out.
    pub fn parse(text: &str) -> Option<Choice> {
        let mut choice = Choice::DEFAULT;
        for part in text.split(',') {
            let (name, bytes) = part.split_once('=')?;
            let bytes = bytes.trim().parse().ok()?;
            match name.trim() {
                "allreduce" => choice.allreduce = bytes,
                "allgather" => choice.allgather = bytes,
                "alltoall" => choice.alltoall = bytes,
                _ => return None,
            }
        }
        Some(choice)
    }
}

/// Settings of this process.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Which thread makes progress.
    pub engine: Engine,
    /// How ranks reach each other: `HETMP_NIC`.
    pub way: Way,
    /// Which way blocking collectives take.
    pub blocking: Form,
    /// Which way nonblocking collectives take under the engines `user` and `thread`.
    pub nonblocking: Form,
    /// The algorithm of an allreduce.
    pub allreduce: Allreduce,
    /// The algorithm of an allgather.
    pub allgather: Allgather,
    /// The algorithm of an all-to-all.
    pub alltoall: Alltoall,
    /// The sizes by which [`Allreduce::Auto`] and the others choose.
    pub choice: Choice,
}

/// The meaning of the variable's value, one of `words`. Where it is unset, empty or bad (which costs one line), that of
/// the first.
fn word<T: Copy>(name: &str, words: &[(&str, T)]) -> T {
    env::chosen(name, |value| env::word(value, words)).unwrap_or(words[0].1)
}

/// A text in lower case.
fn lower(value: &[u8]) -> String {
    String::from_utf8_lossy(value).to_ascii_lowercase()
}

/// The network interface of the engine `kernel`: `HETMP_GOAL_INTERFACE`.
pub(crate) fn interface() -> String {
    let value = snapshot().get("HETMP_GOAL_INTERFACE").unwrap_or_default();
    match String::from_utf8_lossy(value).trim() {
        "" => "lo".to_owned(),
        name => name.to_owned(),
    }
}

/// Whether the engines `kernel` and `nic` print their counters when the process leaves: `HETMP_GOAL_COUNTERS`.
pub(crate) fn counters() -> bool {
    env::is_on("HETMP_GOAL_COUNTERS")
}

impl Settings {
    /// Reads all settings.
    pub(crate) fn read() -> Settings {
        env::name_unknown();
        Settings {
            engine: word(
                "HETMP_GOAL_ENGINE",
                &[
                    ("thread", Engine::Thread),
                    ("user", Engine::User),
                    ("kernel", Engine::Kernel),
                    ("nic", Engine::Nic),
                    ("nic-thread", Engine::NicThread),
                ],
            ),
            way: env::chosen("HETMP_NIC", |value| Way::of(&lower(value))).unwrap_or(Way::Auto),
            blocking: word(
                "HETMP_GOAL_BLOCKING",
                &[("auto", Form::Auto), ("schedule", Form::Schedule)],
            ),
            nonblocking: word(
                "HETMP_GOAL_NONBLOCKING",
                &[("auto", Form::Auto), ("schedule", Form::Schedule)],
            ),
            allreduce: word(
                "HETMP_GOAL_ALLREDUCE",
                &[
                    ("auto", Allreduce::Auto),
                    ("doubling", Allreduce::Doubling),
                    ("ring", Allreduce::Ring),
                ],
            ),
            allgather: word(
                "HETMP_GOAL_ALLGATHER",
                &[
                    ("auto", Allgather::Auto),
                    ("log", Allgather::Log),
                    ("ring", Allgather::Ring),
                ],
            ),
            alltoall: word(
                "HETMP_GOAL_ALLTOALL",
                &[
                    ("auto", Alltoall::Auto),
                    ("direct", Alltoall::Direct),
                    ("bruck", Alltoall::Bruck),
                ],
            ),
            choice: env::chosen("HETMP_GOAL_CHOICE", |value| Choice::parse(&lower(value)))
                .unwrap_or(Choice::DEFAULT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_in_part() {
        let some = Choice::parse("alltoall=7, allreduce=9");
        let wanted = Choice {
            alltoall: 7,
            allreduce: 9,
            ..Choice::DEFAULT
        };
        assert_eq!(some, Some(wanted));
        for bad in [
            "allreduce",
            "allreduce=x",
            "scan=3",
            "allreduce=1,,",
            "allreduce=-1",
        ] {
            assert_eq!(Choice::parse(bad), None, "{bad}");
        }
    }
}
