//! Of XML what algorithms of MSCCL need: elements with attributes, and comments.

use super::{wrong, Wrong, MOST};
use crate::text::Shown;

/// An element's beginning, or its end.
#[derive(Debug)]
pub(super) struct Tag<'t> {
    pub(super) line: usize,
    pub(super) name: &'t str,
    /// It has the form `</name>`.
    pub(super) closes: bool,
    /// It has the form `<name/>` or `</name>`.
    pub(super) ends: bool,
    attributes: Vec<(&'t str, &'t str)>,
}

impl<'t> Tag<'t> {
    pub(super) fn text(&self, name: &str) -> Option<&'t str> {
        let found = self.attributes.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| *value)
    }

    /// A number from `least` to [`MOST`].
    pub(super) fn number(&self, name: &str, least: i64) -> Result<i64, Wrong> {
        let text = self.text(name).unwrap_or("(missing)");
        match text.parse() {
            Ok(n) if (least..=MOST).contains(&n) => Ok(n),
            _ => wrong(
                self.line,
                format_args!(
                    "{}: {name} '{}': out of range (expected a number from {least} to {MOST})",
                    Shown(self.name),
                    Shown(text)
                ),
            ),
        }
    }
}

/// The tags of all elements, in order.
pub(super) fn tags(text: &str) -> Result<Vec<Tag<'_>>, Wrong> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(start) = rest.find('<') {
        line += rest[..start].matches('\n').count();
        rest = &rest[start..];
        let (end, skip) = if rest.starts_with("<!--") {
            (rest.find("-->").map(|e| e + 3), true)
        } else {
            let skip = rest.starts_with("<?") || rest.starts_with("<!");
            (rest.find('>').map(|e| e + 1), skip)
        };
        let Some(end) = end else {
            return wrong(line, "<: the element does not end (expected one that does)");
        };
        let (tag, behind) = rest.split_at(end);
        if !skip {
            found.push(tag_of(&tag[1..tag.len() - 1], line)?);
        }
        line += tag.matches('\n').count();
        rest = behind;
    }
    Ok(found)
}

fn tag_of(text: &str, line: usize) -> Result<Tag<'_>, Wrong> {
    let closes = text.starts_with('/');
    let text = text.strip_prefix('/').unwrap_or(text);
    let ends = text.ends_with('/') || closes;
    let text = text.strip_suffix('/').unwrap_or(text).trim();
    let name_end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(name_end);
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        let pair = rest.split_once('=').and_then(|(key, value)| {
            let value = value.trim_start();
            let quote = value.chars().next().filter(|q| matches!(q, '"' | '\''))?;
            let (value, behind) = value[1..].split_once(quote)?;
            let key = key.trim();
            (!key.contains(char::is_whitespace)).then_some((key, value, behind))
        });
        let Some((key, value, behind)) = pair else {
            return wrong(
                line,
                format_args!("{}: no attribute (expected NAME=\"VALUE\")", Shown(rest)),
            );
        };
        attributes.push((key, value));
        rest = behind;
    }
    Ok(Tag {
        line,
        name,
        closes,
        ends,
        attributes,
    })
}
