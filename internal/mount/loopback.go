//go:build linux && !386 && !arm

package mount

import (
	"context"
	"os"

	"github.com/hanwen/go-fuse/v2/fs"
)

// Loopback shows a directory as it is at the directory at, mounted as New mounts, until ctx ends: what the kernel and go-fuse
// take for the same reads, beside which a Mount is measured. ready is called when it is mounted.
func Loopback(ctx context.Context, dir, at string, ready func()) error {
	if err := available(device, os.Geteuid() == 0, helper); err != nil {
		return err
	}
	at, err := place(dir, at)
	if err != nil {
		return err
	}
	root, err := fs.NewLoopbackRoot(dir)
	if err != nil {
		return pkg.Errorf("%s: %w", dir, err)
	}
	o := options(dir, false, func(any) {})
	o.AttrTimeout, o.DisableXAttrs = o.EntryTimeout, true
	s, err := mountAt(at, root, o)
	if err != nil {
		return pkg.Errorf("%s at %s: %w", dir, at, err)
	}
	ready()
	<-ctx.Done()
	if s.Unmount() == nil {
		s.Wait()
		return nil
	}
	if err := detach(at); err != nil { // files are open
		return pkg.Errorf("unmounting %s: %w", at, err)
	}
	return nil
}
