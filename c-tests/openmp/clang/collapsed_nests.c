/* Nests of loops that are numbered as one, by the entries that compiled code calls for it: the number of iterations,
   the loops' own numbers, the comparisons and last values that become those of <= and >=, and the variables' values in
   every iteration, for each type of bounds and of variables. And libomp's variables that tell levels of a trace. */
#include "../check.h"
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum comparison { AT_MOST, AT_LEAST, UNEQUAL, BELOW, ABOVE };
enum type { U8, I8, U16, I16, U32, I32, U64, I64 };

struct bounds {
    int32_t type, variable, comparison, outer;
    uint64_t first, first_factor, last, last_factor;
    int64_t step;
    uint64_t count;
};

uint64_t __kmpc_process_loop_nest_rectang(void *, int32_t, struct bounds *, int32_t);
void __kmpc_calc_original_ivs_rectang(void *, uint64_t, const struct bounds *, uint64_t *, int32_t);
extern int kmp_a_debug, kmp_b_debug, kmp_c_debug, kmp_d_debug, kmp_e_debug, kmp_f_debug, kmp_diag;
extern const uintptr_t kmp_max_mem_alloc;

static struct bounds loop(enum type type, enum type variable, enum comparison c, uint64_t first, uint64_t last,
                          int64_t step) {
    struct bounds b;
    memset(&b, 0, sizeof b);
    b.type = type, b.variable = variable, b.comparison = c;
    b.first = first, b.last = last, b.step = step;
    return b;
}

static void nest(const char *name, struct bounds *loops, int n) {
    uint64_t count = __kmpc_process_loop_nest_rectang(NULL, 0, loops, n);
    printf("%s: %" PRIu64 " iterations\n", name, count);
    for (int i = 0; i < n; i++)
        printf("  loop %d: %" PRIu64 ", comparison %d, to %" PRIx64 "\n", i, loops[i].count, loops[i].comparison,
               loops[i].last);
    uint64_t sum = 0;
    for (uint64_t k = 0; k < count; k++) {
        uint64_t values[4] = {0};
        __kmpc_calc_original_ivs_rectang(NULL, k, loops, values, n);
        for (int i = 0; i < n; i++)
            sum = sum * 31 + values[i];
        if (k < 3 || k + 1 == count) {
            printf("  iteration %" PRIu64 ":", k);
            for (int i = 0; i < n; i++)
                printf(" %" PRIx64, values[i]);
            printf("\n");
        }
    }
    printf("  all: %" PRIx64 "\n", sum);
}

int main(void) {
    const struct {
        const char *name;
        enum type type, variable;
    } types[] = {{"int", I32, I32},        {"unsigned", U32, U32}, {"long", I64, I64}, {"unsigned long", U64, U64},
                 {"signed char", I32, I8}, {"short", I32, I16},    {"char", I32, U8},  {"unsigned short", I32, U16}};
    for (unsigned t = 0; t < sizeof types / sizeof *types; t++) {
        enum type b = types[t].type, v = types[t].variable;
        struct bounds up[] = {loop(b, v, BELOW, 2, 9, 2), loop(b, v, AT_MOST, 100, 102, 1),
                              loop(b, v, UNEQUAL, 3, 9, 3)};
        nest(types[t].name, up, 3);
        struct bounds down[] = {loop(b, v, ABOVE, 250, 240, -3), loop(b, v, AT_LEAST, 7, 7, -1),
                                loop(b, v, UNEQUAL, 12, 0, -4)};
        nest(types[t].name, down, 3);
        struct bounds none[] = {loop(b, v, BELOW, 2, 9, 2), loop(b, v, AT_MOST, 5, 4, 1)};
        nest(types[t].name, none, 2);
    }
    struct bounds negative[] = {loop(I32, I32, AT_MOST, (uint64_t)-3, 3, 2),
                                loop(I64, I64, ABOVE, 2, (uint64_t)-2, -1)};
    nest("below zero", negative, 2);
    struct bounds large[] = {loop(U64, U64, AT_MOST, UINT64_MAX - 4, UINT64_MAX, 2)};
    nest("at the end of the type", large, 1);

    CHECK(kmp_a_debug == 0 && kmp_b_debug == 0 && kmp_c_debug == 0 && kmp_d_debug == 0);
    CHECK(kmp_e_debug == 0 && kmp_f_debug == 0 && kmp_diag == 0);
    /* libomp prints a trace of itself from here on, where the level is above 0. */
    kmp_a_debug = kmp_diag = 0;
    CHECK(kmp_max_mem_alloc == 1024);
    int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads++;
    printf("threads %d\n", threads);
    return check_end();
}
