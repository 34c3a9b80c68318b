//go:build linux && !386 && !arm

// Package mount serves a directory over FUSE as one client of lockfs. It needs /dev/fuse, and root for mounts.
package mount

import (
	"fmt"
	"os"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"blobio/extra/peers/lockfs"
)

// maxWrite is the size of the parts in which the kernel passes on a write.
const maxWrite = 1 << 20

// A Mount is a node that sees the directory.
type Mount struct {
	client int
	s      *lockfs.Server
	fuse   *fuse.Server
	names  names
}

// New mounts the directory dir at a path, for a client of s. The kernel caches nothing, so that all clients see each change at
// once; locks of files hold between clients.
func New(s *lockfs.Server, client int, dir, at string) (*Mount, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	m := &Mount{client: client, s: s, names: names{open: map[uint32][]name{}, dirs: map[lockfs.Key]bool{}, known: map[entry]lockfs.Key{}}}
	loop, err := fs.NewLoopbackRoot(dir)
	if err != nil {
		return nil, err
	}
	m.fuse, err = fs.Mount(at, &node{LoopbackNode: loop.(*fs.LoopbackNode), m: m}, &fs.Options{
		EntryTimeout: new(time.Duration), AttrTimeout: new(time.Duration), NegativeTimeout: new(time.Duration), NullPermissions: true,
		MountOptions: fuse.MountOptions{
			AllowOther: true, DirectMountStrict: true, FsName: dir, Name: "lockfs", MaxWrite: maxWrite,
			EnableLocks: true, DisableXAttrs: true, DisableReadDirPlus: true,
			ExtraCapabilities: fuse.CAP_DIRECT_IO_ALLOW_MMAP, DisabledCapabilities: fuse.CAP_PASSTHROUGH,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", dir, at, err)
	}
	return m, nil
}

// Unmount ends the mount. When it returns, all that programs did is counted.
func (m *Mount) Unmount() error {
	if err := m.fuse.Unmount(); err != nil {
		return err
	}
	m.fuse.Wait()
	m.lookups(0, m.names.all())
	return nil
}

// call counts a metadata call of a thread, and before it the names that the thread has looked up for another reason.
func (m *Mount) call(tid uint32, kind, path string, of ...name) {
	m.lookups(tid, m.names.used(tid, of))
	m.s.Meta(m.client, tid, kind, path)
}

func (m *Mount) lookups(tid uint32, list []name) {
	for _, x := range list {
		m.s.Meta(m.client, tid, "lookup", x.name)
	}
}
