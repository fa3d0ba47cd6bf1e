//! The account of one thread: a stack of what the thread is in. Time counts for what is on top.
//!
//! Compiled code may leave a construct without telling (gcc's loops without a call at their end, `cancel`). So whatever
//! ends also ends what is above, up to the part of the region or the task that the thread executes.

use crate::layout::{Block, Row, FRAMES};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};

/// What a frame is to its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Role {
    /// A region, in the thread that opened it, from begin to end.
    Region = 1,
    /// The thread's part of a region.
    Part = 2,
    /// The end of a region: the thread has done its part.
    Join = 3,
    /// A construct in which the program's code runs.
    Work = 4,
    /// A wait for other threads or tasks, or for a lock.
    Wait = 5,
    /// A section that one thread at a time executes.
    Held = 6,
    /// A task.
    Task = 7,
}

impl Role {
    pub(crate) fn of(what: u64) -> Option<Role> {
        use Role::*;
        [Region, Part, Join, Work, Wait, Held, Task]
            .into_iter()
            .find(|&r| r as u64 == what >> 32)
    }
}

/// A frame that was taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) site: u32,
    pub(crate) role: Role,
    /// From begin to end, nanoseconds.
    pub(crate) whole: u64,
    /// The part of `whole` that belongs to what was above.
    pub(crate) inner: u64,
}

impl Ended {
    /// The time that counts for the frame itself.
    pub(crate) fn own(&self) -> u64 {
        self.whole.saturating_sub(self.inner)
    }

    /// Adds the frame to the sums of its site. Regions are the business of who knows how many threads they had.
    pub(crate) fn add_to(&self, row: &Row) {
        let counted = |sum: &AtomicU64, longest: u64| {
            add(&row.count, 1);
            add(sum, self.own());
            if longest > row.most.load(Relaxed) {
                row.most.store(longest, Relaxed);
            }
        };
        match self.role {
            Role::Region => {}
            Role::Part | Role::Held => add(&row.busy, self.own()),
            Role::Join => add(&row.end_wait, self.inner.wrapping_neg()),
            Role::Work | Role::Task => counted(&row.busy, self.whole),
            Role::Wait => counted(&row.wait, self.own()),
        }
    }
}

/// Adds to a number that only this thread writes.
pub(crate) fn add(sum: &AtomicU64, n: u64) {
    sum.store(sum.load(Relaxed).wrapping_add(n), Relaxed);
}

impl Block {
    fn depth(&self) -> usize {
        self.depth.load(Relaxed) as usize
    }

    /// The site and the role of the frame `at`, counted from below.
    fn frame(&self, at: usize) -> Option<(u32, Role)> {
        let what = self.frames.get(at)?.what.load(Relaxed);
        Some((what as u32, Role::of(what)?))
    }

    /// The frames that are kept, from the top.
    pub(crate) fn top_down(&self) -> impl Iterator<Item = (u32, Role)> + '_ {
        let kept = self.depth().min(FRAMES);
        (0..kept).rev().map_while(|at| self.frame(at))
    }

    /// The thread is in something more.
    pub(crate) fn push(&self, site: u32, role: Role, now: u64) {
        let depth = self.depth();
        if let Some(frame) = self.frames.get(depth) {
            frame
                .what
                .store(u64::from(site) | ((role as u64) << 32), Relaxed);
            frame.begun.store(now, Relaxed);
            frame.inner.store(0, Relaxed);
        }
        // Release: who reads the file of a killed process finds no frame half made.
        self.depth.store(depth as u64 + 1, Release);
    }

    /// Takes off the topmost frame.
    fn pop(&self, now: u64) -> Option<Ended> {
        let at = self.depth().checked_sub(1)?;
        self.depth.store(at as u64, Release);
        let (site, role) = self.frame(at)?;
        let frame = &self.frames[at];
        let whole = now.saturating_sub(frame.begun.load(Relaxed));
        let ended = Ended {
            site,
            role,
            whole,
            inner: frame.inner.load(Relaxed),
        };
        if let Some(beneath) = at.checked_sub(1) {
            add(&self.frames[beneath].inner, whole);
        }
        Some(ended)
    }

    /// Takes off the topmost frame that is `wanted`, and what is above it; `each` gets them all, from the top. Nothing
    /// happens where a frame of another part or task comes first, or none is wanted. Returns the wanted frame.
    pub(crate) fn end(
        &self,
        wanted: impl Fn(u32, Role) -> bool,
        now: u64,
        mut each: impl FnMut(Ended),
    ) -> Option<Ended> {
        let depth = self.depth();
        if depth > FRAMES {
            // What was pushed last is not kept. What ends is taken for that.
            self.depth.store(depth as u64 - 1, Release);
            return None;
        }
        for (above, (site, role)) in self.top_down().enumerate() {
            if wanted(site, role) {
                let mut last = None;
                for _ in 0..=above {
                    last = self.pop(now);
                    last.into_iter().for_each(&mut each);
                }
                return last;
            }
            if matches!(role, Role::Region | Role::Part | Role::Task) {
                break;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Box<Block> {
        // SAFETY: a block of zeros is valid: it consists of atomic words. The memory is that of one block.
        unsafe {
            Box::from_raw(std::alloc::alloc_zeroed(std::alloc::Layout::new::<Block>()).cast())
        }
    }

    fn role(wanted: Role) -> impl Fn(u32, Role) -> bool {
        move |_, role| role == wanted
    }

    #[test]
    fn time_counts_for_what_is_on_top() {
        let b = block();
        b.push(1, Role::Part, 100);
        b.push(2, Role::Work, 110);
        b.push(3, Role::Wait, 150);
        let wait = b.end(role(Role::Wait), 170, |_| ()).expect("a wait");
        assert_eq!((wait.site, wait.own()), (3, 20));
        let work = b.end(role(Role::Work), 200, |_| ()).expect("work");
        assert_eq!((work.whole, work.own()), (90, 70));
        let part = b.end(role(Role::Part), 300, |_| ()).expect("a part");
        assert_eq!((part.whole, part.own()), (200, 110));
        assert_eq!(b.top_down().count(), 0);
        assert_eq!(b.end(role(Role::Part), 300, |_| ()), None);
    }

    #[test]
    fn what_ends_ends_what_is_above_and_nothing_of_another_part() {
        let b = block();
        b.push(1, Role::Part, 0);
        b.push(2, Role::Work, 1);
        b.push(3, Role::Held, 2);
        let mut seen = Vec::new();
        b.end(role(Role::Part), 10, |e| seen.push((e.site, e.own())));
        assert_eq!(seen, [(3, 8), (2, 1), (1, 1)]);
        b.push(1, Role::Part, 20);
        b.push(2, Role::Work, 21);
        b.push(4, Role::Region, 22);
        b.push(4, Role::Part, 23);
        assert_eq!(
            b.end(role(Role::Work), 30, |_| ()),
            None,
            "of the outer region"
        );
        assert_eq!(b.top_down().count(), 4);
    }

    #[test]
    fn deeper_nesting_than_is_kept_loses_nothing_below() {
        let b = block();
        b.push(1, Role::Part, 0);
        for i in 0..2 * FRAMES as u64 {
            b.push(9, Role::Task, i);
        }
        for i in 0..2 * FRAMES as u64 {
            b.end(role(Role::Task), 1000 + i, |_| ());
        }
        let part = b.end(role(Role::Part), 5000, |_| ()).expect("the part");
        assert_eq!((part.site, part.whole), (1, 5000));
    }

    #[test]
    fn sums_are_kept_by_role() {
        let row = Row::default();
        let ended = |role| Ended {
            site: 1,
            role,
            whole: 50,
            inner: 20,
        };
        ended(Role::Work).add_to(&row);
        ended(Role::Part).add_to(&row);
        ended(Role::Wait).add_to(&row);
        ended(Role::Join).add_to(&row);
        let get = |n: &AtomicU64| n.load(Relaxed) as i64;
        assert_eq!(
            get(&row.count),
            2,
            "a part is counted where the region ends"
        );
        assert_eq!((get(&row.busy), get(&row.wait)), (60, 30));
        assert_eq!((get(&row.most), get(&row.end_wait)), (50, -20));
    }
}
