/* Collectives with a number of elements for each rank, with large numbers, and persistent ones, in a program that knows
 * MPI only. Each result is compared with what the arguments say. Rank 0 prints one line, which is the same with and
 * without libhetmp_mpi.so. MPI before 4 has the first kind only.
 *
 * wider             the first two kinds
 * wider persistent  and the third. MPICH 4.0.2 and 5.0.2 alone do not pass: a second run has wrong results (4.0.2),
 *                   MPI_Test says that collectives are over which are not, and lists with some that were not started
 *                   wait for ever, count them as ended, or are called invalid */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int me, n, world_me;
static long checks;

static void same(const char *what, long index, long got, long wanted) {
    checks++;
    if (got == wanted) return;
    fprintf(stderr, "%s: rank %d of %d: %ld at %ld, not %ld\n", what, me, n, got, index, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void wait_one(MPI_Request *q) {
    MPI_Wait(q, MPI_STATUS_IGNORE);
    same("null after wait", 0, *q == MPI_REQUEST_NULL, 1);
}

/* Element i of what rank `from` has for rank `to`, and how many there are: none for some. */
static int value(int from, int to, int i) { return 10000 * from + 100 * to + i; }
static int many(int from, int to, int scale) { return scale * ((from + 2 * to) % 3); }

/* Where the message of or for each rank lies: a hole behind each. Returns the length of all. */
static int places(int *counts, int *at, int scale, int sends) {
    int used = 0;
    for (int r = 0; r < n; r++) {
        counts[r] = sends ? many(me, r, scale) : many(r, me, scale);
        at[r] = used;
        used += counts[r] + 1;
    }
    return used;
}

static int *filled(int length, int with) {
    int *a = malloc(sizeof *a * (size_t)(length + 1));
    for (int i = 0; i <= length; i++) a[i] = with;
    return a;
}

/* With two integers for each element of the receiver's type, what is received has holes. */
static void check_holes(const char *what, const int *got, int elements, int from, int to) {
    for (int i = 0; i < elements; i++) {
        same(what, 2 * i, got[2 * i], value(from, to, i));
        same(what, 2 * i + 1, got[2 * i + 1], -5);
    }
}

static void each_to_each(MPI_Comm comm, int scale, MPI_Datatype spread) {
    MPI_Request q;
    int counts[8], at[8], to_counts[8], to_at[8];
    int *a = filled(places(counts, at, scale, 1), -1), out = places(to_counts, to_at, scale, 0), *b = filled(out, -5);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < counts[r]; i++) a[at[r] + i] = value(me, r, i);
    MPI_Ialltoallv(a, counts, at, MPI_INT, b, to_counts, to_at, MPI_INT, comm, &q);
    wait_one(&q);
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < to_counts[r]; i++) same("Ialltoallv", i, b[to_at[r] + i], value(r, me, i));
        same("Ialltoallv, behind", r, b[to_at[r] + to_counts[r]], -5);
    }
    /* Holes at the receiver. */
    int *wide = filled(2 * out + 2, -5);
    MPI_Ialltoallv(a, counts, at, MPI_INT, wide, to_counts, to_at, spread, comm, &q);
    wait_one(&q);
    for (int r = 0; r < n; r++) check_holes("Ialltoallv to holes", wide + 2 * to_at[r], to_counts[r], r, me);
    /* The same by types, whose places are in bytes; those for even ranks have holes. */
    MPI_Datatype types[8], to_types[8];
    for (int i = 0; i < 2 * out + 2; i++) wide[i] = -5;
    for (int r = 0; r < n; r++) {
        types[r] = MPI_INT;
        to_types[r] = r % 2 ? MPI_INT : spread;
        at[r] *= (int)sizeof(int);
        to_at[r] *= 2 * (int)sizeof(int);
    }
    MPI_Ialltoallw(a, counts, at, types, wide, to_counts, to_at, to_types, comm, &q);
    wait_one(&q);
    for (int r = 0; r < n; r++) {
        const int *got = wide + to_at[r] / (int)sizeof(int);
        if (r % 2 == 0) check_holes("Ialltoallw to holes", got, to_counts[r], r, me);
        for (int i = 0; r % 2 && i < to_counts[r]; i++) same("Ialltoallw", i, got[i], value(r, me, i));
    }
    /* In place all pairs exchange as much as they get. */
    int *c = filled(n * scale, -1);
    for (int r = 0; r < n; r++) {
        counts[r] = scale * ((me + r) % 2);
        at[r] = r * scale;
        for (int i = 0; i < scale; i++) c[at[r] + i] = value(me, r, i);
    }
    MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, c, counts, at, MPI_INT, comm, &q);
    wait_one(&q);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < scale; i++)
            same("Ialltoallv in place", i, c[at[r] + i], counts[r] ? value(r, me, i) : value(me, r, i));
    free(a), free(b), free(c), free(wide);
}

static void one_and_each(MPI_Comm comm, int scale, MPI_Datatype spread) {
    MPI_Request q;
    int counts[8], at[8], mine = many(me, 0, scale), all = 0;
    for (int r = 0; r < n; r++) {
        counts[r] = many(r, 0, scale);
        at[r] = all;
        all += counts[r] + 1;
    }
    int *a = filled(mine, -1), *b = filled(2 * all, -5);
    for (int i = 0; i < mine; i++) a[i] = value(me, 0, i);
    MPI_Iallgatherv(a, mine, MPI_INT, b, counts, at, MPI_INT, comm, &q);
    wait_one(&q);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < counts[r]; i++) same("Iallgatherv", i, b[at[r] + i], value(r, 0, i));
    for (int i = 0; i < 2 * all; i++) b[i] = i >= at[me] && i < at[me] + mine ? value(me, 0, i - at[me]) : -5;
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, at, MPI_INT, comm, &q);
    wait_one(&q);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < counts[r]; i++) same("Iallgatherv in place", i, b[at[r] + i], value(r, 0, i));
    for (int root = 0; root < n; root++) {
        int here = me == root;
        for (int i = 0; i < 2 * all; i++) b[i] = -5;
        MPI_Igatherv(a, mine, MPI_INT, here ? b : NULL, here ? counts : NULL, here ? at : NULL,
                     here ? spread : MPI_DATATYPE_NULL, root, comm, &q);
        wait_one(&q);
        for (int r = 0; here && r < n; r++) check_holes("Igatherv to holes", b + 2 * at[r], counts[r], r, 0);
        for (int i = 0; i < 2 * all; i++) b[i] = i >= at[me] && i < at[me] + mine ? value(me, 0, i - at[me]) : -5;
        MPI_Igatherv(here ? MPI_IN_PLACE : a, mine, MPI_INT, b, counts, at, MPI_INT, root, comm, &q);
        wait_one(&q);
        for (int r = 0; here && r < n; r++)
            for (int i = 0; i < counts[r]; i++) same("Igatherv in place", i, b[at[r] + i], value(r, 0, i));
        for (int r = 0; r < n; r++)
            for (int i = 0; i < counts[r]; i++) b[2 * (at[r] + i)] = value(root, r, i);
        int *got = filled(mine, -5);
        MPI_Iscatterv(here ? b : NULL, counts, at, spread, got, mine, MPI_INT, root, comm, &q);
        wait_one(&q);
        for (int i = 0; i < mine; i++) same("Iscatterv from holes", i, got[i], value(root, me, i));
        for (int i = 0; i < mine; i++) got[i] = -5;
        MPI_Iscatterv(b, counts, at, spread, here ? MPI_IN_PLACE : got, mine, MPI_INT, root, comm, &q);
        wait_one(&q);
        for (int i = 0; !here && i < mine; i++) same("Iscatterv in place", i, got[i], value(root, me, i));
        free(got);
    }
    free(a), free(b);
}

static void sums(MPI_Comm comm, int scale) {
    MPI_Request q;
    int counts[8], at = 0, all = 0;
    for (int r = 0; r < n; r++) {
        counts[r] = scale * (r % 3);
        if (r < me) at += counts[r];
        all += counts[r];
    }
    int *a = filled(all, -1), *b = filled(all, -5);
    for (int i = 0; i < all; i++) a[i] = value(me, 0, i);
    for (int in_place = 0; in_place < 2; in_place++) {
        MPI_Ireduce_scatter(in_place ? MPI_IN_PLACE : a, in_place ? a : b, counts, MPI_INT, MPI_SUM, comm, &q);
        wait_one(&q);
        for (int i = 0; i < counts[me]; i++) {
            long sum = 0;
            for (int r = 0; r < n; r++) sum += value(r, 0, at + i);
            same("Ireduce_scatter", i, in_place ? a[i] : b[i], sum);
        }
    }
    free(a), free(b);
}

/* A line, whose ends have no neighbour on one side. */
static void neighbours(MPI_Comm comm, int scale, MPI_Datatype spread) {
    MPI_Comm line;
    MPI_Request q;
    int periods = 0, size;
    MPI_Comm_size(comm, &size);
    MPI_Cart_create(comm, 1, &size, &periods, 0, &line);
    MPI_Comm_rank(line, &me);
    int peers[2] = {me - 1, me + 1 < size ? me + 1 : -1}, counts[2], to_counts[2], at[2] = {0, 2 * scale};
    int *a = filled(4 * scale, -1), *b = filled(8 * scale, -5);
    MPI_Aint far[2] = {0, (MPI_Aint)(2 * scale * (int)sizeof(int))};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    for (int k = 0; k < 2; k++) {
        counts[k] = peers[k] < 0 ? 0 : many(me, peers[k], scale);
        to_counts[k] = peers[k] < 0 ? 0 : many(peers[k], me, scale);
        for (int i = 0; i < counts[k]; i++) a[at[k] + i] = value(me, peers[k], i);
    }
    MPI_Ineighbor_alltoallv(a, counts, at, MPI_INT, b, to_counts, at, spread, line, &q);
    wait_one(&q);
    for (int k = 0; k < 2; k++) check_holes("Ineighbor_alltoallv", b + 2 * at[k], to_counts[k], peers[k], me);
    MPI_Ineighbor_alltoallw(a, counts, far, types, b, to_counts, far, types, line, &q);
    wait_one(&q);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < to_counts[k]; i++)
            same("Ineighbor_alltoallw", i, b[at[k] + i], value(peers[k], me, i));
    for (int i = 0; i < 2 * scale; i++) a[i] = value(me, 0, i);
    for (int i = 0; i < 8 * scale; i++) b[i] = -5;
    MPI_Ineighbor_allgather(a, scale, MPI_INT, b, scale, spread, line, &q);
    wait_one(&q);
    for (int k = 0; k < 2; k++)
        if (peers[k] >= 0) check_holes("Ineighbor_allgather", b + 2 * k * scale, scale, peers[k], 0);
    int mine = many(me, 0, scale);
    for (int k = 0; k < 2; k++) to_counts[k] = peers[k] < 0 ? 0 : many(peers[k], 0, scale);
    MPI_Ineighbor_allgatherv(a, mine, MPI_INT, b, to_counts, at, MPI_INT, line, &q);
    wait_one(&q);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < to_counts[k]; i++)
            same("Ineighbor_allgatherv", i, b[at[k] + i], value(peers[k], 0, i));
    MPI_Comm_free(&line);
    free(a), free(b);
    MPI_Comm_rank(comm, &me);
}

#if MPI_VERSION >= 4
static void large(MPI_Comm comm, MPI_Datatype spread) {
    MPI_Request q[4];
    MPI_Count one = 1, counts[8];
    MPI_Aint at[8];
    int a[8], b[16], c[8], d = me, e = -1;
    for (int r = 0; r < n; r++) a[r] = value(me, r, 0), counts[r] = 1, at[r] = r;
    for (int i = 0; i < 16; i++) b[i] = -5;
    MPI_Ialltoallv_c(a, counts, at, MPI_INT, b, counts, at, spread, comm, &q[0]);
    MPI_Iallreduce_c(&d, &e, one, MPI_INT, MPI_SUM, comm, &q[1]);
    MPI_Iallgatherv_c(&d, one, MPI_INT, c, counts, at, MPI_INT, comm, &q[2]);
    MPI_Ibcast_c(a, one, MPI_INT, 0, comm, &q[3]);
    MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    for (int r = 0; r < n; r++) {
        check_holes("Ialltoallv_c", b + 2 * r, 1, r, me);
        same("Iallgatherv_c", r, c[r], r);
    }
    same("Iallreduce_c", 0, e, n * (n - 1) / 2);
    same("Ibcast_c", 0, a[0], value(0, 0, 0));
}
#endif

#if MPI_VERSION >= 4 || (defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5)
enum { SUM, GATHER, EACH, BARRIER, SEND, RECEIVE, ALL };

/* Collectives and messages that are begun again and again, and every function that waits. */
static void persistent(MPI_Comm of, MPI_Datatype spread) {
    MPI_Comm comm;
    MPI_Datatype own;
    MPI_Request q[ALL + 1], kept[ALL];
    MPI_Status s[ALL + 1];
    int counts[8], at[8], a[8], each[8], b[16], sum, number, got, done, index, some, indices[ALL + 1];
    MPI_Comm_dup(of, &comm);
    MPI_Type_dup(spread, &own);
    for (int r = 0; r < n; r++) counts[r] = 1, at[r] = r;
    MPI_Allreduce_init(&number, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &q[SUM]);
    MPI_Allgather_init(&number, 1, MPI_INT, b, 1, own, comm, MPI_INFO_NULL, &q[GATHER]);
    MPI_Alltoallv_init(a, counts, at, MPI_INT, each, counts, at, MPI_INT, comm, MPI_INFO_NULL, &q[EACH]);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &q[BARRIER]);
    MPI_Send_init(&number, 1, MPI_INT, (me + 1) % n, 3, comm, &q[SEND]);
    MPI_Recv_init(&got, 1, MPI_INT, (me + n - 1) % n, 3, comm, &q[RECEIVE]);
    q[ALL] = MPI_REQUEST_NULL;
    MPI_Type_free(&own);
    for (int i = 0; i < ALL; i++) kept[i] = q[i];
    MPI_Waitall(ALL + 1, q, s);
    MPI_Testany(ALL + 1, q, &index, &done, s);
    same("Testany of idle ones", index, done && index == MPI_UNDEFINED, 1);
    for (int turn = 0; turn < 3 * 8; turn++) {
        number = value(me, turn, 0);
        for (int r = 0; r < n; r++) a[r] = value(me, r, turn);
        for (int i = 0; i < 16; i++) b[i] = -5;
        sum = got = -1;
        if (turn % 2)
            MPI_Startall(ALL, q);
        else
            for (int i = 0; i < ALL; i++) MPI_Start(&q[i]);
        int open = ALL;
        switch (turn % 8) {
        case 0:
            for (int i = 0; i < ALL; i++) MPI_Wait(&q[i], MPI_STATUS_IGNORE);
            break;
        case 1:
            for (int i = 0; i < ALL; i++)
                for (done = 0; !done;) MPI_Test(&q[i], &done, &s[i]);
            break;
        case 2: MPI_Waitall(ALL + 1, q, s); break;
        case 3:
            for (done = 0; !done;) MPI_Testall(ALL + 1, q, &done, MPI_STATUSES_IGNORE);
            break;
        case 4:
            for (; open; open--) {
                MPI_Waitany(ALL + 1, q, &index, s);
                same("Waitany", index, index >= 0 && index < ALL, 1);
            }
            break;
        case 5:
            while (open) {
                MPI_Testany(ALL + 1, q, &index, &done, s);
                open -= done;
            }
            break;
        case 6:
            for (; open; open -= some) MPI_Waitsome(ALL + 1, q, &some, indices, s);
            break;
        case 7:
            for (; open; open -= some) MPI_Testsome(ALL + 1, q, &some, indices, s);
            break;
        }
        for (int i = 0; i < ALL; i++) same("the handle stays", i, q[i] == kept[i], 1);
        MPI_Waitany(ALL + 1, q, &index, s);
        same("Waitany of idle ones", turn, index, MPI_UNDEFINED);
        MPI_Request_get_status(q[SUM], &done, s);
        same("an idle one is done", 0, done, 1);
        same("message", turn, got, value((me + n - 1) % n, turn, 0));
        int wanted = 0;
        for (int r = 0; r < n; r++) {
            wanted += value(r, turn, 0);
            check_holes("Allgather_init", b + 2 * r, 1, r, turn);
            same("Alltoallv_init", r, each[r], value(r, me, turn));
        }
        same("Allreduce_init", turn, sum, wanted);
    }
    /* The communicator goes first. */
    MPI_Comm_free(&comm);
    for (int i = 0; i < ALL; i++) {
        MPI_Request_free(&q[i]);
        same("freed", i, q[i] == MPI_REQUEST_NULL, 1);
    }
}
#endif

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int size = n;
    MPI_Comm backwards;
    MPI_Datatype spread;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_me, &backwards);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    for (int k = 0; k < 2; k++) {
        MPI_Comm comm = k ? backwards : MPI_COMM_WORLD;
        const int scales[] = {1, 7, 3000, 40000};
        MPI_Comm_rank(comm, &me);
        for (int i = 0; i < 4; i++) {
            each_to_each(comm, scales[i], spread);
            one_and_each(comm, scales[i], spread);
            sums(comm, scales[i]);
            neighbours(comm, scales[i], spread);
        }
#if MPI_VERSION >= 4
        large(comm, spread);
#endif
#if MPI_VERSION >= 4 || (defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5)
        for (int i = 0; argc > 1 && i < 3; i++) persistent(comm, spread);
#endif
    }
    MPI_Type_free(&spread);
    MPI_Comm_free(&backwards);
    long all = 0;
    MPI_Reduce(&checks, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_me == 0) printf("wider: passed, %ld checks on %d ranks\n", all, size);
    MPI_Finalize();
    return 0;
}
