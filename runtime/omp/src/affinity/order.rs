//! `KMP_AFFINITY`: libomp's way to tell which thread goes where, turned into places and a policy.
//!
//! ```text
//! value := part {, part}
//! part  := none | disabled | compact | scatter | balanced | explicit | logical | physical
//!        | granularity = unit | proclist = [ cpus ] | verbose | reset | ... | number
//! ```
//! The first number behind a type is the permutation, the second is the offset (`logical` and `physical` have
//! only an offset).

use super::{CpuSet, PlaceKind};
use crate::icv::kinds::ProcBind;

/// The order of the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Threads are not bound.
    None,
    /// Threads with neighbouring numbers are neighbours in the machine.
    Compact,
    /// Threads with neighbouring numbers are as far apart as possible.
    Scatter,
    /// Threads are spread evenly, and threads on one core have neighbouring numbers.
    Balanced,
    /// The order of the user's list.
    Explicit,
}

/// A value of `KMP_AFFINITY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Affinity {
    /// `None`: the value has only modifiers.
    pub(crate) order: Option<Order>,
    /// The kind of place that a thread is bound to.
    pub(crate) granularity: PlaceKind,
    /// How many of the innermost levels become the outermost levels of the order.
    pub(crate) permute: u32,
    /// The place of thread 0.
    pub(crate) offset: u32,
    /// The places of `explicit`.
    pub(crate) list: Vec<CpuSet>,
    /// One place for each set of CPUs, rather than one for each CPU.
    pub(crate) distinct: bool,
    /// Tell the user where threads go.
    pub(crate) verbose: bool,
    /// Behind an outermost region, the primary thread may again run on all CPUs of the process.
    pub(crate) reset: bool,
}

/// Reads a value; `None` if it is not understood.
#[must_use]
pub(crate) fn parse(value: &[u8]) -> Option<Affinity> {
    let text = core::str::from_utf8(value).ok()?.to_ascii_lowercase();
    let mut a = Affinity {
        order: None,
        granularity: PlaceKind::Cores,
        permute: 0,
        offset: 0,
        list: Vec::new(),
        distinct: false,
        verbose: false,
        reset: false,
    };
    let mut numbers = Vec::new();
    let mut only_offset = false;
    for part in parts(&text) {
        let (name, argument) = match part.split_once('=') {
            Some((name, argument)) => (name.trim(), Some(argument.trim())),
            None => (part.trim(), None),
        };
        let order = match (name, argument) {
            ("none" | "disabled", None) => Some(Order::None),
            ("compact", None) => Some(Order::Compact),
            ("scatter", None) => Some(Order::Scatter),
            ("balanced", None) => Some(Order::Balanced),
            ("explicit", None) => Some(Order::Explicit),
            ("logical", None) => {
                only_offset = true;
                Some(Order::Compact)
            }
            ("physical", None) => {
                only_offset = true;
                Some(Order::Scatter)
            }
            _ => None,
        };
        if let Some(order) = order {
            if a.order.replace(order).is_some() {
                return None;
            }
            continue;
        }
        match (name, argument) {
            ("verbose", None) => a.verbose = true,
            ("noverbose", None) => a.verbose = false,
            ("reset", None) => a.reset = true,
            ("noreset", None) => a.reset = false,
            ("duplicates" | "dups", None) => a.distinct = false,
            ("noduplicates" | "nodups", None) => a.distinct = true,
            ("warnings" | "nowarnings" | "respect" | "norespect", None) => {}
            ("granularity" | "gran", Some(unit)) => a.granularity = granularity(unit)?,
            ("proclist", Some(list)) => {
                a.list = proclist(list.strip_prefix('[')?.strip_suffix(']')?)?;
            }
            (number, None) => numbers.push(number.parse::<u32>().ok()?),
            _ => return None,
        }
    }
    match (numbers.as_slice(), only_offset) {
        ([], _) => {}
        ([offset], true) => a.offset = *offset,
        ([permute], false) => a.permute = *permute,
        ([permute, offset], false) => (a.permute, a.offset) = (*permute, *offset),
        _ => return None,
    }
    // A list without a type means `explicit`, and `explicit` needs a list.
    match (a.order, a.list.is_empty()) {
        (None, false) => a.order = Some(Order::Explicit),
        (Some(Order::Explicit), true) => return None,
        _ => {}
    }
    Some(a)
}

/// The text between commas that are not in brackets.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth <= 0
    })
    .filter(|part| !part.trim().is_empty())
}

fn granularity(unit: &str) -> Option<PlaceKind> {
    Some(match unit {
        "fine" | "thread" | "threads" => PlaceKind::Threads,
        "core" | "cores" | "tile" | "module" | "core_type" | "core_eff" | "core_efficiency" => {
            PlaceKind::Cores
        }
        "ll_cache" | "llc" | "l3_cache" | "l3" => PlaceKind::LlCaches,
        "numa" | "numa_domain" | "numa_domains" | "node" => PlaceKind::NumaDomains,
        "socket" | "sockets" | "package" | "die" | "group" => PlaceKind::Sockets,
        _ => return None,
    })
}

/// Reads `CPU`, `first-last[:stride]` and `{CPU,...}`, separated by commas.
fn proclist(text: &str) -> Option<Vec<CpuSet>> {
    /// A CPU number from here on is a mistake: no machine has as many CPUs.
    const MOST: usize = hetmp_core::topo::MAX_CPUS;
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&n| n < MOST);
    let mut list = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('{') {
            let (set, after) = after.split_once('}')?;
            let cpus: Option<Vec<usize>> = set.split(',').map(number).collect();
            list.push(cpus?.into_iter().collect());
            rest = after.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            continue;
        }
        let (item, after) = rest.split_once(',').unwrap_or((rest, ""));
        rest = after.trim_start();
        let Some((first, last)) = item.split_once('-') else {
            list.push(CpuSet::from_iter([number(item)?]));
            continue;
        };
        let (last, stride) = match last.split_once(':') {
            Some((last, stride)) => (last, stride.trim().parse::<isize>().ok()?),
            None => (last, 1),
        };
        let (first, last) = (number(first)?, number(last)?);
        if stride == 0 || (stride > 0) != (first <= last) && first != last {
            return None;
        }
        let (low, high) = (first.min(last), first.max(last));
        let steps = (high - low) / stride.unsigned_abs();
        for i in 0..=steps {
            let by = i * stride.unsigned_abs();
            let cpu = if stride > 0 { first + by } else { first - by };
            list.push(CpuSet::from_iter([cpu]));
        }
    }
    (!list.is_empty()).then_some(list)
}

/// The position of a CPU: socket, core in the socket, hardware thread in the core.
type Position = [usize; 3];

impl Affinity {
    /// The places, in the order in which threads are put on them, and the policy for that. `places` gives the
    /// machine's places of a kind. An empty list: threads are not bound.
    #[must_use]
    pub(crate) fn places(
        &self,
        places: &dyn Fn(PlaceKind, usize) -> Vec<CpuSet>,
    ) -> (Vec<CpuSet>, ProcBind) {
        let units = places(self.granularity, usize::MAX);
        let unit_of = |cpu: usize| {
            let unit = units.iter().find(|u| u.contains(cpu));
            unit.cloned().unwrap_or_else(|| CpuSet::from_iter([cpu]))
        };
        let threads = places(PlaceKind::Threads, usize::MAX);
        let allowed = |cpu: usize| threads.iter().any(|t| t.contains(cpu));
        let (mut list, bind) = match self.order {
            None | Some(Order::None) => return (Vec::new(), ProcBind::False),
            Some(Order::Explicit) => {
                let widened = self.list.iter().map(|set| {
                    let mut place = CpuSet::new();
                    for cpu in set.iter().filter(|&cpu| allowed(cpu)) {
                        place.extend_from(&unit_of(cpu));
                    }
                    place
                });
                let list: Vec<_> = widened.filter(|place| !place.is_empty()).collect();
                (list, ProcBind::Close)
            }
            Some(Order::Balanced) => (units, ProcBind::Spread),
            Some(order @ (Order::Compact | Order::Scatter)) => {
                let mut cpus = positions(places);
                // Levels with a single element do not count: a permutation skips them.
                let levels: Vec<usize> = (0..3)
                    .filter(|&l| cpus.iter().any(|(p, _)| p[l] != 0))
                    .collect();
                let depth = levels.len();
                let turned = (self.permute as usize).min(depth.saturating_sub(1));
                let inner = match order {
                    Order::Compact => turned,
                    _ => depth.saturating_sub(1 + turned),
                };
                cpus.sort_by_key(|(p, cpu)| {
                    let innermost = levels.iter().rev().take(inner);
                    let outer = levels.iter().take(depth - inner);
                    let key: Vec<usize> = innermost.chain(outer).map(|&l| p[l]).collect();
                    (key, *cpu)
                });
                let list: Vec<_> = cpus.iter().map(|&(_, cpu)| unit_of(cpu)).collect();
                (list, ProcBind::Close)
            }
        };
        if self.distinct {
            let mut seen: Vec<CpuSet> = Vec::new();
            for place in list {
                if !seen.contains(&place) {
                    seen.push(place);
                }
            }
            list = seen;
        }
        if !list.is_empty() {
            let by = self.offset as usize % list.len();
            list.rotate_left(by);
        }
        (list, bind)
    }
}

/// Every CPU with its position in the machine.
fn positions(places: &dyn Fn(PlaceKind, usize) -> Vec<CpuSet>) -> Vec<(Position, usize)> {
    let sockets = places(PlaceKind::Sockets, usize::MAX);
    let cores = places(PlaceKind::Cores, usize::MAX);
    let mut all = Vec::new();
    for (s, socket) in sockets.iter().enumerate() {
        let inside = cores
            .iter()
            .filter(|core| core.first().is_some_and(|cpu| socket.contains(cpu)));
        for (c, core) in inside.enumerate() {
            for (t, cpu) in core.iter().enumerate() {
                all.push(([s, c, t], cpu));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two sockets of two cores of two threads: CPU = socket * 4 + core * 2 + thread.
    fn machine(kind: PlaceKind, _: usize) -> Vec<CpuSet> {
        let size = match kind {
            PlaceKind::Threads => 1,
            PlaceKind::Cores => 2,
            _ => 4,
        };
        (0..8 / size)
            .map(|i| (i * size..(i + 1) * size).collect())
            .collect()
    }

    fn firsts(value: &str) -> Vec<usize> {
        let (list, _) = parse(value.as_bytes()).expect(value).places(&machine);
        list.iter().filter_map(CpuSet::first).collect()
    }

    #[test]
    fn orders() {
        assert_eq!(firsts("granularity=fine,compact"), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(
            firsts("compact,granularity=fine,1,0"),
            [0, 2, 4, 6, 1, 3, 5, 7]
        );
        assert_eq!(firsts("gran=fine,scatter"), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(firsts("gran=fine,compact,0,3"), [3, 4, 5, 6, 7, 0, 1, 2]);
        assert_eq!(firsts("compact"), [0, 0, 2, 2, 4, 4, 6, 6]);
        assert_eq!(firsts("compact,nodups"), [0, 2, 4, 6]);
        assert_eq!(firsts("balanced,granularity=core"), [0, 2, 4, 6]);
        assert_eq!(
            firsts("granularity=fine,proclist=[3,0-4:2,{5,6}],explicit"),
            [3, 0, 2, 4, 5]
        );
        assert_eq!(firsts("gran=fine,proclist=[4-2:-1],explicit"), [4, 3, 2]);
        assert_eq!(firsts("logical,2,gran=fine"), [2, 3, 4, 5, 6, 7, 0, 1]);
        assert!(firsts("none").is_empty() && firsts("verbose").is_empty());
    }

    #[test]
    fn policies() {
        let bind = |v: &str| parse(v.as_bytes()).expect(v).places(&machine).1;
        assert_eq!(bind("balanced"), ProcBind::Spread);
        assert_eq!(bind("scatter"), ProcBind::Close);
        assert_eq!(bind("disabled"), ProcBind::False);
        assert!(parse(b"verbose,reset,compact").expect("good").reset);
    }

    #[test]
    fn what_is_not_understood() {
        for bad in [
            "x",
            "compact,scatter",
            "granularity=x,compact",
            "compact,1,2,3",
            "explicit",
            "proclist=[],explicit",
            "proclist=[5-1],explicit",
            "proclist=[1-5:0]",
            "compact,-1",
            "proclist=[{1,x}]",
            "proclist=1",
            "compact=1",
            "proclist=[99999999]",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(value in "[a-z=,\\[\\]{}0-9:-]{0,40}") {
            if let Some(a) = parse(value.as_bytes()) {
                let (list, _) = a.places(&machine);
                prop_assert!(list.iter().all(|place| !place.is_empty()));
            }
        }
    }
}
