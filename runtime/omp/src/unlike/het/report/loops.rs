//! Loops: sums over all executions of each, and the decisions with their reasons.

use super::json::{comma, maybe, number, quoted};
use super::parallel::Times;
use super::place::{self, Place, Symbols};
use hetmp_core::trace;
use hetmp_sched::decide::{Choice, Decision};
use hetmp_sched::record::{Learning, LoopRecord};
use std::fmt::Write as _;

/// Most decisions of one loop that are kept and told. A loop whose decisions never agree must not fill the
/// disk.
const MOST_DECISIONS: usize = 64;

/// One node's part in all executions of a region.
#[derive(Clone, Debug, Default)]
struct NodeSum {
    threads: u32,
    iterations: u64,
    busy_ns: u64,
    elapsed_ns: u64,
}

/// One decision, as it was told.
#[derive(Debug)]
struct Told {
    execution: u64,
    record: LoopRecord,
}

/// All executions of a region under one schedule.
#[derive(Debug)]
pub(in crate::unlike::het) struct Summary {
    place: &'static Place,
    address: u64,
    times: Times,
    iterations: u64,
    nodes: Vec<NodeSum>,
    /// The decisions that were told, in order.
    told: Vec<Told>,
}

impl Summary {
    /// The summary of the loop at `address` in the program.
    pub(in crate::unlike::het) fn new(address: u64) -> Summary {
        Summary {
            place: place::of(address),
            address,
            times: Times::default(),
            iterations: 0,
            nodes: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Adds an execution. Returns a line about it, if there is news.
    pub(in crate::unlike::het) fn add(&mut self, record: LoopRecord) -> Option<String> {
        self.times.add(record.elapsed_ns);
        self.iterations = self.iterations.saturating_add(record.iterations);
        self.nodes.resize(record.nodes.len(), NodeSum::default());
        for (sum, node) in self.nodes.iter_mut().zip(&*record.nodes) {
            sum.threads = node.threads;
            sum.iterations = sum.iterations.saturating_add(node.iterations);
            sum.busy_ns = sum.busy_ns.saturating_add(node.busy_ns);
            sum.elapsed_ns = sum.elapsed_ns.saturating_add(node.elapsed_ns);
        }
        if self.told.len() == MOST_DECISIONS || !self.is_news(&record) {
            return None;
        }
        let line = self.line(&record);
        if trace::on() {
            let said = format!(
                "{}, {} iterations: {}",
                record.schedule_text(),
                record.iterations,
                record.reason()
            );
            trace::note(trace::Kind::Decision, self.address, trace::text(&said), 0);
        }
        self.told.push(Told {
            execution: self.times.runs,
            record,
        });
        Some(line)
    }

    /// Does this execution have news?
    fn is_news(&self, record: &LoopRecord) -> bool {
        let Some(last) = self.told.last().map(|t| &t.record) else {
            return true;
        };
        match record.learning {
            Learning::None => false,
            Learning::Probed | Learning::Undecided => true,
            Learning::Settled => {
                last.learning != Learning::Settled
                    || !match (&last.decision, &record.decision) {
                        (Some(a), Some(b)) => a.is_like(b),
                        _ => false,
                    }
            }
        }
    }

    /// One decision, as one line.
    fn line(&self, r: &LoopRecord) -> String {
        let mut out = format!(
            "region {}, {} iterations, {}: {}",
            self.place.label,
            r.iterations,
            r.schedule_text(),
            r.reason()
        );
        // Writing to a String cannot fail.
        if r.nodes.iter().any(|n| n.probe.is_some()) {
            out.push_str("; probe");
            for n in &*r.nodes {
                let _ = match n.probe {
                    Some(p) => write!(out, " {:.1}", p.ns_per_iteration),
                    None => write!(out, " -"),
                };
            }
            out.push_str(" ns per iteration");
        }
        let _ = write!(out, "; ran in {:.3} ms, by node", r.elapsed_ns as f64 / 1e6);
        for n in &*r.nodes {
            let _ = write!(out, " {:.1}%", n.share * 100.0);
            if let Some(csr) = n.csr {
                let _ = write!(out, " (CSR {csr:.2})");
            }
        }
        out
    }

    /// The sum of all executions, as one line.
    pub(super) fn total(&self) -> String {
        let mut out = format!(
            "region {}: {} execution{}, {:.3} ms",
            self.place.label,
            self.times.runs,
            if self.times.runs == 1 { "" } else { "s" },
            self.times.sum as f64 / 1e6
        );
        let csr = self.csr();
        for (i, (n, csr)) in self.nodes.iter().zip(csr).enumerate() {
            let share = n.iterations as f64 / self.iterations.max(1) as f64;
            let _ = write!(
                out,
                "; node {i}: {} thread{}, {:.1}% of the iterations",
                n.threads,
                if n.threads == 1 { "" } else { "s" },
                share * 100.0
            );
            if let Some(csr) = csr {
                let _ = write!(out, ", CSR {csr:.2}");
            }
        }
        out
    }

    /// Core speed ratios over all executions.
    fn csr(&self) -> Vec<Option<f64>> {
        let time = |n: &NodeSum| {
            (n.iterations > 0 && n.busy_ns > 0).then(|| n.busy_ns as f64 / n.iterations as f64)
        };
        let slowest = self.nodes.iter().filter_map(time).fold(0.0, f64::max);
        let ratio = |n| time(n).map(|t| slowest / t);
        self.nodes.iter().map(ratio).collect()
    }

    /// The summary as an element of a JSON list. `pieces`: its iterations are virtual threads of a region.
    pub(super) fn json(&self, out: &mut String, symbols: &mut Symbols, pieces: bool) {
        out.push('{');
        self.place.json(out, symbols);
        let schedule = self.told.last().map(|t| t.record.schedule_text());
        let Times {
            runs,
            sum,
            min,
            max,
        } = self.times;
        let _ = write!(
            out,
            ",\"unit\":{},\"schedule\":{},\"executions\":{runs},\"iterations\":{},\"elapsed_ns\":{sum},\
             \"min_ns\":{min},\"max_ns\":{max},\"nodes\":[",
            quoted(if pieces { "virtual threads" } else { "iterations" }),
            quoted(schedule.as_deref().unwrap_or("")),
            self.iterations,
        );
        for (i, (n, csr)) in self.nodes.iter().zip(self.csr()).enumerate() {
            let _ = write!(
                out,
                "{}{{\"threads\":{},\"iterations\":{},\"share\":{},\"busy_ns\":{},\"elapsed_ns\":{},\"csr\":{}}}",
                comma(i),
                n.threads,
                n.iterations,
                number(Some(n.iterations as f64 / self.iterations.max(1) as f64)),
                n.busy_ns,
                n.elapsed_ns,
                number(csr)
            );
        }
        out.push_str("],\"decisions\":[");
        for (i, told) in self.told.iter().enumerate() {
            let r = &told.record;
            let _ = write!(
                out,
                "{}\n   \
                 {{\"execution\":{},\"iterations\":{},\"elapsed_ns\":{},\"learning\":{},\"choice\":{},\
                 \"reason\":{},\"nodes\":[",
                comma(i),
                told.execution,
                r.iterations,
                r.elapsed_ns,
                quoted(learning(r.learning)),
                maybe(r.decision.as_ref().map(|d| choice(d)).as_deref()),
                quoted(&r.reason())
            );
            for (k, n) in r.nodes.iter().enumerate() {
                let decision = r.decision.as_ref();
                let _ = write!(
                    out,
                    "{}{{\"decided_share\":{},\"decided_csr\":{},\"probe_ns_per_iteration\":{},\
                     \"probe_instructions\":{},\"probe_cache_misses\":{},\"share\":{},\"csr\":{},\
                     \"ns_per_iteration\":{}}}",
                    comma(k),
                    number(decision.and_then(|d| d.shares().nth(k))),
                    number(decision.and_then(|d| d.csr.get(k).copied().flatten())),
                    number(n.probe.map(|p| p.ns_per_iteration)),
                    number(n.probe.and_then(|p| p.instructions)),
                    number(n.probe.and_then(|p| p.cache_misses)),
                    number(Some(n.share)),
                    number(n.csr),
                    number(n.ns_per_iteration)
                );
            }
            out.push_str("]}");
        }
        out.push_str("]}");
    }
}

/// What was chosen, in a word or two.
fn choice(decision: &Decision) -> String {
    match &decision.choice {
        Choice::Split { .. } => "split".to_owned(),
        Choice::OneNode { node, .. } => format!("node {node}"),
    }
}

fn learning(learning: Learning) -> &'static str {
    match learning {
        Learning::None => "none",
        Learning::Probed => "probed",
        Learning::Undecided => "undecided",
        Learning::Settled => "settled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_sched::placement::Placement;
    use hetmp_sched::record::Tally;
    use hetmp_sched::schedule::Kind;

    fn record(ns: [u64; 2]) -> LoopRecord {
        let team = Placement::placed(&[0, 1], 2);
        let tally = Tally::new(2);
        for (tid, iterations) in [(0, 75), (1, 25)] {
            tally.arrive(tid);
            tally.add(tid, iterations);
            tally.leave(tid, ns[tid]);
        }
        LoopRecord::new(Kind::CrossDynamic, 100, &team, &tally)
    }

    #[test]
    fn a_schedule_that_does_not_learn_is_told_once() {
        let mut s = Summary::new(0);
        let line = s.add(record([750, 750])).expect("the first");
        assert!(line.contains("100 iterations, cross-dynamic"), "{line}");
        assert!(line.contains("75.0% (CSR 3.00) 25.0% (CSR 1.00)"), "{line}");
        assert_eq!(s.add(record([750, 750])), None);
        let total = s.total();
        assert!(total.contains("2 executions, 0.002 ms"), "{total}");
        assert!(total.contains("node 1: 1 thread, 25.0%"), "{total}");
    }

    #[test]
    fn brackets_match() {
        let mut s = Summary::new(0);
        s.add(record([1, 1]));
        let mut out = String::new();
        s.json(&mut out, &mut Symbols::none(), false);
        assert_eq!(out.matches('{').count(), out.matches('}').count());
        assert_eq!(out.matches('[').count(), out.matches(']').count());
        assert!(out.contains("\"min_ns\":1,\"max_ns\":1"), "{out}");
    }
}
