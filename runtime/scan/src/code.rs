//! Instructions as the analyses see them, for any machine.
//!
//! A front end for each machine ([`x86`]) decodes bytes and says of every instruction what it does, as one of few
//! [operations](Op), what it reads and writes, and where it leads. The analyses ask nothing else, so that they know no
//! machine's names. What a front end does not know it names [`Op::Other`], with all that it reads and writes:
//! everything read is then taken to decide everything written.

pub(crate) mod a64;
mod exclusive;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

use crate::{Machine, Why};

/// Numbers of registers that are the same for all machines: the stack pointer and the frame pointer.
pub(crate) const STACK: usize = 4;
pub(crate) const FRAME: usize = 5;

/// What the calling convention uses registers for, by their numbers.
#[derive(Debug)]
pub(crate) struct Roles {
    pub(crate) arguments: &'static [usize],
    /// What a called function returns, in general-purpose registers, and in how many vector registers.
    pub(crate) results: [usize; 2],
    pub(crate) vector_results: usize,
    /// What a called function may change, and which vector registers it may not.
    pub(crate) caller_saved: &'static [usize],
    pub(crate) kept_vectors: std::ops::Range<usize>,
    /// Where the first argument that is passed in memory lies, above the stack pointer at a function's entry.
    pub(crate) stacked: i64,
}

impl Roles {
    /// The register of a function's result.
    pub(crate) fn result(&self) -> usize {
        self.results[0]
    }

    /// The registers of the first arguments, at most this many. Six or more may be any number.
    pub(crate) fn first_arguments(&self, count: usize) -> &'static [usize] {
        if count < 6 {
            &self.arguments[..count]
        } else {
            self.arguments
        }
    }
}

/// Decodes one instruction after the other.
pub(crate) enum Reader<'a> {
    #[cfg(target_arch = "x86_64")]
    X86(Box<x86::Reader<'a>>),
    A64(a64::Reader<'a>),
}

impl<'a> Reader<'a> {
    pub(crate) fn new(machine: Machine, bytes: &'a [u8], at: u64) -> Reader<'a> {
        match machine {
            #[cfg(target_arch = "x86_64")]
            Machine::X86_64 => Reader::X86(Box::new(x86::Reader::new(bytes, at))),
            // Nothing that is known.
            #[cfg(not(target_arch = "x86_64"))]
            Machine::X86_64 => Reader::A64(a64::Reader::new(&[], at)),
            Machine::A64 => Reader::A64(a64::Reader::new(bytes, at)),
        }
    }

    /// Address of the next instruction.
    pub(crate) fn at(&self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Reader::X86(reader) => reader.at(),
            Reader::A64(reader) => reader.at(),
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Reader::X86(reader) => reader.is_at_end(),
            Reader::A64(reader) => reader.is_at_end(),
        }
    }

    /// Whether the call or jump that was read last, to code that begins with `callee`, stands for an atomic
    /// instruction, which then is read next: how many of the bytes show that.
    pub(crate) fn read_atomic(&mut self, callee: &[u8], comes_back: bool) -> Option<u64> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Reader::X86(_) => None,
            Reader::A64(reader) => reader.read_atomic(callee, comes_back),
        }
    }

    /// Why nothing was read.
    pub(crate) fn why_not(&self) -> Why {
        match self {
            #[cfg(target_arch = "x86_64")]
            Reader::X86(_) => Why::UnknownCode,
            Reader::A64(reader) => reader.why_not(),
        }
    }

    /// `None` where the bytes are no instruction.
    pub(crate) fn read(&mut self) -> Option<Instruction> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Reader::X86(reader) => reader.read(),
            Reader::A64(reader) => reader.read(),
        }
    }
}

impl Machine {
    pub(crate) fn roles(self) -> &'static Roles {
        match self {
            Machine::X86_64 => &Roles {
                arguments: &[7, 6, 2, 1, 8, 9],
                results: [0, 2],
                vector_results: 2,
                caller_saved: &[0, 1, 2, 6, 7, 8, 9, 10, 11],
                kept_vectors: 0..0,
                stacked: 8,
            },
            Machine::A64 => &Roles {
                arguments: &[0, 1, 2, 3, 31, 29, 6, 7],
                results: [0, 1],
                vector_results: 4,
                caller_saved: &[
                    0, 1, 2, 3, 31, 29, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 30, 32,
                ],
                kept_vectors: 8..16,
                stacked: 0,
            },
        }
    }
}

/// A register, or the part of one that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Register {
    /// Of the whole register, among those of all kinds.
    pub(crate) number: u8,
    /// The part's length in bytes.
    pub(crate) size: u8,
    /// The part is not the lowest one (`%ah`).
    pub(crate) is_high: bool,
}

/// Where the numbers of each kind of register begin.
const VECTORS: u8 = 40;
const MASKS: u8 = 72;
const FLOATS: u8 = 80;
const SEGMENTS: u8 = 96;
const OTHERS: u8 = 104;
/// All numbers are below this.
pub(crate) const REGISTERS: usize = 128;

impl Register {
    /// Its number among the general-purpose registers, whatever its part.
    pub(crate) fn general(self) -> Option<usize> {
        (self.number < VECTORS).then_some(usize::from(self.number))
    }

    pub(crate) fn vector(self) -> Option<usize> {
        (VECTORS..MASKS)
            .contains(&self.number)
            .then(|| usize::from(self.number - VECTORS))
    }

    pub(crate) fn is_mask(self) -> bool {
        (MASKS..FLOATS).contains(&self.number)
    }

    /// One of the x87 and MMX registers.
    pub(crate) fn is_float(self) -> bool {
        (FLOATS..SEGMENTS).contains(&self.number)
    }

    pub(crate) fn is_segment(self) -> bool {
        (SEGMENTS..OTHERS).contains(&self.number)
    }

    /// Whether it is the whole general-purpose register with this number.
    pub(crate) fn is(self, general: usize) -> bool {
        self.size == 8 && self.general() == Some(general)
    }

    /// Whether both are parts of one register.
    pub(crate) fn is_in(self, other: Register) -> bool {
        self.number == other.number
    }

    pub(crate) fn is_low_byte(self) -> bool {
        self.size == 1 && !self.is_high
    }
}

/// What an instruction does with its operands, of which the first one is where the result goes, and for operations with
/// two operands the first one of what it is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Nothing,
    /// Orders what this thread reads and writes.
    Fence,
    Copy,
    /// A copy that widens 32 bits to 64, with their sign.
    Widen,
    /// The same in the register that holds the result of calls.
    WidenResult,
    /// A copy that widens a byte or two, without sign.
    Extend,
    /// The sign of the dividend, before a division.
    SpreadSign,
    /// Copies between a vector register and something else.
    CopyVector,
    /// The address of the memory operand, or a sum of that form.
    Address,
    Add,
    AddCarry,
    Subtract,
    Increment,
    Decrement,
    Negate,
    And,
    Or,
    Xor,
    Compare,
    /// Compares the conjunction with 0.
    Test,
    /// Compares the first two operands if the condition holds, else makes the flags what the third one says.
    CompareIf,
    /// Adds to memory and takes what was there.
    FetchAdd,
    Swap,
    CompareAndSwap,
    Multiply,
    ShiftLeft,
    Divide,
    /// Adds the elements of vectors.
    AddVector,
    Push,
    Pop,
    /// Gives the frame back, whose pointer says where it lies.
    Leave,
    /// A copy, if the condition holds.
    Select,
    /// Whether the condition holds.
    Set,
    Other,
}

/// How an operation goes on with a sum that is among its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collects {
    /// What it makes is no sum any more.
    Nothing,
    /// Moves or widens it.
    Moves,
    /// Widens its lowest bytes.
    Widens,
    Adds,
    /// Adds an index, which may be scaled.
    AddsIndex,
    Negates,
    /// Subtracts the operand with this number.
    Subtracts(u8),
    /// Adds the product of the operands with these numbers.
    AddsProduct(u8, u8),
    Ors,
    Xors,
    /// Takes the greater one.
    Most,
    Least,
    /// Takes one of the operands with these numbers.
    OneOf(u8, u8),
}

/// What a conditional instruction asks of the last comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    None,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Below,
    BelowOrEqual,
    Above,
    AboveOrEqual,
    /// The sign, an overflow, the parity.
    Other,
}

impl Condition {
    /// What is true where an order is not.
    pub(crate) fn opposite(self) -> Option<Condition> {
        use Condition as C;
        Some(match self {
            C::Less => C::GreaterOrEqual,
            C::GreaterOrEqual => C::Less,
            C::LessOrEqual => C::Greater,
            C::Greater => C::LessOrEqual,
            C::Below => C::AboveOrEqual,
            C::AboveOrEqual => C::Below,
            C::BelowOrEqual => C::Above,
            C::Above => C::BelowOrEqual,
            _ => return None,
        })
    }

    /// The order with the operands the other way round.
    pub(crate) fn swapped(self) -> Option<Condition> {
        use Condition as C;
        Some(match self {
            C::Less => C::Greater,
            C::Greater => C::Less,
            C::LessOrEqual => C::GreaterOrEqual,
            C::GreaterOrEqual => C::LessOrEqual,
            C::Below => C::Above,
            C::Above => C::Below,
            C::BelowOrEqual => C::AboveOrEqual,
            C::AboveOrEqual => C::BelowOrEqual,
            _ => return None,
        })
    }
}

/// Where an instruction leads, as it is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Falls,
    Jumps(u64),
    /// Through a pointer, at this address if that is a constant.
    JumpsThrough(Option<u64>),
    Branches(u64),
    Calls(u64),
    CallsThrough(Option<u64>),
    Returns,
    Stops,
    /// In a way that compilers do not use.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register(Register),
    /// What lies at the instruction's [`Address`].
    Memory,
    Constant(i64),
    /// No operand, or one of another kind.
    Other,
}

impl Operand {
    pub(crate) fn register(self) -> Option<Register> {
        match self {
            Operand::Register(register) => Some(register),
            _ => None,
        }
    }

    /// The number of the general-purpose register that it is.
    pub(crate) fn general(self) -> Option<usize> {
        self.register().and_then(Register::general)
    }

    pub(crate) fn constant(self) -> Option<i64> {
        match self {
            Operand::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    pub(crate) fn is_memory(self) -> bool {
        self == Operand::Memory
    }
}

/// What the memory operand is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) base: Option<Register>,
    pub(crate) index: Option<Register>,
    pub(crate) scale: i64,
    pub(crate) displacement: i64,
    /// It is a constant: the displacement, relative to the code.
    pub(crate) is_fixed: bool,
    /// It is relative to the thread pointer.
    pub(crate) is_of_thread: bool,
}

impl Address {
    /// A constant, relative to the code.
    pub(crate) fn fixed_at(at: u64) -> Address {
        Address {
            base: None,
            index: None,
            scale: 1,
            displacement: at as i64,
            is_fixed: true,
            is_of_thread: false,
        }
    }

    /// What the register points to.
    pub(crate) fn of(register: Register) -> Address {
        Address {
            base: Some(register),
            index: None,
            scale: 1,
            displacement: 0,
            is_fixed: false,
            is_of_thread: false,
        }
    }

    /// The constant that it is, if it is one relative to the code.
    pub(crate) fn fixed(&self) -> Option<u64> {
        self.is_fixed.then_some(self.displacement as u64)
    }

    /// Whether it is this register and a constant.
    pub(crate) fn is_at(&self, general: usize) -> bool {
        self.index.is_none() && self.base.is_some_and(|base| base.is(general))
    }

    /// Base and index.
    pub(crate) fn registers(&self) -> impl Iterator<Item = Register> {
        self.base.into_iter().chain(self.index)
    }
}

/// How a register is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Reads,
    Writes,
    /// Reads, then writes.
    Changes,
    /// Writes under a condition only.
    MayWrite,
    /// Reads, then writes under a condition only.
    MayChange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) register: Register,
    pub(crate) access: Access,
}

impl Used {
    pub(crate) fn is_read(self) -> bool {
        matches!(
            self.access,
            Access::Reads | Access::Changes | Access::MayChange
        )
    }

    pub(crate) fn is_written(self) -> bool {
        self.access != Access::Reads
    }

    /// Whether it may keep what it has, although it is written.
    pub(crate) fn may_stay(self) -> bool {
        matches!(self.access, Access::MayWrite | Access::MayChange)
    }

    /// Whether nothing is left of what the register had.
    pub(crate) fn is_overwritten(self) -> bool {
        self.access == Access::Writes
            && (self.register.general().is_none() || self.register.size >= 4)
    }
}

/// Which of the flags of comparisons an instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FlagsWritten {
    None,
    /// Only others, which no condition asks for.
    Unasked,
    Some,
    All,
}

/// What an instruction does with memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reach {
    pub(crate) loads: bool,
    pub(crate) stores: bool,
    /// Bytes of the longest access, or 0.
    pub(crate) size: i64,
    /// General-purpose registers that have addresses without being an operand's: the stack's, those of string
    /// instructions.
    pub(crate) implicit: [Option<u8>; 4],
}

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    /// Address of its first byte.
    pub(crate) at: u64,
    /// Address of the first byte behind it.
    pub(crate) behind: u64,
    pub(crate) op: Op,
    pub(crate) flow: Flow,
    pub(crate) condition: Condition,
    pub(crate) collects: Collects,
    operands: [Operand; 5],
    /// How many operands there are, and by bits which are read.
    count: u8,
    read: u8,
    /// Of the memory operand; that of a prefetch is never reached.
    pub(crate) address: Option<Address>,
    /// The memory operand's length in bytes, or 0.
    pub(crate) size: i64,
    /// What it reaches, if it reaches memory.
    pub(crate) reach: Option<Reach>,
    /// All registers that it uses, operands or not.
    pub(crate) used: Box<[Used]>,
    pub(crate) reads_flags: bool,
    pub(crate) flags: FlagsWritten,
    /// It has memory for itself.
    pub(crate) is_locked: bool,
    /// Registers that decide how often it repeats itself, and where.
    pub(crate) repeats: &'static [u8],
    /// A register that a branch asks about besides, or, if that does not read the flags, instead of the last
    /// comparison: whether it is zero, if there is a condition.
    pub(crate) asks: Option<u8>,
    /// It loads from a place, or stores there if nobody has stored in between.
    pub(crate) is_exclusive: bool,
    /// It uses x87 or MMX registers.
    pub(crate) uses_floats: bool,
    /// It reaches a thread-local variable.
    pub(crate) is_thread_local: bool,
    /// It moves what is in a register or a word of memory, whole, to another one.
    pub(crate) moves: bool,
    /// Between a register and memory, and nothing else; whatever the register.
    pub(crate) saves: bool,
    /// What it loads is one number, and all that the register has.
    pub(crate) fetches: bool,
    /// The result is zero whatever the registers held.
    pub(crate) clears: bool,
    /// The result is all ones, or all zeros, whatever the registers held.
    pub(crate) makes_ones: bool,
    /// The result is a number in the lowest part of a vector register, whose rest stays what it was: nothing that
    /// compilers use.
    pub(crate) makes_scalar: bool,
    /// It multiplies, or shifts by a number that is not in it.
    pub(crate) multiplies: bool,
    /// Part of a function's end: restores a register, looks after the stack protector's word, gives the frame back.
    pub(crate) is_of_end: bool,
    /// A constant in it that is the address of something, or may be.
    pub(crate) names: Option<u64>,
    /// An instruction that does the same on another way to the code behind: compilers double what ends a way.
    pub(crate) same_as: Option<u64>,
}

impl Instruction {
    pub(crate) fn operands(&self) -> &[Operand] {
        &self.operands[..usize::from(self.count)]
    }

    pub(crate) fn operand(&self, n: usize) -> Operand {
        self.operands().get(n).copied().unwrap_or(Operand::Other)
    }

    /// Whether it does the same with the same registers and memory.
    pub(crate) fn is_like(&self, other: &Instruction) -> bool {
        (self.op, self.operands(), self.address, self.condition)
            == (other.op, other.operands(), other.address, other.condition)
    }

    /// Whether one of its operands is part of this register.
    pub(crate) fn has_operand(&self, register: Register) -> bool {
        let all = self.operands().iter().filter_map(|o| o.register());
        all.into_iter().any(|operand| operand.is_in(register))
    }

    /// Whether one of its operands that are read is part of this register.
    pub(crate) fn reads_operand(&self, register: Register) -> bool {
        let all = self.operands().iter().enumerate();
        all.filter(|(n, _)| self.read >> n & 1 != 0)
            .filter_map(|(_, operand)| operand.register())
            .any(|operand| operand.is_in(register))
    }

    pub(crate) fn base(&self) -> Option<Register> {
        self.address.and_then(|address| address.base)
    }

    pub(crate) fn index(&self) -> Option<Register> {
        self.address.and_then(|address| address.index)
    }

    pub(crate) fn displacement(&self) -> i64 {
        self.address.map_or(0, |address| address.displacement)
    }

    pub(crate) fn loads(&self) -> bool {
        self.reach.is_some_and(|reach| reach.loads)
    }

    pub(crate) fn stores(&self) -> bool {
        self.reach.is_some_and(|reach| reach.stores)
    }

    /// Whether it writes some part of the general-purpose register with this number.
    pub(crate) fn writes(&self, general: usize) -> bool {
        self.used
            .iter()
            .any(|used| used.is_written() && used.register.general() == Some(general))
    }

    /// The length of its first operand in bytes; of a constant that of a word of the stack.
    pub(crate) fn width(&self) -> usize {
        match self.operand(0) {
            Operand::Register(register) => usize::from(register.size),
            Operand::Memory => self.size as usize,
            Operand::Constant(_) => 8,
            Operand::Other => 0,
        }
    }

    /// The register, where both operands are the same one.
    pub(crate) fn same_register(&self) -> Option<Register> {
        match *self.operands() {
            [Operand::Register(a), Operand::Register(b)] if a == b => Some(a),
            _ => None,
        }
    }
}
