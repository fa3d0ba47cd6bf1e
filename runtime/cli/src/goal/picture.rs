//! A job as a graph, for Graphviz or as a picture.

use hetmp_goal::global;
use hetmp_goal::graph::{After, Graph, Work};
use hetmp_goal::memory::total;
use std::fmt::Write as _;

/// Graphviz's DOT: a box for each rank.
pub(super) fn dot(graphs: &[Graph]) -> String {
    let mut out = String::from("digraph goal {\n  node [shape=box];\n");
    // Writing to a string does not fail.
    for graph in graphs {
        let rank = graph.rank();
        let _ = writeln!(
            out,
            "  subgraph cluster_{rank} {{\n    label=\"rank {rank}\";"
        );
        for (i, work) in graph.operations().iter().enumerate() {
            let _ = writeln!(out, "    r{rank}_{i} [label=\"{work}\"];");
        }
        for (later, after, earlier) in graph.edges() {
            let style = if after == After::Begun {
                " [style=dotted]"
            } else {
                ""
            };
            let _ = writeln!(out, "    r{rank}_{earlier} -> r{rank}_{later}{style};");
        }
        out.push_str("  }\n");
    }
    for (receive, send) in global::messages(graphs) {
        let _ = writeln!(
            out,
            "  r{}_{} -> r{}_{} [color=blue, constraint=false];",
            send.rank, send.operation, receive.rank, receive.operation
        );
    }
    out.push_str("}\n");
    out
}

/// The most operations that a picture shows; of more nobody could read any.
const MOST: usize = 5000;
const BOX: (usize, usize) = (104, 20);
/// Between the boxes of one level; between levels there is more.
const GAP: (usize, usize) = (8, 3);
const STEP: usize = 18;
/// Between the lanes of two ranks.
const LANE: usize = 22;
const TOP: usize = 52;
/// Width over height of a screen.
const SHAPE: f64 = 1.6;

/// How many operations lie on the longest way to each one, by rank and number. An operation lies below all operations
/// of its rank for which it waits, and a receive below the send of its message.
fn levels(graphs: &[Graph], messages: &[(global::Place, global::Place)]) -> Vec<Vec<usize>> {
    let mut first = vec![0];
    for g in graphs {
        first.push(first[first.len() - 1] + g.operations().len());
    }
    let all = first[graphs.len()];
    let number = |p: &global::Place| first[p.rank as usize] + p.operation;
    let of_rank = graphs.iter().enumerate().flat_map(|(rank, g)| {
        let from = first[rank];
        g.edges().map(move |(l, _, e)| (from + e, from + l))
    });
    let of_messages = messages.iter().map(|(to, from)| (number(from), number(to)));
    let mut edges: Vec<(usize, usize)> = of_rank.chain(of_messages).collect();
    edges.sort_unstable();
    let mut missing = vec![0; all];
    for (_, later) in &edges {
        missing[*later] += 1;
    }
    let (mut level, mut done) = (vec![0; all], vec![false; all]);
    let mut ready: Vec<usize> = (0..all).filter(|i| missing[*i] == 0).collect();
    let mut next = 0;
    loop {
        while let Some(at) = ready.pop() {
            done[at] = true;
            let from = edges.partition_point(|(e, _)| *e < at);
            for (_, later) in edges[from..].iter().take_while(|(e, _)| *e == at) {
                level[*later] = level[*later].max(level[at] + 1);
                missing[*later] -= 1;
                if missing[*later] == 0 && !done[*later] {
                    ready.push(*later);
                }
            }
        }
        // A circle: the first of those that wait goes on all the same.
        while next < all && done[next] {
            next += 1;
        }
        if next == all {
            break;
        }
        ready.push(next);
    }
    first
        .windows(2)
        .map(|w| level[w[0]..w[1]].to_vec())
        .collect()
}

/// Where the boxes lie: top and column of each, by rank and number, with this many columns for each rank; and where the
/// last one ends. Operations of one level that find no place next to each other lie below each other.
fn placed(levels: &[Vec<usize>], columns: usize) -> (Vec<Vec<(usize, usize)>>, usize) {
    let deepest = levels.iter().flatten().max().map_or(0, |l| l + 1);
    let mut counts: Vec<Vec<usize>> = Vec::new();
    let mut heights = vec![0; deepest];
    for of_rank in levels {
        let mut count = vec![0; deepest];
        for level in of_rank {
            count[*level] += 1;
            heights[*level] = heights[*level].max(usize::div_ceil(count[*level], columns));
        }
        counts.push(count);
    }
    let mut top = vec![TOP];
    for height in heights {
        top.push(top[top.len() - 1] + height * (BOX.1 + GAP.1) + STEP);
    }
    let mut places = Vec::new();
    for (of_rank, counts) in levels.iter().zip(&counts) {
        let mut taken = vec![0; deepest];
        let place = |level: &usize| {
            let n = taken[*level];
            taken[*level] += 1;
            // Fewer than a row has lie in its middle.
            let in_row = (counts[*level] - n / columns * columns).min(columns);
            (
                top[*level] + n / columns * (BOX.1 + GAP.1),
                n % columns + (columns - in_row) / 2,
            )
        };
        places.push(of_rank.iter().map(place).collect());
    }
    (places, top[deepest])
}

/// What stands in a box; the whole words appear when the pointer is over it.
fn short(work: &Work) -> String {
    let bytes = |pieces| {
        let n = total(pieces).unwrap_or(u64::MAX);
        match n {
            n if n >= 10 << 20 => format!("{} M", n >> 20),
            n if n >= 10 << 10 => format!("{} K", n >> 10),
            n => format!("{n} B"),
        }
    };
    match work {
        Work::Send { to, from, .. } => format!("{} to {to}", bytes(from)),
        Work::Recv { from, into, .. } => format!("{} from {from}", bytes(into)),
        Work::Local { op, target, .. } => format!("{op} {}", bytes(target)),
        Work::Copy { into, .. } => format!("copy {}", bytes(into)),
        Work::Timestamp { .. } => "timestamp".to_owned(),
        Work::Calc { nanoseconds } if *nanoseconds >= 10_000 => {
            format!("calc {} us", nanoseconds / 1000)
        }
        Work::Calc { nanoseconds } => format!("calc {nanoseconds} ns"),
    }
}

/// The picture: ranks lie next to each other, and time goes downwards. Of two ranks and some operations it is a
/// screen wide at most, of more it grows as little as it can.
///
/// # Errors
/// More operations than a picture shows.
pub(super) fn svg(graphs: &[Graph]) -> Result<String, String> {
    let all: usize = graphs.iter().map(|g| g.operations().len()).sum();
    if all > MOST {
        return Err(format!(
            "picture of {all} operations: too many to read (expected up to {MOST}; --format dot, or the timeline of \
             hetmp goal run --svg)"
        ));
    }
    let messages = global::messages(graphs);
    let levels = levels(graphs, &messages);
    let lane = |columns: usize| columns * (BOX.0 + GAP.0) + LANE;
    let width = |columns: usize| graphs.len() * lane(columns) + LANE;
    // The number of columns with which the picture is most like a screen.
    let widest = levels.iter().map(Vec::len).max().unwrap_or(1).clamp(1, 16);
    let unlike = |columns: &usize| {
        let (w, h) = (width(*columns), placed(&levels, *columns).1);
        ((w as f64 / h as f64 / SHAPE).ln().abs() * 1000.0) as u64
    };
    let columns = (1..=widest).min_by_key(unlike).unwrap_or(1);
    let (places, height) = placed(&levels, columns);
    let width = width(columns);
    let x = |rank: usize, column: usize| LANE + rank * lane(columns) + column * (BOX.0 + GAP.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n<defs><marker id=\"a\" markerWidth=\"6\" markerHeight=\"6\" refX=\"6\" refY=\"3\" \
         orient=\"auto\"><path d=\"M0,0 L6,3 L0,6 z\"/></marker></defs>\n"
    );
    // Writing to a string does not fail.
    for (at, (kind, fill)) in FILLS.iter().enumerate() {
        let left = LANE + 90 * at;
        let _ = writeln!(
            out,
            "<rect x=\"{left}\" y=\"6\" width=\"12\" height=\"12\" fill=\"{fill}\" stroke=\"#555\"/><text \
             x=\"{}\" y=\"16\">{kind}</text>",
            left + 17
        );
    }
    for rank in 0..graphs.len() {
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"26\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"#f4f4f4\"/><text x=\"{}\" \
             y=\"42\" font-weight=\"bold\">rank {rank}</text>",
            x(rank, 0) - 8,
            lane(columns) - LANE + 8,
            height.saturating_sub(30),
            x(rank, 0)
        );
    }
    let mut line = |from: global::Place, to: global::Place, style: &str| {
        let at = |p: &global::Place| places[p.rank as usize][p.operation];
        let ((top, column), (to_top, to_column)) = (at(&from), at(&to));
        let (x1, y1) = (x(from.rank as usize, column) + BOX.0 / 2, top + BOX.1);
        let (x2, y2) = (x(to.rank as usize, to_column) + BOX.0 / 2, to_top);
        // Around the boxes in between: a curve goes three quarters of the way to these points, which may lie outside.
        let aside = match y2.saturating_sub(y1) > STEP + GAP.1 && x1 == x2 {
            true => (BOX.0 * 4 / 5) as i64,
            false => 0,
        };
        let _ = writeln!(
            out,
            "<path d=\"M{x1},{y1} C{0},{1} {2},{3} {x2},{y2}\" fill=\"none\" {style} marker-end=\"url(#a)\"/>",
            x1 as i64 - aside,
            y1 + STEP / 2,
            x2 as i64 - aside,
            y2.saturating_sub(STEP / 2)
        );
    };
    for graph in graphs {
        let place = |operation| global::Place {
            rank: graph.rank(),
            operation,
        };
        for (later, after, earlier) in graph.edges() {
            let style = match after {
                After::Complete => "stroke=\"#333\"",
                After::Begun => "stroke=\"#333\" stroke-dasharray=\"2,2\"",
            };
            line(place(earlier), place(later), style);
        }
    }
    for (receive, send) in &messages {
        line(*send, *receive, "stroke=\"#1f78b4\" stroke-opacity=\"0.6\"");
    }
    for (rank, (graph, places)) in graphs.iter().zip(&places).enumerate() {
        for (work, place) in graph.operations().iter().zip(places) {
            let kind = match work {
                Work::Send { .. } => 0,
                Work::Recv { .. } => 1,
                _ => 2,
            };
            let (x, y) = (x(rank, place.1), place.0);
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"3\" fill=\"{}\" stroke=\"#555\"/>\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}<title>{}</title></text>",
                BOX.0,
                BOX.1,
                FILLS[kind].1,
                x + BOX.0 / 2,
                y + 14,
                short(work),
                work
            );
        }
    }
    out.push_str("</svg>\n");
    Ok(out)
}

const FILLS: [(&str, &str); 3] = [
    ("send", "#fdcdac"),
    ("receive", "#b3cde3"),
    ("local", "#e6f5c9"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn job(text: &str) -> Vec<Graph> {
        hetmp_goal::text::read(text).unwrap()
    }

    #[test]
    fn what_waits_lies_below_what_it_waits_for() {
        let graphs = job(
            "num_ranks 2\nrank 0 {\na: calc 5\nb: send 8b to 1 tag 0\nb requires a\n}\nrank 1 {\nc: recv 8b from 0 \
             tag 0\nd: calc 1\n}\n",
        );
        let levels = levels(&graphs, &global::messages(&graphs));
        assert_eq!(levels, [vec![0, 1], vec![2, 0]]);
        let picture = svg(&graphs).unwrap();
        assert_eq!(picture.matches("<path d=\"M").count() - 1, 2);
        assert_eq!(picture.matches("<title>").count(), 4);
    }

    #[test]
    fn operations_of_one_level_lie_in_the_columns_of_their_rank() {
        let (places, end) = placed(&[vec![0, 0, 0, 1], vec![1]], 2);
        let (second, next) = (TOP + BOX.1 + GAP.1, TOP + 2 * (BOX.1 + GAP.1) + STEP);
        let first = vec![(TOP, 0), (TOP, 1), (second, 0), (next, 0)];
        assert_eq!(places, [first, vec![(next, 0)]]);
        assert_eq!(end, next + BOX.1 + GAP.1 + STEP);
    }

    /// Each rank exchanges with all others at once: as an algorithm of eight ranks does.
    #[test]
    fn a_picture_has_the_shape_of_a_screen() {
        let mut text = "num_ranks 8\n".to_owned();
        for me in 0..8 {
            text += &format!("rank {me} {{\n");
            for peer in (0..8).filter(|p| *p != me) {
                text += &format!("send 8b to {peer} tag 0\nrecv 8b from {peer} tag 0\n");
            }
            text += "}\n";
        }
        let picture = svg(&job(&text)).unwrap();
        let size = |name: &str| -> f64 {
            let (_, rest) = picture.split_once(name).unwrap();
            rest.split('"').nth(1).unwrap().parse().unwrap()
        };
        let (w, h) = (size(" width="), size(" height="));
        assert!(w < 2600.0 && w / h < 4.0 && h / w < 4.0, "{w} x {h}");
        let many = format!(
            "num_ranks 1\nrank 0 {{\n{}}}\n",
            "calc 1\n".repeat(MOST + 1)
        );
        assert!(svg(&job(&many)).unwrap_err().contains("too many"));
    }

    #[test]
    fn a_circle_is_drawn_all_the_same() {
        let text = "num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 0\nb: send 8b to 1 tag 0\nb requires a\n}\nrank 1 {\n\
                    c: recv 8b from 0 tag 0\nd: send 8b to 0 tag 0\nd requires c\n}\n";
        assert_eq!(
            svg(&job(text)).unwrap().matches("<path d=\"M").count() - 1,
            4
        );
    }
}
