//! A job as a graph, for Graphviz or as a picture.

use super::words;
use hetmp_goal::global;
use hetmp_goal::graph::{After, Graph, Work};
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
            let _ = writeln!(out, "    r{rank}_{i} [label=\"{}\"];", words(work));
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

const BOX: (usize, usize) = (150, 22);
const GAP: (usize, usize) = (24, 18);
const TOP: usize = 30;

/// The row and column of each operation, by rank and number. An operation lies below all operations of its rank for
/// which it waits, and a receive below the send of its message.
fn layout(
    graphs: &[Graph],
    messages: &[(global::Place, global::Place)],
) -> Vec<Vec<(usize, usize)>> {
    let mut rows: Vec<Vec<usize>> = graphs
        .iter()
        .map(|g| vec![0; g.operations().len()])
        .collect();
    let most: usize = rows.iter().map(Vec::len).sum();
    // Without a circle, a row grows at most once for each operation before it. With a circle this would go on for
    // ever.
    for _ in 0..most {
        let mut moved = false;
        for (rank, graph) in graphs.iter().enumerate() {
            for (later, _, earlier) in graph.edges() {
                let below = rows[rank][earlier] + 1;
                if rows[rank][later] < below {
                    rows[rank][later] = below;
                    moved = true;
                }
            }
        }
        for (receive, send) in messages {
            let below = rows[send.rank as usize][send.operation] + 1;
            let row = &mut rows[receive.rank as usize][receive.operation];
            if *row < below {
                *row = below;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let mut left = 0;
    let mut places = Vec::new();
    for rows in &rows {
        let mut taken = std::collections::BTreeMap::new();
        let mut wide = 1;
        let of_rank = rows
            .iter()
            .map(|row| {
                let n = taken.entry(*row).or_insert(0);
                *n += 1;
                wide = wide.max(*n);
                (*row, left + *n - 1)
            })
            .collect();
        places.push(of_rank);
        left += wide;
    }
    places
}

/// The picture: ranks lie next to each other, and time goes downwards.
pub(super) fn svg(graphs: &[Graph]) -> String {
    let messages = global::messages(graphs);
    let places = layout(graphs, &messages);
    let all = || places.iter().flatten();
    let rows = all().map(|p| p.0 + 1).max().unwrap_or(1);
    let columns = all().map(|p| p.1 + 1).max().unwrap_or(1).max(graphs.len());
    let x = |column: usize| GAP.0 + column * (BOX.0 + GAP.0);
    let y = |row: usize| TOP + row * (BOX.1 + GAP.1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<defs><marker id=\"a\" \
         markerWidth=\"6\" markerHeight=\"6\" refX=\"6\" refY=\"3\" orient=\"auto\"><path d=\"M0,0 L6,3 L0,6 z\"/>\
         </marker></defs>\n",
        x(columns),
        y(rows)
    );
    let mut line = |from: (usize, usize), to: (usize, usize), style: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {style} marker-end=\"url(#a)\"/>",
            x(from.1) + BOX.0 / 2,
            y(from.0) + BOX.1,
            x(to.1) + BOX.0 / 2,
            y(to.0)
        );
    };
    for (rank, graph) in graphs.iter().enumerate() {
        for (later, after, earlier) in graph.edges() {
            let style = match after {
                After::Complete => "stroke=\"black\"",
                After::Begun => "stroke=\"black\" stroke-dasharray=\"2,2\"",
            };
            line(places[rank][earlier], places[rank][later], style);
        }
    }
    for (receive, send) in &messages {
        line(
            places[send.rank as usize][send.operation],
            places[receive.rank as usize][receive.operation],
            "stroke=\"#1f78b4\"",
        );
    }
    for (graph, places) in graphs.iter().zip(&places) {
        let first = places.iter().map(|p| p.1).min().unwrap_or(0);
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"18\" font-weight=\"bold\">rank {}</text>",
            x(first),
            graph.rank()
        );
        for (work, place) in graph.operations().iter().zip(places) {
            let fill = match work {
                Work::Send { .. } => "#fdcdac",
                Work::Recv { .. } => "#b3cde3",
                _ => "#e6f5c9",
            };
            let (x, y) = (x(place.1), y(place.0));
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"3\" fill=\"{fill}\" stroke=\"#555\"/>\
                 <text x=\"{}\" y=\"{}\">{}</text>",
                BOX.0,
                BOX.1,
                x + 5,
                y + 15,
                words(work)
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_lies_below_what_it_waits_for() {
        let text = "num_ranks 2\nrank 0 {\na: calc 5\nb: send 8b to 1 tag 0\nb requires a\n}\nrank 1 {\nc: recv 8b \
                    from 0 tag 0\nd: calc 1\n}\n";
        let graphs = hetmp_goal::text::read(text).unwrap();
        let places = layout(&graphs, &global::messages(&graphs));
        assert_eq!(places, [vec![(0, 0), (1, 0)], vec![(2, 1), (0, 1)]]);
        let picture = svg(&graphs);
        assert_eq!(picture.matches("<line").count(), 2);
        assert_eq!(picture.matches("rx=").count(), 4);
    }

    #[test]
    fn a_circle_is_drawn_all_the_same() {
        let text = "num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 0\nb: send 8b to 1 tag 0\nb requires a\n}\nrank 1 {\n\
                    c: recv 8b from 0 tag 0\nd: send 8b to 0 tag 0\nd requires c\n}\n";
        let graphs = hetmp_goal::text::read(text).unwrap();
        assert_eq!(svg(&graphs).matches("<line").count(), 4);
    }
}
