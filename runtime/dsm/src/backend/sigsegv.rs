//! Protection by `mprotect`, faults by SIGSEGV: for systems that forbid userfaultfd.
//!
//! The handler runs in the thread that faulted, on that thread's alternate stack if there is one. It writes
//! the fault into a pipe, which a thread of the runtime reads, and sleeps until the page's protection has
//! changed. It touches no memory of the program.

use super::{Backend, Fault, Kind};
use crate::space::Space;
use crate::{Access, NodeId};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use hetmp_core::bell::LocalBell;
use hetmp_core::segment::PAGE;
use hetmp_core::sys;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Places where faulting threads sleep, by page. If two pages share a place, a change of one page also wakes the
/// other's threads: their instructions fault again, and they sleep again.
const PLACES: usize = 256;

/// A place where faulting threads sleep.
struct Place {
    /// Grows when the protection of one of the place's pages has changed.
    changes: AtomicU32,
    bell: LocalBell,
}

/// The view, watched by a signal handler.
pub struct Sigsegv {
    space: Space,
    /// Reading and writing end.
    pipe: (OwnedFd, OwnedFd),
    places: [Place; PLACES],
}

impl core::fmt::Debug for Sigsegv {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sigsegv").finish_non_exhaustive()
    }
}

/// The view that the handler serves; a process has at most one.
static WATCHED: AtomicPtr<Sigsegv> = AtomicPtr::new(core::ptr::null_mut());
/// The program's earlier action, for faults outside of the view.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(core::ptr::null_mut());

/// A fault as it goes through the pipe. A write of this size is never split.
#[repr(C)]
#[derive(Clone, Copy)]
struct Note {
    address: usize,
    write: usize,
}

impl Sigsegv {
    fn place(&self, address: usize) -> &Place {
        &self.places[address / PAGE % PLACES]
    }

    /// Watches the view of `space`.
    ///
    /// # Errors
    /// The system refuses, or a view of this process is watched already.
    ///
    /// # Safety
    /// See [`super::start`].
    pub unsafe fn start(space: &Space, me: NodeId) -> io::Result<&'static Sigsegv> {
        let mut fds = [0; 2];
        // SAFETY: room for two descriptors, which are ours.
        let pipe = unsafe {
            if libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1]))
        };
        let new = Box::into_raw(Box::new(Sigsegv {
            space: space.clone(),
            pipe,
            places: [const {
                Place {
                    changes: AtomicU32::new(0),
                    bell: LocalBell::local(),
                }
            }; PLACES],
        }));
        if WATCHED
            .compare_exchange(
                core::ptr::null_mut(),
                new,
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .is_err()
        {
            return Err(io::Error::other("a shared range is watched already"));
        }
        // SAFETY: `Box::into_raw` gave the pointer, and nobody ever frees it.
        let watched: &'static Sigsegv = unsafe { &*new };
        // SAFETY: plain data, filled by the call; the handler is async-signal-safe (see `fault`).
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            let before = Box::into_raw(Box::new(core::mem::zeroed::<libc::sigaction>()));
            if libc::sigaction(libc::SIGSEGV, &raw const action, before) != 0 {
                return Err(io::Error::last_os_error());
            }
            BEFORE.store(before, Ordering::Release);
        }
        for (_, r) in space.ranges().filter(|(_, r)| r.home != me && r.len > 0) {
            // SAFETY: `driver::start` has mapped the view before it starts a backend.
            let done = unsafe {
                libc::mprotect(
                    core::ptr::with_exposed_provenance_mut(r.start),
                    r.len,
                    libc::PROT_NONE,
                )
            };
            if done != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(watched)
    }
}

/// The signal handler. Async-signal-safe: it writes to the pipe and sleeps on a bell, and uses only the runtime's
/// memory. It does not spin first: the thread that serves the fault may be queued on this very core.
extern "C" fn fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the pointer is null, or `start` leaked the object.
    let watched = unsafe { WATCHED.load(Ordering::Acquire).as_ref() };
    // SAFETY: the kernel passes its description of the fault.
    let address = unsafe { (*info).si_addr() } as usize;
    let ours = watched.filter(|w| w.space.page_of(address).is_some());
    let Some(watched) = ours else {
        not_ours(signal, info, context);
        return;
    };
    // SAFETY: the kernel passes the context of the interrupted thread. Bit 1 of the error code is set for a
    // write.
    let write = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        context.uc_mcontext.gregs[libc::REG_ERR as usize] & 2 != 0
    };
    let saved = sys::errno();
    let place = watched.place(address);
    // Read the count before the note is written: the change that answers the note must not be missed.
    let seen = place.changes.load(Ordering::Acquire);
    let note = Note {
        address,
        write: write.into(),
    };
    loop {
        // SAFETY: the note lies on this handler's stack.
        let n = unsafe {
            libc::write(
                watched.pipe.1.as_raw_fd(),
                (&raw const note).cast(),
                size_of::<Note>(),
            )
        };
        if n == size_of::<Note>() as isize || sys::errno() != libc::EINTR {
            break;
        }
    }
    let changed = || place.changes.load(Ordering::Acquire) != seen;
    place.bell.sleep_until(&mut || changed());
    // SAFETY: errno of this thread; the program must find its own value.
    unsafe { *libc::__errno_location() = saved };
}

/// Handles a fault outside of the view as the system would without this library.
fn not_ours(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the pointer is null, or `start` leaked the action.
    let before = unsafe { BEFORE.load(Ordering::Acquire).as_ref() };
    match before {
        Some(b) if b.sa_sigaction != libc::SIG_DFL && b.sa_sigaction != libc::SIG_IGN => {
            // SAFETY: the program installed this handler, and its flags say which arguments it takes.
            unsafe {
                if b.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(
                        libc::c_int,
                        *mut libc::siginfo_t,
                        *mut libc::c_void,
                    ) = core::mem::transmute(b.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(libc::c_int) = core::mem::transmute(b.sa_sigaction);
                    handler(signal);
                }
            }
        }
        // SAFETY: this restores the default action. The instruction then faults again, and ends the process
        // as it should.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
        },
    }
}

impl Backend for &'static Sigsegv {
    fn kind(&self) -> Kind {
        Kind::Sigsegv
    }

    fn next_fault(&self) -> io::Result<Fault> {
        let mut note = Note {
            address: 0,
            write: 0,
        };
        loop {
            // SAFETY: there is room for one note, and notes come out of the pipe as whole as they went in.
            let n = unsafe {
                libc::read(
                    self.pipe.0.as_raw_fd(),
                    (&raw mut note).cast(),
                    size_of::<Note>(),
                )
            };
            if n == size_of::<Note>() as isize {
                break;
            }
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EINTR) {
                return Err(error);
            }
        }
        let access = if note.write != 0 {
            Access::Write
        } else {
            Access::Read
        };
        Ok(Fault {
            address: note.address,
            access,
        })
    }

    fn protect(&self, address: usize, access: Access) -> io::Result<()> {
        let may = match access {
            Access::None => libc::PROT_NONE,
            Access::Read => libc::PROT_READ,
            Access::Write => libc::PROT_READ | libc::PROT_WRITE,
        };
        // SAFETY: `address` is a page of the view, since the driver names no others.
        let done =
            unsafe { libc::mprotect(core::ptr::with_exposed_provenance_mut(address), PAGE, may) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    fn wake(&self, address: usize) {
        let place = self.place(address);
        place.changes.fetch_add(1, Ordering::SeqCst);
        place.bell.ring_after_swap();
    }
}
