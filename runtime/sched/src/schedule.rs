//! The schedules by name, and the text of `OMP_SCHEDULE` that chooses one.

mod arguments;
mod table;

use arguments::{blank, chunk};
use core::fmt;
pub use table::{Ahead, Kind, Order, Row, SchedKind, Second, DEFAULT_FRACTION, NOTATIONS, TABLE};

/// Ordering modifier (OpenMP 5.0, 2.9.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Modifier {
    /// The text had no modifier.
    #[default]
    None,
    /// Every thread gets its chunks in increasing order of iterations.
    Monotonic,
    /// Chunks may come in any order.
    Nonmonotonic,
}

/// A schedule as chosen by the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The kind, with its parameters.
    pub kind: Kind,
    /// Ordering modifier as written.
    pub modifier: Modifier,
    /// Chunk size in iterations as written, at least 1; `None` where the text gives none. `static,0` counts
    /// as no chunk size.
    pub chunk: Option<u64>,
}

/// The error of a text that is no schedule, with the schedule that is used instead.
#[derive(Clone, Debug, PartialEq)]
pub struct BadSchedule {
    /// The syntax that is expected: one line, without the message's prefix and without the bad value.
    pub expected: String,
    /// The schedule that is used nevertheless. As in libgomp, a bad chunk keeps the kind, with a chunk of 1;
    /// any other error selects the default schedule.
    pub effective: Schedule,
}

impl fmt::Display for BadSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expected)
    }
}

impl std::error::Error for BadSchedule {}

impl Default for Schedule {
    /// `dynamic,1`: what libgomp uses for `schedule(runtime)` where `OMP_SCHEDULE` is not set.
    fn default() -> Self {
        Schedule {
            kind: Kind::Dynamic,
            modifier: Modifier::None,
            chunk: Some(1),
        }
    }
}

impl Schedule {
    /// The schedule `kind` without modifier and without chunk size.
    #[must_use]
    pub fn plain(kind: Kind) -> Self {
        Schedule {
            kind,
            modifier: Modifier::None,
            chunk: None,
        }
    }

    /// Reads the value of `OMP_SCHEDULE`. Upper and lower case are alike, and blanks are skipped wherever
    /// libgomp skips them.
    pub fn parse(text: &str) -> Result<Self, BadSchedule> {
        let bad = |expected: String| BadSchedule {
            expected,
            effective: Schedule::default(),
        };
        let unknown = || {
            bad(format!(
                "[monotonic:|nonmonotonic:] and one of {}",
                NOTATIONS.join(", ")
            ))
        };
        let text = text.trim_matches(blank);
        let lower = text.to_ascii_lowercase();
        let mut rest = lower.as_str();
        let mut modifier = Modifier::None;
        for (word, m) in [
            ("monotonic", Modifier::Monotonic),
            ("nonmonotonic", Modifier::Nonmonotonic),
        ] {
            if let Some(after) = rest.strip_prefix(word) {
                let after = after.trim_start_matches(blank);
                rest = after.strip_prefix(':').ok_or_else(unknown)?;
                rest = rest.trim_start_matches(blank);
                modifier = m;
                break;
            }
        }
        // The longest, since some begin like others.
        let row = TABLE
            .iter()
            .filter(|row| rest.starts_with(row.word))
            .max_by_key(|row| row.word.len())
            .ok_or_else(unknown)?;
        let args = rest[row.word.len()..].trim_start_matches(blank);
        let (kind, args) = (row.read)(args, row.notation).map_err(bad)?;
        let mut schedule = Schedule {
            kind,
            modifier,
            chunk: None,
        };
        if row.second.is_chunk() {
            schedule.chunk = match chunk(args) {
                Ok(c) => c,
                Err(expected) => {
                    schedule.chunk = Some(1);
                    return Err(BadSchedule {
                        expected,
                        effective: schedule,
                    });
                }
            };
            if schedule.chunk == Some(0) {
                let is_static = schedule.kind == Kind::Static;
                schedule.chunk = if is_static { None } else { Some(1) };
            }
        }
        Ok(schedule)
    }

    /// Whether this is a schedule of hetmp's own, for which a program's
    /// explicit `dynamic` and `guided` are replaced too.
    #[must_use]
    pub const fn is_ours(&self) -> bool {
        self.kind.name().is_ours()
    }

    /// The schedule that really runs: `auto` is `static`.
    #[must_use]
    pub fn executes_as(&self) -> Schedule {
        match self.kind {
            Kind::Auto => Schedule {
                kind: Kind::Static,
                modifier: self.modifier,
                chunk: None,
            },
            _ => self.clone(),
        }
    }
}

impl fmt::Display for Kind {
    /// The syntax of `OMP_SCHEDULE`, without modifier and chunk.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().row().word)?;
        match self {
            Kind::AidHybrid { part } => write!(f, ",{}%", tidy(part * 100.0)),
            Kind::AidDynamic { major: Some(major) } => write!(f, ",{major}"),
            Kind::HetProbe { probe } | Kind::HetProbeI { probe, jump: None } => {
                write!(f, ",{}%", tidy(probe * 100.0))
            }
            Kind::HetProbeI {
                probe,
                jump: Some(jump),
            } => write!(f, ",{}%,{}%", tidy(probe * 100.0), tidy(jump * 100.0)),
            Kind::StaticCsr { ratios } => ratios
                .iter()
                .enumerate()
                .try_for_each(|(i, r)| write!(f, "{}{r}", if i == 0 { ':' } else { ',' })),
            _ => Ok(()),
        }
    }
}

/// Undoes the rounding of a division by 100.
fn tidy(percent: f64) -> f64 {
    (percent * 1e9).round() / 1e9
}

impl fmt::Display for Schedule {
    /// The syntax of `OMP_SCHEDULE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.modifier {
            Modifier::None => {}
            Modifier::Monotonic => f.write_str("monotonic:")?,
            Modifier::Nonmonotonic => f.write_str("nonmonotonic:")?,
        }
        write!(f, "{}", self.kind)?;
        match self.chunk {
            Some(c) => write!(f, ",{c}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `text` with `made` between its marks.
    fn generated(text: &str, made: &str) -> String {
        let (before, rest) = text.split_once("BEGIN generated").expect("a mark");
        let (end_of_line, rest) = rest.split_once('\n').expect("a line");
        let at = rest.find("END generated").expect("a mark");
        let at = rest[..at].rfind('\n').map_or(0, |line| line + 1);
        format!(
            "{before}BEGIN generated{end_of_line}\n{made}{}",
            &rest[at..]
        )
    }

    /// The comment of a schedule in the C header, in lines of at most 100 columns.
    fn comment(row: &Row) -> String {
        let mut lines = vec![format!("    /* \"{}\":", row.notation)];
        for word in row.help.split_whitespace() {
            if lines[lines.len() - 1].len() + word.len() > 96 {
                lines.push("     *".to_owned());
            }
            *lines.last_mut().expect("a line") += &format!(" {word}");
        }
        lines.join("\n") + " */\n"
    }

    /// `HETMP_BLESS=1 cargo test -p hetmp-sched` writes page, header and variable anew.
    #[test]
    fn users_are_told_what_the_table_says() {
        let mut page = "| schedule | what it does |\n| --- | --- |\n".to_owned();
        for row in TABLE {
            page += &format!("| `{}` | {} |\n", row.notation, row.help.trim());
        }
        let ours = TABLE.iter().filter(|row| row.name.is_ours());
        let ours: Vec<String> = ours
            .map(|row| {
                let name = row.word.replace('-', "_");
                format!(
                    "{}    hetmp_sched_{name} = {:#x}",
                    comment(row),
                    row.name as u16
                )
            })
            .collect();
        let header = ours.join(",\n") + "\n";
        let variable = format!(
            "[monotonic:|nonmonotonic:] and one of {}\n",
            NOTATIONS.join(", ")
        );
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        for (file, made) in [
            ("docs/schedules.md", page),
            ("include/hetmp/omp_schedule.h", header),
            ("runtime/core/src/env/schedules.txt", variable),
        ] {
            let path = format!("{root}{file}");
            let old = std::fs::read_to_string(&path).expect(file);
            let new = match file.ends_with(".txt") {
                true => made,
                false => generated(&old, &made),
            };
            if std::env::var_os("HETMP_BLESS").is_some() {
                std::fs::write(&path, &new).expect(file);
            } else {
                assert_eq!(
                    old, new,
                    "{file}: run HETMP_BLESS=1 cargo test -p hetmp-sched"
                );
            }
        }
    }

    #[test]
    fn accepted_texts() {
        for (text, shown) in [
            ("static", "static"),
            (" STATIC , 0 ", "static"),
            ("dynamic,4", "dynamic,4"),
            ("dynamic , 0", "dynamic,1"),
            ("\tGuided,7\n", "guided,7"),
            ("auto", "auto"),
            ("auto,2", "auto,2"),
            ("monotonic:dynamic,4", "monotonic:dynamic,4"),
            ("Monotonic : Static", "monotonic:static"),
            ("nonmonotonic:guided", "nonmonotonic:guided"),
            ("dynamic,+3", "dynamic,3"),
            ("dynamic,2147483647", "dynamic,2147483647"),
            ("hetprobe", "hetprobe,10%"),
            ("HetProbe,5", "hetprobe,5%"),
            ("hetprobe, 7.5 %", "hetprobe,7.5%"),
            ("nonmonotonic:hetprobe,7", "nonmonotonic:hetprobe,7%"),
            ("monotonic:hetprobe-i", "monotonic:hetprobe-i,10%"),
            ("monotonic:static-csr:3,1", "monotonic:static-csr:3,1"),
            ("monotonic:cross-dynamic,2", "monotonic:cross-dynamic,2"),
            ("hetprobe-i", "hetprobe-i,10%"),
            ("hetprobe-i,5", "hetprobe-i,5%"),
            ("hetprobe-i,10,10", "hetprobe-i,10%,10%"),
            ("hetprobe-i,20,30%", "hetprobe-i,20%,30%"),
            ("static-csr:3,1", "static-csr:3,1"),
            ("static-csr : 2.5 , 1 , 1", "static-csr:2.5,1,1"),
            ("cross-dynamic", "cross-dynamic"),
            ("cross-dynamic,16", "cross-dynamic,16"),
            ("static-csr:1,0", "static-csr:1,0"),
            ("static-csr:-0,1", "static-csr:0,1"),
            ("AID-static", "aid-static"),
            ("aid-static,4", "aid-static,4"),
            ("aid-hybrid", "aid-hybrid,80%"),
            ("aid-hybrid , 60 % , 2", "aid-hybrid,60%,2"),
            ("aid-dynamic", "aid-dynamic"),
            ("aid-dynamic,20", "aid-dynamic,20"),
            ("aid-dynamic, 20, 0", "aid-dynamic,20,1"),
        ] {
            let s = Schedule::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(s.to_string(), shown, "{text}");
            assert_eq!(Schedule::parse(shown).as_ref(), Ok(&s));
        }
    }

    #[test]
    fn examples_print_themselves() {
        for row in TABLE {
            for example in row.examples {
                let schedule = Schedule::parse(example).expect(example);
                assert_eq!(schedule.kind.name(), row.name, "{example}");
                assert_eq!(schedule.to_string(), *example);
                let has_ratios = !schedule.kind.ratios().is_empty();
                assert_eq!(
                    has_ratios,
                    row.ahead == Ahead::Given,
                    "{example}: Kind::ratios"
                );
            }
        }
    }

    #[test]
    fn refused_texts() {
        for (text, effective, says) in [
            ("", "dynamic,1", "hetprobe[,probe%]"),
            ("fast", "dynamic,1", "hetprobe[,probe%]"),
            ("monotonic dynamic", "dynamic,1", "monotonic:"),
            ("static,", "static,1", "chunk size"),
            ("guided,x", "guided,1", "chunk size"),
            ("dynamic,4x", "dynamic,1", "chunk size"),
            ("dynamic,-1", "dynamic,1", "chunk size"),
            ("dynamic,2147483648", "dynamic,1", "chunk size"),
            ("dynamics", "dynamic,1", "chunk size"),
            (
                "nonmonotonic:guided;4",
                "nonmonotonic:guided,1",
                "chunk size",
            ),
            ("hetprobe,0", "dynamic,1", "percentages"),
            ("hetprobe,101", "dynamic,1", "percentages"),
            ("hetprobe,nan", "dynamic,1", "percentages"),
            ("hetprobe,5,5", "dynamic,1", "percentages"),
            ("hetprobe5", "dynamic,1", "percentages"),
            ("hetprobe-i,5,5,5", "dynamic,1", "percentages"),
            ("static-csr", "dynamic,1", "number per node"),
            ("static-csr:0,0", "dynamic,1", "not all of them 0"),
            ("static-csr:1,-1", "dynamic,1", "0 or more"),
            ("static-csr:1,inf", "dynamic,1", "number per node"),
            ("static-csr:1,,2", "dynamic,1", "number per node"),
            ("aid-static,x", "aid-static,1", "chunk size"),
            ("aid-static,1,2", "aid-static,1", "chunk size"),
            ("aid-hybrid,0", "dynamic,1", "part%"),
            ("aid-hybrid,101,2", "dynamic,1", "part%"),
            ("aid-hybrid,50,x", "aid-hybrid,50%,1", "chunk size"),
            ("aid-dynamic,0", "dynamic,1", "major"),
            ("aid-dynamic,x", "dynamic,1", "major"),
            ("aid-dynamic,9,9,9", "aid-dynamic,9,1", "chunk size"),
            ("aid", "dynamic,1", "aid-static"),
        ] {
            let e = Schedule::parse(text).expect_err(text);
            assert_eq!(e.effective.to_string(), effective, "{text}");
            assert!(e.expected.contains(says), "{text}: {e}");
            assert!(!e.expected.contains('\n'));
        }
    }

    #[test]
    fn what_runs() {
        let s = Schedule::parse("hetprobe-i,5,6").unwrap();
        assert!(s.is_ours());
        assert_eq!(s.executes_as(), s);
        assert_eq!(
            s.kind,
            Kind::HetProbeI {
                probe: 0.05,
                jump: Some(0.06)
            }
        );
        let auto = Schedule::parse("auto,3").unwrap();
        assert_eq!(auto.executes_as(), Schedule::plain(Kind::Static));
        assert!(!auto.is_ours());
    }
}
