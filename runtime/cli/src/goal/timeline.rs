//! The timeline of a run: a picture, and a trace for Perfetto.

use hetmp_goal::graph::Work;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;

/// One operation on one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) rank: usize,
    /// Nanoseconds since the first operation of any rank began.
    pub(super) begins: u64,
    pub(super) ends: u64,
    pub(super) kind: &'static str,
    pub(super) label: String,
}

/// The kind of the operation, for its colour.
pub(super) fn kind(work: &Work) -> &'static str {
    match work {
        Work::Send { .. } => "send",
        Work::Recv { .. } => "receive",
        Work::Local { .. } => "local",
        Work::Copy { .. } => "copy",
        Work::Timestamp { .. } => "timestamp",
        Work::Calc { .. } => "calc",
    }
}

fn colour(kind: &str) -> &'static str {
    match kind {
        "send" => "#d95f02",
        "receive" => "#1f78b4",
        "local" => "#33a02c",
        "copy" => "#b2df8a",
        _ => "#999999",
    }
}

/// Puts operations that run at the same time into different rows of their rank. Returns the row of each bar, and the
/// number of rows of each rank.
fn rows(ranks: usize, bars: &[Bar]) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..bars.len()).collect();
    order.sort_by_key(|i| (bars[*i].begins, *i));
    let mut heights = vec![0; ranks];
    // By rank: rows with the time until which they are taken, and free rows. The smallest comes first.
    let mut taken: Vec<BinaryHeap<Reverse<(u64, usize)>>> = vec![BinaryHeap::new(); ranks];
    let mut free: Vec<BinaryHeap<Reverse<usize>>> = vec![BinaryHeap::new(); ranks];
    let mut row = vec![0; bars.len()];
    for i in order {
        let bar = &bars[i];
        let (taken, free) = (&mut taken[bar.rank], &mut free[bar.rank]);
        while let Some(Reverse((until, at))) = taken.peek().copied() {
            if until > bar.begins {
                break;
            }
            taken.pop();
            free.push(Reverse(at));
        }
        row[i] = free.pop().map_or(heights[bar.rank], |Reverse(at)| at);
        heights[bar.rank] = heights[bar.rank].max(row[i] + 1);
        // An operation without duration gets a place of its own too.
        taken.push(Reverse((bar.ends.max(bar.begins + 1), row[i])));
    }
    (row, heights.iter().map(|h| *h.max(&1)).collect())
}

const LEFT: f64 = 60.0;
const WIDTH: f64 = 1000.0;
const ROW: f64 = 12.0;

/// Escapes text for XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The picture: a band for each rank, and in it a bar for each operation. A text appears when the pointer is over a
/// bar.
pub(super) fn svg(ranks: usize, bars: &[Bar]) -> String {
    let (row, heights) = rows(ranks, bars);
    let total = bars.iter().map(|b| b.ends).max().unwrap_or(0).max(1) as f64;
    let mut top = vec![24.0; ranks + 1];
    for rank in 0..ranks {
        top[rank + 1] = top[rank] + ROW * heights[rank] as f64 + 8.0;
    }
    let height = top[ranks] + 24.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        LEFT + WIDTH + 20.0
    );
    // Writing to a string does not fail.
    for (i, kind) in ["send", "receive", "local", "copy", "calc"]
        .iter()
        .enumerate()
    {
        let x = LEFT + 90.0 * i as f64;
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"6\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"15\">{kind}</text>",
            colour(kind),
            x + 14.0
        );
    }
    for rank in 0..ranks {
        let _ = writeln!(
            out,
            "<text x=\"4\" y=\"{:.0}\">rank {rank}</text><line x1=\"0\" x2=\"{:.0}\" y1=\"{1:.0}\" y2=\"{1:.0}\" \
             stroke=\"#ddd\"/>",
            top[rank] + 10.0,
            top[rank + 1] - 4.0,
        );
    }
    for (bar, row) in bars.iter().zip(&row) {
        let x = LEFT + WIDTH * bar.begins as f64 / total;
        let width = (WIDTH * (bar.ends - bar.begins) as f64 / total).max(1.0);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{:.0}\" width=\"{width:.1}\" height=\"{:.0}\" fill=\"{}\"><title>{}, {:.2} to \
             {:.2} us</title></rect>",
            top[bar.rank] + ROW * *row as f64,
            ROW - 2.0,
            colour(bar.kind),
            escaped(&bar.label),
            bar.begins as f64 / 1e3,
            bar.ends as f64 / 1e3
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{0:.0}\">0</text><text x=\"{1:.0}\" y=\"{0:.0}\" text-anchor=\"end\">{2:.1} \
         us</text>\n</svg>",
        height - 6.0,
        LEFT + WIDTH,
        total / 1e3
    );
    out
}

/// The trace event format, which Perfetto reads. Each rank is a process, each row a thread.
pub(super) fn perfetto(bars: &[Bar]) -> String {
    let ranks = bars.iter().map(|b| b.rank + 1).max().unwrap_or(0);
    let (row, _) = rows(ranks, bars);
    let mut events: Vec<serde_json::Value> = (0..ranks)
        .map(|rank| {
            serde_json::json!({
                "ph": "M", "name": "process_name", "pid": rank, "args": { "name": format!("rank {rank}") }
            })
        })
        .collect();
    for (bar, row) in bars.iter().zip(row) {
        events.push(serde_json::json!({
            "ph": "X", "name": bar.label, "cat": bar.kind, "pid": bar.rank, "tid": row,
            "ts": bar.begins as f64 / 1e3, "dur": (bar.ends - bar.begins) as f64 / 1e3
        }));
    }
    let mut text =
        serde_json::json!({ "traceEvents": events, "displayTimeUnit": "ns" }).to_string();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(rank: usize, begins: u64, ends: u64) -> Bar {
        Bar {
            rank,
            begins,
            ends,
            kind: "send",
            label: "a <b> & c".to_owned(),
        }
    }

    #[test]
    fn operations_at_the_same_time_lie_in_rows_of_their_own() {
        let bars = [
            bar(0, 0, 10),
            bar(0, 5, 8),
            bar(0, 8, 9),
            bar(0, 10, 10),
            bar(1, 0, 1),
        ];
        assert_eq!(rows(2, &bars), (vec![0, 1, 1, 0, 0], vec![2, 1]));
    }

    #[test]
    fn pictures_and_traces_have_every_operation() {
        let bars = [bar(0, 0, 10), bar(1, 5, 8)];
        let picture = svg(2, &bars);
        assert_eq!(picture.matches("<title>a &lt;b&gt; &amp; c, ").count(), 2);
        let trace: serde_json::Value = serde_json::from_str(&perfetto(&bars)).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 4);
        assert_eq!(events[3]["dur"], 0.003);
    }
}
