/* schedule(static): contiguous shares in thread order, same for equal loops (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    static const int trips[] = {0, 1, 2, 3, 7, 8, 9, 100, 1001, 65536};
    for (unsigned k = 0; k < sizeof trips / sizeof *trips; k++) {
        int n = trips[k];
        static int owner[65536];
#pragma omp parallel num_threads(4)
        {
            int me = omp_get_thread_num();
#pragma omp for schedule(static)
            for (int i = 0; i < n; i++) {
                loop_hit(i);
                owner[i] = me;
            }
#pragma omp for schedule(static) nowait
            for (int i = 0; i < n; i++)
                CHECK(owner[i] == me);
        }
        LOOP_EXPECT(n, 1);
        for (int i = 1; i < n; i++)
            CHECK(owner[i] >= owner[i - 1]);
        printf("%d ok\n", n);
    }
    return check_end();
}
