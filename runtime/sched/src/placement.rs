//! Which thread of a team sits on which node.

use crate::energy::Power;

/// What the scheduler needs to know about a node of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeShape {
    /// Threads of this team on the node, one per core.
    pub threads: u32,
}

/// The placement of a team: a node for every thread number.
///
/// Built once per team and shared by its loops. A node may have no threads in
/// a given team.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    node_of: Box<[u32]>,
    rank: Box<[u32]>,
    nodes: Box<[NodeShape]>,
    /// Empty, or each node's watts, where known.
    power: Box<[Option<Power>]>,
}

impl Placement {
    /// Threads numbered node by node: the first `nodes[0].threads` on node 0
    /// and so on.
    #[must_use]
    pub fn contiguous(nodes: &[NodeShape]) -> Self {
        let node_of: Vec<u32> = (0u32..)
            .zip(nodes)
            .flat_map(|(i, s)| (0..s.threads).map(move |_| i))
            .collect();
        Self::placed(&node_of, nodes.len())
    }

    /// Thread `t` sits on node `node_of[t]`. There are `nodes` nodes, or as
    /// many as the highest number asks for.
    #[must_use]
    pub fn placed(node_of: &[u32], nodes: usize) -> Self {
        let highest = node_of.iter().map(|&i| i as usize + 1).max().unwrap_or(1);
        let mut shapes = vec![NodeShape { threads: 0 }; nodes.max(highest)];
        let rank = node_of
            .iter()
            .map(|&i| {
                let here = &mut shapes[i as usize].threads;
                *here += 1;
                *here - 1
            })
            .collect();
        Placement {
            node_of: node_of.into(),
            rank,
            nodes: shapes.into(),
            power: Box::default(),
        }
    }

    /// This team on nodes that draw `power`, by node. Nodes for which the list says nothing draw an unknown
    /// power.
    #[must_use]
    pub fn with_power(mut self, power: &[Option<Power>]) -> Self {
        self.power = power.into();
        self
    }

    /// The watts of node `node`, where known.
    #[must_use]
    pub(crate) fn power(&self, node: usize) -> Option<Power> {
        self.power.get(node).copied().flatten()
    }

    /// Number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.node_of.len()
    }

    /// All nodes, those without threads included.
    #[must_use]
    pub fn nodes(&self) -> &[NodeShape] {
        &self.nodes
    }

    /// Number of nodes on which the team has threads.
    #[must_use]
    pub fn inhabited(&self) -> usize {
        self.nodes.iter().filter(|s| s.threads > 0).count()
    }

    /// Node of thread `tid`.
    #[inline]
    #[must_use]
    pub fn node_of(&self, tid: usize) -> usize {
        self.node_of[tid] as usize
    }

    /// Number of `tid` among the threads of its node, from 0.
    #[inline]
    #[must_use]
    pub fn rank(&self, tid: usize) -> usize {
        self.rank[tid] as usize
    }

    /// A value that two teams share only if they have the same number of
    /// threads on each node (FNV-1a; part of a region's key in the cache).
    #[must_use]
    pub(crate) fn shape_key(&self) -> u64 {
        self.nodes.iter().fold(0xcbf2_9ce4_8422_2325, |h, s| {
            s.threads
                .to_le_bytes()
                .iter()
                .fold(h, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements() {
        let shapes = [2, 0, 3].map(|threads| NodeShape { threads });
        let t = Placement::contiguous(&shapes);
        assert_eq!(t, Placement::placed(&[0, 0, 2, 2, 2], 0));
        assert_eq!((t.nodes(), t.inhabited()), (&shapes[..], 2));
        let mixed = Placement::placed(&[2, 0, 2, 0, 2], 3);
        assert_eq!(mixed.shape_key(), t.shape_key());
        assert_eq!((mixed.rank(4), mixed.node_of(4)), (2, 2));
        assert_ne!(Placement::placed(&[0, 1], 2).shape_key(), t.shape_key());
        assert_eq!(Placement::placed(&[], 0).nodes().len(), 1);
    }
}
