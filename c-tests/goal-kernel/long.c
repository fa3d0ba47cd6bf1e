/* Messages longer than a packet: collectives of blocks from one byte less than a packet takes to 64 KiB, and around the
 * lengths of the parts that interfaces with packets of 1500, 9000 and more bytes take. Every byte of every result is
 * compared. The argument is the number of rounds; several collectives are under way at once. */
#include "../goal/gtest.h"
#include <stdint.h>

enum { LONGEST = 65536, PART = 1344, ETHERNET = 1448, JUMBO = 8944, MOST_PART = 13312, AT_ONCE = 5, MOST = 8 };

static int rank, size;
static const int lengths[] = {PART - 1, PART, PART + 1, 2 * PART, 4096, 16 * PART, 17 * PART + 8, 40000, LONGEST - 8,
                              LONGEST,
                              ETHERNET - 1, ETHERNET + 1, 2 * ETHERNET, JUMBO, JUMBO + 1, MOST_PART, 2 * MOST_PART + 1};

/* Byte i of what rank `of` gives rank `to` in a round. */
static uint8_t value(int of, int to, int i, int round)
{
    uint32_t x = (uint32_t)(of * 131 + to * 31 + round * 7) * 2654435761u ^ (uint32_t)i * 40503u;
    return (uint8_t)(x >> 13);
}

static struct one {
    GOAL_Handle handle;
    int round, bytes, kind;
    uint8_t give[MOST * LONGEST], get[MOST * LONGEST + 8];
} under_way[AT_ONCE];

enum { BROADCAST, ALLTOALL, ALLGATHER, SUM, MAXIMUM, WORDS, SCAN, REDUCE, KINDS };

static void fill(uint8_t *at, int of, int to, int bytes, int round)
{
    int i;
    for (i = 0; i < bytes; i++)
        at[i] = value(of, to, i, round);
}

static int is(const uint8_t *at, int of, int to, int bytes, int round)
{
    int i;
    for (i = 0; i < bytes; i++)
        if (at[i] != value(of, to, i, round))
            return 0;
    return 1;
}

static void start(struct one *o, int round)
{
    int r, code = GOAL_ERR_ARGUMENT, blocks;
    o->round = round;
    o->kind = round % KINDS;
    o->bytes = lengths[round / KINDS % (int)(sizeof lengths / sizeof *lengths)];
    if (o->kind == WORDS)
        o->bytes &= ~7;
    blocks = o->kind == ALLTOALL || o->kind == ALLGATHER ? size : 1;
    memset(o->get, 0xee, (size_t)blocks * (size_t)o->bytes + 8);
    if (o->kind == ALLTOALL)
        for (r = 0; r < size; r++)
            fill(o->give + r * o->bytes, rank, r, o->bytes, round);
    else
        fill(o->give, rank, 0, o->bytes, round);
    switch (o->kind) {
    case BROADCAST: code = goal_ibroadcast(o->give, o->get, (size_t)o->bytes, round % size, &o->handle); break;
    case ALLTOALL: code = goal_ialltoall(o->give, o->get, (size_t)o->bytes, &o->handle); break;
    case ALLGATHER: code = goal_iallgather(o->give, o->get, (size_t)o->bytes, &o->handle); break;
    case SUM: code = goal_iallreduce(o->give, o->get, (size_t)o->bytes, GOAL_UNSIGNED(8), GOAL_ADD, &o->handle); break;
    case MAXIMUM:
        code = goal_iallreduce(o->give, o->get, (size_t)o->bytes, GOAL_SIGNED(8), GOAL_MAX, &o->handle); break;
    case WORDS: code = goal_iallreduce(o->give, o->get, (size_t)o->bytes / 8, GOAL_LONG, GOAL_ADD, &o->handle); break;
    case SCAN: code = goal_iscan(o->give, o->get, (size_t)o->bytes, GOAL_UNSIGNED(8), GOAL_XOR, &o->handle); break;
    case REDUCE:
        code = goal_ireduce(o->give, o->get, (size_t)o->bytes, GOAL_UNSIGNED(8), GOAL_MIN, round % size, &o->handle);
        break;
    }
    CHECK(code == GOAL_SUCCESS);
}

static int combined_right(const struct one *o)
{
    int i, r, last = o->kind == SCAN ? rank : size - 1;
    for (i = 0; o->kind == WORDS && i < o->bytes; i += 8) {
        uint64_t all = 0, x;
        for (r = 0; r < size; r++) {
            uint8_t word[8];
            int k;
            for (k = 0; k < 8; k++)
                word[k] = value(r, 0, i + k, o->round);
            memcpy(&x, word, 8);
            all += x;
        }
        memcpy(&x, o->get + i, 8);
        if (x != all)
            return 0;
    }
    for (i = 0; o->kind != WORDS && i < o->bytes; i++) {
        uint8_t all = value(0, 0, i, o->round);
        for (r = 1; r <= last; r++) {
            uint8_t x = value(r, 0, i, o->round);
            switch (o->kind) {
            case SUM: all = (uint8_t)(all + x); break;
            case MAXIMUM: all = (int8_t)x > (int8_t)all ? x : all; break;
            case SCAN: all ^= x; break;
            case REDUCE: all = x < all ? x : all; break;
            }
        }
        if (o->get[i] != all)
            return 0;
    }
    return 1;
}

static void end(struct one *o)
{
    int r, blocks = o->kind == ALLTOALL || o->kind == ALLGATHER ? size : 1, i;
    CHECK(GOAL_Wait(&o->handle) == GOAL_SUCCESS);
    if (o->kind == REDUCE && rank != o->round % size)
        return;
    for (i = 0; i < 8; i++)
        CHECK(o->get[blocks * o->bytes + i] == 0xee);
    switch (o->kind) {
    case BROADCAST: CHECK(is(o->get, o->round % size, 0, o->bytes, o->round)); break;
    case ALLTOALL:
    case ALLGATHER:
        for (r = 0; r < size; r++)
            CHECK(is(o->get + r * o->bytes, r, o->kind == ALLTOALL ? rank : 0, o->bytes, o->round));
        break;
    default: CHECK(combined_right(o));
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 160, round;
    begin("long");
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
