//! Platforms and workloads, read from files and translated to the simulator's types.

use super::format::{
    KindFile, LinkFile, PaperFile, PatternName, PlatformFile, SerialFile, Source, SpreadFile,
    TouchFile, WorkloadFile,
};
use super::library::{self, What};
use hetmp_lab as model;
use hetmp_sched::energy::Power;
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

/// A platform that was read.
#[derive(Debug)]
pub(super) struct LoadedPlatform {
    pub(super) model: model::Platform,
    pub(super) about: String,
    /// Kind of each node.
    pub(super) kinds: Vec<String>,
    pub(super) source: Source,
}

/// A workload that was read.
#[derive(Debug)]
pub(super) struct LoadedWorkload {
    /// The name in tables.
    pub(super) shown: String,
    pub(super) model: model::Workload,
    pub(super) about: String,
    pub(super) paper: Option<PaperFile>,
    pub(super) source: Source,
}

/// Names the line of a mistake.
struct Text<'a> {
    what: What,
    name: &'a str,
    text: &'a str,
}

impl Text<'_> {
    fn error(&self, span: Option<Range<usize>>, message: &str) -> String {
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = span.map(|s| {
            let before = self.text.get(..s.start).unwrap_or(self.text);
            before.matches('\n').count() + 1
        });
        match line {
            Some(line) => format!("{} {}:{line}: {message}", self.what.word(), self.name),
            None => format!("{} {}: {message}", self.what.word(), self.name),
        }
    }

    fn parse<'de, T: Deserialize<'de>>(&'de self) -> Result<T, String> {
        toml::from_str(self.text).map_err(|e| self.error(e.span(), e.message()))
    }
}

/// Reads a shipped platform, or a file.
pub(super) fn platform(name: &str) -> Result<LoadedPlatform, String> {
    let (shown, text) = library::text(What::Platform, name)?;
    let text = Text {
        what: What::Platform,
        name: &shown,
        text: &text,
    };
    let file: PlatformFile = text.parse()?;
    let mut kinds = file.kind.clone();
    if let Some(from) = &file.kinds_from {
        let (other_name, other_text) = library::text(What::Platform, from.get_ref())
            .map_err(|e| text.error(Some(from.span()), &e))?;
        let other: PlatformFile = Text {
            what: What::Platform,
            name: &other_name,
            text: &other_text,
        }
        .parse()?;
        for (name, kind) in other.kind {
            kinds.entry(name).or_insert(kind);
        }
    }

    let listed = file.node.get_ref();
    let total: u64 = listed
        .iter()
        .map(|n| u64::from(n.count.map_or(1, |c| c.0)))
        .sum();
    let most = if file.coherent { 1024 } else { 64 };
    if !(1..=most).contains(&total) {
        return Err(text.error(
            Some(file.node.span()),
            &format!("{total} nodes: out of range (expected 1 to {most})"),
        ));
    }
    let mut nodes: Vec<model::Node> = Vec::new();
    let mut kind_of = Vec::new();
    // The name in the listing, before numbers are added to it.
    let mut listed_as = Vec::new();
    for node in listed {
        let kind = kinds.get(node.kind.get_ref()).ok_or_else(|| {
            let names: Vec<&str> = kinds.keys().map(String::as_str).collect();
            text.error(
                Some(node.kind.span()),
                &format!(
                    "kind {}: unknown (expected one of {})",
                    node.kind.get_ref(),
                    names.join(", ")
                ),
            )
        })?;
        let count = node.count.map_or(1, |c| c.0);
        for i in 0..count {
            let name = node.name.get_ref();
            let name = match count {
                1 => name.clone(),
                _ => format!("{name}{i}"),
            };
            if nodes.iter().any(|n| n.name == name) {
                return Err(text.error(
                    Some(node.name.span()),
                    &format!("node {name}: named twice (expected a name of its own)"),
                ));
            }
            let memory = if file.coherent { 0 } else { nodes.len() };
            nodes.push(kind.node(name, node.cores.0, memory));
            kind_of.push(node.kind.get_ref().clone());
            listed_as.push(node.name.get_ref().as_str());
        }
    }
    let memories = if file.coherent { 1 } else { nodes.len() };
    let links = links(&file.link, &listed_as, &nodes, memories)
        .map_err(|(span, e)| text.error(span, &e))?;
    let model = model::Platform {
        name: shown.clone(),
        nodes,
        memories,
        links,
        counters: file.counters,
        call_ns: file.call_ns.map_or(100.0, |v| v.0),
        fork_us: file.fork_us.map_or(5.0, |v| v.0),
        jitter: file.jitter.map_or(0.0, |v| v.0),
    };
    Ok(LoadedPlatform {
        model,
        about: file.about,
        kinds: kind_of,
        source: file.source,
    })
}

impl KindFile {
    fn node(&self, name: String, cores: u32, memory: usize) -> model::Node {
        let default = model::KernelOnNode {
            speed: self.speed.map_or(1.0, |v| v.0),
            misses_per_kilo: self.misses.map(|v| v.0),
            serial_speed: self.serial_speed.map(|v| v.0),
        };
        model::Node {
            name,
            cores,
            memory,
            bandwidth: self.bandwidth_gbs.map_or(f64::INFINITY, |v| v.0),
            miss_ns: self.miss_ns.map_or(0.0, |v| v.0),
            default,
            kernels: self
                .kernel
                .iter()
                .map(|(name, k)| {
                    let k = model::KernelOnNode {
                        speed: k.speed.map_or(default.speed, |v| v.0),
                        misses_per_kilo: k.misses.map(|v| v.0).or(default.misses_per_kilo),
                        serial_speed: k.serial_speed.map(|v| v.0).or(default.serial_speed),
                    };
                    (name.clone(), k)
                })
                .collect(),
            power: Power {
                idle_watts: self.idle_watts.map_or(0.0, |v| v.0),
                core_watts: self.core_watts.map_or(0.0, |v| v.0),
            },
        }
    }
}

type SpannedError = (Option<Range<usize>>, String);

/// The matrix of links. For pairs that several entries name, the last entry counts.
fn links(
    files: &[Spanned<LinkFile>],
    listed_as: &[&str],
    nodes: &[model::Node],
    memories: usize,
) -> Result<Vec<model::LinkModel>, SpannedError> {
    let mut matrix: Vec<Option<model::LinkModel>> = vec![None; memories * memories];
    for link in files {
        let span = Some(link.span());
        let link = link.get_ref();
        let model = model::LinkModel {
            fault_us: link.fault_us.0,
            occupancy_us: link.occupancy_us.0,
            barrier_us: link.barrier_us.0,
            threshold_us: link.threshold_us.0,
        };
        let sides: [Vec<usize>; 2] = match &link.between {
            None => [(0..nodes.len()).collect(), (0..nodes.len()).collect()],
            Some(names) => {
                let [a, b] = names.as_slice() else {
                    return Err((span, "between: not two names (expected two nodes')".into()));
                };
                let find = |name: &Spanned<String>| {
                    let found: Vec<usize> = (0..nodes.len())
                        .filter(|&i| {
                            listed_as[i] == name.get_ref() || nodes[i].name == *name.get_ref()
                        })
                        .collect();
                    if found.is_empty() {
                        let e = format!(
                            "node {}: unknown (expected the name of a node)",
                            name.get_ref()
                        );
                        return Err((Some(name.span()), e));
                    }
                    Ok(found)
                };
                [find(a)?, find(b)?]
            }
        };
        for &a in &sides[0] {
            for &b in &sides[1] {
                let (a, b) = (nodes[a].memory, nodes[b].memory);
                if a != b {
                    matrix[a * memories + b] = Some(model);
                    matrix[b * memories + a] = Some(model);
                }
            }
        }
    }
    let mut out = Vec::with_capacity(matrix.len());
    for (at, link) in matrix.into_iter().enumerate() {
        let (a, b) = (at / memories, at % memories);
        match link {
            Some(link) => out.push(link),
            None if a == b => out.push(model::LinkModel::default()),
            None => {
                return Err((
                    None,
                    format!(
                        "nodes {} and {}: coherent = true or a [[link]] is needed",
                        nodes[a].name, nodes[b].name
                    ),
                ))
            }
        }
    }
    Ok(out)
}

/// The longest loop whose iterations may have different costs; see the simulator.
const MOST_VARIED: u64 = 1 << 26;
/// The most units of pages that are simulated in one array.
const MOST_UNITS: f64 = 4e6;

/// Reads a shipped workload, or a file.
pub(super) fn workload(name: &str) -> Result<LoadedWorkload, String> {
    let (shown, text) = library::text(What::Workload, name)?;
    let text = Text {
        what: What::Workload,
        name: &shown,
        text: &text,
    };
    let file: WorkloadFile = text.parse()?;
    let own_name = std::path::Path::new(&shown)
        .file_stem()
        .map_or_else(|| shown.clone(), |s| s.to_string_lossy().into_owned());

    let mut arrays: Vec<model::Array> = Vec::new();
    for array in &file.array {
        let span = array.span();
        let array = array.get_ref();
        if arrays.iter().any(|a| a.name == array.name) {
            let e = format!(
                "array {}: named twice (expected a name of its own)",
                array.name
            );
            return Err(text.error(Some(span), &e));
        }
        let pages_per_unit = array.unit_pages.map_or(1, |v| v.0);
        let units = (array.mib.0 * 256.0 / pages_per_unit as f64).ceil();
        if units > MOST_UNITS {
            let e = format!(
                "array {}: more than the {MOST_UNITS} pages that are followed (expected a larger unit_pages)",
                array.name
            );
            return Err(text.error(Some(span), &e));
        }
        arrays.push(model::Array {
            name: array.name.clone(),
            units: units as u64,
            pages_per_unit,
        });
    }
    let touches = |files: &[Spanned<TouchFile>], serial: bool| {
        files
            .iter()
            .map(|t| touch(t, &arrays, serial).map_err(|(span, e)| text.error(span, &e)))
            .collect::<Result<Vec<_>, String>>()
    };
    let serial = |file: &SerialFile| -> Result<model::Serial, String> {
        Ok(model::Serial {
            ms: file.ms.map_or(0.0, |v| v.0),
            accesses: touches(&file.touches, true)?,
        })
    };
    let mut loops = Vec::new();
    for l in &file.loops {
        let iterations = l.iterations.get_ref().0;
        let spread = match l.spread {
            None => model::Spread::Even,
            Some(SpreadFile::Uniform(a)) => model::Spread::Uniform(a.0),
            Some(SpreadFile::Exponential(a)) => model::Spread::Exponential(a.0),
            Some(SpreadFile::Ramp(a)) => model::Spread::Ramp(a.0),
        };
        if l.spread.is_some() && iterations > MOST_VARIED {
            let e = format!(
                "{iterations} iterations: too many with a spread (expected up to {MOST_VARIED})"
            );
            return Err(text.error(Some(l.iterations.span()), &e));
        }
        loops.push(model::LoopModel {
            name: l.name.clone(),
            kernel: l.kernel.clone().unwrap_or_else(|| own_name.clone()),
            iterations,
            ns: l.ns.0,
            instructions: l.instructions.map_or(0.0, |v| v.0),
            misses_per_kilo: l.misses.map_or(0.0, |v| v.0),
            cold_misses: l.cold_misses.map_or(0.0, |v| v.0),
            spread,
            mix: l.mix.as_ref().map(|m| model::Mix {
                kernel: m.kernel.clone(),
                part: m.part.0,
                period: m.period.0,
                ns: m.ns.0,
                instructions: m.instructions.map_or(0.0, |v| v.0),
                misses_per_kilo: m.misses.map_or(0.0, |v| v.0),
            }),
            accesses: touches(&l.touches, false)?,
        });
    }
    let model = model::Workload {
        name: own_name.clone(),
        start: serial(&file.start)?,
        round: serial(&file.round)?,
        repeat: file.repeat.map_or(1, |v| v.0),
        chunk: file.chunk.map_or(1, |v| v.0),
        loops,
        arrays,
    };
    Ok(LoadedWorkload {
        shown: own_name,
        model,
        about: file.about,
        paper: file.paper,
        source: file.source,
    })
}

fn touch(
    file: &Spanned<TouchFile>,
    arrays: &[model::Array],
    serial: bool,
) -> Result<model::Access, SpannedError> {
    let span = Some(file.span());
    let file = file.get_ref();
    let array = arrays
        .iter()
        .position(|a| a.name == *file.array.get_ref())
        .ok_or_else(|| {
            let names: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
            let e = format!(
                "array {}: unknown (expected one of the file's: {})",
                file.array.get_ref(),
                names.join(", ")
            );
            (Some(file.array.span()), e)
        })?;
    if serial && file.pattern.is_some() {
        let e = "pattern: a serial part touches whole arrays (expected no pattern)".to_owned();
        return Err((span, e));
    }
    let pattern = match (file.pattern, file.rows, file.per_iteration) {
        (None, None, None) if serial => model::Pattern::All,
        (Some(PatternName::All), None, None) if file.halo.is_none() => model::Pattern::All,
        (None | Some(PatternName::Block), None, None) => model::Pattern::Block {
            halo: file.halo.map_or(0, |v| v.0),
        },
        (Some(PatternName::Across), Some(rows), None) if file.halo.is_none() => {
            model::Pattern::Across { rows: rows.0 }
        }
        (Some(PatternName::Scattered), None, Some(per)) if file.halo.is_none() => {
            model::Pattern::Scattered {
                per_iteration: per.0,
            }
        }
        _ => {
            let e = "pattern: unknown (expected block [with halo], across with rows, all, or scattered with \
                     per_iteration)";
            return Err((span, e.to_owned()));
        }
    };
    Ok(model::Access {
        array,
        pattern,
        writes: file.writes,
    })
}

impl LoadedWorkload {
    /// Sets the share of iterations of the second kind, and adds it to the name.
    pub(super) fn mix_to(&mut self, part: f64) {
        let mut changed = false;
        for mix in self.model.loops.iter_mut().filter_map(|l| l.mix.as_mut()) {
            mix.part = part;
            changed = true;
        }
        if changed {
            self.shown = format!("{} {}%", self.shown, part * 100.0);
        }
    }
}
