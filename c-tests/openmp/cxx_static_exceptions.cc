// Exceptions are thrown and handled between barriers, and a handler runs across one.
#include "check.h"
#include <stdexcept>

int main()
{
    enum { N = 300 };
    static int a[N], b[N];
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        for (int round = 0; round < 5; round++) {
            try {
                throw round;
            } catch (int caught) {
                // The handler is left only after the barrier of the loop.
#pragma omp for
                for (int i = 0; i < N; i++) {
                    try {
                        if (i % 3 == 0)
                            throw std::runtime_error("third");
                        a[i] += 1;
                    } catch (const std::runtime_error &) {
                        a[i] += 2;
                    }
                }
                wrong += caught != round;
                try {
                    throw;
                } catch (int again) {
                    wrong += again != round;
                }
            }
#pragma omp for
            for (int i = 0; i < N; i++)
                b[i] = a[N - 1 - i];
            wrong += std::uncaught_exceptions() != 0;
        }
    }
    long sum = 0;
    for (int i = 0; i < N; i++)
        sum += a[i] + 1000 * b[i];
    CHECK(wrong == 0);
    std::printf("%ld\n", sum);
    return check_end();
}
