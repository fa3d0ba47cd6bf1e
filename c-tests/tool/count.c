/* A tool that counts the events of a program, for tests: OpenMP 5.2, chapter 19. It is loaded by OMP_TOOL_LIBRARIES, or
   compiled into a program. At the end it prints one line for each kind of event that happened. With TOOL_TRACE=1 it
   also prints each event, with what belongs to it. Its own data show whether regions, tasks and threads keep theirs. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The part of the interface that is used here. */
typedef union { uint64_t value; void *ptr; } data_t;
typedef struct { data_t exit, enter; int exit_flags, enter_flags; } frame_t;
typedef void (*function_t)(void);
typedef function_t (*lookup_t)(const char *);
typedef struct { int (*initialize)(lookup_t, int, data_t *); void (*finalize)(data_t *); data_t data; } tool_t;
typedef struct { data_t variable; int type; } dependence_t;
enum { BEGIN = 1, END = 2 };

static int (*set_callback)(int, function_t);
static uint64_t (*unique_id)(void);
static data_t *(*thread_data)(void);
static int (*task_info)(int, int *, data_t **, frame_t **, data_t **, int *);
static int (*parallel_info)(int, data_t **, int *);

#define KINDS 128
static struct { char name[48]; long count; } kinds[KINDS];
static long wrong;

static void count(const char *what, int kind, int scope) {
    static const char *const scopes[] = {"", " begin", " end"};
    char name[48];
    if (kind) snprintf(name, sizeof name, "%s %d%s", what, kind, scopes[scope]);
    else snprintf(name, sizeof name, "%s%s", what, scopes[scope]);
    static volatile int lock;
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE));
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i].count == 0) snprintf(kinds[i].name, sizeof kinds[i].name, "%s", name);
        int j = 0;
        while (kinds[i].name[j] && kinds[i].name[j] == name[j]) j++;
        if (kinds[i].name[j] == name[j]) { kinds[i].count++; break; }
    }
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static int traces;
static uint64_t me(void) { data_t *d = thread_data(); return d ? d->value : 0; }
#define TRACE(...) do { if (traces) { char l[256]; int n = snprintf(l, 200, "%lu: ", (unsigned long)me()); \
    n += snprintf(l + n, sizeof l - n, __VA_ARGS__); puts(l); } } while (0)
/* Something that the interface promises does not hold. */
static void check(int holds, const char *what) {
    if (!holds) { __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED); fprintf(stderr, "tool: not so: %s\n", what); }
}

static void thread_begin(int type, data_t *t) {
    check(t->value == 0, "a new thread's data is 0");
    t->value = unique_id();
    count("thread_begin", type, 0);
    TRACE("thread_begin %d", type);
}
static void thread_end(data_t *t) {
    check(t->value != 0, "a thread's data is kept");
    count("thread_end", 0, 0);
    TRACE("thread_end");
}
static void parallel_begin(data_t *task, const frame_t *f, data_t *region, unsigned n, int flags, const void *from) {
    check(task && task->value, "a region is opened by a task that has begun");
    check(f && f->enter.ptr, "the frame of the task that opens a region is known");
    check(region->value == 0, "a new region's data is 0");
    check(from != NULL, "it is known where a region is opened");
    region->value = unique_id();
    count(flags & 0x40000000 ? "league_begin" : "parallel_begin", 0, 0);
    TRACE("parallel_begin %lu asked %u flags %x task %lu from %p", (unsigned long)region->value, n, flags,
        (unsigned long)task->value, from);
}
static void parallel_end(data_t *region, data_t *task, int flags, const void *from) {
    check(region->value && task && task->value, "a region's data is kept");
    count(flags & 0x40000000 ? "league_end" : "parallel_end", 0, 0);
    TRACE("parallel_end %lu flags %x from %p", (unsigned long)region->value, flags, from);
}
static void implicit_task(int scope, data_t *region, data_t *task, unsigned threads, unsigned number, int flags) {
    if (scope == BEGIN) {
        check(task->value == 0, "a new task's data is 0");
        task->value = unique_id();
        if (flags != 1) {
            data_t *d = NULL, *r = NULL;
            int n = -1, size = -1, kind = 0;
            check(task_info(0, &kind, &d, NULL, &r, &n) == 2 && d && d->value == task->value,
                "the task that begins is the current one");
            check(n == (int)number, "the thread has its number");
            check(parallel_info(0, &r, &size) == 2 && r->value == region->value && size == (int)threads,
                "the region is the current one");
            check(task_info(1, NULL, &d, NULL, NULL, NULL) == 2 && d->value,
                  "the task that opened the region is known");
        }
    }
    check(task->value != 0, "an implicit task's data is kept");
    count(flags == 1 ? "initial_task" : "implicit_task", 0, scope);
    TRACE("implicit_task %s %lu threads %u number %u flags %d", scope == BEGIN ? "begin" : "end",
        (unsigned long)task->value, threads, number, flags);
}
static void work(int kind, int scope, data_t *region, data_t *task, uint64_t n, const void *from) {
    check(region->value && task->value, "a construct is in a task of a region");
    count("work", kind, scope);
    TRACE("work %d %s count %lu from %p", kind, scope == BEGIN ? "begin" : "end", (unsigned long)n, from);
}
static void sync_region(int kind, int scope, data_t *region, data_t *task, const void *from) {
    check(task->value, "a task waits");
    count("sync", kind, scope);
    TRACE("sync %d %s task %lu from %p", kind, scope == BEGIN ? "begin" : "end", (unsigned long)task->value, from);
}
static void sync_wait(int kind, int scope, data_t *region, data_t *task, const void *from) {
    count("wait", kind, scope);
    TRACE("wait %d %s from %p", kind, scope == BEGIN ? "begin" : "end", from);
}
static void reduction(int kind, int scope, data_t *region, data_t *task, const void *from) {
    count("reduction", kind, scope);
    TRACE("reduction %s from %p", scope == BEGIN ? "begin" : "end", from);
}
static void masked(int scope, data_t *region, data_t *task, const void *from) {
    count("masked", 0, scope);
    TRACE("masked %s from %p", scope == BEGIN ? "begin" : "end", from);
}
static void task_create(data_t *maker, const frame_t *f, data_t *task, int flags, int depends, const void *from) {
    check(task->value == 0, "a new task's data is 0");
    check(maker && maker->value, "a task is made by a task");
    task->value = unique_id();
    count(depends ? "task_create with dependences" : "task_create", flags & 0x08000000 ? 2 : 1, 0);
    TRACE("task_create %lu flags %x from %p", (unsigned long)task->value, flags, from);
}
static void task_schedule(data_t *before, int status, data_t *next) {
    check(before->value && (!next || next->value), "tasks keep their data");
    count("task_schedule", status, 0);
    TRACE("task_schedule %lu %d %lu", (unsigned long)before->value, status, next ? (unsigned long)next->value : 0);
}
static void dependences(data_t *task, const dependence_t *list, int n) {
    int doacross = n && (list[0].type == 5 || list[0].type == 6);
    count(doacross ? list[0].type == 5 ? "source" : "sink" : "dependences", n, 0);
    TRACE("dependences %lu: %d, first of type %d", (unsigned long)task->value, n, n ? list[0].type : 0);
}
static void task_dependence(data_t *first, data_t *second) {
    check(first->value && second->value && first->value != second->value, "a task waits for another one");
    count("task_dependence", 0, 0);
    TRACE("task_dependence %lu %lu", (unsigned long)first->value, (unsigned long)second->value);
}
static void dispatch(data_t *region, data_t *task, int kind, data_t instance) {
    const uint64_t *chunk = instance.ptr;
    check(region->value && task->value, "a chunk belongs to a task of a region");
    if (kind == 2) check(instance.ptr != NULL, "the place of a section is known");
    else check(chunk && chunk[1] > 0, "a chunk has iterations");
    count("dispatch", kind, 0);
    TRACE("dispatch %d task %lu from %lu count %lu", kind, (unsigned long)task->value,
        kind == 2 ? 0 : (unsigned long)chunk[0], kind == 2 ? 0 : (unsigned long)chunk[1]);
}
static void error(int severity, const char *message, size_t length, const void *from) {
    check(message && __builtin_strlen(message) == length, "a message has its length");
    check(from != NULL, "it is known where the error directive is");
    count("error", severity, 0);
    TRACE("error %d %s", severity, message);
}
static void mutex_acquire(int kind, unsigned hint, unsigned how, uint64_t id, const void *from) {
    check(id != 0, "a lock has an identity");
    count("mutex_acquire", kind, 0);
    TRACE("mutex_acquire %d %lx from %p", kind, (unsigned long)id, from);
}
static void mutex_acquired(int kind, uint64_t id, const void *from) {
    count("mutex_acquired", kind, 0);
    TRACE("mutex_acquired %d %lx from %p", kind, (unsigned long)id, from);
}
static void mutex_released(int kind, uint64_t id, const void *from) {
    count("mutex_released", kind, 0);
    TRACE("mutex_released %d %lx from %p", kind, (unsigned long)id, from);
}
static void nest_lock(int scope, uint64_t id, const void *from) {
    count("nest_lock", 0, scope);
    TRACE("nest_lock %d %lx from %p", scope, (unsigned long)id, from);
}
static void lock_init(int kind, unsigned hint, unsigned how, uint64_t id, const void *from) {
    count("lock_init", kind, 0);
}
static void lock_destroy(int kind, uint64_t id, const void *from) { count("lock_destroy", kind, 0); }
static void flush_memory(data_t *thread, const void *from) { count("flush", 0, 0); }
static int control_tool(uint64_t command, uint64_t modifier, void *argument, const void *from) {
    count("control_tool", (int)command, 0);
    return (int)(command * 10 + modifier);
}

static int initialize(lookup_t lookup, int device, data_t *data) {
    *(function_t *)&set_callback = lookup("ompt_set_callback");
    *(function_t *)&unique_id = lookup("ompt_get_unique_id");
    *(function_t *)&thread_data = lookup("ompt_get_thread_data");
    *(function_t *)&task_info = lookup("ompt_get_task_info");
    *(function_t *)&parallel_info = lookup("ompt_get_parallel_info");
    if (lookup("ompt_no_such_function")) wrong++;
    traces = getenv("TOOL_TRACE") != NULL;
    data->value = 4711;
#define SET(number, f) check(set_callback(number, (function_t)f) >= 3, #f " can be registered")
    SET(1, thread_begin); SET(2, thread_end); SET(3, parallel_begin); SET(4, parallel_end); SET(5, task_create);
    SET(6, task_schedule); SET(7, implicit_task); SET(11, control_tool); SET(16, sync_wait); SET(17, mutex_released);
    SET(18, dependences); SET(20, work); SET(21, masked); SET(23, sync_region); SET(24, lock_init);
    SET(25, lock_destroy); SET(26, mutex_acquire); SET(27, mutex_acquired); SET(28, nest_lock); SET(29, flush_memory);
    SET(31, reduction); SET(19, task_dependence); SET(32, dispatch); SET(37, error);
    check(set_callback(1000, (function_t)work) == 0, "there is no event 1000");
    return 1;
}

static int by_name(const void *a, const void *b) {
    const char *x = a, *y = b;
    while (*x && *x == *y) x++, y++;
    return (unsigned char)*x - (unsigned char)*y;
}
static void finalize(data_t *data) {
    check(data->value == 4711, "the tool's data is kept");
    qsort(kinds, KINDS, sizeof kinds[0], by_name);
    for (int i = 0; i < KINDS; i++) if (kinds[i].count) printf("event %s: %ld\n", kinds[i].name, kinds[i].count);
    printf("wrong: %ld\n", wrong);
    fflush(stdout);
}

tool_t *ompt_start_tool(unsigned version, const char *runtime) {
    static tool_t tool = {initialize, finalize, {0}};
    return version > 0 && runtime ? &tool : NULL;
}
