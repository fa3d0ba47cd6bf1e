//! The part of the table in `families` about collectives and reductions.

use super::one;
use crate::table::{Family, Names, Since};
use crate::types::Set;

pub(super) fn collectives(t: &mut Vec<Family>) {
    t.extend([
        one("barrier", "void", "shmem_barrier_all", "void"),
        one("barrier", "void", "shmem_sync_all", "void"),
        one("barrier", "int", "shmem_team_sync", "shmem_team_t team"),
    ]);
    let old = "int PE_start, int logPE_stride, int PE_size, long *pSync";
    t.extend([
        one("barrier_old", "void", "shmem_barrier", old).instead("shmem_quiet and shmem_team_sync"),
        one("barrier_old", "void", "shmem_sync", old).instead("shmem_team_sync"),
    ]);
    const PLAIN: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems";
    const PLAIN_MEM: &str = "shmem_team_t team, void *dest, const void *source, size_t nelems";
    for (what, mem, typed, bytes, shape) in [
        (
            "broadcast",
            "shmem_broadcastmem",
            "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root",
            "shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root",
            "broadcast",
        ),
        ("collect", "shmem_collectmem", PLAIN, PLAIN_MEM, "collective::collect"),
        ("fcollect", "shmem_fcollectmem", PLAIN, PLAIN_MEM, "collective::fcollect"),
        ("alltoall", "shmem_alltoallmem", PLAIN, PLAIN_MEM, "collective::alltoall"),
        (
            "alltoalls",
            "shmem_alltoallsmem",
            "shmem_team_t team, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems",
            "shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems",
            "alltoalls",
        ),
    ] {
        let family = |names, parameters| {
            Family::new(what, names)
                .of("int", parameters)
                .entry("collective", shape)
        };
        t.push(family(Names::Typed(Set::Rma, what), typed).generic(what));
        t.push(family(Names::One(mem), bytes));
    }
    for (what, parameters, shape, instead) in [
        (
            "broadcast",
            "void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, \
             int PE_size, long *pSync",
            "broadcast_old",
            "shmem_broadcastmem",
        ),
        (
            "collect",
            "void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            "active::collect",
            "shmem_collectmem",
        ),
        (
            "fcollect",
            "void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            "active::fcollect",
            "shmem_fcollectmem",
        ),
        (
            "alltoall",
            "void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            "active::alltoall",
            "shmem_alltoallmem",
        ),
        (
            "alltoalls",
            "void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, \
             int logPE_stride, int PE_size, long *pSync",
            "alltoalls_old",
            "shmem_alltoallsmem",
        ),
    ] {
        t.push(
            Family::new("collective_old", Names::Old(what))
                .of("void", parameters)
                .instead(instead)
                .entry("active_set", shape),
        );
    }
}

pub(super) fn reductions(t: &mut Vec<Family>) {
    const TEAM: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce";
    for (set, what, shape) in [
        (Set::Bits, "and_reduce", "reduce And"),
        (Set::Bits, "or_reduce", "reduce Or"),
        (Set::Bits, "xor_reduce", "reduce Xor"),
        (Set::Order, "max_reduce", "reduce Max"),
        (Set::Order, "min_reduce", "reduce Min"),
        (Set::Arithmetic, "sum_reduce", "reduce Sum"),
        (Set::Arithmetic, "prod_reduce", "reduce Prod"),
    ] {
        t.push(
            Family::new("reduce", Names::Typed(set, what))
                .of("int", TEAM)
                .generic(what)
                .entry("reduce", shape),
        );
    }
    const SCAN: &str = "shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems";
    for (what, shape) in [("sum_inscan", "scan inscan"), ("sum_exscan", "scan exscan")] {
        t.push(
            Family::new("scan", Names::Typed(Set::Arithmetic, what))
                .of("int", SCAN)
                .since(Since::V16)
                .generic(what)
                .entry("reduce", shape),
        );
    }
    const OLD: &str = "TYPE *dest, const TYPE *source, int nreduce, int PE_start, int logPE_stride, int PE_size, \
                       TYPE *pWrk, long *pSync";
    for (set, what, shape, instead) in [
        (
            Set::BitsOld,
            "and_to_all",
            "to_all And",
            "shmem_TYPENAME_and_reduce",
        ),
        (
            Set::BitsOld,
            "or_to_all",
            "to_all Or",
            "shmem_TYPENAME_or_reduce",
        ),
        (
            Set::BitsOld,
            "xor_to_all",
            "to_all Xor",
            "shmem_TYPENAME_xor_reduce",
        ),
        (
            Set::OrderOld,
            "max_to_all",
            "to_all Max",
            "shmem_TYPENAME_max_reduce",
        ),
        (
            Set::OrderOld,
            "min_to_all",
            "to_all Min",
            "shmem_TYPENAME_min_reduce",
        ),
        (
            Set::ArithmeticOld,
            "sum_to_all",
            "to_all Sum",
            "shmem_TYPENAME_sum_reduce",
        ),
        (
            Set::ArithmeticOld,
            "prod_to_all",
            "to_all Prod",
            "shmem_TYPENAME_prod_reduce",
        ),
    ] {
        t.push(
            Family::new("reduce_old", Names::Typed(set, what))
                .of("void", OLD)
                .instead(instead)
                .entry("active_set", shape),
        );
    }
}
