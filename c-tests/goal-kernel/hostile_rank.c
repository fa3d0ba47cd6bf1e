/* Rank 0 writes into the memory that it shares with the program in the kernel, word by word, while packets of rank 1
 * come. No word makes one packet come again and again: whatever the program counts, it counts only few. */
#include "../goal/gtest.h"
#include <stdint.h>
#include <unistd.h>

/* The state of this rank's program: the smallest of the mapped maps. */
static volatile uint64_t *state(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long from, to, found = 0, least = ~0ul;
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps)) {
        if (strstr(line, "bpf-map") && sscanf(line, "%lx-%lx", &from, &to) == 2 && to - from < least) {
            found = from;
            least = to - from;
        }
    }
    fclose(maps);
    CHECK(least == 4096);
    return (volatile uint64_t *)found;
}

static uint64_t sum(const volatile uint64_t *words)
{
    uint64_t all = 0;
    int i;
    for (i = 0; i < 512; i++)
        all += words[i];
    return all;
}

int main(void)
{
    volatile uint64_t *words;
    volatile uint32_t *halves;
    uint64_t before;
    uint32_t kept;
    int i;
    GOAL_Handle h;
    begin("hostile_rank");
    for (i = 0; i < 20; i++)
        CHECK(goal_ibarrier(&h) == GOAL_SUCCESS && GOAL_Wait(&h) == GOAL_SUCCESS);
    /* Rank 1 begins this one at once, and its helper asks for what it misses, again and again. */
    if (me() == 1)
        CHECK(goal_ibarrier(&h) == GOAL_SUCCESS);
    else {
        words = state();
        halves = (volatile uint32_t *)words;
        for (i = 0; i < 12; i++) {
            kept = halves[i];
            halves[i] = 1;
            before = sum(words);
            usleep(150000);
            CHECK(sum(words) - before < 500);
            halves[i] = kept;
        }
        CHECK(goal_ibarrier(&h) == GOAL_SUCCESS);
    }
    CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
    return finish();
}
