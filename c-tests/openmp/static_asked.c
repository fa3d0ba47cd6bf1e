/* A loop of a program that asks for two threads, whose results do not depend on how it is divided.
   hetmp-test: threads=2
   hetmp-test: way=virtual-team */
#include "loop_check.h"

static double value[5000];

int main(void)
{
    enum { N = 5000 };
    for (int round = 0; round < 6; round++) {
#pragma omp parallel for num_threads(2)
        for (int i = 0; i < N; i++) {
            double sum = 0;
            for (int j = 0; j < 40; j++)
                sum += value[i] / (j + 1) + i;
            value[i] = sum;
        }
    }
    double total = 0;
    for (int i = 0; i < N; i++)
        total += value[i];
    printf("%.6e\n", total);
    return check_end();
}
