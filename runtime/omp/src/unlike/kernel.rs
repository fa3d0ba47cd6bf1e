//! The program says which kernel it runs (`hetmp_kernel` in `<hetmp/nodes.h>`).

use super::speeds::{active, named};
use crate::boundary::Reason;
use crate::thread::Thread;
use core::ffi::CStr;

/// The calling thread runs the kernel named `name` from now on, until it says something else or its
/// region ends. `None`: what the region or loop was outlined from. A name without speeds of its own
/// stands for other code.
pub fn tell(name: Option<&CStr>) {
    if !active() {
        return;
    }
    let Some(th) = Thread::try_current() else {
        return;
    };
    let kernel = name.map(|n| n.to_str().map_or(0, named));
    th.slow.tell(th.here(), kernel);
    if th.slow.is_slowed() && th.team().level() > 0 {
        th.leave_program(Reason::Told);
        th.enter_program(Reason::Told);
    }
}
