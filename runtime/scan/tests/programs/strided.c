/* Loops whose chunks are single iterations, and programs that look like them. Only compiled, never run. */
#include <omp.h>
#include <stdlib.h>

double *a, *b, *best, total;
int *counts, *out, shared, limit;
struct box {
    int low[3], size[3];
    double *values;
} *boxes;
static __attribute__((noinline)) void work(int i) { a[i] = b[i] * 2 + a[i] * a[i]; }
static __attribute__((noinline)) void stage(int i)
{
    a[i] = b[i];
#pragma omp barrier
}

void calls(int n) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < n; i++) work(i);
}

void calls_from(int low, int n) {
#pragma omp parallel for schedule(static, 1)
    for (int i = low; i < n; i += 3) work(i);
}

/* gcc counts laps here, and multiplies. */
void either_long(long n) {
#pragma omp parallel for schedule(static, 1)
    for (long i = 0; i < n; i++) work((int)i);
}

void calls_constant(void) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 1000; i++) work(i);
}

void structures(int n) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < n; i++) {
        struct box *box = &boxes[i];
        for (int k = 0; k < box->size[2]; k++)
            for (int j = 0; j < box->size[1]; j++) box->values[k * box->size[0] + j] = box->low[2] + j;
    }
}

double sums(int n) {
    double sum = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : sum)
    for (int i = 0; i < n; i++) {
        struct box *box = &boxes[i];
        for (int k = 0; k < box->size[0]; k++) sum += box->values[k] * b[i];
    }
    return sum;
}

void by_hand(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = me; i < n; i += team) work(i);
    }
}

/* The thread number as an index, in the loop and next to it. */
void refused_index_in_loop(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = me; i < n; i += team) best[me] += b[i];
    }
}

void refused_index_if_small(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        if (me < limit) best[me] = team;
    }
}

void refused_index_if_small_beside(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        if (me < 64) best[me] = 1;
        for (int i = me; i < n; i += team) work(i);
    }
}

/* Not each thread takes part. */
void refused_other_limit(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        int i = me;
        if (i < limit)
            do {
                work(i);
                i += team;
            } while (i < n);
    }
}

/* The first one is not compared. */
void refused_no_limit(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        int i = me;
        do {
            work(i);
            i += team;
        } while (i < n);
    }
}

/* What is compared before the loop is not where it begins. */
void refused_other_beginning(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        int i = me + 5;
        if (me < n)
            do {
                work(i);
                i += team;
            } while (i < n);
    }
}

void refused_other_step(int n, int step) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = me; i < n; i += 2 * team) work(i);
        for (int i = me; i < n; i += team + 1) work(i);
        for (int i = me; i < n; i += step) work(i);
    }
}

void refused_other_begin_step(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = 2 * me; i < n; i += team) work(i);
    }
}

/* Goes up where it is compared as if it went down. */
void refused_wrong_way(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = me; i > n; i += team) work(i);
    }
}

/* How many laps a thread has made, or what it is left with. */
void refused_left_over(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads(), i;
        for (i = me; i < n; i += team) work(i);
        out[i - n] = i;
    }
}

void refused_next(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = me; i < n; i += team) out[i] = counts[i + team];
    }
}

void refused_whose(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = me; i < n; i += team) best[i % team] += b[i];
    }
}

/* The bound changes. */
void refused_bound_moves(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads(), end = n;
        for (int i = me; i < end; i += team) {
            work(i);
            end -= counts[i];
        }
    }
}

/* Left before its end. */
void refused_break(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = me; i < n; i += team) {
            if (counts[i] > 7) break;
            work(i);
        }
    }
}

/* As many barriers as iterations. */
void refused_barriers(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = me; i < n; i += team) {
            work(i);
#pragma omp barrier
        }
    }
}

void refused_barriers_in_callee(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = me; i < n; i += team) stage(i);
    }
}

/* An address that keeps another step than the index. */
void refused_second_index(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        double *p = best + me;
        for (int i = me; i < n; i += team) {
            *p += b[i];
            p++;
        }
    }
}

void refused_second_beginning(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        int k = 0;
        for (int i = me; i < n; i += team, k += team) out[k] = i;
    }
}

/* Where it begins and ends belongs to each thread. */
void refused_in_own_chunk(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        int q = n / team, r = n % team;
        if (me < r) {
            q++;
            r = 0;
        }
        int first = q * me + r, end = first + q;
        for (int i = first + me; i < end; i += team) work(i);
    }
}

void refused_to_own_end(int n) {
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        int q = n / team, r = n % team;
        if (me < r) {
            q++;
            r = 0;
        }
        int end = q * me + r + q;
        for (int i = me; i < end; i += team) work(i);
    }
}

int main(void) { return 0; }
