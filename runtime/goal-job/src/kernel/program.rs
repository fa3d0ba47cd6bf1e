//! The call that starts the program in the kernel, and what keeps the program there.
//!
//! The descriptor is borrowed for one call, which looks at what it is before it uses it.

use hetmp_core::descriptor::apart;
use hetmp_core::keeper::Keeper;
use hetmp_core::{park, sys};
use hetmp_goal::kernel::Kick;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, IntoRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The program, by two descriptors: one among those of the program that runs here, which may close it or take its
/// number, and one of the [keeper](Keeper), which takes a change of threads.
#[derive(Debug)]
pub(super) struct Program {
    number: RawFd,
    lost: AtomicBool,
    /// The helper ends, and detaches the program, when the socket closes.
    kept: Mutex<Option<Keeper<(UnixStream, OwnedFd)>>>,
}

impl Program {
    /// The program behind this descriptor, whose helper is at the other end of the socket.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new(program: OwnedFd, socket: UnixStream) -> io::Result<Program> {
        let kept = program.try_clone()?;
        let numbers = [socket.as_raw_fd(), kept.as_raw_fd()];
        let make = move || ((), Some((socket, kept)));
        let (keeper, ()) = Keeper::start(c"hetmp-goal", &numbers, make)?;
        Ok(Program {
            // Never closed: by then it may be another file's.
            number: apart(program).into_raw_fd(),
            lost: AtomicBool::new(false),
            kept: Mutex::new(Some(keeper)),
        })
    }

    /// Calls the program. Waits while it works for another processor.
    ///
    /// # Errors
    /// The system's. A kick that the program refuses is an error too.
    pub(super) fn kick(&self, kick: Kick) -> io::Result<()> {
        loop {
            match self.run(kick)? {
                Kick::DONE => return Ok(()),
                Kick::BUSY => park::rest(),
                _ => return Err(io::Error::other("refused by the program in the kernel")),
            }
        }
    }

    fn run(&self, kick: Kick) -> io::Result<u32> {
        let packet = kick.packet();
        if !self.lost.load(Ordering::Relaxed) {
            // SAFETY: the number is not negative, and the call looks at what is there before it uses it.
            let program = unsafe { BorrowedFd::borrow_raw(self.number) };
            let answer = sys::run_program(program, &packet);
            // No file, or no program.
            let is_lost =
                |e: &io::Error| matches!(e.raw_os_error(), Some(libc::EBADF | libc::EINVAL));
            match answer {
                Err(e) if is_lost(&e) => self.lost.store(true, Ordering::Relaxed),
                answer => return answer,
            }
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let run = |keeper: &Keeper<(UnixStream, OwnedFd)>| {
            keeper.run(move |(_, program)| sys::run_program(program.as_fd(), &packet))
        };
        let answer = kept.as_ref().and_then(run);
        answer.unwrap_or_else(|| Err(io::Error::other("its helper has ended")))
    }

    /// Lets the helper end. Nobody calls the program after that.
    pub(super) fn detach(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        drop(kept.take());
    }
}
