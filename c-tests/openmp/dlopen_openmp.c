/* A program linked to the runtime opens a library with OpenMP, uses it and closes it, many times (POSIX dlopen).
   hetmp-test: lib=regions.c
   hetmp-test: libs=-ldl */
#include <dlfcn.h>
#include "check.h"

int main(void)
{
    const char *path = getenv("HETMP_TEST_LIB");
    long total = 0;
    /* Needs the runtime itself, which therefore stays when the library goes. */
    CHECK(omp_get_level() == 0);
    for (int round = 0; round < 20; round++) {
        void *lib = dlopen(path, round & 1 ? RTLD_NOW : RTLD_LAZY);
        if (!lib) {
            printf("%s\n", dlerror());
            return 1;
        }
        int (*team)(int) = (int (*)(int))dlsym(lib, "lib_team");
        long (*loop)(long) = (long (*)(long))dlsym(lib, "lib_loop");
        int (*tasks)(int) = (int (*)(int))dlsym(lib, "lib_tasks");
        CHECK(team(4) == 4);
        CHECK(loop(1000) == 499500);
        CHECK(tasks(100) == 100);
        total += team(3);
        CHECK(dlclose(lib) == 0);
    }
    printf("%ld\n", total);
    return check_end();
}
