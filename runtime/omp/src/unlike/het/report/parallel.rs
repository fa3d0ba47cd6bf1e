//! Parallel regions: how often each ran, how long, and in which way.

use super::json::{comma, number, quoted};
use super::place::{self, Place, Symbols};
use crate::across::said;
use crate::unlike::virtual_team::ledger::Balance;
use hetmp_core::whole::{patiently, Held, Mutex};
use hetmp_sched::ways::{Reason, Way};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Most ways of one region that are counted apart. A program that asks for another number of threads each
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

/// One run of an outermost region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegionRun {
    /// In which way the region ran.
    pub(crate) way: Way,
    pub(crate) threads: u32,
    /// Number of virtual threads, in ways that have them.
    pub(crate) pieces: u32,
    pub(crate) elapsed_ns: u64,
    /// Nanoseconds of it spent in loops that hetmp's own schedules divided.
    pub(crate) divided_ns: u64,
}

/// Executions in one way.
#[derive(Debug)]
struct Counted {
    way: Way,
    threads: u32,
    pieces: u32,
    times: Times,
    /// Nanoseconds spent in loops that hetmp's own schedules divided, where the region itself ran as an
    /// ordinary team.
    divided_ns: u64,
}

impl Counted {
    /// The way that is reported. A region that spends most of its time in loops that hetmp's
    /// schedules divide counts as reached, although the region itself ran as an ordinary team.
    fn reported(&self) -> Way {
        if self.divided_ns > self.times.sum / 2 {
            Way::Dispatched
        } else {
            self.way
        }
    }
}

#[derive(Debug)]
struct Region {
    place: &'static Place,
    ways: Vec<Counted>,
}

/// By the address of the outlined function.
#[derive(Debug)]
pub(super) struct Regions(BTreeMap<usize, Region>);

static REGIONS: Mutex<Regions> = Mutex::new(Regions(BTreeMap::new()));

/// The table; `None` if the thread that holds it does not release it in time. A crashed thread never does.
pub(super) fn table() -> Option<Held<'static, Regions>> {
    patiently(|| REGIONS.try_lock())
}

pub(super) fn add(address: usize, run: RegionRun) {
    let mut all = REGIONS.lock();
    if !all.0.contains_key(&address) {
        drop(all);
        // See `place` for why no lock may be held.
        let place = place::of(address as u64);
        all = REGIONS.lock();
        all.0.entry(address).or_insert(Region {
            place,
            ways: Vec::new(),
        });
    }
    if let Some(region) = all.0.get_mut(&address) {
        region.add(run);
    }
}

impl Region {
    fn add(&mut self, run: RegionRun) {
        let (way, threads) = (run.way, run.threads);
        let (pieces, divided_ns) = match way {
            Way::Virtual | Way::Fibers => (run.pieces, 0),
            Way::Dispatched | Way::Alone | Way::Uneven | Way::Across | Way::Elsewhere(_) => (0, 0),
            // A slow core pays for its last chunk only after it has left the loop.
            Way::Ordinary(_) => (0, run.divided_ns.min(run.elapsed_ns)),
        };
        let full = self.ways.len() >= MOST_WAYS;
        // Search from the end: the way that ran last usually runs next.
        let found = self
            .ways
            .iter_mut()
            .rev()
            .find(|w| w.way == way && (full || (w.threads, w.pieces) == (threads, pieces)));
        match found {
            Some(counted) => {
                counted.times.add(run.elapsed_ns);
                counted.divided_ns = counted.divided_ns.saturating_add(divided_ns);
            }
            None => {
                let mut times = Times::default();
                times.add(run.elapsed_ns);
                self.ways.push(Counted {
                    way,
                    threads,
                    pieces,
                    times,
                    divided_ns,
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

/// The way's word, whether it leaves regions as they are, and why it was chosen: `why`, or what is true of all its
/// regions.
fn put_way(out: &mut String, way: Way, why: Option<&str>) {
    let _ = write!(
        out,
        "\"way\":{},\"kept\":{},\"reason\":{}",
        quoted(way.word()),
        matches!(way, Way::Ordinary(_)),
        quoted(why.unwrap_or(way.sentence()))
    );
}

impl Regions {
    /// The regions as elements of a JSON list.
    pub(super) fn json(&self, out: &mut String, symbols: &mut Symbols) {
        for (i, (code, region)) in self.0.iter().enumerate() {
            let mut all = Times::default();
            region.ways.iter().for_each(|w| all.merge(&w.times));
            out.push_str(comma(i));
            out.push_str("\n  {");
            region.place.json(out, symbols);
            out.push(',');
            times(out, &all);
            out.push_str(",\"ways\":[");
            for (k, counted) in region.ways.iter().enumerate() {
                let _ = write!(out, "{}\n   {{", comma(k));
                let at_origin = counted.way == Way::Ordinary(Reason::Origin);
                let why = at_origin.then(|| said::why(*code)).flatten();
                put_way(out, counted.reported(), why.as_deref());
                let _ = write!(out, ",\"threads\":{},\"virtual_threads\":", counted.threads);
                let _ = match counted.pieces {
                    0 => write!(out, "null,"),
                    n => write!(out, "{n},"),
                };
                let _ = match counted.way {
                    Way::Ordinary(reason) => {
                        let (name, ns) = (quoted(reason.word()), counted.divided_ns);
                        write!(out, "\"divided_ns\":{ns},\"else\":{name},")
                    }
                    _ => write!(out, "\"divided_ns\":null,\"else\":null,"),
                };
                times(out, &counted.times);
                out.push('}');
            }
            out.push_str("]}");
        }
    }

    /// The part of all regions' time in each way, as a JSON object.
    pub(super) fn reach_json(&self, out: &mut String) {
        let spent = Balance::now();
        let mut by: BTreeMap<Way, Times> = BTreeMap::new();
        let mut all = Times::default();
        for counted in self.0.values().flat_map(|r| &r.ways) {
            // Runs are counted in the reported way; time is counted where it was spent.
            by.entry(counted.reported()).or_default().runs += counted.times.runs;
            let rest = counted.times.sum.saturating_sub(counted.divided_ns);
            for (way, ns) in [(counted.way, rest), (Way::Dispatched, counted.divided_ns)] {
                if ns > 0 {
                    let sum = &mut by.entry(way).or_default().sum;
                    *sum = sum.saturating_add(ns);
                }
            }
            all.merge(&counted.times);
        }
        let _ = write!(
            out,
            "{{\"runs\":{},\"elapsed_ns\":{},\"looked_ns\":{},\"lost_ns\":{},\"allowed_ns\":{},\"by\":[",
            all.runs, all.sum, spent.looked, spent.lost, spent.allowed
        );
        for (i, (&way, t)) in by.iter().enumerate() {
            let _ = write!(out, "{}\n  {{", comma(i));
            put_way(out, way, None);
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

    #[test]
    fn times_add_up() {
        let mut t = Times::default();
        for ns in [5, 3, 9] {
            t.add(ns);
        }
        assert_eq!((t.runs, t.sum, t.min, t.max), (3, 17, 3, 9));
    }

    fn run(way: Way, (threads, pieces): (u32, u32), elapsed_ns: u64, divided_ns: u64) -> RegionRun {
        RegionRun {
            way,
            threads,
            pieces,
            elapsed_ns,
            divided_ns,
        }
    }

    /// A region with an ordinary team is not lost: its loops may have come to hetmp's schedules by themselves.
    #[test]
    fn divided_loops_in_kept_regions_are_reached() {
        let mut r = Region {
            place: place::of(32),
            ways: Vec::new(),
        };
        r.add(run(Way::Ordinary(Reason::ThreadNumber), (2, 0), 1000, 950));
        r.add(run(Way::Ordinary(Reason::ThreadNumber), (2, 0), 1000, 1040));
        r.add(run(Way::Ordinary(Reason::Unscanned), (2, 0), 2000, 450));
        let all = Regions(BTreeMap::from([(32, r)]));
        let mut out = String::new();
        all.reach_json(&mut out);
        let part = |name: &str| {
            let (_, rest) = out.split_once(&format!("\"way\":\"{name}\""))?;
            let (_, rest) = rest.split_once("\"runs\":")?;
            rest.split_once(",\"share\"")
                .map(|(part, _)| part.to_owned())
        };
        assert_eq!(part("dispatched").as_deref(), Some("2,\"elapsed_ns\":2400"));
        assert_eq!(
            part("thread-number").as_deref(),
            Some("0,\"elapsed_ns\":50")
        );
        assert_eq!(part("unscanned").as_deref(), Some("1,\"elapsed_ns\":1550"));
        let mut out = String::new();
        all.json(&mut out, &mut Symbols::none());
        assert!(
            out.contains("\"divided_ns\":1950,\"else\":\"thread-number\""),
            "{out}"
        );
    }

    #[test]
    fn ways_are_told_apart_up_to_a_limit() {
        let mut r = Region {
            place: place::of(16),
            ways: Vec::new(),
        };
        r.add(run(Way::Virtual, (2, 16), 5, 0));
        r.add(run(Way::Virtual, (2, 16), 7, 0));
        r.add(run(Way::Ordinary(Reason::Short), (2, 2), 1, 0));
        assert_eq!(r.ways.len(), 2);
        assert_eq!((r.ways[0].pieces, r.ways[0].times.sum), (16, 12));
        assert_eq!(r.ways[1].pieces, 0);
        for threads in 0..1000 {
            r.add(run(Way::Ordinary(Reason::Short), (threads, 1), 1, 0));
        }
        assert_eq!(r.ways.len(), MOST_WAYS);
        let runs: u64 = r.ways.iter().map(|w| w.times.runs).sum();
        assert_eq!(runs, 1003);

        let all = Regions(BTreeMap::from([(16, r)]));
        let mut out = String::new();
        all.reach_json(&mut out);
        assert!(
            out.contains("\"way\":\"virtual-team\",\"kept\":false"),
            "{out}"
        );
        assert!(out.contains("\"share\":0.011846"), "{out}");
    }
}
