/* Loops that deal out single iterations in turn: gcc compiles them to arithmetic, and any number of threads is right
   for them.
   hetmp-test: way=virtual-team */
#include "loop_check.h"

struct box {
    int from, size;
    long sum;
};

static struct box boxes[3001];
static int seen[4096];

static __attribute__((noinline)) void visit(int i)
{
    seen[i]++;
}

int main(void)
{
    for (int n = 0; n <= 3000; n += n < 40 ? 1 : 987) {
#pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < n; i++)
            visit(i);
        for (int i = 0; i < 4096; i++) {
            CHECK(seen[i] == (i < n));
            seen[i] = 0;
        }
    }

#pragma omp parallel for schedule(static, 1)
    for (int i = 3; i < 3001; i += 7)
        visit(i);
    for (int i = 0; i < 4096; i++)
        CHECK(seen[i] == (i >= 3 && i < 3001 && i % 7 == 3));

    for (int i = 0; i < 3001; i++)
        boxes[i] = (struct box){i, i % 13, 0};
    for (int turn = 0; turn < 50; turn++) {
        long total = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : total)
        for (int i = 0; i < 3001; i++) {
            struct box *box = &boxes[i];
            long sum = 0;
            for (int k = 0; k < box->size * 10; k++)
                sum += box->from ^ k;
            box->sum = sum;
            total += sum;
        }
        long expected = 0;
        for (int i = 0; i < 3001; i++)
            expected += boxes[i].sum;
        CHECK(total == expected);
        if (turn == 49)
            printf("total %ld\n", total);
    }
    return check_end();
}
