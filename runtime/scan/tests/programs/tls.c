/* Regions that reach a thread-local variable (shares_*), and regions of the
 * same object that do not (keeps_*). Only compiled, never run. */
#include <errno.h>
#include <math.h>
#include <omp.h>

double *a, *b;
static __thread double mine;
__thread double exported;
extern __thread double elsewhere __attribute__((weak));
static double work[8];
#pragma omp threadprivate(work)

static __attribute__((noinline)) double add_up(double x) { return mine += x; }
__attribute__((noinline)) void note(double x) { exported = x; }
static __attribute__((noinline)) double twice(double x)
{
    char text[32];
    text[(int)x & 31] = 1;
    __asm__ volatile("" : : "r"(text) : "memory");
    return x * 2 + text[3];
}

void shares_scratch(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < 8; j++) work[j] = a[i] * j;
        for (int j = 0; j < 8; j++) b[i] += work[7 - j];
    }
}

void shares_read(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) a[i] *= mine;
}

void shares_exported(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) a[i] += exported;
}

void shares_elsewhere(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) a[i] += elsewhere;
}

void shares_in_callee(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) b[i] = add_up(a[i]);
}

void shares_in_public_callee(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) note(a[i]);
}

void shares_address(int n) {
#pragma omp parallel
    {
        double *p = &mine;
#pragma omp for
        for (int i = 0; i < n; i++) *p += a[i];
    }
}

void keeps_plain(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) a[i] *= 2;
}

void keeps_canary(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) b[i] = twice(a[i]);
}

void keeps_errno(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        errno = 0;
        a[i] = exp(a[i]);
        if (errno) b[i] = 0;
    }
}

int main(void) { return 0; }
