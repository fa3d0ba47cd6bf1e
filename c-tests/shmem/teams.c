/* Teams: predefined ones, strided and two-dimensional splits, teams of teams, translation, configuration, invalid
 * handles, destruction: "Team Management". */
#include "shtest.h"

static long box[2];

/* The team must be exactly the world's PEs `at(0)`, `at(stride)` ... in this order. */
static void is(shmem_team_t team, int start, int stride, int size) {
    int place = -1;
    for (int i = 0; i < size; i++) {
        if (start + i * stride == me) {
            place = i;
        }
    }
    if (place < 0) {
        CHECK(team == SHMEM_TEAM_INVALID);
        CHECK(shmem_team_my_pe(team) == -1 && shmem_team_n_pes(team) == -1);
        return;
    }
    CHECK(team != SHMEM_TEAM_INVALID);
    CHECKF(shmem_team_my_pe(team) == place, "%d, not %d", shmem_team_my_pe(team), place);
    CHECKF(shmem_team_n_pes(team) == size, "%d, not %d", shmem_team_n_pes(team), size);
    for (int i = 0; i < size; i++) {
        CHECK(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD) == start + i * stride);
        CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, start + i * stride, team) == i);
        CHECK(shmem_team_translate_pe(team, i, team) == i);
    }
    CHECK(shmem_team_translate_pe(team, size, SHMEM_TEAM_WORLD) == -1);
    CHECK(shmem_team_translate_pe(team, -1, SHMEM_TEAM_WORLD) == -1);
    for (int pe = 0; pe < npes; pe++) {
        int inside = 0;
        for (int i = 0; i < size; i++) {
            inside |= start + i * stride == pe;
        }
        CHECK(inside || shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team) == -1);
    }
    /* It synchronizes, and nobody else takes part. */
    for (int i = 0; i < 5; i++) {
        CHECK(shmem_team_sync(team) == 0);
    }
}

static void split(int start, int stride, int size) {
    shmem_team_t team = (shmem_team_t)&box;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team) == 0);
    is(team, start, stride, size);
    shmem_team_destroy(team);
}

static void strided(void) {
    for (int start = 0; start < npes; start++) {
        for (int stride = 1; stride <= npes; stride++) {
            int most = (npes - start + stride - 1) / stride;
            split(start, stride, most);
            if (most > 1) {
                split(start, stride, most - 1);
            }
        }
    }
    /* Backwards, and one PE with a stride of zero. */
    split(npes - 1, -1, npes);
    if (npes >= 3) {
        split(npes - 1, -2, (npes + 1) / 2);
    }
    for (int pe = 0; pe < npes; pe++) {
        split(pe, 0, 1);
    }
}

static void nested(void) {
    shmem_team_t evens, fourths, odd;
    int even_count = (npes + 1) / 2;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, even_count, NULL, 0, &evens) == 0);
    is(evens, 0, 2, even_count);
    if (evens != SHMEM_TEAM_INVALID) {
        CHECK(shmem_team_split_strided(evens, 0, 2, (even_count + 1) / 2, NULL, 0, &fourths) == 0);
        is(fourths, 0, 4, (even_count + 1) / 2);
        /* Numbers of one team in another. */
        if (fourths != SHMEM_TEAM_INVALID) {
            CHECK(shmem_team_translate_pe(fourths, 0, evens) == 0);
            CHECK((even_count + 1) / 2 < 2 || shmem_team_translate_pe(fourths, 1, evens) == 2);
        }
        shmem_team_destroy(fourths);
    }
    if (npes > 1) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, npes / 2, NULL, 0, &odd) == 0);
        is(odd, 1, 2, npes / 2);
        if (odd != SHMEM_TEAM_INVALID) {
            CHECK(shmem_team_translate_pe(odd, 0, evens) == -1);
            CHECK(evens == SHMEM_TEAM_INVALID);
        }
        shmem_team_destroy(odd);
    }
    shmem_team_destroy(evens);
}

static void grids(void) {
    for (int xrange = 1; xrange <= npes + 2; xrange++) {
        shmem_team_t x, y;
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &x, NULL, 0, &y) == 0);
        int range = xrange > npes ? npes : xrange;
        int row = me / range, column = me % range;
        int width = npes - row * range < range ? npes - row * range : range;
        int height = (npes - column + range - 1) / range;
        is(x, row * range, 1, width);
        is(y, column, range, height);
        CHECK(shmem_team_my_pe(x) == column && shmem_team_my_pe(y) == row);
        shmem_team_destroy(x);
        shmem_team_destroy(y);
    }
}

static void contexts(void) {
    shmem_team_config_t config = {.num_contexts = 3}, found = {.num_contexts = -1};
    shmem_team_t team;
    int size = (npes + 1) / 2;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, size, &config, SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
    CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &found) != 0);
    CHECK(found.num_contexts == -1);
    if (team == SHMEM_TEAM_INVALID) {
        return;
    }
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &found) == 0);
    CHECKF(found.num_contexts >= 3, "%d", found.num_contexts);
    CHECK(shmem_team_get_config(team, 0, NULL) == 0);
    shmem_ctx_t ctx[3];
    static const long options[3] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE};
    for (int i = 0; i < 3; i++) {
        CHECK(shmem_team_create_ctx(team, options[i], &ctx[i]) == 0);
        shmem_team_t back = SHMEM_TEAM_INVALID;
        CHECK(shmem_ctx_get_team(ctx[i], &back) == 0);
        CHECK(shmem_team_n_pes(back) == size && shmem_team_my_pe(back) == npes - 1 - me);
        CHECK(back == team);
    }
    /* PE numbers of a team's context are the team's. */
    int mine = shmem_team_my_pe(team);
    for (int i = 0; i < 3; i++) {
        int target = (mine + 1) % size;
        box[0] = -1;
        shmem_team_sync(team);
        shmem_ctx_long_p(ctx[i], &box[0], mine * 10 + i, target);
        shmem_ctx_quiet(ctx[i]);
        shmem_team_sync(team);
        CHECKF(box[0] == (mine + size - 1) % size * 10 + i, "%ld", box[0]);
        CHECK(shmem_ctx_long_g(ctx[i], &box[0], target) == mine * 10 + i);
        CHECK(shmem_ctx_long_atomic_fetch(ctx[i], &box[0], target) == mine * 10 + i);
        shmem_team_sync(team);
    }
    for (int i = 0; i < 3; i++) {
        shmem_ctx_destroy(ctx[i]);
    }
    shmem_team_sync(team);
    shmem_team_destroy(team);
}

static void invalid(void) {
    shmem_team_t team = SHMEM_TEAM_WORLD, other = SHMEM_TEAM_WORLD;
    CHECK(SHMEM_TEAM_WORLD != SHMEM_TEAM_INVALID && SHMEM_TEAM_SHARED != SHMEM_TEAM_INVALID);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    team = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &team, NULL, 0, &other) != 0);
    CHECK(team == SHMEM_TEAM_INVALID && other == SHMEM_TEAM_INVALID);
    /* More PEs than there are. */
    team = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes + 1, NULL, 0, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
    shmem_team_t of = SHMEM_TEAM_WORLD;
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &of) != 0 && of == SHMEM_TEAM_INVALID);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &of) == 0 && of == SHMEM_TEAM_WORLD);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
    CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) == 0);
}

int main(void) {
    test_begin();
    is(SHMEM_TEAM_WORLD, 0, 1, npes);
    /* The shared team holds those whose memory is reachable by shmem_ptr. */
    int shared = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    CHECK(shared >= 1 && shared <= npes);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_SHARED, shmem_team_my_pe(SHMEM_TEAM_SHARED), SHMEM_TEAM_WORLD) == me);
    for (int i = 0; i < shared; i++) {
        int pe = shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD);
        CHECK(pe >= 0 && (pe == me || shared == 1 || shmem_ptr(box, pe) != NULL));
    }
    strided();
    nested();
    grids();
    contexts();
    shmem_barrier_all();
    invalid();
    /* Many after each other, and many at once. */
    for (int i = 0; i < rounds(60); i++) {
        split(0, 1, npes);
    }
    shmem_team_t many[24];
    for (int i = 0; i < 24; i++) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &many[i]) == 0);
    }
    for (int i = 24; i-- > 0;) {
        is(many[i], 0, 1, npes);
        shmem_team_destroy(many[i]);
    }
    return test_end("teams");
}
