//! Which arguments of which system calls are pointers, and to how many bytes.
//!
//! A call belongs here if it may not be made again after the kernel has failed to write: since it takes something from
//! a queue, moves a place in a file or makes a descriptor. So do calls whose buffers may cover more than two pages.

use super::numbers;
use libc::c_long;

/// What the kernel does with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Reads them.
    In,
    /// May read them, and may write all of them.
    Both,
    /// Writes as many of them as the call's result says, or that many elements.
    Result,
    /// Reads them as a set of signals, which the thread does not take for a while.
    Signals,
}

/// How many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// This number.
    Bytes(u32),
    /// The value of an argument, times a number.
    Times(u8, u32),
    /// A word, and as many bytes as the value of an argument.
    Message(u8),
    /// One byte for each page of as many bytes as the value of an argument.
    Pages(u8),
    /// A text, which ends with a zero.
    Text,
    /// What the 32-bit word says to which another argument points.
    At(u8),
    /// One bit for each of the number of descriptors in an argument, in whole words.
    Bits(u8),
}

/// A pointer among the arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    pub(crate) argument: u8,
    pub(crate) way: Way,
    pub(crate) size: Size,
}

const fn pointer(argument: u8, way: Way, size: Size) -> Pointer {
    Pointer {
        argument,
        way,
        size,
    }
}

const fn text(argument: u8) -> Pointer {
    pointer(argument, Way::In, Size::Text)
}

/// A structure that the kernel reads.
const fn read(argument: u8, bytes: u32) -> Pointer {
    pointer(argument, Way::In, Size::Bytes(bytes))
}

/// A structure that the kernel writes.
const fn both(argument: u8, bytes: u32) -> Pointer {
    pointer(argument, Way::Both, Size::Bytes(bytes))
}

/// A buffer whose size is an argument, and which the kernel reads.
const fn from(argument: u8, size: u8) -> Pointer {
    pointer(argument, Way::In, Size::Times(size, 1))
}

/// A buffer whose size is an argument, and whose first bytes the kernel writes: as many as the result says.
const fn to(argument: u8, size: u8, each: u32) -> Pointer {
    pointer(argument, Way::Result, Size::Times(size, each))
}

/// An address of a socket, and its length.
const fn name(argument: u8) -> [Pointer; 2] {
    [
        pointer(argument, Way::Both, Size::At(argument + 1)),
        both(argument + 1, 4),
    ]
}

const TIMESPEC: u32 = 16;
const STAT: u32 = if cfg!(target_arch = "x86_64") {
    144
} else {
    128
};
const USAGE: u32 = 144;
const TIMEX: u32 = 208;

/// The call's pointers; `None` for calls that are not in this table.
pub(crate) fn pointers(number: c_long) -> Option<&'static [Pointer]> {
    Some(match number {
        numbers::SYS_read
        | numbers::SYS_pread64
        | numbers::SYS_getdents64
        | numbers::SYS_getdents => const { &[to(1, 2, 1)] },
        numbers::SYS_write | numbers::SYS_pwrite64 => const { &[from(1, 2)] },
        numbers::SYS_getrandom => const { &[to(0, 1, 1)] },
        numbers::SYS_getcwd => const { &[to(0, 1, 1)] },
        numbers::SYS_open
        | numbers::SYS_access
        | numbers::SYS_truncate
        | numbers::SYS_chdir
        | numbers::SYS_mkdir
        | numbers::SYS_rmdir
        | numbers::SYS_creat
        | numbers::SYS_unlink
        | numbers::SYS_chmod
        | numbers::SYS_chown
        | numbers::SYS_lchown
        | numbers::SYS_mknod
        | numbers::SYS_chroot
        | numbers::SYS_umount2
        | numbers::SYS_mq_unlink
        | numbers::SYS_memfd_create => const { &[text(0)] },
        numbers::SYS_openat
        | numbers::SYS_faccessat
        | numbers::SYS_faccessat2
        | numbers::SYS_mkdirat
        | numbers::SYS_unlinkat
        | numbers::SYS_mknodat
        | numbers::SYS_fchmodat
        | numbers::SYS_fchownat
        | numbers::SYS_inotify_add_watch => const { &[text(1)] },
        numbers::SYS_openat2 => const { &[text(1), pointer(2, Way::In, Size::Times(3, 1))] },
        numbers::SYS_rename | numbers::SYS_link | numbers::SYS_symlink => {
            const { &[text(0), text(1)] }
        }
        numbers::SYS_renameat | numbers::SYS_renameat2 | numbers::SYS_linkat => {
            const { &[text(1), text(3)] }
        }
        numbers::SYS_symlinkat => const { &[text(0), text(2)] },
        numbers::SYS_readlink => const { &[text(0), to(1, 2, 1)] },
        numbers::SYS_readlinkat => const { &[text(1), to(2, 3, 1)] },
        numbers::SYS_stat | numbers::SYS_lstat => const { &[text(0), both(1, STAT)] },
        numbers::SYS_fstat => const { &[both(1, STAT)] },
        numbers::SYS_newfstatat => const { &[text(1), both(2, STAT)] },
        numbers::SYS_statx => const { &[text(1), both(4, 256)] },
        numbers::SYS_statfs => const { &[text(0), both(1, 120)] },
        numbers::SYS_fstatfs => const { &[both(1, 120)] },
        numbers::SYS_utime => const { &[text(0), read(1, 16)] },
        numbers::SYS_utimes => const { &[text(0), read(1, 32)] },
        numbers::SYS_utimensat => const { &[text(1), read(2, 2 * TIMESPEC)] },
        numbers::SYS_pipe | numbers::SYS_pipe2 => const { &[both(0, 8)] },
        numbers::SYS_socketpair => const { &[both(3, 8)] },
        numbers::SYS_poll => const { &[pointer(0, Way::Both, Size::Times(1, 8))] },
        numbers::SYS_ppoll => {
            const {
                &[
                    pointer(0, Way::Both, Size::Times(1, 8)),
                    both(2, TIMESPEC),
                    pointer(3, Way::Signals, Size::Bytes(8)),
                ]
            }
        }
        numbers::SYS_select => {
            const {
                &[
                    pointer(1, Way::Both, Size::Bits(0)),
                    pointer(2, Way::Both, Size::Bits(0)),
                    pointer(3, Way::Both, Size::Bits(0)),
                    both(4, 16),
                ]
            }
        }
        numbers::SYS_pselect6 => {
            const {
                &[
                    pointer(1, Way::Both, Size::Bits(0)),
                    pointer(2, Way::Both, Size::Bits(0)),
                    pointer(3, Way::Both, Size::Bits(0)),
                    both(4, TIMESPEC),
                    read(5, 16),
                ]
            }
        }
        numbers::SYS_epoll_wait => const { &[to(1, 2, 12)] },
        numbers::SYS_epoll_pwait => {
            const { &[to(1, 2, 12), pointer(4, Way::Signals, Size::Bytes(8))] }
        }
        numbers::SYS_epoll_pwait2 => {
            const {
                &[
                    to(1, 2, 12),
                    read(3, TIMESPEC),
                    pointer(4, Way::Signals, Size::Bytes(8)),
                ]
            }
        }
        numbers::SYS_epoll_ctl => const { &[read(3, 12)] },
        numbers::SYS_nanosleep => const { &[read(0, TIMESPEC), both(1, TIMESPEC)] },
        numbers::SYS_clock_nanosleep => const { &[read(2, TIMESPEC), both(3, TIMESPEC)] },
        numbers::SYS_clock_gettime | numbers::SYS_clock_getres => const { &[both(1, TIMESPEC)] },
        numbers::SYS_clock_settime => const { &[read(1, TIMESPEC)] },
        numbers::SYS_gettimeofday => const { &[both(0, 16), both(1, 8)] },
        numbers::SYS_time => const { &[both(0, 8)] },
        numbers::SYS_times => const { &[both(0, 32)] },
        numbers::SYS_getitimer => const { &[both(1, 32)] },
        numbers::SYS_setitimer => const { &[read(1, 32), both(2, 32)] },
        numbers::SYS_timer_create => const { &[read(1, 64), both(2, 4)] },
        numbers::SYS_timer_settime => const { &[read(2, 32), both(3, 32)] },
        numbers::SYS_timer_gettime => const { &[both(1, 32)] },
        numbers::SYS_timerfd_settime => const { &[read(2, 32), both(3, 32)] },
        numbers::SYS_timerfd_gettime => const { &[both(1, 32)] },
        numbers::SYS_connect | numbers::SYS_bind => const { &[from(1, 2)] },
        numbers::SYS_accept
        | numbers::SYS_accept4
        | numbers::SYS_getsockname
        | numbers::SYS_getpeername => const { &name(1) },
        numbers::SYS_sendto => const { &[from(1, 2), from(4, 5)] },
        numbers::SYS_recvfrom => const { &[to(1, 2, 1), name(4)[0], name(4)[1]] },
        numbers::SYS_setsockopt => const { &[from(3, 4)] },
        numbers::SYS_getsockopt => const { &name(3) },
        numbers::SYS_wait4 => const { &[both(1, 4), both(3, USAGE)] },
        numbers::SYS_waitid => const { &[both(2, 128), both(4, USAGE)] },
        numbers::SYS_getrusage => const { &[both(1, USAGE)] },
        numbers::SYS_uname => const { &[both(0, 390)] },
        numbers::SYS_sysinfo => const { &[both(0, 112)] },
        numbers::SYS_getrlimit => const { &[both(1, 16)] },
        numbers::SYS_setrlimit => const { &[read(1, 16)] },
        numbers::SYS_prlimit64 => const { &[read(2, 16), both(3, 16)] },
        numbers::SYS_getcpu => const { &[both(0, 4), both(1, 4)] },
        numbers::SYS_sched_setaffinity => const { &[from(2, 1)] },
        numbers::SYS_sched_getaffinity => const { &[to(2, 1, 1)] },
        numbers::SYS_getgroups => const { &[to(1, 0, 4)] },
        numbers::SYS_getresuid | numbers::SYS_getresgid => {
            const { &[both(0, 4), both(1, 4), both(2, 4)] }
        }
        numbers::SYS_setgroups => const { &[pointer(1, Way::In, Size::Times(0, 4))] },
        numbers::SYS_sethostname | numbers::SYS_setdomainname => const { &[from(0, 1)] },
        numbers::SYS_syslog => const { &[to(1, 2, 1)] },
        numbers::SYS_adjtimex => const { &[both(0, TIMEX)] },
        numbers::SYS_clock_adjtime => const { &[both(1, TIMEX)] },
        numbers::SYS_mq_open => const { &[text(0), read(3, 64)] },
        numbers::SYS_mq_getsetattr => const { &[read(1, 64), both(2, 64)] },
        numbers::SYS_mq_timedsend => const { &[from(1, 2), read(4, TIMESPEC)] },
        numbers::SYS_mq_timedreceive => const { &[to(1, 2, 1), both(3, 4), read(4, TIMESPEC)] },
        numbers::SYS_msgsnd => const { &[pointer(1, Way::In, Size::Message(2))] },
        numbers::SYS_msgrcv => const { &[pointer(1, Way::Result, Size::Message(2))] },
        numbers::SYS_semop => const { &[pointer(1, Way::In, Size::Times(2, 6))] },
        numbers::SYS_semtimedop => {
            const { &[pointer(1, Way::In, Size::Times(2, 6)), read(3, TIMESPEC)] }
        }
        numbers::SYS_getxattr | numbers::SYS_lgetxattr => {
            const { &[text(0), text(1), to(2, 3, 1)] }
        }
        numbers::SYS_fgetxattr => const { &[text(1), to(2, 3, 1)] },
        numbers::SYS_setxattr | numbers::SYS_lsetxattr => const { &[text(0), text(1), from(2, 3)] },
        numbers::SYS_fsetxattr => const { &[text(1), from(2, 3)] },
        numbers::SYS_listxattr | numbers::SYS_llistxattr => const { &[text(0), to(1, 2, 1)] },
        numbers::SYS_flistxattr => const { &[to(1, 2, 1)] },
        numbers::SYS_removexattr | numbers::SYS_lremovexattr => const { &[text(0), text(1)] },
        numbers::SYS_fremovexattr => const { &[text(1)] },
        numbers::SYS_add_key => const { &[text(0), text(1), from(2, 3)] },
        numbers::SYS_sendfile => const { &[both(2, 8)] },
        numbers::SYS_splice | numbers::SYS_copy_file_range => const { &[both(1, 8), both(3, 8)] },
        numbers::SYS_io_setup => const { &[both(1, 8)] },
        numbers::SYS_io_getevents => const { &[to(3, 2, 32), read(4, TIMESPEC)] },
        numbers::SYS_mincore => const { &[pointer(2, Way::Both, Size::Pages(1))] },
        numbers::SYS_move_pages => {
            const {
                &[
                    pointer(2, Way::In, Size::Times(1, 8)),
                    pointer(3, Way::In, Size::Times(1, 4)),
                    pointer(4, Way::Both, Size::Times(1, 4)),
                ]
            }
        }
        numbers::SYS_rt_sigpending => const { &[both(0, 8)] },
        numbers::SYS_rt_sigsuspend => const { &[pointer(0, Way::Signals, Size::Bytes(8))] },
        numbers::SYS_rt_sigtimedwait => const { &[read(0, 8), both(1, 128), read(2, TIMESPEC)] },
        numbers::SYS_signalfd4 => const { &[read(1, 8)] },
        numbers::SYS_futex => const { &[] },
        // Their pointers are addresses and nothing more.
        numbers::SYS_mmap
        | numbers::SYS_munmap
        | numbers::SYS_mprotect
        | numbers::SYS_madvise
        | numbers::SYS_mremap
        | numbers::SYS_brk
        | numbers::SYS_exit_group
        | numbers::SYS_set_robust_list
        | numbers::SYS_set_tid_address
        | numbers::SYS_close
        | numbers::SYS_lseek
        | numbers::SYS_kill
        | numbers::SYS_tgkill => const { &[] },
        _ => return None,
    })
}
