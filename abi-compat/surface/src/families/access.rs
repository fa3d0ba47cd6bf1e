//! The part of the table in `families` about remote memory access, signals and waiting.

use super::one;
use crate::table::{Family, Names, Since};
use crate::types::Set;

pub(super) fn rma(t: &mut Vec<Family>) {
    for (group, what, end, shape) in [
        ("put", "put", "", "rma::put"),
        ("get", "get", "", "rma::get"),
        ("put_nbi", "put", "_nbi", "rma::put_nbi"),
        ("get_nbi", "get", "_nbi", "rma::get_nbi"),
    ] {
        let typed = match group {
            "put" => "put",
            "get" => "get",
            "put_nbi" => "put_nbi",
            _ => "get_nbi",
        };
        let mem = match group {
            "put" => "shmem_putmem",
            "get" => "shmem_getmem",
            "put_nbi" => "shmem_putmem_nbi",
            _ => "shmem_getmem_nbi",
        };
        let file = if end.is_empty() { "rma" } else { "rma_nbi" };
        let family = |names, parameters| {
            Family::new(group, names)
                .of("void", parameters)
                .with_context()
                .entry(file, shape)
        };
        let bytes = "void *dest, const void *source, size_t nelems, int pe";
        t.extend([
            family(
                Names::Typed(Set::Rma, typed),
                "TYPE *dest, const TYPE *source, size_t nelems, int pe",
            )
            .generic(group),
            family(Names::Sized(what, end), bytes),
            family(Names::One(mem), bytes),
        ]);
    }
    t.extend([
        Family::new("p", Names::Typed(Set::Rma, "p"))
            .of("void", "TYPE *dest, TYPE value, int pe")
            .with_context()
            .generic("p")
            .entry("rma", "p"),
        Family::new("g", Names::Typed(Set::Rma, "g"))
            .of("TYPE", "const TYPE *source, int pe")
            .with_context()
            .generic("g")
            .entry("rma", "g"),
    ]);
    for (what, since, shape) in [
        ("iput", Since::V15, "rma::iput"),
        ("iget", Since::V15, "rma::iget"),
        ("ibput", Since::V16, "rma::ibput"),
        ("ibget", Since::V16, "rma::ibget"),
    ] {
        let family = |names, parameters| {
            Family::new(what, names)
                .of("void", parameters)
                .with_context()
                .since(since)
                .entry("strided", shape)
        };
        let (typed, sized) = if since == Since::V15 {
            (
                "TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe",
                "void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe",
            )
        } else {
            (
                "TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe",
                "void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe",
            )
        };
        t.push(family(Names::Typed(Set::Rma, what), typed).generic(what));
        t.push(family(Names::Sized(what, ""), sized));
    }
}

pub(super) fn signals(t: &mut Vec<Family>) {
    const TYPED: &str =
        "TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, \
                         int sig_op, int pe";
    const BYTES: &str =
        "void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, \
                         int sig_op, int pe";
    for (group, end, mem, shape) in [
        (
            "put_signal",
            "_signal",
            "shmem_putmem_signal",
            "signal false",
        ),
        (
            "put_signal_nbi",
            "_signal_nbi",
            "shmem_putmem_signal_nbi",
            "signal true",
        ),
    ] {
        let family = |names, parameters| {
            Family::new(group, names)
                .of("void", parameters)
                .with_context()
                .entry("put_signal", shape)
        };
        t.extend([
            family(Names::Typed(Set::Rma, group), TYPED).generic(group),
            family(Names::Sized("put", end), BYTES),
            family(Names::One(mem), BYTES),
        ]);
    }
    let g = "signal";
    t.extend([
        one(
            g,
            "uint64_t",
            "shmem_signal_fetch",
            "const volatile uint64_t *sig_addr",
        ),
        one(
            g,
            "void",
            "shmem_signal_set",
            "uint64_t *sig_addr, uint64_t signal, int pe",
        )
        .with_context()
        .since(Since::V16),
        one(
            g,
            "void",
            "shmem_signal_add",
            "uint64_t *sig_addr, uint64_t signal, int pe",
        )
        .with_context()
        .since(Since::V16),
    ]);
}

pub(super) fn waits(t: &mut Vec<Family>) {
    const ONE: &str = "volatile TYPE *ivar, int cmp, TYPE cmp_value";
    const MANY: &str =
        "volatile TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value";
    const MANY_VECTOR: &str =
        "volatile TYPE *ivars, size_t nelems, const int *status, int cmp, const TYPE *cmp_values";
    const SOME: &str =
        "volatile TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, TYPE cmp_value";
    const SOME_VECTOR: &str =
        "volatile TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const TYPE *cmp_values";
    for (set, group, what, result, parameters, shape) in [
        (
            Set::Wait,
            "wait_until",
            "wait_until",
            "void",
            ONE,
            "wait_until",
        ),
        (
            Set::Amo,
            "wait_until",
            "wait_until_all",
            "void",
            MANY,
            "many until_all ()",
        ),
        (
            Set::Amo,
            "wait_until",
            "wait_until_any",
            "size_t",
            MANY,
            "many until_any usize",
        ),
        (
            Set::Amo,
            "wait_until",
            "wait_until_some",
            "size_t",
            SOME,
            "some until_some",
        ),
        (
            Set::Amo,
            "wait_until",
            "wait_until_all_vector",
            "void",
            MANY_VECTOR,
            "many_vector until_all ()",
        ),
        (
            Set::Amo,
            "wait_until",
            "wait_until_any_vector",
            "size_t",
            MANY_VECTOR,
            "many_vector until_any usize",
        ),
        (
            Set::Amo,
            "wait_until",
            "wait_until_some_vector",
            "size_t",
            SOME_VECTOR,
            "some_vector until_some",
        ),
        (Set::Wait, "test", "test", "int", ONE, "test_one"),
        (
            Set::Amo,
            "test",
            "test_all",
            "int",
            MANY,
            "many test_all c_int",
        ),
        (
            Set::Amo,
            "test",
            "test_any",
            "size_t",
            MANY,
            "many test_any usize",
        ),
        (
            Set::Amo,
            "test",
            "test_some",
            "size_t",
            SOME,
            "some test_some",
        ),
        (
            Set::Amo,
            "test",
            "test_all_vector",
            "int",
            MANY_VECTOR,
            "many_vector test_all c_int",
        ),
        (
            Set::Amo,
            "test",
            "test_any_vector",
            "size_t",
            MANY_VECTOR,
            "many_vector test_any usize",
        ),
        (
            Set::Amo,
            "test",
            "test_some_vector",
            "size_t",
            SOME_VECTOR,
            "some_vector test_some",
        ),
    ] {
        t.push(
            Family::new(group, Names::Typed(set, what))
                .of(result, parameters)
                .generic(what)
                .entry("wait", shape),
        );
    }
    t.push(one(
        "wait_until",
        "uint64_t",
        "shmem_signal_wait_until",
        "volatile uint64_t *sig_addr, int cmp, uint64_t cmp_value",
    ));
    t.extend([
        Family::new("wait_old", Names::Typed(Set::WaitOld, "wait"))
            .of("void", "volatile TYPE *ivar, TYPE cmp_value")
            .instead("shmem_TYPENAME_wait_until")
            .entry("wait", "until_changed"),
        one(
            "wait_old",
            "void",
            "shmem_wait",
            "volatile long *ivar, long cmp_value",
        )
        .instead("shmem_long_wait_until"),
        one(
            "wait_old",
            "void",
            "shmem_wait_until",
            "volatile long *ivar, int cmp, long cmp_value",
        )
        .instead("shmem_long_wait_until"),
    ]);
}
