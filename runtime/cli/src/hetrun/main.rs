//! The `hetrun` command (`oshrun`): starts the processes of a job, and runs the exchange by which they find each
//! other.
//!
//! * **What it is**: [`options`] is the table of options; [`shares`] makes what each host has to start. [`launch`] is
//!   the loop of a job. [`host`] has the processes of one machine: of this one, or of another one through an [`agent`]
//!   that ssh has started ([`remote`]); [`prepare`] has what they need to start. [`exchange`] is the job's state, pure.
//! * **What it owns**: the processes, their outputs and inputs, and the job's secret. Apart from the values of the
//!   exchange, nothing that the processes send each other passes through it.
//! * **Data in**: arguments, a hosts' file, standard input, signals, messages of the processes
//!   (`hetmp_core::bootstrap::wire`). **Data out**: the processes' output, and one line if a job fails.
//!
//! It listens on a unix socket on each machine, for processes of this user that know the secret. It does not listen
//! on any network: other hosts are reached through ssh.

mod agent;
mod arguments;
mod exchange;
mod frames;
mod host;
mod hosts;
mod launch;
#[path = "../library.rs"]
mod library;
mod options;
mod output;
mod places;
mod prepare;
mod remote;
mod shares;
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
        Command::Help => say(&options::help()),
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
