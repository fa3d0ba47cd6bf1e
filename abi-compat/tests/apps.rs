//! The applications of `c-tests/apps/`: their standard output must be the same in every mode of moving the data, on
//! every platform, and with any number of slaves. Bad arguments must be refused in one line.
//!
//! The programs check their own results. One test spoils each program: the check must notice that.

use hetmp_abi_compat::exec::{self, Ending, Outcome, Program};
use hetmp_abi_compat::{c_api, library};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// An application of `c-tests/apps/`.
struct App {
    name: &'static str,
    prints: &'static str,
    dma: bool,
    /// An edit of the source after which the result is wrong.
    spoil: (&'static str, &'static str),
}

const APPS: [App; 4] = [
    App {
        name: "vsum",
        prints: "vsum: 300007 numbers, sum 3000338396, right\n",
        dma: true,
        spoil: (
            "sum += a[i];\n    return",
            "sum += a[i] + (i == 999);\n    return",
        ),
    },
    App {
        name: "bandwidth",
        prints: "bandwidth: 60 messages of 16384 bytes to every slave, all right\n",
        dma: true,
        // Spoils one number in one message.
        spoil: (
            "(size_t)t->values * sizeof(double));\n",
            "(size_t)t->values * sizeof(double));\n    if (k == 59) p->values[t->values - 1]++;\n",
        ),
    },
    App {
        name: "matmul",
        prints: "matmul: 192 by 192, sum of the elements 197, right\n",
        dma: true,
        // Leaves out the last product of each element.
        spoil: (
            "for (int k = 0; k < n; k++) {\n                const",
            "for (int k = 0; k < n - 1; k++) {\n                const",
        ),
    },
    App {
        name: "passwords",
        prints: "\
74b87337454200d4d33f80c4663dc5e5 MD5 aaaa
2f02accd531d39f9b9fadb5c8c52ddb0 MD5 ddes
ef7f5b2bcdb22333c0d8c9c928f969ad MD5 ikws
8f988c8a0656b63217ed61d6bb0f91ac MD5 lnal
ea9da7e290d3ee93867df80d03f5fd6f716796a49e72136c4aa0d2d9d9b5ceaf SHA-256 qusl
fd9db5044cd33b4a3488d316ee5f96da9ca05359d09fc5ebf2002a2087164b27 SHA-256 wbkm
9fe20eb8ef74ca0a0fa228e1bcda3378734d2bca3def2f5223950503b79bb43c SHA-256 zeoe
2d6ccd34ad7af363159ed4bbe18c0e43c681f606877d9ffc96b62200720d7291 SHA-256 zzzz
passwords: 456976 words twice, all found
",
        dma: false,
        // Does not try the last two of the pairs of first letters.
        spoil: (
            "i < PAIRS; i += _VU32_SIZE) {",
            "i < PAIRS - 2 * _VU32_SIZE; i += _VU32_SIZE) {",
        ),
    },
];

fn folder() -> PathBuf {
    let folder = library::target_dir().join("apps-test");
    std::fs::create_dir_all(&folder).expect("a folder in the target directory");
    folder
}

/// The folder that has the library under test under both of its names.
fn lib() -> &'static Path {
    static LIB: OnceLock<PathBuf> = OnceLock::new();
    LIB.get_or_init(|| c_api::library_folder(library::fresh(), "apps-test").expect("a copy"))
}

/// The application's program, compiled once.
fn program(app: usize) -> &'static Path {
    static BUILT: [OnceLock<PathBuf>; 4] = [const { OnceLock::new() }; 4];
    BUILT[app].get_or_init(|| {
        let name = APPS[app].name;
        let program = folder().join(name);
        let source = format!("c-tests/apps/{name}.c");
        // -O1, because of simd.h: with -O0 its code is slow, and -O2 takes long to compile.
        c_api::compile(&source, &program, lib(), &["-O1", "-Werror"])
            .unwrap_or_else(|why| panic!("hetmp: {why}"));
        program
    })
}

fn run(program: &Path, args: &str, platform: Option<&str>) -> Outcome {
    let args: Vec<String> = args.split_ascii_whitespace().map(str::to_owned).collect();
    let env: Vec<(String, String)> = platform
        .iter()
        .map(|p| ("HETMP_PLATFORM".to_owned(), (*p).to_owned()))
        .collect();
    exec::run(&Program {
        path: program,
        args: &args,
        env: &env,
        dir: &folder(),
        limit: Duration::from_secs(60),
        merge: false,
    })
    .expect("the program starts")
}

/// Runs one application in every way that it has, with these numbers of slaves, on a platform.
fn every_way(app: usize, slaves: &[u32], platform: Option<&str>) {
    let path = program(app);
    let app = &APPS[app];
    let mut ways = vec!["queues"];
    if platform.is_none() {
        ways.extend(["threads", "condvar"]);
    }
    if app.dma {
        ways.push("dma");
    }
    for way in ways {
        for n in slaves {
            let line = format!("S {way} {n}");
            let out = run(path, &line, platform);
            let said = String::from_utf8_lossy(&out.stderr);
            let case = format!(
                "{} {line} on {platform:?}: {}\n{said}",
                app.name, out.ending
            );
            assert_eq!(String::from_utf8_lossy(&out.stdout), app.prints, "{case}");
            assert_eq!(out.ending, Ending::Exit(0), "{case}");
            let time = format!("time {} {way} slaves {n} seconds ", app.name);
            assert!(
                said.starts_with(&time) && said.lines().count() == 1,
                "{case}"
            );
        }
    }
}

const SUM: usize = 0;
const BANDWIDTH: usize = 1;
const MATMUL: usize = 2;
const PASSWORDS: usize = 3;

#[test]
fn every_application_on_this_machine() {
    for app in [SUM, BANDWIDTH, MATMUL, PASSWORDS] {
        every_way(app, &[1, 3], None);
    }
}

#[test]
fn as_many_slaves_as_a_chip_has() {
    for app in [SUM, BANDWIDTH, MATMUL, PASSWORDS] {
        every_way(app, &[64], Some("sw26010"));
        every_way(app, &[24], Some("mt3000"));
    }
}

#[test]
fn with_local_stores_out_of_reach() {
    for app in [SUM, BANDWIDTH, MATMUL, PASSWORDS] {
        every_way(app, &[2], Some("x86,strict"));
        every_way(app, &[4], Some("sw26010,strict"));
        every_way(app, &[4], Some("mt3000,strict"));
    }
}

#[test]
fn with_slow_transfers() {
    for app in [SUM, BANDWIDTH, MATMUL, PASSWORDS] {
        every_way(app, &[5], Some("sw26010,scale=50"));
    }
}

/// Message sizes that size S does not use: the smallest, and one that gives more slots than messages.
#[test]
fn messages_of_other_sizes() {
    for (bytes, messages, slots) in [(16, 5000, 1), (64, 5000, 16), (65536, 40, 3), (24, 1, 2)] {
        for way in ["queues", "threads", "condvar", "dma"] {
            let line = format!("S {way} 3 {bytes} {messages} {slots}");
            let out = run(program(BANDWIDTH), &line, None);
            assert_eq!(
                String::from_utf8_lossy(&out.stdout),
                format!(
                    "bandwidth: {messages} messages of {bytes} bytes to every slave, all right\n"
                ),
                "{line}: {}",
                String::from_utf8_lossy(&out.stderr)
            );
        }
    }
}

/// A message that does not fit into the local store is refused, as on the chip.
#[test]
fn messages_larger_than_the_store() {
    let out = run(program(BANDWIDTH), "S queues 2 40000 10 2", Some("sw26010"));
    assert_eq!(out.ending, Ending::Exit(1));
    assert_eq!(
        String::from_utf8_lossy(&out.stderr),
        "hetmp: Input: does not fit in the slave's local store\n"
    );
}

#[test]
fn bad_arguments_are_one_line() {
    for (app, line, said) in [
        (SUM, "M", "size M: not usable (expected S and A)"),
        (
            SUM,
            "S quick",
            "way quick: unknown (expected one of queues threads condvar dma)",
        ),
        (
            PASSWORDS,
            "S dma",
            "way dma: unknown (expected one of queues threads condvar)",
        ),
        (
            MATMUL,
            "S queues 0",
            "number of slaves 0: not usable (expected a number from 1 to 256)",
        ),
        (
            MATMUL,
            "S queues 2 4x",
            "block 4x: not usable (expected a number from 32 to 64)",
        ),
        (
            BANDWIDTH,
            "S queues 1 8",
            "bytes of a message 8: not usable (expected a number from 16 to 131080)",
        ),
    ] {
        let out = run(program(app), line, None);
        let err = String::from_utf8_lossy(&out.stderr);
        assert_eq!(err, format!("hetmp: {said}\n"), "{line}");
        assert_eq!(out.ending, Ending::Exit(2), "{line}");
    }
}

/// The programs' checks work: a program whose computation was spoiled fails.
#[test]
fn a_wrong_result_is_seen() {
    for app in &APPS {
        let folder = folder().join("spoiled");
        std::fs::create_dir_all(&folder).expect("a folder in the target directory");
        let source = library::root().join(format!("c-tests/apps/{}.c", app.name));
        let text = std::fs::read_to_string(&source).expect("the source");
        let (from, to) = app.spoil;
        assert_eq!(
            text.matches(from).count(),
            1,
            "{}: the place to spoil",
            app.name
        );
        let spoiled = folder.join(format!("{}.c", app.name));
        std::fs::write(&spoiled, text.replace(from, to)).expect("the spoiled source");
        let program = folder.join(app.name);
        let flags = ["-O1", "-Ic-tests/apps"];
        let source = spoiled.to_str().expect("a path that is text");
        c_api::compile(source, &program, lib(), &flags)
            .unwrap_or_else(|why| panic!("hetmp: {why}"));
        for way in ["queues", "threads"] {
            let out = run(&program, &format!("S {way} 2"), None);
            assert_eq!(out.ending, Ending::Exit(1), "{} {way}", app.name);
            assert_ne!(String::from_utf8_lossy(&out.stdout), app.prints);
        }
    }
}
