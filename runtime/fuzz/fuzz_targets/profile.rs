//! Profiles of loops and calibrations, which a run leaves for the next one; many-core chips in files.
#![no_main]

use hetmp_core::calibration::Calibration;
use hetmp_mq::platform::Platform;
use hetmp_sched::profile::Profile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(profile) = Profile::parse(text) {
        let written = profile.to_string();
        let again = Profile::parse(&written).expect("what a profile writes");
        assert_eq!(again.to_string(), written);
    }
    let _ = Calibration::parse(text);
    let _ = Platform::parse(text);
});
