//! The keys of files of platforms and workloads. Every value is checked when it is read, so that the parser can name
//! its line.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// Defines a type of number that is checked when it is read.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty), $says:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Deserialize)]
        #[serde(try_from = "f64")]
        pub(super) struct $name(pub(super) $inner);

        impl TryFrom<f64> for $name {
            type Error = String;

            fn try_from(value: f64) -> Result<Self, String> {
                let check: fn(f64) -> bool = $check;
                if check(value) {
                    Ok($name(value as $inner))
                } else {
                    Err(format!("'{value}': out of range (expected {})", $says))
                }
            }
        }
    };
}

number!(Positive(f64), "a number above 0", |v| v > 0.0
    && v.is_finite());
number!(Amount(f64), "a number from 0 up", |v| v >= 0.0
    && v.is_finite());
number!(Part(f64), "a number from 0 to 1", |v| (0.0..=1.0)
    .contains(&v));
number!(SignedPart(f64), "a number from -1 to 1", |v| (-1.0..=1.0)
    .contains(&v));
number!(Cores(u32), "a whole number from 1 to 4096", |v| whole(
    v, 1.0, 4096.0
));
number!(Count(u64), "a whole number from 0 to 1e12", |v| whole(
    v, 0.0, 1e12
));
number!(Some1(u64), "a whole number from 1 to 1e12", |v| whole(
    v, 1.0, 1e12
));
number!(Repeat(u64), "a whole number from 0 to 1000000", |v| whole(
    v, 0.0, 1e6
));

fn whole(v: f64, from: f64, to: f64) -> bool {
    v.fract() == 0.0 && (from..=to).contains(&v)
}

/// Where the values of a file come from. The key is a value's name; the text is "paper", "measured" or "assumed", a
/// colon, and words.
pub(super) type Source = BTreeMap<String, Origin>;

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Origin(pub(super) String);

impl TryFrom<String> for Origin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("paper" | "measured" | "assumed", words)) if !words.trim().is_empty() => {
                Ok(Origin(text))
            }
            _ => Err(format!(
                "{text:?}: does not say where the number is from (expected \"paper: ...\", \"measured: ...\" \
                 or \"assumed: ...\")"
            )),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KernelFile {
    pub(super) speed: Option<Positive>,
    pub(super) misses: Option<Amount>,
    pub(super) serial_speed: Option<Positive>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KindFile {
    pub(super) speed: Option<Positive>,
    pub(super) misses: Option<Amount>,
    pub(super) serial_speed: Option<Positive>,
    pub(super) bandwidth_gbs: Option<Positive>,
    pub(super) miss_ns: Option<Amount>,
    pub(super) idle_watts: Option<Amount>,
    pub(super) core_watts: Option<Amount>,
    #[serde(default)]
    pub(super) kernel: BTreeMap<String, KernelFile>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeFile {
    pub(super) name: Spanned<String>,
    pub(super) kind: Spanned<String>,
    pub(super) cores: Cores,
    pub(super) count: Option<Cores>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkFile {
    pub(super) between: Option<Vec<Spanned<String>>>,
    pub(super) fault_us: Amount,
    pub(super) occupancy_us: Amount,
    pub(super) barrier_us: Amount,
    pub(super) threshold_us: Amount,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlatformFile {
    pub(super) about: String,
    #[serde(default)]
    pub(super) coherent: bool,
    #[serde(default)]
    pub(super) counters: bool,
    pub(super) call_ns: Option<Amount>,
    pub(super) fork_us: Option<Amount>,
    pub(super) jitter: Option<Part>,
    pub(super) kinds_from: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) kind: BTreeMap<String, KindFile>,
    pub(super) node: Spanned<Vec<NodeFile>>,
    #[serde(default)]
    pub(super) link: Vec<Spanned<LinkFile>>,
    #[serde(default)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArrayFile {
    pub(super) name: String,
    pub(super) mib: Positive,
    /// How many pages of 4 KiB are simulated as one.
    pub(super) unit_pages: Option<Some1>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PatternName {
    Block,
    Across,
    All,
    Scattered,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TouchFile {
    pub(super) array: Spanned<String>,
    pub(super) pattern: Option<PatternName>,
    pub(super) halo: Option<Count>,
    pub(super) rows: Option<Some1>,
    pub(super) per_iteration: Option<Amount>,
    #[serde(default)]
    pub(super) writes: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SerialFile {
    pub(super) ms: Option<Amount>,
    #[serde(default)]
    pub(super) touches: Vec<Spanned<TouchFile>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SpreadFile {
    Uniform(Part),
    Exponential(Part),
    Ramp(SignedPart),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MixFile {
    pub(super) kernel: String,
    pub(super) part: Part,
    pub(super) period: Some1,
    pub(super) ns: Amount,
    pub(super) instructions: Option<Amount>,
    pub(super) misses: Option<Amount>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoopFile {
    pub(super) name: String,
    pub(super) kernel: Option<String>,
    pub(super) iterations: Spanned<Count>,
    pub(super) ns: Amount,
    pub(super) instructions: Option<Amount>,
    pub(super) misses: Option<Amount>,
    pub(super) cold_misses: Option<Amount>,
    pub(super) spread: Option<SpreadFile>,
    pub(super) mix: Option<MixFile>,
    #[serde(default)]
    pub(super) touches: Vec<Spanned<TouchFile>>,
}

/// What the paper says about a benchmark.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaperFile {
    /// Where HetProbe has run it: `split`, or a node's name.
    pub(super) decision: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadFile {
    pub(super) about: String,
    pub(super) repeat: Option<Repeat>,
    pub(super) chunk: Option<Some1>,
    #[serde(default)]
    pub(super) start: SerialFile,
    #[serde(default)]
    pub(super) round: SerialFile,
    #[serde(default)]
    pub(super) array: Vec<Spanned<ArrayFile>>,
    #[serde(rename = "loop")]
    pub(super) loops: Vec<LoopFile>,
    pub(super) paper: Option<PaperFile>,
    #[serde(default)]
    pub(super) source: Source,
}
