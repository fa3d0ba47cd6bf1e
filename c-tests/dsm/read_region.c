/* Regions in which threads only read what their opener wrote, or also add to it. */
#include <stdio.h>
#include <stdlib.h>

enum { LAPS = 200, WORK = 20000 };

static double work(int n)
{
    double x = 1;
    for (int i = 0; i < n; i++)
        x = x * 0.5 + 1 / (1 + x * x);
    return x;
}

int main(int argc, char **argv)
{
    int add = argc > 1 && argv[1][0];
    /* Read behind the work, when other threads may have come to the region's end. */
    volatile double limit = 0;
    double sum = 0;
    for (int lap = 0; lap < LAPS; lap++) {
        double one = 0;
        if (add) {
#pragma omp parallel reduction(+ : one)
            one += work(WORK + lap) > 0;
        } else {
#pragma omp parallel
            if (work(WORK + lap) < limit)
                one = 1;
        }
        sum += one;
    }
    printf("%.1f\n", sum);
    return 0;
}
