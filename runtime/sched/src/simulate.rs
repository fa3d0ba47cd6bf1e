//! Place of the discrete-event simulator of `hetmp simulate`.
//!
//! Not written yet. Its core is the driver that `tests/convergence.rs` has in
//! small: the thread whose clock is behind makes the next call, and the model
//! says how long its range takes. Platforms and kernels will be described in
//! TOML by the command; this module will only take them as data.
