/* A peer dies in the middle of a collective: the others' waits, and rank 0's tests, end with an error. Each rank lives
 * in a session of its own, so that it outlives the launcher, which ends the job; rank 0 says what it saw in a file. */
/* goal-test: ranks=2 4 7 */
/* goal-test: file */
/* goal-test: env=HETMP_GOAL_NONBLOCKING=schedule */
#include "gtest.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int live(const char *file)
{
    FILE *out;
    GOAL_Handle h;
    int give = 1, get = 0, code, done = 0, rank, size;

    begin("lost");
    rank = me();
    size = ranks();
    /* Messages of one that dies may be lost with it, even those of the barrier. */
    goal_barrier();
    if (rank == size - 1)
        kill(getpid(), SIGKILL);
    CHECK(goal_iallreduce(&give, &get, 1, GOAL_INT, GOAL_ADD, &h) == GOAL_SUCCESS);
    if (rank == 0)
        do
            code = GOAL_Test(&h, &done);
        while (code == GOAL_SUCCESS && !done);
    else
        code = GOAL_Wait(&h);
    CHECK(code == GOAL_ERR_PEER_LOST || code == GOAL_ERR_PEER_FAILED);
    CHECK(goal_barrier() != GOAL_SUCCESS);
    CHECK(GOAL_Finalize() == GOAL_SUCCESS);
    if (rank == 0) {
        out = fopen(file, "w");
        CHECK(out != NULL);
        fprintf(out, "%s: passed, %ld checks on rank 0 of %d\n", gtest_name, gtest_checks, size);
        CHECK(fclose(out) == 0);
    }
    return 0;
}

int main(int argc, char **argv)
{
    int status;
    pid_t child = fork();
    if (argc < 2)
        return 2;
    if (child == 0) {
        setsid();
        /* What is still said when the launcher is gone goes nowhere. */
        signal(SIGPIPE, SIG_IGN);
        return live(argv[1]);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
