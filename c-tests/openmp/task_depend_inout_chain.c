/* Chains of inout over many objects, run in creation order each (OpenMP 5.1, 2.19.11). */
#include "check.h"

int main(void)
{
    enum { OBJECTS = 20, LENGTH = 300 };
    unsigned v[OBJECTS] = {0}, want = 0;
    for (unsigned s = 0; s < LENGTH; s++)
        want = want * 31 + s;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (unsigned s = 0; s < LENGTH; s++)
        for (int o = 0; o < OBJECTS; o++) {
#pragma omp task depend(inout : v[o]) shared(v)
            v[o] = v[o] * 31 + s;
        }
    for (int o = 0; o < OBJECTS; o++)
        CHECK(v[o] == want);
    printf("%u\n", want);
    return check_end();
}
