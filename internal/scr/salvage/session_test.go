package salvage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/config"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/salvage"
	"blobio/scr"
)

const simPrefix = "/p/sim"

var errCrash = errors.New("the job dies")

// job runs sessions of ranks on nodes with separate disks.
type job struct {
	fs  *vfs.Mem
	env []string
}

func newJob(t *testing.T, env ...string) *job {
	t.Helper()
	m := vfs.NewMem()
	if err := m.MkdirAll(simPrefix); err != nil {
		t.Fatal(err)
	}
	return &job{m, append([]string{"SCR_PREFIX=" + simPrefix, "SCR_CACHE_BASE=/local", "SCR_CNTL_BASE=/local", "SCR_USER_NAME=user1", "SCR_JOB_ID=77",
		"SCR_CACHE_BYPASS=0", "SCR_CACHE_SIZE=2", "SCR_SET_SIZE=4", "SCR_FLUSH=3"}, env...)}
}

// run runs two ranks on each node.
func (j *job) run(t *testing.T, nodes []string, f func(ctx context.Context, s *scr.Session, rank int) error) error {
	t.Helper()
	for _, n := range nodes {
		if err := j.fs.MkdirAll("/nodes/" + n + "/local"); err != nil {
			t.Fatal(err)
		}
	}
	set, err := config.Load(config.Sources{Environ: j.env, FS: j.fs, Dir: simPrefix})
	if err != nil {
		t.Fatal(err)
	}
	return comm.Run(context.Background(), 2*len(nodes), nil, func(ctx context.Context, c comm.Comm) error {
		n := nodes[c.Rank()/2]
		s, err := scr.Open(ctx, c, &scr.Config{Params: set, FS: j.fs, Node: n, NodeRoot: "/nodes/" + n, Dir: simPrefix,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			return err
		}
		return f(ctx, s, c.Rank())
	})
}

func (j *job) node(n string) salvage.Node { return j.nodeOn(j.fs, n) }

func (j *job) nodeOn(fsys vfs.FS, n string) salvage.Node {
	return salvage.Node{Name: n, FS: vfs.NewBind(fsys, []vfs.Bind{{At: "/local", To: "/nodes/" + n + "/local"}}),
		Catalog: "/local/user1/scr.77/" + cachedir.CatalogName}
}

func simFile(step, rank int) string { return fmt.Sprintf("step%d/r%d.dat", step, rank) }

func simBytes(step, rank int) []byte {
	return bytes.Repeat([]byte{byte(step), byte(rank), 7}, 500+11*rank)
}

func (j *job) checkpoint(ctx context.Context, s *scr.Session, step, rank int) error {
	if err := s.Start(ctx, fmt.Sprint("step", step), scr.Checkpoint); err != nil {
		return err
	}
	name, err := s.Route(simFile(step, rank))
	if err != nil {
		return err
	}
	if err := vfs.WriteFile(j.fs, name, simBytes(step, rank)); err != nil {
		return err
	}
	return s.Complete(ctx, true)
}

// A job dies after checkpoint 4. Its last flush was checkpoint 3, and nodes are lost. After the salvage all caches are removed.
// The next allocation must restart from checkpoint 4.
func TestSessionSalvage(t *testing.T) {
	nodes := []string{"a", "b", "c", "d"}
	for _, c := range []struct {
		name string
		env  []string
		lost []string
	}{
		{"xor", []string{"SCR_COPY_TYPE=XOR"}, []string{"b"}},
		{"partner", []string{"SCR_COPY_TYPE=PARTNER"}, []string{"a", "c"}},
		{"rs", []string{"SCR_COPY_TYPE=RS"}, []string{"a", "b"}},
		{"single", []string{"SCR_COPY_TYPE=SINGLE"}, nil},
		{"bypass", []string{"SCR_COPY_TYPE=XOR", "SCR_CACHE_BYPASS=1", "SCR_FLUSH=0"}, []string{"d"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newJob(t, c.env...)
			err := j.run(t, nodes, func(ctx context.Context, s *scr.Session, rank int) error {
				for step := 1; step <= 4; step++ {
					if err := j.checkpoint(ctx, s, step, rank); err != nil {
						return err
					}
				}
				return errCrash
			})
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			var up []salvage.Node
			for _, n := range nodes {
				if !slices.Contains(c.lost, n) {
					up = append(up, j.node(n))
				}
			}
			d := prefixdir.Open(j.fs, simPrefix)
			rep, err := salvage.Run(context.Background(), salvage.RunOptions{Prefix: d, Nodes: up})
			if err != nil || rep.Safe != 4 || rep.Current != "step4" {
				t.Fatalf("%v, %+v", err, rep)
			}
			if len(rep.Tried) == 0 {
				if c.name != "bypass" {
					t.Fatal("nothing was tried")
				}
			} else if res := rep.Tried[0].Result; res.Ranks != 8 || c.name != "bypass" && (!res.Verified || len(res.Rebuilt) != 2*len(c.lost)) {
				t.Fatalf("%+v", res)
			}
			err = j.run(t, []string{"e", "f", "g", "h"}, func(ctx context.Context, s *scr.Session, rank int) error {
				r, ok, err := s.HaveRestart(ctx)
				if err != nil || !ok || r.Name != "step4" {
					return fmt.Errorf("restart %+v %v: %w", r, ok, err)
				}
				if _, err := s.StartRestart(ctx); err != nil {
					return err
				}
				name, err := s.Route(simFile(4, rank))
				if err != nil {
					return err
				}
				got, err := vfs.ReadFile(j.fs, name, 1<<20)
				if err != nil {
					return err
				}
				if err := s.CompleteRestart(ctx, bytes.Equal(got, simBytes(4, rank))); err != nil {
					return err
				}
				return s.Close(ctx)
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := j.fs.Stat(path.Join(simPrefix, simFile(4, 7))); err != nil {
				t.Error(err)
			}
		})
	}
}
