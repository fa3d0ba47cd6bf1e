/* threadprivate values persist between regions of equal size; copyin and copyprivate set them (OpenMP 5.1, 2.21.2). */
#include "check.h"

static int counter;
static double table[8];
#pragma omp threadprivate(counter, table)

int main(void)
{
    omp_set_dynamic(0);
    counter = 42;
    for (int i = 0; i < 8; i++)
        table[i] = i * 1.5;
#pragma omp parallel copyin(counter, table) num_threads(6)
    {
        CHECK(counter == 42);
        for (int i = 0; i < 8; i++)
            CHECK(table[i] == i * 1.5);
        counter += omp_get_thread_num();
        table[0] = omp_get_thread_num();
    }
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(6)
        {
            CHECK(counter == 42 + omp_get_thread_num() + round);
            CHECK(table[0] == omp_get_thread_num());
            counter++;
        }
    }
    CHECK(counter == 62);
#pragma omp parallel num_threads(6)
    {
#pragma omp single copyprivate(counter)
        counter = 1234;
        CHECK(counter == 1234);
    }
    printf("%d\n", counter);
    return check_end();
}
