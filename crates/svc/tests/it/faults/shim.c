/* A disk that fails and a clock that is set, for one process: loaded with LD_PRELOAD.
 *
 * FAULT_SHIM_FILE names a file with the numbers of `struct control`. The test changes the file while the
 * process runs. Only files whose path contains FAULT_SHIM_PATH fail. Every function makes its system
 * call directly, so that the shim needs none of the functions that it replaces.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* In the order of `Field` in faults.rs. */
struct control {
    int64_t clock_ms;   /* added to the wall clock */
    int64_t write_errno;
    int64_t sync_errno;
    int64_t open_errno; /* of opening for writing */
    int64_t read_errno;
    int64_t hang;       /* writes and syncs wait while this is 1 */
    int64_t is_limited; /* 1: only `budget` more bytes can be written */
    int64_t budget;
    int64_t kill;       /* 1: SIGKILL at the end of the budget, else ENOSPC */
    int64_t injected;   /* counts the faults */
};

static volatile struct control *control;
static const char *part;

__attribute__((constructor)) static void start(void) {
    const char *file = getenv("FAULT_SHIM_FILE");
    part = getenv("FAULT_SHIM_PATH");
    if (!file || !part) return;
    int fd = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0) return;
    void *page = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (page != MAP_FAILED) control = page;
}

static int fails(int64_t code) {
    __sync_fetch_and_add((int64_t *)&control->injected, 1);
    errno = (int)code;
    return -1;
}

static int is_path_ours(const char *path) {
    return control && path && strstr(path, part) != NULL;
}

static int is_ours(int fd) {
    char name[64], path[PATH_MAX];
    char *end = name + sizeof name - 1, *digits = end;
    if (!control || fd < 0) return 0;
    *end = 0;
    do *--digits = (char)('0' + fd % 10); while (fd /= 10);
    memmove(name + 14, digits, (size_t)(end - digits) + 1);
    memcpy(name, "/proc/self/fd/", 14);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, name, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_path_ours(path);
}

static void wait_while_hanging(void) {
    struct timespec pause = {0, 5 * 1000 * 1000};
    if (control->hang) __sync_fetch_and_add((int64_t *)&control->injected, 1);
    while (control->hang) syscall(SYS_nanosleep, &pause, NULL);
}

/* How many of `count` bytes can be written, or -1 with errno. SIGKILL ends the process before the last `return`. */
static ssize_t allowed(int fd, size_t count) {
    if (!control || !(control->write_errno || control->is_limited || control->hang)) return (ssize_t)count;
    int kept = errno;
    if (!is_ours(fd)) {
        errno = kept;
        return (ssize_t)count;
    }
    wait_while_hanging();
    if (control->write_errno) return fails(control->write_errno);
    errno = kept;
    if (!control->is_limited) return (ssize_t)count;
    int64_t left = __sync_fetch_and_sub((int64_t *)&control->budget, (int64_t)count);
    if (left >= (int64_t)count) return (ssize_t)count;
    if (left > 0) return (ssize_t)left;
    if (!control->kill) return fails(ENOSPC);
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    return 0;
}

ssize_t write(int fd, const void *bytes, size_t count) {
    ssize_t part_size = allowed(fd, count);
    return part_size < 0 ? -1 : syscall(SYS_write, fd, bytes, (size_t)part_size);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    ssize_t part_size = allowed(fd, count);
    return part_size < 0 ? -1 : syscall(SYS_pwrite64, fd, bytes, (size_t)part_size, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
    return pwrite64(fd, bytes, count, at);
}

/* Does not count the bytes of a vector: the files that the tests look at are not written with vectors. */
ssize_t writev(int fd, const struct iovec *vector, int count) {
    if (allowed(fd, 0) < 0) return -1;
    return syscall(SYS_writev, fd, vector, count);
}

ssize_t pwritev(int fd, const struct iovec *vector, int count, off_t at) {
    if (allowed(fd, 0) < 0) return -1;
    return syscall(SYS_pwritev, fd, vector, count, at, 0);
}

static int fails_to_read(int fd) {
    return control && control->read_errno && is_ours(fd);
}

ssize_t read(int fd, void *bytes, size_t count) {
    if (fails_to_read(fd)) return fails(control->read_errno);
    return syscall(SYS_read, fd, bytes, count);
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t at) {
    if (fails_to_read(fd)) return fails(control->read_errno);
    return syscall(SYS_pread64, fd, bytes, count, at);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t at) {
    return pread64(fd, bytes, count, at);
}

static int sync_with(long call, int fd) {
    if (control && (control->sync_errno || control->hang) && is_ours(fd)) {
        wait_while_hanging();
        if (control->sync_errno) return fails(control->sync_errno);
    }
    return (int)syscall(call, fd);
}

int fsync(int fd) { return sync_with(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_with(SYS_fdatasync, fd); }

int ftruncate64(int fd, off64_t size) {
    if (allowed(fd, 0) < 0) return -1;
    return (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int fallocate(int fd, int mode, off_t at, off_t size) {
    if (allowed(fd, 0) < 0) return -1;
    return (int)syscall(SYS_fallocate, fd, mode, at, size);
}

static int open_at(int folder, const char *path, int flags, mode_t mode) {
    int is_write = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT);
    if (control && control->open_errno && is_write && is_path_ours(path)) return fails(control->open_errno);
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

static mode_t mode_of(int flags, va_list rest) {
    return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(rest, int) : 0;
}

#define OPEN(name)                                     \
    int name(const char *path, int flags, ...) {       \
        va_list rest;                                  \
        va_start(rest, flags);                         \
        mode_t mode = mode_of(flags, rest);            \
        va_end(rest);                                  \
        return open_at(AT_FDCWD, path, flags, mode);   \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                   \
    int name(int folder, const char *path, int flags, ...) { \
        va_list rest;                                  \
        va_start(rest, flags);                         \
        mode_t mode = mode_of(flags, rest);            \
        va_end(rest);                                  \
        return open_at(folder, path, flags, mode);     \
    }
OPENAT(openat)
OPENAT(openat64)

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = (int)syscall(SYS_clock_gettime, clock, time);
    if (!failed && clock == CLOCK_REALTIME && control && control->clock_ms) {
        int64_t nanos = time->tv_nsec + (control->clock_ms % 1000) * 1000000;
        time->tv_sec += control->clock_ms / 1000 + nanos / 1000000000;
        time->tv_nsec = nanos % 1000000000;
        if (time->tv_nsec < 0) {
            time->tv_nsec += 1000000000;
            time->tv_sec -= 1;
        }
    }
    return failed;
}
