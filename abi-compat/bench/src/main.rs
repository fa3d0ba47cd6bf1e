//! The command `bench`: parses arguments and calls the part of the library (`lib.rs`) that the first
//! argument names: `omp`, `sched`, `simd`, `mq`, `shmem` or `gio`. `scripts/bench` builds what the parts
//! need, and starts this program.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hetmp_bench as bench;

/// Times of our library compared with those of the library it replaces. No time makes
/// a run fail: the exit status is 1 where a row could not be run, 2 where
/// nothing could.
#[derive(Parser)]
#[command(
    name = "bench",
    after_help = "Example: scripts/bench omp --quick --suites sync --configs '2t default'"
)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// EPCC-style microbenchmarks, start-up and loaded-machine rows against the system's libgomp
    Omp(bench::OmpArgs),
    /// Loop schedules on nodes of unlike speed, with the kernels of c-tests/kernels
    Sched(bench::SchedArgs),
    /// Kernels in hetmp/simd.h compared with the same kernels in intrinsics
    Simd(bench::SimdArgs),
    /// Message queues compared with hand-written copies, rtrb and ArrayQueue, and the paper's figures
    Mq(bench::MqArgs),
    /// OpenSHMEM operations compared with another library's, and compared with plain memory
    Shmem(bench::ShmemArgs),
    /// Who initiates: the workgroup, a CPU thread for it, or the main thread between kernels
    Gio(bench::GioArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse().what {
        What::Omp(args) => bench::omp(&args),
        What::Sched(args) => bench::sched(&args),
        What::Simd(args) => bench::simd(&args),
        What::Mq(args) => bench::mq(&args),
        What::Shmem(args) => bench::shmem(&args),
        What::Gio(args) => bench::gio(&args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("hetmp: {error:#}");
        ExitCode::from(2)
    })
}
