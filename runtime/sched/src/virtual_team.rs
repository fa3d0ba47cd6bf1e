//! Place of virtual teams: static loops that never call the runtime, run as a
//! team of more virtual threads than real ones.
//!
//! Not written yet. To the scheduler a region on V virtual threads is a loop
//! of V iterations, whose pieces are placed by [`crate::hetprobe`] with each
//! real thread on a contiguous block of virtual numbers.
