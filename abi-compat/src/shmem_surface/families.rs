//! The one table: every family of routines, its shape, its types and where it comes from.

use super::table::{Family, Names, Since};
use super::types::Set;

/// A function that stands alone.
const fn one(
    group: &'static str,
    result: &'static str,
    name: &'static str,
    parameters: &'static str,
) -> Family {
    Family::new(group, Names::One(name)).of(result, parameters)
}

/// The table, in the order of the header.
#[must_use]
pub fn table() -> Vec<Family> {
    let mut t = Vec::new();
    setup(&mut t);
    memory(&mut t);
    teams(&mut t);
    rma(&mut t);
    atomics(&mut t);
    signals(&mut t);
    collectives(&mut t);
    reductions(&mut t);
    waits(&mut t);
    order(&mut t);
    t
}

fn setup(t: &mut Vec<Family>) {
    let g = "setup";
    t.extend([
        one(g, "void", "shmem_init", "void"),
        one(g, "void", "shmem_finalize", "void"),
        one(
            g,
            "HETMP_SHMEM_NORETURN_ void",
            "shmem_global_exit",
            "int status",
        ),
        one(g, "int", "shmem_my_pe", "void"),
        one(g, "int", "shmem_n_pes", "void"),
        one(g, "int", "shmem_pe_accessible", "int pe"),
        one(
            g,
            "int",
            "shmem_addr_accessible",
            "const void *addr, int pe",
        ),
        one(g, "void *", "shmem_ptr", "const void *dest, int pe"),
        one(
            g,
            "void *",
            "shmem_team_ptr",
            "shmem_team_t team, const void *dest, int pe",
        )
        .since(Since::V16),
        one(
            g,
            "void",
            "shmem_info_get_version",
            "int *major, int *minor",
        ),
        one(g, "void", "shmem_info_get_name", "char *name"),
        one(g, "void", "shmem_query_initialized", "int *initialized").since(Since::V16),
        one(g, "void", "shmem_pcontrol", "int level, ..."),
    ]);
    let g = "setup_old";
    t.extend([
        one(g, "void", "start_pes", "int npes").instead("shmem_init"),
        one(g, "int", "_my_pe", "void").instead("shmem_my_pe"),
        one(g, "int", "_num_pes", "void").instead("shmem_n_pes"),
    ]);
    let g = "thread";
    t.extend([
        one(
            g,
            "int",
            "shmem_init_thread",
            "int requested, int *provided",
        ),
        one(g, "void", "shmem_query_thread", "int *provided"),
    ]);
}

fn memory(t: &mut Vec<Family>) {
    let g = "memory";
    t.extend([
        one(g, "void *", "shmem_malloc", "size_t size"),
        one(g, "void *", "shmem_calloc", "size_t count, size_t size"),
        one(g, "void *", "shmem_align", "size_t alignment, size_t size"),
        one(
            g,
            "void *",
            "shmem_malloc_with_hints",
            "size_t size, long hints",
        ),
        one(g, "void *", "shmem_realloc", "void *ptr, size_t size"),
        one(g, "void", "shmem_free", "void *ptr"),
    ]);
    let g = "memory_old";
    t.extend([
        one(g, "void *", "shmalloc", "size_t size").instead("shmem_malloc"),
        one(g, "void *", "shmemalign", "size_t alignment, size_t size").instead("shmem_align"),
        one(g, "void *", "shrealloc", "void *ptr, size_t size").instead("shmem_realloc"),
        one(g, "void", "shfree", "void *ptr").instead("shmem_free"),
    ]);
}

fn teams(t: &mut Vec<Family>) {
    let g = "team";
    t.extend([
        one(g, "int", "shmem_team_my_pe", "shmem_team_t team"),
        one(g, "int", "shmem_team_n_pes", "shmem_team_t team"),
        one(
            g,
            "int",
            "shmem_team_get_config",
            "shmem_team_t team, long config_mask, shmem_team_config_t *config",
        ),
        one(
            g,
            "int",
            "shmem_team_translate_pe",
            "shmem_team_t src_team, int src_pe, shmem_team_t dest_team",
        ),
        one(
            g,
            "int",
            "shmem_team_split_strided",
            "shmem_team_t parent_team, int start, int stride, int size, \
             const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team",
        ),
        one(
            g,
            "int",
            "shmem_team_split_2d",
            "shmem_team_t parent_team, int xrange, \
             const shmem_team_config_t *xaxis_config, long xaxis_mask, shmem_team_t *xaxis_team, \
             const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team",
        ),
        one(g, "void", "shmem_team_destroy", "shmem_team_t team"),
    ]);
    let g = "context";
    t.extend([
        one(
            g,
            "int",
            "shmem_ctx_create",
            "long options, shmem_ctx_t *ctx",
        ),
        one(
            g,
            "int",
            "shmem_team_create_ctx",
            "shmem_team_t team, long options, shmem_ctx_t *ctx",
        ),
        one(g, "void", "shmem_ctx_destroy", "shmem_ctx_t ctx"),
        one(
            g,
            "int",
            "shmem_ctx_get_team",
            "shmem_ctx_t ctx, shmem_team_t *team",
        ),
        one(
            g,
            "void",
            "shmem_ctx_session_start",
            "shmem_ctx_t ctx, long options, \
             const shmem_ctx_session_config_t *config, long config_mask",
        )
        .since(Since::V16),
        one(g, "void", "shmem_ctx_session_stop", "shmem_ctx_t ctx").since(Since::V16),
    ]);
}

fn rma(t: &mut Vec<Family>) {
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

fn atomics(t: &mut Vec<Family>) {
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

fn signals(t: &mut Vec<Family>) {
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
            "const uint64_t *sig_addr",
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

fn collectives(t: &mut Vec<Family>) {
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

fn reductions(t: &mut Vec<Family>) {
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

fn waits(t: &mut Vec<Family>) {
    const ONE: &str = "TYPE *ivar, int cmp, TYPE cmp_value";
    const MANY: &str = "TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value";
    const MANY_VECTOR: &str =
        "TYPE *ivars, size_t nelems, const int *status, int cmp, const TYPE *cmp_values";
    const SOME: &str =
        "TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, TYPE cmp_value";
    const SOME_VECTOR: &str =
        "TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const TYPE *cmp_values";
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
        "uint64_t *sig_addr, int cmp, uint64_t cmp_value",
    ));
    t.extend([
        Family::new("wait_old", Names::Typed(Set::WaitOld, "wait"))
            .of("void", "TYPE *ivar, TYPE cmp_value")
            .instead("shmem_TYPENAME_wait_until")
            .entry("wait", "until_changed"),
        one(
            "wait_old",
            "void",
            "shmem_wait",
            "long *ivar, long cmp_value",
        )
        .instead("shmem_long_wait_until"),
        one(
            "wait_old",
            "void",
            "shmem_wait_until",
            "long *ivar, int cmp, long cmp_value",
        )
        .instead("shmem_long_wait_until"),
    ]);
}

fn order(t: &mut Vec<Family>) {
    t.extend([
        one("order", "void", "shmem_fence", "void").with_context(),
        one("order", "void", "shmem_quiet", "void").with_context(),
        one(
            "order",
            "void",
            "shmem_pe_quiet",
            "const int *target_pes, size_t npes",
        )
        .with_context()
        .since(Since::V16),
        one("lock", "void", "shmem_set_lock", "long *lock"),
        one("lock", "void", "shmem_clear_lock", "long *lock"),
        one("lock", "int", "shmem_test_lock", "long *lock"),
    ]);
    for name in [
        "shmem_set_cache_inv",
        "shmem_clear_cache_inv",
        "shmem_udcflush",
    ] {
        t.push(
            one("cache", "void", name, "void")
                .since(Since::Before)
                .instead("nothing: memory is coherent"),
        );
    }
    for name in [
        "shmem_set_cache_line_inv",
        "shmem_clear_cache_line_inv",
        "shmem_udcflush_line",
    ] {
        t.push(
            one("cache", "void", name, "void *dest")
                .since(Since::Before)
                .instead("nothing: memory is coherent"),
        );
    }
}
