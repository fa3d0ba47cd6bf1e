/* A process with a part that gcc built and a part that clang built has one pool of threads, one set of control
   variables, one view of nesting, and nestable locks that both use.
   hetmp-test: lib=mixed_gcc.c
   hetmp-test: libs=-ldl
   hetmp-test: threads=2,3
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=2 */
#include "../check.h"
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>

static int level_inside, size_inside, outer_number[16];

/* Called by gcc's region. */
static void clang_region(void)
{
    int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        {
#pragma omp critical
            {
                level_inside = omp_get_level();
                size_inside = omp_get_team_size(1);
            }
        }
        if (omp_get_ancestor_thread_num(1) == outer) {
#pragma omp atomic
            outer_number[outer]++;
        }
    }
}

static int threads_of_process(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

struct { unsigned long before; omp_nest_lock_t lock; unsigned long after; } guarded = { 0x1111, { 0 }, 0x2222 };

int main(void)
{
    void *lib = dlopen(getenv("HETMP_TEST_LIB"), RTLD_NOW);
    if (!lib) {
        printf("%s\n", dlerror());
        return 1;
    }
    void (*gcc_region)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(lib, "gcc_region");
    int (*gcc_threads)(void) = (int (*)(void))dlsym(lib, "gcc_threads");
    int (*gcc_locks)(void *, int) = (int (*)(void *, int))dlsym(lib, "gcc_locks");
    int n = omp_get_max_threads(), mine = 0;
#pragma omp parallel
#pragma omp single
    mine = omp_get_num_threads();
    int with_clang = threads_of_process();
    CHECK(mine == n && with_clang == n);
    CHECK(gcc_threads() == n);
    CHECK(threads_of_process() == n);
    gcc_region(clang_region);
    CHECK(level_inside == 2 && size_inside == n);
    for (int i = 0; i < n; i++)
        CHECK(outer_number[i] == 2);
    omp_init_nest_lock(&guarded.lock);
    int count = 0;
#pragma omp parallel
    for (int i = 0; i < 100; i++) {
        omp_set_nest_lock(&guarded.lock);
        CHECK(gcc_locks(&guarded.lock, 3) == 2);
        count++;
        omp_unset_nest_lock(&guarded.lock);
    }
    CHECK(count == 100 * n);
    omp_destroy_nest_lock(&guarded.lock);
    CHECK(guarded.before == 0x1111 && guarded.after == 0x2222);
    omp_set_num_threads(1);
    CHECK(gcc_threads() == 1);
    return check_end();
}
