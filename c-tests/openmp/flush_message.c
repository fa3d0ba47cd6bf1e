/* Message passing by flush and atomics between two threads (OpenMP 5.1, 2.19.8). */
#include "check.h"

int main(void)
{
    int data[2] = {0}, flag = 0, ack = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            for (int i = 1; i <= 100; i++) {
                data[0] = i;
                data[1] = -i;
#pragma omp flush
#pragma omp atomic write
                flag = i;
                int a;
                do {
#pragma omp atomic read
                    a = ack;
                } while (a < i);
            }
        } else {
            for (int i = 1; i <= 100; i++) {
                int f;
                do {
#pragma omp atomic read
                    f = flag;
                } while (f < i);
#pragma omp flush
                CHECK(data[0] == i && data[1] == -i);
#pragma omp atomic write
                ack = i;
            }
        }
    }
    printf("%d %d\n", flag, ack);
    return check_end();
}
