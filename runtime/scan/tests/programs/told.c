/* Regions in which the number of threads is printed: once, and used for nothing else (told_*), or not (refused_*). Only
 * compiled, never run. A compiler that knows `omp_get_num_threads` asks once for a loop and for the program, and such a
 * region is refused; so the function has another name here. */
#include <stdio.h>
#include <string.h>

int threads_now(void) __asm__("omp_get_num_threads");
int omp_get_thread_num(void);

double *a;
int kept, size;
char line[80];
FILE *out;
extern void note(int);
void note(int x) { size = x; }

/* The barrier keeps compilers from making a copy of the loop behind the block that prints. */
#define LOOP \
    _Pragma("omp barrier") _Pragma("omp for") for (int i = 0; i < n; i++) a[i] *= 2;

void told_master(int n) {
#pragma omp parallel
    {
#pragma omp master
        printf("%d threads running\n", threads_now());
        LOOP
    }
}

void told_single(int n) {
#pragma omp parallel
    {
#pragma omp single
        printf("%d threads running\n", threads_now());
        LOOP
    }
}

void told_second_argument(int n) {
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) fprintf(out, "%d elements, %d threads\n", n, threads_now());
        LOOP
    }
}

void told_in_each_lap(int n, int laps) {
#pragma omp parallel
    for (int lap = 0; lap < laps; lap++) {
#pragma omp master
        printf("lap %d: %ld\n", lap, (long)threads_now());
        LOOP
    }
}

void told_variable(int n) {
#pragma omp parallel
    {
#pragma omp master
        {
            int threads = threads_now();
            printf("%d threads\n", threads);
        }
        LOOP
    }
}

void told_twice(int n) {
#pragma omp parallel
    {
#pragma omp master
        {
            printf("%d threads\n", threads_now());
            fprintf(out, "%d threads\n", threads_now());
        }
        LOOP
    }
}

void refused_stored(int n) {
#pragma omp parallel
    {
#pragma omp master
        {
            int threads = threads_now();
            printf("%d threads\n", threads);
            kept = threads;
        }
        LOOP
    }
}

void refused_compared(int n) {
#pragma omp parallel
    {
#pragma omp master
        {
            int threads = threads_now();
            printf("%d threads\n", threads);
            if (threads > 4) printf("many\n");
        }
        LOOP
    }
}

void refused_passed_on(int n) {
#pragma omp parallel
    {
#pragma omp master
        {
            int threads = threads_now();
            printf("%d threads\n", threads);
            note(threads);
        }
        LOOP
    }
}

void refused_passed(int n) {
#pragma omp parallel
    {
#pragma omp master
        note(threads_now());
        LOOP
    }
}

void refused_by_each(int n) {
#pragma omp parallel
    {
        printf("%d threads\n", threads_now());
        LOOP
    }
}

/* Each thread prints, where the program was told to. */
void refused_by_each_if(int n, int verbose) {
#pragma omp parallel
    {
        if (verbose) printf("%d threads\n", threads_now());
        LOOP
    }
}

void refused_by_others(int n) {
#pragma omp parallel
    {
        if (omp_get_thread_num() != 0) printf("%d threads\n", threads_now());
        LOOP
    }
}

void refused_used_later(int n) {
#pragma omp parallel
    {
        int threads = 1;
#pragma omp master
        {
            threads = threads_now();
            printf("%d threads\n", threads);
        }
        LOOP
#pragma omp for
        for (int i = 0; i < n; i++) a[i] += threads;
    }
}

void refused_calculated(int n) {
#pragma omp parallel
    {
#pragma omp master
        printf("%d elements each\n", n / threads_now());
        LOOP
    }
}

/* What is written into memory can be read again. */
void refused_written_to_memory(int n) {
#pragma omp parallel
    {
#pragma omp master
        sprintf(line, "%d", threads_now());
        LOOP
    }
}

void refused_as_format(int n) {
#pragma omp parallel
    {
#pragma omp master
        printf((const char *)(long)threads_now(), n);
        LOOP
    }
}

void refused_number_of_thread(int n) {
#pragma omp parallel
    {
#pragma omp single
        printf("%d of %d\n", omp_get_thread_num(), threads_now());
        LOOP
    }
}

/* `printf` hands its number of characters on. */
void refused_by_address(int n) {
#pragma omp parallel
    {
#pragma omp master
        {
            int threads = threads_now();
            printf("%d threads %n\n", threads, &threads);
            kept = threads;
        }
        LOOP
    }
}

int main(void) { return 0; }
