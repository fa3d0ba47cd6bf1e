/* Regions whose threads wait for each other by looking at memory (waits_*), and regions with small loops that
 * compute (computes_*). Only compiled, never run. */
#include <omp.h>

double *a, *b;
int flag[1000];
volatile int seen[1000];
int *next;

void waits_flag(int n) {
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (int i = 1; i < n; i++) {
            while (flag[i - 1] == 0) {
#pragma omp flush(flag)
            }
            a[i] += a[i - 1];
            flag[i] = 1;
#pragma omp flush(flag)
        }
    }
}

void waits_volatile(int n) {
#pragma omp parallel for
    for (int i = 1; i < n; i++) {
        while (!seen[i - 1] || !seen[i + 1])
            ;
        a[i] += 1;
    }
}

void waits_atomic(int n) {
#pragma omp parallel for
    for (int i = 1; i < n; i++) {
        int v;
        do {
#pragma omp atomic read
            v = flag[i - 1];
        } while (v < i);
        a[i] += v;
    }
}

#ifdef __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() __asm__ volatile("yield")
#endif

static __attribute__((noinline)) void until(int i) {
    while (__atomic_load_n(&flag[i], __ATOMIC_ACQUIRE) == 0)
        PAUSE();
}

void waits_in_callee(int n) {
#pragma omp parallel for
    for (int i = 1; i < n; i++) {
        until(i - 1);
        a[i] = b[i];
    }
}

void computes_search(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        int j = i;
        while (flag[j] == 0)
            j++;
        a[i] = j;
    }
}

void computes_chase(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        int j = i;
        while (next[j] != j)
            j = next[j];
        b[i] = j;
    }
}

void computes_sum(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < 100; j++)
            s += a[j] * b[j];
        a[i] = s;
    }
}

void computes_converge(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double x = a[i];
        while (x > b[i])
            x *= 0.5;
        a[i] = x;
    }
}

void computes_copy(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 10; j++)
            if (a[i + j] < b[j])
                a[i + j] = b[j];
}

int main(void) { return 0; }
