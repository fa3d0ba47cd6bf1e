//! What decisions minimise, the nodes' watts, and the hardware counters that a report shows.
//!
//! Set up once, before the first region that is looked at. Counters are read around probes only if the user names one
//! and the machine has it ([`active`]); they decide nothing.

use crate::icv::Globals;
use crate::unlike::calibrated::calibration;
use crate::unlike::nodes;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hetmp_core::calibration::{kind_of, NodeKind};
use hetmp_core::counters::{Event, Hardware, Reading, Source as _};
use hetmp_core::report::warn;
use hetmp_core::topo::Node;
use hetmp_core::whole::OnceLock;
use hetmp_sched::decide::Objective;
use hetmp_sched::energy::Power;
use hetmp_sched::probe::{Counters, Measurement};
use std::fmt;

/// All of these inputs.
#[derive(Debug)]
struct Basis {
    counters: Option<Hardware>,
    objective: Objective,
    /// The nodes' watts, by node; empty where time is the objective.
    power: Box<[Option<Power>]>,
}

static BASIS: OnceLock<Basis> = OnceLock::new();
/// `BASIS` has counters that can be read.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Is there a counter to read around a piece of work?
#[inline(always)]
pub(super) fn active() -> bool {
    // Relaxed: `BASIS` synchronises.
    ACTIVE.load(Ordering::Relaxed)
}

fn counters() -> Option<&'static Hardware> {
    BASIS.get()?.counters.as_ref()
}

/// What divisions are to make least.
pub(super) fn objective() -> Objective {
    BASIS.get().map_or(Objective::Time, |b| b.objective)
}

/// The nodes' watts, as far as they matter and are known.
pub(super) fn power() -> &'static [Option<Power>] {
    BASIS.get().map_or(&[], |b| &b.power)
}

/// A thread's readings at the start of a piece of work, kept until its end. Only that thread touches them:
/// hence relaxed atomics.
#[derive(Debug, Default)]
pub(super) struct Started([AtomicU64; 3]);

impl Started {
    /// The calling thread starts a piece of work.
    #[inline]
    pub(super) fn now(&self) {
        if active() {
            self.read();
        }
    }

    #[cold]
    fn read(&self) {
        let Some(counters) = counters() else { return };
        let r = counters.start();
        for (cell, value) in self
            .0
            .iter()
            .zip([r.instructions, r.events, u64::from(r.valid)])
        {
            cell.store(value, Ordering::Relaxed);
        }
    }

    /// The calling thread has run `iterations` in `elapsed_ns` nanoseconds since [`Started::now`].
    #[inline]
    pub(super) fn measured(&self, iterations: u64, elapsed_ns: u64) -> Measurement {
        let mut m = Measurement {
            elapsed_ns,
            iterations,
            counters: None,
        };
        if active() {
            self.complete(&mut m);
        }
        m
    }

    #[cold]
    fn complete(&self, m: &mut Measurement) {
        let Some(counters) = counters() else { return };
        let [instructions, events, valid] = [0, 1, 2].map(|i| self.0[i].load(Ordering::Relaxed));
        let start = Reading {
            instructions,
            events,
            valid: valid != 0,
            ..Reading::default()
        };
        let sample = counters.since(&start);
        m.counters = sample.counts.map(|(instructions, cache_misses)| Counters {
            instructions,
            cache_misses,
        });
    }
}

/// Sets up all inputs. Called once, after [`nodes::configure`], if decisions will be made.
pub(super) fn configure(globals: &Globals) {
    let ours = &globals.ours;
    let say = |text: fmt::Arguments<'_>| {
        if ours.verbose {
            warn(text);
        }
    };
    let (counters, what) = match ours.counter.as_deref() {
        Some(name) => named(name),
        None => (None, "not asked for".to_owned()),
    };
    let calibration = calibration();
    let nodes: &[Node] = nodes::layout().map_or(&[], |l| &l.nodes);
    let power: Box<[Option<Power>]> = if ours.objective == Objective::Time {
        Box::default()
    } else {
        (nodes.iter())
            .map(|n| power_of(n, calibration.and_then(|c| c.node(&kind_of(n)))))
            .collect()
    };
    let knows = counters.is_some();
    let basis = Basis {
        counters,
        objective: ours.objective,
        power,
    };
    if BASIS.set(basis).is_err() {
        return;
    }
    ACTIVE.store(knows, Ordering::Relaxed);
    say(format_args!(
        "{}: decided by elapsed times; hardware counters: {what}",
        globals.schedule
    ));
    if ours.objective != Objective::Time {
        say(format_args!(
            "objective {}: modelled from watts, {}",
            ours.objective.name(),
            Watts(self::power())
        ));
    }
}

/// The counters that the value of `HETMP_COUNTER` asks for, and a text about them for the user.
fn named(value: &[u8]) -> (Option<Hardware>, String) {
    let text = String::from_utf8_lossy(value);
    let name = text.trim();
    if name.eq_ignore_ascii_case("none") {
        return (None, "not asked for".to_owned());
    }
    let Some(event) = Event::named(name) else {
        let accepts = hetmp_core::env::lookup("HETMP_COUNTER").map_or("", |v| v.accepts);
        let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
        warn(format_args!(
            "HETMP_COUNTER: '{shown}': not understood (expected {accepts})"
        ));
        return (None, "not understood".to_owned());
    };
    match Hardware::open(event) {
        Ok(hardware) => (
            Some(hardware),
            format!("instructions and {}", name.to_ascii_lowercase()),
        ),
        Err(why) => (None, format!("none, {why}")),
    }
}

/// The watts of a node. The user's values win over those measured of the node's kind. Both are watts of the
/// whole node; the part above idle is divided among the cores.
fn power_of(node: &Node, measured: Option<&NodeKind>) -> Option<Power> {
    let (watts, idle) = match (node.watts, measured) {
        (Some(watts), _) => (watts, node.watts_idle),
        (None, Some(kind)) => (kind.watts?, kind.watts_idle),
        (None, None) => return None,
    };
    let idle_watts = idle.unwrap_or(0.0).min(watts);
    Some(Power {
        idle_watts,
        core_watts: (watts - idle_watts) / node.cpus.count().max(1) as f64,
    })
}

struct Watts<'a>(&'a [Option<Power>]);

impl fmt::Display for Watts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, p) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            match p {
                Some(p) => write!(
                    f,
                    "{comma}node {i}: {:.1} idle and {:.1} a core",
                    p.idle_watts, p.core_watts
                )?,
                None => write!(f, "{comma}node {i}: not known")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_core::topo::CpuSet;

    #[test]
    fn watts_come_from_the_node_or_its_kind() {
        let mut node = Node::new(CpuSet::from_iter([0, 1, 2, 3]));
        assert_eq!(power_of(&node, None), None);
        let kind = NodeKind {
            watts: Some(40.0),
            watts_idle: Some(8.0),
            ..NodeKind::default()
        };
        let p = power_of(&node, Some(&kind)).expect("measured");
        assert_eq!((p.idle_watts, p.core_watts), (8.0, 8.0));
        node.watts = Some(20.0);
        let p = power_of(&node, Some(&kind)).expect("told");
        assert_eq!((p.idle_watts, p.core_watts), (0.0, 5.0));
    }

    #[test]
    fn without_counters_there_is_a_word() {
        assert_eq!(named(b" none ").1, "not asked for");
        let (counters, what) = named(b"cache-misses");
        assert_eq!(counters.is_none(), what.starts_with("none, "), "{what}");
    }
}
