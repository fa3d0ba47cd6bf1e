//! One node's view and file, as the page server reaches them from the origin.
//!
//! A node's userfaultfd acts on that node's address space, whichever process calls it; and the origin maps the
//! files of all nodes. So the server can do to a node's pages all that the node itself could, but for one thing:
//! the kernel lets nobody remove a page from another process's page tables. The server removes the page from that
//! node's *file* instead, which takes it out of every page table. So a page that a node other than the origin may
//! not use is never in that node's file, and nobody reads it there: the read would make a page of zeros.

use crate::backend::uffd::Uffd;
use crate::backend::Fault;
use crate::Access;
use hetmp_core::segment::PAGE;
use std::io;

/// The bytes of a page on their way from one node to another.
#[repr(align(4096))]
pub(super) struct Bytes(pub(super) [u8; PAGE]);

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

    fn alias_of(&self, page: u64) -> *mut u8 {
        self.alias.wrapping_add(page as usize * PAGE)
    }

    /// Copies the page's bytes from the node, which may read the page and not write it, or from the origin's file.
    pub(super) fn read(&self, page: u64, into: &mut Bytes) {
        // SAFETY: the alias maps the node's whole file, and no thread of the node may write the page now.
        unsafe {
            self.alias_of(page)
                .copy_to_nonoverlapping(into.0.as_mut_ptr(), PAGE);
        }
    }

    /// Takes away the right to write the page.
    pub(super) fn forbid_writes(&self, address: usize) -> io::Result<()> {
        unless_gone(self.uffd.forbid_writes(address))
    }

    /// Gives back the right to write a page that the node may read, and wakes the threads that wait for it. (If
    /// the page is not in the page tables, the threads fault again.)
    pub(super) fn allow_writes(&self, address: usize) -> io::Result<()> {
        unless_gone(self.uffd.allow_writes_and_wake(address))
    }

    /// Takes the page away. `was`: what the node could do with it. `into` gets the page's bytes.
    pub(super) fn take(
        &self,
        page: u64,
        address: usize,
        was: Access,
        into: Option<&mut Bytes>,
    ) -> io::Result<()> {
        if self.own {
            self.uffd.unmap(address)?;
            if let Some(into) = into {
                self.read(page, into);
            }
            return Ok(());
        }
        if let Some(into) = into {
            // No write may come between the copy and the removal.
            if was == Access::Write {
                self.forbid_writes(address)?;
            }
            self.read(page, into);
        }
        // SAFETY: the alias maps the node's whole file.
        let done = unsafe { libc::madvise(self.alias_of(page).cast(), PAGE, libc::MADV_REMOVE) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Gives the node the page, which it could not use, with these bytes, and wakes the threads that wait for it.
    pub(super) fn give(
        &self,
        page: u64,
        address: usize,
        access: Access,
        bytes: &Bytes,
    ) -> io::Result<()> {
        let readable = access == Access::Read;
        if self.own {
            // SAFETY: the alias maps the whole file, and no thread of the origin can use the page now.
            unsafe {
                self.alias_of(page)
                    .copy_from_nonoverlapping(bytes.0.as_ptr(), PAGE);
            }
            return self.uffd.map_and_wake(address, readable);
        }
        unless_gone(self.uffd.copy_and_wake(address, &bytes.0, readable))
    }

    /// Puts a page in place to which the node has the right, and wakes the threads that wait for it.
    pub(super) fn refresh(&self, address: usize, access: Access) -> io::Result<()> {
        use crate::backend::Backend as _;
        unless_gone(self.uffd.protect(address, access))?;
        self.uffd.wake(address);
        Ok(())
    }

    /// As [`Backend::first_touch`](crate::backend::Backend::first_touch); then wakes the threads that wait for the
    /// first of the pages.
    pub(super) fn first_touch(&self, address: usize, pages: usize) -> io::Result<()> {
        use crate::backend::Backend as _;
        unless_gone(self.uffd.first_touch(address, pages))?;
        self.uffd.wake(address);
        Ok(())
    }
}
