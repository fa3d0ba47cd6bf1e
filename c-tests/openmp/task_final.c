/* Children of a final task are included: done at once, by the same thread, final themselves (OpenMP 5.1, 2.12.1). */
#include "check.h"

static int included;

static void go(int depth, int cut)
{
    if (depth == 8)
        return;
    int done = 0, thread = omp_get_thread_num();
    int in_final = omp_in_final();
    CHECK(in_final == (depth > cut));
#pragma omp task final(depth >= cut) shared(done)
    {
        CHECK(omp_in_final() == (depth >= cut));
        if (in_final) {
            CHECK(omp_get_thread_num() == thread);
#pragma omp atomic
            included++;
        }
        go(depth + 1, cut);
#pragma omp atomic write
        done = 1;
    }
    if (in_final)
        CHECK(done == 1);
#pragma omp taskwait
    CHECK(done == 1);
}

int main(void)
{
    CHECK(!omp_in_final());
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        for (int cut = 0; cut < 8; cut++)
            go(0, cut);
    }
    printf("%d\n", included);
    return check_end();
}
