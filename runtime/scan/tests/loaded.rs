//! The view of this process's own objects says what the file says.
#![cfg(target_arch = "x86_64")]

mod support;

use std::ffi::CString;

use hetmp_scan::file::File;
use hetmp_scan::kept::Reading;
use hetmp_scan::loaded::{object_of, Head, Loaded};
use hetmp_scan::{scan, Form, Scan, Use};

/// The same findings at other addresses.
fn moved(mut scan: Scan, by: u64) -> Scan {
    for used in [&mut scan.thread_number, &mut scan.team_size] {
        if let Use::Escapes(_, address) = used {
            *address += by;
        }
    }
    for address in [&mut scan.limit_address, &mut scan.calls.unknown_address] {
        if *address != 0 {
            *address += by;
        }
    }
    scan
}

fn compare(options: &[&str], binding: libc::c_int) {
    let (path, file) = support::compile_to("loops.c", options);
    let name = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the library is ours and has no constructors of its own; it stays
    // loaded until the test ends.
    let handle = unsafe { libc::dlopen(name.as_ptr(), binding) };
    assert!(!handle.is_null(), "{path:?} can be loaded");
    // SAFETY: the handle is valid, the name ends with a zero.
    let known = unsafe { libc::dlsym(handle, c"fits_plain".as_ptr()) } as u64;
    let base = known - file.functions["fits_plain"];
    let object = object_of(known).expect("its object is found");
    assert_eq!(object.base, base);
    assert_eq!(object.path, path.to_str().unwrap());
    assert!((object.start..object.end).contains(&known));
    assert!(!object.has_tls);
    let is_named = !options.contains(&"-Wl,--build-id=none");
    assert_eq!(object.build_id.len(), if is_named { 20 } else { 0 });
    let loaded = Loaded::at(known).expect("its object is found");
    let head = Head::at(known).expect("its object is found");
    let data = std::fs::read(&path).unwrap();
    let kept = File::parse(&data).expect("a file");
    assert_eq!(loaded.identity(), kept.identity());
    assert!(kept.identity().is_some() && head.identity() == kept.identity());
    let mut regions = 0;
    for (name, address) in &file.functions {
        if name.contains("._omp_fn.") {
            let here = scan(&loaded, address + base, Form::Data);
            assert_eq!(
                here,
                moved(scan(&*file, *address, Form::Data), base),
                "{name}"
            );
            // What is read in the file is true in the process, and says the same.
            for asked in [false, true] {
                let read = Reading::of(&kept, 0, *address, Form::Data, asked);
                let again = Reading::of(&loaded, base, address + base, Form::Data, asked);
                assert_eq!(read, again, "{name}");
                assert!(read.holds(|offset, length| head.code(offset, length)));
            }
            regions += 1;
        }
    }
    assert!(regions > 20, "{regions}");
}

#[test]
fn libraries_bound_lazily_and_at_once() {
    let common = ["-O2", "-shared", "-fPIC", "-Wl,--build-id=sha1"];
    let with = |more: &[&'static str]| [&common[..], more].concat();
    compare(&with(&["-Wl,-z,lazy"]), libc::RTLD_LAZY);
    compare(&with(&["-Wl,-z,now"]), libc::RTLD_NOW);
    compare(&with(&["-fno-plt"]), libc::RTLD_NOW);
    compare(&with(&["-Wl,--build-id=none"]), libc::RTLD_NOW);
}

#[test]
fn places_without_an_object() {
    assert!(Loaded::at(0).is_none());
    assert!(Loaded::at(8).is_none());
    assert!(Loaded::at(u64::MAX).is_none());
    let heap = Box::new(5u64);
    assert!(object_of(std::ptr::from_ref(&*heap) as u64).is_none());
}

#[test]
fn thread_local_storage_is_seen() {
    // The C library keeps `errno` for each thread.
    let object = object_of(libc::malloc as *const () as u64).expect("the C library");
    assert!(object.has_tls, "{object:?}");
}
