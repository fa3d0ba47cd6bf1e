//! What a process of the job needs before its program runs: its limits and CPUs, the libraries for nodes of one
//! program, and the half of a program for two instruction sets that this machine can run.
//!
//! # Safety
//! [`prepare`]'s code runs between fork and exec: it makes system calls only, on values that were made before.

use super::signals;
use hetmp_core::{file, multi_isa, segment};
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Raises hetrun's limit of descriptors as far as possible: each process costs it five. Returns the old limit, which
/// the processes get.
pub(super) fn more_files() -> Option<libc::rlimit> {
    let mut before = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a live record, which is filled in.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut before) } != 0 {
        return None;
    }
    let all = libc::rlimit {
        rlim_cur: before.rlim_max,
        rlim_max: before.rlim_max,
    };
    // SAFETY: a live record. If the call fails, the old limit stays.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const all) };
    Some(before)
}

/// The value of `LD_PRELOAD` for a node: both libraries, which are installed with this command, in front of what is
/// set already.
pub(super) fn dsm_preload() -> Result<OsString, String> {
    let mut value = OsString::new();
    for name in ["libhetmp_dsm.so", "libhetmp.so"] {
        let path = super::library::beside_this_command(name)
            .ok_or_else(|| format!("library {name}: is needed for --dsm, next to this hetrun"))?;
        value.push(path);
        value.push(":");
    }
    value.push(std::env::var_os("LD_PRELOAD").unwrap_or_default());
    Ok(value)
}

/// The half for this machine of a program for two instruction sets (`hetcc`), as a file without a name. `None`: the
/// program's file itself is for this machine, or there is no such half.
pub(super) fn half_for_this_machine(program: &OsString) -> Option<std::fs::File> {
    let is_for_this_machine = |file: &[u8]| {
        let machine = file.get(18..20).and_then(|m| m.try_into().ok());
        machine.map(u16::from_le_bytes) == Some(multi_isa::THIS_MACHINE)
    };
    let path = Path::new(program);
    let mut head = [0; 20];
    file::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head))
        .ok()?;
    if is_for_this_machine(&head) {
        return None;
    }
    let half = multi_isa::other_half(path).ok()??;
    let half = is_for_this_machine(&half).then_some(half)?;
    let mut file = std::fs::File::from(segment::sealed(c"hetmp-half", half.len()).ok()?);
    file.write_all(&half).ok()?;
    Some(file)
}

/// Makes the program's objects lie at the same addresses on every machine: switches randomisation off, and sets the
/// stack's limit, which determines the distance between the stack and what is mapped below it. If this fails, the
/// nodes report whose addresses differ.
fn same_addresses() {
    /// Less than the least distance that the kernel keeps (128 MiB).
    const STACK: libc::rlim_t = 8 << 20;
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: attributes of this process, and a live record.
    unsafe {
        libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        if libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) == 0 && limit.rlim_cur > STACK {
            limit.rlim_cur = STACK;
            libc::setrlimit(libc::RLIMIT_STACK, &raw const limit);
        }
    }
}

/// Prepares the new process before its program runs.
pub(super) fn prepare(
    command: &mut Command,
    cpus: Vec<u64>,
    files: Option<libc::rlimit>,
    dsm: bool,
) {
    // SAFETY: getpid has no preconditions.
    let parent = unsafe { libc::getpid() };
    let before = move || {
        signals::unblock_all();
        // SAFETY: sets an attribute of this process.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        // SAFETY: getppid has no preconditions.
        if unsafe { libc::getppid() } != parent {
            // hetrun ended before the prctl above took effect.
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        if dsm {
            same_addresses();
        }
        if let Some(files) = &files {
            // SAFETY: a live record.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, files) };
        }
        if !cpus.is_empty() {
            // SAFETY: the words are a live CPU set of this many bytes.
            let failed = unsafe {
                libc::sched_setaffinity(0, cpus.len() * 8, cpus.as_ptr().cast::<libc::cpu_set_t>())
            };
            if failed != 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: runs between fork and exec. It makes system calls only, and allocates nothing.
    unsafe { command.pre_exec(before) };
}
