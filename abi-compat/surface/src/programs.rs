//! C programs for the tests of the header. A program calls every type-generic name with every type. It is linked with
//! stubs, each of which only records that it was called.

use super::table::{Family, Names};
use std::fmt::Write as _;

/// The stubs: a definition of every routine, with the declaration of the header.
#[must_use]
pub fn stubs(table: &[Family]) -> String {
    let mut out = String::from(
        "#define HETMP_SHMEM_NO_GENERICS\n\
         #include <shmem.h>\n\
         #include <stdlib.h>\n\
         const char *last = \"nothing\";\n",
    );
    for routine in table.iter().flat_map(Family::routines) {
        let parameters: Vec<&str> = routine.parameters.split(", ").collect();
        let unused: String = parameters
            .iter()
            .filter(|p| !matches!(**p, "void" | "..."))
            .map(|p| {
                let name = p.rsplit([' ', '*']).next().unwrap_or_default();
                format!("(void){name}; ")
            })
            .collect();
        let end = match routine.result.as_str() {
            "void" => "",
            result if result.starts_with("HETMP_SHMEM_NORETURN_") => "exit(1);",
            _ => "return 0;",
        };
        let _ = writeln!(
            out,
            "{} {{ {unused}last = \"{}\"; {end} }}",
            routine.declaration(),
            routine.name
        );
    }
    out
}

/// The program, which compiles as C11 and as C++.
#[must_use]
pub fn callers(table: &[Family]) -> String {
    let mut out = String::from(
        "#include <shmem.h>\n\
         #include <stdio.h>\n\
         #include <string.h>\n\
         #ifdef __cplusplus\n\
         extern \"C\"\n\
         #else\n\
         extern\n\
         #endif\n\
         const char *last;\n\
         static int calls, wrong;\n\
         static void check(const char *generic, const char *routine) {\n    \
             calls++;\n    \
             if (strcmp(last, routine)) {\n        \
                 wrong++;\n        \
                 printf(\"%s called %s, not %s\\n\", generic, last, routine);\n    \
             }\n    \
             last = \"nothing\";\n\
         }\n\
         static uint64_t sig;\n\
         static size_t ix[1];\n",
    );
    let mut body = String::new();
    for family in table {
        let (Some(generic), Names::Typed(set, what)) = (family.generic, family.names) else {
            continue;
        };
        for t in set.distinct() {
            let argument = |parameter: &str| -> String {
                let name = parameter.rsplit([' ', '*']).next().unwrap_or_default();
                match name {
                    "value" | "cond" | "cmp_value" => "v[0]",
                    "indices" => "ix",
                    "sig_addr" => "&sig",
                    "status" => "NULL",
                    "team" => "SHMEM_TEAM_WORLD",
                    // `v` is an array, `c` a pointer to const, `w` one to volatile: the forms that programs pass.
                    _ if parameter.starts_with("const TYPE *") => "c",
                    _ if parameter.starts_with("volatile TYPE *") => "w",
                    _ if parameter.starts_with("TYPE *") => "v",
                    _ => "1",
                }
                .to_owned()
            };
            let list: Vec<String> = family.parameters.split(", ").map(argument).collect();
            let list = list.join(", ");
            let _ = write!(
                body,
                "    {{ static {0} v[2]; const {0} *c = v; volatile {0} *w = v; (void)c; (void)w; \
                    (void)shmem_{generic}({list});\n      \
                 check(\"shmem_{generic}\", \"shmem_{1}_{what}\");",
                t.basic, t.name
            );
            if family.context {
                let _ = write!(
                    body,
                    "\n      (void)shmem_{generic}(SHMEM_CTX_DEFAULT, {list});\n      \
                     check(\"shmem_{generic} of a context\", \"shmem_ctx_{}_{what}\");",
                    t.name
                );
            }
            body += " }\n";
        }
    }
    // In C++, the deprecated C function of this name serves long.
    let long = "check(\"shmem_wait_until\", \"shmem_long_wait_until\");";
    assert_eq!(body.matches(long).count(), 1, "wait_until has long once");
    let body = body.replace(
        long,
        "\n#ifdef __cplusplus\n      check(\"shmem_wait_until\", \"shmem_wait_until\");\n\
         #else\n      check(\"shmem_wait_until\", \"shmem_long_wait_until\");\n#endif\n     ",
    );
    out += "int main(void) {\n";
    out += &body;
    for (call, routine) in [
        ("shmem_sync(SHMEM_TEAM_WORLD)", "shmem_team_sync"),
        ("shmem_sync(0, 0, 1, NULL)", "shmem_sync"),
        ("shmem_signal_set(&sig, 1, 0)", "shmem_signal_set"),
        (
            "shmem_signal_set(SHMEM_CTX_DEFAULT, &sig, 1, 0)",
            "shmem_ctx_signal_set",
        ),
        ("shmem_signal_add(&sig, 1, 0)", "shmem_signal_add"),
        (
            "shmem_signal_add(SHMEM_CTX_DEFAULT, &sig, 1, 0)",
            "shmem_ctx_signal_add",
        ),
    ] {
        let _ = writeln!(out, "    (void){call}; check(\"{call}\", \"{routine}\");");
    }
    out += "    printf(\"%d calls, %d wrong\\n\", calls, wrong);\n    return wrong != 0;\n}\n";
    out
}
