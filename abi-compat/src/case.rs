//! The programs of `c-tests/openmp/`: reads their header lines, compiles them, and runs them
//! with the settings that the lines ask for. `c-tests/README.md` documents the format.

use crate::arm;
use crate::clang::{self, CLANG, CLANGXX};
use crate::suite::{find_in_path, Language};
use crate::{exec, library, sample};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program and its header lines.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file name with its extension (`loop_dynamic.c`). For a kernel, folder, name
    /// and form (`kernels/cg.runtime`).
    pub name: String,
    source: PathBuf,
    language: Language,
    env: Vec<(String, String)>,
    threads: Vec<u32>,
    flags: Vec<String>,
    libs: Vec<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// The exit status that counts as success.
    pub exit: i32,
    /// A run that takes longer counts as hung.
    pub limit: Duration,
    shared: Vec<String>,
    /// Ways to compile the program. Each becomes a case of its own.
    forms: Vec<String>,
    /// libgomp cannot run the program. The output that is right is in `expected/`.
    pub only_hetmp: bool,
    made: Made,
    /// The way or reason that the report must name for some region of the program, in a run with
    /// forced virtual teams (`tests/static_loops.rs`).
    pub way: Option<String>,
}

/// Which compiler makes the program, and for which runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// gcc, for libgomp.
    Gcc,
    /// clang, for libomp.
    Clang,
    /// gcc, for libomp: the linker gives gcc's entries libomp's version node.
    GccForLibomp,
}

/// A compiled case.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The program.
    pub path: PathBuf,
    /// The folder of the program's file, and its working directory when it runs.
    pub dir: PathBuf,
    shared: Vec<PathBuf>,
}

/// Environment of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The variables that differ between settings. Messages show them.
    pub env: Vec<(String, String)>,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> = self.env.iter().map(|(n, v)| format!("{n}={v}")).collect();
        f.write_str(&words.join(" "))
    }
}

/// The forms of a kernel's loops, each with the flag that selects it (`c-tests/kernels/kernel.h`).
pub const FORMS: [(&str, Option<&str>); 3] = [
    ("none", None),
    ("runtime", Some("-DFORM_RUNTIME")),
    ("dynamic", Some("-DFORM_DYNAMIC")),
];

/// Every program in `folder`, sorted by name. A program with several forms is there once for each form.
///
/// # Errors
/// One line that names the file and the header line that is not understood.
pub fn all(folder: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let entries = fs::read_dir(folder).map_err(|e| format!("folder {}: {e}", folder.display()))?;
    for entry in entries.flatten() {
        let source = entry.path();
        let language = match source.extension().and_then(|e| e.to_str()) {
            Some("c") => Language::C,
            Some("cc") => Language::Cxx,
            Some("f90" | "F90") => Language::Fortran,
            _ => continue,
        };
        let case = Case::read(&source, language)?;
        if case.forms.is_empty() {
            cases.push(case);
        } else {
            cases.extend(case.forms.iter().map(|form| case.of_form(form)));
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

/// Programs that go their way only when gcc compiles them. In the first two, clang keeps the thread number
/// in the region's frame, of which functions of the C library get an address: another reason. In the third,
/// clang guards the last index by a flag, which the scan of the code does not follow. In the fourth, clang hands the
/// thread's number on in a register that a function saves by `push`. The others are about loops that gcc divides
/// itself.
const OF_GCC_ALONE: [&str; 7] = [
    "static_callback.c",
    "static_callback_unknown.c",
    "static_asked_last.c",
    "static_first_thread.c",
    "static_uneven.c",
    "static_uneven_catch.cc",
    "static_uneven_orphaned.c",
];

/// clang compiles one program in this many, unless `HETMP_COMPILERS=all` asks for all.
const SAMPLE: usize = 8;

/// The programs of `cases` that clang compiles too: a sample, or all with `HETMP_COMPILERS=all`. The programs
/// that `c-tests/openmp/not-clang.txt` lists are left out.
///
/// # Errors
/// One line: the list or the variable is wrong.
pub fn by_clang(cases: &[Case]) -> Result<Vec<Case>, String> {
    let more = chosen(cases, "not-clang.txt", SAMPLE)?;
    Ok(more.filter_map(Case::by_clang).collect())
}

/// The programs of `cases` that are also compiled by gcc and linked with libomp: a sample, or all with
/// `HETMP_COMPILERS=all`. The programs that `c-tests/openmp/not-libomp.txt` lists are left out.
///
/// # Errors
/// One line: the list or the variable is wrong.
pub fn for_libomp(cases: &[Case]) -> Result<Vec<Case>, String> {
    let more = chosen(cases, "not-libomp.txt", 2 * SAMPLE)?;
    Ok(more.map(Case::for_libomp).collect())
}

/// The programs that gcc compiles for 64-bit Arm, without those that `c-tests/openmp/not-aarch64.txt` lists.
///
/// # Errors
/// One line: the list is wrong.
pub fn for_arm(cases: Vec<Case>) -> Result<Vec<Case>, String> {
    let left_out = left_out(&cases, "not-aarch64.txt")?;
    let fortran = find_in_path(&arm::compiler("gfortran")).is_ok();
    Ok(cases
        .into_iter()
        .filter(|c| !left_out.contains(&c.name) && (fortran || c.language != Language::Fortran))
        .collect())
}

/// The names of the programs that a list leaves out.
fn left_out(cases: &[Case], list: &str) -> Result<Vec<String>, String> {
    let list = folder().join(list);
    let text = fs::read_to_string(&list).map_err(|e| format!("file {}: {e}", list.display()))?;
    let left_out: Vec<String> = text
        .lines()
        .filter(|l| !l.starts_with('#'))
        .filter_map(|l| Some(l.split_whitespace().next()?.to_owned()))
        .collect();
    for name in &left_out {
        if !cases.iter().any(|c| c.name == *name) {
            return Err(format!("file {}: {name}: no such program", list.display()));
        }
    }
    Ok(left_out)
}

/// One of `step` of the cases that fit other runtimes and are not in `list`, or all with `HETMP_COMPILERS=all`.
fn chosen<'a>(
    cases: &'a [Case],
    list: &str,
    step: usize,
) -> Result<impl Iterator<Item = &'a Case>, String> {
    let left_out = left_out(cases, list)?;
    let step = match std::env::var("HETMP_COMPILERS").as_deref() {
        Ok("all") => 1,
        Ok(other) => {
            return Err(format!(
                "variable HETMP_COMPILERS {other}: not usable (expected all)"
            ))
        }
        Err(_) => step,
    };
    Ok(cases
        .iter()
        .filter(|c| c.fits_other_runtimes())
        .filter(move |c| !left_out.contains(&c.name) && sample::keeps(&c.name, step)))
}

impl Case {
    fn read(source: &Path, language: Language) -> Result<Case, String> {
        let text =
            fs::read_to_string(source).map_err(|e| format!("program {}: {e}", source.display()))?;
        let name = source
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut case = Case {
            name,
            source: source.to_owned(),
            language,
            env: Vec::new(),
            threads: vec![1, 2, 3, 8],
            flags: Vec::new(),
            libs: Vec::new(),
            args: Vec::new(),
            exit: 0,
            limit: Duration::from_secs(60),
            shared: Vec::new(),
            forms: Vec::new(),
            only_hetmp: false,
            made: Made::Gcc,
            way: None,
        };
        for line in text.lines().take(30) {
            let Some((_, value)) = line.split_once("hetmp-test:") else {
                continue;
            };
            let value = value.trim().trim_end_matches("*/").trim();
            case.setting(value)
                .map_err(|wrong| format!("{} header line `{value}`: {wrong}", case.name))?;
        }
        Ok(case)
    }

    fn setting(&mut self, line: &str) -> Result<(), String> {
        let (key, value) = line.split_once('=').ok_or("expected KEY=VALUE")?;
        let words = || value.split_whitespace().map(str::to_owned);
        let number = |text: &str| {
            text.trim()
                .parse::<u32>()
                .map_err(|_| format!("{text}: not usable (expected a number)"))
        };
        match key.trim() {
            "env" => {
                let (n, v) = value.split_once('=').ok_or("expected env=NAME=VALUE")?;
                self.env.push((n.to_owned(), v.to_owned()));
            }
            "threads" => {
                self.threads = value.split(',').map(number).collect::<Result<_, _>>()?;
            }
            "flags" => self.flags.extend(words()),
            "libs" => self.libs.extend(words()),
            "args" => self.args.extend(words()),
            "exit" => self.exit = number(value)? as i32,
            "timeout" => self.limit = Duration::from_secs(number(value)?.into()),
            "lib" => self.shared.push(value.trim().to_owned()),
            "forms" => {
                for form in value.split(',').map(str::trim) {
                    if !FORMS.iter().any(|(name, _)| *name == form) {
                        return Err(format!("{form}: not usable (expected none, runtime or dynamic)"));
                    }
                    self.forms.push(form.to_owned());
                }
            }
            "way" => self.way = Some(value.trim().to_owned()),
            "only" if value.trim() == "hetmp" => self.only_hetmp = true,
            _ => {
                return Err(
                    "unknown (expected env, threads, flags, libs, args, exit, timeout, lib, forms, way \
                     or only=hetmp)"
                        .to_owned(),
                )
            }
        }
        Ok(())
    }

    /// The same program compiled by clang. `None` if clang has no compiler for the language.
    pub fn by_clang(&self) -> Option<Case> {
        let mut case = self.clone();
        case.name = format!("clang/{}", self.name);
        case.made = Made::Clang;
        // The program's -W flags name warnings of gcc. With clang, all warnings are off.
        case.flags.retain(|f| !f.starts_with("-W"));
        case.flags.push("-w".to_owned());
        if OF_GCC_ALONE.contains(&self.name.as_str()) {
            case.way = None;
        }
        (self.language != Language::Fortran).then_some(case)
    }

    /// The same program compiled by gcc and linked with libomp.
    pub fn for_libomp(&self) -> Case {
        let mut case = self.clone();
        case.name = format!("libomp/{}", self.name);
        case.made = Made::GccForLibomp;
        case
    }

    /// Whether the program needs nothing but OpenMP: no library built by gcc, and no variables of hetmp.
    pub fn fits_other_runtimes(&self) -> bool {
        !self.only_hetmp
            && self.shared.is_empty()
            && !self.env.iter().any(|(name, _)| name.starts_with("HETMP_"))
    }

    /// The case of one form: its own name, and the flag that makes it.
    fn of_form(&self, form: &str) -> Case {
        let mut case = self.clone();
        case.name = Path::new(&self.name)
            .with_extension(form)
            .display()
            .to_string();
        let flag = FORMS
            .iter()
            .find(|(name, _)| *name == form)
            .and_then(|f| f.1);
        case.flags.extend(flag.map(str::to_owned));
        case
    }

    /// Compiles the program, and the libraries that the program opens, with the plain
    /// system compiler. Files in `cache` that are newer than all files in `c-tests/openmp/`
    /// are kept.
    ///
    /// # Errors
    /// The compiler's messages.
    pub fn build(&self, cache: &Path) -> Result<Binary, String> {
        let dir = cache.join(self.name.replace(['.', '/'], "_"));
        fs::create_dir_all(&dir).map_err(|e| format!("folder {}: {e}", dir.display()))?;
        let folder = self.source.parent().unwrap_or(Path::new("."));
        let mut shared = Vec::new();
        for name in &self.shared {
            let source = folder.join("lib").join(name);
            let library = dir.join(format!("lib{}.so", name.replace('.', "_")));
            let flags = ["-shared", "-fPIC", "-fopenmp", "-O2"].map(str::to_owned);
            compile(&arm::compiler("gcc"), &source, &library, &dir, &flags, &[])?;
            shared.push(library);
        }
        let path = dir.join("program");
        let mut flags = vec!["-fopenmp".to_owned(), "-O2".to_owned()];
        flags.extend(self.flags.iter().cloned());
        if self.made == Made::GccForLibomp {
            flags.push(format!("-L{}", libomp_as_libgomp(cache)?.display()));
        }
        if self.made != Made::Gcc {
            flags.push(clang::runtime_path()?);
        }
        let compiler = match (self.made, self.language) {
            (Made::Clang, Language::Cxx) => CLANGXX.to_owned(),
            (Made::Clang, _) => CLANG.to_owned(),
            (_, language) => arm::compiler(language.compiler()),
        };
        compile(&compiler, &self.source, &path, &dir, &flags, &self.libs)?;
        Ok(Binary { path, dir, shared })
    }

    /// The settings to run with: thread counts, then nesting, then wait policies. If the
    /// program's own `env` lines make two settings equal, the list has one of them.
    pub fn settings(&self) -> Vec<Setting> {
        let middle = self
            .threads
            .get(self.threads.len() / 2)
            .copied()
            .unwrap_or(3);
        let mut varied: Vec<Vec<(&str, String)>> = Vec::new();
        for n in &self.threads {
            varied.push(vec![("OMP_NUM_THREADS", n.to_string())]);
        }
        for (name, value) in [
            ("OMP_NESTED", "true"),
            ("OMP_MAX_ACTIVE_LEVELS", "1"),
            ("OMP_MAX_ACTIVE_LEVELS", "4"),
            ("OMP_WAIT_POLICY", "active"),
            ("OMP_WAIT_POLICY", "passive"),
        ] {
            varied.push(vec![
                ("OMP_NUM_THREADS", middle.to_string()),
                (name, value.to_owned()),
            ]);
        }
        if let Some(&most) = self.threads.iter().max() {
            varied.push(vec![
                ("OMP_NUM_THREADS", most.to_string()),
                ("OMP_WAIT_POLICY", "passive".to_owned()),
            ]);
        }
        let mut settings: Vec<Setting> = Vec::new();
        for variables in varied {
            let mut env: Vec<(String, String)> = variables
                .into_iter()
                .filter(|(n, _)| !self.env.iter().any(|(own, _)| own == n))
                .map(|(n, v)| (n.to_owned(), v))
                .collect();
            env.extend(self.env.iter().cloned());
            let setting = Setting { env };
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        settings
    }

    /// Runs the compiled program with `setting` and `extra` (which picks the
    /// runtime).
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run(
        &self,
        binary: &Binary,
        setting: &Setting,
        extra: &[(String, String)],
    ) -> Result<exec::Outcome, String> {
        let mut env = setting.env.clone();
        for (name, library) in ["HETMP_TEST_LIB", "HETMP_TEST_LIB2"]
            .iter()
            .zip(&binary.shared)
        {
            env.push(((*name).to_owned(), library.display().to_string()));
        }
        env.extend(extra.iter().cloned());
        let (path, args, limit) = arm::start(&binary.path, &self.args, self.limit)?;
        exec::run(&exec::Program {
            path: &path,
            args: &args,
            env: &env,
            dir: &binary.dir,
            limit,
            merge: false,
        })
        .map_err(|e| format!("program {}: {e}", binary.path.display()))
    }

    /// The output that is right for a program that libgomp cannot run.
    ///
    /// # Errors
    /// One line: there is no such file.
    pub fn expected(&self) -> Result<Vec<u8>, String> {
        let name = self.source.file_name().unwrap_or_default();
        let stem = Path::new(name).with_extension("txt");
        let file = self
            .source
            .parent()
            .unwrap_or(Path::new("."))
            .join("expected")
            .join(stem);
        fs::read(&file).map_err(|e| format!("expected output {}: {e}", file.display()))
    }
}

/// Compiles, unless `output` is newer than all files that it depends on.
fn compile(
    compiler: &str,
    source: &Path,
    output: &Path,
    dir: &Path,
    flags: &[String],
    libs: &[String],
) -> Result<(), String> {
    let mut args = flags.to_vec();
    args.push(source.display().to_string());
    args.extend(libs.iter().cloned());
    let stamp = output.with_extension("command");
    let command = format!("{compiler} {}\n", args.join(" "));
    let made = output.metadata().and_then(|m| m.modified()).ok();
    if made > newest_source(source) && fs::read_to_string(&stamp).is_ok_and(|old| old == command) {
        return Ok(());
    }
    // Two test files may compile the same program at the same time.
    let fresh = dir.join(format!("new-{}", std::process::id()));
    args.extend(["-o".into(), fresh.display().to_string()]);
    let out = exec::run(&exec::Program {
        path: &find_in_path(compiler)?,
        args: &args,
        env: &[("LC_ALL".into(), "C".into())],
        dir,
        limit: Duration::from_secs(300),
        merge: true,
    })
    .map_err(|e| format!("command {compiler}: {e}"))?;
    if out.ending != exec::Ending::Exit(0) {
        return Err(format!(
            "{command}{}: {}",
            out.ending,
            String::from_utf8_lossy(&out.stdout)
        ));
    }
    fs::rename(&fresh, output)
        .and_then(|()| fs::write(&stamp, command))
        .map_err(|e| format!("file {}: {e}", output.display()))
}

/// A folder where the linker finds libomp when gcc asks for libgomp. Debian's libomp has such a link next to it.
fn libomp_as_libgomp(cache: &Path) -> Result<PathBuf, String> {
    let dir = cache.join("libomp-as-libgomp");
    let link = dir.join("libgomp.so");
    let runtime = clang::runtime()?;
    if fs::read_link(&link).is_ok_and(|to| to == runtime) {
        return Ok(dir);
    }
    // Several tests may come here at once.
    let fresh = dir.join(format!("{:?}", std::thread::current().id()));
    fs::create_dir_all(&dir)
        .and_then(|()| std::os::unix::fs::symlink(&runtime, &fresh))
        .and_then(|()| fs::rename(&fresh, &link))
        .map_err(|e| format!("link {}: {e}", link.display()))?;
    Ok(dir)
}

/// Modification time of the source or of the newest header next to it.
fn newest_source(source: &Path) -> Option<std::time::SystemTime> {
    let folder = source.parent()?;
    fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|e| e.path())
        .filter(|p| p == source || p.extension().is_some_and(|e| e == "h"))
        .filter_map(|p| p.metadata().ok()?.modified().ok())
        .max()
}

/// A folder whose `libgomp.so.1` is a hard link to the library's file, as
/// `scripts/install` lays it out, for runs through `LD_LIBRARY_PATH`.
///
/// # Errors
/// When it cannot be made.
pub fn prefix_lib(library: &Path, cache: &Path) -> Result<PathBuf, String> {
    let dir = cache.join("lib");
    let make = || -> std::io::Result<()> {
        fs::create_dir_all(&dir)?;
        let fresh = dir.join("fresh");
        fs::copy(library, &fresh)?;
        for name in [
            "libhetmp.so",
            "libgomp.so.1",
            "libomp.so",
            "libomp.so.5",
            "libiomp5.so",
        ] {
            let link = dir.join("link");
            let _ = fs::remove_file(&link);
            fs::hard_link(&fresh, &link)?;
            fs::rename(&link, dir.join(name))?;
        }
        fs::remove_file(&fresh)
    };
    make().map_err(|e| format!("folder {}: {e}", dir.display()))?;
    Ok(dir)
}

/// The folder of the programs, `c-tests/openmp/`.
pub fn folder() -> PathBuf {
    library::root().join("c-tests/openmp")
}

/// The kernels. Each form is a case of its own, named `kernels/NAME.FORM`.
///
/// # Errors
/// One line that names the file and the header line that is not understood.
pub fn kernels() -> Result<Vec<Case>, String> {
    let mut cases = all(&library::root().join("c-tests/kernels"))?;
    for case in &mut cases {
        case.name.insert_str(0, "kernels/");
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(header: &str) -> Result<Case, String> {
        let dir = std::env::temp_dir().join(format!(
            "hetmp-case-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("x.c");
        fs::write(&file, header).unwrap();
        let case = Case::read(&file, Language::C);
        fs::remove_dir_all(&dir).unwrap();
        case
    }

    #[test]
    fn reads_header_lines() {
        let c = case(
            "/* Shows x.\n   hetmp-test: env=OMP_PLACES={0}:2\n   hetmp-test: threads=2 */\n\
             // hetmp-test: flags=-O0 -g\n! hetmp-test: exit=3\n",
        )
        .unwrap();
        assert_eq!(c.env, [("OMP_PLACES".into(), "{0}:2".into())]);
        assert_eq!(c.threads, [2]);
        assert_eq!(c.flags, ["-O0", "-g"]);
        assert_eq!(c.exit, 3);
        let settings = c.settings();
        assert!(settings[0]
            .to_string()
            .starts_with("OMP_NUM_THREADS=2 OMP_PLACES={0}:2"));
        assert_eq!(settings.len(), 6, "{settings:?}");
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        assert!(case("// hetmp-test: thread=2")
            .unwrap_err()
            .contains("(expected "));
        assert!(case("// hetmp-test: threads=two")
            .unwrap_err()
            .contains("two"));
        assert!(case("// hetmp-test: only=libgomp").is_err());
        let why = case("// hetmp-test: forms=none,static").unwrap_err();
        assert!(why.contains("static"), "{why}");
    }

    #[test]
    fn a_form_is_a_case_with_a_flag() {
        let c = case("// hetmp-test: forms=none,runtime\n// hetmp-test: flags=-g").unwrap();
        assert_eq!(c.forms, ["none", "runtime"]);
        let plain = c.of_form("none");
        assert_eq!(
            (plain.name.as_str(), plain.flags),
            ("x.none", vec!["-g".to_owned()])
        );
        let runtime = c.of_form("runtime");
        assert_eq!(runtime.name, "x.runtime");
        assert_eq!(runtime.flags, ["-g", "-DFORM_RUNTIME"]);
    }

    #[test]
    fn own_environment_wins() {
        let c = case("// hetmp-test: env=OMP_NUM_THREADS=5").unwrap();
        for s in c.settings() {
            let n: Vec<_> = s
                .env
                .iter()
                .filter(|(n, _)| n == "OMP_NUM_THREADS")
                .collect();
            assert_eq!(n, [&("OMP_NUM_THREADS".to_owned(), "5".to_owned())]);
        }
    }
}
