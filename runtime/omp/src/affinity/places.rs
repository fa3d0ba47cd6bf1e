//! `OMP_PLACES` (OpenMP 5.1, section 6.5) and `GOMP_CPU_AFFINITY`.
//!
//! Reading has two steps, since messages need both. [`parse`] knows only the notation. [`Spec::resolve`] then
//! applies the value to a machine, where CPU numbers may be out of range, places may have no usable CPU, and
//! an exclusion may exclude nothing.
//!
//! ```text
//! value    := word | word(count) | item{,item}
//! item     := place | place:count | place:count:stride | !place
//! place    := cpu | { interval{,interval} }
//! interval := cpu | cpu:length | cpu:length:stride | !cpu
//! ```

use super::{CpuSet, PlaceKind};
use hetmp_core::env::text::Cursor;

/// The largest number of places in a list, as in libgomp.
const MOST_PLACES: u64 = 65_536;

/// A value of `OMP_PLACES` that is well formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spec {
    /// A kind of place, with the largest number of places wanted.
    Kind(PlaceKind, usize),
    /// An explicit list.
    List(Vec<Item>),
}

/// One element of an explicit list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    exclude: bool,
    place: Vec<Interval>,
    count: u64,
    stride: i64,
}

/// CPUs of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    exclude: bool,
    first: u64,
    length: u64,
    stride: i64,
}

/// Why a value of `OMP_PLACES` has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The value does not follow the notation.
    Syntax,
    /// The value does not fit the machine; the text tells why.
    Reason(String),
}

impl Refusal {
    fn because(text: impl Into<String>) -> Self {
        Self::Reason(text.into())
    }

    fn out_of_range(cpu: u64, limit: u64) -> Self {
        Self::Reason(format!(
            "CPU {cpu} is out of range (this process may use CPUs below {limit})"
        ))
    }
}

/// Reads a value of `OMP_PLACES`.
///
/// # Errors
/// [`Refusal::Syntax`] where libgomp 12 would refuse the value.
pub(crate) fn parse(value: &[u8]) -> Result<Spec, Refusal> {
    let mut at = Cursor::new(value);
    at.skip_blanks();
    if at.at_end() {
        return Err(Refusal::Syntax);
    }
    if let Some(kind) = PlaceKind::ALL.into_iter().find(|k| at.eat_word(k.name())) {
        let count = count_in_parentheses(at).ok_or(Refusal::Syntax)?;
        return Ok(Spec::Kind(kind, count));
    }
    let mut items = Vec::new();
    let mut places = 0;
    let mut excluding = false;
    loop {
        let item = item(&mut at).ok_or(Refusal::Syntax)?;
        // libgomp's list needs room for one excluded place, and its limit counts that place.
        if !item.exclude {
            places += item.count;
        } else if !excluding {
            excluding = true;
            places += 1;
        }
        if places > MOST_PLACES {
            return Err(Refusal::Syntax);
        }
        items.push(item);
        if at.at_end() {
            return Ok(Spec::List(items));
        }
        if !at.eat(b',') {
            return Err(Refusal::Syntax);
        }
    }
}

/// Reads nothing (any number), or `(count)`.
fn count_in_parentheses(mut at: Cursor<'_>) -> Option<usize> {
    if at.skip_blanks().at_end() {
        return Some(usize::MAX);
    }
    if !at.eat(b'(') {
        return None;
    }
    let count = at.unsigned(10).value()?;
    if !at.skip_blanks().eat(b')') || !at.only_blanks_left() {
        return None;
    }
    Some(usize::try_from(count).unwrap_or(usize::MAX))
}

fn item(at: &mut Cursor<'_>) -> Option<Item> {
    at.skip_blanks();
    let exclude = at.eat(b'!');
    if exclude {
        at.skip_blanks();
    }
    let mut place = Vec::new();
    if at.eat(b'{') {
        at.skip_blanks();
        loop {
            place.push(interval(at)?);
            if at.eat(b'}') {
                break;
            }
            if !at.eat(b',') {
                return None;
            }
        }
    } else {
        place.push(Interval {
            exclude: false,
            first: at.unsigned(10).value()?,
            length: 1,
            stride: 1,
        });
    }
    let (mut count, mut stride) = (1, 1);
    if at.skip_blanks().eat(b':') {
        if exclude {
            return None;
        }
        (count, stride) = count_and_stride(at)?;
        if count >= MOST_PLACES {
            return None;
        }
    }
    Some(Item {
        exclude,
        place,
        count,
        stride,
    })
}

fn interval(at: &mut Cursor<'_>) -> Option<Interval> {
    // No blanks before the exclamation mark of a further interval: libgomp refuses them, too.
    let exclude = at.eat(b'!');
    let first = at.unsigned(10).value()?;
    let (mut length, mut stride) = (1, 1);
    if at.skip_blanks().eat(b':') {
        if exclude {
            return None;
        }
        (length, stride) = count_and_stride(at)?;
    }
    Some(Interval {
        exclude,
        first,
        length,
        stride,
    })
}

/// Reads `count` or `count:stride`, with the blanks behind. A count is at least 1.
fn count_and_stride(at: &mut Cursor<'_>) -> Option<(u64, i64)> {
    let count = at.unsigned(10).value().filter(|&n| n > 0)?;
    let mut stride = 1;
    if at.skip_blanks().eat(b':') {
        stride = at.signed().value()?;
        at.skip_blanks();
    }
    Some((count, stride))
}

impl Spec {
    /// The places on a machine where this process may run on `allowed`. `of_kind` lists the places of a kind,
    /// up to a given number; `warn` gets a line if some places are left out.
    ///
    /// # Errors
    /// The reason why there are no places.
    pub(crate) fn resolve(
        &self,
        allowed: &CpuSet,
        of_kind: &dyn Fn(PlaceKind, usize) -> Vec<CpuSet>,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Vec<CpuSet>, Refusal> {
        match self {
            Self::Kind(kind, count) => {
                let places = if *count == 0 {
                    Vec::new()
                } else {
                    of_kind(*kind, *count)
                };
                if places.is_empty() {
                    return Err(Refusal::because("this machine shows no such places"));
                }
                Ok(places)
            }
            Self::List(items) => {
                let all = explicit(items, number_limit(allowed))?;
                usable(all, allowed, warn)
            }
        }
    }
}

/// CPU numbers from here on are out of range. libgomp's CPU sets have as many bits as the process's mask
/// needs, rounded up to whole words.
fn number_limit(allowed: &CpuSet) -> u64 {
    allowed
        .iter()
        .last()
        .map_or(64, |last| (last as u64 / 64 + 1) * 64)
}

/// The places of an explicit list, before they are cut to the CPUs that this process may use.
fn explicit(items: &[Item], limit: u64) -> Result<Vec<CpuSet>, Refusal> {
    let mut places: Vec<CpuSet> = Vec::new();
    for item in items {
        let place = one_place(&item.place, limit)?;
        if item.exclude {
            let Some(found) = places.iter().position(|p| *p == place) else {
                return Err(Refusal::because("excludes a place that is not in the list"));
            };
            places.remove(found);
            continue;
        }
        places.push(place);
        for _ in 1..item.count {
            let moved = shifted(&places[places.len() - 1], item.stride, limit)?;
            places.push(moved);
        }
    }
    if places.is_empty() {
        return Err(Refusal::because("all places are excluded again"));
    }
    Ok(places)
}

/// The CPUs of one place. Exclusions are applied last, wherever they stand.
fn one_place(intervals: &[Interval], limit: u64) -> Result<CpuSet, Refusal> {
    let mut place = CpuSet::new();
    for i in intervals.iter().filter(|i| !i.exclude) {
        let mut cpu = i.first;
        // With stride 0 all turns give the same CPU, and their number may be astronomical.
        let turns = if i.stride == 0 { 1 } else { i.length };
        for turn in 0..turns {
            if turn > 0 {
                cpu = cpu
                    .checked_add_signed(i.stride)
                    .ok_or_else(|| Refusal::out_of_range(cpu, limit))?;
            }
            if cpu >= limit {
                return Err(Refusal::out_of_range(cpu, limit));
            }
            place.insert(cpu as usize);
        }
    }
    for i in intervals.iter().filter(|i| i.exclude) {
        if i.first >= limit {
            return Err(Refusal::out_of_range(i.first, limit));
        }
        if !place.contains(i.first as usize) {
            return Err(Refusal::Reason(format!(
                "CPU {} is excluded but not in its place",
                i.first
            )));
        }
        place.remove(i.first as usize);
    }
    Ok(place)
}

/// `place` moved by `stride` CPUs.
fn shifted(place: &CpuSet, stride: i64, limit: u64) -> Result<CpuSet, Refusal> {
    place
        .iter()
        .map(|cpu| {
            (cpu as u64)
                .checked_add_signed(stride)
                .filter(|&c| c < limit)
                .map(|c| c as usize)
                .ok_or_else(|| Refusal::out_of_range(cpu as u64, limit))
        })
        .collect()
}

/// Cuts the places to the allowed CPUs, and drops places that become empty.
fn usable(
    all: Vec<CpuSet>,
    allowed: &CpuSet,
    warn: &mut dyn FnMut(&str),
) -> Result<Vec<CpuSet>, Refusal> {
    let given = all.len();
    let places: Vec<CpuSet> = all
        .into_iter()
        .map(|p| p.iter().filter(|&c| allowed.contains(c)).collect())
        .filter(|p: &CpuSet| !p.is_empty())
        .collect();
    if places.is_empty() {
        return Err(Refusal::because(
            "no place has a CPU that this process may use",
        ));
    }
    if places.len() < given {
        warn(&format!(
            "OMP_PLACES: {} of {given} places have no CPU that this process may use and are left \
             out",
            given - places.len()
        ));
    }
    Ok(places)
}

/// A range of CPU numbers in `GOMP_CPU_AFFINITY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuRange {
    first: u64,
    last: u64,
    stride: u64,
}

/// Reads a value of `GOMP_CPU_AFFINITY`; `None` where libgomp 12 would refuse it. Numbers may be octal or
/// hexadecimal, as in C.
#[must_use]
pub(crate) fn parse_cpu_affinity(value: &[u8]) -> Option<Vec<CpuRange>> {
    const LARGEST: u64 = 65_535;
    let mut at = Cursor::new(value);
    let mut ranges = Vec::new();
    loop {
        let number = |at: &mut Cursor<'_>| at.unsigned(0).value().filter(|&n| n <= LARGEST);
        let first = number(&mut at)?;
        let mut range = CpuRange {
            first,
            last: first,
            stride: 1,
        };
        if at.eat(b'-') {
            range.last = number(&mut at).filter(|&last| last >= first)?;
            if at.eat(b':') {
                range.stride = number(&mut at).filter(|&stride| stride > 0)?;
            }
        }
        ranges.push(range);
        at.skip_blanks();
        // A comma must be followed by another number; blanks need not be.
        if !at.eat(b',') && at.at_end() {
            return Some(ranges);
        }
    }
}

/// One place for each CPU of the ranges, in their order, with repetitions. As in libgomp, CPUs that cannot
/// exist are left out, but CPUs that this process may not use are kept.
#[must_use]
pub(crate) fn one_per_cpu(ranges: &[CpuRange], allowed: &CpuSet) -> Vec<CpuSet> {
    let limit = number_limit(allowed);
    ranges
        .iter()
        .flat_map(|r| (r.first..=r.last.min(limit)).step_by(r.stride as usize))
        .filter(|&cpu| cpu < limit)
        .map(|cpu| std::iter::once(cpu as usize).collect())
        .collect()
}

/// The warning if the ranges name CPUs that this process may not use. libgomp gives none, and ends the
/// program when it creates a thread for such a place.
#[must_use]
pub(crate) fn beyond(ranges: &[CpuRange], allowed: &CpuSet) -> Option<String> {
    let mut cpus = ranges
        .iter()
        .flat_map(|r| (r.first..=r.last).step_by(r.stride as usize));
    let first = cpus.find(|&cpu| !allowed.contains(cpu as usize))?;
    Some(format!(
        "this process may use the CPUs {allowed}: threads whose place is another one ({first} is \
         the first) stay where they may run"
    ))
}

/// `{0:2},{4}`: the notation in which `OMP_DISPLAY_ENV` shows places.
pub(crate) fn write_list(places: &[CpuSet], out: &mut Vec<u8>) {
    for (i, place) in places.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"{" } else { b",{" });
        for (j, (first, length)) in runs(place).enumerate() {
            if j > 0 {
                out.push(b',');
            }
            out.extend_from_slice(first.to_string().as_bytes());
            if length > 1 {
                out.extend_from_slice(format!(":{length}").as_bytes());
            }
        }
        out.push(b'}');
    }
}

/// What `KMP_AFFINITY=verbose` says of the places.
pub(crate) fn summary(places: &[CpuSet], allowed: &CpuSet) -> String {
    if places.is_empty() {
        return format!("no places: threads run on any of the CPUs {allowed}");
    }
    let mut list = Vec::new();
    write_list(places, &mut list);
    let many = if places.len() == 1 { "" } else { "s" };
    format!(
        "{} place{many}: {}",
        places.len(),
        String::from_utf8_lossy(&list)
    )
}

/// The runs of neighbouring CPUs: each run's first CPU and its length.
pub(super) fn runs(set: &CpuSet) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut cpus = set.iter().peekable();
    std::iter::from_fn(move || {
        let first = cpus.next()?;
        let mut length = 1;
        while cpus.next_if_eq(&(first + length)).is_some() {
            length += 1;
        }
        Some((first, length))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn eight() -> CpuSet {
        (0..8).collect()
    }

    fn show(places: &[CpuSet]) -> String {
        let mut out = Vec::new();
        write_list(places, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn without_places_there_is_a_sentence() {
        let of = |places: &[CpuSet]| summary(places, &eight());
        assert_eq!(of(&[]), "no places: threads run on any of the CPUs 0-7");
        assert_eq!(of(&[eight()]), "1 place: {0:8}");
        let one = |cpu| CpuSet::from_iter([cpu]);
        assert_eq!(of(&[one(3), one(0)]), "2 places: {3},{0}");
    }

    fn read(value: &str, allowed: &CpuSet) -> Result<(String, usize), Refusal> {
        let mut warnings = 0;
        let of_kind = |_: PlaceKind, n: usize| {
            allowed
                .iter()
                .take(n)
                .map(|c| [c].into_iter().collect())
                .collect()
        };
        let places = parse(value.as_bytes())?.resolve(allowed, &of_kind, &mut |_| warnings += 1)?;
        Ok((show(&places), warnings))
    }

    #[test]
    fn lists() {
        for (value, want) in [
            ("{0:4},{4:4}", "{0:4},{4:4}"),
            ("{0:2:4}:4:1", "{0,4},{1,5},{2,6},{3,7}"),
            (" { 0 : 2 } : 3 : 2 ", "{0:2},{2:2},{4:2}"),
            ("{6,7}:3:-3", "{6:2},{3:2},{0:2}"),
            ("3,1,2", "{3},{1},{2}"),
            ("3:2:2", "{3},{5}"),
            ("{0:4,!1}", "{0,2:2}"),
            ("{!1,0:4}", "{0,2:2}"),
            ("{0}:4,!{2}", "{0},{1},{3}"),
            ("{0}:4,!2", "{0},{1},{3}"),
            ("{5:3:-2}", "{1,3,5}"),
            ("{0:99999999999:0}", "{0}"),
            ("{1},{1}", "{1},{1}"),
            ("threads(2)", "{0},{1}"),
            ("CORES ( 3 ) ", "{0},{1},{2}"),
        ] {
            assert_eq!(read(value, &eight()), Ok((want.to_owned(), 0)), "{value}");
        }
    }

    #[test]
    fn refusals() {
        for value in [
            "",
            " ",
            "{",
            "{}",
            "{0",
            "{0}x",
            "{0},",
            "{0:0}",
            "{0}:0",
            "!{0}:2",
            "{!0:2}",
            "{0, !1}",
            "{0}:65536",
            "{0}:65535,{0}:2",
            "core",
            "coresx",
            "threads(",
            "threads()",
            "threads(2)x",
            "{0:18446744073709551616}",
            "a",
            "0-3",
        ] {
            assert_eq!(parse(value.as_bytes()), Err(Refusal::Syntax), "{value}");
        }
        for value in [
            "{64}",
            "{0}:65",
            "{0:65}",
            "{1}:3:-1",
            "{0:3:-1}",
            "{0,!1}",
            "{0},!{1}",
            "{0},!{0}",
            "threads(0)",
            "{8}",
            "{!0}",
        ] {
            let got = read(value, &eight());
            assert!(matches!(got, Err(Refusal::Reason(_))), "{value}: {got:?}");
        }
    }

    #[test]
    fn unusable_cpus_shrink_the_list() {
        let two: CpuSet = [1usize, 3].into_iter().collect();
        assert_eq!(read("{0:2},{2},{3}", &two), Ok(("{1},{3}".to_owned(), 1)));
        assert_eq!(read("{0:2},{3}", &two), Ok(("{1},{3}".to_owned(), 0)));
    }

    #[test]
    fn gomp_cpu_affinity() {
        let read = |value: &str| {
            parse_cpu_affinity(value.as_bytes()).map(|r| show(&one_per_cpu(&r, &eight())))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read("0 3 1-2 4-7:2"), some("{0},{3},{1},{2},{4},{6}"));
        assert_eq!(read(" 0,0x2 , 011 "), some("{0},{2},{9}"));
        assert_eq!(read("70 100-200"), some(""));
        assert_eq!(
            read("3-60000:7"),
            some("{3},{10},{17},{24},{31},{38},{45},{52},{59}")
        );
        let beyond =
            |value: &str| parse_cpu_affinity(value.as_bytes()).and_then(|r| beyond(&r, &eight()));
        assert_eq!(beyond("0 1-7:3"), None);
        assert_eq!(beyond("0 1-7:2 7"), None);
        let said = beyond("0 6-60000").expect("CPU 8 is none of the eight");
        assert!(
            said.contains("CPUs 0-7:") && said.contains("(8 is"),
            "{said}"
        );
        for bad in [
            "", "a", "3-1", "0-3:0", "0-3:", "65536", "0,", "1 -2", "0-3:1x",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(v in proptest::collection::vec(any::<u8>(), 0..48)) {
            let _ = parse_cpu_affinity(&v).map(|r| one_per_cpu(&r, &eight()));
            let _ = parse(&v).map(|s| s.resolve(&eight(), &|_, _| Vec::new(), &mut |_| ()));
        }

        #[test]
        fn nor_do_values_that_look_right(v in "[ !{}0-9:,-]{0,24}") {
            let _ = parse_cpu_affinity(v.as_bytes()).map(|r| one_per_cpu(&r, &eight()));
            let _ = parse(v.as_bytes()).map(|s| s.resolve(&eight(), &|_, _| Vec::new(), &mut |_| ()));
        }

        /// The places that `OMP_DISPLAY_ENV` shows can be set as a value again.
        #[test]
        fn shown_places_read_back(
            sets in proptest::collection::vec(proptest::collection::btree_set(0usize..8, 1..5), 1..6),
        ) {
            let places: Vec<CpuSet> = sets.into_iter().map(|s| s.into_iter().collect()).collect();
            let text = show(&places);
            prop_assert_eq!(read(&text, &eight()), Ok((text.clone(), 0)));
        }
    }
}
