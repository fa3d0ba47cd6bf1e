/* libhetmp_mpi.so: the nonblocking and persistent collectives of an unchanged MPI program, run by GOAL.
 *
 * What it is: a library for LD_PRELOAD, compiled against the mpi.h of one MPI. It defines the nonblocking collectives,
 * the functions that wait for and test requests, and those that create communicators, and calls MPI by its PMPI names.
 * GOAL is in libhetmp.so, which lies in the same folder and is opened when the program calls MPI_Init.
 *
 * What it owns: a record for each communicator (an attribute of the communicator) and for each request of a collective
 * that GOAL runs. Such a request is a generalized request, which serves one collective after the other.
 *
 * Who decides: all ranks must take the same way. The decision therefore depends only on what MPI demands to be equal on
 * all ranks: the communicator, the number of bytes, the operation and its type. MPI_IN_PLACE (which only the root gives
 * in a reduction) and derived types (which may differ between ranks, as long as their signatures agree) do not count;
 * such buffers go through a copy. Where each rank knows its own numbers of elements only (MPI_Igatherv), all are taken.
 * Arguments that MPI refuses at this rank are left to it: it says so before it begins. Where a rank gives blocks of
 * another length than it takes, the others cannot know, so GOAL takes it and the call ends with an error.
 *
 * Errors go to the communicator's handler.
 *
 * Both names of each function are defined, MPI_ and PMPI_: the Fortran functions of some MPIs call the latter.
 *
 * Contexts: ranks may begin the collectives of two communicators in different orders, so each communicator is a group
 * of GOAL with a context of its own. The creation of a communicator is collective: there the ranks agree on a number
 * that is free at all of them: one that an earlier communicator of the same ranks had, if they have freed it, or else a
 * new one.
 *
 * Which file: `job.c` opens libhetmp.so, joins GOAL's job and knows the communicators; `requests.c` has the
 * requests, and `waits.c` waits for and tests them; `calls.c` is what a program calls; `collectives.c` says which
 * collectives GOAL takes and begins them;
 * `buffers.c` knows types, and copies what is not plain. */
#ifndef HETMP_MPI_H
#define HETMP_MPI_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <goal.h>
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>

struct request;

/* MPI's function of a name that this library defines, too. */
#define REAL(name)                                                                                  \
    __extension__({                                                                                 \
        static __typeof__(PMPI_##name) *real;                                                       \
        __typeof__(real) known = __atomic_load_n(&real, __ATOMIC_RELAXED);                          \
        if (!known) {                                                                               \
            known = (__typeof__(real))dlsym(RTLD_NEXT, "PMPI_" #name);                              \
            __atomic_store_n(&real, known, __ATOMIC_RELAXED);                                       \
        }                                                                                           \
        known;                                                                                      \
    })
/* Gives a function that is defined as MPI_ its other name. */
#define BOTH(name) extern __typeof__(PMPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)));

/* The library's own names are not seen outside; MPI's are. */
#pragma GCC visibility push(hidden)

/* ---- job.c ---- */
/* The functions of libhetmp.so, once it is open. */
#define FUNCTIONS(F)                                                                                               \
    F(GOAL_Init_through) F(GOAL_Finalize) F(GOAL_Progress) F(GOAL_Test) F(GOAL_Wait) F(GOAL_Last_error)            \
    F(GOAL_Create) F(GOAL_Scratchpad) F(GOAL_Send) F(GOAL_Recv) F(GOAL_Local) F(GOAL_Copy) F(GOAL_Requires)        \
    F(GOAL_Compile) F(GOAL_Run_bound) F(GOAL_Free_graph) F(GOAL_Free_schedule)                                     \
    F(GOAL_Group_create) F(GOAL_Group_free) F(goal_ibarrier) F(goal_ibroadcast) F(goal_ireduce) F(goal_iallreduce) \
    F(goal_ialltoall) F(goal_iallgather) F(goal_igather) F(goal_iscatter) F(goal_iscan) F(goal_iexscan)            \
    F(goal_ireduce_scatter)                                                                                        \
    F(goal_group_ibarrier) F(goal_group_ibroadcast) F(goal_group_ireduce) F(goal_group_iallreduce)                 \
    F(goal_group_ialltoall) F(goal_group_iallgather) F(goal_group_igather) F(goal_group_iscatter)                  \
    F(goal_group_iscan) F(goal_group_iexscan) F(goal_group_ireduce_scatter) F(goal_group_ineighbor_alltoall)
extern struct functions {
#define FIELD(name) __typeof__(name) *name;
    FUNCTIONS(FIELD)
} goal;
#undef FIELD

enum {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    ALLTOALL,
    ALLGATHER,
    GATHER,
    SCATTER,
    SCAN,
    EXSCAN,
    REDUCE_SCATTER_BLOCK,
    REDUCE_SCATTER,
    NEIGHBOR_ALLTOALL,
    /* Run as graphs of messages. */
    GATHERV,
    SCATTERV,
    ALLGATHERV,
    ALLTOALLV,
    ALLTOALLW,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    KINDS,
    /* Only counted. */
    BLOCKING_ONES = KINDS,
    COUNTED
};
enum { COMMUNICATOR, TYPE, OPERATION, AMOUNT, TOPOLOGY, ARGUMENTS, REASONS, FITS };
extern const char *const kind_names[COUNTED];

extern int threads; /* MPI_THREAD_MULTIPLE */
/* Of this process alone, for calls that convert: their errors come back to us. */
extern MPI_Comm own;
/* Collectives of this rank that went to GOAL, by kind, and to MPI, by reason. */
extern long taken[COUNTED], left[REASONS];
/* GOAL may run blocking collectives: all ranks are on this machine. */
extern int takes_blocking;
/* How often a waiter looks before it gives its core away: some 0.1 ms where each rank has one. */
extern unsigned spins;

/* A communicator whose collectives GOAL can run. */
struct comm {
    GOAL_Group group; /* null: all ranks */
    int size, rank;
    int context, *ranks; /* of the group */
    struct comm *next;   /* in the list of those that the program has freed */
    /* GOAL knows which message of a neighbour belongs to which edge, at all ranks. */
    int clear;
    /* Neighbours: numbers in the communicator, MPI_PROC_NULL for none. */
    int sources, destinations;
    int *from, *to;
    int from_real, to_real; /* without MPI_PROC_NULL */
    int held, is_freed;     /* by a persistent request, and by the program */
};

/* The record of a communicator; null if its collectives are MPI's. */
struct comm *record(MPI_Comm comm);
/* The record of a persistent collective of the communicator, which all its members make together: it has a group of its
 * own, since persistent collectives may be started in different orders. Null after MPI's error. */
struct comm *apart(MPI_Comm comm, const struct comm *of);
/* A persistent request lets go of its record. */
void let_go(struct comm *c);
/* One line on standard error. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Ends the job with a line: what failed, and GOAL's reason. */
__attribute__((noreturn)) void fatal(const char *what);
/* Memory, or the end of the job. */
void *memory(size_t bytes);

/* ---- calls.c ---- */
/* What a rank gives or gets, in MPI's words. */
struct side {
    const void *at;
    MPI_Count count;
    MPI_Datatype type;
    /* Of each message, where there are such; as int, or else as MPI_Count and MPI_Aint. */
    const void *counts, *displs;
    const MPI_Datatype *types;
    int large_counts, large_displs;
    int is_one; /* all get the same */
    int is_dup; /* the type is a persistent request's own */
};

/* A collective as a program asks for it. */
struct call {
    int kind, root;
    MPI_Comm comm;
    struct side give, get;
    MPI_Op op;
    /* Filled in when it is looked at. */
    struct comm *c;
    size_t bytes; /* of a block */
    int unlike;   /* this rank gives blocks of another length than it takes: it takes none, and its call
                   * ends with an error */
    int element, operation;
};

/* ---- collectives.c ---- */
/* Fills in a communicator's neighbours. False where GOAL does not know which message belongs to which edge, and for a
 * rank without neighbours, which does not know how much the others send, and so not which way they take. */
int find_neighbours(MPI_Comm comm, struct comm *c);
/* Why a collective is left to MPI; FITS if GOAL takes it. */
int why_not(struct call *k);
/* Begins a collective that fits. Returns GOAL's code. */
int begin(const struct call *k, struct request *r);
MPI_Count count_of(const struct side *s, int i);

/* ---- buffers.c ---- */
/* True for a type of MPI's own whose elements lie one after the other. */
int is_plain(MPI_Datatype type);
/* True if MPI moves data of the type: it exists, and is committed. */
int is_usable(MPI_Datatype type);
/* GOAL's number of an element type; 0 if GOAL has none. */
int element(MPI_Datatype type);
/* GOAL's number of an operation on elements of a type; -1 if GOAL has none, or MPI forbids it. */
int operation(MPI_Op op, int type);
MPI_Aint extent_of(MPI_Datatype type);
/* Bytes of this many elements. */
size_t length(MPI_Count count, MPI_Datatype type);
/* The same. 0 for none, for more than this MPI's packing counts, and for a type or a number of elements that MPI
 * refuses. */
size_t bytes_of(MPI_Count count, MPI_Datatype type);
/* True for a buffer that has no data. With MPI_BOTTOM, a null pointer, the addresses are in the type. */
int is_nothing(const void *buffer, MPI_Datatype type);
/* `n` blocks of `count` elements, as bytes that lie one after the other. Returns the program's buffer if that is what
 * it is, or else a copy. */
const void *as_bytes(const void *buffer, int n, MPI_Count count, MPI_Datatype type, size_t bytes, int copy,
                     void **made);
/* Where `n` blocks are to be written: the program's buffer, or a copy from which the request takes them, or nothing of
 * which does where lengths are unlike. */
void *for_bytes(struct request *r, void *buffer, int n, MPI_Count count, MPI_Datatype type, size_t bytes);
/* One more part of what the request copies at its end; its list has room. */
void add_part(struct request *r, void *to, void *from, MPI_Count count, MPI_Datatype type, size_t bytes);
/* Moves `count` elements at `block` to `packed`, or with `back` from there. Returns MPI's code. */
int move_block(void *block, MPI_Count count, MPI_Datatype type, void *packed, size_t bytes, int back);

/* ---- requests.c ---- */
/* MPI's error for one of GOAL: ranks have given unlike amounts, or else another. */
int error_of(int code);
/* What one of our requests still has to do when its run has ended, and how it is known. */
struct request {
    struct request *next;  /* in the table of handles */
    struct request *other; /* in the list of spare ones, or of those that the program has freed */
    MPI_Request handle;
    MPI_Comm comm; /* its handler hears of errors; MPI_COMM_WORLD once the program has freed it */
    int known; /* MPI and the table know the handle */
    int open;  /* the program has it */
    GOAL_Handle run;
    int ended, error;
    int unlike; /* `struct call` */
    void *give, *get;   /* copies, or null */
    struct part *parts; /* of `get`, and where they go */
    int n_parts;
    struct call *call; /* persistent: what is begun again */
    int active;        /* persistent: begun */
};

/* A block of a copy. */
struct part {
    void *to, *from;
    MPI_Count count;
    MPI_Datatype of, type; /* the program's, and ours, which says where the bytes belong if it is `derived` */
    size_t bytes;
    int derived, is_first; /* the type is to be freed */
};

/* Whether the program has requests of this library, and persistent ones. */
int any_open(void);
int any_persistent(void);
/* Our record of a request; null for one of MPI's. */
struct request *find(MPI_Request handle);
/* For the next collective: a new one, or one that was used before. */
struct request *new_request(void);
/* The request may serve another collective. */
void recycle(struct request *r);
void free_copies(struct request *r);
/* Looks whether a run has ended. */
void look(struct request *r);
/* The status of a collective. */
void empty_status(MPI_Status *status);
/* A run was begun, with this code: the program gets a request for it. */
int give_request(struct request *r, MPI_Comm comm, int kind, int code, MPI_Request *request);
/* The same for a blocking collective, of which the program gets no request: waits for its end. Returns MPI's code. */
int finish(struct request *r, const struct call *k, int code);
/* The program gets a request that begins the collective each time it is started. */
int give_persistent(const struct call *k, MPI_Request *request);
/* The program frees a communicator. */
void forget_comm(MPI_Comm comm);
/* Looks after requests that the program has freed while their runs went on; with `wait`, until they end. */
void sweep(int wait);
/* Waits for the end of a run whose request MPI does not know. */
void wait_for(struct request *r);
/* The last of all: frees every request. */
void end_requests(void);

#pragma GCC visibility pop
#endif
