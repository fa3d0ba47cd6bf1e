/* hThread on POSIX threads: an image is a shared object, which `makedat` built. A kernel is one of its functions. A
 * chip's kernel finds all its arguments in general registers, numbers of floating point too; a function of this machine
 * does not. So makedat gives each kernel NAME an entry hthread_entry_NAME that takes the array of arguments. */
#define _GNU_SOURCE
#include "standin.h"
#include <dlfcn.h>
#include <hthread_device.h>
#include <hthread_host.h>
#include <stdarg.h>

/* The functions, not the macro that tells the two dialects apart. */
#undef hthread_group_create

enum { CLUSTERS = 4, CORES = 24, CHANNELS = 64, GROUPS = 16, ARGUMENTS = 64 };

static int opened[CLUSTERS];
static void *image[CLUSTERS];
static struct group {
    int cluster, num, exec, made;
    void (*kernel)(const uint64_t *);
    void (*plain)(void *, void *);
    uint64_t args[ARGUMENTS];
    pthread_t threads[CORES];
    pthread_barrier_t barrier;
} groups[GROUPS];

static __thread int my_id = -1, my_size;
static __thread struct group *mine;
static __thread struct store am, sm;
/* Of each cluster. */
static struct store hbm[CLUSTERS];
static pthread_mutex_t hbm_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread volatile int channels[CHANNELS];
static __thread unsigned next_channel;

int hthread_dev_open(int c) {
    if (c < 0 || c >= CLUSTERS) return -1;
    /* Programs open a cluster again for each of their parts. */
    opened[c] = 1;
    return HT_SUCCESS;
}
int hthread_dev_close(int c) {
    opened[c] = 0;
    return 0;
}
int hthread_dat_load(int c, const char *path) {
    if (c < 0 || c >= CLUSTERS || !opened[c]) return -1;
    /* The path of a file, also without a slash: dlopen would look for such a name in the folders of libraries. */
    char file[4096];
    if (snprintf(file, sizeof file, "%s%s", strchr(path, '/') ? "" : "./", path) >= (int)sizeof file) return -1;
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!object) return -1;
    image[c] = object;
    return 0;
}

int hthread_dat_unload(int c) {
    if (c < 0 || c >= CLUSTERS || !image[c]) return -1;
    image[c] = NULL; /* its functions may run still */
    return HT_SUCCESS;
}
int hthread_get_avail_threads(int c) {
    int free = CORES;
    if (c < 0 || c >= CLUSTERS || !opened[c]) return -1;
    for (int i = 0; i < GROUPS; i++)
        if (groups[i].made && groups[i].cluster == c) free -= groups[i].num;
    return free;
}

int hthread_group_create(int c, int num) {
    if (c < 0 || c >= CLUSTERS || !opened[c] || num < 1 || num > hthread_get_avail_threads(c)) return -1;
    for (int i = 0; i < GROUPS; i++)
        if (!groups[i].made) {
            groups[i] = (struct group){.cluster = c, .num = num, .made = 1};
            pthread_barrier_init(&groups[i].barrier, NULL, (unsigned)num);
            return i;
        }
    return -1;
}

static struct {
    struct group *g;
    int id;
} starts[GROUPS][CORES];

static void *run(void *p) {
    struct group *g = ((__typeof__(&starts[0][0]))p)->g;
    my_id = ((__typeof__(&starts[0][0]))p)->id;
    my_size = g->num;
    mine = g;
    /* Buffers: 64 in array memory, 32 in scalar memory. */
    am = (struct store){786432, 0, 0, 64};
    sm = (struct store){65536, 0, 0, 32};
    if (g->plain) g->plain((void *)(uintptr_t)g->args[0], (void *)(uintptr_t)g->args[1]);
    else g->kernel(g->args);
    if (am.taken || sm.taken) {
        fprintf(stderr, "core %d left %zu and %zu bytes of its memories taken\n", my_id, am.taken, sm.taken);
        exit(3);
    }
    return NULL;
}

int hthread_group_exec(int id, const char *name, int scalars, int pointers, uint64_t *args) {
    if (id < 0 || id >= GROUPS || scalars < 0 || pointers < 0 || scalars + pointers > ARGUMENTS) return -1;
    struct group *g = &groups[id];
    char entry[256];
    if (!g->made || !image[g->cluster] || snprintf(entry, sizeof entry, "hthread_entry_%s", name) >= (int)sizeof entry)
        return -1;
    /* One kernel of a group runs at a time. */
    hthread_group_wait(id);
    g->kernel = (void (*)(const uint64_t *))dlsym(image[g->cluster], entry);
    g->plain = NULL;
    if (!g->kernel) {
        /* An image without entries: two pointers come in general registers here, too. */
        g->plain = (void (*)(void *, void *))dlsym(image[g->cluster], name);
        if (!g->plain || scalars != 0 || pointers != 2) return -1;
    }
    memcpy(g->args, args, sizeof *args * (size_t)(scalars + pointers));
    for (int i = 0; i < g->num; i++) {
        starts[id][i].g = g;
        starts[id][i].id = i;
        if (pthread_create(&g->threads[i], NULL, run, &starts[id][i]) != 0) abort();
    }
    g->exec = 1;
    return 0;
}
int hthread_group_create_exec(int c, int num, const char *name, int scalars, int pointers, uint64_t *args) {
    int id = hthread_group_create(c, num);
    if (id >= 0 && hthread_group_exec(id, name, scalars, pointers, args) != HT_SUCCESS) {
        hthread_group_destroy(id);
        return -1;
    }
    return id;
}
int hthread_group_wait(int id) {
    if (id < 0 || id >= GROUPS || !groups[id].made) return -1;
    struct group *g = &groups[id];
    for (int i = 0; g->exec && i < g->num; i++) pthread_join(g->threads[i], NULL);
    g->exec = 0;
    return 0;
}
int hthread_group_destroy(int id) {
    if (hthread_group_wait(id) != 0) return -1;
    pthread_barrier_destroy(&groups[id].barrier);
    groups[id].made = 0;
    return 0;
}

/* group_barrier waits for the threads of its group, whatever the number. */
int hthread_barrier_create(int c) {
    static int made;
    return c < 0 || c >= CLUSTERS || !opened[c] ? -1 : made++;
}
void hthread_barrier_destroy(int id) { (void)id; }

void *hthread_malloc(int c, unsigned long bytes, int mode) {
    void *p = NULL;
    if (c < 0 || c >= CLUSTERS || !opened[c] || mode < HT_MEM_RO || mode > HT_MEM_RW) return NULL;
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
void *hbm_malloc(unsigned long bytes) {
    pthread_mutex_lock(&hbm_lock);
    struct store *s = &hbm[mine->cluster];
    *s = (struct store){48 << 20, s->taken, s->blocks, 1 << 20};
    void *p = store_malloc(s, bytes);
    pthread_mutex_unlock(&hbm_lock);
    return p;
}
void hbm_free(void *p) {
    pthread_mutex_lock(&hbm_lock);
    store_free(&hbm[mine->cluster], p);
    pthread_mutex_unlock(&hbm_lock);
}

unsigned int dma_p2p(void *src, unsigned long src_rows, unsigned int src_bytes, int src_step, void *dst,
                     unsigned long dst_rows, unsigned int dst_bytes, int dst_step, _Bool row_syn,
                         unsigned int synmask) {
    if (src_rows != 1 || dst_rows != 1 || src_bytes != dst_bytes || src_bytes == 0 || src_step || dst_step || row_syn ||
        synmask || src_bytes % 8 || (uintptr_t)src % 8 || (uintptr_t)dst % 8) {
        fprintf(stderr, "dma_p2p: a transfer of %u bytes between %p and %p\n", src_bytes, src, dst);
        exit(3);
    }
    unsigned ch = next_channel++ % CHANNELS;
    channels[ch] = 0;
    engine_start((struct job){dst, src, src_bytes, src_bytes, 0, 0, &channels[ch], NULL});
    return ch;
}
void dma_wait(unsigned int ch) {
    pthread_mutex_lock(&engine_lock);
    while (!__atomic_load_n(&channels[ch], __ATOMIC_ACQUIRE)) pthread_cond_wait(&engine_done, &engine_lock);
    pthread_mutex_unlock(&engine_lock);
}

int hthread_printf(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int written = vprintf(format, list);
    va_end(list);
    return written;
}
void group_barrier(unsigned int barrier) {
    (void)barrier; /* all of them wait for the same threads */
    pthread_barrier_wait(&mine->barrier);
}
int vector_load(const void *mem, void *local, unsigned long bytes) { return memcpy(local, mem, bytes), 0; }
int vector_store(const void *local, void *mem, unsigned long bytes) { return memcpy(mem, local, bytes), 0; }
int scalar_load(const void *mem, void *local, unsigned long bytes) { return memcpy(local, mem, bytes), 0; }
int scalar_store(const void *local, void *mem, unsigned long bytes) { return memcpy(mem, local, bytes), 0; }
