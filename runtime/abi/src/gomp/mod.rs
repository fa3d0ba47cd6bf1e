//! What gcc's `-fopenmp` code calls: `GOMP_*`.

mod parallel;
mod task;
