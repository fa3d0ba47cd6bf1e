/* What libgomp gained in gcc 13 to 17 for the host: called by name, as this gcc does not know them (OpenMP 5.1,
   3.12; 5.2, 18.3; 6.0, 24 and 26; 6.1). */
/* hetmp-test: only=hetmp */
/* hetmp-test: libs=-ldl */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

static void *named(const char *name)
{
    void *f = dlsym(RTLD_DEFAULT, name);
    if (!f)
        printf("FAIL: no %s\n", name), exit(1);
    return f;
}

#define NAMED(result, name, ...) result (*name)(__VA_ARGS__) = (result(*)(__VA_ARGS__))named(#name)

enum { EMPTY = -1, OUT_OF_RANGE = -2 };

static void interop(void)
{
    static const char *names[] = {"fr_id",      "fr_name",  "vendor", "vendor_name",    "device_num",
                                  "platform",   "device",   "device_context", "targetsync"};
    NAMED(int, omp_get_num_interop_properties, void *);
    NAMED(intptr_t, omp_get_interop_int, void *, int, int *);
    NAMED(void *, omp_get_interop_ptr, void *, int, int *);
    NAMED(const char *, omp_get_interop_str, void *, int, int *);
    NAMED(const char *, omp_get_interop_name, void *, int);
    NAMED(const char *, omp_get_interop_type_desc, void *, int);
    NAMED(const char *, omp_get_interop_rc_desc, void *, int);
    NAMED(void, omp_get_interop_str_, const char **, size_t *, void *, int, int *);
    NAMED(void, omp_get_interop_name_, const char **, size_t *, void *, int);
    NAMED(void, omp_get_interop_type_desc_, const char **, size_t *, void *, int);
    NAMED(void, omp_get_interop_rc_desc_, const char **, size_t *, void *, int);
    NAMED(void, GOMP_interop, int, int, void ***, const void *, const void *, int, void **, int, void ***, unsigned,
          void **);

    CHECK(omp_get_num_interop_properties(NULL) == 0);
    for (int id = -11; id <= 1; id++) {
        int code[3] = {7, 7, 7}, want = id >= -9 && id < 0 ? EMPTY : OUT_OF_RANGE;
        CHECK(omp_get_interop_int(NULL, id, &code[0]) == 0 && omp_get_interop_int(NULL, id, NULL) == 0);
        CHECK(!omp_get_interop_ptr(NULL, id, &code[1]) && !omp_get_interop_ptr(NULL, id, NULL));
        CHECK(!omp_get_interop_str(NULL, id, &code[2]) && !omp_get_interop_str(NULL, id, NULL));
        CHECK(code[0] == want && code[1] == want && code[2] == want);
        CHECK(!omp_get_interop_type_desc(NULL, id));
        const char *name = omp_get_interop_name(NULL, id), *text = "x";
        size_t length = 9;
        CHECK(want == EMPTY ? name && !strcmp(name, names[-id - 1]) : !name);
        omp_get_interop_name_(&text, &length, NULL, id);
        CHECK(text == name && length == (name ? strlen(name) : 0));
        text = "x", length = 9, code[0] = 7;
        omp_get_interop_str_(&text, &length, NULL, id, &code[0]);
        CHECK(!text && !length && code[0] == want);
        text = "x", length = 9;
        omp_get_interop_type_desc_(&text, &length, NULL, id);
        CHECK(!text && !length);
    }
    for (int code = -8; code <= 3; code++) {
        const char *words = omp_get_interop_rc_desc(NULL, code), *text = "x";
        size_t length = 9;
        CHECK(code >= -5 && code <= 1 ? words && strlen(words) > 5 : !words);
        omp_get_interop_rc_desc_(&text, &length, NULL, code);
        CHECK(text == words && length == (words ? strlen(words) : 0));
    }

    void *made[2] = {made, made}, *ended = made, **init[2] = {&made[0], &made[1]}, **destroy[1] = {&ended};
    GOMP_interop(-5, 2, init, NULL, NULL, 0, NULL, 1, destroy, 0, NULL);
    CHECK(!made[0] && !made[1] && !ended);
    /* interop depend(inout: x): after the task before it. */
    int x = 0, before = 0;
    void *depend[] = {(void *)1, (void *)1, &x};
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : x) shared(x)
        __atomic_store_n(&x, 1, __ATOMIC_SEQ_CST);
        GOMP_interop(-5, 1, init, NULL, NULL, 0, NULL, 0, NULL, 0, depend);
        before = __atomic_load_n(&x, __ATOMIC_SEQ_CST);
    }
    CHECK(before == 1);
}

static void devices(void)
{
    NAMED(int, omp_get_device_from_uid, const char *);
    NAMED(int, omp_get_device_from_uid_, const char *, size_t);
    NAMED(const char *, omp_get_uid_from_device, int);
    NAMED(void, omp_get_uid_from_device_, const char **, size_t *, int32_t);
    NAMED(void, omp_get_uid_from_device_8_, const char **, size_t *, int64_t);
    NAMED(void *, GOMP_target_map_indirect_ptr, void *);
    NAMED(void *, omp_target_memset, void *, int, size_t, int);

    const char *uid = omp_get_uid_from_device(-1);
    CHECK(uid && uid == omp_get_uid_from_device(omp_get_initial_device()));
    CHECK(!omp_get_uid_from_device(-2) && !omp_get_uid_from_device(omp_get_num_devices() + 1));
    CHECK(omp_get_device_from_uid(uid) == -1);
    CHECK(omp_get_device_from_uid("nothing like it") == -4 && omp_get_device_from_uid(NULL) == -4);
    char longer[100];
    snprintf(longer, sizeof longer, "%sXYZ", uid);
    CHECK(omp_get_device_from_uid(longer) == -4);
    CHECK(omp_get_device_from_uid_(longer, strlen(uid)) == -1);
    CHECK(omp_get_device_from_uid_(longer, strlen(uid) - 1) == -4);
    const char *text = "x";
    size_t length = 9;
    omp_get_uid_from_device_(&text, &length, -1);
    CHECK(text == uid && length == strlen(uid));
    omp_get_uid_from_device_8_(&text, &length, INT64_C(1) << 40);
    CHECK(!text && !length);
    omp_get_uid_from_device_8_(&text, &length, -1);
    CHECK(text == uid && length == strlen(uid));
    CHECK(GOMP_target_map_indirect_ptr((void *)(uintptr_t)&devices) == (void *)(uintptr_t)&devices);
    char bytes[8] = {0};
    CHECK(omp_target_memset(bytes, 5, sizeof bytes, omp_get_initial_device()) == bytes && bytes[7] == 5);
}

static void allocations(void)
{
    NAMED(void, GOMP_add_alloc, void *);
    NAMED(bool, GOMP_is_alloc, void *);
    enum { COUNT = 1000 };
    static void *blocks[COUNT];
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = omp_alloc(64, omp_default_mem_alloc);
        if (i % 2)
            GOMP_add_alloc(blocks[i]);
    }
    int noted = 0;
#pragma omp parallel for reduction(+ : noted)
    for (int i = 0; i < COUNT; i++) {
        CHECK(GOMP_is_alloc(blocks[i]) == (i % 2 == 1));
        noted += GOMP_is_alloc(blocks[i]);
        omp_free(blocks[i], omp_default_mem_alloc);
    }
    CHECK(noted == 0);
    GOMP_add_alloc(NULL);
    CHECK(!GOMP_is_alloc(NULL));
}

/* taskwait depend(inout: x) nowait: an empty task that others come after, and nobody waits for. */
static void tasks(void)
{
    NAMED(void, GOMP_taskwait_depend_nowait, void **);
    NAMED(int, omp_in_explicit_task, void);
    int x = 0, y = 0, posted = 0;
    void *depend[] = {(void *)2, (void *)2, &x, &y};
    CHECK(!omp_in_explicit_task());
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t ev;
#pragma omp task detach(ev) depend(out : x)
        CHECK(omp_in_explicit_task());
        GOMP_taskwait_depend_nowait(depend);
        __atomic_store_n(&posted, 1, __ATOMIC_SEQ_CST);
#pragma omp task depend(in : y) shared(x, y)
        CHECK(x == 1);
        x = 1;
        omp_fulfill_event(ev);
    }
    CHECK(posted);
}

/* What the code of gcc 17 calls where earlier ones emit instructions, or call with fewer arguments. */
static void constructs(void)
{
    NAMED(void, GOMP_barrier_ext, int);
    NAMED(bool, GOMP_barrier_cancel_ext, int);
    NAMED(void, GOMP_reduction_start, void);
    NAMED(void, GOMP_reduction_end, void);
    NAMED(bool, GOMP_single_start_with_end, void);
    NAMED(void, GOMP_single_end, void);
    NAMED(bool, GOMP_has_masked_thread_num, int);
    NAMED(void, GOMP_masked_end, void);
    NAMED(_Complex int, GOMP_loop_static_worksharing, void);
    NAMED(_Complex int, GOMP_loop_static_worksharing_start, void);
    NAMED(void, GOMP_loop_static_worksharing_dispatch, void);
    NAMED(void, GOMP_loop_static_worksharing_end, void);
    NAMED(_Complex int, GOMP_distribute_static_worksharing, void);
    NAMED(_Complex int, GOMP_distribute_static_worksharing_start, void);
    NAMED(void, GOMP_distribute_static_worksharing_dispatch, void);
    NAMED(void, GOMP_distribute_static_worksharing_end, void);
    enum { LAPS = 200 };
    int sum = 0, singles = 0, masked = 0, early = 0, arrived[LAPS] = {0};
#pragma omp parallel num_threads(4)
    {
        int threads = omp_get_num_threads(), me = omp_get_thread_num();
        for (int lap = 0; lap < LAPS; lap++) {
            __atomic_fetch_add(&arrived[lap], 1, __ATOMIC_RELAXED);
            if (lap % 2)
                GOMP_barrier_ext(2);
            else
                CHECK(!GOMP_barrier_cancel_ext(1));
            if (__atomic_load_n(&arrived[lap], __ATOMIC_RELAXED) != threads)
                __atomic_store_n(&early, 1, __ATOMIC_RELAXED);
            GOMP_reduction_start();
            sum += me + 1;
            GOMP_reduction_end();
            if (GOMP_single_start_with_end()) {
                __atomic_fetch_add(&singles, 1, __ATOMIC_RELAXED);
                GOMP_single_end();
            }
            if (GOMP_has_masked_thread_num(threads - 1)) {
                CHECK(me == threads - 1);
                masked++;
                GOMP_masked_end();
            }
        }
        _Complex int share = GOMP_loop_static_worksharing(), again = GOMP_loop_static_worksharing_start();
        CHECK(__real__ share == threads && __imag__ share == me && again == share);
        GOMP_loop_static_worksharing_dispatch();
        GOMP_loop_static_worksharing_end();
#pragma omp barrier
#pragma omp single
        CHECK(sum == LAPS * threads * (threads + 1) / 2);
    }
    CHECK(!early && singles == LAPS && masked == LAPS);
    int teams = 0;
#pragma omp teams num_teams(3)
    {
        _Complex int share = GOMP_distribute_static_worksharing(), again = GOMP_distribute_static_worksharing_start();
        CHECK(__real__ share == omp_get_num_teams() && __imag__ share == omp_get_team_num() && again == share);
        GOMP_distribute_static_worksharing_dispatch();
        GOMP_distribute_static_worksharing_end();
        __atomic_fetch_add(&teams, 1, __ATOMIC_RELAXED);
    }
    CHECK(teams == 3);
}

/* There is one dimension, and one device. */
static void dimensions(void)
{
    NAMED(int, omp_get_thread_num_dim, int);
    NAMED(int, omp_get_num_threads_dim, int);
    NAMED(int, omp_get_team_num_dim, int);
    NAMED(int, omp_get_num_teams_dim, int);
    NAMED(int, omp_get_thread_limit_dim, int);
    NAMED(int, omp_get_supported_active_team_dims, int, bool);
    NAMED(int, omp_get_supported_active_league_dims, int, bool);
    NAMED(int, omp_get_supported_teams_dim, int, int);
    NAMED(int, omp_get_supported_threads_dim, int, int);
    NAMED(void, omp_get_device_distances, int, const int *, int *);
    NAMED(int, omp_control_tool, int, int, void *);
    CHECK(omp_get_supported_active_team_dims(-1, true) == 1 && omp_get_supported_active_league_dims(-1, false) == 1);
    CHECK(omp_get_supported_teams_dim(-1, 0) > 1 && omp_get_supported_teams_dim(-1, 1) == 1);
    CHECK(omp_get_supported_threads_dim(-1, 0) >= 1 && omp_get_supported_threads_dim(-1, 1) == 1);
#pragma omp parallel num_threads(3)
    for (int d = 0; d < 3; d++) {
        CHECK(omp_get_thread_num_dim(d) == (d ? 0 : omp_get_thread_num()));
        CHECK(omp_get_num_threads_dim(d) == (d ? 1 : omp_get_num_threads()));
        CHECK(omp_get_team_num_dim(d) == 0 && omp_get_num_teams_dim(d) == 1);
        CHECK(omp_get_thread_limit_dim(d) == (d ? 1 : omp_get_thread_limit()));
    }
    int devices[] = {-1, omp_get_num_devices(), -5, -4, omp_get_num_devices() + 1}, distances[] = {9, 9, 9, 9, 9, 9};
    omp_get_device_distances(5, devices, distances);
    CHECK(!distances[0] && !distances[1] && !distances[2] && distances[3] == -1 && distances[4] == -1);
    CHECK(distances[5] == 9);
    CHECK(dlvsym(RTLD_DEFAULT, "omp_control_tool", "OMP_6.0") && omp_control_tool(1, 0, NULL) == -2);
}

int main(void)
{
    interop();
    devices();
    allocations();
    tasks();
    constructs();
    dimensions();
    return check_end();
}
