// Overhead of explicit tasks: who creates them, who runs them, how they are
// waited for. Two whole programs (fib, nqueens) close the table.
#include "harness.h"

#include <omp.h>

enum { TREE_DEPTH = 6, LOOP_TASKS = 16, FIB_OF = 24, QUEENS = 8 };

// Read at run time, so that the compiler keeps the condition.
static volatile int never = 0;
static volatile long sink_result;

static void parallel_task(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp task
        bench_delay();
    }
}

// One creator for everybody: n tasks per thread of the team.
static void master_task(long n, const struct bench_row *row)
{
    (void)row;
    long all = n * bench_threads;
#pragma omp parallel
    {
#pragma omp master
        for (long j = 0; j < all; j++) {
#pragma omp task
            bench_delay();
        }
    }
}

static void master_task_busy(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
            for (long j = 0; j < n; j++) {
#pragma omp task
                bench_delay();
            }
        } else {
            for (long j = 0; j < n; j++)
                bench_delay();
        }
    }
}

static void nested_task(long n, const struct bench_row *row)
{
    (void)row;
    int threads = bench_threads;
    long each = n / threads;
#pragma omp parallel
    for (long j = 0; j < each; j++) {
#pragma omp task
        {
            for (int k = 0; k < threads; k++) {
#pragma omp task
                bench_delay();
            }
#pragma omp taskwait
        }
    }
}

static void nested_master_task(long n, const struct bench_row *row)
{
    (void)row;
    int threads = bench_threads;
#pragma omp parallel
    {
#pragma omp master
        for (long j = 0; j < n; j++) {
#pragma omp task
            {
                for (int k = 0; k < threads; k++) {
#pragma omp task
                    bench_delay();
                }
#pragma omp taskwait
            }
        }
    }
}

static void task_barrier(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp task
        bench_delay();
#pragma omp barrier
    }
}

static void task_wait(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp task
        bench_delay();
#pragma omp taskwait
    }
}

static void task_group(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp taskgroup
        {
#pragma omp task
            bench_delay();
        }
    }
}

static void task_loop(long n, const struct bench_row *row)
{
    (void)row;
    long all = (long)LOOP_TASKS * bench_threads;
#pragma omp parallel
#pragma omp single
    for (long j = 0; j < n; j++) {
#pragma omp taskloop grainsize(1)
        for (long i = 0; i < all; i++)
            bench_delay();
    }
}

static void task_loop_reference(long n, const struct bench_row *row)
{
    bench_delays(n * LOOP_TASKS, row);
}

static void conditional_task(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp task if (never)
        bench_delay();
    }
}

static void final_task(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task final(!never)
        for (long j = 0; j < n; j++) {
#pragma omp task
            bench_delay();
        }
    }
}

static void depend_chain(long n, const struct bench_row *row)
{
    (void)row;
    static int link;
#pragma omp parallel
#pragma omp single
    for (long j = 0; j < n; j++) {
#pragma omp task depend(inout : link)
        {
            link++;
            bench_delay();
        }
    }
}

static void depend_independent(long n, const struct bench_row *row)
{
    (void)row;
    static int cell[256];
    long all = n * bench_threads;
#pragma omp parallel
#pragma omp single
    for (long j = 0; j < all; j++) {
#pragma omp task depend(inout : cell[j % 256])
        {
            cell[j % 256]++;
            bench_delay();
        }
    }
}

static void tree(int depth, int work_in_branches)
{
    if (depth == 0) {
        bench_delay();
        return;
    }
#pragma omp task
    tree(depth - 1, work_in_branches);
#pragma omp task
    tree(depth - 1, work_in_branches);
    if (work_in_branches)
        bench_delay();
#pragma omp taskwait
}

static void trees(long n, const struct bench_row *row)
{
    int work_in_branches = row->arg;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp task
        tree(TREE_DEPTH, work_in_branches);
    }
}

static void tree_reference(long n, const struct bench_row *row)
{
    long leaves = 1L << TREE_DEPTH;
    bench_delays(n * (row->arg ? 2 * leaves - 1 : leaves), row);
}

static long fib_tasks(int k)
{
    if (k < 2)
        return k;
    long a, b;
#pragma omp task shared(a)
    a = fib_tasks(k - 1);
#pragma omp task shared(b)
    b = fib_tasks(k - 2);
#pragma omp taskwait
    return a + b;
}

static void fib(long n, const struct bench_row *row)
{
    (void)row;
    for (long j = 0; j < n; j++) {
#pragma omp parallel
#pragma omp single
        sink_result = fib_tasks(FIB_OF);
    }
}

struct board {
    signed char column[QUEENS];
};

static int safe(const struct board *board, int row, int column)
{
    for (int r = 0; r < row; r++) {
        int distance = board->column[r] - column;
        if (distance == 0 || distance == row - r || distance == r - row)
            return 0;
    }
    return 1;
}

static void place(struct board board, int row, long *solutions)
{
    if (row == QUEENS) {
#pragma omp atomic
        ++*solutions;
        return;
    }
    for (int column = 0; column < QUEENS; column++)
        if (safe(&board, row, column)) {
            struct board next = board;
            next.column[row] = (signed char)column;
#pragma omp task firstprivate(next)
            place(next, row + 1, solutions);
        }
#pragma omp taskwait
}

static void queens(long n, const struct bench_row *row)
{
    (void)row;
    for (long j = 0; j < n; j++) {
        long solutions = 0;
        struct board empty = {{0}};
#pragma omp parallel
#pragma omp single
        place(empty, 0, &solutions);
        sink_result = solutions;
    }
}

#define EACH .reference = bench_delays
#define ONE .reference = bench_delays, .share = ONE_THREAD

static const struct bench_row rows[] = {
    {.name = "PARALLEL TASK", .test = parallel_task, EACH},
    {.name = "MASTER TASK", .test = master_task, EACH},
    {.name = "MASTER TASK BUSY WORKERS", .test = master_task_busy, EACH},
    {.name = "NESTED TASK", .test = nested_task, EACH},
    {.name = "NESTED MASTER TASK", .test = nested_master_task, EACH},
    {.name = "TASK BARRIER", .test = task_barrier, EACH},
    {.name = "TASKWAIT", .test = task_wait, EACH},
    {.name = "TASKGROUP", .test = task_group, EACH},
    {.name = "TASKLOOP", .test = task_loop, .reference = task_loop_reference},
    {.name = "CONDITIONAL TASK", .test = conditional_task, EACH},
    {.name = "FINAL TASK", .test = final_task, ONE},
    {.name = "TASK DEPEND CHAIN", .test = depend_chain, ONE},
    {.name = "TASK DEPEND INDEPENDENT", .test = depend_independent, EACH},
    {.name = "BENCH TASK TREE", .test = trees, .reference = tree_reference, .arg = 1},
    {.name = "LEAF TASK TREE", .test = trees, .reference = tree_reference, .arg = 0},
    {.name = "FIB 24", .test = fib, .whole = 1},
    {.name = "NQUEENS 8", .test = queens, .whole = 1},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, rows, sizeof rows / sizeof *rows);
}
