/* Exchanges with neighbours, against what a serial program computes: a ring, in which a rank is also a neighbour of its
 * own and one neighbour is named twice; a star; and ranks without neighbours. */
#include "../goal/gtest.h"
#include <stdint.h>

enum { MOST = 8, BLOCK = 2048, AT_ONCE = 20, MANY = 257 };

static int rank, size;

static uint8_t value(int of, int to, int nth, int i, int round)
{
    uint32_t x = (uint32_t)(of * 131 + to * 31 + nth * 17 + round * 7) * 2654435761u ^ (uint32_t)i * 40503u;
    return (uint8_t)(x >> 13);
}

/* The lists of a rank in a round; returns how many. Every list has as many sources as destinations. */
static int lists(int of, int round, int *sources, int *destinations)
{
    int n = 0, r;
    switch (round % 3) {
    case 0:
        sources[0] = sources[2] = (of + size - 1) % size, destinations[0] = destinations[2] = (of + 1) % size;
        sources[1] = destinations[1] = of;
        return 3;
    case 1:
        for (r = 1; of == 0 && r < size; r++)
            sources[n] = destinations[n] = r, n++;
        if (of != 0)
            sources[n] = destinations[n] = 0, n++;
        return n;
    }
    if (of < 2)
        sources[n] = destinations[n] = 1 - of, n++;
    return n;
}

/* How often `peer` stands before place `i` of a list. */
static int before(const int *list, int i, int peer)
{
    int n = 0;
    while (i-- > 0)
        n += list[i] == peer;
    return n;
}

static struct one {
    GOAL_Handle h;
    int sources[MOST], destinations[MOST], n, bytes, round;
    uint8_t give[MOST * BLOCK], get[MOST * BLOCK + 1];
} under_way[AT_ONCE];

static int is_gather(int round) { return round / 3 % 2; }

static void start(struct one *o, int round)
{
    static const int lengths[] = {8, 1, 1343, 1344, 1345, BLOCK, 0};
    int i, k, code;
    o->round = round;
    o->bytes = lengths[round / 6 % 7];
    o->n = lists(rank, round, o->sources, o->destinations);
    memset(o->get, 0xee, sizeof o->get);
    for (k = 0; k < (is_gather(round) ? 1 : o->n); k++)
        for (i = 0; i < o->bytes; i++)
            o->give[k * o->bytes + i] = is_gather(round)
                ? value(rank, 0, 0, i, round)
                : value(rank, o->destinations[k], before(o->destinations, k, o->destinations[k]), i, round);
    if (is_gather(round))
        code = goal_ineighbor_allgather(o->sources, o->n, o->destinations, o->n, o->give, o->get, o->bytes, &o->h);
    else
        code = goal_ineighbor_alltoall(o->sources, o->n, o->destinations, o->n, o->give, o->get, o->bytes, &o->h);
    CHECK(code == GOAL_SUCCESS);
}

static void end(struct one *o)
{
    int i, k;
    CHECK(GOAL_Wait(&o->h) == GOAL_SUCCESS);
    for (k = 0; k < o->n; k++)
        for (i = 0; i < o->bytes; i++) {
            int from = o->sources[k], nth = before(o->sources, k, from);
            CHECK(o->get[k * o->bytes + i] ==
                  (is_gather(o->round) ? value(from, 0, 0, i, o->round) : value(from, rank, nth, i, o->round)));
        }
    CHECK(o->get[o->n * o->bytes] == 0xee);
}

int main(int argc, char **argv)
{
    static int many[MANY];
    int rounds = argc > 2 ? atoi(argv[2]) : 84, limited = argc > 1 && strcmp(argv[1], "limited") == 0, round;
    GOAL_Handle h;
    begin("neighbours");
    rank = me();
    size = ranks();
    CHECK(size <= MOST);
    for (round = 0; round < rounds; round++) {
        if (round >= AT_ONCE)
            end(&under_way[round % AT_ONCE]);
        start(&under_way[round % AT_ONCE], round);
    }
    for (round = rounds > AT_ONCE ? rounds - AT_ONCE : 0; round < rounds; round++)
        end(&under_way[round % AT_ONCE]);
    /* The others take the engine, whatever this rank does. */
    if (limited) {
        CHECK(goal_ineighbor_allgather(many, MANY, many, 0, NULL, many, 0, &h) == GOAL_ERR_LIMIT);
        CHECK(goal_neighbor_alltoall(many, 0, many, MANY, many, NULL, 0) == GOAL_ERR_LIMIT);
    }
    return finish();
}
