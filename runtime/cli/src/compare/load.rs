//! How busy other programs keep the CPUs that this process may use, as `/proc/stat` tells.

use hetmp_core::file;
use hetmp_core::topo::Topology;
use std::path::Path;

/// What the kernel counts in, per second, for programs.
const TICKS: f64 = 100.0;

/// Ticks since the machine started, of all allowed CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    all: u64,
    /// Of those, the ones in which something ran, also other virtual machines.
    busy: u64,
}

impl Load {
    /// `None` where the kernel does not tell.
    pub(super) fn now() -> Option<Load> {
        let text = file::bytes(Path::new("/proc/stat"), file::SMALL).ok()?;
        let machine = Topology::discover();
        Load::read(&String::from_utf8_lossy(&text), |cpu| {
            machine.allowed().contains(cpu)
        })
    }

    fn read(text: &str, allowed: impl Fn(usize) -> bool) -> Option<Load> {
        let mut sum = Load { all: 0, busy: 0 };
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let cpu = words.next().and_then(|word| word.strip_prefix("cpu"));
            if !cpu.and_then(|n| n.parse().ok()).is_some_and(&allowed) {
                continue;
            }
            // user, nice, system, idle, iowait, irq, softirq, steal; what follows is part of user and nice.
            let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
            let [.., idle, waits, _, _, _] = ticks[..] else {
                return None;
            };
            let all: u64 = ticks.iter().sum();
            sum.all += all;
            sum.busy += all - idle - waits;
        }
        (sum.all > 0).then_some(sum)
    }

    /// The share of the CPUs, from 0 to 1, that others have used since then, if `ours` are the seconds of ours.
    pub(super) fn of_others(self, ours: f64) -> Option<f64> {
        Load::now().and_then(|now| self.until(now, ours))
    }

    fn until(self, now: Load, ours: f64) -> Option<f64> {
        let all = now.all.checked_sub(self.all).filter(|&ticks| ticks > 0)?;
        let busy = now.busy.saturating_sub(self.busy);
        Some(((busy as f64 - ours * TICKS) / all as f64).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::Load;

    #[test]
    fn what_others_use_is_what_is_busy_but_for_ours() {
        let text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 0 50 200 50 0 0 0 0 0\ncpu1 0 0 0 400 0 0 0 0\nintr 7\n";
        let before = Load::read(text, |n| n == 0).expect("a line");
        assert_eq!(
            before,
            Load {
                all: 400,
                busy: 150
            }
        );
        assert_eq!(
            Load::read(text, |_| true),
            Some(Load {
                all: 800,
                busy: 150
            })
        );
        assert_eq!(Load::read(text, |n| n == 2), None);
        assert_eq!(Load::read("cpu0 1 2 3\n", |_| true), None);
        let now = Load {
            all: 600,
            busy: 300,
        };
        // 1.5 s of 2 s were used, 1 s of them by ours.
        assert_eq!(before.until(now, 1.0), Some(0.25));
        assert_eq!(before.until(now, 2.0), Some(0.0));
        assert_eq!(now.until(now, 0.0), None);
    }
}
