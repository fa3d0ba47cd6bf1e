//! The program's start: before its constructors and `main`, the nodes are made.

use crate::arena::SHARED;
use crate::objects::{is_system_library, objects, Object};
use crate::{layout, place, threads};
use core::ffi::{c_char, c_void, CStr};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use hetmp_core::bootstrap::{self, Job};
use hetmp_core::segment::PAGE;
use hetmp_core::{report, statics};
use hetmp_nic::job::Way;
use libc::c_int;
use pages::backend::{probe_uffd, Kind};
use pages::driver::{self, Launched, Peers, Settings};
use pages::fork;
use pages::space::{Range, Space};
use pages::together::{self, Op, Together};

type Main = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Start = unsafe extern "C" fn(
    Option<Main>,
    c_int,
    *mut *mut c_char,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

/// What `libhetmp.so` gets; the same structure is in `hetmp-omp`'s `across::table`.
#[repr(C)]
struct Table {
    version: u32,
    me: u32,
    nodes: u32,
    /// Runs one request: its number, and three words, which become the answer.
    ask: extern "C" fn(u32, *mut u64),
    /// Is the address in memory that all nodes share?
    is_shared: extern "C" fn(usize) -> bool,
    /// Faults that asked other nodes, to read and to write, and pages sent, of this node.
    counts: extern "C" fn(*mut u64),
    /// Origin: the program ends, and the other nodes are not needed any more.
    leave: extern "C" fn(),
}

/// A launcher started the nodes, and wants to know that their end is no accident.
static LAUNCHED: AtomicBool = AtomicBool::new(false);

static TOGETHER: AtomicPtr<Together> = AtomicPtr::new(core::ptr::null_mut());

fn together() -> &'static Together {
    // SAFETY: set once, before anybody gets the table, to what lives as long as the process.
    unsafe { &*TOGETHER.load(Ordering::Acquire) }
}

extern "C" fn ask(op: u32, words: *mut u64) {
    let words: *mut [u64; 3] = words.cast();
    if let Some(op) = Op::of(op) {
        // SAFETY: `hetmp-omp` hands over three words of its own.
        unsafe { words.write(together().ask(op, words.read())) };
    }
}

extern "C" fn is_shared(address: usize) -> bool {
    together().driver().space().page_of(address).is_some()
}

extern "C" fn counts(words: *mut u64) {
    let c = together().driver().counts();
    let n = [&c.reads, &c.writes, &c.sent].map(|n| n.load(Ordering::Relaxed));
    // SAFETY: `hetmp-omp` hands over three words of its own.
    unsafe { words.cast::<[u64; 3]>().write(n) };
}

/// Forked nodes see the origin's end by themselves.
extern "C" fn leave() {
    if LAUNCHED.load(Ordering::Relaxed) {
        together().driver().leave();
        together().ask(Op::Leave, [0; 3]);
        together().driver().flush();
        together().driver().take_leave();
    }
}

fn fail(text: core::fmt::Arguments<'_>) -> ! {
    report::warn(text);
    // SAFETY: _exit has no preconditions; the program has not begun.
    unsafe { libc::_exit(2) }
}

fn variable(name: &CStr) -> Option<&'static str> {
    // SAFETY: no other thread changes the environment before `main`; values stay where they are.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_str().unwrap_or("?"))
    }
}

fn function(name: &CStr) -> Option<usize> {
    // SAFETY: a C string.
    let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    (at != 0).then_some(at)
}

/// Which nodes were asked for.
#[derive(Clone, Copy)]
enum Asked {
    /// So many of this machine, forked.
    Forked(u8),
    /// Those of the job that hetrun started.
    Launched,
}

/// Which nodes were asked for; none if this is not for us.
fn asked() -> Option<Asked> {
    let value = variable(c"HETMP_NODES")?;
    let count = value.trim().strip_prefix("dsm:")?;
    // A shell, or `timeout`, passes the variables on to the program; what it does itself is none of ours.
    if !hetmp_core::program::uses_openmp() {
        return None;
    }
    if count == "job" {
        return Some(Asked::Launched);
    }
    match count.parse() {
        Ok(n) if (2..=place::MOST).contains(&usize::from(n)) => Some(Asked::Forked(n)),
        _ => fail(format_args!(
            "HETMP_NODES {value}: dsm:2 to dsm:{} are accepted",
            place::MOST
        )),
    }
}

/// Finds the job that hetrun started, whose processes are alike. Its number of nodes.
fn launched(all: &[Object]) -> (u8, Box<dyn Job>) {
    let mut job = match bootstrap::connect() {
        Ok(job) => job,
        Err(e) => fail(format_args!("HETMP_NODES dsm:job: {e}")),
    };
    let count = match u8::try_from(job.size()) {
        Ok(n) if (2..=place::MOST).contains(&usize::from(n)) => n,
        _ => fail(format_args!(
            "HETMP_NODES dsm:job: a job of {} processes: hetrun --dsm with 2 to {} is accepted",
            job.size(),
            place::MOST
        )),
    };
    // hetrun prints the first line that it is told.
    if let Err(line) = probe_uffd().and_then(|()| layout::compare(job.as_mut(), all)) {
        job.abort(2, &line);
    }
    (count, job)
}

/// Makes the nodes. Returns in the origin only. A node's threads start with the mask of signals that the program had.
fn make_nodes(asked: Asked, mask: &libc::sigset_t) {
    if let Some(kind) = variable(c"HETMP_DSM").filter(|k| *k != "uffd") {
        fail(format_args!(
            "HETMP_DSM {kind}: uffd is accepted for programs (sigsegv would let system calls fail on absent pages)"
        ));
    }
    if matches!(asked, Asked::Forked(_)) && variable(c"HETMP_JOB").is_some() {
        fail(format_args!(
            "HETMP_NODES dsm:N: a program that is not started by hetrun is accepted (hetrun --dsm makes nodes of its own)"
        ));
    }
    let Some(install) = function(c"hetmp_across_install") else {
        fail(format_args!(
            "HETMP_NODES dsm:N: LD_PRELOAD=libhetmp_dsm.so:libhetmp.so is accepted"
        ));
    };
    let Some(serve) = function(c"hetmp_across_node") else {
        fail(format_args!(
            "libhetmp.so: one of the same version is accepted"
        ));
    };
    if std::fs::read_dir("/proc/self/task").is_ok_and(|all| all.count() > 1) {
        report::warn(format_args!(
            "threads that libraries started before main do not exist in the nodes of HETMP_NODES=dsm"
        ));
    }
    let all = objects();
    let ours = make_nodes as *const () as usize;
    for (i, o) in all.iter().enumerate() {
        let is = |address: usize| o.code.contains(&address);
        if is(ours) {
            threads::set_own(o.code.clone());
        }
        if is(ours) || is(install) || o.name.contains("ld-linux") {
            place::add_runtime(o.code.clone());
        } else if i > 0 && o.writable && !is_system_library(&o.name) {
            fail(format_args!(
                "HETMP_NODES dsm:N: library {}: a program whose own data is all in the executable is accepted",
                o.name
            ));
        }
    }
    // SAFETY: no other thread does anything yet that nodes need; the environment was not read by `libhetmp.so`.
    unsafe { libc::unsetenv(c"HETMP_NODES".as_ptr()) };
    let (count, job) = match asked {
        Asked::Forked(count) => {
            if let Err(line) = probe_uffd() {
                fail(format_args!("{line}"));
            }
            (count, None)
        }
        Asked::Launched => {
            let (count, job) = launched(&all);
            (count, Some(job))
        }
    };
    let executable = all.first().is_some_and(|o| o.executable_stack);
    if let Err(line) = reserve(count, job.is_some()) {
        fail(format_args!("{line}"));
    }
    let data = statics::range();
    let mut ranges = vec![Range {
        start: data.start,
        len: data.len(),
        home: 0,
        executable: false,
    }];
    ranges.extend((0..count).map(|n| Range {
        start: place::part(n.into()).start,
        len: place::PART,
        home: n,
        executable,
    }));
    let settings = Settings {
        space: Space::new(&ranges),
        way: Way::Auto,
        backend: Some(Kind::Uffd),
    };
    LAUNCHED.store(job.is_some(), Ordering::Relaxed);
    let peers = match job {
        Some(job) => Peers::Launched(Launched(job)),
        // SAFETY: no other thread does anything yet that nodes need.
        None => match unsafe { fork::fork(count) } {
            Ok(forked) => Peers::Forked(forked),
            Err(e) => fail(format_args!(
                "HETMP_NODES dsm:{count}: processes are needed ({e})"
            )),
        },
    };
    let me = peers.me();
    let mut fill = |alias: *mut u8| {
        if me == 0 {
            // SAFETY: the data is mapped, and the first range of the file is as long.
            unsafe { copy_pages(&data, alias) };
        }
    };
    // SAFETY: the program has not begun: nobody uses its data, and `fill` copies it.
    let driver = match unsafe { driver::start(peers, settings, &mut fill) } {
        Ok(driver) => driver,
        Err(e) => fail(format_args!("{e}")),
    };
    let together = match together::start(driver) {
        Ok(together) => together,
        Err(e) => fail(format_args!("{e}")),
    };
    TOGETHER.store(core::ptr::from_ref(together).cast_mut(), Ordering::Release);
    let table: &'static Table = Box::leak(Box::new(Table {
        version: 2,
        me: me.into(),
        nodes: count.into(),
        ask,
        is_shared,
        counts,
        leave,
    }));
    place::begin(me.into());
    // SAFETY: `libhetmp.so` defines both so.
    unsafe {
        let install: extern "C" fn(*const Table) -> bool = core::mem::transmute(install);
        if !install(table) {
            fail(format_args!(
                "libhetmp.so: one of the same version is accepted"
            ));
        }
        if me != 0 {
            libc::pthread_sigmask(libc::SIG_SETMASK, mask, core::ptr::null_mut());
            let serve: extern "C" fn() -> ! = core::mem::transmute(serve);
            serve();
        }
    }
}

/// Reserves the addresses of the shared heap, where the nodes' files will be mapped: anywhere for nodes that inherit
/// them, else where neither programs nor libraries are ever put.
fn reserve(count: u8, fixed: bool) -> Result<(), String> {
    const FIXED: usize = 0x2000_0000_0000;
    let len = usize::from(count) * place::PART;
    let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let mut at = core::ptr::null_mut();
    if fixed {
        flags |= libc::MAP_FIXED_NOREPLACE;
        at = core::ptr::without_provenance_mut(FIXED);
    }
    // SAFETY: a reservation of addresses that nobody has.
    let heap = unsafe { libc::mmap(at, len, libc::PROT_NONE, flags, -1, 0) };
    if heap == libc::MAP_FAILED {
        return Err(format!(
            "HETMP_NODES dsm:{count}: {len} bytes of addresses are needed ({})",
            std::io::Error::last_os_error()
        ));
    }
    place::set(heap.expose_provenance(), count.into());
    Ok(())
}

/// The arguments and the environment in shared memory: the program may keep their addresses.
///
/// # Safety
/// `argv` is the program's; no other thread uses the environment.
unsafe fn share_arguments(argc: c_int, argv: *mut *mut c_char) -> *mut *mut c_char {
    extern "C" {
        static mut environ: *mut *mut c_char;
    }
    // SAFETY: both end with a null pointer, and are made of strings; blocks are as large as what is written to them.
    unsafe {
        let copy = |from: *mut *mut c_char, count: usize| -> *mut *mut c_char {
            let to: *mut *mut c_char = SHARED.allocate((count + 1) * 8, 16, true).cast();
            for i in 0..count {
                let text = CStr::from_ptr(*from.add(i)).to_bytes_with_nul();
                let at = SHARED.allocate(text.len(), 16, false);
                if to.is_null() || at.is_null() {
                    return from;
                }
                at.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
                to.add(i).write(at.cast());
            }
            to
        };
        let mut variables = 0;
        while !(*environ.add(variables)).is_null() {
            variables += 1;
        }
        environ = copy(environ, variables);
        copy(argv, usize::try_from(argc).unwrap_or(0))
    }
}

/// Copies the pages of `from` that are not all zero.
///
/// # Safety
/// `from` is mapped, as is as much at `to`, which is zero.
unsafe fn copy_pages(from: &core::ops::Range<usize>, to: *mut u8) {
    const WORDS: usize = PAGE / 8;
    for offset in (0..from.len()).step_by(PAGE) {
        let source: *const u64 = core::ptr::with_exposed_provenance(from.start + offset);
        // SAFETY: `fill`, the one caller, hands in the program's mapped data and the start of a new file, which is as long and zero.
        unsafe {
            if (0..WORDS).any(|w| source.add(w).read() != 0) {
                to.add(offset)
                    .cast::<u64>()
                    .copy_from_nonoverlapping(source, WORDS);
            }
        }
    }
}

/// What the program's own thread needs.
struct Begin {
    start: Start,
    main: Option<Main>,
    argc: c_int,
    argv: *mut *mut c_char,
    rest: [*mut c_void; 4],
}

extern "C" fn run(begin: *mut c_void) -> *mut c_void {
    // SAFETY: made by `__libc_start_main` below, for this thread alone.
    unsafe {
        let b = &*begin.cast::<Begin>();
        let [init, fini, loader, stack] = b.rest;
        (b.start)(b.main, b.argc, b.argv, init, fini, loader, stack);
    }
    unreachable!("the C library ends the process after main")
}

/// `__libc_start_main`: where a program begins.
///
/// # Safety
/// Called by the program's first instructions.
#[no_mangle]
pub(crate) unsafe extern "C" fn __libc_start_main(
    main: Option<Main>,
    argc: c_int,
    argv: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    loader: *mut c_void,
    stack: *mut c_void,
) -> c_int {
    // SAFETY: a C string; the C library's function has this type.
    let start: Start = unsafe {
        let at = libc::dlsym(libc::RTLD_NEXT, c"__libc_start_main".as_ptr());
        assert!(!at.is_null(), "__libc_start_main of the C library");
        core::mem::transmute(at)
    };
    let rest = [init, fini, loader, stack];
    let Some(asked) = asked() else {
        // SAFETY: the C library's start-up code called this function with arguments for `start`, which get there unchanged.
        return unsafe { start(main, argc, argv, init, fini, loader, stack) };
    };
    // Signals are for the program's threads: those that serve pages, and this one, which waits, take none.
    // SAFETY: sets of this function's own.
    let mask = unsafe {
        let (mut all, mut mask) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut mask);
        mask
    };
    make_nodes(asked, &mask);
    // SAFETY: the arguments are what the loader left; nothing else of the program runs.
    let argv = unsafe { share_arguments(argc, argv) };
    let begin = Box::leak(Box::new(Begin {
        start,
        main,
        argc,
        argv,
        rest,
    }));
    // As much stack as the program would have had, and more than any limit that is usual.
    const STACK: usize = 1 << 30;
    // SAFETY: the nodes run; `run` gets what it needs.
    let error = unsafe {
        let mut all = core::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, &raw mut all);
        let mut thread = 0;
        let error = threads::on_shared_stack(
            &raw mut thread,
            core::ptr::null(),
            STACK,
            run,
            core::ptr::from_mut(begin).cast(),
        );
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, core::ptr::null_mut());
        error
    };
    if error != 0 {
        fail(format_args!("thread of main: error {error}"));
    }
    loop {
        // SAFETY: waits for a signal; the program ends by `exit` on its own thread.
        unsafe { libc::pause() };
    }
}
