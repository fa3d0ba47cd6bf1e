/* omp_test_lock takes a free lock and never blocks on a held one (OpenMP 5.1, 3.9.6). */
#include "check.h"

int main(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
    CHECK(omp_test_lock(&lock));
    CHECK(!omp_test_lock(&lock));
    int others = 0;
#pragma omp parallel num_threads(4) reduction(+ : others)
    others += omp_test_lock(&lock) != 0;
    printf("while held: %d\n", others);
    omp_unset_lock(&lock);
    int won = 0;
#pragma omp parallel num_threads(4) reduction(+ : won)
    won += omp_test_lock(&lock) != 0;
    printf("when free: %d\n", won);
    omp_unset_lock(&lock);
    long count = 0;
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 300; i++) {
        while (!omp_test_lock(&lock))
            ;
        count++;
        omp_unset_lock(&lock);
    }
    printf("%ld\n", count);
    omp_destroy_lock(&lock);
    return check_end();
}
