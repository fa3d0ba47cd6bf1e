/* goal.h: collective communication as dependency graphs (GOAL, Group Operation Assembly Language), and nonblocking
 * collectives made of them. Part of hetmp; link with -lhetmp, start with hetrun.
 *
 * A graph is one process's part of a communication: sends, receives and local operations, and what must be complete
 * before what. GOAL_Compile makes a schedule of it, GOAL_Run begins a run of the schedule and returns at once, GOAL_Test and
 * GOAL_Wait tell of its end. The names are those of Schneider, Eckelmann, Hoefler, Rehm, "Kernel-Based Offload of Collective
 * Operations" (Euro-Par 2011).
 *
 * Every function returns GOAL_SUCCESS or an error code. Any thread may call them.
 *
 * Who makes progress (HETMP_GOAL_ENGINE):
 *   thread  a thread of each process, which sleeps until a message comes; a thread that waits does it itself meanwhile
 *   user    the program, inside of GOAL_Test, GOAL_Wait and blocking collectives; nothing happens outside of them
 *
 * Ends. GOAL_Finalize, and exit with status 0 without it, waits until what was sent has left; runs that are not over are
 * given up, and runs of peers that need this process end with GOAL_ERR_PEER_FAILED or GOAL_ERR_PEER_LOST. A process that
 * dies ends the runs that need it with GOAL_ERR_PEER_LOST; most launchers end the job then.
 */
#ifndef HETMP_GOAL_H
#define HETMP_GOAL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- error codes ---- */
#define GOAL_SUCCESS 0
#define GOAL_ERR_STATE 1       /* not between GOAL_Init and GOAL_Finalize, or in a forked child */
#define GOAL_ERR_ARGUMENT 2    /* a null pointer, a freed handle, a value that means nothing */
#define GOAL_ERR_RANK 3        /* a rank that the job does not have */
#define GOAL_ERR_OPERATION 4   /* an operation that is not of the graph */
#define GOAL_ERR_BOUNDS 5      /* a piece beyond the scratchpad or its segment */
#define GOAL_ERR_SIZE 6        /* lengths that differ, or that are not whole elements */
#define GOAL_ERR_TYPE 7        /* an operation that the type does not have */
#define GOAL_ERR_CYCLE 8       /* operations that wait for each other in a circle */
#define GOAL_ERR_OVERLAP 9     /* two operations without an order, one of which writes what the other uses */
#define GOAL_ERR_LIMIT 10      /* too many operations, pieces, segments or handles */
#define GOAL_ERR_FORMAT 11     /* bytes that are no schedule, or a schedule of another rank or job size */
#define GOAL_ERR_MEMORY 12     /* no memory */
#define GOAL_ERR_JOB 13        /* the job cannot be joined */
#define GOAL_ERR_TRUNCATED 14  /* a message was longer than its receive */
#define GOAL_ERR_DIVISION 15   /* an integer was divided by zero */
#define GOAL_ERR_PEER_FAILED 16 /* the run failed at a peer */
#define GOAL_ERR_PEER_LOST 17  /* a peer that the run needs is gone */
#define GOAL_ERR_ABANDONED 18  /* the run was ended by GOAL_Finalize */

/* What a code means, in static memory. */
const char *GOAL_Error_string(int code);
/* Copies the words of the process's last error, cut to n bytes with a final 0: which argument, and what is accepted. */
int GOAL_Last_error(char *text, size_t n);

/* ---- the job ---- */
/* Joins the job: every process calls it. A second call does nothing. */
int GOAL_Init(void);
int GOAL_Finalize(void);
int GOAL_Rank(int *rank);
int GOAL_Size(int *size);

/* ---- graphs ---- */
/* Handles. Their values mean nothing to programs; one that was freed is refused. */
typedef struct GOAL_Graph_handle *GOAL_Graph;
typedef struct GOAL_Schedule_handle *GOAL_Schedule;
typedef struct GOAL_Run_handle *GOAL_Handle;
#define GOAL_HANDLE_NULL ((GOAL_Handle)0)
/* An operation of a graph. */
typedef int GOAL_Op;

/* Which memory a buffer is of. */
#define GOAL_USERSPACE 0          /* the address of memory that stays valid until the run has ended */
#define GOAL_SCRATCHPAD 1         /* GOAL_OFFSET(n): n bytes into the run's own memory */
#define GOAL_SEGMENT(n) (2 + (n)) /* GOAL_OFFSET(n) into a segment that GOAL_Run_bound names */
#define GOAL_OFFSET(n) ((void *)(size_t)(n))

/* A piece of a message that is gathered or scattered. */
typedef struct {
    void *start;
    size_t bytes;
    int space;
} GOAL_Piece;

/* Types of elements: integers of 1 to 64 bits in the smallest of 1, 2, 4 and 8 bytes, and floating point. */
#define GOAL_SIGNED(bits) (0x100 | (bits))
#define GOAL_UNSIGNED(bits) (0x200 | (bits))
#define GOAL_FLOAT 0x300
#define GOAL_DOUBLE 0x301
#define GOAL_INT GOAL_SIGNED(8 * (int)sizeof(int))
#define GOAL_LONG GOAL_SIGNED(8 * (int)sizeof(long))

/* Operations on elements. And, or, exclusive or are of integers only; what wraps, wraps at the type's bits. */
#define GOAL_ADD 0
#define GOAL_SUB 1
#define GOAL_MULT 2
#define GOAL_DIV 3
#define GOAL_MAX 4
#define GOAL_MIN 5
#define GOAL_AND 6
#define GOAL_OR 7
#define GOAL_XOR 8

/* An empty graph of this process. */
int GOAL_Create(GOAL_Graph *graph);
int GOAL_Free_graph(GOAL_Graph *graph);
/* More of the scratchpad, of zeros when a run starts; *offset is where it begins. */
int GOAL_Scratchpad(GOAL_Graph graph, size_t bytes, size_t *offset);
/* A segment that is bound to memory when a run starts; *space is what arguments call it: GOAL_SEGMENT(0), then (1) ... */
int GOAL_Bind(GOAL_Graph graph, size_t bytes, int *space);

/* Operations; op may be null. A send is complete when its buffer may be written again, a receive when its message is there.
 * Messages match by source, tag and run, in order; a receive may be longer than its message. */
int GOAL_Send(GOAL_Graph graph, const void *buffer, int space, size_t bytes, int to, int tag, GOAL_Op *op);
int GOAL_Recv(GOAL_Graph graph, void *buffer, int space, size_t bytes, int from, int tag, GOAL_Op *op);
int GOAL_Sendv(GOAL_Graph graph, const GOAL_Piece *pieces, int n, int to, int tag, GOAL_Op *op);
int GOAL_Recvv(GOAL_Graph graph, const GOAL_Piece *pieces, int n, int from, int tag, GOAL_Op *op);
/* target[i] = target[i] OP operand[i] for count elements. */
int GOAL_Local(GOAL_Graph graph, int operation, int type, size_t count, void *target, int target_space,
               const void *operand, int operand_space, GOAL_Op *op);
int GOAL_Copy(GOAL_Graph graph, void *to, int to_space, const void *from, int from_space, size_t bytes, GOAL_Op *op);
/* Stores the time of its execution: nanoseconds of the monotonic clock, 8 bytes, little-endian. */
int GOAL_Timestamp(GOAL_Graph graph, void *buffer, int space, GOAL_Op *op);
/* later begins once earlier is complete; or once it has begun. */
int GOAL_Requires(GOAL_Graph graph, GOAL_Op later, GOAL_Op earlier);
int GOAL_Requires_begun(GOAL_Graph graph, GOAL_Op later, GOAL_Op earlier);

/* ---- schedules ---- */
/* Checks the graph and compiles it. The schedule stays when the graph is freed. */
int GOAL_Compile(GOAL_Graph graph, GOAL_Schedule *schedule);
/* A schedule from bytes, as `hetmp goal compile` writes them. They are validated, and may use bound segments only. */
int GOAL_Load(const void *bytes, size_t n, GOAL_Schedule *schedule);
/* Its runs go on. */
int GOAL_Free_schedule(GOAL_Schedule *schedule);
/* Begins a run, also while others of the same schedule go on. The processes of the job begin the runs of one context in the
 * same order: the n-th run here talks to the n-th there. GOAL_Run is context 0. */
int GOAL_Run(GOAL_Schedule schedule, GOAL_Handle *handle);
int GOAL_Run_bound(GOAL_Schedule schedule, int context, void *const *segments, const size_t *bytes, int n,
                   GOAL_Handle *handle);
/* *done says whether the run has ended. Returns the run's error if it has failed. An ended run's handle is freed and becomes
 * GOAL_HANDLE_NULL; that one counts as ended. */
int GOAL_Test(GOAL_Handle *handle, int *done);
int GOAL_Wait(GOAL_Handle *handle);

/* ---- collectives ----
 * All processes call the same ones with the same arguments, in the same order, and the same form: names with an i return at once. `give` is what
 * a process gives, `get` what it gets, in the layouts of MPI; what only the root gives or gets may be null elsewhere.
 * Lengths are of one block. Sums of floating point numbers are the same on all processes and in every run. */
int goal_barrier(void);
int goal_ibarrier(GOAL_Handle *handle);
int goal_broadcast(const void *give, void *get, size_t bytes, int root);
int goal_ibroadcast(const void *give, void *get, size_t bytes, int root, GOAL_Handle *handle);
int goal_reduce(const void *give, void *get, size_t count, int type, int operation, int root);
int goal_ireduce(const void *give, void *get, size_t count, int type, int operation, int root, GOAL_Handle *handle);
int goal_allreduce(const void *give, void *get, size_t count, int type, int operation);
int goal_iallreduce(const void *give, void *get, size_t count, int type, int operation, GOAL_Handle *handle);
int goal_gather(const void *give, void *get, size_t bytes, int root);
int goal_igather(const void *give, void *get, size_t bytes, int root, GOAL_Handle *handle);
int goal_scatter(const void *give, void *get, size_t bytes, int root);
int goal_iscatter(const void *give, void *get, size_t bytes, int root, GOAL_Handle *handle);
int goal_allgather(const void *give, void *get, size_t bytes);
int goal_iallgather(const void *give, void *get, size_t bytes, GOAL_Handle *handle);
int goal_alltoall(const void *give, void *get, size_t bytes);
int goal_ialltoall(const void *give, void *get, size_t bytes, GOAL_Handle *handle);
/* Process r gets the combination of the vectors of processes 0 to r. */
int goal_scan(const void *give, void *get, size_t count, int type, int operation);
int goal_iscan(const void *give, void *get, size_t count, int type, int operation, GOAL_Handle *handle);
/* Gives a block of count elements for each process, gets its own block of the combination. */
int goal_reduce_scatter(const void *give, void *get, size_t count, int type, int operation);
int goal_ireduce_scatter(const void *give, void *get, size_t count, int type, int operation, GOAL_Handle *handle);
/* Between neighbours of any topology: every process says who sends to it and whom it sends to, and both sides agree. A block
 * from each source, in the order of the list; the same block, or another one, to each destination. */
int goal_neighbor_allgather(const int *sources, int n_sources, const int *destinations, int n_destinations,
                            const void *give, void *get, size_t bytes);
int goal_ineighbor_allgather(const int *sources, int n_sources, const int *destinations, int n_destinations,
                             const void *give, void *get, size_t bytes, GOAL_Handle *handle);
int goal_neighbor_alltoall(const int *sources, int n_sources, const int *destinations, int n_destinations,
                           const void *give, void *get, size_t bytes);
int goal_ineighbor_alltoall(const int *sources, int n_sources, const int *destinations, int n_destinations,
                            const void *give, void *get, size_t bytes, GOAL_Handle *handle);

#ifdef __cplusplus
}
#endif

#endif
