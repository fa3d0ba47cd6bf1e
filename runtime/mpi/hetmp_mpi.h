/* libhetmp_mpi.so: the nonblocking collectives of an unchanged MPI program, run by GOAL.
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
 * such buffers go through a copy. Arguments that MPI refuses at this rank are left to it: it says so before it begins.
 *
 * Errors go to the communicator's handler. Where one call waits for several requests, MPI reports them.
 *
 * Contexts: ranks may begin the collectives of two communicators in different orders, so each communicator is a group
 * of GOAL with a context of its own. The creation of a communicator is collective: there the ranks agree on a number
 * that is free at all of them: one that an earlier communicator of the same ranks had, if they have freed it, or else a
 * new one.
 *
 * Which file: `job.c` opens libhetmp.so, joins GOAL's job and knows the communicators; `requests.c` waits for and tests
 * requests; `collectives.c` begins the collectives. */
#ifndef HETMP_MPI_H
#define HETMP_MPI_H

#define _GNU_SOURCE
#include <goal.h>
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>

/* The library's own names are not seen outside; MPI's are. */
#pragma GCC visibility push(hidden)

/* ---- job.c ---- */
/* The functions of libhetmp.so, once it is open. */
#define FUNCTIONS(F)                                                                                               \
    F(GOAL_Init_through) F(GOAL_Finalize) F(GOAL_Progress) F(GOAL_Test) F(GOAL_Wait) F(GOAL_Last_error)            \
    F(GOAL_Group_create) F(GOAL_Group_free) F(goal_ibarrier) F(goal_ibroadcast) F(goal_ireduce) F(goal_iallreduce) \
    F(goal_ialltoall) F(goal_iallgather) F(goal_igather) F(goal_iscatter) F(goal_iscan) F(goal_ireduce_scatter)    \
    F(goal_group_ibarrier) F(goal_group_ibroadcast) F(goal_group_ireduce) F(goal_group_iallreduce)                 \
    F(goal_group_ialltoall) F(goal_group_iallgather) F(goal_group_igather) F(goal_group_iscatter)                  \
    F(goal_group_iscan) F(goal_group_ireduce_scatter) F(goal_group_ineighbor_alltoall)
extern struct functions {
#define FIELD(name) __typeof__(name) *name;
    FUNCTIONS(FIELD)
} goal;
#undef FIELD

enum { BARRIER, BCAST, REDUCE, ALLREDUCE, ALLTOALL, ALLGATHER, GATHER, SCATTER, SCAN, REDUCE_SCATTER, NEIGHBOR, KINDS };
enum { COMMUNICATOR, TYPE, OPERATION, AMOUNT, TOPOLOGY, ARGUMENTS, REASONS };
extern const char *const kind_names[KINDS];

extern int threads; /* MPI_THREAD_MULTIPLE */
/* Of this process alone, for calls that convert: their errors come back to us. */
extern MPI_Comm own;
/* Collectives of this rank that went to GOAL, by kind, and to MPI, by reason. */
extern long taken[KINDS], left[REASONS];

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
};

/* The record of a communicator; null if its collectives are MPI's. */
struct comm *record(MPI_Comm comm);
/* One line on standard error. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Ends the job with a line: what failed, and GOAL's reason. */
__attribute__((noreturn)) void fatal(const char *what);
/* Memory, or the end of the job. */
void *memory(size_t bytes);

/* ---- collectives.c ---- */
/* Fills in a communicator's neighbours. False where GOAL does not know which message belongs to which edge, and for a
 * rank without neighbours, which does not know how much the others send, and so not which way they take. */
int find_neighbours(MPI_Comm comm, struct comm *c);

/* ---- requests.c ---- */
/* What a request of ours still has to do when its run has ended, and how it is known. */
struct request {
    struct request *next;  /* in the table of handles */
    struct request *other; /* in the list of spare ones, or of those that the program has freed */
    MPI_Request handle;
    MPI_Comm comm; /* its handler hears of errors; MPI_COMM_WORLD once the program has freed it */
    int known; /* MPI and the table know the handle */
    int open;  /* the program has it */
    GOAL_Handle run;
    int ended, error;
    int told; /* MPI has heard that it is complete, and so ends it: it has failed, or another one of a list has */
    int shown; /* Fortran has its handle: MPI's own functions wait for it */
    struct request *after; /* in the list of those */
    void *give, *get;   /* copies, or null */
    void *target;       /* blocks of `get` go here: block i to place `slots[i]` */
    int blocks, *slots; /* `slots` null: one block at the beginning */
    size_t bytes;       /* length of one block */
    MPI_Aint stride;    /* distance of two places */
    int count;          /* elements of a block */
    int derived;        /* `type` says where a block's bytes belong */
    MPI_Datatype type;
};

/* For the next collective: a new one, or one that was used before. */
struct request *new_request(void);
/* A run was begun, with this code: the program gets a request for it. */
int give_request(struct request *r, MPI_Comm comm, int kind, int code, MPI_Request *request);
/* Moves `count` elements at `block` to `packed`, or with `back` from there. Returns MPI's code. */
int move_block(void *block, int count, MPI_Datatype type, void *packed, size_t bytes, int back);
/* The program frees a communicator. */
void forget_comm(MPI_Comm comm);
/* Looks after requests that the program has freed while their runs went on; with `wait`, until they end. */
void sweep(int wait);
/* The last of all: frees every request. */
void end_requests(void);

#pragma GCC visibility pop
#endif
