/* Constructs whose events tell more than a begin and an end: chunks, sections, iterations that wait for each other,
   dependences between two tasks, leagues of teams, the error directive, atomics with a lock. */
#include <omp.h>
#include <stdio.h>
#ifdef __clang__
int __kmpc_global_thread_num(void *);
void __kmpc_atomic_float10_add(void *, int, long double *, long double);
#endif
int main(void) {
#ifdef __clang__
    long double wide = 0;
#endif
    int sum = 0, a[5] = {0}, x = 0, made = 0;
    #pragma omp parallel num_threads(2)
    {
        #pragma omp for schedule(dynamic, 1) reduction(+: sum)
        for (int i = 0; i < 10; i++) sum += i;
        #pragma omp for schedule(static) reduction(+: sum)
        for (int i = 0; i < 10; i++) sum += i;
        #pragma omp sections reduction(+: sum)
        {
            #pragma omp section
            sum++;
            #pragma omp section
            sum++;
        }
        #pragma omp for ordered(1)
        for (int i = 0; i < 5; i++) {
            #pragma omp ordered depend(sink: i - 1)
            a[i] = i ? a[i - 1] + 1 : 1;
            #pragma omp ordered depend(source)
        }
        #pragma omp single
        {
            #pragma omp taskloop grainsize(4) reduction(+: sum)
            for (int i = 0; i < 16; i++) sum += i;
            /* The first task is not complete when the second one is made. */
            #pragma omp task depend(out: x) shared(x, made)
            {
                while (__atomic_load_n(&made, __ATOMIC_ACQUIRE) == 0);
                x = 1;
            }
            #pragma omp task depend(in: x) shared(x, sum)
            sum += x;
            __atomic_store_n(&made, 1, __ATOMIC_RELEASE);
            #pragma omp taskwait
        }
#ifdef __clang__
        /* An atomic construct that needs a lock, as older compilers call it. */
        __kmpc_atomic_float10_add(0, __kmpc_global_thread_num(0), &wide, 1);
#endif
    }
    #pragma omp teams num_teams(2) thread_limit(1) reduction(+: sum)
    #pragma omp distribute
    for (int i = 0; i < 8; i++) sum += 1;
    #pragma omp error at(execution) severity(warning) message("as told")
    printf("sum %d %d\n", sum, a[4]);
    return 0;
}
