//! `bench gio`, on an installation of the library under test.

use hetmp_abi_compat::{exec, library};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How the benchmark ended, its output, and its errors.
struct Ran {
    ending: exec::Ending,
    out: String,
    err: String,
}

fn run(args: &[&str], limit: u64) -> Ran {
    let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
    let out = exec::run(&exec::Program {
        path: Path::new(env!("CARGO_BIN_EXE_bench")),
        args: &args,
        // Tests limit the size of files to 64 MiB, and symmetric memory is a file.
        env: &[("SHMEM_SYMMETRIC_SIZE".to_owned(), "24M".to_owned())],
        dir: &library::root(),
        limit: Duration::from_secs(limit),
        merge: false,
    })
    .unwrap();
    Ran {
        ending: out.ending,
        out: String::from_utf8_lossy(&out.stdout).into_owned(),
        err: String::from_utf8_lossy(&out.stderr).into_owned(),
    }
}

/// The ways of the solver's buffers that this processor has.
const UNCACHED: &[&str] = if cfg!(target_arch = "x86_64") {
    &["plain", "uncached", "gpu"]
} else {
    &["plain", "gpu"]
};

/// `bench gio` succeeds with a time for every mode, and refuses bad arguments.
#[test]
fn the_benchmark_measures_every_mode() {
    let folder = library::target_dir().join("gio-bench-tests");
    fs::create_dir_all(&folder).unwrap();
    let (json, svg) = (folder.join("bench.json"), folder.join("bench.svg"));
    let (json_text, svg_text) = (json.display().to_string(), svg.display().to_string());
    let shown = library::installed(&folder.join("prefix"))
        .display()
        .to_string();
    let args = [
        "gio", "--quick", "--rounds", "1", "--pes", "2", "--prefix", &shown, "--json", &json_text,
        "--svg", &svg_text,
    ];
    let ran = run(&args, 240);
    assert_eq!(ran.ending, exec::Ending::Exit(0), "{}{}", ran.out, ran.err);
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let rows = report["rows"].as_array().unwrap();
    for (part, modes) in [
        (
            "latency",
            &["cpu", "gio", "built", "ikn", "interk", "launch"][..],
        ),
        (
            "bandwidth",
            &["cpu", "gio", "built", "ikn", "interk", "launch"],
        ),
        ("jacobi", &["gio", "ikn", "interk", "overlap"]),
        ("model", &["gio", "ikn", "interk", "overlap"]),
        ("matrices", &["matrix"]),
        ("spts", &["gio", "ikn", "interk", "overlap"]),
        ("uncached", UNCACHED),
        ("experts", &["gio", "ikn", "interk", "overlap"]),
        ("search", &["gio", "ikn", "interk", "overlap"]),
    ] {
        let row = rows
            .iter()
            .find(|r| r["part"] == part && r["series"].as_array().unwrap().len() == modes.len());
        let row = row.unwrap_or_else(|| panic!("{part}: {report}"));
        for mode in modes {
            let series = row["series"].as_array().unwrap();
            let found = series.iter().find(|s| s["mode"] == *mode).unwrap();
            let values = found["values"].as_array().unwrap();
            assert_eq!(values.len(), 1, "{row}");
            assert!(values[0].as_f64().unwrap() > 0.0, "{row}");
        }
    }
    // The parts of a time: a workgroup of a modelled device waits, but computes for as long as the device would.
    let of = |name: &str, mode: &str| {
        let row = rows.iter().find(|r| r["name"] == name);
        let row = row.unwrap_or_else(|| panic!("{name}: {report}"));
        let series = row["series"].as_array().unwrap();
        let found = series.iter().find(|s| s["mode"] == mode).unwrap();
        found["values"][0].as_f64().unwrap()
    };
    let name = "1024 x 1024, 2 PEs, modelled";
    for mode in ["gio", "ikn", "interk", "overlap"] {
        let parts = ["launch", "compute", "post", "wait", "meet"];
        let sum: f64 = parts
            .map(|p| of(&format!("{name}: {p}"), mode))
            .iter()
            .sum();
        let (whole, compute) = (of(name, mode), of(&format!("{name}: compute"), mode));
        // 1022 x 1024 points at 20 Gpoints/s.
        assert!(compute >= 0.0523, "{mode}: {compute} ms");
        // The whole is one PE's, the parts are the mean over PEs, which on a busy machine do not begin and end
        // together: after 50 iterations the sum was seen to be 1.12 of the whole.
        assert!(sum <= 2.0 * whole, "{mode}: {sum} of {whole} ms");
        assert!(compute < sum, "{mode}: {compute} of {sum} ms");
    }
    assert!(fs::read_to_string(&svg).unwrap().contains("</svg>"));
    let ran = run(&["gio", "--prefix", "/nonexistent"], 60);
    assert_eq!(ran.ending, exec::Ending::Exit(2));
    assert!(
        ran.err.starts_with("hetmp: ") && ran.err.lines().count() == 1,
        "{}",
        ran.err
    );
}
