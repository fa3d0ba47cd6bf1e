//! Conversion between the schedules of `hetmp-sched`, which know the notation and hold real numbers, and
//! [`RunSched`], which every task copies and `omp_get_schedule` shows as two integers.

use hetmp_sched::aid::DEFAULT_PART;
use hetmp_sched::schedule::{BadSchedule, Kind, Modifier, Schedule, DEFAULT_FRACTION};

use super::kinds::{RunSched, SchedKind};

/// Reads a value of `OMP_SCHEDULE`. A value with bytes that are not UTF-8 is never accepted.
pub(super) fn parse(value: &[u8]) -> Result<Schedule, BadSchedule> {
    Schedule::parse(&String::from_utf8_lossy(value))
}

impl From<&Schedule> for RunSched {
    fn from(schedule: &Schedule) -> Self {
        let mut jump_percent = 0;
        let chunk = |none| {
            schedule
                .chunk
                .map_or(none, |c| i32::try_from(c).unwrap_or(i32::MAX))
        };
        let (kind, chunk) = match schedule.kind {
            Kind::Static => (SchedKind::Static, chunk(0)),
            Kind::Dynamic => (SchedKind::Dynamic, chunk(1)),
            Kind::Guided => (SchedKind::Guided, chunk(1)),
            Kind::Auto => (SchedKind::Auto, chunk(1)),
            Kind::HetProbe { probe } => (SchedKind::HetProbe, percent(probe)),
            Kind::HetProbeI { probe, jump } => {
                jump_percent = jump.map_or(0, |jump| percent(jump) as u8);
                (SchedKind::HetProbeI, percent(probe))
            }
            Kind::StaticCsr { .. } => (SchedKind::StaticCsr, 0),
            Kind::CrossDynamic => (SchedKind::CrossDynamic, chunk(0)),
            Kind::AidStatic => (SchedKind::AidStatic, chunk(0)),
            Kind::AidHybrid { .. } => (SchedKind::AidHybrid, chunk(0)),
            Kind::AidDynamic { .. } => (SchedKind::AidDynamic, chunk(0)),
        };
        Self {
            kind,
            modifier: match schedule.modifier {
                // A static schedule without modifier has been monotonic since OpenMP 4.5.
                Modifier::None if kind == SchedKind::Static => Modifier::Monotonic,
                modifier => modifier,
            },
            jump_percent,
            chunk,
        }
    }
}

/// A part in (0, 1] as a whole percentage of at least 1, since 0 means "not given".
fn percent(part: f64) -> i32 {
    hetmp_core::float::apart(|| (part * 100.0).round().clamp(1.0, 100.0) as i32)
}

/// The schedule that `run` describes. `environment` supplies what `run` has no room for: the ratios of
/// `static-csr`, and the parameters of the `aid-` schedules other than the chunk.
pub(super) fn from_run(run: RunSched, environment: &Schedule) -> Schedule {
    let part = |percent: i32| match percent {
        1..=100 => hetmp_core::float::apart(|| f64::from(percent) / 100.0),
        _ => DEFAULT_FRACTION,
    };
    let kind = match run.kind {
        SchedKind::Static => Kind::Static,
        SchedKind::Dynamic => Kind::Dynamic,
        SchedKind::Guided | SchedKind::Trapezoidal => Kind::Guided,
        SchedKind::Auto => Kind::Auto,
        SchedKind::HetProbe => Kind::HetProbe {
            probe: part(run.chunk),
        },
        SchedKind::HetProbeI => Kind::HetProbeI {
            probe: part(run.chunk),
            jump: match run.jump_percent {
                0 => None,
                given => Some(part(i32::from(given))),
            },
        },
        SchedKind::StaticCsr => match &environment.kind {
            Kind::StaticCsr { ratios } => Kind::StaticCsr {
                ratios: ratios.clone(),
            },
            _ => Kind::Static,
        },
        SchedKind::CrossDynamic => Kind::CrossDynamic,
        SchedKind::AidStatic => Kind::AidStatic,
        SchedKind::AidHybrid => match environment.kind {
            Kind::AidHybrid { part } => Kind::AidHybrid { part },
            _ => Kind::AidHybrid { part: DEFAULT_PART },
        },
        SchedKind::AidDynamic => match environment.kind {
            Kind::AidDynamic { major } => Kind::AidDynamic { major },
            _ => Kind::AidDynamic { major: None },
        },
    };
    let chunk = match run.kind {
        SchedKind::HetProbe | SchedKind::HetProbeI | SchedKind::StaticCsr => None,
        _ => u64::try_from(run.chunk).ok().filter(|&c| c > 0),
    };
    let modifier = match run.modifier {
        Modifier::None if kind == Kind::Static => Modifier::Nonmonotonic,
        modifier => modifier,
    };
    Schedule {
        kind,
        modifier,
        chunk,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_sched::schedule::{words, NOTATIONS};
    use proptest::prelude::*;

    fn read(value: &str) -> (SchedKind, bool, i32, bool) {
        let parsed = parse(value.as_bytes());
        let good = parsed.is_ok();
        let run = RunSched::from(&parsed.unwrap_or_else(|bad| bad.effective));
        (
            run.kind,
            run.modifier == Modifier::Monotonic,
            run.chunk,
            good,
        )
    }

    #[test]
    fn as_libgomp_reads_them() {
        use SchedKind::{Auto, Dynamic, Guided, Static};
        for (value, want) in [
            ("static", (Static, true, 0, true)),
            (" STATIC , 3 ", (Static, true, 3, true)),
            ("nonmonotonic : static", (Static, false, 0, true)),
            ("monotonic:dynamic,4", (Dynamic, true, 4, true)),
            ("guided,0", (Guided, false, 1, true)),
            ("auto", (Auto, false, 1, true)),
            ("auto,7", (Auto, false, 7, true)),
            // Refused, and yet the kind is used.
            ("static,x", (Static, true, 1, false)),
            ("guided foo", (Guided, false, 1, false)),
            ("monotonic:guided,", (Guided, true, 1, false)),
            // Refused completely.
            ("monotonic guided", (Dynamic, false, 1, false)),
            ("fast", (Dynamic, false, 1, false)),
            ("", (Dynamic, false, 1, false)),
            // libgomp uses a negative chunk as it is, and its loops then never end.
            ("dynamic,-1", (Dynamic, false, 1, false)),
        ] {
            assert_eq!(read(value), want, "{value}");
        }
        assert_eq!(RunSched::from(&Schedule::default()), RunSched::DEFAULT);
    }

    /// Whoever adds a schedule is led to all that tells users of it.
    #[test]
    fn each_schedule_is_told_to_users() {
        let page = include_str!("../../../../docs/schedules.md");
        let header = include_str!("../../../../include/hetmp/omp_schedule.h");
        let row = hetmp_core::env::lookup("OMP_SCHEDULE").unwrap();
        for (notation, word) in NOTATIONS.into_iter().zip(words()) {
            let value = word.replace("static-csr", "static-csr:1");
            let kind = RunSched::from(&parse(value.as_bytes()).unwrap()).kind;
            assert_eq!(SchedKind::from_raw(kind as u32), Some(kind), "{word}");
            assert!(page.contains(&format!("`{word}")), "{word}");
            if kind.is_ours() {
                let name = word.replace('-', "_");
                let number = format!("hetmp_sched_{name} = {:#x}", kind as u16);
                assert!(header.contains(&number), "{number}");
                assert!(row.accepts.contains(notation), "{notation}");
            }
        }
    }

    #[test]
    fn ours_survive_as_integers() {
        for value in [
            "hetprobe,7",
            "hetprobe-i,20,30",
            "cross-dynamic,9",
            "static-csr:3,1",
            "aid-static,3",
            "aid-hybrid,60,3",
            "aid-dynamic,30",
            "guided,5",
            "nonmonotonic:static,4",
            "nonmonotonic:hetprobe,7%",
            "monotonic:hetprobe-i,20%,30%",
        ] {
            let schedule = parse(value.as_bytes()).expect(value);
            let run = RunSched::from(&schedule);
            assert_eq!(from_run(run, &schedule).to_string(), schedule.to_string());
        }
        let csr = RunSched {
            kind: SchedKind::StaticCsr,
            ..RunSched::DEFAULT
        };
        assert_eq!(from_run(csr, &Schedule::default()).kind, Kind::Static);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(v in proptest::collection::vec(any::<u8>(), 0..48)) {
            let _ = parse(&v).map(|s| RunSched::from(&s));
        }
    }
}
