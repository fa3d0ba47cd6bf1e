//! The part of the table in `families` about atomic memory operations.

use crate::table::{Family, Names};
use crate::types::Set;

pub(super) fn atomics(t: &mut Vec<Family>) {
    use Set::{Amo, AmoBitwise, AmoExtended, AmoOld, AmoOldExtended};
    const READ: &str = "const TYPE *source, int pe";
    const PLAIN: &str = "TYPE *dest, int pe";
    const VALUE: &str = "TYPE *dest, TYPE value, int pe";
    const COMPARE: &str = "TYPE *dest, TYPE cond, TYPE value, int pe";
    for (set, what, result, parameters, shape) in [
        (AmoExtended, "atomic_fetch", "TYPE", READ, "fetch"),
        (AmoExtended, "atomic_set", "void", VALUE, "update Set"),
        (Amo, "atomic_compare_swap", "TYPE", COMPARE, "compare"),
        (AmoExtended, "atomic_swap", "TYPE", VALUE, "fetching Swap"),
        (Amo, "atomic_fetch_inc", "TYPE", PLAIN, "fetching_inc"),
        (Amo, "atomic_inc", "void", PLAIN, "inc"),
        (Amo, "atomic_fetch_add", "TYPE", VALUE, "fetching Add"),
        (Amo, "atomic_add", "void", VALUE, "update Add"),
        (
            AmoBitwise,
            "atomic_fetch_and",
            "TYPE",
            VALUE,
            "fetching And",
        ),
        (AmoBitwise, "atomic_and", "void", VALUE, "update And"),
        (AmoBitwise, "atomic_fetch_or", "TYPE", VALUE, "fetching Or"),
        (AmoBitwise, "atomic_or", "void", VALUE, "update Or"),
        (
            AmoBitwise,
            "atomic_fetch_xor",
            "TYPE",
            VALUE,
            "fetching Xor",
        ),
        (AmoBitwise, "atomic_xor", "void", VALUE, "update Xor"),
    ] {
        t.push(
            Family::new(what, Names::Typed(set, what))
                .of(result, parameters)
                .with_context()
                .generic(what)
                .entry("atomic", shape),
        );
    }
    for (set, what, parameters, shape) in [
        (
            AmoExtended,
            "atomic_fetch_nbi",
            "TYPE *fetch, const TYPE *source, int pe",
            "fetch_nbi",
        ),
        (
            Amo,
            "atomic_compare_swap_nbi",
            "TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe",
            "compare_nbi",
        ),
        (
            AmoExtended,
            "atomic_swap_nbi",
            "TYPE *fetch, TYPE *dest, TYPE value, int pe",
            "fetching_nbi Swap",
        ),
        (
            Amo,
            "atomic_fetch_inc_nbi",
            "TYPE *fetch, TYPE *dest, int pe",
            "fetching_inc_nbi",
        ),
        (
            Amo,
            "atomic_fetch_add_nbi",
            "TYPE *fetch, TYPE *dest, TYPE value, int pe",
            "fetching_nbi Add",
        ),
        (
            AmoBitwise,
            "atomic_fetch_and_nbi",
            "TYPE *fetch, TYPE *dest, TYPE value, int pe",
            "fetching_nbi And",
        ),
        (
            AmoBitwise,
            "atomic_fetch_or_nbi",
            "TYPE *fetch, TYPE *dest, TYPE value, int pe",
            "fetching_nbi Or",
        ),
        (
            AmoBitwise,
            "atomic_fetch_xor_nbi",
            "TYPE *fetch, TYPE *dest, TYPE value, int pe",
            "fetching_nbi Xor",
        ),
    ] {
        t.push(
            Family::new(what, Names::Typed(set, what))
                .of("void", parameters)
                .with_context()
                .generic(what)
                .entry("atomic_nbi", shape),
        );
    }
    for (set, what, result, parameters, shape, instead) in [
        (
            AmoOldExtended,
            "fetch",
            "TYPE",
            READ,
            "fetch",
            "shmem_TYPENAME_atomic_fetch",
        ),
        (
            AmoOldExtended,
            "set",
            "void",
            VALUE,
            "update Set",
            "shmem_TYPENAME_atomic_set",
        ),
        (
            AmoOld,
            "cswap",
            "TYPE",
            COMPARE,
            "compare",
            "shmem_TYPENAME_atomic_compare_swap",
        ),
        (
            AmoOldExtended,
            "swap",
            "TYPE",
            VALUE,
            "fetching Swap",
            "shmem_TYPENAME_atomic_swap",
        ),
        (
            AmoOld,
            "finc",
            "TYPE",
            PLAIN,
            "fetching_inc",
            "shmem_TYPENAME_atomic_fetch_inc",
        ),
        (
            AmoOld,
            "inc",
            "void",
            PLAIN,
            "inc",
            "shmem_TYPENAME_atomic_inc",
        ),
        (
            AmoOld,
            "fadd",
            "TYPE",
            VALUE,
            "fetching Add",
            "shmem_TYPENAME_atomic_fetch_add",
        ),
        (
            AmoOld,
            "add",
            "void",
            VALUE,
            "update Add",
            "shmem_TYPENAME_atomic_add",
        ),
    ] {
        t.push(
            Family::new("atomic_old", Names::Typed(set, what))
                .of(result, parameters)
                .generic(what)
                .instead(instead)
                .entry("atomic_old", shape),
        );
    }
}
