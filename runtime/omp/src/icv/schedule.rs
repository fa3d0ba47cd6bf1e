//! Conversion between the schedules of `hetmp-sched`, which know the notation and hold real numbers, and
//! [`RunSched`], which every task copies and `omp_get_schedule` shows as two integers.

use hetmp_sched::schedule::{
    BadSchedule, Kind, Modifier, SchedKind, Schedule, Second, DEFAULT_FRACTION,
};

use super::kinds::RunSched;

/// Reads a value of `OMP_SCHEDULE`. A value with bytes that are not UTF-8 is never accepted.
pub(super) fn parse(value: &[u8]) -> Result<Schedule, BadSchedule> {
    Schedule::parse(&String::from_utf8_lossy(value))
}

impl From<&Schedule> for RunSched {
    fn from(schedule: &Schedule) -> Self {
        let kind = schedule.kind.name();
        let given = |none| {
            let chunk = schedule.chunk.map(|c| i32::try_from(c).unwrap_or(i32::MAX));
            chunk.unwrap_or(none)
        };
        let (chunk, jump_percent) = match (&schedule.kind, kind.row().second) {
            (Kind::HetProbe { probe }, _) => (percent(*probe), 0),
            (Kind::HetProbeI { probe, jump }, _) => {
                let jump = jump.map_or(0, |jump| percent(jump) as u8);
                (percent(*probe), jump)
            }
            (_, Second::Chunk(none)) => (given(none), 0),
            (_, Second::Kept) => (given(1), 0),
            (_, Second::Percent | Second::Nothing) => (0, 0),
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
        kind if environment.kind.name() == kind => environment.kind.clone(),
        kind => kind.plain(),
    };
    let chunk = run.kind.row().second.is_chunk();
    let chunk = u64::try_from(run.chunk).ok().filter(|&c| chunk && c > 0);
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
    use hetmp_sched::schedule::TABLE;
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

    #[test]
    fn ours_survive_as_integers() {
        let ours = TABLE.iter().filter(|row| row.name.is_ours());
        let of_the_table = ours.flat_map(|row| row.examples.iter().copied());
        let more = [
            "hetprobe,7",
            "cross-dynamic,9",
            "aid-static,3",
            "aid-hybrid,60,3",
            "guided,5",
            "nonmonotonic:static,4",
            "nonmonotonic:hetprobe,7%",
            "monotonic:hetprobe-i,20%,30%",
        ];
        for value in of_the_table.chain(more) {
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
