/* Private copies of a target region: firstprivate of many sizes and alignments, in place and as a
   task, made before the construct's dependences are waited for (OpenMP 5.1, sections 2.14.5 and
   2.21.4.4). */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

struct odd {
    char c[13];
};
struct wide {
    _Alignas(128) int v[3];
};

int main(void)
{
    int errors = 0, i;
    char c = 7;
    long double l = 1.25L;
    struct odd o = {{1, 2, 3}};
    struct wide w = {{4, 5, 6}};
    int n = 21, vla[n];
    for (i = 0; i < n; i++)
        vla[i] = i * i;

#pragma omp target firstprivate(c, l, o, w, vla) map(tofrom : errors)
    {
        int k;
        if ((uintptr_t) &w % 128 != 0 || (uintptr_t) &l % _Alignof(long double) != 0)
            errors++;
        if (c != 7 || l != 1.25L || o.c[2] != 3 || w.v[2] != 6)
            errors += 10;
        for (k = 0; k < n; k++)
            if (vla[k] != k * k)
                errors += 100;
        c = 1;
        l = 2;
        o.c[2] = 9;
        w.v[2] = 9;
        vla[20] = 0;
        if (omp_get_level() != 0 || omp_get_num_threads() != 1 || omp_get_thread_num() != 0)
            errors += 1000;
    }
    if (c != 7 || l != 1.25L || o.c[2] != 3 || w.v[2] != 6 || vla[20] != 400)
        errors += 10000;
    printf("in place: %d errors\n", errors);

    long sum = 0;
    int dep __attribute__((unused)) = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        int k;
        for (k = 0; k < 200; k++) {
            struct wide x = {{k, k + 1, k + 2}};
            int private_k = k;
#pragma omp target nowait firstprivate(x, private_k, o) map(tofrom : sum) depend(inout : dep)
            {
                if ((uintptr_t) &x % 128 == 0 && x.v[0] == private_k && o.c[2] == 3)
                    sum += x.v[2];
            }
            x.v[2] = -1000000;
        }
#pragma omp target update to(sum) depend(inout : dep) nowait
#pragma omp target enter data map(to : sum) depend(inout : dep)
#pragma omp task depend(in : dep) shared(sum)
        printf("after all of them: %ld\n", sum);
#pragma omp taskwait
    }
    printf("as tasks: %ld\n", sum);
    return 0;
}
