//! The texts of the PMI wire protocols, versions 1 and 2: pure encoding and decoding.
//!
//! Version 1: a line of words `name=value`. Version 2: six digits with the length, then `name=value;` pairs without a
//! line feed, where a semicolon inside a value is doubled. The first exchange of version 2, which settles the
//! version, has the form of version 1.

use std::io::{self, BufRead, Read};

/// The longest message that is read, in bytes.
pub(crate) const MAX_MESSAGE: usize = 64 * 1024;

/// A message: its names and values in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(pub Vec<(String, String)>);

impl Message {
    /// A message that begins with `cmd=command`.
    #[must_use]
    pub fn new(command: &str) -> Self {
        Self(vec![("cmd".to_owned(), command.to_owned())])
    }

    /// Adds a name and its value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.0.push((name.to_owned(), value.to_string()));
        self
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// The value of `name` as a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.trim().parse().ok()
    }

    /// The message as a line of version 1. A blank or line feed inside a value becomes an underscore, so that no part
    /// of a value can pass for another word.
    #[must_use]
    pub(crate) fn to_line(&self) -> Vec<u8> {
        let words: Vec<String> = self
            .0
            .iter()
            .map(|(name, value)| {
                let value = value.replace(|c: char| c.is_whitespace() || c.is_control(), "_");
                format!("{name}={value}")
            })
            .collect();
        let mut line = words.join(" ").into_bytes();
        line.push(b'\n');
        line
    }

    /// Reads a line of version 1, without its line feed. A word without `=` belongs to the value before it, because
    /// launchers' error texts have blanks. `None` if the line does not begin with a name and a value.
    #[must_use]
    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for word in line.split([' ', '\t', '\r']).filter(|w| !w.is_empty()) {
            match word.split_once('=') {
                Some((name, value)) if !name.is_empty() => {
                    pairs.push((name.to_owned(), value.to_owned()));
                }
                _ => {
                    let (_, value) = pairs.last_mut()?;
                    value.push(' ');
                    value.push_str(word);
                }
            }
        }
        (!pairs.is_empty()).then_some(Self(pairs))
    }

    /// The message in the form of version 2, with its length in front. `None` if the length has more than six digits.
    #[must_use]
    pub(crate) fn to_packet(&self) -> Option<Vec<u8>> {
        let body: String = self
            .0
            .iter()
            .map(|(name, value)| format!("{name}={};", value.replace(';', ";;")))
            .collect();
        (body.len() <= MAX_MESSAGE).then(|| format!("{:6}{body}", body.len()).into_bytes())
    }

    /// Reads the body of a version-2 message, which is all after the length. `None` for anything else.
    #[must_use]
    pub(crate) fn from_packet(body: &str) -> Option<Self> {
        let mut pairs = Vec::new();
        let mut rest = body.trim_end_matches(['\n', '\0']);
        while !rest.is_empty() {
            let (name, after) = rest.split_once('=')?;
            if name.is_empty() || name.contains(';') {
                return None;
            }
            let mut value = String::new();
            let mut characters = after.char_indices().peekable();
            let mut end = after.len();
            while let Some((at, c)) = characters.next() {
                if c == ';' {
                    if characters.peek().is_some_and(|&(_, next)| next == ';') {
                        characters.next();
                    } else {
                        end = at + 1;
                        break;
                    }
                }
                value.push(c);
            }
            pairs.push((name.to_owned(), value));
            rest = &after[end..];
        }
        (!pairs.is_empty()).then_some(Self(pairs))
    }
}

fn malformed(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_owned())
}

/// Reads a message of version 1.
///
/// # Errors
/// What the stream says; `InvalidData` for a line that is too long, not UTF-8 or not a message;
/// `UnexpectedEof` where the stream ends.
pub fn read_line(from: &mut impl BufRead) -> io::Result<Message> {
    let mut line = Vec::new();
    let got = from
        .by_ref()
        .take(MAX_MESSAGE as u64)
        .read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(if got == MAX_MESSAGE {
            malformed("a line is too long")
        } else {
            io::ErrorKind::UnexpectedEof.into()
        });
    }
    core::str::from_utf8(&line)
        .ok()
        .and_then(Message::from_line)
        .ok_or_else(|| malformed("a line is not of PMI-1"))
}

/// Reads a message of version 2.
///
/// # Errors
/// As for [`read_line`].
pub fn read_packet(from: &mut impl Read) -> io::Result<Message> {
    let mut length = [0; 6];
    from.read_exact(&mut length)?;
    let length = core::str::from_utf8(&length)
        .ok()
        .map(str::trim)
        .filter(|n| n.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|n| n.parse::<usize>().ok())
        .filter(|&n| (1..=MAX_MESSAGE).contains(&n))
        .ok_or_else(|| malformed("a length is not of PMI-2"))?;
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    core::str::from_utf8(&body)
        .ok()
        .and_then(Message::from_packet)
        .ok_or_else(|| malformed("a message is not of PMI-2"))
}
