/* hThread on POSIX threads: an image is a shared object, a kernel one of its functions. */
#define _GNU_SOURCE
#include "standin.h"
#include <dlfcn.h>
#include <hthread_device.h>
#include <hthread_host.h>

enum { CLUSTERS = 4, CORES = 24, CHANNELS = 64 };

static int opened[CLUSTERS];
static void *image[CLUSTERS];
static struct group {
    int cluster, num, exec, made;
    void (*kernel)(void *, void *);
    void *args[2];
    pthread_t threads[CORES];
} groups[16];

static __thread int my_id = -1, my_size;
static __thread struct store am, sm;
static __thread volatile int channels[CHANNELS];
static __thread unsigned next_channel;

int hthread_dev_open(int c) {
    if (c < 0 || c >= CLUSTERS || opened[c]) return -1;
    opened[c] = 1;
    return 0;
}
int hthread_dev_close(int c) {
    opened[c] = 0;
    return 0;
}
int hthread_dat_load(int c, const char *path) {
    if (c < 0 || c >= CLUSTERS || !opened[c]) return -1;
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) return -1;
    image[c] = object;
    return 0;
}

int hthread_group_create(int c, int num) {
    if (c < 0 || c >= CLUSTERS || !opened[c] || num < 1 || num > CORES) return -1;
    for (int i = 0; i < 16; i++)
        if (!groups[i].made) {
            groups[i] = (struct group){.cluster = c, .num = num, .made = 1};
            return i;
        }
    return -1;
}

static struct {
    struct group *g;
    int id;
} starts[16][CORES];

static void *run(void *p) {
    struct group *g = ((__typeof__(&starts[0][0]))p)->g;
    my_id = ((__typeof__(&starts[0][0]))p)->id;
    my_size = g->num;
    /* Buffers: 64 in array memory, 32 in scalar memory. */
    am = (struct store){786432, 0, 0, 64};
    sm = (struct store){65536, 0, 0, 32};
    g->kernel(g->args[0], g->args[1]);
    if (am.taken || sm.taken) {
        fprintf(stderr, "core %d left %zu and %zu bytes of its memories taken\n", my_id, am.taken, sm.taken);
        exit(3);
    }
    return NULL;
}

int hthread_group_exec(int id, const char *name, int scalars, int pointers, uint64_t *args) {
    struct group *g = &groups[id];
    if (!g->made || g->exec || scalars != 0 || pointers != 2 || !image[g->cluster]) return -1;
    g->kernel = (void (*)(void *, void *))dlsym(image[g->cluster], name);
    if (!g->kernel) return -1;
    for (int i = 0; i < 2; i++) g->args[i] = (void *)(uintptr_t)args[i];
    for (int i = 0; i < g->num; i++) {
        starts[id][i].g = g;
        starts[id][i].id = i;
        if (pthread_create(&g->threads[i], NULL, run, &starts[id][i]) != 0) abort();
    }
    g->exec = 1;
    return 0;
}
int hthread_group_wait(int id) {
    struct group *g = &groups[id];
    for (int i = 0; g->exec && i < g->num; i++) pthread_join(g->threads[i], NULL);
    g->exec = 0;
    return 0;
}
int hthread_group_destroy(int id) {
    hthread_group_wait(id);
    groups[id].made = 0;
    return 0;
}

void *hthread_malloc(int c, unsigned long bytes, int mode) {
    void *p = NULL;
    if (!opened[c] || mode != HT_MEM_RW) return NULL;
    return posix_memalign(&p, 64, bytes) == 0 ? p : NULL;
}
void hthread_free(void *p) { free(p); }

int get_thread_id(void) { return my_id; }
int get_group_size(void) { return my_size; }
void *vector_malloc(unsigned int bytes) { return store_malloc(&am, bytes); }
int vector_free(void *p) { return store_free(&am, p), 0; }
int get_am_free_space(void) { return (int)(am.size - am.taken); }
void *scalar_malloc(unsigned int bytes) { return store_malloc(&sm, bytes); }
int scalar_free(void *p) { return store_free(&sm, p), 0; }
int get_sm_free_space(void) { return (int)(sm.size - sm.taken); }

unsigned int dma_p2p(void *src, unsigned long src_rows, unsigned int src_bytes, int src_step, void *dst,
                     unsigned long dst_rows, unsigned int dst_bytes, int dst_step, _Bool row_syn, unsigned int synmask) {
    if (src_rows != 1 || dst_rows != 1 || src_bytes != dst_bytes || src_bytes == 0 || src_step || dst_step || row_syn ||
        synmask || src_bytes % 8 || (uintptr_t)src % 8 || (uintptr_t)dst % 8) {
        fprintf(stderr, "dma_p2p: a transfer of %u bytes between %p and %p\n", src_bytes, src, dst);
        exit(3);
    }
    unsigned ch = next_channel++ % CHANNELS;
    channels[ch] = 0;
    engine_start(dst, src, src_bytes, &channels[ch]);
    return ch;
}
void dma_wait(unsigned int ch) {
    pthread_mutex_lock(&engine_lock);
    while (!__atomic_load_n(&channels[ch], __ATOMIC_ACQUIRE)) pthread_cond_wait(&engine_done, &engine_lock);
    pthread_mutex_unlock(&engine_lock);
}
