//! Slows threads of any program from outside. Each thread on a CPU of the slow node gets a CPU quota
//! of its own, by a cgroup of the version 1 CPU controller.
//!
//! Both runtimes of a comparison are slowed the same way, and do not know of it. The runtimes bind their
//! threads, so a thread's affinity says which node it belongs to.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};

use crate::load;

/// The length of a quota's period in microseconds. The kernel stops a slow thread once a period. Short
/// periods disturb less, and 10 ms is a length that the kernel keeps accurately.
const PERIOD_US: u64 = 10_000;

/// A cgroup for the thread on each of some CPUs. The cgroups are removed on drop.
#[derive(Debug)]
pub(super) struct Quota {
    folder: PathBuf,
    cpus: Vec<usize>,
}

impl Quota {
    /// Makes a quota of `speed` for one thread on each of `cpus`. The error says why that is not possible.
    pub(super) fn new(cpus: &[usize], speed: f64) -> Result<Quota> {
        let parent = controller()?;
        let folder = parent.join(format!("hetmp-bench-{}", std::process::id()));
        let quota = Quota {
            folder,
            cpus: cpus.to_vec(),
        };
        let us = (speed * PERIOD_US as f64).round() as u64;
        quota
            .make(us)
            .with_context(|| format!("cgroup {}: a folder that can be made", parent.display()))?;
        Ok(quota)
    }

    fn make(&self, quota_us: u64) -> std::io::Result<()> {
        // The folder may exist: a run that was killed does not remove its folder, and the kernel may give
        // this process the same number.
        fs::create_dir_all(&self.folder)?;
        for index in 0..self.cpus.len() {
            let group = self.group(index);
            fs::create_dir_all(&group)?;
            fs::write(group.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
            fs::write(group.join("cpu.cfs_quota_us"), quota_us.to_string())?;
        }
        Ok(())
    }

    fn group(&self, index: usize) -> PathBuf {
        self.folder.join(index.to_string())
    }

    /// Puts each thread of process `pid` that is bound to a slow CPU under that CPU's quota, as soon as
    /// the thread appears. Returns when every slow CPU has one, or when the program has ended. The result
    /// is the number of threads found.
    pub(super) fn hold(&self, pid: libc::pid_t) -> usize {
        let end = Instant::now() + Duration::from_secs(10);
        let mut held: Vec<String> = Vec::new();
        while held.len() < self.cpus.len() && Instant::now() < end {
            let Some(threads) = threads(pid) else { break };
            for (thread, cpus) in threads {
                let slow = !cpus.is_empty() && cpus.iter().all(|cpu| self.cpus.contains(cpu));
                if !slow || held.contains(&thread) || held.len() == self.cpus.len() {
                    continue;
                }
                // The write fails if the thread has ended meanwhile.
                if fs::write(self.group(held.len()).join("tasks"), &thread).is_ok() {
                    held.push(thread);
                }
            }
            std::thread::sleep(Duration::from_micros(300));
        }
        held.len()
    }

    /// Whether as many threads as there are slow CPUs were slowed.
    pub(super) fn check(&self, slowed: usize) -> Result<()> {
        if slowed < self.cpus.len() {
            bail!(
                "{slowed} of {} threads were found on the slow CPUs and slowed",
                self.cpus.len()
            );
        }
        Ok(())
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // The programs have ended. If a group still has a thread, it cannot be removed, which does no harm.
        for index in 0..self.cpus.len() {
            let _ = fs::remove_dir(self.group(index));
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

/// This process's folder of the version 1 CPU controller.
fn controller() -> Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let mount = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (folder, kind, options) = (words.next()?, words.next()?, words.next()?);
            (kind == "cgroup" && options.split(',').any(|o| o == "cpu")).then_some(folder)
        })
        .next()
        .context("no version 1 CPU controller is mounted")?;
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let own = groups
        .lines()
        .find_map(|line| {
            let mut words = line.splitn(3, ':').skip(1);
            let (controllers, path) = (words.next()?, words.next()?);
            controllers.split(',').any(|c| c == "cpu").then_some(path)
        })
        .unwrap_or("/");
    // In a container the path may be the host's, which does not exist here.
    let inner = Path::new(mount).join(own.trim_start_matches('/'));
    Ok(if inner.is_dir() {
        inner
    } else {
        PathBuf::from(mount)
    })
}

/// The threads of a process, and the CPUs that each may use; `None` once the process has ended.
fn threads(pid: libc::pid_t) -> Option<Vec<(String, Vec<usize>)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else {
            continue;
        };
        let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name));
        if field("State:").is_some_and(|s| s.trim_start().starts_with('Z')) {
            // The process has ended, and its parent has not waited for it yet.
            return None;
        }
        let cpus = field("Cpus_allowed_list:").unwrap_or_default().trim();
        all.push((
            entry.file_name().to_string_lossy().into_owned(),
            load::parse_core_list(cpus),
        ));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_this_process_have_cpus() {
        let own = threads(std::process::id() as libc::pid_t).unwrap();
        assert!(own.iter().all(|(_, cpus)| !cpus.is_empty()), "{own:?}");
        assert!(threads(libc::pid_t::MAX).is_none());
    }

    #[test]
    fn a_quota_that_held_no_thread_is_an_error() {
        let quota = Quota {
            folder: PathBuf::from("/nonexistent"),
            cpus: vec![1, 2],
        };
        let why = quota.check(1).unwrap_err().to_string();
        assert!(why.starts_with("1 of 2 threads"), "{why}");
        assert!(quota.check(2).is_ok());
    }
}
