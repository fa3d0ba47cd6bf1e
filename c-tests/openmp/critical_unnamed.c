/* critical excludes: unprotected updates inside it are never lost (OpenMP 5.1, 2.19.1). */
#include "check.h"

int main(void)
{
    long count = 0;
    int inside = 0;
#pragma omp parallel num_threads(8)
    for (int i = 0; i < 2000; i++) {
#pragma omp critical
        {
            CHECK(++inside == 1);
            count++;
            inside--;
        }
    }
    printf("%ld\n", count);
    return check_end();
}
