/* Different names do not exclude each other, equal names do, across functions and teams (OpenMP 5.1, 2.19.1). */
#include "check.h"

static int a, b, u;

__attribute__((noinline)) static void other_place(void)
{
#pragma omp critical(alpha)
    a++;
}

int main(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 500; i++) {
#pragma omp critical(alpha)
        {
            a++;
            /* Nesting under another name must not block. */
#pragma omp critical(beta)
            {
                b++;
#pragma omp critical
                u++;
            }
        }
        other_place();
    }
    /* Two names at once: each thread holds its own while the other holds the other. */
    int meet = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
#pragma omp critical(alpha)
            {
                __atomic_fetch_add(&meet, 1, __ATOMIC_ACQ_REL);
                while (__atomic_load_n(&meet, __ATOMIC_ACQUIRE) < 2)
                    ;
            }
        } else {
#pragma omp critical(beta)
            {
                __atomic_fetch_add(&meet, 1, __ATOMIC_ACQ_REL);
                while (__atomic_load_n(&meet, __ATOMIC_ACQUIRE) < 2)
                    ;
            }
        }
    }
    printf("%d %d %d %d\n", a, b, u, meet);
    return check_end();
}
