//! Place of HetProbe-I: repeated probing for loops whose iterations differ.
//!
//! Not written yet. It starts as [`crate::hetprobe`] does, hands out a part of
//! each share only, gathers what is left into disjoint ranges when a new
//! probing period begins, and splits again. Until then
//! [`Schedule::executes_as`](crate::schedule::Schedule::executes_as) turns
//! `hetprobe-i` into `hetprobe`, and the caller says so to the user.
