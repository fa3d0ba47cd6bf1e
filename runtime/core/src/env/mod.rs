//! Environment variables: the one table, and the one reading.
//!
//! [`TABLE`] says of every variable its name, type, default, accepted values, meaning and where
//! the specification describes it. The parsers take the "what is accepted" half of their messages
//! from it. `OMP_DISPLAY_ENV=verbose` and `hetmp info --env` list the table, and a test compares it with
//! `docs/environment.md`.
//!
//! [`snapshot`] copies the values that the table names out of `environ`, once, at the first use: all
//! parts of the library then agree, whatever the program sets later. libgomp reads its variables while
//! it is loaded. Under a preload that is before `main`, and what Python programs put into `os.environ`
//! before they import would not count; so we wait for the first call.
//!
//! **Data in**: `environ`. **Data out**: bytes, not strings: a value need not be UTF-8.

mod libomp;
mod snapshot;
mod table;

pub use snapshot::{preset, snapshot, Snapshot};
pub use table::{lookup, Family, Kind, Suffixes, Variable, TABLE};
