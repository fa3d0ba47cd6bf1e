//! `hetrun --who`: a process of any kind of job. It tries the exchange, and prints its place in the job.

use hetmp_core::bootstrap::{connect, Error};
use std::fmt::Write as _;

/// The line that is printed. If there is one, the values of all ranks have arrived here.
pub(crate) fn run() -> Result<String, Error> {
    let mut job = connect()?;
    let (rank, size) = (job.rank(), job.size());
    let mine = format!("rank {rank} says {}", "x".repeat(500 + rank as usize % 100));
    job.put("who", mine.as_bytes())?;
    job.fence()?;
    for other in 0..size {
        let expected = format!(
            "rank {other} says {}",
            "x".repeat(500 + other as usize % 100)
        );
        let got = job.get(other, "who")?;
        if got.as_deref() != Some(expected.as_bytes()) {
            return Err(Error::Protocol {
                launcher: job.launcher(),
                what: format!("rank {other}'s value did not arrive at rank {rank}"),
            });
        }
    }
    let mut line = format!("rank {rank} of {size}, by {}", job.launcher());
    let local: Vec<String> = job.local_ranks().iter().map(u32::to_string).collect();
    // Writing to a String cannot fail.
    let _ = write!(line, ", on this machine {}", local.join(","));
    if let Some(address) = job.address() {
        let _ = write!(line, ", at {address}");
    }
    let _ = write!(line, ", values of {size} exchanged");
    job.finalize()?;
    Ok(line)
}
