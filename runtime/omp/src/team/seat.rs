//! A thread's place in its team, apart from the number that the program is told.

/// Index of a thread in its team: into members, deques, barrier flags and the places of a schedule. Seats of a team
/// are counted from 0, the primary thread's, without gaps.
///
/// The program never sees a seat. It is told a *number* ([`Thread::number`]), which is the same in a team of this
/// process. Where a region's threads are in several processes ([`crate::across`]) the two differ: numbers go over all
/// processes, and seats begin at 0 in each.
///
/// [`Thread::number`]: crate::thread::Thread::number
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat(u32);

impl Seat {
    /// The primary thread's.
    pub(crate) const FIRST: Seat = Seat(0);

    /// Seat number `index`.
    #[inline(always)]
    pub(crate) const fn new(index: u32) -> Seat {
        Seat(index)
    }

    /// The seat, to calculate with.
    #[inline(always)]
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// The seat, to index with.
    #[inline(always)]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The seat `distance` further on, round a team of `seats`. `distance` is less than `seats`.
    #[inline(always)]
    pub(crate) const fn after(self, distance: u32, seats: u32) -> Seat {
        let to = self.0 + distance;
        Seat(if to >= seats { to - seats } else { to })
    }
}
