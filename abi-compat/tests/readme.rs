//! README.md's examples, run as they stand there: with an empty home, an environment of three variables, and a program
//! that gcc compiled. The examples with `pip` are in `packages.rs`.

use hetmp_abi_compat::readme::examples;
use hetmp_abi_compat::{exec, library};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than any example takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Prints the file of the OpenMP runtime that the program runs on.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
int main(void) {
    long sum = 0;
    #pragma omp parallel for reduction(+:sum) schedule(runtime)
    for (int i = 0; i < 1000; i++) sum += i;
    Dl_info where;
    if (sum != 499500 || !dladdr((void *)omp_get_num_procs, &where)) return 1;
    printf("runs on %s\n", where.dli_fname);
    return 0;
}
"#;

/// A folder as after `git clone` and `cargo build --release`, which is the home as well. `scripts/install` there is that
/// of the repository, with the library under test.
struct Clone(PathBuf);

impl Clone {
    fn new(name: &str) -> Clone {
        let dir = library::target_dir().join(format!("readme-{name}-{}", std::process::id()));
        let clone = Clone(dir);
        let prefix = library::installed(&clone.0.join("built"));
        for (from, to) in [
            ("bin/hetmp", "target/release/hetmp"),
            ("lib/libhetmp.so", "target/release/libhetmp.so"),
        ] {
            let to = clone.0.join(to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(prefix.join(from), to).unwrap();
        }
        fs::create_dir_all(clone.0.join("scripts")).unwrap();
        let mut script = "#!/bin/sh\n".to_owned();
        // cargo's, which the bare environment has not.
        for (name, value) in exec::scrubbed_environment() {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            if ["PATH", "HOME"].contains(&name.as_ref())
                || name.starts_with("CARGO")
                || name.starts_with("RUST")
            {
                script += &format!("export {name}='{}'\n", value.replace('\'', r"'\''"));
            }
        }
        script += &format!(
            "export CARGO_TARGET_DIR='{}' HETMP_LIB='{}'\nexec '{}' \"$@\"\n",
            text(&library::target_dir()),
            text(library::fresh()),
            text(&library::root().join("scripts/install")),
        );
        let install = clone.0.join("scripts/install");
        fs::write(&install, script).unwrap();
        exec::succeed("/bin/chmod", &["755", &text(&install)], &[], LIMIT);
        let include = library::root().join("include");
        std::os::unix::fs::symlink(include, clone.0.join("include")).unwrap();
        clone
    }

    /// What the lines print, run by a shell in this folder. The first one that fails ends them.
    fn run(&self, lines: &str) -> String {
        let dir = text(&self.0);
        let script = format!("set -eu\ncd '{dir}'\n{lines}");
        let path = format!("PATH={dir}/hetmp/bin:/usr/bin:/bin");
        exec::succeed(
            "/usr/bin/env",
            &[
                "-i",
                &format!("HOME={dir}"),
                &path,
                "LANG=C",
                "sh",
                "-c",
                &script,
            ],
            &[],
            LIMIT,
        )
    }

    /// Compiles the program under both names that README.md gives it.
    fn compile(&self) {
        fs::write(self.0.join("p.c"), PROGRAM).unwrap();
        self.run("gcc -fopenmp -O2 p.c -o your-program -ldl; cp your-program program");
    }
}

impl Drop for Clone {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn programs_run_as_the_section_about_use_says() {
    let clone = Clone::new("use");
    clone.compile();
    let dir = text(&clone.0);
    let all = examples("## Use", "sh");
    let [first, installed, _packages, schedules] = &all[..] else {
        panic!(
            "README.md, Use: four examples are expected, not {}",
            all.len()
        );
    };
    // The library is built already.
    let first = first.replace("cargo build --release\n", "");
    let release = format!("runs on {dir}/target/release/libhetmp.so\n");
    assert_eq!(clone.run(&first), release.repeat(2));

    let shown = clone.run(installed);
    let own = format!("runs on {dir}/hetmp/lib/libgomp.so.1\n");
    assert!(shown.ends_with(&own), "{shown}");

    let library = format!("{dir}/hetmp/lib/libhetmp.so");
    let shown = clone.run(&schedules.replace("LD_PRELOAD=...", &format!("LD_PRELOAD={library}")));
    let runs = shown.matches(&format!("runs on {library}\n")).count();
    assert_eq!(runs, 2, "{shown}");
}

/// The loop of the section about SIMD, in a function.
#[test]
fn the_loop_with_vectors_adds() {
    let clone = Clone::new("simd");
    let [example] = &examples("## Use", "c")[..] else {
        panic!("README.md, Use: one example in C is expected");
    };
    let source = format!(
        "#include <hetmp/simd.h>\n#include <stdio.h>\n\
         static float a[1003], b[1003], c[1003];\n\
         int main(void) {{\n int i = 0, n = 1003, bad = 0;\n\
         for (int k = 0; k < n; k++) a[k] = k, b[k] = 2 * k;\n{example}\
         printf(\"%d\\n\", n - i < _VF32_SIZE);\n\
         for (int k = 0; k < i; k++) bad += c[k] != 3 * k;\n return bad;\n}}\n"
    );
    fs::write(clone.0.join("s.c"), source).unwrap();
    // The options stand in the example's comment.
    let options = example
        .split_once("/* gcc")
        .and_then(|(_, rest)| rest.split_once("*/"));
    let (options, _) = options.expect("a comment with the compiler's options");
    assert_eq!(clone.run(&format!("gcc {options} s.c -o s && ./s")), "1\n");
}

#[test]
fn the_first_openshmem_program_runs() {
    let clone = Clone::new("shmem");
    clone.run("scripts/install --prefix ~/hetmp");
    let (c, sh) = (
        examples("## OpenSHMEM", "c"),
        examples("## OpenSHMEM", "sh"),
    );
    fs::write(clone.0.join("hello.c"), &c[0]).unwrap();
    let shown = clone.run(&format!("export SHMEM_SYMMETRIC_SIZE=1M\n{}", sh[0]));
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    // Two runs of four PEs; each hears from the PE before it.
    let expected: Vec<String> = (0..4)
        .flat_map(|pe| vec![format!("{pe} of 4, after {}", (pe + 3) % 4); 2])
        .collect();
    assert_eq!(lines, expected);
}
