//! A job whose processes find each other through an exchange of the caller's own: MPI, or a test.

use super::{exit_now, random_secret, Error, Job, Keys, Launcher, MAX_VALUE, SECRET};
use std::net::IpAddr;

/// The caller's exchange, whose calls mean the same as those of [`Job`].
pub trait Exchange: Send {
    /// This process' number, below [`Exchange::size`].
    fn rank(&self) -> u32;
    /// The number of processes.
    fn size(&self) -> u32;
    /// Keeps a value for the others to get after the next fence. No key is put twice.
    ///
    /// # Errors
    /// A text that says what happened.
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), String>;
    /// Waits until every process called it.
    ///
    /// # Errors
    /// A text that says what happened.
    fn fence(&mut self) -> Result<(), String>;
    /// What `rank` put under `key` before a fence that has ended.
    ///
    /// # Errors
    /// A text that says what happened.
    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, String>;
    /// Ends every process; this one ends with `status`. If the call returns, only this process ends.
    fn abort(&mut self, status: i32, message: &str);
}

/// Which machine a process runs on, and the job's secret.
const KEY: &str = "hetmp-own";

struct Own {
    exchange: Box<dyn Exchange>,
    local: Vec<u32>,
    secret: [u8; SECRET],
    keys: Keys,
}

fn lost(why: String) -> Error {
    Error::Lost {
        launcher: Launcher::Own,
        why,
    }
}

/// Equal for two processes exactly if they run on one machine since its last start and see each other in `/proc`: the
/// kernel's id of this boot, and the name of the process's pid namespace.
fn machine() -> Vec<u8> {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let seen = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    [boot, seen.into_os_string().into_encoded_bytes()].concat()
}

/// Joins the job behind `exchange`. Collective: all ranks put, fence and get once.
///
/// # Errors
/// What the exchange says, or a number of processes that cannot be.
pub fn through(mut exchange: Box<dyn Exchange>) -> Result<Box<dyn Job>, Error> {
    let (rank, size) = (exchange.rank(), exchange.size());
    if rank >= size {
        return Err(Error::Usage(format!(
            "rank {rank}: not in the job (expected 0 to {})",
            i64::from(size) - 1
        )));
    }
    // Every rank makes a secret, because all must put the same keys; the job takes that of rank 0.
    let secret = random_secret()?;
    let own = [&secret[..], &machine()].concat();
    exchange.put(KEY, &own).map_err(lost)?;
    exchange.fence().map_err(lost)?;
    let mut job = Own {
        exchange,
        local: Vec::new(),
        secret,
        keys: Keys::default(),
    };
    for r in 0..size {
        let theirs = job.exchange.get(r, KEY).map_err(lost)?.unwrap_or_default();
        let Some((head, machine)) = theirs.split_first_chunk::<SECRET>() else {
            return Err(lost(format!("rank {r} has put nothing")));
        };
        if r == 0 {
            job.secret = *head;
        }
        if machine == &own[SECRET..] {
            job.local.push(r);
        }
    }
    Ok(Box::new(job))
}

impl Job for Own {
    fn launcher(&self) -> Launcher {
        Launcher::Own
    }
    fn rank(&self) -> u32 {
        self.exchange.rank()
    }
    fn size(&self) -> u32 {
        self.exchange.size()
    }
    fn local_ranks(&self) -> &[u32] {
        &self.local
    }
    fn secret(&self) -> &[u8; SECRET] {
        &self.secret
    }
    fn address(&self) -> Option<IpAddr> {
        (self.local.len() == self.size() as usize).then_some(IpAddr::from([127, 0, 0, 1]))
    }
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), Error> {
        self.keys.put(key, value)?;
        debug_assert!(value.len() <= MAX_VALUE);
        self.exchange.put(key, value).map_err(lost)
    }
    fn fence(&mut self) -> Result<(), Error> {
        self.exchange.fence().map_err(lost)
    }
    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, Error> {
        Keys::get(rank, self.size(), key)?;
        self.exchange.get(rank, key).map_err(lost)
    }
    fn abort(&mut self, status: i32, message: &str) -> ! {
        crate::report::flush_output();
        crate::report::warn(format_args!(
            "rank {} ended the job with status {status}: {message}",
            self.rank()
        ));
        self.exchange.abort(status, message);
        exit_now(status)
    }
    fn finalize(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
