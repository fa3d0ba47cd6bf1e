//! What several targets need.

use std::path::Path;

/// Calls `look` with a file of these bytes, for what reads files by their names.
pub fn as_file<T>(bytes: &[u8], look: impl FnOnce(&Path) -> T) -> T {
    let path = std::env::temp_dir().join(format!("hetmp-fuzz-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("a folder for temporary files");
    let seen = look(&path);
    std::fs::remove_file(&path).expect("the file that was written");
    seen
}
