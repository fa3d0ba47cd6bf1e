//! Links both halves at the same addresses, and puts them into one file.

use crate::command::{Command, Word};
use crate::compile::options;
use crate::layout::{file_name, short, Both, Layout};
use crate::machine::{run, Aarch64, Language, Machine, X86_64};
use crate::parts::Parts;
use hetmp_core::file;
use hetmp_core::multi_isa::{HALF, NOTE};
use object::{Object as _, ObjectSection as _};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// An object of both machines, before it is known whether it takes part.
struct Candidate {
    both: Both,
    bytes: [Vec<u8>; 2],
}

/// What the linker is given in a place of the command line.
enum Item {
    /// Objects: all of them, or those of an archive as they are needed.
    Objects(Vec<Candidate>, bool),
    /// For both linkers, as it is.
    Other(Vec<String>),
}

/// Links what the command names. `objects`: what was made of its sources, in their order.
pub(crate) fn link(
    command: &Command,
    language: Language,
    objects: &[PathBuf],
    to: &Path,
    work: &Path,
) -> Result<(), Vec<String>> {
    let one = |error: String| vec![error];
    let (objects, order) = taking_part(items(command, objects).map_err(one)?);
    let folders = Machine::BOTH.map(|m| work.join(m.name()));
    for folder in &folders {
        std::fs::create_dir_all(folder).map_err(|e| one(file_error(folder, &e)))?;
    }
    let mut both = Vec::new();
    for (i, object) in objects.into_iter().enumerate() {
        for (folder, bytes) in folders.iter().zip(&object.bytes) {
            write(&folder.join(file_name(i)), bytes).map_err(one)?;
        }
        both.push(object.both);
    }
    unplaced(&mut both, &folders)?;
    let layout = Layout::of(&both)?;
    for warning in &layout.warnings {
        hetmp_core::report::warn(format_args!("{warning}"));
    }
    let ends = Machine::BOTH.map(|m| work.join(format!("linked-{}", m.name())));
    for (i, machine) in Machine::BOTH.into_iter().enumerate() {
        extra(&layout, machine, &folders[i]).map_err(one)?;
        let mut linker = machine.compiler(language);
        linker
            .args(options(command, machine))
            .args(["-no-pie", "-fno-lto", "-fuse-ld=bfd"]);
        linker
            .arg("-Wl,-z,relro")
            .arg("-T")
            .arg(folders[i].join("script.ld"));
        for item in &order {
            match item {
                Ok(object) => linker.arg(folders[i].join(file_name(*object))),
                Err(words) => linker.args(words),
            };
        }
        if both.len() > order.iter().filter(|o| o.is_ok()).count() {
            linker.arg(folders[i].join(file_name(both.len() - 1)));
        }
        linker
            .arg(folders[i].join("extra.o"))
            .arg("-o")
            .arg(&ends[i]);
        run(&mut linker).map_err(|e| {
            one(format!(
                "{e}: the half for {} was not linked",
                machine.name()
            ))
        })?;
    }
    finish(&layout, &ends, to, work).map_err(one)
}

fn file_error(path: &Path, error: &std::io::Error) -> String {
    format!(
        "file: '{}': {error} (expected one that can be used)",
        path.display()
    )
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    file::bytes(path, file::LARGE).map_err(|e| file_error(path, &e))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    file::put(path, bytes).map_err(|e| file_error(path, &e))
}

/// What the command line gives to the linker, in its order.
fn items(command: &Command, objects: &[PathBuf]) -> Result<Vec<Item>, String> {
    let mut objects = objects.iter();
    let mut folders: Vec<&str> = Vec::new();
    for words in command.options().filter(|w| w[0].starts_with("-L")) {
        folders.push(words.get(1).map_or(&words[0][2..], String::as_str));
    }
    let mut items = Vec::new();
    let mut whole = false;
    for word in &command.words {
        match word {
            Word::Source(source) => {
                let object = objects
                    .next()
                    .ok_or_else(|| format!("source: '{source}': has no object"))?;
                items.push(Item::Objects(
                    vec![candidate(source.clone(), read(object)?)?],
                    true,
                ));
            }
            Word::Object(path) => items.push(Item::Objects(
                vec![candidate(path.clone(), read(Path::new(path))?)?],
                true,
            )),
            Word::Archive(path) => match archive(path)? {
                Some(members) => items.push(Item::Objects(members, whole)),
                None => {
                    return Err(format!(
                    "archive: '{path}': was not made by hetcc (expected objects of hetcc in it)"
                ))
                }
            },
            Word::Library(name) => {
                let found = folders
                    .iter()
                    .map(|f| Path::new(f).join(format!("lib{name}.a")))
                    .find(|p| p.exists());
                let ours = match found {
                    Some(path) => archive(&path.display().to_string())?,
                    None => None,
                };
                items.push(match ours {
                    Some(members) => Item::Objects(members, whole),
                    None => Item::Other(vec![format!("-l{name}")]),
                });
            }
            Word::Option(words) => {
                for option in words[0].split(',') {
                    match option {
                        "--whole-archive" => whole = true,
                        "--no-whole-archive" => whole = false,
                        _ => {}
                    }
                }
            }
        }
    }
    Ok(items)
}

fn candidate(name: String, bytes: Vec<u8>) -> Result<Candidate, String> {
    let arm = half(&bytes).map(<[u8]>::to_vec);
    let Some(arm) = arm else {
        return Err(format!(
            "object: '{name}': was not made by hetcc (expected one that hetcc has compiled)"
        ));
    };
    let read = |bytes: &[u8]| Parts::read(bytes).map_err(|what| format!("{name}: {what}"));
    let parts = [read(&bytes)?, read(&arm)?];
    Ok(Candidate {
        both: Both { name, parts },
        bytes: [bytes, arm],
    })
}

/// The other half in an object or program.
pub(crate) fn half(bytes: &[u8]) -> Option<&[u8]> {
    let file = object::File::parse(bytes).ok()?;
    file.section_by_name(HALF)?.data().ok()
}

/// The members of an archive; `None` if none was made by `hetcc`.
fn archive(path: &str) -> Result<Option<Vec<Candidate>>, String> {
    let bytes = read(Path::new(path))?;
    let broken =
        |e: object::Error| format!("archive: '{path}': {e} (expected one that ar has made)");
    let archive = object::read::archive::ArchiveFile::parse(bytes.as_slice()).map_err(broken)?;
    if archive.is_thin() {
        return Err(format!(
            "archive: '{path}': has names of files only (expected one made without ar's T)"
        ));
    }
    let mut members = Vec::new();
    let mut ours = false;
    for member in archive.members() {
        let member = member.map_err(broken)?;
        let name = format!("{path}({})", String::from_utf8_lossy(member.name()));
        // A copy: in an archive members lie at odd places, at which no object can be read.
        let data = member.data(bytes.as_slice()).map_err(broken)?.to_vec();
        ours |= half(&data).is_some();
        members.push((name, data));
    }
    if !ours && !members.is_empty() {
        return Ok(None);
    }
    members
        .into_iter()
        .map(|(name, data)| candidate(name, data))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// The objects that take part, and the order of what is linked: numbers of objects, or words.
///
/// Both halves take the same members of archives: all that define what is undefined in either half.
#[allow(clippy::type_complexity, reason = "used once")]
fn taking_part(items: Vec<Item>) -> (Vec<Candidate>, Vec<Result<usize, Vec<String>>>) {
    let mut defined: BTreeSet<String> = BTreeSet::new();
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    let mut note = |candidate: &Candidate, wanted: &mut BTreeSet<String>| {
        for parts in &candidate.both.parts {
            defined.extend(parts.defined.iter().cloned());
            defined.extend(parts.unplaced.keys().cloned());
            wanted.extend(parts.undefined.iter().cloned());
        }
        wanted.retain(|name| !defined.contains(name));
    };
    for item in &items {
        if let Item::Objects(members, true) = item {
            members.iter().for_each(|m| note(m, &mut wanted));
        }
    }
    let mut taken: BTreeMap<(usize, usize), ()> = BTreeMap::new();
    loop {
        let before = taken.len();
        for (i, item) in items.iter().enumerate() {
            let Item::Objects(members, whole) = item else {
                continue;
            };
            for (j, member) in members.iter().enumerate() {
                let mut names = member.both.parts.iter().flat_map(|p| &p.defined);
                if *whole || !taken.contains_key(&(i, j)) && names.any(|n| wanted.contains(n)) {
                    taken.insert((i, j), ());
                    note(member, &mut wanted);
                }
            }
        }
        if taken.len() == before {
            break;
        }
    }
    let (mut objects, mut order) = (Vec::new(), Vec::new());
    for (i, item) in items.into_iter().enumerate() {
        match item {
            Item::Other(words) => order.push(Err(words)),
            Item::Objects(members, _) => {
                for (j, member) in members.into_iter().enumerate() {
                    if taken.contains_key(&(i, j)) {
                        order.push(Ok(objects.len()));
                        objects.push(member);
                    }
                }
            }
        }
    }
    (objects, order)
}

/// Variables that the linker would place as it likes (`COMMON`) get an object of their own.
fn unplaced(both: &mut Vec<Both>, folders: &[PathBuf; 2]) -> Result<(), Vec<String>> {
    let defined: BTreeSet<&String> = both
        .iter()
        .flat_map(|b| b.parts.iter().flat_map(|p| &p.defined))
        .collect();
    let mut all: BTreeMap<&String, [(u64, u64); 2]> = BTreeMap::new();
    for object in both.iter() {
        for (half, parts) in object.parts.iter().enumerate() {
            for (name, &(size, align)) in parts.unplaced.iter().filter(|u| !defined.contains(u.0)) {
                let known = &mut all.entry(name).or_default()[half];
                *known = (known.0.max(size), known.1.max(align));
            }
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    let mut source = String::new();
    for (name, [x, a]) in &all {
        if x.0 != a.0 {
            return Err(vec![format!(
                "variable '{name}': has {} bytes on x86_64 and {} on aarch64 (expected one size)",
                x.0, a.0
            )]);
        }
        source.push_str(&format!(
            ".section .bss.{name},\"aw\",%nobits\n.balign {}\n.globl {name}\n.type {name},%object\n\
             .size {name},{size}\n{name}: .zero {size}\n",
            x.1.max(a.1),
            size = x.0
        ));
    }
    let mut parts: [Parts; 2] = Default::default();
    for (i, machine) in Machine::BOTH.into_iter().enumerate() {
        let object = folders[i].join(file_name(both.len()));
        assemble(machine, &source, &object).map_err(|e| vec![e])?;
        let bytes = read(&object).map_err(|e| vec![e])?;
        parts[i] = Parts::read(&bytes).map_err(|e| vec![e])?;
    }
    both.push(Both {
        name: "COMMON".to_owned(),
        parts,
    });
    Ok(())
}

fn assemble(machine: Machine, source: &str, object: &Path) -> Result<(), String> {
    let text = object.with_extension("s");
    let source = format!("{source}.section .note.GNU-stack,\"\",%progbits\n");
    write(&text, source.as_bytes())?;
    run(machine
        .compiler(Language::C)
        .arg("-c")
        .arg(&text)
        .arg("-o")
        .arg(object))
}

/// The linker's script, and the object with the note and the room for the other half's constants.
fn extra(layout: &Layout, machine: Machine, folder: &Path) -> Result<(), String> {
    write(&folder.join("script.ld"), layout.script(machine).as_bytes())?;
    let half = layout.half(machine, [0; 16]);
    let bytes: Vec<String> = half.to_bytes().iter().map(u8::to_string).collect();
    let room = match half.other.end - half.other.start {
        0 => String::new(),
        bytes => format!(".zero {bytes}\n"),
    };
    let source = format!(
        ".section {NOTE},\"a\",%note\n.balign 4\n.long 6, {}, 1\n.asciz \"hetmp\"\n.balign 4\n.byte {}\n.balign 4\n\
         .section .hetmp.other,\"a\",%progbits\n{room}",
        bytes.len(),
        bytes.join(",")
    );
    assemble(machine, &source, &folder.join("extra.o"))
}

/// Gives each half the other's constants and the name of both, and puts the second into the first's file.
fn finish(layout: &Layout, ends: &[PathBuf; 2], to: &Path, work: &Path) -> Result<(), String> {
    let mut bytes = [read(&ends[0])?, read(&ends[1])?];
    let mut hash = Sha256::new();
    bytes.iter().for_each(|b| hash.update(b));
    let program = short(hash);
    let place = |bytes: &[u8], name: &str| -> Result<Option<(usize, usize)>, String> {
        let broken =
            |e: object::Error| format!("program: {e} (expected one that the linker has made)");
        let file = object::File::parse(bytes).map_err(broken)?;
        let section = file.section_by_name(name);
        let range = section.and_then(|s| s.file_range());
        Ok(range.map(|r| (r.0 as usize, r.1 as usize)))
    };
    let mut own = [Vec::new(), Vec::new()];
    for half in [0, 1] {
        if let Some((at, size)) = place(&bytes[half], ".hetmp.own")? {
            own[half] = bytes[half][at..at + size].to_vec();
        }
    }
    for (half, machine) in Machine::BOTH.into_iter().enumerate() {
        let note = layout.half(machine, program).to_bytes();
        let missing =
            || format!("program: has no section {NOTE} (expected that the linker keeps it)");
        let (at, size) = place(&bytes[half], NOTE)?.ok_or_else(missing)?;
        bytes[half][at + size - note.len()..at + size].copy_from_slice(&note);
        if let Some((at, size)) = place(&bytes[half], ".hetmp.other")? {
            let size = size.min(own[1 - half].len());
            bytes[half][at..at + size].copy_from_slice(&own[1 - half][..size]);
        }
        write(&ends[half], &bytes[half])?;
    }
    let joined = work.join("joined");
    let mut objcopy = X86_64.tool("objcopy");
    objcopy
        .arg(format!(
            "--add-section={HALF}={}",
            ends[Aarch64 as usize].display()
        ))
        .arg(format!("--set-section-flags={HALF}=noload,readonly"))
        .arg(&ends[X86_64 as usize])
        .arg(&joined);
    run(&mut objcopy)?;
    // A program that runs keeps its file. What is no file (`-o /dev/null`) stays.
    if std::fs::symlink_metadata(to).is_ok_and(|m| m.is_file() || m.is_symlink()) {
        std::fs::remove_file(to).map_err(|e| file_error(to, &e))?;
    }
    std::fs::copy(&joined, to).map_err(|e| file_error(to, &e))?;
    Ok(())
}
