//! The calls of a file by the names of what they call, with what is known of their arguments.

use std::collections::HashMap;

use super::{File, Site};
use crate::code::{Address, Flow, Instruction, Op, Operand, Reader, STACK};
use crate::state::GENERAL;
use crate::Machine;

impl File<'_> {
    pub(super) fn calls_in(
        &self,
        start: u64,
        code: &[u8],
        wanted: &dyn Fn(&str) -> bool,
        sites: &mut Vec<Site>,
    ) {
        let mut names: HashMap<u64, Option<String>> = HashMap::new();
        let mut known = Constants {
            machine: self.machine,
            all: [None; GENERAL],
        };
        // Whether something was done since the code before last went elsewhere.
        let mut amid = false;
        let mut reader = Reader::new(self.machine, code, start);
        while !reader.is_at_end() {
            let Some(i) = reader.read() else {
                known.leave();
                continue;
            };
            let name = match i.flow {
                Flow::Calls(target) | Flow::Jumps(target) => names
                    .entry(target)
                    .or_insert_with(|| self.tables.callee_name(&self.memory, target))
                    .clone(),
                // Through a slot, and at a function's end. A jump with nothing before it is the linkage table itself.
                Flow::CallsThrough(Some(slot)) => self.tables.slot_name(&self.memory, slot),
                Flow::JumpsThrough(Some(slot)) if amid => self.tables.slot_name(&self.memory, slot),
                _ => None,
            };
            if let Some(name) = name.filter(|name| wanted(name)) {
                sites.push(Site {
                    address: i.at,
                    name,
                    arguments: known.arguments(),
                });
            }
            match i.flow {
                Flow::Falls | Flow::Branches(_) => {
                    known.step(&i);
                    amid |= i.op != Op::Nothing;
                }
                _ => {
                    known.leave();
                    amid = matches!(i.flow, Flow::Calls(_) | Flow::CallsThrough(_));
                }
            }
        }
    }
}

/// What general registers hold, as far as the last straight piece of code tells, and for those that calls preserve the
/// code before: compilers take the addresses of the functions that a loop passes before the loop.
struct Constants {
    machine: Machine,
    all: [Option<u64>; GENERAL],
}

impl Constants {
    fn arguments(&self) -> [Option<u64>; 4] {
        let arguments = self.machine.roles().arguments;
        std::array::from_fn(|n| self.all[arguments[n]])
    }

    /// What a function finds there, a call leaves there.
    fn is_kept(&self, n: usize) -> bool {
        n != STACK && !self.machine.roles().caller_saved.contains(&n)
    }

    /// The code goes elsewhere. What calls preserve is still there, for most ways that lead on.
    fn leave(&mut self) {
        for n in (0..GENERAL)
            .filter(|&n| !self.is_kept(n))
            .collect::<Vec<_>>()
        {
            self.all[n] = None;
        }
    }

    fn step(&mut self, i: &Instruction) {
        let Some(to) = i.operand(0).general() else {
            return;
        };
        let wide = i.width() >= 4;
        self.all[to] = match (i.op, i.operand(1)) {
            // These write no register.
            (Op::Compare | Op::Test | Op::Push, _) => return,
            // The caller gets its value back at one of the function's ends, behind which more of the function may lie.
            (Op::Pop, _) if self.is_kept(to) => return,
            (Op::Copy, Operand::Memory)
                if i.is_of_end && self.is_kept(to) && self.machine == Machine::A64 =>
            {
                return
            }
            (Op::Address, _) => i.address.and_then(|address| self.value(&address)),
            (Op::Copy, Operand::Register(from)) if wide => {
                from.general().and_then(|from| self.all[from])
            }
            (Op::Copy, Operand::Constant(number)) if wide && self.machine == Machine::A64 => {
                Some(number as u64)
            }
            (Op::Copy, _) if wide => i.names,
            (Op::Xor, _) if wide && i.same_register().is_some() => Some(0),
            _ => None,
        };
    }

    /// The address, if it is a constant: relative to the code, or in A64 to a page that was one.
    fn value(&self, address: &Address) -> Option<u64> {
        if self.machine == Machine::X86_64 || address.is_fixed {
            return address.fixed();
        }
        let base = address.base.filter(|_| address.index.is_none())?;
        let page = self.all[base.general()?]?;
        Some(page.wrapping_add_signed(address.displacement))
    }
}
