/* k-means: every point looks for the nearest centre and adds itself to that centre's new sum. Each thread has sums of
   its own, *indexed by its thread number*; the program's main thread adds them up between the regions.
   Features are multiples of 1/1024, so that all sums are exact and nothing depends on their order.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <float.h>
#include <math.h>

enum { FEATURES = 24, CLUSTERS = 10 };

static inline int nearest(const double *point, double (*centre)[FEATURES])
{
    int best = 0;
    double least = DBL_MAX;
    for (int c = 0; c < CLUSTERS; c++) {
        double distance = 0;
        for (int f = 0; f < FEATURES; f++) {
            double d = point[f] - centre[c][f];
            distance += d * d;
        }
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    return best;
}

int main(int argc, char **argv)
{
    int large = kernel_begin("kmeans", argc, argv, 8, 80);
    int n = large ? 40000 : 3000;
    int threads = omp_get_max_threads();
    double(*point)[FEATURES] = space(n, sizeof *point);
    double(*centre)[FEATURES] = space(CLUSTERS, sizeof *centre), (*used)[FEATURES] = space(CLUSTERS, sizeof *used);
    double(*sums)[CLUSTERS][FEATURES] = space(threads, sizeof *sums);
    int(*lengths)[CLUSTERS] = space(threads, sizeof *lengths);
    int *member = space(n, sizeof *member);
    unsigned long long seed = 5;
    for (int i = 0; i < n; i++) {
        int group = (int)(uniform(&seed) * CLUSTERS);
        for (int f = 0; f < FEATURES; f++) {
            double about = (group * 37 + f * 11) % 29 / 4.0;
            point[i][f] = floor(1024 * (about + 3 * uniform(&seed))) / 1024;
        }
        member[i] = -1;
    }
    memcpy(centre, point, CLUSTERS * sizeof *centre);

    long long moved = 0, last = 0;
    for (int lap = 0; lap < kernel.laps; lap++) {
        lap_begin();
        int delta = 0;
        memset(sums, 0, threads * sizeof *sums);
        memset(lengths, 0, threads * sizeof *lengths);
#pragma omp parallel
        {
            int me = omp_get_thread_num();
#pragma omp for SCHED reduction(+ : delta)
            for (int i = 0; i < n; i++) {
                int c = nearest(point[i], centre);
                delta += c != member[i];
                member[i] = c;
                lengths[me][c]++;
                for (int f = 0; f < FEATURES; f++)
                    sums[me][c][f] += point[i][f];
            }
        }
        memcpy(used, centre, CLUSTERS * sizeof *used);
        for (int c = 0; c < CLUSTERS; c++) {
            int length = 0;
            for (int t = 0; t < threads; t++)
                length += lengths[t][c];
            for (int f = 0; f < FEATURES && length; f++) {
                double sum = 0;
                for (int t = 0; t < threads; t++)
                    sum += sums[t][c][f];
                centre[c][f] = sum / length;
            }
        }
        moved += last = delta;
        lap_end();
    }

    int members[CLUSTERS] = {0}, same = 1;
    double mean[CLUSTERS][FEATURES] = {{0}}, sum = 0;
    for (int i = 0; i < n; i++) {
        same &= member[i] == nearest(point[i], used);
        members[member[i]]++;
        for (int f = 0; f < FEATURES; f++)
            mean[member[i]][f] += point[i][f];
    }
    kernel_check(same, "every point belongs to its nearest centre");
    same = 1;
    for (int c = 0; c < CLUSTERS; c++)
        for (int f = 0; f < FEATURES && members[c]; f++) {
            same &= centre[c][f] == mean[c][f] / members[c];
            sum += (c + 1) * centre[c][f];
        }
    kernel_check(same, "centres are the means of their points");
    printf("moves %lld, in the last pass %lld\nmembers", moved, last);
    for (int c = 0; c < CLUSTERS; c++)
        printf(" %d", members[c]);
    printf("\nsum %.9e\n", sum);
    return kernel_end();
}
