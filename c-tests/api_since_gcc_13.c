/* What libgomp gained in gcc 13 to 16 for the host: called by name, as this gcc does not know them (OpenMP 5.1,
   3.12; 5.2, 18.3; 6.0, 24 and 26). */
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

int main(void)
{
    interop();
    devices();
    allocations();
    tasks();
    return check_end();
}
