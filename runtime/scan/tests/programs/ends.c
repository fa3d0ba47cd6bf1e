// Regions whose last instruction is a call that does not return. Only compiled, never run.
#include <stdlib.h>

double *a;
__attribute__((noinline, noreturn)) static void fail(void) { abort(); }
__attribute__((noinline)) double step(double x) { return x * a[3] + 1; }
__attribute__((noinline)) double once(double x) { return step(x) * 2; }
__attribute__((noinline)) double twice(double x) { return step(x) * 3; }
__attribute__((noinline)) double thrice(double x) { return step(x) * 5; }

void ends_once(int n) {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < n; i++) {
        if (a[i] < 0) fail();
        a[i] = once(a[i]);
    }
}

void ends_twice(int n) {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < n; i++) {
        if (a[i] < 0) fail();
        a[i] = twice(a[i]);
    }
}

void ends_thrice(int n) {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < n; i++) {
        if (a[i] < 0) fail();
        a[i] = thrice(a[i]);
    }
}

int main() { return 0; }
