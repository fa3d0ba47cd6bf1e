//! Job bootstrap: which process of a job this is, and how it finds the others.
//!
//! * **What it is**: [`connect`] finds out which launcher started this process (hetrun, PMI-1, PMI-2, PMIx, or none)
//!   and returns a [`Job`]. A job has the rank, the number of ranks, the ranks on this machine, a key-value exchange
//!   by which the processes learn each other's addresses, and a secret by which they recognise each other's
//!   connections. [`through`] makes a job from an exchange of the caller's own.
//! * **What it owns**: the connection to the launcher, nothing else; no data of any API travels
//!   here.
//! * **Data in**: environment variables and messages of the launcher; the parsers of both are pure
//!   ([`wire`], [`pmi`], [`mapping`]). **Data out**: plain values.
//!
//! A value that was put is visible to all after the next [`Job::fence`]. A key is put at most once
//! by a rank, since not every launcher's exchange can replace values.

pub mod mapping;
pub mod pmi;
pub mod wire;

mod alone;
mod hetrun;
mod kept;
mod own;
mod pmi1;
mod pmi2;
mod pmix;
mod values;

pub use own::{through, Exchange};

#[cfg(test)]
mod tests;

use crate::env::{live, snapshot};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::fmt;
use std::net::IpAddr;

/// The longest key, in bytes. With a rank and a piece's number it must fit into PMI's 64.
pub(crate) const MAX_KEY: usize = 32;
/// The longest value, in bytes.
pub(crate) const MAX_VALUE: usize = 64 * 1024;
/// The most processes of a job.
pub(crate) const MAX_SIZE: u32 = 1 << 20;
/// The length of [`Job::secret`], in bytes.
pub const SECRET: usize = 32;

/// Who started this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Nobody: a job of one.
    Alone,
    /// Our `hetrun`, which is also installed as `oshrun`.
    Hetrun,
    /// A launcher that speaks PMI-1: hydra's `mpiexec` and others.
    Pmi1,
    /// A launcher that speaks PMI-2: `srun --mpi=pmi2`.
    Pmi2,
    /// A launcher that speaks PMIx: Open MPI's `mpirun`, `prterun`, `srun --mpi=pmix`.
    Pmix,
    /// The caller, with an exchange of its own.
    Own,
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alone => "alone",
            Self::Hetrun => "hetrun",
            Self::Pmi1 => "pmi1",
            Self::Pmi2 => "pmi2",
            Self::Pmix => "pmix",
            Self::Own => "own",
        })
    }
}

/// What went wrong. The text is one line, for [`crate::report`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A variable has a value that cannot be used.
    Environment {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is expected instead.
        expected: &'static str,
    },
    /// The launcher is gone, or cannot be reached.
    Lost {
        /// Which launcher.
        launcher: Launcher,
        /// Why, as far as known.
        why: String,
    },
    /// The launcher said something that is not in its protocol, or refused.
    Protocol {
        /// Which launcher.
        launcher: Launcher,
        /// What it said.
        what: String,
    },
    /// A bad key, value or rank from the caller.
    Usage(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment {
                name,
                value,
                expected,
            } => write!(f, "{name}: '{value}': not usable (expected {expected})"),
            Self::Lost { launcher, why } => {
                write!(f, "launcher {launcher}: the connection is needed ({why})")
            }
            Self::Protocol { launcher, what } => {
                write!(f, "launcher {launcher}: {what} (expected its protocol)")
            }
            Self::Usage(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

/// A process's place in its job, and its way to the others.
pub trait Job: Send {
    /// Who started it.
    fn launcher(&self) -> Launcher;
    /// This process's number, below [`Job::size`].
    fn rank(&self) -> u32;
    /// The number of processes.
    fn size(&self) -> u32;
    /// The ranks on this machine, ascending, this one among them.
    fn local_ranks(&self) -> &[u32];
    /// Random bytes that are the same in every process of this job and in no other job. Processes prove by them that
    /// a connection belongs to the job.
    fn secret(&self) -> &[u8; SECRET];
    /// The address by which the other processes reach this one. Known if the launcher tells it, or if the job is on
    /// one machine: then it is the loopback address. This process need not listen at any other address.
    fn address(&self) -> Option<IpAddr>;
    /// Keeps `value` (at most `MAX_VALUE` bytes) for the others to get after the next fence.
    ///
    /// # Errors
    /// [`Error::Usage`] for a key put before, or that is not 1 to `MAX_KEY` letters, digits,
    /// `.`, `-` and `_` (and does not begin with `hetmp.`), or for too long a value; else what happened to the
    /// launcher.
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), Error>;
    /// Waits until every process of the job called it; what each put before is then visible to all.
    ///
    /// # Errors
    /// What happened to the launcher.
    fn fence(&mut self) -> Result<(), Error>;
    /// What `rank` put under `key` before a fence that has ended; `None` if it put nothing.
    ///
    /// # Errors
    /// [`Error::Usage`] for a bad key or rank; else what happened to the launcher.
    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, Error>;
    /// Ends every process of the job; this one ends with `status`. `message` is one line for the user. Text that
    /// waits in the program's standard output is written out first.
    fn abort(&mut self, status: i32, message: &str) -> !;
    /// Says that this process is done with the job, so that its end is no accident even while the others go on.
    /// Nothing may be put, got or fenced afterwards.
    ///
    /// # Errors
    /// What happened to the launcher.
    fn finalize(&mut self) -> Result<(), Error>;
    /// True if the launcher has closed its end of the connection. Then nobody would notice how this process ends, or
    /// end the others. False where the protocol cannot tell. Never blocks.
    fn is_gone(&self) -> bool {
        false
    }
}

/// Finds the launcher and joins the job. Call it once in every process: under PMI and PMIx it begins with a fence,
/// which waits for all processes.
///
/// `HETMP_BOOTSTRAP` names the way; unset, it is found by the variables that launchers set.
///
/// # Errors
/// A value in the environment that cannot be, or a launcher that cannot be reached or refuses.
pub fn connect() -> Result<Box<dyn Job>, Error> {
    // Launchers' variables (`PMI_FD` and others) are not in the table of our settings, so the snapshot does not have
    // them.
    let text = |name: &str| {
        let value = match name {
            "HETMP_BOOTSTRAP" => snapshot().get(name).map(<[u8]>::to_vec),
            _ => {
                let name = CString::new(name).ok()?;
                // SAFETY: a job is joined inside of one call of the program's, which must not change the environment
                // in another thread meanwhile (as for the snapshot). The value is copied at once.
                unsafe { live(&name) }.map(|v| v.to_bytes().to_vec())
            }
        };
        value.map(|v| String::from_utf8_lossy(&v).into_owned())
    };
    let launcher = choose(&text)?;
    Ok(match launcher {
        Launcher::Alone => Box::new(alone::Alone::new()?),
        Launcher::Hetrun => {
            let value = text("HETMP_JOB").unwrap_or_default();
            Box::new(kept::connect(launcher, move || {
                hetrun::Hetrun::connect(&value)
            })?)
        }
        Launcher::Pmi1 => Box::new(pmi1::connect(&text)?),
        Launcher::Pmi2 => Box::new(pmi2::connect(&text)?),
        Launcher::Pmix => Box::new(pmix::Pmix::connect()?),
        Launcher::Own => unreachable!("no variable speaks of an exchange of the caller's own"),
    })
}

/// Which launcher the environment names. hetrun is looked for first: it may itself run under another launcher, and
/// then its processes see that launcher's variables too.
fn choose(text: &dyn Fn(&str) -> Option<String>) -> Result<Launcher, Error> {
    if let Some(way) = text("HETMP_BOOTSTRAP") {
        return match way.trim().to_ascii_lowercase().as_str() {
            "alone" => Ok(Launcher::Alone),
            "hetrun" => Ok(Launcher::Hetrun),
            "pmi1" => Ok(Launcher::Pmi1),
            "pmi2" => Ok(Launcher::Pmi2),
            "pmix" => Ok(Launcher::Pmix),
            _ => Err(Error::Environment {
                name: "HETMP_BOOTSTRAP",
                value: way,
                expected: "alone, hetrun, pmi1, pmi2 or pmix",
            }),
        };
    }
    Ok(if text("HETMP_JOB").is_some() {
        Launcher::Hetrun
    } else if text("PMI_FD").is_some() {
        // Both set PMI_FD. Slurm's PMI-2 plugin also names the job. hydra does not, and PMI-1 is the protocol it
        // speaks best.
        if text("PMI_JOBID").is_some() {
            Launcher::Pmi2
        } else {
            Launcher::Pmi1
        }
    } else if text("PMIX_NAMESPACE").is_some() && text("PMIX_RANK").is_some() {
        Launcher::Pmix
    } else {
        Launcher::Alone
    })
}

/// The keys that this process has put, and the checks of keys, values and ranks.
#[derive(Default)]
struct Keys(BTreeSet<String>);

impl Keys {
    fn check(key: &str) -> Result<(), Error> {
        let fits = (1..=MAX_KEY).contains(&key.len())
            && key
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
            && !key.starts_with("hetmp.");
        if fits {
            Ok(())
        } else {
            Err(Error::Usage(format!(
                "key {key:?}: not a name (expected 1 to {MAX_KEY} letters, digits, '.', '-' and '_', not beginning \
                    with 'hetmp.')"
            )))
        }
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), Error> {
        Self::check(key)?;
        if value.len() > MAX_VALUE {
            return Err(Error::Usage(format!(
                "value of key {key}: {} bytes (expected at most {MAX_VALUE})",
                value.len()
            )));
        }
        if !self.0.insert(key.to_owned()) {
            return Err(Error::Usage(format!(
                "key {key}: put twice (expected a new key)"
            )));
        }
        Ok(())
    }

    fn get(rank: u32, size: u32, key: &str) -> Result<(), Error> {
        Self::check(key)?;
        if rank >= size {
            return Err(Error::Usage(format!(
                "rank {rank}: not in the job (expected 0 to {})",
                size - 1
            )));
        }
        Ok(())
    }
}

/// Fresh random bytes of the kernel.
fn random_secret() -> Result<[u8; SECRET], Error> {
    use std::io::Read as _;
    let mut secret = [0; SECRET];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut secret))
        .map_err(|error| Error::Usage(format!("file /dev/urandom: it is needed ({error})")))?;
    Ok(secret)
}

/// A number in a variable of a launcher.
fn number(
    text: &dyn Fn(&str) -> Option<String>,
    name: &'static str,
    expected: &'static str,
) -> Result<u32, Error> {
    let value = text(name).unwrap_or_default();
    value.trim().parse().map_err(|_| Error::Environment {
        name,
        value: if value.is_empty() {
            "(not set)".to_owned()
        } else {
            value
        },
        expected,
    })
}

/// Ends this process at once. The program's exit handlers must not run: its other threads may be anywhere.
fn exit_now(status: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(status) }
}
