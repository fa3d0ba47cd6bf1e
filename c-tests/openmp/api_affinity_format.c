/* omp_set/get_affinity_format and the fields that do not depend on the machine (OpenMP 5.1, 3.2.25-28). */
#include "check.h"

int main(void)
{
    char buf[256], tiny[5];
    size_t n = omp_get_affinity_format(buf, sizeof buf);
    printf("default %zu [%s]\n", n, buf);
    omp_set_affinity_format("t=%n/%N L=%L a=%a %% %0.4n|%.4n|%6n|%0.6N|%{thread_num}/%{num_threads}|%{nesting_level}");
    n = omp_get_affinity_format(tiny, sizeof tiny);
    printf("%zu [%s]\n", n, tiny);
    n = omp_get_affinity_format(NULL, 0);
    printf("%zu\n", n);
    n = omp_capture_affinity(buf, sizeof buf, NULL);
    printf("%zu [%s]\n", n, buf);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
    {
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 3; i++) {
#pragma omp ordered
            {
                char b[200];
                size_t m = omp_capture_affinity(b, sizeof b, "");
                printf("%zu [%s]\n", m, b);
                m = omp_capture_affinity(b, 8, "%L.%n.%N.%a.%T.%t");
                printf("%zu [%s]\n", m, b);
            }
        }
    }
    fflush(stdout);
    return check_end();
}
