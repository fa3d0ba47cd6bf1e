//! How values of the types in the table are read, and what is said of a bad one: one meaning of each type everywhere.

use super::text::quoted;
use super::{lookup, snapshot};
use crate::report;
use core::ops::RangeInclusive;
use core::str::FromStr;
use core::sync::atomic::{AtomicBool, Ordering};

/// Reads a switch: `1`, `true`, `yes` and `on`, or `0`, `false`, `no` and `off`, in letters of any case, with blanks
/// around them. `None`: neither.
#[must_use]
pub fn switch(value: &[u8]) -> Option<bool> {
    let words = [
        ("1", true),
        ("true", true),
        ("yes", true),
        ("on", true),
        ("0", false),
        ("false", false),
        ("no", false),
        ("off", false),
    ];
    word(value, &words)
}

/// The meaning of the one of `words` (lower-case ASCII) that `value` is, in letters of any case, with blanks around it.
#[must_use]
pub fn word<T: Copy>(value: &[u8], words: &[(&str, T)]) -> Option<T> {
    let value = value.trim_ascii();
    let found = words
        .iter()
        .find(|(word, _)| value.eq_ignore_ascii_case(word.as_bytes()));
    found.map(|(_, meaning)| *meaning)
}

/// What is said of a bad value: `NAME: 'VALUE': what is wrong (expected ...)`, by the table's row of `name`, which may
/// have a suffix such as `_ALL`.
#[must_use]
pub fn refusal(name: &str, value: &[u8]) -> String {
    let base = name.strip_suffix("_ALL").unwrap_or(name);
    let (wrong, expected) = lookup(base).map_or(("not usable", "another value"), |v| {
        (v.kind.wrong(), v.accepts)
    });
    format!("{name}: {}: {wrong} (expected {expected})", quoted(value))
}

/// The value of the switch `name` in the snapshot; false where it is unset or empty. A bad value costs a line.
#[must_use]
pub fn is_on(name: &str) -> bool {
    chosen(name, switch).unwrap_or(false)
}

/// The value of `name` in the snapshot, as `read` reads it; `None` where it is unset or empty. A bad value costs a
/// line.
pub fn chosen<T>(name: &str, read: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    debug_assert!(lookup(name).is_some(), "{name}: not in the table");
    let value = snapshot().get(name)?.trim_ascii();
    if value.is_empty() {
        return None;
    }
    let meaning = read(value);
    if meaning.is_none() {
        report::warn(format_args!("{}", refusal(name, value)));
    }
    meaning
}

/// The number that `name` has in the snapshot; `None` where it is unset or empty. One that is not in `range` costs a
/// line.
pub fn number<T: FromStr + PartialOrd>(name: &str, range: RangeInclusive<T>) -> Option<T> {
    chosen(name, |value| {
        let number = core::str::from_utf8(value).ok()?.parse().ok()?;
        range.contains(&number).then_some(number)
    })
}

/// Names, once in the process, the variables that are set and begin as ours or the specifications' but are none:
/// `HETMP_NICK: unknown (expected perhaps HETMP_NIC)`.
pub fn name_unknown() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    for name in snapshot().unknown() {
        let expected = match meant(name) {
            Some(meant) => format!("perhaps {meant}"),
            None if is_of_nobody(name) => "a name that hetmp info --env lists".to_owned(),
            None => continue,
        };
        let name = String::from_utf8_lossy(name);
        report::warn(format_args!("{name}: unknown (expected {expected})"));
    }
}

/// Our names that programs may find in their environment and the library does not read: hetrun's, and those of
/// installations and tests.
const OTHERS: [&str; 6] = ["JOB", "LIB", "PREFIX", "ROOT", "DIR", "HOME"];

/// Does `name`, which is not in the table, begin with `HETMP_` and mean nothing?
pub(super) fn is_of_nobody(name: &[u8]) -> bool {
    name.strip_prefix(b"HETMP_").is_some_and(|rest| {
        !rest.starts_with(b"TEST_") && OTHERS.iter().all(|other| other.as_bytes() != rest)
    })
}

/// The name of the table that `name` is perhaps a misspelling of.
#[must_use]
pub(super) fn meant(name: &[u8]) -> Option<&'static str> {
    // One letter in ten, and at least one: a variable of somebody else that only resembles ours gets no line.
    let most = (name.len() / 10).max(1);
    let near = super::TABLE
        .iter()
        .map(|v| (distance(name, v.name.as_bytes()), v.name));
    near.min().filter(|(d, _)| *d <= most).map(|(_, name)| name)
}

/// How many letters have to be put in, left out, changed, or swapped with their neighbours to make `a` of `b` (optimal
/// string alignment).
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut earlier = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = above[j] + usize::from(x != y);
            let least = changed.min(above[j + 1] + 1).min(row[j] + 1);
            let swapped = i > 0 && j > 0 && (*x, a[i - 1]) == (b[j - 1], *y);
            row.push(match swapped {
                true => least.min(earlier[j - 1] + 1),
                false => least,
            });
        }
        earlier = core::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_has_one_meaning() {
        for on in ["1", "true", "TRUE", "Yes", " on\t"] {
            assert_eq!(switch(on.as_bytes()), Some(true), "{on}");
        }
        for off in ["0", "False", "no", "OFF"] {
            assert_eq!(switch(off.as_bytes()), Some(false), "{off}");
        }
        for neither in ["", "2", "t", "enabled", "on off"] {
            assert_eq!(switch(neither.as_bytes()), None, "{neither}");
        }
    }

    #[test]
    fn a_refusal_says_what_is_wrong_and_what_is_expected() {
        assert_eq!(
            refusal("OMP_DYNAMIC_ALL", b"perhaps\n"),
            "OMP_DYNAMIC_ALL: 'perhaps\\n': neither true nor false (expected true or false)"
        );
        assert_eq!(
            refusal("OMP_WAIT_POLICY", b"busy"),
            "OMP_WAIT_POLICY: 'busy': unknown (expected active or passive)"
        );
    }

    #[test]
    fn misspelt_names_are_near_what_was_meant() {
        for (name, meant_name) in [
            ("HETMP_NICK", Some("HETMP_NIC")),
            ("HETMP_REPROT", Some("HETMP_REPORT")),
            ("OMP_NUM_THREDAS", Some("OMP_NUM_THREADS")),
            ("SHMEM_SYMETRIC_SIZE", Some("SHMEM_SYMMETRIC_SIZE")),
            ("OMP_NUM_THREAD", Some("OMP_NUM_THREADS")),
            ("HETMP_SHEDULE", Some("HETMP_SCHEDULE")),
            ("HETMP_LIB", None),
            ("OMP_WORKER", None),
        ] {
            assert_eq!(meant(name.as_bytes()), meant_name, "{name}");
        }
    }
}
