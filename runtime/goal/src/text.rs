//! The text form that LogGOPSim and ATLAHS read and write.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   l1: calc 100
//!   l2: send 8b to 1 tag 3
//!   l2 requires l1
//! }
//! rank 1 {
//!   l1: recv 8b from 0 tag 3
//! }
//! ```
//!
//! `requires` waits for completion, `irequires` for the beginning. `tag N` may be left out (then it is 0), and so may
//! a label that nothing refers to. `cpu N` and `nic N` are read and ignored. Comments are as in C, or from `#` to
//! the end of the line. A `calc` takes nanoseconds.
//!
//! Such schedules have lengths and no addresses: messages consist of zeros, and what arrives is dropped
//! ([`Space::Void`](crate::memory::Space::Void)). A graph with memory is written with its lengths only. Its local
//! operations become `calc 0`, so that its dependences stay.

use crate::graph::{After, Graph, OpId, Work};
use crate::memory::{total, Buffer};
use core::fmt::{self, Write as _};
use std::collections::HashMap;

/// The most ranks that a text may have; each becomes a graph.
const MOST_RANKS: u32 = 1 << 20;

/// A word of a file in a message: its beginning, without what a terminal would obey. The whole file may be one word.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 60;
        for c in self.0.chars().take(MOST) {
            if c.is_control() {
                write!(f, "{}", c.escape_default())?;
            } else {
                f.write_char(c)?;
            }
        }
        if self.0.chars().nth(MOST).is_some() {
            f.write_str("...")?;
        }
        Ok(())
    }
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line's number, from 1.
    pub line: usize,
    /// The text that is wrong, and what is expected.
    pub what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Wrong {}

/// A word and its line.
type Token<'t> = (&'t str, usize);

/// The words of a text. Colons and braces are words of their own.
fn tokens(text: &str) -> Result<Vec<Token<'_>>, Wrong> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            let Some(end) = rest.find("*/") else {
                return Err(Wrong {
                    line,
                    what: "a comment without an end".to_owned(),
                });
            };
            line += rest[..end].matches('\n').count();
            at += end + 2;
        } else if rest.starts_with("//") || rest.starts_with('#') {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if bytes[at].is_ascii_whitespace() {
            line += usize::from(bytes[at] == b'\n');
            at += 1;
        } else if matches!(bytes[at], b':' | b'{' | b'}') {
            found.push((&text[at..=at], line));
            at += 1;
        } else {
            let end = rest
                .find(|c: char| c.is_whitespace() || matches!(c, ':' | '{' | '}' | '#'))
                .unwrap_or(rest.len())
                .max(rest.chars().next().map_or(1, char::len_utf8));
            found.push((&rest[..end], line));
            at += end;
        }
    }
    Ok(found)
}

struct Reader<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self, ahead: usize) -> &'t str {
        self.tokens.get(self.at + ahead).map_or("", |t| t.0)
    }

    fn line(&self) -> usize {
        let last = self.tokens.last().map_or(1, |t| t.1);
        self.tokens.get(self.at).map_or(last, |t| t.1)
    }

    fn wrong<T>(&self, accepted: &str) -> Result<T, Wrong> {
        let have = match self.peek(0) {
            "" => "the end",
            word => word,
        };
        Err(Wrong {
            line: self.line(),
            what: format!("{}: out of place (expected {accepted})", Shown(have)),
        })
    }

    fn expect(&mut self, word: &str) -> Result<(), Wrong> {
        if self.peek(0) != word {
            return self.wrong(word);
        }
        self.at += 1;
        Ok(())
    }

    fn number<N: core::str::FromStr>(&mut self, suffix: &str, accepted: &str) -> Result<N, Wrong> {
        let word = self.peek(0);
        match word.strip_suffix(suffix).unwrap_or(word).parse() {
            Ok(n) => {
                self.at += 1;
                Ok(n)
            }
            Err(_) => self.wrong(accepted),
        }
    }

    /// Reads `tag N`, `cpu N`, `nic N` in any order, and returns the tag.
    fn attributes(&mut self) -> Result<u32, Wrong> {
        let mut tag = 0;
        loop {
            match self.peek(0) {
                "tag" => {
                    self.at += 1;
                    tag = self.number("", "a tag from 0 to 4294967295")?;
                }
                "cpu" | "nic" => {
                    self.at += 1;
                    self.number::<u64>("", "a number")?;
                }
                _ => return Ok(tag),
            }
        }
    }

    fn work(&mut self) -> Result<Work, Wrong> {
        let kind = self.peek(0);
        self.at += 1;
        match kind {
            "calc" => {
                let nanoseconds = self.number("", "a number of nanoseconds")?;
                self.attributes()?;
                Ok(Work::Calc { nanoseconds })
            }
            "send" | "recv" => {
                let bytes = self.number("b", "a length such as 8b")?;
                let pieces = vec![Buffer::void(bytes)];
                self.expect(if kind == "send" { "to" } else { "from" })?;
                let peer = self.number("", "a rank")?;
                let tag = self.attributes()?;
                Ok(if kind == "send" {
                    Work::Send {
                        to: peer,
                        tag,
                        from: pieces,
                    }
                } else {
                    Work::Recv {
                        from: peer,
                        tag,
                        into: pieces,
                    }
                })
            }
            _ => {
                self.at -= 1;
                self.wrong("send, recv, calc, a label with a colon, or a closing brace")
            }
        }
    }

    fn rank(&mut self, ranks: u32) -> Result<Graph, Wrong> {
        self.expect("rank")?;
        let line = self.line();
        let number: u32 = self.number("", "a rank")?;
        let mut graph = Graph::new(number, ranks).map_err(|e| Wrong {
            line,
            what: e.to_string(),
        })?;
        self.expect("{")?;
        let mut labels: HashMap<&str, OpId> = HashMap::new();
        // A label may be used before the line that defines it.
        let mut edges: Vec<(Token<'_>, After, Token<'_>)> = Vec::new();
        while self.peek(0) != "}" {
            let after = match self.peek(1) {
                "requires" => Some(After::Complete),
                "irequires" => Some(After::Begun),
                _ => None,
            };
            if let Some(after) = after {
                let later = (self.peek(0), self.line());
                self.at += 2;
                edges.push((later, after, (self.peek(0), self.line())));
                self.at += 1;
                continue;
            }
            let line = self.line();
            let label = (self.peek(1) == ":").then(|| self.peek(0));
            if label.is_some() {
                self.at += 2;
            }
            let work = self.work()?;
            let op = graph.add(work).map_err(|e| Wrong {
                line,
                what: e.to_string(),
            })?;
            if label.is_some_and(|l| labels.insert(l, op).is_some()) {
                return Err(Wrong {
                    line,
                    what: format!("label {}: a second time", label.unwrap_or_default()),
                });
            }
        }
        self.at += 1;
        for (later, after, earlier) in edges {
            let find = |(word, line): Token<'_>| {
                labels.get(word).copied().ok_or_else(|| Wrong {
                    line,
                    what: format!("label {}: unknown (expected one of this rank)", Shown(word)),
                })
            };
            let (l, e) = (find(later)?, find(earlier)?);
            graph.order(l, after, e).map_err(|e| Wrong {
                line: later.1,
                what: e.to_string(),
            })?;
        }
        Ok(graph)
    }
}

/// Reads the graphs of a text, one for each rank, in order. Ranks that the text does not name get an empty graph.
///
/// # Errors
/// The first line that is wrong.
pub fn read(text: &str) -> Result<Vec<Graph>, Wrong> {
    let mut reader = Reader {
        tokens: tokens(text)?,
        at: 0,
    };
    reader.expect("num_ranks")?;
    let line = reader.line();
    let ranks: u32 = reader.number("", "a number of ranks")?;
    if ranks == 0 || ranks > MOST_RANKS {
        return Err(Wrong {
            line,
            what: format!("num_ranks {ranks}: out of range (expected 1 to {MOST_RANKS})"),
        });
    }
    let mut graphs: Vec<Option<Graph>> = Vec::new();
    graphs.resize(ranks as usize, None);
    while reader.at < reader.tokens.len() {
        let line = reader.line();
        let graph = reader.rank(ranks)?;
        let slot = &mut graphs[graph.rank as usize];
        if slot.is_some() {
            return Err(Wrong {
                line,
                what: format!("rank {}: a second time", graph.rank),
            });
        }
        *slot = Some(graph);
    }
    graphs
        .into_iter()
        .enumerate()
        .map(|(rank, graph)| match graph {
            Some(graph) => Ok(graph),
            None => Graph::new(rank as u32, ranks).map_err(|e| Wrong {
                line,
                what: e.to_string(),
            }),
        })
        .collect()
}

/// Writes the graphs of a job as text.
#[must_use]
pub fn write(graphs: &[Graph]) -> String {
    let mut out = format!("num_ranks {}\n", graphs.len());
    for g in graphs {
        // Writing to a string does not fail.
        let _ = writeln!(out, "\nrank {} {{", g.rank);
        for (i, work) in g.ops.iter().enumerate() {
            let _ = write!(out, "l{}: ", i + 1);
            let _ = match work {
                Work::Send { to, tag, from } => {
                    writeln!(
                        out,
                        "send {}b to {to} tag {tag}",
                        total(from).unwrap_or(u64::MAX)
                    )
                }
                Work::Recv { from, tag, into } => {
                    writeln!(
                        out,
                        "recv {}b from {from} tag {tag}",
                        total(into).unwrap_or(u64::MAX)
                    )
                }
                Work::Calc { nanoseconds } => writeln!(out, "calc {nanoseconds}"),
                Work::Local { op, element, .. } => writeln!(out, "calc 0 // {op} of {element}"),
                Work::Copy { .. } => writeln!(out, "calc 0 // copy"),
                Work::Timestamp { .. } => writeln!(out, "calc 0 // timestamp"),
            };
        }
        for (later, after, earlier) in &g.edges {
            let word = match after {
                After::Complete => "requires",
                After::Begun => "irequires",
            };
            let _ = writeln!(out, "l{} {word} l{}", later + 1, earlier + 1);
        }
        out.push_str("}\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_one_word_makes_a_short_message() {
        for word in ["\0".repeat(1 << 20), "x".repeat(1 << 20)] {
            let said = read(&word).expect_err("no schedule").to_string();
            assert!(
                said.len() < 400 && said.lines().count() == 1,
                "{} bytes",
                said.len()
            );
            assert!(!said.contains('\0'));
        }
    }

    #[test]
    fn the_form_of_the_simulators_is_read() {
        let text = "num_ranks 3\n\n/* two\nlines */ rank 0 {\nl1: calc 100 cpu 0\nl2: send 10b to 1 tag 3 cpu 0 nic 1\n\
                    l2 requires l1 # why not\n}\nrank 1 {\n l1: recv 10b from 0 tag 3\n l3: send 1b to 2\n\
                    l3 irequires l1 // at once\n}";
        let graphs = read(text).unwrap();
        assert_eq!(graphs.len(), 3);
        assert_eq!(
            graphs[0].edges().collect::<Vec<_>>(),
            [(1, After::Complete, 0)]
        );
        assert_eq!(
            graphs[1].edges().collect::<Vec<_>>(),
            [(1, After::Begun, 0)]
        );
        assert!(graphs[2].operations().is_empty());
        assert_eq!(
            graphs[0].operations()[1],
            Work::Send {
                to: 1,
                tag: 3,
                from: vec![Buffer::void(10)]
            }
        );
        assert_eq!(read(&write(&graphs)).unwrap(), graphs);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, words) in [
            ("", "line 1: the end: out of place (expected num_ranks)"),
            (
                "num_ranks 0",
                "line 1: num_ranks 0: out of range (expected 1 to 1048576)",
            ),
            (
                "num_ranks 2\nrank 2 {}",
                "line 2: rank 2: not in the job (expected 0 to 1)",
            ),
            (
                "num_ranks 2\nrank 0 {\nsend 8b at 1 }",
                "line 3: at: out of place (expected to)",
            ),
            (
                "num_ranks 2\nrank 0 {\nsend x to 1 }",
                "line 3: x: out of place (expected a length such as 8b)",
            ),
            (
                "num_ranks 2\nrank 0 {\nl1: calc 1\nl1: calc 2 }",
                "line 4: label l1: a second time",
            ),
            (
                "num_ranks 2\nrank 0 {\nl1: calc 1\nl1 requires\nl9 }",
                "line 5: label l9: unknown (expected one of this rank)",
            ),
            (
                "num_ranks 2\nrank 0 {\nl1: calc 1",
                "line 3: the end: out of place (expected send, recv, calc, a label with a colon, or a closing brace)",
            ),
            (
                "num_ranks 2\nrank 0 {} rank 0 {}",
                "line 2: rank 0: a second time",
            ),
            ("num_ranks 2 /* ", "line 1: a comment without an end"),
            (
                "num_ranks 2\nrank 0 { l: send 1b to 7 }",
                "line 2: rank 7: not in the job (expected 0 to 1)",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), words, "{text}");
        }
    }
}
