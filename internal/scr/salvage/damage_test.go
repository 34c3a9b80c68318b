package salvage

import (
	"context"
	"errors"
	"math/rand"
	"strings"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/scr/redset"
)

// TestCrash crashes before each operation that changes data. Afterwards all datasets listed as complete must be whole, and
// another attempt must succeed.
func TestCrash(t *testing.T) {
	ctx := context.Background()
	for i, v := range vectors {
		start := load(t, v.name)
		every := crashtest.Times(7, 1)
		if testing.Short() {
			every = 8
		}
		sc := crashtest.Scenario{Start: []*vfs.Mem{start.Mem}, Every: every, Seed: int64(i), Only: func(op vfs.Op) bool { return op.Kind.Changes() },
			Run: crashtest.One(func(fsys vfs.FS) error { return salvageAll(ctx, fsys, 0, 1, 3) })}
		for f := range sc.Faults(t, crashtest.Dies(errors.New("dead"))) {
			n := f.N
			o := vfs.CrashOptions{}
			if n/2%2 == 0 {
				o.Rand = rand.New(rand.NewSource(n))
			}
			after := f.Mem[0].CrashClone(o)
			d := prefixdir.Open(after, prefix)
			if e := entry(t, d, "ckpt.4"); e.Complete {
				if err := intact(after, 4, v.files); err != nil {
					t.Fatalf("%s: crash at %d: listed as complete, but %v", v.name, n, err)
				}
			}
			if err := intact(after, 3, v.files); err != nil {
				t.Fatalf("%s: crash at %d: %v", v.name, n, err)
			}
			if err := salvageAll(ctx, after, 0, 1, 3); err != nil {
				t.Fatalf("%s: crash at %d, again: %v", v.name, n, err)
			}
			if err := intact(after, 4, v.files); err != nil {
				t.Fatalf("%s: crash at %d, again: %v", v.name, n, err)
			}
			if e := entry(t, d, "ckpt.4"); !e.Complete || !e.Current {
				t.Fatalf("%s: crash at %d, again: %+v", v.name, n, e)
			}
			for _, name := range append(filesOf(t, after, prefix+"/ckpt.4"), filesOf(t, after, prefix+"/.scr/scr.dataset.4")...) {
				if isLeft(name) {
					t.Fatalf("%s: crash at %d: %s stays", v.name, n, name)
				}
			}
		}
	}
}

// A flipped byte in a copied file must be repaired, or the dataset must be rejected. A damaged dataset must never be listed.
func TestFlips(t *testing.T) {
	ctx := context.Background()
	for _, v := range vectors {
		for _, nodes := range [][]int{{0, 1, 2, 3}, {0, 1, 3}} {
			start := load(t, v.name)
			must(t, scavengeAll(ctx, start, nodes...))
			syncAll(t, start.Mem, "/")
			names := append(filesOf(t, start, prefix+"/ckpt.4"), filesOf(t, start, prefix+"/.scr/scr.dataset.4")...)
			mended, refused := 0, 0
			for i, name := range names {
				for k, at := range []int64{0, 57, 700} {
					if !crashtest.Long() && (i+k)%3 != 0 {
						continue
					}
					m := start.CrashClone(vfs.CrashOptions{})
					flip(t, m, name, at+int64(i))
					d := prefixdir.Open(m, prefix)
					_, err := Index(ctx, Options{Prefix: d, ID: 4, Current: true})
					e := entry(t, d, "ckpt.4")
					if err != nil {
						refused++
						if e.Complete || !errors.Is(err, fault.ErrMissing) && !errors.Is(err, fault.ErrCorrupt) {
							t.Fatalf("%s %v: %s: %v, %+v", v.name, nodes, name, err, e)
						}
						if len(nodes) == 4 {
							t.Errorf("%s: %s: one byte cannot be mended: %v", v.name, name, err)
						}
						// The nodes still have the dataset, so that another salvage succeeds.
						must(t, salvageAll(ctx, m, nodes...))
					} else {
						mended++
					}
					if err := intact(m, 4, v.files); err != nil {
						t.Fatalf("%s %v: %s: %v", v.name, nodes, name, err)
					}
				}
			}
			t.Logf("%s, nodes %v: %d mended, %d refused", v.name, nodes, mended, refused)
		}
	}
}

// Truncated and missing files in a node's cache must be rebuilt. The original SCR records only sizes.
func TestDamagedCache(t *testing.T) {
	ctx := context.Background()
	for name, spoil := range map[string]func(t *testing.T, m *vfs.Mem, dir string){
		"file gone":   func(t *testing.T, m *vfs.Mem, dir string) { must(t, m.Remove(dir+"/rank_2.0.ckpt")) },
		"map gone":    func(t *testing.T, m *vfs.Mem, dir string) { must(t, m.Remove(dir+"/.scr/filemap_2")) },
		"map damaged": func(t *testing.T, m *vfs.Mem, dir string) { flip(t, m, dir+"/.scr/filemap_2", 99) },
		"metadata gone": func(t *testing.T, m *vfs.Mem, dir string) {
			for _, n := range filesOf(t, m, dir+"/.scr") {
				must(t, m.Remove(n))
			}
		},
		"parity short": func(t *testing.T, m *vfs.Mem, dir string) {
			for _, n := range filesOf(t, m, dir+"/.scr") {
				if strings.Contains(n, "mem_3_of_4") {
					f, err := m.OpenRW(n)
					must(t, err)
					must(t, errors.Join(f.Truncate(700), f.Close()))
				}
			}
		},
		"folder gone": func(t *testing.T, m *vfs.Mem, dir string) {
			must(t, cachedir.Delete(m, dir))
		},
	} {
		for _, v := range vectors {
			t.Run(name+" "+v.name, func(t *testing.T) {
				c := load(t, v.name)
				spoil(t, c.Mem, "/nodes/node2/user1/scr.1145655/scr.dataset.4")
				must(t, salvageAll(ctx, c, 0, 1, 2, 3))
				must(t, intact(c, 4, v.files))
			})
		}
	}
}

// In the cache, a byte of a file without checksums changes before the copy. The redundancy shows that a byte has changed, but
// not in which file. Therefore the dataset must not be listed. TestFlips covers changes after the copy.
func TestRebuildDoubt(t *testing.T) {
	c := load(t, "xor_1_after_crash")
	flip(t, c, "/nodes/node2/user1/scr.1145655/scr.dataset.4/rank_2.0.ckpt", 57)
	var doubt *redset.DoubtError
	if err := salvageAll(context.Background(), c, 0, 1, 2, 3); !errors.As(err, &doubt) {
		t.Errorf("%v, want a DoubtError", err)
	}
	if e := entry(t, prefixdir.Open(c, prefix), "ckpt.4"); e.Complete {
		t.Errorf("%+v", e)
	}
}

// All files in the maps exist, but the dataset's record has a larger number of files or bytes.
func TestRebuildTotals(t *testing.T) {
	ctx := context.Background()
	c := load(t, "xor_1_after_crash")
	d := prefixdir.Open(c, prefix)
	must(t, scavengeAll(ctx, c, 0, 1, 2, 3))
	res, err := Rebuild(ctx, Options{Prefix: d, ID: 4})
	must(t, err)
	for want, change := range map[error]func(ds *prefixdir.Dataset){
		fault.ErrMissing: func(ds *prefixdir.Dataset) { ds.Files++ },
		fault.ErrCorrupt: func(ds *prefixdir.Dataset) { ds.Size++ },
	} {
		ds := res.Dataset
		change(&ds)
		if _, err := Rebuild(ctx, Options{Prefix: d, ID: 4, Dataset: ds}); !errors.Is(err, want) {
			t.Errorf("%d files and %d bytes: %v, want %v", ds.Files, ds.Size, err, want)
		}
	}
}

// If one operation fails, the call must return an error, or its result must be correct.
func TestFaults(t *testing.T) {
	ctx := context.Background()
	for i, v := range vectors {
		start := load(t, v.name)
		sc := crashtest.Scenario{Start: []*vfs.Mem{start.Mem}, Every: crashtest.Times(37, 16), Seed: int64(i), Run: crashtest.One(func(fsys vfs.FS) error { return salvageAll(ctx, fsys, 0, 1, 3) })}
		told := 0
		for f := range sc.Faults(t, crashtest.Fails(errors.New("no luck"))) {
			n, m, err := f.N, f.Mem[0], f.Err
			e := entry(t, prefixdir.Open(m, prefix), "ckpt.4")
			if err == nil && !e.Complete {
				t.Fatalf("%s: operation %d: no error, and not complete", v.name, n)
			}
			if err != nil {
				told++
				must(t, salvageAll(ctx, m, 0, 1, 3))
			}
			if err := intact(m, 4, v.files); err != nil {
				t.Fatalf("%s: operation %d: %v", v.name, n, err)
			}
		}
		t.Logf("%s: %d of the errors tried were told", v.name, told)
	}
}
