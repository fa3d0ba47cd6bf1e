//! The CPUs that play the nodes. The first half of the CPUs that this process may use is the fast node, the second half
//! the slow one.

use std::fmt::Write as _;

use anyhow::{bail, Result};

/// The CPUs of the fast and of the slow node, the same number in each.
#[derive(Clone, Debug)]
pub(super) struct Cores {
    pub(super) fast: Vec<usize>,
    pub(super) slow: Vec<usize>,
}

impl Cores {
    /// Divides the CPUs that this process may use. Of an odd number, one is left out.
    pub(super) fn allowed() -> Result<Cores> {
        // SAFETY: all-zero is a valid cpu_set_t, and the call writes only into that set.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
            set
        };
        let cpus: Vec<usize> = (0..libc::CPU_SETSIZE as usize)
            // SAFETY: the number is below the size of the set.
            .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
            .collect();
        let half = cpus.len() / 2;
        if half == 0 {
            bail!("1 CPU: at least two that this process may use make two nodes");
        }
        Ok(Cores {
            fast: cpus[..half].to_vec(),
            slow: cpus[half..2 * half].to_vec(),
        })
    }

    /// How many threads the kernels get.
    pub(super) fn count(&self) -> usize {
        self.fast.len() + self.slow.len()
    }

    /// Two nodes, the second one at `speed`: a value of `HETMP_NODES`.
    pub(super) fn unlike(&self, speed: f64) -> String {
        format!(
            "cores={},speed=1;cores={},speed={speed}",
            list(&self.fast),
            list(&self.slow)
        )
    }

    /// The same two nodes at full speed.
    pub(super) fn alike(&self) -> String {
        format!("cores={};cores={}", list(&self.fast), list(&self.slow))
    }

    /// A place for each CPU, for runtimes without nodes: a value of `OMP_PLACES`.
    pub(super) fn places(&self) -> String {
        let each = self.fast.iter().chain(&self.slow);
        let places: Vec<String> = each.map(|cpu| format!("{{{cpu}}}")).collect();
        places.join(",")
    }

    /// The node file for the irregular mix, in which each of the mix's two kernels is faster on another node. Like
    /// `c-tests/kernels/mix-nodes.toml`, with these CPUs and this speed.
    pub(super) fn mix_file(&self, speed: f64) -> String {
        let mut text = String::new();
        for (cpus, stream, block) in [(&self.fast, 1.0, speed), (&self.slow, speed, 1.0)] {
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "[[node]]\ncores = \"{}\"\nspeed = {{ default = 1.0, mix_stream = {stream:?}, \
                 mix_block = {block:?} }}\n\n",
                list(cpus)
            );
        }
        text
    }
}

/// A CPU list as the kernel writes it.
pub(super) fn list(cpus: &[usize]) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = cpus;
    while let Some(&first) = rest.first() {
        let run = rest
            .iter()
            .enumerate()
            .take_while(|&(i, &cpu)| cpu == first + i)
            .count();
        words.push(if run == 1 {
            first.to_string()
        } else {
            format!("{first}-{}", rest[run - 1])
        });
        rest = &rest[run..];
    }
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_ranges() {
        assert_eq!(list(&[0]), "0");
        assert_eq!(list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }

    #[test]
    fn the_mix_file_is_the_one_that_is_shipped() {
        let ours = Cores {
            fast: vec![0],
            slow: vec![1],
        }
        .mix_file(0.33);
        let file = hetmp_abi_compat::library::root().join("c-tests/kernels/mix-nodes.toml");
        let shipped = std::fs::read_to_string(file).unwrap();
        let lines = |text: &str| -> Vec<String> {
            let meaning = |l: &&str| !l.is_empty() && !l.starts_with('#');
            text.lines().filter(meaning).map(str::to_owned).collect()
        };
        assert_eq!(lines(&ours), lines(&shipped));
    }
}
