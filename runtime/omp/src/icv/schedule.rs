//! `OMP_SCHEDULE` and `HETMP_SCHEDULE`.

use super::parse::Bad;
use super::text::Cursor;
use super::{RunSched, SchedKind};

/// The outcome of reading one of the two variables.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parsed {
    /// The schedule that holds afterwards. A refused value may have changed it in part: libgomp
    /// keeps the kind that it understood when the chunk is wrong.
    pub(super) sched: RunSched,
    /// The ratios of `static-csr`.
    pub(super) csr_ratios: Vec<f64>,
    /// Whether the value is acceptable.
    pub(super) verdict: Result<(), Bad>,
}

/// Reads `value` where `before` holds so far.
pub(super) fn parse(value: &[u8], before: RunSched) -> Parsed {
    let mut sched = before;
    let verdict = standard(value, &mut sched);
    if verdict.is_err() && sched == before {
        if let Some((sched, csr_ratios)) = ours(value) {
            return Parsed {
                sched,
                csr_ratios,
                verdict: Ok(()),
            };
        }
    }
    Parsed {
        sched,
        csr_ratios: Vec::new(),
        verdict,
    }
}

/// The schedules of OpenMP, with libgomp's rules.
///
/// One difference: libgomp takes a negative chunk size as it is, and its loops then never end.
/// Here it is refused.
fn standard(value: &[u8], sched: &mut RunSched) -> Result<(), Bad> {
    let mut at = Cursor::new(value);
    at.skip_blanks();
    let monotonic = if at.eat_word("monotonic") {
        Some(true)
    } else if at.eat_word("nonmonotonic") {
        Some(false)
    } else {
        None
    };
    if monotonic.is_some() {
        if !at.skip_blanks().eat(b':') {
            return Err(Bad);
        }
        at.skip_blanks();
    }
    let kind = [
        ("static", SchedKind::Static),
        ("dynamic", SchedKind::Dynamic),
        ("guided", SchedKind::Guided),
        ("auto", SchedKind::Auto),
    ]
    .into_iter()
    // `static-csr` begins with the name of another kind.
    .find(|&(name, kind)| {
        at.eat_word(name) && !(kind == SchedKind::Static && at.peek() == Some(b'-'))
    })
    .map(|(_, kind)| kind)
    .ok_or(Bad)?;
    let is_static = kind == SchedKind::Static;
    sched.kind = kind;
    sched.monotonic = monotonic.unwrap_or(is_static);
    sched.jump_percent = 0;
    if at.skip_blanks().at_end() {
        sched.chunk = i32::from(!is_static);
        return Ok(());
    }
    if !at.eat(b',') {
        return Err(Bad);
    }
    let chunk = at.unsigned(10).value().ok_or(Bad)?;
    if !at.only_blanks_left() {
        return Err(Bad);
    }
    let chunk = i32::try_from(chunk).map_err(|_| Bad)?;
    sched.chunk = if is_static { chunk } else { chunk.max(1) };
    Ok(())
}

/// The schedules that OpenMP does not know.
fn ours(_value: &[u8]) -> Option<(RunSched, Vec<f64>)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(value: &str) -> (SchedKind, bool, i32, bool) {
        let p = parse(value.as_bytes(), RunSched::DEFAULT);
        (
            p.sched.kind,
            p.sched.monotonic,
            p.sched.chunk,
            p.verdict.is_ok(),
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
            // Refused, and yet the kind is taken.
            ("static,x", (Static, true, 1, false)),
            ("guided foo", (Guided, false, 1, false)),
            ("monotonic:guided,", (Guided, true, 1, false)),
            // Refused altogether.
            ("monotonic guided", (Dynamic, false, 1, false)),
            ("fast", (Dynamic, false, 1, false)),
            ("", (Dynamic, false, 1, false)),
            // Where we differ from libgomp.
            ("dynamic,-1", (Dynamic, false, 1, false)),
        ] {
            assert_eq!(read(value), want, "{value}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(v in proptest::collection::vec(any::<u8>(), 0..48)) {
            let _ = parse(&v, RunSched::DEFAULT);
        }
    }
}
