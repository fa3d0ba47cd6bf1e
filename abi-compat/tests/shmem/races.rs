//! A program puts data, then a flag, without a fence between them, under the model of a GPU's memory. The checker
//! reports both operations in every run, and other mistakes with the memory of a GPU by their place. Without the
//! checker, some seeds show wrong data. With a fence, neither happens.

use super::launch::{find, Command, Ending, Launcher, Outcome};
use super::program::{self, Library};
use super::{number, shown};
use hetmp_abi_compat::library;
use hetmp_abi_compat::sample;
use libtest_mimic::{Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};

fn racy(path: &Path, model: &str, args: &[&str]) -> Outcome {
    Launcher::Oshrun
        .start(2, path)
        .args(args)
        .env("HETMP_NIC_MODEL", model)
        .run()
}

/// How often the flag arrived and the data had not.
fn stale(out: &Outcome) -> Result<u32, Failed> {
    let line = out.stdout.trim();
    let count = line
        .strip_prefix("stale ")
        .and_then(|rest| rest.strip_suffix(" of 50"));
    match (out.ending, count.and_then(|c| c.parse().ok())) {
        (Ending::Exit(0), Some(count)) => Ok(count),
        _ => Err(format!("a count was to come: {}", shown(out)).into()),
    }
}

fn build(name: &str) -> Result<PathBuf, Failed> {
    Ok(program::named(name).build("default", Library::Ours)?)
}

/// `file:line` of an address that the report gives behind `addr2line -ife PROGRAM`: where the inline functions of
/// hetmp/device.h are called, not where they stand.
fn place(path: &Path, address: &str) -> String {
    let Some(tool) = find("addr2line") else {
        panic!("hetmp: tool addr2line: the one that comes with gcc's linker is needed")
    };
    let out = Command::new(tool)
        .args([Path::new("-ie"), path])
        .args([address])
        .run();
    let place = |line: &str| {
        // addr2line may add a note after the place.
        let line = line.split(' ').next().unwrap_or_default();
        line.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let header = |place: &String| place.starts_with("device") && place.contains(".h:");
    let mut places = out.stdout.lines().map(place);
    places.find(|p| !header(p)).unwrap_or_default()
}

/// The places of all addresses in a report.
fn places(path: &Path, line: &str) -> Vec<String> {
    line.split("addr2line -ife ")
        .skip(1)
        .filter_map(|rest| rest.split([' ', ')']).nth(1))
        .map(|address| place(path, address))
        .collect()
}

/// `file:line` of the line that has a mark.
fn marked(name: &str, source: &str, mark: &str) -> String {
    let index = source.lines().position(|l| l.contains(mark));
    format!("{name}.c:{}", 1 + index.expect("a marked line"))
}

/// Mistakes of `c-tests/shmem/mistakes.c`: a part of the report, and the marks of the places that it names first.
const MISTAKES: [(&str, &str, &[&str]); 10] = [
    (
        "no-fence",
        "may be seen before the data",
        &["PUT", "FLAG", "LATE"],
    ),
    ("reused", "was changed at", &["PUT"]),
    ("reused-host", "was changed at", &["HOST"]),
    ("no-quiet", "was changed at", &["PUT"]),
    ("early", "while a write was on its way", &["EARLY", "PUT"]),
    (
        "early-copy",
        "while a write was on its way",
        &["COPY", "PUT"],
    ),
    // A signal by another queue passes the data, fence or not (NCCL's issue 2210).
    (
        "two-queues",
        "while a write was on its way",
        &["LATE", "PUT"],
    ),
    ("unflushed", "in this kernel and not flushed", &["PUT"]),
    (
        "unflushed-host",
        "in this kernel and not flushed",
        &["HOST"],
    ),
    (
        "no-begin",
        "without a kernel begin and not flushed",
        &["PUT"],
    ),
];

fn mistake(case: &str, part: &str, marks: &[&str]) -> Result<(), Failed> {
    let path = build("mistakes")?;
    let source = fs::read_to_string(library::root().join("c-tests/shmem/mistakes.c"))?;
    let expected: Vec<String> = marks
        .iter()
        .map(|m| marked("mistakes", &source, &format!("/* {m} */")))
        .collect();
    // Who looks early must do so before the data is there, although other processes may come between.
    let hold = if case.starts_with("early") || case == "two-queues" {
        ",hold=20000000"
    } else {
        ""
    };
    for seed in 1..=number("HETMP_TEST_SEEDS", 3) {
        let out = racy(&path, &format!("gpu,seed={seed},check{hold}"), &[case]);
        let line = out.stderr.lines().next().unwrap_or_default();
        let named = line.contains(part) && places(&path, line).starts_with(&expected);
        if matches!(out.ending, Ending::Exit(0) | Ending::TimedOut) || !named {
            return Err(format!("{case}: {part:?} at {expected:?}: {}", shown(&out)).into());
        }
    }
    Ok(())
}

/// Programs of the same file that are right, however much they look like mistakes.
fn nothing_said() -> Result<(), Failed> {
    let path = build("mistakes")?;
    let seeds = (1..=3 * number("HETMP_TEST_SEEDS", 3)).collect();
    for seed in sample::settings("nothing_said", seeds) {
        for case in [
            "right",
            "flushed",
            "acked",
            "unread",
            "flags",
            "polled",
            "page",
            "two-quiet",
        ] {
            let out = racy(&path, &format!("gpu,seed={seed},check"), &[case]);
            if !matches!(out.ending, Ending::Exit(0)) || !out.stderr.is_empty() {
                return Err(format!("{case}: seed {seed}: {}", shown(&out)).into());
            }
        }
    }
    Ok(())
}

fn reported(name: &str, arguments: &[&str]) -> Result<(), Failed> {
    let path = build(name)?;
    let source = fs::read_to_string(library::root().join(format!("c-tests/shmem/{name}.c")))?;
    let line_of = |mark: &str| marked(name, &source, mark);
    for seed in 1..=number("HETMP_TEST_SEEDS", 3) {
        let out = racy(&path, &format!("gpu,seed={seed},check"), arguments);
        let lines: Vec<&str> = out.stderr.lines().collect();
        let [line] = lines[..] else {
            return Err(format!("one line was to come: {}", shown(&out)).into());
        };
        if matches!(out.ending, Ending::Exit(0) | Ending::TimedOut)
            || !line.ends_with("or a put with signal)")
        {
            return Err(format!("a report was to come: {}", shown(&out)).into());
        }
        let places = places(&path, line);
        let expected = [line_of("RACY data"), line_of("RACY flag")];
        if !places.starts_with(&expected) {
            return Err(format!("{expected:?}, not {places:?}: {}", shown(&out)).into());
        }
        let right = [arguments, &["fence"]].concat();
        let out = racy(&path, &format!("gpu,seed={seed},check"), &right);
        if stale(&out)? != 0 || !out.stderr.is_empty() {
            return Err(format!("a right program was complained about: {}", shown(&out)).into());
        }
    }
    Ok(())
}

fn seen(name: &str) -> Result<(), Failed> {
    let path = build(name)?;
    let mut wrong = 0;
    for seed in 1..=16 {
        // A receiver that runs late, next to busy processes, needs data that comes later still.
        let model = format!("gpu,seed={seed},hold=20000000");
        wrong += stale(&racy(&path, &model, &[]))?;
        let right = stale(&racy(&path, &model, &["fence"]))?;
        if right != 0 {
            return Err(format!("{model}: {right} stale in spite of the fence").into());
        }
        if wrong > 0 && seed >= 4 && sample::is_short() {
            break;
        }
    }
    if wrong == 0 {
        return Err("no seed of 16 showed the missing fence".into());
    }
    // Not tried without the model: this machine does not reorder stores, so nothing would be wrong.
    Ok(())
}

/// A device's second-level cache: what is not flushed is not sent, and what arrives is not seen before a kernel begins.
fn cached() -> Result<(), Failed> {
    let path = build("stale_cache")?;
    let device = [
        "arrived0 0",
        "arrived1 0",
        "flushed 1",
        "get 0",
        "into 0",
        "kernel 2",
        "next0 7",
        "next1 7",
        "ordinary 4",
        "other 1",
        "stored 0",
        "uncached 3",
    ];
    let coherent = [
        "arrived0 7",
        "arrived1 7",
        "flushed 1",
        "get 9",
        "into 11",
        "kernel 2",
        "next0 7",
        "next1 7",
        "ordinary 4",
        "other 2",
        "stored 1",
        "uncached 3",
    ];
    for (setting, expected) in [
        (("HETMP_NIC_MODEL", "gpu,seed=1"), device),
        (("HETMP_NIC_MODEL", "gpu,seed=2,hold=0"), device),
        (("HETMP_NIC", "emulated"), coherent),
        (("HETMP_NIC", "tcp"), coherent),
        (("HETMP_NIC", "auto"), coherent),
    ] {
        let out = Launcher::Oshrun
            .start(2, &path)
            .env(setting.0, setting.1)
            .run();
        // The launcher forwards the lines of two PEs in any order.
        let mut seen: Vec<&str> = out.stdout.lines().collect();
        seen.sort_unstable();
        if seen != expected || !matches!(out.ending, Ending::Exit(0)) {
            return Err(format!("{setting:?}: {expected:?}: {}", shown(&out)).into());
        }
    }
    Ok(())
}

/// Tests of races.
pub(crate) fn trials() -> Vec<Trial> {
    let mistakes = MISTAKES.iter().map(|(case, part, marks)| {
        Trial::test(format!("races/mistake_{case}"), move || {
            mistake(case, part, marks)
        })
    });
    let mut trials = vec![
        Trial::test("races/reported", || reported("racy", &[])),
        Trial::test("races/seen", || seen("racy")),
        Trial::test("races/reported_of_a_kernel", || {
            reported("racy_device", &[])
        }),
        Trial::test("races/reported_of_a_doorbell", || {
            reported("racy_device", &["polled"])
        }),
        Trial::test("races/seen_of_a_kernel", || seen("racy_device")),
        Trial::test("races/cached", cached),
        Trial::test("races/nothing_said", nothing_said),
    ];
    trials.extend(mistakes);
    trials
}
