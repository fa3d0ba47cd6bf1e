//! Programs with libraries of their own: their variables are shared like the program's, and their constructors run
//! once.

use crate::harness::{
    by_hetrun, compile_by, hetrun_finds_the_library, is_same, prints_the_same, run, skipped,
};
use hetmp_abi_compat::clang::CLANG;
use hetmp_abi_compat::library::fresh;
use hetmp_abi_compat::sample;
use std::path::PathBuf;
use std::process::Command;

/// The program `main`, linked with a library by its path, both compiled by `compiler`. `None`, after a line, if there
/// is no such compiler. `flags`: for both; `-no-pie` is for the program only.
fn with_library(compiler: &str, main: &str, flags: &[&str]) -> Option<PathBuf> {
    if Command::new(compiler).arg("--version").output().is_err() {
        println!("skipped: {compiler} is not installed");
        return None;
    }
    let library = main.replace("_main", "");
    let all = [&["-shared", "-fPIC"], flags].concat();
    let theirs: Vec<&str> = all.into_iter().filter(|f| *f != "-no-pie").collect();
    let library = compile_by(compiler, &library, &theirs);
    let library = library.to_str().expect("a path");
    Some(compile_by(compiler, main, &[flags, &[library]].concat()))
}

fn compilers(main: &str) -> [String; 2] {
    match main.ends_with(".cpp") {
        true => ["g++".to_owned(), CLANG.replace("clang", "clang++")],
        false => ["gcc".to_owned(), CLANG.to_owned()],
    }
}

const PROGRAMS: [&str; 2] = ["c-tests/dsm/library_main.c", "c-tests/dsm/library_main.cpp"];

/// Regions of the library, and regions of the program that call the library, cross. `-no-pie`: the program has a copy
/// of the library's variable. The library's calls are bound at their first use, or at the start.
#[test]
fn libraries_of_programs_are_shared() {
    for main in PROGRAMS {
        for compiler in compilers(main) {
            let flags = vec![&[][..], &["-no-pie", "-Wl,-z,lazy"], &["-Wl,-z,now"]];
            for flags in sample::one(&format!("{compiler:?}{main}"), flags) {
                let Some(program) = with_library(&compiler, main, flags) else {
                    continue;
                };
                let expected = run(&program, &[], 0, &[]);
                assert!(expected.status.success(), "without nodes");
                for nodes in sample::one(&format!("{compiler:?}{main}{flags:?}"), vec![2, 3]) {
                    let got = run(&program, &[], nodes, &[]);
                    if skipped(&got) {
                        return;
                    }
                    let said = is_same(&got, &expected, nodes);
                    assert!(!said.contains("at the origin"), "{said}");
                }
            }
        }
    }
}

/// Constructors of the program's own libraries run on node 0 only, and their destructors see what other nodes wrote.
#[test]
fn libraries_of_started_processes_are_shared() {
    if !hetrun_finds_the_library() {
        return;
    }
    for main in PROGRAMS {
        for compiler in compilers(main) {
            let Some(program) = with_library(&compiler, main, &["-DBY_HETRUN"]) else {
                continue;
            };
            let expected = run(&program, &[], 0, &[]);
            for nodes in sample::one(&format!("{compiler:?}{main}"), vec![2, 3]) {
                let got = by_hetrun(&program, nodes);
                if skipped(&got) {
                    return;
                }
                let said = is_same(&got, &expected, nodes);
                assert!(!said.contains("at the origin"), "{said}");
            }
        }
    }
}

/// A line says what cannot be shared, and how it would be.
#[test]
fn what_cannot_be_shared_is_refused() {
    let Some(program) = with_library("gcc", PROGRAMS[0], &["-Wl,-z,norelro"]) else {
        return;
    };
    let got = run(&program, &[], 2, &[]);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(2), "{said}");
    let line = "hetmp: HETMP_NODES: dsm:N: program: its dynamic section";
    assert!(
        said.starts_with(line) && said.lines().count() == 1,
        "{said}"
    );
    assert!(!String::from_utf8_lossy(&got.stdout).contains("main"));
}

/// Only the library uses OpenMP, and the file of the program does not.
#[test]
fn regions_of_a_library_alone_cross() {
    let Some(program) = with_library("gcc", PROGRAMS[0], &["-DSERIAL", "-Wl,--as-needed"]) else {
        return;
    };
    let expected = run(&program, &[], 0, &[]);
    let got = run(&program, &[], 2, &[]);
    if !skipped(&got) {
        is_same(&got, &expected, 2);
    }
}

/// With the first library alone the program would start again, and its constructors would run twice.
#[test]
fn constructors_do_not_run_twice() {
    let Some(program) = with_library("gcc", PROGRAMS[0], &["-DTWICE"]) else {
        return;
    };
    let one = fresh().as_os_str().to_str().expect("a path");
    let beside = fresh().with_file_name("libhetmp_dsm.so");
    if !beside.exists() {
        println!("skipped: no {}", beside.display());
        return;
    }
    let got = run(&program, &[], 2, &[("LD_PRELOAD", one)]);
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(2), "{said}");
    assert!(
        said.contains("has constructors, which have run (expected LD_PRELOAD="),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    // Without nodes it runs.
    let got = run(&program, &[], 0, &[("LD_PRELOAD", one)]);
    prints_the_same(&got, &run(&program, &[], 0, &[]));
}

/// A library that was loaded with the program may be opened: its variables are shared.
#[test]
fn a_loaded_library_may_be_opened() {
    let Some(program) = with_library("gcc", PROGRAMS[0], &["-DOPENED"]) else {
        return;
    };
    let expected = run(&program, &[], 0, &[]);
    assert!(String::from_utf8_lossy(&expected.stdout).contains("opened: yes"));
    let got = run(&program, &[], 2, &[]);
    if !skipped(&got) {
        is_same(&got, &expected, 2);
    }
}

/// However many libraries a program has, system calls know the variables of each.
#[test]
fn there_may_be_many_libraries() {
    let library = compile_by(
        "gcc",
        "c-tests/dsm/many.c",
        &["-shared", "-fPIC", "-DLIBRARY"],
    );
    let copies: Vec<String> = (0..150)
        .map(|i| {
            let copy = library.with_extension(format!("{i}.so"));
            std::fs::copy(&library, &copy).expect("a copy");
            copy.to_str().expect("a path").to_owned()
        })
        .collect();
    let list = library.with_extension("list");
    std::fs::write(&list, copies.join("\n")).expect("a file");
    let list = format!("@{}", list.display());
    let program = compile_by("gcc", "c-tests/dsm/many.c", &["-Wl,--no-as-needed", &list]);
    let expected = run(&program, &[], 0, &[]);
    assert!(expected.status.success());
    for by in ["uffd", "sigsegv"] {
        let got = run(&program, &[], 2, &[("HETMP_DSM", by)]);
        if !skipped(&got) {
            is_same(&got, &expected, 2);
        }
    }
}
