//! The settings from the environment, read once by `shmem_init`.

use hetmp_core::env::{self, snapshot};
use hetmp_core::report;
use hetmp_nic::job::Way;

/// Settings of a job.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Bytes of the symmetric heap.
    pub(crate) heap: usize,
    /// Print the settings at start.
    pub(crate) info: bool,
    /// Print the version at start.
    pub(crate) version: bool,
    /// Print what happens.
    pub(crate) debug: bool,
    /// Check every call for usage errors.
    pub(crate) check: bool,
    /// Which engine to use.
    pub(crate) nic: Way,
    /// The value of `HETMP_NIC_MODEL`; empty for none.
    pub(crate) model: String,
}

/// Bytes of the symmetric heap by default. Pages are taken only when they are touched.
const HEAP: usize = 256 << 20;
/// The largest heap, in units of T: half of a process's address space.
const LARGEST_T: u64 = 64;

fn text(name: &str) -> Option<String> {
    snapshot()
        .get(name)
        .map(|v| String::from_utf8_lossy(v).trim().to_owned())
}

/// The value of `SHMEM_NAME` and that name. If it is not set, the same for `SMA_NAME`, which the specification
/// deprecates (1.5, section 8).
fn shmem(name: &str) -> Option<(String, String)> {
    ["SHMEM", "SMA"].iter().find_map(|prefix| {
        let name = format!("{prefix}_{name}");
        text(&name).map(|value| (name, value))
    })
}

/// True for any value but 0, no, false and off; the specification asks only whether `SHMEM_INFO` and others are set.
fn is_on(value: &str) -> bool {
    !matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "0" | "no" | "false" | "off"
    )
}

/// Why a text is no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadSize {
    /// The text is not a size.
    NoSize,
    /// The size is larger than [`LARGEST_T`].
    TooLarge,
}

impl core::fmt::Display for BadSize {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            BadSize::NoSize => {
                f.write_str("not a size (expected one such as 64M, 1.5G or 1048576)")
            }
            BadSize::TooLarge => write!(f, "too large (expected at most {LARGEST_T}T)"),
        }
    }
}

/// Reads a size: a number, perhaps with a fraction, and a suffix K, M, G or T (powers of 1024). Text after the suffix
/// is ignored.
pub(crate) fn size(text: &str) -> Result<usize, BadSize> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let scale = match suffix
        .trim_start()
        .chars()
        .next()
        .map(|c| c.to_ascii_uppercase())
    {
        None | Some('B') => 1u64,
        Some('K') => 1 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        Some('T') => 1 << 40,
        Some(_) => return Err(BadSize::NoSize),
    };
    let value: f64 = number.parse().map_err(|_| BadSize::NoSize)?;
    let bytes = (value * scale as f64).ceil();
    if bytes > (LARGEST_T << 40) as f64 {
        Err(BadSize::TooLarge)
    } else {
        Ok(bytes as usize)
    }
}

impl Settings {
    /// Reads the settings. A bad value costs one line, and the default is used. A bad size of the heap ends the
    /// program instead.
    pub(crate) fn read() -> Settings {
        // The older name is Open MPI's.
        let heap = match shmem("SYMMETRIC_SIZE").or_else(|| shmem("SYMMETRIC_HEAP_SIZE")) {
            None => HEAP,
            // The specification does not allow a heap of another size than the program asked for.
            Some((name, value)) => size(&value)
                .unwrap_or_else(|why| report::fatal(format_args!("{name}: '{value}': {why}"))),
        };
        let flag = |name: &str| shmem(name).is_some_and(|(_, value)| is_on(&value));
        let nic = env::chosen("HETMP_NIC", |value| {
            Way::of(&String::from_utf8_lossy(value).to_ascii_lowercase())
        });
        env::name_unknown();
        Settings {
            heap,
            info: flag("INFO"),
            version: flag("VERSION"),
            debug: flag("DEBUG"),
            check: env::is_on("HETMP_CHECK"),
            nic: nic.unwrap_or(Way::Auto),
            model: text("HETMP_NIC_MODEL").unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{size, BadSize};

    #[test]
    fn sizes_take_fractions_and_suffixes() {
        for (text, bytes) in [
            ("1048576", Ok(1 << 20)),
            ("64M", Ok(64 << 20)),
            ("1.5g", Ok(3 << 29)),
            ("2 KB", Ok(2048)),
            ("0.5k", Ok(512)),
            ("1T", Ok(1 << 40)),
            ("3.1M", Ok(3_250_586)),
            (".5m", Ok(512 << 10)),
            ("20kk", Ok(20 << 10)),
            ("", Err(BadSize::NoSize)),
            ("M", Err(BadSize::NoSize)),
            ("-1", Err(BadSize::NoSize)),
            ("1e400", Err(BadSize::NoSize)),
            ("inf", Err(BadSize::NoSize)),
            ("nan", Err(BadSize::NoSize)),
            ("9999999T", Err(BadSize::TooLarge)),
            ("100T", Err(BadSize::TooLarge)),
            ("64T", Ok(64 << 40)),
            ("12x", Err(BadSize::NoSize)),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }
}
