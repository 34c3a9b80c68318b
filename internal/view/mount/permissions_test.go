//go:build linux && !386 && !arm

package mount

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"blobio/blob"
)

// TestPermissionsNow checks that permission changes of a mounted dataset show in the mount, also for an open file.
func TestPermissionsNow(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.nc"), 1, 1, blob.Options{})
	manifest := filepath.Join(dir, "a.nc.manifest")
	ok(t, os.Chmod(manifest, 0o644))
	at, _, _ := mountedAt(t, dir, nil)
	f, err := os.Open(filepath.Join(at, "a.nc"))
	ok(t, err)
	defer f.Close()
	ok(t, os.Chmod(manifest, 0o600))
	eventually(t, "the new permissions", func() bool {
		info, err := f.Stat()
		return err == nil && info.Mode().Perm() == 0o400
	})
}

// TestOtherUsers checks that users with access by --allow-other can read only files that they could read without the mount. A
// readable manifest gives no access to data of unreadable subfiles.
func TestOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	top, err := os.MkdirTemp("", "blobio") // other users can search this directory, unlike t.TempDir
	ok(t, err)
	defer os.RemoveAll(top)
	ok(t, os.Chmod(top, 0o755))
	dir, at := filepath.Join(top, "data"), filepath.Join(top, "mount")
	ok(t, os.Mkdir(dir, 0o755))
	ok(t, os.Mkdir(at, 0o755))
	name := filepath.Join(dir, "a.nc")
	write(t, name, 1, 1, blob.Options{})
	files := []string{name + ".manifest", name + ".0000", name + ".0001"}
	for _, f := range files {
		ok(t, os.Chmod(f, 0o644))
	}
	want := converted(t, name, 0)
	log := &lines{}
	m, err := New(dir, at, &Options{AllowOther: true, Log: log.diary()})
	if errors.Is(err, ErrUnavailable) {
		t.Skipf("no FUSE mounts here: %v", err)
	}
	ok(t, err)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		ok(t, m.Unmount(ctx))
	}()

	const user, group = 2001, 2002
	read := func(groups ...uint32) ([]byte, string) {
		var said bytes.Buffer
		cmd := exec.Command("cat", filepath.Join(at, "a.nc"))
		cmd.Stderr = &said
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user, Groups: groups}}
		b, err := cmd.Output()
		if err != nil && said.Len() == 0 {
			t.Skipf("as user %d: %v", user, err)
		}
		return b, said.String()
	}
	can := func(when string, groups ...uint32) {
		t.Helper()
		if b, said := read(groups...); !bytes.Equal(b, want) {
			t.Errorf("%s he reads %d bytes, want %d: %s", when, len(b), len(want), said)
		}
	}
	cannot := func(when string, groups ...uint32) {
		t.Helper()
		if b, said := read(groups...); len(b) > 0 || !strings.Contains(said, "Permission denied") {
			t.Errorf("%s he reads %d bytes: %s", when, len(b), said)
		}
	}
	can("of files for all")
	ok(t, os.Chmod(files[2], 0o600))
	cannot("of a subfile for another user")
	if !strings.Contains(log.String(), "a.nc.0001") {
		t.Errorf("the log does not name the subfile: %s", log)
	}
	if b, err := os.ReadFile(filepath.Join(at, "a.nc")); err != nil || !bytes.Equal(b, want) {
		t.Errorf("root reads %d bytes: %v", len(b), err)
	}
	ok(t, os.Chown(files[2], 0, group))
	ok(t, os.Chmod(files[2], 0o640))
	cannot("of a subfile for a group")
	can("as one of the group", group)
	ok(t, os.Chown(files[2], user, 0))
	ok(t, os.Chmod(files[2], 0o044))
	cannot("of his own that he closed to himself")
	ok(t, os.Chmod(files[2], 0o400))
	can("of his own")
	ok(t, os.Chmod(files[0], 0o600))
	eventually(t, "the manifest's permissions", func() bool {
		_, said := read()
		return strings.Contains(said, "Permission denied")
	})
}
