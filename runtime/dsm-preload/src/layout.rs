//! Compares processes: are they alike enough to be nodes of one program?
//!
//! The program's data holds addresses: of its functions, of libraries' functions (in its procedure linkage
//! table), of objects in the C library. An address means the same in two processes only if both have loaded
//! the same files at the same addresses, and if the C library has chosen the same variants of its functions,
//! which depends on the processor's features. Nodes that were forked are always alike. Nodes that a launcher
//! started on several machines compare themselves with node 0.
//!
//! All must have been built from the same sources: else they would not understand each other.
//!
//! Of a program for two instruction sets (`hetcc`) only what nodes share means the same everywhere: its variables and
//! functions. Nodes of two instruction sets compare which program it is, and where these are.

use crate::objects::Object;
use crate::offers::SOURCES;
use core::fmt::Write as _;
use hetmp_core::bootstrap::Job;
use hetmp_core::multi_isa::Half;
use hetmp_core::object::Place;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The line that describes an object, for comparing and for people to read.
fn identity(object: &Object) -> String {
    let id = Place::of(object.code.start)
        .map(|p| p.build_id)
        .filter(|id| !id.is_empty());
    let id = match id {
        Some(id) => hex(&id),
        None => format!("{:016x}", checksum(object)),
    };
    let name = match object.name.rsplit('/').next().unwrap_or_default() {
        "" => "program",
        name => name,
    };
    format!("{name} {id} at {:#x}", object.base)
}

/// A checksum of an object's code (FNV-1a), for objects without a build-id.
fn checksum(object: &Object) -> u64 {
    let code = object.code.clone();
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let at: *const u8 = core::ptr::with_exposed_provenance(code.start);
    for i in 0..code.len() {
        // SAFETY: the range covers the executable segments of a loaded object, which lie side by side.
        let byte = unsafe { at.add(i).read() };
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    sum
}

/// The line that describes the processor: the features by which the C library chooses variants of its
/// functions.
#[cfg(target_arch = "aarch64")]
fn processor() -> String {
    // SAFETY: getauxval has no preconditions.
    let features = |kind| unsafe { libc::getauxval(kind) };
    format!(
        "processor {:x} {:x}",
        features(libc::AT_HWCAP),
        features(libc::AT_HWCAP2)
    )
}

/// The same.
#[cfg(target_arch = "x86_64")]
fn processor() -> String {
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    #[allow(
        unused_unsafe,
        reason = "safe functions in newer versions of Rust than the oldest that is supported"
    )]
    // SAFETY: every x86-64 processor has the instruction.
    let (basic, first, seventh) = unsafe { (__cpuid(0), __cpuid(1), __cpuid_count(7, 0)) };
    format!(
        "processor {:x}-{:x}-{:x} {:08x} {:08x} {:08x} {:08x}",
        basic.ebx, basic.edx, basic.ecx, first.ecx, first.edx, seventh.ebx, seventh.ecx
    )
}

/// The lines that describe what nodes of two instruction sets have in common.
fn common(half: Option<&Half>) -> [String; 2] {
    let of = |id: Option<&[u8; 16]>| id.map_or("not of hetcc".to_owned(), |id| hex(id));
    [
        format!("program {}", of(half.map(|h| &h.program))),
        format!("layout {}", of(half.map(|h| &h.layout))),
    ]
}

/// Compares this process with rank 0. Every process of the job must call this function. Returns whether all are of one
/// instruction set. `half`: what the program says of itself, if it is one for two.
///
/// # Errors
/// One line that names what differs.
pub(crate) fn compare(
    job: &mut dyn Job,
    objects: &[Object],
    half: Option<&Half>,
) -> Result<bool, String> {
    let text = |e: hetmp_core::bootstrap::Error| e.to_string();
    let machine = std::env::consts::ARCH;
    let common = common(half);
    job.put("dsm.machine", machine.as_bytes()).map_err(text)?;
    job.put("dsm.sources", SOURCES.as_bytes()).map_err(text)?;
    let mut mine = vec![processor()];
    mine.extend(objects.iter().filter(|o| !o.code.is_empty()).map(identity));
    let rank = job.rank();
    if rank == 0 {
        for (i, line) in common.iter().enumerate() {
            job.put(&format!("dsm.common.{i}"), line.as_bytes())
                .map_err(text)?;
        }
        job.put("dsm.count", mine.len().to_string().as_bytes())
            .map_err(text)?;
        for (i, line) in mine.iter().enumerate() {
            job.put(&format!("dsm.object.{i}"), line.as_bytes())
                .map_err(text)?;
        }
    }
    job.fence().map_err(text)?;
    let size = job.size();
    let mut of = |node: u32, key: &str| -> Result<String, String> {
        let value = job.get(node, key).map_err(text)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&value).into_owned())
    };
    let mut alike = true;
    for node in 0..size {
        alike &= of(node, "dsm.machine")? == machine;
        // Every node looks at all: those of a version that does not look are refused by the others.
        let theirs = of(node, "dsm.sources")?;
        if theirs != SOURCES {
            return Err(format!(
                "node {rank}: libhetmp_dsm.so: '{SOURCES}': built from other sources than node {node}'s (expected \
                 '{theirs}')"
            ));
        }
    }
    if rank == 0 {
        return Ok(alike);
    }
    let mut of_origin = |key: &str| of(0, key);
    if !alike {
        for (i, here) in common.iter().enumerate() {
            let theirs = of_origin(&format!("dsm.common.{i}"))?;
            if *here != theirs || half.is_none() {
                return Err(format!(
                    "node {rank}: {machine}: {here}, on node 0: {theirs} (expected two halves of one program, which \
                     hetcc makes)"
                ));
            }
        }
        return Ok(false);
    }
    let count: usize = of_origin("dsm.count")?.parse().unwrap_or(0);
    for i in 0..count.max(mine.len()) {
        let theirs = of_origin(&format!("dsm.object.{i}"))?;
        let here = mine.get(i).map_or("nothing", String::as_str);
        let theirs = if theirs.is_empty() {
            "nothing"
        } else {
            &theirs
        };
        if here != theirs {
            return Err(format!(
                "node {rank}: {here} (expected {theirs}, as on node 0: the same files at the same addresses, on like \
                 processors)"
            ));
        }
    }
    Ok(true)
}
