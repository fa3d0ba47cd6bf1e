/* Dynamic and guided chunks start at multiples of the chunk and only the last is short (OpenMP 5.1, table 2.5). */
#include "loop_check.h"

int main(void)
{
    enum { N = 5003, C = 16 };
    static int owner[N];
    for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(6)
        {
#pragma omp for schedule(dynamic, C)
            for (int i = 0; i < N; i++)
                owner[i] = omp_get_thread_num();
        }
        for (int i = 0; i < N; i++)
            CHECK(owner[i] == owner[i - i % C]);
    }
    return check_end();
}
