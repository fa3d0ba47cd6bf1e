/* Both dialects of hThread's groups, as published programs use them: a group that kernels are started on one after the
 * other, and a group that is created with its kernel. Arguments: the image. */
#include <hthread_host.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(c) ((c) ? 0 : (failures++, printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #c)))
enum { N = 960 };

static uint64_t bits_of(const void *number, size_t size) {
    uint64_t bits = 0;
    memcpy(&bits, number, size);
    return bits;
}

int main(int argc, char **argv) {
    const double factor = 3;
    const float shift = -0.5f;
    CHECK(hthread_group_create(1, 4) == -1); /* not open */
    CHECK(hthread_dev_open(1) == HT_SUCCESS && hthread_dev_open(1) == HT_SUCCESS && hthread_dev_open(4) != HT_SUCCESS);
    CHECK(hthread_dat_load(1, "/no/such/image") != HT_SUCCESS);
    if (argc < 2 || hthread_dat_load(1, argv[1]) != HT_SUCCESS) return 2;
    CHECK(hthread_get_avail_threads(1) == 24);
    double *x = hthread_malloc(1, N * sizeof *x, HT_MEM_RO), *y = hthread_malloc(1, N * sizeof *y, HT_MEM_WO);
    long *places = hthread_malloc(1, 48 * sizeof *places, HT_MEM_RW);
    CHECK(x && y && places && !hthread_malloc(1, 8, 7));
    if (!x || !y || !places) return 1;
    for (int i = 0; i < N; i++) x[i] = i;
    uint64_t scale[5] = {N, bits_of(&factor, sizeof factor), bits_of(&shift, sizeof shift), (uint64_t)(uintptr_t)x,
                         (uint64_t)(uintptr_t)y};
    const int barrier = hthread_barrier_create(1);
    CHECK(barrier >= 0 && hthread_barrier_create(0) == -1);
    uint64_t neighbours[3] = {100, (uint64_t)barrier, (uint64_t)(uintptr_t)places};

    /* A group with exec. */
    int group = hthread_group_create(1, 7);
    CHECK(group >= 0 && hthread_get_avail_threads(1) == 17);
    CHECK(hthread_group_wait(group) == 0);
    CHECK(hthread_group_exec(group, "none", 0, 0, scale) != HT_SUCCESS);
    for (int round = 0; round < 3; round++) {
        memset(y, 0, N * sizeof *y);
        CHECK(hthread_group_exec(group, "scale", 3, 2, scale) == HT_SUCCESS && hthread_group_wait(group) == HT_SUCCESS);
        for (int i = 0; i < N; i++) CHECK(y[i] == 3.0 * i - 0.5);
        CHECK(hthread_group_exec(group, "nothing", 0, 0, scale) == HT_SUCCESS);
        CHECK(hthread_group_exec(group, "neighbours", 2, 1, neighbours) == HT_SUCCESS &&
              hthread_group_wait(group) == HT_SUCCESS);
        for (int i = 0; i < 7; i++) CHECK(places[7 + i] == (i + 1) % 7 + 100);
    }
    CHECK(hthread_group_create(1, 18) == -1); /* more than are left */
    CHECK(hthread_group_destroy(group) == HT_SUCCESS && hthread_group_wait(group) != HT_SUCCESS);
    group = hthread_group_create(1, 1);
    CHECK(hthread_group_exec(group, "unwritten", 0, 1, &scale[4]) == HT_SUCCESS);
    CHECK(hthread_group_destroy(group) == HT_SUCCESS && y[0] > 1e30 && y[1] > 1e30);

    /* A group with its kernel. */
    memset(y, 0, N * sizeof *y);
    const char *kernel = "scale";
    group = hthread_group_create(1, 24, kernel, 3, 2, scale);
    CHECK(group >= 0 && hthread_group_wait(group) == HT_SUCCESS);
    for (int i = 0; i < N; i++) CHECK(y[i] == 3.0 * i - 0.5);
    CHECK(hthread_group_exec(group, "neighbours", 2, 1, neighbours) == HT_SUCCESS &&
          hthread_group_wait(group) == HT_SUCCESS);
    for (int i = 0; i < 24; i++) CHECK(places[24 + i] == (i + 1) % 24 + 100);
    CHECK(hthread_group_destroy(group) == HT_SUCCESS);
    CHECK(hthread_group_create(1, 24, "none", 0, 0, scale) == -1 && hthread_get_avail_threads(1) == 24);
    hthread_barrier_destroy(barrier);
    hthread_free(x);
    hthread_free(y);
    hthread_free(places);
    CHECK(hthread_dat_unload(1) == HT_SUCCESS && hthread_dat_unload(1) != HT_SUCCESS &&
          hthread_dev_close(1) == HT_SUCCESS);
    puts(failures ? "failed" : "passed");
    return failures != 0;
}
