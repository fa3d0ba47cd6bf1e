/* Short regions, 20,000 or as many as an argument or HETMP_TEST_REGIONS says
   (stress of starting and joining teams).
   hetmp-test: timeout=120 */
#include <stdio.h>
#include <stdlib.h>
#include <omp.h>

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : getenv("HETMP_TEST_REGIONS");
    long regions = text ? atol(text) : 20000;
    long sum = 0, threads = 0;
    for (long i = 0; i < regions; i++) {
#pragma omp parallel reduction(+ : sum, threads)
        {
            sum += i & 7;
            threads++;
        }
    }
    long want = 0;
    int n = omp_get_max_threads();
    for (long i = 0; i < regions; i++)
        want += (i & 7) * n;
    printf("%s\n", sum == want && threads == regions * n ? "every thread took part in every region"
                                                         : "a region lost a thread");
    return sum != want || threads != regions * n;
}
