//! Parallel regions as teams of virtual threads: how HetProbe reaches loops that compilers divide
//! themselves.

mod lever;

#[allow(unused_imports, reason = "the words of the reports, before the levers exist")]
pub(crate) use lever::{Guard, Lever};
