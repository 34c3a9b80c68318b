package redset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"

	"pgregory.net/rapid"
)

func as(err error, target any) bool { return err != nil && errors.As(err, target) }

func same(t interface{ Errorf(string, ...any) }, got, want map[string][]byte) {
	for name, b := range want {
		if g, ok := got[name]; !ok {
			t.Errorf("%s is gone", name)
		} else if !bytes.Equal(g, b) {
			t.Errorf("%s differs", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s should not be there", name)
		}
	}
}

// cluster is a group of ranks. Each rank has a directory "n<rank>", which stands for a node.
type cluster struct {
	n     int
	o     Options
	files [][]string // by rank
	fs    vfs.FS
}

// newCluster creates files. sizes holds the sizes of the files of each rank. The bytes depend on the rank, the file and the
// size.
func newCluster(t testfiles.T, o Options, sizes [][]int) *cluster {
	cl := &cluster{n: len(sizes), o: o, fs: vfs.NewMem()}
	for r, v := range sizes {
		must(t, cl.fs.Mkdir(fmt.Sprint("n", r)))
		var names []string
		for i, n := range v {
			name := fmt.Sprintf("n%d/f%d", r, i)
			b := make([]byte, n)
			rand.New(rand.NewSource(int64(r*1000 + i))).Read(b)
			must(t, vfs.WriteFile(cl.fs, name, b))
			names = append(names, name)
		}
		cl.files = append(cl.files, names)
		must(t, cl.fs.SyncDir(fmt.Sprint("n", r)))
	}
	must(t, cl.fs.SyncDir("."))
	return cl
}

func (cl *cluster) run(mode string, f func(ctx context.Context, c comm.Comm) error) error {
	return comm.Run(context.Background(), cl.n, nil, func(ctx context.Context, c comm.Comm) error { return f(ctx, modes[mode](c)) })
}

// encode runs Encode on all ranks. fsys may return other file systems for some ranks.
func (cl *cluster) encode(mode string, fsys func(rank int) vfs.FS) error {
	return cl.run(mode, func(ctx context.Context, c comm.Comm) error {
		s, err := New(ctx, c, cl.o)
		if err != nil {
			return err
		}
		r := c.Rank()
		return s.Encode(ctx, fsys(r), cl.files[r], fmt.Sprintf("n%d/rs.", r))
	})
}

func (cl *cluster) own(int) vfs.FS { return cl.fs }

func (cl *cluster) recover(mode string, fsys func(rank int) vfs.FS) ([]*Report, error) {
	reps := make([]*Report, cl.n)
	errs := make([]error, cl.n)
	err := cl.run(mode, func(ctx context.Context, c comm.Comm) error {
		r := c.Rank()
		reps[r], errs[r] = Recover(ctx, c, fsys(r), fmt.Sprintf("n%d/rs.", r), nil)
		return nil
	})
	for r := range errs {
		if (errs[r] == nil) != (errs[0] == nil) {
			return nil, fmt.Errorf("ranks differ: %v", errs)
		}
	}
	return reps, errors.Join(err, errs[0])
}

// lose removes the directory of a rank with all files.
func (cl *cluster) lose(t testing.TB, r int) {
	for name := range fromMem(t, cl.fs, fmt.Sprint("n", r)) {
		must(t, cl.fs.Remove(name))
	}
	must(t, cl.fs.Remove(fmt.Sprint("n", r)))
}

func flip(t testing.TB, fsys vfs.FS, name string, off int64) {
	f, err := fsys.OpenRW(name)
	must(t, err)
	var b [1]byte
	_, err = f.ReadAt(b[:], off)
	b[0] ^= 0x10
	if err == nil {
		_, err = f.WriteAt(b[:], off)
	}
	must(t, errors.Join(err, f.Close()))
}

func copyFS(t testing.TB, fsys vfs.FS) vfs.FS { return toMem(t, fromMem(t, fsys, ".")) }

var schemes = []Options{
	{Scheme: XOR, SetSize: 4}, {Scheme: RS, SetSize: 4, K: 2}, {Scheme: RS, SetSize: 5, K: 1}, {Scheme: RS, SetSize: 5, K: 3},
	{Scheme: Partner, SetSize: 4}, {Scheme: Partner, SetSize: 4, Replicas: 2}, {Scheme: XOR, SetSize: 2},
	{Scheme: XOR, SetSize: 4, Generation: GenB}, {Scheme: XOR, SetSize: 4, Generation: GenA},
}

func (o Options) label() string {
	return fmt.Sprintf("%v%d-k%d-r%d-%v", o.Scheme, o.SetSize, o.K, o.Replicas, o.Generation)
}

// survives returns whether the theory allows a set to be rebuilt when it has lost whole members.
func survives(o Options, n int, lost map[int]bool) bool {
	for r, p := range Form(o.Scheme, make([]string, n), o.SetSize) {
		count := 0
		for _, m := range p.Ranks {
			if lost[m] {
				count++
			}
		}
		switch o.Scheme {
		case Single:
			if count > 0 {
				return false
			}
		case XOR:
			if count > 1 {
				return false
			}
		case RS:
			if count > o.K {
				return false
			}
		case Partner:
			if !lost[r] {
				continue
			}
			alive := false
			for j := 1; j <= max(1, o.Replicas); j++ {
				alive = alive || !lost[p.Ranks[(p.Rank+j)%len(p.Ranks)]]
			}
			if !alive {
				return false
			}
		}
	}
	return true
}

var even = [][]int{{1200}, {600, 600}, {1200}, {0, 1200}, {1200}, {1200}, {1200}, {1200}, {1, 1199}}

var uneven = [][]int{{1000}, {500, 700}, {0, 333}, {1201}, {64}, {1, 2, 0, 3}, {}, {300000}, {777, 0}}

// TestLosses rebuilds every loss of whole ranks that theory allows. If more is lost, a rank may still be rebuilt if it lost
// only padding. But if all sizes are equal, nothing must be rebuilt and nothing may change.
func TestLosses(t *testing.T) {
	t.Run("even", func(t *testing.T) { testLosses(t, even, true) })
	t.Run("uneven", func(t *testing.T) { testLosses(t, uneven, false) })
}

func testLosses(t *testing.T, sizes [][]int, strict bool) {
	for _, o := range schemes {
		for _, n := range []int{4, 5, 9} {
			if n <= max(o.K, o.Replicas) || testing.Short() && n > 5 {
				continue
			}
			t.Run(fmt.Sprint(o.label(), "/", n), func(t *testing.T) {
				cl := newCluster(t, o, sizes[:n])
				must(t, cl.encode("shared", cl.own))
				whole := fromMem(t, cl.fs, ".")
				encoded := cl.fs
				rnd := rand.New(rand.NewSource(1))
				for mask := 1; mask < 1<<n; mask++ {
					if n > 5 && rnd.Intn(crashtest.Times(320, 40)) > 0 || n <= 5 && rnd.Intn(crashtest.Times(2*n-5, 1)) > 0 {
						continue
					}
					lost := map[int]bool{}
					cl.fs = copyFS(t, encoded)
					for r := range n {
						if mask>>r&1 != 0 {
							lost[r] = true
							cl.lose(t, r)
						}
					}
					before := fromMem(t, cl.fs, ".")
					mode := []string{"shared", "isolated"}[mask%2]
					reps, err := cl.recover(mode, cl.own)
					got := fromMem(t, cl.fs, ".")
					if !survives(o, n, lost) && (err != nil || strict) {
						if !errors.Is(err, fault.ErrMissing) && !errors.Is(err, ErrNone) {
							t.Fatalf("lost %v: error %v, want a LostError", lost, err)
						}
						same(t, got, before)
						continue
					}
					if err != nil {
						t.Fatalf("lost %v: %v", lost, err)
					}
					same(t, got, whole)
					for r, rep := range reps {
						if !rep.Verified || (len(rep.Rebuilt) > 0) != lost[r] {
							t.Errorf("lost %v: report of rank %d %+v", lost, r, rep)
						}
					}
				}
			})
		}
	}
}

// TestOffline does the same without ranks. The files of all survivors are in one directory.
func TestOffline(t *testing.T) {
	for _, o := range schemes {
		t.Run(o.label(), func(t *testing.T) {
			const n = 8
			cl := newCluster(t, o, even[:n])
			err := cl.run("shared", func(ctx context.Context, c comm.Comm) error {
				s, err := New(ctx, c, o)
				must(t, err)
				return s.Encode(ctx, cl.fs, cl.files[c.Rank()], "rs.")
			})
			must(t, err)
			whole := fromMem(t, cl.fs, ".")
			opt := &RecoverOptions{Map: func(rank int, name string) string {
				return fmt.Sprintf("n%d/%s", rank, name[strings.LastIndex(name, "/")+1:])
			}}
			for mask := 1; mask < 1<<n; mask += crashtest.Times(13, 5) {
				lost := map[int]bool{}
				left := map[string][]byte{}
				for name, b := range whole {
					left[name] = b
				}
				for r := range n {
					if mask>>r&1 != 0 {
						lost[r] = true
						all, err := Files(cl.fs, "rs.", r)
						if err != nil || len(all) < 2 {
							t.Fatal(all, err)
						}
						for _, name := range append(all, cl.files[r]...) {
							delete(left, name)
						}
					}
				}
				m := toMem(t, left)
				rep, err := Offline(context.Background(), m, "rs.", opt)
				if m.MkdirAll("n0"); !survives(o, n, lost) {
					if !errors.Is(err, fault.ErrMissing) && !errors.Is(err, ErrNone) {
						t.Fatalf("lost %v: error %v, want a LostError", lost, err)
					}
					same(t, fromMem(t, m, "."), left)
					continue
				}
				if err != nil {
					t.Fatalf("lost %v: %v", lost, err)
				}
				same(t, fromMem(t, m, "."), whole)
				if !rep.Verified {
					t.Error("not verified")
				}
			}
		})
	}
}

// TestFlippedByte flips any byte of data or redundancy files. The change must be found and repaired.
func TestFlippedByte(t *testing.T) {
	for _, o := range append(schemes, Options{Scheme: Single}) {
		t.Run(o.label(), func(t *testing.T) {
			cl := newCluster(t, o, uneven[:6])
			must(t, cl.encode("shared", cl.own))
			whole := fromMem(t, cl.fs, ".")
			encoded := cl.fs
			rnd := rand.New(rand.NewSource(2))
			for name, b := range crashtest.SomeOf(t, 12, whole) {
				for range crashtest.Times(1, 3) {
					if len(b) == 0 {
						continue
					}
					cl.fs = copyFS(t, encoded)
					off := rnd.Int63n(int64(len(b)))
					flip(t, cl.fs, name, off)
					before := fromMem(t, cl.fs, ".")
					_, err := cl.recover([]string{"shared", "isolated"}[rnd.Intn(2)], cl.own)
					if o.Scheme == Single && !strings.HasSuffix(name, sumSuffix) && !strings.HasSuffix(name, ".0.redset") {
						if err == nil && !bytes.Equal(whole[name], fromMem(t, cl.fs, ".")[name]) {
							t.Fatalf("%s, byte %d: not found", name, off)
						}
						if err != nil {
							same(t, fromMem(t, cl.fs, "."), before)
						}
						continue
					}
					if err != nil {
						t.Fatalf("%s, byte %d: %v", name, off, err)
					}
					got := fromMem(t, cl.fs, ".")
					if o.Scheme == Single && strings.HasSuffix(name, sumSuffix) {
						continue // the only copy of the checksums is damaged, and the files are merely not verified
					}
					same(t, got, whole)
				}
			}
		})
	}
}

// TestRandom tries random files, losses and flipped bytes. Either the rebuilt files must be right, or nothing may change.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := schemes[rapid.IntRange(0, len(schemes)-1).Draw(rt, "scheme")]
		n := rapid.IntRange(max(2, o.K+1, o.Replicas+1), 9).Draw(rt, "ranks")
		sizes := make([][]int, n)
		for r := range sizes {
			sizes[r] = rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 100, 401, 4096, 70000, 300001}), 0, 3).Draw(rt, "sizes")
		}
		cl := newCluster(rt, o, sizes)
		mode := rapid.SampledFrom([]string{"shared", "isolated"}).Draw(rt, "mode")
		must(rt, cl.encode(mode, cl.own))
		whole := fromMem(t, cl.fs, ".")
		for range rapid.IntRange(0, 4).Draw(rt, "harm") {
			all := fromMem(t, cl.fs, ".")
			var names []string
			for name := range all {
				names = append(names, name)
			}
			slices.Sort(names)
			if len(names) == 0 {
				break
			}
			name := names[rapid.IntRange(0, len(names)-1).Draw(rt, "file")]
			switch b := all[name]; {
			case rapid.Bool().Draw(rt, "remove") || len(b) == 0:
				must(rt, cl.fs.Remove(name))
			default:
				flip(t, cl.fs, name, int64(rapid.IntRange(0, len(b)-1).Draw(rt, "offset")))
			}
		}
		before := fromMem(t, cl.fs, ".")
		reps, err := cl.recover(mode, cl.own)
		if err != nil {
			same(rt, fromMem(t, cl.fs, "."), before)
			return
		}
		got := fromMem(t, cl.fs, ".")
		for name, b := range whole {
			var rank int
			if _, err := fmt.Sscanf(name, "n%d/", &rank); err != nil {
				rt.Fatal(err)
			}
			if !reps[rank].Verified {
				continue // all checksums of the set are lost, and the error says so
			}
			if !strings.HasSuffix(name, sumSuffix) && !bytes.Equal(got[name], b) {
				rt.Errorf("%s is not what it was", name)
			}
		}
	})
}
