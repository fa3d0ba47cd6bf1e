//! Each collective as a row of [steps](super): which ranks expose what, and which ranks read it.

use super::{mark, Direct, Piece, Wait, FLAT, SHORT};
use crate::choice::Collective;
use hetmp_goal::collectives::Vector;
use hetmp_goal::rank::Failure;

/// A part of a collective's blocks: the same bytes of each of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Where it begins in a block.
    pub(super) from: usize,
    /// Its length in a block.
    pub(super) n: usize,
}

impl Direct {
    /// Runs a collective that [`takes`](super::takes) accepts to its end. The buffers have this rank's
    /// [`lengths`](super::lengths), and may be the same.
    ///
    /// # Errors
    /// A peer has died or left, or calls something else. Then every later collective on this way fails too.
    #[inline]
    pub(crate) fn run(
        &mut self,
        what: &Collective,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        if let Some(why) = self.broken {
            return Err(why);
        }
        let done = self.run_all(what, give, get, wait);
        if let Err(why) = done {
            // Nothing that was started goes on during a blocking one.
            self.fail(0, why, wait);
        }
        done
    }

    #[inline]
    fn run_all(
        &mut self,
        what: &Collective,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        if !self.started.is_empty() {
            self.end_started(wait)?;
        }
        self.mark = mark(what);
        match what {
            Collective::Allreduce { vector } if vector.bytes() > FLAT => {
                self.allreduce_in_shares(vector, give, get, wait)
            }
            _ => {
                let bytes = block(what);
                if bytes <= SHORT as u64 {
                    let all = Part {
                        from: 0,
                        n: bytes as usize,
                    };
                    return self.row(what, give, get, all, wait);
                }
                for part in parts(bytes, self.most(what, self.room())) {
                    self.row(what, give, get, part, wait)?;
                }
                Ok(())
            }
        }
    }

    /// One step: exposes a part, and takes what the others expose of it.
    #[inline]
    fn row(
        &mut self,
        what: &Collective,
        give: Piece,
        get: Piece,
        part: Part,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        let to = self.reserve(self.exposed(what, part.n), wait)?;
        self.put(what, give, part, to);
        let step = self.post(wait);
        self.take(what, (give, get), part, step, wait)
    }

    /// The longest part of each block that fits into a step of `room` bytes.
    pub(super) fn most(&self, what: &Collective, room: usize) -> usize {
        let ranks = self.areas.len();
        match what {
            Collective::Scatter { .. } => room / ranks,
            Collective::Alltoall { .. } => room / (ranks - 1),
            Collective::ReduceScatter { vector } => whole(room / ranks, vector),
            Collective::Reduce { vector, .. }
            | Collective::Allreduce { vector }
            | Collective::Scan { vector, .. } => whole(room, vector),
            _ => room,
        }
    }

    /// The bytes that this rank exposes for a part of `n` bytes of each block.
    #[inline]
    pub(super) fn exposed(&self, what: &Collective, n: usize) -> usize {
        let (rank, ranks) = (self.rank, self.areas.len());
        match what {
            Collective::Broadcast { root, .. } if *root != rank => 0,
            Collective::Scatter { root, .. } if *root != rank => 0,
            Collective::Gather { root, .. } if *root == rank => 0,
            Collective::Scatter { .. } | Collective::ReduceScatter { .. } => n * ranks,
            // A rank exposes no block for itself.
            Collective::Alltoall { .. } => n * (ranks - 1),
            _ => n,
        }
    }

    /// Whether this rank reads what `rank` exposes, or waits for that rank.
    #[inline]
    pub(super) fn reads(&self, what: &Collective, rank: u32) -> bool {
        match what {
            Collective::Broadcast { root, .. } | Collective::Scatter { root, .. } => *root == rank,
            Collective::Reduce { root, .. } | Collective::Gather { root, .. } => *root == self.rank,
            Collective::Scan { .. } => rank < self.rank,
            _ => true,
        }
    }

    /// Writes what this rank exposes of a part to its place.
    #[inline]
    pub(super) fn put(&self, what: &Collective, give: Piece, part: Part, to: Piece) {
        let Part { from, n } = part;
        let blocks = |to: Piece, skip: usize| {
            let step = block(what) as usize;
            let blocks = (0..self.areas.len()).filter(|r| *r != skip);
            for (at, r) in blocks.enumerate() {
                give.part(r * step + from, n).copy_to(to.part(at * n, n));
            }
        };
        match what {
            _ if to.n == 0 => {}
            Collective::Scatter { .. } | Collective::ReduceScatter { .. } => blocks(to, usize::MAX),
            Collective::Alltoall { .. } => blocks(to, self.rank as usize),
            _ => give.part(from, n).copy_to(to),
        }
    }

    /// Reads what the others expose of a part, and writes this rank's result.
    #[inline]
    pub(super) fn take(
        &self,
        what: &Collective,
        (give, get): (Piece, Piece),
        part: Part,
        step: u64,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        let (Part { from, n }, me, ranks) = (part, self.rank as usize, self.areas.len());
        let at = |r: usize| r * block(what) as usize + from;
        match what {
            Collective::Barrier => self.all(step, wait),
            Collective::Broadcast { root, .. } if *root == self.rank => {
                give.part(from, n).copy_to(get.part(from, n));
                Ok(())
            }
            Collective::Broadcast { root, .. } => {
                let source = self.of(*root, step, n, wait)?;
                source.copy_to(get.part(from, n));
                Ok(())
            }
            Collective::Reduce { root, .. } | Collective::Gather { root, .. }
                if *root != self.rank =>
            {
                Ok(())
            }
            Collective::Reduce { vector, .. } | Collective::Allreduce { vector } => {
                self.combined(vector, self.ranks(), step, (0, n), get.part(from, n), wait)
            }
            Collective::Scan {
                inclusive: false, ..
            } if me == 0 => Ok(()),
            Collective::Scan { vector, inclusive } => {
                let upto = self.rank + u32::from(*inclusive);
                self.combined(vector, upto, step, (0, n), get.part(from, n), wait)
            }
            Collective::ReduceScatter { vector } => {
                let all = n * ranks;
                self.combined(
                    vector,
                    self.ranks(),
                    step,
                    (me * n, all),
                    get.part(from, n),
                    wait,
                )
            }
            Collective::Gather { .. } | Collective::Allgather { .. } => {
                give.part(from, n).copy_to(get.part(at(me), n));
                for r in self.others() {
                    let source = self.of(r, step, n, wait)?;
                    source.copy_to(get.part(at(r as usize), n));
                }
                Ok(())
            }
            Collective::Scatter { root, .. } if *root == self.rank => {
                give.part(at(me), n).copy_to(get.part(from, n));
                Ok(())
            }
            Collective::Scatter { root, .. } => {
                let source = self.of(*root, step, n * ranks, wait)?;
                source.part(me * n, n).copy_to(get.part(from, n));
                Ok(())
            }
            Collective::Alltoall { .. } => {
                give.part(at(me), n).copy_to(get.part(at(me), n));
                for r in self.others() {
                    let source = self.of(r, step, n * (ranks - 1), wait)?;
                    let r = r as usize;
                    let place = if me < r { me } else { me - 1 };
                    source.part(place * n, n).copy_to(get.part(at(r), n));
                }
                Ok(())
            }
            Collective::NeighbourAllgather { .. } | Collective::NeighbourAlltoall { .. } => {
                unreachable!("`takes` says no")
            }
        }
    }

    /// A long allreduce: each rank combines a share of it, and all read the shares.
    fn allreduce_in_shares(
        &mut self,
        vector: &Vector,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        let (size, ranks) = (vector.element.bytes() as usize, self.areas.len());
        for Part { from, n } in parts(vector.bytes(), whole(self.room(), vector)) {
            let share = |r: u32| {
                let begin = |r: usize| n / size * r / ranks * size;
                let r = r as usize;
                (begin(r), begin(r + 1) - begin(r))
            };
            let step = self.expose(n, wait, |to| give.part(from, n).copy_to(to))?;
            self.all(step, wait)?;
            let (at, len) = share(self.rank);
            let sum = self.reserve(len, wait)?;
            self.combined(vector, self.ranks(), step, (at, n), sum, wait)?;
            let sums = self.post(wait);
            for r in core::iter::once(self.rank).chain(self.others()) {
                let (at, len) = share(r);
                let sum = self.of(r, sums, len, wait)?;
                sum.copy_to(get.part(from + at, len));
            }
        }
        Ok(())
    }

    /// Combines, in the order of ranks, what the first `ranks` ranks expose in a step. Each exposes `all` bytes, of
    /// which as many as `into` has are taken, beginning at `at`.
    #[inline]
    fn combined(
        &self,
        vector: &Vector,
        ranks: u32,
        step: u64,
        (at, all): (usize, usize),
        into: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        let n = into.n;
        self.of(0, step, all, wait)?.part(at, n).copy_to(into);
        for r in 1..ranks {
            let operand = self.of(r, step, all, wait)?.part(at, n);
            into.combine(vector, operand);
        }
        Ok(())
    }
}

/// Bytes of one block of a collective.
#[inline]
pub(super) fn block(what: &Collective) -> u64 {
    match what {
        Collective::Broadcast { bytes, .. }
        | Collective::Gather { bytes, .. }
        | Collective::Scatter { bytes, .. }
        | Collective::Allgather { bytes }
        | Collective::Alltoall { bytes } => *bytes,
        Collective::Reduce { vector, .. }
        | Collective::Allreduce { vector }
        | Collective::Scan { vector, .. }
        | Collective::ReduceScatter { vector } => vector.bytes(),
        Collective::Barrier
        | Collective::NeighbourAllgather { .. }
        | Collective::NeighbourAlltoall { .. } => 0,
    }
}

/// The largest number of bytes up to `most` that is a multiple of the vector's element size.
fn whole(most: usize, vector: &Vector) -> usize {
    let size = vector.element.bytes().max(1) as usize;
    most / size * size
}

/// The parts of blocks of `bytes` bytes, each at most `most` long. Zero bytes give one empty part, so that a reduction
/// without elements still synchronises its ranks.
fn parts(bytes: u64, most: usize) -> impl Iterator<Item = Part> {
    let bytes = bytes as usize;
    let n = bytes.div_ceil(most).max(1);
    (0..n).map(move |i| Part {
        from: i * most,
        n: (bytes - i * most).min(most),
    })
}
