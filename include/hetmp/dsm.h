/* hetmp/dsm.h: what libhetmp_dsm.so, which gives several processes one memory, says to libhetmp.so.
 *
 * Not for programs: both libraries must be of one version, which the table begins with. docs/dsm.md
 * says how to run a program on several processes. */
#ifndef HETMP_DSM_H
#define HETMP_DSM_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of the shared memory; its fields are those of Table in runtime/omp/src/across.rs. */
struct hetmp_across;

/* Makes this process a node of a program that runs on several. The table lives as long as the process.
 * False if the table is of another version: the program then runs on this process alone. */
bool hetmp_across_install(const struct hetmp_across *table);

/* May the calling thread load a library of the program's own now? Its variables will be at the origin only. If true,
 * hetmp_across_loaded must follow. */
bool hetmp_across_loading(void);

/* The library was loaded, or could not be. True for the first one that was: no region crosses from then on. */
bool hetmp_across_loaded(bool was_loaded);

/* Runs a node that does not run main: the calling process takes part in regions until the program
 * ends. Does not return. */
void hetmp_across_node(void);

#ifdef __cplusplus
}
#endif

#endif
