//! A memory that all nodes can read and write, and that no hardware keeps coherent: a *pool*, as hosts share one over
//! CXL. No page travels: a node writes the lines that it changed back to the pool where others may need them, and takes
//! lines that others changed anew.
//!
//! * **Copies**: the program works on copies of lines in the node's own memory, as in a cache. What a node writes is
//!   found by write-protected pages and by *twins* ([`lines`]). Only bytes that the node has written reach the pool, so
//!   that nodes may write different bytes of one line; a cache would write its whole line, and lose the others'.
//! * **When**: where threads can tell each other nothing but through the runtime ([`crate::together`]), at each
//!   [`lines::Point`]; in between nobody asks anybody (an *interval*). Everywhere else each page has one writer at a
//!   time ([`crate::protocol`]), so that atomic operations and flushes work: who gives a page away writes its lines
//!   back first, who gets one takes them anew (*owned* pages).
//! * **What lies where**: [`shared`] has the pool. The [`window`] has words that must be coherent: which lines were
//!   changed, and who may write a page back. Here that is memory of one machine; hosts need an uncached window, or
//!   messages. [`flush`] has the processor's instructions, [`serve`] the threads, [`check`] the checker.
//!
//! As copies are private, a line that is not written back, or not taken anew, shows as a wrong value on coherent
//! machines, too.

mod check;
mod flush;
pub(crate) mod lines;
mod serve;
mod shared;
mod wanted;
mod window;

pub use lines::Point;
pub(crate) use serve::Pool;
pub use shared::Shared;
pub use wanted::{LeftOut, Wanted};
