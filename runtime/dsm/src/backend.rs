//! How a page's protection is changed, and how its faults are found.
//!
//! | backend | faults | protection | needs |
//! | --- | --- | --- | --- |
//! | [`uffd`] | a thread reads them from a userfaultfd; faults within system calls, too | its ioctls, and `madvise` | rights: root, `/dev/userfaultfd`, or the sysctl `vm.unprivileged_userfaultfd` |
//! | [`sigsegv`] | a signal handler tells a thread | `mprotect` | nothing; a system call on an absent page fails with `EFAULT` |

pub mod sigsegv;
pub mod uffd;

use crate::space::Space;
use crate::{Access, NodeId};

/// What a user may ask for: `HETMP_DSM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// userfaultfd.
    Uffd,
    /// A signal handler and `mprotect`.
    Sigsegv,
}

impl Kind {
    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Uffd => "uffd",
            Kind::Sigsegv => "sigsegv",
        }
    }

    /// Of what a user wrote.
    pub fn of(name: &str) -> Option<Kind> {
        [Kind::Uffd, Kind::Sigsegv]
            .into_iter()
            .find(|k| k.name() == name)
    }
}

/// A fault of a thread of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub address: usize,
    /// What the thread wanted.
    pub access: Access,
}

/// One way to watch the view's pages.
pub trait Backend: Send + Sync {
    /// Which one.
    fn kind(&self) -> Kind;

    /// Waits for the next fault. Called by one thread.
    ///
    /// # Errors
    /// The system refuses; nothing can be watched any more.
    fn next_fault(&self) -> std::io::Result<Fault>;

    /// Lets threads of this node do so much with the page at `address` of the view: after this returns, no more. They
    /// may fault all the same.
    ///
    /// # Errors
    /// The system refuses.
    fn protect(&self, address: usize, access: Access) -> std::io::Result<()>;

    /// Lets threads write `pages` pages from `address` on, which this node is home of and nobody ever asked for.
    ///
    /// # Errors
    /// The system refuses.
    fn first_touch(&self, address: usize, pages: usize) -> std::io::Result<()> {
        let _ = (address, pages);
        Ok(())
    }

    /// Lets threads that faulted on the page try again.
    fn wake(&self, address: usize);
}

fn no_uffd(error: &std::io::Error) -> String {
    format!(
        "HETMP_DSM uffd: root, access to /dev/userfaultfd, or vm.unprivileged_userfaultfd=1, on Linux 6.4 or later, is needed ({error})"
    )
}

/// Can this process have userfaultfd? To be asked before there are several, each of which would say so.
///
/// # Errors
/// One line.
pub fn probe_uffd() -> Result<(), String> {
    uffd::Uffd::probe().map_err(|e| no_uffd(&e))
}

/// Watches the view of `space`, mapped before, as node `me`; `alias` maps the whole file. Without `asked` the first
/// backend that works.
///
/// # Errors
/// One line: what was asked for, or everything, is refused.
///
/// # Safety
/// The view is mapped, and all its pages are in the state that the protocol starts with.
pub unsafe fn start(
    asked: Option<Kind>,
    space: &Space,
    alias: *mut u8,
    me: NodeId,
) -> Result<Box<dyn Backend>, String> {
    let uffd = || -> Result<Box<dyn Backend>, String> {
        match uffd::Uffd::start(space, alias) {
            Ok(backend) => Ok(Box::new(backend)),
            Err(e) => Err(no_uffd(&e)),
        }
    };
    let sigsegv = || -> Result<Box<dyn Backend>, String> {
        // SAFETY: `driver::start`, the one caller, has mapped the view, all of whose pages are in the protocol's first state.
        match unsafe { sigsegv::Sigsegv::start(space, me) } {
            Ok(backend) => Ok(Box::new(backend)),
            Err(e) => Err(format!(
                "HETMP_DSM sigsegv: a signal handler and mprotect are needed ({e})"
            )),
        }
    };
    match asked {
        Some(Kind::Uffd) => uffd(),
        Some(Kind::Sigsegv) => sigsegv(),
        None => uffd().or_else(|_| sigsegv()),
    }
}
