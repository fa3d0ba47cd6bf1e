/* What a page fault and a message cost between two nodes of a program (HETMP_NODES=dsm:2, two threads).

   Prints a line for each kind: its name, then median, 99th percentile, smallest and largest of the samples,
   microseconds.
     read        a page that the other node wrote last, read
     upgrade     a page that both nodes have read, written
     dirty       a page that the other node wrote last, written
     handed      a page that both nodes in turn read and then write, read: it comes for writing at once ("Migratory
                 pages")
     local       the first touch of a page of the node's own
     round-trip  a message to the origin and its answer: omp_test_lock of a lock that is held there
     barrier     a barrier of both threads */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096, PAGES = 256, ROUNDS = 8, SAMPLES = PAGES * ROUNDS, KINDS = 7 };

struct samples {
    const char *name;
    double us[SAMPLES];
    int count;
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(struct samples *s)
{
    qsort(s->us, s->count, sizeof s->us[0], ascending);
    printf("%s %.2f %.2f %.2f %.2f\n", s->name, s->us[s->count / 2], s->us[s->count * 99 / 100], s->us[0],
           s->us[s->count - 1]);
}

/* One access to every page, each timed. */
#define EACH_PAGE(pages, into, access)                 \
    for (int p = 0; p < PAGES; p++) {                  \
        volatile char *at = (pages) + (size_t)p * PAGE; \
        double begin = omp_get_wtime();                \
        access;                                        \
        (into)->us[(into)->count++] = 1e6 * (omp_get_wtime() - begin); \
    }

#define READ_EACH(pages)              \
    for (int p = 0; p < PAGES; p++)   \
        (void)*(volatile char *)((pages) + (size_t)p * PAGE);
#define WRITE_EACH(pages)             \
    for (int p = 0; p < PAGES; p++)   \
        *(volatile char *)((pages) + (size_t)p * PAGE) = 1;

int main(void)
{
    char *pages = aligned_alloc(PAGE, (size_t)PAGES * PAGE);
    char *turns = aligned_alloc(PAGE, (size_t)PAGES * PAGE);
    struct samples *all[KINDS] = {0};
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        int t = omp_get_thread_num();
        struct samples *s[KINDS];
        for (int i = 0; i < KINDS; i++) {
            s[i] = malloc(sizeof *s[i]);
            s[i]->count = 0;
            for (int k = 0; k < SAMPLES; k++)
                s[i]->us[k] = 0;
        }
        for (int round = 0; round < ROUNDS; round++) {
            if (t == 0) {
                if (round == 0)
                    WRITE_EACH(pages)
                else
                    EACH_PAGE(pages, s[2], *at = 2)
            }
#pragma omp barrier
            if (t == 1)
                READ_EACH(pages)
#pragma omp barrier
            /* The one that wrote the pages last writes them again: they are not handed over for writing when they are
               read. */
            if (t == 0)
                WRITE_EACH(pages)
#pragma omp barrier
            if (t == 1)
                EACH_PAGE(pages, s[0], (void)*at)
#pragma omp barrier
            if (t == 1)
                EACH_PAGE(pages, s[1], *at = 3)
#pragma omp barrier
        }
        /* Two turns show that these pages are read and written in turns. Then one turn in eight is for reading only. */
        for (int round = 0; round < ROUNDS + 2; round++) {
            if (t == 0) {
                READ_EACH(turns)
                WRITE_EACH(turns)
            }
#pragma omp barrier
            if (t == 1) {
                if (round < 2)
                    READ_EACH(turns)
                else
                    EACH_PAGE(turns, s[6], (void)*at)
                WRITE_EACH(turns)
            }
#pragma omp barrier
        }
        if (t == 1) {
            char *own = malloc((size_t)PAGES * PAGE);
            EACH_PAGE(own, s[3], *at = 4)
        }
        if (t == 0)
            omp_set_lock(&lock);
#pragma omp barrier
        if (t == 1)
            for (int i = 0; i < SAMPLES / 4; i++) {
                double begin = omp_get_wtime();
                omp_test_lock(&lock);
                s[4]->us[s[4]->count++] = 1e6 * (omp_get_wtime() - begin);
            }
#pragma omp barrier
        if (t == 0)
            omp_unset_lock(&lock);
        for (int i = 0; i < SAMPLES / 4; i++) {
            double begin = omp_get_wtime();
#pragma omp barrier
            s[5]->us[s[5]->count++] = 1e6 * (omp_get_wtime() - begin);
        }
        for (int i = 0; i < KINDS; i++)
            if (t == (i == 2 || i == 5 ? 0 : 1))
                all[i] = s[i];
    }
    const char *names[KINDS] = {"read", "upgrade", "dirty", "local", "round-trip", "barrier", "handed"};
    for (int i = 0; i < KINDS; i++) {
        all[i]->name = names[i];
        print(all[i]);
    }
    return 0;
}
