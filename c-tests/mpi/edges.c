/* What an MPI refuses before it begins, and what its nonblocking collectives do at their edges. Two ranks; the lines
 * are the same with libhetmp_mpi.so and without it.
 *
 * edges         errors, absolute addresses, graphs, many communicators, a wait by Fortran
 * edges unlike  what Open MPI alone does not survive: a collective with unlike numbers of elements, of which the
 *               communicator's handler hears when the wait ends, and a communicator that is freed too early */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int me, heard;
static MPI_Comm comm;

static void hear(MPI_Comm *of, int *code, ...) {
    (void)code;
    heard += *of == comm;
}

static void must(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "edges: rank %d: not so: %s\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The call has failed at both ranks, and the communicator's handler has heard of it. MPI_COMM_WORLD's would end the
   program. */
static void refused(const char *what, int code) {
    int class = MPI_SUCCESS;
    must(code != MPI_SUCCESS, what);
    MPI_Error_class(code, &class);
    if (me == 0) printf("edges: %s: class %d, heard %d\n", what, class, heard);
    heard = 0;
}

static __attribute__((unused)) void errors(void) {
    int x[4] = {1, 2, 3, 4}, y[8] = {0};
    MPI_Datatype open;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &open);
    refused("bcast, no type", MPI_Ibcast(x, 1, MPI_DATATYPE_NULL, 0, comm, &r));
    refused("bcast, a type that is not committed", MPI_Ibcast(x, 1, open, 0, comm, &r));
    refused("bcast, a negative count", MPI_Ibcast(x, -1, MPI_INT, 0, comm, &r));
    refused("bcast, a root that is not there", MPI_Ibcast(x, 1, MPI_INT, 2, comm, &r));
    refused("alltoall, no type", MPI_Ialltoall(x, 1, MPI_INT, y, 1, MPI_DATATYPE_NULL, comm, &r));
    refused("alltoall, no type to give", MPI_Ialltoall(x, 1, MPI_DATATYPE_NULL, y, 1, MPI_INT, comm, &r));
    refused("allreduce, bits of a double", MPI_Iallreduce(x, y, 1, MPI_DOUBLE, MPI_BAND, comm, &r));
    refused("allgather, more given than taken", MPI_Iallgather(x, 2, MPI_INT, y, 1, MPI_INT, comm, &r));
#ifndef OPEN_MPI
    /* Open MPI reads the null pointer, and takes a buffer twice. */
    refused("bcast, no buffer", MPI_Ibcast(NULL, 4, MPI_INT, 0, comm, &r));
    refused("allreduce, no buffers", MPI_Iallreduce(NULL, NULL, 1, MPI_INT, MPI_SUM, comm, &r));
    refused("allreduce, one buffer", MPI_Iallreduce(x, x, 1, MPI_INT, MPI_SUM, comm, &r));
    refused("allgather, no buffer to give", MPI_Iallgather(NULL, 1, MPI_INT, y, 1, MPI_INT, comm, &r));
#endif
    MPI_Type_free(&open);
}

/* Types with addresses of their own, at both sides of a broadcast, and at one side of an allgather. */
static void addresses(void) {
    double d = me ? 0 : 2.5;
    int k = me ? 0 : 7, lengths[2] = {1, 1}, all[2];
    MPI_Aint at[2];
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT}, both, one;
    MPI_Request r;
    MPI_Get_address(&d, &at[0]);
    MPI_Get_address(&k, &at[1]);
    MPI_Type_create_struct(2, lengths, at, types, &both);
    MPI_Type_create_hindexed(1, lengths, &at[1], MPI_INT, &one);
    MPI_Type_commit(&both);
    MPI_Type_commit(&one);
    MPI_Ibcast(MPI_BOTTOM, 1, both, 0, comm, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    must(d == 2.5 && k == 7, "a broadcast to MPI_BOTTOM");
    k += me;
    MPI_Iallgather(MPI_BOTTOM, 1, one, all, 1, MPI_INT, comm, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    must(all[0] == 7 && all[1] == 8, "an allgather from MPI_BOTTOM");
    MPI_Type_free(&both);
    MPI_Type_free(&one);
}

/* Edges that are there twice, in the order of the blocking call; and a rank that only sends, and takes nothing. */
static void graphs(void) {
    int twice[2] = {1 - me, 1 - me}, other = 1 - me, give[2] = {10 * me + 1, 10 * me + 2}, got[2][2] = {{0}};
    MPI_Comm graph;
    MPI_Request r;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, twice, MPI_UNWEIGHTED, 2, twice, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &graph);
    MPI_Neighbor_alltoall(give, 1, MPI_INT, got[0], 1, MPI_INT, graph);
    MPI_Ineighbor_alltoall(give, 1, MPI_INT, got[1], 1, MPI_INT, graph, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    must(memcmp(got[0], got[1], sizeof got[0]) == 0, "edges that are there twice come in one order");
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, me, &other, MPI_UNWEIGHTED, 1 - me, &other, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    for (int i = 0; i < 3; i++) {
        got[0][0] = -1;
        MPI_Ineighbor_alltoall(give, 1, MPI_INT, got[0], 1, MPI_INT, graph, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        must(got[0][0] == (me ? 1 : -1), "one rank sends, the other takes");
    }
    MPI_Comm_free(&graph);
}

/* Communicators, one after the other and many at once. */
static void communicators(void) {
    enum { MANY = 80 };
    MPI_Comm all[MANY];
    MPI_Request r[MANY];
    long one = 1, sums[MANY];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            MPI_Comm_split(MPI_COMM_WORLD, 0, round == 1 ? -me : me, &all[i]);
            MPI_Iallreduce(&one, &sums[i], 1, MPI_LONG, MPI_SUM, all[i], &r[i]);
            if (i % 3 != 0) continue;
            MPI_Wait(&r[i], MPI_STATUS_IGNORE);
            MPI_Comm_free(&all[i]);
        }
        MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MANY; i++) {
            must(sums[i] == 2, "a sum");
            if (i % 3 != 0) MPI_Comm_free(&all[i]);
        }
    }
}

#ifdef MPI_ABI_VERSION
/* The common interface has no functions of Fortran. */
static void fortran(void) {}
#else
/* C begins, and Fortran's MPI_Wait and MPI_Test end. */
static void fortran(void) {
#ifdef OPEN_MPI
    const char *file = "libmpi_mpifh.so.40";
#else
    const char *file = "libmpichfort.so.12";
#endif
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    must(library != NULL, "the MPI has a library of Fortran's functions");
    void (*wait)(MPI_Fint *, MPI_Fint *, MPI_Fint *) = (void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *))dlsym(library,
        "mpi_wait_");
    void (*test)(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *) =
        (void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *))dlsym(library, "mpi_test_");
    must(wait && test, "Fortran's MPI_Wait and MPI_Test");
    for (int i = 0; i < 4; i++) {
        int one = 1, sum = 0;
        MPI_Request r;
        MPI_Fint status[16], error = 0, done = 0;
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &r);
        MPI_Fint f = MPI_Request_c2f(r);
        if (i % 2) wait(&f, status, &error);
        else
            while (!done && error == 0) test(&f, &done, status, &error);
        must(error == 0 && sum == 2 && MPI_Request_f2c(f) == MPI_REQUEST_NULL, "a sum that Fortran waits for");
        /* C has given one away, and waits for it itself. */
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &r);
        f = MPI_Request_c2f(r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        must(sum == 2 && r == MPI_REQUEST_NULL, "a sum that C waits for after all");
    }
}
#endif

/* Unlike lengths, between ranks and at one rank: who cannot have its data hears of it, and the communicator's next
 * collective is right. */
static void lengths(void) {
    int give[8], got[8], sum, one = 1;
    MPI_Request r;
    for (int i = 0; i < 8; i++) give[i] = i;
    heard = 0;
    for (int round = 0; round < 8; round++) {
        int code = MPI_SUCCESS, class = MPI_SUCCESS;
        switch (round % 4) {
        case 0: code = MPI_Ibcast(give, 1 + 2 * me, MPI_INT, 0, comm, &r); break;
        case 1: code = MPI_Ibcast(give, 3 - 2 * me, MPI_INT, 0, comm, &r); break;
        case 2: code = MPI_Igather(give, 4, MPI_INT, got, me ? 4 : 1, MPI_INT, 0, comm, &r); break;
        case 3: code = MPI_Ialltoall(give, me ? 2 : 4, MPI_INT, got, 2, MPI_INT, comm, &r); break;
        }
        if (code == MPI_SUCCESS) code = MPI_Wait(&r, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
        int hears = round % 4 < 2 ? me : round % 4 == 2 ? !me : 1;
        must(class == (hears ? MPI_ERR_TRUNCATE : MPI_SUCCESS) && heard == hears, "unlike lengths are heard of");
        heard = 0;
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &r);
        must(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS && sum == 2, "the next one is right");
    }
}

/* GOAL notices, the error comes with the wait. */
static void unlike(void) {
    long mine[2] = {1, 2}, sum[2];
    for (int test = 0; test < 2; test++) {
        MPI_Request r;
        int code, done = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Errhandler handler;
        MPI_Comm_create_errhandler(hear, &handler);
        MPI_Comm_set_errhandler(comm, handler);
        MPI_Errhandler_free(&handler);
        must(MPI_Iallreduce(mine, sum, 1 + me, MPI_LONG, MPI_SUM, comm, &r) == MPI_SUCCESS, "the call begins");
        if (test)
            for (code = MPI_SUCCESS; !done && code == MPI_SUCCESS;) code = MPI_Test(&r, &done, MPI_STATUS_IGNORE);
        else
            code = MPI_Wait(&r, MPI_STATUS_IGNORE);
        must(code != MPI_SUCCESS && heard == 1 && r == MPI_REQUEST_NULL,
             "the communicator's handler has heard of it once");
        heard = 0;
    }
    lengths();
    /* A communicator that is freed while its collective goes on, which Open MPI does not survive either. */
    MPI_Request r;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Iallreduce(mine, sum, 2, MPI_LONG, MPI_SUM, comm, &r);
    MPI_Comm_free(&comm);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    must(sum[0] == 2 && sum[1] == 4, "a sum whose communicator was freed");
    if (me == 0) printf("edges: unlike: heard\n");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (argc > 1 && strcmp(argv[1], "unlike") == 0) {
        unlike();
        MPI_Finalize();
        return 0;
    }
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
#ifndef MPI_ABI_VERSION
    /* By the common interface a call that MPICH 5.0.2 alone refuses returns MPI_SUCCESS, where the program has a
     * handler of its own. */
    errors();
#endif
    addresses();
    graphs();
    communicators();
    fortran();
    if (me == 0) printf("edges: passed\n");
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
