//go:build linux && !386 && !arm

package mount

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"blobio/internal/view/tree"
)

// folder is a directory.
type folder struct {
	fs.Inode
	m    *Mount
	path string // path in the tree
}

var _ interface {
	fs.NodeLookuper
	fs.NodeReaddirer
	fs.NodeGetattrer
	fs.NodeStatfser
} = (*folder)(nil)

// number makes an inode number from the text that identifies a node. Numbers 0 and 1 are reserved.
func number(parts ...string) uint64 {
	h := sha256.New()
	for _, s := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))>>1 | 2 // programs may treat the number as signed
}

func (m *Mount) hidden(e *tree.Entry) bool {
	return m.opt.OnlyDatasets && (e.Kind == tree.KindPlain || e.Parts)
}

// Lookup finds an entry. A replaced dataset is a new node, so that open files and the kernel's cache do not mix the two. A
// growing dataset stays the same node.
func (f *folder) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	p := path.Join(f.path, name)
	e, err := f.m.tree.Lookup(p)
	if err == nil && f.m.hidden(&e) {
		return nil, unix.ENOENT
	}
	if err != nil {
		return nil, f.m.errno("look up", p, err)
	}
	var node fs.InodeEmbedder
	at := fs.StableAttr{Mode: fuse.S_IFREG}
	switch e.Kind {
	case tree.KindDir:
		at.Mode, at.Ino, node = fuse.S_IFDIR, number(p), &folder{m: f.m, path: p}
	case tree.KindDataset:
		at.Ino, node = number(p, "dataset", e.Line), &dataset{m: f.m, path: p, line: e.Line, entry: e}
	default:
		at.Ino, node = number(p, "file", e.File), &plain{m: f.m, path: p, entry: e}
	}
	n := f.NewInode(ctx, node, at)
	if d, ok := n.Operations().(*dataset); ok && d != node { // the kernel already knows this node, and open files keep it
		e = d.update()
	}
	attributes(&e, &out.Attr)
	out.Attr.Ino = at.Ino
	out.SetAttrTimeout(valid(&e))
	return n, 0
}

// Readdir lists the directory without opening entries.
func (f *folder) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	list, err := f.m.tree.Names(f.path)
	if err != nil {
		return nil, f.m.errno("list", f.path, err)
	}
	var out []fuse.DirEntry
	for _, e := range list {
		if f.m.hidden(&e) {
			continue
		}
		d := fuse.DirEntry{Name: e.Name, Mode: fuse.S_IFREG}
		if e.Kind == tree.KindDir {
			d.Mode = fuse.S_IFDIR
		}
		out = append(out, d)
	}
	return fs.NewListDirStream(out), 0
}

// Getattr returns the present attributes of the directory.
func (f *folder) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	e, err := f.m.tree.Lookup(f.path)
	if err != nil {
		return f.m.errno("look up", f.path, err)
	}
	attributes(&e, &out.Attr)
	out.SetTimeout(fresh)
	return 0
}

// Statfs describes the file system that contains the directory.
func (f *folder) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	var st unix.Statfs_t
	if err := unix.Statfs(f.m.tree.Root(), &st); err != nil {
		return fs.ToErrno(err)
	}
	out.Blocks, out.Bfree, out.Bavail, out.Files, out.Ffree = st.Blocks, st.Bfree, st.Bavail, st.Files, st.Ffree
	out.Bsize, out.Frsize, out.NameLen = uint32(st.Bsize), uint32(st.Frsize), uint32(st.Namelen)
	return 0
}

// valid returns how long the kernel may cache attributes: not at all for a growing dataset, so that it asks before each read.
func valid(e *tree.Entry) time.Duration {
	if e.Growing {
		return 0
	}
	return fresh
}

// attributes sets the attributes that stat shows. Nobody may write.
func attributes(e *tree.Entry, out *fuse.Attr) {
	out.Mode, out.Nlink = fuse.S_IFREG|uint32(e.Mode)&0o444, 1
	if e.Kind == tree.KindDir {
		out.Mode = fuse.S_IFDIR | uint32(e.Mode)&0o555
	}
	out.Size, out.Blocks = uint64(e.Size), (uint64(e.Size)+511)/512
	out.Owner = fuse.Owner{Uid: e.UID, Gid: e.GID}
	out.SetTimes(&e.ModTime, &e.ModTime, &e.ModTime)
}

// short finds a resource shortage of this process or system in the error chain. Otherwise the number is EIO.
func short(err error) (n syscall.Errno, is bool) {
	for _, n := range []syscall.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM} {
		if errors.Is(err, n) {
			return n, true
		}
	}
	return unix.EIO, false
}

// errno returns the error number for a program. The log gets the text.
func (m *Mount) errno(what, p string, err error) syscall.Errno {
	n, exhausted := short(err)
	switch {
	case exhausted:
	case errors.Is(err, os.ErrNotExist):
		return unix.ENOENT
	case errors.Is(err, os.ErrPermission):
		n = unix.EACCES
	case errors.Is(err, tree.ErrTooMany):
		n = unix.ENFILE
	case errors.Is(err, unix.ESTALE):
		n = unix.ESTALE
	}
	m.say(what+" "+p, "%s %s: %v: %v", what, p, n, err)
	return n
}
