//go:build linux && !386 && !arm

package mount

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/diary"
	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
)

var ok = testfiles.Must

// lines is a log that tests can read.
type lines struct {
	d  *diary.Diary
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) diary() *diary.Diary {
	l.d = diary.New(l, nil)
	return l.d
}

func (l *lines) String() string {
	l.d.Flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// mountedAt mounts a directory until the test ends.
func mountedAt(t testing.TB, dir string, o *Options) (at string, m *Mount, log *lines) {
	t.Helper()
	log = &lines{}
	var opt Options
	if o != nil {
		opt = *o
	}
	opt.Log = log.diary()
	at = t.TempDir()
	m, err := New(dir, at, &opt)
	if errors.Is(err, ErrUnavailable) {
		t.Skipf("no FUSE mounts here: %v", err)
	}
	ok(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := m.Unmount(ctx); err != nil {
			t.Error(err)
		}
	})
	return at, m, log
}

const (
	ranks = 4
	width = 1 << 16 // elements per record, of 8 bytes each
)

// write makes a dataset: element i of record r of T is seed + r + i*width; elements of a fixed variable are their indices.
func write(t testing.TB, name string, seed int, records int64, o blob.Options) {
	t.Helper()
	o.Durability = blob.DurableNone
	if o.Subfiles == 0 {
		o.Subfiles = 2
	}
	ok(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		tm, col := s.Dim("time", blob.Unlimited), s.Dim("ncol", width)
		d := s.Decomp(col)
		v := s.Var("T", cdf5.Double, []blob.DimID{tm, col}, blob.Decomposed(d), blob.Att("units", "K"))
		area := s.Var("area", cdf5.Float, []blob.DimID{col}, blob.Decomposed(d))
		const n = width / ranks
		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: []decomp.Req{{Offset: int64(c.Rank() * n), Length: n}}}}, &o)
		if err != nil {
			return err
		}
		a, data := make([]float32, n), make([]float64, n)
		for i := range a {
			a[i] = float32(c.Rank()*n + i)
		}
		err = blob.Put(w, area, 0, a)
		for rec := range records {
			for i := range data {
				data[i] = float64(seed+int(rec)) + float64(c.Rank()*n+i)*width
			}
			err = errors.Join(err, blob.Put(w, v, rec, data), w.Flush(ctx))
		}
		if err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	}))
}

func converted(t testing.TB, name string, version cdf5.Version) []byte {
	t.Helper()
	r, err := blob.Open(t.Context(), name, nil)
	ok(t, err)
	defer r.Close()
	out := filepath.Join(t.TempDir(), "out.nc")
	ok(t, blob.Convert(t.Context(), r, out, &blob.ConvertOptions{Durability: blob.DurableNone, Version: version}))
	b, err := os.ReadFile(out)
	ok(t, err)
	return b
}

func names(t testing.TB, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	ok(t, err)
	var out []string
	for _, d := range list {
		info, err := d.Info()
		ok(t, err)
		out = append(out, fmt.Sprintf("%s %v", d.Name(), info.Mode().IsDir()))
	}
	return strings.Join(out, ", ")
}

// TestMount checks that datasets are files with the bytes of Convert, in their folders. Other files are passed through, and
// nothing can be written.
func TestMount(t *testing.T) {
	dir := t.TempDir()
	ok(t, os.MkdirAll(filepath.Join(dir, "run/h0"), 0o755))
	write(t, filepath.Join(dir, "a.nc"), 1, 3, blob.Options{})
	write(t, filepath.Join(dir, "run/h0/b.nc"), 7, 2, blob.Options{Layout: blob.ProcessCentric})
	ok(t, os.WriteFile(filepath.Join(dir, "run/notes"), []byte("hello"), 0o640))
	at, _, log := mountedAt(t, dir, nil)
	if got := names(t, at) + "; " + names(t, filepath.Join(at, "run")) + "; " + names(t, filepath.Join(at, "run/h0")); got != "a.nc false, run true; h0 true, notes false; b.nc false" {
		t.Errorf("there is %s", got)
	}
	for _, name := range []string{"a.nc", "run/h0/b.nc"} {
		want := converted(t, filepath.Join(dir, name), cdf5.CDF5)
		got, err := os.ReadFile(filepath.Join(at, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d; %v", name, len(got), len(want), err)
		}
		info, err := os.Stat(filepath.Join(at, name))
		ok(t, err)
		man, err := os.Stat(filepath.Join(dir, name+".manifest"))
		ok(t, err)
		if info.Size() != int64(len(want)) || !info.ModTime().Equal(man.ModTime()) || info.Mode() != man.Mode()&0o444 {
			t.Errorf("%s: %d bytes, %v, %v", name, info.Size(), info.ModTime(), info.Mode())
		}
		f, err := os.Open(filepath.Join(at, name))
		ok(t, err)
		for _, off := range []int64{0, 1, 4095, 100000, int64(len(want)) - 3, int64(len(want)), int64(len(want)) + 5000} {
			b := make([]byte, 5000)
			n, err := f.ReadAt(b, off)
			if rest := want[min(off, int64(len(want))):]; !bytes.Equal(b[:n], rest[:min(len(rest), len(b))]) || (err == nil) != (n == len(b)) {
				t.Errorf("%s at %d: %d bytes, %v", name, off, n, err)
			}
		}
		if got, bad, can := mapped(t, filepath.Join(at, name)); can && (!bytes.Equal(got, want) || bad != nil) {
			t.Errorf("%s: mapped, it differs", name)
		}
		ok(t, f.Close())
	}
	if b, err := os.ReadFile(filepath.Join(at, "run/notes")); string(b) != "hello" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	for what, err := range map[string]error{
		"write": os.WriteFile(filepath.Join(at, "new"), nil, 0o666), "open": second(os.OpenFile(filepath.Join(at, "a.nc"), os.O_RDWR, 0)), "remove": os.Remove(filepath.Join(at, "a.nc")),
		"rename": os.Rename(filepath.Join(at, "a.nc"), filepath.Join(at, "b.nc")), "mkdir": os.Mkdir(filepath.Join(at, "d"), 0o777), "chmod": os.Chmod(filepath.Join(at, "a.nc"), 0o777),
	} {
		if !errors.Is(err, unix.EROFS) {
			t.Errorf("%s: %v, want a read-only file system", what, err)
		}
	}
	for _, name := range []string{"a.nc.0000", "a.nc.manifest", "none", "run/none"} {
		if _, err := os.Stat(filepath.Join(at, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if log.String() != "" {
		t.Errorf("logged: %s", log)
	}
}

func second[T any](_ T, err error) error { return err }

// TestOptions checks OnlyDatasets, a version for old readers, and invalid mounts.
func TestOptions(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.nc"), 1, 1, blob.Options{})
	ok(t, os.WriteFile(filepath.Join(dir, "notes"), nil, 0o666))
	at, _, _ := mountedAt(t, dir, &Options{OnlyDatasets: true, Version: cdf5.CDF2})
	if got := names(t, at); got != "a.nc false" {
		t.Errorf("there is %s", got)
	}
	if _, err := os.Stat(filepath.Join(at, "notes")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(at, "a.nc")); err != nil || !bytes.Equal(got, converted(t, filepath.Join(dir, "a.nc"), cdf5.CDF2)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	sub := filepath.Join(dir, "sub")
	ok(t, os.Mkdir(sub, 0o777))
	links := t.TempDir()
	ok(t, errors.Join(os.Symlink(filepath.Dir(at), filepath.Join(links, "up")), os.Symlink("up/"+filepath.Base(at), filepath.Join(links, "at")), os.Symlink("loop", filepath.Join(links, "loop"))))
	for _, c := range []struct {
		dir, at string
		want    error
	}{
		{filepath.Join(dir, "none"), t.TempDir(), os.ErrNotExist}, {dir, filepath.Join(dir, "none"), os.ErrNotExist}, {filepath.Join(dir, "notes"), t.TempDir(), fault.ErrUsage},
		{dir, filepath.Join(dir, "notes"), fault.ErrUsage}, {dir, sub, fault.ErrUsage}, {sub, dir, fault.ErrUsage}, {dir, dir, fault.ErrUsage}, {dir, at, fault.ErrInUse},
		{dir, filepath.Join(links, "up", filepath.Base(at)), fault.ErrInUse}, {dir, filepath.Join(links, "at"), fault.ErrInUse}, {dir, filepath.Join(links, "loop"), unix.ELOOP},
	} {
		if m, err := New(c.dir, c.at, nil); !errors.Is(err, c.want) {
			t.Errorf("%s at %s: %v, want %v", c.dir, c.at, err, c.want)
			if err == nil {
				ok(t, m.Unmount(t.Context()))
			}
		}
	}
}

// TestUnavailable checks that a missing requirement is reported in one line.
func TestUnavailable(t *testing.T) {
	none := func() (string, error) { return "", os.ErrNotExist }
	some := func() (string, error) { return "/bin/fusermount3", nil }
	for _, c := range []struct {
		device string
		root   bool
		helper func() (string, error)
		want   string
	}{
		{filepath.Join(t.TempDir(), "fuse"), true, some, "no such file or directory"}, {os.DevNull, false, none, "without fusermount3"}, {os.DevNull, true, none, ""}, {os.DevNull, false, some, ""},
	} {
		err := available(c.device, c.root, c.helper)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestOthersAllowed checks that settings are read as fusermount3 reads them.
func TestOthersAllowed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fuse.conf")
	if othersAllowed(name) {
		t.Error("without a file")
	}
	for text, want := range map[string]bool{"": false, "# comment\n#user_allow_other\n": false, "mount_max = 5\n user_allow_other \n": true, "user_allow_other": true} {
		ok(t, os.WriteFile(name, []byte(text), 0o666))
		if othersAllowed(name) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

// eventually waits until a condition on the mount holds. The kernel caches names for up to a second.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

// TestChangesWhileMounted checks that committed, replaced and removed datasets appear, change and disappear. An open file stays
// unchanged or becomes an error.
func TestChangesWhileMounted(t *testing.T) {
	for _, layout := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		t.Run(layout.String(), func(t *testing.T) {
			dir := t.TempDir()
			src := filepath.Join(dir, "a.nc")
			at, _, _ := mountedAt(t, dir, nil)
			name := filepath.Join(at, "a.nc")
			if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			write(t, src, 1, 2, blob.Options{Layout: layout})
			first := converted(t, src, 0)
			got, err := os.ReadFile(name) // at once: absent names are not cached
			if err != nil || !bytes.Equal(got, first) {
				t.Fatalf("committed: %d bytes, %v", len(got), err)
			}
			f, err := os.Open(name)
			ok(t, err)
			defer f.Close()
			write(t, src, 1000, 3, blob.Options{Layout: layout, Force: true})
			next := converted(t, src, 0)
			if got, err = os.ReadFile(name); err != nil || !bytes.Equal(got, next) { // at once, since Open checks
				t.Fatalf("replaced: %d bytes, want %d; %v", len(got), len(next), err)
			}
			b := make([]byte, 4096)
			for off := int64(0); off < int64(len(first)); off += int64(len(b)) {
				n, err := f.ReadAt(b, off)
				if err != nil && !errors.Is(err, unix.EIO) && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				if !bytes.Equal(b[:n], first[off:off+int64(n)]) {
					t.Fatalf("what was open has other bytes at %d", off)
				}
			}
			info, err := f.Stat()
			if err != nil || info.Size() != int64(len(first)) {
				t.Errorf("what was open has %d bytes, %v", info.Size(), err)
			}
			eventually(t, "the new size", func() bool {
				info, err := os.Stat(name)
				return err == nil && info.Size() == int64(len(next))
			})
			for _, s := range []string{".manifest", ".0000", ".0001"} {
				ok(t, os.Remove(src+s))
			}
			if _, err := os.Open(name); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("removed: %v", err)
			}
			eventually(t, "the name gone", func() bool {
				_, err := os.Stat(name)
				return errors.Is(err, os.ErrNotExist)
			})
		})
	}
}

// TestBroken checks that an unopenable dataset is listed, and opening it is EIO with a log line.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "a.nc")
	write(t, src, 1, 1, blob.Options{})
	b, err := os.ReadFile(src + ".manifest")
	ok(t, err)
	good := bytes.Clone(b)
	b[len(b)/4] ^= 1 // in both copies
	b[3*len(b)/4] ^= 1
	ok(t, os.WriteFile(src+".manifest", b, 0o666))
	at, _, log := mountedAt(t, dir, nil)
	if got := names(t, at); got != "a.nc false" {
		t.Errorf("there is %s", got)
	}
	for range 3 {
		if _, err := os.ReadFile(filepath.Join(at, "a.nc")); !errors.Is(err, unix.EIO) {
			t.Error(err)
		}
	}
	if s := log.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "open a.nc: 2 more similar lines") || !strings.Contains(s, src+".manifest") {
		t.Errorf("the log: %q", s)
	}
	ok(t, os.WriteFile(src+".manifest", good, 0o666))
	if got, err := os.ReadFile(filepath.Join(at, "a.nc")); err != nil || !bytes.Equal(got, converted(t, src, 0)) {
		t.Errorf("mended: %d bytes, %v", len(got), err)
	}
}

// TestManyAtOnce checks that many programs can read different parts of several datasets.
func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var want [3][]byte
	for i := range want {
		name := filepath.Join(dir, fmt.Sprint(i))
		write(t, name, i, 2, blob.Options{Layout: []blob.Layout{blob.VariableCentric, blob.ProcessCentric}[i%2]})
		want[i] = converted(t, name, 0)
	}
	at, _, _ := mountedAt(t, dir, nil)
	var wg sync.WaitGroup
	for k := range 24 {
		wg.Go(func() {
			i := k % len(want)
			f, err := os.Open(filepath.Join(at, fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			b := make([]byte, 10000)
			for j := range 40 {
				off := int64((k*7919 + j*104729) % len(want[i]))
				n, err := f.ReadAt(b, off)
				if err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(b[:n], want[i][off:off+int64(n)]) {
					t.Errorf("%d at %d: %v", i, off, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestUnmountInUse checks that a mount in use is detached at once. Open files can be read until closed.
func TestUnmountInUse(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.nc"), 1, 1, blob.Options{})
	want := converted(t, filepath.Join(dir, "a.nc"), 0)
	at, m, _ := mountedAt(t, dir, nil)
	f, err := os.Open(filepath.Join(at, "a.nc"))
	ok(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Unmount(ctx); !errors.Is(err, unix.EBUSY) {
		t.Errorf("%v, want that it is in use", err)
	}
	if got := names(t, at); got != "" {
		t.Errorf("there is %s", got)
	}
	b := make([]byte, len(want))
	if _, err := f.ReadAt(b, 0); err != nil || !bytes.Equal(b, want) {
		t.Errorf("what was open: %v", err)
	}
	ok(t, f.Close())
	m.Wait()
	ok(t, m.Unmount(t.Context()))
}
