// Intercepts the C library (LD_PRELOAD) and logs calls on files below the directory INTERPOSE_UNDER, one line
// each, in the file INTERPOSE_LOG with the number of the process appended:
//
//	call offset result inode name
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int below(const char *path) {
	const char *dir = getenv("INTERPOSE_UNDER");
	return dir && strncmp(path, dir, strlen(dir)) == 0;
}

static void note(const char *call, long long off, long long n, unsigned long long ino, const char *path) {
	char name[PATH_MAX], line[2 * PATH_MAX];
	const char *log = getenv("INTERPOSE_LOG");
	if (!log || !below(path)) return;
	snprintf(name, sizeof name, "%s.%d", log, (int)getpid());
	int fd = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0) return;
	int len = snprintf(line, sizeof line, "%s %lld %lld %llu %s\n", call, off, n, ino, path);
	syscall(SYS_write, fd, line, len);
	syscall(SYS_close, fd);
}

static void note_fd(const char *call, long long off, long long n, int fd) {
	char link[64], path[PATH_MAX];
	struct stat st;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof path - 1);
	if (len < 0 || fstat(fd, &st) != 0) return;
	path[len] = 0;
	note(call, off, n, st.st_ino, path);
}

#define OPEN(name) \
	int name(const char *path, int flag, ...) { \
		va_list ap; \
		va_start(ap, flag); \
		int mode = flag & O_CREAT ? va_arg(ap, int) : 0; \
		va_end(ap); \
		int fd = NEXT(name)(path, flag, mode); \
		if (fd >= 0) note_fd("open", 0, 0, fd); \
		return fd; \
	}
OPEN(open)
OPEN(open64)

#define MOVE(name, what, type) \
	ssize_t name(int fd, type b, size_t n, off_t off) { \
		ssize_t r = NEXT(name)(fd, b, n, off); \
		note_fd(what, off, r, fd); \
		return r; \
	}
MOVE(pread, "read", void *)
MOVE(pread64, "read", void *)
MOVE(pwrite, "write", const void *)
MOVE(pwrite64, "write", const void *)

#define MOVEV(name, what) \
	ssize_t name(int fd, const struct iovec *v, int n, off_t off) { \
		ssize_t r = NEXT(name)(fd, v, n, off); \
		note_fd(what, off, r, fd); \
		return r; \
	}
MOVEV(preadv, "read")
MOVEV(preadv64, "read")
MOVEV(pwritev, "write")
MOVEV(pwritev64, "write")

#define ON_FD(name, what) \
	int name(int fd) { \
		note_fd(what, 0, 0, fd); \
		return NEXT(name)(fd); \
	}
ON_FD(close, "close")
ON_FD(fsync, "sync")
ON_FD(fdatasync, "sync")

#define TRUNCATE(name) \
	int name(int fd, off_t n) { \
		note_fd("truncate", n, 0, fd); \
		return NEXT(name)(fd, n); \
	}
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define ALLOCATE(name) \
	int name(int fd, int mode, off_t off, off_t n) { \
		note_fd("allocate", off, n, fd); \
		return NEXT(name)(fd, mode, off, n); \
	}
ALLOCATE(fallocate)
ALLOCATE(fallocate64)

#define MAP(name) \
	void *name(void *at, size_t n, int prot, int flags, int fd, off_t off) { \
		void *p = NEXT(name)(at, n, prot, flags, fd, off); \
		if (fd >= 0 && p != MAP_FAILED) note_fd("map", off, n, fd); \
		return p; \
	}
MAP(mmap)
MAP(mmap64)

int rename(const char *from, const char *to) {
	struct stat st;
	unsigned long long ino = stat(from, &st) == 0 ? st.st_ino : 0;
	int r = NEXT(rename)(from, to);
	if (r == 0) note("rename", 0, 0, ino, to);
	return r;
}

int unlink(const char *path) {
	int r = NEXT(unlink)(path);
	if (r == 0) note("remove", 0, 0, 0, path);
	return r;
}
