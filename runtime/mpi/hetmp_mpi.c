/* libhetmp_mpi.so: the nonblocking collectives of an unchanged MPI program, run by GOAL.
 *
 * What it is: a library for LD_PRELOAD, compiled against the mpi.h of one MPI. It defines the nonblocking collectives, the
 * functions that wait for and test requests, and those that create communicators, and calls MPI by its PMPI names. GOAL is
 * in libhetmp.so, which lies in the same folder and is opened when the program calls MPI_Init.
 *
 * What it owns: a record for each communicator (an attribute of the communicator) and for each request of a collective that
 * GOAL runs. Such a request is a generalized request, so that the program and MPI may treat it as any other.
 *
 * Who decides: all ranks must take the same way. The decision therefore depends only on what MPI demands to be equal on all
 * ranks: the communicator, the number of bytes, the operation and its type. MPI_IN_PLACE (which only the root gives in a
 * reduction) and derived types (which may differ between ranks, as long as their signatures agree) do not count; such
 * buffers go through a copy.
 *
 * Contexts: ranks may begin the collectives of two communicators in different orders, so each communicator is a group of
 * GOAL with a context of its own. The creation of a communicator is collective: there the ranks agree on a number that is
 * free at all of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <goal.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#ifdef OPEN_MPI
#define BUILT_FOR "Open MPI"
#else
#define BUILT_FOR "MPICH"
#endif

/* ---- libhetmp.so ---- */
#define FUNCTIONS(F)                                                                                                      \
    F(GOAL_Init_through) F(GOAL_Finalize) F(GOAL_Progress) F(GOAL_Test) F(GOAL_Wait) F(GOAL_Last_error)                   \
    F(GOAL_Group_create) F(GOAL_Group_free) F(goal_ibarrier) F(goal_ibroadcast) F(goal_ireduce) F(goal_iallreduce)        \
    F(goal_ialltoall) F(goal_iallgather) F(goal_ireduce_scatter) F(goal_group_ibarrier) F(goal_group_ibroadcast)          \
    F(goal_group_ireduce) F(goal_group_iallreduce) F(goal_group_ialltoall) F(goal_group_iallgather)                       \
    F(goal_group_ireduce_scatter) F(goal_group_ineighbor_alltoall)
static struct {
#define FIELD(name) __typeof__(name) *name;
    FUNCTIONS(FIELD)
} goal;

static void say(const char *format, ...) {
    char text[600] = "hetmp: libhetmp_mpi.so: ";
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + used, sizeof text - used - 1, format, list);
    va_end(list);
    strcat(text, "\n");
    /* One call, so that the lines of several ranks do not mix. A line that cannot be written is lost. */
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

/* Opens the library beside this one. Its names stay out of the program's sight: a program that was not started on hetmp's
 * OpenMP keeps its own. */
static int open_library(void) {
    Dl_info here;
    char path[4096];
    if (!dladdr((void *)open_library, &here)) return 0;
    const char *slash = strrchr(here.dli_fname, '/');
    int folder = slash ? (int)(slash - here.dli_fname) : 1;
    snprintf(path, sizeof path, "%.*s/libhetmp.so", folder, slash ? here.dli_fname : ".");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        say("%s; the collectives stay with MPI", dlerror());
        return 0;
    }
#define FIND(name)                                                                                                        \
    if (!(goal.name = (__typeof__(name) *)dlsym(library, #name))) {                                                       \
        say("%s: function " #name " is missing: the library of the same version is accepted", path);                      \
        return 0;                                                                                                         \
    }
    FUNCTIONS(FIND)
    return 1;
}

/* ---- state ---- */
enum { BARRIER, BCAST, REDUCE, ALLREDUCE, ALLTOALL, ALLGATHER, REDUCE_SCATTER, NEIGHBOR, KINDS };
static const char *const kind_names[KINDS] = {"Ibarrier",   "Ibcast",     "Ireduce",               "Iallreduce",
                                              "Ialltoall",  "Iallgather", "Ireduce_scatter_block", "Ineighbor_alltoall"};
enum { COMMUNICATOR, TYPE, OPERATION, EMPTY, TOPOLOGY, REASONS };
static const char *const reason_names[REASONS] = {"communicator", "type", "operation", "no data", "topology"};

static int joined;     /* GOAL is there, between MPI_Init and MPI_Finalize */
static int threads;    /* MPI_THREAD_MULTIPLE */
static int keyval = MPI_KEYVAL_INVALID;
static int next_context = 1;
static MPI_Group world_group;
static long taken[KINDS], left[REASONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A communicator whose collectives GOAL can run. */
struct comm {
    GOAL_Group group; /* null: all ranks */
    int size, rank;
    /* Neighbours, once they were asked for: numbers in the communicator, MPI_PROC_NULL for none. */
    int known, sources, destinations;
    int *from, *to;
};

/* What a request of ours still has to do when its run has ended, and how it is known. */
struct request {
    struct request *next;
    MPI_Request handle;
    GOAL_Handle run;
    int ended, freed, error;
    void *give, *get;   /* copies, or null */
    void *target;       /* blocks of `get` go here: block i to place `slots[i]` */
    int blocks, *slots; /* `slots` null: one block at the beginning */
    size_t bytes;       /* length of one block */
    MPI_Aint stride;    /* distance of two places */
    int count;          /* elements of a block */
    int derived;        /* `type` says where a block's bytes belong */
    MPI_Datatype type;
};

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

static __attribute__((noreturn)) void fatal(const char *what) {
    char why[300] = "";
    goal.GOAL_Last_error(why, sizeof why);
    say("%s: %s", what, why);
    PMPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static void *memory(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        say("copy of %zu bytes: there is no memory", bytes);
        PMPI_Abort(MPI_COMM_WORLD, 1);
        abort();
    }
    return p;
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

/* Requests that the program has freed while their runs went on. */
static void sweep(int wait) {
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

/* A run was begun, with this code: the program gets a request for it. */
static int give_request(struct request *r, int kind, int code, MPI_Request *request) {
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

static struct request *new_request(void) {
    struct request *r = calloc(1, sizeof *r);
    if (!r) memory(SIZE_MAX);
    return r;
}

/* ---- types and operations ---- */
/* True for a type of MPI's own without holes: its elements lie one after the other, in the order in which they are sent. */
static int is_plain(MPI_Datatype type) {
    static __thread MPI_Datatype latest;
    static __thread int known;
    int integers, addresses, types, combiner, size;
    MPI_Aint lb, extent;
    /* Types of MPI's own are never freed, so that the handle cannot have come to mean another one. */
    if (known && type == latest) return 1;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) return 0;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_extent(type, &lb, &extent);
    if (lb != 0 || extent != size) return 0;
    latest = type;
    known = 1;
    return 1;
}

/* GOAL's number of an element type; 0 if GOAL has none. */
static int element(MPI_Datatype type) {
#define SIGNED(c) GOAL_SIGNED(8 * (int)sizeof(c))
#define UNSIGNED(c) GOAL_UNSIGNED(8 * (int)sizeof(c))
    const struct {
        MPI_Datatype type;
        int number;
    } types[] = {
        {MPI_INT, SIGNED(int)},
        {MPI_DOUBLE, GOAL_DOUBLE},
        {MPI_FLOAT, GOAL_FLOAT},
        {MPI_LONG, SIGNED(long)},
        {MPI_UNSIGNED_LONG, UNSIGNED(long)},
        {MPI_UNSIGNED, UNSIGNED(int)},
        {MPI_LONG_LONG, SIGNED(long long)},
        {MPI_UNSIGNED_LONG_LONG, UNSIGNED(long long)},
        {MPI_INT32_T, SIGNED(int32_t)},
        {MPI_INT64_T, SIGNED(int64_t)},
        {MPI_UINT32_T, UNSIGNED(uint32_t)},
        {MPI_UINT64_T, UNSIGNED(uint64_t)},
        {MPI_INT8_T, SIGNED(int8_t)},
        {MPI_INT16_T, SIGNED(int16_t)},
        {MPI_UINT8_T, UNSIGNED(uint8_t)},
        {MPI_UINT16_T, UNSIGNED(uint16_t)},
        {MPI_SIGNED_CHAR, SIGNED(signed char)},
        {MPI_UNSIGNED_CHAR, UNSIGNED(unsigned char)},
        {MPI_SHORT, SIGNED(short)},
        {MPI_UNSIGNED_SHORT, UNSIGNED(unsigned short)},
        {MPI_AINT, SIGNED(MPI_Aint)},
        {MPI_COUNT, SIGNED(MPI_Count)},
        {MPI_OFFSET, SIGNED(MPI_Offset)},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == type) return types[i].number;
    return 0;
}

/* GOAL's number of an operation on elements of a type; -1 if GOAL has none, or MPI forbids it. */
static int operation(MPI_Op op, int type) {
    int is_integer = type != GOAL_FLOAT && type != GOAL_DOUBLE;
    if (op == MPI_SUM) return GOAL_ADD;
    if (op == MPI_MAX) return GOAL_MAX;
    if (op == MPI_MIN) return GOAL_MIN;
    if (op == MPI_PROD) return GOAL_MULT;
    if (op == MPI_BAND && is_integer) return GOAL_AND;
    if (op == MPI_BOR && is_integer) return GOAL_OR;
    if (op == MPI_BXOR && is_integer) return GOAL_XOR;
    return -1;
}

/* ---- communicators ---- */
static struct comm *record(MPI_Comm comm) {
    struct comm *c = NULL;
    int found = 0;
    if (!joined || comm == MPI_COMM_NULL) return NULL;
    if (PMPI_Comm_get_attr(comm, keyval, &c, &found) != MPI_SUCCESS || !found) return NULL;
    return c;
}

static int delete_record(MPI_Comm comm, int key, void *attribute, void *state) {
    struct comm *c = attribute;
    (void)comm;
    (void)key;
    (void)state;
    if (c->group) goal.GOAL_Group_free(&c->group);
    free(c->from);
    free(c->to);
    free(c);
    return MPI_SUCCESS;
}

static void keep(MPI_Comm comm, GOAL_Group group) {
    struct comm *c = calloc(1, sizeof *c);
    if (!c) memory(SIZE_MAX);
    c->group = group;
    PMPI_Comm_size(comm, &c->size);
    PMPI_Comm_rank(comm, &c->rank);
    PMPI_Comm_set_attr(comm, keyval, c);
}

/* A communicator was created from `parent`, by all its members together. With several threads that create communicators at
 * once the ranks could not agree on contexts, so that then only MPI_COMM_WORLD is GOAL's. */
static int created(int error, MPI_Comm parent, MPI_Comm *comm) {
    if (error != MPI_SUCCESS || !joined || threads || *comm == MPI_COMM_NULL || !record(parent)) return error;
    int size, inter, mine = next_context, context;
    PMPI_Comm_test_inter(*comm, &inter);
    PMPI_Comm_size(*comm, &size);
    if (inter || size < 2) return error;
    error = PMPI_Allreduce(&mine, &context, 1, MPI_INT, MPI_MAX, *comm);
    if (error != MPI_SUCCESS || context == INT32_MAX) return error;
    next_context = context + 1;
    int *numbers = memory(2 * sizeof(int) * (size_t)size), *ranks = numbers + size;
    for (int i = 0; i < size; i++) numbers[i] = i;
    MPI_Group group;
    PMPI_Comm_group(*comm, &group);
    PMPI_Group_translate_ranks(group, size, numbers, world_group, ranks);
    PMPI_Group_free(&group);
    GOAL_Group made;
    if (goal.GOAL_Group_create(context, ranks, size, &made) != GOAL_SUCCESS) fatal("communicator");
    free(numbers);
    keep(*comm, made);
    return MPI_SUCCESS;
}

#define CREATES(name, parameters, arguments, parent, comm)                                                                \
    int name parameters { return created(P##name arguments, parent, comm); }
CREATES(MPI_Comm_dup, (MPI_Comm c, MPI_Comm *n), (c, n), c, n)
CREATES(MPI_Comm_dup_with_info, (MPI_Comm c, MPI_Info i, MPI_Comm *n), (c, i, n), c, n)
CREATES(MPI_Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *n), (c, color, key, n), c, n)
CREATES(MPI_Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info i, MPI_Comm *n), (c, type, key, i, n), c, n)
CREATES(MPI_Comm_create, (MPI_Comm c, MPI_Group g, MPI_Comm *n), (c, g, n), c, n)
CREATES(MPI_Cart_create, (MPI_Comm c, int d, const int s[], const int p[], int r, MPI_Comm *n), (c, d, s, p, r, n), c, n)
CREATES(MPI_Cart_sub, (MPI_Comm c, const int d[], MPI_Comm *n), (c, d, n), c, n)
CREATES(MPI_Graph_create, (MPI_Comm c, int k, const int x[], const int e[], int r, MPI_Comm *n), (c, k, x, e, r, n), c, n)
CREATES(MPI_Dist_graph_create,
        (MPI_Comm c, int k, const int s[], const int g[], const int d[], const int w[], MPI_Info i, int r, MPI_Comm *n),
        (c, k, s, g, d, w, i, r, n), c, n)
CREATES(MPI_Dist_graph_create_adjacent,
        (MPI_Comm c, int a, const int s[], const int w[], int b, const int d[], const int v[], MPI_Info i, int r,
         MPI_Comm *n),
        (c, a, s, w, b, d, v, i, r, n), c, n)

/* ---- the job ---- */
static int allgather(void *state, const void *give, void *get, size_t bytes) {
    (void)state;
    if (bytes > INT32_MAX) return MPI_ERR_COUNT;
    return PMPI_Allgather(give, (int)bytes, MPI_BYTE, get, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* Whether packed data are the elements' bytes and nothing else, as copies of derived types need. */
static int packs_plainly(void) {
    int from[3] = {1, 2, 3}, packed[16] = {0}, at = 0;
    MPI_Datatype pair;
    PMPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    PMPI_Type_commit(&pair);
    PMPI_Pack(from, 1, pair, packed, sizeof packed, &at, MPI_COMM_WORLD);
    PMPI_Type_free(&pair);
    return at == 8 && packed[0] == 1 && packed[1] == 3;
}

/* A library of another MPI would take handles of the wrong kind. */
static void check_version(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    PMPI_Get_library_version(version, &length);
    int is_open = strstr(version, "Open MPI") != NULL;
    if (is_open == !strcmp(BUILT_FOR, "Open MPI")) return;
    version[strcspn(version, "\t\n,")] = 0;
    say("program of %s: one of " BUILT_FOR " is accepted (libhetmp_mpi-openmpi.so and -mpich.so)", version);
    _exit(1);
}

static void join(void) {
    int rank, size, fine, all;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) return;
    fine = open_library() && packs_plainly();
    PMPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) {
        if (rank == 0) say("not every rank has it as it is needed; the collectives stay with MPI");
        return;
    }
    fine = goal.GOAL_Init_through(rank, size, allgather, NULL) == GOAL_SUCCESS;
    if (!fine) {
        char why[300] = "";
        goal.GOAL_Last_error(why, sizeof why);
        say("%s; the collectives stay with MPI", why);
    }
    PMPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) {
        if (fine) goal.GOAL_Finalize();
        return;
    }
    PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_record, &keyval, NULL);
    keep(MPI_COMM_WORLD, NULL);
    joined = 1;
}

int MPI_Init(int *argc, char ***argv) {
    check_version();
    int error = PMPI_Init(argc, argv);
    if (error == MPI_SUCCESS) join();
    return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    check_version();
    int error = PMPI_Init_thread(argc, argv, required, provided);
    if (error != MPI_SUCCESS) return error;
    threads = *provided == MPI_THREAD_MULTIPLE;
    join();
    return error;
}

/* With HETMP_VERBOSE: one line of rank 0, with what all ranks have counted. */
static void report(void) {
    const char *value = getenv("HETMP_VERBOSE");
    if (!value || (strcmp(value, "1") && strcasecmp(value, "true"))) return;
    long mine[KINDS + REASONS], all[KINDS + REASONS];
    memcpy(mine, taken, sizeof taken);
    memcpy(mine + KINDS, left, sizeof left);
    PMPI_Reduce(mine, all, KINDS + REASONS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    int rank, used = 0;
    char text[500] = "";
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) return;
    for (int i = 0; i < KINDS + REASONS; i++) {
        const char *name = i < KINDS ? kind_names[i] : reason_names[i - KINDS];
        if (i == KINDS) used += snprintf(text + used, sizeof text - (size_t)used, "; by MPI, because of");
        if (all[i] || i == KINDS) used += snprintf(text + used, sizeof text - (size_t)used, " %s %ld", name, all[i]);
    }
    say("collectives of all ranks by GOAL:%s", text);
}

int MPI_Finalize(void) {
    if (joined) {
        sweep(1);
        report();
        /* All ranks have waited for their collectives. */
        PMPI_Barrier(MPI_COMM_WORLD);
        joined = 0;
        goal.GOAL_Finalize();
        PMPI_Group_free(&world_group);
    }
    return PMPI_Finalize();
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

/* ---- buffers ---- */
/* `n` blocks of `count` elements, as bytes that lie one after the other. Returns the program's buffer if that is what it is,
 * or else a copy. */
static const void *as_bytes(const void *buffer, int n, int count, MPI_Datatype type, size_t bytes, int copy, void **made) {
    size_t all = bytes * (size_t)n;
    if (is_plain(type)) {
        if (!copy) return buffer;
        return *made = memcpy(memory(all), buffer, all);
    }
    *made = memory(all);
    for (int i = 0, at = 0; i < n; i++) {
        MPI_Aint lb, extent;
        PMPI_Type_get_extent(type, &lb, &extent);
        const char *block = (const char *)buffer + (MPI_Aint)i * count * extent;
        PMPI_Pack(block, count, type, (char *)*made + (size_t)i * bytes, (int)bytes, (at = 0, &at), MPI_COMM_WORLD);
    }
    return *made;
}

/* Where `n` blocks are to be written: the program's buffer, or a copy from which `deliver` takes them. */
static void *for_bytes(struct request *r, void *buffer, int n, int count, MPI_Datatype type, size_t bytes) {
    if (is_plain(type)) return buffer;
    MPI_Aint lb;
    PMPI_Type_get_extent(type, &lb, &r->stride);
    r->stride *= count;
    r->target = buffer;
    r->blocks = n;
    r->bytes = bytes;
    r->count = count;
    r->derived = 1;
    /* The program may free its type before the collective has ended. */
    PMPI_Type_dup(type, &r->type);
    return r->get = memory(bytes * (size_t)n);
}

static size_t bytes_of(int count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return count > 0 && size > 0 ? (size_t)count * (size_t)size : 0;
}

#define LEAVE(reason, call)                                                                                               \
    do {                                                                                                                  \
        __atomic_add_fetch(&left[reason], 1, __ATOMIC_RELAXED);                                                           \
        return call;                                                                                                      \
    } while (0)
/* GOAL's function for the communicator: of all ranks, or of the group. */
#define START(c, name, ...) ((c)->group ? goal.goal_group_##name((c)->group, __VA_ARGS__) : goal.goal_##name(__VA_ARGS__))

/* ---- collectives ---- */
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c) LEAVE(COMMUNICATOR, PMPI_Ibarrier(comm, request));
    struct request *r = new_request();
    return give_request(r, BARRIER, START(c, ibarrier, &r->run), request);
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c || root < 0 || root >= c->size) LEAVE(COMMUNICATOR, PMPI_Ibcast(buffer, count, type, root, comm, request));
    size_t bytes = bytes_of(count, type);
    if (!bytes) LEAVE(EMPTY, PMPI_Ibcast(buffer, count, type, root, comm, request));
    struct request *r = new_request();
    const void *give = buffer;
    void *get = buffer;
    if (c->rank != root) {
        give = get = for_bytes(r, buffer, 1, count, type, bytes);
    } else if (!is_plain(type)) {
        give = get = (void *)as_bytes(buffer, 1, count, type, bytes, 0, &r->give);
    }
    return give_request(r, BCAST, START(c, ibroadcast, give, get, bytes, root, &r->run), request);
}

int MPI_Ireduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request *request) {
    struct comm *c = record(comm);
    int goal_type = element(type), goal_op = goal_type ? operation(op, goal_type) : -1;
    if (!c || root < 0 || root >= c->size) LEAVE(COMMUNICATOR, PMPI_Ireduce(from, to, count, type, op, root, comm, request));
    if (!goal_type) LEAVE(TYPE, PMPI_Ireduce(from, to, count, type, op, root, comm, request));
    if (goal_op < 0) LEAVE(OPERATION, PMPI_Ireduce(from, to, count, type, op, root, comm, request));
    if (count <= 0) LEAVE(EMPTY, PMPI_Ireduce(from, to, count, type, op, root, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE) from = as_bytes(to, 1, count, type, bytes_of(count, type), 1, &r->give);
    int code = START(c, ireduce, from, to, (size_t)count, goal_type, goal_op, root, &r->run);
    return give_request(r, REDUCE, code, request);
}

int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request) {
    struct comm *c = record(comm);
    int goal_type = element(type), goal_op = goal_type ? operation(op, goal_type) : -1;
    if (!c) LEAVE(COMMUNICATOR, PMPI_Iallreduce(from, to, count, type, op, comm, request));
    if (!goal_type) LEAVE(TYPE, PMPI_Iallreduce(from, to, count, type, op, comm, request));
    if (goal_op < 0) LEAVE(OPERATION, PMPI_Iallreduce(from, to, count, type, op, comm, request));
    if (count <= 0) LEAVE(EMPTY, PMPI_Iallreduce(from, to, count, type, op, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE) from = as_bytes(to, 1, count, type, bytes_of(count, type), 1, &r->give);
    int code = START(c, iallreduce, from, to, (size_t)count, goal_type, goal_op, &r->run);
    return give_request(r, ALLREDUCE, code, request);
}

int MPI_Ireduce_scatter_block(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request *request) {
    struct comm *c = record(comm);
    int goal_type = element(type), goal_op = goal_type ? operation(op, goal_type) : -1;
    if (!c) LEAVE(COMMUNICATOR, PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request));
    if (!goal_type) LEAVE(TYPE, PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request));
    if (goal_op < 0) LEAVE(OPERATION, PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request));
    if (count <= 0) LEAVE(EMPTY, PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE) from = as_bytes(to, c->size, count, type, bytes_of(count, type), 1, &r->give);
    int code = START(c, ireduce_scatter, from, to, (size_t)count, goal_type, goal_op, &r->run);
    return give_request(r, REDUCE_SCATTER, code, request);
}

int MPI_Ialltoall(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                  MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c) LEAVE(COMMUNICATOR, PMPI_Ialltoall(from, count, type, to, to_count, to_type, comm, request));
    size_t bytes = bytes_of(to_count, to_type);
    if (!bytes) LEAVE(EMPTY, PMPI_Ialltoall(from, count, type, to, to_count, to_type, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE)
        from = as_bytes(to, c->size, to_count, to_type, bytes, 1, &r->give);
    else
        from = as_bytes(from, c->size, count, type, bytes, 0, &r->give);
    to = for_bytes(r, to, c->size, to_count, to_type, bytes);
    return give_request(r, ALLTOALL, START(c, ialltoall, from, to, bytes, &r->run), request);
}

int MPI_Iallgather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                   MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c) LEAVE(COMMUNICATOR, PMPI_Iallgather(from, count, type, to, to_count, to_type, comm, request));
    size_t bytes = bytes_of(to_count, to_type);
    if (!bytes) LEAVE(EMPTY, PMPI_Iallgather(from, count, type, to, to_count, to_type, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE) {
        MPI_Aint lb, extent;
        PMPI_Type_get_extent(to_type, &lb, &extent);
        const char *own = (const char *)to + (MPI_Aint)c->rank * to_count * extent;
        from = as_bytes(own, 1, to_count, to_type, bytes, 1, &r->give);
    } else {
        from = as_bytes(from, 1, count, type, bytes, 0, &r->give);
    }
    to = for_bytes(r, to, c->size, to_count, to_type, bytes);
    return give_request(r, ALLGATHER, START(c, iallgather, from, to, bytes, &r->run), request);
}

/* Fills in a communicator's neighbours. False where GOAL does not know which message belongs to which: the same at all ranks.
 * In a periodic dimension of one or two ranks both neighbours are the same rank, and the order of the two messages is
 * MPI's affair. */
static int find_neighbours(MPI_Comm comm, struct comm *c) {
    int kind, n;
    if (c->known) return c->known > 0;
    c->known = -1;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &n);
        int *dims = memory(3 * sizeof(int) * (size_t)(n + 1)), *periods = dims + n, *coords = periods + n;
        PMPI_Cart_get(comm, n, dims, periods, coords);
        c->from = memory(2 * sizeof(int) * (size_t)n);
        c->to = memory(2 * sizeof(int) * (size_t)n);
        int clear = 1;
        for (int d = 0; d < n; d++) {
            clear = clear && !(periods[d] && dims[d] <= 2);
            PMPI_Cart_shift(comm, d, 1, &c->from[2 * d], &c->from[2 * d + 1]);
        }
        free(dims);
        if (!clear) return 0;
        memcpy(c->to, c->from, 2 * sizeof(int) * (size_t)n);
        c->sources = c->destinations = 2 * n;
    } else if (kind == MPI_DIST_GRAPH) {
        int weighted;
        PMPI_Dist_graph_neighbors_count(comm, &c->sources, &c->destinations, &weighted);
        size_t in = (size_t)c->sources + 1, out = (size_t)c->destinations + 1;
        int *weights = memory(sizeof(int) * (in + out));
        c->from = memory(sizeof(int) * in);
        c->to = memory(sizeof(int) * out);
        PMPI_Dist_graph_neighbors(comm, c->sources, c->from, weights, c->destinations, c->to, weights + in);
        free(weights);
    } else {
        return 0;
    }
    c->known = 1;
    return 1;
}

/* Writes the numbers of the real neighbours to `real` and their places to `places`. Returns how many there are. */
static int real_neighbours(const int *all, int n, int *real, int *places) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        if (all[i] == MPI_PROC_NULL) continue;
        real[found] = all[i];
        places[found++] = i;
    }
    return found;
}

int MPI_Ineighbor_alltoall(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                           MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c || !c->group) LEAVE(COMMUNICATOR, PMPI_Ineighbor_alltoall(from, count, type, to, to_count, to_type, comm, request));
    if (!find_neighbours(comm, c))
        LEAVE(TOPOLOGY, PMPI_Ineighbor_alltoall(from, count, type, to, to_count, to_type, comm, request));
    size_t bytes = bytes_of(to_count, to_type);
    if (!bytes) LEAVE(EMPTY, PMPI_Ineighbor_alltoall(from, count, type, to, to_count, to_type, comm, request));
    struct request *r = new_request();
    size_t most = (size_t)(c->sources > c->destinations ? c->sources : c->destinations) + 1;
    int *sources = memory(3 * sizeof(int) * most), *destinations = sources + most, *places = destinations + most;
    /* Places of the output stay with the request. */
    r->slots = memory(sizeof(int) * most);
    int n_from = real_neighbours(c->from, c->sources, sources, r->slots);
    int n_to = real_neighbours(c->to, c->destinations, destinations, places);
    from = as_bytes(from, c->destinations, count, type, bytes, n_to < c->destinations, &r->give);
    for (int i = 0; i < n_to; i++) {
        /* Only in a copy are there places without a neighbour; later blocks move up. */
        if (places[i] != i) memcpy((char *)r->give + bytes * (size_t)i, (char *)r->give + bytes * (size_t)places[i], bytes);
    }
    void *get = for_bytes(r, to, n_from, to_count, to_type, bytes);
    if (!r->get && n_from < c->sources) {
        r->target = to;
        r->blocks = n_from;
        r->bytes = bytes;
        r->stride = (MPI_Aint)bytes;
        get = r->get = memory(bytes * (size_t)n_from);
    }
    int code = goal.goal_group_ineighbor_alltoall(c->group, sources, n_from, destinations, n_to, from, get, bytes, &r->run);
    free(sources);
    return give_request(r, NEIGHBOR, code, request);
}
