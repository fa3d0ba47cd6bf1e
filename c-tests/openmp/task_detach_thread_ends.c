/* A thread ends as soon as its detached task is complete, while the thread that fulfilled the event may still be in
   omp_fulfill_event. Memory checkers see who touches what is freed (scripts/sanitize).
   hetmp-test: only=hetmp
   hetmp-test: env=OMP_WAIT_POLICY=passive
   hetmp-test: timeout=60 */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

static omp_event_handle_t event;
static sem_t ready;

static void outside(void)
{
    omp_event_handle_t ev;
#pragma omp task detach(ev)
    {
        event = ev;
        sem_post(&ready);
    }
#pragma omp taskwait
}

static void in_a_group(void)
{
#pragma omp taskgroup
    outside();
}

static void undeferred(void)
{
    omp_event_handle_t ev;
#pragma omp task if (0) detach(ev)
    {
        event = ev;
        sem_post(&ready);
    }
#pragma omp taskwait
}

static void serialized(void)
{
#pragma omp parallel if (0)
    outside();
}

static void in_a_region(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    undeferred();
}

static void nested(void)
{
#pragma omp parallel num_threads(2)
#pragma omp master
#pragma omp parallel num_threads(2)
#pragma omp single nowait
    outside();
}

static void released(void)
{
    int x = 0;
    omp_event_handle_t ev;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : x) detach(ev)
        {
            event = ev;
            sem_post(&ready);
        }
#pragma omp task depend(in : x)
        usleep(1);
    }
}

static void on_the_device(void)
{
#pragma omp target
    outside();
}

static void (*const owners[])(void) = {
    outside, in_a_group, undeferred, serialized, in_a_region, nested, released, on_the_device
};

static void *owner(void *arg)
{
    owners[*(int *)arg]();
    return NULL;
}

#ifdef __clang__
/* Not even the end of its body is awaited: the event is fulfilled when the thread that made the task is gone. */
static void *no_owner(void *arg)
{
    (void)arg;
    omp_event_handle_t ev;
#pragma omp task detach(ev)
    {
        event = ev;
        sem_post(&ready);
    }
    return NULL;
}
#endif

int main(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    omp_set_max_active_levels(2);
    /* Owners are ordinary threads; whoever this thread wakes runs before it. */
    struct sched_param p = { 0 };
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED);
    sched_setscheduler(0, SCHED_IDLE, &p);
    sem_init(&ready, 0, 0);
    pthread_t t;
    for (int i = 0; i < (int)(sizeof owners / sizeof *owners); i++)
        for (int k = 0; k < 3; k++) {
            pthread_create(&t, &a, owner, &i);
            sem_wait(&ready);
            /* The owner sleeps by now. */
            usleep(2000);
            omp_fulfill_event(event);
            pthread_join(t, NULL);
        }
#ifdef __clang__
    for (int k = 0; k < 3; k++) {
        pthread_create(&t, &a, no_owner, NULL);
        pthread_join(t, NULL);
        omp_fulfill_event(event);
        sem_wait(&ready);
    }
#endif
    return check_end();
}
