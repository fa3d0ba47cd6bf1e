//! Reads algorithms of MSCCL (XML descriptions of collectives on GPUs) as graphs.
//!
//! **Data in**: the XML text, and the length of a chunk. **Data out**: a graph for each GPU, which is a rank here, or
//! the first mistake that was found. Of XML only elements, attributes and comments are understood.
//!
//! The *thread blocks* of a GPU run at the same time. The steps of one thread block follow each other, and a step may
//! also wait for a step of another thread block (`depid`, `deps`). A thread block sends to one peer and receives from
//! one peer over a *channel*, which becomes the tag. Segment 0 is the input, segment 1 the output; `s` is the
//! scratchpad.
//!
//! | step | operations |
//! | --- | --- |
//! | `s` | send from the source |
//! | `r` | receive into the destination |
//! | `rcs` | receive into the destination, send from there |
//! | `rrc` | receive, destination = source + what came |
//! | `rrs` | receive, send source + what came |
//! | `rrcs` | both |
//! | `re` | destination = destination + source |
//! | `cpy` | copy the source to the destination |
//! | `nop` | nothing: one more step to wait for |
//!
//! A GPU copies what it sends into a buffer of the connection, so that a send never waits for its receive. Here, long
//! messages do wait. So a step waits only for the *beginning* of an earlier send, unless the step writes what the
//! send reads.

mod xml;

use crate::collectives::Vector;
use crate::element::{Arithmetic, Type};
use crate::graph::{self, After, Graph, OpId, Work};
use crate::memory::Buffer;
use core::fmt;
use std::collections::BTreeMap;
use xml::{tags, Tag};

/// The most GPUs, chunks of a buffer, and steps of a thread block.
const MOST: i64 = 1 << 16;
/// The most operations of one GPU: their order is kept for all pairs.
const MOST_OPERATIONS: usize = 1 << 14;

/// What is wrong with an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line's number, from 1; 0 for a mistake that concerns the whole text.
    pub line: usize,
    /// The text that is wrong, and what is expected.
    pub what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.what),
            line => write!(f, "line {line}: {}", self.what),
        }
    }
}

impl std::error::Error for Wrong {}

fn wrong<T>(line: usize, what: impl fmt::Display) -> Result<T, Wrong> {
    let what = what.to_string();
    Err(Wrong { line, what })
}

/// An algorithm for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// The name in the file.
    pub name: String,
    /// Which collective: `allreduce`, `allgather`, ...
    pub collective: String,
    /// One for each GPU.
    pub graphs: Vec<Graph>,
    /// The algorithm is for one buffer (`inplace` without `outofplace`): a rank's input lies in the output too.
    in_place: bool,
    /// Elements of a chunk.
    chunk: u64,
}

/// How chunks are reduced, and how long they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The elements of one chunk.
    pub elements: Vector,
}

impl Chunk {
    /// A chunk of `count` floats, which are summed.
    #[must_use]
    pub fn floats(count: u64) -> Chunk {
        Chunk {
            elements: Vector {
                op: Arithmetic::Add,
                element: Type::Float,
                count,
            },
        }
    }
}

/// One GPU under construction.
struct Gpu {
    graph: Graph,
    chunk: Chunk,
    scratch: u64,
    chunks: [i64; 3],
    /// The last operation of each step. The key is the thread block and the step.
    steps: BTreeMap<(i64, i64), OpId>,
    /// Steps that wait for others: the line, the first operation, and the awaited thread block and step.
    waits: Vec<(usize, OpId, (i64, i64))>,
}

/// A thread block under construction.
struct Block {
    id: i64,
    send: i64,
    recv: i64,
    channel: i64,
    last: Option<OpId>,
    next: i64,
}

impl Gpu {
    /// The memory of a step's chunks in one of this GPU's buffers.
    fn piece(&self, tag: &Tag<'_>, which: &str) -> Result<Buffer, Wrong> {
        let bytes = self.chunk.elements.bytes();
        let name = tag.text(&format!("{which}buf")).unwrap_or("(missing)");
        let (at, n) = (
            tag.number(&format!("{which}off"), 0)?,
            tag.number("cnt", 1)?,
        );
        let place = match name {
            "i" => 0,
            "o" => 1,
            "s" => 2,
            _ => {
                return wrong(
                    tag.line,
                    format_args!("buffer {name}: unknown (expected i, o or s)"),
                )
            }
        };
        if at + n > self.chunks[place] {
            return wrong(
                tag.line,
                format_args!(
                    "chunks {at} to {} of buffer {name}: up to {} are there",
                    at + n - 1,
                    self.chunks[place]
                ),
            );
        }
        let (offset, bytes) = (bytes * at as u64, bytes * n as u64);
        Ok(match place {
            2 => Buffer::scratch(self.scratch + offset, bytes),
            n => Buffer::user(n as u16, offset, bytes),
        })
    }

    fn add(&mut self, line: usize, work: Work, before: &[OpId]) -> Result<OpId, Wrong> {
        if self.graph.operations().len() >= MOST_OPERATIONS {
            return wrong(
                line,
                format_args!("too many operations (expected up to {MOST_OPERATIONS})"),
            );
        }
        let told = |e: graph::Error| Wrong {
            line,
            what: e.to_string(),
        };
        let op = self.graph.add(work).map_err(told)?;
        for earlier in before {
            let is_send = matches!(self.graph.operations()[earlier.index()], Work::Send { .. });
            let after = if is_send {
                After::Begun
            } else {
                After::Complete
            };
            self.graph.order(op, after, *earlier).map_err(told)?;
        }
        Ok(op)
    }

    fn step(&mut self, block: &mut Block, tag: &Tag<'_>) -> Result<(), Wrong> {
        let kind = tag.text("type").unwrap_or("(missing)");
        let number = tag.number("s", 0)?;
        if number != block.next {
            return wrong(
                tag.line,
                format_args!("step {number}: out of order (expected {})", block.next),
            );
        }
        block.next += 1;
        let (channel, line) = (block.channel as u32, tag.line);
        let peer = |n: i64, what: &str| -> Result<u32, Wrong> {
            u32::try_from(n).or_else(|_| {
                wrong(
                    line,
                    format_args!(
                        "step {kind}: no peer to {what} (expected a thread block with one)"
                    ),
                )
            })
        };
        let (src, dst) = (|g: &Gpu| g.piece(tag, "src"), |g: &Gpu| g.piece(tag, "dst"));
        let before: Vec<OpId> = block.last.into_iter().collect();
        let send = |from: Buffer| -> Result<Work, Wrong> {
            Ok(Work::Send {
                to: peer(block.send, "send to")?,
                tag: channel,
                from: vec![from],
            })
        };
        let recv = |into: Buffer| -> Result<Work, Wrong> {
            Ok(Work::Recv {
                from: peer(block.recv, "receive from")?,
                tag: channel,
                into: vec![into],
            })
        };
        let v = self.chunk.elements;
        let combine = |target: Buffer, operand: Buffer| Work::Local {
            op: v.op,
            element: v.element,
            target: vec![target],
            operand: vec![operand],
        };
        let first = OpId(self.graph.operations().len() as u32);
        let last = match kind {
            "s" => self.add(line, send(src(self)?)?, &before)?,
            "r" => self.add(line, recv(dst(self)?)?, &before)?,
            "rcs" => {
                let into = dst(self)?;
                let got = self.add(line, recv(into)?, &before)?;
                self.add(line, send(into)?, &[got])?
            }
            "rrc" | "rrs" | "rrcs" => {
                let own = src(self)?;
                let came = Buffer::scratch(self.graph.scratch(own.bytes), own.bytes);
                let got = self.add(line, recv(came)?, &before)?;
                // What has come is the target, so that the source does not change.
                let mut last = self.add(line, combine(came, own), &[got])?;
                if kind != "rrs" {
                    let copy = Work::Copy {
                        into: vec![dst(self)?],
                        from: vec![came],
                    };
                    last = self.add(line, copy, &[last])?;
                }
                if kind != "rrc" {
                    last = self.add(line, send(came)?, &[last])?;
                }
                last
            }
            "re" => {
                let work = combine(dst(self)?, src(self)?);
                self.add(line, work, &before)?
            }
            "cpy" => {
                let work = Work::Copy {
                    into: vec![dst(self)?],
                    from: vec![src(self)?],
                };
                self.add(line, work, &before)?
            }
            "nop" => self.add(line, Work::Calc { nanoseconds: 0 }, &before)?,
            _ => {
                return wrong(
                    line,
                    format_args!(
                        "step {kind}: unknown (expected s, r, rcs, rrc, rrs, rrcs, re, cpy or nop)"
                    ),
                )
            }
        };
        block.last = Some(last);
        self.steps.insert((block.id, number), last);
        let on = tag.number("depid", -1)?;
        if on >= 0 {
            self.waits.push((line, first, (on, tag.number("deps", 0)?)));
        }
        Ok(())
    }

    /// Adds the edges that steps asked for, and those from sends to later operations that overwrite what was sent.
    fn finish(mut self) -> Result<Graph, Wrong> {
        for (line, first, on) in core::mem::take(&mut self.waits) {
            let Some(earlier) = self.steps.get(&on).copied() else {
                return wrong(
                    line,
                    format_args!(
                        "depid {} deps {}: no such step (expected one of this GPU)",
                        on.0, on.1
                    ),
                );
            };
            if let Err(e) = self.graph.requires(first, earlier) {
                return wrong(line, e);
            }
        }
        let later = reached(&self.graph).ok_or_else(|| Wrong {
            line: 0,
            what: format!(
                "GPU {}: steps that wait for each other in a circle",
                self.graph.rank()
            ),
        })?;
        let ops = self.graph.operations();
        let mut more = Vec::new();
        for (send, work) in ops.iter().enumerate() {
            let Work::Send { from, .. } = work else {
                continue;
            };
            for (writer, other) in ops.iter().enumerate() {
                let touches = || {
                    let mut pairs = other
                        .writes()
                        .iter()
                        .flat_map(|w| from.iter().map(move |f| (w, f)));
                    pairs.any(|(w, f)| w.overlaps(f))
                };
                if later[send][writer / 64] >> (writer % 64) & 1 == 1 && touches() {
                    more.push((OpId(writer as u32), OpId(send as u32)));
                }
            }
        }
        for (writer, send) in more {
            if let Err(e) = self.graph.requires(writer, send) {
                return wrong(0, e);
            }
        }
        Ok(self.graph)
    }
}

/// For each operation, the set of operations that come after it, as bits. `None` if there is a circle.
fn reached(graph: &Graph) -> Option<Vec<Vec<u64>>> {
    let n = graph.operations().len();
    let mut before = vec![0usize; n];
    let mut behind = vec![Vec::new(); n];
    for (later, _, earlier) in graph.edges() {
        before[later] += 1;
        behind[earlier].push(later);
    }
    let mut order: Vec<usize> = (0..n).filter(|i| before[*i] == 0).collect();
    let mut at = 0;
    while at < order.len() {
        for later in &behind[order[at]] {
            before[*later] -= 1;
            if before[*later] == 0 {
                order.push(*later);
            }
        }
        at += 1;
    }
    if order.len() < n {
        return None;
    }
    let mut bits = vec![vec![0u64; n.div_ceil(64)]; n];
    for i in order.into_iter().rev() {
        let mut mine = core::mem::take(&mut bits[i]);
        for later in &behind[i] {
            mine[later / 64] |= 1 << (later % 64);
            for (a, b) in mine.iter_mut().zip(&bits[*later]) {
                *a |= b;
            }
        }
        bits[i] = mine;
    }
    Some(bits)
}

/// Reads an algorithm.
///
/// # Errors
/// The first mistake found.
pub fn read(text: &str, chunk: Chunk) -> Result<Algorithm, Wrong> {
    if chunk.elements.element.bytes() == 0 || chunk.elements.bytes() > 1 << 32 {
        return wrong(0, "chunk: too large (expected up to 4 GiB of elements)");
    }
    let mut tags = tags(text)?.into_iter();
    let algo = match tags.next() {
        Some(tag) if tag.name == "algo" && !tag.ends => tag,
        _ => return wrong(0, "no algorithm (expected an <algo> element)"),
    };
    let gpus = algo.number("ngpus", 1)?;
    let said = |name| algo.text(name).unwrap_or("").to_owned();
    let in_place = algo.text("inplace") == Some("1") && algo.text("outofplace") == Some("0");
    let (name, collective) = (said("name"), said("coll"));
    let mut graphs: BTreeMap<i64, Graph> = BTreeMap::new();
    let mut gpu: Option<(i64, Gpu)> = None;
    let mut block: Option<Block> = None;
    for tag in tags {
        let misplaced = |tag: &Tag<'_>| -> Result<(), Wrong> {
            let slash = if tag.closes { "/" } else { "" };
            wrong(
                tag.line,
                format_args!(
                    "<{slash}{}>: out of place (expected gpu in algo, tb in gpu, step in tb)",
                    tag.name
                ),
            )
        };
        match (tag.name, tag.closes, &mut gpu, &mut block) {
            ("gpu", false, None, None) => {
                let id = tag.number("id", 0)?;
                if id >= gpus || graphs.contains_key(&id) {
                    return wrong(
                        tag.line,
                        format_args!(
                            "gpu {id}: twice or out of range (expected each of 0 to {} once)",
                            gpus - 1
                        ),
                    );
                }
                let made = new_gpu(&tag, id, gpus, chunk)?;
                if tag.ends {
                    graphs.insert(id, made.graph);
                } else {
                    gpu = Some((id, made));
                }
            }
            ("gpu", true, Some(_), None) => {
                if let Some((id, made)) = gpu.take() {
                    graphs.insert(id, made.finish()?);
                }
            }
            ("tb", false, Some(_), None) => {
                let made = Block {
                    id: tag.number("id", 0)?,
                    send: tag.number("send", -1)?,
                    recv: tag.number("recv", -1)?,
                    channel: tag.number("chan", 0)?,
                    last: None,
                    next: 0,
                };
                block = (!tag.ends).then_some(made);
            }
            ("tb", true, Some(_), Some(_)) => block = None,
            ("step", false, Some((_, gpu)), Some(block)) if tag.ends => gpu.step(block, &tag)?,
            ("algo", true, None, None) => break,
            _ => misplaced(&tag)?,
        }
    }
    if gpu.is_some() || graphs.len() as i64 != gpus {
        return wrong(
            0,
            format_args!("{} of {gpus} GPUs (expected all of them)", graphs.len()),
        );
    }
    Ok(Algorithm {
        name,
        collective,
        graphs: graphs.into_values().collect(),
        in_place,
        chunk: chunk.elements.count,
    })
}

fn new_gpu(tag: &Tag<'_>, id: i64, gpus: i64, chunk: Chunk) -> Result<Gpu, Wrong> {
    let told = |e: graph::Error| Wrong {
        line: tag.line,
        what: e.to_string(),
    };
    let chunks = [
        tag.number("i_chunks", 0)?,
        tag.number("o_chunks", 0)?,
        tag.number("s_chunks", 0)?,
    ];
    let bytes = chunk.elements.bytes();
    let mut graph = Graph::new(id as u32, gpus as u32).map_err(told)?;
    graph.segment(bytes * chunks[0] as u64).map_err(told)?;
    graph.segment(bytes * chunks[1] as u64).map_err(told)?;
    let scratch = graph.scratch(bytes * chunks[2] as u64);
    Ok(Gpu {
        graph,
        chunk,
        scratch,
        chunks,
        steps: BTreeMap::new(),
        waits: Vec::new(),
    })
}

/// The effect of a collective on its buffers, as far as it is known here: for checks with real data.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// By rank: segments 0 and 1 before the collective, in elements.
    pub before: Vec<[Vec<f32>; 2]>,
    /// The same after the collective; `None` for elements without a defined value.
    pub after: Vec<[Vec<Option<f32>>; 2]>,
}

impl Algorithm {
    /// Buffers of small whole numbers, and the result of the collective on them. Only for allreduce, allgather and
    /// alltoall of summed floats; `None` for other collectives and shapes.
    #[must_use]
    pub fn data(&self) -> Option<Data> {
        let ranks = self.graphs.len();
        let lengths = |r: usize| [0, 1].map(|s| self.graphs[r].segments[s] as usize / 4);
        let value = |rank: usize, i: usize| ((rank * 31 + i * 7) % 64) as f32;
        let mut before: Vec<[Vec<f32>; 2]> = (0..ranks)
            .map(|r| {
                let [i, o] = lengths(r);
                [(0..i).map(|k| value(r, k)).collect(), vec![-1.0; o]]
            })
            .collect();
        let mut after: Vec<[Vec<Option<f32>>; 2]> = before
            .iter()
            .map(|[i, o]| [vec![None; i.len()], vec![None; o.len()]])
            .collect();
        let [i, o] = lengths(0);
        if (0..ranks).any(|r| lengths(r) != [i, o]) {
            return None;
        }
        let sum = |k: usize| (0..ranks).map(|r| value(r, k)).sum::<f32>();
        match (self.collective.as_str(), i, o) {
            ("allreduce", i, o) if i > 0 && (o == 0 || o == i) => {
                for segments in &mut after {
                    let at = usize::from(o > 0);
                    segments[at] = (0..i).map(|k| Some(sum(k))).collect();
                }
            }
            // Some files call themselves allgather and have other numbers of chunks.
            ("allgather", i, o)
                if o as u64 % (self.chunk.max(1) * ranks as u64) == 0
                    && (i == 0 || i * ranks == o) =>
            {
                let n = o / ranks;
                for (r, segments) in before.iter_mut().enumerate() {
                    // In place: a rank's input is in the output already.
                    for k in 0..if i == 0 || self.in_place { n } else { 0 } {
                        segments[1][r * n + k] = value(r, k);
                    }
                }
                for segments in &mut after {
                    segments[1] = (0..o)
                        .map(|k| Some(value(k / n.max(1), k % n.max(1))))
                        .collect();
                }
            }
            ("alltoall", i, o) if i == o && i % ranks == 0 => {
                let n = i / ranks;
                for (r, segments) in after.iter_mut().enumerate() {
                    segments[1] = (0..o).map(|k| Some(value(k / n, r * n + k % n))).collect();
                }
            }
            _ => return None,
        }
        Some(Data { before, after })
    }
}
