/* target with if, device, firstprivate, private, is_device_ptr, defaultmap (OpenMP 5.1, 2.14.5). */
#include "check.h"

struct s {
    int a[10];
    double d;
};

int main(void)
{
    int fp = 7, priv = 3, r = 0, a[20];
    struct s st = {{1, 2, 3}, 2.5};
    for (int i = 0; i < 20; i++)
        a[i] = i;
    int *p = a;
#pragma omp target if (0) firstprivate(fp) private(priv) map(tofrom : r)
    {
        priv = fp;
        fp = 100;
        r += priv;
    }
    CHECK(fp == 7 && priv == 3 && r == 7);
#pragma omp target device(omp_get_initial_device()) map(tofrom : a[5 : 10]) map(to : st) map(tofrom : r)
    {
        for (int i = 5; i < 15; i++)
            a[i] *= 2;
        r += st.a[2] + (int)(st.d * 2);
    }
#pragma omp target map(tofrom : p[0 : 20])
    p[0] = 99;
#pragma omp target is_device_ptr(p) map(tofrom : r)
    r += p[1];
#pragma omp target defaultmap(tofrom : scalar)
    r++;
    int unmapped = 5;
#pragma omp target
    unmapped = 6; /* firstprivate by default */
    CHECK(unmapped == 5);
    for (int i = 0; i < 20; i++)
        printf("%d ", a[i]);
    printf("\n%d\n", r);
    return check_end();
}
