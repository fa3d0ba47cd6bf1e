//! The two machines: what they are called, and the tools that make code for them.

use object::elf::{EM_AARCH64, EM_X86_64};
use std::process::Command;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    X86_64,
    Aarch64,
}

pub(crate) use Machine::{Aarch64, X86_64};

/// The compilers' languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
    Fortran,
}

impl Machine {
    pub(crate) const BOTH: [Machine; 2] = [X86_64, Aarch64];

    pub(crate) fn name(self) -> &'static str {
        match self {
            X86_64 => "x86_64",
            Aarch64 => "aarch64",
        }
    }

    pub(crate) fn number(self) -> u16 {
        match self {
            X86_64 => EM_X86_64,
            Aarch64 => EM_AARCH64,
        }
    }

    /// Debian's names, on either machine.
    pub(crate) fn tool(self, tool: &str) -> Command {
        Command::new(format!("{}-linux-gnu-{tool}", self.name()))
    }

    pub(crate) fn compiler(self, language: Language) -> Command {
        self.tool(match language {
            Language::C => "gcc",
            Language::Cxx => "g++",
            Language::Fortran => "gfortran",
        })
    }
}

/// Runs a tool that is expected to succeed and to print nothing of interest.
///
/// # Errors
/// One line. What the tool said is on standard error already.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status} (see above)")),
        Err(error) => Err(missing(&name, &error)),
    }
}

/// The line for a tool that does not start.
pub(crate) fn missing(name: &str, error: &std::io::Error) -> String {
    format!(
        "compiler: '{name}': {error} (expected Debian's gcc, g++ and gfortran for both machines)"
    )
}
