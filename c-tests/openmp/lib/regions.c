/* A shared library with OpenMP inside: opened and closed by the dlopen programs. */
#include <omp.h>

static int private_count;
#pragma omp threadprivate(private_count)

int lib_team(int n)
{
    int count = 0;
#pragma omp parallel num_threads(n) reduction(+ : count)
    {
        private_count++;
        count++;
    }
    return count;
}

long lib_loop(long n)
{
    long sum = 0;
#pragma omp parallel for schedule(dynamic, 3) reduction(+ : sum) num_threads(3)
    for (long i = 0; i < n; i++)
        sum += i;
    return sum;
}

int lib_tasks(int n)
{
    int count = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int i = 0; i < n; i++) {
#pragma omp task shared(count)
#pragma omp atomic
        count++;
    }
    return count;
}

int lib_level(void)
{
    return omp_get_level() * 100 + omp_get_num_threads();
}
