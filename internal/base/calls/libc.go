//go:build linux && cgo && (mpi || libc)

package calls

// #if __SIZEOF_POINTER__ == 4
// #define _FILE_OFFSET_BITS 64
// #endif
// #define _GNU_SOURCE
// #include <errno.h>
// #include <fcntl.h>
// #include <stdint.h>
// #include <stdio.h>
// #include <sys/stat.h>
// #include <sys/uio.h>
// #include <unistd.h>
//
// // Each function returns -errno if the call fails. Memory is passed as char *: cgo knows that chars hold no pointers, and
// // does not search the allocation around the bytes for pointers.
// #define DONE(n) int64_t n_ = (n); return n_ < 0 ? -errno : n_
//
// static int64_t call_open(char *name, int flag, uint32_t mode) { DONE(open(name, flag, (mode_t)mode)); }
// static int64_t call_close(int fd) { DONE(close(fd)); }
// static int64_t call_pread(int fd, char *b, size_t n, int64_t off) { DONE(pread(fd, b, n, off)); }
// static int64_t call_pwrite(int fd, char *b, size_t n, int64_t off) { DONE(pwrite(fd, b, n, off)); }
// static int64_t call_pwritev(int fd, char *iov, int n, int64_t off) { DONE(pwritev(fd, (const struct iovec *)(void *)iov, n, off)); }
// static int64_t call_ftruncate(int fd, int64_t n) { DONE(ftruncate(fd, n)); }
// static int64_t call_fallocate(int fd, int mode, int64_t off, int64_t n) { DONE(fallocate(fd, mode, off, n)); }
// static int64_t call_fsync(int fd) { DONE(fsync(fd)); }
// static int64_t call_fdatasync(int fd) { DONE(fdatasync(fd)); }
// static int64_t call_rename(char *from, char *to) { DONE(rename(from, to)); }
// static int64_t call_unlink(char *name) { DONE(unlink(name)); }
//
// // fstat under its name in glibc before 2.33, so that programs linked with a newer glibc run with an older one. The number
// // is the version of struct stat.
// #if defined __GLIBC__ && defined __x86_64__ && defined __LP64__
// extern int __fxstat(int, int, struct stat *);
// #define fstat(fd, st) __fxstat(1, fd, st)
// #elif defined __GLIBC__ && defined __aarch64__ && defined __LP64__
// extern int __fxstat(int, int, struct stat *);
// #define fstat(fd, st) __fxstat(0, fd, st)
// #endif
//
// static int64_t call_size(int fd) {
// 	struct stat st;
// 	return fstat(fd, &st) < 0 ? -errno : (int64_t)st.st_size;
// }
import "C"

import (
	"runtime"
	"syscall"
	"unsafe"
)

// done splits the result of a call into a number and an error.
func done(n C.int64_t) (int64, error) {
	if n < 0 {
		return -1, syscall.Errno(-n)
	}
	return int64(n), nil
}

func failed(n C.int64_t) error {
	_, err := done(n)
	return err
}

// named calls f with a C string of name. A name with a zero byte is EINVAL.
func named(name string, f func(s *C.char) error) error {
	b, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return again(func() error { return f((*C.char)(unsafe.Pointer(b))) })
}

func start(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }

func open(name string, flag int, mode uint32) (fd int, err error) {
	err = named(name, func(s *C.char) error {
		n, err := done(C.call_open(s, C.int(flag), C.uint32_t(mode)))
		fd = int(n)
		return err
	})
	return fd, err
}

// closeFD is not repeated after a signal, because the descriptor is free then and another file may have got it.
func closeFD(fd int) error { return failed(C.call_close(C.int(fd))) }

func pread(fd int, b []byte, off int64) (int, error) {
	n, err := done(C.call_pread(C.int(fd), start(b), C.size_t(len(b)), C.int64_t(off)))
	return int(n), err
}

func pwrite(fd int, b []byte, off int64) (int, error) {
	n, err := done(C.call_pwrite(C.int(fd), start(b), C.size_t(len(b)), C.int64_t(off)))
	return int(n), err
}

// iovec is struct iovec. The address is a number, so that an array of iovecs in Go memory can be passed to C. Pwritev
// keeps the memory alive.
type iovec struct {
	base uintptr
	n    C.size_t
}

// Pwritev is pwritev(2) of at most IOV_MAX slices, none of them empty.
func Pwritev(fd int, bufs [][]byte, off int64) (int, error) {
	list := make([]iovec, len(bufs))
	for i, b := range bufs {
		list[i] = iovec{uintptr(unsafe.Pointer(unsafe.SliceData(b))), C.size_t(len(b))}
	}
	n, err := done(C.call_pwritev(C.int(fd), (*C.char)(unsafe.Pointer(unsafe.SliceData(list))), C.int(len(list)), C.int64_t(off)))
	runtime.KeepAlive(bufs)
	return int(n), err
}

// Fallocate is fallocate(2).
func Fallocate(fd int, mode uint32, off, n int64) error {
	return failed(C.call_fallocate(C.int(fd), C.int(mode), C.int64_t(off), C.int64_t(n)))
}

func fsync(fd int) error { return failed(C.call_fsync(C.int(fd))) }

// Fdatasync is fdatasync(2).
func Fdatasync(fd int) error { return failed(C.call_fdatasync(C.int(fd))) }

func ftruncate(fd int, n int64) error {
	return failed(C.call_ftruncate(C.int(fd), C.int64_t(n)))
}

func size(fd int) (int64, error) { return done(C.call_size(C.int(fd))) }

func rename(from, to string) error {
	return named(from, func(from *C.char) error {
		return named(to, func(to *C.char) error { return failed(C.call_rename(from, to)) })
	})
}

func unlink(name string) error {
	return named(name, func(s *C.char) error { return failed(C.call_unlink(s)) })
}
