/* What clang makes calls of, on several nodes: regions with many shared variables, static loops that the runtime
   divides, with chunks, with nowait and with lastprivate; reductions of one, of few and of many variables; single with
   copyprivate; masked; critical sections. The output does not depend on where anything ran. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { N = 4000 };

static unsigned char seen[N];
static long total;

static void check(const char *what)
{
    long bad = 0;
    for (int i = 0; i < N; i++)
        bad += seen[i] != 1;
    printf("%s: %ld not once, total %ld\n", what, bad, total);
    memset(seen, 0, sizeof seen);
    total = 0;
}

struct wide {
    double x[6];
};

static void add(struct wide *out, const struct wide *in)
{
    for (int i = 0; i < 6; i++)
        out->x[i] += in->x[i];
}
#pragma omp declare reduction(wide : struct wide : add(&omp_out, &omp_in)) initializer(omp_priv = {{0}})

int main(void)
{
    omp_set_num_threads(4);
    /* More arguments than fit in registers, and more than the first twenty. */
    long a[24] = {0};
    long *p0 = &a[0], *p1 = &a[1], *p2 = &a[2], *p3 = &a[3], *p4 = &a[4], *p5 = &a[5], *p6 = &a[6], *p7 = &a[7];
    long *p8 = &a[8], *p9 = &a[9], *pa = &a[10], *pb = &a[11], *pc = &a[12], *pd = &a[13], *pe = &a[14], *pf = &a[15];
    long *pg = &a[16], *ph = &a[17], *pi = &a[18], *pj = &a[19], *pk = &a[20], *pl = &a[21], *pm = &a[22];
#pragma omp parallel
    {
#pragma omp critical
        {
            ++*p0, ++*p1, ++*p2, ++*p3, ++*p4, ++*p5, ++*p6, ++*p7, ++*p8, ++*p9, ++*pa, ++*pb, ++*pc, ++*pd;
            ++*pe, ++*pf, ++*pg, ++*ph, ++*pi, ++*pj, ++*pk, ++*pl, ++*pm;
        }
    }
    for (int i = 0; i < 24; i++)
        total += a[i];
    printf("arguments %ld\n", total);
    total = 0;

#pragma omp parallel for reduction(+ : total)
    for (unsigned i = 0; i < N; i++)
        seen[i]++, total += i;
    check("static");
#pragma omp parallel for schedule(static, 13) reduction(+ : total)
    for (long i = N - 1; i >= 0; i--)
        seen[i]++, total += i;
    check("chunks down");
    int last = 0;
#pragma omp parallel
    {
#pragma omp for nowait
        for (unsigned long i = 0; i < N / 2; i++)
            seen[i]++;
#pragma omp for lastprivate(last)
        for (int i = N / 2; i < N; i++) {
            seen[i]++;
            last = i;
        }
    }
    check("nowait");
    printf("last %d\n", last);

    double x = 0, y = 1, z = 0;
    long least = N, most = 0;
#pragma omp parallel for reduction(+ : x, z) reduction(* : y) reduction(min : least) reduction(max : most)
    for (int i = 1; i < N; i++) {
        x += i;
        z += 0.5;
        y *= i % 400 ? 1 : 2;
        least = i < least ? i : least;
        most = i > most ? i : most;
    }
    printf("%.0f %.0f %.1f %ld %ld\n", x, y, z, least, most);
    struct wide w = {{0}};
#pragma omp parallel
    {
#pragma omp for reduction(wide : w)
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 6; k++)
                w.x[k] += k;
        /* The barrier at the loop's end: every thread sees the whole sum. */
#pragma omp critical(sum)
        total += (long)w.x[5];
    }
    printf("%.0f %ld\n", w.x[3], total);
    total = 0;

    long copied = 0, masked = 0, singles = 0;
#pragma omp parallel reduction(+ : copied)
    for (int round = 1; round <= 30; round++) {
        long mine[20];
#pragma omp single copyprivate(mine)
        for (int i = 0; i < 20; i++)
            mine[i] = round * i;
        copied += mine[19];
#pragma omp master
        masked++;
#pragma omp single nowait
        {
#pragma omp atomic
            singles++;
        }
#pragma omp barrier
    }
    printf("copied %ld masked %ld singles %ld\n", copied, masked, singles);
    return 0;
}
