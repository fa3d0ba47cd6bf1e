//! The parsers of single variables, with libgomp's rules of acceptance.
//!
//! Each parser takes the bytes of a value and gives the result of libgomp 12. `Err(Bad)` is a refused value,
//! for which the caller prints one line. libgomp refuses some values and yet uses a part of them
//! (`OMP_DYNAMIC="true x"` is reported, and sets true). In these cases the error carries that part, because a
//! program must not behave differently here.

use super::kinds::{Allocator, ProcBind, StaticLoops, TargetOffload};
use crate::team::levels::Emulated;
use hetmp_core::env::text::{Cursor, Number};
use hetmp_sched::decide::Objective;

/// The value is not acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bad;

/// A whole number from 1, or from 0 with `allow_zero`, that fits a C `long`.
pub(super) fn long(value: &[u8], allow_zero: bool) -> Result<u64, Bad> {
    let mut at = Cursor::new(value);
    let n = at.unsigned(10).value().ok_or(Bad)?;
    // A negative number has wrapped to a value that does not fit a `long`.
    if n > i64::MAX as u64 || (n == 0 && !allow_zero) || !at.only_blanks_left() {
        return Err(Bad);
    }
    Ok(n)
}

/// [`long`] for values that must fit a C `int`.
pub(super) fn int(value: &[u8], allow_zero: bool) -> Result<i32, Bad> {
    i32::try_from(long(value, allow_zero)?).map_err(|_| Bad)
}

/// Positive numbers separated by commas.
pub(super) fn list(value: &[u8]) -> Result<Box<[u64]>, Bad> {
    let mut at = Cursor::new(value);
    let mut values = Vec::new();
    loop {
        let n = at.unsigned(10).value().ok_or(Bad)?;
        if n == 0 || n > i64::MAX as u64 {
            return Err(Bad);
        }
        values.push(n);
        if at.skip_blanks().at_end() {
            return Ok(values.into());
        }
        if !at.eat(b',') {
            return Err(Bad);
        }
    }
}

/// Reads `true` or `false`. The error holds the value that libgomp uses although it complains.
pub(super) fn boolean(value: &[u8]) -> Result<bool, Option<bool>> {
    let mut at = Cursor::new(value);
    at.skip_blanks();
    let b = if at.eat_word("true") {
        true
    } else if at.eat_word("false") {
        false
    } else {
        return Err(None);
    };
    if at.only_blanks_left() {
        Ok(b)
    } else {
        Err(Some(b))
    }
}

/// Finds the first of `words` that the value begins with; only blanks may follow it.
fn word<T: Copy>(value: &[u8], words: &[(&str, T)]) -> Result<T, Bad> {
    let mut at = Cursor::new(value);
    at.skip_blanks();
    for &(name, meaning) in words {
        if at.eat_word(name) {
            return if at.only_blanks_left() {
                Ok(meaning)
            } else {
                Err(Bad)
            };
        }
    }
    Err(Bad)
}

pub(crate) fn target_offload(value: &[u8]) -> Result<TargetOffload, Bad> {
    word(
        value,
        &[
            ("default", TargetOffload::Default),
            ("mandatory", TargetOffload::Mandatory),
            ("disabled", TargetOffload::Disabled),
        ],
    )
}

pub(super) fn allocator(value: &[u8]) -> Result<Allocator, Bad> {
    word(value, &Allocator::NAMES)
}

const BINDS: [(&str, ProcBind); 6] = [
    ("false", ProcBind::False),
    ("true", ProcBind::True),
    ("master", ProcBind::Primary),
    ("primary", ProcBind::Primary),
    ("close", ProcBind::Close),
    ("spread", ProcBind::Spread),
];

/// `true`, `false`, or policies separated by commas. Never empty.
pub(super) fn proc_bind(value: &[u8]) -> Result<Box<[ProcBind]>, Bad> {
    let mut at = Cursor::new(value);
    let mut values: Vec<ProcBind> = Vec::new();
    loop {
        at.skip_blanks();
        let &(_, bind) = BINDS.iter().find(|b| at.eat_word(b.0)).ok_or(Bad)?;
        values.push(bind);
        let done = at.skip_blanks().at_end();
        let only_alone = matches!(bind, ProcBind::False | ProcBind::True);
        if only_alone && !(done && values.len() == 1) {
            return Err(Bad);
        }
        if done {
            return Ok(values.into());
        }
        if !at.eat(b',') {
            return Err(Bad);
        }
    }
}

/// A stack size in bytes.
pub(super) fn stack_size(value: &[u8]) -> Result<u64, Bad> {
    let mut at = Cursor::new(value);
    let n = at.unsigned(10).value().ok_or(Bad)?;
    at.skip_blanks();
    let shift = match at.peek().map(|b| b.to_ascii_lowercase()) {
        None => 10,
        Some(b'b') => 0,
        Some(b'k') => 10,
        Some(b'm') => 20,
        Some(b'g') => 30,
        Some(_) => return Err(Bad),
    };
    one_unit_left(at)?;
    if n.leading_zeros() < shift {
        return Err(Bad);
    }
    Ok(n << shift)
}

/// Accepts the end of a number: nothing, or one unit letter (which the caller has looked at) and blanks.
fn one_unit_left(mut at: Cursor<'_>) -> Result<(), Bad> {
    if let Some(letter) = at.peek() {
        at.eat(letter);
    }
    if at.only_blanks_left() {
        Ok(())
    } else {
        Err(Bad)
    }
}

/// `OMP_DISPLAY_ENV`: whether to display, and whether verbosely. Text behind the word makes the value bad,
/// but does not change what is displayed.
pub(super) fn display_env(value: &[u8]) -> ((bool, bool), Result<(), Bad>) {
    let mut at = Cursor::new(value);
    at.skip_blanks();
    let shown = if at.eat_word("true") {
        (true, false)
    } else if at.eat_word("false") {
        (false, false)
    } else if at.eat_word("verbose") {
        (true, true)
    } else {
        return ((false, false), Err(Bad));
    };
    let end = if at.only_blanks_left() {
        Ok(())
    } else {
        Err(Bad)
    };
    (shown, end)
}

/// `GOMP_OPENACC_DIM`: the readable part of `gang:worker:vector`. libgomp never complains.
pub(super) fn acc_dimensions(value: &[u8]) -> [i32; 3] {
    let mut dims = [0; 3];
    let mut at = Cursor::new(value);
    for (i, dim) in dims.iter_mut().enumerate() {
        if at.at_end() || (i > 0 && !at.eat(b':')) {
            break;
        }
        if at.peek() == Some(b':') {
            continue;
        }
        match at.signed() {
            // Values up to UINT_MAX are valid, and wrap.
            Number::Value(v) if u32::try_from(v).is_ok() => *dim = v as i32,
            _ => break,
        }
    }
    dims
}

/// `HETMP_STATIC`.
pub(super) fn static_loops(value: &[u8]) -> Result<StaticLoops, Bad> {
    word(
        value,
        &[
            ("off", StaticLoops::Off),
            ("auto", StaticLoops::Auto),
            ("uneven", StaticLoops::Uneven),
            ("wide", StaticLoops::Wide),
            // Before the word that it begins with.
            ("force-uneven", StaticLoops::ForceUneven),
            ("force", StaticLoops::Force),
        ],
    )
}

/// `HETMP_OBJECTIVE`.
pub(super) fn objective(value: &[u8]) -> Result<Objective, Bad> {
    word(value, &Objective::ALL.map(|o| (o.name(), o)))
}

/// `HETMP_FAR`: microseconds of a signal within a node and to another one, and `flat` for the barrier without levels.
pub(super) fn far(value: &[u8]) -> Result<Emulated, Bad> {
    let mut words = value.split(|&b| b == b',');
    let mut ns = || -> Result<u64, Bad> {
        let us = number(words.next().ok_or(Bad)?)?;
        // At most a second.
        (us > 0.0 && us <= 1e6)
            .then_some((us * 1e3) as u64)
            .ok_or(Bad)
    };
    let (near_ns, far_ns) = (ns()?.max(1), ns()?.max(1));
    let flat = match words.next().map(<[u8]>::trim_ascii) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case(b"flat") => true,
        Some(_) => return Err(Bad),
    };
    if far_ns < near_ns || words.next().is_some() {
        return Err(Bad);
    }
    Ok(Emulated {
        near_ns,
        far_ns,
        flat,
    })
}

/// `HETMP_TRACE_EVENTS`.
pub(super) fn trace_events(value: &[u8]) -> Result<u64, Bad> {
    core::str::from_utf8(value)
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok())
        .filter(|n| (16..=1 << 24).contains(n))
        .ok_or(Bad)
}

/// A finite number from 0.
pub(super) fn number(value: &[u8]) -> Result<f64, Bad> {
    core::str::from_utf8(value)
        .ok()
        .and_then(|text| text.trim().parse::<f64>().ok())
        .filter(|n| n.is_finite() && *n >= 0.0)
        .ok_or(Bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists() {
        assert_eq!(list(b" 4 , 2,+1 ").as_deref(), Ok(&[4, 2, 1][..]));
        for bad in ["", "0", "4,", "4,,2", "4 2", "x", "-3", "4,0", ","] {
            assert_eq!(list(bad.as_bytes()), Err(Bad), "{bad}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(stack_size(b"64"), Ok(64 << 10));
        assert_eq!(stack_size(b" 3 m "), Ok(3 << 20));
        assert_eq!(stack_size(b"7B"), Ok(7));
        assert_eq!(stack_size(b"17179869183g"), Ok(17_179_869_183 << 30));
        for bad in ["", "k", "1kb", "1t", "17179869184g", "1 k k"] {
            assert_eq!(stack_size(bad.as_bytes()), Err(Bad), "{bad}");
        }
    }

    #[test]
    fn binds() {
        use ProcBind::{Close, False, Primary, Spread};
        assert_eq!(
            proc_bind(b"Spread , MASTER,close").as_deref(),
            Ok(&[Spread, Primary, Close][..])
        );
        assert_eq!(proc_bind(b"FALSE").as_deref(), Ok(&[False][..]));
        for bad in ["", "true,close", "close,true", "close,", "closed", "1"] {
            assert_eq!(proc_bind(bad.as_bytes()), Err(Bad), "{bad}");
        }
    }

    #[test]
    fn distances() {
        let emulated = |near_ns, far_ns, flat| {
            Ok(Emulated {
                near_ns,
                far_ns,
                flat,
            })
        };
        assert_eq!(far(b"100,800"), emulated(100_000, 800_000, false));
        assert_eq!(far(b" 0.5 , 2 , FLAT "), emulated(500, 2000, true));
        for bad in [
            "",
            "1",
            "2,1",
            "0,1",
            "1,2,",
            "1,2,level",
            "1,2,flat,",
            "1,2000001",
            "-1,2",
            "nan,1",
        ] {
            assert_eq!(far(bad.as_bytes()), Err(Bad), "{bad}");
        }
    }

    #[test]
    fn booleans_leave_their_trace() {
        assert_eq!(boolean(b" TRUE "), Ok(true));
        assert_eq!(boolean(b"true x"), Err(Some(true)));
        assert_eq!(boolean(b"1"), Err(None));
    }

    #[test]
    fn dimensions() {
        assert_eq!(acc_dimensions(b"3::5"), [3, 0, 5]);
        assert_eq!(acc_dimensions(b"3:x:5"), [3, 0, 0]);
        assert_eq!(acc_dimensions(b"-1:2"), [0, 0, 0]);
        assert_eq!(acc_dimensions(b""), [0, 0, 0]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_any_parser_panic(v in proptest::collection::vec(any::<u8>(), 0..48)) {
            let _ = (long(&v, true), int(&v, false), list(&v), boolean(&v));
            let _ = (target_offload(&v), allocator(&v), proc_bind(&v));
            let _ = (stack_size(&v), display_env(&v), acc_dimensions(&v));
        }
    }
}
