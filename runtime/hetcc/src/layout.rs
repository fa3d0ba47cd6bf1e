//! Where everything lies: one address in both halves for each function, variable and named constant.
//!
//! Parts are paired by object and name. A compiler numbers static variables of functions (`count.0`, `count.3`), and
//! may number them otherwise on the other machine: these are paired by their order, or refused if one half has more of
//! them. What only one half has (a function that the other's compiler has put into its callers) stays where its linker
//! puts it, unless it is a variable: those of one half have their place in both.

use crate::machine::{Aarch64, Machine, X86_64};
use crate::parts::{is_clone, Kind, Part, Parts};
use hetmp_core::multi_isa::{Half, ALIGN};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

/// The first address that both halves share. Below is what each half's linker places: start code, the stubs of calls
/// into libraries, functions of one half.
const START: u64 = 0x0200_0000;
/// A call of AArch64 reaches 128 MiB, and what is called may lie at the far end of what stands before [`START`].
const MOST_TEXT: u64 = 92 << 20;
/// Room for the stubs that AArch64's linker puts behind functions, to go around faults of processors.
const STUBS: u64 = 64 << 10;

/// An object of both machines.
pub(crate) struct Both {
    /// What people call it: its file, or archive and member.
    pub(crate) name: String,
    pub(crate) parts: [Parts; 2],
}

/// A place in both halves.
struct Place {
    kind: Kind,
    at: u64,
    size: u64,
    name: String,
    /// The pattern of the linker's script in each half.
    patterns: [Option<String>; 2],
}

pub(crate) struct Layout {
    places: Vec<Place>,
    text: Range<u64>,
    constants: Range<u64>,
    data: Range<u64>,
    /// Where the variables without a value begin.
    empty: u64,
    own: [Range<u64>; 2],
    pub(crate) warnings: Vec<String>,
}

/// A part of each half that belong together, or of one alone.
type Paired<'a> = (usize, [Option<&'a Part>; 2]);

impl Layout {
    /// # Errors
    /// The lines that name what cannot be shared.
    pub(crate) fn of(objects: &[Both]) -> Result<Layout, Vec<String>> {
        let mut errors = Vec::new();
        let mut paired: Vec<Paired<'_>> = Vec::new();
        for (i, object) in objects.iter().enumerate() {
            match pairs(object) {
                Ok(found) => paired.extend(found.into_iter().map(|p| (i, p))),
                Err(error) => errors.push(error),
            }
        }
        merge_common(&mut paired);
        paired.retain(|(_, halves)| is_shared(halves));
        for (i, halves) in &paired {
            if let Err(error) = check(&objects[*i].name, halves) {
                errors.push(error);
            }
        }
        let shared: BTreeSet<&str> = paired
            .iter()
            .flat_map(|(_, halves)| halves.iter().flatten())
            .filter(|p| p.kind == Kind::Text)
            .flat_map(|p| p.symbols.keys().map(String::as_str))
            .collect();
        for object in objects {
            for (machine, parts) in Machine::BOTH.iter().zip(&object.parts) {
                let private = parts
                    .addressed
                    .iter()
                    .find(|name| !shared.contains(name.as_str()));
                if let Some(name) = private {
                    errors.push(format!(
                        "{}: function '{name}': has an address in the half for {} alone (expected in both; not static, \
                         or of another name)",
                        object.name,
                        machine.name()
                    ));
                }
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let layout = place(objects, &paired);
        let size = layout.text.end - layout.text.start;
        match size > MOST_TEXT {
            true => Err(vec![format!(
                "text: '{size}': more bytes than calls of aarch64 reach over (expected at most {MOST_TEXT})"
            )]),
            false => Ok(layout),
        }
    }

    /// The script that tells a machine's linker.
    pub(crate) fn script(&self, machine: Machine) -> String {
        let half = machine as usize;
        let mut script = "SECTIONS\n{\n".to_owned();
        let mut section = |name: &str, range: &Range<u64>, kinds: &[Kind], rest: &str| {
            if range.is_empty() {
                return;
            }
            let _ = writeln!(script, "  .hetmp.{name} {:#x} :\n  {{", range.start);
            for place in self.places.iter().filter(|p| kinds.contains(&p.kind)) {
                if let Some(pattern) = &place.patterns[half] {
                    let _ = writeln!(script, "    . = {:#x}; {pattern}", place.at - range.start);
                }
            }
            // The end is a byte of the section: what stands there must be in no other section's page.
            let size = range.end - range.start;
            let _ = writeln!(script, "{rest}    . = {size:#x};\n  }}");
        };
        section("text", &self.text, &[Kind::Text], "");
        section("constants", &self.constants, &[Kind::Constant], "");
        section("data", &(self.data.start..self.empty), &[Kind::Data], "");
        section("bss", &(self.empty..self.data.end), &[Kind::Bss], "");
        section(
            "own",
            &self.own[half],
            &[],
            "    *hetcc-*.o(.rodata .rodata.*)\n",
        );
        section("other", &self.own[1 - half], &[], "    *(.hetmp.other)\n");
        script.push_str("}\nINSERT AFTER .bss;\n");
        script
    }

    /// What a half's note says. `program`: the hash of both halves.
    pub(crate) fn half(&self, machine: Machine, program: [u8; 16]) -> Half {
        let (half, other) = match machine {
            X86_64 => (0, Aarch64),
            Aarch64 => (1, X86_64),
        };
        let mut hash = Sha256::new();
        for p in &self.places {
            hash.update(format!("{:?} {} {:#x} {}\n", p.kind, p.name, p.at, p.size));
        }
        Half {
            machine: machine.number(),
            other_machine: other.number(),
            program,
            layout: short(hash),
            text: self.text.clone(),
            constants: self.constants.clone(),
            data: self.data.clone(),
            own: self.own[half].clone(),
            other: self.own[1 - half].clone(),
        }
    }
}

/// The first half of a hash.
pub(crate) fn short(hash: Sha256) -> [u8; 16] {
    let hash = hash.finalize();
    core::array::from_fn(|i| hash[i])
}

/// A name and the numbers at its end, which a compiler has given.
fn numbered(name: &str) -> (&str, Vec<u64>) {
    let mut stem = name;
    let mut numbers = Vec::new();
    while let Some((rest, number)) = stem.rsplit_once('.') {
        let Ok(number) = number.parse() else { break };
        stem = rest;
        numbers.insert(0, number);
    }
    (stem, numbers)
}

/// The parts of one object: which belong together?
fn pairs(object: &Both) -> Result<Vec<[Option<&Part>; 2]>, String> {
    let mut groups: BTreeMap<(bool, &str), [Vec<&Part>; 2]> = BTreeMap::new();
    for (half, parts) in object.parts.iter().enumerate() {
        for part in &parts.placed {
            let is_text = part.kind == Kind::Text;
            // The number of a region or clone is a part of its name.
            let stem = match is_text && (is_clone(&part.name) || part.name.contains("._omp")) {
                true => part.name.as_str(),
                false => numbered(&part.name).0,
            };
            groups.entry((is_text, stem)).or_default()[half].push(part);
        }
    }
    let mut found = Vec::new();
    for ((is_text, stem), [mut x86, mut arm]) in groups {
        let order = |p: &&Part| numbered(&p.name).1;
        x86.sort_by_key(order);
        arm.sort_by_key(order);
        if x86.len() == arm.len() {
            found.extend(x86.into_iter().zip(arm).map(|(x, a)| [Some(x), Some(a)]));
            continue;
        }
        let is_free = |p: &&Part| is_text || p.kind == Kind::Constant && p.is_local;
        if !x86.is_empty() && !arm.is_empty() && !x86.iter().chain(&arm).all(is_free) {
            return Err(format!(
                "{}: static variable '{stem}': is there {} times on x86_64 and {} times on aarch64 (expected different \
                 names)",
                object.name,
                x86.len(),
                arm.len()
            ));
        }
        found.extend(x86.into_iter().map(|x| [Some(x), None]));
        found.extend(arm.into_iter().map(|a| [None, Some(a)]));
    }
    Ok(found)
}

/// Of what several objects define alike, each linker keeps one: it has one place.
fn merge_common(paired: &mut Vec<Paired<'_>>) {
    let mut first: BTreeMap<(Kind, String), usize> = BTreeMap::new();
    let mut kept: Vec<Paired<'_>> = Vec::new();
    for (i, halves) in paired.drain(..) {
        let Some(part) = halves.iter().flatten().find(|p| p.is_common) else {
            kept.push((i, halves));
            continue;
        };
        match first.get(&(part.kind, part.section.clone())) {
            Some(&at) => {
                for (kept, more) in kept[at].1.iter_mut().zip(halves) {
                    // The larger one: objects may have been compiled with different options.
                    if kept.map_or(0, |p| p.size) < more.map_or(0, |p| p.size) {
                        *kept = more;
                    }
                }
            }
            None => {
                first.insert((part.kind, part.section.clone()), kept.len());
                kept.push((i, halves));
            }
        }
    }
    *paired = kept;
}

/// Functions and constants of one half are its own.
fn is_shared(halves: &[Option<&Part>; 2]) -> bool {
    let both = halves.iter().all(Option::is_some);
    both || halves
        .iter()
        .flatten()
        .any(|p| matches!(p.kind, Kind::Data | Kind::Bss))
}

/// Is a variable the same thing in both halves?
fn check(object: &str, halves: &[Option<&Part>; 2]) -> Result<(), String> {
    let (x, a) = match halves {
        [Some(x), Some(a)] if x.kind != Kind::Text => (x, a),
        [None, Some(a)] if a.kind == Kind::Data => {
            return Err(format!(
                "{object}: variable '{}': has a value in the half for aarch64 alone (expected in both; not static)",
                a.name
            ));
        }
        _ => return Ok(()),
    };
    if x.size != a.size || x.symbols.values().ne(a.symbols.values()) {
        return Err(format!(
            "{object}: variable '{}': has {} bytes on x86_64 and {} on aarch64 (expected one size)",
            x.name, x.size, a.size
        ));
    }
    if (x.kind == Kind::Constant) != (a.kind == Kind::Constant) {
        return Err(format!(
            "{object}: variable '{}': is read-only in one half alone (expected const in both)",
            x.name
        ));
    }
    Ok(())
}

fn place(objects: &[Both], paired: &[Paired<'_>]) -> Layout {
    let kind = |halves: &[Option<&Part>; 2]| {
        let kinds = halves.iter().flatten().map(|p| p.kind);
        // A variable with a value in one half needs its bytes in both.
        kinds.min().unwrap_or(Kind::Text)
    };
    let mut order: Vec<&Paired<'_>> = paired.iter().collect();
    order.sort_by_key(|(_, halves)| kind(halves));
    let mut layout = Layout {
        places: Vec::new(),
        text: START..START,
        constants: START..START,
        data: START..START,
        empty: START,
        own: [START..START, START..START],
        warnings: Vec::new(),
    };
    let mut at = START;
    for wanted in [Kind::Text, Kind::Constant, Kind::Data, Kind::Bss] {
        let start = at;
        for (i, halves) in order.iter().filter(|(_, h)| kind(h) == wanted) {
            let parts = || halves.iter().flatten();
            let align = parts().map(|p| p.align).max().unwrap_or(1).max(16);
            let size = parts().map(|p| p.size).max().unwrap_or(0);
            at = at.next_multiple_of(align);
            layout.places.push(Place {
                kind: wanted,
                at,
                size,
                name: parts().next().map_or_else(String::new, |p| p.name.clone()),
                patterns: halves.map(|p| p.map(|p| pattern(*i, p))),
            });
            at += size;
        }
        match wanted {
            Kind::Text => {
                at = (at + STUBS).next_multiple_of(ALIGN);
                layout.text = start..at;
            }
            Kind::Constant => {
                at = at.next_multiple_of(ALIGN);
                layout.constants = start..at;
                for half in [0, 1] {
                    let loose: u64 = objects.iter().map(|o| o.parts[half].loose).sum();
                    let unpaired = objects.iter().flat_map(|o| &o.parts[half].placed);
                    // Constants of one half are there, too; those that have a place are counted in vain.
                    let unpaired: u64 = unpaired
                        .filter(|p| p.kind == Kind::Constant)
                        .map(|p| p.size + p.align)
                        .sum();
                    let end = (at + loose + unpaired).next_multiple_of(ALIGN);
                    layout.own[half] = at..end;
                    at = end;
                }
                layout.data.start = at;
            }
            Kind::Data => {
                let parts = paired.iter().flat_map(|(_, h)| h.iter().flatten());
                let align = parts.filter(|p| p.kind == Kind::Bss).map(|p| p.align).max();
                at = at.next_multiple_of(align.unwrap_or(1).max(64));
                layout.empty = at;
            }
            Kind::Bss => layout.data.end = at.next_multiple_of(ALIGN),
        }
    }
    for object in objects {
        let [x86, _] = &object.parts;
        for (variable, whose) in &x86.points_out {
            let is_own = objects.iter().any(|o| {
                o.parts[0].defined.contains(whose) || o.parts[0].unplaced.contains_key(whose)
            });
            if !is_own {
                layout.warnings.push(format!(
                    "{}: variable '{variable}': holds the address of '{whose}', another in each half (expected a \
                     function of the program)",
                    object.name
                ));
            }
        }
    }
    layout
}

/// How a linker's script names a part.
fn pattern(object: usize, part: &Part) -> String {
    match part.is_common {
        true => format!("*hetcc-*.o({})", part.section),
        false => format!("*{}({})", file_name(object), part.section),
    }
}

/// The name under which an object is linked.
pub(crate) fn file_name(object: usize) -> String {
    format!("hetcc-{object}.o")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, kind: Kind, size: u64) -> Part {
        Part {
            name: name.to_owned(),
            section: format!(".x.{name}"),
            kind,
            size,
            align: 8,
            is_common: false,
            is_local: true,
            symbols: BTreeMap::from([(name.to_owned(), (0, size))]),
        }
    }

    fn both(x86: Vec<Part>, arm: Vec<Part>) -> Both {
        let parts = [x86, arm].map(|placed| Parts {
            placed,
            ..Parts::default()
        });
        Both {
            name: "a.c".to_owned(),
            parts,
        }
    }

    #[test]
    fn more_text_than_calls_reach_over_is_refused() {
        let of = |size| {
            let code = || vec![part("f", Kind::Text, size)];
            Layout::of(&[both(code(), code())]).err()
        };
        assert_eq!(of(64 << 20), None);
        let refused = of(100 << 20).expect("refused").concat();
        assert!(
            refused.starts_with("text: '104923136': more bytes than calls"),
            "{refused}"
        );
    }

    /// A compiler's numbers differ, and the order says which is which; one that is there twice in one half and once in
    /// the other could be either.
    #[test]
    fn numbered_variables_are_paired_by_their_order() {
        let variable = |name| part(name, Kind::Data, 4);
        let x86 = || vec![variable("n.9"), variable("n.10"), variable("m")];
        let all = [both(
            x86(),
            vec![variable("m"), variable("n.3"), variable("n.4")],
        )];
        let layout = Layout::of(&all).unwrap_or_else(|e| panic!("{e:?}"));
        let found: Vec<_> = layout
            .places
            .iter()
            .map(|p| p.patterns.clone().map(Option::unwrap))
            .collect();
        let pattern = |name: &str| format!("*hetcc-0.o(.x.{name})");
        for (x86, arm) in [("n.9", "n.3"), ("n.10", "n.4"), ("m", "m")] {
            assert!(found.contains(&[pattern(x86), pattern(arm)]), "{found:?}");
        }
        let refused = Layout::of(&[both(x86(), vec![variable("m"), variable("n.3")])])
            .err()
            .expect("refused");
        assert!(
            refused[0].starts_with("a.c: static variable 'n': is there 2 times"),
            "{refused:?}"
        );
    }

    #[test]
    fn a_variable_of_another_size_is_refused() {
        let refused = Layout::of(&[both(
            vec![part("v", Kind::Bss, 12)],
            vec![part("v", Kind::Bss, 16)],
        )])
        .err();
        let expected =
            "a.c: variable 'v': has 12 bytes on x86_64 and 16 on aarch64 (expected one size)";
        assert_eq!(refused, Some(vec![expected.to_owned()]));
    }
}
