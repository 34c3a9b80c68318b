package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// history is a store and the content of all versions that were committed to it, including dropped versions.
type history struct {
	*vfs.Mem
	all map[int64]string
}

// salvageStores returns stores with varied histories: versions without changes, drops, retention with moved chunks, several
// lengths and generations, and processes without changes.
func salvageStores(t *testing.T) map[string]history {
	t.Helper()
	out := map[string]history{}
	for name, v := range map[string]struct {
		keep    Retention
		ranks   int
		isolate bool
		opt     *Options
		drop    bool
	}{
		"all":       {ranks: 1},
		"retention": {keep: Retention{Last: 3, Every: 7}, ranks: 2},
		"processes": {keep: Retention{Last: 4}, ranks: 3, isolate: true},
		"encrypted": {ranks: 2, isolate: true, opt: &Options{Key: []byte("0123456789abcdef"), Compress: true}},
		"drop":      {ranks: 2, isolate: true, drop: true},
	} {
		mem, st := memStore(t)
		all := map[int64]string{0: string(make([]byte, 6000))}
		out[name] = history{mem, all}
		for job := range 2 {
			ranks(t, v.ranks, func(ctx context.Context, c comm.Comm) error {
				if v.isolate {
					c = commtest.Isolate(c)
				}
				a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Int16, Shape: []int64{3000}, Chunk: 512, Keep: v.keep}, v.opt)
				if job > 0 {
					a, err = Open(ctx, c, st, "a", v.opt)
				}
				must(t, err)
				for k := range int64(9) {
					if k == 5 {
						if _, err := a.Reserve(ctx, 2500+500*int64(job)); err != nil {
							return err
						}
					}
					if c.Rank() == 0 && k%4 != 3 { // version 4 has no changes, and most versions change only some of the chunks
						at := (k * 700) % 2000
						must(t, Put(ctx, a, []int64{at}, []int64{at + 400}, slices.Repeat([]int16{int16(100*job) + int16(k)}, 400)))
					}
					n, err := a.Inc(ctx, 1, fmt.Sprint("step ", k))
					must(t, err)
					if c.Rank() == 0 {
						b := make([]byte, 2*elems(a.state.shape))
						must(t, a.getBytes(ctx, []int64{0}, a.state.shape, b))
						all[n] = string(b)
					}
					must(t, c.Barrier(ctx))
				}
				if v.drop {
					for _, d := range []int64{2, 4, 5} {
						must(t, a.Drop(ctx, d+9*int64(job)))
					}
				}
				return a.Close(ctx)
			})
		}
	}
	return out
}

// contents returns the elements of all readable versions.
func contents(t *testing.T, mem vfs.FS) map[int64]string {
	t.Helper()
	out := map[int64]string{}
	v, err := OpenView("d/a", mem, nil)
	must(t, err)
	if v.sealed {
		v.Close()
		if v, err = OpenView("d/a", mem, []byte("0123456789abcdef")); err != nil {
			t.Fatal(err)
		}
	}
	defer v.Close()
	for _, x := range v.Versions() {
		b := make([]byte, 2*x.Shape[0])
		if err := v.Get(bg, x.Number, []int64{0}, x.Shape, b); err == nil {
			out[x.Number] = string(b)
		}
	}
	return out
}

func names(t *testing.T, mem vfs.FS, dir string) (out []string) {
	t.Helper()
	list, err := mem.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func remove(t *testing.T, mem vfs.FS, files ...string) {
	t.Helper()
	for _, f := range files {
		must(t, mem.Remove(f))
	}
}

// harm damages a file in one of three ways.
func harm(t *testing.T, mem *vfs.Mem, name, how string, at int64) {
	t.Helper()
	if how == "delete" {
		remove(t, mem, name)
		return
	}
	f, err := mem.OpenRW(name)
	must(t, err)
	defer f.Close()
	size, err := f.Size()
	must(t, err)
	if how == "cut" {
		must(t, f.Truncate(at%size))
		return
	}
	b := []byte{0}
	if _, err := f.ReadAt(b, at%size); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b, at%size); err != nil {
		t.Fatal(err)
	}
}

// TestRebuildRecord: both records are lost. The rebuilt record has every version, with unchanged bytes.
func TestRebuildRecord(t *testing.T) {
	for name, mem := range salvageStores(t) {
		want := contents(t, mem)
		remove(t, mem, "d/a/"+recordName, "d/a/"+secondName)
		if _, err := OpenView("d/a", mem, nil); err == nil || errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "versions rebuild") {
			t.Errorf("%s: without a record: %v", name, err)
		}
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error { // Open does not treat a store without records as empty
			st := &Store{Dir: "d", FS: mem}
			if _, err := Open(ctx, c, st, "a", nil); err == nil || errors.Is(err, ErrMissing) {
				return fmt.Errorf("Open: %v", err)
			}
			if _, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Int8, Shape: []int64{1}}, nil); err == nil {
				return errors.New("Create in place of it")
			}
			return nil
		})
		before := names(t, mem, "d/a")
		look, err := Rebuild(bg, "d/a/", mem, true)
		if err != nil || !slices.Equal(names(t, mem, "d/a"), before) {
			t.Fatalf("%s: a dry run: %+v, %v", name, look, err)
		}
		got, err := Rebuild(bg, "d/a", mem, false)
		if err != nil || got.Whole || got.FromTwin || !slices.EqualFunc(got.Versions, look.Versions, func(a, b VersionInfo) bool { return a.Number == b.Number }) {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		have := contents(t, mem)
		for v, b := range want {
			if have[v] != b {
				t.Errorf("%s: version %d is another, or lost; there are %d of %d", name, v, len(have), len(want))
			}
		}
		for v, b := range have { // some dropped versions may reappear
			if mem.all[v] != b {
				t.Errorf("%s: version %d is another than it was", name, v)
			}
		}
		sound(t, openOne(t, mem, "a"))
		if again, err := Rebuild(bg, "d/a", mem, false); err != nil || !again.Whole {
			t.Errorf("%s: a whole one: %+v, %v", name, again, err)
		}
	}
}

// TestRebuildDamaged: both records are lost, and another file is damaged. The rebuilt record may have fewer versions, but never
// wrong bytes.
func TestRebuildDamaged(t *testing.T) {
	every := 3
	if long {
		every = 1
	}
	n := 0
	for name, mem := range salvageStores(t) {
		want := contents(t, mem)
		remove(t, mem, "d/a/"+recordName, "d/a/"+secondName)
		for _, d := range []string{".", "d", "d/a"} {
			must(t, mem.SyncDir(d))
		}
		for i, file := range names(t, mem, "d/a") {
			for k, how := range []string{"flip", "cut", "delete"} {
				if (i+k)%every != 0 {
					continue
				}
				n++
				m := mem.CrashClone(vfs.CrashOptions{})
				harm(t, m, "d/a/"+file, how, int64(97*i+13))
				got, err := Rebuild(bg, "d/a", m, false)
				if errors.Is(err, ErrMissing) {
					continue
				}
				if err != nil {
					t.Fatalf("%s: %s of %s: %v", name, how, file, err)
				}
				have := contents(t, m)
				for v, b := range have {
					if mem.all[v] != b {
						t.Fatalf("%s: %s of %s: version %d is another: %+v", name, how, file, v, got)
					}
				}
				if len(have) == 0 {
					t.Errorf("%s: %s of %s: nothing is left of %d versions", name, how, file, len(want))
				}
			}
		}
	}
	t.Logf("%d damages", n)
}

// TestRebuildSetsAside: if the new record cannot include a file, the file is durably renamed before the new record exists.
// Otherwise a writer would remove it, because it removes files that are in no record.
func TestRebuildSetsAside(t *testing.T) {
	mem, st := memStore(t)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Int8, Shape: []int64{4000}, Chunk: 512}, nil)
		must(t, err)
		for k := range int64(3) {
			must(t, Put(ctx, a, []int64{0}, []int64{4000}, slices.Repeat([]int8{int8(k) + 1}, 4000)))
			inc(ctx, t, a)
		}
		return a.Close(ctx)
	})
	remove(t, mem, "d/a/"+recordName, "d/a/"+secondName)
	for _, d := range []string{".", "d", "d/a"} {
		must(t, mem.SyncDir(d))
	}
	file := names(t, mem, "d/a")[0]
	harm(t, mem, "d/a/"+file, "cut", 100)
	looked := false
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && op.New == "d/a/"+recordName {
			looked = true
			if have := names(t, mem.CrashClone(vfs.CrashOptions{}), "d/a"); slices.Contains(have, file) || !slices.Contains(have, leftPrefix+file) {
				t.Errorf("after a power cut: %q", have)
			}
		}
		return nil
	})
	if got, err := Rebuild(bg, "d/a", fsys, false); err != nil || len(got.Left) == 0 || !looked {
		t.Fatalf("%+v, %v, looked %v", got, err, looked)
	}
}

// TestSumOfVersions: if a needed file is missing in a record, the record is invalid, even if all files in it are valid.
func TestSumOfVersions(t *testing.T) {
	mem := salvageStores(t)["all"]
	rec, err := readRecord(mem, "d/a")
	must(t, err)
	rec.Files = slices.Delete(rec.Files, 1, 2)
	must(t, writeRecord(mem, "d/a", rec, true))
	v := openOne(t, mem, "a")
	found := false
	for f := range v.Check(bg, nil) {
		found = found || errors.Is(f.Err, ErrCorrupt) && strings.Contains(f.Msg, "differ from the committed chunks")
	}
	if !found {
		t.Error("a file that is missing in the record was not found")
	}
}
