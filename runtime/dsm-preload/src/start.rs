//! The program's start: makes the nodes before the program's constructors and `main` run.
//!
//! Everything here happens before a second thread exists and before `libhetmp.so` has read the environment, which is
//! why it may change both environment and protections of pages. Functions of `libhetmp.so` are found by name at a
//! version of their own, so their types are those of the same build.

use crate::arena::SHARED;
use crate::asked::{
    ahead, apart, asked, backend, cpus_told, is_verbose, members, no_pool, pool_of, variable, Asked,
};
use crate::locals::ThreadLocals;
use crate::objects::{objects, Object};
use crate::refuse::fail;
use crate::{kernel, layout, offers, place, stacks, threads};
use core::ffi::{c_char, c_void, CStr};
use hetmp_core::bootstrap::{self, Job};
use hetmp_core::multi_isa::Half;
use hetmp_core::report;
use hetmp_core::topo;
use hetmp_core::topo::nodes::dsm::{self, Member};
use hetmp_nic::job::Way;
use libc::c_int;
use pages::backend::Kind;
use pages::driver::{self, Driver, Launched, Peers, Settings};
use pages::fork;
use pages::space::{Range, Space};
use pages::tables;
use pages::together;
use pages::PAGE;

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

/// The function that calls by this name reach.
fn function(name: &CStr) -> Option<usize> {
    // SAFETY: the name is a C string.
    let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    (at != 0).then_some(at)
}

/// A function that `libhetmp.so` exports for libraries of hetmp only.
fn engine_function(name: &CStr) -> Option<usize> {
    // SAFETY: both names are C strings.
    let at = unsafe { libc::dlvsym(libc::RTLD_DEFAULT, name.as_ptr(), c"HETMP_ENGINE".as_ptr()) }
        as usize;
    (at != 0).then_some(at)
}

/// May this thread load a library of the program's own now? Then [`loaded`] must follow.
pub(crate) fn may_load() -> bool {
    engine_function(c"hetmp_across_loading").is_some_and(|at| {
        // SAFETY: `libhetmp.so` defines the function with this type.
        let may: extern "C" fn() -> bool = unsafe { core::mem::transmute(at) };
        may()
    })
}

/// The library that [`may_load`] was asked for is there, or could not be loaded. Returns whether it is the first one.
pub(crate) fn loaded(was_loaded: bool) -> bool {
    engine_function(c"hetmp_across_loaded").is_some_and(|at| {
        // SAFETY: `libhetmp.so` defines the function with this type.
        let note: extern "C" fn(bool) -> bool = unsafe { core::mem::transmute(at) };
        note(was_loaded)
    })
}

/// Sets `__libc_stack_end`, which the loader sets to where the first thread's stack begins: in the loader, and in a
/// program that has a copy. R and some garbage collectors look there to know how deep their stack is, so it names the
/// stack of `main`.
fn set_stack_end(at: usize) {
    let all = objects();
    for scope in [libc::RTLD_DEFAULT, libc::RTLD_NEXT] {
        // SAFETY: the name is a C string.
        let word = unsafe { libc::dlsym(scope, c"__libc_stack_end".as_ptr()) };
        let page = word.addr() & !(PAGE - 1);
        // Both lie among what is read-only after relocation, in whole pages.
        let is_kept = |o: &Object| o.relro.contains(&word.addr()) && page + PAGE <= o.relro.end;
        if !all.iter().any(is_kept) {
            continue;
        }
        // SAFETY: the page is mapped, its protection is known, and nodes do not share it. The word is one of the
        // loader's.
        unsafe {
            let may = |what: c_int| libc::syscall(libc::SYS_mprotect, page, PAGE, what) == 0;
            if may(libc::PROT_READ | libc::PROT_WRITE) {
                word.cast::<usize>().write(at);
                may(libc::PROT_READ);
            }
        }
    }
}

/// Tells `libhetmp.so`, which has not read the environment yet, what nodes of one process there are in this one.
fn describe(mut text: String) {
    text.push('\0');
    // SAFETY: both texts end with a zero byte, and no other thread uses the environment yet.
    unsafe { libc::setenv(c"HETMP_NODES".as_ptr(), text.as_ptr().cast(), 1) };
}

/// What [`join`] found: the number of nodes, how this one catches page faults, and the job. The last is whether nodes
/// are of one instruction set.
type Joined = (u8, Kind, Box<dyn Job>, bool);

/// Joins the job that hetrun started, and checks that its processes fit together. `half`: what the program says of
/// itself, if it is one for two instruction sets.
fn join(all: &[Object], kind: Result<Kind, String>, half: Option<&Half>) -> Joined {
    let mut job = match bootstrap::connect() {
        Ok(job) => job,
        Err(e) => fail(format_args!("HETMP_NODES dsm:job: {e}")),
    };
    let count = match u8::try_from(job.size()) {
        Ok(n) if (2..=dsm::MOST).contains(&usize::from(n)) => n,
        _ => fail(format_args!(
            "HETMP_NODES: 'dsm:job': a job of {} processes (expected hetrun --dsm with 2 to {})",
            job.size(),
            dsm::MOST
        )),
    };
    // hetrun prints only the first line that a process reports.
    let compared = kind.and_then(|kind| Ok((kind, layout::compare(job.as_mut(), all, half)?)));
    match compared {
        Ok((kind, alike)) => (count, kind, job, alike),
        Err(line) => job.abort(2, &line),
    }
}

/// Makes the nodes. Returns only in the origin; the other nodes serve regions and never return. `mask`: the
/// signal mask that the program had, with which a node's threads start.
fn make_nodes(asked: Asked, mask: &libc::sigset_t) -> &'static Driver {
    let descriptors = tables::Program::note();
    let used = place::end_early();
    if matches!(asked, Asked::Forked(_)) && variable(c"HETMP_JOB").is_some() {
        fail(format_args!(
            "HETMP_NODES: dsm:N in a program that hetrun started (expected hetrun --dsm, which makes nodes of its own)"
        ));
    }
    let Some(install) = engine_function(c"hetmp_across_install") else {
        fail(format_args!(
            "HETMP_NODES: dsm:N without libhetmp.so (expected LD_PRELOAD=libhetmp_dsm.so:libhetmp.so)"
        ));
    };
    let Some(serve) = engine_function(c"hetmp_across_node") else {
        fail(format_args!(
            "libhetmp.so: another version (expected one of the same cargo build --release as libhetmp_dsm.so)"
        ));
    };
    if std::fs::read_dir("/proc/self/task").is_ok_and(|all| all.count() > 1) {
        place::note_other();
        report::warn(format_args!(
            "threads that libraries started before main do not exist in the nodes of HETMP_NODES=dsm"
        ));
    }
    let all = objects();
    let ours = make_nodes as *const () as usize;
    let mut own: Vec<&Object> = Vec::new();
    for (i, o) in all.iter().enumerate() {
        let is = |address: usize| o.code.contains(&address);
        if is(ours) {
            threads::set_own(o.code.clone());
        }
        if is(ours) || is(install) || o.name.contains("ld-linux") {
            place::add_runtime(o.code.clone());
        } else if i == 0 || o.is_own(ours) {
            own.push(o);
        }
        // The loader reads that section in each node whenever it looks up a function, even for the threads that serve
        // pages.
        let among =
            |r: &core::ops::Range<usize>| r.start < o.dynamic.end && o.dynamic.start < r.end;
        if (i == 0 || o.is_own(ours)) && o.data.iter().any(among) {
            fail(format_args!(
                "HETMP_NODES: dsm:N: {}: its dynamic section lies in the pages of its variables (expected linking \
                 with -z relro)",
                if i == 0 { "program" } else { &o.name }
            ));
        }
        if watches_memory(&o.name) {
            fail(format_args!(
                "HETMP_NODES: dsm:N: library {} replaces memory itself (expected a program without a sanitizer)",
                o.name
            ));
        }
    }
    // A program that defines `malloc` itself (an allocator linked into it) comes before this library. Its memory is the
    // program's data, which nodes share; the threads that serve pages allocate, too, and would wait for pages that they
    // are to serve.
    for name in [c"malloc", c"calloc", c"realloc", c"free"] {
        let here = all.iter().find(|o| o.code.contains(&ours));
        if function(name).is_none_or(|at| here.is_some_and(|o| !o.code.contains(&at))) {
            fail(format_args!(
                "HETMP_NODES: dsm:N: {} of the program's own (expected the C library's)",
                name.to_string_lossy()
            ));
        }
    }
    let members = members(asked);
    let told = cpus_told(&members);
    // SAFETY: no other thread does anything yet that nodes need, and `libhetmp.so` has not read the
    // environment yet.
    unsafe { libc::unsetenv(c"HETMP_NODES".as_ptr()) };
    let half = Half::of_this_program();
    let (count, kind, job, alike) = match (asked, backend()) {
        (Asked::Forked(count), Ok(kind)) => (count, kind, None, true),
        (Asked::Forked(_), Err(line)) => fail(format_args!("{line}")),
        (Asked::Launched, kind) => {
            let kind = kind.and_then(|kind| no_pool().map(|()| kind));
            let (count, kind, job, alike) = join(&all, kind, half.as_ref());
            (count, kind, Some(job), alike)
        }
    };
    let executable = all.first().is_some_and(|o| o.executable_stack);
    if executable {
        place::set_executable();
    }
    if place::reserved() != usize::from(count) {
        if let Err(line) = reserve(count, job.is_some()) {
            fail(format_args!("{line}"));
        }
    }
    let variables: Vec<(core::ops::Range<usize>, bool)> = match half.filter(|_| !alike) {
        // What else the two programs have is each one's own.
        Some(half) => {
            if let Some(library) = own.iter().skip(1).find(|o| !o.data.is_empty()) {
                fail(format_args!(
                    "library {}: the program's own, on nodes of two instruction sets (expected a program without)",
                    library.name
                ));
            }
            vec![(half.data.start as usize..half.data.end as usize, false)]
        }
        None => {
            let of = |o: &&Object| (o.data.clone(), o.executable_data);
            let all = own.iter().map(of);
            all.flat_map(|(data, executes)| data.into_iter().map(move |d| (d, executes)))
                .collect()
        }
    };
    let mut ranges: Vec<Range> = (variables.iter())
        .map(|(data, executable)| Range {
            start: data.start,
            len: data.len(),
            home: 0,
            executable: *executable,
        })
        .collect();
    ranges.extend((0..count).map(|n| Range {
        start: place::part(n.into()).start,
        len: place::PART,
        home: n,
        executable,
    }));
    let space = Space::new(&ranges);
    let settings = Settings {
        pool: pool_of(&space, count),
        space,
        // Memory that both map has the form of one instruction set: cache lines are longer on some.
        way: if alike { Way::Auto } else { Way::Tcp },
        backend: Some(kind),
        // Nodes of unlike speed are not those of one machine.
        apart: apart() || !members.is_empty(),
        ahead: ahead(),
    };
    let launched = job.is_some();
    // What constructors of libraries have printed is written once, and not by each node. SAFETY: null stands for all
    // streams.
    unsafe { libc::fflush(core::ptr::null_mut()) };
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
    let mut peers = peers;
    // hetrun has bound each of its processes to CPUs of its own, and told it of none but itself.
    let (cpus, mine) = match &mut peers {
        Peers::Forked(forked) => {
            if !told.is_empty() {
                forked.keep_to(told);
            }
            (forked.cpus(me), members.get(usize::from(me)))
        }
        Peers::Launched(_) => (None, members.first()),
    };
    match mine {
        Some(Member::Speed(speed)) => {
            let cpus = cpus.unwrap_or_else(topo::affinity);
            describe(format!("cores={cpus},speed={speed}"));
        }
        Some(Member::Nodes(text)) => describe(text.clone()),
        None => {}
    }
    let mut fill = |alias: *mut u8| {
        if me != 0 {
            return;
        }
        say_that_threads_run();
        let mut to = alias;
        for r in &ranges {
            let all = r.start..r.start + r.len;
            let copied = match place::in_heap(r.start) {
                // What constructors have allocated.
                true => all.start.max(used.start)..all.end.min(used.end),
                false => all,
            };
            if !copied.is_empty() {
                // SAFETY: the program's variables and the memory of constructors are mapped, and the file has room
                // for one range after another.
                unsafe { copy_pages(&copied, to.add(copied.start - r.start)) };
            }
            to = to.wrapping_add(r.len);
        }
    };
    // SAFETY: the program has not begun, so no thread uses its data, and `fill` copies the data.
    let driver = match unsafe { driver::start(peers, settings, &mut fill) } {
        Ok(driver) => driver,
        Err(e) => fail(format_args!("{e}")),
    };
    if kind == Kind::Sigsegv {
        if me == 0 && is_verbose() {
            report::warn(format_args!(
                "dsm: page faults by signals (HETMP_DSM=sigsegv)"
            ));
        }
        let data: Vec<_> = variables.iter().map(|(data, _)| data.clone()).collect();
        if let Err(line) = kernel::start(&data) {
            fail(format_args!("{line}"));
        }
    }
    let together = match together::start(driver) {
        Ok(together) => together,
        Err(e) => fail(format_args!("{e}")),
    };
    if let Err(e) = descriptors.and_then(|d| d.part(me)) {
        fail(format_args!(
            "HETMP_NODES: dsm:{count}: no threads with descriptors of their own ({e}) (expected close_range of Linux \
             5.9)"
        ));
    }
    let table = offers::table(together, launched, alike);
    place::begin(me.into(), &used);
    stacks::begin();
    // SAFETY: `libhetmp.so` defines both functions with these types.
    unsafe {
        let install: extern "C" fn(*const offers::Table) -> bool = core::mem::transmute(install);
        if !install(table) {
            fail(format_args!(
                "libhetmp.so: another version (expected one of the same cargo build --release as libhetmp_dsm.so)"
            ));
        }
        if me != 0 {
            libc::pthread_sigmask(libc::SIG_SETMASK, mask, core::ptr::null_mut());
            let serve: extern "C" fn() -> ! = core::mem::transmute(serve);
            serve();
        }
    }
    driver
}

/// Tells the program that it is not the only thread, as the C library does when the first one starts. The variable lies
/// in the program's own data if the program uses it, as C++'s shared pointers do: these count without atomic
/// instructions where no other thread runs. The first threads of a node start when the data has been copied, so what
/// the C library then writes there is lost.
fn say_that_threads_run() {
    // SAFETY: the name is a C string. The symbol is a variable of one byte, and no other thread does anything yet.
    unsafe {
        let word: *mut u8 =
            libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()).cast();
        if let Some(word) = word.as_mut() {
            *word = 0;
        }
    }
}

/// Is this the library of a sanitizer? It maps memory of its own next to each page of the program, which nodes would
/// not share.
fn watches_memory(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let names = [
        "libasan.",
        "libhwasan.",
        "liblsan.",
        "libtsan.",
        "libubsan.",
        "libclang_rt.",
    ];
    names.iter().any(|name| file.starts_with(name))
}

/// The address of the heap that launched nodes share: where the loader never puts programs or libraries. Few nodes have
/// it where a kernel with 39 bits of addresses puts nothing, either; each of them finds the same, whatever its kernel.
fn fixed_address(count: u8) -> usize {
    const LOW: usize = 0x10_0000_0000;
    const BEHIND_LOW: usize = 0x50_0000_0000;
    if LOW + usize::from(count) * place::PART <= BEHIND_LOW {
        LOW
    } else {
        0x2000_0000_0000
    }
}

/// Reserves the addresses of the shared heap, at which the nodes' files will be mapped. Forked nodes inherit
/// the addresses, so they may lie anywhere. Those of launched nodes are [`fixed`](fixed_address).
pub(crate) fn reserve(count: u8, fixed: bool) -> Result<(), String> {
    let len = usize::from(count) * place::PART;
    let wanted = fixed_address(count);
    let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let mut at = core::ptr::null_mut();
    if fixed {
        flags |= libc::MAP_FIXED_NOREPLACE;
        at = core::ptr::without_provenance_mut(wanted);
    }
    // SAFETY: the reservation takes only addresses that are not in use.
    let heap = unsafe { libc::mmap(at, len, libc::PROT_NONE, flags, -1, 0) };
    // Kernels and emulators that do not know the flag take the address for a wish.
    if heap == libc::MAP_FAILED || fixed && heap.addr() != wanted {
        return Err(format!(
            "HETMP_NODES: 'dsm:{count}': {len} bytes of addresses are needed ({})",
            std::io::Error::last_os_error()
        ));
    }
    place::set(heap.expose_provenance(), count.into());
    Ok(())
}

/// Copies the arguments and the environment to shared memory, because the program may keep their addresses.
///
/// # Safety
/// `argv` is the program's; no other thread uses the environment.
unsafe fn share_arguments(argc: c_int, argv: *mut *mut c_char) -> *mut *mut c_char {
    extern "C" {
        static mut environ: *mut *mut c_char;
    }
    // SAFETY: both lists end with a null pointer and consist of C strings. Each block is as large as the text
    // that is written to it.
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
/// As many bytes as `from` has are mapped at `from` and at `to`, and those at `to` are zero.
unsafe fn copy_pages(from: &core::ops::Range<usize>, to: *mut u8) {
    const WORDS: usize = PAGE / 8;
    for offset in (0..from.len()).step_by(PAGE) {
        let source: *const u64 = core::ptr::with_exposed_provenance(from.start + offset);
        // SAFETY: both ranges are mapped and of the same length: this function's contract.
        unsafe {
            if (0..WORDS).any(|w| source.add(w).read() != 0) {
                to.add(offset)
                    .cast::<u64>()
                    .copy_from_nonoverlapping(source, WORDS);
            }
        }
    }
}

/// The arguments of the program's own thread.
struct Begin {
    start: Start,
    main: Option<Main>,
    argc: c_int,
    argv: *mut *mut c_char,
    rest: [*mut c_void; 4],
    /// Of the process's first thread, on which constructors of libraries have run.
    locals: ThreadLocals,
}

extern "C-unwind" fn run(begin: *mut c_void) -> *mut c_void {
    // SAFETY: `__libc_start_main` made the structure for this thread alone.
    unsafe {
        let b = &*begin.cast::<Begin>();
        b.locals.copy_to_this_thread();
        stacks::end_mapping();
        // The thread's control block lies at the upper end of its stack.
        set_stack_end(kernel::control_block());
        let [init, fini, loader, stack] = b.rest;
        (b.start)(b.main, b.argc, b.argv, init, fini, loader, stack);
    }
    unreachable!("the C library ends the process after main")
}

/// `__libc_start_main`: the first function that a program calls.
///
/// # Safety
/// The program's first instructions call this function, with the C library's arguments.
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
    // SAFETY: the name is a C string, and the C library's function has this type.
    let start: Start = unsafe {
        let at = libc::dlsym(libc::RTLD_NEXT, c"__libc_start_main".as_ptr());
        assert!(!at.is_null(), "__libc_start_main of the C library");
        core::mem::transmute(at)
    };
    let rest = [init, fini, loader, stack];
    let Some(asked) = asked(&variable) else {
        // SAFETY: the arguments are those for the C library's function of the same name: this function's
        // contract.
        return unsafe { start(main, argc, argv, init, fini, loader, stack) };
    };
    // Signals are for the program's threads. So the threads that serve pages, and this thread, which only
    // waits, block all signals. SAFETY: the sets are this function's own.
    let mask = unsafe {
        let (mut all, mut mask) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut mask);
        mask
    };
    let driver = make_nodes(asked, &mask);
    // SAFETY: the arguments are as the loader left them, and no other code of the program runs yet.
    let argv = unsafe { share_arguments(argc, argv) };
    let begin = Box::leak(Box::new(Begin {
        start,
        main,
        argc,
        argv,
        rest,
        locals: ThreadLocals::of_this_thread(),
    }));
    // Larger than any usual limit of the stack's size, so `main` has no less stack than without nodes.
    const STACK: usize = 1 << 30;
    // SAFETY: the nodes run, and `begin` is as `run` expects it.
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
    // The program ends by `exit` on its own thread.
    driver.attend()
}
