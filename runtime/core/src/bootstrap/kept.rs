//! A launcher's connection, kept by a [thread](Keeper) with a table of descriptors of its own: were it among the
//! program's, a program that closes what it did not open would end the job, or get our messages into its files.

use super::{exit_now, Error, Job, Launcher, SECRET};
use crate::keeper::Keeper;
use std::net::IpAddr;

/// What does not change while the job runs.
#[derive(Clone)]
struct Facts {
    launcher: Launcher,
    rank: u32,
    size: u32,
    local: Vec<u32>,
    secret: [u8; SECRET],
    address: Option<IpAddr>,
}

pub(super) struct Kept {
    facts: Facts,
    keeper: Keeper<Box<dyn Job>>,
}

/// Connects in a thread of its own, which keeps the connection.
pub(super) fn connect<J: Job + 'static>(
    launcher: Launcher,
    connect: impl FnOnce() -> Result<J, Error> + Send + 'static,
) -> Result<Kept, Error> {
    let make = move || match connect() {
        Ok(job) => {
            let facts = Facts {
                launcher: job.launcher(),
                rank: job.rank(),
                size: job.size(),
                local: job.local_ranks().to_vec(),
                secret: *job.secret(),
                address: job.address(),
            };
            (Ok(facts), Some(Box::new(job) as Box<dyn Job>))
        }
        Err(e) => (Err(e), None),
    };
    let (keeper, facts) = Keeper::start(c"hetmp-job", &[], make).map_err(|e| Error::Lost {
        launcher,
        why: format!("a thread: {e}"),
    })?;
    facts.map(|facts| Kept { facts, keeper })
}

impl Kept {
    /// Has the thread do `what`. A process that was forked from the job's has no such thread.
    fn run<R: Send + 'static>(
        &self,
        what: impl FnOnce(&mut dyn Job) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, Error> {
        let lost = || Error::Lost {
            launcher: self.facts.launcher,
            why: "this process was forked from one of the job's".to_owned(),
        };
        let done = self.keeper.run(move |job| what(&mut **job));
        done.ok_or_else(lost)?
    }
}

impl Job for Kept {
    fn launcher(&self) -> Launcher {
        self.facts.launcher
    }
    fn rank(&self) -> u32 {
        self.facts.rank
    }
    fn size(&self) -> u32 {
        self.facts.size
    }
    fn local_ranks(&self) -> &[u32] {
        &self.facts.local
    }
    fn secret(&self) -> &[u8; SECRET] {
        &self.facts.secret
    }
    fn address(&self) -> Option<IpAddr> {
        self.facts.address
    }
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), Error> {
        let (key, value) = (key.to_owned(), value.to_vec());
        self.run(move |job| job.put(&key, &value))
    }
    fn fence(&mut self) -> Result<(), Error> {
        self.run(|job| job.fence())
    }
    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, Error> {
        let key = key.to_owned();
        self.run(move |job| job.get(rank, &key))
    }
    fn abort(&mut self, status: i32, message: &str) -> ! {
        // By this thread, which has the program's descriptors.
        crate::report::flush_output();
        let message = message.to_owned();
        let _ = self.run(move |job| -> Result<(), Error> { job.abort(status, &message) });
        exit_now(status)
    }
    fn finalize(&mut self) -> Result<(), Error> {
        self.run(|job| job.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread has none of the process's descriptors, and so not its table.
    #[test]
    fn a_connection_is_not_among_the_programs_descriptors() {
        let kept = connect(Launcher::Alone, super::super::alone::Alone::new).expect("connected");
        assert_eq!((kept.rank(), kept.size()), (0, 1));
        let count = kept.run(|_| {
            let all = std::fs::read_dir("/proc/thread-self/fd");
            Ok(all.map(Iterator::count).ok())
        });
        // The folder itself.
        assert_eq!(count, Ok(Some(1)));
    }
}
