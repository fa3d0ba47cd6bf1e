/* The shared memory has an end. When the program has taken all, malloc and mappings fail as they do where memory is
   short. Stacks lie elsewhere, so that threads start, and regions still run. */
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *nothing(void *p)
{
    return p;
}

int main(void)
{
    void *last = NULL;
    int blocks = 0, error = 0, mapped = 0;
    for (size_t size = (size_t)4 << 30; size >= 4096; size /= 2)
        for (;;) {
            errno = 0;
            void **block = malloc(size - 64);
            if (!block) {
                error = errno;
                break;
            }
            *block = last;
            last = block;
            blocks++;
        }
    void *area = mmap(NULL, (size_t)1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped = area != MAP_FAILED;
    printf("malloc %s, mmap %s\n", error == ENOMEM ? "refused" : "?",
           mapped ? "done" : errno == ENOMEM ? "refused" : "?");
    pthread_t thread;
    int started = pthread_create(&thread, NULL, nothing, NULL);
    printf("thread %s\n", started ? started == EAGAIN ? "refused" : "?" : "made");
    while (last) {
        void *next = *(void **)last;
        free(last);
        last = next;
    }
    static long sum;
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 1000; i++) {
#pragma omp atomic
        sum += i;
    }
    printf("%s blocks, sum %ld\n", blocks > 10 ? "many" : "few", sum);
    return 0;
}
