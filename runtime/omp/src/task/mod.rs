//! Tasks: records, queues, scheduling, dependences, taskgroups, reductions.
//!
//! * `record`: what there is of each task, and its memory.
//! * [`run`]: making a task (deferred, or run at once). `end`: what happens when it has ended.
//! * `deque`: one deque per team member, and one queue per team for prioritised tasks. `queue` puts tasks
//!   there and takes them out.
//! * `wait`: all waits for tasks, which run other tasks meanwhile (`pastimes`). `offer`: what a race detector needs
//!   there. `sleep` and `lookout`: who sleeps there, and who is woken for a new task.
//! * [`submit`]: tasks whose record the program fills in itself.
//! * [`depend`] (the graph is in `siblings`), `event`, [`group`], [`privates`], [`taskloop`]: the clauses.
//!
//! # Life of a deferred task
//! made (counted in the maker's `sums`) → its dependences are met → in the maker's deque → taken → runs →
//! *complete* (successors released, taskgroup and parent told, counted in the `sums` of the member that
//! completed it) → freed, once its children are freed.
//!
//! A thread with enough ready tasks queued runs a new task at once, but never one that is not ready: the
//! maker itself may be the one that releases it later (see `BACKLOG` in [`run`]).
//!
//! # When are all tasks of a team done?
//! Each member counts the tasks it made and the tasks it completed, in counters that only this member writes.
//! There is one set for barriers of even number and one for odd (`Task::phase`): a fast thread that has
//! left barrier `e` may make tasks while a slow thread still looks whether the tasks before `e` are done.
//! Both sums only grow, and no more is finished than made at any moment, so `sums` needs no shared counter. As all
//! members are in the barrier, only tasks could have made more tasks.
//!
//! # Memory of a task
//! A child holds a pointer to its parent (for the scheduling constraint), so a record is freed when the task
//! is complete and all its children's records are freed. `Task::counts` holds both numbers of children. A
//! task without children, which is complete and released at once, then pays for one atomic operation.
//!
//! # Tied tasks
//! All tasks are run as tied tasks: a task that was begun stays on its thread's stack. A thread that waits
//! inside a task (taskwait, taskgroup) runs only descendants of that task. This is the task scheduling
//! constraint (OpenMP 5.1, section 2.12.6). Without it, a task that waits inside a critical section could
//! have its own thread begin another task that wants to enter the same section.

pub(crate) mod copies;
pub(crate) mod counts;
pub mod depend;
pub(crate) mod deque;
pub(crate) mod end;
pub(crate) mod event;
pub mod group;
pub(crate) mod helpers;
pub(crate) mod lookout;
pub(crate) mod offer;
mod pastimes;
pub mod privates;
pub(crate) mod queue;
pub(crate) mod record;
pub(crate) mod recycle;
pub mod run;
pub(crate) mod siblings;
pub(crate) mod sleep;
pub mod submit;
mod successors;
pub(crate) mod sums;
pub mod taskloop;
pub(crate) mod wait;

pub use end::fulfill;
pub use record::{Group, Task};
pub use run::{create, create_simple, NewTask};
pub use wait::{taskwait, taskyield, taskyield_to_descendant};
