//! Parallel regions as teams of virtual threads: how HetProbe reaches loops that compilers divide themselves.
//!
//! gcc turns a loop without a schedule clause into arithmetic on the thread number and the number of threads,
//! inside the outlined function. A runtime that wants to place such a loop can change only the answers to
//! these two queries. So it calls the outlined function more often than there are threads, and each call is a
//! piece of the loop that can be measured and placed.
//!
//! * [`announce`]: the announced team size.
//! * [`fit`]: does the region's machine code allow a virtual team (`hetmp-scan`)?
//! * [`regions`]: what its executions have shown, and whether a virtual team gains ([`hetmp_sched::gain`]).
//!   [`disturbance`]: which measurements count for little. [`unasked`]: regions of which enough is known.
//! * [`even`]: regions that are not examined, as their threads take equally long. [`ledger`]: what examining and trials
//!   have cost. [`reader`]: the thread that reads code.
//! * [`plan`]: which of these ways a region takes. [`parallel`]: runs it that way.
//! * [`run`]: the team, and how it runs a region. [`job`]: what the team gets, and what it has measured.
//! * [`fiber`]: the team's real threads (*runners*), and stacks that they can leave. [`stacks`]: how runners
//!   leave stacks and return to them. [`waiting`]: when they do. [`switch`] and [`exceptions`]: the machine's
//!   and C++'s part of it. [`join`]: additional real threads.
//! * [`uneven`]: regions that keep their teams, in which each thread's part of a loop gets another size, by a [`copy`]
//!   of their code.
//! * [`watchdog`]: finds waits that the runtime does not see.
//! * [`construct`]: what a combined construct says of its region. [`opened`]: what is noted of both. The words for
//!   all this are in [`hetmp_sched::ways`].
//!
//! **Data in**: regions from [`crate::team::placement::parallel`], and speeds of nodes from the probe cache
//! ([`crate::unlike::het::known`]), where a region counts as a loop whose iterations are its virtual threads.
//! **Data out**: the same region as one of [`run::VirtualTeam::run`], or unchanged; measurements to the probe
//! cache; times and reasons to the report.
//!
//! In use only if one of hetmp's own schedules is selected, on several nodes or with `HETMP_STATIC=force`.
//! Otherwise a region looks at one byte (`modes::watches`).

pub(crate) mod allowed;
mod announce;
mod construct;
#[cfg_attr(not(target_arch = "x86_64"), path = "copy/none.rs")]
pub(crate) mod copy;
mod disturbance;
mod even;
mod exceptions;
mod fiber;
pub(crate) mod fit;
mod job;
mod join;
pub(crate) mod ledger;
pub(super) mod object;
pub(crate) mod opened;
pub(crate) mod parallel;
mod plan;
mod reader;
pub(super) mod regions;
mod run;
mod sight;
mod stacks;
pub(crate) mod switch;
pub(crate) mod unasked;
mod uneven;
mod waiting;
mod watchdog;
