package redset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/crccat"
	"blobio/internal/fault"
	"blobio/internal/testfiles"
	"blobio/internal/vfs"
	"blobio/scr/kvtree"
)

// The numbers are those of the defects of the reference that concern redundancy files. Defect 1 is also in
// TestFlippedByte and TestScattered, 6 in TestVectorsRecover, 13 in TestLosses.

// TestDefect1SilentCorruption: a flipped byte in a surviving file is not spread into the file that is rebuilt
// from it, and does not stay where it is; beyond the scheme it is an error that changes nothing.
func TestDefect1SilentCorruption(t *testing.T) {
	for _, o := range schemes {
		for _, mode := range []string{"shared", "isolated"} {
			cl := newCluster(t, o, even[:5])
			if err := cl.encode("shared", cl.own); err != nil {
				t.Fatal(err)
			}
			whole := fromMem(t, cl.fs, ".")
			cl.lose(t, 1)
			flip(t, cl.fs, "n2/f0", 100)
			flip(t, cl.fs, "n3/f1", 300)
			before := fromMem(t, cl.fs, ".")
			reps, err := cl.recover(mode, cl.own)
			got := fromMem(t, cl.fs, ".")
			if err != nil {
				var lost *LostError
				if !as(err, &lost) {
					t.Errorf("%s %s: error %v, want a LostError", o.label(), mode, err)
				}
				same(t, got, before)
				continue
			}
			same(t, got, whole)
			if len(reps[2].Corrupt) != 1 || reps[2].Corrupt[0].Name != "n2/f0" || len(reps[3].Corrupt) != 1 {
				t.Errorf("%s %s: corrupt %v, %v", o.label(), mode, reps[2].Corrupt, reps[3].Corrupt)
			}
			if o.Scheme == XOR {
				t.Errorf("%s: two losses were mended", mode)
			}
		}
	}
}

// TestDataOnly: redundancy that nothing is rebuilt from is left alone if that is asked for, and data are not.
func TestDataOnly(t *testing.T) {
	for _, o := range []Options{{Scheme: Partner}, {Scheme: RS, K: 2}} {
		for _, mode := range []string{"shared", "isolated"} {
			cl := newCluster(t, o, even[:5])
			if err := cl.encode("shared", cl.own); err != nil {
				t.Fatal(err)
			}
			whole := fromMem(t, cl.fs, ".")
			all, err := list(cl.fs, "n3/rs.")
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			flip(t, cl.fs, all[0].name, int64(len(whole[all[0].name])-1)) // n3 holds the copy of n2
			flip(t, cl.fs, "n4/f0", 7)
			only := func() error {
				return cl.run(mode, func(ctx context.Context, c comm.Comm) error {
					_, err := Recover(ctx, c, cl.fs, fmt.Sprintf("n%d/rs.", c.Rank()), &RecoverOptions{DataOnly: true})
					return err
				})
			}
			if err := only(); err != nil {
				t.Fatal(err)
			}
			got := fromMem(t, cl.fs, ".")
			if o.Scheme == Partner && bytes.Equal(got[all[0].name], whole[all[0].name]) {
				t.Errorf("%s: a copy that nobody needed was mended", mode)
			}
			want := maps.Clone(whole)
			delete(got, all[0].name)
			delete(want, all[0].name)
			same(t, got, want)
			if _, err := cl.recover(mode, cl.own); err != nil {
				t.Fatal(err)
			}
			same(t, fromMem(t, cl.fs, "."), whole)
		}
	}
}

// TestDefect4TruncatedPayload: a redundancy file cut short is noticed before it is needed, and mended.
func TestDefect4TruncatedPayload(t *testing.T) {
	for _, o := range schemes {
		cl := newCluster(t, o, even[:5])
		if err := cl.encode("shared", cl.own); err != nil {
			t.Fatal(err)
		}
		whole := fromMem(t, cl.fs, ".")
		all, err := list(cl.fs, "n1/rs.")
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		f, err := cl.fs.OpenRW(all[0].name)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := f.Size()
		if err := errors.Join(f.Truncate(size-1), f.Close()); err != nil {
			t.Fatal(err)
		}
		reps, err := cl.recover("isolated", cl.own)
		if err != nil {
			t.Fatal(err)
		}
		if len(reps[1].Corrupt) != 1 || reps[1].Corrupt[0].Name != all[0].name {
			t.Errorf("%s: corrupt %v", o.label(), reps[1].Corrupt)
		}
		same(t, fromMem(t, cl.fs, "."), whole)
	}
}

// TestDefect5TooFewGroups: a scheme that cannot work is an error that says so, or a downgrade that was asked for.
func TestDefect5TooFewGroups(t *testing.T) {
	for _, o := range []Options{{Scheme: XOR}, {Scheme: Partner}, {Scheme: RS}, {Scheme: Partner, Replicas: 3}} {
		err := run(t, "shared", 4, func(ctx context.Context, c comm.Comm) error {
			o := o
			o.Group = fmt.Sprint("node", c.Rank()/2*0)
			_, err := New(ctx, c, o)
			var lone *LoneError
			if !as(err, &lone) || !errors.Is(err, ErrUsage) {
				return fmt.Errorf("%v: error %v, want a LoneError", o.Scheme, err)
			}
			o.Downgrade = true
			s, err := New(ctx, c, o)
			if err != nil || s.Scheme() != Single || !s.Downgraded() {
				return fmt.Errorf("%v: not downgraded: %v", o.Scheme, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestDefect6RebuiltIsOriginal: what is rebuilt twice in sequence, of each member in turn, stays what it was,
// headers included.
func TestDefect6RebuiltIsOriginal(t *testing.T) {
	for _, o := range schemes {
		cl := newCluster(t, o, uneven[:6])
		if err := cl.encode("isolated", cl.own); err != nil {
			t.Fatal(err)
		}
		whole := fromMem(t, cl.fs, ".")
		for r := range cl.n {
			cl.lose(t, r)
			if _, err := cl.recover("isolated", cl.own); err != nil {
				t.Fatal(err)
			}
			same(t, fromMem(t, cl.fs, "."), whole)
		}
		reps, err := cl.recover("shared", cl.own)
		if err != nil {
			t.Fatal(err)
		}
		for _, rep := range reps {
			if len(rep.Rebuilt) > 0 {
				t.Errorf("%s: rebuilt without a loss: %v", o.label(), rep.Rebuilt)
			}
		}
	}
}

// zeros is a file system whose one file has many bytes, all zero, that no memory holds.
type zeros struct {
	vfs.FS
	size int64
}

type zeroFile struct {
	vfs.File
	size int64
}

type zeroInfo struct {
	fs.FileInfo
	size int64
}

func (z zeros) Stat(name string) (fs.FileInfo, error) {
	st, err := z.FS.Stat(name)
	if err == nil && name == "big" {
		st = zeroInfo{st, z.size}
	}
	return st, err
}

func (z zeros) Open(name string) (vfs.File, error) {
	f, err := z.FS.Open(name)
	if err == nil && name == "big" {
		f = zeroFile{f, z.size}
	}
	return f, err
}

func (z zeroInfo) Size() int64 { return z.size }

func (z zeroFile) Size() (int64, error) { return z.size, nil }

func (z zeroFile) ReadAt(b []byte, off int64) (int, error) {
	n := min(int64(len(b)), max(z.size-off, 0))
	clear(b[:n])
	if n < int64(len(b)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// TestDefect12Large: files over 4 GiB have right lengths and checksums, positions of chunks do not wrap, and a header
// that would be too long for its checksum is an error.
func TestDefect12Large(t *testing.T) {
	const size = 1<<32 + 5
	m := vfs.NewMem()
	if err := vfs.WriteFile(m, "big", nil); err != nil {
		t.Fatal(err)
	}
	fsys := zeros{m, size}
	err := run(t, "shared", 1, func(ctx context.Context, c comm.Comm) error {
		s, err := New(ctx, c, Options{Scheme: Single})
		if err != nil {
			return err
		}
		if err := s.Encode(ctx, fsys, []string{"big"}, "rs."); err != nil {
			return err
		}
		if got, want := s.Sums()["big"], crccat.Zeros(size); got != want {
			t.Errorf("checksum %#x, want %#x", got, want)
		}
		all, err := list(fsys, "rs.")
		if err != nil || len(all) != 1 {
			return fmt.Errorf("%v %w", all, err)
		}
		h, err := readHeader(fsys, all[0])
		if err == nil && h.descs[0].size() != size {
			t.Errorf("%d bytes, want %d", h.descs[0].size(), int64(size))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	const huge = 3 << 40
	l := newLayout(RS, 2, [][]int64{{huge}, {huge + 1, huge}, {7}, {}, {huge}})
	if want := int64((2*huge + 1 + 2) / 3); l.chunk != want || l.payload(3) != 2*want {
		t.Errorf("chunk %d, payload %d, want %d", l.chunk, l.payload(3), want)
	}
	for c := range l.stripes() {
		for _, e := range l.elems(c) {
			if e.off < 0 || e.off%l.chunk != 0 || e.off > 2*l.chunk {
				t.Errorf("stripe %d: %+v", c, e)
			}
		}
	}

	tr := kvtree.New()
	put(tr, strings.Repeat("x", maxHeader), "FILE")
	if _, err := encodeTree(tr); !errors.Is(err, fault.ErrTooLarge) {
		t.Errorf("error %v, want fault.ErrTooLarge", err)
	}
}

// TestDefect13EveryMatrix: Reed-Solomon decodes from every choice of elements that are left, in any order.
func TestDefect13EveryMatrix(t *testing.T) {
	for _, nk := range [][2]int{{3, 1}, {4, 2}, {5, 3}, {6, 3}, {7, 5}} {
		n, k := nk[0], nk[1]
		l := newLayout(RS, k, make([][]int64, n))
		full, err := rsMatrix(n, k)
		if err != nil {
			t.Fatal(err)
		}
		for c := range n {
			es := l.elems(c)
			d := l.dataPerStripe()
			val := make([]byte, n) // one byte of each element
			for x, e := range es {
				if !e.parity {
					val[x] = byte(37*x + 11*c + 1)
					continue
				}
				for y, f := range es[:d] {
					val[x] ^= gfMul(full[e.col][f.col], val[y])
				}
			}
			for mask := range 1 << n {
				if bits.OnesCount(uint(mask)) != d {
					continue
				}
				var in, out []elem
				var have [][]byte
				var want []byte
				for x, e := range es {
					if mask>>x&1 != 0 {
						in, have = append(in, e), append(have, []byte{val[x]})
					} else {
						out, want = append(out, e), append(want, val[x])
					}
				}
				slices.Reverse(in)
				slices.Reverse(have)
				coder, err := newRSCoder(l, c, in, out)
				if err != nil {
					t.Fatal(err)
				}
				got := make([][]byte, len(out))
				for i := range got {
					got[i] = make([]byte, 1)
				}
				if err := coder.code(got, have); err != nil {
					t.Fatal(err)
				}
				for i := range got {
					if got[i][0] != want[i] {
						t.Fatalf("n %d, k %d, stripe %d, mask %b: element %d is %d, want %d", n, k, c, mask, i, got[i][0], want[i])
					}
				}
			}
		}
	}
}

// gfMul multiplies in GF(2^8) with polynomial 0x11D, bit by bit.
func gfMul(a, b byte) byte {
	p, x := 0, int(a)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			p ^= x
		}
		if x <<= 1; x > 255 {
			x ^= 0x11D
		}
	}
	return byte(p)
}

// TestOutput: what fails while a file is synced in the background is an error later.
func TestOutput(t *testing.T) {
	for _, fail := range []bool{false, true} {
		var syncs atomic.Int64
		m := vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
			if op.Kind == vfs.OpSync && syncs.Add(1) == 1 && fail {
				return errDied
			}
			return nil
		})
		f, err := m.Create("x")
		if err != nil {
			t.Fatal(err)
		}
		o := &output{File: f}
		b := make([]byte, 1<<20)
		for i := range int64(syncEvery>>20) + 1 {
			if _, err := o.WriteAt(b, i<<20); err != nil {
				t.Fatal(err)
			}
		}
		err = o.Sync()
		if n := syncs.Load(); n != 2 || errors.Is(err, errDied) != fail {
			t.Errorf("%d syncs, error %v", n, err)
		}
		if err := o.Close(); errors.Is(err, errDied) != fail {
			t.Errorf("close: %v", err)
		}
		if _, err := o.WriteAt(b, 0); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("write after close: %v", err)
		}
	}
}

// TestLostSums: a member of which all copies of the checksums are gone counts as lost, once.
func TestLostSums(t *testing.T) {
	cl := newCluster(t, Options{Scheme: RS, K: 2}, uneven[:6])
	if err := cl.encode("shared", cl.own); err != nil {
		t.Fatal(err)
	}
	whole := fromMem(t, cl.fs, ".")
	for r := 1; r <= 3; r++ {
		if err := cl.fs.Remove(fmt.Sprintf("n%d/rs.%d%s", r, r, sumSuffix)); err != nil {
			t.Fatal(err)
		}
	}
	flip(t, cl.fs, "n1/f0", 3)
	for i := range 2 {
		reps, err := cl.recover("isolated", cl.own)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fromMem(t, cl.fs, "."), whole)
		if !reps[1].Verified || (len(reps[1].Rebuilt) > 0) != (i == 0) {
			t.Errorf("round %d: %+v", i, reps[1])
		}
	}
}

// TestChangedWhileEncoding: a file that others write to is no checkpoint.
func TestChangedWhileEncoding(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR}, even[:3])
	touched := false
	hook := vfs.NewFault(cl.fs, func(op vfs.Op) error {
		if op.Kind == vfs.OpRead && strings.HasSuffix(op.Name, "n1/f0") && !touched {
			touched = true
			f, err := cl.fs.OpenRW(op.Name)
			if err != nil {
				return err
			}
			return errors.Join(f.Truncate(3), f.Close())
		}
		return nil
	})
	err := cl.encode("isolated", func(r int) vfs.FS {
		if r == 1 {
			return hook
		}
		return cl.fs
	})
	if err == nil || !strings.Contains(err.Error(), ErrChanged.Error()) {
		t.Errorf("error %v, want ErrChanged", err)
	}
	for r := range 3 {
		if all, _ := list(cl.fs, fmt.Sprintf("n%d/rs.", r)); len(all) > 0 {
			t.Errorf("rank %d has %v", r, all)
		}
	}
}

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
