/* What is wrong is a code, and nothing hangs: arguments, graphs, messages that do not fit, divisions by zero. */
#include "gtest.h"

static int rank, size;

static void arguments(void)
{
    GOAL_Graph g = NULL, other;
    GOAL_Schedule s = NULL;
    GOAL_Handle h = GOAL_HANDLE_NULL;
    GOAL_Op a, b;
    int done, x[2] = {0, 0};
    size_t at;
    char text[8], why[200] = "";

    CHECK(GOAL_Init() == GOAL_SUCCESS);
    CHECK(GOAL_Rank(NULL) == GOAL_ERR_ARGUMENT);
    CHECK(GOAL_Create(NULL) == GOAL_ERR_ARGUMENT);
    CHECK(GOAL_Compile(g, &s) == GOAL_ERR_ARGUMENT);
    CHECK(GOAL_Run(s, &h) == GOAL_ERR_ARGUMENT);
    CHECK(GOAL_Test(&h, &done) == GOAL_SUCCESS && done == 1);
    CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
    CHECK(GOAL_Test(NULL, &done) == GOAL_ERR_ARGUMENT);
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    CHECK(GOAL_Send(g, x, GOAL_USERSPACE, 4, size, 0, NULL) == GOAL_ERR_RANK);
    CHECK(GOAL_Recv(g, x, GOAL_USERSPACE, 4, -1, 0, NULL) == GOAL_ERR_RANK);
    CHECK(GOAL_Send(g, x, GOAL_USERSPACE, 4, 0, -1, NULL) == GOAL_ERR_ARGUMENT);
    CHECK(GOAL_Send(g, NULL, GOAL_USERSPACE, 4, 0, 0, NULL) == GOAL_ERR_ARGUMENT);
    CHECK(GOAL_Send(g, x, -5, 4, 0, 0, NULL) == GOAL_ERR_ARGUMENT);
    CHECK(GOAL_Local(g, 77, GOAL_INT, 1, x, 0, x, 0, NULL) == GOAL_ERR_TYPE);
    CHECK(GOAL_Local(g, GOAL_AND, GOAL_FLOAT, 1, x, 0, x, 0, NULL) == GOAL_ERR_TYPE);
    CHECK(GOAL_Local(g, GOAL_ADD, GOAL_SIGNED(65), 1, x, 0, x, 0, NULL) == GOAL_ERR_TYPE);
    CHECK(GOAL_Requires(g, 0, 0) == GOAL_ERR_OPERATION);
    CHECK(GOAL_Last_error(text, sizeof text) == GOAL_SUCCESS && strlen(text) == 7);
    CHECK(strcmp(GOAL_Error_string(GOAL_ERR_RANK), "no such rank") == 0);
    CHECK(GOAL_Error_string(-1) != NULL && GOAL_Error_string(1000) != NULL);

    /* A circle, and two writers without an order. */
    CHECK(GOAL_Copy(g, x, 0, x + 1, 0, 4, &a) == GOAL_SUCCESS);
    CHECK(GOAL_Requires(g, a, a) == GOAL_ERR_CYCLE);
    CHECK(GOAL_Copy(g, x, 0, x + 1, 0, 4, &b) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &s) == GOAL_ERR_OVERLAP);
    CHECK(GOAL_Last_error(why, sizeof why) == GOAL_SUCCESS && strstr(why, "; operation 1: copy 4 bytes"));
    CHECK(GOAL_Requires(g, a, b) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    CHECK(GOAL_Requires(g, b, a) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &s) == GOAL_ERR_CYCLE);
    CHECK(GOAL_Requires(g, 5, a) == GOAL_ERR_OPERATION);
    other = g;
    CHECK(GOAL_Free_graph(&g) == GOAL_SUCCESS);
    CHECK(GOAL_Free_graph(&g) == GOAL_ERR_ARGUMENT);
    CHECK(GOAL_Free_graph(&other) == GOAL_ERR_ARGUMENT);

    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    CHECK(GOAL_Scratchpad(g, 8, &at) == GOAL_SUCCESS);
    CHECK(GOAL_Copy(g, GOAL_OFFSET(at + 4), GOAL_SCRATCHPAD, x, 0, 8, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &s) == GOAL_ERR_BOUNDS);
    CHECK(GOAL_Free_graph(&g) == GOAL_SUCCESS);

    CHECK(GOAL_Load(x, sizeof x, &s) == GOAL_ERR_FORMAT);
    CHECK(GOAL_Load(NULL, 1, &s) == GOAL_ERR_ARGUMENT);
    CHECK(goal_allreduce(NULL, NULL, 1, GOAL_INT, GOAL_ADD) == GOAL_ERR_ARGUMENT);
    CHECK(goal_allreduce(x, x + 1, 1, GOAL_FLOAT, GOAL_XOR) == GOAL_ERR_TYPE);
    CHECK(goal_broadcast(x, x, 4, size) == GOAL_ERR_RANK);
    CHECK(goal_ibarrier(NULL) == GOAL_ERR_ARGUMENT);
}

/* Runs a graph that fails somewhere: the code here. */
static int outcome(GOAL_Graph g)
{
    GOAL_Schedule s;
    GOAL_Handle h;
    int code;
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    CHECK(GOAL_Run(s, &h) == GOAL_SUCCESS);
    code = GOAL_Wait(&h);
    CHECK(h == GOAL_HANDLE_NULL);
    CHECK(GOAL_Free_schedule(&s) == GOAL_SUCCESS);
    CHECK(GOAL_Free_graph(&g) == GOAL_SUCCESS);
    return code;
}

/* A message longer than its receive, short and long ones. */
static void truncated(size_t bytes)
{
    GOAL_Graph g;
    char *buffer = calloc(1, bytes), *into = calloc(1, bytes);
    int code;
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    if (rank == 0)
        CHECK(GOAL_Send(g, buffer, 0, bytes, size - 1, 0, NULL) == GOAL_SUCCESS);
    if (rank == size - 1)
        CHECK(GOAL_Recv(g, into, 0, bytes - 1, 0, 0, NULL) == GOAL_SUCCESS);
    code = outcome(g);
    if (rank == size - 1)
        CHECK(code == GOAL_ERR_TRUNCATED);
    else if (rank == 0)
        /* A short message has left before anybody looked at its length. */
        CHECK(code == GOAL_SUCCESS || code == GOAL_ERR_TRUNCATED);
    else
        CHECK(code == GOAL_SUCCESS);
    free(buffer);
    free(into);
}

/* Rank 0 divides by zero; who waits for its message ends, too. */
static void division(void)
{
    GOAL_Graph g;
    GOAL_Op div, send;
    int x = 7, zero = 0, got = 0, code;
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    if (rank == 0) {
        CHECK(GOAL_Local(g, GOAL_DIV, GOAL_INT, 1, &x, 0, &zero, 0, &div) == GOAL_SUCCESS);
        CHECK(GOAL_Send(g, &x, 0, sizeof x, size - 1, 0, &send) == GOAL_SUCCESS);
        CHECK(GOAL_Requires(g, send, div) == GOAL_SUCCESS);
    }
    if (rank == size - 1)
        CHECK(GOAL_Recv(g, &got, 0, sizeof got, 0, 0, NULL) == GOAL_SUCCESS);
    code = outcome(g);
    if (rank == 0)
        CHECK(code == GOAL_ERR_DIVISION);
    else
        CHECK(code == (rank == size - 1 ? GOAL_ERR_PEER_FAILED : GOAL_SUCCESS));
}

/* The last rank waits for a message that rank 0 sends with another tag. Rank 0 is done, or waits likewise. */
static void not_sent(int waits)
{
    GOAL_Graph g;
    GOAL_Schedule s;
    int x = 7, got[2] = {0, 0}, code;
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    if (rank == 0)
        CHECK(GOAL_Send(g, &x, 0, sizeof x, size - 1, 1, NULL) == GOAL_SUCCESS);
    if (rank == 0 && waits)
        CHECK(GOAL_Recv(g, &got[0], 0, sizeof x, size - 1, 3, NULL) == GOAL_SUCCESS);
    if (rank == size - 1)
        CHECK(GOAL_Recv(g, &got[1], 0, sizeof x, 0, 2, NULL) == GOAL_SUCCESS);
    /* The engines that know all schedules see it; others do not look. */
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    code = GOAL_Agree(s);
    CHECK(code == GOAL_SUCCESS || code == GOAL_ERR_NOT_SENT);
    CHECK(GOAL_Free_schedule(&s) == GOAL_SUCCESS);
    code = outcome(g);
    if (waits && (rank == 0 || rank == size - 1))
        CHECK(code == GOAL_ERR_NOT_SENT || code == GOAL_ERR_PEER_FAILED);
    else
        CHECK(code == (rank == size - 1 ? GOAL_ERR_NOT_SENT : GOAL_SUCCESS));
}

int main(void)
{
    GOAL_Graph g;
    int sum = 0, one = 1;
    gtest_name = "errors";
    CHECK(GOAL_Create(&g) == GOAL_ERR_STATE);
    CHECK(goal_barrier() == GOAL_ERR_STATE);
    CHECK(GOAL_Finalize() == GOAL_ERR_STATE);
    begin("errors");
    rank = me();
    size = ranks();
    arguments();
    truncated(100);
    truncated(100000);
    division();
    not_sent(0);
    not_sent(1);
    /* And all goes on. */
    CHECK(goal_allreduce(&one, &sum, 1, GOAL_INT, GOAL_ADD) == GOAL_SUCCESS && sum == size);
    return finish();
}
