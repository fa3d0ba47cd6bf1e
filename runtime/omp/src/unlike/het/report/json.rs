//! The few forms of JSON in the reports.

use std::fmt::Write as _;

/// The separator before element `i` of a list.
pub(super) fn comma(i: usize) -> &'static str {
    if i == 0 {
        ""
    } else {
        ","
    }
}

/// A number, or null.
pub(super) fn number(value: Option<f64>) -> String {
    match value {
        Some(v) if v.is_finite() => format!("{v:.6}"),
        _ => "null".to_owned(),
    }
}

/// A string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A string, or null.
pub(super) fn maybe(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_numbers() {
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
        assert_eq!(maybe(None), "null");
        assert_eq!(number(Some(f64::NAN)), "null");
        assert_eq!(number(None), "null");
        assert_eq!(number(Some(0.5)), "0.500000");
    }
}
