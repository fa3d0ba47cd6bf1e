//! Text in columns, and times as text.

use std::fmt::Write as _;

/// A table whose columns are as wide as their contents.
pub(crate) struct Table {
    /// Titles of columns. Those that begin with `>` are for numbers.
    pub(crate) titles: &'static [&'static str],
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn print(&self, out: &mut String) {
        let titles: Vec<&str> = self
            .titles
            .iter()
            .map(|t| t.trim_start_matches('>'))
            .collect();
        let width = |i: usize| {
            let cells = self.rows.iter().map(|r| r[i].chars().count());
            cells.chain([titles[i].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..titles.len()).map(width).collect();
        let mut line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut text = String::from(" ");
            for (i, cell) in cells.enumerate() {
                let width = widths[i];
                // Writing to a String cannot fail.
                let _ = if self.titles[i].starts_with('>') {
                    write!(text, " {cell:>width$} ")
                } else {
                    write!(text, " {cell:<width$} ")
                };
            }
            out.push_str(text.trim_end());
            out.push('\n');
        };
        line(&mut titles.iter().copied());
        for row in &self.rows {
            line(&mut row.iter().map(String::as_str));
        }
    }
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
