//! `static-csr`: a static split by ratios that the user gives, one per node.
//!
//! This is the paper's "ideal CSR" baseline: no probing, no shared state, and no iteration moves while the
//! loop runs. A node's share is its ratio times its threads, as one contiguous range; inside the node every
//! thread gets an equal piece.

use crate::placement::Placement;
use crate::plain::static_piece;
use crate::ranges::Range;

/// Cuts `range` into contiguous parts proportional to `weights`, in order.
///
/// Every iteration is in exactly one part, whatever the weights are. A weight that is not positive and finite
/// counts as zero; if all are zero, all count as one. A part of weight zero is empty. Beyond 2^53 iterations
/// the cuts are as exact as an `f64`.
pub fn split<W>(range: Range, weights: W) -> impl Iterator<Item = Range>
where
    W: Iterator<Item = f64> + Clone,
{
    let useful = |w: f64| w.is_finite() && w > 0.0;
    // Weights are taken relative to the largest, so that no sum can overflow.
    let largest = weights.clone().filter(|&w| useful(w)).fold(0.0, f64::max);
    let even = largest == 0.0;
    let scaled = move |w: f64| match w {
        _ if even => 1.0,
        w if useful(w) => w / largest,
        _ => 0.0,
    };
    let total: f64 = weights.clone().map(scaled).sum();
    let last = weights
        .clone()
        .enumerate()
        .filter(|&(_, w)| even || useful(w))
        .last()
        .map_or(0, |(i, _)| i);
    let len = range.len();
    let mut sum = 0.0;
    let mut from = range.start;
    weights.enumerate().map(move |(i, w)| {
        sum += scaled(w);
        // The cut grows with `sum`, and the last one is exact, so that
        // rounding can neither lose nor repeat an iteration.
        let cut = if i >= last {
            len
        } else {
            ((len as f64 * (sum / total)).round() as u64).min(len)
        };
        let part = Range {
            start: from,
            end: (range.start + cut).max(from),
        };
        from = part.end;
        part
    })
}

/// Checks that the user gave one ratio per node.
///
/// # Errors
/// The accepted form, without a message's prefix.
pub fn check(ratios: &[f64], nodes: usize) -> Result<(), String> {
    if ratios.len() == nodes {
        return Ok(());
    }
    Err(format!(
        "{} ratios for {nodes} node{} (expected one for each)",
        ratios.len(),
        if nodes == 1 { "" } else { "s" }
    ))
}

/// The one piece of thread `tid`; may be empty.
///
/// `ratios` are core speed ratios per node. A missing ratio counts as zero (see [`check`]). If no node with
/// threads has a usable ratio, all threads get equal pieces.
#[must_use]
pub fn piece(n: u64, ratios: &[f64], team: &Placement, tid: usize) -> Range {
    let usable = |r: f64| r.is_finite() && r > 0.0;
    let weights = team.nodes().iter().enumerate().map(|(i, s)| {
        let r = ratios.get(i).copied().filter(|&r| usable(r)).unwrap_or(0.0);
        // The bound keeps the product finite. No two real nodes differ by this factor.
        r.min(1e100) * f64::from(s.threads)
    });
    if !weights.clone().any(usable) {
        return static_piece(n, team.threads() as u64, tid as u64);
    }
    let node = team.node_of(tid);
    let part = split(Range { start: 0, end: n }, weights)
        .nth(node)
        .unwrap_or_default();
    let threads = u64::from(team.nodes()[node].threads);
    let inner = static_piece(part.len(), threads, team.rank(tid) as u64);
    Range {
        start: part.start + inner.start,
        end: part.start + inner.end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::NodeShape;
    use proptest::prelude::*;

    #[test]
    fn three_to_one() {
        let team = Placement::placed(&[1, 0, 0, 1], 2);
        let got: Vec<Range> = (0..4).map(|t| piece(800, &[3.0, 1.0], &team, t)).collect();
        assert_eq!(
            got,
            [(600, 700), (0, 300), (300, 600), (700, 800)].map(|(s, e)| Range::new(s, e))
        );
        assert!(check(&[1.0], 2).is_err());
        assert!(check(&[1.0, 2.0], 2).is_ok());
    }

    fn weight() -> impl Strategy<Value = f64> {
        prop_oneof![
            0.0f64..10.0,
            Just(0.0),
            Just(-1.0),
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(f64::MAX),
            Just(f64::MIN_POSITIVE)
        ]
    }

    proptest! {
        #[test]
        fn split_tiles(start in 0u64..1000, len in prop_oneof![0u64..100, Just(u64::MAX - 1000)],
                       w in prop::collection::vec(weight(), 1..9)) {
            let range = Range::new(start, start + len);
            let parts: Vec<Range> = split(range, w.iter().copied()).collect();
            let mut at = start;
            let useful = |w: f64| w.is_finite() && w > 0.0;
            let even = !w.iter().copied().any(useful);
            for (p, &w) in parts.iter().zip(&w) {
                prop_assert_eq!(p.start, at);
                prop_assert!(p.end >= p.start);
                prop_assert!(even || useful(w) || p.is_empty());
                at = p.end;
            }
            prop_assert_eq!(at, range.end);
        }

        #[test]
        fn pieces_tile(n in prop_oneof![0u64..500, Just(u64::MAX)],
                       counts in prop::collection::vec(0u32..5, 1..6),
                       ratios in prop::collection::vec(weight(), 0..7)) {
            let shapes: Vec<NodeShape> = counts.iter().map(|&threads| NodeShape { threads }).collect();
            let team = Placement::contiguous(&shapes);
            prop_assume!(team.threads() > 0);
            let mut at = 0;
            for t in 0..team.threads() {
                let r = piece(n, &ratios, &team, t);
                prop_assert_eq!(r.start, at);
                at = r.end;
            }
            prop_assert_eq!(at, n);
        }
    }
}
