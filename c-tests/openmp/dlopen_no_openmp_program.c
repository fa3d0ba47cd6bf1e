/* A program compiled without -fopenmp brings the runtime in by dlopen, from a pthread that ends;
   dlclose must not pull it from under its threads, as happens to libgomp (POSIX dlopen).
   hetmp-test: only=hetmp
   hetmp-test: lib=regions.c
   hetmp-test: flags=-fno-openmp
   hetmp-test: libs=-ldl -lpthread */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int bad;

static void *run(void *arg)
{
    (void)arg;
    void *lib = dlopen(getenv("HETMP_TEST_LIB"), RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        printf("%s\n", dlerror());
        bad = 1;
        return NULL;
    }
    int (*team)(int) = (int (*)(int))dlsym(lib, "lib_team");
    bad |= team(4) != 4;
    dlclose(lib);
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 10; i++) {
        pthread_t t;
        pthread_create(&t, NULL, run, NULL);
        pthread_join(t, NULL);
    }
    run(NULL);
    printf("%s\n", bad ? "bad" : "ok");
    return bad;
}
