//! `hetcc` as users run it. Tests are skipped where a compiler for one of the two machines, or the emulator that runs
//! the second half, is missing (`scripts/setup`).

use hetmp_core::multi_isa::{other_half, Half, NOTE};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Scratch(PathBuf);

impl Scratch {
    /// `None`, and a line, where a tool is missing.
    fn new(name: &str) -> Option<Scratch> {
        let mut tools = vec!["qemu-aarch64-static".to_owned()];
        for machine in ["x86_64", "aarch64"] {
            tools.extend(["gcc", "g++", "gfortran"].map(|t| format!("{machine}-linux-gnu-{t}")));
        }
        for tool in tools {
            if Command::new(&tool).arg("--version").output().is_err() {
                println!("skipped: {tool} is not installed (scripts/setup)");
                return None;
            }
        }
        let dir = std::env::temp_dir().join(format!("hetmp-hetcc-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        Some(Scratch(dir))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("written");
        path
    }

    /// The compiler under one of its names, in this folder.
    fn compiler(&self, name: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hetcc"));
        command.arg0(name).args(arguments).current_dir(&self.0);
        command.output().expect("hetcc runs")
    }

    fn compiles(&self, name: &str, arguments: &[&str]) {
        let out = self.compiler(name, arguments);
        assert!(out.status.success(), "{arguments:?}: {}", text(&out.stderr));
        assert_eq!(text(&out.stderr), "", "{arguments:?}");
    }

    /// What both halves print.
    fn run(&self, program: &str, arguments: &[&str]) -> [String; 2] {
        let other = format!("{program}.other");
        self.compiles("hetcc", &["--other-half", program, "-o", &other]);
        let mut first = Command::new(self.path(program));
        let mut second = Command::new("qemu-aarch64-static");
        second
            .args(["-L", "/usr/aarch64-linux-gnu"])
            .arg(self.path(&other));
        [&mut first, &mut second].map(|command| {
            command
                .args(arguments)
                .env("OMP_NUM_THREADS", "2")
                .env_remove("LD_PRELOAD");
            let out = command.output().expect("the program starts");
            assert!(out.status.success(), "{program}: {}", text(&out.stderr));
            text(&out.stdout)
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn of_repository(path: &str) -> String {
    format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))
}

/// A half's note, its symbols in shared memory by name, and its bytes in sections of our own.
struct Seen {
    half: Half,
    symbols: BTreeMap<String, Vec<u64>>,
    own: Vec<u8>,
    other: Vec<u8>,
}

impl Seen {
    fn of(bytes: &[u8]) -> Seen {
        let file = object::File::parse(bytes).expect("a program");
        let section = |name: &str| {
            let section = file.section_by_name(name);
            section
                .map(|s| s.data().expect("bytes").to_vec())
                .unwrap_or_default()
        };
        let note = section(NOTE);
        let half = Half::parse(&note[note.len() - 120..]).expect("a note of hetcc");
        let mut symbols: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for symbol in file.symbols() {
            let is_named = matches!(
                symbol.kind(),
                object::SymbolKind::Text | object::SymbolKind::Data
            );
            let at = symbol.address();
            let ranges = [&half.text, &half.constants, &half.data];
            let name = symbol.name().expect("a name").to_owned();
            if is_named && ranges.iter().any(|r| r.contains(&at)) && !name.starts_with('$') {
                symbols.entry(name).or_default().push(at);
            }
        }
        symbols.values_mut().for_each(|at| at.sort_unstable());
        Seen {
            symbols,
            own: section(".hetmp.own"),
            other: section(".hetmp.other"),
            half,
        }
    }
}

/// Checks what the two halves of a program share, and returns the names.
fn layout_is_one(program: &Path) -> Vec<String> {
    let x86 = Seen::of(&fs::read(program).expect("the program"));
    let arm = Seen::of(
        &other_half(program)
            .expect("readable")
            .expect("the other half"),
    );
    assert_eq!((x86.half.machine, x86.half.other_machine), (62, 183));
    assert_eq!((arm.half.machine, arm.half.other_machine), (183, 62));
    assert_eq!(x86.half.program, arm.half.program);
    assert_eq!(x86.half.layout, arm.half.layout);
    let shared = |h: &Half| (h.text.clone(), h.constants.clone(), h.data.clone());
    assert_eq!(shared(&x86.half), shared(&arm.half));
    assert_eq!(
        (&x86.half.own, &x86.half.other),
        (&arm.half.other, &arm.half.own)
    );
    assert!(
        x86.own == arm.other && arm.own == x86.other,
        "each has the other's constants"
    );
    for (name, at) in &x86.symbols {
        // A variable may be there in one half alone; nothing else is in its place.
        assert!(
            arm.symbols.get(name).is_none_or(|a| a == at),
            "{name}: {at:x?} {:x?}",
            arm.symbols[name]
        );
    }
    x86.symbols
        .into_keys()
        .filter(|n| arm.symbols.contains_key(n))
        .collect()
}

#[test]
fn kernels_have_one_layout_and_one_result() {
    let Some(s) = Scratch::new("kernels") else {
        return;
    };
    for (compiler, source, shared) in [
        (
            "hetcc",
            "c-tests/kernels/ep.c",
            &["main", "main._omp_fn.0"][..],
        ),
        ("hetcc", "c-tests/kernels/blackscholes.c", &["main"]),
        ("hetcc", "c-tests/kernels/lavamd.c", &["main"]),
        ("hetcc", "c-tests/kernels/kmeans.c", &["main"]),
        ("hetfort", "c-tests/kernels/ep_fortran.F90", &["MAIN__"]),
        (
            "hetfort",
            "runtime/hetcc/tests/programs/blocks.f90",
            &["MAIN__", "shared_", "__numbers_MOD_weights"],
        ),
        ("hetcc", "c-tests/openmp/target_basic.c", &["main"]),
        (
            "g++",
            "runtime/hetcc/tests/programs/shapes.cc",
            &["_ZTV4Disc", "_ZZ6scaledIdET_S0_E6factor"],
        ),
    ] {
        s.compiles(
            compiler,
            &[
                "-O2",
                "-fopenmp",
                &of_repository(source),
                "-o",
                "program",
                "-lm",
            ],
        );
        let names = layout_is_one(&s.path("program"));
        for name in shared {
            assert!(
                names.iter().any(|n| n == name),
                "{source}: {name} is not in {names:?}"
            );
        }
        let [x86, arm] = s.run("program", &["S"]);
        assert!(!x86.is_empty());
        assert_eq!(x86, arm, "{source}");
    }
}

/// Objects and archives, as makefiles make them; members that nobody needs stay outside.
#[test]
fn objects_and_archives_of_a_makefile() {
    let Some(s) = Scratch::new("make") else {
        return;
    };
    s.write(
        "main.c",
        "#include <stdio.h>\nextern const char *name(int);\nextern int used(int);\nint plain;\nstatic int mine = 3;\n\
         int main(void) {\nint sum = mine;\n#pragma omp parallel for reduction(+:sum)\n\
         for (int i = 0; i < 10; i++) sum += used(i);\nprintf(\"%d %s\\n\", sum + plain, name(1));\nreturn 0;\n}\n",
    );
    s.write(
        "used.c",
        "static int mine = 4;\nint used(int i) { return mine++ > 0 ? i : 0; }\n",
    );
    s.write(
        "name.c",
        "static const char *const all[] = {\"zero\", \"one\"};\n\
                       const char *name(int i) { return all[i]; }\n",
    );
    s.write(
        "unused.c",
        "extern int nowhere(void);\nint unused(void) { return nowhere(); }\n",
    );
    s.write(
        "Makefile",
        "CFLAGS = -O2 -fopenmp -MMD -march=native\nprogram: main.o libparts.a\n\
         \t$(CC) $(CFLAGS) -o $@ main.o -L. -lparts\nlibparts.a: used.o name.o unused.o\n\t$(AR) rcs $@ $^\n",
    );
    let out = Command::new("make")
        .arg(format!("CC={}", env!("CARGO_BIN_EXE_hetcc")))
        .current_dir(&s.0)
        .output()
        .expect("make");
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(fs::read_to_string(s.path("main.d"))
        .expect("what main.o depends on")
        .contains("main.c"));
    let names = layout_is_one(&s.path("program"));
    assert!(names.contains(&"mine".to_owned()) && names.contains(&"used".to_owned()));
    assert!(!names.contains(&"unused".to_owned()));
    assert_eq!(s.run("program", &[]), ["48 one\n", "48 one\n"]);
}

/// A source that cannot be shared, and what is said of it.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "long_double.c",
        "double x[9];\nint main(void) {\nlong double s = 0;\n#pragma omp parallel for reduction(+:s)\n\
         for (int i = 0; i < 9; i++) s += x[i];\nreturn (int)s;\n}\n",
        "region 'main._omp_fn.0', member 's': 'long double' has two formats (expected double, or __float128)",
    ),
    (
        "va_list.c",
        "#include <stdarg.h>\nva_list kept;\nint main(void) { return 0; }\n",
        "variable 'kept': 'va_list' is another type on x86_64 than on aarch64 (expected a type of one layout)",
    ),
    (
        "jmp_buf.c",
        "#include <setjmp.h>\nstatic jmp_buf back;\nint main(void) { return setjmp(back); }\n",
        "variable 'back': 'jmp_buf' has 200 bytes on x86_64 and 312 on aarch64 (expected a type of one layout)",
    ),
    (
        "mutex.c",
        "#include <pthread.h>\nstruct { int n; pthread_mutex_t lock; } table;\nint main(void) { return table.n; }\n",
        "variable 'table', member 'lock': 'pthread_mutex_t' has 40 bytes on x86_64 and 48 on aarch64 (expected a type \
         of one layout)",
    ),
    (
        "attr.c",
        "#include <pthread.h>\n#include <stdlib.h>\nstruct pool { pthread_attr_t attr; int n; };\n\
         int main(void) {\nstruct pool *p = calloc(1, sizeof *p);\nint n = 0;\n\
         #pragma omp parallel shared(p) reduction(+:n)\nn += p->n;\nreturn n;\n}\n",
        "region 'main._omp_fn.0', member 'p', member 'attr': 'pthread_attr_t' has 56 bytes on x86_64 and 64 on aarch64 \
         (expected a type of one layout)",
    ),
    (
        "stat.c",
        "#include <sys/stat.h>\nint main(void) {\nstruct stat s = {0};\nlong n = 0;\n\
         #pragma omp parallel reduction(+:n)\nn += s.st_size;\nreturn (int)n;\n}\n",
        "region 'main._omp_fn.0', member 's': 'struct stat' has 144 bytes on x86_64 and 128 on aarch64 (expected a \
         type of one layout)",
    ),
    (
        "epoll.c",
        "#include <sys/epoll.h>\nstruct epoll_event events[4];\nint main(void) { return (int)events[0].events; }\n",
        "variable 'events': 'struct epoll_event' has 12 bytes on x86_64 and 16 on aarch64 (expected a type of one \
         layout)",
    ),
    (
        "pointer_to_member.cc",
        "struct A { int n; int f() { return n; } };\nint (A::*which)() = &A::f;\n\
         int main() { A a{0}; return (a.*which)(); }\n",
        "variable 'which': pointers to member functions have two formats (expected a virtual function)",
    ),
    (
        "one_half.c",
        "static int f(int a) { return a + 1; }\nstatic int g(int a) { return a + 2; }\n\
         int main(int c, char **v) {\nint (*volatile p)(int) =\n#ifdef __x86_64__\nf;\n#else\ng;\n#endif\n\
         return p(c) - c - 1 + !v;\n}\n",
        "function 'f': has an address in the half for x86_64 alone (expected in both; not static, or of another name)",
    ),
    (
        "statics.c",
        "int h(int c) {\nstatic int n = 1;\n#ifdef __x86_64__\nif (c > 9) { static int n = 5; return n += c; }\n\
         #endif\n         return n += c;\n}\nint main(int c, char **v) { return h(c) == 0 && !v; }\n",
        "static variable 'n': is there 2 times on x86_64 and 1 times on aarch64 (expected different names)",
    ),
    (
        "section.c",
        "__attribute__((section(\"mine\"))) int a = 4;\nint main(void) { return a - 4; }\n",
        "section 'mine' is placed by its program (expected none)",
    ),
    (
        "value.c",
        "#ifdef __aarch64__\nint more = 3;\n#endif\nint main(void) { return 0; }\n",
        "variable 'more': has a value in the half for aarch64 alone (expected in both; not static)",
    ),
];

#[test]
fn what_has_no_common_form_is_refused_by_name() {
    let Some(s) = Scratch::new("refused") else {
        return;
    };
    for (name, source, expected) in REFUSED {
        s.write(name, source);
        let out = s.compiler(
            "hetc++",
            &[
                "-O1",
                "-fopenmp",
                "-x",
                language(name),
                name,
                "-o",
                "program",
            ],
        );
        assert_eq!(out.status.code(), Some(1), "{name}");
        let said = text(&out.stderr);
        assert_eq!(
            said.lines().next(),
            Some(format!("hetmp: {name}: {expected}").as_str()),
            "{said}"
        );
        assert!(!s.path("program").exists(), "{name}");
    }
    for (words, expected) in [
        (
            &["-shared", "value.c"][..],
            "option: '-shared': libraries are not made for two machines",
        ),
        (
            &["-static", "value.c"],
            "option: '-static': nothing can be preloaded into such a program",
        ),
        (&["code.s"], "source: 'code.s': is for one machine"),
        (
            &["libother.so"],
            "library: 'libother.so': is for one machine",
        ),
    ] {
        let out = s.compiler("hetcc", words);
        assert_eq!(out.status.code(), Some(1));
        let said = text(&out.stderr);
        assert!(
            said.starts_with(&format!("hetmp: {expected} (expected ")),
            "{said}"
        );
    }
    // An object that another compiler has made.
    let own = Command::new("gcc")
        .args(["-c", "mutex.c"])
        .current_dir(&s.0)
        .status();
    assert!(own.expect("gcc").success());
    let out = s.compiler("hetcc", &["mutex.o", "-o", "program"]);
    let expected =
        "hetmp: object: 'mutex.o': was not made by hetcc (expected one that hetcc has compiled)\n";
    assert_eq!(text(&out.stderr), expected);
}

fn language(name: &str) -> &'static str {
    match name.ends_with(".cc") {
        true => "c++",
        false => "c",
    }
}

/// What a function keeps for itself may be anything; an address of the C library in a variable costs a line.
#[test]
fn what_stays_in_one_function_is_not_refused() {
    let Some(s) = Scratch::new("local") else {
        return;
    };
    s.write(
        "local.c",
        "#include <stdarg.h>\n#include <stdio.h>\n#include <sys/stat.h>\nint (*hook)(const char *) = puts;\n\
         static int say(const char *f, ...) {\nva_list a;\nva_start(a, f);\nint n = vprintf(f, a);\nva_end(a);\n\
         return n;\n}\nint main(void) {\nstruct stat s;\nlong double q = 1;\nint n = 0;\n\
         if (stat(\"/\", &s)) return 1;\n#pragma omp parallel for reduction(+:n)\n\
         for (int i = 0; i < 100; i++) n += i;\n\
         say(\"%d %d\\n\", n, (int)q);\nreturn 0;\n}\n",
    );
    let out = s.compiler("hetcc", &["-O1", "-fopenmp", "local.c", "-o", "program"]);
    assert!(out.status.success());
    assert_eq!(
        text(&out.stderr),
        "hetmp: local.c: variable 'hook': holds the address of 'puts', another in each half (expected a \
         function of the program)\n"
    );
    assert_eq!(s.run("program", &[]), ["4950 1\n", "4950 1\n"]);
    // A program without any constant.
    s.write("plain.c", "int main(void) { return 0; }\n");
    s.compiles("hetcc", &["plain.c", "-o", "program"]);
    assert_eq!(s.run("program", &[]), ["", ""]);
}
