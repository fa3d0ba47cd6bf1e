/* A region's function gets an argument for each shared variable: in registers, on the stack, and very many. */
#include "../check.h"

int main(void)
{
    int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13, n = 14, o = 15,
        p = 16, q = 17, r = 18, s = 19, t = 20, u = 21;
    long sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += 1;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += a;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += a + b + c + d;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += a + b + c + d + e;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += a + b + c + d + e + f + g + h;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m
        + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19 * s + 20 * t + 21 * u;
#pragma omp parallel if (a > 1) reduction(+ : sum)
    sum += 1000000 * (a + b + omp_get_num_threads());
    printf("%ld\n", sum);
    a = u;
    return check_end();
}
