//! The time before the nodes start, in which the loader runs the constructors of the program's own libraries.
//!
//! The nodes are made when the program's first function runs. Constructors of libraries have run then: a C++ library
//! has filled its tables, with memory of the heap. All nodes are to see that memory. So `libhetmp_dsm.so` is linked
//! such that its own constructor, [`begin`], is the first of all, and from then on the heap's addresses are those of
//! the origin's part. The memory is private until the nodes start, and copied then.
//!
//! Nodes that a launcher started would all run the constructors. What those do in memory is replaced by the origin's
//! data, but files would be written by each node. So nodes other than the origin run none of the program's own: their
//! tables of constructors are emptied.
//!
//! Constructors run on the process's first thread, `main` on another one, which gets a copy of the libraries'
//! thread-local variables (`locals`).

use crate::asked::{asked, Asked};
use crate::objects::{objects, Object};
use crate::place;
use crate::refuse;
use crate::start;
use core::ffi::{c_char, c_int, CStr};
use pages::PAGE;

/// The first of all constructors (the library is linked with `-z initfirst`).
#[used]
#[link_section = ".init_array"]
static FIRST: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;

/// Programs whose own libraries have no variables need nothing of this.
extern "C" fn begin(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    // The C library has not noted the environment yet.
    let variable = |name: &CStr| {
        let mut at = environment;
        // SAFETY: the loader passes a list of C strings that ends with a null pointer.
        unsafe {
            while !at.is_null() && !(*at).is_null() {
                let line = CStr::from_ptr(*at).to_bytes();
                let rest = line.strip_prefix(name.to_bytes());
                if let Some(value) = rest.and_then(|r| r.strip_prefix(b"=")) {
                    return core::str::from_utf8(value).ok();
                }
                at = at.add(1);
            }
        }
        None
    };
    let Some(asked) = asked(&variable) else {
        return;
    };
    let all = objects();
    let ours = begin as *const () as usize;
    let own = || all.iter().skip(1).filter(|o| o.is_own(ours));
    if own().all(|o| o.data.is_empty()) {
        return;
    }
    let number = |name: &CStr| variable(name).and_then(|text| text.parse::<u8>().ok());
    let (count, me) = match asked {
        Asked::Forked(count) => (count, 0),
        Asked::Launched => match (number(c"HETRUN_SIZE"), number(c"HETRUN_RANK")) {
            (Some(size), Some(rank)) if usize::from(size) <= hetmp_core::topo::nodes::dsm::MOST => {
                (size, rank)
            }
            // The start says what is wrong.
            _ => return,
        },
    };
    if me != 0 {
        own().for_each(empty_constructors);
        return;
    }
    for o in all.iter().filter(|o| !o.code.is_empty()) {
        let file = o.name.rsplit('/').next().unwrap_or_default();
        if o.code.contains(&ours) || file.starts_with("ld-linux") || file.starts_with("libhetmp.") {
            place::add_runtime(o.code.clone());
        } else if file.starts_with("libc.so") || file.starts_with("libc-") {
            place::C_LIBRARY.add(o.code.clone());
        } else if file.starts_with("libstdc++") || file.starts_with("libc++") {
            place::CPP_LIBRARY.add(o.code.clone());
        } else if !o.name.is_empty() && !o.is_own(ours) {
            place::SYSTEM.add(o.code.clone());
        }
    }
    let made = start::reserve(count, matches!(asked, Asked::Launched)).and_then(|()| {
        let heap = place::heap(0);
        // SAFETY: the addresses were reserved just now, and nobody uses them.
        let at = unsafe {
            libc::mmap(
                core::ptr::with_exposed_provenance_mut(heap.start),
                heap.len(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        match at == libc::MAP_FAILED {
            true => Err(format!(
                "HETMP_NODES dsm:{count}: memory for constructors is needed ({})",
                std::io::Error::last_os_error()
            )),
            false => Ok(()),
        }
    });
    match made {
        Ok(()) => place::begin_early(),
        Err(line) => refuse::fail(format_args!("{line}")),
    }
}

extern "C" fn nothing() {}

/// Makes the loader run no constructor of this library.
fn empty_constructors(library: &Object) {
    const DT_NULL: u64 = 0;
    const DT_INIT: u64 = 12;
    const DT_INIT_ARRAYSZ: u64 = 27;
    if library.dynamic.is_empty() {
        return;
    }
    let (start, end) = (library.dynamic.start, library.dynamic.end);
    let pages = start & !(PAGE - 1)..end.next_multiple_of(PAGE);
    let protect = |may: c_int| {
        // SAFETY: the pages are of the library's data, whose protection the loader has set and only this function
        // changes.
        unsafe { libc::syscall(libc::SYS_mprotect, pages.start, pages.len(), may) == 0 }
    };
    if !protect(libc::PROT_READ | libc::PROT_WRITE) {
        refuse::fail(format_args!(
            "library {}: {} (expected one whose dynamic section may be changed)",
            library.name,
            std::io::Error::last_os_error()
        ));
    }
    let mut at: *mut [u64; 2] = core::ptr::with_exposed_provenance_mut(library.dynamic.start);
    // SAFETY: the section is an array of pairs of words, and ends with a pair whose first word is 0. It is writable
    // now.
    unsafe {
        while (*at)[0] != DT_NULL {
            match (*at)[0] {
                // The loader adds the library's base.
                DT_INIT => {
                    (*at)[1] = (nothing as *const () as usize).wrapping_sub(library.base) as u64
                }
                DT_INIT_ARRAYSZ => (*at)[1] = 0,
                _ => {}
            }
            at = at.add(1);
        }
    }
    if library.relro.contains(&library.dynamic.start) && library.relro.end >= pages.end {
        protect(libc::PROT_READ);
    }
}
