/* inoutset: its tasks run together, ordered against in, out and inout (OpenMP 5.1, 2.19.11). gcc 12 cannot spell it,
   so the kind is written into a depend object as gcc 13 does.
   hetmp-test: only=hetmp
   hetmp-test: timeout=20 */
#include "check.h"

static void set_kind(omp_depend_t *d, unsigned long kind)
{
    memcpy((char *)d + sizeof(void *), &kind, sizeof kind);
}

int main(void)
{
    for (int n = 2; n <= 4; n++) {
        int x = 0, meet = 0, sum = 0;
        omp_depend_t d;
#pragma omp depobj(d) depend(inout : x)
        set_kind(&d, 5);
#pragma omp parallel num_threads(n)
#pragma omp single
        for (int round = 1; round <= 20; round++) {
#pragma omp task depend(out : x) shared(x, meet)
            {
                CHECK(meet == 2 * (round - 1));
                x = round;
            }
            for (int k = 0; k < 2; k++) {
#pragma omp task depend(depobj : d) shared(x, meet)
                {
                    CHECK(x == round);
                    __atomic_fetch_add(&meet, 1, __ATOMIC_ACQ_REL);
                    /* Both must be able to be inside at once. */
                    while (__atomic_load_n(&meet, __ATOMIC_ACQUIRE) < 2 * round)
                        ;
                }
            }
#pragma omp task depend(in : x) shared(x, meet, sum)
            {
                CHECK(meet == 2 * round);
#pragma omp atomic
                sum += x;
            }
#pragma omp taskwait
        }
#pragma omp depobj(d) destroy
        printf("%d %d\n", meet, sum);
    }
    return check_end();
}
