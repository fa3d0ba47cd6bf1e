/* Schedules of hetmp for omp_set_schedule and omp_get_schedule.
 *
 * OpenMP lets implementations add values of omp_sched_t. The values below select hetmp's own
 * schedules for loops with schedule(runtime). Other OpenMP runtimes ignore them, so a program that
 * uses them still runs everywhere. The names in quotes are values of the variable OMP_SCHEDULE.
 *
 *     #include <omp.h>
 *     #include <hetmp/omp_schedule.h>
 *
 *     omp_set_schedule((omp_sched_t) hetmp_sched_hetprobe, 0);
 *     #pragma omp parallel for schedule(runtime)
 *     for (i = 0; i < n; i++) ...
 *
 * The second argument of omp_set_schedule means:
 *
 *   hetmp_sched_hetprobe, hetmp_sched_hetprobe_i
 *       the percentage of the iterations that is used to measure the nodes, 1 to 100; 0 or less
 *       for the usual percentage.
 *   hetmp_sched_static_csr
 *       nothing. The ratios are those of OMP_SCHEDULE=static-csr:R0,R1,...; without this variable,
 *       the schedule is static.
 *   hetmp_sched_cross_dynamic
 *       the chunk size in iterations; 0 or less for the usual size.
 *
 *   hetmp_sched_aid_static, hetmp_sched_aid_hybrid, hetmp_sched_aid_dynamic
 *       the chunk size in iterations; 0 or less for 1. aid-hybrid and aid-dynamic have a second
 *       parameter: the part of the loop that is divided at once, or the chunks in a phase. Its value
 *       is that of OMP_SCHEDULE if this variable names the same schedule, and else 80 % or 5.
 *
 * omp_get_schedule returns the same values.
 */
#ifndef HETMP_OMP_SCHEDULE_H
#define HETMP_OMP_SCHEDULE_H

enum hetmp_sched {
    /* BEGIN generated: from the table of schedules in runtime/sched */
    /* "hetprobe[,probe%]": Times the first P % of the iterations (10) on every node, decides,
     * then divides the rest; remembers per loop. */
    hetmp_sched_hetprobe = 0x4801,
    /* "hetprobe-i[,probe%[,jump%]]": As `hetprobe`, for loops whose iterations differ: probes in
     * several places, measures every chunk, divides the rest anew. */
    hetmp_sched_hetprobe_i = 0x4802,
    /* "static-csr:R0,R1,...": A fixed division: a core of node *i* gets Ri shares; 0 for a node
     * that is to have none. */
    hetmp_sched_static_csr = 0x4803,
    /* "cross-dynamic[,chunk]": Dynamic in two levels: nodes take large pieces, their threads
     * small ones. */
    hetmp_sched_cross_dynamic = 0x4804,
    /* "aid-static[,chunk]": Asymmetric iteration distribution (arXiv 2402.07664), to compare
     * with: every execution samples the nodes and divides the rest at once. */
    hetmp_sched_aid_static = 0x4805,
    /* "aid-hybrid[,part%[,chunk]]": `aid-static` for a part of the loop (80 %); the rest in
     * chunks on demand. */
    hetmp_sched_aid_hybrid = 0x4806,
    /* "aid-dynamic[,major[,chunk]]": `aid-static` in phases, each of which samples the nodes; a
     * thread of the slowest node gets `major` iterations. */
    hetmp_sched_aid_dynamic = 0x4807
    /* END generated */
};

#endif
