//! What one instruction does to the state.
//!
//! The instructions that compilers use for the split are modelled one by one;
//! every other goes through [`Step::generic`], which knows from the decoder
//! what it reads and writes and assumes that everything read decides
//! everything written.

use iced_x86::{
    ConditionCode, Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register, RflagsBits,
};

use crate::findings::{Findings, Frame};
use crate::operand::{overwrite_part, vector, Memory};
use crate::state::{Flags, Source, State, RAX, RBP, RDX, RSP};
use crate::value::{Order, Origin, Place, Value};
use crate::Why;

/// The number of a general-purpose register, whatever its width.
pub(crate) fn general(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

/// One instruction in its surroundings.
pub(crate) struct Step<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) findings: &'a mut Findings,
    pub(crate) frame: &'a mut Frame,
}

impl Step<'_> {
    pub(crate) fn escape(&mut self, value: Value, why: Why, at: &Instruction) {
        self.findings.escape(value.origin(), why, at.ip());
    }

    /// Executes `i`. Calls, jumps and returns are the caller's, apart from the
    /// operands that they read.
    pub(crate) fn execute(
        &mut self,
        i: &Instruction,
        factory: &mut InstructionInfoFactory,
    ) -> Result<(), Why> {
        use Mnemonic as M;
        let width = self.width(i);
        match i.mnemonic() {
            M::Endbr64 | M::Nop | M::Pause => {}
            M::Mov if width == 4 && self.is_told(i) => {
                self.frame.touched.insert(i.ip(), Memory::Outside);
                self.write(i, 0, Value::Told);
            }
            M::Mov if width >= 4 => {
                let value = self.read(i, 1);
                self.write(i, 0, value);
            }
            M::Movsxd => {
                let value = self.read(i, 1);
                self.write(i, 0, value);
            }
            M::Movzx if matches!(self.peek(i, 1), Some(Value::Less(_))) => {
                let value = self.read(i, 1);
                self.write(i, 0, value);
            }
            // Only the widening to 64 bits: narrower numbers are not modelled.
            M::Cdqe => {}
            M::Cdq | M::Cqo => {
                let sign = self.state.general[RAX];
                self.state.general[RDX] = if sign.is_free() {
                    Value::Plain
                } else {
                    sign.blurred()
                };
            }
            M::Lea => self.lea(i),
            M::Add
            | M::Sub
            | M::Inc
            | M::Dec
            | M::Cmp
            | M::Xor
            | M::And
            | M::Or
            | M::Test
            | M::Adc
            | M::Neg
                if width >= 4 =>
            {
                self.arithmetic(i)?;
            }
            M::Xadd if i.has_lock_prefix() => self.count(i),
            M::Imul if width >= 4 && i.op_count() >= 2 => self.multiply(i),
            M::Idiv | M::Div if width >= 4 => self.divide(i),
            M::Push => self.push(i)?,
            M::Pop if width == 8 => {
                let place = self.stack_pointer()?;
                self.frame.touched.insert(i.ip(), Memory::Slot(place));
                let value = self.load(Memory::Slot(place), 8);
                self.state.general[RSP] = Value::Frame(place).add_constant(8);
                self.write(i, 0, value);
            }
            M::Leave => {
                let Value::Frame(place) = self.state.general[RBP] else {
                    return Err(Why::StackPointer);
                };
                self.frame.touched.insert(i.ip(), Memory::Slot(place));
                self.state.general[RBP] = self.load(Memory::Slot(place), 8);
                self.state.general[RSP] = Value::Frame(place).add_constant(8);
            }
            M::Movd | M::Movq | M::Vmovd | M::Vmovq
                if i.op_count() == 2
                    && (i.op0_kind() == OpKind::Register || i.op1_kind() == OpKind::Register) =>
            {
                let value = self.read(i, 1);
                self.write(i, 0, value);
            }
            _ if i.condition_code() != ConditionCode::None && is_cmov(i) && width >= 4 => {
                self.conditional_move(i);
            }
            _ if i.condition_code() != ConditionCode::None && is_set(i) => {
                let value = match self.compared(i) {
                    Some(Picked::Less(split)) => Value::Less(split),
                    _ => tainted(self.state.flags.origin()),
                };
                self.write_narrow(i, value);
            }
            _ => self.generic(i, factory.info(i)),
        }
        self.follow_copies(i, factory);
        if let Some(place) = self.made_address(i) {
            self.frame.take(place);
        }
        if let Some(register) = written_stack_pointer(i) {
            if !matches!(
                self.state.general[register],
                Value::Frame(_) | Value::FrameFrom(_) | Value::InFrame
            ) {
                return Err(Why::StackPointer);
            }
        }
        Ok(())
    }

    /// Whether it loads the number that the runtime handed to the function.
    fn is_told(&self, i: &Instruction) -> bool {
        i.op1_kind() == OpKind::Memory
            && i.memory_index() == Register::None
            && i.memory_displacement64() == 0
            && i.segment_prefix() == Register::None
            && general(i.memory_base()).is_some_and(|n| self.state.general[n] == Value::Teller)
    }

    /// The place of the frame whose address `i` has made, unless it only sets up
    /// the frame.
    fn made_address(&self, i: &Instruction) -> Option<Place> {
        let register = match i.op_count() {
            0 => None,
            _ if i.op0_kind() != OpKind::Register => None,
            _ => general(i.op0_register()),
        }?;
        let sets_up = i.op_count() > 1
            && i.op1_kind() == OpKind::Register
            && i.op1_register() == Register::RSP
            && register == RBP;
        match self.state.general[register] {
            Value::Frame(place) if register != RSP && !sets_up => Some(place),
            _ => None,
        }
    }

    /// Keeps track of what `rax` is a copy of.
    fn follow_copies(&mut self, i: &Instruction, factory: &mut InstructionInfoFactory) {
        let copy = i.mnemonic() == Mnemonic::Mov
            && i.op0_kind() == OpKind::Register
            && i.op0_register().size() >= 4
            && general(i.op0_register()) == Some(RAX);
        if !copy && !self.state.has_copies() {
            return;
        }
        let info = factory.info(i);
        let written = |n: usize| {
            info.used_registers()
                .iter()
                .any(|used| is_write(used.access()) && general(used.register()) == Some(n))
        };
        let stores = info
            .used_memory()
            .iter()
            .any(|used| is_write(used.access()));
        self.state.forget_copies(|source| match source {
            Source::Register(n) => written(n),
            Source::Slot(_) => stores,
            Source::Constant(_) => false,
        });
        if copy {
            self.state.copied = match i.op1_kind() {
                OpKind::Register => general(i.op1_register())
                    .filter(|&n| n != RAX)
                    .map(Source::Register),
                // As it was before: the address may have been overwritten by now.
                OpKind::Memory => match self.frame.touched.get(&i.ip()) {
                    Some(&Memory::Slot(place)) if !self.frame.is_exposed(place) => {
                        Some(Source::Slot(place))
                    }
                    _ => None,
                },
                _ => Self::constant(i, 1).map(Source::Constant),
            };
        }
    }

    /// Where the stack pointer points.
    pub(crate) fn stack_pointer(&self) -> Result<Place, Why> {
        match self.state.general[RSP] {
            Value::Frame(place) => Ok(place),
            _ => Err(Why::StackPointer),
        }
    }

    /// What a conditional branch reads: escapes, or what is known on each side.
    pub(crate) fn branch(&mut self, i: &Instruction) -> (Order, Order) {
        let both = (self.state.order, self.state.order);
        match self.compared(i) {
            Some(Picked::Less(split)) => (Order::Less(split), Order::NotLess(split)),
            Some(Picked::NotLess(split)) => (Order::NotLess(split), Order::Less(split)),
            Some(Picked::Zero | Picked::NotZero) => {
                self.findings.zero_branches.insert(i.ip());
                both
            }
            None => {
                let origin = self.state.flags.origin();
                self.findings.escape(origin, Why::Branch, i.ip());
                // `jrcxz` and `loop` read a register.
                if i.is_jcx_short() || i.is_loop() || i.is_loopcc() {
                    let value = self.state.general[1];
                    self.escape(value, Why::Branch, i);
                }
                both
            }
        }
    }

    /// Which of the known questions the condition of `i` asks.
    pub(crate) fn compared(&self, i: &Instruction) -> Option<Picked> {
        use ConditionCode as C;
        match (self.state.flags, i.condition_code()) {
            (Flags::IdRemainder { split, swapped }, condition) => match (swapped, condition) {
                (false, C::l | C::b) | (true, C::g | C::a) => Some(Picked::Less(split)),
                (false, C::ge | C::ae) | (true, C::le | C::be) => Some(Picked::NotLess(split)),
                _ => None,
            },
            (Flags::IdZero, C::e | C::le | C::be) => Some(Picked::Zero),
            (Flags::IdZero, C::ne | C::g | C::a) => Some(Picked::NotZero),
            _ => None,
        }
    }

    fn lea(&mut self, i: &Instruction) {
        let scale = i.memory_index_scale();
        let base = general(i.memory_base()).map(|n| self.state.general[n]);
        let index = general(i.memory_index()).map(|n| self.state.general[n]);
        let displacement = i.memory_displacement64() as i64;
        let displacement = if i.op0_register().size() == 4 {
            i64::from(displacement as i32)
        } else {
            displacement
        };
        let value = match (base, index) {
            (None, None) => Value::Plain,
            (Some(a), None) => a.add_constant(displacement),
            (base, Some(b)) => {
                let scaled = if scale == 1 { b } else { b.mixed(Value::Plain) };
                let base = base.unwrap_or(Value::Zero);
                self.note_end(base, scaled, i);
                let sum = base.add(scaled);
                if sum == Value::Zero {
                    Value::Plain
                } else {
                    sum.add_constant(displacement)
                }
            }
        };
        let value = if base.is_none() && index.is_none() {
            Value::Plain
        } else {
            value
        };
        self.write_register(i.op0_register(), value);
    }

    /// Remembers that `i` adds the two, if that gives the end of a chunk.
    fn note_end(&mut self, a: Value, b: Value, i: &Instruction) {
        if a.ends_chunk(b) {
            self.findings.ends.insert(i.ip());
        }
    }

    fn set_flags(&mut self, origin: Origin) {
        self.state.flags = if origin.is_none() {
            Flags::Plain
        } else {
            Flags::Taint(origin)
        };
    }

    fn arithmetic(&mut self, i: &Instruction) -> Result<(), Why> {
        use Mnemonic as M;
        let mnemonic = i.mnemonic();
        let same = i.op_count() == 2
            && i.op0_kind() == OpKind::Register
            && i.op1_kind() == OpKind::Register
            && i.op0_register() == i.op1_register();
        if same && matches!(mnemonic, M::Xor | M::Sub) {
            self.write_register(i.op0_register(), Value::Zero);
            self.state.flags = Flags::Plain;
            return Ok(());
        }
        let a = self.read(i, 0);
        let b = if i.op_count() > 1 {
            self.read(i, 1)
        } else {
            Value::Plain
        };
        let constant = if i.op_count() > 1 {
            Self::constant(i, 1)
        } else {
            None
        };
        if mnemonic == M::Add {
            self.note_end(a, b, i);
        }
        let first_or_last = match mnemonic {
            M::Test => same,
            M::Cmp => matches!(constant, Some(-1..=1)),
            _ => false,
        };
        if first_or_last && a == Value::Taint(Origin::TICKET) {
            self.state.flags = Flags::Plain;
            return Ok(());
        }
        if (mnemonic == M::Test && (same || constant == Some(-1))) && a == Value::Id {
            self.state.flags = Flags::IdZero;
            return Ok(());
        }
        let result = match (mnemonic, constant) {
            (M::Add, Some(c)) => a.add_constant(c),
            (M::Sub, Some(c)) => a.add_constant(c.wrapping_neg()),
            (M::Inc, _) => a.add_constant(1),
            (M::Dec, _) => a.add_constant(-1),
            (M::Add, None) => a.add(b),
            (M::Sub | M::Cmp, None) => a.subtract(b),
            (M::Or, None) if same => a,
            (M::And, None) if same => a,
            (M::And, Some(_)) if is_stack_pointer(i) => self.align(i)?,
            (M::Adc, Some(0)) => match (self.state.flags, a) {
                // The carry of `cmp id, remainder`.
                (
                    Flags::IdRemainder {
                        split,
                        swapped: false,
                    },
                    Value::Quotient(s),
                ) if s == split => Value::QuotientPick(s),
                (flags, a) => a.mixed(tainted(flags.origin())),
            },
            (M::Adc, _) => a.mixed(b).mixed(tainted(self.state.flags.origin())),
            // The negative of a product cancels one.
            (M::Neg, _) => Value::Zero.mixed(Value::Plain).subtract(a),
            _ => a.mixed(b),
        };
        let result = if is_stack_pointer(i) && mnemonic == M::Sub && constant.is_none() {
            // A variable-length array.
            self.align(i)?
        } else {
            result
        };
        let old = self.state.flags.origin();
        match (mnemonic, a, b) {
            (M::Cmp | M::Sub, Value::Id, Value::Remainder(split)) => {
                self.state.flags = Flags::IdRemainder {
                    split,
                    swapped: false,
                };
            }
            (M::Cmp | M::Sub, Value::Remainder(split), Value::Id) => {
                self.state.flags = Flags::IdRemainder {
                    split,
                    swapped: true,
                };
            }
            (M::Cmp, Value::Id, Value::Zero) => self.state.flags = Flags::IdZero,
            (M::Cmp, _, Value::Frame(place)) if is_stack_pointer(i) => {
                self.state.flags = Flags::StackEquals(place);
            }
            // These leave the carry as it was.
            (M::Inc | M::Dec, ..) => self.set_flags(a.origin().with(old)),
            _ => self.set_flags(a.origin().with(b.origin())),
        }
        if !matches!(mnemonic, M::Cmp | M::Test) {
            self.write(i, 0, result);
        }
        Ok(())
    }

    /// A new base: what the stack pointer is afterwards is not known as an
    /// offset from the old one.
    fn align(&mut self, i: &Instruction) -> Result<Value, Why> {
        let base = self.frame.base(i.ip()).ok_or(Why::StackPointer)?;
        Ok(Value::Frame(Place { base, offset: 0 }))
    }

    fn multiply(&mut self, i: &Instruction) {
        let (a, b) = if i.op_count() == 3 {
            (self.read(i, 1), self.read(i, 2))
        } else {
            (self.read(i, 0), self.read(i, 1))
        };
        let order = self.state.order;
        let result = a.multiply(b, order);
        if let Value::Product(split) | Value::ProductPick(split) = result {
            self.findings.splits.insert(split);
        }
        self.set_flags(a.origin().with(b.origin()));
        self.write(i, 0, result);
    }

    fn divide(&mut self, i: &Instruction) {
        let divisor = self.read(i, 0);
        let low = self.state.general[RAX];
        let high = self.state.general[RDX];
        let dividend = low.mixed(high);
        let divisor = match divisor {
            // Its old result must not pair with the new one.
            value if value.split() == Some(i.ip()) => value.outdated(),
            value => value,
        };
        let again = match (self.state.copied, self.state.divided) {
            (Some(source), Some((split, same))) if source == same => Some(split),
            _ => None,
        };
        if again.is_none() {
            self.state.forget_split(i.ip());
        }
        let split = again.unwrap_or(i.ip());
        let (quotient, remainder) = dividend.divide(divisor, split);
        self.state.general[RAX] = quotient;
        self.state.general[RDX] = remainder;
        if let (Some(source), Value::Quotient(split)) = (self.state.copied, quotient) {
            self.state.divided = Some((split, source));
        }
        self.set_flags(dividend.origin().with(divisor.origin()));
    }

    /// Adds to a counter that threads share, and takes what it was. A thread may number itself by
    /// that, and index an array by the number; not so if all that it asks is whether it was the first
    /// or the last one (see [`Step::arithmetic`]).
    fn count(&mut self, i: &Instruction) {
        let memory = self.memory(i);
        let added = self.read(i, 1);
        if let Memory::Slot(_) | Memory::SomeSlot(_) = memory {
            self.generic_store(memory, i);
        } else {
            self.escape(added, Why::Store, i);
        }
        self.write(i, 1, Value::Taint(Origin::TICKET));
        // Of the sum, which nobody has a register for.
        self.state.flags = Flags::Plain;
    }

    /// What lies there is not followed any more.
    fn generic_store(&mut self, memory: Memory, i: &Instruction) {
        let size = i.memory_size().size() as i64;
        self.store(memory, size, Value::Plain, i);
    }

    fn push(&mut self, i: &Instruction) -> Result<(), Why> {
        let value = self.read(i, 0);
        // Compilers push what a function must preserve, and arguments.
        if !value.is_handed() {
            self.escape(value, Why::Argument, i);
        }
        let place = self.stack_pointer()?;
        let Some(offset) = place.offset.checked_sub(8) else {
            return Err(Why::StackPointer);
        };
        let place = Place { offset, ..place };
        self.state.general[RSP] = Value::Frame(place);
        self.frame.touched.insert(i.ip(), Memory::Slot(place));
        self.state.store(place, 8, value);
        Ok(())
    }

    fn conditional_move(&mut self, i: &Instruction) {
        let old = self.read(i, 0);
        let new = self.read(i, 1);
        let origin = self.state.flags.origin();
        let value = match self.compared(i) {
            Some(Picked::Less(split)) => Value::pick(new, old, split),
            Some(Picked::NotLess(split)) => Value::pick(old, new, split),
            // Two plain numbers need not be the same one.
            _ if old == new && origin.is_none() => old,
            _ => old.mixed(new).mixed(tainted(origin)),
        };
        self.write(i, 0, value);
    }

    /// An instruction that is not modelled.
    fn generic(&mut self, i: &Instruction, info: &InstructionInfo) {
        let mut address_registers = [Register::None; 4];
        let has_memory = !info.used_memory().is_empty();
        let mut memory = None;
        if has_memory {
            // Explicit operands; the others are the stack's and the string
            // instructions', whose registers are checked below.
            if (0..i.op_count()).any(|o| i.op_kind(o) == OpKind::Memory) {
                memory = Some(self.memory(i));
                address_registers[0] = i.memory_base().full_register();
                address_registers[1] = i.memory_index().full_register();
            } else {
                for used in info.used_memory() {
                    for register in [used.base(), used.index()] {
                        if let Some(n) = general(register) {
                            let value = self.state.general[n];
                            self.escape(value, Why::Address, i);
                            if value.is_pointer() {
                                // Backwards, too.
                                memory = Some(Memory::SomeSlot(Place::LOWEST));
                                self.frame.index(Place::LOWEST);
                            }
                        }
                    }
                }
                let reached = *memory.get_or_insert(Memory::Outside);
                self.frame.touched.insert(i.ip(), reached);
            }
        }
        let is_operand = |register: Register| {
            (0..i.op_count()).any(|o| {
                i.op_kind(o) == OpKind::Register
                    && i.op_register(o).full_register() == register.full_register()
            })
        };
        let mut data = Value::Plain;
        for used in info.used_registers() {
            let register = used.register();
            let only_address =
                address_registers.contains(&register.full_register()) && !is_operand(register);
            if is_read(used.access()) && !only_address {
                data = data.mixed(self.read_register(register));
            }
        }
        if let Some(memory) = memory {
            if info.used_memory().iter().any(|used| is_read(used.access())) {
                let size = i.memory_size().size() as i64;
                data = data.mixed(self.load(memory, size));
            }
        }
        if i.rflags_read() != 0 {
            data = data.mixed(tainted(self.state.flags.origin()));
        }
        // How often it is done is seen in memory as much as what.
        if i.is_string_instruction() {
            for n in [1, 6, 7] {
                let value = self.state.general[n];
                self.escape(value, Why::Address, i);
            }
        }
        for used in info.used_registers() {
            if !is_write(used.access()) {
                continue;
            }
            let register = used.register();
            let keeps = matches!(used.access(), OpAccess::CondWrite | OpAccess::ReadCondWrite);
            if let Some(n) = general(register) {
                let old = self.state.general[n];
                self.state.general[n] = if keeps {
                    old.mixed(data)
                } else if register.size() < 4 {
                    overwrite_part(old, data, register)
                } else if n == RSP {
                    // Only what changes it by a known amount is modelled.
                    Value::Plain
                } else {
                    data
                };
            } else if let Some(n) = vector(register) {
                let old = self.state.vector[n];
                self.state.vector[n] = if keeps { old.mixed(data) } else { data };
            } else if !register.is_segment_register() {
                // x87, MMX and mask registers are not followed.
                self.escape(data, Why::Store, i);
                self.frame.expose(data);
            }
        }
        if let Some(memory) = memory {
            if info
                .used_memory()
                .iter()
                .any(|used| is_write(used.access()))
            {
                let size = i.memory_size().size() as i64;
                let size = info
                    .used_memory()
                    .iter()
                    .map(|used| used.memory_size().size() as i64)
                    .max()
                    .unwrap_or(size)
                    .max(size);
                self.store(memory, size, data, i);
            }
        }
        let status =
            RflagsBits::CF | RflagsBits::ZF | RflagsBits::SF | RflagsBits::OF | RflagsBits::PF;
        let modified = i.rflags_modified();
        if modified & status != 0 {
            let old = if modified & status == status && !is_shift(i) {
                Origin::NONE
            } else {
                self.state.flags.origin()
            };
            self.set_flags(data.origin().with(old));
        }
    }
}

/// What a condition asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// Whether `id < remainder`.
    Less(u64),
    /// Whether `id >= remainder`.
    NotLess(u64),
    /// Whether `id == 0`.
    Zero,
    /// Whether `id != 0`.
    NotZero,
}

fn tainted(origin: Origin) -> Value {
    if origin.is_none() {
        Value::Plain
    } else {
        Value::Taint(origin)
    }
}

pub(crate) fn is_read(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

pub(crate) fn is_write(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn is_stack_pointer(i: &Instruction) -> bool {
    i.op_count() > 0 && i.op0_kind() == OpKind::Register && i.op0_register() == Register::RSP
}

fn written_stack_pointer(i: &Instruction) -> Option<usize> {
    (is_stack_pointer(i)
        && !matches!(
            i.mnemonic(),
            Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push
        ))
    .then_some(RSP)
}

fn is_cmov(i: &Instruction) -> bool {
    use Mnemonic as M;
    matches!(
        i.mnemonic(),
        M::Cmova
            | M::Cmovae
            | M::Cmovb
            | M::Cmovbe
            | M::Cmove
            | M::Cmovg
            | M::Cmovge
            | M::Cmovl
            | M::Cmovle
            | M::Cmovne
            | M::Cmovno
            | M::Cmovnp
            | M::Cmovns
            | M::Cmovo
            | M::Cmovp
            | M::Cmovs
    )
}

fn is_set(i: &Instruction) -> bool {
    use Mnemonic as M;
    matches!(
        i.mnemonic(),
        M::Seta
            | M::Setae
            | M::Setb
            | M::Setbe
            | M::Sete
            | M::Setg
            | M::Setge
            | M::Setl
            | M::Setle
            | M::Setne
            | M::Setno
            | M::Setnp
            | M::Setns
            | M::Seto
            | M::Setp
            | M::Sets
    )
}

/// Whether a count of zero would leave the flags alone.
fn is_shift(i: &Instruction) -> bool {
    use Mnemonic as M;
    matches!(
        i.mnemonic(),
        M::Shl | M::Shr | M::Sar | M::Sal | M::Shld | M::Shrd | M::Rol | M::Ror | M::Rcl | M::Rcr
    )
}
