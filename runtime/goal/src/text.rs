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

use crate::global::Place;
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

/// Reads a text word by word: a file may have millions of operations. Colons and braces are words of their own.
struct Reader<'t> {
    text: &'t str,
    /// Where the word after those of `ahead` is looked for, and its line.
    at: usize,
    line: usize,
    /// The next word and the one after it; empty at the end.
    ahead: [Token<'t>; 2],
    /// A comment without an end begins in this line.
    open_comment: Option<usize>,
    /// Hears of each operation: its place, line and label.
    seen: &'t mut dyn FnMut(Place, usize, &'t str),
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, seen: &'t mut dyn FnMut(Place, usize, &'t str)) -> Reader<'t> {
        let mut reader = Reader {
            text,
            at: 0,
            line: 1,
            ahead: [("", 1); 2],
            open_comment: None,
            seen,
        };
        reader.skip(2);
        reader
    }

    /// Goes `words` words on. At the end the line stays that of the last word.
    fn skip(&mut self, words: usize) {
        for _ in 0..words {
            let last = self.ahead[1].1;
            self.ahead = [self.ahead[1], self.scan().unwrap_or(("", last))];
        }
    }

    fn scan(&mut self) -> Option<Token<'t>> {
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() {
            let rest = &self.text[self.at..];
            if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else {
                    self.open_comment = Some(self.line);
                    self.at = bytes.len();
                    return None;
                };
                self.line += rest[..end].matches('\n').count();
                self.at += end + 2;
            } else if rest.starts_with("//") || rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if bytes[self.at].is_ascii_whitespace() {
                self.line += usize::from(bytes[self.at] == b'\n');
                self.at += 1;
            } else {
                let ends = |c: char| c.is_whitespace() || matches!(c, ':' | '{' | '}' | '#');
                let first = rest.chars().next().map_or(1, char::len_utf8);
                let alone = matches!(bytes[self.at], b':' | b'{' | b'}');
                let end = if alone {
                    None
                } else {
                    rest.find(ends).or(Some(rest.len()))
                };
                let word = &rest[..end.unwrap_or(0).max(first)];
                self.at += word.len();
                return Some((word, self.line));
            }
        }
        None
    }

    fn peek(&self, ahead: usize) -> &'t str {
        self.ahead[ahead].0
    }

    fn line(&self) -> usize {
        self.ahead[0].1
    }

    fn wrong<T>(&self, accepted: &str) -> Result<T, Wrong> {
        let have = match self.peek(0) {
            "" => {
                self.ends()?;
                "the end"
            }
            word => word,
        };
        Err(Wrong {
            line: self.line(),
            what: format!("{}: out of place (expected {accepted})", Shown(have)),
        })
    }

    /// At the end of the text: that no comment goes on there.
    fn ends(&self) -> Result<(), Wrong> {
        self.open_comment.map_or(Ok(()), |line| {
            let what = "a comment without an end".to_owned();
            Err(Wrong { line, what })
        })
    }

    fn expect(&mut self, word: &str) -> Result<(), Wrong> {
        if self.peek(0) != word {
            return self.wrong(word);
        }
        self.skip(1);
        Ok(())
    }

    fn number<N: core::str::FromStr>(&mut self, suffix: &str, accepted: &str) -> Result<N, Wrong> {
        let word = self.peek(0);
        match word.strip_suffix(suffix).unwrap_or(word).parse() {
            Ok(n) => {
                self.skip(1);
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
                    self.skip(1);
                    tag = self.number("", "a tag from 0 to 4294967295")?;
                }
                "cpu" | "nic" => {
                    self.skip(1);
                    self.number::<u64>("", "a number")?;
                }
                _ => return Ok(tag),
            }
        }
    }

    fn work(&mut self) -> Result<Work, Wrong> {
        let kind = self.peek(0);
        match kind {
            "calc" => {
                self.skip(1);
                let nanoseconds = self.number("", "a number of nanoseconds")?;
                self.attributes()?;
                Ok(Work::Calc { nanoseconds })
            }
            "send" | "recv" => {
                self.skip(1);
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
            _ => self.wrong("send, recv, calc, a label with a colon, or a closing brace"),
        }
    }

    fn rank(&mut self, ranks: u32, only: Option<u32>) -> Result<Graph, Wrong> {
        self.expect("rank")?;
        let line = self.line();
        let number: u32 = self.number("", "a rank")?;
        let mut graph = Graph::new(number, ranks).map_err(|e| Wrong {
            line,
            what: e.to_string(),
        })?;
        self.expect("{")?;
        if only.is_some_and(|o| o != number) {
            while !matches!(self.peek(0), "}" | "") {
                self.skip(1);
            }
            self.expect("}")?;
            return Ok(graph);
        }
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
                self.skip(2);
                edges.push((later, after, (self.peek(0), self.line())));
                self.skip(1);
                continue;
            }
            let line = self.line();
            let label = (self.peek(1) == ":").then(|| self.peek(0));
            if label.is_some() {
                self.skip(2);
            }
            let place = Place {
                rank: number,
                operation: graph.operations().len(),
            };
            (self.seen)(place, line, label.unwrap_or_default());
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
        self.skip(1);
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
    read_with(text, None, &mut |_, _, _| {})
}

/// As [`read`], with an empty graph for all ranks but one: each process of a job needs its own, and a text may have
/// millions of operations. What is wrong within other ranks is not noticed.
///
/// # Errors
/// Those of [`read`].
pub fn read_rank(text: &str, rank: u32) -> Result<Vec<Graph>, Wrong> {
    read_with(text, Some(rank), &mut |_, _, _| {})
}

/// Where operations stand in a text that [`read`] has read: the line of each, and its label if it has one.
#[must_use]
pub fn origins(text: &str, places: &[Place]) -> HashMap<Place, (usize, String)> {
    let mut found: HashMap<_, _> = places.iter().map(|p| (*p, (0, String::new()))).collect();
    // The graphs are not needed, and a text that was read before has nothing wrong.
    let _ = read_with(text, None, &mut |place, line, label| {
        if let Some(origin) = found.get_mut(&place) {
            *origin = (line, Shown(label).to_string());
        }
    });
    found
}

fn read_with<'t>(
    text: &'t str,
    only: Option<u32>,
    seen: &'t mut dyn FnMut(Place, usize, &'t str),
) -> Result<Vec<Graph>, Wrong> {
    let mut reader = Reader::new(text, seen);
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
    while !reader.peek(0).is_empty() {
        let line = reader.line();
        let graph = reader.rank(ranks, only)?;
        let slot = &mut graphs[graph.rank as usize];
        if slot.is_some() {
            return Err(Wrong {
                line,
                what: format!("rank {}: a second time", graph.rank),
            });
        }
        *slot = Some(graph);
    }
    reader.ends()?;
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
        let one = read_rank(text, 1).unwrap();
        assert!(one[0].operations().is_empty() && one[1] == graphs[1] && one.len() == 3);
    }

    #[test]
    fn operations_are_found_again_in_their_text() {
        let text = "num_ranks 2\nrank 1 {\nfirst: calc 1\n\ncalc 2 }\nrank 0 { a: calc 1 }";
        let place = |rank, operation| Place { rank, operation };
        let expected = [
            (place(1, 1), (5, "")),
            (place(0, 0), (6, "a")),
            (place(1, 0), (3, "first")),
            (place(0, 7), (0, "")),
        ];
        let found = origins(text, &expected.map(|(place, _)| place));
        for (place, (line, label)) in expected {
            assert_eq!(found[&place], (line, label.to_owned()));
        }
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
