/* When threads cannot be made the team shrinks with one warning and the program goes on (libgomp ends it).
   hetmp-test: only=hetmp
   hetmp-test: libs=-lpthread
   hetmp-test: timeout=30 */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <unistd.h>
#include "check.h"

int main(void)
{
    /* Standard error is counted below: one warning, however many regions shrink. */
    int tell[2], keep = dup(2);
    CHECK(pipe(tell) == 0);
    fflush(stdout);
    dup2(tell[1], 2);
    struct rlimit as = {0, 0};
    getrlimit(RLIMIT_AS, &as);
    /* Room for little: the stacks of 64 more threads do not fit. */
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;
    CHECK(f && fscanf(f, "%ld", &pages) == 1);
    fclose(f);
    as.rlim_cur = (rlim_t)pages * 4096 + (64ul << 20);
    CHECK(setrlimit(RLIMIT_AS, &as) == 0);
    for (int round = 0; round < 5; round++) {
        int count = 0, size = 0, bad = 0;
        long sum = 0;
#pragma omp parallel num_threads(64)
        {
#pragma omp atomic
            count++;
#pragma omp single
            size = omp_get_num_threads();
#pragma omp for schedule(dynamic) reduction(+ : sum)
            for (int i = 0; i < 1000; i++)
                sum += i;
            if (omp_get_thread_num() >= omp_get_num_threads()) {
#pragma omp atomic
                bad++;
            }
        }
        CHECK(count == size && size >= 1 && size < 64 && bad == 0 && sum == 499500);
    }
    dup2(keep, 2);
    close(tell[1]);
    char text[4096];
    ssize_t n = read(tell[0], text, sizeof text - 1);
    int lines = 0;
    for (ssize_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    printf("%d warning\n", lines);
    return check_end();
}
