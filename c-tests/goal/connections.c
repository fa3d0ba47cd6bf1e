/* Over sockets, a stream between two processes is made when a schedule first needs it: a neighbour exchange on a ring
 * leaves each process with two, whatever the job's size. Where no sockets are used there are none. */
/* goal-test: ranks=2 8 */
#include "gtest.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <sys/socket.h>

/* Connected sockets of this process that speak TCP. That to the launcher does not. */
static int streams(void)
{
    DIR *all = opendir("/proc/self/fd");
    struct dirent *one;
    int n = 0;
    CHECK(all != NULL);
    while ((one = readdir(all)) != NULL) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof peer;
        int fd = atoi(one->d_name);
        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && peer.ss_family != AF_UNIX)
            n++;
    }
    CHECK(closedir(all) == 0);
    return n;
}

int main(void)
{
    const char *nic = getenv("HETMP_NIC");
    int sockets = nic != NULL && strcmp(nic, "tcp") == 0, round, i;
    int rank, size, sides, neighbours[2], give[2], get[2] = {-1, -1};

    begin("connections");
    rank = me();
    size = ranks();
    sides = size == 2 ? 1 : 2;
    neighbours[0] = (rank + size - 1) % size;
    neighbours[1] = (rank + 1) % size;
    for (round = 0; round < 50; round++) {
        /* All have looked before the first of them can be through with as many rounds as there are processes. */
        if (round == 50 - size)
            CHECK(streams() == (sockets ? sides : 0));
        give[0] = give[1] = rank + round;
        CHECK(goal_neighbor_allgather(neighbours, sides, neighbours, sides, give, get, sizeof *get) == GOAL_SUCCESS);
        for (i = 0; i < sides; i++)
            CHECK(get[i] == neighbours[i] + round);
    }
    /* And now everybody with everybody, some at the same time from both sides. */
    for (round = 0; round < 5; round++) {
        long block[64] = {0}, all[64] = {0};
        for (i = 0; i < size; i++)
            block[i] = 100 * rank + i;
        CHECK(goal_alltoall(block, all, sizeof *all) == GOAL_SUCCESS);
        for (i = 0; i < size; i++)
            CHECK(all[i] == 100 * i + rank);
    }
    CHECK(streams() == (sockets ? size - 1 : 0));
    return finish();
}
