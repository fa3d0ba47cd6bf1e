//! System parameters: `mGet...` for the master, `sGet...` for the calling slave; and the words of errors.

use core::ffi::{c_char, c_int};
use hetmp_core::whole::OnceLock;
use hetmp_mq::api::{self, Error};
use hetmp_mq::platform::Kind;

export_c! {
    /// The meaning of an error in English. Never NULL.
    extern "C" fn mqErrorText(err: c_int) -> *const c_char {
        match err {
            0 => c"no error",
            _ => Error::from_number(err).map_or(c"not an error of hetmp/mq.h", Error::c_text),
        }
        .as_ptr()
    }
    /// The name of an error's constant. Never NULL.
    extern "C" fn mqErrorName(err: c_int) -> *const c_char {
        match err {
            0 => c"MQ_OK",
            _ => Error::from_number(err).map_or(c"unknown", Error::c_name),
        }
        .as_ptr()
    }
    /// Slaves of a cluster: on x86 the CPUs this process may use, on chips what they have. 0 for a bad cluster.
    extern "C" fn mGetSlaveCoreNum(cluster: c_int) -> c_int {
        api::check_cluster(cluster).map_or(0, |_| api::platform().slaves_here() as c_int)
    }
    /// The largest number of slaves that can be started: on x86 more than mGetSlaveCoreNum says.
    extern "C" fn mGetMaxSlaveCoreNum(cluster: c_int) -> c_int {
        api::check_cluster(cluster).map_or(0, |_| api::platform().max_slaves as c_int)
    }
    /// Clusters of the platform.
    extern "C" fn mGetClusterNum() -> c_int {
        api::platform().clusters as c_int
    }
    /// Bytes of a slave's local store, or of its cluster's shared memory, of a kind.
    extern "C" fn mGetLocalMemSize(kind: c_int) -> usize {
        Kind::from_number(kind).map_or(0, |kind| api::platform().store_bytes(kind))
    }
    /// What is left of that.
    extern "C" fn mGetLocalMemFree(cluster: c_int, slave: c_int, kind: c_int) -> usize {
        api::store_left(cluster, slave, kind).unwrap_or(0)
    }
    /// Bits of a SIMD register of a slave.
    extern "C" fn mGetSimdWidth() -> c_int {
        api::platform().simd_bits_here() as c_int
    }
    /// The platform's name.
    extern "C" fn mGetPlatform() -> *const c_char {
        static NAME: OnceLock<std::ffi::CString> = OnceLock::new();
        NAME.get_or_init(|| std::ffi::CString::new(api::platform().name.replace('\0', "")).unwrap_or_default()).as_ptr()
    }
    /// The same for the calling slave.
    extern "C" fn sGetSlaveCoreNum() -> c_int {
        api::me().map_or(0, |_| api::platform().slaves_here() as c_int)
    }
    extern "C" fn sGetLocalMemSize(kind: c_int) -> usize {
        mGetLocalMemSize(kind)
    }
    extern "C" fn sGetLocalMemFree(kind: c_int) -> usize {
        api::me().map_or(0, |me| mGetLocalMemFree(me.cluster as c_int, me.number as c_int, kind))
    }
    extern "C" fn sGetSimdWidth() -> c_int {
        mGetSimdWidth()
    }
    /// The calling slave's number; -1 on a thread that is no slave.
    extern "C" fn sGetSlaveId() -> c_int {
        api::me().map_or(-1, |me| me.number as c_int)
    }
    /// The calling slave's cluster; -1 on a thread that is no slave.
    extern "C" fn sGetClusterId() -> c_int {
        api::me().map_or(-1, |me| me.cluster as c_int)
    }
}
