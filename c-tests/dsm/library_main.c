/* A program with a library of its own (library.c). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

enum { N = 3000 };
extern int library_values[N];
double library_region(void);
void library_add(int i);
int library_local(void);
const char *library_text(int i);

#ifdef SERIAL
#define for_all(text)
#else
#define for_all(text) _Pragma(text)
#endif

int main(void)
{
#ifdef OPENED
    Dl_info info;
    if (!dladdr((void *)library_add, &info))
        return 1;
    void *library = dlopen(info.dli_fname, RTLD_NOW);
    printf("opened: %s\n", library && dlsym(library, "library_add") == (void *)library_add ? "yes" : "no");
#endif
    printf("main: local %d, %s, %s\n", library_local(), library_text(2), library_text(3));
    for (int round = 0; round < 3; round++) {
        printf("library's region: %.1f\n", library_region());
        /* A region of the program that works on the library's variables. */
        for_all("omp parallel for schedule(static)")
        for (int i = 0; i < N; i++)
            library_values[i] = library_values[i] * 2 + i % 7;
        /* One that calls the library. */
        for_all("omp parallel for schedule(static)")
        for (int i = 0; i < N; i++)
            library_add(i);
        long sum = 0;
        for (int i = 0; i < N; i++)
            sum += library_values[i];
        printf("values %ld\n", sum);
    }
    return 0;
}
