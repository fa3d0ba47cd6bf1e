//! Numbers of system calls, also of those that only older machines have: no call has such a number elsewhere.

pub(crate) use libc::*;

/// Names without a number on 64-bit Arm, each with one that the kernel refuses.
#[cfg(target_arch = "aarch64")]
macro_rules! none {
    ($($name:ident = $number:literal),* $(,)?) => {$(
        #[allow(non_upper_case_globals, reason = "the system's names")]
        pub(crate) const $name: c_long = $number;
    )*};
}

#[cfg(target_arch = "aarch64")]
none! {
    SYS_access = -101, SYS_chmod = -102, SYS_chown = -103, SYS_creat = -104, SYS_epoll_wait = -105, SYS_fork = -106,
    SYS_getdents = -107, SYS_getrlimit = -108, SYS_lchown = -109, SYS_link = -110, SYS_lstat = -111, SYS_mkdir = -112,
    SYS_mknod = -113, SYS_open = -114, SYS_pipe = -115, SYS_poll = -116, SYS_readlink = -117, SYS_rename = -118,
    SYS_renameat = -119, SYS_rmdir = -120, SYS_select = -121, SYS_setrlimit = -122, SYS_stat = -123, SYS_symlink = -124,
    SYS_time = -125, SYS_unlink = -126, SYS_utime = -127, SYS_utimes = -128,
}
