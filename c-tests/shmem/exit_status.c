/* How a job ends. Arguments: WHAT [PE STATUS]. The runner knows what has to happen.
 * shmem-test: manual */
#include "shtest.h"
#include <signal.h>
#include <unistd.h>

static long never;
static volatile double sink = 1;

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int pe = argc > 2 ? atoi(argv[2]) : 0, status = argc > 3 ? atoi(argv[3]) : 0;
    test_begin();
    shmem_barrier_all();
    if (strcmp(what, "finalized") == 0) {
        /* Ends with a status of its own after shmem_finalize. */
        shmem_finalize();
        return me == pe ? status : 0;
    }
    if (strcmp(what, "implicit") == 0) {
        /* Returning from main without shmem_finalize is as good. */
        return 0;
    }
    if (strcmp(what, "full") == 0) {
        CHECK(shmem_malloc((size_t)1 << 40) == NULL);
        shmem_finalize();
        return test_failed;
    }
    if (strcmp(what, "finalize-twice") == 0) {
        /* Buffered: standard output is no terminal here. */
        printf("kept by PE %d\n", me);
        shmem_finalize();
        if (me != pe) return 0;
        shmem_finalize();
        printf("went on\n");
        return status;
    }
    if (me == pe) {
        usleep(100000);
        if (strncmp(what, "global", 6) == 0) {
            shmem_global_exit(status);
        } else if (strncmp(what, "exit", 4) == 0) {
            exit(status);
        } else if (strncmp(what, "die", 3) == 0) {
            kill(getpid(), SIGKILL);
        } else {
            abort();
        }
        printf("came back\n");
    }
    /* The others: deep in a barrier, in one after another, in a wait, or in a computation that calls nothing. Where all
     * stay, PE 0 does not enter the barrier. */
    const char *where = strchr(what, '-');
    int stays_out = me == 0 && strncmp(what, "stay", 4) == 0;
    if (where && strcmp(where, "-barriers") == 0) {
        for (;;) {
            shmem_barrier_all();
        }
    } else if (where && strcmp(where, "-barrier") == 0 && !stays_out) {
        shmem_barrier_all();
    } else if (where && strcmp(where, "-wait") == 0) {
        shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
    } else if (where && strcmp(where, "-lock") == 0) {
        shmem_set_lock(&never);
        shmem_set_lock(&never);
    } else {
        for (;;) {
            sink = sink * 1.0000001;
        }
    }
    printf("came out\n");
    return 0;
}
