//! How a region that crosses is divided among nodes of unlike speed: if it may have more threads than it would have,
//! nodes have numbers of threads in proportion, with any number of cores; else uneven parts of its static loops, if it
//! may have those ([`uneven`]).

use super::opening::{On, Opening};
use super::table::{self, ask, Table, JOIN};
use super::{critical, divide, uneven, weigh};
use crate::icv::StaticLoops;
use crate::init;
use crate::team::region::Region;
use crate::thread::Thread;
use crate::unlike::virtual_team::allowed;
use hetmp_core::whole::Mutex;
use hetmp_sched::crossing::blocks::Blocks;
use hetmp_sched::crossing::division::equal_parts;
use std::collections::BTreeMap;

/// The parts of nodes.
pub(super) struct Split {
    /// By node.
    pub(super) threads: Vec<u32>,
    /// Where each node's part of the region's static loops begins, and where the last one ends, as parts of
    /// [`hetmp_sched::crossing::blocks::WHOLE`]. `None`: threads have equal parts.
    pub(super) uneven: Option<Vec<u32>>,
}

impl Split {
    pub(super) fn equal(threads: u32, nodes: u32) -> Split {
        Split {
            threads: equal_parts(threads, nodes).collect(),
            uneven: None,
        }
    }

    /// Nodes' parts are as `parts` to each other.
    pub(super) fn of(th: &Thread, region: &Region, parts: Vec<u32>) -> Split {
        if parts.iter().sum::<u32>() == region.nthreads || divide::any_size(th, region) {
            return Split {
                threads: parts,
                uneven: None,
            };
        }
        let weights = parts.iter().map(|&part| f64::from(part));
        Split {
            uneven: Blocks::given(weights).and_then(|blocks| blocks.bounds()),
            ..Split::equal(region.nthreads, parts.len() as u32)
        }
    }
}

/// May `region`, which the thread opens at the origin, have parts in any proportion? `crosses`: it does so already.
pub(super) fn is_possible(t: &Table, th: &Thread, region: &Region, crosses: bool) -> bool {
    divide::any_size(th, region) || may_be_uneven(t, th, region, crosses)
}

/// The same with the number of threads that it has: do all nodes have a copy of its function?
fn may_be_uneven(t: &Table, th: &Thread, region: &Region, crosses: bool) -> bool {
    static KNOWN: Mutex<BTreeMap<(usize, u32), bool>> = Mutex::new(BTreeMap::new());
    if !t.alike || !allowed::uneven(th, region) {
        return false;
    }
    let key = (region.code, region.nthreads);
    if let Some(&known) = KNOWN.lock().get(&key) {
        return known;
    }
    // If another region crosses, this one is asked for again.
    if !crosses && !critical::begin_crossing() {
        return false;
    }
    let opening = Opening {
        total: region.nthreads,
        code: region.code,
        ..Opening::new(On::Copies, *th.task().icv())
    };
    let possible = uneven::make(key) && {
        opening.fork(t, 0, 0);
        ask(t, JOIN, [0; 3]);
        (1..t.nodes).all(|node| table::words(t, node)[0] == 1)
    };
    if !crosses {
        critical::end_crossing();
    }
    KNOWN.lock().insert(key, possible);
    possible
}

/// How `region`, which is about to cross, is divided; `None`: equally.
pub(super) fn now(t: &Table, th: &Thread, region: &Region) -> Option<Split> {
    let divides = || is_possible(t, th, region, true);
    let parts = match tested(t.nodes) {
        Some(parts) => divides().then_some(parts),
        None => weigh::parts(t, region, &divides),
    };
    Some(Split::of(th, region, parts?))
}

/// The nodes' parts if a test asks for parts that are others each time.
pub(super) fn tested(nodes: u32) -> Option<Vec<u32>> {
    static TIMES: Mutex<u32> = Mutex::new(0);
    if init::globals().ours.static_loops != StaticLoops::ForceUneven {
        return None;
    }
    let mut times = TIMES.lock();
    *times = times.wrapping_add(1);
    let large = *times % nodes;
    Some(
        (0..nodes)
            .map(|node| 1 + 4 * u32::from(node == large))
            .collect(),
    )
}
