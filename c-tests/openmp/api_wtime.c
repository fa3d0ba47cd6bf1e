/* omp_get_wtime advances as real time does, the same clock in all threads (OpenMP 5.1, 3.10). */
#include <time.h>
#include "check.h"

int main(void)
{
    double tick = omp_get_wtick();
    CHECK(tick > 0 && tick <= 1e-3);
    double a = omp_get_wtime();
    struct timespec ts = {0, 20000000};
    nanosleep(&ts, NULL);
    double b = omp_get_wtime();
    CHECK(b - a >= 0.019 && b - a < 10);
#pragma omp parallel num_threads(4)
    {
        double c = omp_get_wtime();
        CHECK(c >= b);
        for (int i = 0; i < 1000; i++) {
            double d = omp_get_wtime();
            CHECK(d >= c);
            c = d;
        }
    }
    return check_end();
}
