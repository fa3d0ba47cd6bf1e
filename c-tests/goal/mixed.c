/* Groups drawn from a seed, which overlap, and whose collectives go on at once: each rank begins them, and waits for
 * them, in an order of its own. Arguments: the seed; the first context; a file, for rank 0, into which it writes what
 * all ranks have got, in one number, so that two engines can be compared to the bit. */
/* goal-test: ranks=2 3 4 */
/* goal-test: env=HETMP_GOAL_NONBLOCKING=schedule */
#include "gtest.h"
#include <stdint.h>

enum { GROUPS = 4, MOST = 8, AT_ONCE = 7, ROUNDS = 12, BYTES = 1024, EDGES = 3 * MOST };

static int rank, size;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t next(uint64_t *state) { return mix(*state += 0x9e3779b97f4a7c15u); }

static struct group {
    GOAL_Group group;
    int list[MOST], n, here;
} groups[GROUPS];

static struct one {
    GOAL_Handle h;
    uint8_t give[EDGES * BYTES], get[EDGES * BYTES];
} under_way[GROUPS][AT_ONCE];

/* Some ranks, in some order. The first group has all of them. */
static void draw(struct group *g, int which, int context, uint64_t *state)
{
    int all[MOST], i, k, n = which == 0 ? size : 1 + (int)(next(state) % (uint64_t)size);
    for (i = 0; i < size; i++)
        all[i] = i;
    for (i = 0; i < size; i++) {
        int from = i + (int)(next(state) % (uint64_t)(size - i));
        k = all[i], all[i] = all[from], all[from] = k;
    }
    g->n = 0;
    g->here = -1;
    for (i = 0; i < n; i++) {
        if (all[i] == rank)
            g->here = i;
        g->list[g->n++] = all[i];
    }
    if (g->here >= 0)
        CHECK(GOAL_Group_create(context, g->list, g->n, &g->group) == GOAL_SUCCESS);
}

/* Who sends to whom: how often, from the number alone. */
static int edges(uint64_t salt, int from, int to)
{
    return (int)(mix(salt + (uint64_t)(from * MOST + to + 1) * 0x2545f4914f6cdd1du) % 3);
}

/* Fills a block with numbers of a type, none of which is an infinity. */
static void fill(uint8_t *block, int type, uint64_t salt)
{
    int i;
    for (i = 0; i < EDGES * BYTES / 8; i++) {
        uint64_t x = mix(salt + (uint64_t)i * 77);
        double d = ((double)(x >> 11) / 9007199254740992.0 - 0.4) * (double)(1 + (x & 1023));
        float f[2] = {(float)d, (float)(d * 3.7)};
        memcpy(block + i * 8, type == GOAL_DOUBLE ? (void *)&d : type == GOAL_FLOAT ? (void *)f : (void *)&x, 8);
    }
}

static void start(struct group *g, struct one *o, uint64_t salt)
{
    static const int types[] = {GOAL_DOUBLE, GOAL_FLOAT, GOAL_LONG, GOAL_DOUBLE};
    static const int operations[] = {GOAL_ADD, GOAL_MAX, GOAL_MULT, GOAL_MIN};
    int sources[EDGES], destinations[EDGES], n = 0, m = 0, k, i, code = -1;
    uint64_t x = mix(salt);
    int type = types[x & 3], operation = operations[x >> 2 & 3], root = (int)((x >> 4) % (uint64_t)g->n);
    size_t count = 1 + (x >> 12) % 17, bytes = (x >> 20) % 100;
    fill(o->give, type, salt + (uint64_t)(g->here + 1) * 0x51ed270b0a1full);
    memset(o->get, 0, sizeof o->get);
    for (i = 0; i < g->n; i++) {
        for (k = edges(salt, i, g->here); k > 0; k--)
            sources[n++] = i;
        for (k = edges(salt, g->here, i); k > 0; k--)
            destinations[m++] = i;
    }
    switch (x >> 40 & 7) {
    case 0: code = goal_group_ibarrier(g->group, &o->h); break;
    case 1: code = goal_group_ibroadcast(g->group, o->give, o->get, bytes, root, &o->h); break;
    case 2:
        code = goal_group_ireduce(g->group, o->give, o->get, count, type, operation, root, &o->h);
        break;
    case 3: code = goal_group_iallreduce(g->group, o->give, o->get, count, type, operation, &o->h); break;
    case 4: code = goal_group_iallgather(g->group, o->give, o->get, bytes, &o->h); break;
    case 5: code = goal_group_iscan(g->group, o->give, o->get, count, type, operation, &o->h); break;
    case 6:
        code =
            goal_group_ineighbor_allgather(g->group, sources, n, destinations, m, o->give, o->get, bytes * 10, &o->h);
        break;
    case 7:
        code = goal_group_ineighbor_alltoall(g->group, sources, n, destinations, m, o->give, o->get, bytes * 10, &o->h);
        break;
    }
    CHECK(code == GOAL_SUCCESS);
}

/* All places `0..n` in an order that is this rank's. */
static void shuffle(int *order, int n, uint64_t *state)
{
    int i, k;
    for (i = 0; i < n; i++)
        order[i] = i;
    for (i = 0; i < n; i++) {
        int from = i + (int)(next(state) % (uint64_t)(n - i));
        k = order[i], order[i] = order[from], order[from] = k;
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, common = seed, mine, digest = seed, *all;
    int context = argc > 2 ? atoi(argv[2]) : 1, order[GROUPS * AT_ONCE], begun[GROUPS], i, k, round;
    begin("mixed");
    rank = me();
    size = ranks();
    CHECK(size <= MOST);
    mine = mix(seed + (uint64_t)(rank + 1) * 1000);
    for (i = 0; i < GROUPS; i++)
        draw(&groups[i], i, context + i, &common);
    for (round = 0; round < ROUNDS; round++) {
        memset(begun, 0, sizeof begun);
        shuffle(order, GROUPS * AT_ONCE, &mine);
        for (i = 0; i < GROUPS * AT_ONCE; i++) {
            int which = order[i] % GROUPS;
            k = begun[which]++;
            if (groups[which].here >= 0)
                start(&groups[which], &under_way[which][k],
                      mix(seed * 1000003 + (uint64_t)(which * 10007 + round * 101 + k)));
        }
        shuffle(order, GROUPS * AT_ONCE, &mine);
        for (i = 0; i < GROUPS * AT_ONCE; i++) {
            struct one *o = &under_way[order[i] % GROUPS][order[i] / GROUPS];
            if (groups[order[i] % GROUPS].here >= 0)
                CHECK(GOAL_Wait(&o->h) == GOAL_SUCCESS);
        }
        for (i = 0; i < GROUPS * AT_ONCE; i++)
            for (k = 0; groups[i % GROUPS].here >= 0 && k < EDGES * BYTES; k++)
                digest = (digest ^ under_way[i % GROUPS][i / GROUPS].get[k]) * 0x100000001b3u;
    }
    for (i = 0; i < GROUPS; i++)
        CHECK(groups[i].here < 0 || GOAL_Group_free(&groups[i].group) == GOAL_SUCCESS);
    all = calloc((size_t)size, sizeof *all);
    CHECK(all != NULL && goal_allgather(&digest, all, sizeof digest) == GOAL_SUCCESS);
    if (argc > 3 && rank == 0) {
        FILE *f = fopen(argv[3], "w");
        CHECK(f != NULL);
        for (i = 0; i < size; i++)
            fprintf(f, "%016llx\n", (unsigned long long)all[i]);
        fclose(f);
    }
    free(all);
    return finish();
}
