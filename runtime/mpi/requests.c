/* libhetmp_mpi.so, requests: the generalized requests of collectives that GOAL runs, and the functions that wait for
 * and test requests.
 *
 * To begin and to end a generalized request costs an MPI as much as a short collective. So a request is used again: MPI
 * never hears that it is complete. Whoever waits for it here gets MPI_REQUEST_NULL back, and the handle goes to the
 * next collective. Functions of MPI that this library does not define see a request that goes on. */
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
static struct request *spare;   /* for further collectives */
static struct request *shown;   /* to Fortran, and going on */
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

static int any_open(void) { return __atomic_load_n(&open_requests, __ATOMIC_RELAXED) != 0; }

/* Our record of a request; null for one of MPI's. */
static struct request *find(MPI_Request handle) {
    if (!__atomic_load_n(&open_requests, __ATOMIC_RELAXED) || handle == MPI_REQUEST_NULL) return NULL;
    enter();
    struct request *r = *bucket(handle);
    while (r && r->handle != handle) r = r->next;
    leave();
    return r && r->open && !r->shown ? r : NULL;
}

/* ---- the ends of requests ---- */
static void free_copies(struct request *r) {
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

/* The request may serve another collective. */
static void recycle(struct request *r) {
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

/* Looks whether a run has ended. */
static void look(struct request *r) {
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
        r->error = MPI_ERR_OTHER;
    }
    deliver(r);
}

/* MPI hears that the request is complete. */
static void tell(struct request *r) {
    if (r->told) return;
    r->told = 1;
    PMPI_Grequest_complete(r->handle);
}

static int query(void *state, MPI_Status *status) {
    struct request *r = state;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return r->error ? r->error : MPI_SUCCESS;
}

/* MPI frees the request: one that has failed, or a spare one at the end. */
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
            r->error = code == GOAL_SUCCESS ? 0 : MPI_ERR_OTHER;
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
    shown = NULL;
    while (spare) {
        struct request *r = spare;
        MPI_Request handle = r->handle;
        spare = r->other;
        if (!r->known) {
            free(r);
            continue;
        }
        PMPI_Grequest_complete(handle);
        PMPI_Request_free(&handle);
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

int give_request(struct request *r, MPI_Comm comm, int kind, int code, MPI_Request *request) {
    if (code != GOAL_SUCCESS) {
        char why[300] = "";
        goal.GOAL_Last_error(why, sizeof why);
        say("%s: %s", kind_names[kind], why);
        r->error = MPI_ERR_OTHER;
        deliver(r);
        if (!r->call) recycle(r);
        PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
        return MPI_ERR_OTHER;
    }
    int error = make_known(r, comm);
    if (error != MPI_SUCCESS) return error;
    enter();
    taken[kind]++;
    leave();
    r->active = 1;
    *request = r->handle;
    sweep(0);
    return MPI_SUCCESS;
}

int give_persistent(const struct call *k, MPI_Request *request) {
    struct request *r = new_request();
    r->call = memory(sizeof *k);
    *r->call = *k;
    r->active = 0;
    __atomic_add_fetch(&r->call->c->held, 1, __ATOMIC_RELAXED);
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
    if (!r || !r->call) return PMPI_Start(request);
    free_copies(r);
    r->ended = r->error = 0;
    return give_request(r, r->comm, r->call->kind, begin(r->call, r), request);
}

int MPI_Startall(int n, MPI_Request requests[]) {
    int error = MPI_SUCCESS;
    if (!__atomic_load_n(&persistent, __ATOMIC_RELAXED)) return PMPI_Startall(n, requests);
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
    r->ended = r->error = 0;
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

/* The request has ended: the program gets a status and the null request. */
static void hand_over(struct request *r, MPI_Request *request, MPI_Status *status) {
    if (status != MPI_STATUS_IGNORE) query(r, status);
    *request = MPI_REQUEST_NULL;
    if (!r->call) {
        recycle(r);
        return;
    }
    /* The one function that has the program's own handle puts it back. */
    free_copies(r);
    r->active = 0;
}

/* The one request that a call waits for has ended: an error goes to the communicator's handler. */
static int hand_over_one(struct request *r, MPI_Request *request, MPI_Status *status) {
    int error = r->error;
    MPI_Comm comm = r->comm;
    MPI_Request again = r->call ? r->handle : MPI_REQUEST_NULL;
    if (r->told) {
        r->error = 0;
        PMPI_Wait(request, status);
    } else {
        hand_over(r, request, status);
        *request = again;
    }
    if (error) PMPI_Comm_call_errhandler(comm, error);
    return error;
}

/* What looks at a list of requests have found. */
struct found {
    int ours, open, others; /* ours, those of them that go on, and MPI's that are not null */
    int told;               /* ours of whose end MPI has heard: MPI reports it */
};

/* Looks at those of the requests that are ours. */
static struct found look_at(int n, const MPI_Request *requests) {
    struct found f = {0, 0, 0, 0};
    for (int i = 0; i < n; i++) {
        struct request *r = find(requests[i]);
        if (!r) {
            f.others += requests[i] != MPI_REQUEST_NULL;
            continue;
        }
        look(r);
        if (r->error) tell(r);
        f.ours++;
        f.open += !r->ended;
        f.told += r->told;
    }
    return f;
}

/* Hands over all of ours, which have ended well. */
static void hand_over_all(int n, MPI_Request *requests, MPI_Status *statuses) {
    for (int i = 0; i < n; i++) {
        struct request *r = find(requests[i]);
        if (r) hand_over(r, &requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
    }
}

/* One of ours has failed, and MPI is to report that. MPI would wait for ever for those of ours that have ended well:
 * now MPI hears of their end. Called when none of ours goes on. */
static void complete_all(int n, const MPI_Request *requests) {
    for (int i = 0; i < n; i++) {
        struct request *r = find(requests[i]);
        if (r) tell(r);
    }
}

/* The statuses of null requests, from MPI. */
static int empty_statuses(int n, const MPI_Request *requests, MPI_Status *statuses) {
    for (int i = 0; i < n; i++) {
        MPI_Request none = MPI_REQUEST_NULL;
        if (requests[i] != MPI_REQUEST_NULL) continue;
        int error = PMPI_Wait(&none, &statuses[i]);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

/* A persistent one that was not started, or has ended: as the null request. */
static int is_idle(const struct request *r) { return r->call && !r->active; }

/* Lists are looked at in a copy, if the program has persistent requests: an idle one of ours is null there. */
static MPI_Request *copied(int n, const MPI_Request *requests) {
    if (!__atomic_load_n(&persistent, __ATOMIC_RELAXED) || n <= 0) return NULL;
    MPI_Request *copy = memory(sizeof *copy * (size_t)n);
    for (int i = 0; i < n; i++) {
        struct request *r = find(requests[i]);
        copy[i] = r && is_idle(r) ? MPI_REQUEST_NULL : requests[i];
    }
    return copy;
}

/* What has become of the copy goes to the program. Its persistent requests stay. */
static int put_back(int n, MPI_Request *requests, MPI_Request *copy, int error) {
    for (int i = 0; copy && i < n; i++) {
        struct request *r = find(requests[i]);
        if (!r || !r->call) requests[i] = copy[i];
    }
    free(copy);
    return error;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    struct request *r = any_open() ? find(*request) : NULL;
    MPI_Request none = MPI_REQUEST_NULL;
    if (!r || is_idle(r)) return PMPI_Wait(r ? &none : request, status);
    for (unsigned turns = 0; look(r), !r->ended; rest(&turns)) {
        int done;
        /* Other ranks may wait for MPI's part of this one. A test of a request that has not ended moves MPI on. */
        if (turns % 16 == 15) PMPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE);
    }
    return hand_over_one(r, request, status);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    struct request *r = any_open() ? find(*request) : NULL;
    MPI_Request none = MPI_REQUEST_NULL;
    if (r && is_idle(r)) return PMPI_Test(&none, flag, status);
    if (r) look(r);
    if (!r || !r->ended) return PMPI_Test(request, flag, status);
    *flag = 1;
    return hand_over_one(r, request, status);
}

static int wait_all(int n, MPI_Request requests[], MPI_Status statuses[]) {
    struct found f = {0, 0, 0, 0};
    for (unsigned turns = 0; any_open() && (f = look_at(n, requests)).open > 0; rest(&turns)) {
        int done;
        if (turns % 16 != 15) continue;
        /* Cannot succeed, and so changes nothing: one of ours has not ended. Moves MPI on. */
        int error = PMPI_Testall(n, requests, &done, statuses);
        if (error != MPI_SUCCESS || done) return error;
    }
    if (f.told) complete_all(n, requests);
    if (f.ours == 0 || f.told) return PMPI_Waitall(n, requests, statuses);
    if (f.others == 0) {
        /* Null requests have an empty status. */
        int error = f.ours < n && statuses != MPI_STATUSES_IGNORE ? empty_statuses(n, requests, statuses) : MPI_SUCCESS;
        hand_over_all(n, requests, statuses);
        return error;
    }
    hand_over_all(n, requests, MPI_STATUSES_IGNORE);
    return PMPI_Waitall(n, requests, statuses);
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
    MPI_Request *copy = copied(n, requests);
    return put_back(n, requests, copy, wait_all(n, copy ? copy : requests, statuses));
}

static int test_all(int n, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    struct found f = {0, 0, 0, 0};
    if (any_open()) f = look_at(n, requests);
    if (f.told && f.open == 0) complete_all(n, requests);
    if (f.ours == 0 || f.open > 0 || f.told) return PMPI_Testall(n, requests, flag, statuses);
    /* All of ours have ended. They stay with the program until MPI's have, too. */
    MPI_Request *rest_of = memory(sizeof *rest_of * (size_t)n);
    for (int i = 0; i < n; i++) rest_of[i] = find(requests[i]) ? MPI_REQUEST_NULL : requests[i];
    int error = PMPI_Testall(n, rest_of, flag, statuses);
    if (error != MPI_SUCCESS || *flag) {
        for (int i = 0; i < n; i++)
            if (!find(requests[i])) requests[i] = rest_of[i];
    }
    if (error == MPI_SUCCESS && *flag) hand_over_all(n, requests, statuses);
    free(rest_of);
    return error;
}

int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    MPI_Request *copy = copied(n, requests);
    return put_back(n, requests, copy, test_all(n, copy ? copy : requests, flag, statuses));
}

/* The first of ours that has ended well is handed over, and its place returned; -1 if there is none. */
static int first_ended(int n, MPI_Request *requests, MPI_Status *status) {
    for (int i = 0; i < n; i++) {
        struct request *r = find(requests[i]);
        if (!r) continue;
        look(r);
        if (r->error) tell(r);
        if (!r->ended || r->told) continue;
        hand_over(r, &requests[i], status);
        return i;
    }
    return -1;
}

static int test_any(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    int ours = any_open() ? first_ended(n, requests, status) : -1;
    if (ours < 0) return PMPI_Testany(n, requests, index, flag, status);
    *index = ours;
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    MPI_Request *copy = copied(n, requests);
    return put_back(n, requests, copy, test_any(n, copy ? copy : requests, index, flag, status));
}

static int wait_any(int n, MPI_Request requests[], int *index, MPI_Status *status) {
    for (unsigned turns = 0; any_open() && look_at(n, requests).ours > 0; rest(&turns)) {
        int done;
        int error = test_any(n, requests, index, &done, status);
        if (error != MPI_SUCCESS || done) return error;
    }
    return PMPI_Waitany(n, requests, index, status);
}

int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status) {
    MPI_Request *copy = copied(n, requests);
    return put_back(n, requests, copy, wait_any(n, copy ? copy : requests, index, status));
}

/* The statuses from number \p n on. (MPI_STATUSES_IGNORE is no address in MPICH, and the compiler knows that: the sum
   would be taken for one beside it.) */
static MPI_Status *statuses_from(MPI_Status *statuses, int n) {
    return statuses == MPI_STATUSES_IGNORE || n == 0 ? statuses : &statuses[n];
}

static int test_some(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    int ours = 0, more = 0;
    for (int at; any_open(); ours++) {
        at = first_ended(n, requests, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[ours]);
        if (at < 0) break;
        indices[ours] = at;
    }
    int error = PMPI_Testsome(n, requests, &more, indices + ours, statuses_from(statuses, ours));
    /* The program then looks at the error of each status. */
    for (int i = 0; error != MPI_SUCCESS && statuses != MPI_STATUSES_IGNORE && i < ours; i++)
        statuses[i].MPI_ERROR = MPI_SUCCESS;
    *count = ours == 0 ? more : more == MPI_UNDEFINED ? ours : ours + more;
    return error;
}

int MPI_Testsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    MPI_Request *copy = copied(n, requests);
    return put_back(n, requests, copy, test_some(n, copy ? copy : requests, count, indices, statuses));
}

static int wait_some(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    for (unsigned turns = 0; any_open() && look_at(n, requests).ours > 0; rest(&turns)) {
        int error = test_some(n, requests, count, indices, statuses);
        if (error != MPI_SUCCESS || *count != 0) return error;
    }
    return PMPI_Waitsome(n, requests, count, indices, statuses);
}

int MPI_Waitsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    MPI_Request *copy = copied(n, requests);
    return put_back(n, requests, copy, wait_some(n, copy ? copy : requests, count, indices, statuses));
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    struct request *r = any_open() ? find(request) : NULL;
    if (r && is_idle(r)) return PMPI_Request_get_status(MPI_REQUEST_NULL, flag, status);
    if (r) look(r);
    if (r && r->error) tell(r);
    if (!r || !r->ended || r->told) return PMPI_Request_get_status(request, flag, status);
    if (status != MPI_STATUS_IGNORE) query(r, status);
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request *request) {
    struct request *r = any_open() ? find(*request) : NULL;
    if (!r || r->told) return PMPI_Request_free(request);
    *request = MPI_REQUEST_NULL;
    if (r->ended || is_idle(r)) {
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

#ifdef OPEN_MPI
/* ---- Fortran ---- */
/* Open MPI's Fortran functions wait by MPI's own, where nobody looks at GOAL. So Open MPI looks, whenever it looks for
 * messages: this is its way to have a function called then. */
extern int opal_progress_register(int (*look)(void)) __attribute__((weak));

static pthread_mutex_t showing = PTHREAD_MUTEX_INITIALIZER;

static int look_at_shown(void) {
    int ended = 0;
    if (!shown || pthread_mutex_trylock(&showing)) return 0;
    for (struct request **at = &shown, *r; (r = *at);) {
        look(r);
        if (r->ended) {
            *at = r->after;
            tell(r);
            ended++;
        } else {
            at = &r->after;
        }
    }
    pthread_mutex_unlock(&showing);
    return ended;
}

/* A C program gives a request to Fortran. From now on it is MPI's, in C too. */
MPI_Fint MPI_Request_c2f(MPI_Request request) {
    static int registered;
    struct request *r = any_open() ? find(request) : NULL;
    if (r && !r->told && opal_progress_register) {
        pthread_mutex_lock(&showing);
        if (!registered) registered = 1, opal_progress_register(look_at_shown);
        r->shown = 1;
        r->after = shown;
        shown = r;
        pthread_mutex_unlock(&showing);
    }
    return PMPI_Request_c2f(request);
}
#endif
