//go:build linux && !386 && !arm

package mount

import (
	"context"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"blobio/extra/peers/lockfs"
)

// handle is an open file.
type handle struct {
	*fs.LoopbackFile
	m    *Mount
	file *lockfs.File

	mu    sync.Mutex
	calls map[uint32]writeCall // by thread
}

// writeCall is the part of a thread's write that the kernel has passed on so far.
type writeCall struct{ off, n int64 }

// PassthroughFd keeps the kernel from going around us.
func (h *handle) PassthroughFd() (int, bool) { return 0, false }

func (h *handle) Read(ctx context.Context, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	h.m.s.Read(h.m.client, h.file, off, int64(len(b)))
	return h.LoopbackFile.Read(ctx, b, off)
}

func (h *handle) Write(ctx context.Context, b []byte, off int64) (uint32, syscall.Errno) {
	n, errno := h.LoopbackFile.Write(ctx, b, off)
	if errno == 0 {
		h.m.s.Write(h.m.client, h.file, off, int64(n))
		h.join(tid(ctx), off, int64(n))
	}
	return n, errno
}

// join puts together a call that the kernel hands over in parts. All parts but the last have up to 256 pages; the pages at the ends of each piece of
// a vector may have few bytes. So a thread's next write at the end of its last one, if that was large, counts as the same call.
func (h *handle) join(tid uint32, off, n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.calls[tid]
	switch {
	case ok && c.off+c.n == off:
		c.n += n
	case ok:
		h.m.s.Wrote(h.m.client, h.file, c.off, c.n)
		c = writeCall{off, n}
	default:
		c = writeCall{off, n}
	}
	delete(h.calls, tid)
	if n < maxWrite/2 {
		h.m.s.Wrote(h.m.client, h.file, c.off, c.n)
		return
	}
	if h.calls == nil {
		h.calls = map[uint32]writeCall{}
	}
	h.calls[tid] = c
}

// finish counts a call that may be incomplete.
func (h *handle) finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.calls {
		h.m.s.Wrote(h.m.client, h.file, c.off, c.n)
	}
	clear(h.calls)
}

func (h *handle) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	h.m.call(tid(ctx), "fsync", h.m.s.Name(h.file))
	h.m.s.Sync(h.m.client, h.file)
	return h.LoopbackFile.Fsync(ctx, flags)
}

func (h *handle) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	h.m.call(tid(ctx), "allocate", h.m.s.Name(h.file))
	return h.LoopbackFile.Allocate(ctx, off, size, mode)
}

func (h *handle) Setlk(ctx context.Context, owner uint64, lk *fuse.FileLock, flags uint32) syscall.Errno {
	h.m.call(tid(ctx), "lock", h.m.s.Name(h.file))
	return h.LoopbackFile.Setlk(ctx, owner, lk, flags)
}

func (h *handle) Setlkw(ctx context.Context, owner uint64, lk *fuse.FileLock, flags uint32) syscall.Errno {
	h.m.call(tid(ctx), "lock", h.m.s.Name(h.file))
	return h.LoopbackFile.Setlkw(ctx, owner, lk, flags)
}

func (h *handle) Getlk(ctx context.Context, owner uint64, lk *fuse.FileLock, flags uint32, out *fuse.FileLock) syscall.Errno {
	h.m.call(tid(ctx), "lock", h.m.s.Name(h.file))
	return h.LoopbackFile.Getlk(ctx, owner, lk, flags, out)
}

func (h *handle) Release(ctx context.Context) syscall.Errno {
	h.finish()
	h.m.s.Meta(h.m.client, 0, "close", h.m.s.Name(h.file))
	return h.LoopbackFile.Release(ctx)
}
