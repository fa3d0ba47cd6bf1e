/* Where no thread can be made to watch over virtual teams, that is said once, not with every region.
   hetmp-test: only=hetmp
   hetmp-test: env=OMP_SCHEDULE=hetprobe
   hetmp-test: env=HETMP_STATIC=force
   hetmp-test: threads=2 */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <unistd.h>
#include "check.h"

static double a[1000];

static void loop(void)
{
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        a[i] += i;
}

int main(void)
{
    int tell[2], keep = dup(2), made = 0;
    CHECK(pipe(tell) == 0);
    fflush(stdout);
    dup2(tell[1], 2);
    /* A region that keeps real threads: the team's threads exist from here on. */
#pragma omp parallel shared(made)
    {
#pragma omp task shared(made)
#pragma omp atomic
        made++;
    }
    /* Room for records, not for the stack of another thread. */
    struct rlimit as = {0, 0};
    getrlimit(RLIMIT_AS, &as);
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;
    CHECK(f && fscanf(f, "%ld", &pages) == 1);
    fclose(f);
    as.rlim_cur = (rlim_t)pages * 4096 + (200 << 10);
    CHECK(setrlimit(RLIMIT_AS, &as) == 0);
    for (int round = 0; round < 20; round++)
        loop();
    as.rlim_cur = as.rlim_max;
    CHECK(setrlimit(RLIMIT_AS, &as) == 0);
    dup2(keep, 2);
    close(tell[1]);
    static char text[1 << 16];
    ssize_t length = read(tell[0], text, sizeof text - 1);
    int lines = 0;
    for (char *at = text; length > 0 && (at = strstr(at, "no thread to watch")); at++)
        lines++;
    for (int i = 0; i < 1000; i++)
        CHECK(a[i] == 20.0 * i);
    printf("%d %d\n", lines, made);
    return check_end();
}
