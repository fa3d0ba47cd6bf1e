//! A thread that keeps our descriptors out of the program's reach: it has a table of descriptors of its own.
//!
//! A program may close descriptors that it did not open, and take their numbers. What we need for long, such as a
//! launcher's connection, is therefore not among the program's: callers hand what they want done with it to the thread,
//! and wait.

use crate::bell::LocalBell;
use crate::thread;
use core::ffi::CStr;
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, PoisonError};

type Ask<T> = Box<dyn FnOnce(&mut T) + Send>;

const FREE: u32 = 0;
const ASKED: u32 = 1;
const ENDED: u32 = 2;

/// Where one caller at a time leaves what it asks.
///
/// # Memory ordering
/// The lock carries `ask` and what it writes. `stage` says whose turn it is; it is changed by sequentially consistent
/// exchanges, as [`LocalBell::ring_after_swap`] demands.
struct Desk<T> {
    ask: Mutex<Option<Ask<T>>>,
    stage: AtomicU32,
    asked: LocalBell,
    answered: LocalBell,
}

impl<T> Desk<T> {
    fn serve(&self, kept: &mut T) {
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
            ask.into_iter().for_each(|ask| ask(kept));
            self.free();
        }
    }

    fn free(&self) {
        self.stage.swap(FREE, Ordering::SeqCst);
        self.answered.ring_after_swap();
    }

    fn ask(&self, ask: Ask<T>) {
        *self.ask.lock().unwrap_or_else(PoisonError::into_inner) = Some(ask);
        self.stage.swap(ASKED, Ordering::SeqCst);
        self.asked.ring_after_swap();
        self.wait();
    }

    fn wait(&self) {
        let stage = || self.stage.load(Ordering::Acquire);
        self.answered.sleep_until(&mut || stage() == FREE);
    }
}

/// Closes all descriptors but `numbers`, which are in order, in a table that becomes this thread's own. False if the
/// kernel refuses: then the thread stays in the program's table, and nothing is closed.
fn part(numbers: &[RawFd]) -> bool {
    const UNSHARE: libc::c_uint = 1 << 1;
    let close = |from: u32, to: u32| {
        // SAFETY: the call makes the table this thread's own before it closes anything; what the thread was started for
        // uses no descriptors but `numbers`.
        from > to || unsafe { libc::syscall(libc::SYS_close_range, from, to, UNSHARE) } == 0
    };
    let mut from = 0;
    for number in numbers.iter().map(|n| *n as u32) {
        if number > from && !close(from, number - 1) {
            return false;
        }
        from = number + 1;
    }
    close(from, u32::MAX)
}

/// A thread that keeps a value of type `T`. It ends, and drops the value, when this is dropped.
pub struct Keeper<T> {
    desk: Arc<Desk<T>>,
    /// The process that has the thread.
    pid: u32,
}

impl<T> fmt::Debug for Keeper<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}

impl<T: 'static> Keeper<T> {
    /// Starts the thread. It takes `numbers` along, which are closed here: no other value of this process owns them.
    /// Then it runs `make`, whose first result is returned; where the second one is missing, the thread ends.
    ///
    /// # Errors
    /// The system has no room for another thread.
    pub fn start<F: Send + 'static>(
        name: &CStr,
        numbers: &[RawFd],
        make: impl FnOnce() -> (F, Option<T>) + Send + 'static,
    ) -> io::Result<(Keeper<T>, F)> {
        let desk = Arc::new(Desk {
            ask: Mutex::new(None),
            // Until it has begun, the thread has a first request of its own.
            stage: AtomicU32::new(ASKED),
            asked: LocalBell::default(),
            answered: LocalBell::default(),
        });
        let begun = Arc::new(Mutex::new(None));
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        let (its, found, along) = (desk.clone(), begun.clone(), numbers.clone());
        let body = move || {
            let parted = part(&along);
            let (first, kept) = make();
            *found.lock().unwrap_or_else(PoisonError::into_inner) = Some((parted, first));
            its.free();
            if let Some(mut kept) = kept {
                its.serve(&mut kept);
            }
        };
        thread::start(name, body)?;
        desk.wait();
        let begun = begun.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (parted, first) = begun.ok_or_else(|| io::Error::other("no answer"))?;
        if parted {
            for number in numbers {
                // SAFETY: the caller has given the descriptor away, and the thread has it in its own table.
                unsafe { libc::close(number) };
            }
        }
        let pid = std::process::id();
        Ok((Keeper { desk, pid }, first))
    }

    /// Has the thread do `what`. One caller at a time. `None` in a process that was forked from this one, which has no
    /// such thread.
    pub fn run<R: Send + 'static>(
        &self,
        what: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> Option<R> {
        if std::process::id() != self.pid {
            return None;
        }
        let answer = Arc::new(Mutex::new(None));
        let to = answer.clone();
        self.desk.ask(Box::new(move |kept| {
            *to.lock().unwrap_or_else(PoisonError::into_inner) = Some(what(kept));
        }));
        let got = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        got
    }
}

impl<T> Drop for Keeper<T> {
    fn drop(&mut self) {
        self.desk.stage.swap(ENDED, Ordering::SeqCst);
        self.desk.asked.ring_after_swap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_kept_socket_is_not_among_the_programs_descriptors() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        let number = ours.as_raw_fd();
        let make = move || ((), Some(ours));
        let (keeper, ()) = Keeper::start(c"test", &[number], make).expect("a thread");
        let count = keeper.run(|_| {
            let all = std::fs::read_dir("/proc/thread-self/fd");
            all.map(Iterator::count).ok()
        });
        // The folder itself, and the socket.
        assert_eq!(count, Some(Some(2)));
        theirs.set_nonblocking(true).expect("a socket");
        let mut byte = [0];
        // Closed here, it is open there.
        let quiet = theirs.read(&mut byte).map_err(|e| e.kind());
        assert_eq!(quiet, Err(io::ErrorKind::WouldBlock));
        theirs.set_nonblocking(false).expect("a socket");
        drop(keeper);
        assert_eq!(theirs.read(&mut byte).expect("the end"), 0);
    }
}
