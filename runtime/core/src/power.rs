//! Energy as the machine measures it: one counter for each package, which Linux shows under `powercap` (RAPL of Intel
//! and AMD).
//!
//! They are readable by root only on most systems, and missing in virtual machines.

use std::path::{Path, PathBuf};

/// The energy counter of one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meter {
    /// The package's number, as the counter's name says it.
    pub package: usize,
    file: PathBuf,
    /// After this value the counter begins again at 0, microjoules.
    range: u64,
}

impl Meter {
    /// The packages' counters that can be read; none is usual.
    #[must_use]
    pub fn all() -> Vec<Meter> {
        Meter::below(Path::new("/sys/class/powercap"))
    }

    fn below(root: &Path) -> Vec<Meter> {
        let number = |path: PathBuf| -> Option<u64> {
            std::fs::read_to_string(path).ok()?.trim().parse().ok()
        };
        let mut all: Vec<Meter> = std::fs::read_dir(root)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let folder = entry.path();
                let name = std::fs::read_to_string(folder.join("name")).ok()?;
                let package = name.trim().strip_prefix("package-")?.parse().ok()?;
                let file = folder.join("energy_uj");
                number(file.clone())?;
                Some(Meter {
                    package,
                    range: number(folder.join("max_energy_range_uj"))?,
                    file,
                })
            })
            .collect();
        all.sort_by_key(|m| m.package);
        // With two kernel interfaces the same package is listed twice.
        all.dedup_by_key(|m| m.package);
        all
    }

    /// The counter now, in microjoules; `None` if it cannot be read any more.
    #[must_use]
    pub fn read(&self) -> Option<u64> {
        std::fs::read_to_string(&self.file)
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    /// Joules between two readings, between which the counter has wrapped around at most once.
    #[must_use]
    pub fn joules(&self, before: u64, after: u64) -> f64 {
        let micro = if after >= before {
            after - before
        } else {
            // The counter has wrapped around.
            self.range.saturating_sub(before).saturating_add(after)
        };
        micro as f64 * 1e-6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_and_read() {
        let root = std::env::temp_dir().join(format!("hetmp-power-{}", std::process::id()));
        let zone = |name: &str, label: &str, energy: &str| {
            let folder = root.join(name);
            std::fs::create_dir_all(&folder).expect("made");
            for (file, text) in [
                ("name", label),
                ("energy_uj", energy),
                ("max_energy_range_uj", "1000000\n"),
            ] {
                std::fs::write(folder.join(file), text).expect("written");
            }
        };
        zone("intel-rapl:1", "package-1\n", "250\n");
        zone("intel-rapl:0", "package-0\n", "900000\n");
        zone("intel-rapl:0:0", "core\n", "5\n");
        zone("intel-rapl-mmio:0", "package-0\n", "900000\n");
        zone("dtpm", "package-x\n", "5\n");
        let all = Meter::below(&root);
        assert_eq!(all.iter().map(|m| m.package).collect::<Vec<_>>(), [0, 1]);
        assert_eq!((all[0].read(), all[1].read()), (Some(900_000), Some(250)));
        assert!((all[0].joules(250, 900_250) - 0.9).abs() < 1e-9);
        // Around the end of the range.
        assert!((all[0].joules(900_000, 400_000) - 0.5).abs() < 1e-9);
        std::fs::remove_dir_all(&root).expect("removed");
        assert_eq!(all[0].read(), None);
        assert_eq!(Meter::below(&root), []);
    }
}
