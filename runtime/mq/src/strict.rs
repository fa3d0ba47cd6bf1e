//! Strict platforms: slots that the wrong side cannot touch, and a report when it tries.
//!
//! Each row of slots, at the master and in a local store, is a file in memory that is mapped twice. The program's
//! mapping has no access rights for pages of slots that its side does not hold; transfers use the other mapping. A
//! slave (or a master) that touches a slot in transfer, queued or free gets a memory fault: it uses the other side's
//! slot, or a message that it has sent or released. So does one that runs over the end of a local store. The handler
//! reports who touched what, and from which source line. Then the process ends by that signal.
//!
//! Not everything is noticed. Access rights of pages hold for all threads of a process, so a slave may touch a slot
//! while the master holds it. Memory of the program's own is not protected either.

use core::sync::atomic::{AtomicUsize, Ordering};
use memmap2::{MmapOptions, MmapRaw};
use std::sync::Once;

/// The side that a row of slots belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Master,
    Store,
}

/// A row of slots in two mappings. Each slot has pages of its own.
#[derive(Debug)]
pub(crate) struct Guarded {
    shown: MmapRaw,
    hidden: MmapRaw,
    region: usize,
}

/// The most rows of slots in a process.
const ROWS: usize = 4096;

/// The rows that the handler knows: begin, end, slave, bytes of a slot, [`End`]. A begin of 0 marks a free entry.
static REGIONS: [[AtomicUsize; 5]; ROWS] = [const { [const { AtomicUsize::new(0) }; 5] }; ROWS];

impl Guarded {
    /// Maps `slots` slots of `stride` bytes (a multiple of the page size). The program has access to none of them.
    ///
    /// # Errors
    /// The kernel has no memory, or no memory files, or there are [`ROWS`] such rows already.
    pub(crate) fn new(
        slots: usize,
        stride: usize,
        slave: usize,
        end: End,
    ) -> Result<Guarded, crate::error::Error> {
        install();
        let len = slots * stride;
        let out = crate::error::Error::NoMemory;
        let file = hetmp_core::segment::sealed(c"hetmp-mq", len).map_err(|_| out)?;
        let map = || MmapOptions::new().len(len).map_raw(&file).map_err(|_| out);
        let (shown, hidden) = (map()?, map()?);
        let region = REGIONS
            .iter()
            .position(|r| {
                r[0].compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            })
            .ok_or(out)?;
        let r = &REGIONS[region];
        let start = shown.as_ptr() as usize;
        r[1].store(start + len, Ordering::Relaxed);
        r[2].store(slave, Ordering::Relaxed);
        r[3].store(stride, Ordering::Relaxed);
        r[4].store(end as usize, Ordering::Relaxed);
        r[0].store(start, Ordering::Release);
        let guarded = Guarded {
            shown,
            hidden,
            region,
        };
        guarded.allow(0, len, false);
        Ok(guarded)
    }

    /// Where the program sees the slots.
    #[must_use]
    pub(crate) fn shown(&self) -> usize {
        self.shown.as_ptr() as usize
    }

    /// Where transfers access the slots.
    #[must_use]
    pub(crate) fn hidden(&self) -> usize {
        self.hidden.as_ptr() as usize
    }

    /// Bytes of the whole row.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.shown.len()
    }

    /// Gives the program access to `len` bytes from `offset` on, or takes it away.
    pub(crate) fn allow(&self, offset: usize, len: usize, yes: bool) {
        let rights = if yes {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_NONE
        };
        debug_assert!(offset + len <= self.len());
        // SAFETY: the range lies within this mapping, which belongs to the library.
        unsafe {
            libc::mprotect(self.shown.as_mut_ptr().add(offset).cast(), len, rights);
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        REGIONS[self.region][0].store(0, Ordering::Release);
        // Both mappings go, too: whoever drops this has ensured that no message of the queue is in use.
    }
}

/// The action before ours, for faults that are not ours.
static mut BEFORE: core::mem::MaybeUninit<libc::sigaction> = core::mem::MaybeUninit::uninit();

/// Installs the handler, once.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the action is filled in, and BEFORE is written before any fault can lead to reading it.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGSEGV, &action, (&raw mut BEFORE).cast());
        }
    });
}

extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a structure that it has filled in.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    // A signal that a program has sent has no address.
    let what = if code > 0 { describe(address) } else { None };
    if let Some(what) = what {
        let pc = crate::crash::program_counter(context);
        let who = crate::callers::slave_here()
            .map_or("the master".to_owned(), |(_, n)| format!("slave {n}"));
        hetmp_core::report::warn(format_args!(
            "{who} address {address:#x}: {what}; at {}",
            source_line(pc)
        ));
    } else if !had_handler() {
        crate::crash::say(
            signal,
            (code > 0).then_some(address),
            crate::crash::program_counter(context),
        );
    }
    // SAFETY: restores the earlier action and returns. The instruction then faults again under that action.
    unsafe {
        if had_handler() {
            libc::sigaction(signal, (&raw const BEFORE).cast(), core::ptr::null_mut());
        } else {
            libc::signal(signal, libc::SIG_DFL);
        }
        if code <= 0 {
            // The signal was sent by a program, so that no instruction will fault again.
            libc::raise(signal);
        }
    }
}

/// True if another handler was installed before ours.
fn had_handler() -> bool {
    // SAFETY: BEFORE was written before our handler was installed.
    let before = unsafe {
        (&raw const BEFORE)
            .cast::<libc::sigaction>()
            .read()
            .sa_sigaction
    };
    before != libc::SIG_DFL && before != libc::SIG_IGN
}

/// Describes an address that the library knows.
fn describe(address: usize) -> Option<String> {
    for r in &REGIONS {
        let begin = r[0].load(Ordering::Acquire);
        if begin > 1 && address >= begin && address < r[1].load(Ordering::Relaxed) {
            let slot = (address - begin) / r[3].load(Ordering::Relaxed).max(1);
            let slave = r[2].load(Ordering::Relaxed);
            let held = "between allocating and sending or receiving and releasing";
            return Some(if r[4].load(Ordering::Relaxed) == End::Master as usize {
                format!(
                    "slot {slot} at the master, of a queue of slave {slave}: touched only by the master, {held}; \
                        slaves \
                     use DMA"
                )
            } else {
                format!(
                    "slot {slot} in the store of slave {slave}: touched only by that slave, {held}"
                )
            });
        }
    }
    crate::store::owner_of(address).map(|(cluster, slave)| {
        let whose = slave.map_or("shared memory".to_owned(), |n| {
            format!("local store of slave {n}")
        });
        format!("outside of the {whose} of cluster {cluster} (expected one of its blocks)")
    })
}

/// `file:line` of an instruction, by addr2line if that is installed, else object and offset. Starting another process
/// is acceptable here, because this one is about to end.
fn source_line(pc: usize) -> String {
    // SAFETY: dladdr fills in the structure, or returns 0. Its strings live as long as the object.
    let (path, base) = unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(pc as *const libc::c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return format!("{pc:#x}");
        }
        let path = core::ffi::CStr::from_ptr(info.dli_fname)
            .to_string_lossy()
            .into_owned();
        (path, info.dli_fbase as usize)
    };
    // SAFETY: a loaded object begins with its ELF header, whose type is at offset 16.
    let fixed = unsafe { *((base + 16) as *const u16) } == 2;
    let offset = if fixed { pc } else { pc - base };
    let exe = std::fs::read_link("/proc/self/exe").map(|p| p.to_string_lossy().into_owned());
    let file = if path.contains('/') {
        path.clone()
    } else {
        exe.unwrap_or_else(|_| path.clone())
    };
    // The caller of a privileged process chooses what its PATH leads to.
    let found = (!hetmp_core::env::is_privileged())
        .then(|| std::process::Command::new("addr2line"))
        .and_then(|mut command| {
            command
                .args(["-e", &file, &format!("{offset:#x}")])
                .env_remove("LD_PRELOAD")
                .output()
                .ok()
        })
        .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
        .filter(|line| !line.is_empty() && !line.starts_with("??"));
    found.unwrap_or_else(|| format!("{file}+{offset:#x}"))
}
