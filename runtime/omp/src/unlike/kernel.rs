//! The program tells which kernel it runs (`hetmp_kernel` in `<hetmp/nodes.h>`).

use super::speeds::{active, named};
use crate::boundary::Reason;
use crate::thread::Thread;
use core::ffi::CStr;

/// From now on the calling thread runs the kernel named `name`, until it names another one or its region
/// ends. `None`: the kernel is again the function that the region or loop was outlined from. A name for which
/// no node has a speed stands for other code.
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
