/* Every collective, blocking and not, against what a serial program computes; sizes from nothing to beyond the eager
   ones. */
/* goal-test: env=HETMP_GOAL_ALLREDUCE=ring */
/* goal-test: env=HETMP_GOAL_ALLGATHER=ring */
/* goal-test: env=HETMP_GOAL_ALLTOALL=bruck */
/* goal-test: env=HETMP_GOAL_BLOCKING=schedule */
/* goal-test: env=HETMP_GOAL_NONBLOCKING=schedule */
#include "gtest.h"

static int rank, size;

/* Element i of what a rank gives in a round: another for each of the three. */
static int value(int of, int i, int round)
{
    unsigned x = (unsigned)of * 2654435761u ^ (unsigned)i * 40503u ^ (unsigned)round * 97u;
    return (int)(x % 1000);
}

static void fill(int *to, int n, int round)
{
    int i;
    for (i = 0; i < n; i++)
        to[i] = value(rank, i, round);
}

/* Ends one nonblocking collective: mostly by tests in odd rounds. */
static void end(GOAL_Handle *h, int round)
{
    int done = 0, tests = 0;
    CHECK(*h != GOAL_HANDLE_NULL);
    if (round % 2)
        while (!done && tests++ < 1000)
            CHECK(GOAL_Test(h, &done) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(h) == GOAL_SUCCESS);
    CHECK(*h == GOAL_HANDLE_NULL);
}

/* Calls the blocking form in the first round and the other one later. */
#define BOTH(now, later)                                                                                               \
    do {                                                                                                               \
        GOAL_Handle h = GOAL_HANDLE_NULL;                                                                              \
        if (round == 0) {                                                                                              \
            CHECK((now) == GOAL_SUCCESS);                                                                              \
        } else {                                                                                                       \
            CHECK((later) == GOAL_SUCCESS);                                                                            \
            end(&h, round);                                                                                            \
        }                                                                                                              \
    } while (0)

static void one(int n, int round)
{
    size_t bytes = (size_t)n * sizeof(int);
    int *give = malloc((size_t)size * bytes + 1), *get = malloc((size_t)size * bytes + 1);
    int root = round % size, i, r;

    BOTH(goal_barrier(), goal_ibarrier(&h));

    fill(give, n, round);
    memset(get, 0xee, (size_t)size * bytes);
    BOTH(goal_broadcast(rank == root ? give : NULL, get, bytes, root),
         goal_ibroadcast(rank == root ? give : NULL, get, bytes, root, &h));
    for (i = 0; i < n; i++)
        CHECK(get[i] == value(root, i, round));

    memset(get, 0xee, (size_t)size * bytes);
    BOTH(goal_reduce(give, rank == root ? get : NULL, (size_t)n, GOAL_INT, GOAL_ADD, root),
         goal_ireduce(give, rank == root ? get : NULL, (size_t)n, GOAL_INT, GOAL_ADD, root, &h));
    for (i = 0; rank == root && i < n; i++) {
        int sum = 0;
        for (r = 0; r < size; r++)
            sum += value(r, i, round);
        CHECK(get[i] == sum);
    }

    memset(get, 0xee, (size_t)size * bytes);
    BOTH(goal_allreduce(give, get, (size_t)n, GOAL_INT, GOAL_MAX),
         goal_iallreduce(give, get, (size_t)n, GOAL_INT, GOAL_MAX, &h));
    for (i = 0; i < n; i++) {
        int most = 0;
        for (r = 0; r < size; r++)
            most = most < value(r, i, round) ? value(r, i, round) : most;
        CHECK(get[i] == most);
    }

    memset(get, 0xee, (size_t)size * bytes);
    BOTH(goal_gather(give, rank == root ? get : NULL, bytes, root),
         goal_igather(give, rank == root ? get : NULL, bytes, root, &h));
    for (r = 0; rank == root && r < size; r++)
        for (i = 0; i < n; i++)
            CHECK(get[r * n + i] == value(r, i, round));

    memset(get, 0xee, (size_t)size * bytes);
    BOTH(goal_allgather(give, get, bytes), goal_iallgather(give, get, bytes, &h));
    for (r = 0; r < size; r++)
        for (i = 0; i < n; i++)
            CHECK(get[r * n + i] == value(r, i, round));

    memset(get, 0xee, (size_t)size * bytes);
    BOTH(goal_scan(give, get, (size_t)n, GOAL_INT, GOAL_ADD), goal_iscan(give, get, (size_t)n, GOAL_INT, GOAL_ADD, &h));
    for (i = 0; i < n; i++) {
        int sum = 0;
        for (r = 0; r <= rank; r++)
            sum += value(r, i, round);
        CHECK(get[i] == sum);
    }

    memset(get, 0xee, (size_t)size * bytes);
    BOTH(goal_exscan(give, rank ? get : NULL, (size_t)n, GOAL_INT, GOAL_ADD),
         goal_iexscan(give, rank ? get : NULL, (size_t)n, GOAL_INT, GOAL_ADD, &h));
    for (i = 0; rank && i < n; i++) {
        int sum = 0;
        for (r = 0; r < rank; r++)
            sum += value(r, i, round);
        CHECK(get[i] == sum);
    }

    fill(give, n * size, round);
    memset(get, 0xee, (size_t)size * bytes);
    BOTH(goal_scatter(rank == root ? give : NULL, get, bytes, root),
         goal_iscatter(rank == root ? give : NULL, get, bytes, root, &h));
    for (i = 0; i < n; i++)
        CHECK(get[i] == value(root, rank * n + i, round));

    memset(get, 0xee, (size_t)size * bytes);
    BOTH(goal_alltoall(give, get, bytes), goal_ialltoall(give, get, bytes, &h));
    for (r = 0; r < size; r++)
        for (i = 0; i < n; i++)
            CHECK(get[r * n + i] == value(r, rank * n + i, round));

    memset(get, 0xee, (size_t)size * bytes);
    BOTH(goal_reduce_scatter(give, get, (size_t)n, GOAL_INT, GOAL_XOR),
         goal_ireduce_scatter(give, get, (size_t)n, GOAL_INT, GOAL_XOR, &h));
    for (i = 0; i < n; i++) {
        int all = 0;
        for (r = 0; r < size; r++)
            all ^= value(r, rank * n + i, round);
        CHECK(get[i] == all);
    }

    if (size > 1) {
        /* A ring where everybody hears from the left and tells both sides. */
        int left = (rank + size - 1) % size, right = (rank + 1) % size;
        int sources[2], destinations[2], many = size == 2 ? 1 : 2;
        sources[0] = left;
        sources[1] = right;
        destinations[0] = left;
        destinations[1] = right;
        memset(get, 0xee, (size_t)size * bytes);
        BOTH(goal_neighbor_allgather(sources, many, destinations, many, give, get, bytes),
             goal_ineighbor_allgather(sources, many, destinations, many, give, get, bytes, &h));
        for (i = 0; i < many * n; i++)
            CHECK(get[i] == value(sources[i / n], i % n, round));
        memset(get, 0xee, (size_t)size * bytes);
        BOTH(goal_neighbor_alltoall(sources, many, destinations, many, give, get, bytes),
             goal_ineighbor_alltoall(sources, many, destinations, many, give, get, bytes, &h));
        /* To the left neighbour I am the one on its right, its second destination. */
        for (i = 0; i < many * n; i++) {
            int other = i / n == 0 ? 1 : 0;
            CHECK(get[i] == value(sources[i / n], (many == 1 ? 0 : other * n) + i % n, round));
        }
    }
    free(give);
    free(get);
}

int main(void)
{
    static const int lengths[] = {0, 1, 7, 500, 3000, 20000};
    size_t i;
    int round;
    begin("collectives");
    rank = me();
    size = ranks();
    for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (round = 0; round < 3; round++)
            one(lengths[i], round);
    return finish();
}
