//! `libhetmp_dsm.so`: makes the memory of a program that was not written for it shared between several processes.
//!
//! * **What it is**: definitions that come before the C library's: `__libc_start_main`, the malloc and mmap families,
//!   `pthread_create`, and calls that cannot work across processes. Without `HETMP_NODES=dsm:N` they pass on.
//! * **What it owns**: the shared heap, the stacks in it, and the [driver](pages::driver) of this node. What an OpenMP region
//!   does on several nodes is decided by `libhetmp.so`, which this library hands a table of functions.
//! * **Data in**: calls of the program, `HETMP_NODES`, `HETMP_DSM`. **Data out**: memory; the nodes.
//!
//! Source: the design of a software DSM in user space after Lyerly et al. (see `hetmp-dsm`).
//!
//! | part of memory | where |
//! | --- | --- |
//! | `.data` and `.bss` of the executable | shared, from the origin's content |
//! | heap, anonymous mappings | shared; each node allocates from its own part |
//! | stacks and thread-local storage of `main` and of all threads | shared, in the part of their node |
//! | data of the C library and of other libraries | each node its own |
//!
//! `main` runs on a thread of its own, since only so its stack and thread-local storage lie at addresses that mean the
//! same in every node.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("libhetmp_dsm.so is for x86-64 Linux with glibc");

mod arena;
mod layout;
mod malloc;
mod mapping;
mod objects;
mod place;
mod refuse;
mod start;
mod threads;

#[global_allocator]
static ALLOCATOR: arena::Driver = arena::Driver;
