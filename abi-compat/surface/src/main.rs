//! `shmem-surface`: writes the files that come from the table of OpenSHMEM routines and from cbindgen, or says which
//! are out of date.

use clap::Parser;
use hetmp_abi_compat::library;
use hetmp_shmem_surface as shmem_surface;
use std::process::ExitCode;

/// Write include/shmem.h, include/pshmem.h, the entry tables in
/// runtime/abi/src/shmem/ and docs/shmem-coverage.md, and the marked parts of
/// include/hetmp/device.h and include/goal.h.
#[derive(Parser)]
#[command(name = "shmem-surface")]
struct Options {
    /// Write the files that differ
    #[arg(long, conflicts_with = "check")]
    write: bool,
    /// Write nothing; end with 1 if a file is out of date (the default)
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut stale = false;
    for (file, text) in shmem_surface::generated() {
        let path = library::root().join(&file);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        if options.write {
            if let Err(why) = std::fs::write(&path, text) {
                eprintln!("hetmp: file {file}: {why}");
                return ExitCode::from(2);
            }
            println!("wrote {file}");
        } else {
            eprintln!(
                "hetmp: file {file}: out of date: run `cargo run -p hetmp-shmem-surface -- --write`"
            );
            stale = true;
        }
    }
    ExitCode::from(u8::from(stale))
}
