//! The decoder of faulting instructions against GNU binutils: words with all values of the bits that tell kinds of
//! accesses apart, as far as the disassembler knows them.

use hetmp_dsm::backend::sigsegv::a64::writes;
use std::process::Command;

/// The disassembler, if there is one for this code. An emulated test finds this machine's `objdump`, too, which does
/// not know it.
fn disassembler() -> Option<&'static str> {
    let native = cfg!(target_arch = "aarch64").then_some("objdump");
    (["aarch64-linux-gnu-objdump"].into_iter())
        .chain(native)
        .find(|name| Command::new(name).arg("--version").output().is_ok())
}

/// Does an instruction of this name write memory? `None`: it does not access memory that a program may have.
fn by_name(name: &str, operands: &str) -> Option<bool> {
    match (name, operands.split(',').next().unwrap_or_default()) {
        ("dc", "zva" | "gva" | "gzva") => return Some(true),
        ("dc", "cvac" | "cvau" | "cvap" | "cvadp" | "civac") | ("ic", "ivau") => {
            return Some(false)
        }
        _ if !operands.contains('[') && !name.starts_with("ldr") => return None,
        _ => {}
    }
    let atomics = ["add", "clr", "eor", "set", "smax", "smin", "umax", "umin"];
    let begins = |all: &[&str]| all.iter().any(|b| name.starts_with(b));
    let is_atomic = atomics.iter().any(|a| {
        let rest = name.strip_prefix("ld").and_then(|n| n.strip_prefix(a));
        rest.is_some_and(|r| ["", "a", "l", "al"].contains(&r.trim_end_matches(['b', 'h'])))
    });
    if is_atomic || begins(&["cas", "swp", "st", "cpy"]) {
        return Some(true);
    }
    if name.starts_with("set") && operands.contains('!') {
        return Some(true);
    }
    begins(&["ld", "prf"]).then_some(false)
}

#[test]
fn words_as_binutils_reads_them() {
    let Some(disassembler) = disassembler() else {
        eprintln!("skipped: no objdump for 64-bit Arm (gcc-aarch64-linux-gnu)");
        return;
    };
    let mut words: Vec<u32> = Vec::new();
    // Bits 27 and 25 tell accesses from other instructions, but for those of scalable vectors.
    let accesses = |high: &u32| high & 0x50 == 0x40 || high & 0x4f0 == 0x420;
    for high in (0..1 << 11).filter(accesses) {
        for low in 0..1 << 6 {
            for registers in [(4, 6, 2), (31, 31, 7)] {
                let (second, base, first) = registers;
                words.push(high << 21 | second << 16 | low << 10 | base << 5 | first);
            }
        }
    }
    // Instructions on caches have names in the lower bits.
    words.extend((0..1 << 12).map(|low| 0xd50b_7000 | low));
    let path = std::env::temp_dir().join(format!("hetmp-a64-{}", std::process::id()));
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    std::fs::write(&path, bytes).expect("a file");
    let shown = Command::new(disassembler)
        .args([
            "-D",
            "-z",
            "-b",
            "binary",
            "-m",
            "aarch64",
            "-M",
            "no-aliases",
        ])
        .arg(&path)
        .output()
        .expect("objdump runs");
    std::fs::remove_file(&path).expect("the file goes");
    let text = String::from_utf8_lossy(&shown.stdout);
    let (mut known, mut wrong) = (0, Vec::new());
    for line in text.lines() {
        let mut parts = line.split('\t').skip(1);
        let (Some(word), Some(name)) = (parts.next(), parts.next()) else {
            continue;
        };
        let operands = parts.next().unwrap_or_default();
        let Ok(word) = u32::from_str_radix(word.trim(), 16) else {
            continue;
        };
        // What nobody defines may be read in any way: it ends the program before it accesses memory.
        if name.starts_with('.')
            || name == "udf"
            || line.contains("undefined")
            || line.contains("; ")
        {
            continue;
        }
        let expected = by_name(name, operands);
        known += usize::from(expected.is_some());
        if expected.is_some() && writes(word) != expected {
            wrong.push(format!("{word:08x} {name} {operands}: {:?}", writes(word)));
        }
    }
    let first = &wrong[..wrong.len().min(40)];
    assert!(
        wrong.is_empty(),
        "{} wrong, such as {first:#?}",
        wrong.len()
    );
    assert!(known > 20_000, "{known} words access memory");
}
