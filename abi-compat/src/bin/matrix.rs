//! `matrix`: writes the generated files, or says which are out of date.

use clap::Parser;
use hetmp_abi_compat::{coverage, elf, library, symbols};
use std::path::Path;
use std::process::ExitCode;

/// Write docs/coverage.md from the built libhetmp.so (HETMP_LIB or the target
/// directory) and the lists of libgomp's exports.
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
    let (file, text) = if options.nodes {
        ("runtime/abi/nodes.map", symbols::nodes_map())
    } else {
        let library = elf::read(&library::libhetmp()?)?;
        ("docs/coverage.md", coverage::matrix(&library))
    };
    let path = library::root().join(file);
    if options.check {
        let same = std::fs::read_to_string(&path).is_ok_and(|old| old == text);
        if !same {
            eprintln!(
                "hetmp: file {file}: out of date: run `cargo run -p hetmp-abi-compat --bin matrix`"
            );
        }
        return Ok(same);
    }
    write(&path, &text)?;
    println!("wrote {file}");
    Ok(true)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("folder {}: {e}", folder.display()))?;
    }
    std::fs::write(path, text).map_err(|e| format!("file {}: {e}", path.display()))
}
