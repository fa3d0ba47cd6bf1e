//! Parallel regions: how often each ran, how long, and in which way.

use super::json::{comma, number, quoted};
use super::place::{self, Place, Symbols};
use crate::virtual_team::Lever;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard};

/// Ways of one region that are told apart. A program that asks for another number of threads each
/// time must not fill the memory.
const MOST_WAYS: usize = 64;

/// Times of some executions, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) runs: u64,
    pub(super) sum: u64,
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Times {
    pub(super) fn add(&mut self, ns: u64) {
        self.merge(&Times {
            runs: 1,
            sum: ns,
            min: ns,
            max: ns,
        });
    }

    fn merge(&mut self, other: &Times) {
        self.min = if self.runs == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        self.max = self.max.max(other.max);
        self.runs += other.runs;
        self.sum = self.sum.saturating_add(other.sum);
    }
}

#[derive(Debug)]
struct Way {
    lever: Lever,
    threads: u32,
    /// Virtual threads, with a lever that has them.
    pieces: u32,
    times: Times,
}

#[derive(Debug)]
struct Region {
    place: &'static Place,
    ways: Vec<Way>,
}

/// By the address of the outlined function.
#[derive(Debug)]
pub(super) struct Regions(BTreeMap<usize, Region>);

static REGIONS: Mutex<Regions> = Mutex::new(Regions(BTreeMap::new()));

/// The table, if the thread that has it lets go in time. A thread that crashed never does.
pub(super) fn table() -> Option<MutexGuard<'static, Regions>> {
    super::patiently(|| REGIONS.try_lock().ok())
}

pub(super) fn add(address: usize, lever: Lever, threads: u32, pieces: u32, elapsed_ns: u64) {
    // Nothing panics under this lock.
    let lock = || REGIONS.lock().ok();
    let Some(mut all) = lock() else { return };
    if !all.0.contains_key(&address) {
        drop(all);
        // See `place` for why no lock may be held.
        let place = place::of(address as u64);
        let Some(again) = lock() else { return };
        all = again;
        all.0.entry(address).or_insert(Region {
            place,
            ways: Vec::new(),
        });
    }
    if let Some(region) = all.0.get_mut(&address) {
        region.add(lever, threads, pieces, elapsed_ns);
    }
}

impl Region {
    fn add(&mut self, lever: Lever, threads: u32, pieces: u32, elapsed_ns: u64) {
        let pieces = match lever {
            Lever::VirtualTeam | Lever::Fibers => pieces,
            Lever::Dispatched | Lever::Plain(_) => 0,
        };
        let full = self.ways.len() >= MOST_WAYS;
        // From the end: what ran last runs next.
        let found = self
            .ways
            .iter_mut()
            .rev()
            .find(|w| w.lever == lever && (full || (w.threads, w.pieces) == (threads, pieces)));
        match found {
            Some(way) => way.times.add(elapsed_ns),
            None => {
                let mut times = Times::default();
                times.add(elapsed_ns);
                self.ways.push(Way {
                    lever,
                    threads,
                    pieces,
                    times,
                });
            }
        }
    }
}

fn times(out: &mut String, t: &Times) {
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "\"runs\":{},\"elapsed_ns\":{},\"min_ns\":{},\"max_ns\":{}",
        t.runs, t.sum, t.min, t.max
    );
}

/// What a lever is called, whether it is one, and why it was chosen or not.
fn lever(out: &mut String, lever: Lever) {
    let _ = write!(
        out,
        "\"lever\":{},\"guard\":{},\"reason\":{}",
        quoted(lever.name()),
        matches!(lever, Lever::Plain(_)),
        quoted(lever.reason())
    );
}

impl Regions {
    /// The regions as elements of a JSON list.
    pub(super) fn json(&self, out: &mut String, symbols: &mut Symbols) {
        for (i, region) in self.0.values().enumerate() {
            let mut all = Times::default();
            region.ways.iter().for_each(|w| all.merge(&w.times));
            out.push_str(comma(i));
            out.push_str("\n  {");
            region.place.json(out, symbols);
            out.push(',');
            times(out, &all);
            out.push_str(",\"ways\":[");
            for (k, way) in region.ways.iter().enumerate() {
                let _ = write!(out, "{}\n   {{", comma(k));
                lever(out, way.lever);
                let _ = write!(out, ",\"threads\":{},\"virtual_threads\":", way.threads);
                let _ = match way.pieces {
                    0 => write!(out, "null,"),
                    n => write!(out, "{n},"),
                };
                times(out, &way.times);
                out.push('}');
            }
            out.push_str("]}");
        }
    }

    /// What part of the time in regions each lever and each guard had, as a JSON object.
    pub(super) fn reach_json(&self, out: &mut String) {
        let mut by: BTreeMap<Lever, Times> = BTreeMap::new();
        let mut all = Times::default();
        for way in self.0.values().flat_map(|r| &r.ways) {
            by.entry(way.lever).or_default().merge(&way.times);
            all.merge(&way.times);
        }
        let _ = write!(
            out,
            "{{\"runs\":{},\"elapsed_ns\":{},\"by\":[",
            all.runs, all.sum
        );
        for (i, (kind, t)) in by.iter().enumerate() {
            let _ = write!(out, "{}\n  {{", comma(i));
            lever(out, *kind);
            let share = t.sum as f64 / all.sum.max(1) as f64;
            let _ = write!(
                out,
                ",\"runs\":{},\"elapsed_ns\":{},\"share\":{}}}",
                t.runs,
                t.sum,
                number(Some(share))
            );
        }
        out.push_str("]}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::virtual_team::Guard;

    #[test]
    fn times_add_up() {
        let mut t = Times::default();
        for ns in [5, 3, 9] {
            t.add(ns);
        }
        assert_eq!((t.runs, t.sum, t.min, t.max), (3, 17, 3, 9));
    }

    #[test]
    fn ways_are_told_apart_up_to_a_limit() {
        let mut r = Region {
            place: place::of(16),
            ways: Vec::new(),
        };
        r.add(Lever::VirtualTeam, 2, 16, 5);
        r.add(Lever::VirtualTeam, 2, 16, 7);
        r.add(Lever::Plain(Guard::Short), 2, 2, 1);
        assert_eq!(r.ways.len(), 2);
        assert_eq!((r.ways[0].pieces, r.ways[0].times.sum), (16, 12));
        assert_eq!(r.ways[1].pieces, 0);
        for threads in 0..1000 {
            r.add(Lever::Plain(Guard::Short), threads, 1, 1);
        }
        assert_eq!(r.ways.len(), MOST_WAYS);
        let runs: u64 = r.ways.iter().map(|w| w.times.runs).sum();
        assert_eq!(runs, 1003);

        let all = Regions(BTreeMap::from([(16, r)]));
        let mut out = String::new();
        all.reach_json(&mut out);
        assert!(
            out.contains("\"lever\":\"virtual-team\",\"guard\":false"),
            "{out}"
        );
        assert!(out.contains("\"share\":0.011846"), "{out}");
    }
}
