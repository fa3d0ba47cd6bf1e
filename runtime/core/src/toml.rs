//! Small TOML files. A reader asks for every key it knows, and keys that are left over are refused. Errors fit behind
//! `hetmp: <variable> <file>: `.

use toml_span::value::{Table, Value, ValueInner};

/// The keys of one table that have not been asked for yet.
#[derive(Debug)]
pub struct Fields<'a>(Table<'a>);

/// Reads a whole file. Errors say the line, what is wrong, and what is expected.
pub fn parse(text: &str) -> Result<Fields<'_>, String> {
    let mut root = toml_span::parse(text).map_err(|e| {
        let before = &text.as_bytes()[..e.span.start.min(text.len())];
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        format!("line {line}: {} (expected TOML)", e.kind)
    })?;
    match root.take() {
        ValueInner::Table(table) => Ok(Fields(table)),
        _ => Err("no TOML (expected a TOML file)".to_owned()),
    }
}

impl<'a> Fields<'a> {
    fn take(&mut self, key: &str) -> Option<ValueInner<'a>> {
        self.0.remove(key).map(|mut value| value.take())
    }

    /// The tables of the array `key`. If `key` is something else, the error is `shape`.
    pub fn array(&mut self, key: &str, shape: &str) -> Result<Option<Vec<Fields<'a>>>, String> {
        let inner = |mut value: Value<'a>| match value.take() {
            ValueInner::Table(table) => Ok(Fields(table)),
            _ => Err(shape.to_owned()),
        };
        match self.take(key) {
            None => Ok(None),
            Some(ValueInner::Array(list)) => list
                .into_iter()
                .map(inner)
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(shape.to_owned()),
        }
    }

    /// A number for which `good` is true; `accepted` says which those are.
    pub fn number(
        &mut self,
        key: &str,
        accepted: &str,
        good: impl Fn(f64) -> bool,
    ) -> Result<Option<f64>, String> {
        let value = match self.take(key) {
            None => return Ok(None),
            Some(ValueInner::Float(x)) => x,
            Some(ValueInner::Integer(x)) => x as f64,
            Some(_) => f64::NAN,
        };
        if value.is_finite() && good(value) {
            Ok(Some(value))
        } else {
            Err(format!("{key}: not usable (expected {accepted})"))
        }
    }

    /// A text.
    pub fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        match self.take(key) {
            None => Ok(None),
            Some(ValueInner::String(text)) => Ok(Some(text.into_owned())),
            Some(_) => Err(format!("{key}: no text (expected one in quotes)")),
        }
    }

    /// A list of texts.
    pub fn texts(&mut self, key: &str) -> Result<Option<Vec<String>>, String> {
        let bad = || format!("{key}: no list (expected a list of texts)");
        let one = |mut value: Value<'a>| match value.take() {
            ValueInner::String(text) => Ok(text.into_owned()),
            _ => Err(bad()),
        };
        match self.take(key) {
            None => Ok(None),
            Some(ValueInner::Array(list)) => list
                .into_iter()
                .map(one)
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(bad()),
        }
    }

    /// The keys and positive numbers of the table `key`; none where it is missing.
    pub fn numbers(&mut self, key: &str) -> Result<Vec<(String, f64)>, String> {
        let bad = || format!("{key}: no table (expected one of numbers above 0)");
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(ValueInner::Table(table)) => table
                .into_iter()
                .map(|(name, mut value)| match value.take() {
                    ValueInner::Float(x) if x > 0.0 && x.is_finite() => {
                        Ok((name.name.into_owned(), x))
                    }
                    ValueInner::Integer(x) if x > 0 => Ok((name.name.into_owned(), x as f64)),
                    _ => Err(bad()),
                })
                .collect(),
            Some(_) => Err(bad()),
        }
    }

    /// Refuses keys that nobody has asked for: a mistyped key must not be ignored.
    pub fn done(&self, accepted: &str) -> Result<(), String> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!("\"{}\": unknown (expected {accepted})", key.name)),
        }
    }
}

/// A text as a TOML string.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
