/* Sums, products, maxima and minima of floating point numbers by recursive doubling (HETMP_GOAL_ALLREDUCE=doubling),
 * next to what the processor gets in the same order, to the bit: the same under every engine. The argument is the
 * number of rounds. */
#include "../goal/gtest.h"
#include <math.h>
#include <stdint.h>

enum { RANKS = 8, LONGEST = 256 };

static int rank, size;
static const int operations[] = {GOAL_ADD, GOAL_MULT, GOAL_MAX, GOAL_MIN, GOAL_SUB};
static const int lengths[] = {1, 2, 7, 64, LONGEST};

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The bits of element i of what a rank gives: mostly numbers whose sums are rounded; also zeros, subnormal numbers,
 * infinities and what is not a number. */
static uint64_t bits(int of, int i, int round, int wide)
{
    uint64_t x = mixed((uint64_t)of << 40 ^ (uint64_t)i << 20 ^ (uint64_t)round), e;
    uint64_t sign = x >> 63, ones = wide ? 2047 : 255;
    int m = wide ? 52 : 23;
    uint64_t s = mixed(x) & ((1ull << m) - 1);
    switch (x & 15) {
    case 0: e = x >> 8 & 1; break;
    case 1: e = 0, s = 0; break;
    case 2: e = x >> 8 & 15 ? 1 : ones, s = x >> 16 & 1; break;
    case 3: e = ones - 1 - (x >> 8 & 3); break;
    case 4: e = ones / 4 + (x >> 8) % (ones / 2); break;
    default: e = ones / 2 + (x >> 8) % 24 - 12;
    }
    return sign << (wide ? 63 : 31) | e << m | s;
}

#define SUMS(name, type, word, what)                                                                                   \
    static type name##_of(int operation, type a, type b)                                                               \
    {                                                                                                                  \
        switch (operation) {                                                                                           \
        case GOAL_ADD: return a + b;                                                                                   \
        case GOAL_SUB: return a - b;                                                                                   \
        case GOAL_MULT: return a * b;                                                                                  \
        case GOAL_MAX: return isnan(a) || a < b || (a == b && signbit(a)) ? b : a;                                     \
        default: return isnan(a) || a > b || (a == b && signbit(b)) ? b : a;                                           \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static type name##_given(int of, int i, int round)                                                                 \
    {                                                                                                                  \
        word x = (word)bits(of, i, round, sizeof(type) == 8);                                                          \
        type value;                                                                                                    \
        memcpy(&value, &x, sizeof value);                                                                              \
        return value;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    /* What this rank gets: a difference is not the same on all. */                                                    \
    static type name##_all(int operation, int i, int round)                                                            \
    {                                                                                                                  \
        type part[RANKS], next[RANKS];                                                                                 \
        int power = 1, rest, p, bit, mine;                                                                             \
        while (2 * power <= size)                                                                                      \
            power *= 2;                                                                                                \
        rest = size - power;                                                                                           \
        for (p = 0; p < power; p++)                                                                                    \
            part[p] = p < rest ? name##_of(operation, name##_given(2 * p, i, round),                                   \
                                           name##_given(2 * p + 1, i, round))                                          \
                               : name##_given(p + rest, i, round);                                                     \
        for (bit = 1; bit < power; bit *= 2) {                                                                         \
            for (p = 0; p < power; p++)                                                                                \
                next[p] = name##_of(operation, part[p], part[p ^ bit]);                                                \
            memcpy(part, next, sizeof part);                                                                           \
        }                                                                                                              \
        mine = rank < 2 * rest ? rank / 2 : rank - rest;                                                               \
        return part[mine];                                                                                             \
    }                                                                                                                  \
                                                                                                                       \
    static void name(int round)                                                                                        \
    {                                                                                                                  \
        static type give[LONGEST], get[LONGEST], least[1], upto[2];                                                    \
        int operation = operations[round % 5], n = lengths[round / 5 % 5], i;                                          \
        GOAL_Handle h, l, s;                                                                                           \
        for (i = 0; i < n; i++)                                                                                        \
            give[i] = name##_given(rank, i, round);                                                                    \
        CHECK(goal_iallreduce(give, get, n, what, operation, &h) == GOAL_SUCCESS);                                     \
        least[0] = 77;                                                                                                 \
        upto[0] = (type)(rank + 1);                                                                                    \
        CHECK(goal_ireduce(&upto[0], least, 1, what, GOAL_MIN, round % size, &l) == GOAL_SUCCESS);                     \
        CHECK(goal_iscan(&upto[0], &upto[1], 1, what, GOAL_ADD, &s) == GOAL_SUCCESS);                                  \
        CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);                                                                          \
        CHECK(GOAL_Wait(&l) == GOAL_SUCCESS);                                                                          \
        CHECK(GOAL_Wait(&s) == GOAL_SUCCESS);                                                                          \
        CHECK(least[0] == (rank == round % size ? 1 : 77));                                                            \
        CHECK(upto[1] == (type)((rank + 1) * (rank + 2) / 2));                                                         \
        for (i = 0; i < n; i++) {                                                                                      \
            type expected = name##_all(operation, i, round);                                                           \
            CHECK(memcmp(&get[i], &expected, sizeof expected) == 0 || (isnan(get[i]) && isnan(expected)));             \
        }                                                                                                              \
    }

SUMS(doubles, double, uint64_t, GOAL_DOUBLE)
SUMS(floats, float, uint32_t, GOAL_FLOAT)

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 50, round;
    begin("sums");
    rank = me();
    size = ranks();
    CHECK(size <= RANKS);
    for (round = 0; round < rounds; round++) {
        doubles(round);
        floats(round);
    }
    return finish();
}
