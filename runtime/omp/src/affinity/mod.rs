//! Places and binding (OpenMP 5.1, sections 2.6.2, 6.4, 6.5 and 6.14).
//!
//! * `places`: `OMP_PLACES` and `GOMP_CPU_AFFINITY` become lists of CPU sets;
//! * [`bind`]: which place each thread of a new team gets, and which part of the place list stays
//!   for the regions inside it;
//! * `order`: `KMP_AFFINITY` becomes such a list, too; `subset`: the CPUs of `KMP_HW_SUBSET`;
//! * [`mod@format`]: the text of `omp_capture_affinity` and `OMP_DISPLAY_AFFINITY`;
//!
//! **Data in**: text, CPU sets, numbers. **Data out**: CPU sets, place numbers, text. These modules make no
//! system calls. `threads` binds the engine's threads to the places, `shown` makes the text for users, and `processors`
//! asks the kernel how many CPUs a thread may use.

pub mod bind;
pub mod format;
pub(crate) mod order;
pub(crate) mod places;
pub(crate) mod processors;
pub(crate) mod shown;
pub(crate) mod subset;
pub(crate) mod threads;

pub(crate) use hetmp_core::topo::{CpuSet, PlaceKind};
