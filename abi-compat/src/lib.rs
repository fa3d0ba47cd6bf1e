//! Does libhetmp.so keep libgomp's promises?
//!
//! This crate holds what compares the two: the checked-in list of libgomp's
//! versioned exports ([`symbols`]) and the ELF reader that holds ours against it
//! ([`elf`]), the coverage matrix ([`coverage`]), the runner of gcc's own libgomp
//! test suite ([`suite`], with [`dg`] and [`selector`] reading its DejaGnu
//! directives), and the header format of the programs in `c-tests/` ([`case`]).
//! Everything runs programs through [`exec`], one child at a time with a limit.
//!
//! Nothing here is loaded into other people's processes. Inputs are files in the
//! repository, the built library (`HETMP_LIB` or the target directory, see
//! [`library`]) and Debian's `gcc-12-source`; outputs are test verdicts, tables
//! and JSON files. Benchmarks are a crate of their own (`abi-compat/bench`), and so is the generator of
//! the OpenSHMEM headers (`abi-compat/surface`). No line of gcc's test suite is kept in the repository.

pub mod c_api;
pub mod case;
pub mod compare;
pub mod coverage;
pub mod dg;
pub mod elf;
pub mod exec;
pub mod library;
pub mod sample;
pub mod selector;
pub mod suite;
pub mod symbols;
pub mod tcl;
