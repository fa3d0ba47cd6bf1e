//! One source becomes one object, in which the other machine's object is a section.
//!
//! Archives, `make` and `ar` see an ordinary object of this machine. The linker drops the section if somebody links
//! without `hetcc`.

use crate::command::{is_fortran, Command, Mode};
use crate::machine::{missing, run, Aarch64, Language, Machine, X86_64};
use crate::types;
use hetmp_core::file;
use hetmp_core::multi_isa::HALF;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// What both compilers are told, behind the user's options.
///
/// Each function and variable has a section of its own, which can be placed; nothing depends on where the program is
/// loaded. No fused multiply-add: only one of the two machines has it without being asked.
const FLAGS: &[&str] = &[
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-pie",
    "-fno-pic",
    "-ffp-contract=off",
    "-fno-lto",
    "-gno-split-dwarf",
];

/// Compiles `source` into the object `to`. `work`: a folder for files that are needed meanwhile.
pub(crate) fn compile(
    command: &Command,
    language: Language,
    source: &str,
    to: &Path,
    work: &Path,
) -> Result<(), String> {
    let halves = Machine::BOTH.map(|m| work.join(format!("half-{}.o", m.name())));
    let mut compilers = [0, 1].map(|i| {
        let machine = Machine::BOTH[i];
        let mut compiler = machine.compiler(language);
        compiler.args(options(command, machine));
        compiler.args(FLAGS);
        if !is_fortran(source) {
            compiler.arg("-fsigned-char");
        }
        if machine == Aarch64 {
            compiler.arg("-mno-outline-atomics");
        }
        if !command.debug {
            compiler.arg("-g");
        }
        // Both read the first's modules; the second's own are of no use.
        if machine == Aarch64 && is_fortran(source) {
            compiler.arg("-J").arg(work);
        }
        if machine == X86_64 {
            depends(command, source, to, &mut compiler);
        }
        compiler.args(["-c", source, "-o"]).arg(&halves[i]);
        compiler
    });
    let name = compilers[1].get_program().to_string_lossy().into_owned();
    let start = |c: &mut std::process::Command| {
        let quiet = c.stdin(Stdio::null()).stderr(Stdio::piped());
        quiet.spawn().map_err(|e| missing(&name, &e))
    };
    // Both at once, but for Fortran, where the second reads modules that the first has written. What the second says
    // is shown if the first had nothing to refuse: most of it is the same.
    let mut other = None;
    if !is_fortran(source) {
        other = Some(start(&mut compilers[1])?);
    }
    let first = run(&mut compilers[0]);
    if other.is_none() && first.is_ok() {
        other = Some(start(&mut compilers[1])?);
    }
    let other = other
        .map(|o| o.wait_with_output().map_err(|e| missing(&name, &e)))
        .transpose()?;
    first?;
    let Some(other) = other else { return Ok(()) };
    if !other.status.success() {
        eprint!("{}", String::from_utf8_lossy(&other.stderr));
        return Err(format!(
            "source: '{source}': compiles for x86_64 and not for aarch64 (expected what both compilers take)"
        ));
    }
    let read = |path: &Path| {
        file::bytes(path, file::LARGE).map_err(|e| format!("file: '{}': {e}", path.display()))
    };
    types::compare(&read(&halves[0])?, &read(&halves[1])?)
        .map_err(|what| format!("{source}: {what}"))?;
    join(&halves, to, command.debug)
}

/// Puts the second object into the first.
fn join(halves: &[PathBuf; 2], to: &Path, debug: bool) -> Result<(), String> {
    if !debug {
        run(Aarch64.tool("objcopy").arg("--strip-debug").arg(&halves[1]))?;
    }
    let mut objcopy = X86_64.tool("objcopy");
    if !debug {
        objcopy.arg("--strip-debug");
    }
    objcopy
        .arg(format!("--add-section={HALF}={}", halves[1].display()))
        .arg(format!(
            "--set-section-flags={HALF}=noload,readonly,exclude"
        ))
        .arg(&halves[0])
        .arg(to);
    run(&mut objcopy)
}

/// The user's options that a machine's compiler takes. Those that name processors (`-m...`) are for x86-64; the list
/// of what a source depends on, and modules, are written once.
pub(crate) fn options(command: &Command, machine: Machine) -> Vec<String> {
    let mut kept = Vec::new();
    for words in command.options() {
        let first = words[0].as_str();
        if machine == X86_64 {
            kept.extend_from_slice(words);
        } else if let Some(folder) = first.strip_prefix("-J") {
            let folder = words.get(1).map_or(folder, String::as_str);
            kept.push(format!("-I{folder}"));
        } else if !["-m", "-M", "-Wa,"]
            .iter()
            .any(|own| first.starts_with(own))
        {
            kept.extend_from_slice(words);
        }
    }
    kept
}

/// What makefiles want to know of a source's headers is about the object that they have asked for.
fn depends(command: &Command, source: &str, to: &Path, compiler: &mut std::process::Command) {
    let says = |options: &[&str]| command.options().any(|w| options.contains(&w[0].as_str()));
    if !says(&["-MD", "-MMD"]) {
        return;
    }
    let object = match command.mode {
        Mode::Compile => to.to_owned(),
        _ => Path::new(Path::new(source).file_name().unwrap_or_default()).with_extension("o"),
    };
    if !says(&["-MF"]) {
        compiler.arg("-MF").arg(object.with_extension("d"));
    }
    if !says(&["-MT", "-MQ"]) {
        compiler.arg("-MQ").arg(&object);
    }
}
