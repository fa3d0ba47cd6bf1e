/* Short collectives next to what a serial program computes: those that the engine `kernel` runs in the Linux kernel. */
#include "../goal/gtest.h"
#include <stdint.h>
#include <unistd.h>

enum { LONGEST = 64, AT_ONCE = 40, ONE_WAY = 200 };

static int rank, size;

/* Element i of what a rank gives in a round. */
static int64_t value(int of, int i, int round)
{
    uint64_t x = (uint64_t)of * 0x9e3779b97f4a7c15u ^ (uint64_t)i * 40503u ^ (uint64_t)round * 0xbf58476d1ce4e5b9u;
    return (int64_t)(x ^ x >> 29);
}

/* A number of `bits` bits with a sign. */
static int64_t cut(int64_t x, int bits) { return (int64_t)((uint64_t)x << (64 - bits)) >> (64 - bits); }

static void end(GOAL_Handle *h, int round)
{
    int done = 0, tests = 0;
    if (round % 2)
        while (!done && tests++ < 1000)
            CHECK(GOAL_Test(h, &done) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(h) == GOAL_SUCCESS);
}

static void combined(int round)
{
    static const int operations[] = {GOAL_ADD, GOAL_MULT, GOAL_MAX, GOAL_MIN, GOAL_AND, GOAL_OR, GOAL_XOR};
    int operation = operations[round % 7], i, r;
    int16_t give13[5], get13[5];
    uint32_t give32[3], get32[3];
    int64_t give[2], get[2];
    GOAL_Handle h[3];
    for (i = 0; i < 5; i++)
        give13[i] = (int16_t)cut(value(rank, i, round), 13);
    for (i = 0; i < 3; i++)
        give32[i] = (uint32_t)value(rank, i, round);
    for (i = 0; i < 2; i++)
        give[i] = value(rank, i, round);
    CHECK(goal_iallreduce(give13, get13, 5, GOAL_SIGNED(13), operation, &h[0]) == GOAL_SUCCESS);
    CHECK(goal_iallreduce(give32, get32, 3, GOAL_UNSIGNED(32), operation, &h[1]) == GOAL_SUCCESS);
    CHECK(goal_iallreduce(give, get, 2, GOAL_LONG, operation, &h[2]) == GOAL_SUCCESS);
    for (i = 0; i < 3; i++)
        end(&h[i], round);
#define COMBINED(type, first, next)                                                                                    \
    do {                                                                                                               \
        type all = first;                                                                                              \
        for (r = 1; r < size; r++) {                                                                                   \
            type x = next;                                                                                             \
            switch (operation) {                                                                                       \
            case GOAL_ADD: all = (type)((uint64_t)all + (uint64_t)x); break;                                           \
            case GOAL_MULT: all = (type)((uint64_t)all * (uint64_t)x); break;                                          \
            case GOAL_MAX: all = x > all ? x : all; break;                                                             \
            case GOAL_MIN: all = x < all ? x : all; break;                                                             \
            case GOAL_AND: all &= x; break;                                                                            \
            case GOAL_OR: all |= x; break;                                                                             \
            case GOAL_XOR: all ^= x; break;                                                                            \
            }                                                                                                          \
        }                                                                                                              \
        serial = (int64_t)all;                                                                                         \
    } while (0)
    int64_t serial;
    for (i = 0; i < 5; i++) {
        COMBINED(int64_t, cut(value(0, i, round), 13), cut(value(r, i, round), 13));
        CHECK(get13[i] == (int16_t)cut(serial, 13));
    }
    for (i = 0; i < 3; i++) {
        COMBINED(uint32_t, (uint32_t)value(0, i, round), (uint32_t)value(r, i, round));
        CHECK(get32[i] == (uint32_t)serial);
    }
    for (i = 0; i < 2; i++) {
        COMBINED(int64_t, value(0, i, round), value(r, i, round));
        CHECK(get[i] == serial);
    }
}

static void moved(int round)
{
    static int64_t give[LONGEST], get[LONGEST];
    int root = round % size, i, r;
    int64_t sum;
    GOAL_Handle h;
    CHECK(goal_ibarrier(&h) == GOAL_SUCCESS);
    end(&h, round);

    for (i = 0; i < size; i++)
        give[i] = value(rank, i, round);
    memset(get, 0xee, sizeof get);
    CHECK(goal_ialltoall(give, get, 8, &h) == GOAL_SUCCESS);
    end(&h, round);
    for (r = 0; r < size; r++)
        CHECK(get[r] == value(r, rank, round));
    CHECK(get[size] == (int64_t)0xeeeeeeeeeeeeeeeeu);

    memset(get, 0xee, sizeof get);
    CHECK(goal_iallgather(give, get, 8, &h) == GOAL_SUCCESS);
    end(&h, round);
    for (r = 0; r < size; r++)
        CHECK(get[r] == value(r, 0, round));

    memset(get, 0xee, sizeof get);
    CHECK(goal_ibroadcast(rank == root ? give : get, get, 5, root, &h) == GOAL_SUCCESS);
    end(&h, round);
    sum = value(root, 0, round);
    CHECK(memcmp(get, &sum, 5) == 0 && ((unsigned char *)get)[5] == 0xee);

    CHECK(goal_ireduce(give, get, 2, GOAL_LONG, GOAL_ADD, root, &h) == GOAL_SUCCESS);
    end(&h, round);
    for (i = 0; rank == root && i < 2; i++) {
        for (sum = 0, r = 0; r < size; r++)
            sum = (int64_t)((uint64_t)sum + (uint64_t)value(r, i, round));
        CHECK(get[i] == sum);
    }

    CHECK(goal_iscan(give, get, 1, GOAL_LONG, GOAL_XOR, &h) == GOAL_SUCCESS);
    end(&h, round);
    for (sum = 0, r = 0; r <= rank; r++)
        sum ^= value(r, 0, round);
    CHECK(get[0] == sum);

    CHECK(goal_ireduce_scatter(give, get, 1, GOAL_LONG, GOAL_MAX, &h) == GOAL_SUCCESS);
    end(&h, round);
    for (sum = value(0, rank, round), r = 1; r < size; r++)
        sum = value(r, rank, round) > sum ? value(r, rank, round) : sum;
    CHECK(get[0] == sum);
}

/* More at once than the engine keeps; ended from the last to the first. */
static void many(int round)
{
    int64_t give[AT_ONCE], get[AT_ONCE], sum;
    GOAL_Handle h[AT_ONCE];
    int i, r;
    for (i = 0; i < AT_ONCE; i++) {
        give[i] = value(rank, i, round);
        CHECK(goal_iallreduce(&give[i], &get[i], 1, GOAL_LONG, GOAL_ADD, &h[i]) == GOAL_SUCCESS);
    }
    for (i = AT_ONCE; i-- > 0;) {
        CHECK(GOAL_Wait(&h[i]) == GOAL_SUCCESS);
        for (sum = 0, r = 0; r < size; r++)
            sum = (int64_t)((uint64_t)sum + (uint64_t)value(r, i, round));
        CHECK(get[i] == sum);
    }
}

/* Nothing comes back from the receivers but what the engine itself asks them. */
static void one_way(void)
{
    static int64_t word[ONE_WAY];
    static GOAL_Handle h[ONE_WAY];
    int i;
    for (i = 0; i < ONE_WAY; i++) {
        word[i] = rank == 0 ? value(0, i, 0) : 0;
        CHECK(goal_ibroadcast(&word[i], &word[i], 8, 0, &h[i]) == GOAL_SUCCESS);
    }
    for (i = 0; i < ONE_WAY; i++) {
        CHECK(GOAL_Wait(&h[i]) == GOAL_SUCCESS);
        CHECK(word[i] == value(0, i, 0));
    }
}

/* The same with another root after each `n`, which is as many as an engine keeps. Rank 2 looks late at what it got;
 * rank 0 has sent it nothing before, and so has never heard how far it is. */
static void roots(int n)
{
    int64_t word[AT_ONCE];
    GOAL_Handle h[AT_ONCE];
    int root, i;
    CHECK(goal_barrier() == GOAL_SUCCESS);
    for (root = 1; root >= 0; root--) {
        for (i = 0; i < n; i++) {
            word[i] = rank == root ? value(root, i, 1) : 0;
            CHECK(goal_ibroadcast(&word[i], &word[i], 8, root, &h[i]) == GOAL_SUCCESS);
        }
        if (rank == 2)
            usleep(50000);
        for (i = 0; i < n; i++) {
            CHECK(GOAL_Wait(&h[i]) == GOAL_SUCCESS);
            CHECK(word[i] == value(root, i, 1));
        }
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 30, round;
    begin("in_kernel");
    rank = me();
    size = ranks();
    for (round = 0; round < rounds; round++) {
        combined(round);
        moved(round);
    }
    many(1);
    many(2);
    one_way();
    roots(8);
    roots(16);
    return finish();
}
