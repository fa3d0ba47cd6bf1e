/* A library of a program (library_main.c): variables with and without values, a constructor that allocates and prints,
   a thread-local variable, regions of its own, and a destructor that reads what other nodes wrote last. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { N = 3000 };

int library_values[N] = {1, 2, 3};        /* .data, and by a copy relocation in a program at fixed addresses */
static double sums[N];                     /* .bss */
static int calls = 5;                      /* .data */
static const char *const names[] = {"zero", "one", "two"}; /* read-only after relocation */
static int *made, *mapped;                 /* memory of the constructor */
static char *text;
static _Thread_local int local = 1;

__attribute__((constructor)) static void begin(void)
{
    made = malloc(N * sizeof *made);
    mapped = mmap(NULL, N * sizeof *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    text = strdup("written by the constructor");
    for (int i = 0; i < N; i++)
        made[i] = i, mapped[i] = 2 * i;
    local = 7;
    calls++;
    printf("constructor\n");
}

__attribute__((destructor)) static void end(void)
{
    long sum = 0;
    for (int i = 0; i < N; i++)
        sum += made[i] + mapped[i] + (long)sums[i] + library_values[i];
    printf("destructor: %ld, %d calls, %s\n", sum, calls, text);
    free(made);
    free(text);
}

double library_one(int i)
{
    return i * 0.5;
}

/* A region of the library. */
double library_region(void)
{
    double sum = 0;
    calls++;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (int i = 0; i < N; i++) {
        sums[i] += i;
        made[i] += omp_get_num_threads();
        mapped[i] += 1;
        library_values[i] += 1;
        sum += sums[i] + made[i] + mapped[i];
    }
    return sum;
}

/* Called in a region of the program. */
void library_add(int i)
{
    made[i] += 1;
    sums[i] += library_one(i);
}

int library_local(void)
{
    return local;
}

const char *library_text(int i)
{
    return i < 3 ? names[i] : text;
}
