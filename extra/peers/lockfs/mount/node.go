//go:build linux && !386 && !arm

package mount

import (
	"context"
	"path"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"blobio/extra/peers/lockfs"
)

// node is a file or directory: the loopback of go-fuse, with calls counted.
type node struct {
	*fs.LoopbackNode
	m *Mount
}

func (n *node) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{LoopbackNode: ops.(*fs.LoopbackNode), m: n.m}
}

func keyOf(i *fs.Inode) lockfs.Key {
	a := i.StableAttr()
	return lockfs.Key{Ino: a.Ino, Gen: a.Gen}
}

// self returns the node.
func (n *node) self() name { return name{file: keyOf(n.EmbeddedInode())} }

// entry is a name of the directory n.
func (n *node) entry(s string) name { return name{parent: keyOf(n.EmbeddedInode()), name: s} }

// pathOf returns the name of an entry of n in reports.
func (n *node) pathOf(s string) string { return path.Join(n.Path(n.Root()), s) }

func tid(ctx context.Context) uint32 {
	if c, ok := fuse.FromContext(ctx); ok {
		return c.Pid
	}
	return 0
}

func (n *node) Lookup(ctx context.Context, s string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	i, errno := n.LoopbackNode.Lookup(ctx, s, out)
	e := n.entry(s)
	if errno == 0 {
		e.file = keyOf(i)
	}
	n.m.names.lookup(tid(ctx), e, errno == 0 && i.IsDir())
	return i, errno
}

func (n *node) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.m.call(tid(ctx), "getattr", n.pathOf(""), n.self())
	return n.LoopbackNode.Getattr(ctx, f, out)
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	n.m.call(tid(ctx), "setattr", n.pathOf(""), n.self())
	errno := n.LoopbackNode.Setattr(ctx, f, in, out)
	if size, ok := in.GetSize(); ok && errno == 0 {
		n.m.s.Truncate(n.m.s.File(keyOf(n.EmbeddedInode()), n.pathOf(""), int64(size)), int64(size))
	}
	return errno
}

func (n *node) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	n.m.call(tid(ctx), "statfs", n.pathOf(""), n.self())
	return n.LoopbackNode.Statfs(ctx, out)
}

func (n *node) Readlink(ctx context.Context) ([]byte, syscall.Errno) {
	n.m.call(tid(ctx), "readlink", n.pathOf(""), n.self())
	return n.LoopbackNode.Readlink(ctx)
}

func (n *node) Mkdir(ctx context.Context, s string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.m.call(tid(ctx), "mkdir", n.pathOf(s), n.entry(s))
	i, errno := n.LoopbackNode.Mkdir(ctx, s, mode, out)
	if errno == 0 {
		n.m.names.made(n.entry(s), keyOf(i), true)
	}
	return i, errno
}

func (n *node) Mknod(ctx context.Context, s string, mode, rdev uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.m.call(tid(ctx), "mknod", n.pathOf(s), n.entry(s))
	return n.LoopbackNode.Mknod(ctx, s, mode, rdev, out)
}

func (n *node) Symlink(ctx context.Context, target, s string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.m.call(tid(ctx), "symlink", n.pathOf(s), n.entry(s))
	return n.LoopbackNode.Symlink(ctx, target, s, out)
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, s string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.m.call(tid(ctx), "link", n.pathOf(s), n.entry(s), name{file: keyOf(target.EmbeddedInode())})
	return n.LoopbackNode.Link(ctx, target, s, out)
}

func (n *node) Unlink(ctx context.Context, s string) syscall.Errno {
	n.m.call(tid(ctx), "unlink", n.pathOf(s), n.entry(s))
	errno := n.LoopbackNode.Unlink(ctx, s)
	if errno == 0 {
		n.m.names.made(n.entry(s), lockfs.Key{}, false)
	}
	return errno
}

func (n *node) Rmdir(ctx context.Context, s string) syscall.Errno {
	n.m.call(tid(ctx), "rmdir", n.pathOf(s), n.entry(s))
	errno := n.LoopbackNode.Rmdir(ctx, s)
	if errno == 0 {
		n.m.names.made(n.entry(s), lockfs.Key{}, false)
	}
	return errno
}

func (n *node) Rename(ctx context.Context, s string, to fs.InodeEmbedder, s2 string, flags uint32) syscall.Errno {
	dir, ok := to.(*node)
	if !ok {
		return syscall.EXDEV
	}
	n.m.call(tid(ctx), "rename", n.pathOf(s), n.entry(s), dir.entry(s2))
	i := n.GetChild(s)
	errno := n.LoopbackNode.Rename(ctx, s, to, s2, flags)
	if errno == 0 && i != nil {
		n.m.s.Renamed(keyOf(i), dir.pathOf(s2))
		n.m.names.made(n.entry(s), lockfs.Key{}, false)
		n.m.names.made(dir.entry(s2), keyOf(i), i.IsDir())
	}
	return errno
}

func (n *node) Create(ctx context.Context, s string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n.m.call(tid(ctx), "create", n.pathOf(s), n.entry(s))
	i, f, _, errno := n.LoopbackNode.Create(ctx, s, flags, mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	n.m.names.made(n.entry(s), keyOf(i), false)
	h := &handle{LoopbackFile: f.(*fs.LoopbackFile), m: n.m, file: n.m.s.File(keyOf(i), n.pathOf(s), int64(out.Size))}
	return i, h, fuse.FOPEN_DIRECT_IO, 0
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	n.m.call(tid(ctx), "open", n.pathOf(""), n.self())
	f, _, errno := n.LoopbackNode.Open(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	loop := f.(*fs.LoopbackFile)
	var out fuse.AttrOut
	if errno := loop.Getattr(ctx, &out); errno != 0 {
		loop.Release(ctx)
		return nil, 0, errno
	}
	h := &handle{LoopbackFile: loop, m: n.m, file: n.m.s.File(keyOf(n.EmbeddedInode()), n.pathOf(""), int64(out.Size))}
	if flags&syscall.O_TRUNC != 0 {
		n.m.s.Truncate(h.file, 0)
	}
	return h, fuse.FOPEN_DIRECT_IO, 0
}

// opened is a directory as go-fuse has it.
type opened interface {
	fs.FileReaddirenter
	fs.FileFsyncdirer
	fs.FileSeekdirer
	fs.FileReleasedirer
}

func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	n.m.call(tid(ctx), "open", n.pathOf(""), n.self())
	f, flags, errno := n.LoopbackNode.OpendirHandle(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	return &dir{opened: f.(opened), m: n.m, path: n.pathOf("")}, flags, 0
}

// dir is an open directory.
type dir struct {
	opened
	m    *Mount
	path string
	read bool
}

func (d *dir) Readdirent(ctx context.Context) (*fuse.DirEntry, syscall.Errno) {
	if !d.read {
		d.read = true
		d.m.call(tid(ctx), "readdir", d.path)
	}
	return d.opened.Readdirent(ctx)
}

func (d *dir) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	d.m.call(tid(ctx), "fsync", d.path)
	return d.opened.Fsyncdir(ctx, flags)
}

func (d *dir) Releasedir(ctx context.Context, flags uint32) {
	d.m.s.Meta(d.m.client, 0, "close", d.path)
	d.opened.Releasedir(ctx, flags)
}
