//! Text in columns, and times as text.

use std::fmt::Write as _;

/// A table whose columns are as wide as their contents, as far as there is room.
pub(crate) struct Table {
    /// Titles of columns. Those that begin with `>` are for numbers; with `~` before that, they are left out where
    /// there is no room for all.
    pub(crate) titles: &'static [&'static str],
    pub(crate) rows: Vec<Vec<String>>,
}

/// Where the last column is narrower than this, it gets lines of its own.
const LEAST: usize = 24;
/// How far those begin from the left.
const INDENT: usize = 8;

/// The columns of the terminal that this leads to; no limit where it is none.
pub(crate) fn room(stream: impl std::os::fd::AsFd) -> usize {
    terminal_size::terminal_size_of(stream).map_or(usize::MAX, |(width, _)| width.0.into())
}

impl Table {
    /// Adds the table to a text that has `room` columns.
    pub(crate) fn print(&self, out: &mut String, room: usize) {
        let title = |i: usize| self.titles[i].trim_start_matches(['~', '>']);
        let width = |i: usize| {
            let cells = self.rows.iter().map(|r| r[i].chars().count());
            cells.chain([title(i).chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.titles.len()).map(width).collect();
        let Some((&last, _)) = widths.split_last() else {
            return;
        };
        let mut shown: Vec<usize> = (0..widths.len() - 1).collect();
        // Where the last column begins.
        let start = |shown: &[usize]| shown.iter().map(|&i| widths[i] + 2).sum::<usize>() + 2;
        while start(&shown).saturating_add(last.min(LEAST)) > room {
            let Some(at) = shown.iter().rposition(|&i| self.titles[i].starts_with('~')) else {
                break;
            };
            shown.remove(at);
        }
        let begin = start(&shown);
        // The last column: next to the others, or in lines of its own.
        let beside = begin.saturating_add(last.min(LEAST)) <= room;
        let indent = if beside { begin } else { INDENT };
        let mut line = |cells: &[&str]| {
            let mut text = String::from(" ");
            for &i in &shown {
                let (cell, width) = (cells[i], widths[i]);
                // Writing to a String cannot fail.
                let _ = if self.titles[i].contains('>') {
                    write!(text, " {cell:>width$} ")
                } else {
                    write!(text, " {cell:<width$} ")
                };
            }
            let words = wrapped(
                cells[widths.len() - 1],
                room.saturating_sub(indent).max(LEAST),
            );
            for (n, part) in words.iter().enumerate() {
                match n == 0 && beside {
                    true if self.titles[widths.len() - 1].contains('>') => {
                        let _ = write!(text, " {part:>last$}");
                    }
                    true => {
                        let _ = write!(text, " {part}");
                    }
                    false => {
                        text.truncate(text.trim_end().len());
                        let _ = write!(text, "\n{:indent$}{part}", "");
                    }
                }
            }
            out.push_str(text.trim_end());
            out.push('\n');
        };
        let titles: Vec<&str> = (0..widths.len()).map(title).collect();
        line(&titles);
        for row in &self.rows {
            line(&row.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let hidden = widths.len() - 1 - shown.len();
        if hidden > 0 {
            let all = widths.len();
            let _ = writeln!(
                out,
                "  ({hidden} of {all} columns left out: hetmp report --wide)"
            );
        }
    }
}

/// Words in lines of at most `width` columns, as far as words are not longer.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Nanoseconds as text: three digits and a unit.
pub(crate) fn time(ns: u64) -> String {
    let ns = ns as f64;
    let (value, unit) = match ns {
        _ if ns >= 1e9 => (ns / 1e9, "s"),
        _ if ns >= 1e6 => (ns / 1e6, "ms"),
        _ if ns >= 1e3 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    let digits = match value {
        _ if value >= 100.0 || unit == "ns" => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_fit() {
        let table = Table {
            titles: &[">time", "~>most", "name", "why"],
            rows: vec![
                [
                    "1 s",
                    "2 s",
                    "one",
                    "it is quick enough, and nobody waits for it",
                ]
                .map(str::to_owned)
                .to_vec(),
                ["10 s", "20 s", "another", "slow"]
                    .map(str::to_owned)
                    .to_vec(),
            ],
        };
        let printed = |room| {
            let mut out = String::new();
            table.print(&mut out, room);
            out
        };
        assert_eq!(
            printed(usize::MAX),
            "  time  most  name     why\n   1 s   2 s  one      it is quick enough, and nobody waits for it\n  \
             10 s  20 s  another  slow\n"
        );
        assert_eq!(
            printed(46),
            "  time  name     why\n   1 s  one      it is quick enough, and\n                 nobody waits for it\n  \
             10 s  another  slow\n  (1 of 4 columns left out: hetmp report --wide)\n"
        );
        assert_eq!(
            printed(34),
            "  time  name\n        why\n   1 s  one\n        it is quick enough, and\n        nobody waits for \
             it\n  10 s  another\n        slow\n  (1 of 4 columns left out: hetmp report --wide)\n"
        );
        for room in 34..120 {
            assert!(
                printed(room).lines().all(|l| l.len() <= room.max(48)),
                "{room}"
            );
        }
    }

    #[test]
    fn times_have_three_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (12_345, "12.3 us"),
            (123_456, "123 us"),
            (1_234_567, "1.23 ms"),
            (61_000_000_000, "61.0 s"),
        ] {
            assert_eq!(time(ns), text);
        }
    }
}
