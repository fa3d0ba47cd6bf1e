/* libhetmp_mpi.so, waits: the functions that wait for and test requests.
 *
 * A list may have requests of this library and of MPI's. MPI gets a copy in which ours are null: those that are idle,
 * or all. Where they are not null, MPI sees requests that go on. */
#include "hetmp_mpi.h"
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Between two looks of a thread that waits for GOAL and MPI together. Neither can wake it for the other. */
static void rest(unsigned *turns) {
    enum { YIELDS = 4000, LONG_NS = 1000000 };
    unsigned n = ++*turns;
    if (n > YIELDS) {
        const struct timespec nap = {0, 20000};
        nanosleep(&nap, NULL);
    } else if (n > spins) {
        long long before = now_ns();
        sched_yield();
        /* A program that computes takes the core for a time slice at each yield, but not from a thread that slept. */
        if (now_ns() - before > LONG_NS) *turns = YIELDS;
    }
}

/* A persistent one that was not started, or has ended: as the null request. */
static int is_idle(const struct request *r) { return r->call && !r->active; }

/* Our record of a request that goes on, or whose end the program has not heard of. */
static struct request *find_active(MPI_Request handle) {
    struct request *r = find(handle);
    return r && !is_idle(r) ? r : NULL;
}

/* The communicator's handler hears of an error. */
static int report(int error, MPI_Comm of) {
    if (error) PMPI_Comm_call_errhandler(of, error);
    return error;
}

/* The request has ended: the program gets a status, and the null request, unless it is persistent. Returns the
 * request's error, and in `of` the communicator whose handler is to hear of that. */
static int hand_over(struct request *r, MPI_Request *request, MPI_Status *status, MPI_Comm *of) {
    int error = r->error;
    if (error) *of = r->comm;
    if (status != MPI_STATUS_IGNORE) empty_status(status);
    if (r->call) {
        free_copies(r);
        r->active = 0;
    } else {
        *request = MPI_REQUEST_NULL;
        recycle(r);
    }
    return error;
}

/* ---- one request ---- */
static int hand_over_one(struct request *r, MPI_Request *request, MPI_Status *status) {
    MPI_Comm of = MPI_COMM_NULL;
    int error = hand_over(r, request, status, &of);
    return report(error, of);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    struct request *r = any_open() ? find(*request) : NULL;
    MPI_Request none = MPI_REQUEST_NULL;
    if (!r || is_idle(r)) return REAL(Wait)(r ? &none : request, status);
    for (unsigned turns = 0; look(r), !r->ended; rest(&turns)) {
        int done;
        /* Other ranks may wait for MPI's part of this one. A test of a request that has not ended moves MPI on. */
        if (turns % 16 == 15) REAL(Request_get_status)(*request, &done, MPI_STATUS_IGNORE);
    }
    return hand_over_one(r, request, status);
}

void wait_for(struct request *r) {
    for (unsigned turns = 0; look(r), !r->ended; rest(&turns)) {
        int there;
        /* Other ranks may wait for a message of this one, and take part in the collective only then. */
        if (turns % 16 == 15) PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own, &there, MPI_STATUS_IGNORE);
    }
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    struct request *r = any_open() ? find(*request) : NULL;
    MPI_Request none = MPI_REQUEST_NULL;
    if (r && is_idle(r)) return REAL(Test)(&none, flag, status);
    if (r) look(r);
    if (!r || !r->ended) return REAL(Test)(request, flag, status);
    *flag = 1;
    return hand_over_one(r, request, status);
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    struct request *r = any_open() ? find(request) : NULL;
    if (r && is_idle(r)) return REAL(Request_get_status)(MPI_REQUEST_NULL, flag, status);
    if (r) look(r);
    if (!r || !r->ended) return REAL(Request_get_status)(request, flag, status);
    if (status != MPI_STATUS_IGNORE) empty_status(status);
    *flag = 1;
    return report(r->error, r->comm);
}

/* ---- lists ---- */
/* What looks at a list have found. */
struct found {
    int ours, active, open; /* ours, those of them that are not idle, and those of these that go on */
    int others;             /* MPI's that are not null */
};

/* Looks at those of the requests that are ours. */
static struct found look_at(int n, const MPI_Request *requests) {
    struct found f = {0, 0, 0, 0};
    if (!any_open()) return f;
    for (int i = 0; i < n; i++) {
        struct request *r = find(requests[i]);
        f.ours += r != NULL;
        f.others += !r && requests[i] != MPI_REQUEST_NULL;
        if (!r || is_idle(r)) continue;
        look(r);
        f.active++;
        f.open += !r->ended;
    }
    return f;
}

/* A copy of the list in which those of ours are null that are idle, or with `all` all of ours. Null for the list
 * itself, if that is the same. */
static MPI_Request *for_mpi(int n, const MPI_Request *requests, int all) {
    if (n <= 0 || (!all && !any_persistent())) return NULL;
    MPI_Request *copy = memory(sizeof *copy * (size_t)n);
    for (int i = 0; i < n; i++) {
        struct request *r = find(requests[i]);
        copy[i] = r && (all || is_idle(r)) ? MPI_REQUEST_NULL : requests[i];
    }
    return copy;
}

/* What has become of MPI's requests in the copy. Returns MPI's code. */
static int take_back(int n, MPI_Request *requests, MPI_Request *copy, int error) {
    for (int i = 0; copy && i < n; i++)
        if (!find(requests[i])) requests[i] = copy[i];
    free(copy);
    return error;
}

/* The first of ours that has ended, or with `well` that has ended without an error; -1 if there is none. */
static int first_ended(int n, const MPI_Request *requests, int well) {
    for (int i = 0; any_open() && i < n; i++) {
        struct request *r = find_active(requests[i]);
        if (r) look(r);
        if (r && r->ended && !(well && r->error)) return i;
    }
    return -1;
}

/* All of a list have ended, or MPI has said `error` of its own: hands over ours, all of which have ended. MPI's
 * statuses are there. */
static int end_list(int error, int n, MPI_Request *requests, MPI_Status *statuses) {
    int failed = 0;
    MPI_Comm of = MPI_COMM_NULL;
    for (int i = 0; i < n; i++) {
        struct request *r = find_active(requests[i]);
        failed |= r && r->error;
    }
    for (int i = 0; i < n; i++) {
        struct request *r = find_active(requests[i]);
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        int code = r ? hand_over(r, &requests[i], status, &of) : MPI_SUCCESS;
        /* The program looks at the error of each status if the call says so. */
        int is_read = (failed && !error) || (r && error);
        if (is_read && status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
    }
    return failed && !error ? report(MPI_ERR_IN_STATUS, of) : error;
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
    struct found f;
    for (unsigned turns = 0; (f = look_at(n, requests)).open > 0; rest(&turns)) {
        int done;
        if (turns % 16 != 15) continue;
        /* Cannot succeed, and so changes nothing: one of ours has not ended. Moves MPI on. */
        MPI_Request *copy = for_mpi(n, requests, 0);
        int error = REAL(Testall)(n, copy ? copy : requests, &done, statuses);
        take_back(n, requests, copy, error);
        if (error != MPI_SUCCESS) return error;
    }
    if (f.ours == 0) return REAL(Waitall)(n, requests, statuses);
    int error = MPI_SUCCESS;
    /* MPI also has the statuses of null requests. */
    if (f.others || (f.active < n && statuses != MPI_STATUSES_IGNORE)) {
        MPI_Request *copy = for_mpi(n, requests, 1);
        error = take_back(n, requests, copy, REAL(Waitall)(n, copy, statuses));
    }
    return end_list(error, n, requests, statuses);
}

int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    struct found f = look_at(n, requests);
    if (f.ours == 0) return REAL(Testall)(n, requests, flag, statuses);
    MPI_Request *copy = for_mpi(n, requests, f.open == 0);
    int error = take_back(n, requests, copy, REAL(Testall)(n, copy ? copy : requests, flag, statuses));
    /* Ours stay with the program until MPI's have ended, too. */
    return f.open == 0 && (error != MPI_SUCCESS || *flag) ? end_list(error, n, requests, statuses) : error;
}

int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    int ours = first_ended(n, requests, 0);
    if (ours < 0) {
        MPI_Request *copy = for_mpi(n, requests, 0);
        return take_back(n, requests, copy, REAL(Testany)(n, copy ? copy : requests, index, flag, status));
    }
    *index = ours;
    *flag = 1;
    return hand_over_one(find(requests[ours]), &requests[ours], status);
}

int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status) {
    for (unsigned turns = 0; look_at(n, requests).active > 0; rest(&turns)) {
        int done;
        int error = MPI_Testany(n, requests, index, &done, status);
        if (error != MPI_SUCCESS || done) return error;
    }
    MPI_Request *copy = for_mpi(n, requests, 0);
    return take_back(n, requests, copy, REAL(Waitany)(n, copy ? copy : requests, index, status));
}

/* The status with this number. (MPI_STATUSES_IGNORE is no address in MPICH, and the compiler knows that: the sum would
   be taken for one next to it.) */
static MPI_Status *status_of(MPI_Status *statuses, int i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

int MPI_Testsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    int ours = 0, more = 0, error;
    for (int at; (at = first_ended(n, requests, ours > 0)) >= 0; ours++) {
        MPI_Comm of = MPI_COMM_NULL;
        MPI_Status *status = status_of(statuses, ours);
        indices[ours] = at;
        int code = hand_over(find(requests[at]), &requests[at], status, &of);
        if (!code) continue;
        /* One that has failed comes alone. */
        if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
        *count = 1;
        return report(MPI_ERR_IN_STATUS, of);
    }
    MPI_Request *copy = for_mpi(n, requests, 0);
    MPI_Status *others = ours == 0 || statuses == MPI_STATUSES_IGNORE ? statuses : &statuses[ours];
    error = REAL(Testsome)(n, copy ? copy : requests, &more, indices + ours, others);
    take_back(n, requests, copy, error);
    /* The program then looks at the error of each status. */
    for (int i = 0; error != MPI_SUCCESS && statuses != MPI_STATUSES_IGNORE && i < ours; i++)
        statuses[i].MPI_ERROR = MPI_SUCCESS;
    *count = ours == 0 ? more : more == MPI_UNDEFINED ? ours : ours + more;
    return error;
}

int MPI_Waitsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    for (unsigned turns = 0; look_at(n, requests).active > 0; rest(&turns)) {
        int error = MPI_Testsome(n, requests, count, indices, statuses);
        if (error != MPI_SUCCESS || *count != 0) return error;
    }
    MPI_Request *copy = for_mpi(n, requests, 0);
    return take_back(n, requests, copy, REAL(Waitsome)(n, copy ? copy : requests, count, indices, statuses));
}

BOTH(Wait)
BOTH(Test)
BOTH(Request_get_status)
BOTH(Waitall)
BOTH(Testall)
BOTH(Waitany)
BOTH(Testany)
BOTH(Waitsome)
BOTH(Testsome)
