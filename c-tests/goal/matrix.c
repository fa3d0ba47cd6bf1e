/* Every collective once for each length of a block, blocking and nonblocking; scripts/lib/goal_matrix.sh runs it over
 * engines, links, algorithms and numbers of processes. Arguments: the lengths, bytes, multiples of 8; without any, two
 * short ones. */
/* goal-test: ranks=3 */
#include "gtest.h"

static int rank, size;

static long value(int of, size_t i)
{
    return (long)(((unsigned)of * 2654435761u ^ (unsigned)i * 40503u) % 100000);
}

static long sum(int ranks_from_0, size_t i)
{
    long all = 0;
    int r;
    for (r = 0; r < ranks_from_0; r++)
        all += value(r, i);
    return all;
}

static void at_end(int code, GOAL_Handle *h, int later)
{
    CHECK(code == GOAL_SUCCESS);
    if (later)
        CHECK(GOAL_Wait(h) == GOAL_SUCCESS);
}

/* Of `n` longs at `get`, each is what `right` says. */
#define RIGHT(n, right)                                                                                                \
    do {                                                                                                               \
        size_t bad = 0;                                                                                                \
        for (i = 0; i < (n); i++)                                                                                      \
            bad += get[i] != (right);                                                                                  \
        CHECK(bad == 0);                                                                                               \
        memset(get, 0xee, total);                                                                                      \
    } while (0)

#define CALL(now, later) at_end(form ? (later) : (now), &h, form)

static void one(size_t bytes, int form)
{
    size_t n = bytes / sizeof(long), total = bytes * (size_t)size, i;
    long *give = malloc(total), *get = malloc(total);
    int root = form % size, sides[2];
    GOAL_Handle h;
    CHECK(give != NULL && get != NULL);
    memset(get, 0xee, total);
    for (i = 0; i < n * (size_t)size; i++)
        give[i] = value(rank, i);

    CALL(goal_barrier(), goal_ibarrier(&h));
    CALL(goal_broadcast(give, get, bytes, root), goal_ibroadcast(give, get, bytes, root, &h));
    RIGHT(n, value(root, i));
    CALL(goal_reduce(give, get, n, GOAL_LONG, GOAL_ADD, root),
         goal_ireduce(give, get, n, GOAL_LONG, GOAL_ADD, root, &h));
    RIGHT(rank == root ? n : 0, sum(size, i));
    CALL(goal_allreduce(give, get, n, GOAL_LONG, GOAL_ADD), goal_iallreduce(give, get, n, GOAL_LONG, GOAL_ADD, &h));
    RIGHT(n, sum(size, i));
    CALL(goal_gather(give, get, bytes, root), goal_igather(give, get, bytes, root, &h));
    RIGHT(rank == root ? n * (size_t)size : 0, value((int)(i / n), i % n));
    CALL(goal_scatter(give, get, bytes, root), goal_iscatter(give, get, bytes, root, &h));
    RIGHT(n, value(root, (size_t)rank * n + i));
    CALL(goal_allgather(give, get, bytes), goal_iallgather(give, get, bytes, &h));
    RIGHT(n * (size_t)size, value((int)(i / n), i % n));
    CALL(goal_alltoall(give, get, bytes), goal_ialltoall(give, get, bytes, &h));
    RIGHT(n * (size_t)size, value((int)(i / n), (size_t)rank * n + i % n));
    CALL(goal_scan(give, get, n, GOAL_LONG, GOAL_ADD), goal_iscan(give, get, n, GOAL_LONG, GOAL_ADD, &h));
    RIGHT(n, sum(rank + 1, i));
    CALL(goal_exscan(give, get, n, GOAL_LONG, GOAL_ADD), goal_iexscan(give, get, n, GOAL_LONG, GOAL_ADD, &h));
    RIGHT(rank ? n : 0, sum(rank, i));
    CALL(goal_reduce_scatter(give, get, n, GOAL_LONG, GOAL_ADD),
         goal_ireduce_scatter(give, get, n, GOAL_LONG, GOAL_ADD, &h));
    RIGHT(n, sum(size, (size_t)rank * n + i));
    if (size > 1) {
        int many = size == 2 ? 1 : 2;
        sides[0] = (rank + size - 1) % size;
        sides[1] = (rank + 1) % size;
        CALL(goal_neighbor_allgather(sides, many, sides, many, give, get, bytes),
             goal_ineighbor_allgather(sides, many, sides, many, give, get, bytes, &h));
        RIGHT(n * (size_t)many, value(sides[i / n], i % n));
        CALL(goal_neighbor_alltoall(sides, many, sides, many, give, get, bytes),
             goal_ineighbor_alltoall(sides, many, sides, many, give, get, bytes, &h));
        /* To my left neighbour I am its right one, the second in its list. */
        RIGHT(n * (size_t)many, value(sides[i / n], (many == 1 || i / n == 1 ? 0 : n) + i % n));
    }
    free(give);
    free(get);
}

int main(int argc, char **argv)
{
    static const size_t few[] = {8, 4096};
    int i, form;
    begin("matrix");
    rank = me();
    size = ranks();
    for (form = 0; form < 2; form++) {
        for (i = 1; i < argc; i++)
            one((size_t)atol(argv[i]), form);
        for (i = 0; argc < 2 && i < 2; i++)
            one(few[i], form);
    }
    return finish();
}
