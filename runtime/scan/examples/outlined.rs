//! Scans the outlined functions of ELF files and prints one line for each:
//! `cargo run -p hetmp-scan --example outlined -- FILE...`
//!
//! Where a file has lost its symbols, the functions are found as the first
//! argument of the calls that start parallel regions. `AT=0x1234` scans that
//! address alone, such as the offset that a report gives.

#[path = "../tests/support/file.rs"]
mod file;

use hetmp_scan::Form;
use std::collections::BTreeSet;

fn main() {
    let mut all = std::collections::BTreeMap::<String, usize>::new();
    for path in std::env::args().skip(1) {
        let image = file::File::read(std::path::Path::new(&path));
        let mut outlined: Vec<(String, u64, Form)> = image
            .functions
            .iter()
            .filter_map(|(name, address)| Some((name.clone(), *address, file::form(name)?)))
            .collect();
        if outlined.is_empty() {
            let found: BTreeSet<(u64, Form)> = image
                .calls(&|name| name.starts_with("GOMP_") || name.starts_with("__kmpc_"))
                .iter()
                .filter_map(hetmp_scan::file::Site::region)
                .collect();
            outlined = found
                .into_iter()
                .map(|(address, form)| (format!("{address:#x}"), address, form))
                .collect();
        }
        if let Ok(at) = std::env::var("AT") {
            let at = u64::from_str_radix(at.trim_start_matches("0x"), 16);
            outlined = at
                .map(|at| (format!("{at:#x}"), at, Form::Data))
                .into_iter()
                .collect();
        }
        for (name, address, form) in outlined {
            if std::env::var("ONLY").is_ok_and(|only| !name.contains(&only)) {
                continue;
            }
            let started = cpu_time();
            let scan = hetmp_scan::scan(&*image, address, form);
            let took = cpu_time() - started;
            let verdict = match scan.fits() {
                Ok(()) => "fits".to_string(),
                Err((why, at)) => format!("{why:?} {at:#x}"),
            };
            let calls: Vec<String> = scan
                .calls
                .entries()
                .map(|entry| format!("{entry:?}"))
                .collect();
            #[cfg(target_arch = "x86_64")]
            let parts = match hetmp_scan::uneven::Plan::of(&*image, address) {
                Ok(_) => " uneven-parts".to_string(),
                Err((why, at)) => format!(" equal-parts: {why:?} {at:#x}"),
            };
            #[cfg(not(target_arch = "x86_64"))]
            let parts = "";
            let word = verdict.split(' ').next().unwrap_or("").to_string();
            *all.entry(word).or_default() += 1;
            println!(
                "{path} {name} {address:#x} {verdict} chunks {} calls {}{}{}{} {} us{}{parts}",
                scan.chunks,
                calls.join(","),
                if scan.calls.foreign { " foreign" } else { "" },
                if scan.calls.unknown {
                    format!(" unknown@{:#x}", scan.calls.unknown_address)
                } else {
                    String::new()
                },
                if scan.calls.thread_local {
                    " thread-local"
                } else {
                    ""
                },
                took / 1000,
                match (
                    scan.fits(),
                    hetmp_scan::divides_freely(&*image, address, form)
                ) {
                    (Ok(()), Ok(())) => ", divides freely".to_string(),
                    (Ok(()), Err(at)) => format!(", division noticed {at:#x}"),
                    _ => String::new(),
                },
            );
        }
    }
    println!("{all:?}");
}

/// Time that this thread has used, in nanoseconds.
fn cpu_time() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock is one of Linux's, and `time` lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
