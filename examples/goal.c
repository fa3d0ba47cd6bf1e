/* A sum over all ranks that goes on while the program computes.
 *
 *   gcc goal.c $(pkg-config --cflags --libs hetmp-goal) -o goal
 *   hetrun -n 4 ./goal
 */
#include <goal.h>
#include <stdio.h>

int main(void)
{
    int mine, sum;
    GOAL_Handle handle;
    GOAL_Init();
    GOAL_Rank(&mine);
    goal_iallreduce(&mine, &sum, 1, GOAL_INT, GOAL_ADD, &handle);
    /* ... compute ... */
    GOAL_Wait(&handle);
    printf("rank %d: the sum is %d\n", mine, sum);
    return GOAL_Finalize();
}
