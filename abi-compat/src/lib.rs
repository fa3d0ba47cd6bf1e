//! Compares libhetmp.so with the libraries that it replaces, libgomp and libomp.
//!
//! * Exports: [`symbols`] has the checked-in lists of versioned exports, [`elf`] reads
//!   those of a built library, and [`coverage`] writes the coverage matrices.
//! * gcc's own libgomp test suite: [`suite`] unpacks, compiles and runs it; [`dg`] and
//!   [`selector`] read the DejaGnu directives of its tests.
//! * The programs in `c-tests/openmp/`: [`case`] reads their header lines, compiles and runs
//!   them; [`compare`] holds their output against that under libgomp.
//!
//! [`clang`] knows the runtime that belongs to clang, [`arm`] how programs for another processor are made and run.
//! All modules run programs through [`exec`], each with a time limit. Tests that compile programs of their own do so in
//! a [`scratch`] folder.
//!
//! This crate is never loaded into users' processes. **Data in**: files of the
//! repository, the built library (`HETMP_LIB` or the target directory, see
//! [`library`]) and Debian's `gcc-12-source`. **Data out**: test verdicts, tables
//! and JSON files. Benchmarks are a crate of their own (`abi-compat/bench`), and so is the generator of
//! the OpenSHMEM headers (`abi-compat/surface`). No line of gcc's test suite is kept in the repository.

pub mod arm;
pub mod c_api;
pub mod case;
pub mod clang;
pub mod compare;
pub mod coverage;
pub mod dg;
pub mod elf;
pub mod exec;
pub mod library;
pub mod readme;
pub mod sample;
pub mod scratch;
pub mod selector;
pub mod suite;
pub mod symbols;
pub mod tcl;
