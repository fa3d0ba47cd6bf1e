//! `matrix`: writes the generated files, or says which are out of date.

use clap::Parser;
use hetmp_abi_compat::{coverage, elf, library, symbols};
use std::path::Path;
use std::process::ExitCode;

/// Write docs/coverage.md and docs/coverage-clang.md from the built libhetmp.so (HETMP_LIB or the target
/// directory) and the lists of libgomp's and libomp's exports.
#[derive(Parser)]
#[command(name = "matrix")]
struct Options {
    /// Write runtime/abi/nodes.map, the version script, instead (needs no library)
    #[arg(long)]
    nodes: bool,
    /// Write nothing; end with 1 if the file is out of date
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match generate(&Options::parse()) {
        Ok(up_to_date) => ExitCode::from(u8::from(!up_to_date)),
        Err(why) => {
            eprintln!("hetmp: {why}");
            ExitCode::from(2)
        }
    }
}

fn generate(options: &Options) -> Result<bool, String> {
    let files = if options.nodes {
        vec![("runtime/abi/nodes.map", symbols::nodes_map())]
    } else {
        let library = elf::read(&library::libhetmp()?)?;
        vec![
            ("docs/coverage.md", coverage::matrix(&library)),
            ("docs/coverage-clang.md", coverage::libomp::matrix(&library)),
        ]
    };
    let mut up_to_date = true;
    for (file, text) in files {
        let path = library::root().join(file);
        if !options.check {
            write(&path, &text)?;
            println!("wrote {file}");
        } else if std::fs::read_to_string(&path).map_or(true, |old| old != text) {
            eprintln!(
                "hetmp: file {file}: out of date: run `cargo run -p hetmp-abi-compat --bin matrix`"
            );
            up_to_date = false;
        }
    }
    Ok(up_to_date)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("folder {}: {e}", folder.display()))?;
    }
    std::fs::write(path, text).map_err(|e| format!("file {}: {e}", path.display()))
}
