/* critical, a lock, a nestable lock, atomic and ordered order all accesses. */
#include <omp.h>
#include <stdio.h>
int main(void) {
    int a = 0, b = 0, c = 0, d = 0, e = 0;
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    #pragma omp parallel for ordered schedule(dynamic) num_threads(2)
    for (int i = 0; i < 100; i++) {
        #pragma omp critical
        a++;
        omp_set_lock(&lock);
        b++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        c++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        #pragma omp atomic
        d++;
        #pragma omp ordered
        e++;
    }
    printf("%d %d %d %d %d\n", a, b, c, d, e);
    return 0;
}
