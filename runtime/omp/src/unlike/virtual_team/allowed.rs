//! What the user and the call of a region allow, whatever its code is.

use crate::icv::StaticLoops;
use crate::init;
use crate::team::region::{Form, Region};
use crate::thread::Thread;

/// May the static loops of `region`, which the thread opens, have uneven parts?
pub(crate) fn uneven(th: &Thread, region: &Region) -> bool {
    let mode = init::globals().ours.static_loops;
    matches!(mode, StaticLoops::Uneven | StaticLoops::ForceUneven)
        && region.form == Form::Data
        && region.group.is_null()
        && !th.task().icv().dynamic
}
