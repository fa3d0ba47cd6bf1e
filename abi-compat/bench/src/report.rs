//! All results of a run, and the tables that show them.

use serde::Serialize;

use super::floor::Floor;
use super::load::{LoadRow, Variant};
use super::machine::Machine;
use super::micro::Sample;
use super::startup::Startup;
use super::{stats, Suite};

/// The results of a whole run. `--json` writes this structure.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    /// The name of the library compared with: libgomp, or libomp for programs that clang compiled.
    pub(crate) peer: &'static str,
    /// The file of the library compared with.
    pub(crate) base: String,
    /// Its version, where the compiler that it belongs to tells it.
    pub(crate) base_version: Option<String>,
    /// The file of the library that is compared.
    pub(crate) library: String,
    /// Whether both are the same file. The ratios then show the noise of the measurement.
    pub(crate) self_check: bool,
    pub(crate) rounds: usize,
    pub(crate) row_ms: u32,
    pub(crate) floor_before: Floor,
    pub(crate) floor_after: Option<Floor>,
    pub(crate) rows: Vec<Row>,
    pub(crate) startup: Option<Startup>,
    pub(crate) load: Vec<LoadRow>,
}

/// One row of a microbenchmark under one configuration.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) suite: Suite,
    pub(crate) config: String,
    pub(crate) row: String,
    /// The unit of `base`, `ours` and the samples: us or ns.
    pub(crate) unit: String,
    /// Median overhead under libgomp.
    pub(crate) base: f64,
    /// Median overhead under our library.
    pub(crate) ours: f64,
    /// Median, smallest and largest of the rounds' ratios ours/base.
    pub(crate) ratio: f64,
    pub(crate) ratio_min: f64,
    pub(crate) ratio_max: f64,
    /// Whether our samples are larger than libgomp's beyond chance (rank-sum test).
    pub(crate) clearly_larger: bool,
    /// Whether neither overhead can be told from zero.
    pub(crate) below_resolution: bool,
    /// The time of two cache-line hops, in us, measured around this row. Only for rows
    /// whose construct cannot be faster.
    pub(crate) two_hops_us: Option<f64>,
    pub(crate) base_samples: Vec<Sample>,
    pub(crate) our_samples: Vec<Sample>,
    /// How a run of this row ended, if it failed. The numbers are then those of the
    /// rounds before.
    pub(crate) error: Option<String>,
}

/// The meaning of a row's ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Neither overhead can be told from zero.
    Unresolved,
    /// The ratio is at most [`CLOSE`].
    Parity,
    /// The ratio is above [`CLOSE`], but chance can explain the difference.
    Noise,
    /// The ratio is above [`CLOSE`], at most [`BOUND`].
    Above,
    /// The ratio is above [`BOUND`].
    FarAbove,
}

impl Verdict {
    fn mark(self) -> &'static str {
        match self {
            Verdict::Unresolved | Verdict::Parity => "",
            Verdict::Noise => "?",
            Verdict::Above => "+",
            Verdict::FarAbove => "!",
        }
    }
}

/// Above this, a median ratio is more than noise.
const CLOSE: f64 = 1.05;
/// The aim: no row is above this ratio.
const BOUND: f64 = 1.2;

impl Row {
    /// How the ratio is to be read, for the table and the picture.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.ratio {
            _ if self.below_resolution => Verdict::Unresolved,
            r if r <= CLOSE => Verdict::Parity,
            _ if !self.clearly_larger => Verdict::Noise,
            r if r <= BOUND => Verdict::Above,
            _ => Verdict::FarAbove,
        }
    }
}

impl Report {
    /// Rows that could not be measured.
    pub(crate) fn failures(&self) -> usize {
        self.rows.iter().filter(|row| row.error.is_some()).count()
            + self.load.iter().filter(|row| row.error.is_some()).count()
    }

    pub(crate) fn print_head(&self) {
        let machine = &self.machine;
        println!("date      {}", machine.date);
        println!(
            "machine   {}, {} cores, {}, governor {}, load {:.2} before the run",
            machine.cpu, machine.cores, machine.kernel, machine.governor, machine.load_before
        );
        println!("compiler  {}", machine.compiler);
        let version = self.base_version.as_deref().unwrap_or_default();
        println!("{:<9} {} {version}", self.peer, self.base);
        println!(
            "ours      {}{}",
            self.library,
            if self.self_check {
                "   (self check: the same file, so ratios show the tool's noise)"
            } else {
                ""
            }
        );
        print_floor("floor     ", &self.floor_before);
        println!(
            "method    {} rounds of {peer} and ours in turns, {} ms a row; ratio = ours/{peer}, \
             median (min-max) of the rounds;\n          + above {CLOSE}, ! above {BOUND}, ? above, but not beyond \
             chance (rank sum, 2.5 %), = neither overhead can be told from none",
            self.rounds,
            self.row_ms,
            peer = self.peer
        );
        if machine.load_before > 0.5 {
            println!(
                "note      something else was running: times are above those of a quiet machine"
            );
        }
    }

    pub(crate) fn print_table_head(&self, config: &str, program: &str) {
        println!("\n{config}, {program}");
        println!(
            "  {:<28} {:>10} {:>10}    {:>6}   {:<14}  x two hops",
            "", self.peer, "ours", "ratio", "min-max"
        );
    }

    pub(crate) fn print_row(&self, row: &Row) {
        if let Some(error) = &row.error {
            println!("  {:<28} failed {error}", row.row);
            return;
        }
        println!(
            "  {:<28} {:>10} {:>10} {} {:>7}{:1} {:<15} {}",
            row.row,
            short(row.base),
            short(row.ours),
            row.unit,
            if row.below_resolution {
                "=".to_owned()
            } else {
                format!("{:.2}", row.ratio)
            },
            row.verdict().mark(),
            format!("{:.2}-{:.2}", row.ratio_min, row.ratio_max),
            row.two_hops_us.map_or_else(String::new, |floor| format!(
                "{:.1} of {floor:.3} us ({} {:.1})",
                row.ours / floor,
                self.peer,
                row.base / floor
            ))
        );
    }

    pub(crate) fn print_startup(&self, startup: &Startup) {
        let (s, peer) = (startup, self.peer);
        println!("\nstart-up");
        println!(
            "  a program without OpenMP, spawn to exit: {:.3} ms; preloaded {peer} adds {:.3}, ours {:.3} ms",
            s.plain_none_ms, s.added_base_ms, s.added_ours_ms
        );
        println!(
            "  main to the end of the first region (2 threads): {peer} {:.1}, ours {:.1} us ({:.2}); second region \
                {:.2}, {:.2} us",
            s.first_base_us,
            s.first_ours_us,
            s.first_ours_us / s.first_base_us,
            s.second_base_us,
            s.second_ours_us
        );
        println!(
            "  that program, spawn to exit: {peer} {:.3}, ours {:.3} ms ({:.2})",
            s.exec_base_ms,
            s.exec_ours_ms,
            s.exec_ours_ms / s.exec_base_ms
        );
    }

    pub(crate) fn print_load_head(&self) {
        println!(
            "\nshort regions, us per region (median of {} rounds), by number of threads and load:\n\
             one busy process anywhere, or one on each core",
            self.rounds
        );
        println!(
            "  {:<26} {:>9} {:>9} {:>9} {:>9} {:>9}   {:>11} {:>11}",
            "", "active", "passive", "default", "ours", "serial", "ours/better", "ours/serial"
        );
    }

    pub(crate) fn print_load_row(&self, row: &LoadRow) {
        let name = format!("{} {:<5} {}", row.threads, row.load.name(), row.row);
        if let Some(error) = &row.error {
            println!("  {name:<26} failed {error}");
            return;
        }
        let (better, serial) = (row.against_better(), row.against_serial());
        println!(
            "  {name:<26} {:>9} {:>9} {:>9} {:>9} {:>9}   {better:>10.2}{} {serial:>10.2}{}",
            short(row.of(Variant::BaseActive)),
            short(row.of(Variant::BasePassive)),
            short(row.of(Variant::BaseDefault)),
            short(row.of(Variant::Ours)),
            short(row.of(Variant::Serial)),
            if better > CLOSE { "!" } else { " " },
            if serial > 3.0 { "!" } else { " " },
        );
    }

    pub(crate) fn print_summary(&self) {
        println!();
        if let Some(floor) = &self.floor_after {
            print_floor("floor, after the run  ", floor);
        }
        let measured = || {
            self.rows
                .iter()
                .filter(|row| row.error.is_none() && !row.below_resolution)
        };
        let count = |keep: fn(&Row) -> bool| measured().filter(|row| keep(row)).count();
        if measured().count() > 0 {
            println!(
                "{} rows: {} at most 1.00, {} up to {CLOSE}, {} above within noise, {} up to {BOUND}, {} above; \
                    geometric mean {:.2}; {} below resolution, {} failed",
                self.rows.len(),
                count(|row| row.ratio <= 1.0),
                count(|row| row.ratio > 1.0 && row.ratio <= CLOSE),
                count(|row| row.verdict() == Verdict::Noise),
                count(|row| row.verdict() == Verdict::Above),
                count(|row| row.verdict() == Verdict::FarAbove),
                stats::geometric_mean(measured().map(|row| row.ratio)),
                self.rows.iter().filter(|row| row.below_resolution).count(),
                self.failures(),
            );
        }
        let mut high: Vec<&Row> = measured()
            .filter(|row| row.verdict() == Verdict::FarAbove)
            .collect();
        high.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        for row in high {
            println!(
                "  above {BOUND}: {:.2} ({:.2}-{:.2})  {}, {}: {} against {} {}",
                row.ratio,
                row.ratio_min,
                row.ratio_max,
                row.config,
                row.row,
                short(row.ours),
                short(row.base),
                row.unit
            );
        }
    }
}

fn print_floor(title: &str, floor: &Floor) {
    match (floor.hop_ns, floor.hop_min_ns, floor.hop_max_ns, floor.wake_us) {
        (Some(hop), Some(min), Some(max), Some(wake)) => println!(
            "{title}cache line one way between two cores {hop:.0} ns ({min:.0}-{max:.0}); waking a sleeper {wake:.1} us"
        ),
        _ => println!("{title}one core only: no hops to measure"),
    }
}

/// Three significant digits, in the width of the tables.
pub(crate) fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn three_digits() {
        assert_eq!(short(1234.5), "1234");
        assert_eq!(short(12.34), "12.3");
        assert_eq!(short(1.234), "1.23");
        assert_eq!(short(0.01234), "0.012");
        assert_eq!(short(-0.5), "-0.500");
    }
}
