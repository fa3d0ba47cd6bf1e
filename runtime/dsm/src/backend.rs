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

/// The backends that a user may ask for by `HETMP_DSM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// userfaultfd.
    Uffd,
    /// A signal handler and `mprotect`.
    Sigsegv,
}

impl Kind {
    /// The backend's name in `HETMP_DSM`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Uffd => "uffd",
            Kind::Sigsegv => "sigsegv",
        }
    }

    /// The backend of this name in `HETMP_DSM`; `None` for other words.
    pub fn of(name: &str) -> Option<Kind> {
        [Kind::Uffd, Kind::Sigsegv]
            .into_iter()
            .find(|k| k.name() == name)
    }
}

/// A fault of a thread of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address that the thread used.
    pub address: usize,
    /// What the thread wanted: read or write.
    pub access: Access,
    /// The kernel's number of the thread.
    pub thread: u32,
}

/// One way to watch the view's pages.
pub trait Backend: Send + Sync {
    /// Which backend this is.
    fn kind(&self) -> Kind;

    /// Waits for the next fault. Called by one thread.
    ///
    /// # Errors
    /// The system refuses: page faults cannot be watched any more.
    fn next_fault(&self) -> std::io::Result<Fault>;

    /// Sets what threads of this node may do with `pages` pages from `address` of the view on, all in one range. After
    /// the return no thread can do more than that. A thread may still fault although it has the right.
    ///
    /// # Errors
    /// The system refuses.
    fn protect(&self, address: usize, pages: usize, access: Access) -> std::io::Result<()>;

    /// Lets threads write `pages` pages from `address` on. This node is the home of these pages, and no node
    /// ever asked for them.
    ///
    /// # Errors
    /// The system refuses.
    fn first_touch(&self, address: usize, pages: usize) -> std::io::Result<()> {
        let _ = (address, pages);
        Ok(())
    }

    /// Lets threads that faulted on the pages try again.
    fn wake(&self, address: usize, pages: usize);
}

pub(crate) fn no_uffd(error: &std::io::Error) -> String {
    format!(
        "HETMP_DSM: 'uffd': root, access to /dev/userfaultfd, or vm.unprivileged_userfaultfd=1, on Linux 6.4 or \
         later, is needed ({error})"
    )
}

/// Can this process use userfaultfd? Ask before forking: otherwise every node would report the same error.
///
/// # Errors
/// One line that says what is needed.
pub fn probe_uffd() -> Result<(), String> {
    uffd::Uffd::probe().map_err(|e| no_uffd(&e))
}

/// Watches the view of `space`, which is mapped already, as node `me`; `alias` maps the whole file. If
/// `asked` names no backend, the first that works is used.
///
/// # Errors
/// One line: the backend that was asked for, or each of them, is refused.
///
/// # Safety
/// The view is mapped, and all its pages are in the first state of the protocol (see [`crate::protocol`]).
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
        // SAFETY: `driver::start`, the one caller, has mapped the view, all of whose pages are in the protocol's first
        // state.
        match unsafe { sigsegv::Sigsegv::start(space, me) } {
            Ok(backend) => Ok(Box::new(backend)),
            Err(e) => Err(format!(
                "HETMP_DSM: 'sigsegv': a signal handler and mprotect are needed ({e})"
            )),
        }
    };
    match asked {
        Some(Kind::Uffd) => uffd(),
        Some(Kind::Sigsegv) => sigsegv(),
        None => uffd().or_else(|_| sigsegv()),
    }
}
