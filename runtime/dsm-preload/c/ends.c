/* The functions that wait for the end of a thread, or give that up: the thread's stack can then be used again.
   In C, because a thread that is cancelled while it waits here is unwound through these frames. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <threads.h>

int hetmp_thread_ends(pthread_t thread, int error, bool detached);

#define ENDS(name, detached, parameters, ...)                                        \
    int name parameters                                                              \
    {                                                                                \
        static int (*real) parameters;                                               \
        if (!real)                                                                   \
            real = (int (*) parameters)dlsym(RTLD_NEXT, #name);                      \
        return hetmp_thread_ends(thread, real(thread, ##__VA_ARGS__), detached);     \
    }

ENDS(pthread_join, false, (pthread_t thread, void **result), result)
ENDS(pthread_tryjoin_np, false, (pthread_t thread, void **result), result)
ENDS(pthread_timedjoin_np, false, (pthread_t thread, void **result, const struct timespec *until), result, until)
ENDS(pthread_clockjoin_np, false, (pthread_t thread, void **result, clockid_t clock, const struct timespec *until),
     result, clock, until)
ENDS(thrd_join, false, (thrd_t thread, int *result), result)
ENDS(pthread_detach, true, (pthread_t thread))
ENDS(thrd_detach, true, (thrd_t thread))

/* Makes the linker take this file. */
const char hetmp_ends = 0;
