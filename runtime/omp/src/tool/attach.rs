//! Finds the tool of this process and starts it (OpenMP 5.2, section 19.2).
//!
//! Where `HETMP_TIMES` is set, the tool is this library's own (`hetmp_profile`). Else
//! the first thread that uses OpenMP looks: for a function `ompt_start_tool` in the program and the libraries that are
//! loaded, then in the libraries that `OMP_TOOL_LIBRARIES` names. The function answers with the tool's `initialize` and
//! `finalize`, or with null: then the search goes on.
//!
//! **Data in**: `OMP_TOOL`, `OMP_TOOL_LIBRARIES`, `OMP_TOOL_VERBOSE_INIT`, the symbols of the process.
//! **Data out**: the bit [`TOOL`] of `hetmp_core::observers`.

use super::callbacks;
use super::interface::Data;
use crate::init;
use crate::unlike::modes;
use core::ffi::{c_char, c_int, c_uint, c_void, CStr};
use core::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use hetmp_core::env::text::quoted;
use hetmp_core::observers::{self, TOOL, UNASKED};
use hetmp_core::whole::Mutex;
use hetmp_core::whole::OnceLock;
use hetmp_core::{report, sys};
use std::ffi::CString;
use std::io::Write as _;

/// The function by which the tool asks for entry points (`ompt_function_lookup_t`).
pub type Lookup = unsafe extern "C" fn(*const c_char) -> Option<unsafe extern "C" fn()>;

/// The version of OpenMP whose interface this is: that of November 2020, 5.1.
const OPENMP: c_uint = 202_011;

/// What `ompt_start_tool` answers (`ompt_start_tool_result_t`).
#[repr(C)]
struct Tool {
    initialize: Option<unsafe extern "C" fn(Lookup, c_int, *mut Data) -> c_int>,
    finalize: Option<unsafe extern "C" fn(*mut Data)>,
    data: Data,
}

type Start = unsafe extern "C" fn(c_uint, *const c_char) -> *mut Tool;

/// What the ABI gives to tools: the lookup, and the function that runs when the process ends.
#[derive(Clone, Copy, Debug)]
struct Offer {
    lookup: Lookup,
    finish: extern "C" fn(),
}

static OFFER: OnceLock<Offer> = OnceLock::new();
/// The thread that starts the tool now; 0: none.
static STARTER: AtomicI32 = AtomicI32::new(0);
static ONE: Mutex<()> = Mutex::new(());
/// The tool that was started; null: none.
static STARTED: AtomicPtr<Tool> = AtomicPtr::new(core::ptr::null_mut());
/// The process that started it. A child of `fork` does not end its parent's tool.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Says which lookup tools get, and what runs when the process ends. Called when the library is loaded. Without a call
/// there is no tool.
pub fn offer(lookup: Lookup, finish: extern "C" fn()) {
    let _ = OFFER.set(Offer { lookup, finish });
}

/// Is a tool attached? The first call in the process looks for one. While a tool is being started the answer is no for
/// the thread that starts it, and other threads wait.
#[inline]
pub(crate) fn attach() -> bool {
    if observers::has(UNASKED) {
        look()
    } else {
        observers::has(TOOL)
    }
}

#[cold]
fn look() -> bool {
    let me = sys::gettid();
    if STARTER.load(Ordering::Relaxed) == me {
        return false;
    }
    let _one = ONE.lock();
    if !observers::has(UNASKED) {
        return observers::has(TOOL);
    }
    STARTER.store(me, Ordering::Relaxed);
    let attached = start();
    if attached {
        observers::begin(TOOL);
    }
    observers::end(UNASKED);
    STARTER.store(0, Ordering::Relaxed);
    attached
}

/// The value of an environment variable; empty if it is not set, and in set-user-id programs, which must not load what
/// their users name. Read without the runtime's snapshot of the environment: that is taken at the first call that needs
/// a control variable, and a program that has only used locks so far may still set variables.
fn variable(name: &CStr) -> Vec<u8> {
    // SAFETY: a program that changes the environment while another thread uses OpenMP for the first time is wrong for
    // the other variables, too. The value is copied at once.
    unsafe { hetmp_core::env::live(name) }.map_or_else(Vec::new, |value| value.to_bytes().to_vec())
}

fn start() -> bool {
    let Some(offer) = OFFER.get() else {
        return false;
    };
    let word = variable(c"OMP_TOOL");
    let word = word.trim_ascii();
    if word.eq_ignore_ascii_case(b"disabled") {
        return false;
    }
    if !word.is_empty() && !word.eq_ignore_ascii_case(b"enabled") {
        report::warn(format_args!(
            "OMP_TOOL: {}: unknown, so that no tool is looked for (expected enabled or disabled)",
            quoted(word)
        ));
        return false;
    }
    let log = Log::new(&variable(c"OMP_TOOL_VERBOSE_INIT"));
    let ours = ours(&variable(c"HETMP_TIMES"), &log);
    let found = ours.or_else(|| find(&variable(c"OMP_TOOL_LIBRARIES"), &log));
    let Some(tool) = found else {
        log.line(format_args!("no tool"));
        return false;
    };
    // The tool may use the runtime's routines.
    init::once();
    // SAFETY: a tool keeps what `ompt_start_tool` returned until the process ends, and only this thread uses it now.
    let (initialize, data) = unsafe { ((*tool).initialize, &raw mut (*tool).data) };
    // SAFETY: the tool's own function, with the arguments that the interface says: the lookup, the number of the
    // initial device (there are no others), and the tool's word.
    let wanted = initialize.is_some_and(|f| unsafe { f(offer.lookup, 0, data) } != 0);
    if !wanted {
        log.line(format_args!("the tool's initialize declined"));
        callbacks::forget();
        return false;
    }
    log.line(format_args!("the tool is attached"));
    // A real thread runs its virtual threads in turns, and a tool cannot be told which task goes on.
    modes::forget_virtual();
    STARTED.store(tool, Ordering::Relaxed);
    at_exit(offer.finish);
    true
}

/// Arranges that `finish` runs when this process ends.
fn at_exit(finish: extern "C" fn()) {
    // SAFETY: getpid has no preconditions. `finish` may run at any exit of the process.
    unsafe {
        PROCESS.store(libc::getpid(), Ordering::Relaxed);
        libc::atexit(finish);
    }
}

/// True in the process that started the tool, until [`end`].
pub(super) fn is_ours() -> bool {
    // SAFETY: getpid has no preconditions.
    observers::has(TOOL) && PROCESS.load(Ordering::Relaxed) == unsafe { libc::getpid() }
}

/// Ends the tool: no callback follows, except for those that other threads are about to make.
pub(super) fn end() {
    observers::end(TOOL);
    callbacks::forget();
    let tool = STARTED.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if tool.is_null() {
        return;
    }
    // SAFETY: a tool keeps what `ompt_start_tool` returned until the process ends. The swap gave it to this thread
    // alone.
    unsafe {
        if let Some(finalize) = (*tool).finalize {
            finalize(&raw mut (*tool).data);
        }
    }
}

/// The tool of this library, if there is a folder for its files. It comes first, since the user has asked for nothing
/// else.
fn ours(folder: &[u8], log: &Log) -> Option<*mut Tool> {
    if folder.is_empty() {
        return None;
    }
    let tool = hetmp_profile::tool(folder)?;
    log.line(format_args!("hetmp's profiler: starts"));
    Some(tool.cast())
}

/// The first tool that wants to be started.
fn find(libraries: &[u8], log: &Log) -> Option<*mut Tool> {
    const NAME: &CStr = c"ompt_start_tool";
    // SAFETY: dlsym reads the symbols of what is loaded.
    let here = unsafe { libc::dlsym(libc::RTLD_DEFAULT, NAME.as_ptr()) };
    if !here.is_null() {
        // SAFETY: the symbol of this name is such a function.
        let tool = unsafe { ask(here) };
        log.line(format_args!(
            "ompt_start_tool in the program or its libraries: {}",
            answer(tool)
        ));
        if !tool.is_null() {
            return Some(tool);
        }
    }
    for name in libraries.split(|&b| b == b':').filter(|n| !n.is_empty()) {
        let Ok(path) = CString::new(name) else {
            continue;
        };
        // SAFETY: a string. The library's constructors run, as the user asks.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
        if library.is_null() {
            // SAFETY: `dlopen` failed in this thread, so that there is a message.
            let why = unsafe { CStr::from_ptr(libc::dlerror()) };
            let line = format!(
                "OMP_TOOL_LIBRARIES: {}: {} (expected a library that can be loaded)",
                quoted(name),
                why.to_string_lossy()
            );
            if !log.line(format_args!("{line}")) {
                report::warn(format_args!("{line}"));
            }
            continue;
        }
        // SAFETY: the library was opened above, and the name is a string.
        let there = unsafe { libc::dlsym(library, NAME.as_ptr()) };
        if there.is_null() {
            log.line(format_args!(
                "library {}: has no ompt_start_tool",
                quoted(name)
            ));
        } else {
            // SAFETY: the symbol of this name is such a function.
            let tool = unsafe { ask(there) };
            log.line(format_args!("library {}: {}", quoted(name), answer(tool)));
            if !tool.is_null() {
                return Some(tool);
            }
        }
        // SAFETY: opened above. Nothing of the library is kept.
        unsafe { libc::dlclose(library) };
    }
    None
}

fn answer(tool: *const Tool) -> &'static str {
    if tool.is_null() {
        "does not want to be started"
    } else {
        "starts"
    }
}

/// Asks a tool whether it wants to be started.
///
/// # Safety
/// `start` is the address of a function `ompt_start_tool`.
unsafe fn ask(start: *mut c_void) -> *mut Tool {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(
        concat!("hetmp ", env!("CARGO_PKG_VERSION"), "\0").as_bytes(),
    ) {
        Ok(text) => text,
        Err(_) => c"hetmp",
    };
    // SAFETY: the address is that of such a function: this function's contract. The version is a string that stays.
    unsafe {
        let start: Start = core::mem::transmute(start);
        start(OPENMP, VERSION.as_ptr())
    }
}

/// Where the search is told (`OMP_TOOL_VERBOSE_INIT`).
enum Log {
    Nowhere,
    Descriptor(c_int),
    File(std::fs::File),
}

impl Log {
    fn new(value: &[u8]) -> Log {
        use std::os::unix::ffi::OsStrExt as _;
        let word = value.trim_ascii();
        if word.is_empty() || word.eq_ignore_ascii_case(b"disabled") {
            Log::Nowhere
        } else if word.eq_ignore_ascii_case(b"stdout") {
            Log::Descriptor(libc::STDOUT_FILENO)
        } else if word.eq_ignore_ascii_case(b"stderr") {
            Log::Descriptor(libc::STDERR_FILENO)
        } else {
            match hetmp_core::file::replace(std::ffi::OsStr::from_bytes(value).as_ref()) {
                Ok(file) => Log::File(file),
                Err(error) => {
                    report::warn(format_args!(
                        "OMP_TOOL_VERBOSE_INIT: {}: {error} (expected disabled, stdout, stderr or a file that can be \
                            written)",
                        quoted(value)
                    ));
                    Log::Nowhere
                }
            }
        }
    }

    /// Writes a line. Returns false if nobody asked for lines.
    fn line(&self, line: core::fmt::Arguments<'_>) -> bool {
        let text = format!("hetmp: tool: {line}\n");
        match self {
            Log::Nowhere => return false,
            Log::Descriptor(to) => report::write_all(*to, text.as_bytes()),
            Log::File(file) => {
                let mut file = file;
                // A full disk loses lines of the log.
                let _ = file.write_all(text.as_bytes());
            }
        }
        true
    }
}
