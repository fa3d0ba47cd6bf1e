/* What a program may not do while several processes are one: each call fails as it does where there is no room, and the
   program goes on. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    pid_t child = fork();
    if (child == 0)
        _exit(9);
    printf("fork %s\n", child < 0 ? strerror(errno) : "made a child");
    void *library = dlopen(argv[1], RTLD_NOW);
    printf("dlopen %s\n", library ? "opened" : "refused");
    printf("system library %s\n", dlopen("libm.so.6", RTLD_NOW) ? "opened" : "refused");
    int file = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (write(file, "some text", 9) != 9)
        return 1;
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    printf("shared file %s\n", shared == MAP_FAILED ? "refused" : "mapped");
    char *private = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    printf("private file %.9s\n", private);
    unlink(argv[2]);
    char *heap = malloc(100);
    strcpy(heap, "printf 'from a shell\\n'");
    fflush(stdout);
    int status = system(heap);
    int sum = 0;
#pragma omp parallel reduction(+ : sum) num_threads(4)
    sum += 1;
    printf("system %d, sum %d\n", status, sum);
    return 0;
}
