//! What one instruction does to the state.
//!
//! The instructions that compilers use for the split are modelled one by one;
//! every other goes through [`Step::generic`].
//!
//! This file chooses the model and keeps track of copies, conditions and the stack; [`calculate`] has the
//! arithmetic, [`unmodelled`] all the rest.

mod calculate;
mod unmodelled;

use iced_x86::{
    ConditionCode, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use crate::findings::{Findings, Frame, Memory, ZeroBranch};
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
                self.frame.touch(i.ip(), Memory::Outside);
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
            M::Movzx if matches!(self.peek(i, 1), Some(Value::Less(_))) || self.is_bit(i, 1) => {
                let value = self.read(i, 1);
                self.write(i, 0, value);
            }
            M::Mov if width == 1 && self.is_bit(i, 1) => {
                let value = self.read(i, 1);
                self.write_narrow(i, value);
            }
            M::Test | M::Cmp | M::Xor | M::And | M::Or
                if self.is_bit(i, 0) || self.is_bit(i, 1) =>
            {
                self.ask_bit(i, factory);
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
            M::Shl if width >= 4 && self.is_multiple(i) => self.shift(i),
            M::Idiv | M::Div if width >= 4 => self.divide(i),
            M::Push => self.push(i)?,
            M::Pop if width == 8 => {
                let place = self.stack_pointer()?;
                self.frame.touch(i.ip(), Memory::Slot(place));
                let value = self.load(Memory::Slot(place), 8);
                self.state.general[RSP] = Value::Frame(place).add_constant(8);
                self.write(i, 0, value);
            }
            M::Leave => {
                let Value::Frame(place) = self.state.general[RBP] else {
                    return Err(Why::StackPointer);
                };
                self.frame.touch(i.ip(), Memory::Slot(place));
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
                    Some(Picked::Zero) => Value::IsFirst(true),
                    Some(Picked::NotZero) => Value::IsFirst(false),
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
                OpKind::Memory => match self.frame.just_touched(i.ip()) {
                    Some(Memory::Slot(place)) if !self.frame.is_exposed(place) => {
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
            Some(picked @ (Picked::Zero | Picked::NotZero)) => {
                let asked = ZeroBranch {
                    zero_jumps: picked == Picked::Zero,
                    stack: self.state.general[RSP],
                    frame: self.state.general[RBP],
                };
                self.findings.zero_branches.insert(i.ip(), asked);
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
            // The bit is 0, or not.
            (Flags::IsFirst(first), C::e | C::ne) => {
                if first == (i.condition_code() == C::ne) {
                    Some(Picked::Zero)
                } else {
                    Some(Picked::NotZero)
                }
            }
            _ => None,
        }
    }

    fn set_flags(&mut self, origin: Origin) {
        self.state.flags = if origin.is_none() {
            Flags::Plain
        } else {
            Flags::Taint(origin)
        };
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
        self.frame.touch(i.ip(), Memory::Slot(place));
        self.state.store(place, 8, value);
        Ok(())
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
