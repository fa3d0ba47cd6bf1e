/* What the applications share: arguments, time, and how they end.
 *
 *     NAME [S|A] [queues|threads|condvar|dma] [SLAVES] ...
 *
 * S is the size for tests, A the one for benchmarks. The word after it says who moves the data:
 * queues (hetmp/mq.h), POSIX threads with hand-written double buffers that are polled (threads) or
 * waited for (condvar), see hand.h, or slaves that start their own DMA transfers (dma).
 * Standard output is the result, the same for every way, platform and number of slaves; the time
 * goes to standard error. Status 0: the result is right; 1: it is not; 2: bad use. */
#ifndef APP_H
#define APP_H

#include <hetmp/mq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum app_way { QUEUES, THREADS, CONDVAR, DMA };

struct app {
    const char *name;
    int large; /* size A */
    enum app_way way;
    int slaves;
    int argc; /* arguments from the fourth on */
    char **argv;
    struct timespec began, ended;
};

static const char *const app_ways[] = {"queues", "threads", "condvar", "dma"};

/* A number from lowest to highest, or a line that says so. */
static inline long app_number(const char *what, const char *text, long lowest, long highest) {
    char *end;
    long n = strtol(text, &end, 10);
    if (*end || end == text || n < lowest || n > highest) {
        fprintf(stderr, "hetmp: %s %s: not usable (expected a number from %ld to %ld)\n", what, text, lowest, highest);
        exit(2);
    }
    return n;
}

/* Reads the arguments; `ways` has a bit for each way that the program has. */
static inline struct app app_begin(const char *name, int argc, char **argv, unsigned ways) {
    struct app app = {.name = name, .way = QUEUES};
    int most = mGetMaxSlaveCoreNum(0);
    app.slaves = mGetSlaveCoreNum(0);
    if (argc > 1 && strcmp(argv[1], "S") != 0 && strcmp(argv[1], "A") != 0) {
        fprintf(stderr, "hetmp: size %s: not usable (expected S and A)\n", argv[1]);
        exit(2);
    }
    app.large = argc > 1 && argv[1][0] == 'A';
    if (argc > 2) {
        int way = 0;
        while (way < 4 && (strcmp(argv[2], app_ways[way]) != 0 || !(ways >> way & 1))) way++;
        if (way == 4) {
            fprintf(stderr, "hetmp: way %s: unknown (expected one of", argv[2]);
            for (int w = 0; w < 4; w++)
                if (ways >> w & 1) fprintf(stderr, " %s", app_ways[w]);
            fprintf(stderr, ")\n");
            exit(2);
        }
        app.way = (enum app_way)way;
    }
    if (argc > 3) app.slaves = (int)app_number("number of slaves", argv[3], 1, most);
    app.argc = argc > 4 ? argc - 4 : 0;
    app.argv = argv + (argc > 4 ? 4 : argc);
    return app;
}

static inline void app_start_clock(struct app *app) { clock_gettime(CLOCK_MONOTONIC, &app->began); }
static inline void app_stop_clock(struct app *app) { clock_gettime(CLOCK_MONOTONIC, &app->ended); }

/* Says on standard error how long it took, and how much of what that is in a second. */
static inline void app_time(const struct app *app, double amount, const char *unit) {
    double seconds = (double)(app->ended.tv_sec - app->began.tv_sec) +
                     1e-9 * (double)(app->ended.tv_nsec - app->began.tv_nsec);
    fprintf(stderr, "time %s %s slaves %d seconds %.6f %s %.4f\n", app->name, app_ways[app->way], app->slaves, seconds,
            unit, amount / seconds);
}

/* Ends the program where a call of mq.h failed. */
static inline void app_check(int err, const char *what) {
    if (err != MQ_OK) {
        fprintf(stderr, "hetmp: %s: %s\n", what, mqErrorText(err));
        exit(1);
    }
}

static inline void *app_memory(size_t bytes) {
    void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!p) {
        fprintf(stderr, "hetmp: memory %zu bytes: the machine has less\n", bytes);
        exit(2);
    }
    return p;
}

/* Starts the slaves, or ends the program. */
static inline ThreadID app_slaves(const struct app *app, void (*slave)(void *), void *arg) {
    ThreadID t = mStartSlaveThreads(0, app->slaves, (void *)slave, arg);
    if (t.m_num != app->slaves) exit(1);
    return t;
}

static inline int app_queue(const char *name, int slave, size_t bytes, int slots, int slave_slots, QueueDirection dir) {
    int err;
    int handle = mCreateQueue(0, name, slave, bytes, slots, slave_slots, NULL, SlaveArrayMem, dir, &err);
    app_check(err, name);
    return handle;
}

#endif
