//! What the environment says about GOAL, read once when the process joins its job.

use hetmp_core::env::snapshot;
use hetmp_core::report;
use hetmp_nic::job::Way;

/// Who makes progress: `HETMP_GOAL_ENGINE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The program, within its calls of Test and Wait.
    User,
    /// A thread that sleeps until a message comes.
    Thread,
}

impl Engine {
    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Engine::User => "user",
            Engine::Thread => "thread",
        }
    }
}

/// `HETMP_GOAL_ALLREDUCE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allreduce {
    /// By size and ranks.
    Auto,
    /// Recursive doubling.
    Doubling,
    /// Around a ring.
    Ring,
}

/// `HETMP_GOAL_ALLGATHER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allgather {
    /// By size and ranks.
    Auto,
    /// In log2 steps.
    Log,
    /// Around a ring.
    Ring,
}

/// `HETMP_GOAL_ALLTOALL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alltoall {
    /// By size and ranks.
    Auto,
    /// All pairs at once.
    Direct,
    /// In log2 steps, after Bruck et al.
    Bruck,
}

/// `HETMP_GOAL_BLOCKING`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// Without a schedule where all ranks map each other's memory.
    Auto,
    /// As the nonblocking ones.
    Schedule,
}

/// Where one algorithm gives way to another: `HETMP_GOAL_CHOICE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// An allreduce of at least so many bytes goes around a ring.
    pub allreduce: u64,
    /// An allgather of at least so many bytes in all goes around a ring.
    pub allgather: u64,
    /// An all-to-all of blocks of up to so many bytes takes log2 steps.
    pub alltoall: u64,
}

impl Choice {
    /// What `hetmp calibrate goal` said on two cores, with four and with eight processes in shared memory. All pairs at once
    /// won for every length there; log2 steps are for links where a message costs more.
    pub const DEFAULT: Choice = Choice {
        allreduce: 32 << 10,
        allgather: 1 << 20,
        alltoall: 0,
    };

    /// `allreduce=BYTES,allgather=BYTES,alltoall=BYTES`, each of which may be left out.
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
    /// Who makes progress.
    pub engine: Engine,
    /// How ranks reach each other: `HETMP_NIC`.
    pub way: Way,
    /// How blocking collectives go.
    pub blocking: Blocking,
    /// How an allreduce goes.
    pub allreduce: Allreduce,
    /// How an allgather goes.
    pub allgather: Allgather,
    /// How an all-to-all goes.
    pub alltoall: Alltoall,
    /// What [`Allreduce::Auto`] and the others choose by.
    pub choice: Choice,
}

/// The value of a variable among some words; a wrong one is one line, and the first of the words holds.
fn word<T: Copy>(name: &str, words: &[(&str, T)]) -> T {
    let Some(value) = snapshot().get(name) else {
        return words[0].1;
    };
    let value = String::from_utf8_lossy(value).trim().to_ascii_lowercase();
    if value.is_empty() {
        return words[0].1;
    }
    match words.iter().find(|(word, _)| *word == value) {
        Some((_, meaning)) => *meaning,
        None => {
            let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            report::warn(format_args!(
                "{name} {value}: one of {} is accepted",
                all.join(", ")
            ));
            words[0].1
        }
    }
}

fn way() -> Way {
    let value = snapshot().get("HETMP_NIC").unwrap_or_default();
    let value = String::from_utf8_lossy(value).trim().to_ascii_lowercase();
    if value.is_empty() {
        return Way::Auto;
    }
    Way::of(&value).unwrap_or_else(|| {
        report::warn(format_args!(
            "HETMP_NIC {value}: auto, shm, emulated, tcp, ofi and ofi:PROVIDER are accepted"
        ));
        Way::Auto
    })
}

fn choice() -> Choice {
    let Some(value) = snapshot().get("HETMP_GOAL_CHOICE") else {
        return Choice::DEFAULT;
    };
    let value = String::from_utf8_lossy(value).trim().to_ascii_lowercase();
    if value.is_empty() {
        return Choice::DEFAULT;
    }
    Choice::parse(&value).unwrap_or_else(|| {
        report::warn(format_args!(
            "HETMP_GOAL_CHOICE {value}: allreduce=BYTES,allgather=BYTES,alltoall=BYTES is accepted"
        ));
        Choice::DEFAULT
    })
}

impl Settings {
    /// Reads them.
    pub(crate) fn read() -> Settings {
        Settings {
            engine: word(
                "HETMP_GOAL_ENGINE",
                &[("thread", Engine::Thread), ("user", Engine::User)],
            ),
            way: way(),
            blocking: word(
                "HETMP_GOAL_BLOCKING",
                &[("auto", Blocking::Auto), ("schedule", Blocking::Schedule)],
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
            choice: choice(),
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
