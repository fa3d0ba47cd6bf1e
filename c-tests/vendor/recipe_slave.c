/* The slaves of recipe_master.c. */
#include "recipe.h"
#include <hetmp/mq.h>
#include <hetmp/simd.h>

/* c = a + b: the paper's example. */
static void addv(const float *a, const float *b, float *c, int len) {
    int i = 0;
    for (; i + _VF32_SIZE <= len; i += _VF32_SIZE) {
        const _VF32 va = _VF32_LOAD(a + i), vb = _VF32_LOAD(b + i);
        _VF32_STORE(c + i, _VF32_ADD(va, vb));
    }
    for (; i < len; i++) c[i] = a[i] + b[i];
}

MQ_SLAVE_FUNCTION(recipe_slave, unused) {
    int err = 0, bytes = 0, in = sGetQueueHandle("in", &err), out = sGetQueueHandle("out", &err);
    (void)unused;
    for (int piece = 0; piece < RECIPE_PIECES; piece++) {
        float *ab = sRecvMsg(in, &bytes, &err);
        float *c = sAllocateMsg(out, &err);
        addv(ab, ab + RECIPE_FLOATS, c, RECIPE_FLOATS);
        sReleaseMsg(in, ab, &err);
        sSendMsg(out, c, RECIPE_FLOATS * (int)sizeof(float), &err);
    }
}
