/* Stands before the system's file operations below one folder: makes the n-th of them fail (FAULT_AT), or
   writes all of them down (FAULT_LOG), for tests of power failures. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count;

static int below(const char *path) {
    const char *dir = getenv("FAULT_DIR");
    return dir && path && strncmp(path, dir, strlen(dir)) == 0;
}

static int absolute(const char *path, char *out) {
    char cwd[PATH_MAX];
    if (path[0] == '/') snprintf(out, PATH_MAX, "%s", path);
    else if (getcwd(cwd, sizeof cwd)) snprintf(out, 2 * PATH_MAX, "%s/%s", cwd, path);
    return below(out);
}

static int of(int fd, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    if (n < 0) return 0;
    out[n] = 0;
    return below(out);
}

/* Whether this operation fails. */
static int fails(void) {
    const char *at = getenv("FAULT_AT");
    pthread_mutex_lock(&lock);
    long now = ++count;
    pthread_mutex_unlock(&lock);
    return at && atol(at) == now;
}

static void note(const void *data, size_t n, const char *format, ...) {
    const char *log = getenv("FAULT_LOG");
    if (!log) return;
    pthread_mutex_lock(&lock);
    FILE *file = fopen(log, "ab");
    va_list list;
    va_start(list, format);
    vfprintf(file, format, list);
    va_end(list);
    if (n) fwrite(data, 1, n, file);
    fclose(file);
    pthread_mutex_unlock(&lock);
}

static unsigned long inode(int fd) {
    struct stat s;
    return fstat(fd, &s) ? 0 : s.st_ino;
}

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name)
#define FAIL do { errno = EIO; return -1; } while (0)

int open64(const char *path, int flags, ...) {
    REAL(int, "open64", const char *, int, ...);
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    char full[2 * PATH_MAX];
    int ours = (flags & O_CREAT) && absolute(path, full);
    if (ours && fails()) FAIL;
    int fd = real(path, flags, mode);
    if (ours && fd >= 0) note(0, 0, "C %lu %s\n", inode(fd), full);
    return fd;
}

ssize_t write(int fd, const void *data, size_t n) {
    REAL(ssize_t, "write", int, const void *, size_t);
    char path[2 * PATH_MAX];
    if (!of(fd, path)) return real(fd, data, n);
    if (fails()) FAIL;
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = real(fd, data, n);
    if (done > 0) note(data, done, "W %lu %ld %ld\n", inode(fd), (long)at, (long)done);
    return done;
}

static int synced(int fd, int (*real)(int)) {
    char path[2 * PATH_MAX];
    if (!of(fd, path)) return real(fd);
    if (fails()) FAIL;
    struct stat s;
    fstat(fd, &s);
    if (S_ISDIR(s.st_mode)) note(0, 0, "D %s\n", path);
    else note(0, 0, "S %lu\n", inode(fd));
    return real(fd);
}

int fsync(int fd) {
    REAL(int, "fsync", int);
    return synced(fd, real);
}

int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    return synced(fd, real);
}

int ftruncate64(int fd, off64_t length) {
    REAL(int, "ftruncate64", int, off64_t);
    char path[2 * PATH_MAX];
    if (!of(fd, path)) return real(fd, length);
    if (fails()) FAIL;
    note(0, 0, "T %lu %ld\n", inode(fd), (long)length);
    return real(fd, length);
}

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    char a[2 * PATH_MAX], b[2 * PATH_MAX];
    if (!absolute(from, a) || !absolute(to, b)) return real(from, to);
    if (fails()) FAIL;
    int done = real(from, to);
    if (!done) note(0, 0, "R %s\n%s\n", a, b);
    return done;
}

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    char full[2 * PATH_MAX];
    if (!absolute(path, full)) return real(path);
    if (fails()) FAIL;
    int done = real(path);
    if (!done) note(0, 0, "U %s\n", full);
    return done;
}
