/* Two kernels in one region, each of which an emulated node runs at a speed of its own. The program needs no library.
 *
 *   gcc -O2 -fopenmp kernels.c $(pkg-config --cflags hetmp) -o kernels
 *   HETMP_NODES='cores=0,speed.stencil=0.5;cores=1' hetmp run ./kernels
 */
#include <hetmp/nodes.h>
#include <stdio.h>

enum { N = 100000 };
static double a[N], b[N];

int main(void)
{
#pragma omp parallel
    {
        HETMP_KERNEL("fill");
#pragma omp for schedule(runtime)
        for (int i = 0; i < N; i++)
            a[i] = i;
        HETMP_KERNEL("stencil");
#pragma omp for schedule(runtime)
        for (int i = 1; i < N - 1; i++)
            b[i] = (a[i - 1] + a[i + 1]) / 2;
    }
    printf("b[%d] is %.0f\n", N / 2, b[N / 2]);
}
