/* The system's calls, whatever a program calls its own functions.
 *
 * A program may have functions named read, write or connect: the C standard does
 * not reserve these names, and the C library calls its own by others. A library
 * that is loaded into that program would call the program's instead, since the
 * linker exports what a library asks for. So the library is linked with
 * `--wrap=NAME`, and asks the kernel itself. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN ssize_t __wrap_read(int fd, void *to, size_t n) { return syscall(SYS_read, fd, to, n); }
HIDDEN ssize_t __wrap_write(int fd, const void *from, size_t n)
{
    return syscall(SYS_write, fd, from, n);
}
HIDDEN ssize_t __wrap_writev(int fd, const struct iovec *from, int n)
{
    return syscall(SYS_writev, fd, from, n);
}
HIDDEN int __wrap_close(int fd) { return (int)syscall(SYS_close, fd); }
HIDDEN off_t __wrap_lseek64(int fd, off_t by, int from)
{
    return (off_t)syscall(SYS_lseek, fd, by, from);
}

static int open_with(const char *path, int flags, va_list rest)
{
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
HIDDEN int __wrap_open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int fd = open_with(path, flags, rest);
    va_end(rest);
    return fd;
}
HIDDEN int __wrap_open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int fd = open_with(path, flags, rest);
    va_end(rest);
    return fd;
}
HIDDEN int __wrap_unlink(const char *path)
{
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
HIDDEN ssize_t __wrap_readlink(const char *path, char *to, size_t n)
{
    return syscall(SYS_readlinkat, AT_FDCWD, path, to, n);
}
HIDDEN int __wrap_poll(struct pollfd *all, nfds_t n, int timeout)
{
#ifdef SYS_poll
    return (int)syscall(SYS_poll, all, n, timeout);
#else
    struct timespec t = {timeout / 1000, timeout % 1000 * 1000000L};
    return (int)syscall(SYS_ppoll, all, n, timeout < 0 ? 0 : &t, 0, 0);
#endif
}
HIDDEN int __wrap_connect(int fd, const struct sockaddr *to, socklen_t n)
{
    return (int)syscall(SYS_connect, fd, to, n);
}
HIDDEN int __wrap_bind(int fd, const struct sockaddr *to, socklen_t n)
{
    return (int)syscall(SYS_bind, fd, to, n);
}
HIDDEN int __wrap_listen(int fd, int n) { return (int)syscall(SYS_listen, fd, n); }
HIDDEN ssize_t __wrap_send(int fd, const void *from, size_t n, int flags)
{
    return syscall(SYS_sendto, fd, from, n, flags, 0, 0);
}
HIDDEN ssize_t __wrap_recv(int fd, void *to, size_t n, int flags)
{
    return syscall(SYS_recvfrom, fd, to, n, flags, 0, 0);
}
