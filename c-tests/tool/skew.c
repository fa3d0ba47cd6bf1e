/* Thread 1 is busy longer than thread 0 in two places, and thread 0 waits for it, however busy the machine is: thread 1
   begins to sleep only after thread 0 has nothing left to do. The lines with numbers in the comments are looked for. */
#include <omp.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile int done;
static void until_done(void) { while (!done) usleep(1000); usleep(100000); }
int main(void) {
    int sum = 0;
    for (int run = 0; run < 3; run++) {
        done = 0;
#pragma omp parallel num_threads(2) /* region 1 */
        {
            if (omp_get_thread_num() == 1) until_done();
            else done = 1;
#pragma omp barrier /* barrier 1 */
#pragma omp critical /* critical 1 */
            sum++;
        }
        done = 0;
#pragma omp parallel num_threads(2) /* region 2 */
        {
            usleep(100); /* so that gcc makes a call for the region and one for the loop */
#pragma omp for schedule(dynamic) /* loop 2 */
            for (int i = 0; i < 2; i++) {
                /* Whoever has the first iteration waits until the other one has the second. */
                if (i == 0) until_done();
                else done = 1;
            }
        }
    }
    printf("sum %d\n", sum);
    return 0;
}
