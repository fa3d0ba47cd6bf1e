//! A file of the cache of readings. Its sum is made right, or nothing behind it would ever be read.
#![no_main]

use hetmp_scan::file::File;
use hetmp_scan::kept::{sealed, Identity, Readings};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

/// That of a small library.
fn identity() -> Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    let found = || {
        let file = File::parse(include_bytes!("../corpus/elf/gcc")).expect("a file that is one");
        file.identity().expect("an identity")
    };
    IDENTITY.get_or_init(found).clone()
}

fuzz_target!(|bytes: &[u8]| {
    let _ = Readings::parse(bytes, identity());
    // What comes before the readings is right, too.
    let empty = Readings::new(identity()).bytes();
    let head = &empty[..empty.len() - 12];
    if let Ok(readings) = Readings::parse(&sealed([head, bytes].concat()), identity()) {
        let again = Readings::parse(&readings.bytes(), identity());
        assert_eq!(again.as_ref(), Ok(&readings));
    }
});
