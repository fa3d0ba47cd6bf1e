//! `hetmp info`: the machine as the runtime sees it.

mod parts;
mod picture;
mod platforms;

use crate::run::choice;
use crate::{outputs, Output};
use hetmp_core::topo::{CpuSet, Nodes, PlaceKind, Topology};
use hetmp_core::{env, quota};
use serde_json::{json, Value};
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the table of environment variables instead
    #[arg(long)]
    env: bool,
    /// Print the platforms of message queues (hetmp/mq.h) instead, and which one HETMP_PLATFORM chooses
    #[arg(long, conflicts_with = "env")]
    platform: bool,
    /// Also draws nodes, caches and CPUs into an SVG file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["env", "platform"])]
    svg: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Output {
    if arguments.env {
        let text = if arguments.json {
            pretty(&env_json())
        } else {
            env_text()
        };
        return Output {
            text,
            ..Output::default()
        };
    }
    if arguments.platform {
        return platforms::run(arguments.json);
    }
    let mut errors = Vec::new();
    let facts = Facts::gather(&mut errors);
    let text = if arguments.json {
        pretty(&facts.json())
    } else {
        facts.text()
    };
    if let Some(path) = &arguments.svg {
        let drawn = picture::draw(&facts.model, &facts.nodes, &facts.machine);
        errors.extend(outputs::write("--svg", path, drawn).err());
    }
    Output {
        text,
        errors,
        ..Output::default()
    }
}

fn pretty(value: &Value) -> String {
    // `{:#}` of a Value cannot fail: its keys are strings and its numbers finite.
    format!("{value:#}\n")
}

struct Facts {
    model: String,
    kernel: String,
    machine: Topology,
    quota: Option<usize>,
    threads: usize,
    nodes: Nodes,
    /// True if `HETMP_NODES` names the nodes, false if they were found.
    told: bool,
}

impl Facts {
    fn gather(errors: &mut Vec<String>) -> Self {
        let machine = Topology::discover();
        let value = std::env::var_os("HETMP_NODES").map(std::ffi::OsString::into_encoded_bytes);
        let told = Nodes::told(value.as_deref()).is_some();
        let (nodes, told) = match Nodes::from_env(value.as_deref(), &machine) {
            Ok(nodes) => (nodes, told),
            Err(error) => {
                // The runtime goes on in the same way.
                errors.push(error.to_string());
                (Nodes::discover(&machine), false)
            }
        };
        Facts {
            model: model(),
            kernel: kernel(),
            quota: quota::cpus(),
            threads: quota::available_cpus(),
            nodes,
            told,
            machine,
        }
    }

    /// How many different groups the online CPUs form.
    fn groups(&self, key: impl Fn(&hetmp_core::topo::Cpu) -> usize) -> usize {
        let mut keys: Vec<usize> = self.machine.cpus().iter().map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let mut line = |name: &str, value: String| {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{name:<17}{value}");
        };
        line("hetmp", env!("CARGO_PKG_VERSION").to_owned());
        line("library", parts::library());
        line("parts", parts::text());
        line("OpenMP", parts::OPENMP.to_owned());
        line("machine", format!("{}, {}", self.model, self.kernel));
        line(
            "CPUs",
            format!(
                "{} online: packages {}, cores {}, last-level caches {}, memory nodes {}",
                self.machine.cpus().len(),
                self.groups(|cpu| cpu.package),
                self.groups(|cpu| cpu.core),
                self.groups(|cpu| cpu.llc),
                self.groups(|cpu| cpu.numa),
            ),
        );
        let allowed = self.machine.allowed();
        line("allowed CPUs", format!("{allowed} ({})", allowed.count()));
        line(
            "CPU quota",
            self.quota
                .map_or("none".to_owned(), |cpus| format!("{cpus} CPUs")),
        );
        line("default threads", self.threads.to_string());
        for kind in PlaceKind::ALL {
            let places = self.machine.places(kind, None);
            let sets: Vec<String> = places.iter().map(|set| format!("{{{set}}}")).collect();
            line(
                &format!("{} ({})", kind.name(), places.len()),
                sets.join(" "),
            );
        }
        let source = if self.told { "told" } else { "found" };
        line(
            &format!("nodes ({source})"),
            format!("HETMP_NODES='{}'", self.nodes),
        );
        for (at, node) in self.nodes.iter().enumerate() {
            let mut text = format!("CPUs {}", node.cpus);
            if let Some(name) = &node.name {
                let _ = write!(text, ", {name}");
            }
            if node.is_slowed() {
                let _ = write!(text, ", slowed to {}", node.speed);
            }
            for (kernel, speed) in &node.speeds {
                let _ = write!(text, ", {kernel} to {speed}");
            }
            if let Some(capacity) = node.capacity {
                let _ = write!(text, ", capacity {capacity}");
            }
            if let Some(watts) = node.watts {
                let _ = write!(text, ", {watts} W");
            }
            line(&format!("  node {at}"), text);
        }
        line(
            "hetmp run",
            choice::schedule(&self.nodes, &self.machine).line(),
        );
        out
    }

    fn json(&self) -> Value {
        let places: serde_json::Map<String, Value> = PlaceKind::ALL
            .iter()
            .map(|&kind| {
                let sets = self.machine.places(kind, None);
                (kind.name().to_owned(), sets.iter().map(list).collect())
            })
            .collect();
        let cpus: Vec<Value> = self
            .machine
            .cpus()
            .iter()
            .map(|cpu| {
                json!({
                    "id": cpu.id,
                    "core": cpu.core,
                    "package": cpu.package,
                    "die": cpu.die,
                    "last_level_cache": cpu.llc,
                    "numa": cpu.numa,
                    "capacity": cpu.capacity,
                    "max_khz": cpu.max_khz,
                    "core_type": cpu.core_type.map(|kind| kind.name()),
                    "allowed": self.machine.allowed().contains(cpu.id),
                })
            })
            .collect();
        let nodes: Vec<Value> = self
            .nodes
            .iter()
            .map(|node| {
                let speeds: serde_json::Map<String, Value> = node
                    .speeds
                    .iter()
                    .map(|(kernel, speed)| (kernel.clone(), json!(speed)))
                    .collect();
                json!({
                    "cpus": list(&node.cpus),
                    "name": node.name,
                    "speed": node.speed,
                    "speeds": speeds,
                    "watts": node.watts,
                    "capacity": node.capacity,
                })
            })
            .collect();
        let choice = choice::schedule(&self.nodes, &self.machine);
        json!({
            "hetmp": env!("CARGO_PKG_VERSION"),
            "files": parts::json(),
            "openmp": parts::OPENMP,
            "model": self.model,
            "kernel": self.kernel,
            "cpus": cpus,
            "allowed": list(self.machine.allowed()),
            "quota_cpus": self.quota,
            "default_threads": self.threads,
            "places": places,
            "nodes": nodes,
            "nodes_from": if self.told { "HETMP_NODES" } else { "discovery" },
            "HETMP_NODES": self.nodes.to_string(),
            "run_schedule": choice.schedule,
            "run_schedule_why": choice.why,
        })
    }
}

fn list(set: &CpuSet) -> Value {
    set.iter().collect()
}

/// The processor's name, from the kernel.
fn model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    field("model name")
        .or_else(|| field("Model"))
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// The kernel's name and release.
fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim()).trim_end().to_owned()
}

fn env_text() -> String {
    let mut out = String::new();
    for variable in env::TABLE {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{} ({})", variable.name, variable.kind.as_str());
        for text in [
            variable.help.to_owned(),
            format!("accepts: {}", variable.accepts),
            format!("default: {}", variable.default),
            format!("defined in: {}", variable.spec),
        ] {
            let _ = writeln!(out, "    {text}");
        }
    }
    out
}

fn env_json() -> Value {
    env::TABLE
        .iter()
        .map(|variable| {
            json!({
                "name": variable.name,
                "type": variable.kind.as_str(),
                "default": variable.default,
                "accepts": variable.accepts,
                "help": variable.help,
                "spec": variable.spec,
            })
        })
        .collect()
}
