//! The `hetmp` command.
fn main() {}
