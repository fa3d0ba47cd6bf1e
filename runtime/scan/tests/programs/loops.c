/* Regions that any number of threads may run (fits_*), and regions whose code
 * needs to know who runs it (refused_*). Only compiled, never run. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double *a, *b, *best;
int *counts, team, chosen, size;
extern double heavy(double);
extern void take(int);
extern void look(int *);
double heavy(double x) { return sqrt(x) + 1; }
void take(int x) { size = x; }
void look(int *x) { *x += 1; }

void fits_plain(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) a[i] *= 2;
}

void fits_constant(void) {
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) a[i] *= 2;
}

void fits_long_step(long n) {
#pragma omp parallel for
    for (long i = 5; i < n; i += 3) a[i] = exp(b[i]);
}

void fits_down(int n) {
#pragma omp parallel for
    for (int i = n - 1; i >= 0; i -= 2) a[i] = heavy(a[i]);
}

void fits_unsigned(unsigned n) {
#pragma omp parallel for
    for (unsigned i = 0; i < n; i++) a[i] *= 2;
}

void fits_unsigned_long(unsigned long n) {
#pragma omp parallel for
    for (unsigned long i = 3; i < n; i++) a[i] += b[i - 3];
}

void fits_collapse(int n, int m) {
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) a[i * m + j] = b[j * n + i];
}

double fits_reduction(int n) {
    double s = 0, m = 0;
#pragma omp parallel for reduction(+ : s) reduction(max : m)
    for (int i = 0; i < n; i++) {
        s += a[i];
        if (a[i] > m) m = a[i];
    }
    return s + m;
}

void fits_two_loops(int n, int m) {
#pragma omp parallel
    {
#pragma omp for nowait
        for (int i = 0; i < n; i++) a[i] *= 2;
#pragma omp for
        for (int i = 0; i < m; i++) b[i] = a[0] + i;
    }
}

void fits_loop_in_loop(int n, int steps) {
#pragma omp parallel
    for (int t = 0; t < steps; t++) {
#pragma omp for
        for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];
#pragma omp for
        for (int i = 1; i < n - 1; i++) a[i] = b[i];
    }
}

void fits_many_values(int n, int m, int k, double x, double y) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < m; j++)
            for (int l = 0; l < k; l++)
                s += a[i * m + j] * b[j * k + l] * x + heavy(y * l) * a[l];
        a[i * m] = s;
    }
}

int fits_lastprivate(int n) {
    int last = 0;
#pragma omp parallel for lastprivate(last)
    for (int i = 0; i < n; i++) {
        last = i * 3;
        a[i] = last;
    }
    return last;
}

void fits_master_then_loop(int n) {
#pragma omp parallel
    {
#pragma omp master
        chosen = 1;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void fits_single_then_loop(int n) {
#pragma omp parallel
    {
#pragma omp single
        chosen = 1;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void fits_critical(int n) {
#pragma omp parallel
    {
        double mine = 0;
#pragma omp for
        for (int i = 0; i < n; i++) mine += a[i];
#pragma omp critical
        best[0] += mine;
    }
}

static __attribute__((noinline)) double halves(double *x, int n)
{
    return n < 2 ? x[0] : halves(x, n / 2) * halves(x + n / 2, n - n / 2) + 1;
}

void fits_recursion(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        a[i] = exp(b[i]);
        a[i] += halves(b, i + 1);
    }
}

static __attribute__((noinline)) int deep_down(int n)
{
    return n < 2 ? omp_get_thread_num() : deep_down(n / 2) + deep_down(n - n / 2) * 0;
}

void refused_recursion_that_answers(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) best[deep_down(i)] += a[i];
}

static __attribute__((noinline)) void collect(int n, double x)
{
    if (n < 2) {
        best[omp_get_thread_num()] += x;
        return;
    }
    collect(n / 2, x);
    collect(n - n / 2, x + 1);
}

void refused_recursion_that_keeps(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) collect(i, a[i]);
}

static __attribute__((noinline)) void spread(int n, int to)
{
    if (n < 2) {
        best[to] += n;
        return;
    }
    spread(n / 2, to);
    spread(n - n / 2, to);
}

void refused_recursion_that_is_told(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) spread(i, omp_get_thread_num());
}

/* The first thread's own: timers, by a number that is asked for once. */
int timing;
double began[4], spent[4];
__attribute__((noinline)) void start_timer(int which) { began[which] = omp_get_wtime(); }
__attribute__((noinline)) void stop_timer(int which) { spent[which] += omp_get_wtime() - began[which]; }

__attribute__((noinline)) static void timed(int n) {
    int me = omp_get_thread_num();
    if (timing && me == 0) start_timer(1);
#pragma omp for
    for (int i = 0; i < n; i++) a[i] = heavy(b[i]);
    if (timing && me == 0) stop_timer(1);
}

/* clang begins the functions that these end with by pushing some register, the number's own, too. */
#ifndef __clang__
void fits_timers(int n) {
#pragma omp parallel
    {
        timed(n);
        timed(n / 2);
    }
}

void fits_timer_in_place(int n, double x, double y) {
#pragma omp parallel
    {
        double z = x * y;
        if (timing && omp_get_thread_num() == 0) start_timer(2);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = b[i] * z + x;
        if (omp_get_thread_num() == 0 && timing) stop_timer(2);
    }
}
#endif

void refused_timer_of_two(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        if (timing && me < 2) start_timer(1);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = heavy(b[i]);
    }
}

/* What looks like that. */
__attribute__((noinline)) double picked(void) { return spent[0]; }
__attribute__((noinline)) void note(double x) { spent[1] = x; }
__attribute__((noinline)) void fill(int *x) { *x = team; }
__attribute__((noinline)) void see(int *x) { size = *x; }

void refused_first_has_another_factor(int n) {
#pragma omp parallel
    {
        double x = 1;
        if (omp_get_thread_num() == 0) x = 2;
        note(x);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = i;
    }
}

void refused_first_is_answered(int n) {
#pragma omp parallel
    {
        double x = 1;
        if (omp_get_thread_num() == 0) x = picked();
        note(x);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = i;
    }
}

void refused_first_is_told(int n) {
#pragma omp parallel
    {
        int x = 3;
        if (omp_get_thread_num() == 0) fill(&x);
        take(x);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = i;
    }
}

void refused_first_is_seen_by_others(int n) {
#pragma omp parallel
    {
        int x = 3, *p = &x;
        see(p);
        if (omp_get_thread_num() == 0) x = team;
        for (int i = 0; i < n; i++) see(p);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = i;
    }
}

__attribute__((noinline)) static double first_answers(double x) {
    if (omp_get_thread_num() == 0) return picked();
    return x;
}

void refused_first_returns(int n) {
#pragma omp parallel
    {
        note(first_answers(b[0]));
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = i;
    }
}

void refused_not_first(int n) {
#pragma omp parallel
    {
        int others = omp_get_thread_num() != 0;
        if (timing && others) start_timer(3);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = i;
    }
}

/* Each thread does this once, so the number of threads shows. */
void refused_each_prints(int n) {
#pragma omp parallel
    {
        printf("a thread\n");
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = i;
    }
}

__attribute__((noinline)) static void tell(const char *what) { fprintf(stderr, "%s: a thread\n", what); }

void refused_each_prints_elsewhere(int n) {
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = i;
        tell("end");
    }
}

void refused_each_counts(int n) {
#pragma omp parallel
    {
#pragma omp atomic
        team++;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = i;
    }
}

/* By a number that may lie in a register meanwhile. */
void refused_each_counts_twice(int n) {
#pragma omp parallel
    {
#pragma omp atomic
        chosen += 1000003;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
#pragma omp atomic
        size += 1000003;
    }
}

/* Some threads print, or iterations do. */
void fits_errors_are_told(int n) {
#pragma omp parallel
    {
        if (n > size) fprintf(stderr, "too many\n");
#pragma omp for
        for (int i = 0; i < n; i++) {
            a[i] = i;
            if (b[i] < 0) printf("negative\n");
#pragma omp atomic
            chosen++;
        }
    }
}

#ifndef __clang__ /* Without optimisation clang hands the thread's number on through memory. */
void fits_one_prints(int n) {
#pragma omp parallel
    {
#pragma omp single
        printf("begun\n");
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = i;
    }
}
#endif

void refused_first_as_a_number(int n) {
#pragma omp parallel
    {
        int first = omp_get_thread_num() == 0;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = first;
    }
}

void refused_index(int n) {
#pragma omp parallel
    {
        double *mine = &best[omp_get_thread_num()];
#pragma omp for
        for (int i = 0; i < n; i++) *mine += a[i];
    }
}

void refused_index_with_stride(int n) {
#pragma omp parallel
    {
        int tid = omp_get_thread_num();
#pragma omp for
        for (int i = 0; i < n; i++) best[tid * 8] += a[i];
    }
}

void refused_index_after_loop(int n) {
#pragma omp parallel
    {
        double s = 0;
#pragma omp for
        for (int i = 0; i < n; i++) s += a[i];
        best[omp_get_thread_num()] = s;
    }
}

void refused_team_size_kept(int n) {
#pragma omp parallel
    {
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void refused_passed(int n) {
#pragma omp parallel
    {
        take(omp_get_thread_num());
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void refused_through_pointer(int n) {
#pragma omp parallel
    {
        int tid = omp_get_thread_num();
        look(&tid);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] += tid;
    }
}

void refused_bucket(int n) {
#pragma omp parallel
    {
        int r = n % omp_get_num_threads();
        counts[r] += 1;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void refused_owner(int n) {
#pragma omp parallel
    {
        int share = n / omp_get_num_threads();
#pragma omp for
        for (int i = 0; i < n; i++) counts[i / (share + 1)] += 1;
    }
}

void refused_prefix(int n) {
#pragma omp parallel
    {
        int from = 0, tid = omp_get_thread_num();
        for (int t = 0; t < tid; t++) from += counts[t];
#pragma omp for
        for (int i = 0; i < n; i++) a[i] += from;
    }
}

void refused_gather(int n) {
#pragma omp parallel
    {
        int threads = omp_get_num_threads();
#pragma omp for
        for (int i = 0; i < n; i++)
            for (int t = 0; t < threads; t++) a[i] += best[t];
    }
}

void refused_two_roles(int n) {
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) chosen = 1;
        else take(2);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void refused_second_thread(int n) {
#pragma omp parallel
    {
        if (omp_get_thread_num() == 1) chosen = 1;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void refused_raised_for_all(int n) {
#pragma omp parallel
    {
        int tid = omp_get_thread_num();
        int q = n / omp_get_num_threads() + 1;
        for (int i = q * tid; i < q * tid + q; i++) a[i] *= 2;
#pragma omp for
        for (int i = 0; i < n; i++) b[i] *= 2;
    }
}

void refused_value(int n) {
#pragma omp parallel
    {
        int tid = omp_get_thread_num();
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = tid;
    }
}

void refused_private_table(int n) {
#pragma omp parallel
    {
        int ids[4];
        for (int j = 0; j < 4; j++) ids[j] = omp_get_thread_num() + j;
#pragma omp for
        for (int i = 0; i < n; i++) a[ids[i & 3]] = 1;
    }
}

static __attribute__((noinline)) void mark(int who) { best[who] = 1; }
void refused_in_callee(int n) {
#pragma omp parallel
    {
        mark(omp_get_thread_num());
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

static __attribute__((noinline)) void own(double x) { best[omp_get_thread_num()] += x; }
void refused_asked_by_callee(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) own(a[i]);
}

static __attribute__((noinline)) int who(void) { return omp_get_thread_num(); }
void refused_answered_by_callee(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) best[who()] += a[i];
}

void fits_count_down(int n) {
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
        if (__atomic_fetch_sub(&counts[3], 1, __ATOMIC_ACQ_REL) == 1) chosen = 1;
    }
}

void fits_first_come(int n) {
#pragma omp parallel
    {
        int came;
#pragma omp atomic capture
        came = counts[2]++;
        if (came == 0) chosen = 1;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void refused_numbered_index(int n) {
#pragma omp parallel
    {
        int me;
#pragma omp atomic capture
        me = team++;
        double s = 0;
#pragma omp for
        for (int i = 0; i < n; i++) s += a[i];
        best[me] = s;
    }
}

void refused_numbered_kept(int n) {
#pragma omp parallel
    {
        int me = __atomic_fetch_add(&team, 1, __ATOMIC_RELAXED);
#pragma omp for
        for (int i = 0; i < n; i++) counts[i] = me;
    }
}

void refused_numbered_branch(int n) {
#pragma omp parallel
    {
        int me = __atomic_fetch_add(&team, 1, __ATOMIC_RELAXED);
        if (me < size) chosen = 2;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void refused_numbered_third(int n) {
#pragma omp parallel
    {
        int me = __atomic_fetch_add(&team, 1, __ATOMIC_RELAXED);
        if (me == 2) chosen = 2;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void refused_numbered_passed(int n) {
#pragma omp parallel
    {
        take(__atomic_fetch_add(&team, 1, __ATOMIC_RELAXED) * 4);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

static __attribute__((noinline, noreturn)) void give_up(const char *what, int count)
{
    if (count > 7) abort();
    size = *what + count;
    exit(3);
}

void fits_counted_references(int n) {
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
        int old = __atomic_fetch_sub(&counts[3], 1, __ATOMIC_ACQ_REL);
        if (old <= 1) {
            if (old == 1) chosen = 1;
            else give_up("%d", old);
        }
    }
}

static __attribute__((noinline)) void go_on(const char *what, int count)
{
    if (count > 7) abort();
    size = *what + count;
}

void refused_counted_references(int n) {
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
        int old = __atomic_fetch_sub(&counts[3], 1, __ATOMIC_ACQ_REL);
        if (old <= 1) {
            if (old == 1) chosen = 1;
            else go_on("%d", old);
        }
    }
}

void refused_no_loop(void) {
#pragma omp parallel
#pragma omp critical
    best[0] += 1;
}

void refused_dispatched(int n) {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < n; i++) a[i] *= 2;
}

void refused_switch(int n) {
#pragma omp parallel
    {
        switch (omp_get_thread_num()) {
        case 0: a[0] = 4; break;
        case 1: a[8] = 3; break;
        case 2: b[3] = 4; break;
        case 3: a[7] = 9; break;
        case 4: b[6] = 4; break;
        case 5: take(3); break;
        case 6: take(4); break;
        }
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

int main(void) { return 0; }
