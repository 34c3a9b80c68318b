package redset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/testfiles"
	"blobio/internal/vfs"
	"blobio/scr/kvtree"
)

// TestMetadata: mode and times of a rebuilt file, on the file system of the operating system.
func TestMetadata(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1_700_000_000, 123_456_000)
	name := func(r int) string { return filepath.Join(dir, fmt.Sprint(r), "sub", "data") }
	err := run(t, "isolated", 3, func(ctx context.Context, c comm.Comm) error {
		r := c.Rank()
		if err := os.MkdirAll(filepath.Dir(name(r)), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name(r), make([]byte, 1000*r), 0o600); err != nil {
			return err
		}
		if err := errors.Join(os.Chmod(name(r), 0o440), os.Chtimes(name(r), at, at)); err != nil {
			return err
		}
		s, err := New(ctx, c, Options{Scheme: XOR, Root: filepath.Join(dir, fmt.Sprint(r))})
		if err != nil {
			return err
		}
		prefix := filepath.Join(dir, fmt.Sprint(r), "rs.")
		if err := s.Encode(ctx, vfs.OS, []string{"sub/data"}, prefix); err != nil {
			return err
		}
		if r == 2 {
			if err := os.RemoveAll(filepath.Join(dir, "2")); err != nil {
				return err
			}
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		_, err = Recover(ctx, c, vfs.OS, prefix, &RecoverOptions{Root: filepath.Join(dir, fmt.Sprint(r))})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(name(2))
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() != 2000 || !st.ModTime().Equal(at) || st.Mode().Perm() != 0o440 {
		t.Errorf("%v %v, %d bytes", st.Mode(), st.ModTime(), st.Size())
	}
}

// TestRealCache: caches of the real SCR 3.1, of which a node is lost and rebuilt.
func TestRealCache(t *testing.T) {
	for _, k := range []struct {
		name string
		ids  []int
	}{{"xor_1_after_crash", []int{3, 4}}, {"partner_1_after_crash", []int{3, 4}}} {
		for _, id := range k.ids {
			for _, kind := range []string{"reddesc", "reddescmap"} {
				whole := load(t, testfiles.Dir(t, "scr", k.name, "nodes"))
				dir := fmt.Sprintf("user1/scr.1145655/scr.dataset.%d/", id)
				at := func(rank int, name string) string {
					_, rest, _ := strings.Cut(name, "/nodelocal/")
					return fmt.Sprintf("node%d/%s", rank, rest)
				}
				fsys := toMem(t, whole)
				gone := fmt.Sprintf("node2/%s.scr/%s.er.2.", dir, kind)
				lost := 0
				for name := range whole {
					user := strings.Contains(name, "node2/"+dir) && (kind == "reddesc" && strings.HasSuffix(name, ".ckpt") ||
						kind == "reddescmap" && strings.HasSuffix(name, "filemap_2"))
					if user || strings.HasPrefix(name, gone) {
						lost++
						if err := fsys.Remove(name); err != nil {
							t.Fatal(err)
						}
					}
				}
				if lost < 3 {
					t.Fatalf("%s: lost %d files only", k.name, lost)
				}
				err := run(t, "isolated", 4, func(ctx context.Context, c comm.Comm) error {
					prefix := fmt.Sprintf("node%d/%s.scr/%s.er.", c.Rank(), dir, kind)
					rep, err := Recover(ctx, c, fsys, prefix, &RecoverOptions{Map: at})
					if err == nil && rep.Verified {
						err = errors.New("verified without checksums")
					}
					return err
				})
				if err != nil {
					t.Fatalf("%s %d %s: %v", k.name, id, kind, err)
				}
				same(t, fromMem(t, fsys, "."), whole)
			}
		}
	}
}

// TestFormsOfB: names and keys of generations A and B.
func TestFormsOfB(t *testing.T) {
	for gen, want := range map[Generation]string{GenA: "2_of_4_in_0.xor", GenB: "xor.0_2_of_4.scr"} {
		cl := newCluster(t, Options{Scheme: XOR, Generation: gen, Dataset: datasetTree()}, even[:4])
		if err := cl.encode("isolated", cl.own); err != nil {
			t.Fatal(err)
		}
		name := "n1/rs." + want
		all, err := list(cl.fs, "n1/rs.")
		if err != nil || len(all) != 1 || all[0].name != name {
			t.Fatalf("%v %v, want %s", all, err, name)
		}
		b, _, err := readRecord(cl.fs, name)
		if err != nil {
			t.Fatal(err)
		}
		tr, _, err := decodeTree(name, b)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{
			"CHUNK": "400", "RANKS": "4", "GROUP RANKS": "4", "GROUP RANK 2": "2", "DSET ID": "7", "CURRENT RANK": "1", "CURRENT FILES": "2",
			"CURRENT FILE 1 FILE": "f1", "CURRENT FILE 1 SIZE": "600", "CURRENT FILE 0 COMPLETE": "1", "PARTNER RANK": "0", "PARTNER FILES": "1",
		} {
			keys := strings.Fields(path)
			if got, err := tr.At(keys[:len(keys)-1]...).Val(keys[len(keys)-1]); err != nil || got != want {
				t.Errorf("generation %v: %s is %q, want %q (%v)", gen, path, got, want, err)
			}
		}
	}
}

func datasetTree() *kvtree.Tree {
	t := kvtree.New()
	put(t, 7, "ID")
	return t
}

// FuzzHeader: no header makes the reader panic, and what it accepts can be laid out.
func FuzzHeader(f *testing.F) {
	for _, o := range schemes {
		cl := newCluster(f, o, uneven[:6])
		if err := cl.encode("shared", cl.own); err != nil {
			f.Fatal(err)
		}
		all, err := list(cl.fs, "n1/rs.")
		if err != nil {
			f.Fatal(err)
		}
		b, _, err := readRecord(cl.fs, all[0].name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(all[0].name[len("n1/rs."):], b[:len(b)-4])
		sums, _ := vfs.ReadFile(cl.fs, all[0].sumName("n1/rs."), 1<<20)
		f.Add("", sums)
	}
	f.Fuzz(func(_ *testing.T, name string, b []byte) {
		if len(b) >= 28 { // without its checksum, or nothing would get past it
			b = append([]byte(nil), b...)
			b[8], b[9], b[10], b[11], b[12], b[13] = 0, 0, 0, 0, 0, 0
			b[14], b[15] = byte(len(b)>>8), byte(len(b))
			b[19] &^= 1
		}
		_, _ = parseSums("", b)
		p, ok := parseName(name)
		if !ok {
			return
		}
		h, err := parseHeader(name, p, b)
		if err != nil {
			return
		}
		ev := make([]*evidence, h.n)
		for m := range ev {
			ev[m] = &evidence{}
		}
		ev[h.rank] = &evidence{name, b, b}
		r, err := newRepair(h.position, make([]int, h.n), ev)
		if err == nil {
			_, _ = r.plan()
		}
	})
}
