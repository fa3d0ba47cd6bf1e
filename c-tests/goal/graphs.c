/* The paper's interface: graphs of sends, receives and local operations, compiled once, run many times, several at
   once. */
#include "gtest.h"

static int rank, size;

/* A token that goes around, each rank adding its number, in the scratchpad. */
static void token(void)
{
    GOAL_Graph g;
    GOAL_Schedule s;
    GOAL_Handle h[4];
    GOAL_Op recv, add, send, back;
    size_t at;
    long mine = rank + 1, sum = 0, zero = 0;
    int i, left = (rank + size - 1) % size, right = (rank + 1) % size;

    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    CHECK(GOAL_Scratchpad(g, sizeof(long), &at) == GOAL_SUCCESS);
    if (rank == 0) {
        CHECK(GOAL_Copy(g, GOAL_OFFSET(at), GOAL_SCRATCHPAD, &zero, GOAL_USERSPACE, sizeof(long), &recv) ==
              GOAL_SUCCESS);
    } else {
        CHECK(GOAL_Recv(g, GOAL_OFFSET(at), GOAL_SCRATCHPAD, sizeof(long), left, 5, &recv) == GOAL_SUCCESS);
    }
    CHECK(GOAL_Local(g, GOAL_ADD, GOAL_LONG, 1, GOAL_OFFSET(at), GOAL_SCRATCHPAD, &mine, GOAL_USERSPACE, &add) ==
          GOAL_SUCCESS);
    CHECK(GOAL_Requires(g, add, recv) == GOAL_SUCCESS);
    CHECK(GOAL_Send(g, GOAL_OFFSET(at), GOAL_SCRATCHPAD, sizeof(long), right, 5, &send) == GOAL_SUCCESS);
    CHECK(GOAL_Requires(g, send, add) == GOAL_SUCCESS);
    if (rank == 0) {
        CHECK(GOAL_Recv(g, &sum, GOAL_USERSPACE, sizeof(long), left, 5, &back) == GOAL_SUCCESS);
    }
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    CHECK(GOAL_Free_graph(&g) == GOAL_SUCCESS && g == NULL);
    for (i = 0; i < 30; i++) {
        sum = -1;
        CHECK(GOAL_Run(s, &h[0]) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&h[0]) == GOAL_SUCCESS);
        CHECK(rank != 0 || sum == (long)size * (size + 1) / 2);
    }
    /* Runs of one schedule at once share the user's buffers: all write the same. */
    CHECK(goal_barrier() == GOAL_SUCCESS);
    if (rank != 0) {
        for (i = 0; i < 4; i++)
            CHECK(GOAL_Run(s, &h[i]) == GOAL_SUCCESS);
        CHECK(GOAL_Free_schedule(&s) == GOAL_SUCCESS);
        for (i = 0; i < 4; i++)
            CHECK(GOAL_Wait(&h[3 - i]) == GOAL_SUCCESS);
    } else {
        for (i = 0; i < 4; i++) {
            CHECK(GOAL_Run(s, &h[0]) == GOAL_SUCCESS);
            CHECK(GOAL_Wait(&h[0]) == GOAL_SUCCESS);
            CHECK(sum == (long)size * (size + 1) / 2);
        }
        CHECK(GOAL_Free_schedule(&s) == GOAL_SUCCESS);
    }
}

/* Pieces: gathered at the sender in one order, scattered at the receiver in another; to oneself, too. */
static void pieces(void)
{
    GOAL_Graph g;
    GOAL_Schedule s;
    GOAL_Handle h;
    static int out[3000], in[3000];
    GOAL_Piece from[3], into[2];
    int i, to = (rank + 1) % size, source = (rank + size - 1) % size;

    for (i = 0; i < 3000; i++) {
        out[i] = rank * 10000 + i;
        in[i] = -1;
    }
    from[0].start = out + 2000;
    from[0].bytes = 1000 * sizeof(int);
    from[1].start = out;
    from[1].bytes = 0;
    from[2].start = out;
    from[2].bytes = 2000 * sizeof(int);
    into[0].start = in + 1500;
    into[0].bytes = 1500 * sizeof(int);
    into[1].start = in;
    into[1].bytes = 1500 * sizeof(int);
    from[0].space = from[1].space = from[2].space = into[0].space = into[1].space = GOAL_USERSPACE;
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    CHECK(GOAL_Sendv(g, from, 3, to, 0, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Recvv(g, into, 2, source, 0, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    CHECK(GOAL_Run(s, &h) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
    for (i = 0; i < 3000; i++) {
        int sent = i < 1000 ? 2000 + i : i - 1000;
        int at = i < 1500 ? 1500 + i : i - 1500;
        CHECK(in[at] == source * 10000 + sent);
    }
    CHECK(GOAL_Free_schedule(&s) == GOAL_SUCCESS);
    CHECK(GOAL_Free_graph(&g) == GOAL_SUCCESS);
}

/* One schedule on other buffers in each run, in a context of its own; with times. */
static void bound(void)
{
    GOAL_Graph g;
    GOAL_Schedule s;
    GOAL_Handle h[3];
    GOAL_Op first, recv, last;
    long long begun = 0, ended = 0;
    double give[3][64], get[3][64];
    int a, b, i, k, to = (rank + 1) % size, source = (rank + size - 1) % size;

    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    CHECK(GOAL_Bind(g, sizeof give[0], &a) == GOAL_SUCCESS && a == GOAL_SEGMENT(0));
    CHECK(GOAL_Bind(g, sizeof get[0], &b) == GOAL_SUCCESS && b == GOAL_SEGMENT(1));
    CHECK(GOAL_Timestamp(g, &begun, GOAL_USERSPACE, &first) == GOAL_SUCCESS);
    CHECK(GOAL_Send(g, GOAL_OFFSET(0), a, sizeof give[0], to, 1, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Recv(g, GOAL_OFFSET(0), b, sizeof get[0], source, 1, &recv) == GOAL_SUCCESS);
    CHECK(GOAL_Local(g, GOAL_MULT, GOAL_DOUBLE, 64, GOAL_OFFSET(0), b, GOAL_OFFSET(0), a, &last) == GOAL_SUCCESS);
    CHECK(GOAL_Requires(g, recv, first) == GOAL_SUCCESS);
    CHECK(GOAL_Requires(g, last, recv) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    for (k = 0; k < 3; k++) {
        void *segments[2];
        size_t bytes[2];
        segments[0] = give[k];
        segments[1] = get[k];
        bytes[0] = bytes[1] = sizeof give[0];
        for (i = 0; i < 64; i++)
            give[k][i] = rank + 1 + i + k;
        CHECK(GOAL_Run_bound(s, 7, segments, bytes, 1, &h[k]) == GOAL_ERR_BOUNDS);
        bytes[1]--;
        CHECK(GOAL_Run_bound(s, 7, segments, bytes, 2, &h[k]) == GOAL_ERR_BOUNDS);
        bytes[1]++;
        CHECK(GOAL_Run_bound(s, 7, segments, bytes, 2, &h[k]) == GOAL_SUCCESS);
    }
    for (k = 0; k < 3; k++) {
        CHECK(GOAL_Wait(&h[k]) == GOAL_SUCCESS);
        for (i = 0; i < 64; i++)
            CHECK(get[k][i] == (double)(source + 1 + i + k) * (rank + 1 + i + k));
    }
    CHECK(begun > 0 && ended == 0);
    CHECK(GOAL_Free_schedule(&s) == GOAL_SUCCESS);
    CHECK(GOAL_Free_graph(&g) == GOAL_SUCCESS);
}

int main(void)
{
    begin("graphs");
    rank = me();
    size = ranks();
    token();
    pieces();
    bound();
    return finish();
}
