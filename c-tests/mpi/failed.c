/* A collective that fails next to others that do not: two ranks sum unlike numbers of elements, which MPI forbids and
 * GOAL notices. The function that waits must report the error, and must not lose what ended well before the failed one
 * or wait for ever.
 *
 * failed wait|test|waitall|testall|waitany|testany|waitsome|testsome|status: the function that is tried. Two ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BARRIER, FAILS, RECEIVE, SEND, NONE, ALL };
static int me;

static void must(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "failed: rank %d: not so: %s\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The class of an error, MPI_SUCCESS for none. */
static int class_of(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "waitall";
    int ranks, error, done = 0, got = -1, index, errors = 0, ended = 0;
    long mine[2] = {1, 2}, sum[2];
    MPI_Request r[ALL];
    MPI_Status s[ALL];
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(ranks == 2, "two ranks");
    int other = 1 - me, number = 40 + me;
    for (int i = 0; i < ALL; i++) r[i] = MPI_REQUEST_NULL;
    /* A round in which nothing fails. */
    MPI_Ibarrier(MPI_COMM_WORLD, &r[BARRIER]);
    MPI_Wait(&r[BARRIER], MPI_STATUS_IGNORE);

    MPI_Irecv(&got, 1, MPI_INT, other, 7, MPI_COMM_WORLD, &r[RECEIVE]);
    MPI_Isend(&number, 1, MPI_INT, other, 7, MPI_COMM_WORLD, &r[SEND]);
    MPI_Ibarrier(MPI_COMM_WORLD, &r[BARRIER]);
    MPI_Iallreduce(mine, sum, 1 + me, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &r[FAILS]);

    if (strcmp(way, "wait") == 0 || strcmp(way, "test") == 0) {
        for (int i = 0; i < ALL; i++) {
            error = MPI_SUCCESS;
            if (strcmp(way, "wait") == 0) error = MPI_Wait(&r[i], &s[i]);
            else
                for (done = 0; !done && error == MPI_SUCCESS;) error = MPI_Test(&r[i], &done, &s[i]);
            must((i == FAILS) == (error != MPI_SUCCESS), "the collective that fails, and only that one, has an error");
            errors += error != MPI_SUCCESS;
            ended++;
        }
    } else if (strcmp(way, "status") == 0) {
        /* Says that the request has ended, and leaves the request as it is. */
        for (done = 0, error = MPI_SUCCESS; !done && error == MPI_SUCCESS;)
            error = MPI_Request_get_status(r[FAILS], &done, &s[FAILS]);
        must(r[FAILS] != MPI_REQUEST_NULL, "the request is still there");
        error = MPI_Wait(&r[FAILS], &s[FAILS]);
        errors += error != MPI_SUCCESS;
        error = MPI_Waitall(ALL, r, MPI_STATUSES_IGNORE);
        must(error == MPI_SUCCESS, "the others end well");
        ended = ALL;
    } else if (strcmp(way, "waitall") == 0 || strcmp(way, "testall") == 0) {
        for (done = 0, error = MPI_SUCCESS; !done && error == MPI_SUCCESS;) {
            if (strcmp(way, "waitall") == 0) error = MPI_Waitall(ALL, r, s), done = 1;
            else
                error = MPI_Testall(ALL, r, &done, s);
        }
        must(class_of(error) == MPI_ERR_IN_STATUS, "the statuses have the errors");
        for (int i = 0; i < ALL; i++) {
            int of_this = class_of(s[i].MPI_ERROR);
            must((i == FAILS) == (of_this != MPI_SUCCESS && of_this != MPI_ERR_PENDING), "one status has an error");
            errors += i == FAILS;
            /* What had not ended when the error came goes on. */
            if (of_this == MPI_ERR_PENDING)
                must(MPI_Wait(&r[i], MPI_STATUS_IGNORE) == MPI_SUCCESS, "the rest ends well");
            ended++;
        }
    } else if (strcmp(way, "waitany") == 0 || strcmp(way, "testany") == 0) {
        for (;;) {
            error = MPI_SUCCESS;
            if (strcmp(way, "waitany") == 0) error = MPI_Waitany(ALL, r, &index, &s[0]);
            else
                for (done = 0; !done && error == MPI_SUCCESS;) error = MPI_Testany(ALL, r, &index, &done, &s[0]);
            if (error == MPI_SUCCESS && index == MPI_UNDEFINED) break;
            must((index == FAILS) == (error != MPI_SUCCESS),
                 "the collective that fails, and only that one, has an error");
            errors += error != MPI_SUCCESS;
            ended++;
        }
        ended++; /* the null request */
    } else {
        int count, indices[ALL];
        for (;;) {
            error = strcmp(way, "waitsome") == 0 ? MPI_Waitsome(ALL, r, &count, indices, s) :
                MPI_Testsome(ALL, r, &count, indices, s);
            if (count == MPI_UNDEFINED) break;
            must(error == MPI_SUCCESS || class_of(error) == MPI_ERR_IN_STATUS, "the statuses have the errors");
            for (int i = 0; i < count; i++) {
                int failed = error != MPI_SUCCESS && s[i].MPI_ERROR != MPI_SUCCESS;
                must((indices[i] == FAILS) == failed, "the collective that fails, and only that one, has an error");
                errors += failed;
            }
            ended += count;
        }
        ended++; /* the null request */
    }
    must(errors == 1, "one error");
    must(ended == ALL, "all have ended");
    must(got == 40 + other, "the message has come");
    for (int i = 0; i < ALL; i++) must(r[i] == MPI_REQUEST_NULL, "no request is left");
    /* MPI's own messages still go. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) printf("failed: %s: reported once, nothing lost\n", way);
    MPI_Finalize();
    return 0;
}
