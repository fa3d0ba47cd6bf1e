/* Transfers by descriptor, as published SW26010 kernels write them: a kernel that squares floats, and its master. Then
 * slaves meet, and each finds what its neighbours in row and column have put. */
#include <athread.h>
#include <dma.h>
#include <simd.h>
#include <stdio.h>

enum { PIECE = 256, PIECES = 5, SLAVES = 64 };
static float from[SLAVES * PIECE * PIECES] __attribute__((aligned(128)));
static float to[SLAVES * PIECE * PIECES] __attribute__((aligned(128))), gaps[SLAVES * PIECE];
static __thread_local_fix dma_desc get, put;
static int missed[SLAVES];

void slave_square(void *unused) {
    float *const local = ldm_malloc(PIECE * (int)sizeof(float));
    const int first = athread_get_id(-1) * PIECE * PIECES;
    volatile int got = 0, gone = 0;
    (void)unused;
    dma_set_op(&get, DMA_GET);
    dma_set_mode(&get, PE_MODE);
    dma_set_reply(&get, &got);
    dma_set_size(&get, PIECE * sizeof(float));
    put = get;
    dma_set_op(&put, DMA_PUT);
    dma_set_reply(&put, &gone);
    for (int piece = 0; piece < PIECES; piece++) {
        dma(get, (long)(from + first + piece * PIECE), (long)local);
        dma_wait(&got, piece + 1);
        for (int i = 0; i < PIECE; i += 4) {
            floatv4 v;
            simd_load(v, local + i);
            v = v * v;
            simd_store(v, local + i);
        }
        dma(put, (long)(to + first + piece * PIECE), (long)local);
        dma_wait(&gone, piece + 1);
    }
    /* Of the piece, four floats of each sixteen, as blocks with gaps between them, there and back. */
    got = gone = 0;
    athread_get(PE_MODE, from + first, local, PIECE, (void *)&got, 0, 48, 16);
    dma_wait(&got, 1);
    athread_put(PE_MODE, local, gaps + first / PIECES, PIECE, (void *)&gone, 48, 16);
    dma_wait(&gone, 1);
    for (int i = 0; i < PIECE; i++)
        missed[_MYID] += gaps[first / PIECES + i] != (i % 16 < 4 ? from[first + i] : -1);
    for (int i = 0; i < PIECE / 4; i++) missed[_MYID] += local[i] != from[first + i / 4 * 16 + i % 4];
    ldm_free(local, PIECE * (int)sizeof(float));
    const int me = _MYID, right = me / 8 * 8 + (me + 1) % 8, below = (me + 8) % SLAVES, far = (me + 37) % SLAVES;
    const int seen[] = {right, below, far}, last = PIECE * PIECES - 1;
    const scope scopes[] = {ROW_SCOPE, COL_SCOPE, ARRAY_SCOPE};
    for (int i = 0; i < 3; i++) {
        athread_syn(scopes[i], scopes[i] == ARRAY_SCOPE ? 0xffff : 0xff);
        const int at = seen[i] * PIECE * PIECES + last;
        missed[me] += to[at] != from[at] * from[at];
    }
}

int main(void) {
    int wrong = 0;
    for (int i = 0; i < SLAVES * PIECE * PIECES; i++) from[i] = (float)i / 8;
    for (int i = 0; i < SLAVES * PIECE; i++) gaps[i] = -1;
    athread_init();
    athread_spawn(square, NULL);
    athread_join();
    athread_halt();
    for (int i = 0; i < SLAVES; i++) wrong += missed[i];
    for (int i = 0; i < SLAVES * PIECE * PIECES; i++) wrong += to[i] != from[i] * from[i];
    puts(wrong ? "wrong" : "passed");
    return wrong != 0;
}
