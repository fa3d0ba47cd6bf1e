/* Kernels for dialects_host.c: arguments of every kind, vectors of array memory, a barrier. */
#include <compiler/m3000.h>
#include <hthread_device.h>

/* Visible outside, and no kernel: a host has no vectors. */
void scale_vector(lvector double factor, lvector double shift, lvector double *part) {
    vec_st(vec_mula((lvector double)vec_ld(0, part), factor, shift), 0, part);
}

__global__ void scale(int n, double factor, float shift, const double *x, double *y) {
    const int id = get_thread_id(), size = get_group_size();
    lvector double *part = vector_malloc(128);
    for (int i = id * 16; i + 16 <= n; i += size * 16) {
        vector_load(x + i, part, 128);
        scale_vector((lvector double)vec_svbcast(factor), (lvector double)vec_svbcast((double)shift), part);
        vector_store(part, y + i, 128);
    }
    vector_free(part);
}

/* Each thread adds what its neighbour wrote before the barrier. */
__global__ void neighbours(unsigned short add, unsigned barrier, long *places) {
    const int id = get_thread_id(), size = get_group_size();
    places[id] = id + add;
    group_barrier(barrier);
    places[size + id] = places[(id + 1) % size];
}

/* What its memories hold before it wrote there. */
__global__ void unwritten(double *first) {
    double *scalar = scalar_malloc(8);
    lvector double *array = vector_malloc(128);
    first[0] = *scalar;
    first[1] = ((double *)array)[15];
    scalar_free(scalar);
    vector_free(array);
}

__global__ void nothing(void) {}
