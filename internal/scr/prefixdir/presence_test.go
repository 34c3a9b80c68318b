package prefixdir

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// TestPresence removes parts of a complete dataset and checks that Presence reports the missing part. An error of the file
// system must be reported separately.
func TestPresence(t *testing.T) {
	d := constant(t)
	x, err := d.Index.Read()
	must(t, err)
	e, _ := x.Entry(ckpt(4).Name)
	if gone, err := d.Presence().Of(e); gone != nil || err != nil {
		t.Fatal(gone, err)
	}
	m, err := d.Datasets.ReadMap(d.Datasets.Place(4))
	must(t, err)
	under := d.FS
	d.FS = vfs.NewFault(under, func(op vfs.Op) error {
		if op.Kind == vfs.OpReadDir {
			return syscall.EMFILE
		}
		return nil
	})
	if gone, err := d.Presence().Of(e); gone != nil || !errors.Is(err, syscall.EMFILE) {
		t.Error(gone, err)
	}
	d.FS = under
	must(t, under.Remove(d.Path+"/"+m.Paths()[0]))
	if gone, err := d.Presence().Of(e); !errors.Is(gone, fault.ErrMissing) || err != nil {
		t.Error(gone, err)
	}
	must(t, d.Datasets.RemoveSummary(d.Datasets.Place(4)))
	if gone, err := d.Presence().Of(e); !errors.Is(gone, fault.ErrMissing) || errors.Is(gone, fs.ErrPermission) || err != nil {
		t.Error(gone, err)
	}
	e.Complete = false
	if gone, err := d.Presence().Of(e); gone != nil || err != nil {
		t.Error(gone, err)
	}
}

// TestPresenceHere checks a file that is directly in the prefix directory, when the working directory is the prefix
// directory.
func TestPresenceHere(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, vfs.WriteFile(vfs.OS, "a", nil))
	if there, err := Open(nil, ".").Presence().holds("a"); !there || err != nil {
		t.Error(there, err)
	}
}
