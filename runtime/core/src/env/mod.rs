//! Environment variables: the one table, and the one reading.
//!
//! [`TABLE`] says of every variable its name, type, default, accepted values, meaning and where
//! the specification describes it. The parsers take the "what is accepted" half of their messages
//! from it; `OMP_DISPLAY_ENV=verbose`, `hetmp info --env` and `docs/environment.md`
//! ([`markdown`]) list it.
//!
//! [`snapshot`] copies the values that the table names out of `environ`, once. Programs call
//! `setenv` while threads run; whoever reads the copy is neither racing with that nor surprised by
//! it. libgomp reads its variables while it is loaded, so the library asks for the snapshot then
//! ([`capture`]).
//!
//! **Data in**: `environ`. **Data out**: bytes, not strings: a value need not be UTF-8.

mod snapshot;
mod table;

pub use snapshot::{capture, snapshot, Snapshot};
pub use table::{lookup, markdown, Family, Kind, Suffixes, Variable, TABLE};
