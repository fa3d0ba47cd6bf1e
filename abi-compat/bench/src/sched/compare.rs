//! Runs the variants of a comparison in turns.

use anyhow::Result;
use serde::Serialize;

use super::kernel::{Bench, Measure, Program, Region, Sample};
use super::quota::Quota;
use super::Part;
use crate::stats;

/// One way to run a kernel.
#[derive(Clone, Debug)]
pub(super) struct Variant<'a> {
    pub(super) name: &'static str,
    pub(super) env: Vec<(String, String)>,
    /// True: the library is preloaded. False: libgomp serves the program.
    pub(super) preload: bool,
    /// CPU quotas that slow the threads on some CPUs, if the variant uses them.
    pub(super) quota: Option<&'a Quota>,
}

impl Variant<'_> {
    /// A run under the library, with these variables.
    pub(super) fn ours(name: &'static str, env: &[(&str, &str)]) -> Self {
        Variant {
            name,
            env: env
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect(),
            preload: true,
            quota: None,
        }
    }
}

/// All runs of one variant.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    pub(super) variant: &'static str,
    pub(super) env: Vec<(String, String)>,
    pub(super) samples: Vec<Sample>,
    /// How a run ended, if it failed. The variant is not run again after that.
    pub(super) error: Option<String>,
}

/// One comparison: variants that ran in turns on the same kernel.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    pub(super) part: Part,
    pub(super) kernel: String,
    pub(super) form: &'static str,
    pub(super) region: Region,
    /// Whether quotas slowed the threads, instead of the library.
    pub(super) from_outside: bool,
    /// The irregularity of the irregular mix in percent; `None` for other kernels.
    pub(super) irregularity: Option<u32>,
    /// The number of unlike parts of the irregular mix's range; `None` for other kernels.
    pub(super) phases: Option<u32>,
    pub(super) series: Vec<Series>,
}

/// A ratio of times: median, smallest and largest of the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ({:.2}-{:.2})", self.median, self.min, self.max)
    }
}

impl Group {
    /// Runs every variant once a round. Each round begins with another variant.
    pub(super) fn measure(
        mut self,
        bench: &Bench,
        program: &Program,
        arguments: &[String],
        variants: &[Variant<'_>],
        rounds: usize,
    ) -> Group {
        self.series = variants
            .iter()
            .map(|v| Series {
                variant: v.name,
                env: v.env.clone(),
                samples: Vec::new(),
                error: None,
            })
            .collect();
        for round in 0..rounds {
            for turn in 0..variants.len() {
                let which = (round + turn) % variants.len();
                let series = &mut self.series[which];
                if series.error.is_some() {
                    continue;
                }
                match once(bench, program, arguments, &variants[which]) {
                    Ok(sample) => series.samples.push(sample),
                    Err(ending) => series.error = Some(format!("{ending:#}")),
                }
            }
        }
        self
    }

    pub(super) fn of(&self, variant: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.variant == variant)
    }

    /// Median time of a variant in milliseconds; NaN if it has no runs.
    pub(super) fn ms(&self, variant: &str, measure: Measure) -> f64 {
        let samples = self.of(variant).map_or(&[][..], |s| &s.samples);
        1e3 * stats::median(samples.iter().map(measure))
    }

    /// Time of `over` divided by that of `under`, round by round.
    pub(super) fn ratio(&self, over: &str, under: &str, measure: Measure) -> Option<Ratio> {
        let (over, under) = (self.of(over)?, self.of(under)?);
        let pairs: Vec<f64> = over
            .samples
            .iter()
            .zip(&under.samples)
            .map(|(a, b)| measure(a) / measure(b))
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let (min, max) = stats::range(pairs.iter().copied());
        Some(Ratio {
            median: stats::median(pairs),
            min,
            max,
        })
    }

    /// The errors of all variants.
    pub(super) fn errors(&self) -> Vec<String> {
        self.series
            .iter()
            .filter_map(|s| {
                Some(format!(
                    "{} under {}: {}",
                    self.kernel,
                    s.variant,
                    s.error.as_ref()?
                ))
            })
            .collect()
    }
}

fn once(
    bench: &Bench,
    program: &Program,
    arguments: &[String],
    variant: &Variant<'_>,
) -> Result<Sample> {
    let mut env = variant.env.clone();
    if variant.preload {
        env.push(("LD_PRELOAD".to_owned(), bench.library.display().to_string()));
    }
    match variant.quota {
        None => program.run(bench, arguments, &env, |_| ()),
        Some(quota) => {
            let mut slowed = 0;
            let sample = program.run(bench, arguments, &env, |pid| slowed = quota.hold(pid))?;
            quota.check(slowed)?;
            Ok(sample)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::kernel::{SETTLED, WHOLE};

    fn series(variant: &'static str, whole: &[f64]) -> Series {
        let sample = |&whole: &f64| Sample {
            whole,
            first: 9.0,
            settled: 2.0 * whole,
        };
        Series {
            variant,
            env: vec![],
            samples: whole.iter().map(sample).collect(),
            error: None,
        }
    }

    #[test]
    fn ratios_are_of_rounds() {
        let group = Group {
            part: Part::A,
            kernel: "cg".to_owned(),
            form: "none",
            region: Region::Barriers,
            from_outside: false,
            irregularity: None,
            phases: None,
            series: vec![
                series("static", &[1.0, 2.0, 4.0]),
                series("hetprobe", &[0.5, 0.5, 4.0]),
                series("dynamic", &[]),
            ],
        };
        let want = Ratio {
            median: 0.5,
            min: 0.25,
            max: 1.0,
        };
        assert_eq!(group.ratio("hetprobe", "static", WHOLE), Some(want));
        assert_eq!(want.to_string(), "0.50 (0.25-1.00)");
        assert_eq!(group.ratio("dynamic", "static", WHOLE), None);
        assert_eq!(group.ratio("csr", "static", WHOLE), None);
        assert_eq!(group.ms("static", SETTLED), 4000.0);
        assert!(group.ms("dynamic", WHOLE).is_nan());
    }
}
