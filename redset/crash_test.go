package redset

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/durable"
	"blobio/internal/vfs"
)

var errDied = errors.New("the device died")

// afterCut is a copy of a file system in which everything is synced.
func afterCut(t testing.TB, fsys vfs.FS) *vfs.Mem {
	m := toMem(t, fromMem(t, fsys, "."))
	for name := range fromMem(t, m, ".") {
		if err := errors.Join(m.SyncDir(filepath.Dir(name)), m.SyncDir(".")); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// userFiles checks those of the ranks: as they were, or (where lost before) gone.
func userFiles(t *testing.T, what string, fsys vfs.FS, whole map[string][]byte, lost string) {
	t.Helper()
	got := fromMem(t, fsys, ".")
	for name, b := range whole {
		if !strings.Contains(name, "/f") {
			continue
		}
		g, ok := got[name]
		if !ok && strings.HasPrefix(name, lost) {
			continue
		}
		if !bytes.Equal(g, b) {
			t.Fatalf("%s: %s was harmed", what, name)
		}
	}
}

// crashes are what a power loss may leave: nothing unsynced, or some of it.
func crashes(m *vfs.Mem, seed int64) []*vfs.Mem {
	return []*vfs.Mem{m.CrashClone(vfs.CrashOptions{}), m.CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(seed))})}
}

var crashSchemes = []Options{{Scheme: XOR}, {Scheme: RS, K: 2}, {Scheme: Partner}}

// crashWay is a way to the bytes of files: read, and mapped.
type crashWay struct {
	name  string
	sizes [][]int
	see   func(*vfs.Mem) vfs.FS
	step  int64 // from one operation that fails to the next
}

var crashWays = []crashWay{
	{"read", crashSizes, func(m *vfs.Mem) vfs.FS { return m }, 1},
	{"mapped", mapSizes, func(m *vfs.Mem) vfs.FS { return mapped(m) }, 3},
}

// crashRuns calls f for all schemes and ways.
func crashRuns(t *testing.T, f func(t *testing.T, o Options, way crashWay)) {
	for _, way := range crashWays {
		for _, o := range crashSchemes {
			t.Run(o.label()+"/"+way.name, func(t *testing.T) { f(t, o, way) })
		}
	}
}

var crashSizes = [][]int{{5000}, {500, 700}, {0, 3333}, {1201}}

// TestCrashInEncode: whenever it stops, the files are as they were, and what redundancy there is tells no lies.
func TestCrashInEncode(t *testing.T) {
	crashRuns(t, func(t *testing.T, o Options, way crashWay) {
		base := newCluster(t, o, way.sizes)
		whole := fromMem(t, base.fs, ".")
		c := vfs.Count(way.see(afterCut(t, base.fs)))
		if err := base.encode("shared", func(int) vfs.FS { return c }); err != nil {
			t.Fatal(err)
		}
		for n := int64(1); n <= c.Ops(); n += way.step {
			m := afterCut(t, base.fs)
			dying := vfs.FailFrom(way.see(m), n, errDied)
			if err := base.encode("shared", func(int) vfs.FS { return dying }); err == nil && n < c.Ops()-8 {
				t.Fatalf("operation %d of %d: nobody noticed", n, c.Ops())
			}
			for i, left := range crashes(m, n) {
				what := fmt.Sprintf("operation %d, clone %d", n, i)
				userFiles(t, what, left, whole, "-")
				cl := &cluster{n: base.n, o: o, files: base.files, fs: left}
				if _, err := cl.recover("shared", cl.own); err != nil && !errors.Is(err, ErrNone) && !errors.Is(err, ErrMissing) {
					t.Fatalf("%s: %v", what, err)
				}
				userFiles(t, what+", recovered", left, whole, "-")
				if err := cl.encode("shared", cl.own); err != nil {
					t.Fatalf("%s: encode again: %v", what, err)
				}
			}
		}
	})
}

// TestCrashInRecover: whenever it stops, the next one completes it.
func TestCrashInRecover(t *testing.T) {
	crashRuns(t, func(t *testing.T, o Options, way crashWay) {
		base := newCluster(t, o, way.sizes)
		if err := base.encode("shared", base.own); err != nil {
			t.Fatal(err)
		}
		whole := fromMem(t, base.fs, ".")
		base.lose(t, 2)
		start := base.fs
		c := vfs.Count(way.see(afterCut(t, start)))
		if _, err := base.recover("shared", func(int) vfs.FS { return c }); err != nil {
			t.Fatal(err)
		}
		for n := int64(1); n <= c.Ops(); n += way.step {
			m := afterCut(t, start)
			dying := vfs.FailFrom(way.see(m), n, errDied)
			_, _ = base.recover("shared", func(int) vfs.FS { return dying })
			for i, left := range crashes(m, n) {
				what := fmt.Sprintf("operation %d, clone %d", n, i)
				userFiles(t, what, left, whole, "n2/")
				cl := &cluster{n: base.n, o: o, files: base.files, fs: left}
				if _, err := cl.recover("shared", cl.own); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				got := fromMem(t, left, ".")
				for name := range got {
					if durable.IsTemp(name) {
						delete(got, name) // of the one that died; the next of the same name replaces it
					}
				}
				same(t, got, whole)
			}
		}
	})
}

// TestFaultInEncode: any operation of one rank that fails is an error on all, and leaves no redundancy file.
func TestFaultInEncode(t *testing.T) {
	for _, mode := range []string{"shared", "isolated"} {
		crashRuns(t, func(t *testing.T, o Options, way crashWay) {
			base := newCluster(t, o, way.sizes)
			whole := fromMem(t, base.fs, ".")
			m := way.see(afterCut(t, base.fs))
			ops := vfs.Count(m)
			one := func(f, m vfs.FS) func(int) vfs.FS {
				return func(r int) vfs.FS {
					if r == 1 {
						return f
					}
					return m
				}
			}
			if err := base.encode(mode, one(ops, m)); err != nil {
				t.Fatal(err)
			}
			for n := int64(1); n <= ops.Ops(); n++ {
				m := way.see(afterCut(t, base.fs))
				var failed vfs.Op
				f := vfs.NewFault(m, func(op vfs.Op) error {
					if op.Seq == n {
						failed = op
						return errDied
					}
					return nil
				})
				err := base.encode(mode, one(f, m))
				if err == nil {
					if failed.Kind.Changes() {
						t.Errorf("%s %s: %v failed, and nobody noticed", o.label(), mode, failed)
					}
					continue
				}
				for name := range fromMem(t, m, ".") {
					if strings.HasSuffix(name, ".redset") && strings.Contains(name, ".grp_") {
						t.Errorf("%s %s: %v failed, and %s is there", o.label(), mode, failed, name)
					}
				}
				userFiles(t, failed.String(), m, whole, "-")
			}
		})
	}
}

// TestFaultInRecover: one failing operation is an error on all ranks or none, and harms nothing.
func TestFaultInRecover(t *testing.T) {
	for i, mode := range []string{"shared", "isolated"} {
		crashRuns(t, func(t *testing.T, o Options, way crashWay) {
			base := newCluster(t, o, way.sizes)
			if err := base.encode("shared", base.own); err != nil {
				t.Fatal(err)
			}
			whole := fromMem(t, base.fs, ".")
			base.lose(t, 1)
			start := base.fs
			ops := vfs.Count(way.see(afterCut(t, start)))
			if _, err := base.recover(mode, func(int) vfs.FS { return ops }); err != nil {
				t.Fatal(err)
			}
			for n := int64(1 + i); n <= ops.Ops(); n += 2 * way.step {
				m := way.see(afterCut(t, start))
				_, err := base.recover(mode, func(int) vfs.FS { return vfs.FailNth(m, n, errDied) })
				userFiles(t, fmt.Sprint(o.label(), mode, n), m, whole, "n1/")
				cl := &cluster{n: base.n, o: o, files: base.files, fs: m}
				if _, err2 := cl.recover(mode, cl.own); err2 != nil {
					t.Fatalf("%s %s: operation %d: %v, then %v", o.label(), mode, n, err, err2)
				}
				got := fromMem(t, m, ".")
				for name := range got {
					if durable.IsTemp(name) {
						delete(got, name)
					}
				}
				same(t, got, whole)
			}
		})
	}
}
