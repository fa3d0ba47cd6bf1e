//! Parallel regions as teams of virtual threads: how HetProbe reaches loops that compilers divide
//! themselves.
//!
//! gcc turns a loop without a schedule clause into arithmetic on the thread number and the number
//! of threads, inside the outlined function. A runtime that is to place such a loop can only change
//! what the two queries answer: it calls the outlined function more often than there are threads, and
//! each call is a piece of the loop that can be measured and placed.
//!
//! * [`announce`]: the size of team that the program is told.
//! * [`fit`]: does the region allow that? From its machine code (`hetmp-scan`).
//! * [`regions`]: what was found out about it when it ran, and whether it gains
//!   ([`hetmp_sched::gain`]); [`disturbance`]: which measurements are none; [`unasked`]: regions of which
//!   enough is known.
//! * [`even`]: regions that nobody looks at, as their threads take equally long.
//! * [`plan`]: which of these ways a region takes; [`parallel`]: takes it there.
//! * [`run`]: the team, and how it runs a region; [`job`]: what it is told and what it has measured.
//! * [`fiber`]: its real threads (*runners*), and stacks that they can leave; [`stacks`]: how they leave them and take
//!   them up; [`waiting`]: where they do; [`switch`] and [`exceptions`]: what that takes. [`join`]: threads that
//!   come in addition.
//! * [`watchdog`]: against waits that the runtime does not see.
//! * [`lever`]: the words for all this in reports.
//!
//! **Data in**: regions from [`crate::team::region::parallel`], speeds of nodes from the probe cache
//! ([`crate::unlike::het::known`]), in which a region counts as a loop whose iterations are its virtual threads.
//! **Data out**: the same region as one of [`run::VirtualTeam::run`], or left as it was; measurements
//! to the probe cache; times and reasons to the report.
//!
//! Only in use where one of hetmp's own schedules is named, on several nodes: elsewhere a region looks
//! at one byte (`modes::watches`).

mod announce;
mod disturbance;
mod even;
mod exceptions;
mod fiber;
mod fit;
mod job;
mod join;
pub(crate) mod lever;
pub(crate) mod parallel;
mod plan;
mod regions;
mod run;
mod stacks;
pub(crate) mod switch;
pub(crate) mod unasked;
mod waiting;
mod watchdog;
