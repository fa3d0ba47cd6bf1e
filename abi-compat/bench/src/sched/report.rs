//! All results of a run: the structure that `--json` writes, and the head of the tables.

use serde::Serialize;

use super::compare::Group;
use super::far;
use super::reach::Reach;
use crate::machine::Machine;

/// The whole run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) library: String,
    /// `HETMP_NODES` of the unlike nodes.
    pub(super) unlike: String,
    /// `HETMP_NODES` of the equal ones.
    pub(super) alike: String,
    pub(super) speed: f64,
    pub(super) threads: usize,
    pub(super) rounds: usize,
    pub(super) size: String,
    pub(super) groups: Vec<Group>,
    /// Why nothing was compared with libgomp; `None` if something was.
    pub(super) quota: Option<String>,
    pub(super) far: Vec<far::Row>,
    pub(super) reach: Vec<Reach>,
}

impl Report {
    /// The number of variants and programs that failed.
    pub(super) fn failures(&self) -> usize {
        self.groups.iter().map(|g| g.errors().len()).sum::<usize>()
            + self.reach.iter().filter(|r| r.error.is_some()).count()
    }

    pub(super) fn print_head(&self) {
        let machine = &self.machine;
        println!("date      {}", machine.date);
        println!(
            "machine   {}, {} cores, {}, governor {}, load {:.2} before the run",
            machine.cpu, machine.cores, machine.kernel, machine.governor, machine.load_before
        );
        println!("compiler  {}", machine.compiler);
        println!("library   {}", self.library);
        println!("nodes     {} (equal: {})", self.unlike, self.alike);
        println!(
            "method    kernels of size {} on {} threads, {} rounds in turns; times are medians, ratios medians of the \
             rounds' ratios\n          (smallest-largest); whole: an average lap, settled: a lap of the second half; \
             ! misses what is aimed at",
            self.size, self.threads, self.rounds
        );
        if machine.load_before > 0.5 {
            println!(
                "note      something else was running: times are above those of a quiet machine"
            );
        }
    }

    pub(super) fn print_end(&self) {
        let errors: Vec<String> = self.groups.iter().flat_map(Group::errors).collect();
        if !errors.is_empty() {
            println!("\nnot measured:");
        }
        for error in errors {
            println!("  {error}");
        }
    }
}
