//! gcc's own libgomp test suite: unpacks it, compiles each test once, and runs the tests.
//!
//! The sources come from Debian's `gcc-12-source` package and stay in a cache
//! folder outside version control. Every test is compiled by the system's
//! unmodified gcc, g++ or gfortran with `-fopenmp` and linked with the system's
//! libgomp. A preload selects the runtime when the test runs.
//!
//! Each test is compiled with one set of options: DejaGnu's own for C and C++ (`-O2`
//! unless the test says otherwise) and `-O2` for Fortran, where DejaGnu loops over five
//! sets. Directives about the compiler (warnings, dumps) are ignored: the subject is the
//! run-time library.

use crate::dg::{self, Action, Directives};
use crate::exec::{self, Ending, Outcome};
use crate::selector::Machine;
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Duration;

/// The time limit of tests that do not set one. DejaGnu allows 300 s. The slowest
/// test takes less than a tenth of that, even with 8 threads on 2 cores.
pub const RUN_LIMIT: Duration = Duration::from_secs(60);
const COMPILE_LIMIT: Duration = Duration::from_secs(300);
const ARCHIVE_DIR: &str = "/usr/src/gcc-12";

/// The language a folder's tests are compiled as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// gcc.
    C,
    /// g++, also for `.c` files.
    Cxx,
    /// gfortran.
    Fortran,
}

impl Language {
    /// The command.
    pub fn compiler(self) -> &'static str {
        match self {
            Language::C => "gcc",
            Language::Cxx => "g++",
            Language::Fortran => "gfortran",
        }
    }
}

/// A row of the table: one folder of tests, compiled one way.
#[derive(Clone, Copy, Debug)]
pub struct Directory {
    /// The row's name.
    pub name: &'static str,
    /// Folder under `libgomp/testsuite`.
    pub folder: &'static str,
    /// How it is compiled.
    pub language: Language,
    /// Options unless a test has its own.
    pub default_options: &'static [&'static str],
    /// Options every test gets.
    pub options: &'static [&'static str],
    /// Environment every test gets.
    pub env: &'static [(&'static str, &'static str)],
}

/// The host tests of OpenMP.
pub const OPENMP: &[Directory] = &[
    Directory {
        name: "libgomp.c",
        folder: "libgomp.c",
        language: Language::C,
        default_options: &["-O2"],
        options: &["-fopenmp"],
        env: &[],
    },
    Directory {
        name: "libgomp.c-c++-common (C)",
        folder: "libgomp.c-c++-common",
        language: Language::C,
        default_options: &["-O2"],
        options: &["-fopenmp"],
        env: &[],
    },
    Directory {
        name: "libgomp.c++",
        folder: "libgomp.c++",
        language: Language::Cxx,
        default_options: &["-O2"],
        options: &["-fopenmp"],
        env: &[],
    },
    Directory {
        name: "libgomp.c-c++-common (C++)",
        folder: "libgomp.c-c++-common",
        language: Language::Cxx,
        default_options: &["-O2"],
        options: &["-fopenmp"],
        env: &[],
    },
    Directory {
        name: "libgomp.fortran",
        folder: "libgomp.fortran",
        language: Language::Fortran,
        default_options: &[],
        options: &["-fopenmp", "-O2"],
        env: &[],
    },
    Directory {
        name: "libgomp.graphite",
        folder: "libgomp.graphite",
        language: Language::C,
        default_options: &[
            "-ansi",
            "-pedantic-errors",
            "-O2",
            "-ftree-parallelize-loops=4",
            "-floop-parallelize-all",
            "-fno-loop-strip-mine",
            "-fno-loop-block",
        ],
        options: &["-fopenmp"],
        env: &[],
    },
];

const ACC_OPTIONS: &[&str] = &[
    "-fopenacc",
    "-O2",
    "-DACC_DEVICE_TYPE_host=1",
    "-DACC_MEM_SHARED=1",
];
const ACC_ENV: &[(&str, &str)] = &[("ACC_DEVICE_TYPE", "host")];

/// The tests of OpenACC that run with the host as the device.
pub const OPENACC: &[Directory] = &[
    Directory {
        name: "libgomp.oacc-c",
        folder: "libgomp.oacc-c",
        language: Language::C,
        default_options: &[],
        options: ACC_OPTIONS,
        env: ACC_ENV,
    },
    Directory {
        name: "libgomp.oacc-c-c++-common (C)",
        folder: "libgomp.oacc-c-c++-common",
        language: Language::C,
        default_options: &[],
        options: ACC_OPTIONS,
        env: ACC_ENV,
    },
    Directory {
        name: "libgomp.oacc-c++",
        folder: "libgomp.oacc-c++",
        language: Language::Cxx,
        default_options: &[],
        options: ACC_OPTIONS,
        env: ACC_ENV,
    },
    Directory {
        name: "libgomp.oacc-c-c++-common (C++)",
        folder: "libgomp.oacc-c-c++-common",
        language: Language::Cxx,
        default_options: &[],
        options: ACC_OPTIONS,
        env: ACC_ENV,
    },
    Directory {
        name: "libgomp.oacc-fortran",
        folder: "libgomp.oacc-fortran",
        language: Language::Fortran,
        default_options: &[],
        options: ACC_OPTIONS,
        env: ACC_ENV,
    },
];

/// One test of one row.
#[derive(Clone, Debug)]
pub struct Test {
    /// Row name and path in the folder: `libgomp.fortran/appendix-a/a.2.1.f90`.
    pub id: String,
    /// Index in [`Suite::directories`].
    pub directory: usize,
    /// The source file.
    pub source: PathBuf,
    /// The directives in its comments.
    pub directives: Directives,
}

impl Test {
    /// Whether the test runs a program, and applies to this machine.
    pub fn runnable(&self) -> bool {
        self.directives.unsupported.is_none() && self.directives.action == Action::Run
    }
}

/// The unpacked suite and its cache of binaries.
#[derive(Debug)]
pub struct Suite {
    cache: PathBuf,
    sources: PathBuf,
    compiler: String,
    /// The rows of the table.
    pub directories: &'static [Directory],
    /// Every test found, in the order of the table.
    pub tests: Vec<Test>,
}

/// Whether a test could be compiled.
#[derive(Clone, Debug)]
pub enum Built {
    /// The binary.
    Binary(PathBuf),
    /// The compiler's first message.
    Refused(String),
}

/// A test's verdict, as kept in the JSON file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// See [`Test::id`].
    pub id: String,
    /// Row of the table.
    pub directory: String,
    /// `pass`, `fail`, `fails-under-libgomp`, `does-not-compile` or `not-runnable`.
    pub result: String,
    /// How the run ended, or why there was none.
    pub detail: String,
    /// First line of output of a run that failed.
    pub first_line: String,
    /// Wall-clock seconds of the run.
    pub seconds: f64,
}

impl Suite {
    /// Unpacks the suite into `cache` if it is not there yet, and reads every
    /// test's directives.
    ///
    /// # Errors
    /// One line: the package is missing, the compiler is missing, or the cache
    /// cannot be written.
    pub fn open(cache: &Path, directories: &'static [Directory]) -> Result<Suite, String> {
        fs::create_dir_all(cache).map_err(|e| {
            format!(
                "cache {}: {e} (expected a writable folder)",
                cache.display()
            )
        })?;
        let sources = unpack(cache)?;
        let compiler = version("gcc")?;
        // One test includes the config.h of a configured libgomp. It needs only this line.
        let host = cache.join("host");
        fs::create_dir_all(&host)
            .and_then(|()| {
                fs::write(
                    host.join("config.h"),
                    "#define HAVE_PTHREAD_AFFINITY_NP 1\n",
                )
            })
            .map_err(|e| format!("cache {}: {e}", host.display()))?;
        let machine = Machine {
            avx: std::arch::is_x86_feature_detected!("avx"),
            lto: compiles(cache, &["-flto"]),
            graphite: compiles(cache, &["-O2", "-floop-nest-optimize"]),
            cxx: false,
        };
        let mut tests = Vec::new();
        for (index, directory) in directories.iter().enumerate() {
            let folder = sources.join("libgomp/testsuite").join(directory.folder);
            let machine = Machine {
                cxx: directory.language == Language::Cxx,
                ..machine
            };
            let mut found = Vec::new();
            find(&folder, directory.language, &mut found)
                .map_err(|e| format!("test suite {}: {e}", folder.display()))?;
            found.sort();
            for source in found {
                // Some comments are in Latin-1, not in UTF-8.
                let bytes = fs::read(&source)
                    .map_err(|e| format!("test source {}: {e}", source.display()))?;
                let flags: Vec<String> = directory.options.iter().map(|s| (*s).into()).collect();
                let mut directives = dg::read(&String::from_utf8_lossy(&bytes), &machine, &flags);
                if directory.folder == "libgomp.graphite" && !machine.graphite {
                    directives
                        .unsupported
                        .get_or_insert("needs fgraphite".to_owned());
                }
                let inside = source.strip_prefix(&folder).unwrap_or(&source).display();
                tests.push(Test {
                    id: format!("{}/{inside}", directory.name),
                    directory: index,
                    source: source.clone(),
                    directives,
                });
            }
        }
        Ok(Suite {
            cache: cache.to_owned(),
            sources,
            compiler,
            directories,
            tests,
        })
    }

    /// The compiler's version line.
    pub fn compiler(&self) -> &str {
        &self.compiler
    }

    /// Compiles `test`, unless the cache has a binary that was compiled the same way.
    ///
    /// # Errors
    /// When the cache cannot be written. If the compiler refuses the test, the result
    /// is [`Built::Refused`], not an error.
    pub fn build(&self, test: &Test) -> Result<Built, String> {
        let dir = self.folder_of(test);
        let binary = dir.join("test.exe");
        let stamp = dir.join("command");
        let (compiler, args) = self.command(test, &dir.join("new.exe"));
        let text = format!("{}\n{compiler} {}\n", self.compiler, args.join(" "));
        if fs::read_to_string(&stamp).is_ok_and(|old| old == text) && binary.is_file() {
            return Ok(Built::Binary(binary));
        }
        let keep = |e: std::io::Error| format!("cache {}: {e}", dir.display());
        fs::create_dir_all(&dir).map_err(keep)?;
        let _ = fs::remove_file(&stamp);
        let out = exec::run(&exec::Program {
            path: &find_in_path(compiler)?,
            args: &args,
            env: &[("LC_ALL".into(), "C".into())],
            dir: &dir,
            limit: COMPILE_LIMIT,
            merge: true,
        })
        .map_err(keep)?;
        if out.ending != Ending::Exit(0) {
            let text = String::from_utf8_lossy(&out.stdout);
            let why = text
                .lines()
                .find(|l| l.to_lowercase().contains("error"))
                .unwrap_or(text.lines().next().unwrap_or_default());
            return Ok(Built::Refused(format!("{}: {why}", out.ending)));
        }
        fs::rename(dir.join("new.exe"), &binary)
            .and_then(|()| fs::write(&stamp, text))
            .map_err(keep)?;
        Ok(Built::Binary(binary))
    }

    /// Runs a built test in a fresh folder of its own and judges it.
    ///
    /// The test's own variables override those of `env`.
    ///
    /// # Errors
    /// When the run's folder cannot be made or the binary not started.
    pub fn run(
        &self,
        test: &Test,
        binary: &Path,
        env: &[(String, String)],
    ) -> Result<(bool, Outcome), String> {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let dir = self
            .cache
            .join("run")
            .join(format!("{}-{number}", std::process::id()));
        let keep = |e: std::io::Error| format!("test {}: {e}", test.id);
        fs::create_dir_all(&dir).map_err(keep)?;
        let d = &test.directives;
        let mut all = env.to_vec();
        let own = self.directories[test.directory].env;
        all.extend(own.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        // Under DejaGnu the output is a terminal: what a program prints before it aborts
        // is seen. Without this variable gfortran's library would buffer and lose it.
        all.push(("GFORTRAN_UNBUFFERED_PRECONNECTED".into(), "y".into()));
        all.extend(d.env.iter().cloned());
        let out = exec::run(&exec::Program {
            path: binary,
            args: &[],
            env: &all,
            dir: &dir,
            // A test's own limit is meant for an idle machine.
            limit: d
                .timeout
                .unwrap_or(RUN_LIMIT)
                .max(RUN_LIMIT)
                .mul_f64(d.timeout_factor),
            merge: true,
        })
        .map_err(keep);
        let _ = fs::remove_dir_all(&dir);
        let out = out?;
        let status_ok = match out.ending {
            Ending::Exit(0) => !d.should_fail,
            Ending::Exit(_) | Ending::Signal(_) => d.should_fail,
            Ending::TimedOut => false,
        };
        let output_ok = match &d.output {
            None => true,
            // In Tcl a dot matches line ends too.
            Some(pattern) => Regex::new(&format!("(?s-u){pattern}"))
                .map_err(|e| format!("test {}: dg-output: {e}", test.id))?
                .is_match(&out.stdout),
        };
        Ok((status_ok && output_ok, out))
    }

    fn folder_of(&self, test: &Test) -> PathBuf {
        let name = test.id.replace(['/', ' ', '(', ')'], "_");
        self.cache.join("bin").join(name)
    }

    fn command(&self, test: &Test, output: &Path) -> (&'static str, Vec<String>) {
        let directory = &self.directories[test.directory];
        let d = &test.directives;
        let text = |p: &Path| p.display().to_string();
        let mut args: Vec<String> = vec![
            format!("-I{}", text(&self.sources.join("include"))),
            format!("-I{}", text(&self.sources.join("libgomp"))),
            format!("-I{}", text(&self.cache.join("host"))),
            "-fmessage-length=0".into(),
            "-fdiagnostics-color=never".into(),
        ];
        args.extend(directory.options.iter().map(|s| (*s).to_owned()));
        match &d.options {
            Some(own) => args.extend(own.iter().cloned()),
            None => args.extend(directory.default_options.iter().map(|s| (*s).to_owned())),
        }
        args.extend(d.additional_options.iter().cloned());
        // The compiler's dumps are for dg-final, which is ignored here.
        args.retain(|a| !a.starts_with("-fdump-") && !a.starts_with("-foffload"));
        if directory.language == Language::Cxx {
            args.extend(["-x".into(), "c++".into()]);
        }
        args.push(text(&test.source));
        let folder = test.source.parent().unwrap_or(Path::new("."));
        args.extend(d.additional_sources.iter().map(|s| text(&folder.join(s))));
        if directory.language == Language::Cxx {
            args.extend(["-x".into(), "none".into()]);
        }
        args.extend(["-o".into(), text(output), "-lm".into()]);
        // Libraries that a test names among its options must follow its objects.
        let libraries: Vec<String> = args
            .iter()
            .filter(|a| a.starts_with("-l") && *a != "-lm")
            .cloned()
            .collect();
        args.extend(libraries);
        (directory.language.compiler(), args)
    }
}

/// The first line of output that is not blank.
pub fn first_line(output: &[u8]) -> String {
    String::from_utf8_lossy(output)
        .lines()
        .map(str::trim)
        .find(|l| !l.is_empty())
        .unwrap_or_default()
        .chars()
        .take(160)
        .collect()
}

/// Calls `work` on every item, from `jobs` threads. Returns the results in the items' order.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index) else { break };
                let result = work(index, item);
                done.lock().expect("no holder panics").push((index, result));
            });
        }
    });
    let mut done = done.into_inner().expect("no holder panics");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The file of the command `name`, found by `PATH`.
///
/// # Errors
/// One line that names the command.
pub fn find_in_path(name: &str) -> Result<PathBuf, String> {
    std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| format!("command {name}: not found: install it (scripts/setup does)"))
}

/// Whether `compiler` is here and finds MPI's header. Debian's `mpich` brings a compiler without one.
#[must_use]
pub fn compiles_mpi(compiler: &str) -> bool {
    let Ok(compiler) = find_in_path(compiler) else {
        return false;
    };
    let child = Command::new(compiler)
        .args(["-fsyntax-only", "-x", "c", "-"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return false;
    };
    let told = child
        .stdin
        .take()
        .is_some_and(|mut to| std::io::Write::write_all(&mut to, b"#include <mpi.h>\n").is_ok());
    child.wait().is_ok_and(|status| status.success()) && told
}

fn version(compiler: &str) -> Result<String, String> {
    let out = Command::new(find_in_path(compiler)?)
        .arg("--version")
        .output()
        .map_err(|e| format!("command {compiler}: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Whether the C compiler accepts `options` for an empty program.
fn compiles(cache: &Path, options: &[&str]) -> bool {
    let probe = cache.join(format!("probe-{}.c", std::process::id()));
    let ok = fs::write(&probe, "int main(void) { return 0; }\n").is_ok()
        && Command::new("gcc")
            .args(options)
            .arg(&probe)
            .args(["-o", "/dev/null"])
            .output()
            .is_ok_and(|o| o.status.success());
    let _ = fs::remove_file(&probe);
    ok
}

fn find(folder: &Path, language: Language, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, language, found)?;
            continue;
        }
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let common = folder.to_string_lossy().ends_with("c-c++-common");
        let is_test = match language {
            Language::C => extension == "c",
            Language::Cxx => extension == "C" || (common && extension == "c"),
            Language::Fortran => matches!(
                extension.to_lowercase().as_str(),
                "f" | "f90" | "f95" | "f03" | "f08"
            ),
        };
        if is_test {
            found.push(path);
        }
    }
    Ok(())
}

/// Unpacks the parts of gcc's source that the tests need. Returns their folder.
fn unpack(cache: &Path) -> Result<PathBuf, String> {
    let sources = cache.join("gcc-12");
    if sources.join("libgomp/testsuite/libgomp.c").is_dir()
        && sources.join("gcc/testsuite/c-c++-common/goacc").is_dir()
    {
        return Ok(sources);
    }
    let archive = fs::read_dir(ARCHIVE_DIR)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .find(|p| {
            let name = p.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("gcc-12") && name.contains(".tar.")
        })
        .ok_or_else(|| {
            format!(
                "gcc test suite {ARCHIVE_DIR}/gcc-12*.tar.xz: not found: \
                 install Debian's package gcc-12-source (scripts/setup does)"
            )
        })?;
    let fresh = cache.join(format!("unpack-{}", std::process::id()));
    fs::create_dir_all(&fresh).map_err(|e| format!("cache {}: {e}", fresh.display()))?;
    let status = Command::new("tar")
        .arg("-xf")
        .arg(&archive)
        .arg("-C")
        .arg(&fresh)
        .args(["--strip-components=1", "--wildcards"])
        .args(["*/libgomp/*", "*/include/gomp-constants.h"])
        // The tests that libgomp's OpenACC tests include.
        .args(["*/goacc/cache-1*", "*/goacc/firstprivate-mappings-1*"])
        .status()
        .map_err(|e| format!("command tar: {e}: install tar and xz-utils"))?;
    if !status.success() {
        return Err(format!(
            "archive {}: tar failed: {status}",
            archive.display()
        ));
    }
    // Two processes may unpack at the same time. The second one finds the folder there,
    // and removes its own copy.
    if fs::rename(&fresh, &sources).is_err() {
        let _ = fs::remove_dir_all(&fresh);
    }
    Ok(sources)
}
