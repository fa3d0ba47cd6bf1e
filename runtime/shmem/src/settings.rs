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

/// A boolean as the specification has it: set and not 0, no, false or off.
fn flag(name: &str) -> bool {
    text(name).is_some_and(|v| {
        !matches!(
            v.to_ascii_lowercase().as_str(),
            "" | "0" | "no" | "false" | "off"
        )
    })
}

/// A size: a number, perhaps with a fraction, and a suffix K, M, G or T (powers of 1024), perhaps followed by B.
pub(crate) fn size(text: &str) -> Option<usize> {
    let upper = text.trim().to_ascii_uppercase();
    let number = upper.strip_suffix('B').unwrap_or(&upper);
    let (number, scale) = match number.chars().last()? {
        'K' => (&number[..number.len() - 1], 1u64 << 10),
        'M' => (&number[..number.len() - 1], 1 << 20),
        'G' => (&number[..number.len() - 1], 1 << 30),
        'T' => (&number[..number.len() - 1], 1 << 40),
        _ => (number, 1),
    };
    let number = number.trim();
    if !number.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let value: f64 = number.parse().ok()?;
    let bytes = (value * scale as f64).ceil();
    (bytes.is_finite() && (0.0..=LARGEST).contains(&bytes)).then_some(bytes as usize)
}

impl Settings {
    /// Reads them; a bad value is one line, and the default holds.
    pub(crate) fn read() -> Settings {
        // The second name is what earlier implementations called it (specification 1.5, section 6, Annex F).
        let heap = ["SHMEM_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_HEAP_SIZE"]
            .iter()
            .find_map(|name| {
                let v = text(name)?;
                let bytes = size(&v);
                if bytes.is_none() {
                    report::warn(format_args!(
                        "{name} {v}: a size such as 64M, 1.5G or 1048576 is accepted"
                    ));
                }
                bytes
            })
            .unwrap_or(HEAP);
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
            info: flag("SHMEM_INFO"),
            version: flag("SHMEM_VERSION"),
            debug: flag("SHMEM_DEBUG"),
            check: flag("HETMP_CHECK"),
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
