/* declare target variables and functions used from target regions (OpenMP 5.1, 2.14.7). */
#include "check.h"

#pragma omp declare target
static int counter = 5;
static double table[16];
static int bump(int by)
{
    counter += by;
    return counter;
}
#pragma omp end declare target

int main(void)
{
    int r = 0;
#pragma omp target map(from : r)
    r = bump(10);
#pragma omp target
    for (int i = 0; i < 16; i++)
        table[i] = i;
#pragma omp target update from(counter, table)
    printf("%d %d %.0f\n", r, counter, table[15]);
    counter = 100;
#pragma omp target update to(counter)
#pragma omp target map(from : r)
    r = bump(1);
    printf("%d\n", r);
    return check_end();
}
