//! The machine: its CPUs, what they share, and which of them this process may use.
//!
//! * [`CpuSet`] is a set of logical CPUs; [`affinity`] the set the calling thread may run on.
//! * [`Topology`] is read from sysfs: cores, packages, caches, memory domains, core types. Every file may be missing
//!   (containers, virtual machines, kernels without NUMA); [`Cpu`] says what is assumed then. Reading takes a few
//!   system calls for each CPU, so it is done when places or nodes are asked for, not at start.
//! * [`nodes`] groups CPUs into the nodes that loops are split over.
//!
//! Data comes from files below a root that the caller names, so that tests can describe machines. It goes out as
//! plain values.

mod cpuset;
mod discover;
pub mod nodes;
mod places;

pub use cpuset::{CpuSet, Iter, MAX_CPUS};
pub use nodes::{Node, NodeError, Nodes};
pub use places::PlaceKind;

use std::path::Path;

/// The kind of core that a hybrid processor reports for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreType {
    /// Listed by the performance-monitoring unit `cpu_core`.
    Performance,
    /// Listed by `cpu_atom`.
    Efficiency,
    /// Listed by `cpu_lowpower`.
    LowPower,
}

impl CoreType {
    /// The kind's name in messages and tables.
    pub fn name(self) -> &'static str {
        match self {
            CoreType::Performance => "performance",
            CoreType::Efficiency => "efficiency",
            CoreType::LowPower => "low-power",
        }
    }
}

/// One logical CPU.
///
/// Groups are named by the lowest CPU number that belongs to them, which is unique in the machine
/// (the kernel's own core numbers repeat in every package).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number of this logical CPU.
    pub id: usize,
    /// Its core: the lowest CPU among the hardware threads of that core. Unknown: a core of its
    /// own.
    pub core: usize,
    /// Its package (socket): the lowest CPU there. Unknown: one package holds all such CPUs.
    pub package: usize,
    /// Its die: the lowest CPU there. Unknown: the package.
    pub die: usize,
    /// The group that shares its last-level cache: the lowest CPU there. Unknown: its cluster, or else the die.
    pub llc: usize,
    /// Level of that cache; `None` when unknown.
    pub llc_level: Option<u32>,
    /// Number of its memory (NUMA) node. Unknown: 0.
    pub numa: usize,
    /// The kernel's `cpu_capacity`: speed relative to the fastest CPU, which has 1024.
    pub capacity: Option<u32>,
    /// Highest frequency in kHz (`cpuinfo_max_freq`).
    pub max_khz: Option<u32>,
    /// What a hybrid processor says it is.
    pub core_type: Option<CoreType>,
}

/// The CPUs of the machine and the subset that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    cpus: Vec<Cpu>,
    allowed: CpuSet,
}

impl Topology {
    /// Reads this machine, with the calling thread's affinity mask as the allowed CPUs.
    pub fn discover() -> Self {
        Topology::from_sysfs(Path::new("/sys"), affinity())
    }

    /// Reads the machine described below `sys` (the place of `/sys`).
    ///
    /// CPUs that are allowed but not listed as online are taken to exist.
    pub fn from_sysfs(sys: &Path, allowed: CpuSet) -> Self {
        Topology {
            cpus: discover::cpus(sys, &allowed),
            allowed,
        }
    }

    /// Every online CPU, ascending, allowed or not.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// The CPUs this process may run on.
    pub fn allowed(&self) -> &CpuSet {
        &self.allowed
    }

    /// The CPU numbered `id`.
    pub fn cpu(&self, id: usize) -> Option<&Cpu> {
        let at = self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok()?;
        Some(&self.cpus[at])
    }

    /// The allowed CPUs, ascending.
    pub fn allowed_cpus(&self) -> impl Iterator<Item = &Cpu> {
        self.cpus.iter().filter(|cpu| self.allowed.contains(cpu.id))
    }
}

/// The CPUs that the calling thread may run on.
///
/// Before the runtime binds a thread, this is the process's mask at start. Machines of any size work: the kernel
/// refuses a buffer shorter than its own masks, so the buffer grows until it fits. If the kernel refuses even
/// [`MAX_CPUS`] bits (a sandbox without the call), the online CPUs as the C library counts them are taken.
pub fn affinity() -> CpuSet {
    let mut words = [0u64; 16];
    if get_affinity(&mut words) {
        return CpuSet::from_words(&words);
    }
    let mut len = 2 * words.len();
    while crate::sys::errno() == libc::EINVAL && len <= MAX_CPUS / 64 {
        let mut words = vec![0u64; len];
        if get_affinity(&mut words) {
            return CpuSet::from_words(&words);
        }
        len *= 2;
    }
    // SAFETY: sysconf has no preconditions.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    (0..online.clamp(1, MAX_CPUS as libc::c_long) as usize).collect()
}

fn get_affinity(words: &mut [u64]) -> bool {
    // SAFETY: the buffer is live, writable and as long as said; the kernel's masks are arrays of
    // unsigned long, which has the layout of u64 words on the little-endian 64-bit targets we
    // build for, and cpu_set_t is only a name for such an array.
    unsafe {
        libc::sched_getaffinity(
            0,
            core::mem::size_of_val(words),
            words.as_mut_ptr().cast::<libc::cpu_set_t>(),
        ) == 0
    }
}

/// Binds the calling thread to `cpus`.
///
/// Errors: what the kernel says, `EINVAL` when no CPU of the set is online and permitted.
pub fn set_affinity(cpus: &CpuSet) -> std::io::Result<()> {
    // SAFETY: the words are live and as many bytes as said; the call only reads them.
    let rc = unsafe {
        libc::sched_setaffinity(
            0,
            core::mem::size_of_val(cpus.words()),
            cpus.words().as_ptr().cast::<libc::cpu_set_t>(),
        )
    };
    if rc == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

#[cfg(test)]
mod boards;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
