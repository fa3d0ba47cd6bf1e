//! Programs compiled here in many ways: what must be accepted, and what must
//! be refused, by the name of the function that holds the region.
#![cfg(target_arch = "x86_64")]

mod support;

use hetmp_scan::{divides_freely, scan, scan_with_division, Form, Scan};
use support::file::{form, File};
use support::{compile, compile_by, compilers, some};

fn outlined(source: &str, options: &[&str]) -> Vec<(String, Scan)> {
    scans(source, &compile(source, options))
}

fn scans(source: &str, file: &File) -> Vec<(String, Scan)> {
    let found: Vec<(String, Scan)> = file
        .functions
        .iter()
        .filter_map(|(name, &address)| Some((name.clone(), scan(&**file, address, form(name)?))))
        .collect();
    assert!(found.len() >= 3, "{source}: only {} regions", found.len());
    found
}

/// Checks every region.
fn check(source: &str, options: &[&str]) {
    judge(source, options, outlined(source, options));
}

fn judge(source: &str, options: &[&str], scans: Vec<(String, Scan)>) {
    let mut wrong = Vec::new();
    for (name, scan) in scans {
        let fits = scan.fits();
        if name.contains("refused_") {
            // A function that calls itself and gives a number back is given up, as unknown code.
            let given_up = name.contains("_recursion_") && scan.calls.unknown;
            if fits.is_ok() && !given_up {
                wrong.push(format!("{name} fits, and must not: {scan:?}"));
            }
        } else {
            if fits.is_err() || name.contains("_recursion") && scan.calls.unknown {
                wrong.push(format!("{name} is refused: {scan:x?}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{source} {options:?}\n{}",
        wrong.join("\n")
    );
}

const LEVELS: [&str; 6] = ["-O0", "-O1", "-O2", "-O3", "-Os", "-Ofast"];

#[test]
fn c() {
    for level in some(LEVELS) {
        check("loops.c", &[level]);
        check("loops.c", &[level, "-march=native", "-shared", "-fPIC"]);
    }
}

/// The same regions, and clang's own ways: loops that the runtime divides, in chunks, too, and reductions.
#[test]
fn c_by_clang() {
    if !compilers().contains(&"clang-19") {
        return;
    }
    let mut all: Vec<Vec<&str>> = LEVELS.iter().map(|level| vec![*level]).collect();
    all.push(vec!["-O0", "-g", "-shared", "-fPIC"]);
    all.push(vec!["-O2", "-march=native", "-shared", "-fPIC"]);
    all.push(vec!["-O2", "-g", "-fno-omit-frame-pointer"]);
    for source in ["loops.c", "clang.c"] {
        for options in some(&all) {
            let file = compile_by("clang-19", source, options);
            judge(source, options, scans(source, &file));
        }
    }
}

#[test]
fn c_with_other_linkage() {
    let options: [&[&str]; 10] = [
        &["-O2", "-no-pie", "-fno-pie"],
        &["-O2", "-fno-plt"],
        &["-O2", "-fno-plt", "-shared", "-fPIC"],
        &["-O2", "-fcf-protection"],
        &["-O2", "-Wl,-z,now"],
        &["-O2", "-fstack-protector-all"],
        &["-O3", "-march=x86-64-v4"],
        &["-O2", "-fno-omit-frame-pointer"],
        &["-O2", "-maccumulate-outgoing-args"],
        &["-O2", "-fstack-clash-protection"],
    ];
    for options in some(options) {
        check("loops.c", options);
    }
}

#[test]
fn cxx_with_exceptions() {
    for level in some(LEVELS) {
        check("catch.cc", &[level]);
        check("catch.cc", &[level, "-shared", "-fPIC"]);
    }
}

#[test]
fn fortran() {
    for level in some(LEVELS) {
        check("arrays.f90", &[level]);
        check("arrays.f90", &[level, "-march=native"]);
    }
}

/// A function may end with a call that does not return, which no name shows. What stands behind it is another
/// function's, and not what this one reaches.
#[test]
fn functions_that_end_with_a_call() {
    for compiler in ["gcc", "clang-19"] {
        if !compilers().contains(&compiler) {
            continue;
        }
        for options in [
            &["-O2"][..],
            &["-O2", "-fno-reorder-blocks-and-partition"],
            &["-O2", "-shared", "-fPIC", "-fvisibility=hidden"],
        ] {
            if compiler == "clang-19" && options.len() == 2 {
                continue;
            }
            let file = compile_by(compiler, "ends.c", options);
            let mut seen = 0;
            for (name, &address) in &file.functions {
                if !(name.starts_with("ends_") && form(name).is_some()) {
                    continue;
                }
                seen += 1;
                let mut budget = 10_000;
                let reach = hetmp_scan::reach(&*file, address, &mut budget).expect(name);
                let own = name.trim_start_matches("ends_").split('.').next().unwrap();
                let expected = ["fail", own].map(|callee| file.functions[callee]);
                assert_eq!(
                    reach.inside,
                    expected.into_iter().collect(),
                    "{compiler} {options:?} {name}"
                );
            }
            assert_eq!(seen, 3, "{compiler} {options:?}");
        }
    }
}

/// Where the number of threads is only printed, the scan says which calls are to be answered as in an ordinary team.
#[test]
fn numbers_that_are_printed() {
    let mut wrong = Vec::new();
    for compiler in ["gcc", "clang-19"] {
        if !compilers().contains(&compiler) {
            continue;
        }
        for level in some(LEVELS) {
            for more in [
                &[][..],
                &["-shared", "-fPIC"],
                &["-D_FORTIFY_SOURCE=2"],
                &["-fno-plt"],
            ] {
                let options = [&[level, "-w"], more].concat();
                let file = compile_by(compiler, "told.c", &options);
                let by_clang = compiler == "clang-19";
                for (name, scan) in scans("told.c", &file) {
                    let fits = scan.fits().is_ok() && !scan.calls.unknown;
                    let twice = name.contains("_twice");
                    // Unoptimised, what lies in the frame may lie where a seventh argument would. clang asks once for
                    // both lines, or twice through a register.
                    let must = match by_clang {
                        true => level != "-O0" && !(twice && more == ["-fno-plt"]),
                        false => level != "-O0" || !name.contains("_variable"),
                    };
                    let calls = if twice && !by_clang { 2 } else { 1 };
                    let told = fits && (by_clang || scan.told.count() == calls);
                    let right = if name.contains("told_") {
                        told || !must
                    } else {
                        !fits
                    };
                    if !right {
                        wrong.push(format!("{compiler} {options:?} {name}: {scan:x?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn loops_that_wait_for_other_threads() {
    for level in some(LEVELS) {
        for more in [
            &[][..],
            &["-shared", "-fPIC"],
            &["-march=native"],
            &["-fno-inline"],
        ] {
            let options = [&[level], more].concat();
            for (name, scan) in outlined("polls.c", &options) {
                // Unoptimised, what was read is stored in a local variable.
                let stores = level == "-O0" && name.contains("waits_atomic");
                let waits = name.contains("waits_") && !stores;
                assert_eq!(scan.calls.polls, waits, "{name} {options:?}");
            }
        }
    }
}

#[test]
fn thread_local_variables() {
    let options: [&[&str]; 12] = [
        &["-O0"],
        &["-O1"],
        &["-O2"],
        &["-O3"],
        &["-O2", "-shared", "-fPIC"],
        &["-O0", "-shared", "-fPIC"],
        &["-O2", "-shared", "-fPIC", "-fno-plt"],
        &["-O2", "-shared", "-fPIC", "-mtls-dialect=gnu2"],
        &["-O2", "-shared", "-fPIC", "-ftls-model=initial-exec"],
        &["-O2", "-fstack-protector-all"],
        &["-O2", "-shared", "-fPIC", "-fstack-protector-all"],
        &["-O2", "-no-pie", "-fno-pie"],
    ];
    for options in some(options) {
        for (name, scan) in outlined("tls.c", options) {
            let shares = name.contains("shares_");
            assert_eq!(scan.calls.thread_local, shares, "{name} {options:?}");
            if !shares {
                assert_eq!(scan.fits(), Ok(()), "{name} {options:?}");
            }
        }
    }
}

/// Loops of single iterations, as gcc makes them. Unoptimised ones and those of `-Os` have another form: there
/// nothing may be taken for one of them that is none.
#[test]
fn chunks_of_one_iteration() {
    let mut wrong = Vec::new();
    for (options, known) in some([
        (&["-O0"][..], false),
        (&["-Os"], false),
        (&["-Ofast"], true),
        (&["-O1"], true),
        (&["-O2"], true),
        (&["-O3"], true),
        (&["-O2", "-shared", "-fPIC"], true),
        (&["-O2", "-fno-omit-frame-pointer"], true),
        (&["-O3", "-march=x86-64-v3"], false),
        (&["-O3", "-funroll-loops", "-fpeel-loops"], false),
    ]) {
        let mut all = vec![(known, outlined("strided.c", options))];
        if compilers().contains(&"clang-19") {
            let file = compile_by("clang-19", "strided.c", options);
            all.push((false, scans("strided.c", &file)));
        }
        for (known, (name, scan)) in all
            .into_iter()
            .flat_map(|(known, scans)| scans.into_iter().map(move |scan| (known, scan)))
        {
            let fits = scan.fits();
            let must = known && !name.contains("refused_") && !name.contains("either_");
            if name.contains("refused_") && fits.is_ok() || must && fits.is_err() {
                wrong.push(format!("{options:?} {name}: {fits:x?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn divisions_that_are_noticed() {
    let mut wrong = Vec::new();
    let mut options: Vec<Vec<&str>> = LEVELS.iter().map(|level| vec![*level]).collect();
    options.push(vec!["-O2", "-shared", "-fPIC"]);
    options.push(vec!["-O3", "-march=x86-64-v3"]);
    options.push(vec!["-O3", "-march=x86-64-v4", "-ffast-math"]);
    options.push(vec!["-O3", "-funroll-loops", "-fpeel-loops"]);
    for options in some(&options) {
        let file = compile("divided.c", options);
        let mut seen = 0;
        for (name, &address) in &file.functions {
            if !name.contains("._omp_fn.") || name.ends_with(".cold") {
                continue;
            }
            seen += 1;
            let scan = scan(&*file, address, Form::Data);
            let (again, division) = scan_with_division(&*file, address, Form::Data);
            assert_eq!(scan, again, "{options:?} {name}");
            let fits = scan.fits();
            // As the runtime asks: a region with an unknown callee is not divided.
            let freely = fits.is_ok() && !scan.calls.unknown && division.is_ok();
            let unusual = [
                "-march=x86-64-v3",
                "-funroll-loops",
                "-ffast-math",
                "-Ofast",
                "-Os",
            ];
            let usual = options.iter().all(|o| !unusual.contains(o));
            // Unoptimised, the index lies among the arrays, and `lastprivate` compares it instead of the chunk's end.
            let hard = ["scratch", "_last_"].iter().any(|word| name.contains(word));
            // Elsewhere the function's address goes through another register before it becomes an argument.
            let direct = !name.contains("_sorted") || options.contains(&"-shared");
            let apart = (options != &["-O0"] || !hard) && direct;
            let must = usual && apart && name.starts_with("free_");
            if freely && name.starts_with("counts_") || !freely && must {
                wrong.push(format!("{options:?} {name}: {division:x?} {fits:x?}"));
            }
        }
        assert!(seen > 30, "{options:?}: {seen}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same programs by clang, whose unoptimised loops end where they begin. Nothing that must be free is asked for:
/// clang has its own ways.
#[test]
fn divisions_that_are_noticed_by_clang() {
    if !compilers().contains(&"clang-19") {
        return;
    }
    let mut wrong = Vec::new();
    for level in ["-O0", "-O2"] {
        let file = compile_by("clang-19", "divided.c", &[level, "-w"]);
        let regions = file.functions.iter().filter(|(name, _)| {
            // An argument that clang stores next to the frame's variables is not followed.
            name.starts_with("counts_") && !name.contains("_seventh_argument")
        });
        for (name, &address) in regions {
            let Some(form) = form(name) else {
                continue;
            };
            let scan = scan(&*file, address, form);
            let fits = scan.fits().is_ok() && !scan.calls.unknown;
            if fits && divides_freely(&*file, address, form).is_ok() {
                wrong.push(format!("{level} {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Regions are found without their names: by the calls that open them.
#[test]
fn regions_by_their_calls() {
    for compiler in compilers() {
        for options in [
            &["-O0"][..],
            &["-O2"],
            &["-O2", "-no-pie", "-fno-pie"],
            &["-O3", "-shared", "-fPIC"],
            &["-O2", "-fno-plt"],
        ] {
            let file = compile_by(compiler, "loops.c", options);
            let found: std::collections::BTreeSet<u64> = file
                .calls(&|name| name.starts_with("GOMP_") || name.starts_with("__kmpc_"))
                .iter()
                .filter_map(|site| Some(site.region()?.0))
                .collect();
            let there: std::collections::BTreeSet<u64> = file
                .functions
                .iter()
                .filter(|(name, _)| form(name).is_some())
                .map(|(_, &address)| address)
                .collect();
            // Inlined copies may share a function; regions inside of functions that nobody calls are there twice.
            let missing: Vec<_> = there.difference(&found).collect();
            let wrong: Vec<_> = found.difference(&there).collect();
            assert!(
                there.len() > 10 && wrong.is_empty(),
                "{compiler} {options:?}: {wrong:x?}"
            );
            assert!(missing.is_empty(), "{compiler} {options:?}: {missing:x?}");
        }
    }
}

/// Bytes that are no file, or end too early, are refused.
#[test]
fn files_that_are_none() {
    use hetmp_scan::file::File as Parsed;
    let (program, _) = support::compile_to("loops.c", &["-O1"]);
    let whole = std::fs::read(&program).unwrap();
    assert!(Parsed::parse(&whole).is_some());
    for length in [0, 3, 16, 63, 64, 200, whole.len() / 2] {
        let cut = Parsed::parse(&whole[..length]);
        assert!(cut.is_none(), "the first {length} bytes");
    }
    assert!(Parsed::parse(&[0x7f; 4096]).is_none());
    let mut other = whole.clone();
    other[18] = 243; // RISC-V
    assert!(Parsed::parse(&other).is_none());
}
