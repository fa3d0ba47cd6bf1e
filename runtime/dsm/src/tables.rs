//! Two tables of descriptors in one process: the program's, and that of the threads by which the node lives.
//!
//! A program may close descriptors that it did not open, or take their numbers: by a loop of `close`, by `close_range`
//! or `dup2`, by its first `open`, which it expects to give 3. So its threads have a table of their own, with the
//! descriptors that the process began with. The threads that serve pages and messages keep the table in which their
//! descriptors are, and there the program's are closed: what the program closes is closed. Therefore other nodes than
//! the origin keep none but standard output and standard error, to which their parts of regions may write.
//!
//! Therefore no thread of the program may use one of our descriptors: it asks one of our threads, through memory
//! ([`crate::together`]). And our threads use none of the program's but standard error, as it was at the start.

use crate::driver::STACK;
use crate::NodeId;
use std::io;
use std::os::fd::RawFd;
use std::sync::mpsc;

/// The descriptors that the program has at its start, and their flags.
#[derive(Debug)]
pub struct Program(Vec<(RawFd, i32)>);

/// The flags of a descriptor; `None` if it is not open.
fn flags(fd: RawFd) -> Option<i32> {
    // SAFETY: asks about a descriptor, which may be any number.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    (flags >= 0).then_some(flags)
}

fn close(fds: impl IntoIterator<Item = RawFd>) {
    for fd in fds {
        // SAFETY: `part` names descriptors that no thread uses which has this table.
        unsafe { libc::close(fd) };
    }
}

impl Program {
    /// What is open now: called before this process opens its own descriptors.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn note() -> io::Result<Program> {
        let names = std::fs::read_dir("/proc/self/fd")?
            .map(|entry| Ok(entry?.file_name()))
            .collect::<io::Result<Vec<_>>>()?;
        let fds = names.iter().filter_map(|name| name.to_str()?.parse().ok());
        // The folder's own descriptor is closed by now.
        Ok(Program(
            fds.filter_map(|fd| Some((fd, flags(fd)?))).collect(),
        ))
    }

    /// The calling thread, and those that it starts from now on, keep the program's descriptors, as node `me` needs
    /// them. The threads that run already keep all others. Called once, by the process's first thread, before the
    /// program begins.
    ///
    /// # Errors
    /// There is no thread left, or the kernel refuses.
    pub fn part(self, me: NodeId) -> io::Result<()> {
        // A launcher's descriptor was open from the start, but is ours since it is closed in programs that this one
        // starts.
        let programs: Vec<RawFd> = (self.0.iter())
            .filter(|(fd, at_start)| flags(*fd) == Some(*at_start))
            .map(|(fd, _)| *fd)
            .collect();
        let closed = (programs.iter().copied())
            .filter(|fd| *fd != libc::STDERR_FILENO)
            .collect();
        let (go, parted) = mpsc::channel::<Vec<RawFd>>();
        let closer = std::thread::Builder::new()
            .name("hetmp-dsm-close".to_owned())
            .stack_size(STACK)
            .spawn(move || parted.recv().into_iter().for_each(close))?;
        const UNSHARE: libc::c_uint = 1 << 1;
        // SAFETY: no descriptor has this number, so that none is closed; the table becomes this thread's own.
        if unsafe { libc::syscall(libc::SYS_close_range, u32::MAX, u32::MAX, UNSHARE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let all = Program::note()?.0.into_iter().map(|(fd, _)| fd);
        let output = [libc::STDOUT_FILENO, libc::STDERR_FILENO];
        close(all.filter(|fd| !programs.contains(fd) || me != 0 && !output.contains(fd)));
        let closes = go.send(closed).is_ok() && closer.join().is_ok();
        closes
            .then_some(())
            .ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}
