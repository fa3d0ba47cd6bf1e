/* Blocking collectives of long and short blocks, in a program that knows MPI only, between messages that MPI has to
 * move on meanwhile. Each result is compared with what the arguments say. Rank 0 prints one line, which is the same
 * with and without libhetmp_mpi.so. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int me, n;
static long checks;

static void same(const char *what, long index, long got, long wanted) {
    checks++;
    if (got == wanted) return;
    fprintf(stderr, "%s: rank %d of %d: %ld at %ld, not %ld\n", what, me, n, got, index, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int given(int r, int i) { return 1000 * r + 7 * i + 1; }
static int sum(int i) { return 1000 * n * (n - 1) / 2 + n * (7 * i + 1); }

/* Each collective with `count` elements, at one rank out of place and in place at all, and with a type of two integers
 * at every other rank alone. */
static void all_of(MPI_Comm comm, int count) {
    int big = count * n, twos = me % 2;
    int *a = malloc(sizeof *a * (size_t)big), *b = malloc(sizeof *b * (size_t)big);
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    for (int root = 0; root < n; root++) {
        for (int i = 0; i < count; i++) a[i] = me == root ? given(root, i) : -1;
        MPI_Bcast(a, twos ? count / 2 : count, twos ? two : MPI_INT, root, comm);
        for (int i = 0; i < count; i++) same("Bcast", i, a[i], given(root, i));
    }
    for (int i = 0; i < count; i++) a[i] = given(me, i);
    MPI_Allreduce(a, b, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++) same("Allreduce", i, b[i], sum(i));
    MPI_Allreduce(MPI_IN_PLACE, a, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++) same("Allreduce in place", i, a[i], sum(i));
    for (int i = 0; i < big; i++) a[i] = given(me, i);
    MPI_Alltoall(a, twos ? count / 2 : count, twos ? two : MPI_INT, b, count, MPI_INT, comm);
    for (int i = 0; i < big; i++) same("Alltoall", i, b[i], given(i / count, me * count + i % count));
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, count, MPI_INT, comm);
    for (int i = 0; i < big; i++) same("Alltoall in place", i, a[i], given(i / count, me * count + i % count));
    for (int i = 0; i < count; i++) a[i] = given(me, i);
    MPI_Allgather(a, count, MPI_INT, b, count, MPI_INT, comm);
    for (int i = 0; i < big; i++) same("Allgather", i, b[i], given(i / count, i % count));
    for (int i = 0; i < big; i++) b[i] = i / count == me ? given(me, i % count) : -1;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, count, MPI_INT, comm);
    for (int i = 0; i < big; i++) same("Allgather in place", i, b[i], given(i / count, i % count));
    MPI_Type_free(&two);
    free(a);
    free(b);
}

/* Rank 1 takes a long message before it comes to the collective in which rank 0, the sender, waits for it. */
static void beside_a_message(int count) {
    enum { LONG = 1 << 20 };
    int *message = malloc(sizeof *message * LONG), *a = malloc(sizeof *a * (size_t)count);
    MPI_Request sent;
    for (int i = 0; i < LONG; i++) message[i] = me == 0 ? i : -1;
    for (int i = 0; i < count; i++) a[i] = me == 1 ? given(1, i) : -1;
    if (me == 0) MPI_Isend(message, LONG, MPI_INT, 1, 5, MPI_COMM_WORLD, &sent);
    if (me == 1) MPI_Recv(message, LONG, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(a, count, MPI_INT, 1, MPI_COMM_WORLD);
    if (me == 0) MPI_Wait(&sent, MPI_STATUS_IGNORE);
    for (int i = 0; me == 1 && i < LONG; i++) same("message", i, message[i], i);
    for (int i = 0; i < count; i++) same("Bcast beside a message", i, a[i], given(1, i));
    free(message);
    free(a);
}

int main(int argc, char **argv) {
    static const int counts[] = {100, 5000, 16000, 200000};
    MPI_Comm turned;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < 4; i++) all_of(MPI_COMM_WORLD, counts[i]);
    beside_a_message(16384);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &turned);
    MPI_Comm_rank(turned, &me);
    all_of(turned, 4096);
    MPI_Comm_free(&turned);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (me == 0) printf("blocking: passed, %ld checks on rank 0 of %d\n", checks, n);
    MPI_Finalize();
    return 0;
}
