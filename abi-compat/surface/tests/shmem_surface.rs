//! The C surface of OpenSHMEM: the table against two readings of the specification, the generated files against the
//! table, the header in every dialect, each type-generic name with each type, the library's exports, and profiling.

use hetmp_abi_compat::{c_api, elf, exec, library, suite};
use hetmp_shmem_surface::table::Since;
use hetmp_shmem_surface::{self as shmem_surface, families, programs};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = library::target_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
    fn file(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }
    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(path: &str, args: &[&str], env: &[(&str, &str)]) -> (exec::Ending, String) {
    let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
    let env: Vec<(String, String)> = env
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect();
    let out = exec::run(&exec::Program {
        path: Path::new(path),
        args: &args,
        env: &env,
        dir: &library::root(),
        limit: Duration::from_secs(120),
        merge: true,
    })
    .unwrap();
    (
        out.ending,
        String::from_utf8_lossy(&out.stdout).into_owned(),
    )
}

fn succeed(path: &str, args: &[&str], env: &[(&str, &str)]) -> String {
    let (ending, text) = run(path, args, env);
    assert_eq!(ending, exec::Ending::Exit(0), "{path} {args:?}: {text}");
    text
}

/// The compilers of `names` that are installed. The first one must be.
fn compilers(names: &[&str]) -> Vec<String> {
    let found: Vec<String> = names
        .iter()
        .filter_map(|name| suite::find_in_path(name).ok())
        .map(|path| path.display().to_string())
        .collect();
    assert!(
        found.first().is_some_and(|c| c.ends_with(names[0])),
        "{} is needed",
        names[0]
    );
    found
}

fn list(file: &str) -> BTreeSet<String> {
    let path = library::root().join("abi-compat/symbols").join(file);
    fs::read_to_string(&path)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

fn ours() -> BTreeMap<String, Since> {
    let mut names = BTreeMap::new();
    for family in families::table() {
        for routine in family.routines() {
            let old = names.insert(routine.name.clone(), family.since);
            assert!(old.is_none(), "{} twice", routine.name);
        }
    }
    names
}

#[test]
fn the_table_is_the_specification() {
    let (v15, v16, removed) = (
        list("openshmem-1.5.txt"),
        list("openshmem-1.6.txt"),
        list("openshmem-removed.txt"),
    );
    assert!(v15.len() > 1600 && v16.len() > 1700 && removed.len() == 6);
    let ours = ours();
    for (name, since) in &ours {
        let told = match since {
            Since::V15 => v15.contains(name),
            Since::V16 => v16.contains(name) && !v15.contains(name),
            Since::Before => removed.contains(name),
        };
        assert!(told, "{name} is not in the list for {since:?}");
    }
    let missing: Vec<&String> = v15
        .iter()
        .chain(&v16)
        .chain(&removed)
        .filter(|name| !ours.contains_key(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn files_are_generated() {
    for (file, text) in shmem_surface::generated() {
        let committed = fs::read_to_string(library::root().join(&file)).unwrap_or_default();
        assert!(
            committed == text,
            "{file} is out of date: cargo run -p hetmp-shmem-surface -- --write"
        );
    }
}

#[test]
fn the_library_exports_every_routine_under_both_names() {
    // The names of hetmp/device.h are at the same node.
    let exported: BTreeSet<String> = elf::read(library::fresh())
        .unwrap()
        .symbols
        .into_iter()
        .filter(|s| s.node.as_deref() == Some("HETMP_SHMEM") && s.function)
        .map(|s| s.name)
        .filter(|name| !name.starts_with("hetmp_device_"))
        .collect();
    let mut wanted = BTreeSet::new();
    for name in ours().into_keys() {
        wanted.insert(format!("p{name}"));
        wanted.insert(name);
    }
    let missing: Vec<&String> = wanted.difference(&exported).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    let more: Vec<&String> = exported.difference(&wanted).collect();
    assert!(more.is_empty(), "in no specification: {more:?}");
}

/// Uses only the features that the header offers in every dialect.
const PLAIN: &str = r#"
#include <shmem.h>
#include <shmemx.h>
#include <mpp/shmem.h>
#include <mpp/shmemx.h>
#if !defined(SHMEM_DEF_H) || !defined(SHMEM_FUNCTION_ATTRIBUTES)
#error "shmem4py would take this header for an OpenSHMEM before 1.5"
#endif
static long flag;
static volatile long polled; /* as programs for other implementations declare flags */
static shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
static shmem_team_t team = SHMEM_TEAM_WORLD;
static long sync_array[_SHMEM_BARRIER_SYNC_SIZE];
int main(void)
{
    shmem_team_config_t config;
    config.num_contexts = 1;
    shmem_init();
    shmem_long_p(&flag, 1L, 0);
    shmem_wait_until(&flag, _SHMEM_CMP_EQ, 1L);
    shmem_long_wait_until(&polled, SHMEM_CMP_GE, 0);
    if (shmem_long_test(&polled, SHMEM_CMP_NE, 0)) return 1;
    shmem_set_lock(&polled);
    shmem_clear_lock(&polled);
    shmem_sync(0, 0, 1, sync_array);
    if (ctx == SHMEM_CTX_INVALID || team == SHMEM_TEAM_INVALID || config.num_contexts != 1) return 1;
    if (SHMEM_MAJOR_VERSION != 1 || sizeof SHMEM_VENDOR_STRING > SHMEM_MAX_NAME_LEN) return 1;
    shmem_finalize();
    return 0;
}
"#;

/// A profiling tool: defines routines whose names are macros in C11. After pshmem.h this compiles.
const TOOL: &str = r"
#include <pshmem.h>
void shmem_long_put(long *d, const long *s, size_t n, int pe) { pshmem_long_put(d, s, n, pe); }
void shmem_wait_until(volatile long *i, int c, long v) { pshmem_wait_until(i, c, v); }
void shmem_sync(int a, int b, int c, long *p) { pshmem_sync(a, b, c, p); }
void shmem_signal_set(uint64_t *s, uint64_t v, int pe) { pshmem_signal_set(s, v, pe); }
void shmem_signal_add(uint64_t *s, uint64_t v, int pe) { pshmem_signal_add(s, v, pe); }
";

#[test]
fn the_header_is_clean_in_every_dialect() {
    let scratch = Scratch::new("shmem-dialects");
    let (plain, tool) = (scratch.file("plain.c", PLAIN), scratch.file("tool.c", TOOL));
    let strict = [
        "-Iinclude",
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Werror",
        "-fsyntax-only",
    ];
    let check = |compiler: &str, args: &[&str]| {
        let all: Vec<&str> = strict.iter().chain(args).copied().collect();
        succeed(compiler, &all, &[]);
    };
    for compiler in compilers(&["gcc", "clang"]) {
        for std in ["c89", "gnu89", "c99", "c11", "gnu17"] {
            let std = format!("-std={std}");
            check(&compiler, &[&std, &plain]);
            check(&compiler, &[&std, &tool]);
        }
        // With HETMP_SHMEM_WARN, compilers also show warnings about the header itself.
        for std in ["-std=c99", "-std=c11", "-std=c17"] {
            check(&compiler, &[std, "-DHETMP_SHMEM_WARN", &plain, &tool]);
        }
    }
    for compiler in compilers(&["g++", "clang++"]) {
        for std in ["-std=c++98", "-std=c++11", "-std=c++17", "-std=c++20"] {
            check(&compiler, &[std, "-x", "c++", &plain, &tool]);
        }
        check(
            &compiler,
            &["-std=c++11", "-x", "c++", "-DHETMP_SHMEM_WARN", &plain],
        );
    }
}

#[test]
fn deprecated_routines_are_told_on_request() {
    let scratch = Scratch::new("shmem-deprecated");
    let source = scratch.file(
        "old.c",
        "#define HETMP_SHMEM_WARN_DEPRECATED\n#include <shmem.h>\nlong x;\n\
         long f(void) { return shmem_long_fadd(&x, 1, 0); }\n",
    );
    let text = succeed(
        "/usr/bin/env",
        &["gcc", "-Iinclude", "-fsyntax-only", &source],
        &[],
    );
    assert!(text.contains("use shmem_long_atomic_fetch_add"), "{text}");
}

#[test]
fn each_generic_name_calls_the_routine_of_the_type() {
    let table = families::table();
    let scratch = Scratch::new("shmem-generics");
    let stubs = scratch.file("stubs.c", &programs::stubs(&table));
    let callers = scratch.file("callers.c", &programs::callers(&table));
    let program = scratch.path("program");
    let object = scratch.path("stubs.o");
    succeed(
        "/usr/bin/env",
        &[
            "gcc",
            "-Iinclude",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-c",
            &stubs,
            "-o",
            &object,
        ],
        &[],
    );
    let languages = [
        (compilers(&["gcc", "clang"]), ["-std=c11", "-xc"]),
        (compilers(&["g++", "clang++"]), ["-std=c++11", "-xc++"]),
    ];
    for (found, [std, language]) in languages {
        for compiler in found {
            succeed(
                &compiler,
                &[
                    std,
                    "-Iinclude",
                    "-DHETMP_SHMEM_WARN",
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    language,
                    &callers,
                    "-xnone",
                    &object,
                    "-o",
                    &program,
                ],
                &[],
            );
            let text = succeed(&program, &[], &[]);
            // There are 71 generic names, most of them with 14 types, with and without a context.
            assert!(text.ends_with(" calls, 0 wrong\n"), "{compiler}: {text}");
            let calls: usize = text.split(' ').next().unwrap().parse().unwrap();
            assert!(calls > 900, "{text}");
        }
    }
}

/// A profiling library that counts puts.
const PROFILER: &str = r#"
#include <pshmem.h>
#include <stdio.h>
static int puts_seen, quiets_seen;
void shmem_long_put(long *dest, const long *source, size_t nelems, int pe)
{
    puts_seen++;
    pshmem_long_put(dest, source, nelems, pe);
}
void shmem_quiet(void) { quiets_seen++; pshmem_quiet(); }
void shmem_finalize(void)
{
    printf("puts %d quiets %d\n", puts_seen, quiets_seen);
    fflush(stdout);
    pshmem_finalize();
}
"#;

const PROFILED: &str = r"
#include <shmem.h>
static long from[2] = {7, 8}, to[2];
int main(void)
{
    shmem_init();
    shmem_long_put(to, from, 2, 0);
    shmem_put(to, from, 1, 0);
    shmem_ctx_long_put(SHMEM_CTX_DEFAULT, to, from, 1, 0);
    shmem_quiet();
    shmem_finalize();
    return to[0] == 7 && to[1] == 8 ? 0 : 1;
}
";

#[test]
fn a_profiler_comes_first_linked_in_or_preloaded() {
    let scratch = Scratch::new("shmem-profiling");
    // As in an installation: programs find the library by its soname, which is libgomp's.
    let folder = c_api::library_folder(library::fresh(), "shmem-profiled").unwrap();
    let link = c_api::link_flags(&folder, &["shmem"]).unwrap();
    let program = scratch.file("program.c", PROFILED);
    let profiler = scratch.file("profiler.c", PROFILER);
    let build = |args: &[&str]| {
        let mut all = vec!["gcc", "-std=c11", "-O2", "-Iinclude"];
        all.extend(args);
        all.extend(link.iter().map(String::as_str));
        succeed("/usr/bin/env", &all, &[]);
    };
    let (plain, linked, preload) = (
        scratch.path("plain"),
        scratch.path("linked"),
        scratch.path("profiler.so"),
    );
    build(&[&program, "-o", &plain]);
    build(&[&program, &profiler, "-o", &linked]);
    build(&["-shared", "-fPIC", &profiler, "-o", &preload]);

    // Tests limit the size of files, and a symmetric heap is a file.
    let small = ("SHMEM_SYMMETRIC_SIZE", "1M");
    assert_eq!(succeed(&plain, &[], &[small]), "");
    assert_eq!(succeed(&linked, &[], &[small]), "puts 2 quiets 1\n");
    assert_eq!(
        succeed(&plain, &[], &[small, ("LD_PRELOAD", &preload)]),
        "puts 2 quiets 1\n"
    );
}

/// Without the rpath the loader does not find the library. The program must fail at its start, not at some call.
#[test]
fn a_missing_library_is_noticed_at_the_start() {
    let scratch = Scratch::new("shmem-wrong-library");
    let folder = c_api::library_folder(library::fresh(), "shmem-noticed").unwrap();
    let source = scratch.file("program.c", PROFILED);
    let program = scratch.path("program");
    let search = format!("-L{}", folder.display());
    succeed(
        "/usr/bin/env",
        &[
            "gcc",
            "-std=c11",
            "-Iinclude",
            &source,
            "-o",
            &program,
            &search,
            "-lhetmp_shmem",
        ],
        &[],
    );
    let (ending, text) = run(&program, &[], &[]);
    assert_ne!(ending, exec::Ending::Exit(0));
    assert!(text.contains("libhetmp_shmem.so.0"), "{text}");
}
