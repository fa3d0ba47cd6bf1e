// Preloaded: a kernel with pages of PAGE bytes, as far as libraries see it. It tells that size, gives addresses and
// takes addresses that are multiples of it, maps whole pages of it, and ends a process that asks for parts of pages.
// Calls that the C library makes for itself do not come here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static long kernel(long number, long a, long b, long c, long d, long e, long f) {
    static long (*next)(long, ...);
    if (!next) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, a, b, c, d, e, f);
}

static long up(long bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static void whole(const char *call, long address) {
    if (address % PAGE == 0) return;
    char text[100];
    int n = snprintf(text, sizeof text, "%s(%#lx): not a multiple of %d\n", call, address, PAGE);
    if (write(2, text, n) < 0) _exit(1);
    abort();
}

// New addresses for `bytes`.
static long place(long bytes) {
    long at = kernel(SYS_mmap, 0, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == -1) return -1;
    long start = up(at);
    if (start > at) kernel(SYS_munmap, at, start - at, 0, 0, 0, 0);
    if (at + PAGE > start) kernel(SYS_munmap, start + bytes, at + PAGE - start, 0, 0, 0, 0);
    return start;
}

static long map(long at, long bytes, long rights, long flags, long file, long offset) {
    whole("mmap, offset", offset);
    if (bytes == 0) return kernel(SYS_mmap, at, 0, rights, flags, file, offset);
    bytes = up(bytes);
    if (!(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))) {
        at = place(bytes);
        if (at == -1) return -1;
        flags |= MAP_FIXED;
    }
    whole("mmap", at);
    return kernel(SYS_mmap, at, bytes, rights, flags, file, offset);
}

static long unmap(long at, long bytes) {
    whole("munmap", at);
    return kernel(SYS_munmap, at, up(bytes), 0, 0, 0, 0);
}

static long protect(long at, long bytes, long rights) {
    whole("mprotect", at);
    return kernel(SYS_mprotect, at, up(bytes), rights, 0, 0, 0);
}

static long advise(long at, long bytes, long what) {
    whole("madvise", at);
    return kernel(SYS_madvise, at, up(bytes), what, 0, 0, 0);
}

static long remap(long at, long old, long new, long flags, long to) {
    whole("mremap", at);
    old = up(old), new = up(new);
    if (new > old && (flags & MREMAP_MAYMOVE) && !(flags & MREMAP_FIXED)) {
        to = place(new);
        if (to == -1) return -1;
        flags |= MREMAP_FIXED;
    }
    if (flags & MREMAP_FIXED) whole("mremap, to", to);
    return kernel(SYS_mremap, at, old, new, flags, to, 0);
}

void *mmap(void *at, size_t bytes, int rights, int flags, int file, off_t offset) {
    return (void *)map((long)at, bytes, rights, flags, file, offset);
}
void *mmap64(void *at, size_t bytes, int rights, int flags, int file, off_t offset) {
    return (void *)map((long)at, bytes, rights, flags, file, offset);
}
int munmap(void *at, size_t bytes) { return unmap((long)at, bytes); }
int mprotect(void *at, size_t bytes, int rights) { return protect((long)at, bytes, rights); }
int madvise(void *at, size_t bytes, int what) { return advise((long)at, bytes, what); }
void *mremap(void *at, size_t old, size_t new, int flags, ...) {
    va_list more;
    va_start(more, flags);
    long to = flags & MREMAP_FIXED ? va_arg(more, long) : 0;
    va_end(more);
    return (void *)remap((long)at, old, new, flags, to);
}
long syscall(long number, ...) {
    va_list more;
    va_start(more, number);
    long a[6];
    for (int i = 0; i < 6; i++) a[i] = va_arg(more, long);
    va_end(more);
    switch (number) {
    case SYS_mmap:
        return map(a[0], a[1], a[2], a[3], (int)a[4], a[5]);
    case SYS_munmap:
        return unmap(a[0], a[1]);
    case SYS_mprotect:
        return protect(a[0], a[1], a[2]);
    case SYS_madvise:
        return advise(a[0], a[1], a[2]);
    case SYS_mremap:
        return remap(a[0], a[1], a[2], a[3], a[4]);
    default:
        return kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}

long sysconf(int name) {
    static long (*next)(int);
    if (name == _SC_PAGESIZE) return PAGE;
    if (!next) next = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return next(name);
}
int getpagesize(void) { return PAGE; }
unsigned long getauxval(unsigned long what) {
    static unsigned long (*next)(unsigned long);
    if (what == AT_PAGESZ) return PAGE;
    if (!next) next = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
    return next(what);
}
