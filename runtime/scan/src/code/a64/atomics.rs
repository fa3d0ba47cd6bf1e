//! Atomic operations that compilers call as functions (`__aarch64_ldadd4_acq_rel`): each asks whether the processor has
//! an instruction for it, and else does the same in a loop of an exclusive load and store. They are code of the object
//! and mostly without a name, so they are known by what they do. Callers are read as if they had the instruction.

use super::{bits, Lower};
use crate::code::{Access, FlagsWritten, Flow, Instruction, Op, Register, Used, VECTORS};
use crate::state::VECTOR;
use crate::Machine;

/// Such a function is no longer, in words.
const LONGEST: usize = 16;
const RETURNS: u32 = 0xd65f_03c0;

/// The steps of a call, or a jump, at `at` to a function of that kind that begins with `bytes`, and how many of these
/// show it.
pub(super) fn called(bytes: &[u8], at: u64, comes_back: bool) -> Option<(Vec<Instruction>, u64)> {
    let words = bytes.chunks_exact(4).take(LONGEST);
    let words = words.map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default()));
    let words: Vec<u32> = words.collect();
    // A place for jumps may come first.
    let body = words.strip_prefix(&[0xd503_245f]).unwrap_or(&words);
    let [page, load, branch, atomic, RETURNS, rest @ ..] = body else {
        return None;
    };
    let asks = page & 0x9f00_001f == 0x9000_0010
        && load & 0xffc0_03ff == 0x3940_0210
        && *branch == 0x3400_0070;
    if !asks || !is_atomic(*atomic) || !does_the_same(rest, *atomic) {
        return None;
    }
    let mut lower = Lower {
        at,
        steps: Vec::new(),
    };
    lower.memory(*atomic)?;
    lower.loses();
    if !comes_back {
        lower.flow(Flow::Returns, None);
    }
    lower.steps.last_mut()?.behind = at + 4;
    Some((lower.steps, 4 * words.len() as u64))
}

/// With the arguments of a call: what is added or expected is first, the address last.
fn is_atomic(word: u32) -> bool {
    let (from, address, to) = (bits(word, 16, 5), bits(word, 5, 5), bits(word, 0, 5));
    let adds = word & 0x3f20_0c00 == 0x3820_0000;
    let swaps = word & 0x3fa0_7c00 == 0x08a0_7c00;
    adds && (from, address, to) == (0, 1, 0) || swaps && (from, address, to) == (0, 2, 1)
}

/// Whether these words, up to their end, load from and store to the same place, as exclusive ones, and nothing else.
fn does_the_same(rest: &[u32], atomic: u32) -> bool {
    let Some(end) = rest.iter().position(|&word| word == RETURNS) else {
        return false;
    };
    let place = |word: u32| (bits(word, 30, 2), bits(word, 5, 5));
    let is_memory = |word: &&u32| bits(**word, 27, 1) == 1 && bits(**word, 25, 1) == 0;
    let mut all = rest[..end].iter().filter(is_memory);
    let mut next = |loads: u32| {
        all.next().is_some_and(|&word| {
            let exclusive = word & 0x3fa0_0000 == 0x0800_0000;
            exclusive && bits(word, 22, 1) == loads && place(word) == place(atomic)
        })
    };
    next(1) && next(0) && all.next().is_none()
}

impl Lower {
    /// What a call leaves of nothing that could be relied on: all registers that it may change but the result's.
    fn loses(&mut self) {
        let roles = Machine::A64.roles();
        let lost = |number: usize, size| Used {
            register: Register {
                number: number as u8,
                size,
                is_high: false,
            },
            access: Access::Writes,
        };
        let general = roles.caller_saved.iter().filter(|&&n| n != roles.result());
        let vectors = (0..VECTOR).filter(|n| !roles.kept_vectors.contains(n));
        let all = general.map(|&n| lost(n, 8));
        let all = all.chain(vectors.map(|n| lost(n + usize::from(VECTORS), 16)));
        let step = self.step(Op::Other, None, &[]);
        step.used = all.collect();
        step.flags = FlagsWritten::All;
    }
}
