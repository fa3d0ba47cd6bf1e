//! libomp's variables (`KMP_*`), as far as they have an effect here.
//!
//! Scripts for programs that clang built set these variables. Where a variable means the same as one of
//! OpenMP, libomp's wins, as under libomp.

use super::environment::Source;
use super::kinds::ProcBind;
use super::parse::Bad;
use crate::affinity::order::{self, Affinity};
use crate::affinity::PlaceKind;
use core::str;
use hetmp_core::spins::{self, Library};

/// The values of libomp's variables.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Libomp {
    /// At least one variable of libomp's is set.
    pub(crate) given: bool,
    /// `KMP_AFFINITY`.
    pub(crate) affinity: Option<Affinity>,
    /// `KMP_BLOCKTIME` in microseconds; the largest value: for ever.
    pub(crate) blocktime_us: Option<u64>,
    /// `KMP_LIBRARY`.
    pub(crate) library: Option<Library>,
    /// `KMP_DEVICE_THREAD_LIMIT`, else `KMP_ALL_THREADS`.
    pub(crate) thread_limit: Option<u32>,
    /// `KMP_STACKSIZE` in bytes.
    pub(crate) stack_size: Option<u64>,
    /// `KMP_ENABLE_TASK_THROTTLING`: a thread with many tasks waiting in its queue runs new ones at once.
    pub(crate) throttles_tasks: bool,
    /// `KMP_TEAMS_THREAD_LIMIT`.
    pub(crate) teams_limit: Option<u32>,
    /// `KMP_TEAMS_PROC_BIND`.
    pub(crate) teams_bind: ProcBind,
    /// `LIBOMP_NUM_HIDDEN_HELPER_THREADS`; 0 with `LIBOMP_USE_HIDDEN_HELPER_TASK` off.
    pub(crate) helpers: u32,
    /// `KMP_SETTINGS`.
    pub(crate) settings: bool,
    /// `KMP_VERSION`.
    pub(crate) version: bool,
}

/// Reads all of libomp's variables.
pub(super) fn read(from: &mut Source<'_>, given: bool) -> Libomp {
    let mut boolean_of = |name: &str, unset: bool| from.read(name, boolean).unwrap_or(unset);
    // These variables have no effect, but bad values are reported.
    boolean_of("KMP_DUPLICATE_LIB_OK", true);
    boolean_of("KMP_INIT_AT_FORK", true);
    boolean_of("KMP_WARNINGS", true);
    let throttles_tasks = boolean_of("KMP_ENABLE_TASK_THROTTLING", true);
    let settings = boolean_of("KMP_SETTINGS", false);
    let version = boolean_of("KMP_VERSION", false);
    let helps = boolean_of("LIBOMP_USE_HIDDEN_HELPER_TASK", true);
    let helpers = from
        .read("LIBOMP_NUM_HIDDEN_HELPER_THREADS", small)
        .unwrap_or(8);
    buffers(from);
    let limit = from.read("KMP_DEVICE_THREAD_LIMIT", positive);
    let older = from.read("KMP_ALL_THREADS", positive);
    Libomp {
        given,
        affinity: from.read("KMP_AFFINITY", |v| order::parse(v).ok_or(Bad)),
        blocktime_us: from.read("KMP_BLOCKTIME", |v| spins::blocktime(v).ok_or(Bad)),
        library: from.read("KMP_LIBRARY", |v| spins::library(v).ok_or(Bad)),
        thread_limit: limit.or(older),
        stack_size: from.read("KMP_STACKSIZE", size),
        throttles_tasks,
        teams_limit: from.read("KMP_TEAMS_THREAD_LIMIT", positive),
        teams_bind: from
            .read("KMP_TEAMS_PROC_BIND", teams_bind)
            .unwrap_or(ProcBind::Spread),
        helpers: if helps { helpers } else { 0 },
        settings,
        version,
    }
}

/// The replacement for a value of `OMP_SCHEDULE` that names one of libomp's own schedules: the nearest
/// schedule of this runtime, with the same chunk.
pub(super) fn schedule(value: &[u8]) -> Option<Vec<u8>> {
    let text = text(value).ok()?;
    let (kind, chunk) = text.split_at(text.find(',').unwrap_or(text.len()));
    let ours = match kind.trim() {
        "trapezoidal" => "guided",
        "static_steal" => "dynamic",
        _ => return None,
    };
    Some(format!("{ours}{chunk}").into_bytes())
}

pub(super) fn is_trapezoidal(value: &[u8]) -> bool {
    text(value).is_ok_and(|t| t.split(',').next().map(str::trim) == Some("trapezoidal"))
}

/// The kind of places that libomp uses for a bad `OMP_PLACES`: the kind that the value begins with, else
/// cores.
pub(super) fn intended_places(value: &[u8]) -> PlaceKind {
    let text = text(value).unwrap_or_default();
    PlaceKind::ALL
        .into_iter()
        .find(|kind| text.starts_with(kind.name()))
        .unwrap_or(PlaceKind::Cores)
}

/// The value as a lower-case word.
fn text(value: &[u8]) -> Result<String, Bad> {
    let text = str::from_utf8(value).map_err(|_| Bad)?;
    Ok(text.trim().to_ascii_lowercase())
}

/// Reads a boolean as libomp does.
pub(crate) fn boolean(value: &[u8]) -> Result<bool, Bad> {
    match text(value)?.as_str() {
        "true" | ".true." | "t" | "on" | "yes" | "y" | "1" | "enabled" => Ok(true),
        "false" | ".false." | "f" | "off" | "no" | "n" | "0" | "disabled" => Ok(false),
        _ => Err(Bad),
    }
}

fn positive(value: &[u8]) -> Result<u32, Bad> {
    let n: i32 = text(value)?.parse().map_err(|_| Bad)?;
    u32::try_from(n).ok().filter(|&n| n > 0).ok_or(Bad)
}

/// A number of threads, small enough for a list with an entry for each.
fn small(value: &[u8]) -> Result<u32, Bad> {
    text(value)?
        .parse()
        .ok()
        .filter(|&n| n <= 1 << 16)
        .ok_or(Bad)
}

/// `KMP_DISP_NUM_BUFFERS` has no effect, but bad values are reported.
fn buffers(from: &mut Source<'_>) {
    const NAME: &str = "KMP_DISP_NUM_BUFFERS";
    let Some(value) = from.get(NAME) else {
        return;
    };
    match text(&value).map(|v| v.parse::<i64>()) {
        Ok(Ok(..=0)) => from.refuse_because(NAME, &value, "too small (expected 1 to 4096)"),
        Ok(Ok(4097..)) => from.refuse_because(NAME, &value, "too large (expected 1 to 4096)"),
        Ok(Ok(_)) => {}
        _ => from.refuse_because(NAME, &value, "not a whole number (expected 1 to 4096)"),
    }
}

fn teams_bind(value: &[u8]) -> Result<ProcBind, Bad> {
    match text(value)?.as_str() {
        "spread" => Ok(ProcBind::Spread),
        "close" => Ok(ProcBind::Close),
        "primary" | "master" => Ok(ProcBind::Primary),
        _ => Err(Bad),
    }
}

/// Reads a number of bytes, with an optional unit.
fn size(value: &[u8]) -> Result<u64, Bad> {
    let text = text(value)?;
    let text = match text.strip_suffix('b') {
        Some(rest) if !rest.is_empty() => rest,
        _ => &text,
    };
    let (number, shift) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 10),
        Some(b'm') => (&text[..text.len() - 1], 20),
        Some(b'g') => (&text[..text.len() - 1], 30),
        Some(b't') => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let n: u64 = number.trim().parse().map_err(|_| Bad)?;
    if n.leading_zeros() < shift {
        return Err(Bad);
    }
    Ok(n << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let of = |v: &str| size(v.as_bytes()).ok();
        assert_eq!(of("65536"), Some(65536));
        assert_eq!(of("64k"), Some(65536));
        assert_eq!(of("2 MB"), Some(2 << 20));
        assert_eq!(of("100b"), Some(100));
        for bad in ["", "k", "b", "-1", "1x", "99999999999t"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn schedules_and_places_of_libomp() {
        assert_eq!(
            schedule(b"Static_Steal, 7").as_deref(),
            Some(&b"dynamic, 7"[..])
        );
        assert_eq!(schedule(b"trapezoidal").as_deref(), Some(&b"guided"[..]));
        assert_eq!(schedule(b"static"), None);
        assert!(is_trapezoidal(b" trapezoidal ,3") && !is_trapezoidal(b"guided"));
        assert_eq!(intended_places(b"sockets("), PlaceKind::Sockets);
        assert_eq!(intended_places(b"what"), PlaceKind::Cores);
    }

    #[test]
    fn booleans_and_words() {
        assert_eq!(boolean(b" ON ").ok(), Some(true));
        assert_eq!(boolean(b"0").ok(), Some(false));
        assert!(boolean(b"maybe").is_err() && boolean(b"\xff").is_err());
        assert_eq!(teams_bind(b"MASTER").ok(), Some(ProcBind::Primary));
        assert!(positive(b"0").is_err() && positive(b"3000000000").is_err());
    }
}
