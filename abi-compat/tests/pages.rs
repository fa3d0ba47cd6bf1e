//! Kernels with pages of 16 and 64 KiB, which 64-bit Arm has: programs run under `pages/large.c`, which pretends one,
//! and ends who asks for a part of a page.

use hetmp_abi_compat::scratch::Scratch;
use hetmp_abi_compat::{c_api, exec, library};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

const SIZES: [usize; 2] = [16 << 10, 64 << 10];

fn gcc(args: &[&str]) {
    let mut gcc = Command::new("gcc");
    let out = gcc.current_dir(library::root()).args(args).output();
    let out = out.expect("gcc starts");
    assert!(
        out.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
}

fn lib() -> &'static PathBuf {
    static LIB: OnceLock<PathBuf> = OnceLock::new();
    LIB.get_or_init(|| c_api::library_folder(library::fresh(), "pages-test").expect("a copy"))
}

/// The library that pretends pages of `size`.
fn pretender(scratch: &Scratch, size: usize) -> String {
    let (define, large) = (format!("-DPAGE={size}"), scratch.path("large.so"));
    let source = "abi-compat/tests/pages/large.c";
    gcc(&["-O1", "-shared", "-fPIC", &define, source, "-o", &large]);
    large
}

/// Runs `source`, compiled and linked for such pages, under both of them: in `pes` processes, or alone if that is 0.
fn runs(source: &str, pes: u32, args: &[&str], env: &[(&str, &str)]) {
    let name = source.replace(['/', '.'], "_");
    let scratch = Scratch::in_target(&format!("pages-{name}"));
    for size in SIZES {
        let define = format!("-DPAGE={size}");
        let (large, end) = (pretender(&scratch, size), scratch.path("end.o"));
        gcc(&[
            "-O1",
            "-c",
            "-fno-pie",
            &define,
            "abi-compat/tests/pages/end.c",
            "-o",
            &end,
        ]);
        let program = scratch.path("program");
        let pages = format!("-Wl,-z,max-page-size={size},-z,common-page-size={size}");
        let linked = c_api::link_flags(lib(), &["mq", "shmem", "goal"]).expect("flags");
        let before = [
            "-std=gnu11",
            "-O1",
            "-fopenmp",
            "-Iinclude",
            "-Ic-tests/shmem",
            "-no-pie",
            &pages,
        ];
        let files = [source, &end, "-o", &program, "-lm"];
        let linked: Vec<&str> = linked.iter().map(String::as_str).collect();
        gcc(&[&before[..], &files, &linked].concat());
        let preload = format!("{large} {}/libhetmp.so", lib().display());
        let folder = lib().display().to_string();
        let env = [
            &[
                ("LD_PRELOAD", preload.as_str()),
                ("LD_LIBRARY_PATH", folder.as_str()),
            ],
            env,
        ]
        .concat();
        let hetrun = library::fresh()
            .with_file_name("hetrun")
            .display()
            .to_string();
        let n = pes.to_string();
        let (path, all) = match pes {
            0 => (program.as_str(), args.to_vec()),
            _ => (hetrun.as_str(), [&["-n", &n, &program], args].concat()),
        };
        exec::succeed(path, &all, &env, Duration::from_secs(120));
    }
}

#[test]
fn regions_tasks_forks_and_stacks() {
    runs("c-tests/openmp/task_basic.c", 0, &[], &[]);
    runs("c-tests/openmp/api_allocator_traits.c", 0, &[], &[]);
    runs("c-tests/openmp/proc_fork_after_parallel.c", 0, &[], &[]);
    runs(
        "c-tests/openmp/loop_static.c",
        0,
        &[],
        &[("HETMP_STATIC", "force"), ("HETMP_NODES", "2")],
    );
}

#[test]
fn strict_queues() {
    for source in ["c-tests/mq/basic.c", "c-tests/mq/strict.c"] {
        runs(source, 0, &[], &[("HETMP_PLATFORM", "mt3000,strict")]);
    }
}

#[test]
fn symmetric_memory() {
    // The tests' limit for files is lower than the default size.
    let small = ("SHMEM_SYMMETRIC_SIZE", "4M");
    runs("c-tests/shmem/statics.c", 2, &[], &[small]);
    runs("c-tests/shmem/fork.c", 2, &[], &[small]);
    runs(
        "c-tests/shmem/collectives.c",
        2,
        &[],
        &[small, ("HETMP_NIC", "tcp")],
    );
    runs(
        "c-tests/shmem/put_get.c",
        2,
        &[],
        &[small, ("HETMP_CHECK", "1")],
    );
    runs(
        "c-tests/shmem/put_get.c",
        2,
        &[],
        &[small, ("HETMP_NIC_MODEL", "gpu")],
    );
}

#[test]
fn collectives_by_goal() {
    runs("c-tests/goal/collectives.c", 2, &[], &[]);
    runs(
        "c-tests/goal/collectives.c",
        2,
        &[],
        &[("HETMP_GOAL_ENGINE", "nic")],
    );
}

/// Nodes with memory of their own pass on pages of 4 KiB. What is there before they start may need that size, too.
#[test]
fn nodes_of_such_kernels_are_refused_with_one_line() {
    let scratch = Scratch::in_target("pages-nodes");
    let program = scratch.path("program");
    gcc(&["-fopenmp", "c-tests/dsm/shared.c", "-o", &program, "-lm"]);
    let dsm = library::fresh().with_file_name("libhetmp_dsm.so");
    for size in SIZES {
        let large = pretender(&scratch, size);
        let ours = library::fresh().display();
        let preload = format!("{large} {} {ours}", dsm.display());
        let env = [("LD_PRELOAD", preload.as_str()), ("HETMP_NODES", "dsm:2")];
        let out = exec::command(&program, &[], &env, Duration::from_secs(120));
        assert_eq!(out.ending, exec::Ending::Exit(2));
        assert_eq!(
            String::from_utf8_lossy(&out.stdout),
            format!(
                "hetmp: HETMP_NODES: 'dsm:2': this kernel's pages have {size} bytes (expected a kernel with pages of \
                 4096)\n"
            )
        );
    }
}
