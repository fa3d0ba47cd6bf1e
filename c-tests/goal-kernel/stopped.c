/* Rank 1 begins four collectives of all ranks and one of each of two groups, with a second argument "graph" also a
 * graph of its own, and is then stopped, with all its threads. The others begin theirs only after that, and need rank 1
 * to pass messages on. Under the engine `kernel` their waits end nevertheless; with the first argument "stuck" the
 * program checks that they do not end while rank 1 is stopped. */
#include "../goal/gtest.h"
#include <dirent.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Whether every thread of a process is stopped. The main thread may be, while another one still runs. */
static int is_stopped(int pid)
{
    char name[300], line[300], *end;
    struct dirent *task;
    DIR *tasks;
    FILE *f;
    int all = 1;
    snprintf(name, sizeof name, "/proc/%d/task", pid);
    tasks = opendir(name);
    CHECK(tasks != NULL);
    while ((task = readdir(tasks)) != NULL) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "/proc/%d/task/%.20s/stat", pid, task->d_name);
        f = fopen(name, "r");
        CHECK(f != NULL);
        CHECK(fgets(line, sizeof line, f) != NULL);
        fclose(f);
        end = strrchr(line, ')');
        CHECK(end != NULL);
        all = all && end[2] == 'T';
    }
    closedir(tasks);
    return all;
}

static void rest(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* From each rank to the next one. Each but the first passes on what it has got. */
static GOAL_Schedule chain(long *word, int rank, int size)
{
    GOAL_Op got = -1, send;
    GOAL_Schedule s;
    GOAL_Graph g;
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    if (rank > 0)
        CHECK(GOAL_Recv(g, word, GOAL_USERSPACE, sizeof *word, rank - 1, 1, &got) == GOAL_SUCCESS);
    if (rank + 1 < size)
        CHECK(GOAL_Send(g, word, GOAL_USERSPACE, sizeof *word, rank + 1, 1, &send) == GOAL_SUCCESS);
    if (rank > 0 && rank + 1 < size)
        CHECK(GOAL_Requires(g, send, got) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    CHECK(GOAL_Agree(s) == GOAL_SUCCESS);
    return s;
}

/* Of two groups that overlap. In the first, number 0 (rank 3) needs what number 1 (rank 1) sends after it has heard
 * from number 0. */
static struct of_groups {
    GOAL_Group group[2];
    GOAL_Handle barrier, sum;
    double part, total;
} of;

static void join_groups(void)
{
    static const int some[] = {3, 1, 0}, all[] = {0, 1, 2, 3};
    if (me() != 2)
        CHECK(GOAL_Group_create(1, some, 3, &of.group[0]) == GOAL_SUCCESS);
    CHECK(GOAL_Group_create(2, all, 4, &of.group[1]) == GOAL_SUCCESS);
}

static void begin_in_groups(void)
{
    of.part = 1.0 / (1 << me());
    CHECK(goal_group_iallreduce(of.group[1], &of.part, &of.total, 1, GOAL_DOUBLE, GOAL_ADD, &of.sum) == GOAL_SUCCESS);
    if (me() != 2)
        CHECK(goal_group_ibarrier(of.group[0], &of.barrier) == GOAL_SUCCESS);
}

int main(int argc, char **argv)
{
    int stuck = argc > 1 && strcmp(argv[1], "stuck") == 0, rank, size, pids[64], pid = getpid(), i, done, left, right;
    long give, get = 0, word;
    double part, total = 0;
    GOAL_Handle barrier, sum, doubles, passed;
    GOAL_Schedule pass = NULL;
    static char block[2048], got[sizeof block];
    GOAL_Handle beside;
    begin("stopped");
    rank = me();
    size = ranks();
    CHECK(size == 4);
    CHECK(goal_allgather(&pid, pids, sizeof pid) == GOAL_SUCCESS);
    give = 1L << rank;
    part = 1.0 / (double)give;
    word = rank == 0 ? 4711 : 0;
    if (argc > 2 && strcmp(argv[2], "graph") == 0)
        pass = chain(&word, rank, size);
    left = (rank + 3) % 4;
    right = (rank + 1) % 4;
    memset(block, rank + 1, sizeof block);
    join_groups();
    if (rank == 1) {
        CHECK(goal_ibarrier(&barrier) == GOAL_SUCCESS);
        CHECK(goal_iallreduce(&give, &get, 1, GOAL_LONG, GOAL_ADD, &sum) == GOAL_SUCCESS);
        CHECK(goal_iallreduce(&part, &total, 1, GOAL_DOUBLE, GOAL_ADD, &doubles) == GOAL_SUCCESS);
        CHECK(goal_ineighbor_alltoall(&left, 1, &right, 1, block, got, sizeof block, &beside) == GOAL_SUCCESS);
        if (pass)
            CHECK(GOAL_Run(pass, &passed) == GOAL_SUCCESS);
        begin_in_groups();
        raise(SIGSTOP);
    } else {
        while (!is_stopped(pids[1]))
            rest(1);
        CHECK(goal_ibarrier(&barrier) == GOAL_SUCCESS);
        CHECK(goal_iallreduce(&give, &get, 1, GOAL_LONG, GOAL_ADD, &sum) == GOAL_SUCCESS);
        CHECK(goal_iallreduce(&part, &total, 1, GOAL_DOUBLE, GOAL_ADD, &doubles) == GOAL_SUCCESS);
        CHECK(goal_ineighbor_alltoall(&left, 1, &right, 1, block, got, sizeof block, &beside) == GOAL_SUCCESS);
        if (pass)
            CHECK(GOAL_Run(pass, &passed) == GOAL_SUCCESS);
        begin_in_groups();
    }
    if (rank == 3 && stuck) {
        /* Rank 3 needs of rank 1 what that sends after it has heard from rank 0. It cannot end, however long this
         * takes. */
        for (i = 0; i < 100; i++) {
            CHECK(GOAL_Test(&barrier, &done) == GOAL_SUCCESS);
            CHECK(!done);
            CHECK(GOAL_Test(&doubles, &done) == GOAL_SUCCESS);
            CHECK(!done);
            if (pass)
                CHECK(GOAL_Test(&passed, &done) == GOAL_SUCCESS);
            CHECK(!done);
            CHECK(GOAL_Test(&of.barrier, &done) == GOAL_SUCCESS);
            CHECK(!done);
            CHECK(GOAL_Test(&of.sum, &done) == GOAL_SUCCESS);
            CHECK(!done);
            rest(5);
        }
        CHECK(is_stopped(pids[1]));
        kill(pids[1], SIGCONT);
    }
    CHECK(GOAL_Wait(&barrier) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&sum) == GOAL_SUCCESS);
    CHECK(get == (1L << size) - 1);
    CHECK(GOAL_Wait(&doubles) == GOAL_SUCCESS);
    CHECK(total == 1.875);
    if (rank != 2)
        CHECK(GOAL_Wait(&of.barrier) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&of.sum) == GOAL_SUCCESS);
    CHECK(of.total == 1.875);
    /* Under the engine `kernel` rank 2 has asked rank 1 for this. */
    CHECK(GOAL_Wait(&beside) == GOAL_SUCCESS);
    CHECK(got[0] == left + 1 && memcmp(got, got + 1, sizeof got - 1) == 0);
    if (pass) {
        CHECK(GOAL_Wait(&passed) == GOAL_SUCCESS);
        CHECK(word == 4711);
    }
    if (!stuck && rank != 1) {
        CHECK(is_stopped(pids[1]));
        /* All but rank 1 have seen that it was stopped all the time. */
        if (rank == 0) {
            for (i = 2; i < size; i++) {
                char name[80];
                snprintf(name, sizeof name, "%s.%d", argv[1], i);
                while (access(name, F_OK) != 0)
                    rest(1);
                unlink(name);
            }
            kill(pids[1], SIGCONT);
        } else {
            char name[80];
            FILE *f;
            snprintf(name, sizeof name, "%s.%d", argv[1], rank);
            f = fopen(name, "w");
            CHECK(f != NULL);
            fclose(f);
        }
    }
    return finish();
}
