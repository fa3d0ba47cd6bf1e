//! Counters: what a piece of work cost besides time.
//!
//! A [`Source`] tells how many instructions, events of one chosen kind, and remote page faults a
//! thread caused while it ran a piece of a loop. There are two kinds:
//!
//! * [`Hardware`] reads the processor's counters through Linux's perf events. Virtual machines and
//!   containers often have none; then [`Hardware::open`] says why.
//! * [`Pages`] asks the software DSM how many pages of other nodes the thread has waited for, and for how long.
//!
//! **Data in**: perf events of the calling thread, or the DSM's counts. **Data out**: a [`Sample`] for each piece.

use crate::whole::OnceLock;
use perf_event::{Builder, Counter};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::path::Path;

/// The calling thread's counters at one moment. Only [`Source::since`] on the same thread can use them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Instructions retired since some moment.
    pub instructions: u64,
    /// Events since the same moment.
    pub events: u64,
    /// Remote page faults since that moment, and the nanoseconds that they took.
    pub faults: u64,
    /// See `faults`.
    pub waited_ns: u64,
    /// False if the counters could not be read.
    pub valid: bool,
}

/// Counts over one piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Instructions retired, and events of the chosen kind.
    pub counts: Option<(u64, u64)>,
    /// Remote page faults; `None` where nodes share memory coherently.
    pub faults: Option<u64>,
    /// Nanoseconds that the thread waited for the pages; `None` where that is not known.
    pub waited_ns: Option<u64>,
}

/// Where counts come from.
pub trait Source: fmt::Debug + Send + Sync {
    /// The calling thread's counters now.
    fn start(&self) -> Reading;

    /// What the calling thread counted since `start`.
    fn since(&self, start: &Reading) -> Sample;
}

/// A kind of event, as perf_event_open(2) names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    kind: u32,
    config: u64,
}

impl Event {
    /// Misses of the last-level cache, as the kernel names it.
    pub const CACHE_MISSES: Event = Event::hardware(3);
    const INSTRUCTIONS: Event = Event::hardware(1);

    const fn hardware(config: u64) -> Event {
        Event { kind: 0, config }
    }

    /// The event called `name` in `HETMP_COUNTER`.
    #[must_use]
    pub fn named(name: &str) -> Option<Event> {
        Some(match name.to_ascii_lowercase().as_str() {
            "cache-misses" => Event::CACHE_MISSES,
            "cycles" => Event::hardware(0),
            "branch-misses" => Event::hardware(5),
            "stalled-cycles" => Event::hardware(8),
            // Type 3: cache events; last level, reads, misses.
            "llc-misses" => Event {
                kind: 3,
                config: 2 | (1 << 16),
            },
            other => Event {
                kind: 4,
                config: other
                    .strip_prefix('r')
                    .filter(|digits| !digits.starts_with('+'))
                    .and_then(|digits| u64::from_str_radix(digits, 16).ok())?,
            },
        })
    }
}

/// Two counters of one thread.
///
/// `perf_event` opens them. It does not read them: its read allocates, and panics when the kernel returns less than it
/// expects. That would end a program which has closed our descriptors.
#[derive(Debug)]
struct Group {
    /// The group's first member, which counts nothing. One read of it returns the counts of all.
    leader: File,
    #[allow(dead_code, reason = "open as long as the group")]
    members: [Counter; 2],
}

impl Group {
    fn open(first: Event, second: Event) -> io::Result<Group> {
        let mut group = perf_event::Group::new()?;
        keep_from_children(&group);
        let members = [
            open_event(first, &mut group)?,
            open_event(second, &mut group)?,
        ];
        group.enable()?;
        // SAFETY: the group gives up its descriptor, which is open.
        let leader = unsafe { File::from_raw_fd(group.into_raw_fd()) };
        Ok(Group { leader, members })
    }

    fn read(&self) -> Option<Reading> {
        // Number of events, times enabled and running, and for each event its value and number.
        let mut bytes = [0; size_of::<[u64; 9]>()];
        let n = (&self.leader).read(&mut bytes).ok()?;
        let word = |i: usize| {
            let (_, from) = bytes.split_at(8 * i);
            from.first_chunk()
                .map_or(0, |word| u64::from_ne_bytes(*word))
        };
        // A group that shared its hardware counters with others has counted for a part of the time. Such numbers are
        // too low.
        let whole = word(1) == word(2) && word(2) > 0;
        (n == bytes.len() && word(0) == 3 && whole).then(|| Reading {
            instructions: word(5),
            events: word(7),
            valid: true,
            ..Reading::default()
        })
    }
}

fn open_event(event: Event, group: &mut perf_event::Group) -> io::Result<Counter> {
    // Counts neither the kernel nor the hypervisor. This needs no privilege up to `perf_event_paranoid` 2.
    let mut builder = Builder::new().group(group);
    let attributes = builder.attrs_mut();
    attributes.type_ = event.kind;
    // Apple's cores refuse to count both this system and its guests.
    attributes.set_exclude_guest(1);
    let generic = event.kind == 0 || event.kind == 3;
    // A processor with two kinds of cores has a performance monitoring unit for each kind. The unit's number goes
    // into the upper half of `config`.
    attributes.config = event.config | if generic { unit_of_this_cpu() << 32 } else { 0 };
    let counter = builder.build()?;
    keep_from_children(&counter);
    Ok(counter)
}

/// Closes the descriptor in programs that this process starts. `perf_event` has no option for it.
fn keep_from_children(counter: &impl AsRawFd) {
    // SAFETY: the descriptor is open; nobody else knows it.
    unsafe { libc::fcntl(counter.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// The number of the performance monitoring unit of the CPU that the caller runs on; 0 on processors with one kind of
/// core.
fn unit_of_this_cpu() -> u64 {
    // SAFETY: no preconditions.
    let cpu = usize::try_from(unsafe { libc::sched_getcpu() });
    cpu.map_or(0, |cpu| {
        unit_of(cpu, Path::new("/sys/bus/event_source/devices"))
    })
}

/// The same for `cpu`. Units of cores say for which CPUs they are: Intel's `cpu_core` and `cpu_atom`, and one for each
/// kind of Arm core, with a name of its own. Where there is one such unit, no number is needed, and kernels for Arm
/// older than 6.6 know none.
fn unit_of(cpu: usize, units: &Path) -> u64 {
    let units = std::fs::read_dir(units).into_iter().flatten().flatten();
    let units: Vec<_> = units
        .filter_map(|unit| {
            let read = |file: &str| std::fs::read_to_string(unit.path().join(file)).ok();
            let cpus = crate::topo::CpuSet::parse_list(read("cpus")?.trim())?;
            Some((cpus, read("type")?.trim().parse().ok()?))
        })
        .collect();
    let own = units.iter().find(|(cpus, _)| cpus.contains(cpu));
    own.filter(|_| units.len() > 1).map_or(0, |own| own.1)
}

/// The processor's counters.
#[derive(Clone, Copy, Debug)]
pub struct Hardware {
    event: Event,
}

/// One thread's counters; no group if they could not be opened. This is tried once in a thread.
struct Slot {
    tid: libc::pid_t,
    group: Option<Group>,
}

/// The key under which each thread keeps its [`Slot`]. A `thread_local!` would take static thread-local storage in
/// every thread of every program.
fn key() -> Option<libc::pthread_key_t> {
    unsafe extern "C" fn free(slot: *mut libc::c_void) {
        // SAFETY: the box that `Hardware::start` leaked; the thread is ending and reads no more.
        drop(unsafe { Box::from_raw(slot.cast::<Slot>()) });
    }
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the place for the key is live; the destructor outlives all threads, since the
        // library is never unloaded.
        (unsafe { libc::pthread_key_create(&mut key, Some(free)) } == 0).then_some(key)
    })
}

/// Reads the calling thread's counters, opening them at its first call.
fn read_own(event: Event) -> Option<Reading> {
    let key = key()?;
    let tid = crate::sys::gettid();
    // SAFETY: the key exists; its value is null or the slot leaked below, of this thread only.
    let old: *mut Slot = unsafe { libc::pthread_getspecific(key) }.cast();
    // SAFETY: null, or the slot leaked below by this thread, which nobody frees.
    if let Some(slot) = unsafe { old.as_ref() } {
        // After a fork the inherited descriptors still count the parent.
        if slot.tid == tid {
            return slot.group.as_ref()?.read();
        }
    }
    let slot = Box::new(Slot {
        tid,
        group: Group::open(Event::INSTRUCTIONS, event).ok(),
    });
    let reading = slot.group.as_ref().and_then(Group::read);
    // SAFETY: the key exists; the old slot is replaced and nobody else has a pointer to it.
    unsafe {
        if libc::pthread_setspecific(key, Box::into_raw(slot).cast()) == 0 && !old.is_null() {
            drop(Box::from_raw(old));
        }
    }
    reading
}

impl Hardware {
    /// Counters of instructions and of `event`. Errors say why there are none, for people.
    pub fn open(event: Event) -> Result<Hardware, String> {
        let group = Group::open(Event::INSTRUCTIONS, event).map_err(|error| why(&error))?;
        // Some hypervisors let a program open counters that never count.
        let before = group.read();
        std::hint::black_box((0..1000u32).fold(1u32, |a, b| a.wrapping_mul(b | 1)));
        match (before, group.read()) {
            (Some(a), Some(b)) if b.instructions > a.instructions => Ok(Hardware { event }),
            _ => Err("the counters of this machine stand still".to_owned()),
        }
    }
}

fn why(error: &io::Error) -> String {
    let reason = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "this machine has no such counter, as is usual for virtual ones"
        }
        Some(libc::EACCES | libc::EPERM) => {
            "not allowed here (/proc/sys/kernel/perf_event_paranoid, or the container)"
        }
        Some(libc::ENOSYS) => "this kernel has no perf events",
        _ => return format!("perf_event_open: {error}"),
    };
    format!("{reason} (perf_event_open: {error})")
}

impl Source for Hardware {
    fn start(&self) -> Reading {
        read_own(self.event).unwrap_or_default()
    }

    fn since(&self, start: &Reading) -> Sample {
        let end = if start.valid {
            self.start()
        } else {
            Reading::default()
        };
        let counts = end.valid.then(|| {
            (
                end.instructions.saturating_sub(start.instructions),
                end.events.saturating_sub(start.events),
            )
        });
        Sample {
            counts,
            ..Sample::default()
        }
    }
}

/// The faults of a software DSM, as they happen: a function that tells the calling thread's faults so far that asked
/// another node, and the nanoseconds that it has waited for their pages.
#[derive(Clone, Copy, Debug)]
pub struct Pages(pub fn() -> [u64; 2]);

impl Source for Pages {
    fn start(&self) -> Reading {
        let [faults, waited_ns] = (self.0)();
        Reading {
            faults,
            waited_ns,
            valid: true,
            ..Reading::default()
        }
    }

    fn since(&self, start: &Reading) -> Sample {
        let now = self.start();
        Sample {
            counts: None,
            faults: Some(now.faults.saturating_sub(start.faults)),
            waited_ns: Some(now.waited_ns.saturating_sub(start.waited_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topo::fixture::Tree;

    #[test]
    fn faults_as_they_happen() {
        use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static FAULTS: AtomicU64 = AtomicU64::new(5);
        let source = Pages(|| {
            let n = FAULTS.fetch_add(2, Relaxed);
            [n, 10 * n]
        });
        let start = source.start();
        let sample = source.since(&start);
        assert!(start.valid);
        assert_eq!((sample.faults, sample.waited_ns), (Some(2), Some(20)));
    }

    #[test]
    fn events_have_names() {
        assert_eq!(Event::named("cache-misses"), Some(Event::CACHE_MISSES));
        assert_eq!(
            Event::named("LLC-misses"),
            Some(Event {
                kind: 3,
                config: 0x10002
            })
        );
        assert_eq!(
            Event::named("r01b1"),
            Some(Event {
                kind: 4,
                config: 0x1b1
            })
        );
        for bad in ["", "r", "rxyz", "r+1", "misses", "r11111111111111111"] {
            assert_eq!(Event::named(bad), None, "{bad}");
        }
    }

    /// Either the counters count, or the error says why not.
    #[test]
    fn hardware_counts_or_says_why_not() {
        match Hardware::open(Event::CACHE_MISSES) {
            Ok(source) => {
                let start = source.start();
                assert!(start.valid);
                let mut x = 1u64;
                for i in 0..1_000_000u64 {
                    x = std::hint::black_box(x.wrapping_mul(i | 1));
                }
                let (instructions, _) = source.since(&start).counts.expect("counted");
                assert!(instructions >= 2_000_000, "{instructions}");
            }
            Err(why) => {
                assert!(why.len() > 20 && !why.contains('\n'), "{why}");
                // A source that no thread can open: each call returns no counts.
                let source = Hardware {
                    event: Event::CACHE_MISSES,
                };
                assert_eq!(source.since(&source.start()), Sample::default());
            }
        }
    }

    /// The units of an RK3588 (four Cortex-A55, four A76), and those of machines with one kind of core.
    #[test]
    fn each_kind_of_core_has_a_unit_of_its_own() {
        let tree = Tree::new();
        let unit = |name: &str, files: &[(&str, &str)]| {
            for (file, text) in files {
                tree.file(&format!("{name}/{file}"), text);
            }
        };
        unit("software", &[("type", "1")]);
        unit("dsu_pmu_0", &[("type", "7"), ("cpumask", "0")]);
        unit("armv8_cortex_a55", &[("type", "8"), ("cpus", "0-3")]);
        let number = |cpu| unit_of(cpu, tree.path());
        assert_eq!([0, 4].map(number), [0, 0]);
        unit("armv8_cortex_a76", &[("type", "9"), ("cpus", "4-7")]);
        assert_eq!([0, 3, 4, 7, 8].map(number), [8, 8, 9, 9, 0]);
        assert_eq!(unit_of(0, &tree.path().join("none")), 0);
    }

    /// Software counters, which every machine has: processor time and page faults.
    #[test]
    fn a_group_counts() {
        let software = |config| Event { kind: 1, config };
        let group = match Group::open(software(1), software(2)) {
            Ok(group) => group,
            // A container may forbid all perf events.
            Err(error) => return assert!(why(&error).contains("perf"), "{error}"),
        };
        const PAGES: usize = 64;
        let before = group.read().expect("a group that counts");
        let mut fresh = vec![0u8; PAGES * 4096];
        fresh.iter_mut().step_by(4096).for_each(|b| *b = 1);
        std::hint::black_box(&fresh);
        let after = group.read().expect("a group that counts");
        assert!(after.instructions > before.instructions, "{after:?}");
        assert!(after.events > before.events, "{after:?}");
        let fds = [
            group.leader.as_raw_fd(),
            group.members[0].as_raw_fd(),
            group.members[1].as_raw_fd(),
        ];
        for fd in fds {
            // SAFETY: an open descriptor.
            let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
            assert_eq!(flags, libc::FD_CLOEXEC);
        }
        // A program that closes the descriptors of its own accord, and opens a file in their place, ends no process of
        // ours.
        let file = File::open("/proc/self/maps").expect("it is there");
        // SAFETY: both are open, and the second one is this test's.
        assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), fds[0]) }, fds[0]);
        assert_eq!(group.read(), None);
    }

    #[test]
    fn errors_are_explained() {
        let text = |code| why(&io::Error::from_raw_os_error(code));
        assert!(text(libc::ENOENT).starts_with("this machine has no such counter"));
        assert!(text(libc::EACCES).contains("perf_event_paranoid"));
        assert!(text(libc::EMFILE).starts_with("perf_event_open: "));
    }
}
