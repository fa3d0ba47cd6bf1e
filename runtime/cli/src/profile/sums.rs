//! Adds up the sums of threads: for each region, and in it for each construct.

use crate::source::Source;
use hetmp_profile::read::{Kind, Place, Profile, Site, Sums};
use std::collections::BTreeMap;

/// What the threads of a process did. Times are nanoseconds; those of constructs are sums over threads.
pub(super) struct Process {
    /// The most threads that a region had.
    pub(super) threads: u32,
    /// From the one that took longest.
    pub(super) regions: Vec<Region>,
    /// Constructs outside of regions.
    pub(super) outside: Vec<Construct>,
    /// Where threads were when the process ended in the middle of something.
    pub(super) unfinished: Vec<Unfinished>,
    /// Threads that were not measured.
    pub(super) lost_threads: u64,
    /// Something could not be measured, since there was no room.
    pub(super) is_short: bool,
}

/// All executions of a region.
pub(super) struct Region {
    /// The region itself as a construct: `busy` and `wait` are those of everything in it.
    pub(super) itself: Construct,
    /// Time from begin to end, and the same times the number of threads.
    pub(super) elapsed: u64,
    pub(super) threads_time: u64,
    /// Time of the region's own code, outside of the constructs in it.
    pub(super) own: u64,
    /// Waiting at the end.
    pub(super) end_wait: u64,
    /// How many threads it had in its last execution.
    pub(super) threads: u32,
    /// From the one that took most of the threads' time.
    pub(super) constructs: Vec<Construct>,
    /// For each thread its number, busy time and waiting, without the waiting at the end.
    pub(super) by_thread: Vec<(u32, u64, u64)>,
}

impl Region {
    /// The time from begin to end of the regions that were opened inside of this one.
    pub(super) fn nested(&self) -> u64 {
        let nested = self.constructs.iter().filter(|c| c.kind.0 == Kind::NESTED);
        nested.map(|c| c.busy).sum()
    }

    /// The threads' time that is neither busy nor waiting: a region's threads start one after the other.
    pub(super) fn rest(&self) -> u64 {
        self.threads_time
            .saturating_sub(self.itself.busy + self.itself.wait)
    }
}

/// All executions of a construct.
pub(super) struct Construct {
    pub(super) kind: Kind,
    pub(super) source: Source,
    pub(super) place: Option<Place>,
    pub(super) count: u64,
    pub(super) busy: u64,
    pub(super) wait: u64,
    pub(super) most: u64,
    /// Where the region's threads share the construct's work: the busy time of the thread that had most, divided by the
    /// mean, and that thread's number.
    pub(super) imbalance: Option<(f64, u32)>,
}

/// A thread in the middle of something.
pub(super) struct Unfinished {
    /// The thread's number in its team; `None`: in no region.
    pub(super) thread: Option<u32>,
    pub(super) kind: Kind,
    pub(super) source: Source,
    pub(super) waits: bool,
    pub(super) at_the_end: bool,
    pub(super) since: u64,
}

/// What one site has in all threads: the thread's place in the profile, and its sums.
#[derive(Default)]
struct Rows(Vec<(usize, Sums)>);

impl Rows {
    fn sum(&self, of: impl Fn(&Sums) -> u64) -> u64 {
        self.0.iter().map(|(_, sums)| of(sums)).sum()
    }

    fn most(&self, of: impl Fn(&Sums) -> u64) -> u64 {
        self.0.iter().map(|(_, sums)| of(sums)).max().unwrap_or(0)
    }
}

/// `find` knows the source of a place.
pub(super) fn of(profile: &Profile, find: &mut dyn FnMut(Option<&Place>) -> Source) -> Process {
    let mut sites: BTreeMap<u32, Rows> = BTreeMap::new();
    for (at, thread) in profile.threads.iter().enumerate() {
        for &(site, sums) in &thread.rows {
            sites.entry(site).or_default().0.push((at, sums));
        }
    }
    let known = |number: u32| profile.sites.get(number as usize);
    let is_region = |number: u32| known(number).is_some_and(|s| s.kind.0 == Kind::REGION);
    let mut regions = Vec::new();
    let mut outside = Vec::new();
    for (&number, rows) in &sites {
        let Some(site) = known(number) else { continue };
        if is_region(number) {
            let within = sites
                .iter()
                .filter(|(&n, _)| known(n).is_some_and(|s| s.region == number) && n != number)
                .filter_map(|(&n, rows)| Some((known(n)?, rows)));
            regions.push(region(site, rows, &within.collect::<Vec<_>>(), find));
        } else if site.region == 0 {
            outside.push(construct(site, rows, &[], find));
        }
    }
    regions.sort_by_key(|r| core::cmp::Reverse(r.elapsed));
    outside.sort_by_key(|c| core::cmp::Reverse(c.busy + c.wait));
    let mut unfinished = Vec::new();
    for (at, thread) in profile.threads.iter().enumerate() {
        let Some(last) = thread.unfinished.last() else {
            continue;
        };
        let Some(site) = known(last.site) else {
            continue;
        };
        let region = if is_region(last.site) {
            last.site
        } else {
            site.region
        };
        let rows = sites.get(&region).map_or(&[][..], |r| r.0.as_slice());
        unfinished.push(Unfinished {
            thread: rows
                .iter()
                .find(|(thread, _)| *thread == at)
                .and_then(|(_, sums)| sums.number),
            kind: site.kind,
            source: find(site.place.as_ref()),
            waits: last.waits,
            at_the_end: last.waits && is_region(last.site),
            since: last.since,
        });
    }
    Process {
        threads: regions.iter().map(|r| r.threads).max().unwrap_or(0),
        regions,
        outside,
        unfinished,
        lost_threads: profile.lost_threads,
        is_short: profile.is_short,
    }
}

fn region(
    site: &Site,
    rows: &Rows,
    within: &[(&Site, &Rows)],
    find: &mut dyn FnMut(Option<&Place>) -> Source,
) -> Region {
    // Threads that had a part of the region, whatever they did in it: number, busy, waiting.
    let mut members: BTreeMap<usize, (u32, u64, u64)> = BTreeMap::new();
    for (thread, sums) in &rows.0 {
        if let Some(number) = sums.number {
            members.insert(*thread, (number, sums.busy, 0));
        }
    }
    for (thread, sums) in within.iter().flat_map(|(_, rows)| &rows.0) {
        if let Some((_, busy, wait)) = members.get_mut(thread) {
            *busy += sums.busy;
            *wait += sums.wait;
        }
    }
    let all: Vec<(usize, u32)> = members.iter().map(|(&t, m)| (t, m.0)).collect();
    let mut constructs: Vec<Construct> = within
        .iter()
        .map(|(site, rows)| construct(site, rows, &all, find))
        .collect();
    constructs.sort_by_key(|c| core::cmp::Reverse(c.busy + c.wait));
    // Sums of words that wrap: those of single threads may be negative, and the whole is not. A region that a signal
    // ended may lack arrivals.
    let end_wait: i64 = rows.0.iter().map(|(_, s)| s.end_wait).sum();
    let end_wait = u64::try_from(end_wait).unwrap_or(0);
    let own = rows.sum(|s| s.busy);
    let mut by_thread: Vec<_> = members.values().copied().collect();
    by_thread.sort_unstable();
    let busy: Vec<(u32, u64)> = by_thread.iter().map(|m| (m.0, m.1)).collect();
    Region {
        itself: Construct {
            kind: site.kind,
            source: find(site.place.as_ref()),
            place: site.place.clone(),
            count: rows.sum(|s| s.count),
            busy: own + constructs.iter().map(|c| c.busy).sum::<u64>(),
            wait: end_wait + constructs.iter().map(|c| c.wait).sum::<u64>(),
            most: rows.most(|s| s.most),
            imbalance: imbalance(&busy),
        },
        elapsed: rows.sum(|s| s.whole),
        threads_time: rows.sum(|s| s.threads_time),
        own,
        end_wait,
        threads: rows.most(|s| s.threads.into()) as u32,
        constructs,
        by_thread,
    }
}

/// `members`: the threads of the region by their place in the profile, with their numbers.
fn construct(
    site: &Site,
    rows: &Rows,
    members: &[(usize, u32)],
    find: &mut dyn FnMut(Option<&Place>) -> Source,
) -> Construct {
    let busy_of = |thread: usize| {
        let row = rows.0.iter().find(|(t, _)| *t == thread);
        row.map_or(0, |(_, sums)| sums.busy)
    };
    let busy: Vec<(u32, u64)> = members.iter().map(|&(t, n)| (n, busy_of(t))).collect();
    Construct {
        kind: site.kind,
        source: find(site.place.as_ref()),
        place: site.place.clone(),
        count: rows.sum(|s| s.count),
        busy: rows.sum(|s| s.busy),
        wait: rows.sum(|s| s.wait),
        most: rows.most(|s| s.most),
        imbalance: Some(())
            .filter(|()| site.kind.is_shared())
            .and_then(|()| imbalance(&busy)),
    }
}

/// Number and busy time of each thread: the largest time divided by the mean, and whose it is; `None` for one thread.
fn imbalance(busy: &[(u32, u64)]) -> Option<(f64, u32)> {
    let most = busy.iter().max_by_key(|(_, ns)| *ns)?;
    let mean = busy.iter().map(|(_, ns)| *ns as f64).sum::<f64>() / busy.len() as f64;
    (busy.len() > 1 && mean > 0.0).then(|| (most.1 as f64 / mean, most.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_profile::read::Thread;

    fn site(kind: u32, region: u32) -> Site {
        Site {
            kind: Kind(kind),
            region,
            place: None,
        }
    }

    fn part(number: u32, busy: u64) -> Sums {
        Sums {
            number: Some(number),
            threads: 2,
            busy,
            ..Sums::default()
        }
    }

    /// A region of two threads that takes 100: thread 0 is 10 in its own code and 80 in a loop, and waits 10 at the
    /// end; thread 1 is 10 and 20, waits 30 in a barrier and 40 at the end.
    fn profile() -> Profile {
        let (loops, barrier) = (Kind::WORK + 11, Kind::SYNC + 3);
        let row = |busy, wait| Sums {
            count: 1,
            busy,
            wait,
            ..Sums::default()
        };
        let opener = Sums {
            count: 1,
            whole: 100,
            threads_time: 200,
            end_wait: 50,
            ..part(0, 10)
        };
        let thread = |rows| Thread {
            rows,
            unfinished: Vec::new(),
        };
        Profile {
            pid: 1,
            program: "a.out".into(),
            started: 0,
            ended: Some(100),
            sites: vec![
                site(0, 0),
                site(Kind::REGION, 0),
                site(loops, 1),
                site(barrier, 1),
            ],
            threads: vec![
                thread(vec![(1, opener), (2, row(80, 0))]),
                thread(vec![(1, part(1, 10)), (2, row(20, 0)), (3, row(0, 30))]),
            ],
            lost_threads: 0,
            is_short: false,
        }
    }

    #[test]
    fn a_region_has_what_its_threads_and_constructs_have() {
        let all = of(&profile(), &mut |_| Source::default());
        let [r] = &all.regions[..] else {
            panic!("one region")
        };
        assert_eq!((r.elapsed, r.threads_time, r.threads), (100, 200, 2));
        assert_eq!(
            (r.own, r.itself.busy, r.itself.wait, r.end_wait),
            (20, 120, 80, 50)
        );
        assert_eq!(r.rest(), 0);
        assert_eq!(r.itself.imbalance, Some((1.5, 0)), "90 of 60 in the mean");
        assert_eq!(r.by_thread, [(0, 90, 0), (1, 30, 30)]);
        let [loops, barrier] = &r.constructs[..] else {
            panic!("two constructs")
        };
        assert_eq!((loops.busy, loops.imbalance), (100, Some((1.6, 0))));
        assert_eq!((barrier.wait, barrier.imbalance), (30, None));
        assert!(all.outside.is_empty());
    }

    #[test]
    fn a_thread_that_came_and_found_nothing_counts() {
        let mut profile = profile();
        profile.threads[1].rows.remove(1);
        let all = of(&profile, &mut |_| Source::default());
        assert_eq!(all.regions[0].constructs[0].imbalance, Some((2.0, 0)));
    }
}
