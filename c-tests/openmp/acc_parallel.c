/* OpenACC compute and data constructs run on the host when there is no device (OpenACC 2.6; libgomp's host fallback).
   hetmp-test: flags=-fopenacc -fno-openmp */
#include <openacc.h>
#include <stdio.h>

int main(void)
{
    int a[1000], bad = 0;
    long sum = 0;
    float *p = acc_malloc(100 * sizeof *p);
#pragma acc data copyout(a[0 : 1000])
    {
#pragma acc parallel loop present(a)
        for (int i = 0; i < 1000; i++)
            a[i] = i;
#pragma acc kernels
        for (int i = 0; i < 1000; i++)
            a[i] += 1;
#pragma acc update self(a[0 : 10])
    }
#pragma acc parallel loop reduction(+ : sum) copyin(a)
    for (int i = 0; i < 1000; i++)
        sum += a[i];
#pragma acc enter data copyin(a[0 : 100])
#pragma acc parallel loop present(a[0 : 100]) async(1)
    for (int i = 0; i < 100; i++)
        a[i] = -i;
#pragma acc wait(1)
#pragma acc exit data copyout(a[0 : 100])
#pragma acc serial copy(bad)
    bad += 0;
    for (int i = 0; i < 1000; i++)
        bad += a[i] != (i < 100 ? -i : i + 1);
    printf("%ld %d %d\n", sum, bad, p != NULL);
    acc_free(p);
    return bad != 0;
}
