//! The `hetrun` command (`oshrun`): starts the processes of a job, and is their meeting point.
//!
//! * **What it is**: [`launch`] is the loop of a job; [`host`] holds the processes of one machine,
//!   here or, behind an [`agent`] that ssh started ([`remote`]), elsewhere; [`exchange`] is the
//!   job's state, pure.
//! * **What it owns**: the processes, their outputs and inputs, the job's secret. What the
//!   processes say to each other is none of its business, but for the values of the exchange.
//! * **Data in**: arguments, a hosts' file, standard input, signals, messages of the processes
//!   (`hetmp_core::bootstrap::wire`). **Data out**: the processes' output, and one line where a job
//!   fails.
//!
//! What listens: a unix socket on each machine, for this user's processes that know the secret.
//! Nothing listens on a network: other hosts are reached through ssh alone.

mod agent;
mod arguments;
mod exchange;
mod frames;
mod host;
mod hosts;
mod launch;
#[path = "../library.rs"]
mod library;
mod output;
mod remote;
mod signals;
mod who;

use arguments::Command;
use hetmp_core::report::warn;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(line) => {
            warn(format_args!("{line}"));
            return ExitCode::from(2);
        }
    };
    match command {
        Command::Help => say(arguments::HELP),
        Command::Version => say(concat!("hetrun ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Agent => ExitCode::from(agent::run()),
        Command::Who => match who::run() {
            Ok(line) => say(&format!("{line}\n")),
            Err(error) => {
                warn(format_args!("{error}"));
                ExitCode::FAILURE
            }
        },
        Command::Run(run) => match launch::run(&run) {
            Ok(status) => ExitCode::from(status),
            Err((status, line)) => {
                warn(format_args!("{line}"));
                ExitCode::from(status)
            }
        },
    }
}

fn say(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Fresh random bytes of the kernel.
fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| format!("file /dev/urandom: it is needed ({error})"))?;
    Ok(bytes)
}
