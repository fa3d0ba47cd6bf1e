/* A program with many libraries, all of them copies of one: each has variables of its own. */
#include <stdio.h>
#include <unistd.h>

#ifdef LIBRARY
int many_values[2048] = {1};
#else
extern int many_values[2048];

int main(void)
{
    int ends[2], got = 0;
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 2048; i++)
        many_values[i] += i;
    if (pipe(ends) || write(ends[1], &many_values[2047], sizeof got) != sizeof got
        || read(ends[0], &got, sizeof got) != sizeof got)
        return 1;
    printf("%d %d\n", many_values[0], got);
    return got != 2047;
}
#endif
