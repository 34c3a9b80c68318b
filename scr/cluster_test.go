package scr

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
	"blobio/internal/scr/config"
)

const testPrefix = "/p/sim"

// cluster simulates a few nodes with private disks and a parallel file system, all in one vfs.FS.
type cluster struct {
	t        testing.TB
	fs       vfs.FS
	env      map[string]string
	files    int      // number of files per rank and checkpoint
	nodes    []string // name of the node of each rank
	clock    func() time.Time
	hook     func(rank int, step string) error
	log      *bytes.Buffer
	opts     func(c *Config)
	apart    bool // ranks are in separate processes, without shared memory
	wrap     func(comm.Comm) comm.Comm
	together bool   // see knobs
	ready    bool   // the disks of the nodes have been created
	conf     vfs.FS // file system of the configuration files; nil: fs
}

func newCluster(t testing.TB, nodes ...string) *cluster {
	fsys := vfs.NewMem()
	mkdirs(t, fsys, testPrefix)
	return &cluster{t: t, fs: fsys, nodes: nodes, files: 2, env: map[string]string{
		"SCR_PREFIX": testPrefix, "SCR_CACHE_BASE": "/local", "SCR_CNTL_BASE": "/local", "SCR_USER_NAME": "user1", "SCR_JOB_ID": "77",
		"SCR_CACHE_BYPASS": "0", "SCR_CACHE_SIZE": "2", "SCR_SET_SIZE": "4", "SCR_COPY_TYPE": "XOR", "SCR_FLUSH": "3", "SCR_LOG_ENABLE": "1",
		"SCR_LOG_SYSLOG_ENABLE": "0",
	}}
}

func fourNodes(t testing.TB) *cluster { return newCluster(t, "node0", "node1", "node2", "node3") }

var must = testfiles.Must

func (cl *cluster) set(kv ...string) *cluster {
	for i := 0; i < len(kv); i += 2 {
		cl.env[kv[i]] = kv[i+1]
	}
	return cl
}

// on returns the same cluster, in which the ranks run on other nodes.
func (cl *cluster) on(nodes ...string) *cluster {
	c := *cl
	c.nodes = nodes
	return &c
}

func (cl *cluster) config(rank int) *Config {
	var env []string
	for _, k := range slices.Sorted(maps.Keys(cl.env)) {
		env = append(env, k+"="+cl.env[k])
	}
	files := cl.fs
	if cl.conf != nil {
		files = cl.conf
	}
	set, err := config.Load(config.Sources{Environ: env, FS: files, Dir: testPrefix})
	must(cl.t, err)
	var w io.Writer = io.Discard
	if cl.log != nil && rank == 0 {
		w = cl.log
	}
	c := &Config{Params: set, FS: cl.fs, Node: cl.nodes[rank], NodeRoot: "/nodes/" + cl.nodes[rank], Dir: cl.env["SCR_PREFIX"], Clock: cl.clock,
		Logger: slog.New(slog.NewTextHandler(w, nil))}
	if cl.opts != nil {
		cl.opts(c)
	}
	return c
}

func (cl *cluster) knobs(rank int) (k knobs) {
	k.together = cl.together
	if cl.hook != nil {
		k.hook = func(step string) error { return cl.hook(rank, step) }
	}
	return k
}

// mkdirs creates a durable directory before the test begins.
func mkdirs(t testing.TB, fsys vfs.FS, dir string) {
	must(t, fsys.MkdirAll(dir))
	for d := dir; d != "/"; d = path.Dir(d) {
		must(t, vfs.SyncParent(fsys, d))
	}
}

// run opens a session on each rank and calls f. It does not close the sessions.
func (cl *cluster) run(f func(ctx context.Context, s *Session, rank int) error) error {
	for _, n := range cl.nodes {
		if cl.ready {
			break
		}
		mkdirs(cl.t, cl.fs, "/nodes/"+n+cl.env["SCR_CACHE_BASE"])
	}
	return comm.Run(context.Background(), len(cl.nodes), &comm.Options{RanksPerNode: 1}, func(ctx context.Context, c comm.Comm) error {
		if cl.apart {
			c = commtest.Isolate(c)
		}
		if cl.wrap != nil {
			c = cl.wrap(c)
		}
		s, err := openWith(ctx, c, cl.config(c.Rank()), cl.knobs(c.Rank()))
		if err != nil {
			return err
		}
		defer s.stop()
		return f(ctx, s, c.Rank())
	})
}

// content returns the bytes that a rank writes into a file of a checkpoint.
func content(ckpt, rank, file int) []byte {
	b := make([]byte, 1000+37*rank+file*500)
	if rank == 1 && file == 1 {
		return nil // the file is empty
	}
	x := uint64(rank)<<40 ^ uint64(ckpt)<<20 ^ uint64(file) ^ 0x9e3779b97f4a7c15
	for i := 0; i < len(b); i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], x)
		copy(b[i:], w[:])
	}
	return b
}

func fileName(ckpt, rank, file int) string {
	return fmt.Sprintf("ckpt.%d/rank_%d.%d.ckpt", ckpt, rank, file)
}

func put(fsys vfs.FS, name string, b []byte) error {
	_ = fsys.Remove(name)
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return vfs.SyncParent(fsys, name)
}

// write takes checkpoint n.
func (cl *cluster) write(ctx context.Context, s *Session, rank, n int) error {
	if err := s.Start(ctx, fmt.Sprintf("ckpt.%d", n), Checkpoint); err != nil {
		return err
	}
	for i := range cl.files {
		name, err := s.Route(fileName(n, rank, i))
		if err != nil {
			return err
		}
		if err := s.step("write"); err != nil {
			return err
		}
		if err := put(cl.fs, name, content(n, rank, i)); err != nil {
			return err
		}
	}
	return s.Complete(ctx, true)
}

// read restarts and returns the number of the checkpoint that was read, or 0 if there is none. Wrong bytes fail the
// test.
func (cl *cluster) read(ctx context.Context, s *Session, rank int) (int, error) {
	r, ok, err := s.HaveRestart(ctx)
	if err != nil || !ok {
		return 0, err
	}
	if _, err := s.StartRestart(ctx); err != nil {
		return 0, err
	}
	n := 0
	if _, err := fmt.Sscanf(r.Name, "ckpt.%d", &n); err != nil {
		return 0, err
	}
	ranks := []int{rank}
	if r.InPlace {
		// The number of ranks has changed: each rank reads a part of the files that other ranks wrote.
		ranks = nil
		for q := rank; q < r.Ranks; q += len(cl.nodes) {
			ranks = append(ranks, q)
		}
	}
	for _, q := range ranks {
		for i := range cl.files {
			name, err := s.Route(fileName(n, q, i))
			if err != nil {
				return 0, err
			}
			b, err := vfs.ReadFile(cl.fs, name, 1<<20)
			if err != nil {
				return 0, err
			}
			if !bytes.Equal(b, content(n, q, i)) {
				cl.t.Errorf("checkpoint %d, rank %d, file %d: wrong bytes were handed out", n, q, i)
			}
		}
	}
	return n, s.CompleteRestart(ctx, true)
}

func (cl *cluster) restart() (n int, err error) {
	err = cl.run(func(ctx context.Context, s *Session, rank int) error {
		k, err := cl.read(ctx, s, rank)
		if rank == 0 {
			n = k
		}
		return err
	})
	return n, err
}

func (cl *cluster) mustRestart(want int) {
	cl.t.Helper()
	n, err := cl.restart()
	if err != nil {
		cl.t.Fatal(err)
	}
	if n != want {
		cl.t.Fatalf("restarted from checkpoint %d, want %d", n, want)
	}
}

// checkpoints runs a program that restarts if possible and then takes checkpoints. from and to are the numbers of
// the first and the last of these checkpoints.
func (cl *cluster) checkpoints(from, to int) error {
	return cl.run(func(ctx context.Context, s *Session, rank int) error {
		if _, err := cl.read(ctx, s, rank); err != nil {
			return err
		}
		for n := from; n <= to; n++ {
			if err := cl.write(ctx, s, rank, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// lose deletes the disks of nodes.
func (cl *cluster) lose(nodes ...string) {
	for _, n := range nodes {
		removeAll(cl.t, cl.fs, "/nodes/"+n)
	}
}

func removeAll(t testing.TB, fsys vfs.FS, dir string) {
	list, err := fsys.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		n := path.Join(dir, e.Name())
		if e.IsDir() {
			removeAll(t, fsys, n)
			continue
		}
		must(t, fsys.Remove(n))
	}
	must(t, fsys.Remove(dir))
}

// tree returns the sizes of all files below a directory.
func tree(t testing.TB, fsys vfs.FS, dir string) map[string]int64 {
	out := map[string]int64{}
	var walk func(d string)
	walk = func(d string) {
		list, err := fsys.ReadDir(d)
		if err != nil {
			return
		}
		for _, e := range list {
			n := path.Join(d, e.Name())
			if e.IsDir() {
				walk(n)
				continue
			}
			st, err := fsys.Stat(n)
			must(t, err)
			out[strings.TrimPrefix(n, dir+"/")] = st.Size()
		}
	}
	walk(dir)
	return out
}

func flip(t testing.TB, fsys vfs.FS, name string, off int64) {
	t.Helper()
	f, err := fsys.OpenRW(name)
	must(t, err)
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], off); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b[:], off); err != nil {
		t.Fatal(err)
	}
}
