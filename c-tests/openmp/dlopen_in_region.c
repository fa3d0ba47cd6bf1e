/* A library opened inside a region sees the team of its caller and nests its own (POSIX dlopen).
   hetmp-test: lib=regions.c
   hetmp-test: libs=-ldl */
#include <dlfcn.h>
#include "check.h"

int main(void)
{
    int sum = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3) reduction(+ : sum)
    {
        void *lib = dlopen(getenv("HETMP_TEST_LIB"), RTLD_NOW);
        CHECK(lib != NULL);
        int (*level)(void) = (int (*)(void))dlsym(lib, "lib_level");
        int (*team)(int) = (int (*)(int))dlsym(lib, "lib_team");
        CHECK(level() == 103);
        sum += team(2);
#pragma omp barrier
        dlclose(lib);
    }
    printf("%d\n", sum);
    return check_end();
}
