package versions_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/versions"
	"blobio/comm"
	"blobio/internal/cli"
	"blobio/scr/redset"
	"blobio/versioned"
)

const protectedNodes = 4

// protectedStore is a store of four nodes, protected by XOR: array a, versions 0, 1 and 2.
func protectedStore(t *testing.T) (stores, arrays []string) {
	t.Helper()
	base := t.TempDir()
	for n := range protectedNodes {
		stores = append(stores, filepath.Join(base, "node"+string(rune('0'+n))))
		clitest.Check(t, os.Mkdir(stores[n], 0o777))
	}
	onProtected(t, stores, func(ctx context.Context, c comm.Comm, st *versioned.Store) error {
		a, err := versioned.Create(ctx, c, st, versioned.Spec{Name: "a", Type: versioned.Int32, Shape: []int64{1024}, Chunk: 512}, nil)
		if err != nil {
			return err
		}
		for v := range int32(2) {
			lo := int64(c.Rank()) * 256
			x := make([]int32, 256)
			for i := range x {
				x[i] = int32(lo) + int32(i) + 10000*v
			}
			if err := versioned.Put(ctx, a, []int64{lo}, []int64{lo + 256}, x); err != nil {
				return err
			}
			if _, err := a.Inc(ctx, 1, ""); err != nil {
				return err
			}
		}
		return a.Close(ctx)
	})
	return stores, versions.Below(stores, "a")
}

func onProtected(t *testing.T, stores []string, f func(ctx context.Context, c comm.Comm, st *versioned.Store) error) {
	t.Helper()
	clitest.Check(t, comm.Run(t.Context(), protectedNodes, &comm.Options{RanksPerNode: 1}, func(ctx context.Context, c comm.Comm) error {
		return f(ctx, c, &versioned.Store{Dir: stores[c.Rank()], Private: true, Redundancy: &redset.Options{Scheme: redset.XOR}})
	}))
}

// one is the only file in a directory whose name has all the words.
func one(t *testing.T, dir string, words ...string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	clitest.Check(t, err)
	var found []string
	for _, e := range list {
		all := true
		for _, w := range words {
			all = all && strings.Contains(e.Name(), w)
		}
		if all {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	if len(found) != 1 {
		t.Fatalf("%q: %q in %s", words, found, dir)
	}
	return found[0]
}

func flip(t *testing.T, name string, off int64) {
	t.Helper()
	b, err := os.ReadFile(name)
	clitest.Check(t, err)
	if off < 0 {
		off += int64(len(b))
	}
	b[off] ^= 4
	clitest.Check(t, os.WriteFile(name, b, 0o666))
}

func cmdline(verb string, dirs []string, more ...string) []string {
	return append(append([]string{"versions", verb}, dirs...), more...)
}

// All verbs on a sound protected store.
func TestVersionsProtected(t *testing.T) {
	stores, arrays := protectedStore(t)
	if out := clitest.Good(t, cmdline("check", stores)...); !strings.HasSuffix(out, "good; 3 versions\n") {
		t.Error(out)
	}
	if out := clitest.Good(t, cmdline("ls", stores)...); !strings.Contains(out, "a ") {
		t.Error(out)
	}
	if out := clitest.Good(t, cmdline("dump", arrays, "--version", "1", "--elements", "1000:1002")...); !strings.Contains(out, "1000 1001") {
		t.Error(out)
	}
	r := clitest.Blobio(t, cmdline("diff", arrays, "--from", "1", "--to", "2")...)
	if r.Code != cli.Findings || !strings.Contains(r.Out, "10000") {
		t.Errorf("%d\n%s%s", r.Code, r.Out, r.Err)
	}
	clitest.Good(t, cmdline("plot", arrays, "-o", filepath.Join(t.TempDir(), "a.svg"))...)
	clitest.Good(t, cmdline("drop", arrays, "--versions", "0-1")...)
	for _, d := range arrays { // its redundancy goes too
		list, err := os.ReadDir(d)
		clitest.Check(t, err)
		for _, e := range list {
			if strings.Contains(e.Name(), "-v1") {
				t.Errorf("%s is left", e.Name())
			}
		}
	}
	if out := clitest.Good(t, cmdline("check", stores, "--notes")...); !strings.HasSuffix(out, "good; 1 version\n") {
		t.Error(out)
	}
	onProtected(t, stores, func(ctx context.Context, c comm.Comm, st *versioned.Store) error {
		a, err := versioned.Open(ctx, c, st, "a", nil)
		if err != nil {
			return err
		}
		return a.Close(ctx)
	})
}

// What is lost or damaged in a protected store is named, by file and by version, and whether it can be rebuilt; what needs none of it works; and Open mends
// it, byte for byte.
func TestVersionsProtectedDamage(t *testing.T) {
	lose := func(name string) func(t *testing.T, arrays []string) string {
		return func(t *testing.T, arrays []string) string {
			f := one(t, arrays[1], strings.Fields(name)...)
			clitest.Check(t, os.Remove(f))
			return f
		}
	}
	spoil := func(off int64, name string) func(t *testing.T, arrays []string) string {
		return func(t *testing.T, arrays []string) string {
			f := one(t, arrays[1], strings.Fields(name)...)
			flip(t, f, off)
			return f
		}
	}
	for _, k := range []struct {
		name   string
		harm   func(t *testing.T, arrays []string) (file string)
		data   bool // it is one of version 2's data
		beyond bool // it cannot be rebuilt
		words  string
	}{
		{"a file lost", lose("v2- .fti"), true, false, "no such file"},
		{"a byte of a file", spoil(700, "v2- .fti"), true, false, ""},
		{"a redundancy file lost", lose("v2. .xor."), false, false, "is lost; the next Open rebuilds it by the redundancy of version 2"},
		{"a byte of a redundancy file", spoil(-5, "v2. .xor."), false, false, "is damaged; the next Open rebuilds it by the redundancy of version 2"},
		{"a node lost", func(t *testing.T, arrays []string) string {
			f := one(t, arrays[2], "v2-", ".fti")
			clitest.Check(t, os.RemoveAll(arrays[2]))
			return f
		}, true, false, "no such file"},
		{"two files lost", func(t *testing.T, arrays []string) string {
			clitest.Check(t, os.Remove(one(t, arrays[3], "v2-", ".fti")))
			f := one(t, arrays[1], "v2-", ".fti")
			clitest.Check(t, os.Remove(f))
			return f
		}, true, true, "what is lost cannot be rebuilt"},
	} {
		t.Run(k.name, func(t *testing.T) {
			stores, arrays := protectedStore(t)
			want := clitest.Good(t, cmdline("dump", arrays, "--version", "2")...)
			before := one(t, arrays[1], "v2-", ".fti")
			sound, err := os.ReadFile(before)
			clitest.Check(t, err)
			file := k.harm(t, arrays)
			versions := "3 versions\n"

			r := clitest.Blobio(t, cmdline("check", stores, "--notes")...)
			if r.Code != cli.Findings || r.Err != "" || !strings.Contains(r.Out, "error: ") || !strings.Contains(r.Out, filepath.Base(file)) || !strings.Contains(r.Out, k.words) {
				t.Errorf("check: %d\n%s%s", r.Code, r.Out, r.Err)
			}
			if rebuilds := strings.Contains(r.Out, "the next Open rebuilds it"); rebuilds == k.beyond {
				t.Errorf("check: rebuilt: %v\n%s", rebuilds, r.Out)
			}
			if !k.data {
				if got := clitest.Good(t, cmdline("dump", arrays, "--version", "2")...); got != want {
					t.Error("the version is not as it was")
				}
			} else {
				if k.name != "a node lost" { // version 1 has no need of it
					clitest.Good(t, cmdline("dump", arrays, "--version", "1")...)
				}
				r := clitest.Blobio(t, cmdline("dump", arrays, "--version", "2")...)
				if r.Code != cli.Failed || !strings.Contains(r.Err, "-r"+string(filepath.Base(file)[len("g1-v2-r")])+".fti") && !k.beyond || strings.Count(r.Err, "\n") != 1 {
					t.Errorf("dump: %d\n%s", r.Code, r.Err)
				}
				clitest.Bad(t, cli.Failed, "", cmdline("diff", arrays, "--from", "1", "--to", "2")...)
			}
			clitest.Good(t, cmdline("ls", arrays)...)
			clitest.Good(t, cmdline("plot", arrays, "-o", filepath.Join(t.TempDir(), "a.svg"))...)
			// What is needed is not known without the tables of all files.
			if r := clitest.Blobio(t, cmdline("drop", arrays, "--keep", "1")...); k.data && !strings.HasPrefix(k.name, "a byte") {
				if r.Code != cli.Failed || strings.Count(r.Err, "\n") != 1 || !strings.Contains(r.Err, "no such file") {
					t.Errorf("drop: %d\n%s", r.Code, r.Err)
				}
			} else if r.Code != cli.Good {
				t.Errorf("drop: %d\n%s", r.Code, r.Err)
			} else {
				versions = "1 version\n"
			}

			failed := false
			onProtected(t, stores, func(ctx context.Context, c comm.Comm, st *versioned.Store) error {
				a, err := versioned.Open(ctx, c, st, "a", nil)
				if c.Rank() == 0 {
					failed = err != nil
				}
				if err != nil {
					return nil
				}
				return a.Close(ctx)
			})
			if failed != k.beyond {
				t.Fatalf("Open fails: %v", failed)
			}
			if k.beyond {
				return
			}
			if out := clitest.Good(t, cmdline("check", stores)...); !strings.HasSuffix(out, "good; "+versions) {
				t.Error(out)
			}
			if b, err := os.ReadFile(before); err != nil || !bytes.Equal(b, sound) {
				t.Errorf("%s is not as it was: %v", before, err)
			}
			if got := clitest.Good(t, cmdline("dump", arrays, "--version", "2")...); got != want {
				t.Error("the version is not as it was")
			}
		})
	}
}
