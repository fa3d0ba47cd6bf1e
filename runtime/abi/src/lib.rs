//! `libhetmp.so`: the C ABI of hetmp.
//!
//! * **What it is**: a thin skin. An entry converts its arguments, calls one function of the
//!   engine, and converts back. One module per header and construct family; no logic, no state.
//! * **What it owns**: the exported names, their version nodes, and the layouts of C types.
//! * **Data in**: calls of compiled programs. **Data out**: calls into `hetmp-omp`.
//!
//! Modules that come with their parts: `kmpc` (clang's ABI), `shmem`, `goal`, `mq`.

mod acc;
mod entry;
mod gomp;
mod omp;
mod variadic;
