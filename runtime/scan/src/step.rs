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

use crate::state::{Flags, Source, State, RAX, RBP, RDX, RSP, VECTOR};
use crate::value::{Order, Origin, Place, Value};
use crate::Why;

/// Findings that outlive the state of one point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// First escape of the thread number, by address.
    pub(crate) id: Option<(u64, Why)>,
    /// First escape of the number of threads.
    pub(crate) team: Option<(u64, Why)>,
    /// The splits whose product was made.
    pub(crate) splits: std::collections::BTreeSet<u64>,
    /// Comparisons of the thread number with 0 that a branch uses.
    pub(crate) zero_branches: std::collections::BTreeSet<u64>,
}

impl Findings {
    /// Takes in what was found in a called function.
    pub(crate) fn merge(&mut self, other: &Findings) {
        for (origin, found) in [(Origin::ID, other.id), (Origin::TEAM, other.team)] {
            if let Some((address, why)) = found {
                self.escape(origin, why, address);
            }
        }
        self.splits.extend(&other.splits);
    }

    pub(crate) fn escape(&mut self, origin: Origin, why: Why, address: u64) {
        for (which, place) in [(Origin::ID, &mut self.id), (Origin::TEAM, &mut self.team)] {
            if origin.has(which) && place.is_none_or(|(first, _)| address < first) {
                *place = Some((address, why));
            }
        }
    }
}

/// What is known about one function's frame, whatever the path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The lowest place whose address left the function's registers and frame:
    /// what lies at or above it may be read and written by others.
    pub(crate) exposed: Option<Place>,
    /// Places that hold the numbers, with the storing instruction.
    pub(crate) hidden: Vec<(Place, Origin, u64)>,
    /// Instructions that made a base of their own.
    bases: Vec<u64>,
}

/// More bases than this and the frame is not followed.
const BASES: usize = 16;

impl Frame {
    pub(crate) fn expose(&mut self, value: Value) {
        let place = match value {
            Value::Frame(place) => place,
            Value::InFrame | Value::StaleFrame => Place {
                base: u8::MAX,
                offset: i64::MIN,
            },
            _ => return,
        };
        if self
            .exposed
            .is_none_or(|lowest| lowest.is_at_or_above(place))
        {
            self.exposed = Some(place);
        }
    }

    pub(crate) fn is_exposed(&self, place: Place) -> bool {
        self.exposed.is_some_and(|low| place.is_at_or_above(low))
    }

    /// What a called function may have got as an argument.
    pub(crate) fn expose_argument(&mut self, value: Value) {
        if value != Value::StaleFrame {
            self.expose(value);
        }
    }

    fn hide(&mut self, place: Place, origin: Origin, address: u64) {
        if !origin.is_none() && !self.hidden.contains(&(place, origin, address)) {
            self.hidden.push((place, origin, address));
        }
    }

    /// The base that the instruction at `address` makes.
    fn base(&mut self, address: u64) -> Option<u8> {
        let index = match self.bases.iter().position(|&base| base == address) {
            Some(index) => index,
            None if self.bases.len() < BASES => {
                self.bases.push(address);
                self.bases.len() - 1
            }
            None => return None,
        };
        u8::try_from(index + 1).ok()
    }
}

/// Where an operand lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Slot(Place),
    SomeSlot,
    Outside,
}

/// The number of a general-purpose register, whatever its width.
pub(crate) fn general(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

fn vector(register: Register) -> Option<usize> {
    register
        .is_vector_register()
        .then(|| register.number())
        .filter(|&n| n < VECTOR)
}

/// One instruction in its surroundings.
pub(crate) struct Step<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) findings: &'a mut Findings,
    pub(crate) frame: &'a mut Frame,
}

impl Step<'_> {
    fn escape(&mut self, value: Value, why: Why, at: &Instruction) {
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
            M::Imul if width >= 4 && i.op_count() >= 2 => self.multiply(i),
            M::Idiv | M::Div if width >= 4 => self.divide(i),
            M::Push => self.push(i)?,
            M::Pop if width == 8 => {
                let place = self.stack_pointer()?;
                let value = self.load(Memory::Slot(place), 8);
                self.state.general[RSP] = Value::Frame(place).add_constant(8);
                self.write(i, 0, value);
            }
            M::Leave => {
                let Value::Frame(place) = self.state.general[RBP] else {
                    return Err(Why::StackPointer);
                };
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
        if let Some(register) = written_stack_pointer(i) {
            if self.state.general[register] != Value::InFrame
                && !matches!(self.state.general[register], Value::Frame(_))
            {
                return Err(Why::StackPointer);
            }
        }
        Ok(())
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
                OpKind::Memory => match self.memory(i) {
                    Memory::Slot(place) if !self.frame.is_exposed(place) => {
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

    fn width(&self, i: &Instruction) -> usize {
        if i.op_count() == 0 {
            return 0;
        }
        match i.op0_kind() {
            OpKind::Register => i.op0_register().size(),
            OpKind::Memory => i.memory_size().size(),
            OpKind::Immediate8to64
            | OpKind::Immediate32to64
            | OpKind::Immediate8to32
            | OpKind::Immediate8
            | OpKind::Immediate32 => 8,
            _ => 0,
        }
    }

    /// A register operand's value, without looking at memory.
    fn peek(&self, i: &Instruction, operand: u32) -> Option<Value> {
        (i.op_kind(operand) == OpKind::Register)
            .then(|| general(i.op_register(operand)).map(|n| self.state.general[n]))
            .flatten()
    }

    fn constant(i: &Instruction, operand: u32) -> Option<i64> {
        match i.op_kind(operand) {
            OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64 => {
                let value = i.immediate(operand);
                // Immediates of 32-bit operations are shown without sign.
                Some(match i.op_kind(operand) {
                    OpKind::Immediate32 | OpKind::Immediate8to32 => i64::from(value as u32 as i32),
                    _ => value as i64,
                })
            }
            _ => None,
        }
    }

    /// An operand's value. Narrow registers give what is left of the number.
    fn read(&mut self, i: &Instruction, operand: u32) -> Value {
        if let Some(constant) = Self::constant(i, operand) {
            return if constant == 0 {
                Value::Zero
            } else {
                Value::Plain
            };
        }
        match i.op_kind(operand) {
            OpKind::Register => self.read_register(i.op_register(operand)),
            OpKind::Memory => {
                let memory = self.memory(i);
                let size = i.memory_size().size() as i64;
                self.load(memory, size)
            }
            _ => Value::Plain,
        }
    }

    fn read_register(&self, register: Register) -> Value {
        if let Some(n) = general(register) {
            let value = self.state.general[n];
            return if register.size() >= 4 || matches!(value, Value::Less(_)) {
                // The low half of a pointer is no pointer that is followed.
                if register.size() == 4 && value.is_pointer() {
                    Value::InFrame
                } else {
                    value
                }
            } else if matches!(value, Value::LowPlain(_)) && is_low_byte(register) {
                Value::Plain
            } else {
                value.blurred()
            };
        }
        vector(register).map_or(Value::Plain, |n| self.state.vector[n])
    }

    fn load(&self, memory: Memory, size: i64) -> Value {
        match memory {
            Memory::Outside => Value::Plain,
            Memory::SomeSlot => self.state.load_anywhere(),
            Memory::Slot(place) => {
                let value = self.state.load(place, size);
                // Others may have written there in between.
                if value.is_free() && self.frame.is_exposed(place) {
                    value.blurred()
                } else {
                    value
                }
            }
        }
    }

    fn write(&mut self, i: &Instruction, operand: u32, value: Value) {
        match i.op_kind(operand) {
            OpKind::Register => self.write_register(i.op_register(operand), value),
            OpKind::Memory => {
                let memory = self.memory(i);
                let size = i.memory_size().size() as i64;
                self.store(memory, size, value, i);
            }
            _ => {}
        }
    }

    fn write_register(&mut self, register: Register, value: Value) {
        if let Some(n) = general(register) {
            self.state.general[n] = match register.size() {
                8 => value,
                4 if value.is_pointer() => Value::InFrame,
                4 => value,
                _ => overwrite_part(self.state.general[n], value, register),
            };
        } else if let Some(n) = vector(register) {
            self.state.vector[n] = value;
        }
    }

    /// Writes a byte: a plain rest of the register does not matter for the
    /// bit of a comparison, which compilers widen before they use it.
    fn write_narrow(&mut self, i: &Instruction, value: Value) {
        match (i.op0_kind(), general(i.op0_register())) {
            (OpKind::Register, Some(n)) => {
                let old = self.state.general[n];
                self.state.general[n] = match value {
                    Value::Less(_) if old == Value::Zero || old == Value::Plain => value,
                    _ => overwrite_part(old, value, i.op0_register()),
                };
            }
            _ => self.write(i, 0, value),
        }
    }

    fn store(&mut self, memory: Memory, size: i64, value: Value, i: &Instruction) {
        match memory {
            Memory::Slot(place) => {
                self.frame.hide(place, value.origin(), i.ip());
                self.state.store(place, size.max(1), value);
            }
            Memory::SomeSlot => {
                // Which variable it is, is not followed.
                self.escape(value, Why::Store, i);
                self.frame.expose(value);
            }
            Memory::Outside => {
                self.escape(value, Why::Store, i);
                self.frame.expose(value);
            }
        }
    }

    /// Classifies the memory operand, and checks its address.
    fn memory(&mut self, i: &Instruction) -> Memory {
        let mut address = Value::Plain;
        let mut known = true;
        for (register, is_index) in [(i.memory_base(), false), (i.memory_index(), true)] {
            let value = if let Some(n) = general(register) {
                self.state.general[n]
            } else if let Some(n) = vector(register) {
                self.state.vector[n]
            } else {
                continue;
            };
            self.escape(value, Why::Address, i);
            if is_index && value.is_pointer() && i.memory_index_scale() != 1 {
                address = Value::InFrame;
                continue;
            }
            if !value.is_free() {
                known = false;
            }
            address = if !is_index {
                value
            } else if address.is_pointer() || value.is_pointer() {
                Value::InFrame
            } else {
                address
            };
        }
        // Thread-local storage; the fields are not the frame's.
        if matches!(i.segment_prefix(), Register::FS | Register::GS) || !known {
            return Memory::Outside;
        }
        match address {
            Value::Frame(_) => match address.add_constant(i.memory_displacement64() as i64) {
                Value::Frame(place) => Memory::Slot(place),
                _ => Memory::SomeSlot,
            },
            Value::InFrame | Value::StaleFrame => Memory::SomeSlot,
            _ => Memory::Outside,
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
                let sum = base.unwrap_or(Value::Zero).add(scaled);
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

    fn push(&mut self, i: &Instruction) -> Result<(), Why> {
        let value = self.read(i, 0);
        // Compilers push what a function must preserve, and arguments.
        self.escape(value, Why::Argument, i);
        let place = self.stack_pointer()?;
        let Some(offset) = place.offset.checked_sub(8) else {
            return Err(Why::StackPointer);
        };
        let place = Place { offset, ..place };
        self.state.general[RSP] = Value::Frame(place);
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
            _ if old == new => old,
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
                                memory = Some(Memory::SomeSlot);
                            }
                        }
                    }
                }
                if memory.is_none() {
                    memory = Some(Memory::Outside);
                }
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

fn is_low_byte(register: Register) -> bool {
    register.size() == 1
        && !matches!(
            register,
            Register::AH | Register::BH | Register::CH | Register::DH
        )
}

/// What a register holds after part of it was overwritten.
fn overwrite_part(old: Value, value: Value, part: Register) -> Value {
    if value.is_free() && !value.is_pointer() && !old.is_free() && is_low_byte(part) {
        Value::LowPlain(old.origin())
    } else {
        old.mixed(value)
    }
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
