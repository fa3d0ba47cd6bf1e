//! Programs compiled for the tests.

pub(crate) mod file;

use std::path::{Path, PathBuf};
use std::process::Command;

use file::File;

/// Compiles a program of `tests/programs` and reads the result.
#[allow(dead_code, reason = "each test uses what it needs of this file")]
pub(crate) fn compile(source: &str, options: &[&str]) -> File {
    compile_to(source, options).1
}

/// The compilers of C that the tests know, as far as they are installed: gcc always.
#[allow(dead_code, reason = "each test uses what it needs of this file")]
pub(crate) fn compilers() -> Vec<&'static str> {
    let mut all = vec!["gcc"];
    let found = Command::new("clang-19").arg("--version").output();
    if found.is_ok_and(|result| result.status.success()) {
        all.push("clang-19");
    } else {
        println!("skipped for clang-19: not installed");
    }
    all
}

/// All options of a list, or in a short run (`HETMP_TEST_SETTINGS`, as `scripts/test` sets it) every third, from the
/// third one on: compiling takes most of these tests' time.
#[allow(dead_code, reason = "each test uses what it needs of this file")]
pub(crate) fn some<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let (first, step) = match std::env::var_os("HETMP_TEST_SETTINGS") {
        Some(_) => (2, 3),
        None => (0, 1),
    };
    all.into_iter().skip(first).step_by(step)
}

/// Compiles a program of `tests/programs` by this compiler and reads the result.
#[allow(dead_code, reason = "each test uses what it needs of this file")]
pub(crate) fn compile_by(compiler: &str, source: &str, options: &[&str]) -> File {
    compile_file(Some(compiler), &program(source), options).1
}

/// Compiles a program that a test made up.
#[allow(dead_code, reason = "each test uses what it needs of this file")]
pub(crate) fn compile_text(compiler: &str, name: &str, text: &str, options: &[&str]) -> File {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if std::fs::read_to_string(&source).ok().as_deref() != Some(text) {
        std::fs::write(&source, text).expect("the program can be written");
    }
    compile_file(Some(compiler), &source, options).1
}

/// The same, with the path of the result.
#[allow(dead_code, reason = "each test uses what it needs of this file")]
pub(crate) fn compile_to(source: &str, options: &[&str]) -> (PathBuf, File) {
    compile_file(None, &program(source), options)
}

fn program(source: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source)
}

/// Whether an earlier run compiled `output` from `source` as it is, by the compiler as it is.
fn is_current(output: &Path, source: &Path, compiler: &str) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let compiler = std::env::split_paths(&paths).find_map(|dir| changed(&dir.join(compiler)));
    let made = changed(output);
    compiler.is_some() && made > compiler && made > changed(source)
}

/// By `compiler`, or by gcc's for the source's language.
fn compile_file(compiler: Option<&str>, source: &Path, options: &[&str]) -> (PathBuf, File) {
    let gcc = match source.extension().and_then(|e| e.to_str()) {
        Some("f90") => "gfortran",
        Some("cc") => "g++",
        _ => "gcc",
    };
    let compiler = compiler.unwrap_or(gcc);
    let mut name = source.file_name().unwrap().to_string_lossy().into_owned();
    name.push_str(compiler);
    for option in options {
        name.push_str(option);
    }
    let output: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.replace('/', "_"));
    if is_current(&output, source, compiler) {
        let file = File::read(&output);
        return (output, file);
    }
    // Renamed into place: what a compiler left half written is not current.
    let mut fresh = output.clone().into_os_string();
    fresh.push(format!("{:?}", std::thread::current().id()));
    let mut command = Command::new(compiler);
    command
        .arg("-fopenmp")
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&fresh)
        .arg("-lm");
    if compiler == "gfortran" {
        command.arg("-J").arg(env!("CARGO_TARGET_TMPDIR"));
    }
    let result = command.output().expect("the compiler can be run");
    assert!(
        result.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&result.stderr)
    );
    std::fs::rename(&fresh, &output).expect("the program can be put into place");
    let file = File::read(&output);
    (output, file)
}
