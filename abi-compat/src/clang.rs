//! clang 19, and the OpenMP runtime that belongs to it.
//!
//! clang's programs ask the dynamic linker for `libomp.so.5`. Where another release of LLVM owns that name in the
//! system's library folder, the linker finds that release's runtime. A comparison would then be with a library that
//! these programs were not made for. So every program that is compared gets the folder of clang 19's own runtime at
//! link time, as a runtime path: unlike an environment variable it needs nobody who sets it, and `LD_LIBRARY_PATH`
//! still comes first, by which a program is run under libhetmp.so.

use crate::{elf, suite::find_in_path};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler of C programs.
pub const CLANG: &str = "clang-19";
/// The compiler of C++ programs.
pub const CLANGXX: &str = "clang++-19";

/// A function that LLVM 19's libomp has, that no earlier one has, and that clang 19 calls in programs.
const SINCE_19: &str = "__kmpc_dispatch_deinit";

/// Whether clang is installed. If not, prints that the tests with clang are skipped.
pub fn installed() -> bool {
    let found = find_in_path(CLANG).is_ok();
    if !found {
        eprintln!("skipped: clang's side: no {CLANG}");
    }
    found
}

/// The real path of the runtime that belongs to clang 19.
///
/// # Errors
/// One line: there is none, or it is that of an earlier release.
pub fn runtime() -> Result<PathBuf, String> {
    let missing = || format!("library libomp.so of {CLANG}: not found: install libomp-19-dev");
    // `libomp.so.5` as a question would be answered from the system's library folder: the linker asks for
    // `libomp.so`, and so the compiler knows where its own is.
    let out = Command::new(CLANG)
        .arg("-print-file-name=libomp.so")
        .output()
        .map_err(|_| missing())?;
    let printed = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    if !Path::new(&printed).is_absolute() {
        return Err(missing());
    }
    let library = Path::new(&printed).canonicalize().map_err(|_| missing())?;
    let folder = library.parent().ok_or_else(missing)?;
    let loaded = folder.join("libomp.so.5").canonicalize();
    check(&loaded.map_err(|_| missing())?)
}

/// `library`, unless it is too old for clang 19's programs.
fn check(library: &Path) -> Result<PathBuf, String> {
    let symbols = elf::read(library)?.symbols;
    if symbols.iter().any(|symbol| symbol.name == SINCE_19) {
        Ok(library.to_owned())
    } else {
        Err(format!(
            "library {}: has no {SINCE_19} (expected LLVM 19's libomp or a later one)",
            library.display()
        ))
    }
}

/// The version of clang's runtime, as its compiler says: `19.1.7`.
///
/// # Errors
/// One line: the compiler does not say.
pub fn version() -> Result<String, String> {
    let unknown = || format!("command {CLANG} --version: no version is found in what it prints");
    let out = Command::new(CLANG)
        .arg("--version")
        .output()
        .map_err(|_| unknown())?;
    let text = String::from_utf8_lossy(&out.stdout);
    let (_, rest) = text.split_once("version ").ok_or_else(unknown)?;
    let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit());
    Ok(rest[..end.unwrap_or(rest.len())].to_owned())
}

/// The option that makes a program find clang's own runtime.
///
/// # Errors
/// As [`runtime`].
pub fn runtime_path() -> Result<String, String> {
    let library = runtime()?;
    let folder = library.parent().unwrap_or(Path::new("/"));
    // The older form of the tag would come before LD_LIBRARY_PATH.
    Ok(format!(
        "-Wl,--enable-new-dtags,-rpath,{}",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{exec, library, scratch::Scratch};
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn an_earlier_runtime_is_refused_in_one_line() {
        let s = Scratch::in_target("clang-earlier");
        let source = s.write("old.c", "void __kmpc_fork_call(void) {}\n");
        let old = s.path("libomp.so.5");
        exec::succeed("gcc", &["-shared", "-o", &old, &source], &[], LIMIT);
        let why = check(Path::new(&old)).unwrap_err();
        assert!(why.contains(&old) && why.contains(SINCE_19), "{why}");
        assert_eq!(why.lines().count(), 1, "{why}");
    }

    #[test]
    fn the_scripts_have_the_same_idea_of_it() {
        if !installed() {
            return;
        }
        let script = library::root().join("scripts/lib/clang_runtime.sh");
        let line = ". \"$1\"; clang_runtime";
        let args = ["-c", line, "sh", script.to_str().unwrap()];
        let said = exec::succeed("sh", &args, &[], LIMIT);
        assert_eq!(Some(Path::new(said.trim())), runtime().unwrap().parent());
    }

    const WHO: &str =
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <link.h>\n#include <omp.h>\n#include <stdio.h>\n\
        int main(void) {\n\
            struct link_map *m;\n\
            void *h = dlopen(\"libomp.so.5\", RTLD_NOW | RTLD_NOLOAD);\n\
            if (!h || dlinfo(h, RTLD_DI_LINKMAP, &m)) return 1;\n\
            puts(m->l_name);\n\
            return omp_get_max_threads() == 0;\n\
        }\n";

    /// The library that `program` has by the name `libomp.so.5`.
    fn found(program: &str, args: &[&str], env: &[(&str, &str)]) -> PathBuf {
        let said = exec::succeed(program, args, env, LIMIT);
        Path::new(said.trim()).canonicalize().expect("a file")
    }

    /// As on a system where LLVM 14 owns `libomp.so.5`: the dynamic linker's own list leads to another file of that
    /// name. The list is another one for the program alone.
    #[test]
    fn a_program_finds_clangs_own_runtime_where_the_system_has_another() {
        if !installed() {
            return;
        }
        let s = Scratch::in_target("clang-own");
        let source = s.write("who.c", WHO);
        let (program, plain) = (s.path("program"), s.path("plain"));
        let option = runtime_path().unwrap();
        let options = ["-fopenmp", &source, "-o"];
        exec::succeed(
            CLANG,
            &[&options[..], &[&program, &option]].concat(),
            &[],
            LIMIT,
        );
        exec::succeed(CLANG, &[&options[..], &[&plain]].concat(), &[], LIMIT);
        assert_eq!(found(&program, &[], &[]), runtime().unwrap());

        // What the environment names still comes first.
        let ours = crate::case::prefix_lib(library::fresh(), &s.folder).unwrap();
        let env = [("LD_LIBRARY_PATH", ours.to_str().unwrap())];
        let first = found(&program, &[], &env);
        assert_eq!(first.parent(), Some(ours.as_path()));

        std::fs::create_dir(s.path("system")).unwrap();
        let other = s.path("system/libomp.so.5");
        std::fs::copy(runtime().unwrap(), &other).unwrap();
        s.write("list", &format!("{}\n", s.path("system")));
        let script = "/sbin/ldconfig -X -C \"$1/cache\" -f \"$1/list\" &&
            exec unshare --user --map-root-user --mount \\
                sh -c 'mount --bind \"$1\" /etc/ld.so.cache && exec \"$2\"' sh \"$1/cache\" \"$2\"";
        let folder = s.folder.display().to_string();
        let args = |program| ["-c", script, "sh", &folder, program];
        let tried = exec::command("sh", &args("/bin/true"), &[], LIMIT);
        if tried.ending != exec::Ending::Exit(0) {
            eprintln!("skipped: no other list of libraries: {tried:?}");
            return;
        }
        assert_eq!(found("sh", &args(&plain), &[]), Path::new(&other));
        assert_eq!(found("sh", &args(&program), &[]), runtime().unwrap());
    }
}
