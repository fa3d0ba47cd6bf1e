/* A program that brings a malloc of its own: what the runtime itself allocates does not come from there. The library
 * is told by its range of addresses; libgomp may allocate where it likes. Memory that is the program's does come from
 * the program's malloc. */
/* hetmp-test: threads=1,4
 * hetmp-test: env=HETMP_SCHEDULE=hetprobe
 * hetmp-test: libs=-ldl */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uintptr_t first, last;
static int by_runtime, in_all;

/* Never frees; every block has its size in front. */
static _Alignas(64) char arena[64 << 20];
static size_t used;

static void *give(size_t align, size_t size, uintptr_t caller)
{
    if (first != 0 && caller >= first && caller < last)
        __atomic_add_fetch(&by_runtime, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&in_all, 1, __ATOMIC_RELAXED);
    if (align < 16)
        align = 16;
    size_t at = __atomic_fetch_add(&used, size + 2 * align, __ATOMIC_RELAXED);
    if (size > sizeof arena || at + size + 2 * align > sizeof arena) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t block = ((uintptr_t)arena + at + 16 + align - 1) & -(uintptr_t)align;
    ((size_t *)block)[-1] = size;
    return (void *)block;
}

#define CALLER ((uintptr_t)__builtin_return_address(0))
void *malloc(size_t n) { return give(16, n, CALLER); }
void *calloc(size_t n, size_t m)
{
    return m != 0 && n > SIZE_MAX / m ? NULL : give(16, n * m, CALLER);
}
void *memalign(size_t a, size_t n) { return give(a, n, CALLER); }
void *aligned_alloc(size_t a, size_t n) { return give(a, n, CALLER); }
int posix_memalign(void **p, size_t a, size_t n)
{
    *p = give(a, n, CALLER);
    return *p == NULL ? ENOMEM : 0;
}
void *realloc(void *p, size_t n)
{
    void *new = give(16, n, CALLER);
    if (p != NULL && new != NULL) {
        size_t old = ((size_t *)p)[-1];
        memcpy(new, p, old < n ? old : n);
    }
    return new;
}
void free(void *p) { (void)p; }

static int find(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    uintptr_t inside = (uintptr_t)data;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && inside >= from && inside < from + h->p_memsz) {
            first = from;
            last = from + h->p_memsz;
            return 1;
        }
    }
    return 0;
}

int main(void)
{
    long sum = 0;
    void *entry = dlsym(RTLD_DEFAULT, "omp_get_num_threads");
    CHECK(entry != NULL);
    if (dlvsym(RTLD_DEFAULT, "hetmp_kernel", "HETMP_ENGINE") != NULL)
        dl_iterate_phdr(find, entry);
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 1000; i++)
            sum += i;
#pragma omp single
        for (int i = 0; i < 300; i++) {
            long big[20] = { i };
#pragma omp task firstprivate(big) shared(sum) depend(inout : entry)
            {
#pragma omp atomic
                sum += big[0];
            }
        }
#pragma omp parallel for schedule(guided) num_threads(2)
        for (int i = 0; i < 10; i++)
            ;
    }
    CHECK(by_runtime == 0);
    first = last = 0;
    int before = in_all;
    void *p = omp_alloc(100, omp_default_mem_alloc);
    CHECK(p != NULL && in_all > before);
    omp_free(p, omp_default_mem_alloc);
    printf("%ld\n", sum);
    return check_end();
}
