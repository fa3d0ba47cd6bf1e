/* Tasks in regions on all nodes: they stay on the node that made them, and are complete after taskwait, at the end of a
   taskgroup and at barriers, on the node of the one that looks. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { N = 400, THREADS = 4 };

static long values[N], results[THREADS][16];

static long fib(int n)
{
    if (n < 2)
        return n;
    long a, b;
#pragma omp task shared(a) if (n > 6)
    a = fib(n - 1);
#pragma omp task shared(b) final(n < 5)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void clear(void)
{
    memset(values, 0, sizeof values);
}

static long sum(void)
{
    long all = 0;
    for (int i = 0; i < N; i++)
        all += values[i] * (i % 7 + 1);
    return all;
}

/* Every thread makes tasks; a barrier completes those of all nodes. */
static void barriers(void)
{
    long wrong = 0;
    clear();
#pragma omp parallel num_threads(THREADS) reduction(+ : wrong)
    for (int round = 1; round <= 5; round++) {
#pragma omp for nowait
        for (int i = 0; i < N; i++) {
#pragma omp task firstprivate(i)
            values[i] += i * round;
        }
#pragma omp barrier
        for (int i = 0; i < N; i++)
            wrong += values[i] != (long)i * (round * (round + 1) / 2);
#pragma omp barrier
    }
    printf("barriers: %ld, %ld wrong\n", sum(), wrong);
}

/* One thread makes all tasks while the others wait; then threads with a number each, for which the last barrier waits.
   */
static void one_maker(void)
{
    clear();
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp single
        for (int i = 0; i < N; i++) {
#pragma omp task firstprivate(i) priority(i % 3)
            {
                long v = 0;
                for (int k = 0; k < 200; k++)
                    v += (i * k) % 11;
                values[i] = v;
            }
        }
        int me = omp_get_thread_num();
        for (int i = me; i < N; i += THREADS) {
#pragma omp task firstprivate(i)
            values[i] += 3;
        }
    }
    printf("one maker: %ld\n", sum());
}

static void trees(void)
{
    clear();
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num();
        long *mine = results[me];
        mine[0] = fib(12 + me);
#pragma omp taskgroup
        {
            for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(i)
                {
#pragma omp task
                    {
#pragma omp atomic
                        mine[1] += i;
                    }
                }
            }
        }
        mine[2] = mine[1];
        /* A chain, in which each task depends on the one before. */
        mine[3] = 1;
        for (int i = 0; i < 10; i++) {
#pragma omp task depend(inout : mine[3]) untied
            mine[3] = mine[3] * 3 % 1000 + i;
        }
#pragma omp task depend(in : mine[3]) depend(out : mine[4]) mergeable
        mine[4] = mine[3] + 1;
#pragma omp taskwait
        mine[5] = mine[4];
        long *part = values + me * (N / THREADS);
#pragma omp taskloop num_tasks(7)
        for (int i = 0; i < N / THREADS; i++)
            part[i] = i + me;
#pragma omp taskloop grainsize(9) nogroup
        for (unsigned long long i = 0; i < N / THREADS; i++)
            part[i] += 2;
    }
    for (int i = 0; i < THREADS; i++)
        printf("thread %d: %ld %ld %ld %ld\n", i, results[i][0], results[i][2], results[i][3], results[i][5]);
    printf("loops: %ld\n", sum());
}

/* What a task has of its own, other nodes find at its address. */
static void own_data(void)
{
    static struct many { long words[64]; } *published[THREADS];
    static long seen[THREADS], left = THREADS;
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num();
        struct many own;
        for (int i = 0; i < 64; i++)
            own.words[i] = me * 1000 + i;
#pragma omp task firstprivate(own, me)
        {
            struct many *other = 0;
            own.words[5] += 7;
#pragma omp atomic write
            published[me] = &own;
            long all = 0;
            for (int i = 0; i < THREADS; i++) {
                do {
#pragma omp atomic read
                    other = published[i];
                } while (!other);
                all += other->words[5] + other->words[63];
            }
            seen[me] = all;
            /* Until all have seen it. */
#pragma omp atomic
            left--;
            long others;
            do {
#pragma omp atomic read
                others = left;
            } while (others);
        }
#pragma omp taskwait
    }
    for (int i = 0; i < THREADS; i++)
        printf("seen by %d: %ld\n", i, seen[i]);
}

/* Critical sections and locks in tasks, with a taskwait inside. */
static void locked(void)
{
    static long counter;
    static omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(THREADS)
    {
        for (int i = 0; i < 10; i++) {
#pragma omp task
            {
#pragma omp critical
                {
                    /* Not all additions are under the same lock. */
#pragma omp atomic
                    counter++;
#pragma omp task shared(counter)
                    {
#pragma omp atomic
                        counter += 10;
                    }
#pragma omp taskwait
                }
                omp_set_lock(&lock);
#pragma omp atomic
                counter += 100;
                omp_unset_lock(&lock);
            }
        }
    }
    printf("locked: %ld\n", counter);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        barriers();
        one_maker();
    }
    trees();
    own_data();
    locked();
    return 0;
}
