//! The `depend` clause: tasks that wait for their siblings (`super::siblings` has the graph).
//!
//! `children` of a task is touched only by the thread that runs the task; a node of the graph is counted, and its
//! pointer is taken back once, when its task ends.

use super::record::Task;
pub use super::siblings::{Dependence, Kind, EVERYWHERE};
use super::siblings::{Node, NodeRef};
use crate::team::members::{Member, Team};
use crate::thread::Thread;
use crate::tool::{self, interface::Data};
use hetmp_core::sync::Ordering;

/// Gives the new task `t` its dependences. True when `t` is ready to run now; false when its last predecessor
/// will queue it.
pub(crate) fn attach(parent: &Task, t: &Task, list: &[Dependence]) -> bool {
    if list.is_empty() {
        return true;
    }
    let node = Node::make(t, core::ptr::null());
    t.node.set(NodeRef::clone(&node).into_raw());
    if tool::on() {
        node.told.copy(t.tool().data());
    }
    // SAFETY: only the thread that runs the parent touches `children`, and that is this one.
    let sites = unsafe { (*parent.children.get()).get_or_insert_with(Default::default) };
    sites.add(&node, list);
    node.one_less()
}

/// `t` is complete: releases its successors, and queues the ready ones in the deque of `m`.
#[inline]
pub(crate) fn release(team: &Team, m: &Member, t: &Task) {
    let p = t.node.get();
    if p.is_null() {
        return;
    }
    t.node.set(core::ptr::null());
    // SAFETY: `attach` made the pointer by `into_raw`, and this is the only place that takes it back.
    let node = unsafe { NodeRef::from_raw(p) };
    node.close(|to| {
        if to.one_less() {
            let task = to.task.get();
            if task.is_null() {
                // SAFETY: the waiting member belongs to the team of these tasks, which is in use.
                team.nudge_sleeper(unsafe { &*to.waiter.get() });
            } else {
                // SAFETY: a task that waits for its predecessors is live.
                team.enqueue(m, unsafe { &*task });
            }
        }
    });
}

/// Waits until a task with these dependences could run (for `taskwait depend` and undeferred tasks).
pub fn wait_for(th: &Thread, list: &[Dependence]) {
    wait_as(th, list, None);
}

/// As [`wait_for`], for a compiler that calls this function for the clause alone: a tool is told of a task that
/// stands for the wait, as by libomp.
pub fn wait_as_task(th: &Thread, list: &[Dependence]) {
    if tool::on() && !list.is_empty() {
        return tool::tasks::waits(th, list, |data| wait_as(th, list, Some(data)));
    }
    wait_for(th, list);
}

/// Waits until a task with these dependences could run. `told`: the tool's word of that task; `None`: the current task
/// itself waits.
fn wait_as(th: &Thread, list: &[Dependence], told: Option<&Data>) {
    // SAFETY: only the thread that runs a task touches `children`; no reference survives the block.
    let node = unsafe {
        let Some(sites) = &*th.task().children.get() else {
            return;
        };
        let node = Node::make(core::ptr::null(), &raw const th.member().sleep);
        if tool::on() {
            node.told
                .copy(told.unwrap_or_else(|| th.task().tool().data()));
        }
        sites.follow(&node, list);
        node
    };
    if !node.one_less() {
        super::wait::until(th, || node.missing.load(Ordering::Acquire) == 0);
    }
}
