//! Protection by `mprotect`, faults by SIGSEGV: for systems that forbid userfaultfd.
//!
//! The handler runs in the thread that faulted, on that thread's alternate stack if there is one. It notes
//! the fault for a thread of the runtime ([`notes`]), and sleeps until the page's protection has changed. It touches no
//! memory of the program. The thread's own storage is such memory, so the handler leaves `errno` alone, and makes its
//! system calls by [`raw`].
//!
//! The kernel's own accesses do not come here: a system call on an absent page fails. Whoever runs programs sees to
//! that (`libhetmp_dsm.so` does).
//!
//! **Mappings.** Each change of protection may cut a mapping in two, and a process may have 65530 of them
//! (`vm.max_map_count`). When the kernel refuses another one, one range's rights are taken away altogether: what was
//! cut then is one mapping again. Threads that use these pages fault once more, and the protocol gives the rights back,
//! since the node still has the pages.

pub mod a64;
mod context;
mod notes;
pub mod number;
pub mod raw;
mod wanted;

use super::{Backend, Fault, Kind};
use crate::space::Space;
use crate::PAGE;
use crate::{Access, NodeId};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use notes::Notes;
use once_cell::race::OnceBox;
use raw::Action;
use std::io;
pub use wanted::Wanted;

/// Places where faulting threads sleep, by page. If two pages share a place, a change of one page also wakes the
/// other's threads: their instructions fault again, and they sleep again.
const PLACES: usize = 256;

/// The view, watched by a signal handler.
pub struct Sigsegv {
    space: Space,
    notes: Notes,
    /// The places: each a number that grows when the protection of one of its pages has changed.
    places: [AtomicU32; PLACES],
    /// The range that loses its rights next if there are too many mappings.
    next: AtomicUsize,
}

impl core::fmt::Debug for Sigsegv {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sigsegv").finish_non_exhaustive()
    }
}

/// The view that the handler serves; a process has at most one.
static WATCHED: OnceBox<Sigsegv> = OnceBox::new();
/// What the program wants SIGSEGV to do, for faults outside of the view.
pub static PROGRAMS: Wanted = Wanted::new();

/// Says which addresses of the view no thread may use, such as those below stacks: a `fn(usize) -> bool`, or null.
static GUARDS: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// A fault where `is_guard` says so is the program's own. `is_guard` is called in signal handlers.
pub fn set_guards(is_guard: fn(usize) -> bool) {
    GUARDS.store(is_guard as *mut (), Ordering::Release);
}

/// May no thread use this address?
pub fn is_guard(address: usize) -> bool {
    let at = GUARDS.load(Ordering::Acquire);
    // SAFETY: `set_guards`, the only writer, stores functions of this type.
    !at.is_null() && unsafe { core::mem::transmute::<*mut (), fn(usize) -> bool>(at) }(address)
}

impl Sigsegv {
    fn place(&self, address: usize) -> &AtomicU32 {
        &self.places[address / PAGE % PLACES]
    }

    /// Sets the protection of some pages of the view, which all lie in one range.
    fn set(&self, address: usize, len: usize, may: libc::c_int) -> io::Result<()> {
        // SAFETY: pages of the view, since the driver names no others. Only the driver decides on their protection.
        match unsafe { raw::call(libc::SYS_mprotect, [address, len, may as usize, 0, 0, 0]) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error as i32)),
        }
    }

    /// Takes all rights in one range away.
    fn forget(&self) -> io::Result<()> {
        let count = self.space.ranges().count();
        let mut refused = io::Error::from_raw_os_error(libc::ENOMEM);
        for _ in 0..count {
            let next = self.next.fetch_add(1, Ordering::Relaxed) % count;
            let (_, range) = self.space.ranges().nth(next).expect("fewer than `count`");
            match self.set(range.start, range.len, libc::PROT_NONE) {
                Ok(()) if range.len > 0 => return Ok(()),
                Ok(()) => {}
                Err(e) => refused = e,
            }
        }
        Err(refused)
    }

    /// Watches the view of `space`.
    ///
    /// # Errors
    /// The system refuses, or a view of this process is watched already.
    ///
    /// # Safety
    /// See [`super::start`].
    pub unsafe fn start(space: &Space, me: NodeId) -> io::Result<&'static Sigsegv> {
        let new = Box::new(Sigsegv {
            space: space.clone(),
            notes: Notes::new(),
            places: [const { AtomicU32::new(0) }; PLACES],
            next: AtomicUsize::new(0),
        });
        let refused = || io::Error::other("a shared range is watched already");
        WATCHED.set(new).map_err(|_| refused())?;
        let watched = WATCHED.get().ok_or_else(refused)?;
        let action = Action {
            handler: fault as *const () as usize,
            flags: (libc::SA_SIGINFO | libc::SA_NODEFER) as usize,
            restorer: 0,
            mask: 0,
        };
        // SAFETY: the handler is async-signal-safe (see `fault`).
        let before = unsafe { raw::action(libc::SIGSEGV, Some(&action.on_own_stack())) };
        match before {
            Ok(before) => PROGRAMS.set(Some(&before)),
            Err(error) => return Err(io::Error::from_raw_os_error(-error as i32)),
        };
        for (_, r) in space.ranges().filter(|(_, r)| r.home != me && r.len > 0) {
            watched.set(r.start, r.len, libc::PROT_NONE)?;
        }
        Ok(watched)
    }
}

/// The signal handler. Async-signal-safe: it writes a note and sleeps on a word, and uses only the runtime's
/// memory. It does not spin first: the thread that serves the fault may be queued on this very core.
extern "C-unwind" fn fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let watched = WATCHED.get();
    // SAFETY: the kernel passes its description of the signal. One that somebody sent has no address.
    let (address, is_fault) = unsafe { ((*info).si_addr() as usize, (*info).si_code > 0) };
    let ours =
        |w: &&'static Sigsegv| is_fault && w.space.page_of(address).is_some() && !is_guard(address);
    let Some(watched) = watched.filter(ours) else {
        PROGRAMS.deliver(signal, info, context, is_fault);
        return;
    };
    // SAFETY: the kernel passes the context of the interrupted thread.
    let write = unsafe { context::writes(context.cast()) };
    let place = watched.place(address);
    // Read the count before the note is written: the change that answers the note must not be missed.
    let seen = place.load(Ordering::Acquire);
    // SAFETY: a call without arguments.
    let thread = unsafe { raw::call(libc::SYS_gettid, [0; 6]) } as u32;
    let access = if write { Access::Write } else { Access::Read };
    watched.notes.write(Fault {
        address,
        access,
        thread,
    });
    while place.load(Ordering::Acquire) == seen {
        raw::futex_wait(place, seen);
    }
}

impl Backend for &'static Sigsegv {
    fn kind(&self) -> Kind {
        Kind::Sigsegv
    }

    fn next_fault(&self) -> io::Result<Fault> {
        Ok(self.notes.take())
    }

    fn protect(&self, address: usize, pages: usize, access: Access) -> io::Result<()> {
        let mut may = match access {
            Access::None => libc::PROT_NONE,
            Access::Read => libc::PROT_READ,
            Access::Write => libc::PROT_READ | libc::PROT_WRITE,
        };
        let holds = |r: &crate::space::Range| (r.start..r.start + r.len).contains(&address);
        let range = self.space.ranges().find(|(_, r)| holds(r));
        if access != Access::None && range.is_some_and(|(_, r)| r.executable) {
            may |= libc::PROT_EXEC;
        }
        match self.set(address, pages * PAGE, may) {
            Err(e) if e.raw_os_error() == Some(libc::ENOMEM) => {
                self.forget()?;
                self.set(address, pages * PAGE, may)
            }
            done => done,
        }
    }

    fn wake(&self, address: usize, pages: usize) {
        for page in 0..pages.min(PLACES) {
            let place = self.place(address + page * PAGE);
            place.fetch_add(1, Ordering::SeqCst);
            raw::futex_wake(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Range;

    /// A process may have some 65530 mappings. More pages than that, every other one with other rights.
    #[test]
    fn more_pages_than_mappings() {
        const PAGES: usize = 150_000;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let at = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                PAGES * PAGE,
                libc::PROT_NONE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(at, libc::MAP_FAILED);
        let start = at.expose_provenance();
        let range = |first: usize, pages: usize| Range {
            start: start + first * PAGE,
            len: pages * PAGE,
            home: 0,
            executable: false,
        };
        let space = Space::new(&[range(0, PAGES / 2), range(PAGES / 2, PAGES - PAGES / 2)]);
        // SAFETY: nobody else uses the mapping, and no other test of this process watches a view.
        let watched = unsafe { Sigsegv::start(&space, 1) }.expect("a watched view");
        for page in (0..PAGES).step_by(2) {
            let address = start + page * PAGE;
            watched
                .protect(address, 1, Access::Write)
                .expect("protected");
            let word: *mut u64 = core::ptr::with_exposed_provenance_mut(address);
            // SAFETY: the page is in the mapping, and may be written now.
            unsafe { word.write_volatile(7) };
        }
        // The first pages have lost their rights meanwhile. They can be given back.
        watched.protect(start, 1, Access::Read).expect("protected");
        let word: *const u64 = core::ptr::with_exposed_provenance(start);
        // SAFETY: the page is in the mapping, and may be read now.
        assert_eq!(unsafe { word.read_volatile() }, 7);
    }
}
