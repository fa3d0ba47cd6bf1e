/* What one thread writes and another one reads, through each kind of meeting: the beginning of a region, a barrier,
   critical sections, the end of a region. Each variable has a page of its own, and both threads have read its value of
   the lap before. Other barriers keep a thread that comes late from learning of a value in another way. Prints what was
   read. */
#include <omp.h>
#include <stdio.h>

enum { LAPS = 10, PAGE = 512 };

static __attribute__((aligned(4096))) double begins[PAGE], barrier[PAGE], critical[PAGE], ends[2][PAGE],
    saw_begins[2][PAGE], saw_barrier[2][PAGE];

int main(void)
{
    for (int lap = 1; lap <= LAPS; lap++) {
        begins[0] = lap;
#pragma omp parallel num_threads(2)
        {
            int me = omp_get_thread_num();
            saw_begins[me][0] = begins[0];
#pragma omp barrier
            if (me == 0)
                barrier[0] += 3;
#pragma omp barrier
            saw_barrier[me][0] = barrier[0];
            for (int i = 0; i < 10; i++)
#pragma omp critical
                critical[0] += 4;
#pragma omp barrier
            ends[me][0] += 2;
        }
        printf("%g %g, %g %g, %g, %g %g\n", saw_begins[0][0], saw_begins[1][0], saw_barrier[0][0], saw_barrier[1][0],
               critical[0], ends[0][0], ends[1][0]);
    }
    return 0;
}
