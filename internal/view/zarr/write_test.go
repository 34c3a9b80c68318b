package zarr

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// dirGetter returns a function that reads keys from a directory.
func dirGetter(fsys vfs.FS, dir string) get {
	return func(key string) ([]byte, error) { return vfs.ReadFile(fsys, filepath.Join(dir, key), 1<<30) }
}

// TestDataset checks both layouts and versions, key by key, against the Reader, with fill values for elements without an owner.
func TestDataset(t *testing.T) {
	for _, layout := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		r := openDataset(t, dataset(t, filepath.Join(t.TempDir(), "d.nc"), layout), blob.VerifyWhole)
		for version, read := range map[Version]func(get) (map[string]*found, map[string]any, error){V2: readV2, V3: readV3} {
			s, err := New(r, &Options{Version: version, ChunkBytes: MinChunk})
			if err != nil {
				t.Fatal(err)
			}
			arrays, _, err := read(s.getter())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, arrays, r)
			f := arrays["T"]
			last := f.raw[(ncol-1)*4 : ncol*4]
			if string(last) != string(f.fillBytes()) {
				t.Errorf("an element without an owner is % x, want % x", last, f.fillBytes())
			}
			if want := []int64{1, 1, ncol}; version == V2 && f.dtype != "<f4" || f.chunks[0] != 1 || f.chunks[1] != want[1] || f.chunks[2] != want[2] {
				t.Errorf("%s in chunks %v", f.dtype, f.chunks)
			}
		}
	}
}

// TestWrite checks that directories contain the dataset with any codecs, memory, workers and ranks, and the same bytes for the
// same codecs.
func TestWrite(t *testing.T) {
	r := openDataset(t, dataset(t, filepath.Join(t.TempDir(), "d.nc"), blob.ProcessCentric), blob.VerifyOnce)
	for name, codecs := range map[string]Codecs{"plain": {}, "zstd": {Zstd: 2, CRC32C: true}, "gzip": {Gzip: 5}} {
		mem := vfs.NewMem()
		for i, memory := range []int64{0, 1} {
			dir := "out" + string(rune('0'+i)) + ".zarr"
			var last atomic.Int64
			o := &WriteOptions{Options: Options{ChunkBytes: 2 * MinChunk, Codecs: codecs}, Memory: memory, FS: mem, NoSync: i == 1,
				Progress: func(done, _ int64) { last.Store(max(last.Load(), done)) }, Workers: 1 + 2*i}
			if err := Write(t.Context(), comm.Self(), r, dir, o); err != nil {
				t.Fatal(err)
			}
			arrays, _, err := readV3(dirGetter(mem, dir))
			if err != nil {
				t.Fatal(name, err)
			}
			equal(t, arrays, r)
			s, err := New(r, &o.Options)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 && last.Load() != s.Bytes() {
				t.Errorf("%s: progress of %d bytes, want %d", name, last.Load(), s.Bytes())
			}
			files := 0
			for key := range s.Keys() {
				want, err := s.Get(t.Context(), key)
				got, gerr := dirGetter(mem, dir)(key)
				if err != nil || gerr != nil || string(got) != string(want) {
					t.Fatalf("%s %s: %v %v", dir, key, err, gerr)
				}
				files++
			}
			if n := count(t, mem, dir); n != files {
				t.Errorf("%s: %d files, want %d", dir, n, files)
			}
		}
	}
	mem := vfs.NewMem()
	if err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		return Write(ctx, c, r, "ranks.zarr", &WriteOptions{FS: mem, Options: Options{ChunkBytes: MinChunk}})
	}); err != nil {
		t.Fatal(err)
	}
	arrays, _, err := readV3(dirGetter(mem, "ranks.zarr"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, arrays, r)
}

func count(t *testing.T, fsys vfs.FS, dir string) (n int) {
	t.Helper()
	list, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.IsDir() {
			n += count(t, fsys, filepath.Join(dir, e.Name()))
		} else {
			n++
		}
	}
	return n
}

// TestWriteDamaged checks that a changed byte is an error of the affected chunks, and that no output gets the name.
func TestWriteDamaged(t *testing.T) {
	dir := t.TempDir()
	name := dataset(t, filepath.Join(dir, "d.nc"), blob.VariableCentric)
	b, err := os.ReadFile(name + ".0000")
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-3] ^= 1 // in the last record
	if err := os.WriteFile(name+".0000", b, 0o666); err != nil {
		t.Fatal(err)
	}
	r := openDataset(t, name, blob.VerifyOnce)
	out := filepath.Join(dir, "out.zarr")
	if err := Write(t.Context(), comm.Self(), r, out, nil); !errors.Is(err, blob.ErrChecksum) {
		t.Errorf("Write: %v", err)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), "d.nc") {
			t.Errorf("left: %s", e.Name())
		}
	}
	s, err := New(r, &Options{ChunkBytes: MinChunk})
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	for key := range s.Keys() {
		if _, err := s.Get(t.Context(), key); errors.Is(err, blob.ErrChecksum) && !errors.Is(err, ErrNoKey) {
			bad++
		} else if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if bad == 0 || bad > nlev {
		t.Errorf("%d keys fail", bad)
	}
	if err := Write(t.Context(), comm.Self(), openDataset(t, name, blob.VerifyNever), out, nil); err != nil {
		t.Errorf("to rescue: %v", err)
	}
	if err := Write(t.Context(), comm.Self(), openDataset(t, name, blob.VerifyWhole), out, nil); !errors.Is(err, blob.ErrUsage) {
		t.Errorf("a Reader that would not see all: %v", err)
	}
}

// TestWriteForce checks that only a Zarr group is replaced, never another directory.
func TestWriteForce(t *testing.T) {
	m := tiny()
	mem := vfs.NewMem()
	if err := errors.Join(mem.Mkdir("mine"), vfs.WriteFile(mem, "mine/thesis", nil)); err != nil {
		t.Fatal(err)
	}
	for _, force := range []bool{false, true} {
		if err := Write(t.Context(), comm.Self(), m, "mine", &WriteOptions{FS: mem, Force: force}); !errors.Is(err, blob.ErrExist) {
			t.Errorf("a directory of another kind, force %v: %v", force, err)
		}
	}
	if _, err := mem.Stat("mine/thesis"); err != nil {
		t.Error(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(Write(t.Context(), comm.Self(), m, "z", &WriteOptions{FS: mem}))
	if err := Write(t.Context(), comm.Self(), m, "z", &WriteOptions{FS: mem}); !errors.Is(err, blob.ErrExist) {
		t.Errorf("without force: %v", err)
	}
	must(Write(t.Context(), comm.Self(), one(), "z", &WriteOptions{FS: mem, Force: true}))
	if arrays, _, err := readV3(dirGetter(mem, "z")); err != nil || len(arrays) != 1 {
		t.Errorf("%v %v", arrays, err)
	}
	for _, o := range []*WriteOptions{{Options: Options{Version: V2}}, {Memory: -1}, {Workers: -1}, {Options: Options{ChunkBytes: 1}}} {
		if err := Write(t.Context(), comm.Self(), m, "y", o); !errors.Is(err, blob.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Write(ctx, comm.Self(), m, "y", &WriteOptions{FS: mem}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := mem.Stat("y"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("y is there: %v", err)
	}
}

// TestWriteFaults lets each operation fail once, and the power fail before each. The name always has the old group or the new
// one.
func TestWriteFaults(t *testing.T) {
	m := tiny()
	mem := vfs.NewMem()
	if err := Write(t.Context(), comm.Self(), one(), "z", &WriteOptions{FS: mem}); err != nil {
		t.Fatal(err)
	}
	write := func(fsys vfs.FS) error {
		return Write(t.Context(), comm.Self(), m, "z", &WriteOptions{FS: fsys, Force: true, Workers: 1})
	}
	holds := func(fsys vfs.FS, when string) int {
		arrays, _, err := readV3(dirGetter(fsys, "z"))
		if err != nil || len(arrays) != 1 && len(arrays) != 2 {
			t.Fatalf("%s: %d arrays, %v", when, len(arrays), err)
		}
		return len(arrays)
	}
	boom := errors.New("boom")
	sc := crashtest.Scenario{Start: []*vfs.Mem{mem}, Torn: 1, Run: crashtest.One(write)}
	for f := range sc.Faults(t, crashtest.Fails(boom)) {
		n := holds(f.Mem[0], f.When)
		if f.Err == nil && n != 2 || f.Err != nil && n != 1 && !errors.Is(f.Err, durable.ErrUnsure) {
			t.Errorf("%s: %d arrays, %v", f.When, n, f.Err)
		}
	}
	for _, cut := range sc.Cuts(t) {
		if n := holds(cut.Mem[0], cut.When); cut.Last && n != 2 {
			t.Errorf("%s: %d arrays", cut.When, n)
		}
	}
}
