//! What the origin tells each node when it opens a region.

use super::table::{ask, Table, FORK};
use crate::icv::Icv;
use crate::worksharing::kinds::{Clause, Loop, SchedKind};
use core::mem::offset_of;
use hetmp_core::topo::nodes::dsm::MOST as MOST_NODES;
use hetmp_scan::Form;
use hetmp_sched::crossing::early::Trial;

/// The work-sharing construct that starts together with the region.
#[derive(Clone, Copy, Debug)]
#[repr(C, u32)]
pub(crate) enum Construct {
    /// A loop.
    Loop(Loop),
    /// Sections, and their number.
    Sections(u32),
}

/// How a region is opened; every node reads it. The opener keeps it on its own stack, which all nodes share, until the
/// join. Nodes may be of two instruction sets, and their libraries made by two compilers: so there is no address of
/// this library's code in it, the layout is C's, and [`MARK`] says that both see it so.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Opening {
    /// [`MARK`].
    pub(super) mark: u64,
    /// Threads of the region on all nodes together.
    pub(super) total: u32,
    /// Address of the function that the compiler outlined.
    pub(super) code: usize,
    /// How that function is called.
    pub(super) form: Form,
    /// The number in the `num_threads` clause; 0 without the clause.
    pub(super) asked: u32,
    /// Which node runs which threads.
    pub(super) on: On,
    /// How loops under this schedule are divided before they begin; `None`: all are handed out on demand.
    pub(super) blocks: Option<(SchedKind, Bounds)>,
    /// The parts of the region's static loops where they are uneven, by node.
    pub(super) uneven: Option<Bounds>,
    /// The origin tries whether the region gains by crossing.
    pub(super) trial: Option<Trial>,
    /// The region's threads tell each other nothing but through the runtime, so that pages may be lent.
    pub(super) lends: bool,
    /// The control variables of the threads' implicit tasks.
    pub(super) icv: Icv,
    /// The construct that starts together with the region, if there is one.
    pub(super) first: Option<Construct>,
}

/// Tells layouts of [`Opening`] apart.
pub(super) const MARK: u64 = {
    let places = [
        offset_of!(Opening, total),
        offset_of!(Opening, code),
        offset_of!(Opening, form),
        offset_of!(Opening, asked),
        offset_of!(Opening, on),
        offset_of!(Opening, blocks),
        offset_of!(Opening, uneven),
        offset_of!(Opening, trial),
        offset_of!(Opening, lends),
        offset_of!(Opening, icv),
        offset_of!(Opening, first),
        size_of::<Opening>(),
        offset_of!(Trial, part),
        offset_of!(Trial, began),
        offset_of!(Trial, threshold),
        offset_of!(Icv, allocator),
        offset_of!(Icv, run_sched),
        offset_of!(Icv, bind),
        offset_of!(Loop, clause),
        offset_of!(Loop, order),
        offset_of!(Loop, key),
        // How no schedule is told from one. SAFETY: any two bytes are a number.
        unsafe { core::mem::transmute::<Clause, u16>(None) } as usize,
    ];
    let (mut mark, mut i) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while i < places.len() {
        mark = (mark ^ places[i] as u64).wrapping_mul(0x0100_0000_01b3);
        i += 1;
    }
    mark
};

impl Opening {
    /// One of no region yet.
    pub(super) fn new(on: On, icv: Icv) -> Opening {
        Opening {
            mark: MARK,
            total: 0,
            code: 0,
            form: Form::default(),
            asked: 0,
            on,
            blocks: None,
            uneven: None,
            trial: None,
            lends: false,
            icv,
            first: None,
        }
    }

    /// Tells the other nodes. `entry` and `data`: the function that they call, and its argument.
    pub(super) fn fork(&self, t: &Table, entry: u64, data: u64) {
        let at = core::ptr::from_ref(self).expose_provenance() as u64;
        ask(t, FORK, [entry, data, at]);
    }
}

/// Which nodes run a region.
#[derive(Clone, Copy, Debug)]
#[repr(C, u32)]
pub(super) enum On {
    /// All. For each node, the number of its first thread; behind the last node, the region's number of threads.
    All([u32; MOST_NODES + 1]),
    /// This node alone, which is not the origin.
    One(u32),
    /// None: there is no region, and the threads that each node keeps for regions end (`omp_pause_resource`).
    Nobody,
    /// None: each node makes a copy of the region's function for uneven parts, and says whether it could.
    Copies,
}

/// Where each node's block of a loop begins, and where the last one ends, as parts of
/// [`hetmp_sched::crossing::blocks::WHOLE`].
pub(super) type Bounds = [u32; MOST_NODES + 1];

/// The same in a form that all nodes read.
pub(super) fn bounds(given: &[u32]) -> Bounds {
    let mut bounds = Bounds::default();
    bounds.iter_mut().zip(given).for_each(|(to, b)| *to = *b);
    bounds
}

impl On {
    /// All nodes, with these numbers of threads.
    pub(super) fn all(threads: impl Iterator<Item = u32>) -> On {
        let (mut firsts, mut sum) = ([0; MOST_NODES + 1], 0);
        for (first, threads) in firsts[1..].iter_mut().zip(threads.chain([0; MOST_NODES])) {
            sum += threads;
            *first = sum;
        }
        On::All(firsts)
    }

    /// The number of the first thread on `node`, and the number of threads there. On one node alone, the thread that
    /// opens the region is the only one that [`Local`] knows.
    pub(super) fn threads(&self, node: u32) -> (u32, u32) {
        match *self {
            On::All(firsts) => {
                let first = firsts[node as usize];
                (first, firsts[node as usize + 1] - first)
            }
            On::One(one) => (0, u32::from(node == one)),
            On::Nobody | On::Copies => (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::On;
    use hetmp_sched::crossing::division::equal_parts;

    #[test]
    fn every_thread_is_on_one_node() {
        for (nodes, total) in [(2, 2), (2, 5), (3, 7), (8, 8), (3, 100)] {
            let on = On::all(equal_parts(total, nodes));
            let mut next = 0;
            for node in 0..nodes {
                let (first, threads) = on.threads(node);
                assert!(first == next && threads > 0, "{on:?}");
                next += threads;
            }
            assert_eq!(next, total);
        }
        let unlike = On::all([3, 1].into_iter());
        assert_eq!((unlike.threads(0), unlike.threads(1)), ((0, 3), (3, 1)));
        let one = On::One(1);
        assert_eq!([0, 1, 2].map(|n| one.threads(n).1), [0, 1, 0]);
    }
}
