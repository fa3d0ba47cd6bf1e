/* Collectives on a network that loses and doubles packets (lossy.bpf.c): every result is exact. The argument is the
 * number of collectives; several are under way at once. */
#include "../goal/gtest.h"
#include <stdint.h>

enum { AT_ONCE = 12, MOST = 64 };

static int rank, size;

static int64_t value(int of, long round)
{
    uint64_t x = (uint64_t)of * 0x9e3779b97f4a7c15u ^ (uint64_t)round * 0xbf58476d1ce4e5b9u;
    return (int64_t)(x ^ x >> 29);
}

static struct one {
    GOAL_Handle handle;
    long round;
    int64_t give[MOST], get[MOST];
} under_way[AT_ONCE];

static void start(struct one *o, long round)
{
    int r;
    o->round = round;
    o->get[0] = -1;
    for (r = 0; r < size; r++)
        o->give[r] = value(rank * 64 + r, round);
    switch (round % 3) {
    case 0: CHECK(goal_iallreduce(o->give, o->get, 1, GOAL_LONG, GOAL_ADD, &o->handle) == GOAL_SUCCESS); break;
    case 1: CHECK(goal_ialltoall(o->give, o->get, 8, &o->handle) == GOAL_SUCCESS); break;
    default: CHECK(goal_ibroadcast(o->give, o->get, 8, (int)(round % size), &o->handle) == GOAL_SUCCESS);
    }
}

static void end(struct one *o)
{
    uint64_t sum = 0;
    int r;
    CHECK(GOAL_Wait(&o->handle) == GOAL_SUCCESS);
    for (r = 0; r < size; r++)
        sum += (uint64_t)value(r * 64, o->round);
    switch (o->round % 3) {
    case 0: CHECK(o->get[0] == (int64_t)sum); break;
    case 1:
        for (r = 0; r < size; r++)
            CHECK(o->get[r] == value(r * 64 + rank, o->round));
        break;
    default: CHECK(o->get[0] == value((int)(o->round % size) * 64, o->round));
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 3000, round;
    begin("lossy");
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
    return finish();
}
