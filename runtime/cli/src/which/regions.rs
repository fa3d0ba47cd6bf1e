//! What a file's code asks of an OpenMP runtime: regions, loops, tasks, and what the schedules can do with each region.

use super::part::{is_openmp, Part};
use hetmp_scan::file::{File, Site};
use hetmp_scan::kept::{Reading, Readings};
use hetmp_scan::{scan, Entry, Form, Image, Machine, Scan};
use hetmp_sched::ways::{Reason, Way};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Numbers of places in one file's code.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// Where a region is opened.
    pub(super) regions: usize,
    /// Loops whose pieces the runtime hands out.
    pub(super) dispatched: usize,
    /// Among those: loops with `schedule(runtime)`.
    pub(super) runtime: usize,
    /// Static loops that the runtime divides (clang's).
    pub(super) static_init: usize,
    /// Static loops that the code divides by the thread's number (gcc's), in regions that could be followed.
    pub(super) static_inline: usize,
    /// Tasks and taskloops.
    pub(super) tasks: usize,
    /// Regions by the way that their code allows, with the words of reports (docs/reasons.md).
    #[serde(serialize_with = "by_word")]
    pub(super) verdicts: BTreeMap<Way, usize>,
}

/// libomp's number for `schedule(runtime)`, and the bits of modifiers next to it.
const KMP_RUNTIME: u64 = 37;
const KMP_MODIFIERS: u64 = (1 << 29) | (1 << 30);

impl Counts {
    /// Counts in `part`; `None` where its code is for another machine than x86-64 and 64-bit Arm.
    pub(super) fn of(part: &Part) -> Option<Counts> {
        let file = File::parse(&part.data)?;
        let mut counts = Counts::default();
        for site in file.calls(&is_openmp) {
            counts.add(&site);
        }
        let (regions, hidden) = regions(&file);
        for (&address, &form) in &regions {
            let found = scan(&file, address, form);
            if form == Form::Data {
                counts.static_inline += found.chunks as usize;
            }
            *counts.verdicts.entry(way(&found, &file)).or_default() += 1;
        }
        if hidden > 0 {
            let way = Way::Ordinary(Reason::NotFound);
            counts.verdicts.insert(way, hidden);
        }
        Some(counts)
    }

    fn add(&mut self, site: &Site) {
        let name = site.name.as_str();
        if opens_region(name) {
            self.regions += 1;
        }
        if let Some(loop_) = name.strip_prefix("GOMP_parallel_loop_").or_else(|| {
            name.strip_prefix("GOMP_loop_")
                .filter(|rest| rest.ends_with("start"))
        }) {
            self.dispatched += 1;
            self.runtime += usize::from(loop_.contains("runtime"));
        } else if name.starts_with("__kmpc_dispatch_init_") {
            self.dispatched += 1;
            let schedule = site.arguments[2].map(|value| value & !KMP_MODIFIERS);
            self.runtime += usize::from(schedule == Some(KMP_RUNTIME));
        } else if name.starts_with("__kmpc_for_static_init_") {
            self.static_init += 1;
        } else if matches!(
            name,
            "GOMP_task" | "GOMP_taskloop" | "GOMP_taskloop_ull" | "__kmpc_omp_task_alloc"
        ) {
            self.tasks += 1;
        }
    }

    /// Regions that are divided, or whose loops are.
    pub(super) fn reached(&self) -> usize {
        let reached = self.verdicts.iter().filter(|(&way, _)| is_reached(way));
        reached.map(|(_, count)| count).sum()
    }

    /// The others, by the reason that keeps them.
    pub(super) fn kept(&self) -> String {
        let mut kept: Vec<(Way, usize)> = self
            .verdicts
            .iter()
            .map(|(&way, &count)| (way, count))
            .filter(|&(way, _)| !is_reached(way))
            .collect();
        kept.sort_by_key(|&(way, count)| (std::cmp::Reverse(count), way.word()));
        kept.iter()
            .map(|(way, count)| format!("{} {count}", way.word()))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

fn is_reached(way: Way) -> bool {
    !matches!(way, Way::Ordinary(_))
}

fn by_word<S: Serializer>(ways: &BTreeMap<Way, usize>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(ways.iter().map(|(way, count)| (way.word(), count)))
}

/// The regions of a file, and how many calls open one that cannot be told.
pub(super) fn regions(file: &File) -> (BTreeMap<u64, Form>, usize) {
    let mut regions = BTreeMap::new();
    let mut hidden = 0;
    for site in file.calls(&is_openmp) {
        match site.region() {
            Some((address, form)) => {
                regions.entry(address).or_insert(form);
            }
            None => hidden += usize::from(opens_region(&site.name)),
        }
    }
    (regions, hidden)
}

/// What else a region does is no matter: schedules divide the loops that it asks the runtime for.
fn way(found: &Scan, file: &File) -> Way {
    if found.calls.contains(Entry::LoopDispatch) {
        Way::Dispatched
    } else {
        found.way(file.has_thread_locals())
    }
}

/// What is kept of a file's regions for the runtime, and how many of them the schedules reach. `None`: its code is not
/// this machine's, or nothing tells it from other files.
pub(super) fn read(part: &Part) -> Option<(Readings, usize)> {
    let file = File::parse(&part.data).filter(|file| file.machine() == Machine::default())?;
    let mut readings = Readings::new(file.identity()?);
    let mut reached = 0;
    for (address, form) in regions(&file).0 {
        let reading = Reading::of(&file, 0, address, form, true);
        reached += usize::from(is_reached(way(&reading.found.scan, &file)));
        readings.insert(address, form, reading);
    }
    Some((readings, reached))
}

fn opens_region(name: &str) -> bool {
    matches!(name, "__kmpc_fork_call" | "__kmpc_fork_call_if")
        || name.starts_with("GOMP_parallel") && name != "GOMP_parallel_end"
}
