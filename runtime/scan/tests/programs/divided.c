/* Loops whose results are the same however many chunks they are divided into
 * (free_*, and either_* where compilers make it hard to see), and loops of
 * programs that asked for two threads and would notice (counts_*). Only
 * compiled, never run. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

double *a, *b, total;
int *counts, *out, shared, many;
long sum_of;
static __attribute__((noinline)) double heavy(double x, int k)
{
    double s = 0;
    for (int j = 0; j < k; j++) s += x / (j + 1);
    return s;
}
static __attribute__((noinline)) void put(int *to, int x) { *to = x; }

void free_plain(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) a[i] *= 2;
}

void free_two_arrays(int n, double k) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) a[i] = b[i] * k + sqrt(b[i]);
}

void free_floats(int n, float *x, float *y) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) x[i] = y[i] * 2 + x[i];
}

void free_inner_sum(int n, int m) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < m; j++) s += a[i * m + j];
        b[i] = s;
    }
}

void either_triangle(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < i; j++) s += a[i * n + j];
        b[i] = s;
    }
}

void free_calls(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) a[i] = heavy(b[i], i);
}

void free_calls_mathematics(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) a[i] = exp(b[i]) * sin(a[i]);
}

void free_edges(int n, int m) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double left = j == 0 ? a[i * m] : a[i * m + j - 1];
            double up = i == 0 ? a[j] : a[(i - 1) * m + j];
            b[i * m + j] = left + up;
        }
}

void free_step(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = 3; i < n; i += 4) a[i] = b[i] + 1;
}

void either_down(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = n - 1; i >= 0; i--) a[i] = b[i] + 1;
}

void free_steps(int n, int steps) {
#pragma omp parallel num_threads(2)
    for (int t = 0; t < steps; t++) {
#pragma omp for
        for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];
#pragma omp for
        for (int i = 1; i < n - 1; i++) a[i] = b[i];
    }
}

void either_flag(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++)
        if (a[i] > 3) {
            b[i] = 1;
            shared = 1;
        }
}

void counts_carried(int n) {
    int c = 30;
#pragma omp parallel for firstprivate(c) lastprivate(c) num_threads(2)
    for (int i = 0; i < n; i++) c = c + i;
    shared = c;
}

void counts_carried_constant(void) {
    int c = 30;
#pragma omp parallel for firstprivate(c) lastprivate(c) num_threads(2) schedule(static)
    for (int i = 0; i < 10; i++) c = c + i;
    shared = c;
}

void counts_carried_zero(int n) {
    int c = 0;
#pragma omp parallel for firstprivate(c) lastprivate(c) num_threads(2)
    for (int i = 0; i < n; i++) c += out[i];
    shared = c;
}

void counts_carried_double(int n) {
    double c = 0;
#pragma omp parallel for firstprivate(c) lastprivate(c) num_threads(2)
    for (int i = 0; i < n; i++) c += a[i];
    total = c;
}

void counts_position(int n) {
#pragma omp parallel num_threads(2)
    {
        int count = 0;
#pragma omp for
        for (int i = 0; i < n; i++) out[i] = count++;
    }
}

void counts_position_and_index(int n) {
#pragma omp parallel num_threads(2)
    {
        int count = 0;
#pragma omp for
        for (int i = 0; i < n; i++) {
            out[i] = count + i;
            count++;
        }
    }
}

void counts_position_less_index(int n) {
#pragma omp parallel num_threads(2)
    {
        int count = 0;
#pragma omp for
        for (int i = 0; i < n; i++) out[i] = i - count++;
    }
}

void counts_running_sum(int n) {
#pragma omp parallel num_threads(2)
    {
        double s = 0;
#pragma omp for
        for (int i = 0; i < n; i++) {
            s += a[i];
            b[i] = s;
        }
    }
}

void counts_some(int n) {
#pragma omp parallel num_threads(2)
    {
        int found = 0;
#pragma omp for
        for (int i = 0; i < n; i++)
            if (a[i] > 3 && found++ < 4) out[i] = 1;
    }
}

void counts_first(int n) {
#pragma omp parallel num_threads(2)
    {
        int first = 1;
#pragma omp for
        for (int i = 0; i < n; i++) {
            if (first) out[i] = 7;
            first = 0;
        }
    }
}

void counts_index_by_count(int n) {
#pragma omp parallel num_threads(2)
    {
        int count = 0;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] = b[count++];
    }
}

void counts_before(int n) {
#pragma omp parallel num_threads(2)
    {
        double last = 1;
#pragma omp for
        for (int i = 0; i < n; i++) {
            a[i] = last;
            last = b[i];
        }
    }
}

void counts_before_loaded(int n) {
#pragma omp parallel num_threads(2)
    {
        double last = b[3];
#pragma omp for
        for (int i = 0; i < n; i++) {
            a[i] = last;
            last = b[i];
        }
    }
}

void counts_threads(int n) {
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        many += 1;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void counts_threads_by_reduction(int n) {
    int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    {
        threads++;
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
    shared = threads;
}

void counts_sum_from(int n) {
    double s = 5;
#pragma omp parallel num_threads(2)
    {
        double mine = 30;
#pragma omp for
        for (int i = 0; i < n; i++) mine += a[i];
#pragma omp atomic
        total += mine;
    }
    (void)s;
}

void counts_sum_and_more(int n) {
#pragma omp parallel num_threads(2)
    {
        double mine = 0;
#pragma omp for
        for (int i = 0; i < n; i++) mine += a[i];
#pragma omp atomic
        total += mine + 5;
    }
}

void counts_last_of_each(int n) {
#pragma omp parallel num_threads(2)
    {
        int last = 0;
#pragma omp for
        for (int i = 0; i < n; i++) last = out[i];
#pragma omp atomic
        sum_of += last;
    }
}

void counts_private_array(int n) {
#pragma omp parallel num_threads(2)
    {
        int seen[16] = {0};
#pragma omp for
        for (int i = 0; i < n; i++) {
            out[i] = seen[counts[i] & 15];
            seen[counts[i] & 15] = 1;
        }
    }
}

void counts_private_heap(int n) {
#pragma omp parallel num_threads(2)
    {
        int *seen = calloc(16, sizeof *seen);
#pragma omp for
        for (int i = 0; i < n; i++) {
            out[i] = seen[counts[i] & 15];
            seen[counts[i] & 15] = 1;
        }
        free(seen);
    }
}

void counts_through_pointer(int n) {
#pragma omp parallel num_threads(2)
    {
        int count = 0;
        int *volatile p = &count;
#pragma omp for
        for (int i = 0; i < n; i++) {
            *p += 1;
            out[i] = *p;
        }
    }
}

void counts_passed(int n) {
#pragma omp parallel num_threads(2)
    {
        int count = 0;
#pragma omp for
        for (int i = 0; i < n; i++) put(&out[i], count++);
    }
}

void counts_calls(int n) {
#pragma omp parallel num_threads(2)
    {
        put(&shared, shared + 1);
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= 2;
    }
}

void counts_seed(int n) {
    unsigned seed = 7;
#pragma omp parallel num_threads(2) firstprivate(seed)
    {
#pragma omp for
        for (int i = 0; i < n; i++) {
            seed = seed * 1103515245 + 12345;
            out[i] = seed >> 16;
        }
    }
}

void counts_carried_long_double(int n) {
    long double c = 0;
#pragma omp parallel for firstprivate(c) lastprivate(c) num_threads(2)
    for (int i = 0; i < n; i++) c += a[i];
    total = c;
}

void counts_swapped(int n) {
#pragma omp parallel num_threads(2)
    {
        int even = 1, odd = 2;
#pragma omp for
        for (int i = 0; i < n; i++) {
            int t = even;
            even = odd;
            odd = t;
            out[i] = t;
        }
    }
}

void either_collapsed(int n, int m) {
#pragma omp parallel for collapse(2) num_threads(2)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) a[i * m + j] = b[j * n + i] + i;
}

void free_scratch(int n, int m) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) {
        double row[64], s = 0;
        for (int j = 0; j < 64; j++) row[j] = a[i * 64 + j] * j;
        for (int j = 0; j < 64; j++) s += row[(j * m) & 63];
        b[i] = s;
    }
}

void free_two_scratches(int n, int m, int size) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) {
        float left[16][16], top[16][16], sum[16] = {0};
        for (int j = 0; j < 16; j++)
            for (int k = 0; k < 16; k++) {
                left[j][k] = a[(i * m + j) * size + k];
                top[j][k] = b[(i + j) * size + k];
            }
        for (int j = 0; j < 16; j++) {
            for (int k = 0; k < 16; k++)
                for (int l = 0; l < 16; l++) sum[l] += left[j][k] * top[k][l];
            for (int l = 0; l < 16; l++) {
                a[(i * m + j) * size + l] -= sum[l];
                sum[l] = 0;
            }
        }
    }
}

void free_scratch_seen_by_callee(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) {
        int x;
        put(&x, i);
        out[i] = x;
    }
}

/* The square root's other way calls a function, after which constants are loaded
 * again. */
void free_constants_again(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) a[i] = 0.25 / (sqrt(b[i] * 1.5) + sqrt(a[i] + 3.5));
}

double free_sum(int n) {
    double s = 0;
#pragma omp parallel for num_threads(2) reduction(+ : s)
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

void free_rows(int n, int m) {
#pragma omp parallel for num_threads(2)
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            int k = i + m * j;
            double c = b[k];
            double e = b[counts[i] + m * j] - c, w = b[i + m * out[j]] - c;
            a[k] = (e * e + w * w) / (c * c);
        }
}

void counts_scratch_kept(int n) {
#pragma omp parallel num_threads(2)
    {
        double row[64];
        for (int j = 0; j < 64; j++) row[j] = a[j];
#pragma omp for
        for (int i = 0; i < n; i++) {
            b[i] = row[i & 63];
            row[counts[i] & 63] += 1;
        }
    }
}

void counts_scratch_filled_by_callee(int n) {
#pragma omp parallel num_threads(2)
    {
        int seen;
        put(&seen, 0);
#pragma omp for
        for (int i = 0; i < n; i++) {
            put(&out[i], seen);
            put(&seen, counts[i]);
        }
    }
}

void counts_cursor(int n) {
#pragma omp parallel num_threads(2)
    {
        int ring[64];
        int *next = ring;
#pragma omp for
        for (int i = 0; i < n; i++) {
            *next++ = i;
            out[i] = next - ring;
        }
    }
}

void counts_cursor_down(int n) {
#pragma omp parallel num_threads(2)
    {
        int stack[64];
        int *top = stack + 64;
        int floor = 7;
#pragma omp for
        for (int i = 0; i < n; i++) {
            *--top = i;
            floor += top == stack;
            out[i] = floor;
        }
    }
}

void counts_pairs(int n) {
#pragma omp parallel num_threads(2)
    {
        int count = 0;
        struct pair {
            int index, count;
        } *pairs = (struct pair *)out;
#pragma omp for
        for (int i = 0; i < n; i++) pairs[i] = (struct pair){i, count++};
    }
}

void counts_minus_one(int n) {
#pragma omp parallel num_threads(2)
    {
        int last = -1;
#pragma omp for
        for (int i = 0; i < n; i++) {
            out[i] = last;
            last = counts[i];
        }
    }
}

void counts_other_constant(int n) {
#pragma omp parallel num_threads(2)
    {
        double k = 1.5;
#pragma omp for
        for (int i = 0; i < n; i++) {
            a[i] = k * b[i];
            k = 2.5;
        }
    }
}

void counts_restored_otherwise(int n, double x, double y) {
#pragma omp parallel num_threads(2)
    {
        double k = x;
#pragma omp for
        for (int i = 0; i < n; i++) {
            a[i] = k;
            k = exp(b[i]) > 2 ? x : y;
        }
    }
}

static __attribute__((noinline)) void store7(int *to, int q, int r, int s, int t, int u, int x)
{
    *to = q + r + s + t + u + x;
}

void counts_seventh_argument(int n) {
#pragma omp parallel num_threads(2)
    {
        int count = 0;
#pragma omp for
        for (int i = 0; i < n; i++) store7(&out[i], 1, 2, i, i, i, count++);
    }
}

/* The last iteration's number, and what it leaves behind. */
int free_last_index(int n) {
    int i;
#pragma omp parallel for lastprivate(i) num_threads(2)
    for (i = 0; i < n; i++) a[i] *= 2;
    return i;
}

void free_last_of_inner(int n, int m) {
    int j = many;
#pragma omp parallel for firstprivate(j) lastprivate(j) num_threads(2)
    for (int i = 0; i < n; i++)
        for (j = 0; j < m; j++) a[i * m + j] += b[j];
    many = j;
}

void either_last_of_both(int n, int m) {
    int i, j = many;
#pragma omp parallel for firstprivate(j) lastprivate(i, j) num_threads(2)
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) a[i * m + j] += b[j] + heavy(b[i], j);
    many = i + j;
}

void either_last_of_lengths(int n) {
    int j = -1;
#pragma omp parallel for firstprivate(j) lastprivate(j) num_threads(2)
    for (int i = 0; i < n; i++)
        for (j = 0; j < counts[i]; j++) a[i] += b[j];
    many = j;
}

/* The last chunk need not be the one that the last of these is in. */
void counts_last_that_was_positive(int n) {
    double x = -1;
#pragma omp parallel for firstprivate(x) lastprivate(x) num_threads(2)
    for (int i = 0; i < n; i++)
        if (a[i] > 0) x = a[i];
    total = x;
}

void counts_kept_while_changing(int n, int m) {
    int x = -1;
#pragma omp parallel for firstprivate(x) lastprivate(x) num_threads(2)
    for (int i = 0; i < n; i++) {
        for (int j = i; j < m; j++) x = j ^ i;
        a[i] += b[i];
    }
    many = x;
}

/* By hand, what the compiler makes of a loop: its end is the last iteration's, nothing else is. */
#define BY_HAND \
    int team = omp_get_num_threads(), me = omp_get_thread_num(); \
    int q = n / team, r = n % team; \
    if (me < r) { q++; r = 0; } \
    int first = q * me + r, end = first + q; \
    for (int i = first; i < end; i++) a[i] *= 2;

void counts_length_of_the_last(int n) {
#pragma omp parallel num_threads(2)
    {
        BY_HAND
        if (end == n) many = end - first;
    }
}

void counts_beginning_of_the_last(int n) {
#pragma omp parallel num_threads(2)
    {
        BY_HAND
        if (end == n) many = first;
    }
}

void counts_end_of_any(int n) {
#pragma omp parallel num_threads(2)
    {
        BY_HAND
        if (end != n) many = end;
    }
}

void counts_end_where_it_begins(int n) {
#pragma omp parallel num_threads(2)
    {
        BY_HAND
        if (first == 0) many = end;
    }
}

void counts_twice_the_end(int n) {
#pragma omp parallel num_threads(2)
    {
        BY_HAND
        if (end == first + 10) many = end * 2;
    }
}

/* What one thread's loop has left: with more chunks, another iteration's. */
void counts_master_last(int n) {
    int last;
#pragma omp parallel num_threads(2) private(last)
    {
#pragma omp for
        for (int i = 0; i < n; i++) {
            last = counts[i];
            a[i] *= 2;
        }
#pragma omp master
        shared = last;
    }
}

void counts_master_last_by_number(int n) {
    double last;
#pragma omp parallel num_threads(2) private(last)
    {
#pragma omp for nowait
        for (int i = 0; i < n; i++) {
            last = b[i] + 1;
            a[i] *= last;
        }
        if (omp_get_thread_num() == 0) total = last;
    }
}

void counts_master_scratch(int n) {
    int row[16];
#pragma omp parallel num_threads(2) private(row)
    {
#pragma omp for
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < 16; j++) row[j] = counts[i * 16 + j];
            out[i] = row[counts[i] & 15];
        }
#pragma omp master
        shared = row[many & 15];
    }
}

void counts_master_index(int n) {
    int i;
#pragma omp parallel num_threads(2) private(i)
    {
        int team = omp_get_num_threads(), me = omp_get_thread_num();
        int q = n / team, r = n % team;
        if (me < r) { q++; r = 0; }
        int first = q * me + r, end = first + q;
        for (i = first; i < end; i++) a[i] *= 2;
        if (me == 0) many = i;
    }
}

void counts_single_last(int n) {
    int last;
#pragma omp parallel num_threads(2) private(last)
    {
#pragma omp for nowait
        for (int i = 0; i < n; i++) {
            last = counts[i];
            a[i] *= 2;
        }
#pragma omp single
        shared = last;
    }
}

/* A team's last thread need not have the last iteration of the loop before. */
void counts_last_after_another_loop(int n, int m) {
    int last;
#pragma omp parallel num_threads(2) private(last)
    {
#pragma omp for
        for (int i = 0; i < n; i++) {
            last = counts[i];
            a[i] *= 2;
        }
        int team = omp_get_num_threads(), me = omp_get_thread_num();
        int q = m / team, r = m % team;
        if (me < r) { q++; r = 0; }
        int begin = q * me + r, end = begin + q;
        for (int j = begin; j < end; j++) b[j] *= 2;
        if (end == m) shared = last;
    }
}

/* What the primary thread stores without having computed anything for it. */
void free_master_plain(int n, int k) {
#pragma omp parallel num_threads(2)
    {
#pragma omp for
        for (int i = 0; i < n; i++) a[i] *= k;
#pragma omp master
        shared = k;
    }
}

/* A piece of memory that each thread takes before its loop, and fills in each iteration before it reads there. */
static __attribute__((noinline)) void fill(double *to, const double *from, int m)
{
    for (int j = 0; j < m; j++) to[j] = from[j] + 1;
}
static __attribute__((noinline)) double most(const double *of, int m)
{
    double x = of[0];
    for (int j = 1; j < m; j++)
        if (of[j] > x) x = of[j];
    return x;
}

void free_heap_scratch(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        double *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            double s = 0;
            for (int j = 0; j < m; j++) row[j] = a[i * m + j] * j;
            for (int j = 0; j < m; j++) s += row[m - 1 - j];
            b[i] = s;
        }
        free(row);
    }
}

void free_heap_scratch_cleared_in_each(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *seen = malloc(m * sizeof *seen);
#pragma omp for
        for (int i = 0; i < n; i++) {
            memset(seen, 0, m * sizeof *seen);
            for (int j = 0; j < m; j++) seen[counts[i * m + j]]++;
            out[i] = seen[m / 2];
        }
        free(seen);
    }
}

void free_heap_scratch_by_callees(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        double *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            fill(row, a + i * m, m);
            b[i] = most(row, m);
        }
        free(row);
    }
}

void free_heap_scratch_and_a_sum(int n, int m)
{
    double sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        double *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            fill(row, a + i * m, m);
            sum += row[0] * row[m - 1];
        }
        free(row);
    }
    total = sum;
}

/* The same, but something goes through the memory: from one iteration to the next, from before the loop into it, or out
   of it. */
void counts_heap_cleared_before(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *seen = calloc(m, sizeof *seen);
#pragma omp for
        for (int i = 0; i < n; i++) {
            out[i] = seen[counts[i]];
            seen[counts[i]] = 1;
        }
        free(seen);
    }
}

void counts_heap_memset_before(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *seen = malloc(m * sizeof *seen);
        memset(seen, 0, m * sizeof *seen);
#pragma omp for
        for (int i = 0; i < n; i++) out[i] = seen[counts[i]]++;
        free(seen);
    }
}

void counts_heap_stored_before(int n)
{
#pragma omp parallel num_threads(2)
    {
        double *last = malloc(sizeof *last);
        *last = many;
#pragma omp for
        for (int i = 0; i < n; i++) {
            b[i] = *last;
            *last = a[i];
        }
        free(last);
    }
}

void counts_heap_filled_before_by_callee(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        double *row = malloc(m * sizeof *row);
        fill(row, a, m);
#pragma omp for
        for (int i = 0; i < n; i++) {
            b[i] = most(row, m);
            row[counts[i]] = 0;
        }
        free(row);
    }
}

void counts_heap_read_after(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < m; j++) row[j] = counts[i + j];
            out[i] = row[counts[i]];
        }
#pragma omp atomic
        sum_of += row[0];
        free(row);
    }
}

void counts_heap_read_by_master(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < m; j++) row[j] = counts[i + j];
            out[i] = row[counts[i]];
        }
#pragma omp master
        shared = row[many];
        free(row);
    }
}

int *kept;
void counts_heap_kept_by_master(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < m; j++) row[j] = counts[i + j];
            out[i] = row[counts[i]];
        }
#pragma omp master
        kept = row;
    }
}

void counts_heap_kept_by_the_last(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            row[i % m] = counts[i];
            out[i] = row[i % m] + 1;
            if (i == n - 1) kept = row;
        }
    }
}

int **all_kept;
void counts_heap_kept_in_a_list(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            row[i % m] = counts[i];
            all_kept[i] = row;
        }
    }
}

static __attribute__((noinline)) void keep(int *row, int i, int n)
{
    if (i == n - 1) kept = row;
}

void counts_heap_kept_by_callee(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            row[i % m] = counts[i];
            keep(row, i, n);
        }
    }
}

struct bag { int *rows[3]; };
static __attribute__((noinline)) void keep_bag(struct bag bag, int i, int n)
{
    if (i == n - 1) kept = bag.rows[1];
}

void counts_heap_kept_from_a_bag(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            row[i % m] = counts[i];
            struct bag bag = {{row, row, row}};
            keep_bag(bag, i, n);
        }
    }
}

void counts_heap_in_two_loops(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *row = malloc(m * sizeof *row);
#pragma omp for
        for (int i = 0; i < n; i++) {
            row[i % m] = counts[i];
            out[i] = row[i % m] + 1;
        }
#pragma omp for
        for (int i = 0; i < n; i++) counts[i] = row[out[i] % m];
        free(row);
    }
}

void counts_heap_grows(int n)
{
#pragma omp parallel num_threads(2)
    {
        int *list = NULL, length = 0;
#pragma omp for
        for (int i = 0; i < n; i++)
            if (counts[i] > 3) {
                list = realloc(list, (length + 1) * sizeof *list);
                list[length++] = i;
                out[i] = list[length / 2];
            }
        free(list);
    }
}

void counts_heap_taken_once(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *row = NULL;
#pragma omp for
        for (int i = 0; i < n; i++) {
            if (!row) row = calloc(m, sizeof *row);
            out[i] = row[counts[i]]++;
        }
        free(row);
    }
}

void counts_heap_by_cursor(int n, int m)
{
#pragma omp parallel num_threads(2)
    {
        int *row = malloc(m * sizeof *row), *next = row;
#pragma omp for
        for (int i = 0; i < n; i++) {
            *next++ = i;
            out[i] = next - row;
        }
        free(row);
    }
}

/* How many pieces of memory there are, or how large each is. */
void counts_heap_by_length(int n)
{
#pragma omp parallel num_threads(2)
    {
        int team = omp_get_num_threads(), me = omp_get_thread_num();
        int q = n / team, r = n % team;
        if (me < r) { q++; r = 0; }
        int first = q * me + r, end = first + q;
        int *part = malloc((end - first) * sizeof *part);
        for (int i = first; i < end; i++) {
            put(&part[i - first], i);
            out[i] = part[i - first];
        }
        free(part);
    }
}

void counts_heap_given_back(int n)
{
#pragma omp parallel num_threads(2)
    {
        double *row = malloc(8);
#pragma omp for
        for (int i = 0; i < n; i++) { *row = a[i]; b[i] = *row; }
        free(row);
        free(kept);
    }
}

/* Added to a sum behind the loop. */
void counts_sum_and_last_index(int n)
{
#pragma omp parallel num_threads(2)
    {
        long mine = 0, last = 0;
#pragma omp for
        for (int i = 0; i < n; i++) {
            mine += counts[i];
            if (counts[i] > 0) last = i;
        }
#pragma omp atomic
        sum_of += mine + last;
    }
}

void counts_sum_and_private_last(int n)
{
    long last;
#pragma omp parallel num_threads(2) private(last)
    {
        long mine = 0;
#pragma omp for
        for (int i = 0; i < n; i++) {
            mine += counts[i];
            if (counts[i] > 0) last = i;
        }
#pragma omp atomic
        sum_of += mine + last;
    }
}

/* What starts at zero and grows, but not as a sum does: threads' parts cannot be added up. */
void counts_hash(int n)
{
#pragma omp parallel num_threads(2)
    {
        unsigned long h = 0;
#pragma omp for
        for (int i = 0; i < n; i++) h = h * 37 + counts[i];
#pragma omp atomic
        sum_of += h;
    }
}

void counts_horner(int n, double x)
{
#pragma omp parallel num_threads(2)
    {
        double y = 0;
#pragma omp for
        for (int i = 0; i < n; i++) y = y * x + a[i];
#pragma omp atomic
        total += y;
    }
}

void counts_turned(int n)
{
#pragma omp parallel num_threads(2)
    {
        double y = 0;
#pragma omp for
        for (int i = 0; i < n; i++) y = a[i] - y;
#pragma omp atomic
        total += y;
    }
}

void counts_shifted(int n)
{
#pragma omp parallel num_threads(2)
    {
        unsigned long h = 0;
#pragma omp for
        for (int i = 0; i < n; i++) h = (h << 1) ^ counts[i];
#pragma omp atomic
        sum_of += h;
    }
}

/* A row of each iteration, handed to a function that does not say where the row lies; and one that does. */
void free_rows_by_callee(int n, int m)
{
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) b[i] = most(a + i * m, m);
}

static __attribute__((noinline)) int compare(const void *x, const void *y)
{
    return *(const int *)x - *(const int *)y;
}

void free_sorted(int n, int m)
{
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) qsort(counts + i * m, m, sizeof *counts, compare);
}

/* Begins anew here and there, or is what was last found. */
void counts_sum_begun_anew(int n)
{
#pragma omp parallel num_threads(2)
    {
        long mine = 0;
#pragma omp for
        for (int i = 0; i < n; i++) {
            mine += counts[i];
            if (out[i] > 3) mine = 0;
        }
#pragma omp atomic
        sum_of += mine;
    }
}

void counts_sum_of_the_last_found(int n)
{
#pragma omp parallel num_threads(2)
    {
        long mine = 0;
#pragma omp for
        for (int i = 0; i < n; i++)
            if (out[i] > 3) mine = counts[i];
#pragma omp atomic
        sum_of += mine;
    }
}

/* Each thread's part overwrites the others'. */
void counts_written_atomically(int n)
{
#pragma omp parallel num_threads(2)
    {
        long mine = 0;
#pragma omp for
        for (int i = 0; i < n; i++) mine += counts[i];
#pragma omp atomic write seq_cst
        sum_of = mine;
    }
}

static __attribute__((noinline)) int compare_by_thread(const void *x, const void *y)
{
    return *(const int *)x - *(const int *)y + omp_get_thread_num();
}

void counts_sorted_by_thread(int n, int m)
{
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) qsort(counts + i * m, m, sizeof *counts, compare_by_thread);
}

typedef int comparison(const void *, const void *);
void counts_sorted_by_any(int n, int m, comparison *first, comparison *second)
{
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) qsort(counts + i * m, m, sizeof *counts, out[i] ? first : second);
}

int main(void) { return 0; }
