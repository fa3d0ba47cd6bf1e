//! The value types of the internal control variables.

use hetmp_sched::schedule::{Modifier, SchedKind, Second};

/// `HETMP_STATIC`: how regions run whose loops the compiler divided itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StaticLoops {
    /// As ordinary teams.
    Off,
    /// As virtual teams, if one of hetmp's schedules is selected and may gain by it.
    #[default]
    Auto,
    /// Like `Auto`, and regions that no virtual team fits get uneven parts. For programs that do not rely on equal
    /// ones.
    Uneven,
    /// Like `Auto`, and also in regions whose program asks for a number of threads, which virtual threads
    /// then exceed.
    Wide,
    /// As virtual teams wherever that is safe.
    Force,
    /// Like `Force`, and regions that no virtual team fits get uneven parts.
    ForceUneven,
}

/// `bind-var` and the `proc_bind` clause; the numbers are those of `omp_proc_bind_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ProcBind {
    /// Threads are not bound, and `proc_bind` clauses are ignored.
    False = 0,
    /// Threads are bound; the implementation chooses how. Here like [`ProcBind::Close`].
    True = 1,
    /// All threads are on the primary thread's place (`primary`, in OpenMP 5.0 `master`).
    Primary = 2,
    /// Threads are on places next to the primary thread's.
    Close = 3,
    /// Threads are spread over the place partition, which is divided among them.
    Spread = 4,
}

impl ProcBind {
    /// The value of an `omp_proc_bind_t`; `None` for numbers without meaning.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Option<Self> {
        Some(match raw {
            0 => Self::False,
            1 => Self::True,
            2 => Self::Primary,
            3 => Self::Close,
            4 => Self::Spread,
            _ => return None,
        })
    }
}

/// `target-offload-var` (section 6.17); the numbers are libgomp's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TargetOffload {
    /// Use a device if there is one, else the host.
    Default = 0,
    /// End the program where a target region cannot run on a device.
    Mandatory = 1,
    /// Always the host.
    Disabled = 2,
}

/// The predefined allocators (section 2.13.2); the numbers are those of
/// `omp_allocator_handle_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[allow(missing_docs, reason = "the names are the specification's, one to one")]
pub enum Allocator {
    DefaultMem = 1,
    LargeCapMem = 2,
    ConstMem = 3,
    HighBwMem = 4,
    LowLatMem = 5,
    CgroupMem = 6,
    PteamMem = 7,
    ThreadMem = 8,
}

impl Allocator {
    /// Every predefined allocator with the name that `OMP_ALLOCATOR` takes.
    pub(crate) const NAMES: [(&'static str, Self); 8] = [
        ("omp_default_mem_alloc", Self::DefaultMem),
        ("omp_large_cap_mem_alloc", Self::LargeCapMem),
        ("omp_const_mem_alloc", Self::ConstMem),
        ("omp_high_bw_mem_alloc", Self::HighBwMem),
        ("omp_low_lat_mem_alloc", Self::LowLatMem),
        ("omp_cgroup_mem_alloc", Self::CgroupMem),
        ("omp_pteam_mem_alloc", Self::PteamMem),
        ("omp_thread_mem_alloc", Self::ThreadMem),
    ];

    /// The allocator's name in `OMP_ALLOCATOR`.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self as usize - 1].0
    }
}

/// The bit of `omp_sched_t` that means `monotonic`.
const MONOTONIC: u32 = 0x8000_0000;

/// `run-sched-var`: the schedule of loops with `schedule(runtime)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RunSched {
    /// Which schedule.
    pub kind: SchedKind,
    /// Whether each thread gets its iterations in increasing order. `monotonic` for plain `static`.
    pub(crate) modifier: Modifier,
    /// The jump percentage of `hetprobe-i`; 0 if none was given, and for other kinds.
    pub(crate) jump_percent: u8,
    /// The chunk size in iterations. `static`: 0 means one block for each thread. `hetprobe` and
    /// `hetprobe-i`: the probe percentage instead, 0 if none was given. `cross-dynamic` and the `aid-`
    /// schedules: 0 if none was given.
    pub chunk: i32,
}

impl RunSched {
    /// The schedule without `OMP_SCHEDULE`: `dynamic,1`, as in libgomp.
    pub(crate) const DEFAULT: Self = Self {
        kind: SchedKind::Dynamic,
        modifier: Modifier::None,
        jump_percent: 0,
        chunk: 1,
    };

    /// The value that `omp_get_schedule` gives for the kind and its modifier.
    #[must_use]
    pub(crate) const fn omp_sched(self) -> u32 {
        let kind = self.kind as u16 as u32;
        match self.modifier {
            Modifier::Monotonic => kind | MONOTONIC,
            Modifier::None | Modifier::Nonmonotonic => kind,
        }
    }

    /// The schedule that `omp_set_schedule(omp_sched, chunk)` selects where this schedule was in effect;
    /// `None` if the kind is unknown, and the call has no effect.
    #[must_use]
    pub(crate) fn replaced_by(self, omp_sched: u32, chunk: i32) -> Option<Self> {
        let kind = SchedKind::from_raw(omp_sched & !MONOTONIC)?;
        let chunk = match kind.row().second {
            Second::Chunk(none) => chunk.max(none),
            Second::Kept => self.chunk,
            Second::Percent => chunk.clamp(0, 100),
            Second::Nothing => 0,
        };
        Some(Self {
            kind,
            modifier: if omp_sched & MONOTONIC == 0 {
                Modifier::None
            } else {
                Modifier::Monotonic
            },
            jump_percent: 0,
            chunk,
        })
    }
}
