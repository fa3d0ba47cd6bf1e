//! What `hetmp calibrate` measured, as the file says that `HETMP_CALIBRATION` names.

use crate::init;
use hetmp_core::calibration::Calibration;
use hetmp_core::whole::OnceLock;
use hetmp_core::{aside, report};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The calibration, which the first call reads, with a line if it cannot; `None` if there is none.
pub(crate) fn calibration() -> Option<&'static Calibration> {
    static READ: OnceLock<Option<Calibration>> = OnceLock::new();
    let read = || {
        let path = Path::new(OsStr::from_bytes(
            init::globals().ours.calibration.as_deref()?,
        ));
        let failed = |why| {
            report::warn(format_args!(
                "HETMP_CALIBRATION: '{}': {why}",
                path.display()
            ));
        };
        Calibration::read(path).map_err(failed).ok()
    };
    READ.get_or_init(|| aside::run(read)).as_ref()
}
