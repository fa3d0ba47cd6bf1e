//! The one way to wait: spin under one policy, then sleep in the kernel.
//!
//! Everything that blocks (barriers, forks, joins, locks, ordered, task waits, queues) waits on a [`Flag`] or with
//! [`Spinner`]. So `OMP_WAIT_POLICY`, oversubscription and a loaded machine are handled in one place.
//!
//! * [`spin`](self::Policy): how long a wait spins, yields, and when it sleeps.
//! * [`flag`](self::Flag): the word that threads wait on, and how none of them misses its wake-up.

mod flag;
mod spin;
#[cfg(all(test, not(loom)))]
mod tests;

pub use flag::{Flag, Poll, SharedFlag};
#[cfg(not(loom))]
pub use spin::{give_core, LastSeen, Policy};
pub use spin::{rest, Spinner};
