//! The front end for x86-64.

use iced_x86::{
    Code, ConditionCode, CpuidFeature, Decoder, DecoderOptions, FlowControl, InstructionInfo,
    InstructionInfoFactory, Mnemonic, OpAccess, OpKind, RflagsBits,
};

use super::{
    Access, Address, Collects, Condition, FlagsWritten, Flow, Instruction, Op, Operand, Reach,
    Register, Used, FLOATS, MASKS, OTHERS, SEGMENTS, VECTORS,
};

/// Decodes one instruction after the other.
pub(crate) struct Reader<'a> {
    decoder: Decoder<'a>,
    factory: InstructionInfoFactory,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: u64) -> Reader<'a> {
        Reader {
            decoder: Decoder::with_ip(64, bytes, at, DecoderOptions::NONE),
            factory: InstructionInfoFactory::new(),
        }
    }

    /// Address of the next instruction.
    pub(crate) fn at(&self) -> u64 {
        self.decoder.ip()
    }

    pub(crate) fn is_at_end(&self) -> bool {
        !self.decoder.can_decode()
    }

    /// `None` where the bytes are no instruction.
    pub(crate) fn read(&mut self) -> Option<Instruction> {
        let i = self.decoder.decode();
        (!i.is_invalid()).then(|| lowered(&i, self.factory.info(&i)))
    }
}

/// The instruction at the beginning of `bytes`, as the decoder's crate has it.
pub(crate) fn decoded(bytes: &[u8], at: u64) -> Option<iced_x86::Instruction> {
    let i = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
    (!i.is_invalid()).then_some(i)
}

fn lowered(i: &iced_x86::Instruction, info: &InstructionInfo) -> Instruction {
    let mut operands = [Operand::Other; 5];
    let mut read = 0;
    for (n, operand) in (0..i.op_count()).zip(&mut operands) {
        *operand = operand_of(i, n);
        read |= u8::from(is_read(info.op_access(n))) << n;
    }
    let is_memory = |operand: &Operand| operand.is_memory();
    let address = operands.iter().any(is_memory).then(|| address_of(i));
    let used = info.used_registers().iter().map(|used| Used {
        register: register(used.register()),
        access: match used.access() {
            OpAccess::Write => Access::Writes,
            OpAccess::ReadWrite => Access::Changes,
            OpAccess::CondWrite => Access::MayWrite,
            OpAccess::ReadCondWrite => Access::MayChange,
            _ => Access::Reads,
        },
    });
    let mut lowered = Instruction {
        at: i.ip(),
        behind: i.next_ip(),
        op: op(i),
        flow: flow(i),
        condition: condition(i.condition_code()),
        collects: collects(i),
        operands,
        count: i.op_count() as u8,
        read,
        address,
        size: i.memory_size().size() as i64,
        reach: reach(info),
        used: used.collect(),
        reads_flags: i.rflags_read() != 0,
        flags: flags(i),
        is_locked: i.has_lock_prefix(),
        repeats: if i.is_string_instruction() {
            &[1, 6, 7]
        } else {
            &[]
        },
        is_exclusive: false,
        asks: (i.is_jcx_short() || i.is_loop() || i.is_loopcc()).then_some(1),
        uses_floats: i.cpuid_features().iter().any(|feature| {
            use CpuidFeature as C;
            matches!(feature, C::FPU | C::FPU287 | C::FPU387 | C::MMX)
        }),
        is_thread_local: is_thread_local(i),
        moves: moves(i),
        saves: saves(i),
        fetches: matches!(
            i.mnemonic(),
            Mnemonic::Mov | Mnemonic::Movsxd | Mnemonic::Movsd | Mnemonic::Movss
        ),
        clears: clears(i),
        makes_ones: makes_ones(i),
        makes_scalar: makes_scalar(i),
        multiplies: multiplies(i),
        is_of_end: is_of_end(i),
        names: names(i),
        same_as: None,
    };
    if lowered.op == Op::Nothing {
        // Its operand only makes it long.
        lowered.becomes_nothing();
    }
    lowered
}

fn is_read(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn register(register: iced_x86::Register) -> Register {
    use iced_x86::Register as R;
    let number = register.number();
    let (first, number) = if register.is_gpr() {
        (0, register.full_register().number())
    } else if register.is_vector_register() {
        (VECTORS, number)
    } else if register.is_k() {
        (MASKS, number)
    } else if register.is_st() {
        (FLOATS, number)
    } else if register.is_mm() {
        (FLOATS + 8, number)
    } else if register.is_segment_register() {
        (SEGMENTS, number)
    } else {
        (OTHERS, 0)
    };
    Register {
        number: first + number as u8,
        size: register.size() as u8,
        is_high: matches!(register, R::AH | R::BH | R::CH | R::DH),
    }
}

/// `None` for the instruction pointer, too: an address relative to it is a constant.
fn part_of_address(part: iced_x86::Register) -> Option<Register> {
    (part.is_gpr() || part.is_vector_register()).then(|| register(part))
}

fn operand_of(i: &iced_x86::Instruction, n: u32) -> Operand {
    match i.op_kind(n) {
        OpKind::Register => Operand::Register(register(i.op_register(n))),
        OpKind::Memory => Operand::Memory,
        // Immediates of 32-bit operations are shown without sign.
        OpKind::Immediate32 | OpKind::Immediate8to32 => {
            Operand::Constant(i64::from(i.immediate(n) as u32 as i32))
        }
        OpKind::Immediate8
        | OpKind::Immediate16
        | OpKind::Immediate64
        | OpKind::Immediate8to16
        | OpKind::Immediate8to64
        | OpKind::Immediate32to64 => Operand::Constant(i.immediate(n) as i64),
        _ => Operand::Other,
    }
}

fn address_of(i: &iced_x86::Instruction) -> Address {
    Address {
        base: part_of_address(i.memory_base()),
        index: part_of_address(i.memory_index()),
        scale: i64::from(i.memory_index_scale()),
        displacement: i.memory_displacement64() as i64,
        is_fixed: i.is_ip_rel_memory_operand(),
        is_of_thread: is_of_thread(i),
    }
}

fn is_of_thread(i: &iced_x86::Instruction) -> bool {
    use iced_x86::Register as R;
    matches!(i.segment_prefix(), R::FS | R::GS)
}

/// Offset of the stack protector's word from the thread pointer.
const CANARY: u64 = 0x28;

/// Whether an operand lies relative to the thread pointer. Not counted is the
/// word that the stack protector compares, at a place that the ABI fixes.
fn is_thread_local(i: &iced_x86::Instruction) -> bool {
    use iced_x86::Register as R;
    let canary = i.memory_base() == R::None
        && i.memory_index() == R::None
        && i.memory_displacement64() == CANARY;
    is_of_thread(i) && !canary && i.mnemonic() != Mnemonic::Nop
}

fn reach(info: &InstructionInfo) -> Option<Reach> {
    let used = info.used_memory();
    let mut reach = Reach::default();
    let mut implicit = reach.implicit.iter_mut();
    for used in used {
        reach.loads |= is_read(used.access());
        reach.stores |= matches!(
            used.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        reach.size = reach.size.max(used.memory_size().size() as i64);
        for part in [used.base(), used.index()] {
            if part.is_gpr() {
                if let Some(slot) = implicit.next() {
                    *slot = Some(part.full_register().number() as u8);
                }
            }
        }
    }
    (!used.is_empty()).then_some(reach)
}

fn flags(i: &iced_x86::Instruction) -> FlagsWritten {
    let status = RflagsBits::CF | RflagsBits::ZF | RflagsBits::SF | RflagsBits::OF | RflagsBits::PF;
    let modified = i.rflags_modified();
    use Mnemonic as M;
    // A count of zero would leave them alone.
    let shifts = matches!(
        i.mnemonic(),
        M::Shl | M::Shr | M::Sar | M::Sal | M::Shld | M::Shrd | M::Rol | M::Ror | M::Rcl | M::Rcr
    );
    if modified == 0 {
        FlagsWritten::None
    } else if modified & status == 0 {
        FlagsWritten::Unasked
    } else if modified & status == status && !shifts {
        FlagsWritten::All
    } else {
        FlagsWritten::Some
    }
}

fn condition(code: ConditionCode) -> Condition {
    use Condition as C;
    match code {
        ConditionCode::None => C::None,
        ConditionCode::e => C::Equal,
        ConditionCode::ne => C::NotEqual,
        ConditionCode::l => C::Less,
        ConditionCode::le => C::LessOrEqual,
        ConditionCode::g => C::Greater,
        ConditionCode::ge => C::GreaterOrEqual,
        ConditionCode::b => C::Below,
        ConditionCode::be => C::BelowOrEqual,
        ConditionCode::a => C::Above,
        ConditionCode::ae => C::AboveOrEqual,
        _ => C::Other,
    }
}

fn flow(i: &iced_x86::Instruction) -> Flow {
    let direct = (i.op0_kind() == OpKind::NearBranch64).then(|| i.near_branch64());
    let slot = (i.op0_kind() == OpKind::Memory && i.is_ip_rel_memory_operand())
        .then(|| i.ip_rel_memory_address());
    match (i.flow_control(), direct) {
        (FlowControl::Next, _) => Flow::Falls,
        (FlowControl::UnconditionalBranch, Some(target)) => Flow::Jumps(target),
        (FlowControl::ConditionalBranch, Some(target)) => Flow::Branches(target),
        (FlowControl::Call, Some(target)) => Flow::Calls(target),
        (FlowControl::IndirectBranch, _) => Flow::JumpsThrough(slot),
        (FlowControl::IndirectCall, _) => Flow::CallsThrough(slot),
        (FlowControl::Return, _) if i.code() == Code::Retnq => Flow::Returns,
        (FlowControl::Exception, _) if i.mnemonic() == Mnemonic::Ud2 => Flow::Stops,
        (FlowControl::Interrupt, _) if i.mnemonic() == Mnemonic::Int3 => Flow::Stops,
        _ => Flow::Unknown,
    }
}

fn op(i: &iced_x86::Instruction) -> Op {
    use Mnemonic as M;
    match i.mnemonic() {
        M::Endbr64 | M::Nop | M::Pause => Op::Nothing,
        M::Mfence | M::Lfence | M::Sfence => Op::Fence,
        M::Mov => Op::Copy,
        M::Movsxd => Op::Widen,
        M::Cdqe => Op::WidenResult,
        M::Movzx => Op::Extend,
        M::Cdq | M::Cqo => Op::SpreadSign,
        M::Movd | M::Movq | M::Vmovd | M::Vmovq => Op::CopyVector,
        M::Lea => Op::Address,
        M::Add => Op::Add,
        M::Adc => Op::AddCarry,
        M::Sub => Op::Subtract,
        M::Inc => Op::Increment,
        M::Dec => Op::Decrement,
        M::Neg => Op::Negate,
        M::And => Op::And,
        M::Or => Op::Or,
        M::Xor => Op::Xor,
        M::Cmp => Op::Compare,
        M::Test => Op::Test,
        M::Xadd => Op::FetchAdd,
        M::Xchg => Op::Swap,
        M::Cmpxchg => Op::CompareAndSwap,
        M::Imul if i.op_count() >= 2 => Op::Multiply,
        M::Shl => Op::ShiftLeft,
        M::Div | M::Idiv => Op::Divide,
        M::Paddd | M::Paddq | M::Paddw | M::Paddb => Op::AddVector,
        M::Vpaddd | M::Vpaddq | M::Vpaddw | M::Vpaddb => Op::AddVector,
        M::Push => Op::Push,
        M::Pop => Op::Pop,
        M::Leave => Op::Leave,
        _ if is_conditional_move(i) => Op::Select,
        _ if i.condition_code() != ConditionCode::None
            && i.op_count() == 1
            && i.flow_control() == FlowControl::Next =>
        {
            Op::Set
        }
        _ => Op::Other,
    }
}

/// Whether it copies if a condition holds: with two operands, where `set` has one.
fn is_conditional_move(i: &iced_x86::Instruction) -> bool {
    i.condition_code() != ConditionCode::None && i.op_count() == 2
}

fn moves(i: &iced_x86::Instruction) -> bool {
    use Mnemonic as M;
    match i.mnemonic() {
        M::Mov | M::Movsxd | M::Movq | M::Vmovq => true,
        M::Movdqa | M::Movdqu | M::Movaps | M::Movapd | M::Movups | M::Movupd => true,
        M::Vmovdqa | M::Vmovdqu | M::Vmovaps | M::Vmovapd | M::Vmovups | M::Vmovupd => true,
        M::Vmovdqa64 | M::Vmovdqu64 => true,
        M::Movsd | M::Movss | M::Vmovsd | M::Vmovss => {
            i.op0_kind() == OpKind::Memory || i.op1_kind() == OpKind::Memory
        }
        _ => false,
    }
}

fn saves(i: &iced_x86::Instruction) -> bool {
    use Mnemonic as M;
    let moved = match i.mnemonic() {
        M::Movd | M::Vmovd => true,
        M::Movsxd | M::Vmovdqa64 | M::Vmovdqu64 => false,
        _ => moves(i),
    };
    let between = matches!(
        (i.op_count(), i.op0_kind(), i.op1_kind()),
        (2, OpKind::Register, OpKind::Memory) | (2, OpKind::Memory, OpKind::Register)
    );
    moved && between && i.memory_size().size() >= 4
}

/// Whether all that it is made of is one register.
fn is_of_one(i: &iced_x86::Instruction) -> bool {
    let register = |n: u32| (i.op_kind(n) == OpKind::Register).then(|| i.op_register(n));
    match i.op_count() {
        2 => register(0).is_some() && register(0) == register(1),
        3 => register(1).is_some() && register(1) == register(2),
        _ => false,
    }
}

fn clears(i: &iced_x86::Instruction) -> bool {
    use Mnemonic as M;
    let differs = matches!(
        i.mnemonic(),
        M::Xor
            | M::Sub
            | M::Pxor
            | M::Xorps
            | M::Xorpd
            | M::Vpxor
            | M::Vxorps
            | M::Vxorpd
            | M::Vpxord
            | M::Vpxorq
    );
    differs && is_of_one(i)
}

fn makes_ones(i: &iced_x86::Instruction) -> bool {
    use Mnemonic as M;
    let compares = matches!(
        i.mnemonic(),
        M::Sbb
            | M::Pcmpeqb
            | M::Pcmpeqw
            | M::Pcmpeqd
            | M::Pcmpeqq
            | M::Vpcmpeqb
            | M::Vpcmpeqw
            | M::Vpcmpeqd
            | M::Vpcmpeqq
    );
    compares && is_of_one(i)
}

fn makes_scalar(i: &iced_x86::Instruction) -> bool {
    use Mnemonic as M;
    let scalar = matches!(
        i.mnemonic(),
        M::Cvtsi2sd
            | M::Cvtsi2ss
            | M::Cvtss2sd
            | M::Cvtsd2ss
            | M::Sqrtsd
            | M::Sqrtss
            | M::Rsqrtss
            | M::Rcpss
    );
    scalar && i.op_count() == 2 && i.op_kind(1) != OpKind::Immediate8 && !is_of_one(i)
}

fn multiplies(i: &iced_x86::Instruction) -> bool {
    use Mnemonic as M;
    match i.mnemonic() {
        M::Imul | M::Mul | M::Mulx => true,
        M::Shl | M::Shlx | M::Shld => i.op_kind(i.op_count() - 1) == OpKind::Register,
        M::Pmuludq | M::Vpmuludq | M::Pmulld | M::Vpmulld | M::Vpmullq | M::Pmuldq | M::Vpmuldq => {
            true
        }
        M::Mulsd | M::Vmulsd | M::Mulss | M::Vmulss | M::Mulpd | M::Vmulpd => true,
        _ => false,
    }
}

fn is_of_end(i: &iced_x86::Instruction) -> bool {
    use iced_x86::Register as R;
    let register = i.op_count() > 0 && i.op0_kind() == OpKind::Register;
    let stack = register && i.op0_register() == R::RSP;
    let framed = i.op1_kind() == OpKind::Memory && matches!(i.memory_base(), R::RSP | R::RBP);
    match i.mnemonic() {
        Mnemonic::Pop => register,
        // The stack protector's word, whose check may fail below. (What lies in registers then is the caller's
        // business.)
        Mnemonic::Mov if register && !stack && framed => true,
        Mnemonic::Sub | Mnemonic::Xor | Mnemonic::Cmp if i.segment_prefix() == R::FS => {
            !is_thread_local(i)
        }
        Mnemonic::Leave | Mnemonic::Nop | Mnemonic::Vzeroupper => true,
        Mnemonic::Add | Mnemonic::Lea | Mnemonic::Mov => stack,
        _ => false,
    }
}

fn names(i: &iced_x86::Instruction) -> Option<u64> {
    match i.mnemonic() {
        Mnemonic::Lea => i
            .is_ip_rel_memory_operand()
            .then(|| i.ip_rel_memory_address()),
        Mnemonic::Mov | Mnemonic::Push => {
            let is_wide = |&n: &u32| {
                matches!(
                    i.op_kind(n),
                    OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64
                )
            };
            (0..i.op_count()).find(is_wide).map(|n| i.immediate(n))
        }
        _ => None,
    }
}

fn collects(i: &iced_x86::Instruction) -> Collects {
    use Collects as C;
    use Mnemonic as M;
    match i.mnemonic() {
        M::Mov | M::Movsxd | M::Cdqe | M::Push | M::Pop | M::Cmpxchg => C::Moves,
        M::Movaps | M::Movapd | M::Movups | M::Movupd | M::Movdqa | M::Movdqu => C::Moves,
        M::Movss | M::Movsd | M::Movq | M::Movd | M::Movlps | M::Movlpd | M::Movhps => C::Moves,
        M::Movhpd | M::Movhlps | M::Movlhps | M::Movddup | M::Movshdup | M::Movsldup => C::Moves,
        M::Vmovaps | M::Vmovapd | M::Vmovups | M::Vmovupd | M::Vmovdqa | M::Vmovdqu => C::Moves,
        M::Vmovdqa32 | M::Vmovdqa64 | M::Vmovdqu32 | M::Vmovdqu64 => C::Moves,
        M::Vmovss | M::Vmovsd | M::Vmovq | M::Vmovd | M::Vmovlps | M::Vmovhps => C::Moves,
        M::Vmovlpd | M::Vmovhpd | M::Vmovhlps | M::Vmovlhps | M::Vmovddup => C::Moves,
        M::Unpcklpd | M::Unpckhpd | M::Unpcklps | M::Unpckhps => C::Moves,
        M::Vunpcklpd | M::Vunpckhpd | M::Vunpcklps | M::Vunpckhps => C::Moves,
        M::Punpckldq | M::Punpckhdq | M::Punpcklqdq | M::Punpckhqdq => C::Moves,
        M::Vpunpckldq | M::Vpunpckhdq | M::Vpunpcklqdq | M::Vpunpckhqdq => C::Moves,
        M::Shufps | M::Shufpd | M::Pshufd | M::Psrldq | M::Pslldq | M::Palignr => C::Moves,
        M::Vshufps | M::Vshufpd | M::Vpshufd | M::Vpsrldq | M::Vpslldq | M::Vpalignr => C::Moves,
        M::Vpermilps | M::Vpermilpd | M::Vperm2f128 | M::Vperm2i128 => C::Moves,
        M::Vpermpd | M::Vpermq | M::Valignq | M::Valignd => C::Moves,
        M::Vshuff64x2 | M::Vshuff32x4 | M::Vshufi64x2 | M::Vshufi32x4 => C::Moves,
        M::Vextractf128 | M::Vextracti128 | M::Vinsertf128 | M::Vinserti128 => C::Moves,
        M::Vextractf64x2 | M::Vextractf64x4 | M::Vextractf32x4 | M::Vextractf32x8 => C::Moves,
        M::Vextracti64x2 | M::Vextracti64x4 | M::Vextracti32x4 | M::Vextracti32x8 => C::Moves,
        M::Vinsertf64x4 | M::Vinserti64x4 | M::Insertps | M::Vinsertps => C::Moves,
        M::Pextrd | M::Pextrq | M::Vpextrd | M::Vpextrq => C::Moves,
        M::Pinsrd | M::Pinsrq | M::Vpinsrd | M::Vpinsrq => C::Moves,
        M::Fld | M::Fst | M::Fstp | M::Fild | M::Fxch => C::Moves,
        // The same number, perhaps rounded.
        M::Cvtss2sd | M::Cvtsd2ss | M::Cvtps2pd | M::Cvtpd2ps => C::Moves,
        M::Vcvtss2sd | M::Vcvtsd2ss | M::Vcvtps2pd | M::Vcvtpd2ps => C::Moves,
        M::Cvtsi2sd | M::Cvtsi2ss | M::Vcvtsi2sd | M::Vcvtsi2ss => C::Moves,
        M::Pmovsxdq | M::Pmovzxdq | M::Vpmovsxdq | M::Vpmovzxdq => C::Moves,
        M::Movzx | M::Movsx => C::Widens,
        M::Add | M::Inc | M::Dec | M::Xadd | M::Adc => C::Adds,
        M::Lea => C::AddsIndex,
        M::Addss | M::Addsd | M::Addps | M::Addpd | M::Haddps | M::Haddpd => C::Adds,
        M::Vaddss | M::Vaddsd | M::Vaddps | M::Vaddpd | M::Vhaddps | M::Vhaddpd => C::Adds,
        M::Paddb | M::Paddw | M::Paddd | M::Paddq | M::Phaddd => C::Adds,
        M::Vpaddb | M::Vpaddw | M::Vpaddd | M::Vpaddq | M::Vphaddd => C::Adds,
        M::Fadd | M::Faddp | M::Fiadd => C::Adds,
        M::Neg => C::Negates,
        M::Sub | M::Sbb | M::Subss | M::Subsd | M::Subps | M::Subpd => C::Subtracts(1),
        M::Psubb | M::Psubw | M::Psubd | M::Psubq => C::Subtracts(1),
        M::Vsubss | M::Vsubsd | M::Vsubps | M::Vsubpd | M::Vpsubb | M::Vpsubw => C::Subtracts(2),
        M::Vpsubd | M::Vpsubq => C::Subtracts(2),
        // What is added to a product is the first, the second or the third operand.
        M::Vfmadd231ss | M::Vfmadd231sd | M::Vfmadd231ps | M::Vfmadd231pd => C::AddsProduct(1, 2),
        M::Vfnmadd231ss | M::Vfnmadd231sd | M::Vfnmadd231ps | M::Vfnmadd231pd => {
            C::AddsProduct(1, 2)
        }
        M::Vfmadd132ss | M::Vfmadd132sd | M::Vfmadd132ps | M::Vfmadd132pd => C::AddsProduct(0, 2),
        M::Vfnmadd132ss | M::Vfnmadd132sd | M::Vfnmadd132ps | M::Vfnmadd132pd => {
            C::AddsProduct(0, 2)
        }
        M::Vfmadd213ss | M::Vfmadd213sd | M::Vfmadd213ps | M::Vfmadd213pd => C::AddsProduct(0, 1),
        M::Vfnmadd213ss | M::Vfnmadd213sd | M::Vfnmadd213ps | M::Vfnmadd213pd => {
            C::AddsProduct(0, 1)
        }
        M::Or | M::Por | M::Vpor | M::Orps | M::Orpd | M::Vorps | M::Vorpd => C::Ors,
        M::Vpord | M::Vporq => C::Ors,
        M::Xor | M::Pxor | M::Vpxor | M::Xorps | M::Xorpd | M::Vxorps | M::Vxorpd => C::Xors,
        M::Vpxord | M::Vpxorq => C::Xors,
        M::Maxss | M::Maxsd | M::Maxps | M::Maxpd | M::Pmaxsd | M::Pmaxud => C::Most,
        M::Vmaxss | M::Vmaxsd | M::Vmaxps | M::Vmaxpd | M::Vpmaxsd | M::Vpmaxud => C::Most,
        M::Minss | M::Minsd | M::Minps | M::Minpd | M::Pminsd | M::Pminud => C::Least,
        M::Vminss | M::Vminsd | M::Vminps | M::Vminpd | M::Vpminsd | M::Vpminud => C::Least,
        // One of two sums, the condition being none.
        _ if is_conditional_move(i) => C::OneOf(0, 1),
        M::Blendvps | M::Blendvpd | M::Pblendvb => C::OneOf(0, 1),
        M::Vblendvps | M::Vblendvpd | M::Vpblendvb => C::OneOf(1, 2),
        _ => C::Nothing,
    }
}
