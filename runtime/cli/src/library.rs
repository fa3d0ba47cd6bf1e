//! Where the libraries are that come with these commands.

use std::path::PathBuf;

/// A library by its file name: in an installed tree it is in `../lib`, in a build folder beside the command.
pub(crate) fn beside_this_command(name: &str) -> Option<PathBuf> {
    let command = std::env::current_exe().ok()?;
    let folder = command.parent()?;
    let candidates = [folder.parent()?.join("lib"), folder.to_owned()];
    candidates
        .iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
