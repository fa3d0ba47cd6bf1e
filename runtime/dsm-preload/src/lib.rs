//! `libhetmp_dsm.so`: lets several processes share the memory of a program that was not written for that.
//!
//! * **What it is**: definitions that the loader finds before those of the C library: `__libc_start_main`,
//!   the malloc and mmap families, `pthread_create` and `pthread_join`, and calls that cannot work across processes.
//!   Without `HETMP_NODES=dsm:N` they pass every call on to the C library or the kernel; only the malloc family still
//!   allocates by itself, from private memory.
//! * **What it owns**: the shared heap, the stacks in it, and this node's [driver](pages::driver). It hands a
//!   table of functions to `libhetmp.so`, which decides what an OpenMP region does on several nodes.
//! * **Data in**: calls of the program; the environment variables `HETMP_NODES` and `HETMP_DSM`. **Data
//!   out**: memory; the nodes.
//!
//! Source: the design of a software DSM in user space after Lyerly et al. (see `hetmp-dsm`).
//!
//! | part of memory | where |
//! | --- | --- |
//! | `.data` and `.bss` of the executable and of the program's own libraries | shared, from the origin's content |
//! | heap, anonymous mappings | shared; each node allocates from its own part |
//! | stacks and thread-local storage of `main` and of all threads | shared, in the part of their node |
//! | what constructors of these libraries allocate | shared, in the origin's part |
//! | data of the C library and of other libraries of the system | each node its own |
//!
//! `main` runs on a thread of its own. Only so do its stack and its thread-local storage lie at addresses
//! that mean the same in every node.

#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_os = "linux",
    target_env = "gnu"
)))]
compile_error!("libhetmp_dsm.so is for Linux with glibc on x86-64 and 64-bit Arm");

mod arena;
mod asked;
mod early;
mod kernel;
mod layout;
mod locals;
mod malloc;
mod mapping;
mod objects;
mod offers;
mod place;
mod refuse;
mod stacks;
mod start;
mod threads;

#[global_allocator]
static ALLOCATOR: arena::Driver = arena::Driver;
