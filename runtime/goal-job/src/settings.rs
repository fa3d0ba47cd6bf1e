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

/// Settings of this process.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Who makes progress.
    pub engine: Engine,
    /// How ranks reach each other: `HETMP_NIC`.
    pub way: Way,
    /// How an allreduce goes.
    pub allreduce: Allreduce,
    /// How an allgather goes.
    pub allgather: Allgather,
    /// How an all-to-all goes.
    pub alltoall: Alltoall,
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

impl Settings {
    /// Reads them.
    pub(crate) fn read() -> Settings {
        Settings {
            engine: word(
                "HETMP_GOAL_ENGINE",
                &[("thread", Engine::Thread), ("user", Engine::User)],
            ),
            way: word(
                "HETMP_NIC",
                &[
                    ("auto", Way::Auto),
                    ("shm", Way::Shm),
                    ("emulated", Way::Emulated),
                    ("tcp", Way::Tcp),
                ],
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
        }
    }
}
