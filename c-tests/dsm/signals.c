/* A program that installs handlers and uses them between regions and while one runs; and that changes its folder and
   its locale in a region. */
#define _GNU_SOURCE
#include <locale.h>
#include <omp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 4096 };
static long cells[N], raised, seen;
static sigjmp_buf back;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    cells[0] += info->si_addr == (void *)64;
    siglongjmp(back, 1);
}

static void on_user(int number)
{
    (void)number;
    raised++;
    cells[N - 1]++;
}

static void region(void)
{
#pragma omp parallel for num_threads(4) schedule(static) reduction(+ : seen)
    for (int i = 0; i < N; i++) {
        cells[i] += i;
        seen += raised;
    }
}

int main(void)
{
    stack_t own = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&own, NULL);
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &fault, NULL);
    signal(SIGUSR1, on_user);
    for (int round = 0; round < 5; round++) {
        if (!sigsetjmp(back, 1)) {
            volatile int *nowhere = (int *)64;
            *nowhere = round;
        }
        region();
        raise(SIGUSR1);
        kill(getpid(), SIGUSR1);
        while (*(volatile long *)&raised < 2 * round + 2)
            ;
        region();
    }
    long sum = 0;
    for (int i = 0; i < N; i++)
        sum += cells[i];
    printf("raised %ld, seen %ld, sum %ld\n", raised, seen, sum);
    int moved = 0;
#pragma omp parallel num_threads(4) reduction(+ : moved)
    if (omp_get_thread_num() == 3)
        moved += !chdir("/usr") && setlocale(LC_NUMERIC, "C.UTF-8");
    char folder[100] = "";
    printf("moved %d, to %s, %s\n", moved, getcwd(folder, sizeof folder), setlocale(LC_NUMERIC, NULL));
    region();
    return 0;
}
