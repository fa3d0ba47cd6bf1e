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

/// Compiles a program that a test made up.
#[allow(dead_code, reason = "each test uses what it needs of this file")]
pub(crate) fn compile_text(name: &str, text: &str, options: &[&str]) -> File {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&source, text).expect("the program can be written");
    compile_file(&source, options).1
}

/// The same, with the path of the result.
#[allow(dead_code, reason = "each test uses what it needs of this file")]
pub(crate) fn compile_to(source: &str, options: &[&str]) -> (PathBuf, File) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source);
    compile_file(&source, options)
}

fn compile_file(source: &Path, options: &[&str]) -> (PathBuf, File) {
    let compiler = match source.extension().and_then(|e| e.to_str()) {
        Some("f90") => "gfortran",
        Some("cc") => "g++",
        _ => "gcc",
    };
    let mut name = source.file_name().unwrap().to_string_lossy().into_owned();
    for option in options {
        name.push_str(option);
    }
    let output: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.replace('/', "_"));
    let mut command = Command::new(compiler);
    command
        .arg("-fopenmp")
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&output)
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
    let file = File::read(&output);
    (output, file)
}
