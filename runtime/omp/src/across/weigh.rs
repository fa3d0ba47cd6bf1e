//! Chooses where a region that may cross nodes runs, by the times that its executions took at the origin, across nodes
//! and on other nodes; and how many threads each node has. The rules are [`Crossings`] and [`Division`]; this file has
//! their clocks, and what the user has decided.

use super::counts::Counts;
use super::table::{table, Table};
use crate::init;
use crate::team::region::Region;
use crate::thread::Thread;
use crate::unlike::calibrated::calibration;
use crate::unlike::virtual_team::ledger;
use crate::worksharing::kinds::SchedKind;
use hetmp_core::whole::OnceLock;
use hetmp_core::{report, sys};
use hetmp_sched::crossing::blocks::Blocks;
use hetmp_sched::crossing::division::{Division, Part};
use hetmp_sched::crossing::early::{Threshold, Trial};
use hetmp_sched::crossing::Crossings;
use hetmp_sched::schedule::Ahead;
use hetmp_sched::ways::{Reason, Way};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Which of the regions that may cross do so: `HETMP_DSM_CROSS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Those that are faster across, as measured.
    Auto,
    /// All.
    Always,
    /// None: no region comes here.
    Never,
    /// All run whole on this node.
    One(u32),
}

pub(super) fn mode() -> Mode {
    static MODE: OnceLock<Mode> = OnceLock::new();
    *MODE.get_or_init(|| {
        let environment = hetmp_core::env::snapshot();
        let text = environment
            .get("HETMP_DSM_CROSS")
            .map(|t| String::from_utf8_lossy(t).trim().to_ascii_lowercase())
            .filter(|t| !t.is_empty());
        let nodes = table().map_or(1, |t| t.nodes);
        match text.as_deref() {
            // A schedule that gives everything to one node says where loops run, too.
            None => only(init::globals().schedule.kind.ratios(), nodes).unwrap_or(Mode::Auto),
            Some(text) => parse(text, nodes).unwrap_or_else(|| {
                report::warn(format_args!(
                    "HETMP_DSM_CROSS: '{text}': unknown (expected auto, always, never or node:0 to node:{})",
                    nodes - 1
                ));
                Mode::Auto
            }),
        }
    })
}

fn parse(text: &str, nodes: u32) -> Option<Mode> {
    match text {
        "auto" => Some(Mode::Auto),
        "always" => Some(Mode::Always),
        "never" => Some(Mode::Never),
        _ => {
            let node = text.strip_prefix("node:")?.parse().ok()?;
            match node {
                0 => Some(Mode::Never),
                _ => (node < nodes).then_some(Mode::One(node)),
            }
        }
    }
}

/// The node to which these ratios give everything, if they do. `None`, too, where there are not as many as nodes: the
/// start has refused them then (`unlike::nodes::configure`).
fn only(ratios: &[f64], nodes: u32) -> Option<Mode> {
    if ratios.len() != nodes as usize {
        return None;
    }
    let mut some = (0..).zip(ratios).filter(|(_, &ratio)| ratio > 0.0);
    match (some.next(), some.next()) {
        (Some((0, _)), None) => Some(Mode::Never),
        (Some((node, _)), None) => Some(Mode::One(node)),
        _ => None,
    }
}

struct Weighed {
    rule: Crossings,
    /// By the address of a region's code: the threads on each node when it last crossed; none: equal parts.
    last: BTreeMap<usize, Vec<u32>>,
    /// By the address of a region's code.
    divisions: BTreeMap<usize, Division>,
    /// By the address of a region's code: how its loops under `hetprobe` and `hetprobe-i` are divided.
    blocks: BTreeMap<usize, Blocks>,
    /// How long this node's threads had waited for pages of other nodes when the rule last learned of it.
    waited_ns: u64,
}

static WEIGHED: Mutex<Option<Weighed>> = Mutex::new(None);

fn with<R>(t: &Table, f: impl FnOnce(&mut Weighed) -> R) -> R {
    let mut all = WEIGHED.lock().unwrap_or_else(PoisonError::into_inner);
    f(all.get_or_insert_with(|| Weighed {
        rule: Crossings::new(t.nodes),
        last: BTreeMap::new(),
        divisions: BTreeMap::new(),
        blocks: BTreeMap::new(),
        waited_ns: 0,
    }))
}

/// Where the next execution of the region runs, whose work is a loop that the runtime hands out if it `is_dealt`.
/// `divides`: may nodes have any part of it? What the origin has waited for pages since the last region that
/// was weighed, in serial code and in regions that cannot cross, counts against crossing.
pub(super) fn place(t: &Table, region: &Region, is_dealt: bool, divides: &dyn Fn() -> bool) -> Way {
    match mode() {
        Mode::Auto => {}
        Mode::One(node) => return Way::Elsewhere(node as usize),
        Mode::Always | Mode::Never => return Way::Across,
    }
    let own = Counts::own(t);
    let waited = own.waited_ns();
    with(t, |w| {
        let since = waited.saturating_sub(w.waited_ns);
        if since > 0 {
            ledger::charge(w.rule.fetched(since));
        }
        let each = region.nthreads.div_ceil(t.nodes);
        let page_ns = |threads| page_ns(waited, own.faults() + own.along(), threads);
        w.rule.data(own.touched(), page_ns(1), page_ns(each));
        w.waited_ns = waited;
        let left_ns = ledger::left_ns() as f64;
        if is_dealt && w.rule.starts(region.code, left_ns) {
            return Way::Across;
        }
        let place = w.rule.next(region.code, left_ns);
        if place == Way::Across && w.rule.part().is_some() && !is_dealt && !divides() {
            w.rule.is_whole(region.code);
            return w.rule.next(region.code, left_ns);
        }
        place
    })
}

/// The nodes' parts of the region, which is about to cross; `None`: equal ones. `divides`: may they be in any
/// proportion? The region's code is read only where that would help.
pub(super) fn parts(t: &Table, region: &Region, divides: &dyn Fn() -> bool) -> Option<Vec<u32>> {
    with(t, |w| {
        if let Some(part) = w.rule.part() {
            return divides().then(|| in_part(part, region.nthreads, t.nodes));
        }
        let division = w.divisions.get_mut(&region.code)?;
        let new = division.threads(region.nthreads, divides);
        let last = w.last.entry(region.code).or_default();
        let now = new.as_deref().unwrap_or_default();
        if last != now {
            now.clone_into(last);
            w.rule.divided(region.code);
        }
        new
    })
}

/// The threads on each of `nodes` nodes, of at least `least`, if all but the origin do this part of the work together.
fn in_part(part: f64, least: u32, nodes: u32) -> Vec<u32> {
    let others = nodes - 1;
    let total = least.max((f64::from(others) / part).ceil() as u32);
    let each = ((part * f64::from(total) / f64::from(others)) as u32).max(1);
    let mut threads = vec![each; nodes as usize];
    threads[0] = total - each * others;
    threads
}

/// How the region's loops are divided before they begin if it crosses now, with this many threads on each node, and
/// under which schedule. `None`: all are handed out on demand.
pub(super) fn blocks(
    t: &Table,
    th: &Thread,
    code: usize,
    threads: &[u32],
) -> Option<(SchedKind, Vec<u32>)> {
    let kind = schedule(th)?;
    let bounds = match kind.row().ahead {
        Ahead::Given => {
            let ratios = init::globals().schedule.kind.ratios_of(threads.len())?;
            let weight = |(ratio, &threads): (&f64, &u32)| ratio * f64::from(threads);
            Blocks::given(ratios.iter().zip(threads).map(weight))?.bounds()?
        }
        // Where a part is tried, the origin must be able to take what others have not begun.
        Ahead::Learned => with(t, |w| {
            let speeds = || Blocks::given(w.rule.speeds(code)?.into_iter())?.bounds();
            let bounds = w.blocks.get(&code).and_then(Blocks::bounds).or_else(speeds);
            bounds.filter(|_| w.rule.part().is_none())
        })?,
        Ahead::No => return None,
    };
    Some((kind, bounds))
}

/// The schedule of the thread's loops, if it divides them before they begin: that of the program, or else that which
/// takes the place of `dynamic` clauses.
fn schedule(th: &Thread) -> Option<SchedKind> {
    let own = [th.task().icv().run_sched, init::globals().icv.run_sched];
    own.map(|s| s.kind).into_iter().find(|&kind| divides(kind))
}

/// The trial that the region's next execution across nodes is, if it is one.
pub(super) fn trial(t: &Table, code: usize) -> Option<Trial> {
    let threshold = threshold();
    with(t, |w| w.rule.trial(code, now(), threshold))
}

/// The threshold of the link between nodes, as the user has told it or `hetmp calibrate` measured it.
fn threshold() -> Threshold {
    /// What the calibration calls such a node.
    const KIND: &str = "dsm";
    match init::globals().ours.fault_period_us {
        Some(us) => Threshold::Told(us),
        None => {
            let link = || calibration()?.fault_period_us(&[KIND, KIND].map(str::to_owned));
            Threshold::Calibrated(link().unwrap_or(0.0))
        }
    }
}

/// Does this schedule divide a loop before it begins?
pub(super) fn divides(kind: SchedKind) -> bool {
    kind.row().ahead != Ahead::No
}

/// A region's execution by `threads` threads is over. It took `ns`. What each node did if it crossed, as far as that
/// says something, and whether the origin `gave_up` the trial. Returns whether a trial of a part of the work has ended.
pub(super) fn ran(
    t: &Table,
    th: &Thread,
    code: usize,
    place: Way,
    ns: u64,
    threads: u32,
    (parts, gave_up): (Option<&[Part]>, bool),
) -> bool {
    if let Some(parts) = parts.filter(|_| !gave_up) {
        let probes = schedule(th).is_some_and(SchedKind::learns);
        with(t, |w| {
            // What small parts show is not how large ones should be.
            if w.rule.part().is_some() {
                return;
            }
            w.divisions.entry(code).or_default().ran(parts, ns as f64);
            if probes {
                w.blocks.entry(code).or_default().ran(parts, ns as f64);
            }
        });
    }
    if mode() != Mode::Auto {
        return false;
    }
    let waited = Counts::own(t).waited_ns();
    with(t, |w| {
        let tried = w.rule.part().is_some();
        if let Some(parts) = parts {
            w.rule.crossed(code, parts, threads, ns as f64);
        }
        let since = waited.saturating_sub(w.waited_ns);
        w.waited_ns = waited;
        // Threads wait for pages at the same time, and only the sum of their waiting is known.
        let each = since / u64::from(threads.max(1));
        ledger::charge(w.rule.ran(code, place, ns, each));
        if gave_up {
            w.rule.gave_up(code);
        }
        tried && w.rule.part().is_none()
    })
}

/// What moving a page is expected to take, where threads have waited `waited_ns` for this many, and `threads` of a node
/// do so at once.
fn page_ns(waited_ns: u64, pages: u64, threads: u32) -> f64 {
    /// The nodes' processors send and place it meanwhile, for which no thread is said to wait: two sweeps over 128 MB
    /// each took 7 us longer for each page that moved, and three laps of blackscholes 8 us.
    const HANDLING_NS: f64 = 7_500.0;
    HANDLING_NS + waited_ns as f64 / pages.max(1) as f64 / f64::from(threads.max(1))
}

/// The nanoseconds of the monotonic clock.
pub(super) fn now() -> u64 {
    sys::monotonic_ns()
}

/// Why the region would now run where it would. `None` if nothing is weighed, or if another thread has the lock: it
/// may have crashed.
pub(super) fn why(code: usize) -> Option<Reason> {
    let all = WEIGHED.try_lock().ok()?;
    Some(all.as_ref()?.rule.why(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_decides() {
        assert_eq!(parse("node:1", 2), Some(Mode::One(1)));
        assert_eq!(parse("node:0", 2), Some(Mode::Never));
        for refused in ["node:2", "node:", "node:-1", "Always", ""] {
            assert_eq!(parse(refused, 2), None, "{refused}");
        }
        assert_eq!(only(&[0.0, 1.0], 2), Some(Mode::One(1)));
        assert_eq!(only(&[3.0, 0.0], 2), Some(Mode::Never));
        assert_eq!(only(&[3.0, 1.0], 2), None);
        assert_eq!(only(&[0.0, 0.0, 1.0], 3), Some(Mode::One(2)));
        for too_few_or_many in [&[0.0, 1.0][..], &[0.0, 1.0, 0.0, 0.0]] {
            assert_eq!(only(too_few_or_many, 3), None, "{too_few_or_many:?}");
        }
    }
}
