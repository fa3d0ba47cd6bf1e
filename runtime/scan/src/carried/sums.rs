//! What may be done with a sum, so that the parts of any number of chunks give the same.
//!
//! A private variable that begins at zero and collects something of each iteration is put together after the loop
//! (`reduction(+:s)`). How the loop is divided does not show where the iterations collect by an operation that is
//! associative and commutative and has zero for a neutral element, and where the parts are put together by the same
//! one. A hash (`h = h * 37 + x`) begins at zero, too, but is none. (Sums of floating-point numbers count as sums,
//! although they are rounded differently.)

use iced_x86::{Instruction, Mnemonic, OpKind};

use super::effect::location;
use super::function::{Location, Mark};
use super::function::{ADDED, LEAST, MOST, ORED, XORED};

/// The operation by which an instruction goes on with a sum, as a mark; 0 where it only moves or widens the sum; `None`
/// where what it makes is no sum any more. `is_sum` tells which registers hold one, `has` which operations it was made
/// by, `in_loop` whether the instruction belongs to a static loop.
pub(super) fn collects(
    i: &Instruction,
    is_sum: &dyn Fn(Location) -> bool,
    has: Mark,
    in_loop: bool,
) -> Option<Mark> {
    use Mnemonic as M;
    let operand = |o: u32| {
        let register = (o < i.op_count() && i.op_kind(o) == OpKind::Register)
            .then(|| location(i.op_register(o)))
            .flatten();
        register.map(is_sum)
    };
    // Of two operands both are sums, or memory that may be one.
    let both = |a: u32, b: u32| operand(a) != Some(false) && operand(b) != Some(false);
    match i.mnemonic() {
        M::Mov | M::Movsxd | M::Cdqe | M::Push | M::Pop | M::Cmpxchg => Some(0),
        M::Movaps | M::Movapd | M::Movups | M::Movupd | M::Movdqa | M::Movdqu => Some(0),
        M::Movss | M::Movsd | M::Movq | M::Movd | M::Movlps | M::Movlpd | M::Movhps => Some(0),
        M::Movhpd | M::Movhlps | M::Movlhps | M::Movddup | M::Movshdup | M::Movsldup => Some(0),
        M::Vmovaps | M::Vmovapd | M::Vmovups | M::Vmovupd | M::Vmovdqa | M::Vmovdqu => Some(0),
        M::Vmovdqa32 | M::Vmovdqa64 | M::Vmovdqu32 | M::Vmovdqu64 => Some(0),
        M::Vmovss | M::Vmovsd | M::Vmovq | M::Vmovd | M::Vmovlps | M::Vmovhps => Some(0),
        M::Vmovlpd | M::Vmovhpd | M::Vmovhlps | M::Vmovlhps | M::Vmovddup => Some(0),
        M::Unpcklpd | M::Unpckhpd | M::Unpcklps | M::Unpckhps => Some(0),
        M::Vunpcklpd | M::Vunpckhpd | M::Vunpcklps | M::Vunpckhps => Some(0),
        M::Punpckldq | M::Punpckhdq | M::Punpcklqdq | M::Punpckhqdq => Some(0),
        M::Vpunpckldq | M::Vpunpckhdq | M::Vpunpcklqdq | M::Vpunpckhqdq => Some(0),
        M::Shufps | M::Shufpd | M::Pshufd | M::Psrldq | M::Pslldq | M::Palignr => Some(0),
        M::Vshufps | M::Vshufpd | M::Vpshufd | M::Vpsrldq | M::Vpslldq | M::Vpalignr => Some(0),
        M::Vpermilps | M::Vpermilpd | M::Vperm2f128 | M::Vperm2i128 => Some(0),
        M::Vpermpd | M::Vpermq | M::Valignq | M::Valignd => Some(0),
        M::Vshuff64x2 | M::Vshuff32x4 | M::Vshufi64x2 | M::Vshufi32x4 => Some(0),
        M::Vextractf128 | M::Vextracti128 | M::Vinsertf128 | M::Vinserti128 => Some(0),
        M::Vextractf64x2 | M::Vextractf64x4 | M::Vextractf32x4 | M::Vextractf32x8 => Some(0),
        M::Vextracti64x2 | M::Vextracti64x4 | M::Vextracti32x4 | M::Vextracti32x8 => Some(0),
        M::Vinsertf64x4 | M::Vinserti64x4 | M::Insertps | M::Vinsertps => Some(0),
        M::Pextrd | M::Pextrq | M::Vpextrd | M::Vpextrq => Some(0),
        M::Pinsrd | M::Pinsrq | M::Vpinsrd | M::Vpinsrq => Some(0),
        M::Fld | M::Fst | M::Fstp | M::Fild | M::Fxch => Some(0),
        // The same number, perhaps rounded.
        M::Cvtss2sd | M::Cvtsd2ss | M::Cvtps2pd | M::Cvtpd2ps => Some(0),
        M::Vcvtss2sd | M::Vcvtsd2ss | M::Vcvtps2pd | M::Vcvtpd2ps => Some(0),
        M::Cvtsi2sd | M::Cvtsi2ss | M::Vcvtsi2sd | M::Vcvtsi2ss => Some(0),
        M::Pmovsxdq | M::Pmovzxdq | M::Vpmovsxdq | M::Vpmovzxdq => Some(0),
        // The carry of bytes that were added would be lost.
        M::Movzx | M::Movsx => (has & ADDED == 0).then_some(0),
        M::Add | M::Inc | M::Dec | M::Xadd | M::Adc => Some(ADDED),
        M::Lea => {
            let index = location(i.memory_index()).is_some_and(is_sum);
            (!index || i.memory_index_scale() == 1).then_some(ADDED)
        }
        M::Addss | M::Addsd | M::Addps | M::Addpd | M::Haddps | M::Haddpd => Some(ADDED),
        M::Vaddss | M::Vaddsd | M::Vaddps | M::Vaddpd | M::Vhaddps | M::Vhaddpd => Some(ADDED),
        M::Paddb | M::Paddw | M::Paddd | M::Paddq | M::Phaddd => Some(ADDED),
        M::Vpaddb | M::Vpaddw | M::Vpaddd | M::Vpaddq | M::Vphaddd => Some(ADDED),
        M::Fadd | M::Faddp | M::Fiadd => Some(ADDED),
        // Each part may be subtracted from something, but no iteration may subtract all before from its own.
        M::Neg => (!in_loop).then_some(ADDED),
        M::Sub | M::Sbb | M::Subss | M::Subsd | M::Subps | M::Subpd => {
            let memory = i.op_kind(1) == OpKind::Memory;
            (!in_loop || !memory && operand(1) != Some(true)).then_some(ADDED)
        }
        M::Psubb | M::Psubw | M::Psubd | M::Psubq => (!in_loop
            || i.op_kind(1) == OpKind::Register && operand(1) != Some(true))
        .then_some(ADDED),
        M::Vsubss | M::Vsubsd | M::Vsubps | M::Vsubpd | M::Vpsubb | M::Vpsubw => (!in_loop
            || i.op_kind(2) == OpKind::Register && operand(2) != Some(true))
        .then_some(ADDED),
        M::Vpsubd | M::Vpsubq => (!in_loop
            || i.op_kind(2) == OpKind::Register && operand(2) != Some(true))
        .then_some(ADDED),
        // What is added to a product is the first, the second or the third operand.
        M::Vfmadd231ss | M::Vfmadd231sd | M::Vfmadd231ps | M::Vfmadd231pd => {
            (operand(1) == Some(false) && operand(2) != Some(true)).then_some(ADDED)
        }
        M::Vfnmadd231ss | M::Vfnmadd231sd | M::Vfnmadd231ps | M::Vfnmadd231pd => {
            (operand(1) == Some(false) && operand(2) != Some(true)).then_some(ADDED)
        }
        M::Vfmadd132ss | M::Vfmadd132sd | M::Vfmadd132ps | M::Vfmadd132pd => {
            (operand(0) == Some(false) && operand(2) != Some(true)).then_some(ADDED)
        }
        M::Vfmadd213ss | M::Vfmadd213sd | M::Vfmadd213ps | M::Vfmadd213pd => {
            (operand(0) == Some(false) && operand(1) == Some(false)).then_some(ADDED)
        }
        M::Vfnmadd213ss | M::Vfnmadd213sd | M::Vfnmadd213ps | M::Vfnmadd213pd => {
            (operand(0) == Some(false) && operand(1) == Some(false)).then_some(ADDED)
        }
        M::Vfnmadd132ss | M::Vfnmadd132sd | M::Vfnmadd132ps | M::Vfnmadd132pd => {
            (operand(0) == Some(false) && operand(2) != Some(true)).then_some(ADDED)
        }
        M::Or | M::Por | M::Vpor | M::Orps | M::Orpd | M::Vorps | M::Vorpd => Some(ORED),
        M::Vpord | M::Vporq => Some(ORED),
        M::Xor | M::Pxor | M::Vpxor | M::Xorps | M::Xorpd | M::Vxorps | M::Vxorpd => Some(XORED),
        M::Vpxord | M::Vpxorq => Some(XORED),
        M::Maxss | M::Maxsd | M::Maxps | M::Maxpd | M::Pmaxsd | M::Pmaxud => Some(MOST),
        M::Vmaxss | M::Vmaxsd | M::Vmaxps | M::Vmaxpd | M::Vpmaxsd | M::Vpmaxud => Some(MOST),
        M::Minss | M::Minsd | M::Minps | M::Minpd | M::Pminsd | M::Pminud => Some(LEAST),
        M::Vminss | M::Vminsd | M::Vminps | M::Vminpd | M::Vpminsd | M::Vpminud => Some(LEAST),
        // One of two sums, the condition being none.
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
        | M::Cmovs => both(0, 1).then_some(0),
        M::Blendvps | M::Blendvpd | M::Pblendvb => both(0, 1).then_some(0),
        M::Vblendvps | M::Vblendvpd | M::Vpblendvb => both(1, 2).then_some(0),
        _ => None,
    }
}

/// Whether the marks name more than one operation.
pub(super) fn is_mixed(mark: Mark) -> bool {
    (mark & (ADDED | ORED | XORED | MOST | LEAST)).count_ones() > 1
}
