package tree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// TestShows checks that each dataset is one file with the size and bytes of Convert's output, and that its own files are hidden.
func TestShows(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	ok(t, os.MkdirAll(at("sub/deep"), 0o777))
	write(t, at("a.nc"), 1, 2, blob.Options{})
	write(t, at("b.nc"), 2, 3, blob.Options{Layout: blob.ProcessCentric})
	write(t, at("sub/c.nc"), 3, 1, blob.Options{Subfiles: 4})
	write(t, at("sub/foreign.nc"), 4, 2, blob.Options{})
	ok(t, os.Remove(at("sub/foreign.nc.manifest")))
	ok(t, os.Symlink("a.nc.manifest", at("a.nc"))) // stand-ins hide nothing
	manifest, err := os.ReadFile(at("b.nc.manifest"))
	ok(t, err)
	ok(t, os.WriteFile(at("b.nc"), manifest, 0o666))
	ok(t, os.Symlink("foreign.nc.manifest", at("sub/foreign.nc")))
	for name, text := range map[string]string{"notes.txt": "hello", "log.0000": "1", "log.0001": "CDF but no", "empty.0000": "", "app.manifest": "{}", "sub/.rc": "x", ".blobio.0123456789abcdef.tmp": "x", ".a.nc.lock": "x", "cdf.0000": "CDF\x01 and then nonsense"} {
		ok(t, os.WriteFile(at(name), []byte(text), 0o666))
	}
	tr := open(t, root, nil)
	shows(t, tr, "", "a.nc dataset", "app.manifest file", "b.nc dataset", "cdf.0000 file", "empty.0000 file", "log.0000 file", "log.0001 file", "notes.txt file", "sub directory")
	shows(t, tr, "sub", ".rc file", "c.nc dataset", "deep directory", "foreign.nc dataset")
	shows(t, tr, "sub/deep")
	ids := map[string]bool{}
	for _, p := range []string{"a.nc", "b.nc", "sub/c.nc", "sub/foreign.nc"} {
		want := converted(t, at(p))
		e, err := tr.Lookup(p)
		ok(t, err)
		if e.Size != int64(len(want)) || e.Err != nil || e.ID == "" || ids[e.ID] || time.Since(e.ModTime) > time.Hour || e.Mode&0o400 == 0 {
			t.Errorf("%s: %+v", p, e)
		}
		ids[e.ID] = true
		d, err := tr.Dataset(t.Context(), p)
		ok(t, err)
		equal(t, p, bytesOf(t, d), want)
		if d.ID() != e.ID || !d.ModTime().Equal(e.ModTime) || d.Reader().Records() != e.Records {
			t.Errorf("%s: held as %s of %v, listed as %+v", p, d.ID(), d.ModTime(), e)
		}
		d.Release()
		d.Release() // does nothing
	}
	absentAll(t, tr, "a.nc.0000", "a.nc.manifest", ".a.nc.lock", "none", "sub/foreign.nc.0001", "log", "app", "cdf", "a.nc/x", "notes.txt/x")
	f, err := tr.File("log.0001")
	ok(t, err)
	f.Close()
	for _, p := range []string{"sub", ""} {
		if _, err := tr.Dataset(t.Context(), p); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%q: %v, want an error that it is a directory", p, err)
		}
	}
	if _, err := tr.Dataset(t.Context(), "notes.txt"); !errors.Is(err, blob.ErrNotFormat) {
		t.Errorf("a text as a dataset: %v", err)
	}
}

// TestShowsPlus checks that a dataset named like an added set of another dataset is shown separately.
func TestShowsPlus(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		write(t, at("b.nc"), 1, 2, blob.Options{Layout: l})
		for _, end := range []string{".0000", ".0001", ".manifest"} {
			ok(t, os.Rename(at("b.nc"+end), at("a.nc+1"+end)))
		}
		for _, list := range [][]string{{"a.nc+1 dataset"}, {"a.nc dataset", "a.nc+1 dataset"}} {
			if len(list) > 1 {
				write(t, at("a.nc"), 2, 1, blob.Options{Layout: l, Force: true})
			}
			tr := open(t, root, nil)
			shows(t, tr, "", list...)
			absentAll(t, tr, "a.nc+1.0000", "a.nc+1.manifest", "a.nc.0000")
			d, err := tr.Dataset(t.Context(), "a.nc+1")
			ok(t, err)
			equal(t, "a.nc+1", bytesOf(t, d), converted(t, at("a.nc+1")))
			d.Release()
		}
		for _, name := range []string{"a.nc", "a.nc+1"} {
			for _, end := range []string{".0000", ".0001", ".manifest"} {
				ok(t, os.Remove(at(name+end)))
			}
		}
	}
}

// TestPlainNetCDF checks that an ordinary netCDF file is a plain file that can also be read as a dataset.
func TestPlainNetCDF(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.nc"), 1, 2, blob.Options{})
	want := converted(t, filepath.Join(root, "a.nc"))
	ok(t, os.WriteFile(filepath.Join(root, "plain.nc"), want, 0o666))
	tr := open(t, root, nil)
	shows(t, tr, "", "a.nc dataset", "plain.nc file")
	d, err := tr.Dataset(t.Context(), "plain.nc")
	ok(t, err)
	defer d.Release()
	equal(t, "plain.nc", bytesOf(t, d), want)
}

// TestNeverLeaves checks that no name leads outside the root.
func TestNeverLeaves(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "root")
	ok(t, os.MkdirAll(filepath.Join(root, "in/er"), 0o777))
	write(t, filepath.Join(top, "secret.nc"), 1, 1, blob.Options{})
	write(t, filepath.Join(root, "in/a.nc"), 1, 1, blob.Options{})
	ok(t, os.WriteFile(filepath.Join(top, "secret"), nil, 0o666))
	for name, to := range map[string]string{
		"out": "../secret", "abs": filepath.Join(top, "secret"), "dirout": "..", "s.nc.0000": "../secret.nc.0000", "s.nc.0001": "../secret.nc.0001", "s.nc.manifest": "../secret.nc.manifest",
		"in/self": ".", "in/er/up": "../..", "in/top": "..", "gone": "nowhere", "loop": "loop", "link": "in", "m.nc.0000": "in/a.nc.0000", "m.nc.0001": "in/a.nc.0001", "file": "in/a.nc.0000",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Skip(err)
		}
	}
	tr := open(t, root, nil)
	// Links to a dataset's files make a dataset with another name, but without its manifest, which has another base name.
	shows(t, tr, "", "file file", "in directory", "link directory", "m.nc dataset")
	shows(t, tr, "in", "a.nc dataset", "er directory")
	shows(t, tr, "link", "a.nc dataset", "er directory")
	shows(t, tr, "in/er")
	absentAll(t, tr, "out", "abs", "dirout", "dirout/secret", "dirout/root/in/a.nc", "s.nc", "s.nc.0000", "in/self", "in/er/up", "gone", "loop", "loop/x",
		"..", "../secret", "in/../in/a.nc", "in//a.nc", "/in/a.nc", "in/", ".", "./in", "in/a.nc\x00", "in/a.nc/", "../root/in/a.nc", strings.Repeat("x", 5000))
	d, err := tr.Dataset(t.Context(), "link/a.nc")
	ok(t, err)
	d.Release()
}

// TestOddNames checks names with any bytes that a file system allows.
func TestOddNames(t *testing.T) {
	root := t.TempDir()
	odd := []string{" ", "-n", "a b.nc", "größe 日本", "new\nline", "q\"uote'", "%2e%2e", "C:\\x", "bad\xff"} // the last two without a dataset
	for _, name := range odd {
		if err := os.Mkdir(filepath.Join(root, name), 0o777); err != nil {
			t.Skip(err)
		}
		if name != "bad\xff" && name != "C:\\x" { // manifests cannot contain these names
			write(t, filepath.Join(root, name, name), 1, 1, blob.Options{})
		}
	}
	tr := open(t, root, nil)
	list, err := listed(tr, "")
	if err != nil || len(list) != len(odd) {
		t.Fatalf("%d entries, %v", len(list), err)
	}
	for _, name := range odd[:len(odd)-2] {
		shows(t, tr, name, name+" dataset")
	}
	shows(t, tr, "bad\xff")
}

// TestAllAtOnce checks that concurrent callers get the same reader.
func TestAllAtOnce(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.nc"), 1, 1, blob.Options{})
	want := converted(t, filepath.Join(root, "a.nc"))
	tr := open(t, root, &Options{Memory: 16 << 20})
	var wg sync.WaitGroup
	held := make([]*Dataset, 50)
	for i := range held {
		wg.Go(func() {
			d, err := tr.Dataset(t.Context(), "a.nc")
			if err != nil {
				t.Error(err)
				return
			}
			held[i] = d
			equal(t, "a.nc", bytesOf(t, d), want)
		})
	}
	wg.Wait()
	for _, d := range held {
		if d == nil || d.Reader() != held[0].Reader() {
			t.Fatal("not the same reader")
		}
	}
	for _, d := range held {
		d.Release()
	}
}

// TestVersions checks that netCDF files have the requested version, and that the error for a dataset that does not fit a version
// gives the reason.
func TestVersions(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.nc"), 1, 1, blob.Options{})
	tr := open(t, root, &Options{Version: cdf5.CDF2})
	d, err := tr.Dataset(t.Context(), "a.nc")
	ok(t, err)
	defer d.Release()
	if b := bytesOf(t, d); string(b[:4]) != "CDF\x02" {
		t.Errorf("begins with %q", b[:4])
	}
	for _, o := range []*Options{{Version: 3}, {Memory: 1}, {MaxOpen: -1}, {Idle: -1}} {
		if _, err := Open(root, o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := Open(filepath.Join(root, "a.nc.0000"), nil); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("a file as the root: %v", err)
	}
	if _, err := Open(filepath.Join(root, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no root: %v", err)
	}
}
