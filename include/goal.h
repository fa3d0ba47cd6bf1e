/* goal.h: collective communication as dependency graphs (GOAL, Group Operation Assembly Language), and nonblocking
 * collectives made of them. Part of hetmp: `gcc program.c $(pkg-config --cflags --libs hetmp-goal)`, with
 * PREFIX/lib/pkgconfig in PKG_CONFIG_PATH.
 *
 * A graph is one process's part of a communication: sends, receives and local operations, and their dependences.
 * GOAL_Compile turns a graph into a schedule. GOAL_Run begins a run of a schedule and returns at once; GOAL_Test and
 * GOAL_Wait tell when the run has ended. The names are those of Schneider, Eckelmann, Hoefler, Rehm, "Kernel-Based
 * Offload of Collective Operations" (Euro-Par 2011).
 *
 * Every function but GOAL_Error_string returns GOAL_SUCCESS or an error code. Any thread may call any function.
 *
 * A sum over a tree of processes, each of which has called GOAL_Init, GOAL_Rank and GOAL_Size, and has a double `sum`,
 * its own number before each run and at rank 0 the result after it, and room `got` for two:
 *
 *     GOAL_Op last = -1, sent;
 *     GOAL_Create(&graph);
 *     for (int child = 2 * rank + 1, i = 0; i < 2 && child < size; child++, i++) {
 *         GOAL_Op received, added;
 *         GOAL_Recv(graph, &got[i], GOAL_USERSPACE, sizeof(double), child, 0, &received);
 *         GOAL_Local(graph, GOAL_ADD, GOAL_DOUBLE, 1, &sum, GOAL_USERSPACE, &got[i], GOAL_USERSPACE, &added);
 *         GOAL_Requires(graph, added, received);
 *         if (last >= 0) GOAL_Requires(graph, added, last);
 *         last = added;
 *     }
 *     if (rank > 0) {
 *         GOAL_Send(graph, &sum, GOAL_USERSPACE, sizeof(double), (rank - 1) / 2, 0, &sent);
 *         if (last >= 0) GOAL_Requires(graph, sent, last);
 *     }
 *     GOAL_Compile(graph, &schedule);
 *     GOAL_Agree(schedule);          // lets the engines kernel and nic run it
 *     GOAL_Run(schedule, &handle);   // as often as needed
 *     GOAL_Wait(&handle);
 *
 * `hetrun -n 4 ./program` starts the job; without it a program is a job of one. An operation that requires no other
 * begins when the run does, in no certain order. Messages of one source, destination and tag match in the order in
 * which they begin, so that independent ones from one process to another need different tags. A process may send to
 * itself. A message may be shorter than its receive. A receive for which its source has no send in the same run fails
 * (GOAL_ERR_NOT_SENT) once that source has begun the run and this process has waited some milliseconds. An exchange
 * with a few processes is a graph of sends and receives, each with its own length, or goal_neighbor_alltoall, with one
 * for all.
 *
 * Who makes progress (HETMP_GOAL_ENGINE):
 *   thread  a thread of each process, which sleeps until a message comes; while a program's thread waits, that thread
 *           makes progress instead. The default
 *   user    the program, inside of GOAL_Test, GOAL_Wait and blocking collectives; nothing happens outside of them
 *   kernel  the Linux kernel, where packets arrive: nonblocking collectives, and GOAL_Agree's schedules, in which all
 *           messages from one process to another have different tags, ordered ones, too, and each receive its message's
 *           length. Messages of up to 64 KiB (of neighbour collectives 2 KiB), 1 MiB of a process's memory, 256
 *           operations a process, 256 floating-point numbers a vector, no division, 64 processes.
 *           `hetmp-goal-kernel --check`, as root, says whether the machine has it
 *   nic     an emulated network adapter, a process for each rank: the same, but 4 MiB of a process's memory, messages
 *           and vectors of any length in these, 512 operations, no division of integers; nic-thread: a thread
 * Schedules that were not agreed go by thread. So does what an engine cannot do, after one line on standard error for
 * each reason. HETMP_GOAL_COUNTERS=true prints what each rank's engine has counted when it ends. nic: runs begun, and
 * descriptors posted for them. kernel: packets
 *   sent, received  with a message or part that a receive waited for
 *   early           before their receive or run had begun; most are kept until then
 *   asked, resent   questions for messages that had not come, and messages sent again as an answer
 *   duplicate       that had arrived before;  dropped  for which there was no room: asked for again
 *   bad, foreign    malformed or expected by nobody; of another job
 *   busy            that came while another processor ran the program for this rank, and were dropped
 *   unsent          that the kernel did not take
 * and kicks, the calls of the program by the process or its helper. If all are 0, the engine has run nothing.
 *
 * Ends. GOAL_Finalize waits until all messages that were sent have left; exit with status 0 does the same. Runs that
 * have not ended are given up (GOAL_ERR_ABANDONED), and runs of peers that need this process end with
 * GOAL_ERR_PEER_FAILED or GOAL_ERR_PEER_LOST. If a process dies, the runs that need it end with GOAL_ERR_PEER_LOST;
 * most launchers then end the job.
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
#define GOAL_ERR_ARGUMENT 2    /* a null pointer, a freed handle, a value that is not accepted */
#define GOAL_ERR_RANK 3        /* a rank that the job does not have */
#define GOAL_ERR_OPERATION 4   /* an operation that the graph does not have */
#define GOAL_ERR_BOUNDS 5      /* a piece that ends beyond the scratchpad or its segment */
#define GOAL_ERR_SIZE 6        /* lengths that differ, or that are not whole elements */
#define GOAL_ERR_TYPE 7        /* an operation that the type does not have */
#define GOAL_ERR_CYCLE 8       /* operations that wait for each other in a cycle */
#define GOAL_ERR_OVERLAP 9     /* two operations use the same memory, one writes it, and no dependence orders them */
#define GOAL_ERR_LIMIT 10      /* too many operations, pieces, segments or handles */
#define GOAL_ERR_FORMAT 11     /* bytes that are no schedule, or a schedule of another rank or job size */
#define GOAL_ERR_MEMORY 12     /* no memory */
#define GOAL_ERR_JOB 13        /* the job cannot be joined */
#define GOAL_ERR_TRUNCATED 14  /* a message was longer than its receive, or a long one had none */
#define GOAL_ERR_DIVISION 15   /* an integer was divided by zero */
#define GOAL_ERR_PEER_FAILED 16 /* the run failed at a peer */
#define GOAL_ERR_PEER_LOST 17  /* a peer that the run needs is gone */
#define GOAL_ERR_ABANDONED 18  /* the run was ended by GOAL_Finalize */
#define GOAL_ERR_NOT_SENT 19   /* a receive whose source sends no message for it in this run */

/* ---- handles, buffers, types ---- */
/* Handles. Their values mean nothing to programs. A freed handle is refused. */
typedef struct GOAL_Graph_handle *GOAL_Graph;
typedef struct GOAL_Schedule_handle *GOAL_Schedule;
typedef struct GOAL_Run_handle *GOAL_Handle;
#define GOAL_HANDLE_NULL ((GOAL_Handle)0)
/* The number of an operation in its graph. */
typedef int GOAL_Op;

/* The `space` of a buffer says what its address means. */
#define GOAL_USERSPACE 0          /* an address in the program, which leaves the memory alone until the run has ended */
#define GOAL_SCRATCHPAD 1         /* GOAL_OFFSET(b): b bytes into memory that each run has for itself */
#define GOAL_SEGMENT(n) (2 + (n)) /* GOAL_OFFSET(b): b bytes into segment n, which GOAL_Run_bound binds to memory */
#define GOAL_OFFSET(n) ((void *)(size_t)(n))

/* Types of elements. An integer of 1 to 64 bits takes the smallest of 1, 2, 4 and 8 bytes that holds it. */
#define GOAL_SIGNED(bits) (0x100 | (bits))
#define GOAL_UNSIGNED(bits) (0x200 | (bits))
#define GOAL_FLOAT 0x300
#define GOAL_DOUBLE 0x301
#define GOAL_INT GOAL_SIGNED(8 * (int)sizeof(int))
#define GOAL_LONG GOAL_SIGNED(8 * (int)sizeof(long))

/* Operations on elements. GOAL_AND, GOAL_OR and GOAL_XOR are for integers only. Integers wrap at the type's bits. */
#define GOAL_ADD 0
#define GOAL_SUB 1
#define GOAL_MULT 2
#define GOAL_DIV 3
#define GOAL_MAX 4
#define GOAL_MIN 5
#define GOAL_AND 6
#define GOAL_OR 7
#define GOAL_XOR 8

/* ---- the job, graphs, and schedules ---- Lengths are in bytes. */
/* BEGIN generated from runtime/abi/src/goal.rs: cargo run -p hetmp-shmem-surface -- --write */
/* A piece of a message: sends gather a message from pieces, receives scatter it to pieces. */
typedef struct GOAL_Piece {
    void *start;
    size_t bytes;
    int space;
} GOAL_Piece;
/* The meaning of a code, a string in static memory. */
const char *GOAL_Error_string(int code);
/* Copies the text of the process's last error to `text`, cut to n bytes including the final 0. The text names the
 * argument and what is expected. */
int GOAL_Last_error(char *text, size_t n);
/* Joins the job. Every process of the job calls it. A second call does nothing. */
int GOAL_Init(void);
/* As GOAL_Init, for a program whose processes another library has started (MPI, for example): this process is number
 * `rank` of `size`. `allgather` gives each process's `bytes` bytes to all processes, in the order of ranks, and
 * returns 0; it is called within GOAL_Init_through, by the calling thread, and gets `state` back. The engine `user` is
 * not used. */
int GOAL_Init_through(int rank,
                      int size,
                      int (*allgather)(void *state, const void *give, void *get, size_t bytes),
                      void *state);
/* Moves this process's runs on once and returns at once: for a loop that waits for something else, too. */
int GOAL_Progress(void);
/* Leaves the job: see "Ends" above. */
int GOAL_Finalize(void);
/* *rank: this process's number in the job, from 0. */
int GOAL_Rank(int *rank);
/* *size: the number of processes of the job. */
int GOAL_Size(int *size);
/* Creates an empty graph of this process. */
int GOAL_Create(GOAL_Graph *graph);
/* Frees a graph; *graph becomes null. Schedules that were compiled from the graph stay. */
int GOAL_Free_graph(GOAL_Graph *graph);
/* Adds `bytes` to the graph's scratchpad, which is zero when a run starts. *offset: where the added part begins. */
int GOAL_Scratchpad(GOAL_Graph graph, size_t bytes, size_t *offset);
/* Declares a segment of `bytes`, which is bound to memory when a run starts. *space: the segment's number for
 * buffers, GOAL_SEGMENT(0) for the first, then GOAL_SEGMENT(1) ... */
int GOAL_Bind(GOAL_Graph graph, size_t bytes, int *space);
/* Adds a send of `bytes` to rank `to`, with a tag from 0 on. It is complete when its buffer may be written again. *op,
 * here and below: the operation's number, for GOAL_Requires; op may be null. */
int GOAL_Send(GOAL_Graph graph, const void *buffer, int space, size_t bytes, int to, int tag, GOAL_Op *op);
/* Adds a receive of up to `bytes`, which takes the next message with its source and tag in the same run. It is
 * complete when the message is in its buffer. */
int GOAL_Recv(GOAL_Graph graph, void *buffer, int space, size_t bytes, int from, int tag, GOAL_Op *op);
/* As GOAL_Send, of a message from n pieces. */
int GOAL_Sendv(GOAL_Graph graph, const struct GOAL_Piece *list, int n, int to, int tag, GOAL_Op *op);
/* As GOAL_Recv, into n pieces. */
int GOAL_Recvv(GOAL_Graph graph, const struct GOAL_Piece *list, int n, int from, int tag, GOAL_Op *op);
/* Adds target[i] = target[i] OP operand[i] for count elements. */
int GOAL_Local(GOAL_Graph graph,
               int operation,
               int type,
               size_t count,
               void *target,
               int target_space,
               const void *operand,
               int operand_space,
               GOAL_Op *op);
/* Adds a copy of `bytes`. */
int GOAL_Copy(GOAL_Graph graph, void *to, int to_space, const void *from, int from_space, size_t bytes, GOAL_Op *op);
/* Stores the time at which the operation is executed: nanoseconds of the monotonic clock, 8 bytes, little-endian. */
int GOAL_Timestamp(GOAL_Graph graph, void *buffer, int space, GOAL_Op *op);
/* `later` begins once `earlier` is complete. */
int GOAL_Requires(GOAL_Graph graph, GOAL_Op later, GOAL_Op earlier);
/* `later` begins once `earlier` has begun. */
int GOAL_Requires_begun(GOAL_Graph graph, GOAL_Op later, GOAL_Op earlier);
/* Checks the graph and compiles it. The schedule stays as it is when the graph is freed, or extended and compiled
 * again. */
int GOAL_Compile(GOAL_Graph graph, GOAL_Schedule *schedule);
/* Loads a schedule from n bytes that `hetmp goal compile` wrote. The bytes are checked. Such a schedule must not
 * use GOAL_USERSPACE. */
int GOAL_Load(const void *bytes, size_t n, GOAL_Schedule *schedule);
/* Frees a schedule; *schedule becomes null. Runs of the schedule go on. */
int GOAL_Free_schedule(GOAL_Schedule *schedule);
/* All processes call this together, each with its schedule of one communication; a process without a part in it passes
 * the schedule of an empty graph. So the engines kernel and nic know the schedules of all, and run them if they can.
 * Under other engines, and where they cannot, nothing changes. If they see a receive without a message, all processes
 * get GOAL_ERR_NOT_SENT. From then on all processes begin the runs of these schedules in the same order, among all
 * other collectives, whatever their contexts; and no two bound segments overlap. */
int GOAL_Agree(GOAL_Schedule schedule);
/* Begins a run in context 0, also while other runs of the same schedule go on. All processes of the job begin the
 * runs of one context in the same order: the n-th run of a process exchanges messages with the n-th run of its
 * peers. So one without a part in a communication begins a run of an empty graph, too. */
int GOAL_Run(GOAL_Schedule schedule, GOAL_Handle *handle);
/* As GOAL_Run, in any context, and binds the n segments of the schedule: segments[i] is the address, bytes[i] the
 * length. */
int GOAL_Run_bound(GOAL_Schedule schedule,
                   int context,
                   void *const *segments,
                   const size_t *bytes,
                   int n,
                   GOAL_Handle *handle);
/* Sets *done to 1 if the run has ended, else to 0. Returns the run's error if the run has failed. When a run has
 * ended, its handle is freed and *handle becomes GOAL_HANDLE_NULL. With GOAL_HANDLE_NULL, *done is 1. */
int GOAL_Test(GOAL_Handle *handle, int *done);
/* Waits for the end of a run, and returns as GOAL_Test. With GOAL_HANDLE_NULL it returns at once. */
int GOAL_Wait(GOAL_Handle *handle);
/* END generated */

/* ---- collectives ----
 * All processes call the same collectives in the same order, in the same form, with the same arguments. The forms
 * whose names have an i (goal_ibarrier) return a handle at once; the others return when the collective is complete
 * here. `give` is a process's input, `get` its output, in the layouts of MPI. An input or output that only the root
 * has may be null on other processes. `bytes` and `count` are the length of one block. Sums of floating point numbers
 * have the same bits on all processes and in every run.
 * A group is a list of ranks. In the forms for groups, ranks, roots and neighbours are numbers in the group. All
 * members begin a group's collectives in the same order; collectives of different groups have no order. */
typedef struct GOAL_Group_handle *GOAL_Group;
/* BEGIN generated from runtime/abi/src/goal/collectives.rs: cargo run -p hetmp-shmem-surface -- --write */
/* Every process gets the root's input. */
int goal_broadcast(const void *give, void *get, size_t bytes, int root);
int goal_ibroadcast(const void *give, void *get, size_t bytes, int root, GOAL_Handle *handle);
int goal_group_ibroadcast(GOAL_Group group, const void *give, void *get, size_t bytes, int root, GOAL_Handle *handle);
/* The root gets the combination of the vectors of all processes. */
int goal_reduce(const void *give, void *get, size_t count, int type, int operation, int root);
int goal_ireduce(const void *give, void *get, size_t count, int type, int operation, int root, GOAL_Handle *handle);
int goal_group_ireduce(GOAL_Group group,
                       const void *give,
                       void *get,
                       size_t count,
                       int type,
                       int operation,
                       int root,
                       GOAL_Handle *handle);
/* Every process gets the combination of the vectors of all processes. */
int goal_allreduce(const void *give, void *get, size_t count, int type, int operation);
int goal_iallreduce(const void *give, void *get, size_t count, int type, int operation, GOAL_Handle *handle);
int goal_group_iallreduce(GOAL_Group group,
                          const void *give,
                          void *get,
                          size_t count,
                          int type,
                          int operation,
                          GOAL_Handle *handle);
/* The root gets one block from each process, in the order of ranks. */
int goal_gather(const void *give, void *get, size_t bytes, int root);
int goal_igather(const void *give, void *get, size_t bytes, int root, GOAL_Handle *handle);
int goal_group_igather(GOAL_Group group, const void *give, void *get, size_t bytes, int root, GOAL_Handle *handle);
/* The root gives one block for each process, in the order of ranks; each process gets its block. */
int goal_scatter(const void *give, void *get, size_t bytes, int root);
int goal_iscatter(const void *give, void *get, size_t bytes, int root, GOAL_Handle *handle);
int goal_group_iscatter(GOAL_Group group, const void *give, void *get, size_t bytes, int root, GOAL_Handle *handle);
/* Every process gets one block from each process, in the order of ranks. */
int goal_allgather(const void *give, void *get, size_t bytes);
int goal_iallgather(const void *give, void *get, size_t bytes, GOAL_Handle *handle);
int goal_group_iallgather(GOAL_Group group, const void *give, void *get, size_t bytes, GOAL_Handle *handle);
/* Every process gives one block for each process, and gets one block from each, both in the order of ranks. */
int goal_alltoall(const void *give, void *get, size_t bytes);
int goal_ialltoall(const void *give, void *get, size_t bytes, GOAL_Handle *handle);
int goal_group_ialltoall(GOAL_Group group, const void *give, void *get, size_t bytes, GOAL_Handle *handle);
/* Process r gets the combination of the vectors of processes 0 to r (an inclusive scan). */
int goal_scan(const void *give, void *get, size_t count, int type, int operation);
int goal_iscan(const void *give, void *get, size_t count, int type, int operation, GOAL_Handle *handle);
int goal_group_iscan(GOAL_Group group,
                     const void *give,
                     void *get,
                     size_t count,
                     int type,
                     int operation,
                     GOAL_Handle *handle);
/* Process r gets the combination of the vectors of processes before it (an exclusive scan); process 0 gets
 * nothing. */
int goal_exscan(const void *give, void *get, size_t count, int type, int operation);
int goal_iexscan(const void *give, void *get, size_t count, int type, int operation, GOAL_Handle *handle);
int goal_group_iexscan(GOAL_Group group,
                       const void *give,
                       void *get,
                       size_t count,
                       int type,
                       int operation,
                       GOAL_Handle *handle);
/* Every process gives one block of `count` elements for each process, and gets its own block of the combination. */
int goal_reduce_scatter(const void *give, void *get, size_t count, int type, int operation);
int goal_ireduce_scatter(const void *give, void *get, size_t count, int type, int operation, GOAL_Handle *handle);
int goal_group_ireduce_scatter(GOAL_Group group,
                               const void *give,
                               void *get,
                               size_t count,
                               int type,
                               int operation,
                               GOAL_Handle *handle);
/* Returns when every process has called it. */
int goal_barrier(void);
int goal_ibarrier(GOAL_Handle *handle);
int goal_group_ibarrier(GOAL_Group group, GOAL_Handle *handle);
/* Called by all members with the same arguments; sends nothing. Groups that have a member in common have different
 * contexts, numbers from 1. A context may be used again, after GOAL_Group_free, for the same list only. */
int GOAL_Group_create(int context, const int *ranks, int n, GOAL_Group *group);
/* As GOAL_Agree, called by the members of a group, for a communication among them. The ranks in their graphs are those
 * of the job. From then on all members begin the runs of these schedules in the same order, among the group's
 * collectives, by GOAL_Run_bound in a context that is the group's own. */
int GOAL_Group_agree(GOAL_Group group, GOAL_Schedule schedule);
/* Frees a group; *group becomes null. Its runs go on. */
int GOAL_Group_free(GOAL_Group *group);
/* Exchanges with neighbours. Every process lists the ranks that send to it (sources) and the ranks that it sends
 * to (destinations); the lists of both sides must agree. A process gets one block from each source, in the order
 * of the list. It gives the same block to all destinations. */
int goal_neighbor_allgather(const int *sources,
                            int n_sources,
                            const int *destinations,
                            int n_destinations,
                            const void *give,
                            void *get,
                            size_t bytes);
int goal_ineighbor_allgather(const int *sources,
                             int n_sources,
                             const int *destinations,
                             int n_destinations,
                             const void *give,
                             void *get,
                             size_t bytes,
                             GOAL_Handle *handle);
int goal_group_ineighbor_allgather(GOAL_Group group,
                                   const int *sources,
                                   int n_sources,
                                   const int *destinations,
                                   int n_destinations,
                                   const void *give,
                                   void *get,
                                   size_t bytes,
                                   GOAL_Handle *handle);
/* The same, with one block for each destination, in the order of the list. */
int goal_neighbor_alltoall(const int *sources,
                           int n_sources,
                           const int *destinations,
                           int n_destinations,
                           const void *give,
                           void *get,
                           size_t bytes);
int goal_ineighbor_alltoall(const int *sources,
                            int n_sources,
                            const int *destinations,
                            int n_destinations,
                            const void *give,
                            void *get,
                            size_t bytes,
                            GOAL_Handle *handle);
int goal_group_ineighbor_alltoall(GOAL_Group group,
                                  const int *sources,
                                  int n_sources,
                                  const int *destinations,
                                  int n_destinations,
                                  const void *give,
                                  void *get,
                                  size_t bytes,
                                  GOAL_Handle *handle);
/* END generated */

#ifdef __cplusplus
}
#endif

#endif
