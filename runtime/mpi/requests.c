/* libhetmp_mpi.so, requests: the generalized requests of collectives that GOAL runs, and the functions that wait for and test
 * requests. */
#include "hetmp_mpi.h"
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
enum { BUCKETS = 1024 };
static struct request *table[BUCKETS];
static struct request *orphans; /* freed by the program before they ended */
static int open_requests;

static void enter(void) {
    if (threads) pthread_mutex_lock(&lock);
}

static void leave(void) {
    if (threads) pthread_mutex_unlock(&lock);
}

static struct request **bucket(MPI_Request handle) {
    uint64_t bits = (uint64_t)(uintptr_t)handle;
    return &table[(bits * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

/* Our record of a request; null for one of MPI's. */
static struct request *find(MPI_Request handle) {
    if (!__atomic_load_n(&open_requests, __ATOMIC_RELAXED) || handle == MPI_REQUEST_NULL) return NULL;
    enter();
    struct request *r = *bucket(handle);
    while (r && r->handle != handle) r = r->next;
    leave();
    return r;
}

/* ---- the ends of requests ---- */
static void drop(struct request *r) {
    free(r->give);
    free(r->get);
    free(r->slots);
    free(r);
}

/* The run has ended: its results go from the copy to the program's buffer. The type is freed here and not in `drop`: with
 * several threads MPICH calls `forget` under a lock that MPI_Type_free takes. */
static void deliver(struct request *r) {
    for (int i = 0; r->get && !r->error && i < r->blocks; i++) {
        char *to = (char *)r->target + (r->slots ? r->slots[i] : i) * r->stride;
        char *from = (char *)r->get + r->bytes * (size_t)i;
        if (r->derived) {
            int at = 0;
            PMPI_Unpack(from, (int)r->bytes, &at, to, r->count, r->type, MPI_COMM_WORLD);
        } else {
            memcpy(to, from, r->bytes);
        }
    }
    if (r->derived) PMPI_Type_free(&r->type);
    r->derived = 0;
    r->ended = 1;
}

/* Looks whether a run has ended, and if so tells MPI. */
static void look(struct request *r) {
    int done = 0;
    if (r->ended) return;
    int code = goal.GOAL_Test(&r->run, &done);
    if (code == GOAL_SUCCESS && !done) {
        goal.GOAL_Progress();
        code = goal.GOAL_Test(&r->run, &done);
    }
    if (code != GOAL_SUCCESS) {
        char why[300] = "";
        goal.GOAL_Last_error(why, sizeof why);
        say("a collective failed: %s", why);
        r->error = MPI_ERR_OTHER;
        done = 1;
    }
    if (done) {
        deliver(r);
        PMPI_Grequest_complete(r->handle);
    }
}

static int query(void *state, MPI_Status *status) {
    struct request *r = state;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return r->error ? r->error : MPI_SUCCESS;
}

/* MPI frees the request: after Wait or Test, or because the program has called MPI_Request_free. */
static int forget(void *state) {
    struct request *r = state;
    enter();
    struct request **at = bucket(r->handle);
    while (*at && *at != r) at = &(*at)->next;
    if (*at) *at = r->next;
    __atomic_sub_fetch(&open_requests, 1, __ATOMIC_RELAXED);
    if (r->freed) {
        r->next = orphans;
        orphans = r;
    }
    leave();
    if (!r->freed) drop(r);
    return MPI_SUCCESS;
}

/* MPI does not allow a collective to be cancelled. */
static int cancel(void *state, int complete) {
    (void)state;
    (void)complete;
    return MPI_ERR_REQUEST;
}

void sweep(int wait) {
    if (!orphans) return;
    enter();
    struct request *all = orphans;
    orphans = NULL;
    leave();
    while (all) {
        struct request *r = all;
        int done = wait;
        all = r->next;
        int code = wait ? goal.GOAL_Wait(&r->run) : goal.GOAL_Test(&r->run, &done);
        if (code != GOAL_SUCCESS || done) {
            r->error = code == GOAL_SUCCESS ? 0 : MPI_ERR_OTHER;
            deliver(r);
            drop(r);
            continue;
        }
        enter();
        r->next = orphans;
        orphans = r;
        leave();
    }
}

int give_request(struct request *r, int kind, int code, MPI_Request *request) {
    if (code != GOAL_SUCCESS) fatal(kind_names[kind]);
    int error = PMPI_Grequest_start(query, forget, cancel, r, &r->handle);
    if (error != MPI_SUCCESS) return error;
    enter();
    struct request **at = bucket(r->handle);
    r->next = *at;
    *at = r;
    __atomic_add_fetch(&open_requests, 1, __ATOMIC_RELAXED);
    taken[kind]++;
    leave();
    *request = r->handle;
    sweep(0);
    return MPI_SUCCESS;
}

struct request *new_request(void) {
    struct request *r = calloc(1, sizeof *r);
    if (!r) memory(SIZE_MAX);
    return r;
}

/* ---- waiting and testing ---- */
/* Between two looks of a thread that waits for GOAL and MPI together. Neither can wake it for the other. */
static void rest(unsigned *turns) {
    unsigned n = ++*turns;
    if (n > 4000) {
        const struct timespec nap = {0, 20000};
        nanosleep(&nap, NULL);
    } else if (n > 100) {
        sched_yield();
    }
}

/* Looks at those of the requests that are ours. Returns how many of them have not ended. */
static int look_at(int n, const MPI_Request *requests) {
    int left_open = 0;
    for (int i = 0; i < n; i++) {
        struct request *r = find(requests[i]);
        if (!r) continue;
        look(r);
        left_open += !r->ended;
    }
    return left_open;
}

static int any_open(void) { return __atomic_load_n(&open_requests, __ATOMIC_RELAXED) != 0; }

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    struct request *r = any_open() ? find(*request) : NULL;
    for (unsigned turns = 0; r && (look(r), !r->ended); rest(&turns)) {
        int done;
        /* Other ranks may wait for MPI's part of this one. A test of a request that has not ended moves MPI on. */
        if (turns % 8 == 7) PMPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE);
    }
    return PMPI_Wait(request, status);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    if (any_open()) look_at(1, request);
    return PMPI_Test(request, flag, status);
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
    for (unsigned turns = 0; any_open() && look_at(n, requests) > 0; rest(&turns)) {
        int done;
        if (turns % 8 != 7) continue;
        /* Cannot succeed, and so changes nothing: one of ours has not ended. Moves MPI on. */
        int error = PMPI_Testall(n, requests, &done, statuses);
        if (error != MPI_SUCCESS || done) return error;
    }
    return PMPI_Waitall(n, requests, statuses);
}

int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    if (any_open()) look_at(n, requests);
    return PMPI_Testall(n, requests, flag, statuses);
}

int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status) {
    for (unsigned turns = 0; any_open() && look_at(n, requests) > 0; rest(&turns)) {
        int done;
        int error = PMPI_Testany(n, requests, index, &done, status);
        if (error != MPI_SUCCESS || done) return error;
    }
    return PMPI_Waitany(n, requests, index, status);
}

int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    if (any_open()) look_at(n, requests);
    return PMPI_Testany(n, requests, index, flag, status);
}

int MPI_Waitsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    for (unsigned turns = 0; any_open() && look_at(n, requests) > 0; rest(&turns)) {
        int error = PMPI_Testsome(n, requests, count, indices, statuses);
        if (error != MPI_SUCCESS || *count != 0) return error;
    }
    return PMPI_Waitsome(n, requests, count, indices, statuses);
}

int MPI_Testsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    if (any_open()) look_at(n, requests);
    return PMPI_Testsome(n, requests, count, indices, statuses);
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    if (any_open()) look_at(1, &request);
    return PMPI_Request_get_status(request, flag, status);
}

int MPI_Request_free(MPI_Request *request) {
    struct request *r = any_open() ? find(*request) : NULL;
    if (r && !r->ended) {
        /* The run goes on; `sweep` finds its end. */
        r->freed = 1;
        PMPI_Grequest_complete(r->handle);
    }
    return PMPI_Request_free(request);
}
