//! Tasks: records, queues, scheduling, dependences, taskgroups, reductions (gcc's are in the ABI).
//!
//! * [`record`]: what there is of each task, and its memory.
//! * [`run`]: making a task (deferred, or run at once) and what happens when it ends.
//! * [`deque`]: one deque per team member, and one queue per team for prioritised tasks; [`queue`] puts
//!   tasks there.
//! * [`wait`]: everything that waits for tasks, and runs others meanwhile.
//! * [`submit`]: tasks whose record the program fills in itself.
//! * [`depend`] (the graph is in [`siblings`]), [`event`], [`group`], [`privates`], [`taskloop`]: the clauses.
//!
//! # Life of a deferred task
//! made (counted in the maker's `created`) → its dependences are met → in the maker's deque → taken
//! → runs → *complete* (successors released, taskgroup and parent told, counted in the `finished` of
//! whoever completed it) → freed, once its children are freed.
//!
//! A thread with enough ready tasks queued runs a new one at once. Never one that is not ready: its
//! maker may be who releases it later (see `BACKLOG` in [`run`]).
//!
//! # When are all tasks of a team done?
//! Each member counts tasks it made and tasks it completed, in counters only it writes, apart for
//! barriers of even and odd number ([`Task::phase`]: a fast thread that has left barrier `e` may
//! make tasks while a slow one still looks whether those of before are done). Both sums are
//! monotonic and `finished <= created` at any moment. So if the sum of `finished`, read first,
//! equals the sum of `created`, read after, there was a moment between with nothing in flight; and as
//! everybody is in the barrier, only tasks could have made more. No shared counter is needed.
//!
//! # Memory of a task
//! A child holds a pointer to its parent (for the scheduling constraint), so a record is freed
//! when the task is complete and all its children's records are freed. `Task::counts` holds both
//! numbers of children, so that a leaf, whose completion and release coincide, pays for one atomic.
//!
//! # Tied tasks
//! All tasks are run as tied tasks: one that was begun stays on its thread's stack. A thread that
//! waits inside a task (taskwait, taskgroup) runs only descendants of that task: the task
//! scheduling constraint (OpenMP 5.1, section 2.12.6), without which a task that waits inside a
//! critical section could have its own thread run another one that wants to enter it.

pub(crate) mod copies;
pub(crate) mod counts;
pub mod depend;
pub(crate) mod deque;
pub(crate) mod event;
pub mod group;
pub mod privates;
pub(crate) mod queue;
pub(crate) mod record;
pub(crate) mod recycle;
pub mod run;
pub(crate) mod siblings;
pub(crate) mod sleep;
pub mod submit;
pub mod taskloop;
pub(crate) mod wait;

pub use record::{Group, Task};
pub use run::{create, create_simple, fulfill, NewTask};
pub use wait::{taskwait, taskyield};
