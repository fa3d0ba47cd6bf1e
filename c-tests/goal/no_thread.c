/* A process has no thread for progress before something has to move on by itself: collectives that need no schedule,
 * and runs that the program waits for at once, have none. */
/* goal-test: engine=thread */
/* goal-test: ranks=2 4 */
#include "gtest.h"
#include <dirent.h>

/* How many threads of that name the process has. */
static int threads(void)
{
    DIR *all = opendir("/proc/self/task");
    struct dirent *one;
    int n = 0;
    CHECK(all != NULL);
    while ((one = readdir(all)) != NULL) {
        char path[300], name[32] = "";
        FILE *f;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", one->d_name);
        f = one->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fgets(name, sizeof name, f))
            n += strcmp(name, "hetmp-goal\n") == 0;
        if (f)
            fclose(f);
    }
    closedir(all);
    return n;
}

int main(void)
{
    const char *nic = getenv("HETMP_NIC");
    int give, sum, size, done = 0, i;
    GOAL_Handle h;
    GOAL_Graph g;
    GOAL_Schedule s;
    begin("no_thread");
    size = ranks();
    give = me() + 1;
    for (i = 0; i < 200; i++) {
        sum = 0;
        CHECK(goal_iallreduce(&give, &sum, 1, GOAL_INT, GOAL_ADD, &h) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&h) == GOAL_SUCCESS && sum == size * (size + 1) / 2);
        CHECK(goal_barrier() == GOAL_SUCCESS);
    }
    /* Over other links they go by schedules. */
    if (!nic || strcmp(nic, "auto") == 0)
        CHECK(threads() == 0);

    /* A message of which only the receiver hears, when it tests: that needs one. */
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    if (me() == 0)
        CHECK(GOAL_Recv(g, &sum, GOAL_USERSPACE, sizeof sum, 1, 0, NULL) == GOAL_SUCCESS);
    if (me() == 1)
        CHECK(GOAL_Send(g, &give, GOAL_USERSPACE, sizeof give, 0, 0, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    if (me() == 0) {
        CHECK(GOAL_Run(s, &h) == GOAL_SUCCESS);
        CHECK(threads() == 1);
        CHECK(goal_barrier() == GOAL_SUCCESS);
    } else {
        CHECK(goal_barrier() == GOAL_SUCCESS);
        CHECK(GOAL_Run(s, &h) == GOAL_SUCCESS);
    }
    while (!done)
        CHECK(GOAL_Test(&h, &done) == GOAL_SUCCESS);
    CHECK(me() != 0 || sum == 2);
    return finish();
}
