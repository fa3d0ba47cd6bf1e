/* task_reduction and in_reduction: scalars, arrays, user operators, nested tasks (OpenMP 5.1, 2.21.5). */
#include "check.h"

struct pair {
    long sum, count;
};
#pragma omp declare reduction(merge : struct pair : omp_out.sum += omp_in.sum, omp_out.count += omp_in.count) \
    initializer(omp_priv = {0, 0})

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        long a = 1;
        int h[10] = {0};
        struct pair p = {10, 0};
#pragma omp parallel num_threads(n)
#pragma omp single
        {
#pragma omp taskgroup task_reduction(+ : a, h) task_reduction(merge : p)
            {
                for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : a, h) in_reduction(merge : p)
                    {
                        a += i;
                        h[i % 10]++;
                        p.sum += i;
                        p.count++;
#pragma omp task in_reduction(+ : a)
                        a += 1000;
                    }
                }
            }
            CHECK(a == 1 + 4950 + 100000);
        }
        printf("%ld %d %d %ld %ld\n", a, h[0], h[9], p.sum, p.count);
    }
    return check_end();
}
