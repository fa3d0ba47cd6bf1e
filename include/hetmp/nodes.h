/* Nodes of unlike speed, for programs that emulate them.
 *
 * Programs do not need this header to run on nodes. It is for experiments in which one parallel
 * region contains several kernels, and an emulated node runs each at another speed.
 */
#ifndef HETMP_NODES_H
#define HETMP_NODES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Tells hetmp that the calling thread runs the kernel `name` from now on. If HETMP_NODES gives the
 * thread's node a speed for this kernel (speed.NAME), the thread runs at that speed at once, until
 * it calls hetmp_kernel again or its parallel region ends. For a name without a speed, the node's
 * general speed holds. With a null pointer, hetmp again takes the name of the function that contains
 * the region or loop. Outside of parallel regions nothing is slowed.
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
