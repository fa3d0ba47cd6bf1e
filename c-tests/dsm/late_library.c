/* A program that loads a library of its own (the argument; this file with -DPLUGIN) while nodes run. The library's
   variables are at the origin, so regions stay there from then on. And a look at where main's stack begins, as R does
   it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

#ifdef PLUGIN
static int kept = 1;

int *plugin(int *sum)
{
#pragma omp parallel for reduction(+ : sum[:1])
    for (int i = 0; i < 100; i++)
        sum[0] += kept + i;
    kept++;
    return &kept;
}
#else
extern void *__libc_stack_end;

static int pids[4];

static int processes(void)
{
    int count = 0;
#pragma omp parallel num_threads(4)
    pids[omp_get_thread_num()] = getpid();
    for (int i = 0; i < 4; i++) {
        int before = 0;
        while (pids[before] != pids[i])
            before++;
        count += before == i;
    }
    return count;
}

/* The distance to the end of the mapping that holds main's stack. */
static unsigned long depth_in_mapping(char *here)
{
    unsigned long at = (unsigned long)here, start, end, depth = -1ul;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= at && at < end)
            depth = end - at;
    if (maps)
        fclose(maps);
    return depth;
}

int main(int argc, char **argv)
{
    char here;
    long depth = (char *)__libc_stack_end - &here;
    printf("stack %s\n", depth > 0 && depth < 1 << 21 ? "here" : "elsewhere");
    printf("mapping ends %s\n", depth_in_mapping(&here) < 1 << 22 ? "here" : "elsewhere");
    printf("processes %d\n", processes());
    printf("%s\n", dlopen("/nowhere.so", RTLD_NOW) ? "found" : "not found");
    printf("processes %d\n", processes());
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library)
        return 1;
    int *(*plugin)(int *) = (int *(*)(int *))dlsym(library, "plugin");
    int sum = 0, *kept = plugin(&sum);
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 4; i++)
        sum += *kept;
    plugin(&sum);
    printf("sum %d, kept %d\n", sum, *kept);
    printf("processes %d\n", processes());
}
#endif
