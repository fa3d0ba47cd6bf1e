//! What the scan says of every region of these tests' programs, on both machines, as `verdicts.txt` has it: a change of
//! the scan shows there, whether it was meant or not. `HETMP_BLESS=1` writes the file anew.
#![cfg(target_arch = "x86_64")]

mod support;

use hetmp_scan::scan_with_division;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use support::file::form;
use support::{compile_by, some};

const SOURCES: [&str; 6] = [
    "divided.c",
    "ends.c",
    "loops.c",
    "polls.c",
    "strided.c",
    "told.c",
];
const LEVELS: [&str; 4] = ["-O0", "-O2", "-O3", "-Os"];
const COMPILERS: [&str; 2] = ["gcc", "aarch64-linux-gnu-gcc"];
const HEAD: &str = "\
# A region's source, function and number, then what the scan says of it as these compilers make it for x86-64 and for
# 64-bit Arm, at -O0, -O2, -O3 and -Os: F divides freely, f fits a team of any size, ? calls unknown code, - is refused,
# . is not there.
";

/// The first line: other compilers make other code.
fn made_by(compiler: &str) -> Option<String> {
    let out = Command::new(compiler)
        .arg("-dumpfullversion")
        .output()
        .ok()?;
    Some(format!(
        "# {compiler} {}",
        String::from_utf8_lossy(&out.stdout).trim()
    ))
}

/// The verdicts at the levels with these indices.
fn verdicts(compiler: &str, levels: &[usize]) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, [char; LEVELS.len()]> = BTreeMap::new();
    for source in SOURCES {
        for &level in levels {
            let file = compile_by(compiler, source, &[LEVELS[level]]);
            for (name, &address) in &file.functions {
                let Some(form) = form(name) else { continue };
                let (scan, division) = scan_with_division(&*file, address, form);
                let verdict = match (scan.fits(), division) {
                    (Err(_), _) => '-',
                    _ if scan.calls.unknown => '?',
                    (Ok(()), Ok(_)) => 'F',
                    (Ok(()), Err(_)) => 'f',
                };
                let name = format!("{source} {}", name.replace("._omp_fn", ""));
                all.entry(name).or_insert(['.'; LEVELS.len()])[level] = verdict;
            }
        }
    }
    let text = |(name, verdicts): (String, [char; LEVELS.len()])| (name, verdicts.iter().collect());
    all.into_iter().map(text).collect()
}

#[test]
fn verdicts_are_those_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts.txt");
    let made = COMPILERS.map(|compiler| made_by(compiler).unwrap_or_default());
    if std::env::var_os("HETMP_BLESS").is_some() {
        let [x86, a64] = COMPILERS.map(|compiler| verdicts(compiler, &[0, 1, 2, 3]));
        let mut text = format!("{}\n{}\n{HEAD}", made[0], made[1]);
        for (name, verdicts) in &x86 {
            let a64 = a64.get(name).map_or("....", String::as_str);
            text.push_str(&format!("{name} {verdicts} {a64}\n"));
        }
        std::fs::write(&path, text).expect("the table");
    }
    let table = std::fs::read_to_string(&path).expect("the table");
    let levels: Vec<usize> = some(0..LEVELS.len()).collect();
    let mut wrong = Vec::new();
    for (column, compiler) in COMPILERS.iter().enumerate() {
        if !table.lines().any(|line| line == made[column]) {
            println!(
                "skipped for {compiler}: the table is not of '{}'",
                made[column]
            );
            continue;
        }
        let now = verdicts(compiler, &levels);
        let mut regions = 0;
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split(' ').collect();
            let name = words[..2].join(" ");
            let then: Vec<char> = words[2 + column].chars().collect();
            let now: Vec<char> = now
                .get(&name)
                .map_or("....", String::as_str)
                .chars()
                .collect();
            regions += 1;
            for &level in &levels {
                if now[level] != then[level] {
                    let (was, is) = (then[level], now[level]);
                    wrong.push(format!(
                        "{compiler} {} {name}: {was} is {is}",
                        LEVELS[level]
                    ));
                }
            }
        }
        assert!(regions > 100, "only {regions} regions in the table");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
