//! Speeds for single kernels: which function of the program a thread runs, and how much its node is slowed
//! for it.
//!
//! `HETMP_NODES` may give a node a speed for each of several *kernels*, so that two kernels prefer different
//! nodes on one machine of like cores. A kernel is a function of the program, by its name in the source: the
//! function from which the region or the loop was outlined. The name is found in the symbol table of the
//! object on disk, once for each region or loop. If one region contains several kernels, the program itself
//! tells which one it runs next ([`super::kernel`], `hetmp_kernel` in `<hetmp/nodes.h>`).
//!
//! None of this runs unless some node has such speeds.
//!
//! **Data in**: names and speeds from the nodes, addresses of code, symbol tables. **Data out**: the
//! speed for a node and a piece of code.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hetmp_core::object::{plain_name, Functions, Place};
use hetmp_core::report::warn;
use hetmp_core::topo::Nodes;
use hetmp_core::whole::OnceLock;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A kernel that has speeds: its number plus one; 0: other code.
pub(crate) type Kernel = u16;

#[derive(Debug)]
struct Table {
    names: Vec<String>,
    /// For each node: the speed of other code, then of each kernel.
    speeds: Vec<Vec<f64>>,
}

static TABLE: OnceLock<Table> = OnceLock::new();
/// `TABLE` has kernels.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Kernels that were met, one bit each, for the message about kernels that were not.
static MET: AtomicU64 = AtomicU64::new(0);

/// Does any node have speeds for single kernels?
#[inline(always)]
pub(crate) fn active() -> bool {
    // Relaxed: `TABLE` synchronises.
    ACTIVE.load(Ordering::Relaxed)
}

/// Takes the speeds from the nodes. Called once, when the nodes are adopted.
pub(crate) fn configure(nodes: &Nodes, verbose: bool) {
    let mut names: Vec<String> = nodes
        .iter()
        .flat_map(|n| n.speeds.iter().map(|(name, _)| name.clone()))
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    names.truncate(usize::from(Kernel::MAX) - 1);
    let speeds = nodes
        .iter()
        .map(|n| {
            core::iter::once(n.speed)
                .chain(names.iter().map(|name| n.speed_for(name)))
                .collect()
        })
        .collect();
    if TABLE.set(Table { names, speeds }).is_ok() {
        ACTIVE.store(true, Ordering::Relaxed);
        if verbose {
            // SAFETY: the handler lives as long as the library, which is never unloaded.
            unsafe { libc::atexit(say_unmet) };
        }
    }
}

/// A kernel name that no function had is most likely mistyped.
extern "C" fn say_unmet() {
    let Some(table) = TABLE.get() else { return };
    let met = MET.load(Ordering::Relaxed);
    for (i, name) in table.names.iter().enumerate().take(64) {
        if met & (1 << i) == 0 {
            warn(format_args!(
                "HETMP_NODES: 'speed.{name}': no region or loop of a function of this name was run"
            ));
        }
    }
}

/// The speed of node `node` for `kernel`.
pub(crate) fn speed(node: usize, kernel: Kernel) -> f64 {
    TABLE
        .get()
        .and_then(|t| t.speeds.get(node)?.get(usize::from(kernel)))
        .copied()
        .unwrap_or(1.0)
}

/// The least speed of node `node` for any code.
pub(crate) fn least_speed(node: usize) -> f64 {
    TABLE
        .get()
        .and_then(|t| t.speeds.get(node)?.iter().copied().reduce(f64::min))
        .unwrap_or(1.0)
}

/// The kernel named `name`.
pub(super) fn named(name: &str) -> Kernel {
    let Some(table) = TABLE.get() else { return 0 };
    match table.names.iter().position(|n| n == name) {
        Some(i) => {
            if i < 64 && MET.load(Ordering::Relaxed) & (1 << i) == 0 {
                MET.fetch_or(1 << i, Ordering::Relaxed);
            }
            i as Kernel + 1
        }
        None => 0,
    }
}

/// The kernel of the code at `address`. The first time this asks the dynamic linker and reads files: do not
/// call it under a lock.
#[cold]
pub(crate) fn of_code(address: usize) -> Kernel {
    static KNOWN: Mutex<BTreeMap<usize, Kernel>> = Mutex::new(BTreeMap::new());
    static FILES: Mutex<BTreeMap<PathBuf, Arc<Functions>>> = Mutex::new(BTreeMap::new());
    // In the child of a fork, a thread that does not exist here may hold the locks. Then the code is looked
    // up again, or counts as other code.
    if let Some(&kernel) = KNOWN.try_lock().ok().as_ref().and_then(|k| k.get(&address)) {
        return kernel;
    }
    let kernel = Place::of(address).map_or(0, |place| {
        let known = FILES
            .try_lock()
            .ok()
            .and_then(|files| files.get(&place.path).cloned());
        let functions = known.unwrap_or_else(|| {
            let read = Arc::new(Functions::of(&place.path));
            if let Ok(mut files) = FILES.try_lock() {
                files.insert(place.path.clone(), Arc::clone(&read));
            }
            read
        });
        functions
            .at(place.offset)
            .map_or(0, |symbol| match named(plain_name(symbol)) {
                0 => named(symbol),
                kernel => kernel,
            })
    });
    if let Ok(mut known) = KNOWN.try_lock() {
        known.insert(address, kernel);
    }
    kernel
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_core::topo::{CpuSet, Node, Topology};

    /// The only test that sets the table, of which a process has one.
    #[test]
    fn kernels_have_speeds() {
        #[inline(never)]
        fn kernels_have_speeds_for_this() -> usize {
            kernels_have_speeds_for_this as fn() -> usize as usize
        }
        let machine = Topology::from_sysfs(
            std::path::Path::new("/nonexistent"),
            CpuSet::from_iter([0, 1]),
        );
        let text = "cores=0,speed.a=0.5;cores=1,speed=0.25,speed.b=1";
        let nodes = Nodes::parse(text.as_bytes(), &machine).expect("accepted");
        let _: &Node = &nodes[0];
        configure(&nodes, false);
        assert!(active());
        let (a, b) = (named("a"), named("b"));
        assert_eq!((named("c"), a, b), (0, 1, 2));
        let all = |node| [0, a, b].map(|k| speed(node, k));
        assert_eq!(all(0), [1.0, 0.5, 1.0]);
        assert_eq!(all(1), [0.25, 0.25, 1.0]);
        assert_eq!((least_speed(0), least_speed(1)), (0.5, 0.25));
        // Mangled by Rust: not one of the names.
        assert_eq!(of_code(kernels_have_speeds_for_this()), 0);
        assert_eq!(of_code(8), 0);
    }
}
