//! The part of the table in `families` about setup, memory, teams and memory ordering.

use super::one;
use crate::table::{Family, Since};

pub(super) fn setup(t: &mut Vec<Family>) {
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

pub(super) fn memory(t: &mut Vec<Family>) {
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

pub(super) fn teams(t: &mut Vec<Family>) {
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

pub(super) fn order(t: &mut Vec<Family>) {
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
        one("lock", "void", "shmem_set_lock", "volatile long *lock"),
        one("lock", "void", "shmem_clear_lock", "volatile long *lock"),
        one("lock", "int", "shmem_test_lock", "volatile long *lock"),
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
