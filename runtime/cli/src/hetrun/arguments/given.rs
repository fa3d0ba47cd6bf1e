//! One option of the command line with its values, and what they are: numbers, variables, bindings.

use super::{printable, quoted, Run, MOST};
use crate::options::{Means, Row, ROWS};
use crate::places::Bind;
use hetmp_core::topo::PlaceKind;
use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// An option with its values.
pub(super) struct Given {
    pub(super) row: &'static Row,
    /// As it was written, without values.
    option: String,
    pub(super) values: Vec<OsString>,
}

impl Given {
    pub(super) fn new(
        argument: &OsStr,
        rest: &mut impl Iterator<Item = OsString>,
    ) -> Result<Self, String> {
        let unknown = || {
            format!(
                "option: {}: unknown (expected one that hetrun --help lists)",
                quoted(argument)
            )
        };
        let bytes = argument.as_bytes();
        let dashes = if bytes.starts_with(b"--") { 2 } else { 1 };
        let equals = bytes.iter().position(|&b| b == b'=');
        // A letter with one dash has its value in the next word.
        let equals = equals.filter(|at| dashes == 2 || *at > 2);
        let end = equals.unwrap_or(bytes.len());
        let name = std::str::from_utf8(&bytes[dashes..end]).map_err(|_| unknown())?;
        let mut values: Vec<OsString> = equals
            .map(|at| OsString::from_vec(bytes[at + 1..].to_vec()))
            .into_iter()
            .collect();
        let find = |name: &str| ROWS.iter().find(|row| row.names.contains(&name));
        let mut found = match (dashes, name) {
            // The option of MPICH's mpiexec, which has a list of hosts.
            (1, "hosts") => find("host"),
            _ => find(name),
        };
        // As in -n4, -np4.
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if found.is_none() && equals.is_none() && stem.len() < name.len() {
            found = find(stem).filter(|row| matches!(row.means, Means::Processes | Means::PerHost));
            values.push(name[stem.len()..].into());
        }
        let row = found.ok_or_else(unknown)?;
        let wanted = row.values.split_whitespace().count();
        if values.len() > wanted {
            return Err(unknown());
        }
        let option = format!("{}{name}", &"--"[..dashes]);
        let missing = wanted - values.len();
        values.extend(rest.take(missing));
        if values.len() < wanted {
            return Err(format!(
                "option {option}: a value is missing (expected {})",
                row.values
            ));
        }
        Ok(Self {
            row,
            option,
            values,
        })
    }

    pub(super) fn refuse(&self, what: &str, expected: &str) -> String {
        let value = quoted(&self.values[0]);
        format!(
            "option {}: {value}: {what} (expected {expected})",
            self.option
        )
    }

    pub(super) fn number(
        &self,
        accepted: RangeInclusive<u32>,
        expected: &str,
    ) -> Result<u32, String> {
        self.values[0]
            .to_str()
            .and_then(|text| text.parse().ok())
            .filter(|n| accepted.contains(n))
            .ok_or_else(|| self.refuse("not a number in range", expected))
    }

    pub(super) fn count(&self) -> Result<u32, String> {
        self.number(1..=MOST, &format!("1 to {MOST}"))
    }

    pub(super) fn text(&self) -> Result<String, String> {
        let text = self.values[0].to_str().map(str::to_owned);
        text.ok_or_else(|| self.refuse("not UTF-8", "UTF-8"))
    }

    /// A variable's name and value, from two words.
    pub(super) fn assignment(&self) -> Result<(OsString, Option<OsString>), String> {
        let name = &self.values[0];
        if name.is_empty() || name.as_bytes().contains(&b'=') {
            return Err(self.refuse("not a variable's name", "NAME VALUE"));
        }
        Ok((name.clone(), Some(self.values[1].clone())))
    }

    /// A variable's name and value, if there is one, from one word.
    pub(super) fn variable(&self) -> Result<(OsString, Option<OsString>), String> {
        let bytes = self.values[0].as_bytes();
        let mut parts = bytes.splitn(2, |&b| b == b'=');
        let mut next = || Some(OsStr::from_bytes(parts.next()?).to_owned());
        match (next(), next()) {
            (Some(name), value) if !name.is_empty() => Ok((name, value)),
            _ => Err(self.refuse("no name", "NAME or NAME=VALUE")),
        }
    }

    /// `core`, `core:4`, `none`, `socket:overload-allowed`, ...
    pub(super) fn bind(&self) -> Result<Bind, String> {
        let text = self.text()?.to_ascii_lowercase();
        let mut words = text.split(':');
        let what = words.next().unwrap_or_default();
        let mut bind = match what {
            "none" => Bind::None,
            "hwthread" => Bind::to(PlaceKind::Threads),
            "core" => Bind::to(PlaceKind::Cores),
            "l3cache" => Bind::to(PlaceKind::LlCaches),
            "numa" => Bind::to(PlaceKind::NumaDomains),
            "socket" | "package" => Bind::to(PlaceKind::Sockets),
            _ => return Err(self.not_a_binding()),
        };
        for word in words {
            match (&mut bind, word.parse::<u32>()) {
                (Bind::To { each, .. }, Ok(n)) if (1..=MOST).contains(&n) => *each = n,
                (Bind::To { strict, .. }, _)
                    if matches!(word, "overload-allowed" | "if-supported") =>
                {
                    *strict = false;
                }
                _ => return Err(self.not_a_binding()),
            }
        }
        Ok(bind)
    }

    fn not_a_binding(&self) -> String {
        self.refuse(
            "not a binding",
            "none, hwthread, core, l3cache, numa or socket; :N behind it is how many; :overload-allowed",
        )
    }

    /// `slot`, `node:PE=2`, `ppr:2:node`, ...
    pub(super) fn map(&self, run: &mut Run) -> Result<(), String> {
        let refused = || {
            self.refuse(
                "not a mapping",
                "slot, node or ppr:N:node; :PE=N, :OVERSUBSCRIBE behind it",
            )
        };
        let text = self.text()?.to_ascii_lowercase();
        let mut words = text.split([':', ',']);
        match words.next().unwrap_or_default() {
            "slot" => run.sharing.by_turns = false,
            "node" => run.sharing.by_turns = true,
            "ppr" => {
                let number = words.next().and_then(|n| n.parse().ok());
                let number = number.filter(|n| (1..=MOST).contains(n));
                if number.is_none() || words.next() != Some("node") {
                    return Err(refused());
                }
                run.sharing.per_host = number;
            }
            // Where on its host a process runs follows from its binding.
            "core" | "hwthread" | "l3cache" | "numa" | "socket" | "package" => {
                run.unheeded.push(self.whole());
            }
            _ => return Err(refused()),
        }
        for word in words {
            let each = word.strip_prefix("pe=").and_then(|n| n.parse().ok());
            match (word, each) {
                ("oversubscribe", _) => run.sharing.oversubscribe = true,
                (_, Some(n)) if (1..=MOST).contains(&n) => run.cores_each = Some(n),
                _ => return Err(refused()),
            }
        }
        Ok(())
    }

    /// The option and its values.
    pub(super) fn whole(&self) -> String {
        let mut text = self.option.clone();
        for value in &self.values {
            text.push(' ');
            text.push_str(&printable(value));
        }
        text
    }
}
