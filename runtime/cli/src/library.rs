//! Finds the libraries that are installed with these commands.

use std::path::PathBuf;

/// The path of a library: `../lib` in an installed tree, next to the command in a build folder.
pub(crate) fn beside_this_command(name: &str) -> Option<PathBuf> {
    let command = std::env::current_exe().ok()?;
    let folder = command.parent()?;
    let candidates = [folder.parent()?.join("lib"), folder.to_owned()];
    candidates
        .iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
