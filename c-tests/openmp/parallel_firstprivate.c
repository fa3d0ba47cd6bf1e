/* private, firstprivate and shared of structures, arrays and pointers (OpenMP 5.1, 2.21.4). */
#include "check.h"

struct big {
    int head;
    char body[4000];
    int tail;
};

int main(void)
{
    struct big b = {1, {0}, 2};
    memset(b.body, 'x', sizeof b.body);
    int array[100], shared = 0, priv = -1;
    for (int i = 0; i < 100; i++)
        array[i] = i;
    int *p = array;
#pragma omp parallel num_threads(5) firstprivate(b, array, p) private(priv) shared(shared)
    {
        priv = omp_get_thread_num();
        CHECK(b.head == 1 && b.tail == 2 && b.body[3999] == 'x');
        CHECK(p != array);
        b.head = priv;
        memset(b.body, priv, sizeof b.body);
        for (int i = 0; i < 100; i++) {
            CHECK(array[i] == i);
            array[i] = priv;
        }
#pragma omp barrier
        CHECK(b.head == priv && b.body[0] == priv && array[50] == priv && p[50] == 50);
#pragma omp atomic
        shared += priv;
    }
    CHECK(b.head == 1 && priv == -1 && array[50] == 50);
    printf("%d\n", shared);
    return check_end();
}
