/* Global and static variables are symmetric objects, whether initialized or not, in executables that are
 * position-independent and in those that are not ("Memory Model"). What they held before shmem_init they hold after.
 * shmem-test: peer=yes
 * shmem-test: builds=pie nopie O0 */
#include "shtest.h"

int initialized[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static double zeros[16];
static char large[32 << 20];
static const char *words[3] = {"one", "two", "three"};
static int (*function)(const char *, const char *) = strcmp;
static const int constant[2] = {41, 42};
static char last_in_data = 'z';
static _Thread_local int own_of_thread = 5;
static int before[4] = {-1, -1, -1, -1};

static long *static_local(void) {
    static long counter = 100;
    return &counter;
}

static int *static_zero(void) {
    static int counter;
    return &counter;
}

int main(int argc, char **argv) {
    (void)argc;
    /* Written before shmem_init. */
    before[1] = 17;
    large[12345] = 'L';
    *static_local() += 11;
    own_of_thread = 6;
    char *arguments = argv[0];

    test_begin();

    CHECK(before[0] == -1 && before[1] == 17);
    CHECK(large[12345] == 'L' && large[0] == 0 && large[sizeof large - 1] == 0);
    CHECK(*static_local() == 111 && *static_zero() == 0);
    CHECK(own_of_thread == 6 && argv[0] == arguments);
    for (int i = 0; i < 16; i++) {
        CHECK(initialized[i] == i + 1 && zeros[i] == 0);
    }
    CHECK(strcmp(words[2], "three") == 0 && function("a", "a") == 0 && constant[1] == 42);

    /* What one PE writes the others do not see, unless it is put. */
    for (int i = 0; i < 16; i++) {
        initialized[i] = me * 100 + i;
    }
    shmem_barrier_all();
    CHECK(initialized[3] == me * 100 + 3);
    shmem_barrier_all();

    int source[16];
    for (int i = 0; i < 16; i++) {
        source[i] = me * 1000 + i;
    }
    shmem_int_put(initialized, source, 16, next);
    shmem_double_p(&zeros[7], me + 0.5, next);
    shmem_char_p(&large[sizeof large - 1], (char)('a' + me), next);
    shmem_long_p(static_local(), 5000 + me, next);
    shmem_int_p(static_zero(), 6000 + me, next);
    shmem_char_p(&last_in_data, (char)('A' + me), next);
    shmem_barrier_all();
    for (int i = 0; i < 16; i++) {
        CHECKF(initialized[i] == prev * 1000 + i, "%d", initialized[i]);
        CHECK(zeros[i] == (i == 7 ? prev + 0.5 : 0));
    }
    CHECK(large[sizeof large - 1] == 'a' + prev);
    CHECK(*static_local() == 5000 + prev && *static_zero() == 6000 + prev);
    CHECK(last_in_data == 'A' + prev);
    CHECK(shmem_int_g(&initialized[2], next) == me * 1000 + 2);
    CHECK(shmem_char_g(&large[12345], next) == 'L');
    shmem_barrier_all();

    /* Most of a large array at once. */
    memset(large, me + 1, sizeof large / 2);
    shmem_barrier_all();
    char *copy = malloc(sizeof large / 2);
    shmem_getmem(copy, large, sizeof large / 2, next);
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof large / 2; i++) {
        wrong += copy[i] != (char)(next + 1);
    }
    CHECKF(wrong == 0, "%zu", wrong);
    free(copy);
    return test_end("statics");
}
