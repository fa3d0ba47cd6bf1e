//! What cannot be, and nodes that end too early: one line, and no hang.

use crate::harness::{
    built, compile, finish, hetrun_finds_the_library, is_same, preload, prints_the_same, run, same,
    same_by_clang, skipped,
};
use crate::sources;
use hetmp_abi_compat::library::{fresh, root};
use hetmp_abi_compat::sample;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn calls_that_cannot_be_fail_and_say_so() {
    let program = compile("c-tests/dsm/refusals.c", &[]);
    let library = program.with_extension("so");
    let out = Command::new("gcc")
        .args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"])
        .arg(&library)
        .output()
        .expect("gcc");
    assert!(out.status.success());
    let file = program.with_extension("file");
    let args = [&library, &file].map(|p| p.to_str().expect("a name"));
    let got = run(&program, &args, 2, &[]);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        "fork Function not implemented\ndlopen opened\nsystem library opened\nshared file refused\n\
         private file some text\nfrom a shell\nsystem 0, sum 4\n",
        "{said}"
    );
    for text in [
        "hetmp: fork: ",
        "hetmp: dlopen: ",
        "hetmp: mmap: MAP_SHARED",
    ] {
        let lines = said.lines().filter(|l| l.contains(text)).count();
        assert_eq!(lines, 1, "{text}: {said}");
    }
}

/// In containers whose profile forbids userfaultfd, page faults are caught by signals. Who asks for userfaultfd gets
/// one line.
#[test]
fn a_refused_userfaultfd_is_one_line() {
    let program = compile("c-tests/dsm/shared.c", &["-DREFUSED"]);
    let expected = run(&program, &[], 0, &[]);
    let mut command = Command::new(&program);
    command
        .env("LD_PRELOAD", preload())
        .env("HETMP_NODES", "dsm:3")
        .env("OMP_NUM_THREADS", "4")
        .env("HETMP_DSM_CROSS", "always")
        .env("HETMP_VERBOSE", "1");
    // SAFETY: the closure runs between fork and exec, and makes only system calls.
    unsafe { command.pre_exec(forbid_userfaultfd) };
    let got = finish(command, &program, 6);
    if !skipped(&got) {
        let said = is_same(&got, &expected, 3);
        assert!(said.contains("dsm: page faults by signals"), "{said}");
    }
    let mut command = Command::new(&program);
    command
        .env("LD_PRELOAD", preload())
        .env("HETMP_NODES", "dsm:3")
        .env("HETMP_DSM", "uffd");
    // SAFETY: the closure runs between fork and exec, and makes only system calls.
    unsafe { command.pre_exec(forbid_userfaultfd) };
    let got = finish(command, &program, 6);
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(2), "{said}");
    assert!(
        said.starts_with("hetmp: HETMP_DSM: 'uffd': root, access to /dev/userfaultfd"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(got.stdout.is_empty());
}

/// Makes the kernel refuse the system call userfaultfd, and the ioctl of `/dev/userfaultfd`, for this process and its
/// children.
fn forbid_userfaultfd() -> std::io::Result<()> {
    const fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
        libc::sock_filter {
            code: code as u16,
            jt,
            jf,
            k,
        }
    }
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    // struct seccomp_data: the number at 0, the arguments' low words at 16, 24, ...
    let mut steps = [
        step(load, 0, 0, 0),
        step(equal, 3, 0, libc::SYS_userfaultfd as u32),
        step(equal, 0, 3, libc::SYS_ioctl as u32),
        step(load, 0, 0, 24),
        step(equal, 0, 1, 0xaa00),
        step(answer, 0, 0, refuse),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: `prctl` reads a filter program that lives during the call and has the length that it gives.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) != 0
    };
    if failed {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// Copies of a library's file in `folder` that say that they were made of other sources.
fn of_other_sources(library: &Path, folder: &Path) -> PathBuf {
    let name = sources::name(&root().join("runtime"), &sources::OF_NODES);
    let (name, other) = (&name.as_bytes()[..8], b"tampered");
    let mut bytes = std::fs::read(library).expect("the library");
    // The compiler may have put it into instructions, too.
    let at: Vec<usize> = (0..bytes.len() - 8)
        .filter(|&i| bytes[i] == name[0] && bytes[i..i + 8] == *name)
        .collect();
    assert!(
        !at.is_empty(),
        "{}: no name of its sources",
        library.display()
    );
    for i in at {
        bytes[i..i + 8].copy_from_slice(other);
    }
    let copy = folder.join(library.file_name().expect("a name"));
    std::fs::write(&copy, bytes).expect("a copy");
    copy
}

/// Two hosts may have installed libraries of one version that were built from different sources: nothing else tells
/// them apart if they are for two instruction sets.
#[test]
fn libraries_of_other_sources_are_refused() {
    if !hetrun_finds_the_library() {
        return;
    }
    let program = compile("c-tests/dsm/shared.c", &["-DOTHER_SOURCES"]);
    let folder = program.with_extension("sources");
    std::fs::create_dir_all(&folder).expect("a folder");
    let (own, other) = (built("libhetmp_dsm.so"), fresh());
    let others = [own.as_path(), other].map(|library| of_other_sources(library, &folder));
    for (libraries, wrong) in [
        // Whichever node says it first.
        (
            [&others[0], &others[1]],
            "built from other sources than node",
        ),
        // Of one node, too, only one was replaced.
        ([&own, &others[1]], "libhetmp.so: another version"),
    ] {
        let preload = libraries.map(|library| library.to_str().expect("a path"));
        let mut command = Command::new(built("hetrun"));
        command
            .args(["--dsm", "-n", "1"])
            .arg(&program)
            .args([":", "-n", "1", "env"])
            .arg(format!("LD_PRELOAD={}", preload.join(":")))
            .arg(&program)
            .env("HETMP_DSM_CROSS", "always");
        let got = finish(command, &program, 9);
        if skipped(&got) {
            break;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert_eq!(got.status.code(), Some(2), "{said}");
        assert!(said.contains(wrong), "{said}");
        assert!(got.stdout.is_empty());
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_killed_node_of_hetrun_ends_the_job() {
    let program = compile("c-tests/dsm/killed.c", &["-DBY_HETRUN"]);
    let mut command = Command::new(built("hetrun"));
    command
        .args(["--dsm", "-n", "2"])
        .arg(&program)
        .env("HETMP_DSM_CROSS", "always")
        .env("HETMP_DSM_TRUST", "1");
    let got = finish(command, &program, 8);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(137), "{said}");
    assert!(said.contains("rank 1: ended by signal 9"), "{said}");
    assert!(got.stdout.is_empty());
}

#[test]
fn a_killed_node_ends_the_program_with_a_line() {
    let program = compile("c-tests/dsm/killed.c", &[]);
    let got = run(&program, &[], 2, &[("HETMP_DSM_TRUST", "1")]);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(1), "{said}");
    assert!(
        said.contains("node 1 ended while the program ran"),
        "{said}"
    );
    assert!(got.stdout.is_empty());
}

/// Waits until no process runs this program any more.
fn nobody_runs(program: &Path) {
    let running = || -> Vec<String> {
        let all = std::fs::read_dir("/proc").expect("processes").flatten();
        all.filter(|p| std::fs::read_link(p.path().join("exe")).is_ok_and(|exe| exe == program))
            .map(|p| p.file_name().to_string_lossy().into_owned())
            .collect()
    };
    let until = Instant::now() + Duration::from_secs(120);
    while !running().is_empty() {
        assert!(Instant::now() < until, "left: {:?}", running());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A node's process is killed while the nodes start: at once, or some microseconds later, when the nodes find each
/// other or the program runs already.
#[test]
fn a_node_that_ends_while_the_nodes_start_ends_the_program() {
    let library = compile("c-tests/dsm/starting.c", &["-shared", "-fPIC"]);
    let library = library.to_str().expect("a path");
    let program = compile("c-tests/dsm/starting_main.c", &[library]);
    for nodes in sample::one(
        "a_node_that_ends_while_the_nodes_start_ends_the_program",
        vec![2, 3],
    ) {
        for after in ["0", "150", "400", "1000", "2000", "4000", "8000", "20000"] {
            let got = run(
                &program,
                &[],
                nodes,
                &[("DIES_AFTER", after), ("HETMP_VERBOSE", "0")],
            );
            if skipped(&got) {
                return;
            }
            let said = String::from_utf8_lossy(&got.stderr);
            assert_eq!(said.lines().count(), 1, "{after}: {said}");
            // One node of those, whichever came first.
            let starting =
                |n: &u32| said == format!("hetmp: node {n} ended while the nodes started\n");
            let running = |n: &u32| said.contains(&format!("node {n} ended while the program ran"));
            let fits = match got.status.code() {
                Some(2) => (1..nodes).any(|n| starting(&n)),
                Some(1) => after != "0" && (1..nodes).any(|n| running(&n)),
                _ => false,
            };
            assert!(fits, "{after}: {}: {said}", got.status);
            assert!(got.stdout.is_empty());
            nobody_runs(&program);
        }
    }
}

/// The nodes end with the origin, however that ends.
#[test]
fn nodes_end_with_the_origin() {
    let program = compile("c-tests/dsm/failures.c", &["-DORIGIN"]);
    for nodes in sample::one("nodes_end_with_the_origin", vec![2, 3]) {
        for what in ["replace", "origin"] {
            let got = run(&program, &[what], nodes, &[("HETMP_DSM_TRUST", "1")]);
            if skipped(&got) {
                return;
            }
            let said = String::from_utf8_lossy(&got.stderr);
            assert!(said.contains("may cross nodes"), "{said}");
            let printed = String::from_utf8_lossy(&got.stdout);
            if what == "replace" {
                assert_eq!(
                    (got.status.code(), &*printed),
                    (Some(0), "another program\n"),
                    "{said}"
                );
            } else {
                assert_eq!(
                    (got.status.signal(), &*printed),
                    (Some(libc::SIGKILL), ""),
                    "{said}"
                );
            }
            assert!(!said.contains("ended while"), "{said}");
            nobody_runs(&program);
        }
    }
}

/// Handlers of signals run, also for a fault of the program's own; a region that changes the folder and the locale
/// stays.
#[test]
fn handlers_of_programs_run() {
    for nodes in sample::one("handlers_of_programs_run", vec![2, 3]) {
        let by_gcc = same("c-tests/dsm/signals.c", &[], nodes);
        let by_clang = same_by_clang("c-tests/dsm/signals.c", &[], nodes, &[]);
        for said in [by_gcc, by_clang].into_iter().flatten() {
            let stays = said
                .matches("at the origin: it calls what is not known")
                .count();
            assert_eq!(stays, 1, "{said}");
        }
    }
}

/// However a node ends while a region runs or between regions, and wherever the other threads wait then, the program
/// ends with one line.
#[test]
fn a_node_that_ends_in_a_region_ends_the_program() {
    let program = compile("c-tests/dsm/failures.c", &["-DENDS"]);
    let trust = [("HETMP_DSM_TRUST", "1")];
    for what in [
        "barrier", "lock", "critical", "page", "exit", "exec", "idle",
    ] {
        for nodes in sample::one(what, vec![2, 3]) {
            let got = run(&program, &[what], nodes, &trust);
            if skipped(&got) {
                return;
            }
            let said = String::from_utf8_lossy(&got.stderr);
            assert_eq!(got.status.code(), Some(1), "{what}: {said}");
            let line = format!("node {} ended while the program ran", nodes - 1);
            let lines = said.lines().filter(|l| l.contains(&line)).count();
            assert_eq!(lines, 1, "{what}: {said}");
            assert!(got.stdout.is_empty(), "{what}");
        }
    }
}

/// Signal handlers, locks of POSIX and C++, files that a region opens, the working directory, the locale: programs do
/// what they do without nodes.
#[test]
fn what_programs_do_beside_regions_works() {
    let file = built("ordinary");
    for nodes in sample::one("what_programs_do_beside_regions_works", vec![2, 3]) {
        let name = format!("{}-{nodes}-{}", file.display(), std::process::id());
        same("c-tests/dsm/ordinary.cpp", &[&name], nodes);
        same_by_clang("c-tests/dsm/ordinary.cpp", &[&name], nodes, &[]);
    }
}

/// A lock that wakes threads of one process only would be taken by threads of two nodes at once.
#[test]
fn locks_of_one_process_stay_at_home_even_if_trusted() {
    let program = compile("c-tests/dsm/ordinary.cpp", &["-DTRUSTED"]);
    let expected = run(&program, &[], 0, &[]);
    let got = run(&program, &[], 2, &[("HETMP_DSM_TRUST", "1")]);
    if skipped(&got) {
        return;
    }
    let said = is_same(&got, &expected, 2);
    for name in ["pthread_mutex_lock", "__cxa_guard_acquire"] {
        let line =
            format!("at the origin: it calls what works between threads of one node: {name}");
        assert!(said.contains(&line), "{said}");
    }
}

/// A program that has taken all shared memory gets no more, and can go on.
#[test]
fn exhausted_memory_is_refused() {
    let program = compile("c-tests/dsm/exhausted.c", &[]);
    for nodes in sample::one("exhausted_memory_is_refused", vec![2, 4]) {
        let got = run(&program, &[], nodes, &[]);
        if skipped(&got) {
            return;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(got.status.success(), "{said}");
        let printed = String::from_utf8_lossy(&got.stdout);
        let expected = "malloc refused, mmap refused\nthread made\nmany blocks, sum 999000\n";
        assert_eq!(printed, expected);
    }
}

/// The calls are refused on every node, with a line for each call, and the region goes on.
/// Under `ulimit -v` there are too few addresses for nodes. A process that is to have none gets on with what there is.
#[test]
fn limited_addresses_are_one_line() {
    let program = compile("c-tests/dsm/shared.c", &["-DLIMITED"]);
    let expected = run(&program, &[], 0, &[]);
    let limited = |nodes: &[(&str, &str)]| {
        let mut command = Command::new(&program);
        command
            .env("LD_PRELOAD", preload())
            .env("OMP_NUM_THREADS", "4")
            .envs(nodes.iter().copied());
        let limit = || {
            let limit = libc::rlimit {
                rlim_cur: 2 << 30,
                rlim_max: 2 << 30,
            };
            // SAFETY: a live limit.
            match unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: the closure runs between fork and exec, and makes only a system call.
        unsafe { command.pre_exec(limit) };
        finish(command, &program, 7)
    };
    let got = limited(&[]);
    prints_the_same(&got, &expected);
    let got = limited(&[("HETMP_NODES", "dsm:2")]);
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.starts_with("hetmp: HETMP_NODES: 'dsm:2': ")
            && said.contains("bytes of addresses are needed"),
        "{said}"
    );
}

#[test]
fn fork_and_dlopen_in_a_region_are_refused() {
    let program = compile("c-tests/dsm/failures.c", &["-DREFUSED"]);
    let trust = [("HETMP_DSM_TRUST", "1")];
    for (what, line) in [
        ("fork", "hetmp: fork: HETMP_NODES=dsm takes no other way"),
        (
            "dlopen",
            "hetmp: dlopen: '/nowhere.so': the program's own library, in a region",
        ),
    ] {
        let got = run(&program, &[what, "/nowhere.so"], 2, &trust);
        if skipped(&got) {
            return;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(got.status.success(), "{what}: {said}");
        assert_eq!(
            String::from_utf8_lossy(&got.stdout),
            format!("{what}: refused 4 times\n"),
            "{said}"
        );
        assert_eq!(said.matches(line).count(), 4, "{said}");
    }
}

/// Plugins: their variables are at the origin only, and so are all regions after they were loaded.
#[test]
fn after_a_library_of_the_programs_own_no_region_crosses() {
    let source = "c-tests/dsm/late_library.c";
    let program = compile(source, &["-ldl"]);
    let library = compile(source, &["-DPLUGIN", "-shared", "-fPIC"]);
    let args = [library.to_str().expect("a name")];
    let expected = run(&program, &args, 0, &[]);
    let alone = "stack here\nmapping ends here\nprocesses 1\nnot found\nprocesses 1\nsum 10208, kept 3\nprocesses 1\n";
    assert_eq!(String::from_utf8_lossy(&expected.stdout), alone);
    for backend in ["uffd", "sigsegv"] {
        let env = [
            ("HETMP_DSM", backend),
            ("HETMP_DSM_CROSS", "always"),
            ("HETMP_DSM_TRUST", "1"),
        ];
        let got = run(&program, &args, 2, &env);
        if skipped(&got) {
            continue;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(got.status.success(), "{backend}: {said}");
        assert_eq!(
            String::from_utf8_lossy(&got.stdout),
            alone.replacen("processes 1", "processes 2", 2),
            "{backend}: {said}"
        );
        assert_eq!(
            said.matches("regions stay at the origin").count(),
            1,
            "{said}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_with_one_line() {
    let program = compile("c-tests/dsm/constructs.c", &[]);
    let refused = |more: &[(&str, &str)], text: &str| {
        let got = run(&program, &[], 2, more);
        let said = String::from_utf8_lossy(&got.stderr);
        assert_eq!(got.status.code(), Some(2), "{said}");
        assert!(said.starts_with("hetmp: ") && said.contains(text), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(got.stdout.is_empty());
    };
    refused(&[("HETMP_NODES", "dsm:1")], "(expected dsm:2 to dsm:16)");
    refused(&[("HETMP_NODES", "dsm:nine")], "(expected dsm:2 to dsm:16)");
    refused(
        &[("HETMP_NODES", "dsm:2;cores=0,speed=0.5")],
        "(expected behind dsm:2 speed=S for each of 2 nodes, 0.01 to 1",
    );
    refused(
        &[("HETMP_DSM", "mmu")],
        "'mmu': unknown (expected uffd, sigsegv, or pool[:FILE][,check])",
    );
    refused(
        &[("HETMP_DSM_CPUS", "mine")],
        "'mine': unknown (expected all or own)",
    );
    let both = preload();
    let both = both.to_string_lossy();
    let one = both.split(':').next().unwrap_or("");
    refused(
        &[("LD_PRELOAD", one)],
        "(expected LD_PRELOAD=libhetmp_dsm.so:libhetmp.so)",
    );
}

#[test]
fn an_allocator_of_the_program_is_refused_with_one_line() {
    let program = compile("c-tests/openmp/own_malloc.c", &["-ldl"]);
    for by in ["uffd", "sigsegv"] {
        let got = run(&program, &[], 2, &[("HETMP_DSM", by)]);
        if skipped(&got) {
            continue;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert_eq!(got.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with("hetmp: HETMP_NODES: dsm:N: malloc of the program's own"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// What ended threads had is used again. And `setuid`, `setgid` and `daemon`, which would end or leave processes behind
/// within the C library, are refused.
#[test]
fn threads_come_and_go_and_credentials_stay() {
    let program = compile("c-tests/dsm/short_threads.c", &[]);
    for by in ["uffd", "sigsegv"] {
        let more = [("HETMP_DSM", by), ("HETMP_TEST_REFUSALS", "1")];
        let got = run(&program, &[], 2, &more);
        if skipped(&got) {
            continue;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(got.status.success(), "{by}: {said}");
        assert_eq!(
            String::from_utf8_lossy(&got.stdout),
            "2400 threads, sum 4\n3 refused\n",
            "{said}"
        );
        for name in ["setuid", "setgid", "daemon"] {
            assert!(said.contains(&format!("hetmp: {name}: ")), "{said}");
        }
    }
}
