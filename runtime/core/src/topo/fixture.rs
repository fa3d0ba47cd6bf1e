//! Made-up sysfs trees for tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed with its content when dropped.
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("hetmp-tree-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&root).expect("temporary directory");
        Tree { root }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    /// Writes a file below the root, with its directories.
    pub(crate) fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(path, format!("{text}\n")).expect("file");
        self
    }

    /// Writes a file of one CPU.
    pub(crate) fn cpu(&self, cpu: usize, path: &str, text: &str) -> &Self {
        self.file(&format!("devices/system/cpu/cpu{cpu}/{path}"), text)
    }

    /// The cores and packages of `packages` x `cores` x `threads`, numbered as Linux numbers Intel
    /// servers: first thread of every core, then second threads.
    pub(crate) fn server(&self, packages: usize, cores: usize, threads: usize) -> &Self {
        let all = packages * cores;
        self.file(
            "devices/system/cpu/online",
            &format!("0-{}", all * threads - 1),
        );
        for cpu in 0..all * threads {
            let package = cpu % all / cores;
            let siblings: Vec<String> = (0..threads)
                .map(|t| (cpu % all + t * all).to_string())
                .collect();
            self.cpu(cpu, "topology/thread_siblings_list", &siblings.join(","));
            let package: Vec<String> = (0..threads)
                .map(|t| {
                    let first = package * cores + t * all;
                    format!("{first}-{}", first + cores - 1)
                })
                .collect();
            self.cpu(cpu, "topology/core_siblings_list", &package.join(","));
            for (index, level) in [(0, "1"), (1, "1"), (2, "2"), (3, "3")] {
                self.cpu(cpu, &format!("cache/index{index}/level"), level);
                let shared = if index == 3 { &package } else { &siblings };
                let list = shared.join(",");
                self.cpu(cpu, &format!("cache/index{index}/shared_cpu_list"), &list);
            }
        }
        self
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}
