/* Regions in which clang leaves the division of loops to the runtime: fits_*
 * any number of threads may run, refused_* not. Only compiled, never run. */
#include <math.h>
#include <omp.h>

double *a, *b, *best;
int *counts, team, chosen, size;
extern double heavy(double);
extern void take(int);
extern void look(int *);
double heavy(double x) { return sqrt(x) + 1; }
void take(int x) { size = x; }
void look(int *x) { *x += 1; }

/* The entries by hand, as no compiler uses them. */
typedef struct { int reserved_1, flags, reserved_2, reserved_3; const char *source; } Place;
extern int __kmpc_global_thread_num(Place *);
extern int __kmpc_master(Place *, int);
static Place here;

void fits_chunks(int n) {
#pragma omp parallel for schedule(static, 4)
    for (int i = 0; i < n; i++) a[i] *= 2;
}

void fits_chunks_down(long n) {
#pragma omp parallel for schedule(static, 1)
    for (long i = n - 1; i >= 0; i -= 3) a[i] *= heavy(b[i]);
}

double fits_many_reductions(int n) {
    double s = 0, p = 1, m = 0;
    long k = 0;
#pragma omp parallel for reduction(+ : s, k) reduction(* : p) reduction(max : m)
    for (int i = 0; i < n; i++) {
        s += a[i];
        p *= b[i];
        k += i & 3;
        if (a[i] > m) m = a[i];
    }
    return s + p + m + k;
}

double fits_reduction_with_barrier(int n) {
    static double s;
#pragma omp parallel
    {
#pragma omp for reduction(+ : s)
        for (int i = 0; i < n; i++) s += a[i];
#pragma omp for
        for (int i = 0; i < n; i++) a[i] /= s;
    }
    return s;
}

void fits_array_reduction(int n) {
    double bins[16] = {0};
#pragma omp parallel for reduction(+ : bins)
    for (int i = 0; i < n; i++) bins[(int)a[i] & 15] += b[i];
    for (int i = 0; i < 16; i++) best[i] = bins[i];
}

double fits_copyprivate(int n) {
    double x;
#pragma omp parallel private(x)
    {
#pragma omp single copyprivate(x)
        x = heavy(a[0]);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= x;
    }
    return a[1];
}

static __attribute__((noinline)) void orphan(int n, double by) {
#pragma omp for
    for (int i = 0; i < n; i++) a[i] *= by;
#pragma omp barrier
}

void fits_orphaned(int n, int m) {
#pragma omp parallel
    for (int j = 0; j < m; j++) orphan(n, heavy(j));
}

void fits_beside_a_dispatched_loop(int n) {
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < n; i++) b[i] = heavy(i);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= b[i];
    }
}

void refused_index_in_loop(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) best[omp_get_thread_num()] += a[i];
}

void refused_chunk_of_own(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int i = me * 8; i < n; i += all * 8) a[i] = heavy(i);
#pragma omp for schedule(static, 8)
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

/* A number of the process, asked for by hand. */
void refused_number_by_hand(int n) {
#pragma omp parallel
    {
        best[__kmpc_global_thread_num(&here)] = 1;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void refused_number_by_hand_kept(int n) {
#pragma omp parallel
    {
        int me = __kmpc_global_thread_num(&here);
        look(&me);
        take(me);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] += me;
    }
}

void refused_in_callee_of_loop(int n);
static __attribute__((noinline)) void mine(int i) { counts[omp_get_thread_num()] = i; }
void refused_in_callee_of_loop(int n) {
#pragma omp parallel for schedule(static, 2)
    for (int i = 0; i < n; i++) mine(i);
}

/* Outlined as clang does, by somebody who looks at the numbers. */
typedef void Outlined(int *, int *, ...);
extern void __kmpc_fork_call(Place *, int, Outlined *, ...);
extern void __kmpc_for_static_init_4(Place *, int, int, int *, int *, int *, int *, int, int);
void refused_by_hand_1_number_in_the_process__omp_outlined(int *gtid, int *tid, int *n)
    __asm__("refused_by_hand_1.omp_outlined");
void refused_by_hand_1_number_in_the_process__omp_outlined(int *gtid, int *tid, int *n) {
    int last = 0, lower = 0, upper = *n - 1, stride = 1;
    __kmpc_for_static_init_4(&here, *gtid, 34, &last, &lower, &upper, &stride, 1, 1);
    for (int i = lower; i <= upper; i++) best[*gtid] += a[i];
}
void refused_by_hand_2_number_in_the_team__omp_outlined(int *gtid, int *tid, int *n)
    __asm__("refused_by_hand_2.omp_outlined");
void refused_by_hand_2_number_in_the_team__omp_outlined(int *gtid, int *tid, int *n) {
    int last = 0, lower = 0, upper = *n - 1, stride = 1;
    __kmpc_for_static_init_4(&here, *gtid, 34, &last, &lower, &upper, &stride, 1, 1);
    for (int i = lower; i <= upper; i++) a[i] *= 2;
    if (*tid > 2) counts[3] = *tid;
}
void refused_by_hand_3_shared_bounds__omp_outlined(int *gtid, int *tid, int *bounds)
    __asm__("refused_by_hand_3.omp_outlined");
void refused_by_hand_3_shared_bounds__omp_outlined(int *gtid, int *tid, int *bounds) {
    int last = 0, stride = 1;
    __kmpc_for_static_init_4(&here, *gtid, 34, &last, bounds, bounds + 1, &stride, 1, 1);
    for (int i = bounds[0]; i <= bounds[1]; i++) a[i] *= 2;
}
void hands_out(int n) {
    __kmpc_fork_call(&here, 1, (Outlined *)refused_by_hand_1_number_in_the_process__omp_outlined, &n);
}

int main(void) { return 0; }
