//! Environment variables: the table that describes them, and the snapshot of their values.
//!
//! [`TABLE`] has the name, type, default, accepted values, meaning and specification of every variable. Parsers take
//! what is expected, the end of their messages, from it. `OMP_DISPLAY_ENV=verbose` and `hetmp info --env` list the
//! table, and a test compares it with `docs/environment.md`.
//!
//! [`snapshot`] copies the values of these variables out of `environ` once, at the first use. All parts of the
//! library then agree, whatever the program sets later. libgomp reads its variables while it is loaded. Under a
//! preload that would be before `main`, and what a Python program puts into `os.environ` before it imports a package
//! would not count. For this reason the snapshot waits for the first call.
//!
//! **Data in**: `environ`. **Data out**: bytes, not strings: a value need not be UTF-8.

mod libomp;
mod read;
mod snapshot;
mod table;
pub mod text;
mod variable;

pub use read::{chosen, is_on, name_unknown, number, refusal, switch, word};
pub use snapshot::{is_privileged, live, preset, snapshot, Snapshot};
pub use table::{lookup, TABLE};
pub use variable::{Family, Kind, Suffixes, Variable};
