/* libhetmp_mpi.so, requests: the generalized requests of collectives that GOAL runs.
 *
 * To begin and to end a generalized request costs an MPI as much as a short collective. So a request is used again: MPI
 * never hears that it is complete. Whoever waits for it here gets MPI_REQUEST_NULL back, and the handle goes to the
 * next collective. Functions of MPI that this library does not define see a request that goes on. */
#include "hetmp_mpi.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
enum { BUCKETS = 1024 };
static struct request *table[BUCKETS];
static struct request *orphans; /* freed by the program before they ended */
static struct request *spare;   /* for further collectives */
static int open_requests;
static int persistent; /* how many the program has */

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

int any_open(void) { return __atomic_load_n(&open_requests, __ATOMIC_RELAXED) != 0; }

int any_persistent(void) { return __atomic_load_n(&persistent, __ATOMIC_RELAXED) != 0; }

struct request *find(MPI_Request handle) {
    if (!any_open() || handle == MPI_REQUEST_NULL) return NULL;
    enter();
    struct request *r = *bucket(handle);
    while (r && r->handle != handle) r = r->next;
    leave();
    return r && r->open ? r : NULL;
}

/* ---- the ends of requests ---- */
void free_copies(struct request *r) {
    free(r->give);
    free(r->get);
    free(r->parts);
    r->give = r->get = NULL;
    r->parts = NULL;
    r->n_parts = 0;
}

/* A persistent one becomes an ordinary one. */
static void free_call(struct request *r) {
    struct call *k = r->call;
    if (!k) return;
    __atomic_sub_fetch(&persistent, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) {
        struct side *s = i ? &k->get : &k->give;
        if (s->is_dup) PMPI_Type_free(&s->type);
    }
    r->call = NULL;
    r->active = 0;
    let_go(k->c);
    free(k);
}

void recycle(struct request *r) {
    free_copies(r);
    free_call(r);
    enter();
    if (r->open) __atomic_sub_fetch(&open_requests, 1, __ATOMIC_RELAXED);
    r->open = 0;
    r->other = spare;
    spare = r;
    leave();
}

/* The run has ended: its results go from the copy to the program's buffer. The type is freed here and not in `drop`:
 * with several threads MPICH calls `forget` under a lock that MPI_Type_free takes. */
static void deliver(struct request *r) {
    for (struct part *p = r->parts; p < r->parts + r->n_parts; p++) {
        if (!r->error && p->derived)
            move_block(p->to, p->count, p->type, p->from, p->bytes, 1);
        else if (!r->error)
            memcpy(p->to, p->from, p->bytes);
    }
    for (struct part *p = r->parts; p < r->parts + r->n_parts; p++)
        if (p->is_first) PMPI_Type_free(&p->type);
    r->n_parts = 0;
    r->ended = 1;
}

int error_of(int code) {
    return code == GOAL_SUCCESS ? MPI_SUCCESS : code == GOAL_ERR_ARGUMENT ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
}

void look(struct request *r) {
    int done = 0;
    if (r->ended) return;
    int code = goal.GOAL_Test(&r->run, &done);
    if (code == GOAL_SUCCESS && !done) {
        goal.GOAL_Progress();
        return;
    }
    if (code != GOAL_SUCCESS) {
        char why[300] = "";
        goal.GOAL_Last_error(why, sizeof why);
        say("a collective failed: %s", why);
    }
    r->error = r->unlike ? MPI_ERR_TRUNCATE : error_of(code);
    deliver(r);
}

void empty_status(MPI_Status *status) {
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
}

static int query(void *state, MPI_Status *status) {
    (void)state;
    empty_status(status);
    return MPI_SUCCESS;
}

/* MPI frees the request, at the end. */
static int forget(void *state) {
    struct request *r = state;
    enter();
    struct request **at = bucket(r->handle);
    while (*at && *at != r) at = &(*at)->next;
    if (*at) *at = r->next;
    if (r->open) __atomic_sub_fetch(&open_requests, 1, __ATOMIC_RELAXED);
    leave();
    free_copies(r);
    free_call(r);
    free(r);
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
        all = r->other;
        int code = wait ? goal.GOAL_Wait(&r->run) : goal.GOAL_Test(&r->run, &done);
        if (code != GOAL_SUCCESS || done) {
            r->error = r->unlike ? MPI_ERR_TRUNCATE : error_of(code);
            deliver(r);
            recycle(r);
            continue;
        }
        enter();
        r->other = orphans;
        orphans = r;
        leave();
    }
}

void end_requests(void) {
    sweep(1);
    while (spare) {
        struct request *r = spare;
        MPI_Request handle = r->handle;
        spare = r->other;
        if (!r->known) {
            free(r);
            continue;
        }
        PMPI_Grequest_complete(handle);
        REAL(Request_free)(&handle);
    }
}

void forget_comm(MPI_Comm comm) {
    enter();
    for (int i = 0; i < BUCKETS; i++)
        for (struct request *r = table[i]; r; r = r->next)
            if (r->comm == comm) r->comm = MPI_COMM_WORLD;
    leave();
}

/* MPI and the table get the request's handle, if they do not have it, and the program may use it. */
static int make_known(struct request *r, MPI_Comm comm) {
    int is_new = !r->known;
    r->comm = comm;
    if (is_new) {
        int error = PMPI_Grequest_start(query, forget, cancel, r, &r->handle);
        if (error != MPI_SUCCESS) return error;
        r->known = 1;
    }
    enter();
    if (is_new) {
        struct request **at = bucket(r->handle);
        r->next = *at;
        *at = r;
    }
    if (!r->open) __atomic_add_fetch(&open_requests, 1, __ATOMIC_RELAXED);
    r->open = 1;
    leave();
    return MPI_SUCCESS;
}

/* GOAL has refused to begin. */
static int refused(struct request *r, MPI_Comm comm, int kind) {
    char why[300] = "";
    goal.GOAL_Last_error(why, sizeof why);
    say("%s: %s", kind_names[kind], why);
    r->error = MPI_ERR_OTHER;
    deliver(r);
    if (!r->call) recycle(r);
    PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

/* One more collective of this kind was begun. */
static void count(int kind) {
    enter();
    taken[kind]++;
    leave();
}

int finish(struct request *r, const struct call *k, int code) {
    if (code != GOAL_SUCCESS) return refused(r, k->comm, k->kind);
    count(BLOCKING_ONES);
    wait_for(r);
    int error = r->error;
    recycle(r);
    if (error) PMPI_Comm_call_errhandler(k->comm, error);
    return error;
}

int give_request(struct request *r, MPI_Comm comm, int kind, int code, MPI_Request *request) {
    if (code != GOAL_SUCCESS) return refused(r, comm, kind);
    int error = make_known(r, comm);
    if (error != MPI_SUCCESS) return error;
    count(kind);
    r->active = 1;
    *request = r->handle;
    sweep(0);
    return MPI_SUCCESS;
}

int give_persistent(const struct call *k, MPI_Request *request) {
    struct comm *own = apart(k->comm, k->c);
    if (!own) return MPI_ERR_OTHER;
    struct request *r = new_request();
    r->call = memory(sizeof *k);
    *r->call = *k;
    r->active = 0;
    r->call->c = own;
    __atomic_add_fetch(&persistent, 1, __ATOMIC_RELAXED);
    /* The program may free its types. */
    for (int i = 0; i < 2; i++) {
        struct side *s = i ? &r->call->get : &r->call->give;
        int used = s->count > 0 || s->counts;
        if (!used || s->type == MPI_DATATYPE_NULL || is_plain(s->type) || !is_usable(s->type)) continue;
        PMPI_Type_dup(s->type, &s->type);
        s->is_dup = 1;
    }
    int error = make_known(r, k->comm);
    if (error == MPI_SUCCESS) *request = r->handle;
    return error;
}

int MPI_Start(MPI_Request *request) {
    struct request *r = any_open() ? find(*request) : NULL;
    if (!r || !r->call) return REAL(Start)(request);
    free_copies(r);
    r->ended = r->error = 0;
    return give_request(r, r->comm, r->call->kind, begin(r->call, r), request);
}

int MPI_Startall(int n, MPI_Request requests[]) {
    int error = MPI_SUCCESS;
    if (!any_persistent()) return REAL(Startall)(n, requests);
    for (int i = 0; i < n && error == MPI_SUCCESS; i++) error = MPI_Start(&requests[i]);
    return error;
}

struct request *new_request(void) {
    enter();
    struct request *r = spare;
    if (r) spare = r->other;
    leave();
    if (!r) {
        r = calloc(1, sizeof *r);
        if (!r) memory(SIZE_MAX);
        return r;
    }
    r->ended = r->error = r->unlike = 0;
    return r;
}

int MPI_Request_free(MPI_Request *request) {
    struct request *r = any_open() ? find(*request) : NULL;
    if (!r) return REAL(Request_free)(request);
    *request = MPI_REQUEST_NULL;
    if (r->ended || (r->call && !r->active)) {
        recycle(r);
        return MPI_SUCCESS;
    }
    /* The run goes on; `sweep` finds its end. */
    enter();
    r->open = 0;
    __atomic_sub_fetch(&open_requests, 1, __ATOMIC_RELAXED);
    r->other = orphans;
    orphans = r;
    leave();
    return MPI_SUCCESS;
}

BOTH(Start)
BOTH(Startall)
BOTH(Request_free)
