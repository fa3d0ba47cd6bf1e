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
 * general speed applies. With a null pointer, hetmp again takes the name of the function that contains
 * the region or loop. Outside of parallel regions nothing is slowed.
 *
 * The library's function is looked up by its version, so nothing has to be linked, and no other library's function of
 * this name is called. In a process without hetmp this does nothing. */
extern void *hetmp_lookup_(void *, const char *, const char *) __asm__("dlvsym") __attribute__((weak));
static inline void hetmp_kernel(const char *name) {
    static void *found;
    void *at = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
    if (!at) {
        at = hetmp_lookup_ ? hetmp_lookup_(0, "hetmp_kernel", "HETMP_ENGINE") : 0;
        if (!at) at = &found; /* there is none */
        __atomic_store_n(&found, at, __ATOMIC_RELEASE);
    }
    if (at != &found) __extension__((void (*)(const char *))at)(name);
}

#define HETMP_KERNEL(name) hetmp_kernel(name)

#ifdef __cplusplus
}
#endif

#endif
