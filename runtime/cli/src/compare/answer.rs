//! What a comparison says: a table and a few sentences for people, or JSON.

use super::{Arguments, Way};
use crate::columns::{time, Table};
use serde_json::json;
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// CPUs of which other programs use less than this share count as idle.
const BUSY: f64 = 0.05;

pub(super) fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or(0)),
    }
}

/// Least, median and most.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (values[0], values[values.len() - 1]);
        let (a, b) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Spread {
            low,
            median: f64::midpoint(a, b),
            high,
        }
    }

    /// As `0.65 (0.60-0.70)`.
    fn ratio(self) -> String {
        format!("{:.2} ({:.2}-{:.2})", self.median, self.low, self.high)
    }
}

/// The times of `way` over those of `base` in the same rounds.
fn ratios(way: &[f64], base: &[f64]) -> Spread {
    Spread::of(way.iter().zip(base).map(|(a, b)| a / b))
}

pub(super) fn as_text(
    arguments: &Arguments,
    ways: &[Way],
    status: ExitStatus,
    (others, looked): (Option<f64>, Option<(&str, &str)>),
) -> String {
    let base = &ways[0];
    let of_time = |seconds: f64| time((seconds * 1e9) as u64);
    let rows = ways.iter().map(|way| {
        let spread = Spread::of(way.seconds.iter().copied());
        vec![
            way.name.clone(),
            of_time(spread.median),
            format!("{} - {}", of_time(spread.low), of_time(spread.high)),
            of_time(Spread::of(way.cpu_seconds.iter().copied()).median),
            match std::ptr::eq(way, base) {
                true => String::new(),
                false => ratios(&way.seconds, &base.seconds).ratio(),
            },
        ]
    });
    let words: Vec<_> = arguments
        .under
        .program
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let mut out = format!("program   {}\n", words.join(" "));
    let turns = format!("{} of each, in turns", arguments.runs);
    out.push_str(&format!("runs      {turns}\n"));
    let others = others.filter(|&share| share >= BUSY);
    if let Some(share) = others {
        let share = share * 100.0;
        out.push_str(&format!(
            "busy      other programs used {share:.0}% of the CPUs meanwhile: on idle ones times and ratios differ\n"
        ));
    }
    if base.name == "hetmp" {
        out.push_str(
            "nodes     slowed, which only hetmp's threads can be: not under its own runtime\n",
        );
    }
    if status.code() != Some(0) {
        out.push_str(&format!("ended by  {} in each run\n", ended(status)));
    }
    if let Some((schedule, did)) = looked.filter(|looked| !looked.1.is_empty()) {
        out.push_str(&format!("loops     {schedule} {did}\n"));
    }
    let said: BTreeSet<&String> = ways.iter().flat_map(|way| &way.said).collect();
    for line in said {
        out.push_str(&format!("{line}\n"));
    }
    out.push('\n');
    Table {
        titles: &[
            "under",
            ">median",
            "least - most",
            ">CPU time",
            "time over the first row's",
        ],
        rows: rows.collect(),
    }
    .print(&mut out, usize::MAX);
    let times: Vec<Times> = ways
        .iter()
        .map(|way| Times {
            name: &way.name,
            over_base: ratios(&way.seconds, &base.seconds),
            over_plain: named(ways, "hetmp").map(|plain| ratios(&way.seconds, &plain.seconds)),
        })
        .collect();
    let (sentence, fastest) = verdict(&times, arguments.runs);
    out.push_str(&format!("\n{sentence}\n"));
    if let Some(fastest) = fastest {
        let more = named(ways, "hetmp").map(|plain| ratios(&base.cpu_seconds, &plain.cpu_seconds));
        out.push_str(&whose(
            &base.name,
            fastest,
            more.filter(|_| others.is_some()),
        ));
        let schedule = match fastest.name {
            "hetmp" => String::new(),
            name => format!("--schedule {name} "),
        };
        let (where_, words) = match base.name == "hetmp" {
            // Nobody wants slow cores.
            true => ("Where cores are unlike by themselves", words.join(" ")),
            false => ("To run it so", arguments.under.words()),
        };
        out.push_str(&format!("{where_}: hetmp run {schedule}{words}\n"));
    }
    let outputs: Vec<(&str, &BTreeSet<u64>)> =
        ways.iter().map(|way| (&*way.name, &way.outputs)).collect();
    out.push_str(&format!("{}\n", same_output(&outputs, arguments.runs)));
    out
}

fn named<'a>(ways: &'a [Way], name: &str) -> Option<&'a Way> {
    ways.iter().find(|way| way.name == name)
}

/// A way's times over those of others in the same rounds.
#[derive(Clone, Copy)]
struct Times<'a> {
    name: &'a str,
    /// Over the first way's.
    over_base: Spread,
    /// Over those of hetmp without a schedule.
    over_plain: Option<Spread>,
}

impl Times<'_> {
    /// A schedule may be faster than the first way only since hetmp is.
    fn gains_over_plain(&self) -> bool {
        self.over_plain.is_none_or(|ratio| ratio.high < 1.0)
    }
}

/// The answer in a sentence, and what is faster than the first of the ways: a difference is one that all rounds show.
fn verdict<'a>(ways: &'a [Times<'a>], runs: u32) -> (String, Option<&'a Times<'a>>) {
    let (base, others) = (ways[0].name, &ways[1..]);
    let least = |some: &dyn Fn(&Times) -> bool| {
        let others = others.iter().filter(|way| some(way));
        others.min_by(|a, b| a.over_base.median.total_cmp(&b.over_base.median))
    };
    let is_faster = |way: &Times| way.over_base.high < 1.0;
    let plain = others
        .iter()
        .find(|way| way.name == "hetmp" && is_faster(way));
    let faster = match plain {
        // What gains nothing over the runtime alone is not named for the runtime's gain.
        Some(plain) => least(&|way| is_faster(way) && way.gains_over_plain()).or(Some(plain)),
        None => least(&is_faster),
    };
    let Some(way) = faster.or_else(|| least(&|_| true)) else {
        return (format!("There is nothing to compare with {base}."), None);
    };
    let takes = format!(
        "{} takes {} of {base}'s time",
        way.name,
        way.over_base.ratio()
    );
    let sentence = match () {
        () if runs < 3 => format!("At best, {takes}; more runs would tell more (-n 5)."),
        () if faster.is_some() => format!("Faster: {takes}, and less in every round."),
        () if others.iter().all(|way| way.over_base.low > 1.0) => {
            format!("Slower: at best, {takes}, and more in every round.")
        }
        () => format!(
            "No difference that every round shows: at best, {takes}. hetmp run --report says why, loop by loop."
        ),
    };
    (sentence, faster.filter(|_| runs >= 3))
}

/// Whose gain it is: of waits that need no CPU, of the runtime, of the schedule. `more`: the CPU time of the first way
/// over that of hetmp without a schedule, if other programs used the CPUs meanwhile.
fn whose(base: &str, fastest: &Times, more: Option<Spread>) -> String {
    let mut out = String::new();
    if base == "hetmp" {
        return out;
    }
    if let Some(more) = more.filter(|ratio| ratio.low > 1.0) {
        out.push_str(&format!(
            "{base} used {} times hetmp's CPU time: its threads spin while they wait, also for one without a CPU.\n\
             On idle CPUs that part of the gain is smaller, or none.\n",
            more.ratio()
        ));
    }
    match (fastest.name, fastest.over_plain) {
        ("hetmp", _) => {
            out.push_str("It is the runtime's: no schedule gains more in every round.\n")
        }
        (name, Some(ratio)) => out.push_str(&format!(
            "{name} takes {} of hetmp's time without a schedule.\n",
            ratio.ratio()
        )),
        _ => {}
    }
    out
}

/// What the checksums say. A program that prints times differs from run to run under any runtime.
fn same_output(ways: &[(&str, &BTreeSet<u64>)], runs: u32) -> String {
    let (base, expected) = ways[0];
    if expected.len() > 1 {
        return format!(
            "Its output differs from run to run under {base}, so outputs were not compared. (Standard error is not: \
             times that a program prints belong there.)"
        );
    }
    let odd: Vec<&str> = ways
        .iter()
        .filter(|(_, o)| *o != expected)
        .map(|w| w.0)
        .collect();
    match odd[..] {
        [] => "Its output was equal in all runs.".to_owned(),
        _ if runs == 1 => {
            "Its outputs differ, perhaps from run to run under any runtime: more runs would tell (-n 5).".to_owned()
        }
        _ => format!(
            "Its output under {} differs from that under {base}.",
            odd.join(", ")
        ),
    }
}

pub(super) fn as_json(
    ways: &[Way],
    program: &str,
    status: ExitStatus,
    others: Option<f64>,
) -> serde_json::Value {
    let base = &ways[0];
    let rows: Vec<_> = ways
        .iter()
        .map(|way| {
            let spread = ratios(&way.seconds, &base.seconds);
            json!({
                "under": way.name,
                "seconds": way.seconds,
                "cpu_seconds": way.cpu_seconds,
                "ratio": { "median": spread.median, "low": spread.low, "high": spread.high },
                "output_as_first": way.outputs == base.outputs,
            })
        })
        .collect();
    json!({ "hetmp_compare": 1, "program": program, "ended": ended(status), "cpus_used_by_others": others,
        "ways": rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(low: f64, median: f64, high: f64) -> Spread {
        Spread { low, median, high }
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        // Both got slower together: the ratio did not change.
        assert_eq!(
            ratios(&[1.0, 2.0, 4.0], &[2.0, 4.0, 8.0]),
            spread(0.5, 0.5, 0.5)
        );
        assert_eq!(
            Spread::of([4.0, 1.0, 3.0, 2.0].into_iter()),
            spread(1.0, 2.5, 4.0)
        );
    }

    fn times(name: &str, over_base: Spread, over_plain: Spread) -> Times<'_> {
        Times {
            name,
            over_base,
            over_plain: Some(over_plain),
        }
    }

    const SAME: Spread = Spread {
        low: 1.0,
        median: 1.0,
        high: 1.0,
    };

    #[test]
    fn a_difference_is_one_of_every_round() {
        let said = |ratio| {
            let ways = [
                times("libgomp", SAME, SAME),
                times("hetmp", spread(1.1, 1.2, 1.3), SAME),
                times("hetprobe", ratio, ratio),
            ];
            verdict(&ways, 5).0
        };
        assert!(
            said(spread(0.6, 0.65, 0.99)).starts_with("Faster: hetprobe takes 0.65 (0.60-0.99)")
        );
        assert!(said(spread(0.6, 0.65, 1.01)).starts_with("No difference"));
        assert!(said(spread(1.01, 1.05, 1.1)).starts_with("Slower: at best, hetprobe"));
        // The least median does not win if a round contradicts it.
        let ways = [
            times("hetmp", SAME, SAME),
            times(
                "hetprobe",
                spread(0.65, 0.81, 0.82),
                spread(0.65, 0.81, 0.82),
            ),
            times(
                "hetprobe-i",
                spread(0.62, 0.75, 1.14),
                spread(0.62, 0.75, 1.14),
            ),
        ];
        let (sentence, fastest) = verdict(&ways, 3);
        assert!(sentence.starts_with("Faster: hetprobe takes 0.81"));
        let fastest = fastest.expect("one is faster");
        assert_eq!(
            (fastest.name, &*whose("hetmp", fastest, None)),
            ("hetprobe", "")
        );
        // One round cannot show how far rounds lie apart.
        let ways = [
            times("libgomp", SAME, SAME),
            times("hetmp", spread(0.5, 0.5, 0.5), SAME),
        ];
        let (sentence, fastest) = verdict(&ways, 1);
        assert!(sentence.contains("-n 5") && fastest.is_none());
    }

    #[test]
    fn a_gain_is_named_for_what_gains() {
        let (gains, not) = (spread(0.5, 0.6, 0.7), spread(0.96, 0.98, 1.16));
        let said = |plain, over_plain, more| {
            let ways = [
                times("libgomp", SAME, SAME),
                times("hetmp", plain, SAME),
                times("hetprobe", spread(0.4, 0.5, 0.6), over_plain),
            ];
            let fastest = verdict(&ways, 5).1.expect("one is faster");
            format!("{}: {}", fastest.name, whose("libgomp", fastest, more))
        };
        // The runtime is faster, and a schedule that is no faster than it is not named.
        assert!(said(gains, not, None).starts_with("hetmp: It is the runtime"));
        assert!(said(gains, gains, None).starts_with("hetprobe: hetprobe takes 0.60"));
        // Without a gain of the runtime alone it is the schedule's, as far as rounds show.
        assert!(said(not, not, None).starts_with("hetprobe: hetprobe takes 0.98"));
        // On CPUs that others use, libgomp needs more of them for the same work.
        let more = Some(spread(1.5, 2.0, 9.0));
        assert!(said(gains, not, more).starts_with("hetmp: libgomp used 2.00 (1.50-9.00) times"));
        assert!(said(gains, not, Some(not)).starts_with("hetmp: It is the runtime"));
        let both = said(gains, gains, more);
        assert!(
            both.starts_with("hetprobe: libgomp used 2.00") && both.contains("hetprobe takes 0.60")
        );
    }

    #[test]
    fn outputs_are_compared_where_they_are_stable() {
        let (one, other, both) = ([1].into(), [2].into(), [1, 2].into());
        assert!(same_output(&[("libgomp", &one), ("hetmp", &one)], 2).contains("equal"));
        assert!(same_output(
            &[("libgomp", &one), ("hetmp", &one), ("hetprobe", &other)],
            2
        )
        .contains("under hetprobe differs from that under libgomp"));
        assert!(
            same_output(&[("libgomp", &one), ("hetmp", &both)], 2).contains("under hetmp differs")
        );
        assert!(same_output(&[("libgomp", &both), ("hetmp", &one)], 2).contains("not compared"));
        assert!(same_output(&[("libgomp", &one), ("hetmp", &other)], 1).contains("perhaps"));
    }
}
