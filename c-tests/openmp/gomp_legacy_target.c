/* The OpenMP 4.0 target entries of older gccs run their function on the host (gcc 4.9 ABI). */
#include "check.h"

void GOMP_target(int, void (*)(void *), const void *, size_t, void **, size_t *, unsigned char *);
void GOMP_target_data(int, const void *, size_t, void **, size_t *, unsigned char *);
void GOMP_target_end_data(void);
void GOMP_target_update(int, const void *, size_t, void **, size_t *, unsigned char *);
void GOMP_teams(unsigned, unsigned);

static int calls;

static void body(void *arg)
{
    int *x = *(int **)arg;
    CHECK(omp_get_level() == 0 && omp_is_initial_device());
    *x += 5;
    calls++;
}

int main(void)
{
    int x = 1;
    void *host[] = {&x};
    size_t sizes[] = {sizeof x};
    unsigned char kinds[] = {3}; /* tofrom */
    GOMP_target(-1, body, NULL, 1, host, sizes, kinds);
    CHECK(x == 6);
    GOMP_target_data(-1, NULL, 1, host, sizes, kinds);
    GOMP_target(-2, body, NULL, 1, host, sizes, kinds);
    GOMP_target_update(-1, NULL, 1, host, sizes, kinds);
    GOMP_target_end_data();
    GOMP_teams(1, 2);
#pragma omp parallel num_threads(2)
    {
        int mine = 0;
        void *h[] = {&mine};
#pragma omp critical
        GOMP_target(0, body, NULL, 1, h, sizes, kinds);
        CHECK(mine == 5);
    }
    printf("%d %d\n", x, calls);
    return check_end();
}
