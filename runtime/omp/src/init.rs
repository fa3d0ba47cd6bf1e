//! First use of the runtime in a process, in a thread, and after `fork`.
//!
//! Nothing happens when the library is loaded, except for `OMP_DISPLAY_ENV`. A program without OpenMP pays
//! for nothing, and threads started from a constructor would hang under `dlopen`. The runtime is initialised
//! by the first call of a thread.

use crate::affinity::{places, subset, PlaceKind};
use crate::icv::{display, libomp, Globals, Machine};
use crate::unlike::{modes, nodes};
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use hetmp_core::env::text::quoted;
use hetmp_core::park::Policy;
use hetmp_core::spins::{self, WaitPolicy};
use hetmp_core::topo::{self, Topology};
use hetmp_core::whole::OnceLock;
use hetmp_core::{env, page, program, quota, report, whole};
use memmap2::MmapMut;
use once_cell::race::OnceRef;

static GLOBALS: OnceLock<Globals> = OnceLock::new();
/// The reference to `GLOBALS` once that is set: one load, where `OnceLock` checks a state first.
static PUBLISHED: OnceRef<'static, Globals> = OnceRef::new();
/// A word on a page that becomes zero in every child of `fork`, however the child was made.
static FORK_WORD: OnceRef<'static, AtomicU32> = OnceRef::new();
static THREAD_KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
static ATTRIBUTES: OnceLock<Attributes> = OnceLock::new();

/// The device-wide control variables. The first call reads them from the environment.
#[inline(always)]
pub fn globals() -> &'static Globals {
    PUBLISHED.get().unwrap_or_else(once)
}

/// Initialises the runtime, once.
#[cold]
pub fn once() -> &'static Globals {
    let _whole = whole::stretch();
    let globals = GLOBALS.get_or_init(|| hetmp_core::float::apart(start));
    if PUBLISHED.set(globals).is_ok() {
        introduce(globals);
    }
    globals
}

/// Shows what the environment asks to be shown at the start. The program cannot have changed these values
/// yet.
fn introduce(globals: &Globals) {
    if globals.libomp.version {
        report::warn(format_args!(
            "KMP_VERSION: hetmp {} in place of libomp, with the interface of LLVM 19",
            env!("CARGO_PKG_VERSION")
        ));
    }
    let current = display::Current::unchanged(globals);
    if globals.display_env {
        let text = display::text(globals, &current, globals.display_verbose);
        report::write_all(libc::STDERR_FILENO, &text);
    }
    if globals.libomp.settings {
        // `KMP_SETTINGS`: the variables that are set, and the values in effect.
        let text = display::settings(globals, &current, env::snapshot().iter());
        report::write_all(libc::STDERR_FILENO, &text);
    }
    if globals.libomp.affinity.as_ref().is_some_and(|a| a.verbose) {
        report::warn(format_args!(
            "KMP_AFFINITY: {}",
            places::summary(&globals.places, &globals.allowed)
        ));
    }
}

fn start() -> Globals {
    let snapshot = env::snapshot();
    report::set_quiet(
        snapshot
            .get("KMP_WARNINGS")
            .is_some_and(|v| libomp::boolean(v) == Ok(false)),
    );
    take_subset(snapshot);
    let allowed = topo::affinity();
    let cpus = quota::available_cpus().max(1);
    // The machine is examined closely only if places are needed.
    let topology = OnceLock::new();
    let places = |kind: PlaceKind, most: usize| {
        topology
            .get_or_init(Topology::discover)
            .places(kind, Some(most))
    };
    let machine = Machine {
        default_threads: u32::try_from(cpus).unwrap_or(u32::MAX),
        allowed: &allowed,
        places: &places,
        // SAFETY: sysconf has no preconditions.
        min_stack: unsafe { libc::sysconf(libc::_SC_THREAD_STACK_MIN) }.max(16384) as u64,
        as_libomp: program::wants_libomp(),
    };
    let mut globals = Globals::from_env(
        &|name| snapshot.get(name).map(<[u8]>::to_vec),
        &machine,
        &mut |line| {
            if machine.as_libomp {
                report::warn_as("OMP: Warning #1: hetmp: ", format_args!("{line}"));
            } else {
                report::warn(format_args!("{line}"));
            }
        },
    );
    nodes::configure(&mut globals, &|| {
        topology.get_or_init(Topology::discover).clone()
    });
    env::name_unknown();
    if globals.ours.verbose {
        for name in snapshot.unknown().filter(|n| n.starts_with(b"KMP_")) {
            report::warn(format_args!("{}: no variable", quoted(name)));
        }
    }
    modes::configure(&globals);
    Policy::join(cpus);
    watch_forks();
    globals
}

/// Restricts the process to the CPUs that `KMP_HW_SUBSET` names: this thread, and all threads that it makes.
fn take_subset(snapshot: &env::Snapshot) {
    let names = ["KMP_HW_SUBSET", "KMP_PLACE_THREADS"];
    let Some((name, value)) = names
        .iter()
        .find_map(|name| Some((name, snapshot.get(name)?)))
    else {
        return;
    };
    let refuse = |why: &str| report::warn(format_args!("{name}: {}: {why}", quoted(value)));
    let Some(subset) = subset::parse(value) else {
        return report::warn(format_args!("{}", env::refusal(name, value)));
    };
    let Some(cpus) = subset.of(&Topology::discover()) else {
        return refuse(
            "more than there is (expected units and offsets that the CPUs of this process have)",
        );
    };
    if let Err(error) = topo::set_affinity(&cpus) {
        refuse(&format!(
            "{error} (expected CPUs that this process may use)"
        ));
    }
}

/// Makes the page by which a child of `fork` finds out that it is one.
fn watch_forks() {
    let Ok(page) = MmapMut::map_anon(page::size()) else {
        return;
    };
    let page = ManuallyDrop::new(page).as_mut_ptr();
    // SAFETY: `MADV_WIPEONFORK` only sets how the new page is inherited, which is never unmapped; zero bytes are an
    // atomic.
    unsafe {
        if libc::madvise(page.cast(), page::size(), libc::MADV_WIPEONFORK) != 0 {
            // Linux before 4.14: only the handler notices forks, so not those made by raw system calls.
            libc::pthread_atfork(None, None, Some(child_of_fork));
        }
        let word: &'static AtomicU32 = &*page.cast();
        word.store(1, Ordering::Relaxed);
        // The first and only page: this runs once.
        let _ = FORK_WORD.set(word);
    }
}

extern "C" fn child_of_fork() {
    if let Some(word) = FORK_WORD.get() {
        word.store(0, Ordering::Relaxed);
    }
}

/// True in a child of `fork` that has not called [`is_child`] yet.
#[inline(always)]
pub(crate) fn forked() -> bool {
    FORK_WORD
        .get()
        .is_some_and(|word| word.load(Ordering::Relaxed) == 0)
}

/// Notes that the process knows that it is a child of `fork`.
pub(crate) fn is_child() {
    if let Some(word) = FORK_WORD.get() {
        word.store(1, Ordering::Relaxed);
    }
}

/// Arranges that `destructor(argument)` is called when the calling thread ends.
pub(crate) fn on_thread_exit(
    argument: *mut libc::c_void,
    destructor: unsafe extern "C" fn(*mut libc::c_void),
) {
    let key = THREAD_KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the variable for the key is live. The destructor can be called at the end of every thread,
        // since the library is never unloaded.
        if unsafe { libc::pthread_key_create(&mut key, Some(destructor)) } != 0 {
            // Threads then leave their records behind: a leak, but no error.
            return libc::pthread_key_t::MAX;
        }
        key
    });
    if *key != libc::pthread_key_t::MAX {
        // SAFETY: the key was created above.
        unsafe { libc::pthread_setspecific(*key, argument) };
    }
}

struct Attributes(libc::pthread_attr_t);
// SAFETY: the attributes are written once, then only read by pthread_create.
unsafe impl Send for Attributes {}
// SAFETY: the attributes are written once, then only read by pthread_create.
unsafe impl Sync for Attributes {}

/// The stack size that the program set, in bytes; 0: none.
static STACK_SIZE: AtomicUsize = AtomicUsize::new(0);

/// Sets the stack size of workers in bytes. It has an effect only before the first worker is made.
pub fn set_stack_size(bytes: usize) {
    STACK_SIZE.store(bytes, Ordering::Relaxed);
}

/// The stack size of workers, in bytes.
pub fn stack_size() -> usize {
    match STACK_SIZE.load(Ordering::Relaxed) {
        0 => {
            let mut size = 0;
            // SAFETY: the attributes are initialised, and the place for the size is live.
            unsafe { libc::pthread_attr_getstacksize(thread_attributes(), &mut size) };
            size
        }
        size => size,
    }
}

/// The milliseconds that the program set for waits, plus one; 0: not set.
static BLOCKTIME: AtomicU32 = AtomicU32::new(0);

/// Sets for how many milliseconds threads spin before they sleep; `i32::MAX`: for ever.
pub fn set_blocktime(ms: i32) {
    let globals = globals();
    BLOCKTIME.store(ms.unsigned_abs().saturating_add(1), Ordering::Relaxed);
    let spins = match ms {
        i32::MAX => u64::MAX,
        ms => u64::from(ms.unsigned_abs()) * 1000,
    };
    let spins = spins::in_microseconds(spins);
    Policy::set_spins(spins, globals.waits.spins().throttled);
}

/// The value passed to [`set_blocktime`], or the equivalent of `KMP_BLOCKTIME` or `OMP_WAIT_POLICY`, in
/// milliseconds.
pub fn blocktime() -> Option<i32> {
    match BLOCKTIME.load(Ordering::Relaxed).checked_sub(1) {
        Some(ms) => i32::try_from(ms).ok(),
        None => match globals().waits.policy() {
            _ if globals().libomp.blocktime_us.is_some() => {
                let us = globals().libomp.blocktime_us.unwrap_or(0);
                Some(i32::try_from(us / 1000).unwrap_or(i32::MAX))
            }
            WaitPolicy::Active => Some(i32::MAX),
            WaitPolicy::Passive => Some(0),
            _ => None,
        },
    }
}

/// The attributes with which workers are created.
pub(crate) fn thread_attributes() -> *const libc::pthread_attr_t {
    let a = ATTRIBUTES.get_or_init(|| {
        let mut attr = core::mem::MaybeUninit::uninit();
        // SAFETY: initialised by pthread_attr_init before use; never destroyed.
        unsafe {
            libc::pthread_attr_init(attr.as_mut_ptr());
            let set = Some(STACK_SIZE.load(Ordering::Relaxed)).filter(|&s| s > 0);
            let given = globals()
                .thread_stack
                .map(|s| usize::try_from(s).unwrap_or(usize::MAX));
            if let Some(size) = set.or(given).or_else(program::default_stack) {
                let error = libc::pthread_attr_setstacksize(attr.as_mut_ptr(), size);
                if error != 0 {
                    report::warn(format_args!(
                        "OMP_STACKSIZE: '{size}': {}",
                        std::io::Error::from_raw_os_error(error)
                    ));
                }
            }
            Attributes(attr.assume_init())
        }
    });
    &a.0
}

/// Warns, once in a process, that a team has fewer threads than it asked for.
#[cold]
pub(crate) fn warn_few_threads(have: u32, wanted: u32, error: i32) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        report::warn(format_args!(
            "thread {} of {wanted} could not be created ({}): going on with teams of {have}",
            have + 1,
            std::io::Error::from_raw_os_error(error)
        ));
    }
}
