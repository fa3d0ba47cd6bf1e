/* Files that are mapped to be read, privately and shared: threads of all nodes read the whole content. Zeros follow the
   file's end up to the end of the last page. A descriptor that is none fails as without nodes. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 300000, PAGE = 4096 };

static long sum_of(const unsigned char *at)
{
    long sum = 0;
#pragma omp parallel for num_threads(4) schedule(static) reduction(+ : sum)
    for (int i = 0; i < BYTES; i++)
        sum += (i % 13 + 1) * (long)at[i];
    return sum;
}

int main(void)
{
    FILE *unnamed = tmpfile();
    if (!unnamed) {
        perror("tmpfile");
        return 1;
    }
    int file = fileno(unnamed);
    static unsigned char content[BYTES];
    long expected = 0;
    for (int i = 0; i < BYTES; i++) {
        content[i] = (unsigned char)(i * 7 + i / 1000);
        expected += (i % 13 + 1) * (long)content[i];
    }
    if (write(file, content, BYTES) != BYTES)
        return 1;
    int flags[] = {MAP_PRIVATE, MAP_SHARED};
    for (int k = 0; k < 2; k++) {
        unsigned char *at = mmap(NULL, BYTES, PROT_READ, flags[k], file, 0);
        if (at == MAP_FAILED) {
            perror("mmap");
            return 1;
        }
        long sum = sum_of(at);
        int behind = 0;
        for (int i = BYTES; i % PAGE; i++)
            behind |= at[i];
        printf("%d: %s, %d behind the end\n", k, sum == expected ? "right" : "wrong", behind);
        if (munmap(at, BYTES))
            perror("munmap");
    }
    void *none = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, -1, 0);
    printf("no file: %d %d\n", none == MAP_FAILED, errno == EBADF);
    return 0;
}
