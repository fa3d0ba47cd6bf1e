//! The barrier of teams whose threads are on several nodes that are far apart.
//!
//! [`super::routes`] says who signals whom. The barrier is a spread one ([`super::barrier`]) with flags of its own:
//! what is said there of epochs is true here, because each flag has one thread that signals and one that waits, and
//! because no thread passes before all have come.

use super::barrier::{wait_on, Pastime};
use super::routes::Routes;
use super::seat::Seat;
use crossbeam_utils::CachePadded;
use hetmp_core::park::Flag;

/// How many teams of different size or placement keep their barriers. More are made anew when they come back.
const KEPT: usize = 4;

/// How far nodes are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Distance {
    /// How many times as long a signal to another node takes as one within a node.
    pub(crate) ratio: f64,
    /// What signals are made to take.
    pub(crate) emulated: Option<Emulated>,
    /// Tell which teams use barriers in levels (`HETMP_VERBOSE`).
    pub(crate) verbose: bool,
}

/// Emulated distances, for experiments on a machine that has no such nodes (`HETMP_FAR`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Emulated {
    /// Nanoseconds of a signal within a node.
    pub(crate) near_ns: u64,
    /// Nanoseconds of a signal to another node.
    pub(crate) far_ns: u64,
    /// Use the barrier without levels, to compare.
    pub(crate) flat: bool,
}

/// The barrier of a team that is placed in one way.
#[derive(Debug)]
pub(crate) struct Levels {
    /// The node of each seat.
    nodes: Box<[u32]>,
    /// `None`: the spread barrier is as good.
    routes: Option<Routes>,
    /// The routes go level by level. Otherwise they are the spread barrier's, under emulated distances.
    level_by_level: bool,
    /// Seat by seat, one for each round.
    flags: Box<[Signal]>,
    emulated: Option<Emulated>,
}

#[derive(Debug)]
struct Signal {
    flag: CachePadded<Flag>,
    /// When the signal was sent, if distances are emulated.
    #[cfg(not(loom))]
    sent: core::sync::atomic::AtomicU64,
}

impl Levels {
    /// The barrier for seats on `nodes`.
    pub(crate) fn new(nodes: &[u32], distance: Distance) -> Levels {
        let flat = distance.emulated.is_some_and(|e| e.flat);
        let in_levels = if flat {
            None
        } else {
            hetmp_core::float::apart(|| Routes::choose(nodes, distance.ratio))
        };
        let level_by_level = in_levels.is_some();
        // The spread barrier serves otherwise, unless its signals are to take their time.
        let routes = in_levels.or_else(|| distance.emulated.is_some().then(|| Routes::flat(nodes)));
        let flags = routes.as_ref().map_or(0, |r| r.rounds() * nodes.len());
        Levels {
            nodes: nodes.into(),
            routes,
            level_by_level,
            flags: (0..flags)
                .map(|_| Signal {
                    flag: CachePadded::new(Flag::new()),
                    #[cfg(not(loom))]
                    sent: core::sync::atomic::AtomicU64::new(0),
                })
                .collect(),
            emulated: distance.emulated,
        }
    }

    /// Is this barrier faster than the spread one, or its emulation?
    pub(crate) fn is_used(&self) -> bool {
        self.routes.is_some()
    }

    /// Forgets all signals: the last barrier was number `epoch`. May be called only while no other thread uses the
    /// team.
    pub(crate) fn reset(&self, epoch: u32) {
        for signal in &self.flags {
            signal.flag.reset(epoch);
        }
    }

    /// Barrier number `epoch`, for the thread on `seat`.
    pub(crate) fn pass(&self, epoch: u32, seat: Seat, with: &mut dyn Pastime) {
        let Some(routes) = &self.routes else { return };
        let mine = seat.index() * routes.rounds();
        for (round, hop) in routes.of(seat.index()).iter().enumerate() {
            if let Some(to) = hop.to() {
                let signal = &self.flags[to * routes.rounds() + round];
                self.note(signal);
                signal.flag.signal(epoch);
            }
            if hop.waits() {
                let signal = &self.flags[mine + round];
                wait_on(&signal.flag, epoch, with);
                self.travel(signal, hop.far);
            }
        }
    }

    /// Tells about the barriers of a new team.
    #[cfg(not(loom))]
    #[cold]
    fn say(&self) {
        let mut nodes = self.nodes.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        hetmp_core::report::warn(format_args!(
            "{} threads on {} nodes: barriers {}",
            self.nodes.len(),
            nodes.len(),
            if self.level_by_level {
                "level by level"
            } else {
                "round all threads"
            }
        ));
    }

    /// `signal` is sent now.
    #[cfg(not(loom))]
    #[inline]
    fn note(&self, signal: &Signal) {
        if self.emulated.is_some() {
            // Relaxed: the flag is signalled behind this store, and releases it.
            let now = hetmp_core::sys::monotonic_ns();
            signal
                .sent
                .store(now, core::sync::atomic::Ordering::Relaxed);
        }
    }

    /// `signal` was seen: lets the time pass that it takes to come here, where distances are emulated.
    ///
    /// The thread sleeps, so that two cores can carry the threads of a large machine, whose signals then take as many
    /// times as long as the emulated ones.
    #[cfg(not(loom))]
    #[inline]
    fn travel(&self, signal: &Signal, far: bool) {
        if let Some(emulated) = self.emulated {
            let way = if far {
                emulated.far_ns
            } else {
                emulated.near_ns
            };
            let here = signal.sent.load(core::sync::atomic::Ordering::Relaxed) + way;
            let left = here.saturating_sub(hetmp_core::sys::monotonic_ns());
            if left != 0 {
                std::thread::sleep(core::time::Duration::from_nanos(left));
            }
        }
    }

    #[cfg(loom)]
    fn note(&self, _: &Signal) {}
    #[cfg(loom)]
    fn travel(&self, _: &Signal, _: bool) {}
}

/// The barriers of a team for the ways in which it was placed lately.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// The current one is the first.
    kept: Vec<Levels>,
}

impl Placed {
    /// Makes the barrier for seats on `nodes` the current one. The last barrier of the team was number `epoch`. Is the
    /// team to use it, in place of the spread one?
    pub(crate) fn choose(
        &mut self,
        nodes: impl ExactSizeIterator<Item = u32> + Clone,
        distance: Distance,
        epoch: u32,
    ) -> bool {
        let found = self
            .kept
            .iter()
            .position(|l| l.nodes.iter().copied().eq(nodes.clone()));
        match found {
            Some(0) => {}
            Some(at) => {
                self.kept[..=at].rotate_right(1);
                // Its flags may be any number of epochs old.
                self.kept[0].reset(epoch);
            }
            None => {
                let nodes: Vec<u32> = nodes.collect();
                self.kept.truncate(KEPT - 1);
                let levels = Levels::new(&nodes, distance);
                #[cfg(not(loom))]
                if distance.verbose && levels.is_used() {
                    levels.say();
                }
                self.kept.insert(0, levels);
                self.kept[0].reset(epoch);
            }
        }
        self.kept[0].is_used()
    }

    /// [`Levels::reset`] of the current barrier.
    pub(crate) fn reset(&self, epoch: u32) {
        if let Some(levels) = self.kept.first() {
            levels.reset(epoch);
        }
    }

    /// The current barrier. Only after [`Placed::choose`].
    #[inline]
    pub(crate) fn current(&self) -> &Levels {
        &self.kept[0]
    }
}
