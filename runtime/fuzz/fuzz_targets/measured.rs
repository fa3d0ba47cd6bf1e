//! What `hetmp run --profile` reads of each process: a file that is memory. The input is a list of words and their
//! places in it; everything else is zero.
#![no_main]

use hetmp_profile::read::{self, LENGTH, MAGIC};
use libfuzzer_sys::fuzz_target;
use std::io::{Seek as _, SeekFrom, Write as _};

fuzz_target!(|bytes: &[u8]| {
    hetmp_fuzz::as_file(&MAGIC.to_le_bytes(), |path| {
        let file = std::fs::File::options().write(true).open(path);
        let mut file = file.expect("the file that was written");
        for word in bytes.chunks_exact(12).take(256) {
            let (at, value) = word.split_at(4);
            let at = u32::from_le_bytes(at.try_into().expect("four bytes"));
            let at = (u64::from(at) * 8).clamp(8, LENGTH - 8);
            file.seek(SeekFrom::Start(at)).expect("a place in the file");
            file.write_all(value).expect("room");
        }
        file.set_len(LENGTH).expect("a file with holes");
        let profile = read::read(path, u64::MAX).expect("any words are a profile");
        assert!(profile.threads.iter().all(|t| t.unfinished.len() < 64));
    });
});
