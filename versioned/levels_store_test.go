package versioned

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/config"
	"blobio/scr"
)

// cluster simulates nodes with one disk each, and a parallel file system, in a single vfs.FS.
type cluster struct {
	fs    vfs.FS
	nodes []string
	flush int // one of this many datasets is flushed

	begins func(version int64)       // called when a commit begins, if not nil
	ended  func(rank int, err error) // called when a rank ends; if nil, an error of any rank ends the run
}

func newCluster(t *testing.T, flush int) *cluster {
	cl := &cluster{fs: vfs.NewMem(), flush: flush}
	for n := range 4 {
		cl.nodes = append(cl.nodes, fmt.Sprint("node", n))
	}
	if err := cl.fs.MkdirAll("/p/sim"); err != nil {
		t.Fatal(err)
	}
	return cl
}

// run opens a session on one rank per node. The session is not closed, as if the job were killed.
func (cl *cluster) run(f func(ctx context.Context, c comm.Comm, st *Levels) error) error {
	for _, n := range cl.nodes {
		if err := cl.fs.MkdirAll("/nodes/" + n + "/local"); err != nil {
			return err
		}
	}
	return comm.Run(context.Background(), len(cl.nodes), &comm.Options{RanksPerNode: 1}, func(ctx context.Context, c comm.Comm) (err error) {
		if cl.ended != nil {
			defer func() { cl.ended(c.Rank(), err); err = nil }()
		}
		params, err := config.Load(config.Sources{FS: cl.fs, Dir: "/p/sim", Environ: []string{"SCR_PREFIX=/p/sim", "SCR_CACHE_BASE=/local", "SCR_CNTL_BASE=/local",
			"SCR_USER_NAME=user1", "SCR_JOB_ID=77", "SCR_CACHE_BYPASS=0", "SCR_CACHE_SIZE=2", "SCR_SET_SIZE=4", "SCR_COPY_TYPE=XOR", fmt.Sprint("SCR_FLUSH=", cl.flush)}})
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		node := cl.nodes[c.Rank()]
		s, err := scr.Open(ctx, c, &scr.Config{Params: params, FS: cl.fs, Node: node, NodeRoot: "/nodes/" + node, Dir: "/p/sim", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			return err
		}
		return f(ctx, c, &Levels{c, s, cl.fs})
	})
}

func (cl *cluster) lose(t *testing.T, nodes ...string) {
	var clear func(dir string)
	clear = func(dir string) {
		list, _ := cl.fs.ReadDir(dir)
		for _, e := range list {
			if n := path.Join(dir, e.Name()); e.IsDir() {
				clear(n)
			} else if err := cl.fs.Remove(n); err != nil {
				t.Fatal(err)
			}
		}
		cl.fs.Remove(dir)
	}
	for _, n := range nodes {
		clear("/nodes/" + n)
	}
}

const elements = 5000

func levelsState(v int64) []float64 {
	out := make([]float64, elements)
	for i := range out {
		out[i] = float64(v*elements) + float64(i)/8
	}
	return out
}

// program continues from the version that it finds up to version last, and commits every version. It returns the version that
// it found.
func (cl *cluster) program(last int64) (from int64, err error) {
	err = cl.run(func(ctx context.Context, c comm.Comm, st *Levels) error {
		arrays, ok, err := st.Restart(ctx, nil, nil)
		if err != nil {
			return err
		}
		var a *Array
		if ok {
			a = arrays[0]
			got := make([]float64, elements)
			if err := GetAt(ctx, a, a.Newest(), []int64{0}, []int64{elements}, got); err != nil || !slices.Equal(got, levelsState(a.Newest())) {
				return fmt.Errorf("version %d: %v", a.Newest(), err)
			}
			if v := a.Versions(); v[len(v)-1].Label != fmt.Sprint("label ", a.Newest()) || a.Spec().Keep.Last != 3 || len(arrays) != 2 || arrays[1].Newest() != a.Newest() {
				return fmt.Errorf("%+v, %+v", v, a.Spec())
			}
		} else {
			if a, err = Create(ctx, c, nil, Spec{Name: "a", Type: elem.Float64, Shape: []int64{elements}, Chunk: 512, Keep: Retention{Last: 3}}, nil); err != nil {
				return err
			}
			b, err := Create(ctx, c, nil, Spec{Name: "b", Type: elem.Int16, Shape: []int64{1, 3}}, nil)
			if err != nil {
				return err
			}
			arrays = []*Array{a, b}
		}
		if c.Rank() == 0 {
			from = a.Newest()
		}
		for v := a.Newest() + 1; v <= last; v++ {
			if c.Rank() == int(v)%c.Size() {
				if err := Put(ctx, a, []int64{0}, []int64{elements}, levelsState(v)); err != nil {
					return err
				}
			}
			var parts []Part
			for _, x := range arrays {
				n, err := x.Inc(ctx, 1, fmt.Sprint("label ", v))
				if err != nil {
					return err
				}
				parts = append(parts, Part{Array: x, Version: n})
			}
			if cl.begins != nil && c.Rank() == 0 {
				cl.begins(v)
			}
			if err := st.Commit(ctx, fmt.Sprint("v", v), scr.Checkpoint, parts...); err != nil {
				return err
			}
		}
		return nil
	})
	return from, err
}

// TestLostNodes: any number of nodes is lost. If XOR can rebuild their files, the run restarts from the caches, and otherwise
// from the newest flushed version. The version is undamaged.
func TestLostNodes(t *testing.T) {
	for lost := range 5 {
		cl := newCluster(t, 2) // versions 2, 4, 6 ... are flushed
		if from, err := cl.program(5); err != nil || from != 0 {
			t.Fatalf("from %d: %v", from, err)
		}
		cl.lose(t, cl.nodes[:lost]...)
		want := int64(5)
		if lost > 1 {
			want = 4
		}
		from, err := cl.program(7)
		if err != nil || from != want {
			t.Fatalf("%d lost: from %d, want %d: %v", lost, from, want, err)
		}
	}
}

// TestOtherRanks restarts on fewer and on more ranks from the prefix directory.
func TestOtherRanks(t *testing.T) {
	cl := newCluster(t, 1)
	if _, err := cl.program(3); err != nil {
		t.Fatal(err)
	}
	for i, nodes := range [][]string{{"node0", "node1", "node2"}, {"node2"}, {"node0", "node1", "node2", "node3", "node4", "node5"}} {
		cl.nodes = nodes
		from, err := cl.program(4 + int64(i))
		if err != nil || from != 3+int64(i) {
			t.Fatalf("%v: from %d: %v", nodes, from, err)
		}
	}
}

// TestDamagedDataset: if a file in the prefix directory is damaged and its node's cache is gone, the run restarts from the
// version before it.
func TestDamagedDataset(t *testing.T) {
	cl := newCluster(t, 1)
	if _, err := cl.program(3); err != nil {
		t.Fatal(err)
	}
	cl.lose(t, cl.nodes...)
	f, err := cl.fs.OpenRW("/p/sim/v3/rank_2.fti")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{1, 2, 3, 4}, 4000); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if from, err := cl.program(4); err != nil || from != 2 {
		t.Fatalf("from %d: %v", from, err)
	}
}

// TestCommitFails: Commit refuses bad names, and if it fails on one rank, it fails on all ranks.
func TestCommitFails(t *testing.T) {
	cl := newCluster(t, 0)
	err := cl.run(func(ctx context.Context, c comm.Comm, st *Levels) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: elem.Int8, Shape: []int64{9}}, nil)
		if err != nil {
			return err
		}
		for _, name := range []string{"", "x/y", "../z"} {
			if err := st.Commit(ctx, name, scr.Checkpoint, Part{Array: a}); err == nil || !strings.Contains(err.Error(), "name") {
				return fmt.Errorf("name %q: %v", name, err)
			}
		}
		version := int64(0)
		if c.Rank() == 2 {
			version = 7 // this version does not exist
		}
		if err := st.Commit(ctx, "ok", scr.Checkpoint, Part{Array: a, Version: version}); !errors.Is(err, scr.ErrInvalid) {
			return fmt.Errorf("a version that rank 2 has not: %v", err)
		}
		_, ok, err := st.Restart(ctx, nil, nil)
		if ok || err != nil {
			return fmt.Errorf("%v, %v", ok, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTaintedDataset: a dataset with tainted versions is not committed. If the versions are tainted after the commit, the
// dataset is dropped, and the next job takes the dataset before it, with or without caches.
func TestTaintedDataset(t *testing.T) {
	for _, lost := range []bool{false, true} {
		cl := newCluster(t, 1)
		commit := func(ctx context.Context, c comm.Comm, st *Levels, a *Array, n int64) error {
			lo := int64(c.Rank()) * 2
			if err := Put(ctx, a, []int64{lo}, []int64{lo + 2}, []int64{n, n}); err != nil {
				return err
			}
			v, err := a.Inc(ctx, 1, "")
			if err != nil {
				return err
			}
			return st.Commit(ctx, fmt.Sprint("step", n), scr.Checkpoint, Part{Array: a, Version: v})
		}
		err := cl.run(func(ctx context.Context, c comm.Comm, st *Levels) error {
			a, err := Create(ctx, c, nil, Spec{Name: "a", Type: elem.Int64, Shape: []int64{8}}, nil)
			if err != nil {
				return err
			}
			if err := errors.Join(commit(ctx, c, st, a, 1), commit(ctx, c, st, a, 2), a.Taint(ctx, 2), st.Session.Delete(ctx, "step2")); err != nil {
				return err
			}
			if err := st.Commit(ctx, "again", scr.Checkpoint, Part{Array: a, Version: 2}); !errors.Is(err, ErrTainted) {
				return fmt.Errorf("a tainted version is committed: %w", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if lost {
			cl.lose(t, cl.nodes...)
		}
		err = cl.run(func(ctx context.Context, c comm.Comm, st *Levels) error {
			arrays, ok, err := st.Restart(ctx, nil, nil)
			if err != nil || !ok {
				return fmt.Errorf("%v, %w", ok, err)
			}
			got := make([]int64, 8)
			if err := Get(ctx, arrays[0], []int64{0}, []int64{8}, got); err != nil || slices.Max(got) != 1 || slices.Min(got) != 1 {
				return fmt.Errorf("%v, %w", got, err)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("nodes lost %v: %v", lost, err)
		}
	}
}
