//! Every use of the two numbers that a team of another size could feel, made
//! systematically: expressions times places where they end up. Each region has
//! a static loop as well, whose queries the compiler merges with the program's.
#![cfg(target_arch = "x86_64")]

mod support;

use hetmp_scan::scan;

/// Numbers that name a thread, or grow with the team. `n` and `m` are numbers
/// of the program.
const LEAKS: &[&str] = &[
    "me",
    "me * 8",
    "me * m",
    "me + 3",
    "m - me",
    "me - m",
    "me << 4",
    "me ^ 5",
    "(long)me",
    "(unsigned char)me",
    "(short)me",
    "-me",
    "me * n / m",
    "(me + 1) % team",
    "me * (n / team + 1)",
    "me * (n / team) + me",
    "me * (m / team) + n % team + n % team",
    "me * (m / team) - me * (n / team) + n % team",
    "team",
    "team - 1",
    "team * 16",
    "team - 1 - me",
    "n % team",
    "n % team + 4",
    "(n + team - 1) / team * me",
    "m / team * me + n % team",
    "me < n % team ? me : n % team",
    "n / team + (me < n % team) * m * me",
    "(n / (n / team + 1))",
    "(int)((double)me * 0.5)",
    "me / 2",
    "me & 1",
    "(me == 0) * 3 + 1",
    "(me > 1 ? 8 : 9)",
    "(team > 2 ? 8 : 9)",
    "abs(me - 4)",
    "table[me]",
];

/// `(me == 0) * 3 + 1` as the end of a loop.
const FIRST_THREAD_S_LOOP: &str = "leak_32_loop.";

/// Where they end up; `E` is the expression.
const SINKS: &[(&str, &str)] = &[
    ("store_at", "b[E] = 1;"),
    ("load_from", "b[2] += a[E];"),
    ("stored", "counts[3] = E;"),
    ("passed", "take(E);"),
    ("passed_last", "take_many(1, 2, 3, 4, 5, 6, 7, E);"),
    ("branch", "if ((E) > size) b[7] = 2;"),
    ("loop", "for (int t = 0; t < (E); t++) b[t] += counts[t];"),
    ("length", "memset(b, 0, (size_t)(E));"),
    ("kept", "int kept = E; look(&kept);"),
    (
        "local_array",
        "int local[8] = {0}; local[(unsigned)(E) % 7] = 1; look(local);",
    ),
    ("thread", "b[5] = (double)(E);"),
];

#[test]
#[ignore = "half a minute: compiles and reads some thousand regions"]
fn every_leak_is_refused() {
    let mut source = String::from(
        "#include <omp.h>\n#include <stdlib.h>\n#include <string.h>\n\
         extern double *a, *b; extern int *counts, *table, size;\n\
         void take(int); void look(int *);\n\
         void take_many(int, int, int, int, int, int, int, int);\n",
    );
    for (number, leak) in LEAKS.iter().enumerate() {
        for (name, sink) in SINKS {
            let statement = sink.replace('E', &format!("({leak})"));
            source.push_str(&format!(
                "void leak_{number}_{name}(int n, int m) {{\n\
                 #pragma omp parallel\n{{\n\
                 int me = omp_get_thread_num(), team = omp_get_num_threads();\n\
                 (void)me; (void)team;\n\
                 #pragma omp for nowait\n\
                 for (int i = 0; i < n; i++) a[i] *= 2;\n\
                 {statement}\n}}\n}}\n"
            ));
        }
    }
    for compiler in support::compilers() {
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            let options = [level, "-shared", "-fPIC"];
            let file = support::compile_text(compiler, "leaks.c", &source, &options);
            let mut seen = 0;
            let mut accepted = Vec::new();
            for (name, &address) in &file.functions {
                let Some(form) = support::file::form(name) else {
                    continue;
                };
                seen += 1;
                // clang makes of this loop one iteration for each thread, and more for the first one, which
                // every team has.
                let harmless = compiler != "gcc" && name.starts_with(FIRST_THREAD_S_LOOP);
                if !harmless && scan(&*file, address, form).fits().is_ok() {
                    accepted.push(name.clone());
                }
            }
            assert_eq!(seen, LEAKS.len() * SINKS.len(), "{compiler} {level}");
            assert!(
                accepted.is_empty(),
                "{compiler} {level} accepts {accepted:?}"
            );
        }
    }
}
