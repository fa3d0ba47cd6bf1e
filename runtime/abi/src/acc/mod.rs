//! OpenACC's entries: the functions that `openacc.h`, `acc_prof.h` and the Fortran module `openacc` declare,
//! the functions that gcc's `-fopenacc` code calls (`GOACC_*`), and those for offload plugins
//! (`GOMP_PLUGIN_*`).

mod constructs;
mod data;
mod device;
mod fortran;
mod plugin;
mod profile;
mod queue;
