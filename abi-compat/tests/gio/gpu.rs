//! `hetmp/device.h` for a GPU and `scripts/gpu`, as far as a machine without a GPU goes.

use super::{compiles, exec, file, folder, fs, library, prefix, run, sample, strings, Ran};

/// `scripts/gpu` with arguments.
fn script(args: &[&str]) -> Ran {
    run(
        &library::root().join("scripts/gpu"),
        &strings(args),
        &[],
        300,
    )
}

/// The programs for a GPU, compiled as C++: each thread of a block is a thread here. Every row of results is right.
#[test]
fn the_programs_for_a_gpu_run_as_threads() {
    let out = folder().join("gpu");
    let (shown, prefix) = (out.display().to_string(), prefix().display().to_string());
    let mut parts = "check,latency,jacobi,spts,experts,search".to_owned();
    if !sample::is_short() {
        parts += ",cpu,omp,shmem";
    }
    let ran = script(&[
        "run", "--shim", "--out", &shown, "--prefix", &prefix, "--parts", &parts,
    ]);
    let read = |name| fs::read_to_string(out.join(name)).unwrap();
    let (rows, log) = (read("gpu.csv"), read("log.txt"));
    assert_eq!(ran.ending, exec::Ending::Exit(0), "{}{log}", ran.err);
    assert_eq!(log, "", "{rows}");
    let of = |part: &str| {
        rows.lines()
            .filter(|l| l.starts_with(&format!("{part},")))
            .collect::<Vec<_>>()
    };
    // 10 cases on 1 and 2 PEs, and on 2 PEs through mapped memory; three modes of the applications.
    assert_eq!(of("check").len(), 30, "{rows}");
    // Four of Jacobi: all iterations, and until the residual is small.
    assert_eq!(of("jacobi").len(), 16, "{rows}");
    assert_eq!(rows.matches(",12 to 0.05,").count(), 8, "{rows}");
    assert_eq!(of("spts").len(), 12, "{rows}");
    assert_eq!((of("experts").len(), of("search").len()), (6, 6), "{rows}");
    // 2 sizes: gio's four operations, ikn, interk and cpu; a kernel; p and two atomics; 2 blocks: gio and ikn.
    assert_eq!(of("latency").len(), 2 * 7 + 1 + 3 + 2, "{rows}");
    for row in ["check", "jacobi", "spts", "experts", "search"]
        .iter()
        .flat_map(|p| of(p))
    {
        assert!(row.ends_with(",right"), "{row}");
    }
    if !sample::is_short() {
        // Rows of both runtimes, and of jobs of two PEs.
        assert!(read("omp.jsonl").lines().count() > 20 && read("shmem.csv").lines().count() > 20);
        // On 1 and 2 PEs, by four modes: two of Jacobi, two matrices; the serial solver, too.
        let cpu = read("cpu.csv");
        for (app, modes) in [("jacobi2d", 4), ("spts", 5)] {
            let found = cpu.lines().filter(|l| l.starts_with(&format!("{app},")));
            assert_eq!(found.count(), 2 * 2 * modes, "{cpu}");
        }
    }
    assert_eq!(
        read("gpu.json").matches("\"part\": ").count(),
        rows.lines().count() - 1
    );
}

#[test]
fn bad_results_and_arguments_of_the_gpu_script_are_one_line() {
    const FIELDS: &str =
        "part,mode,case,bytes,blocks,pes,count,unit,p10,p50,p90,p99,least,most,verdict";
    let row = "check,gio,gets,0,1,1,1,ms,1,1,1,1,1,1.5e-05,right";
    let good = file("gpu.csv", format!("{FIELDS}\n{row}\r\n"));
    let ran = script(&["json", &good]);
    assert_eq!(ran.ending, exec::Ending::Exit(0), "{}", ran.err);
    assert!(
        ran.out
            .contains("\"most\": 1.5e-05, \"verdict\": \"right\"}"),
        "{}",
        ran.out
    );
    let one_line = |args: &[&str], said: &str| {
        let ran = script(args);
        assert_eq!(
            ran.ending,
            exec::Ending::Exit(2),
            "{args:?}: {}{}",
            ran.out,
            ran.err
        );
        let first = ran.err.lines().next().unwrap_or_default();
        assert_eq!(ran.err.lines().count(), 1, "{args:?}: {}", ran.err);
        assert!(
            first.starts_with("hetmp: ") && first.contains(said),
            "{args:?}: {first}"
        );
    };
    for (text, said) in [
        (String::new(), "no lines"),
        (
            "part,mode\n".to_owned(),
            ":1: not usable (expected the head",
        ),
        (format!("{FIELDS}\n{row},more\n"), ":2: 16 fields"),
        (
            format!("{FIELDS}\n{row}\n{}\n", row.replace("ms,1", "ms,nan")),
            ":3: p10 nan",
        ),
        (
            format!("{FIELDS}\n{}\n", row.replace(",0,", ",,")),
            ":2: bytes (none)",
        ),
        (
            format!("{FIELDS}\n{}\n", row.replace("gets", "\"gets")),
            ":2: case \"gets",
        ),
    ] {
        one_line(&["json", &file("bad.csv", text)], said);
    }
    one_line(&["json", "/nonexistent"], "file /nonexistent");
    one_line(&[], "command (none)");
    one_line(&["run", "--fast"], "option --fast");
    one_line(&["run", "--out"], "option --out: no value");
    one_line(&["run", "--seconds", "soon"], "--seconds soon");
    one_line(&["run", "--parts", "check,all"], "--parts all");
    one_line(
        &["run", "--shim", "--prefix", "/nonexistent"],
        "--prefix /nonexistent",
    );
}

/// The header compiles for the host and for the device. clang knows both languages; small files stand in for the
/// headers of the SDKs.
#[test]
fn the_header_compiles_as_cuda_and_hip() {
    let common = [
        "-std=c++14",
        "-O2",
        "-Wall",
        "-Werror",
        "-DHETMP_TEST_GPU_SHIM",
        "-S",
    ];
    for side in ["--cuda-host-only", "--cuda-device-only"] {
        let cuda = [
            "-x",
            "cuda",
            "-nocudainc",
            "-nocudalib",
            "--cuda-gpu-arch=sm_70",
            side,
        ];
        let hip = [
            "-x",
            "hip",
            "-nogpuinc",
            "-nogpulib",
            "--offload-arch=gfx906",
            side,
        ];
        for flags in [cuda, hip] {
            compiles(
                "clang++",
                &[&flags[..], &common].concat(),
                "c-tests/device/kernel.cu",
            );
        }
    }
    // With the SDK's own compiler, if it is installed.
    compiles("nvcc", &["-std=c++17", "-O2"], "c-tests/device/kernel.cu");
    compiles(
        "hipcc",
        &["-std=c++14", "-O2", "-x", "hip", "--offload-arch=gfx906"],
        "c-tests/device/kernel.cu",
    );
}
