/* The nonblocking collectives that libhetmp_mpi.so takes, and every way to wait for them, in a program that knows MPI
 * only. Each result is compared with what the arguments say. Rank 0 prints one line, which is the same with and without
 * the library. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, n, world_me;
static long checks;

static void fail(const char *what, long index, long got, long wanted) {
    fprintf(stderr, "%s: rank %d of %d: %ld at %ld, not %ld\n", what, me, n, got, index, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void same(const char *what, long index, long got, long wanted) {
    checks++;
    if (got != wanted) fail(what, index, got, wanted);
}

/* What rank `r` gives at element i. */
static int given(int r, int i) { return 1000 * r + 7 * i + 1; }

/* The sum of the first `ranks` ranks. */
static int sum_of(int ranks, int i) { return 1000 * ranks * (ranks - 1) / 2 + ranks * (7 * i + 1); }
static int sum(int i) { return sum_of(n, i); }

static void user_sum(void *in, void *out, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++) ((int *)out)[i] += ((int *)in)[i];
}

static void wait_one(MPI_Request *q) {
    MPI_Status s;
    MPI_Wait(q, &s);
    same("null after wait", 0, *q == MPI_REQUEST_NULL, 1);
}

/* Gathers at a root and scatters from it: plainly, in place, and with a derived type on the root's side alone. `b` has
 * twice the room of `a`, which has `count` elements for each rank. */
static void to_and_from(MPI_Comm comm, int root, int count, int *a, int *b) {
    MPI_Request q;
    int here = me == root, big = count * n;
    MPI_Datatype spread;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    for (int i = 0; i < count; i++) a[i] = given(me, i);
    MPI_Igather(a, count, MPI_INT, here ? b : NULL, count, MPI_INT, root, comm, &q);
    wait_one(&q);
    for (int i = 0; here && i < big; i++) same("Igather", i, b[i], given(i / count, i % count));
    for (int i = 0; i < big; i++) b[i] = i / count == me ? given(me, i % count) : -1;
    MPI_Igather(here ? MPI_IN_PLACE : a, count, MPI_INT, b, count, MPI_INT, root, comm, &q);
    wait_one(&q);
    for (int i = 0; here && i < big; i++) same("Igather in place", i, b[i], given(i / count, i % count));
    for (int i = 0; i < 2 * big; i++) b[i] = -5;
    MPI_Igather(a, count, MPI_INT, b, here ? count : -1, here ? spread : MPI_DATATYPE_NULL, root, comm, &q);
    wait_one(&q);
    for (int i = 0; here && i < 2 * big; i++)
        same("Igather to a vector", i, b[i], i % 2 ? -5 : given(i / 2 / count, i / 2 % count));
    for (int i = 0; i < big; i++) b[i] = here ? given(root, i) : -1;
    for (int i = 0; i < count; i++) a[i] = -1;
    MPI_Iscatter(here ? b : NULL, count, MPI_INT, a, count, MPI_INT, root, comm, &q);
    wait_one(&q);
    for (int i = 0; i < count; i++) same("Iscatter", i, a[i], given(root, me * count + i));
    for (int i = 0; i < count; i++) a[i] = -1;
    MPI_Iscatter(b, count, MPI_INT, here ? MPI_IN_PLACE : a, count, MPI_INT, root, comm, &q);
    wait_one(&q);
    for (int i = 0; i < count; i++)
        same("Iscatter in place", i, here ? b[me * count + i] : a[i], given(root, me * count + i));
    for (int i = 0; i < 2 * big; i++) b[i] = i % 2 ? -5 : given(root, i / 2);
    MPI_Iscatter(b, here ? count : -1, here ? spread : MPI_DATATYPE_NULL, a, count, MPI_INT, root, comm, &q);
    MPI_Type_free(&spread);
    wait_one(&q);
    for (int i = 0; i < count; i++) same("Iscatter from a vector", i, a[i], given(root, me * count + i));
}

/* All collectives on `comm`, with `count` elements. */
static void all_of(MPI_Comm comm, int count) {
    MPI_Request q;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    int big = count * n;
    int *a = malloc(sizeof(int) * (size_t)big), *b = malloc(sizeof(int) * (size_t)big * 2);
    double *d = malloc(sizeof(double) * (size_t)count), *e = malloc(sizeof(double) * (size_t)count);
    MPI_Ibarrier(comm, &q);
    wait_one(&q);
    for (int root = 0; root < n; root++) {
        for (int i = 0; i < count; i++) a[i] = me == root ? given(root, i) : -1;
        MPI_Ibcast(a, count, MPI_INT, root, comm, &q);
        wait_one(&q);
        for (int i = 0; i < count; i++) same("Ibcast", i, a[i], given(root, i));
        /* MPI_IN_PLACE, which only the root gives. */
        for (int i = 0; i < count; i++) a[i] = given(me, i), b[i] = given(me, i);
        MPI_Ireduce(me == root ? MPI_IN_PLACE : a, me == root ? b : NULL, count, MPI_INT, MPI_SUM, root, comm, &q);
        wait_one(&q);
        for (int i = 0; me == root && i < count; i++) same("Ireduce", i, b[i], sum(i));
        /* A derived type at the root only: the signatures agree, the types do not. */
        MPI_Datatype spread;
        MPI_Type_vector(count, 1, 2, MPI_INT, &spread);
        MPI_Type_commit(&spread);
        for (int i = 0; i < 2 * count; i++) b[i] = me == root && i % 2 == 0 ? given(root, i / 2) : -5;
        if (me == root)
            MPI_Ibcast(b, 1, spread, root, comm, &q);
        else
            MPI_Ibcast(a, count, MPI_INT, root, comm, &q);
        wait_one(&q);
        for (int i = 0; me != root && i < count; i++) same("Ibcast of a vector", i, a[i], given(root, i));
        /* And at all others; the type is freed before the end. */
        for (int i = 0; i < count; i++) a[i] = given(root, 2 * i);
        for (int i = 0; i < 2 * count; i++) b[i] = -5;
        if (me == root)
            MPI_Ibcast(a, count, MPI_INT, root, comm, &q);
        else
            MPI_Ibcast(b, 1, spread, root, comm, &q);
        MPI_Type_free(&spread);
        wait_one(&q);
        for (int i = 0; me != root && i < 2 * count - 1; i++)
            same("Ibcast to a vector", i, b[i], i % 2 ? -5 : given(root, i));
        to_and_from(comm, root, count, a, b);
    }
    for (int i = 0; i < count; i++) a[i] = given(me, i), b[i] = -1;
    MPI_Iscan(a, b, count, MPI_INT, MPI_SUM, comm, &q);
    wait_one(&q);
    for (int i = 0; i < count; i++) same("Iscan", i, b[i], sum_of(me + 1, i));
    MPI_Iscan(MPI_IN_PLACE, a, count, MPI_INT, MPI_MAX, comm, &q);
    wait_one(&q);
    for (int i = 0; i < count; i++) same("Iscan in place", i, a[i], given(me, i));
    for (int i = 0; i < count; i++) a[i] = given(me, i), b[i] = -1;
    MPI_Iexscan(a, b, count, MPI_INT, MPI_SUM, comm, &q);
    wait_one(&q);
    for (int i = 0; me && i < count; i++) same("Iexscan", i, b[i], sum_of(me, i));
    MPI_Iexscan(MPI_IN_PLACE, a, count, MPI_INT, MPI_MAX, comm, &q);
    wait_one(&q);
    for (int i = 0; me && i < count; i++) same("Iexscan in place", i, a[i], given(me - 1, i));
    for (int i = 0; i < count; i++) a[i] = given(me, i), d[i] = given(me, i);
    MPI_Iallreduce(a, b, count, MPI_INT, MPI_SUM, comm, &q);
    wait_one(&q);
    for (int i = 0; i < count; i++) same("Iallreduce", i, b[i], sum(i));
    MPI_Iallreduce(MPI_IN_PLACE, d, count, MPI_DOUBLE, MPI_SUM, comm, &q);
    wait_one(&q);
    for (int i = 0; i < count; i++) same("Iallreduce of doubles", i, (long)d[i], sum(i));
    MPI_Iallreduce(a, b, count, MPI_INT, MPI_MAX, comm, &q);
    wait_one(&q);
    for (int i = 0; i < count; i++) same("maximum", i, b[i], given(n - 1, i));
    MPI_Iallreduce(a, b, count, MPI_INT, MPI_BXOR, comm, &q);
    wait_one(&q);
    for (int i = 0; i < count; i++) {
        int x = 0;
        for (int r = 0; r < n; r++) x ^= given(r, i);
        same("exclusive or", i, b[i], x);
    }
    /* What GOAL does not take. */
    MPI_Op op;
    MPI_Op_create(user_sum, 1, &op);
    MPI_Iallreduce(a, b, count, MPI_INT, op, comm, &q);
    wait_one(&q);
    MPI_Op_free(&op);
    for (int i = 0; i < count; i++) same("operation of the program", i, b[i], sum(i));
    MPI_Iallreduce(a, b, count, MPI_INT, MPI_LAND, comm, &q);
    wait_one(&q);
    /* One rank alone gets its own value. */
    for (int i = 0; i < count; i++) same("logical and", i, b[i], n > 1 ? 1 : given(0, i));
    MPI_Ibcast(a, 0, MPI_INT, 0, comm, &q);
    wait_one(&q);

    for (int i = 0; i < big; i++) a[i] = given(me, i);
    MPI_Ireduce_scatter_block(a, b, count, MPI_INT, MPI_SUM, comm, &q);
    wait_one(&q);
    for (int i = 0; i < count; i++) same("Ireduce_scatter_block", i, b[i], sum(me * count + i));
    MPI_Ialltoall(a, count, MPI_INT, b, count, MPI_INT, comm, &q);
    wait_one(&q);
    for (int i = 0; i < big; i++) same("Ialltoall", i, b[i], given(i / count, me * count + i % count));
    for (int i = 0; i < big; i++) b[i] = given(me, i);
    MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INT, b, count, MPI_INT, comm, &q);
    wait_one(&q);
    for (int i = 0; i < big; i++) same("Ialltoall in place", i, b[i], given(i / count, me * count + i % count));
    /* Bytes on one side, integers on the other. */
    MPI_Iallgather(a, count, MPI_INT, b, count, MPI_INT, comm, &q);
    wait_one(&q);
    for (int i = 0; i < big; i++) same("Iallgather", i, b[i], given(i / count, i % count));
    for (int i = 0; i < big; i++) b[i] = i / count == me ? given(me, i % count) : -1;
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_INT, b, count, MPI_INT, comm, &q);
    wait_one(&q);
    for (int i = 0; i < big; i++) same("Iallgather in place", i, b[i], given(i / count, i % count));
    MPI_Datatype spread;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    for (int i = 0; i < 2 * big; i++) b[i] = -5;
    MPI_Iallgather(a, count, MPI_INT, b, count, spread, comm, &q);
    wait_one(&q);
    MPI_Type_free(&spread);
    for (int i = 0; i < 2 * big; i++)
        same("Iallgather to a vector", i, b[i], i % 2 ? -5 : given(i / 2 / count, i / 2 % count));
    free(a), free(b), free(d), free(e);
}

/* Every function that waits, with requests of collectives and of messages together. */
static void all_waits(MPI_Comm comm) {
    enum { MANY = 6 };
    MPI_Request q[MANY];
    MPI_Status s[MANY];
    int in[MANY], out[MANY], indices[MANY], done, index, count;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int way = 0; way < 7; way++) {
        int to = (me + 1) % n, from = (me + n - 1) % n;
        for (int i = 0; i < MANY; i++) in[i] = given(me, i + way), out[i] = -1;
        MPI_Irecv(&out[0], 1, MPI_INT, from, way, comm, &q[0]);
        MPI_Iallreduce(&in[1], &out[1], 1, MPI_INT, MPI_SUM, comm, &q[1]);
        q[2] = MPI_REQUEST_NULL;
        MPI_Ibarrier(comm, &q[3]);
        MPI_Isend(&in[0], 1, MPI_INT, to, way, comm, &q[4]);
        MPI_Iallreduce(&in[5], &out[5], 1, MPI_INT, MPI_MIN, comm, &q[5]);
        int open = 5;
        switch (way) {
        case 0: MPI_Waitall(MANY, q, s); break;
        case 1: MPI_Waitall(MANY, q, MPI_STATUSES_IGNORE); break;
        case 2:
            for (done = 0; !done;) MPI_Testall(MANY, q, &done, s);
            break;
        case 3:
            for (; open; open--) {
                MPI_Waitany(MANY, q, &index, s);
                same("Waitany", index, index >= 0 && index < MANY && q[index] == MPI_REQUEST_NULL, 1);
            }
            MPI_Waitany(MANY, q, &index, s);
            same("Waitany of none", 0, index, MPI_UNDEFINED);
            break;
        case 4:
            while (open) {
                MPI_Testany(MANY, q, &index, &done, s);
                if (done) same("Testany", index, q[index] == MPI_REQUEST_NULL, 1), open--;
            }
            break;
        case 5:
            while (open) {
                MPI_Waitsome(MANY, q, &count, indices, s);
                if (count < 1 || count > open) fail("Waitsome", way, count, open);
                open -= count;
            }
            break;
        case 6:
            while (open) {
                MPI_Testsome(MANY, q, &count, indices, s);
                open -= count;
            }
            break;
        }
        for (int i = 0; i < MANY; i++) same("null at the end", i, q[i] == MPI_REQUEST_NULL, 1);
        same("message", way, out[0], given(from, way));
        same("sum", way, out[1], sum(1 + way));
        same("minimum", way, out[5], given(0, 5 + way));
    }
    MPI_Ibarrier(comm, &q[0]);
    do {
        MPI_Request_get_status(q[0], &done, s);
    } while (!done);
    same("still there", 0, q[0] != MPI_REQUEST_NULL, 1);
    MPI_Test(&q[0], &done, s);
    same("done and gone", 0, done && q[0] == MPI_REQUEST_NULL, 1);
}

/* A rank begins its collective only after a message that comes after another rank's. */
static void begins_late(MPI_Comm comm) {
    MPI_Request q;
    int token = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    if (me > 0) MPI_Recv(&token, 1, MPI_INT, me - 1, 77, comm, MPI_STATUS_IGNORE);
    MPI_Ibarrier(comm, &q);
    if (me + 1 < n) MPI_Send(&token, 1, MPI_INT, me + 1, 77, comm);
    wait_one(&q);
}

/* Collectives of two communicators, begun in another order on every second rank. */
static void two_orders(void) {
    MPI_Comm a, b;
    MPI_Request q[2];
    int in[2], out[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(MPI_COMM_WORLD, &b);
    me = world_me;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < 2; i++) in[i] = given(me, turn + 100 * i);
        for (int k = 0; k < 2; k++) {
            int which = (k + me + turn) % 2;
            MPI_Iallreduce(&in[which], &out[which], 1, MPI_INT, MPI_SUM, which ? b : a, &q[which]);
        }
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 2; i++) same("two orders", turn, out[i], sum(turn + 100 * i));
    }
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
}

static void neighbours(int periodic) {
    MPI_Comm line, graph;
    MPI_Request q;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int dims[1] = {n}, periods[1] = {periodic};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &line);
    me = world_me;
    int in[4] = {given(me, 0), given(me, 1), given(me, 2), given(me, 3)}, out[4] = {-5, -5, -5, -5};
    int lower = (me + n - 1) % n, upper = (me + 1) % n;
    /* With two ranks in a circle both neighbours are one rank, and implementations differ in what comes from where. */
    if (!periodic || n > 2) {
        MPI_Ineighbor_alltoall(in, 2, MPI_INT, out, 2, MPI_INT, line, &q);
        wait_one(&q);
        for (int i = 0; i < 2; i++) {
            same("lower neighbour", i, out[i], !periodic && me == 0 ? -5 : given(lower, 2 + i));
            same("upper neighbour", i, out[2 + i], !periodic && me == n - 1 ? -5 : given(upper, i));
        }
    }
    MPI_Comm_free(&line);
    /* Each rank sends to the next one and to the one after that. */
    int to[2] = {(world_me + 1) % n, (world_me + 2) % n}, from[2] = {(world_me + n - 1) % n, (world_me + n - 2) % n};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    MPI_Ineighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, graph, &q);
    wait_one(&q);
    for (int i = 0; i < 2; i++) same("neighbour in a graph", i, out[i], given(from[i], i));
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv) {
    MPI_Comm dup, half, backwards;
    int provided, threads = argc > 1 && !strcmp(argv[1], "threads");
    if (threads)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int size = n;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(MPI_COMM_WORLD, world_me % 2, 0, &half);
    MPI_Comm_split(MPI_COMM_WORLD, world_me == 0 ? MPI_UNDEFINED : 0, -world_me, &backwards);
    int counts[] = {1, 5, 1000, 20000};
    for (int i = 0; i < 4; i++) {
        all_of(MPI_COMM_WORLD, counts[i]);
        all_of(dup, counts[i]);
        all_of(half, counts[i]);
        if (backwards != MPI_COMM_NULL) all_of(backwards, counts[i]);
    }
    all_of(MPI_COMM_SELF, 3);
    all_waits(MPI_COMM_WORLD);
    all_waits(half);
    for (int i = 0; i < 10; i++) begins_late(MPI_COMM_WORLD), begins_late(dup);
    two_orders();
    neighbours(0);
    neighbours(1);
    if (backwards != MPI_COMM_NULL) MPI_Comm_free(&backwards);
    MPI_Comm_free(&dup);
    long all = 0;
    MPI_Reduce(&checks, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_me == 0) printf("collectives: passed, %ld checks on %d ranks\n", all, size);
    MPI_Finalize();
    return 0;
}
