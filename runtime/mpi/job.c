/* libhetmp_mpi.so, the job: opens libhetmp.so, joins and leaves GOAL's job, and keeps a record for each communicator.
   */
#include "hetmp_mpi.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#if defined MPI_ABI_VERSION
#define BUILT_FOR "MPI 5's ABI"
#define MPI_FILE "libmpi_abi.so.1"
#elif defined OPEN_MPI
#define BUILT_FOR "Open MPI"
#define MPI_FILE "libmpi.so.40"
#else
#define BUILT_FOR "MPICH"
#define MPI_FILE "libmpich.so.12"
#endif

const char *const kind_names[COUNTED] = {
    "Ibarrier", "Ibcast", "Ireduce", "Iallreduce", "Ialltoall", "Iallgather", "Igather", "Iscatter", "Iscan", "Iexscan",
    "Ireduce_scatter_block", "Ireduce_scatter", "Ineighbor_alltoall", "Igatherv", "Iscatterv", "Iallgatherv",
    "Ialltoallv", "Ialltoallw", "Ineighbor_allgather", "Ineighbor_allgatherv", "Ineighbor_alltoallv",
    "Ineighbor_alltoallw", "blocking"};
static const char *const reason_names[REASONS] = {"communicator", "type", "operation", "amount", "topology",
                                                  "arguments"};

struct functions goal;
int threads;
MPI_Comm own = MPI_COMM_NULL;
static MPI_Group world_group;
long taken[COUNTED], left[REASONS];
int takes_blocking;
unsigned spins = 100;
static int joined; /* GOAL is there, between MPI_Init and MPI_Finalize */
static int keyval = MPI_KEYVAL_INVALID;
static int next_context = 1;
static struct comm *freed; /* whose contexts may be used again */

/* ---- libhetmp.so ---- */
void say(const char *format, ...) {
    char text[2000] = "hetmp: libhetmp_mpi.so: ";
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + used, sizeof text - used - 1, format, list);
    va_end(list);
    strcat(text, "\n");
    /* One call, so that the lines of several ranks do not mix. A line that cannot be written is lost. */
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

/* Opens the library next to this one. Its names stay out of the program's sight: a program that was not started on
 * hetmp's OpenMP keeps its own. */
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
#define FIND(name)                                                                                 \
    if (!(goal.name = (__typeof__(name) *)dlvsym(library, #name, "HETMP_ENGINE"))) {               \
        say("%s: function " #name " is missing (expected the library of the same version)", path); \
        return 0;                                                                                  \
    }
    FUNCTIONS(FIND)
    return 1;
}

void fatal(const char *what) {
    char why[300] = "";
    goal.GOAL_Last_error(why, sizeof why);
    say("%s: %s", what, why);
    PMPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void *memory(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        say("copy of %zu bytes: there is no memory", bytes);
        PMPI_Abort(MPI_COMM_WORLD, 1);
        abort();
    }
    return p;
}

/* ---- communicators ---- */
/* The communicator that was asked about last: to ask MPI takes longer. With several threads not used. */
static struct comm *latest;
static MPI_Comm latest_of;

struct comm *record(MPI_Comm comm) {
    struct comm *c = NULL;
    int found = 0;
    if (!joined || comm == MPI_COMM_NULL) return NULL;
    if (latest && latest_of == comm) return latest;
    if (PMPI_Comm_get_attr(comm, keyval, &c, &found) != MPI_SUCCESS || !found) return NULL;
    if (!threads) latest = c, latest_of = comm;
    return c;
}

static void discard(struct comm *c) {
    free(c->from);
    free(c->to);
    free(c->ranks);
    free(c);
}

/* Neither the program nor a persistent request has it. */
static void end_record(struct comm *c) {
    if (!c->is_freed || c->held) return;
    if (!c->group) {
        discard(c);
        return;
    }
    goal.GOAL_Group_free(&c->group);
    c->next = freed;
    freed = c;
}

void let_go(struct comm *c) {
    __atomic_sub_fetch(&c->held, 1, __ATOMIC_RELAXED);
    end_record(c);
}

static int delete_record(MPI_Comm comm, int key, void *attribute, void *state) {
    struct comm *c = attribute;
    (void)key;
    (void)state;
    if (latest == c) latest = NULL;
    forget_comm(comm);
    c->is_freed = 1;
    end_record(c);
    return MPI_SUCCESS;
}

static struct comm *new_record(MPI_Comm comm) {
    struct comm *c = calloc(1, sizeof *c);
    if (!c) memory(SIZE_MAX);
    PMPI_Comm_size(comm, &c->size);
    PMPI_Comm_rank(comm, &c->rank);
    return c;
}

/* Where the list of those that were freed has the one of the same ranks with the lowest context; null without one. */
static struct comm **freed_like(const struct comm *c) {
    struct comm **found = NULL;
    for (struct comm **at = &freed; *at; at = &(*at)->next) {
        int same = (*at)->size == c->size && memcmp((*at)->ranks, c->ranks, sizeof(int) * (size_t)c->size) == 0;
        if (same && (!found || (*at)->context < (*found)->context)) found = at;
    }
    return found;
}

/* Makes a group of GOAL of the ranks of `c`, which all members of the communicator call together: they agree on a
 * context. Without `clear` neighbours are unclear here, and so for all. Returns MPI's code; no group if there are too
 * many contexts. */
static int make_group(MPI_Comm comm, struct comm *c, int clear) {
    struct comm **again = freed_like(c);
    int before = again ? (*again)->context : 0;
    enum { NEXT, MOST, LEAST, UNCLEAR, WORDS };
    const int mine[WORDS] = {next_context, before, -before, !clear};
    int all[WORDS];
    int error = PMPI_Allreduce(mine, all, WORDS, MPI_INT, MPI_MAX, comm);
    if (error != MPI_SUCCESS) return error;
    /* The same context at all of them. */
    int reused = before && all[MOST] == before && -all[LEAST] == before;
    if (!reused && all[NEXT] == INT32_MAX) return MPI_SUCCESS;
    c->clear = !all[UNCLEAR];
    c->context = reused ? before : all[NEXT];
    if (reused) {
        struct comm *old = *again;
        *again = old->next;
        discard(old);
    } else {
        next_context = all[NEXT] + 1;
    }
    if (goal.GOAL_Group_create(c->context, c->ranks, c->size, &c->group) != GOAL_SUCCESS) fatal("communicator");
    return MPI_SUCCESS;
}

/* A record without a group, with the job's rank of each member. */
static struct comm *new_members(MPI_Comm comm) {
    struct comm *c = new_record(comm);
    int *numbers = memory(sizeof(int) * (size_t)c->size);
    c->ranks = memory(sizeof(int) * (size_t)c->size);
    for (int i = 0; i < c->size; i++) numbers[i] = i;
    MPI_Group group;
    PMPI_Comm_group(comm, &group);
    PMPI_Group_translate_ranks(group, c->size, numbers, world_group, c->ranks);
    PMPI_Group_free(&group);
    free(numbers);
    return c;
}

/* A communicator was created from `parent`, by all its members together. With several threads that create communicators
 * at once the ranks could not agree on contexts, so that then only MPI_COMM_WORLD is GOAL's. */
static int created(int error, MPI_Comm parent, MPI_Comm *comm) {
    if (error != MPI_SUCCESS || !joined || threads || *comm == MPI_COMM_NULL || !record(parent)) return error;
    int size, inter;
    PMPI_Comm_test_inter(*comm, &inter);
    PMPI_Comm_size(*comm, &size);
    if (inter || size < 2) return error;
    struct comm *c = new_members(*comm);
    error = make_group(*comm, c, find_neighbours(*comm, c));
    if (c->group)
        PMPI_Comm_set_attr(*comm, keyval, c);
    else
        discard(c);
    return error;
}

struct comm *apart(MPI_Comm comm, const struct comm *of) {
    struct comm *c = new_members(comm);
    int error = make_group(comm, c, find_neighbours(comm, c) && of->clear);
    if (!c->group) {
        discard(c);
        if (error == MPI_SUCCESS) fatal("persistent collective: contexts");
        return NULL;
    }
    c->held = c->is_freed = 1;
    return c;
}

#define CREATES(name, parameters, arguments, parent, comm) \
    int MPI_##name parameters { return created(REAL(name) arguments, parent, comm); } \
    BOTH(name)
CREATES(Comm_dup, (MPI_Comm c, MPI_Comm *n), (c, n), c, n)
CREATES(Comm_dup_with_info, (MPI_Comm c, MPI_Info i, MPI_Comm *n), (c, i, n), c, n)
CREATES(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *n), (c, color, key, n), c, n)
CREATES(Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info i, MPI_Comm *n), (c, type, key, i, n), c, n)
CREATES(Comm_create, (MPI_Comm c, MPI_Group g, MPI_Comm *n), (c, g, n), c, n)
CREATES(Cart_create, (MPI_Comm c, int d, const int s[], const int p[], int r, MPI_Comm *n), (c, d, s, p, r, n), c,
        n)
CREATES(Cart_sub, (MPI_Comm c, const int d[], MPI_Comm *n), (c, d, n), c, n)
CREATES(Graph_create, (MPI_Comm c, int k, const int x[], const int e[], int r, MPI_Comm *n), (c, k, x, e, r, n), c,
        n)
CREATES(Dist_graph_create,
        (MPI_Comm c, int k, const int s[], const int g[], const int d[], const int w[], MPI_Info i, int r, MPI_Comm *n),
        (c, k, s, g, d, w, i, r, n), c, n)
CREATES(Dist_graph_create_adjacent,
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
    PMPI_Pack(from, 1, pair, packed, sizeof packed, &at, own);
    PMPI_Type_free(&pair);
    return at == 8 && packed[0] == 1 && packed[1] == 3;
}

/* scripts/lib/mpi_shim.sh makes all functions of MPI weak, but compiles once before. */
#pragma weak PMPI_Get_library_version
#pragma weak PMPI_Abi_get_version
extern int PMPI_Abi_get_version(int *major, int *minor);

/* A library of another MPI would take handles of the wrong kind. */
static void check_version(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    /* What this library needs of MPI was looked for when the process began. A program that opens MPI later, as Python
     * does with mpi4py, has not brought it. */
    if (!PMPI_Get_library_version) {
        say("program that opens MPI after its start: MPI is not there yet (expected LD_PRELOAD of this library and "
            "then of " MPI_FILE ")");
        _exit(1);
    }
    PMPI_Get_library_version(version, &length);
    int major = -1, minor = -1;
    if (PMPI_Abi_get_version) PMPI_Abi_get_version(&major, &minor);
#ifdef MPI_ABI_VERSION
    if (major == MPI_ABI_VERSION) return;
#else
    int is_open = strstr(version, "Open MPI") != NULL;
    if (major < 0 && is_open == !strcmp(BUILT_FOR, "Open MPI")) return;
#endif
    version[strcspn(version, "\t\n,")] = 0;
    say("program of %s: this library is for another MPI (expected a program of " BUILT_FOR "; libhetmp_mpi-openmpi.so, "
            "-mpich.so or -abi.so)", version);
    _exit(1);
}

static void join(void) {
    int rank, size, fine, all;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) return;
    REAL(Comm_dup)(MPI_COMM_SELF, &own);
    PMPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
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
    PMPI_Comm_set_attr(MPI_COMM_WORLD, keyval, new_record(MPI_COMM_WORLD));
    MPI_Comm here;
    int near = 0;
    if (REAL(Comm_split_type)(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) == MPI_SUCCESS) {
        PMPI_Comm_size(here, &near);
        REAL(Comm_free)(&here);
    }
    if (near <= sysconf(_SC_NPROCESSORS_ONLN)) spins = 2000;
    fine = near == size;
    PMPI_Allreduce(&fine, &takes_blocking, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    joined = 1;
}

int MPI_Init(int *argc, char ***argv) {
    check_version();
    int error = REAL(Init)(argc, argv);
    if (error == MPI_SUCCESS) join();
    return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    check_version();
    int error = REAL(Init_thread)(argc, argv, required, provided);
    if (error != MPI_SUCCESS) return error;
    threads = *provided == MPI_THREAD_MULTIPLE;
    join();
    return error;
}

/* With HETMP_VERBOSE: one line of rank 0, with what all ranks have counted. */
static void report(void) {
    const char *value = secure_getenv("HETMP_VERBOSE");
    if (!value || (strcmp(value, "1") && strcasecmp(value, "true") && strcasecmp(value, "yes") &&
                   strcasecmp(value, "on"))) return;
    long mine[COUNTED + REASONS], all[COUNTED + REASONS];
    memcpy(mine, taken, sizeof taken);
    memcpy(mine + COUNTED, left, sizeof left);
    PMPI_Reduce(mine, all, COUNTED + REASONS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    int rank, used = 0;
    char text[1900] = "";
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) return;
    for (int i = 0; i < COUNTED + REASONS; i++) {
        const char *name = i < COUNTED ? kind_names[i] : reason_names[i - COUNTED];
        if (i == COUNTED) used += snprintf(text + used, sizeof text - (size_t)used, "; by MPI, because of");
        if (all[i] || i == COUNTED) used += snprintf(text + used, sizeof text - (size_t)used, " %s %ld", name, all[i]);
    }
    say("collectives of all ranks by GOAL:%s", text);
}

int MPI_Finalize(void) {
    if (joined) {
        sweep(1);
        report();
        end_requests();
        /* All ranks have waited for their collectives. */
        PMPI_Barrier(MPI_COMM_WORLD);
        joined = takes_blocking = 0;
        goal.GOAL_Finalize();
        PMPI_Group_free(&world_group);
    }
    if (own != MPI_COMM_NULL) PMPI_Comm_free(&own);
    return REAL(Finalize)();
}

BOTH(Init)
BOTH(Init_thread)
BOTH(Finalize)
