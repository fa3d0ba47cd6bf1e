//! OpenACC: what `openacc.h`, `acc_prof.h` and the Fortran module `openacc` declare, what gcc's
//! `-fopenacc` code calls (`GOACC_*`), and what offload plugins call (`GOMP_PLUGIN_*`).

mod constructs;
mod data;
mod device;
mod fortran;
mod plugin;
mod profile;
mod queue;
