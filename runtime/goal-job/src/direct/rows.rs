//! Each collective as a row of [steps](super): which ranks expose what, and which ranks read it.

use super::{mark, Direct, Piece, Wait, FLAT};
use crate::choice::Collective;
use hetmp_goal::collectives::Vector;
use hetmp_goal::rank::Failure;

impl Direct {
    /// Runs a collective that [`takes`] accepts to its end. The buffers have this rank's [`lengths`], and may be the
    /// same.
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
        self.mark = mark(what);
        let done = self.steps(what, give, get, wait);
        if let Err(why) = done {
            self.fail(why, wait);
        }
        done
    }

    fn steps(
        &mut self,
        what: &Collective,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        match what {
            Collective::Barrier => {
                let step = self.expose(0, wait, |_| {})?;
                self.all(step, wait)
            }
            Collective::Allreduce { vector } => self.allreduce(vector, give, get, wait),
            Collective::Broadcast { root, bytes } => self.broadcast(*root, *bytes, give, get, wait),
            Collective::Reduce { root, vector } => {
                let at_root = *root == self.rank;
                for (done, n) in pieces(vector.bytes(), whole(self.room(), vector)) {
                    let step = self.expose(n, wait, |to| give.part(done, n).copy_to(to))?;
                    if at_root {
                        let into = get.part(done, n);
                        self.combined(vector, self.ranks(), step, (0, n), into, wait)?;
                        self.known = step + 1;
                    }
                }
                Ok(())
            }
            Collective::Scan { vector } => {
                for (done, n) in pieces(vector.bytes(), whole(self.room(), vector)) {
                    let step = self.expose(n, wait, |to| give.part(done, n).copy_to(to))?;
                    let into = get.part(done, n);
                    self.combined(vector, self.rank + 1, step, (0, n), into, wait)?;
                }
                Ok(())
            }
            Collective::ReduceScatter { vector } => self.reduce_scatter(vector, give, get, wait),
            Collective::Gather { root, bytes } => self.gather(*root, *bytes, give, get, wait),
            Collective::Scatter { root, bytes } => self.scatter(*root, *bytes, give, get, wait),
            Collective::Allgather { bytes } => self.allgather(*bytes, give, get, wait),
            Collective::Alltoall { bytes } => self.alltoall(*bytes, give, get, wait),
            Collective::NeighbourAllgather { .. } | Collective::NeighbourAlltoall { .. } => {
                unreachable!("`takes` says no")
            }
        }
    }

    fn allreduce(
        &mut self,
        vector: &Vector,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        if vector.bytes() <= FLAT {
            let n = vector.bytes() as usize;
            let step = self.expose(n, wait, |to| give.copy_to(to))?;
            self.combined(vector, self.ranks(), step, (0, n), get, wait)?;
            self.known = step + 1;
            return Ok(());
        }
        let (size, ranks) = (vector.element.bytes() as usize, self.areas.len());
        for (done, n) in pieces(vector.bytes(), whole(self.room(), vector)) {
            let part = |r: u32| {
                let share = |r: usize| n / size * r / ranks * size;
                let r = r as usize;
                (share(r), share(r + 1) - share(r))
            };
            let step = self.expose(n, wait, |to| give.part(done, n).copy_to(to))?;
            self.all(step, wait)?;
            let (at, len) = part(self.rank);
            let sum = self.reserve(len, wait)?;
            self.combined(vector, self.ranks(), step, (at, n), sum, wait)?;
            let sums = self.post(wait);
            for r in core::iter::once(self.rank).chain(self.others()) {
                let (at, len) = part(r);
                let sum = self.of(r, sums, len, wait)?;
                sum.copy_to(get.part(done + at, len));
            }
            self.known = sums + 1;
        }
        Ok(())
    }

    fn broadcast(
        &mut self,
        root: u32,
        bytes: u64,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        for (done, n) in pieces(bytes, self.room()) {
            if root == self.rank {
                self.expose(n, wait, |to| give.part(done, n).copy_to(to))?;
            } else {
                let step = self.expose(0, wait, |_| {})?;
                let from = self.of(root, step, n, wait)?;
                from.copy_to(get.part(done, n));
            }
        }
        if root == self.rank {
            give.copy_to(get);
        }
        Ok(())
    }

    fn gather(
        &mut self,
        root: u32,
        bytes: u64,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        let block = |r: u32| r as usize * bytes as usize;
        for (done, n) in pieces(bytes, self.room()) {
            if root != self.rank {
                self.expose(n, wait, |to| give.part(done, n).copy_to(to))?;
                continue;
            }
            let step = self.expose(0, wait, |_| {})?;
            for r in self.others() {
                let from = self.of(r, step, n, wait)?;
                from.copy_to(get.part(block(r) + done, n));
            }
            self.known = step + 1;
        }
        if root == self.rank {
            give.copy_to(get.part(block(root), bytes as usize));
        }
        Ok(())
    }

    fn scatter(
        &mut self,
        root: u32,
        bytes: u64,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        let (me, ranks) = (self.rank as usize, self.areas.len());
        let block = bytes as usize;
        for (done, n) in pieces(bytes, self.room() / ranks) {
            if root == self.rank {
                self.expose(n * ranks, wait, |to| {
                    for r in 0..ranks {
                        let from = give.part(r * block + done, n);
                        from.copy_to(to.part(r * n, n));
                    }
                })?;
            } else {
                let step = self.expose(0, wait, |_| {})?;
                let from = self.of(root, step, n * ranks, wait)?;
                from.part(me * n, n).copy_to(get.part(done, n));
            }
        }
        if root == self.rank {
            give.part(me * block, block).copy_to(get);
        }
        Ok(())
    }

    fn allgather(
        &mut self,
        bytes: u64,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        let block = |r: u32| r as usize * bytes as usize;
        for (done, n) in pieces(bytes, self.room()) {
            let from = give.part(done, n);
            let step = self.expose(n, wait, |to| from.copy_to(to))?;
            from.copy_to(get.part(block(self.rank) + done, n));
            for r in self.others() {
                let from = self.of(r, step, n, wait)?;
                from.copy_to(get.part(block(r) + done, n));
            }
            self.known = step + 1;
        }
        Ok(())
    }

    fn alltoall(
        &mut self,
        bytes: u64,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        let (me, ranks) = (self.rank as usize, self.areas.len());
        let block = bytes as usize;
        // A rank exposes no block for itself.
        let place = |r: usize, of: usize| if r < of { r } else { r - 1 };
        for (done, n) in pieces(bytes, self.room() / (ranks - 1)) {
            let all = n * (ranks - 1);
            let step = self.expose(all, wait, |to| {
                for r in (0..ranks).filter(|r| *r != me) {
                    let from = give.part(r * block + done, n);
                    from.copy_to(to.part(place(r, me) * n, n));
                }
            })?;
            let own = me * block + done;
            give.part(own, n).copy_to(get.part(own, n));
            for r in self.others() {
                let (from, r) = (self.of(r, step, all, wait)?, r as usize);
                let from = from.part(place(me, r) * n, n);
                from.copy_to(get.part(r * block + done, n));
            }
            self.known = step + 1;
        }
        Ok(())
    }

    fn reduce_scatter(
        &mut self,
        vector: &Vector,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<(), Failure> {
        let (me, ranks) = (self.rank as usize, self.areas.len());
        let block = vector.bytes() as usize;
        for (done, n) in pieces(vector.bytes(), whole(self.room() / ranks, vector)) {
            let all = n * ranks;
            let step = self.expose(all, wait, |to| {
                for r in 0..ranks {
                    let from = give.part(r * block + done, n);
                    from.copy_to(to.part(r * n, n));
                }
            })?;
            let into = get.part(done, n);
            self.combined(vector, self.ranks(), step, (me * n, all), into, wait)?;
            self.known = step + 1;
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

/// The largest number of bytes up to `most` that is a multiple of the vector's element size.
fn whole(most: usize, vector: &Vector) -> usize {
    let size = vector.element.bytes().max(1) as usize;
    most / size * size
}

/// Starts and lengths of the pieces of `bytes` bytes, each at most `most` long. Zero bytes give one empty piece, so
/// that a reduction without elements still synchronises its ranks.
fn pieces(bytes: u64, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let bytes = bytes as usize;
    let n = bytes.div_ceil(most).max(1);
    (0..n).map(move |i| (i * most, (bytes - i * most).min(most)))
}
