//! `hetcc`, `hetc++`, `hetfort`: compilers of OpenMP programs that run on x86-64 and AArch64 at once.
//!
//! * **What it is**: a driver of gcc for both machines. Objects hold the other machine's object in a section, programs
//!   the other machine's program; everything that both share has one address in both ([`layout`]).
//! * **What it owns**: the flags, the pairs of functions and variables, their addresses, and what is refused because
//!   the two machines have no common form of it ([`types`]).
//! * **Data in**: sources, objects and archives; the command line of gcc. **Data out**: the same, and the note that
//!   [`hetmp_core::multi_isa`] describes.
//!
//! Source: what the paper's compiler (Popcorn Linux) does so that one process can run on both; here no thread leaves
//! its machine in the middle of a function, so stacks need no common form.

mod command;
mod compile;
mod layout;
mod link;
mod machine;
mod parts;
mod types;

use command::{Command, Mode};
use hetmp_core::file;
use machine::{Language, X86_64};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: hetcc [gcc's options] FILE...
       hetc++, hetfort: the same for C++ and Fortran
       hetcc --other-half PROGRAM -o FILE

Compiles an OpenMP program for x86-64 and for 64-bit Arm. Functions and variables
have the same addresses in both, so that nodes of either kind can run one program
(hetrun --dsm). The file is the program for x86-64, with the other one in a section.
Objects and archives are handled alike: make CC=hetcc CXX=hetc++ FC=hetfort. For
makefiles that name gcc, g++ and gfortran, links of these names do in a folder of PATH.

  --other-half  write the program for 64-bit Arm into FILE
  --help        this text

What has no common form on both machines is refused with a line that names it.
Needs gcc, g++ and gfortran of one version for both machines (x86_64-linux-gnu-gcc,
aarch64-linux-gnu-gcc and so on, as Debian names them).

Examples:
  hetcc -O2 -fopenmp -o program program.c && hetrun --dsm --hosts FILE ./program
  hetcc --other-half program -o program.aarch64

Exit status: 0; 1 with a line that says why.
";

fn main() -> ExitCode {
    let mut words = std::env::args();
    let name = words.next().unwrap_or_default();
    let language = match name.rsplit('/').next().unwrap_or_default() {
        name if name.ends_with("++") => Language::Cxx,
        name if name.ends_with("fort") || name.ends_with("fortran") => Language::Fortran,
        _ => Language::C,
    };
    let words: Vec<String> = words.collect();
    if words.first().is_some_and(|w| w == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match work(language, &words) {
        Ok(code) => code,
        Err(errors) => {
            for error in errors {
                hetmp_core::report::warn(format_args!("{error}"));
            }
            ExitCode::FAILURE
        }
    }
}

fn work(language: Language, words: &[String]) -> Result<ExitCode, Vec<String>> {
    if words.first().is_some_and(|w| w == "--other-half") {
        return other_half(words)
            .map(|()| ExitCode::SUCCESS)
            .map_err(|e| vec![e]);
    }
    let command = Command::parse(words.to_vec()).map_err(|e| vec![e])?;
    if command.mode == Mode::Ask {
        let mut compiler = X86_64.compiler(language);
        let status = compiler.args(words).status();
        let name = compiler.get_program().to_string_lossy().into_owned();
        let status = status.map_err(|e| vec![machine::missing(&name, &e)])?;
        return Ok(ExitCode::from(
            status
                .code()
                .and_then(|c| u8::try_from(c).ok())
                .unwrap_or(1),
        ));
    }
    let folder = Folder::new().map_err(|e| {
        vec![format!(
            "folder for files: {e} (expected a $TMPDIR to write to)"
        )]
    })?;
    let sources: Vec<&str> = command.sources().collect();
    if command.mode == Mode::Compile && command.output.is_some() && sources.len() > 1 {
        return Err(vec![
            "option: '-o': names one file for several objects (expected one source)".to_owned(),
        ]);
    }
    let mut objects: Vec<PathBuf> = Vec::new();
    for (i, source) in sources.iter().enumerate() {
        let object = match (command.mode, &command.output) {
            (Mode::Compile, Some(output)) => PathBuf::from(output),
            (Mode::Compile, None) => {
                Path::new(Path::new(source).file_name().unwrap_or_default()).with_extension("o")
            }
            _ => folder.0.join(format!("source-{i}.o")),
        };
        compile::compile(&command, language, source, &object, &folder.0).map_err(|e| vec![e])?;
        objects.push(object);
    }
    if command.mode == Mode::Link {
        let to = command.output.as_deref().unwrap_or("a.out");
        link::link(&command, language, &objects, Path::new(to), &folder.0)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn other_half(words: &[String]) -> Result<(), String> {
    let [_, program, option, to] = words else {
        return Err(
            "option: '--other-half': has other words (expected PROGRAM -o FILE)".to_owned(),
        );
    };
    if option != "-o" {
        return Err(format!(
            "option: '{option}': is not known (expected --other-half PROGRAM -o FILE)"
        ));
    }
    let bytes = file::bytes(program.as_ref(), file::LARGE)
        .map_err(|e| format!("program: '{program}': {e} (expected a file of hetcc)"))?;
    let half = link::half(&bytes)
        .ok_or_else(|| format!("program: '{program}': has one half (expected a file of hetcc)"))?;
    let failed =
        |e: std::io::Error| format!("file: '{to}': {e} (expected one that can be written)");
    file::put(to.as_ref(), half).map_err(failed)?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(to, mode).map_err(failed)
}

/// A folder for files that are needed meanwhile.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        let mut tries = 0;
        loop {
            let name = format!("hetcc-{}-{tries}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                // Another process of this number left it.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && tries < 100 => {
                    tries += 1
                }
                made => return made.map(|()| Folder(path)),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
