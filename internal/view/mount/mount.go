//go:build linux && !386 && !arm

package mount

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"blobio/internal/base/fault"
	"blobio/internal/view/tree"
)

const (
	device   = "/dev/fuse"
	fsType   = "blobio" // the kernel calls it fuse.blobio
	maxRead  = 1 << 20  // maximum bytes of one kernel request
	maxTasks = 64       // concurrent requests of the kernel's read-ahead

	// fresh is the time for which the kernel caches a name. If a file is replaced during this time, opening it detects the
	// replacement.
	fresh = time.Second
)

// A Mount is a mounted directory.
type Mount struct {
	tree *tree.Tree
	opt  Options
	at   string // absolute path of the mount point, without links
	fuse *fuse.Server
	done chan struct{} // closed after the unmount, when no file is in use

	rings atomic.Int32 // used by handles, see opened
}

// New mounts the contents of dir at the directory at. It first removes a stale mount of this package whose process was killed.
func New(dir, at string, o *Options) (*Mount, error) {
	m := &Mount{done: make(chan struct{})}
	if o != nil {
		m.opt = *o
	}
	if err := available(device, os.Geteuid() == 0, helper); err != nil {
		return nil, err
	}
	if m.opt.AllowOther && os.Geteuid() != 0 && !othersAllowed("/etc/fuse.conf") {
		return nil, fault.Usage("only root can allow other users, unless /etc/fuse.conf has the line user_allow_other")
	}
	var err error
	if m.at, err = place(dir, at); err != nil {
		return nil, err
	}
	m.tree, err = tree.Open(dir, &tree.Options{Version: m.opt.Version, Verify: m.opt.Verify, AllowMissing: m.opt.AllowMissing, ZeroFill: m.opt.ZeroFill, Memory: m.opt.Memory, Workers: m.opt.Workers})
	if err != nil {
		return nil, err
	}
	if m.fuse, err = m.serve(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s at %s: %w", dir, at, err), m.tree.Close())
	}
	go func() {
		m.fuse.Wait()
		if err := m.tree.Close(); err != nil {
			m.say("end", "%v", err)
		}
		close(m.done)
	}()
	return m, nil
}

// available returns an error that names a missing requirement.
func available(device string, root bool, helper func() (string, error)) error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	f.Close()
	if !root {
		if _, err := helper(); err != nil {
			return fmt.Errorf("%w: without fusermount3 only root can mount (Debian: apt install fuse3)", ErrUnavailable)
		}
	}
	return nil
}

// othersAllowed reports whether the settings of fusermount3 let users give access to others.
func othersAllowed(settings string) bool {
	b, err := os.ReadFile(settings)
	for line := range strings.Lines(string(b)) {
		if strings.TrimSpace(line) == "user_allow_other" {
			return true
		}
	}
	return err != nil && !errors.Is(err, os.ErrNotExist) // the settings are unreadable, and fusermount3 will report this
}

// helper returns the program that mounts and unmounts for users.
func helper() (string, error) {
	name, err := exec.LookPath("fusermount3")
	if err != nil {
		name, err = exec.LookPath("/bin/fusermount3")
	}
	return name, err
}

// resolve follows links to the mount point. It does not access the mount point itself, which may be the mount of a dead
// process.
func resolve(at string) (string, error) {
	for range maxLinks {
		up, err := filepath.EvalSymlinks(filepath.Dir(at))
		if err != nil {
			return "", err
		}
		at = filepath.Join(up, filepath.Base(at))
		to, err := os.Readlink(at)
		if err != nil {
			return at, nil
		}
		if at = to; !filepath.IsAbs(to) {
			at = filepath.Join(up, to)
		}
	}
	return "", &os.PathError{Op: "mount", Path: at, Err: syscall.ELOOP}
}

// maxLinks is the maximum number of links to follow, as in the kernel.
const maxLinks = 40

// place checks the mount point and removes the stale mount of a killed process.
func place(dir, at string) (string, error) {
	at, err := filepath.Abs(at)
	if err != nil {
		return "", err
	}
	to, err := resolve(at)
	if err != nil {
		return "", err
	}
	if err := clear(to); err != nil {
		return "", err
	}
	info, err := os.Stat(to)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fault.Usage("%s is not a directory", at)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	from, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	for _, p := range [][2]string{{from, to}, {to, from}} {
		if rel, err := filepath.Rel(p[0], p[1]); err == nil && filepath.IsLocal(rel) {
			return "", fault.Usage("%s and %s: one contains the other, want a mount point outside the directory", dir, at)
		}
	}
	return to, nil
}

// serve mounts.
func (m *Mount) serve() (*fuse.Server, error) {
	return mountAt(m.at, &folder{m: m}, options(m.tree.Root(), m.opt.AllowOther, func(v any) { m.say("internal error", "internal error: %v", v) }))
}

// options returns the options of every mount. The kernel shows source as the mounted device. panicked receives the value of a
// panic in a call.
func options(source string, allowOther bool, panicked func(v any)) *fs.Options {
	quiet := log.New(io.Discard, "", 0)
	short, none := fresh, time.Duration(0) // none for attributes: each handler sets their lifetime
	o := &fs.Options{
		EntryTimeout: &short, AttrTimeout: &none, NegativeTimeout: &none, NullPermissions: true, Logger: quiet,
		MountOptions: fuse.MountOptions{
			AllowOther: allowOther, FsName: source, Name: fsType, Options: []string{"default_permissions"},
			MaxWrite: maxRead, MaxReadAhead: maxRead, MaxBackground: maxTasks,
			DisableReadDirPlus: true, DisableSplice: true, DisabledCapabilities: fuse.CAP_PASSTHROUGH,
			ExtraCapabilities: fuse.CAP_DIRECT_IO_ALLOW_MMAP, // shared mappings, from Linux 6.6
			Logger:            quiet,
			PanicHandler: func(v any) fuse.Status {
				panicked(v)
				return fuse.EIO
			},
		},
	}
	if os.Geteuid() == 0 {
		o.DirectMountStrict, o.DirectMountFlags = true, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY
	} else {
		o.Options = append(o.Options, "ro")
	}
	return o
}

func mountAt(at string, root fs.InodeEmbedder, o *fs.Options) (*fuse.Server, error) {
	s, err := fs.Mount(at, root, o)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENODEV):
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	case err != nil: // fusermount3 has already printed the reason; its text of several lines becomes one line
		err = errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	return s, err
}

// Wait returns when the directory is unmounted, by this process or another, and no file of the mount is open.
func (m *Mount) Wait() { <-m.done }

// Unmount unmounts the directory. While programs have files open, the mount is only detached, so that no other program can
// enter it. Unmount returns when the files are closed or ctx is done.
func (m *Mount) Unmount(ctx context.Context) error {
	select {
	case <-m.done:
		return nil
	default:
	}
	if err := m.fuse.Unmount(); err == nil {
		<-m.done
		return nil
	}
	select {
	case <-m.done: // already unmounted
		return nil
	default:
	}
	if err := detach(m.at); err != nil {
		return fmt.Errorf("cannot unmount %s: %w", m.at, err)
	}
	m.say("unmount", "%s: files are open; the mount ends when they are closed", m.at)
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: unmounted while files were open: %w", m.at, syscall.EBUSY)
	}
}

// detach detaches a mount, even if it is in use.
func detach(at string) error {
	if os.Geteuid() == 0 {
		return unix.Unmount(at, unix.MNT_DETACH)
	}
	name, err := helper()
	if err != nil {
		return err
	}
	out, err := exec.Command(name, "-u", "-z", at).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w", strings.TrimSpace(string(out)), err)
	}
	return nil
}

// say logs an event of a kind.
func (m *Mount) say(what, format string, args ...any) {
	m.opt.Log.Say(fault.Printable(what), fault.Printable(fmt.Sprintf(format, args...)))
}
