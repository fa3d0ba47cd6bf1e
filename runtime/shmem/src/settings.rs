//! What the environment says, read once by `shmem_init`.

use hetmp_core::env::snapshot;
use hetmp_core::report;

/// Which engine reaches the peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nic {
    /// Mapped memory where it can be, sockets elsewhere.
    Auto,
    /// Mapped memory only.
    Shm,
    /// The software adapter, for peers on this machine.
    Emulated,
    /// Sockets to everybody.
    Tcp,
}

/// Settings of a job.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Bytes of the symmetric heap.
    pub(crate) heap: usize,
    /// Print the settings at start.
    pub(crate) info: bool,
    /// Print the version at start.
    pub(crate) version: bool,
    /// Print what goes on.
    pub(crate) debug: bool,
    /// Look for usage errors in every call.
    pub(crate) check: bool,
    /// The engine.
    pub(crate) nic: Nic,
    /// `HETMP_NIC_MODEL`, empty for none.
    pub(crate) model: String,
}

/// The default symmetric heap: pages are only taken when they are touched.
const HEAP: usize = 256 << 20;
/// The largest heap that is accepted: half of the address space of a process.
const LARGEST: f64 = (1u64 << 46) as f64;

fn text(name: &str) -> Option<String> {
    snapshot()
        .get(name)
        .map(|v| String::from_utf8_lossy(v).trim().to_owned())
}

/// The value of `SHMEM_NAME`, else of `SMA_NAME`, the name that the specification deprecates (1.5, section 8), and
/// which of the two it is.
fn shmem(name: &str) -> Option<(String, String)> {
    ["SHMEM", "SMA"].iter().find_map(|prefix| {
        let name = format!("{prefix}_{name}");
        text(&name).map(|value| (name, value))
    })
}

/// Set, as the specification has it for `SHMEM_INFO` and others, and not 0, no, false or off.
fn is_on(value: &str) -> bool {
    !matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "0" | "no" | "false" | "off"
    )
}

/// A size: a number, perhaps with a fraction, and a suffix K, M, G or T (powers of 1024). What follows the suffix does
/// not count.
pub(crate) fn size(text: &str) -> Option<usize> {
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
        Some(_) => return None,
    };
    let value: f64 = number.parse().ok()?;
    let bytes = (value * scale as f64).ceil();
    (bytes.is_finite() && (0.0..=LARGEST).contains(&bytes)).then_some(bytes as usize)
}

impl Settings {
    /// Reads them; a bad value is one line, and the default holds, or, for the size of the heap, the program ends.
    pub(crate) fn read() -> Settings {
        let heap = match shmem("SYMMETRIC_SIZE") {
            None => HEAP,
            // The specification lets no program run with another size than it asked for.
            Some((name, value)) => size(&value).unwrap_or_else(|| {
                report::fatal(format_args!(
                    "{name} {value}: a size such as 64M, 1.5G or 1048576 is accepted"
                ))
            }),
        };
        let flag = |name: &str| shmem(name).is_some_and(|(_, value)| is_on(&value));
        let nic = match text("HETMP_NIC").map(|v| v.to_ascii_lowercase()).as_deref() {
            None | Some("" | "auto") => Nic::Auto,
            Some("shm") => Nic::Shm,
            Some("emulated") => Nic::Emulated,
            Some("tcp") => Nic::Tcp,
            Some(other) => {
                report::warn(format_args!(
                    "HETMP_NIC {other}: auto, shm, emulated and tcp are accepted"
                ));
                Nic::Auto
            }
        };
        Settings {
            heap,
            info: flag("INFO"),
            version: flag("VERSION"),
            debug: flag("DEBUG"),
            check: text("HETMP_CHECK").is_some_and(|v| match v.to_ascii_lowercase().as_str() {
                "1" | "true" | "yes" | "on" => true,
                "" | "0" | "false" | "no" | "off" => false,
                _ => {
                    report::warn(format_args!("HETMP_CHECK {v}: 1 and 0 are accepted"));
                    false
                }
            }),
            nic,
            model: text("HETMP_NIC_MODEL").unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_take_fractions_and_suffixes() {
        for (text, bytes) in [
            ("1048576", Some(1 << 20)),
            ("64M", Some(64 << 20)),
            ("1.5g", Some(3 << 29)),
            ("2 KB", Some(2048)),
            ("0.5k", Some(512)),
            ("1T", Some(1 << 40)),
            ("3.1M", Some(3_250_586)),
            (".5m", Some(512 << 10)),
            ("20kk", Some(20 << 10)),
            ("", None),
            ("M", None),
            ("-1", None),
            ("1e400", None),
            ("inf", None),
            ("nan", None),
            ("9999999T", None),
            ("12x", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }
}
