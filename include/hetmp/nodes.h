/* Nodes of unlike speed, seen from a program.
 *
 * A program needs nothing of this. It is for experiments in which one parallel region holds several
 * kernels that are to run at different speeds on emulated nodes.
 */
#ifndef HETMP_NODES_H
#define HETMP_NODES_H

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread runs the kernel called `name` from now on: where HETMP_NODES gives nodes a
 * speed for it (speed.NAME), that speed holds at once. It holds until the thread calls this
 * again or its parallel region ends. A name without a speed of its own stands for the node's
 * general speed; a null pointer leaves it to hetmp again, which takes the function that the
 * region or loop was written in. Outside of parallel regions nothing is slowed.
 *
 * The declaration is weak: in a process without hetmp the function's address is null, and
 * HETMP_KERNEL does nothing.
 */
extern void hetmp_kernel(const char *name) __attribute__((weak));

#define HETMP_KERNEL(name) \
    do { \
        if (hetmp_kernel) \
            hetmp_kernel(name); \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
