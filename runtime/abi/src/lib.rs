//! `libhetmp.so`: the C ABI of hetmp.
//!
//! * **What it is**: a thin skin. An entry converts its arguments, calls one function of the
//!   engine, and converts back. One module per header and construct family; no logic, no state.
//! * **What it owns**: the exported names, their version nodes, and the layouts of C types.
//! * **Data in**: calls of compiled programs. **Data out**: calls into `hetmp-omp`, `hetmp-mq`,
//!   `hetmp-shmem` and `hetmp-goal-job`.

mod acc;
mod again;
mod device;
mod entry;
mod goal;
mod gomp;
mod kmpc;
mod mq;
mod nodes;
mod omp;
mod shmem;
mod variadic;

use core::ffi::{c_char, c_int};

/// What the library itself allocates; the program's memory comes from the program's malloc.
#[global_allocator]
static ALLOCATOR: hetmp_allocator::Allocator = hetmp_allocator::Allocator::new();

/// `OMP_DISPLAY_ENV` shows the control variables when the program starts, even one that never opens a
/// region. All else waits for the first call: a program that uses no OpenMP pays for one look
/// at its environment (two variables), and a variable that is set before the first region (as Python programs do)
/// counts.
#[used]
#[link_section = ".init_array"]
static AT_LOAD: extern "C" fn(c_int, *const *const c_char) = at_load;

extern "C" fn at_load(_count: c_int, arguments: *const *const c_char) {
    // SAFETY: getenv reads the environment. At the program's start no other thread exists; where the
    // library is opened later, `dlopen` is one of the calls during which the program lets no other thread
    // change the environment (constructors of any library may read it).
    if !unsafe { libc::getenv(c"OMP_DISPLAY_ENV".as_ptr()) }.is_null() {
        hetmp_omp::init::once();
    }
    // SAFETY: nobody changes the environment while constructors run, for the reasons given at the call of `getenv` before
    // this one. The value is a C string, and the loader passes the program's arguments to constructors.
    unsafe {
        let nodes = libc::getenv(c"HETMP_NODES".as_ptr());
        if !nodes.is_null() && libc::strncmp(nodes, c"dsm:".as_ptr(), 4) == 0 {
            again::begin_with_both(arguments);
        }
    }
}
