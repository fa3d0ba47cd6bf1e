/* c = a + b by vectors of whatever width the machine has; the last, partial vector too.
 *
 *   gcc -O2 -march=native simd.c $(pkg-config --cflags hetmp) -o simd
 */
#include <hetmp/simd.h>
#include <stdio.h>

enum { N = 1003 };
static float a[N], b[N], c[N];

int main(void)
{
    for (int i = 0; i < N; i++)
        a[i] = i, b[i] = 2 * i;
    for (int i = 0; i < N; i += _VF32_SIZE)
        _VF32_STORE_N(c + i, N - i, _VF32_ADD(_VF32_LOAD_N(a + i, N - i), _VF32_LOAD_N(b + i, N - i)));
    printf("c[%d] is %.0f\n", N - 1, c[N - 1]);
}
