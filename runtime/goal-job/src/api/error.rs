//! The codes of `goal.h`, and which error of the parts below is which code.

use crate::world::{JoinError, RunError};
use core::fmt;
use hetmp_goal::graph;
use hetmp_goal::rank::{Failure, StartError};
use hetmp_goal::schedule::Invalid;

/// What a call of `goal.h` returns. The numbers are those of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// The call has succeeded.
    Success = 0,
    /// This process has not joined the job, or has left it.
    State = 1,
    /// A null pointer, or a value without a meaning.
    Argument = 2,
    /// A rank that the job does not have.
    Rank = 3,
    /// An operation that is not in this graph.
    Operation = 4,
    /// A piece of memory that ends outside of its segment.
    Bounds = 5,
    /// Lengths that differ, or that are not a multiple of the element's size.
    Size = 6,
    /// An operation that does not exist for its type.
    Type = 7,
    /// A circle of dependences.
    Cycle = 8,
    /// Two operations use the same memory without an order between them.
    Overlap = 9,
    /// More than the format can count.
    Limit = 10,
    /// Bytes that are no schedule, or a schedule of another rank.
    Format = 11,
    /// There is not enough memory.
    Memory = 12,
    /// The job cannot be joined.
    Job = 13,
    /// A message was longer than its receive.
    Truncated = 14,
    /// An integer was divided by zero.
    Division = 15,
    /// The run has failed at a peer.
    PeerFailed = 16,
    /// A peer has died or left.
    PeerLost = 17,
    /// The run was ended before it was done.
    Abandoned = 18,
    /// A receive waits for a message that its source does not send.
    NotSent = 19,
}

impl Code {
    /// Every code, in order.
    pub const ALL: [Code; 20] = [
        Code::Success,
        Code::State,
        Code::Argument,
        Code::Rank,
        Code::Operation,
        Code::Bounds,
        Code::Size,
        Code::Type,
        Code::Cycle,
        Code::Overlap,
        Code::Limit,
        Code::Format,
        Code::Memory,
        Code::Job,
        Code::Truncated,
        Code::Division,
        Code::PeerFailed,
        Code::PeerLost,
        Code::Abandoned,
        Code::NotSent,
    ];

    /// The code's meaning, as text for people.
    #[must_use]
    pub fn text(self) -> &'static core::ffi::CStr {
        match self {
            Code::Success => c"success",
            Code::State => c"not between GOAL_Init and GOAL_Finalize",
            Code::Argument => c"a null pointer, or a value that means nothing here",
            Code::Rank => c"no such rank",
            Code::Operation => c"no such operation in this graph",
            Code::Bounds => c"a piece beyond its memory",
            Code::Size => c"lengths that differ, or that are not whole elements",
            Code::Type => c"no such operation on elements of this type",
            Code::Cycle => c"operations that wait for each other in a circle",
            Code::Overlap => c"operations on the same memory without an order between them",
            Code::Limit => c"more than a schedule can hold",
            Code::Format => c"not a schedule of this rank",
            Code::Memory => c"no memory",
            Code::Job => c"the job cannot be joined",
            Code::Truncated => c"a message longer than its receive",
            Code::Division => c"division by zero",
            Code::PeerFailed => c"the run failed at a peer",
            Code::PeerLost => c"a peer is gone",
            Code::Abandoned => c"ended before it was over",
            Code::NotSent => c"a receive without a message",
        }
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The code, for programs.
    pub code: Code,
    /// One line of text, for people.
    pub text: String,
}

impl Error {
    /// An error with a text.
    pub fn new(code: Code, text: impl fmt::Display) -> Error {
        Error {
            code,
            text: text.to_string(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl From<graph::Error> for Error {
    fn from(e: graph::Error) -> Error {
        let code = match &e {
            graph::Error::Rank { .. } => Code::Rank,
            graph::Error::Operation(_) => Code::Operation,
            graph::Error::Bounds { .. } => Code::Bounds,
            graph::Error::Lengths { .. } => Code::Size,
            graph::Error::Element { .. } => Code::Type,
            graph::Error::Cycle(_) => Code::Cycle,
            graph::Error::Overlap { .. } => Code::Overlap,
            _ => Code::Limit,
        };
        Error::new(code, e)
    }
}

impl From<Failure> for Error {
    fn from(e: Failure) -> Error {
        let code = match &e {
            Failure::Truncated { .. } | Failure::Refused { .. } => Code::Truncated,
            Failure::DivisionByZero { .. } => Code::Division,
            Failure::PeerFailed { .. } => Code::PeerFailed,
            Failure::PeerLost { .. } => Code::PeerLost,
            Failure::Differs { .. } => Code::Argument,
            Failure::NotSent { .. } => Code::NotSent,
            _ => Code::Abandoned,
        };
        Error::new(code, e)
    }
}

impl From<RunError> for Error {
    fn from(e: RunError) -> Error {
        match e {
            RunError::Start(e @ StartError::Segment { .. }) => Error::new(Code::Bounds, e),
            RunError::Start(e) => Error::new(Code::Format, e),
            RunError::NoMemory { bytes } => Error::new(
                Code::Memory,
                format_args!("scratchpad of {bytes} bytes: no memory (expected a smaller one)"),
            ),
        }
    }
}

impl From<JoinError> for Error {
    fn from(e: JoinError) -> Error {
        let code = match &e {
            JoinError::Over => Code::State,
            _ => Code::Job,
        };
        Error::new(code, e)
    }
}

impl From<Invalid> for Error {
    fn from(e: Invalid) -> Error {
        Error::new(Code::Format, e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_numbers_of_the_header() {
        for (i, code) in Code::ALL.iter().enumerate() {
            assert_eq!(*code as usize, i);
        }
        let header = include_str!("../../../../include/goal.h");
        let listed: Vec<usize> = header
            .lines()
            .filter(|l| l.starts_with("#define GOAL_SUCCESS") || l.starts_with("#define GOAL_ERR_"))
            .filter_map(|l| l.split_whitespace().nth(2)?.parse().ok())
            .collect();
        assert_eq!(listed, (0..Code::ALL.len()).collect::<Vec<_>>());
    }
}
