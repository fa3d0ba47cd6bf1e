//! Platforms: the number of slaves, their local stores, and the speed of their transfers.
//!
//! A platform is a TOML file; three are built in. `HETMP_PLATFORM` chooses one: `NAME|FILE[,strict][,scale=K]`.
//! `scale` multiplies every modelled time by K, so that a chip that moves memory faster than this machine can be
//! modelled in proportion.

use toml_span::value::ValueInner;

/// The accepted values, for messages.
pub(crate) const ACCEPTS: &str =
    "x86, sw26010, mt3000 or a file name with a dot or slash, then ,strict and ,scale=1 to 1000000 if wanted";

/// Where slots and blocks lie; the numbers are those of `SlaveMemKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A slave's scalar memory.
    Scalar,
    /// A slave's array memory.
    Array,
    /// Memory on the chip that a cluster's slaves share.
    Global,
    /// Their larger shared memory.
    HighBandwidth,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Kind; 4] = [Kind::Scalar, Kind::Array, Kind::Global, Kind::HighBandwidth];

    /// The kind with this number, if there is one.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Kind> {
        Kind::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Which of the memories that a cluster's slaves share; `None` for a slave's own.
    #[must_use]
    pub(crate) fn shared(self) -> Option<usize> {
        (self as usize).checked_sub(2)
    }
}

/// The modelled speed of transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dma {
    /// The bandwidth of one slave, in bytes per nanosecond (GB/s).
    pub slave: f64,
    /// The bandwidth of all slaves of a cluster together, in bytes per nanosecond.
    pub cluster: f64,
    /// The time from the start of a transfer to its first byte, in nanoseconds.
    pub latency: f64,
}

/// The modelled cost of a slave's access to one word of the master's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direct {
    /// How long the slave waits, in nanoseconds.
    pub latency: f64,
    /// How long the access keeps the cluster's memory busy, in nanoseconds.
    pub occupancy: f64,
}

/// A platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// Its name.
    pub name: String,
    /// One line that describes the platform.
    pub about: String,
    /// The number of clusters. Each has a master and slaves.
    pub clusters: u32,
    /// Slaves of a cluster; 0 for as many as this process has CPUs.
    pub slaves: u32,
    /// The most slaves that can be started.
    pub max_slaves: u32,
    /// Bits of a SIMD register; 0 for those of this processor.
    pub simd_bits: u32,
    /// Bytes of each [`Kind`] of memory: of a slave, or of a cluster if its slaves share it. 0 if the platform has no
    /// such memory, which is the scalar one then.
    pub bytes: [usize; 4],
    /// Modelled transfers; `None`: as fast as this machine.
    pub dma: Option<Dma>,
    /// Modelled direct access.
    pub direct: Option<Direct>,
    /// Local stores at fixed addresses, and master's slots that the slave cannot access.
    pub strict: bool,
    /// The factor of all modelled times.
    pub scale: f64,
}

const BUILT_IN: [(&str, &str); 3] = [
    ("x86", include_str!("../platforms/x86.toml")),
    ("sw26010", include_str!("../platforms/sw26010.toml")),
    ("mt3000", include_str!("../platforms/mt3000.toml")),
];

impl Platform {
    /// The names of the platforms that are built in.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The platform for a value of `HETMP_PLATFORM`; `x86` if it is not set.
    ///
    /// # Errors
    /// One line without a prefix that says what is wrong.
    pub fn from_env(value: Option<&[u8]>) -> Result<Platform, String> {
        let value = String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
        let refuse = || {
            format!(
                "HETMP_PLATFORM: '{}': unknown (expected {ACCEPTS})",
                value.trim()
            )
        };
        let mut words = value.split(',').map(str::trim);
        let name = words.next().unwrap_or_default();
        let mut platform = Platform::named(if name.is_empty() { "x86" } else { name })
            .map_err(|e| e.unwrap_or_else(refuse))?;
        for word in words {
            if word.eq_ignore_ascii_case("strict") {
                platform.strict = true;
            } else if let Some(scale) = word.strip_prefix("scale=") {
                match scale.trim().parse::<f64>() {
                    Ok(scale) if (1.0..=1e6).contains(&scale) => platform.scale = scale,
                    _ => return Err(refuse()),
                }
            } else {
                return Err(refuse());
            }
        }
        Ok(platform)
    }

    /// The platform with this name, or read from a file if the name contains a dot or a slash. The error is a line,
    /// or `None` if there is no such name.
    fn named(name: &str) -> Result<Platform, Option<String>> {
        if let Some((_, text)) = BUILT_IN
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            return Platform::parse(text).map_err(Some);
        }
        if !name.contains(['.', '/']) {
            return Err(None);
        }
        let text = hetmp_core::file::text(name.as_ref(), hetmp_core::file::SMALL).map_err(|e| {
            Some(format!(
                "HETMP_PLATFORM: '{name}': {e} (expected a readable TOML file)"
            ))
        })?;
        Platform::parse(&text).map_err(|e| Some(format!("HETMP_PLATFORM: '{name}': {e}")))
    }

    /// Reads a platform file.
    ///
    /// # Errors
    /// `<key> <value>: <what is wrong> (expected <what>)`.
    pub fn parse(text: &str) -> Result<Platform, String> {
        let mut root = toml_span::parse(text).map_err(|e| format!("{e} (expected a TOML file)"))?;
        let mut top = Table::of(root.take(), "")?;
        let name = top.text("name")?;
        let about = top.text("about")?;
        let clusters = top.whole("clusters", 1, 16, Some(1))?;
        let slaves = top.whole("slaves", 0, 256, None)?;
        let max_slaves = top.whole(
            "max_slaves",
            1,
            256,
            Some(if slaves == 0 { 256 } else { slaves }),
        )?;
        if slaves > max_slaves {
            return Err(format!(
                "max_slaves {max_slaves}: fewer than slaves (expected at least {slaves})"
            ));
        }
        let simd_bits = top.whole("simd_bits", 0, 4096, Some(0))?;
        let mut store = top
            .table("store")?
            .ok_or("store: missing (expected a table with scalar_bytes)")?;
        let scalar_bytes = store.whole("scalar_bytes", 1024, 1 << 30, None)?;
        let array_bytes = store.whole("array_bytes", 0, 1 << 30, Some(0))?;
        store.end()?;
        let [mut global, mut high] = [0; 2];
        if let Some(mut t) = top.table("shared")? {
            global = t.whole("global_bytes", 0, 1 << 30, Some(0))?;
            high = t.whole("high_bandwidth_bytes", 0, 1 << 30, Some(0))?;
            t.end()?;
        }
        let dma = match top.table("dma")? {
            None => None,
            Some(mut t) => {
                let dma = Dma {
                    slave: t.number("slave_gb_s", 1e-6, 1e6)?,
                    cluster: t.number("cluster_gb_s", 1e-6, 1e6)?,
                    latency: t.number("latency_ns", 0.0, 1e9)?,
                };
                t.end()?;
                Some(dma)
            }
        };
        let direct = match top.table("direct")? {
            None => None,
            Some(mut t) => {
                let direct = Direct {
                    latency: t.number("latency_ns", 0.0, 1e9)?,
                    occupancy: t.number("occupancy_ns", 0.0, 1e9)?,
                };
                t.end()?;
                Some(direct)
            }
        };
        top.end()?;
        Ok(Platform {
            name,
            about,
            clusters: clusters as u32,
            slaves: slaves as u32,
            max_slaves: max_slaves as u32,
            simd_bits: simd_bits as u32,
            bytes: [scalar_bytes, array_bytes, global, high].map(|bytes| bytes as usize),
            dma,
            direct,
            strict: false,
            scale: 1.0,
        })
    }

    /// True if messages go through two stages.
    #[must_use]
    pub fn staged(&self) -> bool {
        self.strict || self.dma.is_some() || self.direct.is_some()
    }

    /// Slaves of a cluster; this process's number of CPUs if the platform says so.
    #[must_use]
    pub fn slaves_here(&self) -> u32 {
        if self.slaves == 0 {
            (hetmp_core::quota::available_cpus() as u32).min(self.max_slaves)
        } else {
            self.slaves
        }
    }

    /// Bits of a SIMD register; this processor's if the platform says so.
    #[must_use]
    pub fn simd_bits_here(&self) -> u32 {
        if self.simd_bits != 0 {
            return self.simd_bits;
        }
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                return 512;
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                return 256;
            }
        }
        128
    }

    /// True if the platform has a memory of this kind.
    #[must_use]
    pub fn has(&self, kind: Kind) -> bool {
        self.bytes[kind as usize] != 0
    }

    /// Bytes of the memory that serves a kind.
    #[must_use]
    pub fn store_bytes(&self, kind: Kind) -> usize {
        let kind = if self.has(kind) { kind } else { Kind::Scalar };
        self.bytes[kind as usize]
    }
}

/// A TOML table from which keys are taken one by one. A key that is left over is an error.
struct Table<'a> {
    prefix: &'static str,
    keys: toml_span::value::Table<'a>,
}

impl<'a> Table<'a> {
    fn of(value: ValueInner<'a>, prefix: &'static str) -> Result<Self, String> {
        match value {
            ValueInner::Table(keys) => Ok(Table { prefix, keys }),
            _ => Err(format!("{prefix}: no table (expected one)")),
        }
    }

    fn take(&mut self, key: &str) -> Option<ValueInner<'a>> {
        self.keys.remove(key).map(|mut value| value.take())
    }

    fn text(&mut self, key: &str) -> Result<String, String> {
        match self.take(key) {
            Some(ValueInner::String(s)) if !s.is_empty() => Ok(s.into_owned()),
            _ => Err(format!("{}{key}: no text (expected one)", self.prefix)),
        }
    }

    fn whole(
        &mut self,
        key: &str,
        least: i64,
        most: i64,
        default: Option<i64>,
    ) -> Result<i64, String> {
        let prefix = self.prefix;
        let refuse = |what: String| {
            Err(format!(
                "{prefix}{key}{what}: out of range (expected a whole number from {least} to {most})"
            ))
        };
        match self.take(key) {
            None => default.map_or_else(|| refuse(String::new()), Ok),
            Some(ValueInner::Integer(i)) if (least..=most).contains(&i) => Ok(i),
            Some(ValueInner::Integer(i)) => refuse(format!(" {i}")),
            Some(_) => refuse(String::new()),
        }
    }

    fn number(&mut self, key: &str, least: f64, most: f64) -> Result<f64, String> {
        let value = match self.take(key) {
            Some(ValueInner::Float(f)) => f,
            Some(ValueInner::Integer(i)) => i as f64,
            _ => f64::NAN,
        };
        if (least..=most).contains(&value) {
            Ok(value)
        } else {
            Err(format!(
                "{}{key}: out of range (expected a number from {least} to {most})",
                self.prefix
            ))
        }
    }

    fn table(&mut self, key: &'static str) -> Result<Option<Table<'a>>, String> {
        self.take(key)
            .map(|value| Table::of(value, key))
            .transpose()
            .map(|t| {
                t.map(|mut t| {
                    t.prefix = match key {
                        "store" => "store.",
                        "shared" => "shared.",
                        "dma" => "dma.",
                        _ => "direct.",
                    };
                    t
                })
            })
    }

    fn end(&self) -> Result<(), String> {
        match self.keys.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!(
                "key {}{}: unknown (expected those of the built-in platforms)",
                self.prefix, key.name
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Platform};

    #[test]
    fn the_built_in_ones_are_what_they_say() {
        for name in Platform::names() {
            let p = Platform::from_env(Some(name.as_bytes())).expect(name);
            assert_eq!(p.name, name);
        }
        let sw = Platform::from_env(Some(b"SW26010, strict, scale=50")).expect("sw26010");
        assert_eq!(
            (sw.slaves, Kind::ALL.map(|kind| sw.store_bytes(kind))),
            (64, [65536; 4])
        );
        assert!(sw.strict && sw.staged() && sw.scale == 50.0);
        let mt = Platform::from_env(Some(b"mt3000")).expect("mt3000");
        assert_eq!(
            (mt.slaves, mt.bytes, mt.simd_bits),
            (24, [65536, 786_432, 6 << 20, 48 << 20], 1024)
        );
        let x86 = Platform::from_env(None).expect("x86");
        assert!(!x86.staged() && x86.slaves_here() >= 1 && x86.clusters > 1);
    }

    #[test]
    fn bad_values_get_one_line() {
        for bad in [
            "sw",
            "x86,loose",
            "x86,scale=0",
            "x86,scale=x",
            "/no/such/file.toml",
            "/dev/null",
        ] {
            let line = Platform::from_env(Some(bad.as_bytes())).expect_err(bad);
            assert!(
                line.starts_with("HETMP_PLATFORM: ") && line.contains("(expected ")
                    || line.contains(ACCEPT_HINT),
                "{line}"
            );
            assert!(!line.contains('\n'), "{line}");
        }
        let good = include_str!("../platforms/sw26010.toml");
        for (from, to) in [
            ("slaves = 64", "slaves = 9999"),
            ("slaves = 64", "slaves = \"many\""),
            ("slave_gb_s = 8.0", "slave_gb_s = 0"),
            ("[dma]", "[dmaa]"),
            ("scalar_bytes = 65536", ""),
            ("clusters = 4", "clusters = 4\nclutters = 3"),
        ] {
            let line = Platform::parse(&good.replacen(from, to, 1)).expect_err(to);
            assert!(line.contains("(expected "), "{line}");
        }
    }

    const ACCEPT_HINT: &str = "x86, sw26010";
}
