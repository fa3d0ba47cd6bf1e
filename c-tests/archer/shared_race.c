/* Both threads add to one variable without any order. */
#include <stdio.h>
int main(void) {
    int sum = 0;
    #pragma omp parallel num_threads(2)
    sum++;
    printf("done\n");
    return sum < 1;
}
