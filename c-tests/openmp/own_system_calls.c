/* A program's own functions may have the names of the system's: the library must
 * not call them. Run also under schedules of hetmp's own, which read files. */
/* hetmp-test: threads=1,2
 * hetmp-test: env=HETMP_SCHEDULE=hetprobe
 * hetmp-test: env=HETMP_VERBOSE=1 */
#include "check.h"
#include <omp.h>
#include <stdio.h>

static int called;

/* Other types than the system's, as programs have them. */
double read(const char *name, double x) { called++; return x + (name != 0); }
void write(int a, int b, int c, int d) { called += a + b + c + d; }
int open(void) { return ++called; }
int close(double x) { return called += (int)x; }
int connect(int a) { return called += a; }
int send(void) { return ++called; }
int recv(void) { return ++called; }
int poll(void) { return ++called; }
int bind(void) { return ++called; }
int listen(void) { return ++called; }

int main(void)
{
    double a[1000], sum = 0;
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 1000; i++) a[i] = i * 2;
#pragma omp parallel for schedule(dynamic, 10) reduction(+ : sum)
    for (int i = 0; i < 1000; i++) sum += a[i];
    CHECK(called == 0);
    CHECK(read("x", 1) == 2 && called == 1);
    printf("%g\n", sum);
    return check_end();
}
