//! The text forms of `HETMP_NODES`.

use super::{file, Node, NodeError, MIN_SPEED};
use crate::topo::{CpuSet, Topology};
use std::path::Path;

/// A value of no known form, and what it may look like.
const NO_FORM: &str = "does not describe nodes (expected a number of nodes, a list such as \
                       \"cores=0,speed=1;cores=1,speed=0.33\", or \"@file.toml\")";

/// Reads a whole file. Passed in, so that tests need no file system.
pub(super) type ReadFile<'a> = &'a dyn Fn(&Path) -> std::io::Result<String>;

pub(super) fn value(
    value: &[u8],
    machine: &Topology,
    read: ReadFile<'_>,
) -> Result<Vec<Node>, NodeError> {
    let error = |what: String| NodeError::new(value, what);
    let text = core::str::from_utf8(value)
        .map_err(|_| error(NO_FORM.to_owned()))?
        .trim();
    let nodes = if let Some(path) = text.strip_prefix('@') {
        let content = read(Path::new(path))
            .map_err(|e| error(format!("{e} (expected a readable file after @)")))?;
        file::nodes(&content).map_err(error)?
    } else if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        let count = text.parse::<usize>().unwrap_or(usize::MAX);
        split(count, machine).map_err(error)?
    } else {
        text.split(';')
            .map(node)
            .collect::<Result<Vec<_>, _>>()
            .map_err(error)?
    };
    check(&nodes, machine.allowed()).map_err(error)?;
    Ok(nodes)
}

/// Splits the cores into `count` nodes of sizes as equal as possible.
fn split(count: usize, machine: &Topology) -> Result<Vec<Node>, String> {
    // Sorted so that neighbours in memory and cache stay together.
    let mut cores = machine.grouped(|cpu| cpu.core);
    cores.sort_by_key(|set| {
        let first = set.first().and_then(|id| machine.cpu(id));
        first.map(|cpu| (cpu.numa, cpu.llc, cpu.id))
    });
    let threads = machine.allowed().count();
    if count > cores.len() {
        // With more nodes than cores, hardware threads are distributed instead.
        cores = cores
            .iter()
            .flat_map(CpuSet::iter)
            .map(|cpu| CpuSet::from_iter([cpu]))
            .collect();
    }
    if count == 0 || count > cores.len() {
        return Err(format!(
            "out of range (expected a number of nodes from 1 to {threads}, the CPUs allowed here)"
        ));
    }
    let (each, extra) = (cores.len() / count, cores.len() % count);
    let mut rest = cores.iter();
    Ok((0..count)
        .map(|at| {
            let mut cpus = CpuSet::new();
            for core in rest.by_ref().take(each + usize::from(at < extra)) {
                cpus.extend_from(core);
            }
            Node::new(cpus)
        })
        .collect())
}

/// One node of a list: `cores=0-3,8,speed=0.5`.
fn node(text: &str) -> Result<Node, String> {
    let mut cores: Option<String> = None;
    let mut speed = None;
    let mut node = Node::new(CpuSet::new());
    let mut in_cores = false;
    for part in text.split(',') {
        let Some((key, value)) = part.split_once('=') else {
            // A CPU list contains commas too, so a part without a key continues the list.
            match &mut cores {
                Some(list) if in_cores => {
                    list.push(',');
                    list.push_str(part);
                }
                _ => return Err(NO_FORM.to_owned()),
            }
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        in_cores = key == "cores";
        let duplicate = match key {
            "cores" => cores.replace(value.to_owned()).is_some(),
            "speed" => speed.replace(text_speed(value)?).is_some(),
            "watts" => node.watts.replace(text_watts(value)?).is_some(),
            "watts_idle" => node.watts_idle.replace(text_watts(value)?).is_some(),
            "name" => node.name.replace(text_name(value)?).is_some(),
            _ => match key.strip_prefix("speed.") {
                Some(kernel) => {
                    let kernel = text_name(kernel)?;
                    let twice = node.speeds.iter().any(|(k, _)| *k == kernel);
                    node.speeds.push((kernel, text_speed(value)?));
                    twice
                }
                None => {
                    return Err(format!(
                        "\"{key}\": unknown field (expected cores, speed, speed.NAME, watts, watts_idle or name)"
                    ))
                }
            },
        };
        if duplicate {
            return Err(format!("\"{key}\" twice (expected one a node)"));
        }
    }
    node.speed = speed.unwrap_or(1.0);
    node.cpus = cpu_list(cores.as_deref().unwrap_or(""))?;
    Ok(node)
}

pub(super) fn cpu_list(text: &str) -> Result<CpuSet, String> {
    CpuSet::parse_list(text)
        .filter(|set| !set.is_empty())
        .ok_or_else(|| {
            "a node without CPUs (expected \"cores=\" and a list of CPU numbers such as 0-3,8)"
                .to_owned()
        })
}

fn text_speed(text: &str) -> Result<f64, String> {
    speed(text.parse().unwrap_or(f64::NAN))
}

pub(super) fn speed(value: f64) -> Result<f64, String> {
    if (MIN_SPEED..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(format!("speed out of range (expected {MIN_SPEED} to 1)"))
    }
}

fn text_watts(text: &str) -> Result<f64, String> {
    watts(text.parse().unwrap_or(f64::NAN))
}

pub(super) fn watts(value: f64) -> Result<f64, String> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err("watts out of range (expected a number above 0)".to_owned())
    }
}

pub(super) fn text_name(text: &str) -> Result<String, String> {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    if !text.is_empty() && text.bytes().all(good) {
        Ok(text.to_owned())
    } else {
        Err("no name (expected letters, digits, \"_\", \"-\" and \".\")".to_owned())
    }
}

/// Checks that every CPU may be used and is in one node only.
fn check(nodes: &[Node], allowed: &CpuSet) -> Result<(), String> {
    let mut used = CpuSet::new();
    for node in nodes {
        match (node.watts_idle, node.watts) {
            (Some(_), None) => return Err("watts_idle without watts (expected both)".to_owned()),
            (Some(idle), Some(busy)) if idle > busy => {
                return Err(format!(
                    "watts_idle {idle} is above watts {busy} (expected at most as much)"
                ))
            }
            _ => {}
        }
        let outside = node.cpus.difference(allowed);
        if !outside.is_empty() {
            return Err(format!(
                "this process has no CPUs {outside} to run on (expected some of {allowed})"
            ));
        }
        let twice = node.cpus.intersection(&used);
        if !twice.is_empty() {
            return Err(format!(
                "CPU {twice} is in two nodes (expected each CPU in one)"
            ));
        }
        used.extend_from(&node.cpus);
    }
    Ok(())
}
