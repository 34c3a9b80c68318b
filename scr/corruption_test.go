package scr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// clone returns a copy of the cluster in its present state.
func (cl *cluster) clone() *cluster {
	c := *cl
	mem := vfs.NewMem()
	for name := range tree(cl.t, cl.fs, "/") {
		name = path.Join("/", name)
		b, err := vfs.ReadFile(cl.fs, name, 1<<24)
		must(cl.t, err)
		must(cl.t, mem.MkdirAll(path.Dir(name)))
		must(cl.t, put(mem, name, b))
	}
	c.fs = mem
	return &c
}

// TestFlippedByte flips one byte anywhere in the caches or the prefix directory. The change must be found before data reach the
// application; the helper cluster.read compares every byte. Without redundancy at most one checkpoint may be lost.
func TestFlippedByte(t *testing.T) {
	long := os.Getenv("BLOBIO_LONG") != ""
	for _, scheme := range []string{"SINGLE", "PARTNER", "XOR", "RS"} {
		base := fourNodes(t).set("SCR_COPY_TYPE", scheme, "SCR_FLUSH", "1")
		must(t, base.checkpoints(1, 3))
		for _, part := range []struct {
			dir  string
			lose bool // the caches
			want int
		}{{"/nodes", false, 3}, {testPrefix, false, 3}, {testPrefix, true, 2}} {
			files := tree(t, base.fs, part.dir)
			for i, name := range slices.Sorted(maps.Keys(files)) {
				if !long && i%59 != 0 {
					continue
				}
				size := files[name]
				for _, off := range []int64{0, size / 2, size - 1} {
					if size == 0 || off != size/2 && scheme != "XOR" {
						continue
					}
					cl := base.clone()
					cl.t = t
					flip(t, cl.fs, path.Join(part.dir, name), off)
					if part.lose {
						cl.lose("node0", "node1", "node2", "node3")
					}
					n, err := cl.restart()
					if err != nil {
						t.Errorf("%s: %s/%s, byte %d: %v", scheme, part.dir, name, off, err)
					} else if n < part.want && !(scheme == "SINGLE" && n == 2) {
						t.Errorf("%s: %s/%s, byte %d: restarted from %d, want %d at least", scheme, part.dir, name, off, n, part.want)
					}
				}
			}
		}
	}
}

// TestDefect1SilentCorruption covers a defect of the original SCR. If bytes in the cache or in the prefix directory are flipped,
// it passes them to the application, and spreads them when it rebuilds a node. This library must repair the byte or use the
// previous checkpoint.
func TestDefect1SilentCorruption(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "2")
	must(t, cl.checkpoints(1, 4))
	data := "/nodes/node0/local/user1/scr.77/scr.dataset.4/rank_0.0.ckpt"
	hurt := cl.clone()
	flip(t, hurt.fs, data, 77)
	hurt.mustRestart(4) // repaired
	if b, err := vfs.ReadFile(hurt.fs, data, 1<<20); err != nil || string(b) != string(content(4, 0, 0)) {
		t.Errorf("not repaired: %v", err)
	}
	// The damaged file and the lost node are more losses than XOR can repair. The rebuild must be rejected, and the damage must
	// not spread. Checkpoint 4 is in the prefix directory.
	hurt = cl.clone()
	flip(t, hurt.fs, data, 77)
	hurt.lose("node2")
	hurt.mustRestart(4)
	// The prefix directory has no redundancy. The damaged checkpoint must be marked as failed, and the previous one must be used.
	hurt = cl.clone()
	hurt.lose("node0", "node1", "node2", "node3")
	flip(t, hurt.fs, testPrefix+"/ckpt.4/rank_2.1.ckpt", 5)
	hurt.mustRestart(2)
	x, err := prefixdir.Open(hurt.fs, testPrefix).Index.Read()
	must(t, err)
	if e, ok := x.Entry("ckpt.4"); !ok || e.Failed.IsZero() {
		t.Errorf("not marked as failed: %+v", e)
	}
}

// TestDefect1FlushOfDamage changes a byte in the cache after Complete and before the flush. The changed byte must not reach the
// prefix directory.
func TestDefect1FlushOfDamage(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "0")
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		must(t, cl.write(ctx, s, rank, 1))
		if rank == 3 {
			flip(t, cl.fs, "/nodes/node3/local/user1/scr.77/scr.dataset.1/rank_3.1.ckpt", 100)
		}
		return s.Flush(ctx, "ckpt.1")
	}))
	b, err := vfs.ReadFile(cl.fs, testPrefix+"/ckpt.1/rank_3.1.ckpt", 1<<20)
	if err != nil || string(b) != string(content(1, 3, 1)) {
		t.Errorf("wrong bytes in the prefix directory: %v", err)
	}
}

// TestFlushOfLoss checks that a truncated or missing cached file is rebuilt before it is flushed.
func TestFlushOfLoss(t *testing.T) {
	for _, cut := range []bool{false, true} {
		cl := fourNodes(t).set("SCR_FLUSH", "0")
		must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
			must(t, cl.write(ctx, s, rank, 1))
			if name := "/nodes/node3/local/user1/scr.77/scr.dataset.1/rank_3.1.ckpt"; rank == 3 && cut {
				f, err := cl.fs.OpenRW(name)
				must(t, err)
				must(t, errors.Join(f.Truncate(10), f.Close()))
			} else if rank == 3 {
				must(t, cl.fs.Remove(name))
			}
			return s.Flush(ctx, "ckpt.1")
		}))
		b, err := vfs.ReadFile(cl.fs, testPrefix+"/ckpt.1/rank_3.1.ckpt", 1<<20)
		if err != nil || string(b) != string(content(1, 3, 1)) {
			t.Errorf("cut %v: wrong bytes in the prefix directory: %v", cut, err)
		}
	}
}

// TestLeftovers checks that a flush removes unfinished files of a killed flush from the prefix directory.
func TestLeftovers(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1")
	var left atomic.Int64
	cl.fs = vfs.NewFault(cl.fs, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && strings.HasPrefix(op.Name, testPrefix+"/ckpt.1/") && left.Add(1) == 3 {
			return errKilled // the file does not have its final name yet, and it cannot be removed either
		}
		if op.Kind == vfs.OpRemove && left.Load() >= 3 {
			return errKilled
		}
		return nil
	})
	cl.ready = true
	for _, n := range cl.nodes {
		mkdirs(t, cl.fs, "/nodes/"+n+"/local")
	}
	if err := cl.checkpoints(1, 1); !errors.Is(err, errKilled) {
		t.Fatalf("%v", err)
	}
	left.Store(-1 << 40)
	unfinished := func() (n int) {
		for name := range tree(t, cl.fs, testPrefix+"/ckpt.1") {
			if durable.IsTemp(path.Base(name)) {
				n++
			}
		}
		return n
	}
	if unfinished() == 0 {
		t.Fatal("nothing was left")
	}
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error { return s.Close(ctx) }))
	if n := unfinished(); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// TestDefect2TornIndex covers a defect of the original SCR. If index.scr is incomplete, it starts without a checkpoint, counts
// from 1 again and hides all older checkpoints. This library must rebuild the index from the summaries and continue the numbering.
func TestDefect2TornIndex(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1")
	must(t, cl.checkpoints(1, 3))
	cl.lose("node0", "node1", "node2", "node3")
	name := testPrefix + "/.scr/index.scr"
	b, err := vfs.ReadFile(cl.fs, name, 1<<20)
	must(t, err)
	must(t, put(cl.fs, name, b[:40]))
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		if n, err := cl.read(ctx, s, rank); n != 3 || err != nil {
			t.Errorf("restarted from %d, %v", n, err)
		}
		must(t, cl.write(ctx, s, rank, 4))
		if s.cache.ids.set != 4 {
			t.Errorf("number %d", s.cache.ids.set)
		}
		return nil
	}))
	x, err := prefixdir.Open(cl.fs, testPrefix).Index.Read()
	must(t, err)
	if x.Len() != 4 {
		t.Errorf("%d datasets in the index", x.Len())
	}
}

// TestDefect4TruncatedParity covers a defect of the original SCR. It reads only the header of a redundancy file. Therefore it does
// not notice that a file is truncated and that the protection is lost. This library must rebuild the file at the restart.
func TestDefect4TruncatedParity(t *testing.T) {
	for _, scheme := range []string{"PARTNER", "XOR", "RS"} {
		cl := fourNodes(t).set("SCR_COPY_TYPE", scheme, "SCR_FLUSH", "0")
		must(t, cl.checkpoints(1, 1))
		cut := ""
		for n, size := range tree(t, cl.fs, "/nodes/node1") {
			if strings.Contains(n, "reddesc.er.1."+strings.ToLower(scheme)) {
				cut = "/nodes/node1/" + n
				f, err := cl.fs.OpenRW(cut)
				must(t, err)
				must(t, f.Truncate(size-100))
				must(t, f.Close())
			}
		}
		if cut == "" {
			t.Fatal("no redundancy file")
		}
		cl.mustRestart(1)
		cl.lose("node2")
		cl.on("node0", "node1", "x", "node3").mustRestart(1)
	}
}

// TestDefect7OutsideIsAnError uses a path outside of the prefix directory; the error has the absolute path. The original SCR aborts
// the whole job in this case.
func TestDefect7OutsideIsAnError(t *testing.T) {
	cl := fourNodes(t)
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		must(t, s.Start(ctx, "a", Checkpoint))
		if _, err := s.Route("../x"); !errors.Is(err, ErrOutside) || !path.IsAbs(err.Error()) {
			t.Error(err)
		}
		return s.Complete(ctx, true)
	}))
}

// TestDefect7WrongOrderIsAnError makes a call at the wrong time. The original SCR ends the job in this case. In this library the
// error names the missing call, and the session stays usable. TestStates tests all calls in all states.
func TestDefect7WrongOrderIsAnError(t *testing.T) {
	cl := fourNodes(t)
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		if err := s.Complete(ctx, true); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), "Start comes before") {
			t.Errorf("Complete without Start: %v", err)
		}
		must(t, s.Start(ctx, "a", Checkpoint))
		if err := s.Start(ctx, "b", Checkpoint); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), "Complete of a") {
			t.Errorf("Start in a dataset: %v", err)
		}
		must(t, s.Complete(ctx, true))
		must(t, s.Close(ctx))
		if err := s.Start(ctx, "c", Checkpoint); !errors.Is(err, ErrState) {
			t.Errorf("Start after Close: %v", err)
		}
		return nil
	}))
}

// TestDefect10Containers tests containers. SCR 1.2.2 cannot create them, because it computes their folder in two different ways.
// This library must create them in the dataset's folder and fill them with one file after the other. The prefix directory has no
// other copy of the files. All bytes must be readable when all nodes are lost.
func TestDefect10Containers(t *testing.T) {
	const limit = 1500
	cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_USE_CONTAINERS", "1", "SCR_CONTAINER_SIZE", fmt.Sprint(limit))
	var total int64
	var want []byte // in the order of node, rank and file
	for rank := range 4 {
		for i := range cl.files {
			want = append(want, content(1, rank, i)...)
		}
	}
	total = int64(len(want))
	must(t, cl.checkpoints(1, 1))
	all := tree(t, cl.fs, testPrefix)
	var got []byte
	for n := int64(0); n*limit < total; n++ {
		name := fmt.Sprintf(".scr/scr.dataset.1/ctr.%d.scr", n)
		if all[name] != min(limit, total-n*limit) {
			t.Errorf("%s: %d bytes", name, all[name])
		}
		b, err := vfs.ReadFile(cl.fs, path.Join(testPrefix, name), 1<<20)
		must(t, err)
		got = append(got, b...)
	}
	if !bytes.Equal(got, want) {
		t.Error("the containers are not the files one behind the other")
	}
	for name, size := range all {
		if strings.HasPrefix(name, "ckpt.1/") && size > 0 {
			t.Errorf("%s is beside its container", name)
		}
	}
	cl.lose("node0", "node1", "node2", "node3")
	cl.mustRestart(1)
}
