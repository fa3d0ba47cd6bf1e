//! `shmem.h` and `pshmem.h`: frames written by hand (`*.h.in`), with generated declarations put in.

use super::table::{Family, Names, Since};
use super::types::{Set, COMPLEX_DOUBLE, COMPLEX_FLOAT};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const FRAME: &str = include_str!("shmem.h.in");
const PROFILING: &str = include_str!("pshmem.h.in");

/// Names of functions that are also macros in C11.
pub const ALSO_MACROS: [&str; 4] = [
    "shmem_sync",
    "shmem_wait_until",
    "shmem_signal_set",
    "shmem_signal_add",
];

/// Fills a frame: each line `@NAME` is replaced by the text that `made` has for the name.
///
/// # Panics
/// When the frame names something that does not exist, or leaves a group out.
fn fill(frame: &str, mut made: BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for line in frame.lines() {
        if let Some(name) = line.strip_prefix('@') {
            out += &made
                .remove(name)
                .unwrap_or_else(|| panic!("the frame asks for {name}"));
        } else {
            out += line;
            out.push('\n');
        }
    }
    assert!(made.is_empty(), "not in the frame: {:?}", made.keys());
    out
}

/// The text of `include/shmem.h`.
#[must_use]
pub fn shmem_h(table: &[Family]) -> String {
    let mut made = declarations(table, "");
    made.insert("generics".to_owned(), generics(table));
    made.insert("overloads".to_owned(), overloads(table));
    made.insert("c_complex".to_owned(), c_complex(table));
    fill(FRAME, made)
}

/// The text of `include/pshmem.h`.
#[must_use]
pub fn pshmem_h(table: &[Family]) -> String {
    let all: String = declarations(table, "p")
        .into_values()
        .collect::<Vec<_>>()
        .join("\n");
    let undefined = ALSO_MACROS
        .iter()
        .map(|name| format!("#undef {name}\n"))
        .collect();
    fill(
        PROFILING,
        BTreeMap::from([
            ("declarations".to_owned(), all),
            ("undefined".to_owned(), undefined),
        ]),
    )
}

/// The declarations of each group. Every name gets the prefix `prefix`.
fn declarations(table: &[Family], prefix: &str) -> BTreeMap<String, String> {
    let mut groups: BTreeMap<String, String> = BTreeMap::new();
    for family in table {
        let group = groups.entry(family.group.to_owned()).or_default();
        for mut routine in family.routines() {
            routine.name.insert_str(0, prefix);
            let end = match &routine.instead {
                // `wrapped` breaks lines at blanks. It must not break this text, so `~` stands for a blank.
                Some(instead) => format!(" HETMP_SHMEM_OLD_(\"{}\");", instead.replace(' ', "~")),
                None => ";".to_owned(),
            };
            wrapped(group, &format!("{}{end}", routine.declaration()));
        }
    }
    groups
}

/// Adds a declaration, in lines of at most 110 characters.
fn wrapped(out: &mut String, text: &str) {
    const WIDTH: usize = 110;
    let mut line = String::new();
    for word in text.split(' ') {
        if line.len() + 1 + word.len() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line = format!("    {}", word.replace('~', " "));
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line += &word.replace('~', " ");
        }
    }
    out.push_str(&line);
    out.push('\n');
}

/// The types that a type-generic name selects from, and the family's name after the type.
fn set_of(family: &Family) -> (Set, &'static str) {
    match family.names {
        Names::Typed(set, what) => (set, what),
        _ => unreachable!("only typed families have a generic name"),
    }
}

/// The sets that generic names use, in order of first use.
fn sets(table: &[Family]) -> Vec<Set> {
    let mut sets = Vec::new();
    for family in table.iter().filter(|f| f.generic.is_some()) {
        let set = set_of(family).0;
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

/// The `_Generic` macros.
fn generics(table: &[Family]) -> String {
    let mut out = String::new();
    for set in sets(table) {
        let mut text = format!("#define HETMP_SHMEM_{}_(BEFORE, AFTER)", set.word());
        let types = set.distinct();
        for (i, t) in types.iter().enumerate() {
            let comma = if i + 1 < types.len() { "," } else { "" };
            let _ = write!(
                text,
                " \\\n    {}: BEFORE##{}##AFTER{comma}",
                t.basic, t.name
            );
        }
        out += &text;
        out += "\n\n";
    }
    let mut counts: Vec<usize> = table
        .iter()
        .filter(|f| f.generic.is_some() && f.context)
        .map(|f| f.arguments().len() + 1)
        .chain([4])
        .collect();
    counts.sort_unstable();
    counts.dedup();
    for n in counts {
        let names: Vec<String> = (1..=n).map(|i| format!("a{i}")).collect();
        let _ = writeln!(
            out,
            "#define HETMP_SHMEM_PICK{n}_({}, name, ...) name",
            names.join(", ")
        );
    }
    out.push('\n');
    for family in table {
        let Some(generic) = family.generic else {
            continue;
        };
        let (set, what) = set_of(family);
        let arguments = family.arguments();
        // The macro selects by the first argument that is a pointer to the type.
        let chosen = arguments
            .iter()
            .find(|a| !matches!(**a, "team"))
            .copied()
            .unwrap_or_default();
        let list = arguments.join(", ");
        let word = set.word();
        if family.context {
            let n = arguments.len() + 1;
            let _ = write!(
                out,
                "#define HETMP_SHMEM_{generic}_({list}) \\\n    \
                 _Generic(*({chosen}), HETMP_SHMEM_{word}_(shmem_, _{what}))({list})\n\
                 #define HETMP_SHMEM_ctx_{generic}_(ctx, {list}) \\\n    \
                 _Generic(*({chosen}), HETMP_SHMEM_{word}_(shmem_ctx_, _{what}))(ctx, {list})\n\
                 #define shmem_{generic}(...) \\\n    \
                 HETMP_SHMEM_PICK{n}_(__VA_ARGS__, HETMP_SHMEM_ctx_{generic}_, HETMP_SHMEM_{generic}_, \
                 0)(__VA_ARGS__)\n"
            );
        } else {
            let _ = write!(
                out,
                "#define shmem_{generic}({list}) \\\n    \
                 _Generic(*({chosen}), HETMP_SHMEM_{word}_(shmem_, _{what}))({list})\n"
            );
        }
    }
    out
}

/// The C++ overloads.
fn overloads(table: &[Family]) -> String {
    let mut out = String::new();
    for set in sets(table) {
        let mut text = format!("#define HETMP_SHMEM_{}_(X)", set.word());
        for t in set.distinct() {
            let _ = write!(text, " \\\n    X({}, {})", t.name, t.basic);
        }
        out += &text;
        out += "\n\n";
    }
    for family in table {
        let Some(generic) = family.generic else {
            continue;
        };
        let (set, what) = set_of(family);
        let list = family.arguments().join(", ");
        let back = if family.result == "void" {
            ""
        } else {
            "return "
        };
        let mut forms = vec![(String::new(), String::new(), "shmem_")];
        if family.context {
            forms.push((
                "shmem_ctx_t ctx, ".to_owned(),
                "ctx, ".to_owned(),
                "shmem_ctx_",
            ));
        }
        out += "#define HETMP_SHMEM_X_(NAME, TYPE) \\\n";
        let last = forms.len() - 1;
        for (i, (parameter, argument, before)) in forms.iter().enumerate() {
            let end = if i == last { "" } else { " \\" };
            let _ = writeln!(
                out,
                "    inline {} shmem_{generic}({parameter}{}) \\\n    \
                 {{ {back}{before}##NAME##_{what}({argument}{list}); }}{end}",
                family.result, family.parameters
            );
        }
        if generic == "wait_until" {
            // The deprecated C function of this name serves long.
            for t in set.distinct().iter().filter(|t| t.name != "long") {
                let _ = writeln!(out, "HETMP_SHMEM_X_({}, {})", t.name, t.basic);
            }
        } else {
            let _ = writeln!(out, "HETMP_SHMEM_{}_(HETMP_SHMEM_X_)", set.word());
        }
        out += "#undef HETMP_SHMEM_X_\n";
    }
    for set in sets(table) {
        let _ = writeln!(out, "#undef HETMP_SHMEM_{}_", set.word());
    }
    out
}

/// C++ overloads for C's complex types, for each routine that takes `std::complex` and for its type-generic name.
///
/// A program that compiles as C and as C++ passes `double _Complex *`, which does not convert to
/// `std::complex<double> *`.
fn c_complex(table: &[Family]) -> String {
    let mut out = String::new();
    for t in ["complexd", "complexf"] {
        let (cxx, c) = match t {
            "complexd" => (COMPLEX_DOUBLE, "hetmp_shmem_c_complexd_t"),
            _ => (COMPLEX_FLOAT, "hetmp_shmem_c_complexf_t"),
        };
        for family in table {
            let Names::Typed(set, what) = family.names else {
                continue;
            };
            if !set.types().any(|of| of.name == t) {
                continue;
            }
            let parameters = family.parameters.replace("TYPE", c);
            let arguments: Vec<String> = family
                .parameters
                .split(',')
                .zip(family.arguments())
                .map(|(parameter, name)| match parameter {
                    p if p.contains("const TYPE *") => {
                        format!("reinterpret_cast<const {cxx} *>({name})")
                    }
                    p if p.contains("TYPE *") => format!("reinterpret_cast<{cxx} *>({name})"),
                    _ => name.to_owned(),
                })
                .collect();
            let list = arguments.join(", ");
            let back = if family.result == "void" {
                ""
            } else {
                "return "
            };
            let routine = format!("shmem_{t}_{what}");
            let form = |out: &mut String, name: &str| {
                wrapped(
                    out,
                    &format!("inline {} {name}({parameters})", family.result),
                );
                wrapped(out, &format!("{{ {back}{routine}({list}); }}"));
            };
            form(&mut out, &routine);
            if let Some(generic) = family.generic {
                out += "#ifndef HETMP_SHMEM_NO_GENERICS\n";
                form(&mut out, &format!("shmem_{generic}"));
                out += "#endif\n";
            }
        }
    }
    out
}

/// The text of `docs/shmem-coverage.md`: the numbers of names, by group and specification.
#[must_use]
pub fn coverage_md(table: &[Family]) -> String {
    let mut out = String::from(
        "# OpenSHMEM coverage\n\n\
         <!-- Generated by cargo run -p hetmp-shmem-surface -- --write; do not edit. -->\n\n\
         Every routine is exported, as `NAME` and as `pNAME`. `1.5` and `1.6` say which specification a routine came\n\
         with or is still in; `before` are those that 1.5 removed. There is no Fortran interface: 1.5 removed it.\n\n\
         | group | routines | of them 1.6 only | deprecated | C11 generic names and C++ overloads |\n\
         | --- | ---: | ---: | ---: | --- |\n",
    );
    let mut groups: Vec<&str> = Vec::new();
    for family in table {
        if !groups.contains(&family.group) {
            groups.push(family.group);
        }
    }
    let mut sums = [0; 3];
    for group in groups {
        let families: Vec<&Family> = table.iter().filter(|f| f.group == group).collect();
        let count = |wanted: &dyn Fn(&Family) -> bool| -> usize {
            families
                .iter()
                .filter(|f| wanted(f))
                .map(|f| f.routines().len())
                .sum()
        };
        let row = [
            count(&|_| true),
            count(&|f| f.since == Since::V16),
            count(&|f| f.instead.is_some()),
        ];
        for (sum, n) in sums.iter_mut().zip(row) {
            *sum += n;
        }
        let generics: Vec<String> = families
            .iter()
            .filter_map(|f| f.generic)
            .map(|g| format!("`shmem_{g}`"))
            .collect();
        let _ = writeln!(
            out,
            "| {group} | {} | {} | {} | {} |",
            row[0],
            row[1],
            row[2],
            generics.join(" ")
        );
    }
    let _ = writeln!(
        out,
        "| **all** | **{}** | **{}** | **{}** | |",
        sums[0], sums[1], sums[2]
    );
    out
}
