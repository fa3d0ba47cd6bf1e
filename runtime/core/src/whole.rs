//! What a child of `fork` has to find whole.
//!
//! A child has its parent's memory and one of its threads. What another thread was doing stays half done there: a lock
//! that it held is never released, a first use that it was making never ends, and the loader's list that it was reading
//! stays locked. So a fork waits until no other thread is within such a [`stretch`], and threads that come to one wait
//! until the fork is made. `_Fork` and the bare system call do not come here: such children have to be without threads.
//!
//! A stretch is short and waits for no other thread, but a busy machine may leave its thread without a processor for
//! seconds: on two CPUs with a hundred threads that compute, or where the thread is one of `nice` 19. Should one last
//! for ever, forks give up after [`FOR_FORKS`]: then the child may hang, but never the program.

use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use core::time::Duration;
use std::sync::PoisonError;
use std::time::Instant;

/// How long a fork waits for stretches to end, and a stretch for forks. The system may copy a large process for
/// seconds.
const FOR_FORKS: Duration = Duration::from_secs(10);
/// How long [`patiently`] tries.
const PATIENCE: Duration = Duration::from_secs(2);

const NONE: libc::pthread_key_t = libc::pthread_key_t::MAX;

/// The key under which each thread keeps how many stretches it is within; [`NONE`] before [`watch`].
static KEY: AtomicU32 = AtomicU32::new(NONE);
/// Threads that are within a stretch.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Forks that are being made.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// The process that the two counts are of.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Has forks wait. To be called when the library is loaded: before any thread is within a stretch, and so early that
/// the handlers which other libraries add run before ours, and may use the runtime.
pub fn watch() {
    let mut key = NONE;
    // SAFETY: a live place for the key. The handlers can be called at any time, since the library is never unloaded.
    unsafe {
        if libc::pthread_key_create(&raw mut key, None) != 0 {
            return;
        }
        if libc::pthread_atfork(Some(before), Some(in_parent), Some(renew)) != 0 {
            return;
        }
    }
    PROCESS.store(process(), Ordering::Relaxed);
    KEY.store(key, Ordering::Relaxed);
}

fn process() -> libc::pid_t {
    // SAFETY: getpid has no preconditions.
    unsafe { libc::getpid() }
}

/// How many stretches the calling thread is within.
fn depth(key: libc::pthread_key_t) -> usize {
    // SAFETY: the key was created, and is never deleted.
    unsafe { libc::pthread_getspecific(key) }.addr()
}

fn set_depth(key: libc::pthread_key_t, depth: usize) {
    // SAFETY: the key was created, and has no destructor that would follow the value. Where the system has no memory
    // for it, the thread counts as outside.
    unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(depth)) };
}

extern "C" fn before() {
    if PROCESS.load(Ordering::Relaxed) != process() {
        // A child that was made past the handlers has its parent's counts.
        renew();
    }
    // Sequentially consistent, here and in `stretch`: of a thread that comes to a stretch and one that forks, at least
    // one sees the other.
    FORKS.fetch_add(1, Ordering::SeqCst);
    let own = u32::from(depth(KEY.load(Ordering::Relaxed)) > 0);
    // A handler of a signal forks within a stretch: another thread may wait there for what this one holds.
    let patience = if own > 0 { PATIENCE } else { FOR_FORKS };
    attempts(patience, || {
        (INSIDE.load(Ordering::SeqCst) <= own).then_some(())
    });
}

extern "C" fn in_parent() {
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// The only thread of this process is the calling one.
extern "C" fn renew() {
    PROCESS.store(process(), Ordering::Relaxed);
    FORKS.store(0, Ordering::SeqCst);
    let own = u32::from(depth(KEY.load(Ordering::Relaxed)) > 0);
    INSIDE.store(own, Ordering::SeqCst);
}

/// The calling thread is within a stretch as long as this lives.
#[derive(Debug)]
pub struct Stretch {
    key: libc::pthread_key_t,
    // The count is the thread's own.
    _here: core::marker::PhantomData<*const ()>,
}

/// Begins a stretch that no fork copies half done.
pub fn stretch() -> Stretch {
    let key = KEY.load(Ordering::Relaxed);
    if key != NONE {
        let depth = depth(key);
        set_depth(key, depth + 1);
        if depth == 0 {
            INSIDE.fetch_add(1, Ordering::SeqCst);
            if FORKS.load(Ordering::SeqCst) > 0 {
                give_way();
            }
        }
    }
    Stretch {
        key,
        _here: core::marker::PhantomData,
    }
}

#[cold]
fn give_way() {
    attempts(FOR_FORKS, || {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        attempts(FOR_FORKS, || {
            if PROCESS.load(Ordering::Relaxed) != process() {
                renew();
            }
            (FORKS.load(Ordering::SeqCst) == 0).then_some(())
        });
        INSIDE.fetch_add(1, Ordering::SeqCst);
        (FORKS.load(Ordering::SeqCst) == 0).then_some(())
    });
}

impl Drop for Stretch {
    fn drop(&mut self) {
        if self.key != NONE {
            let depth = depth(self.key).saturating_sub(1);
            if depth == 0 {
                INSIDE.fetch_sub(1, Ordering::SeqCst);
            }
            set_depth(self.key, depth);
        }
    }
}

/// A lock that children of `fork` find free, with data that is whole. What panics in tests while it holds the lock
/// leaves it free, too.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

/// The lock is held as long as this lives.
#[derive(Debug)]
pub struct Held<'a, T> {
    // The order of the fields: the lock is released within the stretch.
    held: std::sync::MutexGuard<'a, T>,
    _stretch: Stretch,
}

impl<T> Mutex<T> {
    /// A free lock.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// Takes the lock.
    pub fn lock(&self) -> Held<'_, T> {
        let _stretch = stretch();
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Held { held, _stretch }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<Held<'_, T>> {
        let _stretch = stretch();
        let held = self.0.try_lock().ok()?;
        Some(Held { held, _stretch })
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}

/// A value that its first user makes. A thread that is making it when another one forks would make it for ever in the
/// child, where the next user would wait for it.
#[derive(Debug, Default)]
pub struct OnceLock<T>(std::sync::OnceLock<T>);

impl<T> OnceLock<T> {
    /// No value yet.
    pub const fn new() -> OnceLock<T> {
        OnceLock(std::sync::OnceLock::new())
    }

    /// The value, if it has been made.
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// The value, which `make` makes if nobody has.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        match self.0.get() {
            Some(value) => value,
            None => {
                let _stretch = stretch();
                self.0.get_or_init(make)
            }
        }
    }

    /// Sets the value.
    ///
    /// # Errors
    /// The value that was not needed: there is one.
    pub fn set(&self, value: T) -> Result<(), T> {
        let _stretch = stretch();
        self.0.set(value)
    }
}

/// `dl_iterate_phdr`, with the loader's list locked only within a stretch.
///
/// # Safety
/// `visit` may be called with `data`, and does not unwind.
pub unsafe fn each_object(
    visit: unsafe extern "C" fn(
        *mut libc::dl_phdr_info,
        libc::size_t,
        *mut libc::c_void,
    ) -> libc::c_int,
    data: *mut libc::c_void,
) {
    let _stretch = stretch();
    // SAFETY: this function's contract.
    unsafe { libc::dl_iterate_phdr(Some(visit), data) };
}

/// Tries for two seconds. A lock is normally held for a microsecond; a thread that crashed holds it for ever.
pub fn patiently<T>(attempt: impl FnMut() -> Option<T>) -> Option<T> {
    attempts(PATIENCE, attempt)
}

fn attempts<T>(patience: Duration, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        let it = attempt();
        if it.is_some() || began.elapsed() >= patience {
            return it;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_fork_waits_for_a_stretch_whose_thread_has_no_processor() {
        static LOCK: Mutex<u32> = Mutex::new(0);
        watch();
        let (tell, told) = mpsc::channel();
        let holder = std::thread::spawn(move || {
            let mut held = LOCK.lock();
            *held = 1;
            tell.send(()).expect("the test waits");
            std::thread::sleep(Duration::from_millis(700));
            *held = 2;
        });
        told.recv().expect("the lock is held");
        // SAFETY: the child calls what a signal handler may call, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let whole = LOCK.try_lock().is_some_and(|held| *held == 2);
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!whole)) };
        }
        let mut status = -1;
        // SAFETY: `status` is live.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        holder.join().expect("it has ended");
        assert_eq!(status, 0);
    }
}
