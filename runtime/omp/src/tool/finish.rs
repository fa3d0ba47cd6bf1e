//! The end of the tool: at the end of the process, or when the tool asks for it.

use super::{attach, life};
use crate::query;
use crate::thread::Thread;

/// Ends the tool: the calling thread's workers end first, if the thread is outside of regions, so that the tool sees
/// their end; then the thread; then the tool's `finalize` runs. Later calls do nothing.
pub extern "C" fn finish() {
    if !attach::is_ours() {
        return;
    }
    if let Some(th) = Thread::try_current() {
        if th.team().level() == 0 {
            query::pause();
            life::end_initial(&th.tool, Some(th.task().tool()));
        }
    }
    attach::end();
}
