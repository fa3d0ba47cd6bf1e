/* A list in num_threads, which LLVM's runtime takes by an entry of its own: the region's number, that of the regions
   inside of it, and so on; the last one is for all deeper regions.
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=4
   hetmp-test: threads=2,3 */
#include "../check.h"

extern int __kmpc_global_thread_num(void *);
extern void __kmpc_push_num_threads_list(void *, int, unsigned, int *);
extern void __kmpc_push_num_threads_strict(void *, int, int, int, const char *);

static int size[4];

static void nest(int level)
{
#pragma omp parallel
    {
#pragma omp single
#pragma omp atomic write
        size[level] = omp_get_num_threads();
        if (level < 2)
            nest(level + 1);
    }
}

int main(void)
{
    int numbers[2] = {2, 3}, three[3] = {3, 1, 2};
    for (int round = 0; round < 20; round++) {
        __kmpc_push_num_threads_list(0, __kmpc_global_thread_num(0), 2, numbers);
        nest(0);
        CHECK(size[0] == 2 && size[1] == 3 && size[2] == 3);
        __kmpc_push_num_threads_list(0, __kmpc_global_thread_num(0), 3, three);
        nest(0);
        CHECK(size[0] == 3 && size[1] == 1 && size[2] == 2);
        /* What was said is for that region only. */
        nest(0);
        CHECK(size[0] == omp_get_max_threads() && size[1] == size[0] && size[2] == size[0]);
        __kmpc_push_num_threads_strict(0, __kmpc_global_thread_num(0), 2, 1, "two threads are there");
        nest(0);
        CHECK(size[0] == 2 && size[1] == omp_get_max_threads());
    }
    printf("lists\n");
    return check_end();
}
