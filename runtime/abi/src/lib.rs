//! `libhetmp.so`: the C ABI of hetmp.
//!
//! **What it is**: a thin layer. An entry converts its arguments, calls one function of the engine, and
//! converts the result. There is one module per header and construct family. The crate has no logic and no
//! state of its own.
//! * **What it owns**: the exported names, their version nodes, and the layouts of C types.
//! * **Data in**: calls of compiled programs. **Data out**: calls into `hetmp-omp`, `hetmp-mq`,
//!   `hetmp-shmem` and `hetmp-goal-job`.
//! * **`unsafe`** has one contract in all modules: pointers are what compiled code passes by its compiler's interface,
//!   or the program by the specification (valid, aligned, as long as said, for as long as said). An entry reads its
//!   arguments through them and hands them on; where more is promised, the entry says so.

mod acc;
mod again;
mod device;
mod entry;
mod goal;
mod gomp;
mod kmpc;
mod machine;
mod mq;
mod nodes;
mod omp;
mod ompt;
mod shmem;
mod variadic;

use core::ffi::{c_char, c_int};
use hetmp_core::env;

/// The memory that the library allocates for itself. The program's memory comes from the program's malloc.
#[global_allocator]
static ALLOCATOR: hetmp_allocator::Allocator = hetmp_allocator::Allocator::new();

/// Runs when the library is loaded. `OMP_DISPLAY_ENV` makes the library show the control variables now, even
/// in a program that never opens a region. Everything else waits for the program's first call, for two
/// reasons: a program that does not use OpenMP pays only for looking up two variables of its environment, and
/// a variable that the program sets before its first region (Python programs do) still counts.
#[used]
#[link_section = ".init_array"]
static AT_LOAD: extern "C" fn(c_int, *const *const c_char) = at_load;

extern "C" fn at_load(_count: c_int, arguments: *const *const c_char) {
    ompt::offer();
    hetmp_core::whole::watch();
    // SAFETY: At the program's start no other thread exists. If the library is opened later: constructors of any
    // library may read the environment, so a program must not let another thread change it during `dlopen`.
    if unsafe { env::live(c"OMP_DISPLAY_ENV") }.is_some() {
        hetmp_omp::init::once();
    }
    // SAFETY: no thread changes the environment while constructors run, for the reasons given before. The loader
    // passes the program's arguments to constructors.
    unsafe {
        if env::live(c"HETMP_NODES").is_some_and(|nodes| nodes.to_bytes().starts_with(b"dsm:")) {
            again::begin_with_both(arguments);
        }
    }
}
