//! One node's view and file, as the page server reaches them from the origin.
//!
//! A node's userfaultfd acts on that node's address space, whichever process calls it; and the origin maps the
//! files of all nodes. So the server can do to a node's pages all that the node itself could, but for one thing:
//! the kernel lets nobody remove a page from another process's page tables. The server removes the page from that
//! node's *file* instead, which takes it out of every page table. So a page that a node other than the origin may
//! not use is never in that node's file, and nobody reads it there: the read would make a page of zeros.

use crate::backend::uffd::Uffd;
use crate::backend::Fault;
use crate::loans::{self, Twin};
use crate::Access;
use crate::PAGE;
use core::sync::atomic::AtomicU8;
use std::io;

/// Pages that are moved with one call.
pub(super) const BULK: usize = crate::message::BULK as usize;

/// The bytes of pages on their way from one node to another.
#[repr(align(4096))]
pub(super) struct Bytes(pub(super) [[u8; PAGE]; BULK]);

/// Successive pages of one range, at most [`BULK`], at their address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pages {
    pub(super) first: u64,
    pub(super) address: usize,
    pub(super) count: usize,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct View {
    uffd: Uffd,
    /// Where the origin maps the node's file.
    alias: *mut u8,
    /// The view is the origin's own.
    own: bool,
}

// SAFETY: `alias` is a mapping that stays. The server reads and writes it under its lock.
unsafe impl Send for View {}
// SAFETY: the server's threads use `alias` under the server's lock.
unsafe impl Sync for View {}

/// What a call says of a node whose process has ended: nothing is left to be done there. (That the node has
/// ended is noticed elsewhere, and ends the program.)
fn unless_gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other,
    }
}

impl View {
    pub(super) fn new(uffd: Uffd, alias: *mut u8, own: bool) -> View {
        View { uffd, alias, own }
    }

    /// The next fault of the node's threads, or `None` after `ns` nanoseconds; `None`: no limit.
    pub(super) fn next_fault(&self, ns: Option<u64>) -> io::Result<Option<Fault>> {
        self.uffd.next_fault_within(ns)
    }

    fn alias_of(&self, pages: Pages) -> *mut u8 {
        self.alias.wrapping_add(pages.first as usize * PAGE)
    }

    /// Copies the pages' bytes from the node, whose threads write none of those that matter, or from the origin's file.
    pub(super) fn read(&self, pages: Pages, into: &mut Bytes) {
        let into = into.0[..pages.count].as_mut_ptr();
        // SAFETY: the alias maps the node's whole file, and what threads of the node write to the pages meanwhile is
        // nothing that the receiver may look at.
        unsafe {
            self.alias_of(pages)
                .copy_to_nonoverlapping(into.cast(), pages.count * PAGE);
        }
    }

    /// Takes away the right to write the pages.
    pub(super) fn forbid_writes(&self, pages: Pages) -> io::Result<()> {
        unless_gone(self.uffd.forbid_writes(pages.address, pages.count))
    }

    /// Gives back the right to write pages that the node may read, and wakes the threads that wait for them. (If
    /// a page is not in the page tables, the threads fault again.)
    pub(super) fn allow_writes(&self, pages: Pages) -> io::Result<()> {
        unless_gone(self.uffd.allow_writes_and_wake(pages.address, pages.count))
    }

    /// Takes the pages away. `was`: what the node could do with them. `into` gets the pages' bytes.
    pub(super) fn take(
        &self,
        pages: Pages,
        was: Access,
        into: Option<&mut Bytes>,
    ) -> io::Result<()> {
        if self.own {
            self.uffd.unmap(pages.address, pages.count)?;
            if let Some(into) = into {
                self.read(pages, into);
            }
            return Ok(());
        }
        if let Some(into) = into {
            // No write may come between the copy and the removal.
            if was == Access::Write {
                self.forbid_writes(pages)?;
            }
            self.read(pages, into);
        }
        let (at, len) = (self.alias_of(pages), pages.count * PAGE);
        // SAFETY: the alias maps the node's whole file.
        let done = unsafe { libc::madvise(at.cast(), len, libc::MADV_REMOVE) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Puts those of these bytes that differ from the twin's into the node's page, which it may write.
    pub(super) fn merge(&self, page: Pages, now: &Bytes, twin: &Twin) {
        let to = self.alias_of(page).cast::<[AtomicU8; PAGE]>();
        // SAFETY: the alias maps the node's whole file. The node's threads may write to the page meanwhile, but not to
        // these bytes.
        loans::merge(&now.0[0], twin, unsafe { &*to });
    }

    /// Gives the node the pages, which it could not use, with these bytes, and wakes the threads that wait for them.
    pub(super) fn give(&self, pages: Pages, access: Access, bytes: &Bytes) -> io::Result<()> {
        let readable = access == Access::Read;
        let bytes = &bytes.0[..pages.count];
        if self.own {
            // SAFETY: the alias maps the whole file, and no thread of the origin can use the pages now.
            unsafe {
                self.alias_of(pages)
                    .copy_from_nonoverlapping(bytes.as_ptr().cast(), pages.count * PAGE);
            }
            return self.uffd.map_and_wake(pages.address, pages.count, readable);
        }
        unless_gone(self.uffd.copy_and_wake(pages.address, bytes, readable))
    }

    /// Puts pages in place to which the node has the right, and wakes the threads that wait for them.
    pub(super) fn refresh(&self, pages: Pages, access: Access) -> io::Result<()> {
        use crate::backend::Backend as _;
        unless_gone(self.uffd.protect(pages.address, pages.count, access))?;
        self.uffd.wake(pages.address, pages.count);
        Ok(())
    }

    /// As [`Backend::first_touch`](crate::backend::Backend::first_touch); then wakes the threads that wait for
    /// one of the pages.
    pub(super) fn first_touch(&self, address: usize, pages: usize) -> io::Result<()> {
        use crate::backend::Backend as _;
        unless_gone(self.uffd.first_touch(address, pages))?;
        self.uffd.wake(address, pages);
        Ok(())
    }
}
