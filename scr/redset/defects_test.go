package redset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/crccat"
	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

// Each number stands for a defect of the original SCR in redundancy files. Defect 1 is also tested in TestFlippedByte and
// TestDefect1NoChecksums, defect 6 in TestVectorsRecover, and defect 13 in TestLosses.

// TestDefect1SilentCorruption flips a byte in a surviving file. The byte must not be copied into a rebuilt file, and must be
// repaired. If the losses exceed the scheme, the result must be an error, and nothing may change.
func TestDefect1SilentCorruption(t *testing.T) {
	for _, o := range schemes {
		for _, mode := range []string{"shared", "isolated"} {
			cl := newCluster(t, o, even[:5])
			must(t, cl.encode("shared", cl.own))
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

// TestDefect4TruncatedPayload checks that a truncated redundancy file is detected before it is needed, and is repaired.
func TestDefect4TruncatedPayload(t *testing.T) {
	for _, o := range schemes {
		cl := newCluster(t, o, even[:5])
		must(t, cl.encode("shared", cl.own))
		whole := fromMem(t, cl.fs, ".")
		all, err := list(cl.fs, "n1/rs.")
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		f, err := cl.fs.OpenRW(all[0].name)
		must(t, err)
		size, _ := f.Size()
		must(t, errors.Join(f.Truncate(size-1), f.Close()))
		reps, err := cl.recover("isolated", cl.own)
		must(t, err)
		if len(reps[1].Corrupt) != 1 || reps[1].Corrupt[0].Name != all[0].name {
			t.Errorf("%s: corrupt %v", o.label(), reps[1].Corrupt)
		}
		same(t, fromMem(t, cl.fs, "."), whole)
	}
}

// TestDefect5TooFewGroups checks that a scheme that is impossible with these groups causes a clear error, or a downgrade if the
// caller requests it.
func TestDefect5TooFewGroups(t *testing.T) {
	for _, o := range []Options{{Scheme: XOR}, {Scheme: Partner}, {Scheme: RS}, {Scheme: Partner, Replicas: 3}} {
		err := run(t, "shared", 4, func(ctx context.Context, c comm.Comm) error {
			o := o
			o.Group = fmt.Sprint("node", c.Rank()/2*0)
			_, err := New(ctx, c, o)
			var lone *GroupsError
			if !as(err, &lone) || !errors.Is(err, fault.ErrUsage) {
				return fmt.Errorf("%v: error %v, want a GroupsError", o.Scheme, err)
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

// TestDefect6RebuiltIsOriginal rebuilds each member in turn, twice. All files, including headers, must stay unchanged.
func TestDefect6RebuiltIsOriginal(t *testing.T) {
	for _, o := range schemes {
		cl := newCluster(t, o, uneven[:6])
		must(t, cl.encode("isolated", cl.own))
		whole := fromMem(t, cl.fs, ".")
		for r := range cl.n {
			cl.lose(t, r)
			if _, err := cl.recover("isolated", cl.own); err != nil {
				t.Fatal(err)
			}
			same(t, fromMem(t, cl.fs, "."), whole)
		}
		reps, err := cl.recover("shared", cl.own)
		must(t, err)
		for _, rep := range reps {
			if len(rep.Rebuilt) > 0 {
				t.Errorf("%s: rebuilt without a loss: %v", o.label(), rep.Rebuilt)
			}
		}
	}
}

// zeros is a file system with one huge file that consists of zeros and takes no memory.
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

// TestDefect12Large checks lengths and checksums of files larger than 4 GiB. Positions of chunks must not overflow, and a
// header that is too long for its checksum must cause an error.
func TestDefect12Large(t *testing.T) {
	size := crashtest.Times[int64](1<<31+5, 1<<32+5)
	m := vfs.NewMem()
	must(t, vfs.WriteFile(m, "big", nil))
	fsys := zeros{m, size}
	err := run(t, "shared", 1, func(ctx context.Context, c comm.Comm) error {
		s, err := New(ctx, c, Options{Scheme: Single})
		must(t, err)
		must(t, s.Encode(ctx, fsys, []string{"big"}, "rs."))
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
	if want := int64((2*huge + 1 + 2) / 3); l.chunk != want {
		t.Errorf("chunk %d, want %d", l.chunk, want)
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

// TestOutput checks that the error of a sync in the background is reported later.
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
		must(t, err)
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

// TestLostSums checks that a member is treated as lost, and counted once, if all copies of its checksums are lost.
func TestLostSums(t *testing.T) {
	cl := newCluster(t, Options{Scheme: RS, K: 2}, uneven[:6])
	must(t, cl.encode("shared", cl.own))
	whole := fromMem(t, cl.fs, ".")
	for r := 1; r <= 3; r++ {
		must(t, cl.fs.Remove(fmt.Sprintf("n%d/rs.%d%s", r, r, sumSuffix)))
	}
	flip(t, cl.fs, "n1/f0", 3)
	for i := range 2 {
		reps, err := cl.recover("isolated", cl.own)
		must(t, err)
		same(t, fromMem(t, cl.fs, "."), whole)
		if !reps[1].Verified || (len(reps[1].Rebuilt) > 0) != (i == 0) {
			t.Errorf("round %d: %+v", i, reps[1])
		}
	}
}

// TestChangedWhileEncoding checks that Encode returns an error if a file changes during Encode.
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
	if err == nil || !strings.Contains(err.Error(), fault.ErrChanged.Error()) {
		t.Errorf("error %v, want fault.ErrChanged", err)
	}
	for r := range 3 {
		if all, _ := list(cl.fs, fmt.Sprintf("n%d/rs.", r)); len(all) > 0 {
			t.Errorf("rank %d has %v", r, all)
		}
	}
}

// TestRealCache loses and rebuilds a node in caches that SCR 3.1 wrote.
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
						must(t, fsys.Remove(name))
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

// TestFormsOfB checks names and keys of generations A and B.
func TestFormsOfB(t *testing.T) {
	for gen, want := range map[Generation]string{GenA: "2_of_4_in_0.xor", GenB: "xor.0_2_of_4.scr"} {
		cl := newCluster(t, Options{Scheme: XOR, Generation: gen, Dataset: datasetTree()}, even[:4])
		must(t, cl.encode("isolated", cl.own))
		name := "n1/rs." + want
		all, err := list(cl.fs, "n1/rs.")
		if err != nil || len(all) != 1 || all[0].name != name {
			t.Fatalf("%v %v, want %s", all, err, name)
		}
		b, err := readRecord(cl.fs, name)
		must(t, err)
		tr, _, err := decodeTree(name, b)
		must(t, err)
		for path, want := range map[string]string{
			"CHUNK": "400", "RANKS": "4", "GROUP RANKS": "4", "GROUP RANK 2": "2", "DSET ID": "7", "CURRENT RANK": "1", "CURRENT FILES": "2",
			"CURRENT FILE 1 FILE": "f1", "CURRENT FILE 1 SIZE": "600", "CURRENT FILE 0 COMPLETE": "1", "PARTNER RANK": "0", "PARTNER FILES": "1",
		} {
			keys := strings.Fields(path)
			if got, err := tr.At(keys[:len(keys)-1]...).Value(keys[len(keys)-1]).Str(); err != nil || got != want {
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
