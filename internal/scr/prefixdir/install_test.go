package prefixdir

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/vfs"
)

// installing returns a prefix directory with the complete dataset 1, and with dataset 2, which is whole and has the same
// file names. renamed files of dataset 2 have their final names. The other files of dataset 2 have hidden names.
func installing(t *testing.T, renamed int) *Dir {
	ctx, d := t.Context(), memDir()
	a, b := ckpt(1), ckpt(2)
	a.Files, a.Size, b.Files, b.Size = 2, 20, 2, 20
	files := func(int) ([]File, error) {
		return []File{{Path: "s/x", HasSize: true, Size: 10}, {Path: "s/y.nc", HasSize: true, Size: 10}}, nil
	}
	must(t, d.FS.MkdirAll("p/s"))
	for i, name := range []string{"x", "y.nc"} {
		at, old := Hidden("p/s/"+name), "p/s/"+name
		if i < renamed {
			at, old = old, ""
		}
		must(t, vfs.WriteFile(d.FS, at, []byte("2222222222")))
		if old != "" {
			must(t, vfs.WriteFile(d.FS, old, []byte("1111111111")))
		}
	}
	must(t, d.Datasets.WriteMap(1, 1, files))
	must(t, d.Datasets.WriteSummary(a, true))
	must(t, d.Index.Update(ctx, func(x *Index) error { return x.Publish(a, time.Unix(1e9, 0)) }))
	must(t, d.Datasets.WriteMap(2, 1, files))
	must(t, d.BeginInstall(b))
	if renamed > 0 {
		c, err := d.Claims(b)
		must(t, err)
		_, err = c.Claim(ctx, "s/x", "s/y.nc")
		must(t, err)
	}
	return d
}

// holds returns a text with the contents of the files and the datasets that are listed as complete.
func holds(t *testing.T, d *Dir) string {
	var s strings.Builder
	for _, name := range []string{"x", "y.nc", ".scr.x", ".scr.y.nc"} {
		b, err := vfs.ReadFile(d.FS, "p/s/"+name, 100)
		if err != nil {
			b = []byte("-")
		}
		s.WriteString(string(b[:1]))
	}
	x, err := d.Index.Read()
	must(t, err)
	for _, e := range x.Entries() {
		if e.Complete {
			s.WriteString(" " + e.Name)
		}
	}
	return s.String()
}

// TestFinishInstalls interrupts the renames at each point. FinishInstalls must then complete the installation or give it up.
func TestFinishInstalls(t *testing.T) {
	var log strings.Builder
	for _, x := range []struct {
		what    string
		renamed int
		hurt    func(d *Dir) error
		want    string
	}{
		{"none renamed", 0, nil, "22-- ckpt.2"},
		{"one renamed", 1, nil, "22-- ckpt.2"},
		{"all renamed", 2, nil, "22-- ckpt.2"},
		{"a file is short", 0, func(d *Dir) error {
			return errors.Join(d.FS.Remove("p/s/.scr.y.nc"), vfs.WriteFile(d.FS, "p/s/.scr.y.nc", []byte("2")))
		}, "11-- ckpt.1"},
		{"a file is gone", 1, func(d *Dir) error { return d.FS.Remove("p/s/x") }, "-1--"},
		{"the map is gone", 0, func(d *Dir) error { return d.FS.Remove("p/.scr/scr.dataset.2/rank2file") }, "1122 ckpt.1"},
	} {
		d := installing(t, x.renamed)
		d.Logger = slog.New(slog.NewTextHandler(&log, nil))
		if x.hurt != nil {
			must(t, x.hurt(d))
		}
		for range 2 {
			must(t, d.FinishInstalls(t.Context()))
			if got := holds(t, d); got != x.want {
				t.Errorf("%s: %s, want %s", x.what, got, x.want)
			}
		}
	}
	if want := "p/s/.scr.y.nc of rank 0"; !strings.Contains(log.String(), want) {
		t.Errorf("logged %s, want %s", &log, want)
	}
}

// TestInstallReplaces checks that a finished dataset replaces an older dataset with the same name.
func TestInstallReplaces(t *testing.T) {
	d := installing(t, 1)
	b := ckpt(2)
	b.Name, b.Files, b.Size = "ckpt.1", 2, 20
	must(t, d.BeginInstall(b))
	must(t, d.FinishInstalls(t.Context()))
	x, err := d.Index.Read()
	must(t, err)
	if e, ok := x.Entry("ckpt.1"); x.Len() != 1 || !ok || e.ID != 2 || !strings.HasPrefix(holds(t, d), "22-- ckpt.1") {
		t.Errorf("%+v %s", e, holds(t, d))
	}
}

// TestInstallDelete checks that deleting or dropping a dataset removes no file of a newer dataset that is being installed.
func TestInstallDelete(t *testing.T) {
	ctx := t.Context()
	for renamed := range 3 {
		d := installing(t, renamed)
		must(t, d.Delete(ctx, "ckpt.1"))
		must(t, d.FinishInstalls(ctx))
		if got := holds(t, d); got != "22-- ckpt.2" {
			t.Errorf("%d renamed, older one deleted: %s", renamed, got)
		}
		d = installing(t, renamed)
		must(t, d.Drop(ctx, "ckpt.1"))
		if _, err := d.Relist(ctx); err != nil {
			t.Error(err)
		}
		if got := holds(t, d); got != "22-- ckpt.2" {
			t.Errorf("%d renamed, older one dropped: %s", renamed, got)
		}
	}
	d := installing(t, 0)
	must(t, d.Index.Update(ctx, func(x *Index) error { return x.Add(ckpt(2), false) }))
	must(t, d.Delete(ctx, "ckpt.2"))
	if got := holds(t, d); got != "11-- ckpt.1" {
		t.Errorf("newer one deleted: %s", got)
	}
}

// TestHidden checks that a hidden name has the folder and the suffix of the original name, and is not too long.
func TestHidden(t *testing.T) {
	long := strings.Repeat("a", 248) + ".h5"
	for _, name := range []string{"a", "/p/a/b.nc", "a/" + long} {
		h := Hidden(name)
		dir, base := h[:strings.LastIndex(h, "/")+1], h[strings.LastIndex(h, "/")+1:]
		if !strings.HasPrefix(name, dir) || len(base) > 255 || !IsHidden(h) || IsHidden(name) || strings.HasSuffix(name, ".h5") != strings.HasSuffix(h, ".h5") {
			t.Errorf("%s: %s", name, h)
		}
	}
}
