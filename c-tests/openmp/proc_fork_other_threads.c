/* Two threads fork while another opens regions, and each child opens regions, too: what the other thread was doing does
   not stay half done in the child (POSIX fork; libomp hangs here).
   hetmp-test: env=HETMP_NODES=cores=0;cores=1
   hetmp-test: env=HETMP_SCHEDULE=hetprobe
   hetmp-test: threads=2
   hetmp-test: libs=-lpthread
   hetmp-test: timeout=60 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define REGION(k) \
    static long sum##k(int n) \
    { \
        long s = k; \
        _Pragma("omp parallel for reduction(+ : s)") for (int i = 0; i < n; i++) s += i; \
        return s - k; \
    }
#define REGIONS(k) \
    REGION(k##0) REGION(k##1) REGION(k##2) REGION(k##3) REGION(k##4) REGION(k##5) REGION(k##6) REGION(k##7)
#define NAMES(k) sum##k##0, sum##k##1, sum##k##2, sum##k##3, sum##k##4, sum##k##5, sum##k##6, sum##k##7
REGIONS(1) REGIONS(2) REGIONS(3) REGIONS(4) REGIONS(5) REGIONS(6) REGIONS(7)
static long (*const sums[])(int) = {NAMES(1), NAMES(2), NAMES(3), NAMES(4), NAMES(5), NAMES(6), NAMES(7)};
enum { COUNT = sizeof sums / sizeof *sums, FORKS = 40 };

static int forking = 2;

static void *forks(void *wrong)
{
    for (int k = 0; k < FORKS; k++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(sums[k % COUNT](1000) != 499500);
        waitpid(child, &status, 0);
        *(int *)wrong += status != 0;
    }
    __atomic_fetch_sub(&forking, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int wrong[3] = {0};
    for (int t = 0; t < 2; t++)
        pthread_create(&threads[t], NULL, forks, &wrong[t]);
    for (int k = 0; __atomic_load_n(&forking, __ATOMIC_SEQ_CST) > 0; k++)
        wrong[2] += sums[k % COUNT](1000) != 499500;
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);
    CHECK(wrong[0] + wrong[1] + wrong[2] == 0);
    return check_end();
}
