//! A program's file: its tables, the calls in its code, and the regions that they open.
#![no_main]

use hetmp_scan::file::File;
use hetmp_scan::kept::Reading;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(file) = File::parse(bytes) else {
        return;
    };
    let _ = (file.identity(), file.has_thread_locals());
    for site in file.calls(&|_| true).iter().take(8) {
        if let Some((entry, form)) = site.region() {
            let _ = Reading::of(&file, 0, entry, form, true);
        }
    }
});
