//! The instructions of entries' stubs, for each processor. All are parts of a template of `global_asm!`, in which
//! `{observers}` and other names are `sym` operands.

#[cfg(target_arch = "x86_64")]
mod here {
    /// Goes on at a function, whose name may come in parts.
    macro_rules! jump {
        ($($to:expr),+) => { concat!("jmp ", $($to),+) };
    }

    /// Goes on at the label `9:` below if a byte is not 0.
    macro_rules! if_set {
        ($byte:literal) => {
            concat!("cmp byte ptr [rip + ", $byte, "], 0\njne 9f")
        };
    }

    /// Notes where the program called the entry. Keeps all registers that may hold arguments.
    macro_rules! note {
        () => {
            "call hetmp_note"
        };
    }

    /// Notes the same, if there is an observer.
    macro_rules! note_if_observed {
        () => {
            "cmp byte ptr [rip + {observers}], 0\nje 9f\ncall hetmp_note\n9:"
        };
    }

    /// The first argument becomes the address that the entry returns to.
    macro_rules! place_first {
        () => {
            "mov rdi, [rsp]"
        };
    }

    pub(crate) use {if_set, jump, note, note_if_observed, place_first};
}

#[cfg(target_arch = "aarch64")]
mod here {
    macro_rules! jump {
        ($($to:expr),+) => { concat!("b ", $($to),+) };
    }

    macro_rules! if_set {
        ($byte:literal) => {
            concat!(
                "adrp x16, ",
                $byte,
                "\nldrb w16, [x16, :lo12:",
                $byte,
                "]\ncbnz w16, 9f"
            )
        };
    }

    // `hetmp_note` finds the program's return address and frame pointer at the top of the stack.
    macro_rules! note {
        () => {
            concat!(
                "stp x29, x30, [sp, #-16]!\n.cfi_adjust_cfa_offset 16\n.cfi_rel_offset x29, 0\n.cfi_rel_offset x30, \
                    8\n",
                "bl hetmp_note\n",
                "ldp x29, x30, [sp], #16\n.cfi_adjust_cfa_offset -16\n.cfi_restore x29\n.cfi_restore x30"
            )
        };
    }

    macro_rules! note_if_observed {
        () => {
            concat!(
                "adrp x16, {observers}\nldrb w16, [x16, :lo12:{observers}]\ncbz w16, 9f\n",
                $crate::machine::note!(),
                "\n9:"
            )
        };
    }

    macro_rules! place_first {
        () => {
            "mov x0, x30"
        };
    }

    pub(crate) use {if_set, jump, note, note_if_observed, place_first};
}

pub(crate) use here::{if_set, jump, note, note_if_observed, place_first};
