//! The thread that reads regions' code.
//!
//! A region is read when it is first to be looked at, from its first instruction to the last in one go: mostly in some
//! tenths of a millisecond. Who opens the region waits for that, so that already the first execution, which may be the
//! only one, runs as the code allows. But it waits only while reading takes no more than what is left in the
//! [`ledger`]. After that the reader works next to the program, as the least of its threads (`nice` 19), and the
//! verdict serves a later execution. What an earlier run has read is not read.
//!
//! **When the code is there.** The program itself is never unloaded, so that its code can be read at any time. Other
//! objects' code is there for certain only while one of its regions is open. So their regions are read by whoever opens
//! them, and not begun when nothing is left in the ledger.

use super::fit::{self, Fit};
use super::{announce, ledger};
use crate::team::region::Form;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use core::time::Duration;
use hetmp_core::whole::{self, Held};
use hetmp_core::{aside, sys, thread};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// The least of all priorities. Next to threads that compute all the time it leaves the reader about a hundredth of a
/// processor.
const LEAST: libc::c_int = 19;

/// One function to be read. `asked` as for [`fit::read`].
#[derive(Debug)]
struct Job {
    code: usize,
    form: Form,
    asked: bool,
    /// The clock of the reader's processor time, and what it showed when the job began; 0: it has not begun.
    clock: AtomicI32,
    began_ns: AtomicU64,
    fit: Mutex<Option<Fit>>,
    ended: Condvar,
}

/// The reader, and what it has to do.
#[derive(Debug)]
struct Reader {
    /// Jobs that have ended stay until somebody opens the region again.
    jobs: Vec<Arc<Job>>,
    /// There is a thread, which looks at `jobs` once more before it ends.
    runs: bool,
    /// Its number; 0: it has not begun.
    tid: libc::pid_t,
    /// Nobody waits for it.
    beside: bool,
}

impl Reader {
    const IDLE: Reader = Reader {
        jobs: Vec::new(),
        runs: false,
        tid: 0,
        beside: false,
    };
}

static READER: whole::Mutex<Reader> = whole::Mutex::new(Reader::IDLE);

fn lock() -> Held<'static, Reader> {
    READER.lock()
}

/// What the function at `code` shows, which is being opened; `None`: it is not known yet. `asked` as for [`fit::read`].
/// `must`: reads it now, whatever that takes.
pub(super) fn read(code: usize, form: Form, asked: bool, must: bool) -> Option<Fit> {
    if let Some(fit) = aside::run(|| fit::known(code, form, asked)) {
        return Some(fit);
    }
    let here = || ledger::spend(|| aside::run(|| fit::read(code, form, asked)));
    if must {
        return Some(here());
    }
    let left_ns = ledger::left_ns();
    if !announce::is_in_program(code) {
        return (left_ns > 0).then(here);
    }
    match beside(code, form, asked, left_ns) {
        Ok(fit) => fit,
        Err(NoThread) => Some(here()),
    }
}

/// There is no thread that could read.
#[derive(Debug)]
struct NoThread;

/// Lets the reader read. Waits for it while it takes no more than this many nanoseconds, unless it has other things to
/// do.
fn beside(code: usize, form: Form, asked: bool, left_ns: u64) -> Result<Option<Fit>, NoThread> {
    let mut reader = lock();
    let known = |job: &&Arc<Job>| job.code == code && (job.asked || !asked);
    let (job, is_only_one) = match reader.jobs.iter().find(known) {
        Some(job) => (Arc::clone(job), false),
        None => {
            let job = Arc::new(Job {
                code,
                form,
                asked,
                clock: AtomicI32::new(0),
                began_ns: AtomicU64::new(0),
                fit: Mutex::new(None),
                ended: Condvar::new(),
            });
            let is_only_one = reader.jobs.iter().all(|job| job.fit().is_some());
            if !reader.runs && thread::start(c"hetmp-reader", serve).is_err() {
                return Err(NoThread);
            }
            reader.runs = true;
            reader.jobs.push(Arc::clone(&job));
            (job, is_only_one)
        }
    };
    drop(reader);
    let fit = if is_only_one {
        job.wait(left_ns)
    } else {
        *job.fit()
    };
    if fit.is_some() {
        lock().jobs.retain(|other| !Arc::ptr_eq(other, &job));
    }
    Ok(fit)
}

/// The thread. It ends when there is nothing to read, so that a program has no thread more than without it.
fn serve() {
    let mut reader = lock();
    reader.tid = sys::gettid();
    if reader.beside {
        set_least(reader.tid);
    }
    loop {
        let open = |job: &&Arc<Job>| job.clock.load(Ordering::Relaxed) == 0;
        let Some(job) = reader.jobs.iter().find(open).map(Arc::clone) else {
            (reader.runs, reader.tid, reader.beside) = (false, 0, false);
            return;
        };
        drop(reader);
        job.run();
        reader = lock();
    }
}

fn set_least(tid: libc::pid_t) {
    // SAFETY: a system call without pointers. On Linux it concerns this one thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, tid as libc::id_t, LEAST) };
}

impl Job {
    fn fit(&self) -> MutexGuard<'_, Option<Fit>> {
        self.fit.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn run(&self) {
        self.began_ns.store(sys::thread_cpu_ns(), Ordering::Relaxed);
        // Release: who sees the clock sees when the job began.
        self.clock.store(sys::thread_cpu_clock(), Ordering::Release);
        let fit = ledger::spend(|| fit::read(self.code, self.form, self.asked));
        *self.fit() = Some(fit);
        self.ended.notify_all();
    }

    /// Processor time that the job has taken so far. Called before it has ended.
    fn cost_ns(&self) -> u64 {
        match self.clock.load(Ordering::Acquire) {
            0 => 0,
            clock => sys::cpu_ns(clock).saturating_sub(self.began_ns.load(Ordering::Relaxed)),
        }
    }

    /// Waits while the job takes no more than this many nanoseconds.
    fn wait(&self, left_ns: u64) -> Option<Fit> {
        let mut fit = self.fit();
        loop {
            if fit.is_some() {
                return *fit;
            }
            let more_ns = left_ns.saturating_sub(self.cost_ns());
            if more_ns == 0 {
                break;
            }
            let wait = self.ended.wait_timeout(fit, Duration::from_nanos(more_ns));
            fit = wait.unwrap_or_else(|e| e.into_inner()).0;
        }
        drop(fit);
        let mut reader = lock();
        reader.beside = reader.runs;
        if reader.tid != 0 {
            set_least(reader.tid);
        }
        None
    }
}

/// Called in the child of a fork, in which the thread does not exist: nobody ends what it had begun.
pub(super) fn after_fork() {
    *lock() = Reader::IDLE;
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    /// Something to read: any functions of this program.
    #[inline(never)]
    fn long(words: &mut [String]) -> usize {
        words.sort_by_key(|word| core::cmp::Reverse(word.len()));
        words.concat().chars().filter(|c| c.is_numeric()).count()
    }

    #[inline(never)]
    fn other(words: &[String]) -> String {
        words.concat().to_ascii_uppercase()
    }

    #[test]
    fn what_is_left_decides_who_waits() {
        let at_once = |code| fit::read(code, Form::Data, true);
        let read = |code, left_ns| beside(code, Form::Data, true, left_ns).expect("a thread");
        let code = long as *const () as usize;
        assert_eq!(read(code, u64::MAX), Some(at_once(code)));
        // The same once more: what was handed out is not kept here.
        assert_eq!(read(code, u64::MAX), Some(at_once(code)));
        // With nothing left nobody waits, unless the reader is as fast; later it is there.
        let code = other as *const () as usize;
        let mut fit = None;
        while fit.is_none() {
            fit = read(code, 0);
            std::thread::yield_now();
        }
        assert_eq!(fit, Some(at_once(code)));
        assert!(lock().jobs.is_empty());
    }
}
