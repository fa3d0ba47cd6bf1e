//! A launcher's connection, kept by a thread of its own with a table of descriptors of its own.
//!
//! A program may close descriptors that it did not open, and take their numbers. Were the connection among its descriptors,
//! the job would end, or our messages would go into the program's files. So no thread of the program has it: callers hand what
//! they ask to the thread, and wait.

use super::{exit_now, Error, Job, Launcher, SECRET};
use crate::bell::LocalBell;
use crate::thread;
use core::sync::atomic::{AtomicU32, Ordering};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

type Ask = Box<dyn FnOnce(&mut dyn Job) + Send>;

const FREE: u32 = 0;
const ASKED: u32 = 1;
const ENDED: u32 = 2;

/// Where one caller at a time leaves what it asks.
///
/// # Memory ordering
/// The lock carries `ask` and what it writes. `stage` says whose turn it is; it is changed by sequentially consistent
/// exchanges, as [`LocalBell::ring_after_swap`] demands.
#[derive(Default)]
struct Desk {
    ask: Mutex<Option<Ask>>,
    stage: AtomicU32,
    asked: LocalBell,
    answered: LocalBell,
}

impl Desk {
    fn serve(&self, job: &mut dyn Job) {
        let stage = || self.stage.load(Ordering::Acquire);
        loop {
            self.asked.sleep_until(&mut || stage() != FREE);
            if stage() == ENDED {
                return;
            }
            let ask = self
                .ask
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            ask.into_iter().for_each(|ask| ask(job));
            self.stage.swap(FREE, Ordering::SeqCst);
            self.answered.ring_after_swap();
        }
    }

    fn ask(&self, ask: Ask) {
        *self.ask.lock().unwrap_or_else(PoisonError::into_inner) = Some(ask);
        self.stage.swap(ASKED, Ordering::SeqCst);
        self.asked.ring_after_swap();
        let stage = || self.stage.load(Ordering::Acquire);
        self.answered.sleep_until(&mut || stage() == FREE);
    }
}

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
    desk: Arc<Desk>,
    /// The process that has the thread.
    pid: u32,
}

/// Connects in a thread of its own, which keeps the connection.
pub(super) fn connect<J: Job + 'static>(
    launcher: Launcher,
    connect: impl FnOnce() -> Result<J, Error> + Send + 'static,
) -> Result<Kept, Error> {
    let desk = Arc::new(Desk::default());
    let connected = Arc::new(Mutex::new(None));
    // Until it has connected, the thread has a first request of its own.
    desk.stage.store(ASKED, Ordering::Release);
    let (its, found) = (desk.clone(), connected.clone());
    let body = move || {
        const UNSHARE: libc::c_uint = 1 << 1;
        // SAFETY: closes all descriptors of a table that becomes this thread's own. A kernel that refuses leaves the thread
        // in the program's table.
        unsafe { libc::syscall(libc::SYS_close_range, 0, u32::MAX, UNSHARE) };
        let (facts, job) = match connect() {
            Ok(job) => (
                Ok(Facts {
                    launcher: job.launcher(),
                    rank: job.rank(),
                    size: job.size(),
                    local: job.local_ranks().to_vec(),
                    secret: *job.secret(),
                    address: job.address(),
                }),
                Some(job),
            ),
            Err(e) => (Err(e), None),
        };
        *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(facts);
        its.stage.swap(FREE, Ordering::SeqCst);
        its.answered.ring_after_swap();
        if let Some(mut job) = job {
            its.serve(&mut job);
        }
    };
    let lost = |why: String| Error::Lost { launcher, why };
    thread::start(c"hetmp-job", body).map_err(|e| lost(format!("a thread: {e}")))?;
    let stage = || desk.stage.load(Ordering::Acquire);
    desk.answered.sleep_until(&mut || stage() == FREE);
    let facts = connected
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    Ok(Kept {
        facts: facts.unwrap_or_else(|| Err(lost("no answer".to_owned())))?,
        desk,
        pid: std::process::id(),
    })
}

impl Kept {
    /// Has the thread do `what`. A process that was forked from the job's has no such thread.
    fn run<R: Send + 'static>(
        &self,
        what: impl FnOnce(&mut dyn Job) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, Error> {
        let launcher = self.facts.launcher;
        let lost = |why: &str| Error::Lost {
            launcher,
            why: why.to_owned(),
        };
        if std::process::id() != self.pid {
            return Err(lost("this process was forked from one of the job's"));
        }
        let answer = Arc::new(Mutex::new(None));
        let to = answer.clone();
        self.desk.ask(Box::new(move |job| {
            *to.lock().unwrap_or_else(PoisonError::into_inner) = Some(what(job));
        }));
        let got = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        got.unwrap_or_else(|| Err(lost("no answer")))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.desk.stage.swap(ENDED, Ordering::SeqCst);
        self.desk.asked.ring_after_swap();
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
