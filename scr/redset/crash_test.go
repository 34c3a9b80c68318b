package redset

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

var errDied = errors.New("the device died")

// afterCut returns a copy of a file system. In the copy everything is synced.
func afterCut(t testing.TB, fsys vfs.FS) *vfs.Mem {
	m := toMem(t, fromMem(t, fsys, "."))
	for name := range fromMem(t, m, ".") {
		must(t, errors.Join(m.SyncDir(filepath.Dir(name)), m.SyncDir(".")))
	}
	return m
}

// userFiles checks that the files of the ranks are unchanged. Files that were lost before may be missing.
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

// leaves calls f for possible states of the files after a power loss, in which none or some of the unsynced data are
// left.
func leaves(fault *crashtest.Fault, f func(what string, left *vfs.Mem)) {
	f(fault.When+", then a power cut", fault.Mem[0].CrashClone(vfs.CrashOptions{}))
	f(fault.When+", then a power cut, torn", fault.Mem[0].CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(fault.N))}))
}

// scenario returns a crash scenario for a cluster. The files of the cluster are synced.
func scenario(t *testing.T, base *cluster, quick int, run func(d *crashtest.Disks) error) *crashtest.Scenario {
	return &crashtest.Scenario{Start: []*vfs.Mem{afterCut(t, base.fs)}, Every: crashtest.Times(quick, 1), Run: run}
}

// all gives every rank the same file system.
func all(fsys vfs.FS) func(int) vfs.FS { return func(int) vfs.FS { return fsys } }

var crashSchemes = []Options{{Scheme: XOR}, {Scheme: RS, K: 2}, {Scheme: Partner}}

// crashRuns calls f for all schemes.
func crashRuns(t *testing.T, f func(t *testing.T, o Options)) {
	for _, o := range crashSchemes {
		t.Run(o.label(), func(t *testing.T) { f(t, o) })
	}
}

var crashSizes = [][]int{{5000}, {500, 700}, {0, 3333}, {1201}}

// TestCrashInEncode checks the state after a crash at any point of Encode. The files must be unchanged, and redundancy
// that exists must agree with them.
func TestCrashInEncode(t *testing.T) {
	crashRuns(t, func(t *testing.T, o Options) {
		base := newCluster(t, o, crashSizes)
		whole := fromMem(t, base.fs, ".")
		s := scenario(t, base, 5, func(d *crashtest.Disks) error { return base.encode("shared", all(d.FS[0])) })
		for f := range s.Faults(t, crashtest.Dies(errDied)) {
			if f.Err == nil && f.N < f.Of-8 {
				t.Fatalf("%s (of %d): nobody noticed", f.When, f.Of)
			}
			leaves(f, func(what string, left *vfs.Mem) {
				userFiles(t, what, left, whole, "-")
				cl := &cluster{n: base.n, o: o, files: base.files, fs: left}
				if _, err := cl.recover("shared", cl.own); err != nil && !errors.Is(err, ErrNone) && !errors.Is(err, fault.ErrMissing) {
					t.Fatalf("%s: %v", what, err)
				}
				userFiles(t, what+", recovered", left, whole, "-")
				if err := cl.encode("shared", cl.own); err != nil {
					t.Fatalf("%s: encode again: %v", what, err)
				}
			})
		}
	})
}

// TestCrashInRecover checks that after a crash at any point of Recover the next Recover completes the work.
func TestCrashInRecover(t *testing.T) {
	crashRuns(t, func(t *testing.T, o Options) {
		base := newCluster(t, o, crashSizes)
		must(t, base.encode("shared", base.own))
		whole := fromMem(t, base.fs, ".")
		base.lose(t, 2)
		s := scenario(t, base, 17, func(d *crashtest.Disks) error {
			_, err := base.recover("shared", all(d.FS[0]))
			return err
		})
		for f := range s.Faults(t, crashtest.Dies(errDied)) {
			leaves(f, func(what string, left *vfs.Mem) {
				userFiles(t, what, left, whole, "n2/")
				cl := &cluster{n: base.n, o: o, files: base.files, fs: left}
				if _, err := cl.recover("shared", cl.own); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				same(t, lasting(t, left), whole)
			})
		}
	})
}

// lasting returns all files except the temporary files of a dead program. The next writer replaces those.
func lasting(t testing.TB, fsys vfs.FS) map[string][]byte {
	got := fromMem(t, fsys, ".")
	for name := range got {
		if durable.IsTemp(name) {
			delete(got, name)
		}
	}
	return got
}

// TestFaultInEncode lets any operation of one rank fail. All ranks must get an error, and no redundancy file may be left.
func TestFaultInEncode(t *testing.T) {
	for _, mode := range []string{"shared", "isolated"} {
		crashRuns(t, func(t *testing.T, o Options) {
			base := newCluster(t, o, crashSizes)
			whole := fromMem(t, base.fs, ".")
			s := scenario(t, base, 5, func(d *crashtest.Disks) error {
				return base.encode(mode, func(r int) vfs.FS {
					if r == 1 {
						return d.FS[0]
					}
					return d.Mem[0]
				})
			})
			for f := range s.Faults(t, crashtest.Fails(errDied)) {
				if f.Err == nil {
					if f.Op.Kind.Changes() {
						t.Errorf("%s %s: %s, and nobody noticed", o.label(), mode, f.When)
					}
					continue
				}
				for name := range fromMem(t, f.Mem[0], ".") {
					if strings.HasSuffix(name, ".redset") && strings.Contains(name, ".grp_") {
						t.Errorf("%s %s: %s, and %s is there", o.label(), mode, f.When, name)
					}
				}
				userFiles(t, f.When, f.Mem[0], whole, "-")
			}
		})
	}
}

// TestFaultInRecover lets one operation fail. Either all ranks or none must get an error, and no file may be damaged.
func TestFaultInRecover(t *testing.T) {
	for _, mode := range []string{"shared", "isolated"} {
		crashRuns(t, func(t *testing.T, o Options) {
			base := newCluster(t, o, crashSizes)
			must(t, base.encode("shared", base.own))
			whole := fromMem(t, base.fs, ".")
			base.lose(t, 1)
			s := scenario(t, base, 17, func(d *crashtest.Disks) error {
				_, err := base.recover(mode, all(d.FS[0]))
				return err
			})
			for f := range s.Faults(t, crashtest.Fails(errDied)) {
				what, m := fmt.Sprint(o.label(), " ", mode, ": ", f.When), f.Mem[0]
				userFiles(t, what, m, whole, "n1/")
				cl := &cluster{n: base.n, o: o, files: base.files, fs: m}
				if _, err2 := cl.recover(mode, cl.own); err2 != nil {
					t.Fatalf("%s: %v, then %v", what, f.Err, err2)
				}
				same(t, lasting(t, m), whole)
			}
		})
	}
}
