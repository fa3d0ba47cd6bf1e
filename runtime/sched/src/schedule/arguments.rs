//! Reads what follows a schedule's word in `OMP_SCHEDULE`.

/// Largest chunk that the text may ask for. `omp_get_schedule` returns it as a
/// C `int`.
pub(super) const MAX_CHUNK: u64 = i32::MAX as u64;

/// The blanks of C's `isspace`.
pub(super) fn blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// The first of the arguments with its comma, and the others with theirs.
pub(super) fn first_argument(args: &str) -> (&str, &str) {
    match args.strip_prefix(',').and_then(|a| a.find(',')) {
        Some(at) => args.split_at(at + 1),
        None => (args, ""),
    }
}

/// `""` or `, number`.
pub(super) fn chunk(args: &str) -> Result<Option<u64>, String> {
    if args.is_empty() {
        return Ok(None);
    }
    args.strip_prefix(',')
        .map(|a| a.trim_matches(blank))
        .and_then(|a| a.parse::<u64>().ok())
        .filter(|&c| c <= MAX_CHUNK)
        .map(Some)
        .ok_or_else(|| format!("after the kind, a comma and a chunk size of 1 to {MAX_CHUNK}"))
}

/// `""` or up to `N` percentages, each after a comma.
pub(super) fn percents<const N: usize>(args: &str, form: &str) -> Result<[Option<f64>; N], String> {
    let mut out = [None; N];
    if args.is_empty() {
        return Ok(out);
    }
    let bad = || format!("{form} with percentages above 0 and up to 100");
    let list = args.strip_prefix(',').ok_or_else(bad)?;
    let mut slots = out.iter_mut();
    for item in list.split(',') {
        let item = item.trim_matches(blank);
        let item = item
            .strip_suffix('%')
            .unwrap_or(item)
            .trim_end_matches(blank);
        let slot = slots.next().ok_or_else(bad)?;
        let value: f64 = item.parse().map_err(|_| bad())?;
        if !(value > 0.0 && value <= 100.0) {
            return Err(bad());
        }
        *slot = Some(value / 100.0);
    }
    Ok(out)
}

/// `:R0,R1,...`.
pub(super) fn ratios(args: &str) -> Result<Box<[f64]>, String> {
    let bad = || {
        "static-csr:R0,R1,... with one number per node, 0 or more and not all of them 0".to_owned()
    };
    let list = args.strip_prefix(':').ok_or_else(bad)?;
    let ratios = list
        .split(',')
        .map(|item| {
            let r: f64 = item.trim_matches(blank).parse().map_err(|_| bad())?;
            if r >= 0.0 && r.is_finite() {
                // A zero without its sign.
                Ok(r.abs())
            } else {
                Err(bad())
            }
        })
        .collect::<Result<Box<[f64]>, String>>()?;
    if ratios.iter().all(|&r| r == 0.0) {
        return Err(bad());
    }
    Ok(ratios)
}
