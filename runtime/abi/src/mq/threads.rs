//! Slave threads.

use super::text;
use core::ffi::{c_char, c_int, c_void};
use hetmp_mq::api::{self, Error};
use hetmp_mq::verbs;
use std::ffi::CString;

/// A group of slave threads; m_num is 0 when they could not be started.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ThreadId {
    m_cluster: c_int,
    m_num: c_int,
    m_thread_id: u64,
}

const _: () = assert!(size_of::<ThreadId>() == 16 && align_of::<ThreadId>() == 8);

export_c! {
    /// Starts slaves 0 to n-1 of a cluster, each running `void fn(void *arg)` (a result is ignored). A failure is
    /// one line on standard error and a ThreadID with m_num 0. A slave's number must not be running.
    extern "C" fn mStartSlaveThreads(cluster: c_int, n: c_int, r#fn: *mut c_void, arg: *mut c_void) -> ThreadId {
        hetmp_omp::init::once();
        // SAFETY: the program passes null or a function that takes one pointer, as the header asks. Whether the
        // function returns a value does not matter: the value would be in a register, which nobody reads.
        let function: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void> = unsafe { core::mem::transmute(r#fn) };
        match verbs::start(cluster, n, function, arg) {
            Some(id) => ThreadId { m_cluster: cluster, m_num: n, m_thread_id: id },
            None => ThreadId { m_cluster: cluster, m_num: 0, m_thread_id: 0 },
        }
    }
    /// Waits until all slaves of the group have ended. Both forms, with and without cluster, compile. A slave that
    /// waits for a message which only the waiting master could send gets MQ_DEADLOCK instead.
    extern "C" fn mWaitSlaveThreads(cluster: c_int, t: ThreadId) {
        verbs::wait(cluster, t.m_cluster, t.m_thread_id);
    }
    /// Forgets a group; waits for it first where it still runs. Both forms compile.
    extern "C" fn mDestroySlaveThreads(cluster: c_int, t: ThreadId) {
        verbs::destroy(cluster, t.m_cluster, t.m_thread_id);
    }
    /// 1 while the slave runs, else 0.
    extern "C" fn mIsSlaveAlive(cluster: c_int, slave: c_int) -> c_int {
        c_int::from(api::is_alive(cluster, slave))
    }
    /// Loads code for slaves: on MT-3000 the cluster's image, on x86 a shared object. A name without a slash is a file
    /// of the current directory. MQ_OK or MQ_BAD_IMAGE.
    extern "C" fn mLoadSlaveImage(cluster: c_int, path: *const c_char) -> c_int {
        if api::check_cluster(cluster).is_err() {
            return Error::BadCluster as c_int;
        }
        if path.is_null() {
            return Error::BadImage as c_int;
        }
        // dlopen looks for a name without a slash in the folders of libraries.
        let path = text(path);
        let here: &[u8] = if path.contains(&b'/') { b"" } else { b"./" };
        let Ok(path) = CString::new([here, path].concat()) else {
            return Error::BadImage as c_int;
        };
        // SAFETY: a string with a terminating zero.
        let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if object.is_null() {
            Error::BadImage as c_int
        } else {
            0
        }
    }
    /// The function of a loaded image or of the program, for mStartSlaveThreads; NULL if there is none.
    extern "C" fn mSlaveFunction(name: *const c_char) -> *mut c_void {
        if name.is_null() {
            return core::ptr::null_mut();
        }
        // SAFETY: the program passes a string with a terminating zero.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) }
    }
}
